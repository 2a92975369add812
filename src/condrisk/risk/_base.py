"""What the estimators of conditional risk share: predictor, loss, splits and metadata."""

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, MetaEstimatorMixin, is_classifier
from sklearn.utils import indexable
from sklearn.utils._param_validation import HasMethods, StrOptions
from sklearn.utils.metadata_routing import MetadataRouter
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import (
    check_consistent_length,
    check_is_fitted,
    validate_data,
)

from condrisk._autologging import without_autologging
from condrisk._crossfit import CrossFitted, Job, Split, cross_fit, make_splits
from condrisk._delegate import Assessment
from condrisk._progress import announce, printed
from condrisk._routing import add_part, add_splitter, route_fit
from condrisk._state import leaves_rows_out
from condrisk._validation import (
    LARGEST_RISK,
    check_row_weights,
    check_vector,
    refuse_gradients,
    validated,
)
from condrisk.losses import Loss, PrecomputedLoss, get_loss
from condrisk.risk._as_regressor import AsRegressorMixin
from condrisk.risk._constant import warn_if_worse_than_constant
from condrisk.risk._copies import warn_of_copies
from condrisk.risk._encoding import EncodingMixin
from condrisk.risk._held_out import HeldOut, Pairs
from condrisk.risk._predictor import PRECOMPUTED, PredictorMixin, Routed
from condrisk.risk._refusals import check_clones, say_which_labels
from condrisk.risk._responses import Responses
from condrisk.risk._tags import tags_of_risk

# How many folds estimate held-out risks where no cross-fitting tells.
N_FOLDS = 5


def _predictor_has(method: str) -> Any:
    def check(self: BaseRisk) -> bool:
        getattr(getattr(self, "predictor_", self.predictor), method)  # its error names what lacks
        return True

    return check


def _weights(sample_weight: ArrayLike | None, X: Any) -> NDArray[Any] | None:
    if sample_weight is None:
        return None
    return check_row_weights(sample_weight, X)


def check_regressor(regressor: Any) -> None:
    """Refuse a classifier where losses are to be learnt; None stands for the default."""
    if regressor is not None and is_classifier(regressor):
        raise ValueError(
            f"regressor must be a regressor, since losses are numbers; "
            f"got the classifier {type(regressor).__name__}."
        )


