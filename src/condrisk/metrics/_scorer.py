"""Metrics as scikit-learn scorers."""

from collections.abc import Callable
from inspect import signature
from numbers import Real
from typing import Any

from numpy.typing import ArrayLike

from condrisk.metrics._calibration import risk_calibration_error
from condrisk.metrics._coverage import aurc, excess_aurc
from condrisk.metrics._deferral import deferral_loss, deferral_rate, risk_error
from condrisk.metrics._working_points import augrc, coverage_at_risk, risk_at_coverage

METRICS: dict[str, Callable[..., float]] = {
    metric.__name__: metric
    for metric in (
        deferral_loss,
        deferral_rate,
        risk_error,
        aurc,
        excess_aurc,
        augrc,
        coverage_at_risk,
        risk_at_coverage,
        risk_calibration_error,
    )
}


def risk_scorer(
    metric: str | Callable[..., float], *, greater_is_better: bool | None = None, **kwargs: Any
) -> "RiskScorer":
    """Make a scikit-learn scorer of a metric, for searches and cross-validation.

    The scorer is called as ``scorer(estimator, X, y)``. It asks the estimator, or the one at the
    end of a Pipeline or inside a search, for the risk of the rows and for their losses, and
    gives both to the metric. Without metadata routing, searches hand it their `sample_weight`;
    with it, ``set_score_request(sample_weight=True)`` asks for it.

    Parameters
    ----------
    metric : str or callable
        Name of a metric of this module that gives one number, or a function called as
        ``metric(loss, risk, **kwargs)``, or as ``metric(risk, **kwargs)`` if its first argument
        has the name ``risk``. It is given `sample_weight` if there is one.
    greater_is_better : bool or None, default=None
        Whether a greater value is a better one. If not, the scorer gives minus the metric, because
        scikit-learn maximises. None: True for `coverage_at_risk`, False for all others.
    **kwargs : object
        Further arguments of the metric, such as ``cost=0.5``.

    Returns
    -------
    RiskScorer
        An object that can be given as `scoring` and pickled.

    Examples
    --------
    >>> from condrisk.metrics import risk_scorer
    >>> risk_scorer("deferral_loss", cost=0.5)
    risk_scorer(deferral_loss, cost=0.5)
    """
    found = _resolve(metric, kwargs)
    if greater_is_better is None:
        greater_is_better = found is coverage_at_risk
    return RiskScorer(found, 1 if greater_is_better else -1, kwargs)


class RiskScorer:
    """Scorer of risk estimators, made by :func:`risk_scorer`."""

    def __init__(self, metric: Callable[..., float], sign: int, kwargs: dict[str, Any]) -> None:
        self._metric = metric
        self._sign = sign
        self._kwargs = kwargs
        self._weight_request: bool | str | None = None

    def __call__(
        self, estimator: Any, X: Any, y: Any, *, sample_weight: ArrayLike | None = None
    ) -> float:
        """Score a fitted estimator on the rows given; greater is better."""
        from condrisk._delegate import assess, predict_risk

        if _takes_risk_alone(self._metric):
            arguments = [predict_risk(estimator, X)]
        else:
            found = assess(estimator, X, y)
            assert found.loss is not None
            arguments = [found.loss, found.risk]
        weights = {} if sample_weight is None else {"sample_weight": sample_weight}
        value = self._metric(*arguments, **self._kwargs, **weights)
        if not isinstance(value, Real):
            raise TypeError(
                f"metric must give one number for a scorer, {_name(self._metric)} gave "
                f"{type(value).__name__}"
            )
        return self._sign * float(value)

    def __repr__(self) -> str:
        usual = 1 if self._metric is coverage_at_risk else -1
        options = {} if self._sign == usual else {"greater_is_better": self._sign > 0}
        shown = "".join(f", {key}={value!r}" for key, value in (options | self._kwargs).items())
        return f"risk_scorer({_name(self._metric)}{shown})"

    def set_score_request(self, *, sample_weight: bool | str | None) -> "RiskScorer":
        """Say whether the weights given to a search or to cross-validation come here.

        Parameters
        ----------
        sample_weight : bool, str or None
            True: they do; False: they do not; None: giving them is an error; a string: the
            name under which they are given. As everywhere in scikit-learn, this needs
            ``sklearn.set_config(enable_metadata_routing=True)``.

        Returns
        -------
        RiskScorer
            The scorer itself.
        """
        from sklearn import get_config

        if not get_config()["enable_metadata_routing"]:
            raise RuntimeError(
                "set_score_request has an effect only with metadata routing: call "
                "sklearn.set_config(enable_metadata_routing=True) first"
            )
        if not self._accept_sample_weight():
            raise TypeError(f"{_name(self._metric)} takes no sample_weight to ask for")
        self._weight_request = sample_weight
        return self

    def get_metadata_routing(self) -> Any:
        """Return what this scorer asks for, in scikit-learn's terms."""
        from sklearn.utils.metadata_routing import MetadataRequest

        request = MetadataRequest(owner=self)
        if self._accept_sample_weight():
            request.score.add_request(param="sample_weight", alias=self._weight_request)
        return request

    # scikit-learn asks these two of a scorer that is not one of its own.
    def _accept_sample_weight(self) -> bool:
        return "sample_weight" in signature(self._metric).parameters

    def _routing_repr(self) -> str:
        return repr(self)


def _resolve(metric: str | Callable[..., float], kwargs: dict[str, Any]) -> Callable[..., float]:
    """Find the metric, and find out now whether it can be called with these arguments."""
    if isinstance(metric, str):
        if metric not in METRICS:
            raise ValueError(f"metric must be one of {sorted(METRICS)} or a function: {metric!r}")
        metric = METRICS[metric]
    if not callable(metric):
        raise TypeError(f"metric must be a name or a function, got {metric!r}")
    arrays = ["risk"] if _takes_risk_alone(metric) else ["loss", "risk"]
    try:
        signature(metric).bind(*arrays, **kwargs)
    except TypeError as error:
        raise TypeError(
            f"metric {_name(metric)} cannot be called with these arguments: {error}"
        ) from None
    return metric


def _takes_risk_alone(metric: Callable[..., float]) -> bool:
    return next(iter(signature(metric).parameters), None) == "risk"


def _name(metric: Callable[..., float]) -> str:
    return getattr(metric, "__name__", repr(metric))
