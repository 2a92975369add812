"""The model that carries a rule: predict, or defer to an expert."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone
from sklearn.utils import get_tags, indexable
from sklearn.utils._param_validation import HasMethods
from sklearn.utils.metadata_routing import MetadataRouter, process_routing
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from condrisk._delegate import Assessment, assess, find, has_risk, is_frozen, risk_part
from condrisk._routing import add_part, routing_enabled, weight_params
from condrisk._validation import check_cost, check_weight, validated
from condrisk.deferral._decision import Decision
from condrisk.deferral._rows import (
    Rows,
    held_out_pairs,
    hold_back,
    loss_bound,
    needs_fit,
    pairs_of,
)
from condrisk.deferral._rules import CostRule, fit_rule


def _risk_has(method: str) -> Any:
    def check(self: Deferral) -> bool:
        getattr(getattr(self, "risk_", self.risk), method)
        return True

    return check


class Deferral(MetaEstimatorMixin, BaseEstimator):
    """A predictor that defers the rows that a rule picks by their risk.

    Parameters
    ----------
    risk : estimator
        A risk estimator such as `RegressionRisk` or `PlugInRisk`, or a Pipeline that ends in one.
        It is fitted together with the rule; frozen (`sklearn.frozen.FrozenEstimator`), it is used
        as it is and only the rule is fitted.
    cost : float or None, default=None
        The cost of deferring a row, in units of the loss. It is given, not something to search
        over: `score` charges it for each deferred row, and a search at a fixed cost finds the risk
        or rule with the least deferral loss. None if each call gives its own.
    rule : rule or None, default=None
        What decides; None is `CostRule`: defer iff the risk exceeds the cost. Rules with a
        guarantee (`RiskControlRule`, `RateControlRule`) test it on rows that are held back from
        those given to `fit`, or given apart.

    Attributes
    ----------
    risk_ : estimator
        The fitted risk estimator.
    rule_ : rule
        The fitted rule. It is fitted on the risk estimator's `held_out_`: losses of held-out rows
        and risks that were estimated without them. A rule with a guarantee chooses thresholds on
        these and tests them on rows that nothing was fitted on.
    classes_ : ndarray of shape (n_classes,)
        The labels, for classifiers.
    n_features_in_ : int
        The number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, where `X` has such.

    Examples
    --------
    >>> from sklearn.linear_model import LinearRegression
    >>> from condrisk import Deferral, RegressionRisk
    >>> from condrisk.datasets import make_heteroscedastic
    >>> world = make_heteroscedastic(2000, random_state=0)  # σ²(x) = exp(x₁)
    >>> model = Deferral(RegressionRisk(LinearRegression(), random_state=0), cost=1.0)
    >>> model = model.fit(world.X, world.y)
    >>> model.defer([[-2, 0, 0, 0, 0], [2, 0, 0, 0, 0]])
    array([False,  True])
    >>> fresh = world.sample(2000, random_state=1)
    >>> bool(-model.score(fresh.X, fresh.y) < 1.0)  # better than deferring everything
    True
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "risk": [HasMethods(["fit"])],
        "cost": "no_validation",  # by check_cost, whose message says what a price is
        "rule": [HasMethods(["fit", "defer"]), None],
    }

    def __init__(self, risk: Any, *, cost: float | None = None, rule: Any = None) -> None:
        self.risk = risk
        self.cost = cost
        self.rule = rule

    @validated(nested=True)
    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        sample_weight: ArrayLike | None = None,
        calibration: tuple[Any, ...] | None = None,
        **params: Any,
    ) -> Self:
        """Fit the risk estimator unless it is frozen, then the rule.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Targets.
        sample_weight : array-like of shape (n_samples,), optional
            Weights, for risk and rule.
        calibration : tuple (X, y) or (X, y, sample_weight), optional
            Rows that neither predictor nor risk was fitted on, for the rule. Rules with a
            guarantee are tested on them; without such rows they hold some back, as their
            `calibration_size` says. All rows of a frozen risk are taken as new to it.
        **params : dict
            Passed on to the risk estimator's fit, such as ``groups=``, ``prediction=`` and, in
            place of `y`, ``loss=``.

        Returns
        -------
        self : object
            The fitted model.
        """
        self._check()
        (X,) = indexable(X)
        weight = None if sample_weight is None else np.asarray(sample_weight)
        rule = clone(CostRule() if self.rule is None else self.rule, safe=False)
        rows, kept = hold_back(rule, self.risk, Rows(X, y, weight, params), calibration)
        for_risk = self._risk_params(rows.weight, rows.params)
        if is_frozen(self.risk):
            self.risk_ = self.risk
            check_is_fitted(self.risk_)
        else:
            self.risk_ = clone(self.risk).fit(rows.X, rows.y, **for_risk)
        self.rule_ = rule
        if needs_fit(rule):
            self._fit_rule(rows, kept)
        return self

    def _validate_params(self) -> None:
        if hasattr(self.rule, "next_rows"):
            name = type(self.rule).__name__
            raise TypeError(
                f"rule: {name} decides about the rows of one batch, by labels of some of them, and "
                f"Deferral about rows to come. Use it by itself: "
                f"{name}(target).fit(model.predict_risk(batch), label). For rows to come, take "
                f"RiskControlRule."
            )
        super()._validate_params()

    def _check(self) -> None:
        if not has_risk(self.risk):
            raise ValueError(
                f"risk must be a risk estimator such as RegressionRisk or PlugInRisk, or a "
                f"Pipeline that ends in one; got {type(self.risk).__name__}."
            )
        if hasattr(self.risk, "decide"):
            raise ValueError(
                f"risk must be a risk estimator; {type(self.risk).__name__} decides by itself, "
                f"without a Deferral around it."
            )
        if self.cost is not None:
            if np.ndim(self.cost):
                raise ValueError("cost must be one number here; give a cost per row to `decide`.")
            check_cost(self.cost, np.zeros(1), "cost")

    def _fit_rule(self, rows: Rows, kept: Rows | None) -> None:
        """Fit the rule on risks and losses of held-out rows; it is tested on `kept`, if any."""
        pairs = pairs_of(self.risk_, rows) if is_frozen(self.risk) else None
        if pairs is None:
            pairs = held_out_pairs(self.risk_, rows)
        tests = None if kept is None else pairs_of(self.risk_, kept)
        if pairs is None:
            pairs, tests = tests, None  # all that is there: the rule divides it by itself
        if pairs is None:
            raise ValueError(
                f"rule: {type(self.rule_).__name__} is fitted on held-out risks, and "
                f"{type(risk_part(self.risk_)).__name__} has no held_out_: give calibration= rows, "
                f"or use CostRule."
            )
        fit_rule(
            self.rule_,
            pairs.risk,
            pairs.loss,
            pairs.X,
            pairs.weight,
            None if tests is None else tests.for_tests(),
            loss_bound(self.risk_),
            None if tests is None else tests.X,
        )

    def _risk_params(self, sample_weight: Any, params: dict[str, Any]) -> dict[str, Any]:
        """Return what the fit of the risk estimator gets."""
        if is_frozen(self.risk):
            return {}
        if routing_enabled():
            weights = {} if sample_weight is None else {"sample_weight": sample_weight}
            routed = process_routing(self, "fit", **weights, **params)
            return dict(routed["risk"].fit)
        return params | weight_params(self.risk, sample_weight, part="risk")

    # -- using it ---------------------------------------------------------------------------

    def predict(self, X: Any, *, prediction: ArrayLike | None = None) -> NDArray[Any]:
        """Return the prediction of every row, deferred or not; never a sentinel.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.
        prediction : array-like, optional
            Only for an external predictor: its responses.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_outputs)
            Labels or numbers.
        """
        owner, X = self._owner(X)
        return owner.predict(X, **_given(prediction))

    @available_if(_risk_has("predict_proba"))
    def predict_proba(self, X: Any) -> NDArray[Any]:
        """Return the predictor's own class probabilities, shape (n_samples, n_classes)."""
        check_is_fitted(self, "risk_")
        return self.risk_.predict_proba(X)

    @available_if(_risk_has("decision_function"))
    def decision_function(self, X: Any) -> NDArray[Any]:
        """Return the predictor's own decision function."""
        check_is_fitted(self, "risk_")
        return self.risk_.decision_function(X)

    def predict_risk(self, X: Any, *, prediction: ArrayLike | None = None) -> NDArray[np.float64]:
        """Estimate the expected loss of the prediction at each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.
        prediction : array-like, optional
            Only for an external predictor: its responses.

        Returns
        -------
        ndarray of shape (n_samples,)
            The estimated risk.
        """
        owner, X = self._owner(X)
        return owner.predict_risk(X, **_given(prediction))

    def loss_values(
        self, X: Any, y: Any, *, prediction: ArrayLike | None = None
    ) -> NDArray[np.float64]:
        """Return the realised loss of the prediction of each row, deferred or not.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Their targets.
        prediction : array-like, optional
            Only for an external predictor: its responses.

        Returns
        -------
        ndarray of shape (n_samples,)
            The losses.
        """
        owner, X = self._owner(X)
        return owner.loss_values(X, y, **_given(prediction))

    def assess(self, X: Any, y: Any = None, *, prediction: ArrayLike | None = None) -> Assessment:
        """Return predictions, risks and, given `y`, losses; each response is computed once.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs), optional
            Their targets.
        prediction : array-like, optional
            Only for an external predictor: its responses.

        Returns
        -------
        Assessment
            A named tuple (prediction, risk, loss); loss is None without `y`.
        """
        check_is_fitted(self, "risk_")
        return assess(self.risk_, X, y, prediction=prediction)

    def defer(
        self, X: Any, *, cost: ArrayLike | None = None, prediction: ArrayLike | None = None
    ) -> NDArray[np.bool_]:
        """Return which rows go to an expert.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.
        cost : float or array-like of shape (n_samples,), optional
            The cost of deferring, one for all rows or one per row; the model's own if not given.
        prediction : array-like, optional
            Only for an external predictor: its responses.

        Returns
        -------
        ndarray of bool, shape (n_samples,)
            True where the row is deferred.
        """
        risk = self.predict_risk(X, prediction=prediction)
        return self._defer(risk, X, self._cost(cost, risk))

    def decide(
        self, X: Any, *, cost: ArrayLike | None = None, prediction: ArrayLike | None = None
    ) -> Decision:
        """Return prediction, risk and decision together, each response computed once.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.
        cost : float or array-like of shape (n_samples,), optional
            The cost of deferring, one for all rows or one per row; the model's own if not given.
        prediction : array-like, optional
            Only for an external predictor: its responses.

        Returns
        -------
        Decision
            With `prediction`, `risk`, `deferred` and `to_frame()`.
        """
        found = self.assess(X, prediction=prediction)
        deferred = self._defer(found.risk, X, self._cost(cost, found.risk))
        guarantee = getattr(self.rule_, "guarantee_", None)
        groups = getattr(self.rule_, "group_guarantees_", None)
        return Decision(found.prediction, found.risk, deferred, X, guarantee, groups)

    def score(
        self,
        X: Any,
        y: Any,
        *,
        cost: ArrayLike | None = None,
        expert_loss: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        prediction: ArrayLike | None = None,
    ) -> float:
        """Return minus the mean deferral loss: the loss where accepted, the cost where not.

        It counts the predictor as well as the risk, so a search over either may rank by it.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows that the model was not fitted on.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Their targets.
        cost : float or array-like of shape (n_samples,), optional
            The cost of deferring, one for all rows or one per row; the model's own if not given.
        expert_loss : array-like of shape (n_samples, n_experts) or (n_samples,), optional
            Only with an `ExpertRule`, whose experts err: the realised loss of their answers, which
            is paid beside cost and fee.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the rows in the mean.
        prediction : array-like, optional
            Only for an external predictor: its responses.

        Returns
        -------
        float
            Larger is better.
        """
        if y is None:
            raise ValueError("y must be given to score a deferral: the targets of the rows.")
        found = self.assess(X, y, prediction=prediction)
        assert found.loss is not None
        paid = self._paid(found.loss, found.risk, X, self._cost(cost, found.loss), expert_loss)
        return -float(np.average(paid, weights=check_weight(sample_weight, found.loss, "X")))

    def _paid(
        self,
        loss: NDArray[np.float64],
        risk: NDArray[np.float64],
        X: Any,
        cost: NDArray[np.float64] | None,
        expert_loss: ArrayLike | None,
    ) -> NDArray[np.float64]:
        """Return what each row has cost."""
        if hasattr(self.rule_, "cost_values"):
            if expert_loss is None:
                raise ValueError(
                    "expert_loss must be given to score a rule whose experts err: the realised "
                    "loss of each expert's answer to each row."
                )
            who = self.rule_.assign(risk, X=X, cost=cost)
            return self.rule_.cost_values(loss, expert_loss, who, cost=cost)
        if expert_loss is not None:
            raise ValueError("expert_loss is only for rules whose experts err, as ExpertRule's.")
        if cost is None:
            raise ValueError(
                "cost must be given to score a deferral: the cost of deferring a row, as "
                "Deferral(risk, cost=…) or score(X, y, cost=…)."
            )
        return np.where(self._defer(risk, X, cost), cost, loss)

    @property
    def classes_(self) -> NDArray[Any]:
        """The class labels, where the predictor is a classifier."""
        return getattr(self, "risk_", self.risk).classes_

    @property
    def n_features_in_(self) -> int:
        """The number of features."""
        return self._fitted_risk("n_features_in_").n_features_in_

    @property
    def feature_names_in_(self) -> NDArray[Any]:
        """The names of the features, where the rows had such."""
        return self._fitted_risk("feature_names_in_").feature_names_in_

    # -- inside -----------------------------------------------------------------------------

    def _fitted_risk(self, attribute: str) -> Any:
        if "risk_" not in self.__dict__:
            raise AttributeError(f"{type(self).__name__} has no {attribute} before fit.")
        return self.risk_

    def _owner(self, X: Any) -> tuple[Any, Any]:
        check_is_fitted(self, "risk_")
        return find(self.risk_, X, "predict_risk")

    def _cost(self, cost: ArrayLike | None, like: NDArray[Any]) -> NDArray[np.float64] | None:
        cost = self.cost if cost is None else cost
        return None if cost is None else check_cost(cost, like, "X")

    def _defer(self, risk: NDArray[Any], X: Any, cost: Any) -> NDArray[np.bool_]:
        return self.rule_.defer(risk, X=X, cost=cost)

    def get_metadata_routing(self) -> MetadataRouter:
        """Return which part takes which metadata.

        Returns
        -------
        MetadataRouter
            The routing of scikit-learn.
        """
        router = MetadataRouter(owner=self).add_self_request(self)
        # The rule takes the weights itself, whatever the risk does with them.
        return add_part(router, risk=self.risk)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = get_tags(self.risk)
        tags.estimator_type = inner.estimator_type
        tags.classifier_tags = inner.classifier_tags
        tags.regressor_tags = inner.regressor_tags
        tags.target_tags = inner.target_tags
        tags.input_tags = inner.input_tags
        return tags


def _given(prediction: ArrayLike | None) -> dict[str, Any]:
    return {} if prediction is None else {"prediction": prediction}