class BaseRisk(
    PredictorMixin,
    EncodingMixin,
    AsRegressorMixin,
    MetaEstimatorMixin,
    BaseEstimator,
    metaclass=ABCMeta,
):
    """Base of the risk estimators: keeps the predictor's type and adds `predict_risk`."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "predictor": [HasMethods(["fit", "predict"]), StrOptions({PRECOMPUTED})],
        "loss": [str, callable, "array-like", Loss, None],
        "cv": ["cv_object"],
        "refit": ["boolean"],
        "n_jobs": [int, None],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    predictor: Any
    loss: Any
    cv: Any
    refit: bool
    clip: bool
    n_jobs: int | None
    random_state: Any
    verbose: bool | int
    _pairs: Pairs | None
    _held_out: HeldOut | None

    @validated(nested=True)
    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        sample_weight: ArrayLike | None = None,
        prediction: ArrayLike | None = None,
        loss: ArrayLike | None = None,
        **params: Any,
    ) -> Self:
        """Fit the predictor unless it is frozen or precomputed, then the estimate of its risk.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows. If the predictor is frozen or precomputed, rows that it was not fitted on.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Targets. Several columns where predictor and loss take them: numbers, or 0 and 1 for
            each label that a row may have.
        sample_weight : array-like of shape (n_samples,), optional
            Weights, for each part that takes them; a part that does not is named in a warning.
        prediction : array-like of shape (n_samples,) or (n_samples, n_columns), optional
            Only with ``predictor="precomputed"``: the external predictor's response to each row
            (numbers, labels, or class probabilities in the sorted order of the labels; of several
            outputs a column for each).
        loss : array-like of shape (n_samples,), optional
            In place of `y`, for a frozen or precomputed predictor: the losses themselves, computed
            already. Only where realised losses are regressed.
        **params : dict
            ``groups`` keeps groups together wherever rows are held out, everything else goes to
            the predictor's fit. With scikit-learn's metadata routing switched on, each part gets
            what it requests.

        Returns
        -------
        self : object
            The fitted estimator.

        Warns
        -----
        UserWarning
            If the predictor is worse than the best constant answer on held-out rows, at the 0.1 %
            level, and, where it is fitted here, also on the rows that it was fitted on: one that
            has only overfitted noise is not named.
        """
        refuse_gradients(
            X=X, y=y, sample_weight=sample_weight, prediction=prediction, loss=loss, **params
        )
        self._pairs = self._held_out = None
        for forgotten in ("_target_task", "n_outputs_"):
            self.__dict__.pop(forgotten, None)
        if loss is not None:
            with without_autologging(), printed(type(self).__name__, self.verbose):
                self._fit_losses(X, y, loss, sample_weight, prediction, params)
            return self
        X, y = self._check_rows(X, y)
        weight = _weights(sample_weight, X)
        self._check_prediction_use(prediction)
        self.loss_ = self._loss_of(self.n_outputs_)
        self._check_response(f"loss {self.loss_.name!r}", self.loss_.response)
        self._check_parts()
        parts = self._parts_to_fit()
        check_clones(parts)
        routed = route_fit(self, parts, weight, params)
        with without_autologging(), printed(type(self).__name__, self.verbose):
            try:
                self._fit(X, y, prediction, weight, routed)
            except ValueError as error:
                say_which_labels(error, y)
                raise
            announce("checks")
            warn_if_worse_than_constant(self, X, y, weight)
            warn_of_copies(self, X, y, routed)
        return self

    def _fit_losses(
        self, X: Any, y: Any, loss: Any, sample_weight: Any, prediction: Any, params: dict[str, Any]
    ) -> None:
        """Fit on losses that are computed already."""
        name = type(self).__name__
        if y is not None:
            raise ValueError("loss must not be given together with y: it takes the place of y.")
        if self._has_to_fit_predictor():
            raise ValueError(
                f"loss is for a predictor that is fitted already: FrozenEstimator(predictor), or "
                f"predictor={PRECOMPUTED!r}. Losses on rows that {name} fits the predictor on "
                f"would be too small."
            )
        (X,) = indexable(X)
        validate_data(self, X, skip_check_array=True)
        values = check_vector(loss, "loss")
        check_consistent_length(X, values)
        weight = _weights(sample_weight, X)
        self._check_prediction_use(prediction)
        if prediction is not None and np.asarray(prediction).dtype.kind not in "biuf":
            raise ValueError(
                "prediction must be numbers where the losses are given: without targets nothing "
                "tells which labels there are."
            )
        self._classes = getattr(self.predictor, "classes_", None)
        known = None if self.loss is None else get_loss(self.loss)
        self.loss_ = PrecomputedLoss(float(values.min())) if known is None else known
        self._check_parts()
        routed = route_fit(self, self._parts_to_fit(), weight, params)
        self._fit_to_losses(X, values, prediction, weight, routed)

    def _fit_to_losses(
        self,
        X: Any,
        loss: NDArray[np.float64],
        prediction: ArrayLike | None,
        sample_weight: NDArray[Any] | None,
        routed: Routed,
    ) -> None:
        """Fit the estimate of the risk on losses, where that is all it needs."""
        raise ValueError(
            f"loss cannot take the place of y here: {type(self).__name__} needs the classes "
            f"themselves. RegressionRisk and AutoRisk take losses."
        )

    @abstractmethod
    def _fit(
        self,
        X: Any,
        y: NDArray[Any],
        prediction: ArrayLike | None,
        sample_weight: NDArray[Any] | None,
        routed: Routed,
    ) -> None:
        """Fit predictor and risk on validated rows."""

    @abstractmethod
    def _risk(self, X: Any, responses: Responses) -> NDArray[np.float64]:
        """Estimate the risk of rows to which the predictor's responses are at hand."""

    @abstractmethod
    def _held_out_risks(self, pairs: Pairs) -> NDArray[np.float64]:
        """Estimate the risk of each pair by what has not seen its loss."""

    @abstractmethod
    def _parts(self) -> dict[str, Any]:
        """Return the estimators beside the predictor that are fitted in fit."""

    @abstractmethod
    def _check_parts(self) -> None:
        """Raise where the parts do not fit together."""

    # -- using it ---------------------------------------------------------------------------

    def predict(self, X: Any, *, prediction: ArrayLike | None = None) -> NDArray[Any]:
        """Return the predictor's own predictions, untouched.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.
        prediction : array-like, optional
            Only with ``predictor="precomputed"``: the external predictor's responses.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_outputs)
            Labels or numbers.
        """
        return self._responses_to(X, prediction).get("predict")

    @available_if(_predictor_has("predict_proba"))
    def predict_proba(self, X: Any) -> NDArray[Any]:
        """Return the predictor's own class probabilities, for several labels in its own form."""
        responses = self._responses_to(X, None)
        if isinstance(self._classes, list):
            return self.predictor_.predict_proba(X)
        return responses.get("predict_proba")

    @available_if(_predictor_has("decision_function"))
    def decision_function(self, X: Any) -> NDArray[Any]:
        """Return the predictor's own decision function."""
        return self._responses_to(X, None).get("decision_function")

    def predict_risk(self, X: Any, *, prediction: ArrayLike | None = None) -> NDArray[np.float64]:
        """Estimate g(x), the expected loss of the prediction at each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.
        prediction : array-like, optional
            Only with ``predictor="precomputed"``, and only where the estimate depends on the
            response: the external predictor's responses.

        Returns
        -------
        ndarray of shape (n_samples,)
            The estimated risk.
        """
        check_is_fitted(self, "loss_")
        needed = self._risk_uses_response()
        return self._risk(X, self._responses_to(X, prediction, needed=needed))

    def loss_values(
        self, X: Any, y: Any, *, prediction: ArrayLike | None = None
    ) -> NDArray[np.float64]:
        """Return the realised loss ℓ(f(x), y) of each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Their targets. A class that the predictor has never seen costs what the loss says of
            probability zero; a cost matrix has no cost for it and raises.
        prediction : array-like, optional
            Only with ``predictor="precomputed"``: the external predictor's responses.

        Returns
        -------
        ndarray of shape (n_samples,)
            The losses.
        """
        responses = self._responses_to(X, prediction)
        return self._losses(self._check_y(y, X), responses.get(self.loss_.response))

    def assess(self, X: Any, y: Any = None, *, prediction: ArrayLike | None = None) -> Assessment:
        """Return predictions, risks and, given `y`, losses; each response is computed once.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs), optional
            Their targets.
        prediction : array-like, optional
            Only with ``predictor="precomputed"``: the external predictor's responses.

        Returns
        -------
        Assessment
            A named tuple (prediction, risk, loss); loss is None without `y`.
        """
        responses = self._responses_to(X, prediction)
        risk = self._risk(X, responses)
        loss = None
        if y is not None:
            loss = self._losses(self._check_y(y, X), responses.get(self.loss_.response))
        return Assessment(responses.get("predict"), risk, loss)

    def score(
        self,
        X: Any,
        y: Any,
        *,
        sample_weight: ArrayLike | None = None,
        prediction: ArrayLike | None = None,
    ) -> float:
        """Return minus the mean squared difference between realised loss and estimated risk.

        In expectation it ranks estimates of the risk of *one* predictor by their squared error
        against g itself: for a search over the regressor or the calibration. It does not rank
        predictors. One that always answers a rare class is wrong nearly everywhere, hence its
        risk is easy to estimate and its score close to zero. A search over predictors ranks by
        `condrisk.Deferral.score`, or ``scoring=risk_scorer("deferral_loss", cost=...)``.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows that neither predictor nor risk were fitted on.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Their targets.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the rows in the mean.
        prediction : array-like, optional
            Only with ``predictor="precomputed"``: the external predictor's responses.

        Returns
        -------
        float
            At most zero; larger is better.
        """
        found = self.assess(X, self._check_y(y, X), prediction=prediction)
        assert found.loss is not None
        squared = (found.loss - found.risk) ** 2
        return -float(np.average(squared, weights=_weights(sample_weight, X)))

    @property
    def classes_(self) -> NDArray[Any]:
        """The class labels, where the predictor is a classifier."""
        if self._task() != "classification":
            raise AttributeError(f"{type(self).__name__} of a regressor has no classes_.")
        check_is_fitted(self, "loss_")
        return self._own_classes()

    @property
    def held_out_(self) -> HeldOut:
        """Held-out losses and risks, which rules are fitted on; estimated when first asked for."""
        if self.__dict__.get("_held_out") is None:
            pairs = self.__dict__.get("_pairs")
            if pairs is None:
                raise AttributeError(
                    f"this {type(self).__name__} has no held_out_: it is not fitted, or comes "
                    f"from a model file, which holds no training rows."
                )
            if not pairs.folds:
                raise ValueError("held_out_ needs at least two held-out rows, or two groups.")
            with without_autologging():
                self._held_out = pairs.with_risks(self._held_out_risks(pairs))
            self._pairs = None
        assert self._held_out is not None
        return self._held_out

    # -- inside -----------------------------------------------------------------------------

    def _parts_to_fit(self) -> dict[str, Any]:
        predictor = {"predictor": self.predictor} if self._has_to_fit_predictor() else {}
        return predictor | self._parts()

    def _folds_of(self, fitted: CrossFitted, groups: NDArray[Any] | None) -> list[Split]:
        """Return how pairs are held out from the estimate of their risk.

        By the splits of the predictor, or where all rows were held out at once, by new folds.
        """
        if fitted.n_splits > 1:
            return fitted.folds()
        n = len(fitted.rows) if groups is None else len(np.unique(groups))
        n_folds = min(self.cv if isinstance(self.cv, int) else N_FOLDS, n)
        if n_folds < 2:
            return []
        return make_splits(
            n_folds,
            fitted.rows,
            fitted.rows,
            classifier=False,
            groups=groups,
            random_state=settled(self.random_state),
        )

    def _remember(
        self,
        fitted: CrossFitted,
        loss: NDArray[np.float64],
        *,
        weight: NDArray[Any] | None,
        routed: Routed,
        **work: Any,
    ) -> None:
        """Keep what held-out risks can be estimated from, once somebody asks for them."""
        groups = groups_of(routed, fitted.rows)
        pairs = Pairs(
            fitted.rows,
            loss,
            self._folds_of(fitted, groups),
            None if weight is None else weight[fitted.rows],
            groups,
            **work,
        )
        self._pairs = pairs.thinned(settled(self.random_state))

    def _regressed_out_of_fold(self, pairs: Pairs) -> NDArray[np.float64]:
        """Estimate the risk of each pair by a regressor of losses that has not seen it."""
        jobs = [Job(pairs.model, pairs.params, ("predict",))]
        inputs, target = pairs.arrays["inputs"], pairs.arrays.get("target", pairs.losses)
        found = cross_fit(jobs, inputs, target, pairs.folds, classes=None, n_jobs=self.n_jobs)
        return self._clipped(found.responses[0]["predict"])

    def _clipped(self, risk: Any) -> NDArray[np.float64]:
        """Return what a regressor of losses says, if `clip` is set within what the loss can be."""
        # A log-linear regressor overflows far away from its rows.
        risk = np.minimum(np.asarray(risk, dtype=np.float64).ravel(), LARGEST_RISK)
        if not np.isfinite(risk).all():
            raise ValueError("the regressor's estimate of the risk is NaN or -inf on some rows.")
        return np.clip(risk, self.loss_.minimum, self.loss_.maximum) if self.clip else risk

    # -- scikit-learn -------------------------------------------------------------------------

    def get_metadata_routing(self) -> MetadataRouter:
        """Return which part takes which metadata.

        Returns
        -------
        MetadataRouter
            The routing of scikit-learn.
        """
        router = MetadataRouter(owner=self).add_self_request(self)
        for name, part in self._parts_to_fit().items():
            add_part(router, **{name: part})
        return add_splitter(router, self.cv)

    def __sklearn_tags__(self) -> Any:
        return tags_of_risk(self, super().__sklearn_tags__())

    def __getstate__(self) -> dict[str, Any]:
        state = dict(super().__getstate__())
        if leaves_rows_out():
            state |= {"_pairs": None, "_held_out": None}
        return state


def groups_of(routed: Routed, rows: NDArray[np.intp]) -> NDArray[Any] | None:
    """Return the groups of some rows, where `fit` was given groups."""
    groups = routed["splitter"].get("groups")
    return None if groups is None else np.asarray(groups)[rows]


def settled(random_state: Any) -> int:
    """Return a seed; a generator of the user's is not drawn from for what is optional."""
    return int(random_state) if isinstance(random_state, Integral) else 0
