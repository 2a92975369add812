"""The model that carries a rule: predict, or ask somebody who knows better."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, MetaEstimatorMixin, _fit_context, clone
from sklearn.utils import _safe_indexing, get_tags, indexable
from sklearn.utils._param_validation import HasMethods
from sklearn.utils.metadata_routing import MetadataRouter, process_routing
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from condrisk._delegate import find, has_risk, is_frozen
from condrisk._routing import add_part, routing_enabled, weight_params
from condrisk._validation import check_cost, check_weight
from condrisk.deferral._calibration_rows import Rows, declared_maximum, pairs_of, set_aside
from condrisk.deferral._controlled import ControlledRule, check_pairs
from condrisk.deferral._decision import Decision
from condrisk.deferral._rules import CostRule


def _risk_has(method: str) -> Any:
    def check(self: Deferral) -> bool:
        getattr(getattr(self, "risk_", self.risk), method)
        return True

    return check


class Deferral(MetaEstimatorMixin, BaseEstimator):
    """A predictor that knows when to ask: it defers the rows that a rule picks by their risk.

    Parameters
    ----------
    risk : estimator
        A risk estimator such as `RegressionRisk` or `PlugInRisk`, or a Pipeline that ends in one.
        It is fitted together with the rule; frozen (`sklearn.frozen.FrozenEstimator`), it is used
        as it is and only the rule is fitted.
    cost : float or None, default=None
        The price of asking, in units of the loss. It is a price, not something to search over:
        `score` charges it for each deferred row, and a search at a fixed price finds the risk or
        rule with the least deferral loss. None if each call gives its own.
    rule : rule or None, default=None
        What decides; None is `CostRule`: defer iff the risk exceeds the price. Rules that keep a
        promise about new rows (`RiskControlRule`, `RateControlRule`) test it on rows that are
        set aside from those given to `fit`, or given apart.

    Attributes
    ----------
    risk_ : estimator
        The fitted risk estimator.
    rule_ : rule
        The fitted rule. It is fitted on the out-of-fold risks and losses of a cross-fitted risk
        estimator, otherwise on those of the rows that the risk was fitted on. A rule that keeps a
        promise chooses thresholds on these and tests them on rows that nothing was fitted on.
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
    >>> bool(-model.score(fresh.X, fresh.y) < 1.0)  # better than always asking
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

    @_fit_context(prefer_skip_nested_validation=False)
    def fit(
        self,
        X: Any,
        y: Any,
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
        y : array-like of shape (n_samples,)
            Targets.
        sample_weight : array-like of shape (n_samples,), optional
            Weights, for risk and rule.
        calibration : tuple (X, y) or (X, y, sample_weight), optional
            Only for rules that keep a promise: rows that neither predictor nor risk was fitted
            on, to test on. Without them such a rule sets rows aside, as its `calibration_size`
            says; all of a frozen risk's rows are taken as new to it.
        **params : dict
            Passed on to the risk estimator's fit, such as ``groups=`` and ``prediction=``.

        Returns
        -------
        self : object
            The fitted model.
        """
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
                raise ValueError("cost must be one number here; give a price a row to `decide`.")
            check_cost(self.cost, np.zeros(1), "cost")
        (X,) = indexable(X)
        weight = None if sample_weight is None else np.asarray(sample_weight)
        rule = clone(CostRule() if self.rule is None else self.rule)
        rows, held = set_aside(rule, self.risk, Rows(X, y, weight, params), calibration)
        X, y, weight, params = rows
        for_risk, for_rule = self._route(weight, params)
        if is_frozen(self.risk):
            self.risk_ = self.risk
            check_is_fitted(self.risk_)
        else:
            self.risk_ = clone(self.risk).fit(X, y, **for_risk)
        self.rule_ = rule
        if get_tags(rule).requires_fit:
            self._fit_rule(X, y, params.get("prediction"), for_rule, held)
        return self

    def _fit_rule(
        self, X: Any, y: Any, prediction: Any, for_rule: dict[str, Any], held: Rows | None
    ) -> None:
        owner, inner = find(self.risk_, X, "predict_risk")
        if is_frozen(self.risk):
            given = {} if prediction is None else {"prediction": prediction}
            loss, risk = owner.loss_values(inner, y, **given), owner.predict_risk(inner, **given)
        else:
            rows, loss, risk = owner._calibration(inner, prediction)
            X = _safe_indexing(X, rows)
            for_rule = {name: _safe_indexing(v, rows) for name, v in for_rule.items()}
        if isinstance(self.rule_, ControlledRule):
            self.rule_._fit_pairs(
                check_pairs(risk, loss, for_rule.get("sample_weight")),
                None if held is None else pairs_of(self.risk_, held),
                declared=declared_maximum(owner),
            )
        else:
            self.rule_.fit(risk, loss, X=X, **for_rule)

    def _route(
        self, sample_weight: Any, params: dict[str, Any]
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return what the fits of risk and rule get."""
        if routing_enabled():
            routed = process_routing(self, "fit", sample_weight=sample_weight, **params)
            return dict(routed["risk"].fit), dict(routed["rule"].fit)
        for_risk = dict(params)
        if not is_frozen(self.risk):
            for_risk |= weight_params(self.risk, sample_weight, part="risk")
        return for_risk, {} if sample_weight is None else {"sample_weight": sample_weight}

    # -- using it ---------------------------------------------------------------------------

    def predict(self, X: Any, *, prediction: ArrayLike | None = None) -> NDArray[Any]:
        """Return the predictor's answer for every row, deferred or not; never a sentinel.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.
        prediction : array-like, optional
            Only where the predictor lives elsewhere: what it says.

        Returns
        -------
        ndarray of shape (n_samples,)
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
        """Estimate the expected loss of the predictor's answer at each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.
        prediction : array-like, optional
            Only where the predictor lives elsewhere: what it says.

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
        """Return the realised loss of the predictor's answer at each row, deferred or not.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,)
            Their targets.
        prediction : array-like, optional
            Only where the predictor lives elsewhere: what it says.

        Returns
        -------
        ndarray of shape (n_samples,)
            The losses.
        """
        owner, X = self._owner(X)
        return owner.loss_values(X, y, **_given(prediction))

    def defer(
        self, X: Any, *, cost: ArrayLike | None = None, prediction: ArrayLike | None = None
    ) -> NDArray[np.bool_]:
        """Tell for which rows to ask the expert.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.
        cost : float or array-like of shape (n_samples,), optional
            The price of asking, one for all rows or one a row; the model's own if not given.
        prediction : array-like, optional
            Only where the predictor lives elsewhere: what it says.

        Returns
        -------
        ndarray of bool, shape (n_samples,)
            True where the expert is asked.
        """
        risk = self.predict_risk(X, prediction=prediction)
        return self._defer(risk, X, self._price(cost, risk))

    def decide(
        self, X: Any, *, cost: ArrayLike | None = None, prediction: ArrayLike | None = None
    ) -> Decision:
        """Return prediction, risk and decision together, each response computed once.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.
        cost : float or array-like of shape (n_samples,), optional
            The price of asking, one for all rows or one a row; the model's own if not given.
        prediction : array-like, optional
            Only where the predictor lives elsewhere: what it says.

        Returns
        -------
        Decision
            With `prediction`, `risk`, `deferred` and `to_frame()`.
        """
        owner, inner = self._owner(X)
        answers = owner._answers(inner, prediction)
        risk = owner._risk(inner, answers)
        deferred = self._defer(risk, X, self._price(cost, risk))
        promise = getattr(self.rule_, "promise_", None)
        return Decision(answers.get("predict"), risk, deferred, X, promise)

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
        """Return minus the mean deferral loss: the loss where accepted, the price where not.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows that the model was not fitted on.
        y : array-like of shape (n_samples,)
            Their targets.
        cost : float or array-like of shape (n_samples,), optional
            The price of asking, one for all rows or one a row; the model's own if not given.
        expert_loss : array-like of shape (n_samples, n_experts) or (n_samples,), optional
            Only with an `ExpertRule`, whose experts err: the realised loss of their answers, which
            is paid beside price and fee.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the rows in the mean.
        prediction : array-like, optional
            Only where the predictor lives elsewhere: what it says.

        Returns
        -------
        float
            Larger is better.
        """
        owner, inner = self._owner(X)
        answers = owner._answers(inner, prediction)
        loss = owner._losses(owner._check_y(y, inner), answers.get(owner.loss_.response))
        price = self._price(cost, loss)
        paid = self._paid(loss, owner._risk(inner, answers), X, price, expert_loss)
        return -float(np.average(paid, weights=check_weight(sample_weight, loss, "X")))

    def _paid(
        self,
        loss: NDArray[np.float64],
        risk: NDArray[np.float64],
        X: Any,
        price: NDArray[np.float64] | None,
        expert_loss: ArrayLike | None,
    ) -> NDArray[np.float64]:
        """Return what each row has cost."""
        if hasattr(self.rule_, "cost_values"):
            if expert_loss is None:
                raise ValueError(
                    "expert_loss must be given to score a rule whose experts err: the realised "
                    "loss of each expert's answer to each row."
                )
            who = self.rule_.assign(risk, X=X, cost=price)
            return self.rule_.cost_values(loss, expert_loss, who, cost=price)
        if expert_loss is not None:
            raise ValueError("expert_loss is only for rules whose experts err, as ExpertRule's.")
        if price is None:
            raise ValueError(
                "cost must be given to score a deferral: the price of asking, as "
                "Deferral(risk, cost=…) or score(X, y, cost=…)."
            )
        return np.where(self._defer(risk, X, price), price, loss)

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

    def _price(self, cost: ArrayLike | None, like: NDArray[Any]) -> NDArray[np.float64] | None:
        cost = self.cost if cost is None else cost
        return None if cost is None else check_cost(cost, like, "X")

    def _defer(self, risk: NDArray[Any], X: Any, price: Any) -> NDArray[np.bool_]:
        return self.rule_.defer(risk, X=X, cost=price)

    def get_metadata_routing(self) -> MetadataRouter:
        """Return which part takes which metadata.

        Returns
        -------
        MetadataRouter
            The routing of scikit-learn.
        """
        router = MetadataRouter(owner=self).add_self_request(self)
        if not is_frozen(self.risk):
            add_part(router, risk=self.risk)
        rule = CostRule() if self.rule is None else clone(self.rule)
        return add_part(router, rule=rule.set_fit_request(sample_weight=True))

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
