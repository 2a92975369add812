"""Model cascades: a cheap model, then a dearer one, then a human, each only where it pays."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone
from sklearn.utils import _safe_indexing, get_tags, indexable
from sklearn.utils._param_validation import HasMethods
from sklearn.utils.validation import _check_sample_weight, _num_samples, check_is_fitted

from condrisk._crossfit import rows_of, seeded
from condrisk._delegate import assess, has_risk, loss_values, risk_part
from condrisk._routing import weight_params
from condrisk._validation import check_vector, check_weight, validated
from condrisk.deferral._cascade_decision import CascadeDecision
from condrisk.deferral._expert import check_expert, check_fees, risk_of_expert
from condrisk.deferral._stages import fit_stage, out_of_fold, replaced
from condrisk.learners import LossRegressor

Floats = NDArray[np.float64]


class Cascade(MetaEstimatorMixin, BaseEstimator):
    """Models from cheap to expensive, then an expert, each used only where that pays.

    To compare the cheap model's risk with the expensive one's is not enough: after the latter
    there is still the expert to turn to. With g_j the risk of model j and g_h that of the expert,
    model j's answer is accepted iff g_j(x) ≤ c_j(x), where the cost of going on is, from the back,

        c_m(x) = fee_expert + g_h(x),
        c_j(x) = fee_{j+1} + E[min(g_{j+1}(X), c_{j+1}(X)) | what is known at stage j].

    The expectation is learnt by regression on rows that model and risk were not fitted on, so
    that the expensive model is not run to find out whether to run it.

    Parameters
    ----------
    stages : list of estimators
        Risk estimators such as `RegressionRisk`, or Pipelines that end in one, cheapest first and
        all of one loss. Each is fitted in `fit` unless it is frozen
        (`sklearn.frozen.FrozenEstimator`).
    fee : float or sequence of float
        The price of going on: to each model after the first, and then to the expert, if there is
        one. In units of the loss.
    expert : estimator, float or None, default=None
        The risk of the expert at the end: an `ExpertRisk`, fitted and frozen, or a number, the
        known risk at every row. None if there is no expert: the last model answers what comes.
    columns : list or None, default=None
        For each model but the last, the columns of `X` that are known once it has been run, as
        positions, names or None for all: what the decision to go on may look at. None if all
        columns are known from the start.
    regressor : regressor or None, default=None
        Learns the cost of going on; None is `condrisk.learners.LossRegressor`.
    random_state : int, RandomState instance or None, default=None
        Seeds folds and the regressors, where their own random state is left open.

    Attributes
    ----------
    stages_ : list of estimators
        The fitted models with their risks.
    continuations_ : list of regressors
        For each model but the last, what comes after it, without its fee.
    classes_ : ndarray of shape (n_classes,)
        The labels, for classifiers.
    n_features_in_ : int
        The number of features.

    See Also
    --------
    ExpertRule : Several experts beside one model.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
    >>> from condrisk import RegressionRisk
    >>> from condrisk.datasets import make_gaussian_mixture
    >>> from condrisk.deferral import Cascade
    >>> world = make_gaussian_mixture(600, separation=1.5, random_state=0)
    >>> tree = DecisionTreeRegressor(min_samples_leaf=40)
    >>> stump = DecisionTreeClassifier(max_depth=1)
    >>> stages = [RegressionRisk(f, regressor=tree) for f in (stump, LogisticRegression())]
    >>> cascade = Cascade(stages, fee=[0.02, 0.1], expert=0.05, regressor=tree, random_state=0)
    >>> decision = cascade.fit(world.X, world.y).decide(world.X)
    >>> bool((decision.stage == 1).any()), bool(decision.deferred.any())
    (True, True)
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "stages": [list, tuple],
        "fee": "no_validation",  # by check_fees, which says how many there must be
        "expert": "no_validation",
        "columns": [list, tuple, None],
        "regressor": [HasMethods(["fit", "predict"]), None],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        stages: Any,
        *,
        fee: Any,
        expert: Any = None,
        columns: Any = None,
        regressor: Any = None,
        random_state: Any = None,
    ) -> None:
        self.stages = stages
        self.fee = fee
        self.expert = expert
        self.columns = columns
        self.regressor = regressor
        self.random_state = random_state

    @validated(nested=True)
    def fit(self, X: Any, y: Any = None, *, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the stages that are not frozen, then, from the back, the cost of going on.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows that no frozen stage was fitted on.
        y : array-like of shape (n_samples,), optional
            Targets; not needed if all stages are frozen.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the rows.

        Returns
        -------
        self : object
            The fitted cascade.
        """
        self._check()
        (X,) = indexable(X)
        weight = None
        if sample_weight is not None:
            weight = _check_sample_weight(sample_weight, X, ensure_non_negative=True)
        self.stages_, parts = [], []
        for number, stage in enumerate(self.stages):
            name = f"stages[{number}]"
            fitted, risk = fit_stage(stage, X, y, weight, name, self.random_state)
            self.stages_.append(fitted)
            parts.append(risk)
        self._check_losses()
        risks = np.column_stack(parts)
        rows = np.flatnonzero(np.isfinite(risks).all(axis=1))
        if not len(rows):
            raise ValueError("stages: no row was held out by all of them.")
        inner = None if weight is None else weight[rows]
        self._fit_continuations(rows_of(X, rows), risks[rows], inner)
        return self

    def _fit_continuations(self, X: Any, risks: Floats, weight: Any) -> None:
        """Learn, from the last model to the first, what it costs to go on."""
        regressor = seeded(
            LossRegressor() if self.regressor is None else self.regressor, self.random_state
        )
        params = weight_params(regressor, weight, part="regressor")
        fees, last = self._fees(), risks.shape[1] - 1
        value = risks[:, last]
        if self.expert is not None:
            expert = risk_of_expert(self.expert, X, len(risks), "expert")
            value = np.minimum(value, fees[last] + expert)
        continuations = []
        for stage in range(last - 1, -1, -1):
            inputs = self._known(X, stage)
            continuations.append(clone(regressor).fit(inputs, value, **params))
            if stage:
                # The estimate at a row must not have seen that row's own value.
                going_on = out_of_fold(regressor, inputs, value, params, self.random_state)
                value = np.minimum(risks[:, stage], fees[stage] + going_on)
        self.continuations_ = continuations[::-1]

    # -- using it ---------------------------------------------------------------------------

    def decide(self, X: Any) -> CascadeDecision:
        """Run each model on the rows that come to it, and stop where going on does not pay.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows. A stage sees only the rows that reach it.

        Returns
        -------
        CascadeDecision
            With `prediction`, `risk`, `stage`, `deferred`, `spent` and `to_frame()`.
        """
        check_is_fitted(self, "continuations_")
        (X,) = indexable(X)
        n_rows, fees = _num_samples(X), np.append(0.0, self._fees())
        stage, risk = np.zeros(n_rows, dtype=np.intp), np.zeros(n_rows)
        prediction: NDArray[Any] | None = None
        rows = np.arange(n_rows)
        for number, model in enumerate(self.stages_):
            part = rows_of(X, rows)
            found = assess(model, part)
            own, new = found.risk, found.prediction
            prediction = new.copy() if prediction is None else replaced(prediction, rows, new)
            stage[rows], risk[rows] = number, own
            going_on, expert_risk = self._going_on(part, number, len(rows))
            leaves = own > going_on
            if expert_risk is not None:
                stage[rows[leaves]], risk[rows[leaves]] = number + 1, expert_risk[leaves]
            rows = rows[leaves]
            if not len(rows):
                break
        deferred = stage == len(self.stages_)
        assert prediction is not None
        return CascadeDecision(prediction, risk, stage, deferred, np.cumsum(fees)[stage], X)

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the answer of the last model that is run on each row; never a sentinel.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples,)
            Labels or numbers.
        """
        return self.decide(X).prediction

    def cost_values(
        self, X: Any, y: Any, *, expert_loss: ArrayLike | None = None
    ) -> NDArray[np.float64]:
        """Return what each row has really cost: the loss of who answered, and the fees.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows that the cascade was not fitted on.
        y : array-like of shape (n_samples,)
            Their targets.
        expert_loss : array-like of shape (n_samples,), optional
            Realised loss of the expert's answer; what stands at rows that the expert is not asked
            about is ignored. Where the expert's risk is a known number, that is charged if the
            losses are not given.

        Returns
        -------
        ndarray of shape (n_samples,)
            The costs.
        """
        (X,) = indexable(X)
        decision = self.decide(X)
        y = np.asarray(y)
        if y.shape != decision.stage.shape:
            raise ValueError(f"y must have one value for each of the {len(decision.stage)} rows.")
        paid = decision.spent.copy()
        for number, model in enumerate(self.stages_):
            rows = np.flatnonzero(decision.stage == number)
            if len(rows):
                paid[rows] += loss_values(model, rows_of(X, rows), y[rows])
        rows = np.flatnonzero(decision.deferred)
        if len(rows):
            paid[rows] += self._expert_losses(expert_loss, rows, len(y))
        return paid

    def score(
        self,
        X: Any,
        y: Any,
        *,
        expert_loss: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> float:
        """Return minus the mean of what the rows have really cost.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows that the cascade was not fitted on.
        y : array-like of shape (n_samples,)
            Their targets.
        expert_loss : array-like of shape (n_samples,), optional
            As in `cost_values`.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the rows in the mean.

        Returns
        -------
        float
            Larger is better.
        """
        paid = self.cost_values(X, y, expert_loss=expert_loss)
        return -float(np.average(paid, weights=check_weight(sample_weight, paid, "X")))

    @property
    def classes_(self) -> NDArray[Any]:
        """The class labels, where the models are classifiers."""
        return self._first("classes_").classes_

    @property
    def n_features_in_(self) -> int:
        """The number of features."""
        return self._first("n_features_in_").n_features_in_

    # -- inside -----------------------------------------------------------------------------

    def _first(self, attribute: str) -> Any:
        if "stages_" not in self.__dict__:
            raise AttributeError(f"{type(self).__name__} has no {attribute} before fit.")
        return self.stages_[0]

    def _going_on(self, X: Any, stage: int, n_rows: int) -> tuple[Floats, Floats | None]:
        """Return the cost of leaving a stage, and the risk of the expert if that is who comes."""
        if stage < len(self.stages_) - 1:
            value = self.continuations_[stage].predict(self._known(X, stage))
            return self._fees()[stage] + np.asarray(value, dtype=np.float64).ravel(), None
        if self.expert is None:
            return np.full(n_rows, np.inf), None
        risk = risk_of_expert(self.expert, X, n_rows, "expert")
        return self._fees()[stage] + risk, risk

    def _known(self, X: Any, stage: int) -> Any:
        columns = None if self.columns is None else self.columns[stage]
        return X if columns is None else _safe_indexing(X, columns, axis=1)

    def _fees(self) -> Floats:
        return check_fees(self.fee, len(self.stages) - (self.expert is None))

    def _check(self) -> None:
        if not len(self.stages):
            raise ValueError("stages is empty: give at least one risk estimator.")
        for number, stage in enumerate(self.stages):
            if not has_risk(stage) or hasattr(stage, "decide"):
                raise ValueError(
                    f"stages[{number}] must be a risk estimator such as RegressionRisk, or a "
                    f"Pipeline that ends in one; got {type(stage).__name__}."
                )
        if self.expert is not None:
            check_expert(self.expert, "expert")
        self._fees()
        if self.columns is not None and len(self.columns) != len(self.stages) - 1:
            raise ValueError(
                f"columns must have an entry for each of the {len(self.stages) - 1} models but "
                f"the last, got {len(self.columns)}."
            )

    def _check_losses(self) -> None:
        losses = [getattr(risk_part(stage), "loss_", None) for stage in self.stages_]
        if any(loss != losses[0] for loss in losses):
            raise ValueError(
                f"stages must be of one loss, so that their risks can be compared; got {losses}."
            )

    def _expert_losses(self, expert_loss: Any, rows: NDArray[np.intp], n_rows: int) -> Any:
        if expert_loss is not None:
            losses = np.asarray(expert_loss)
            if losses.shape != (n_rows,):
                raise ValueError(f"expert_loss must have one value for each of the {n_rows} rows.")
            return check_vector(losses[rows], "expert_loss of the rows that the expert answers")
        if not isinstance(self.expert, int | float):
            raise ValueError(
                "expert_loss must be given: some rows are deferred to the expert, and what was "
                "estimated of the expert's errors is not what they cost."
            )
        return float(self.expert)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        if len(self.stages):
            inner = get_tags(self.stages[0])
            tags.estimator_type = inner.estimator_type
            tags.classifier_tags = inner.classifier_tags
            tags.regressor_tags = inner.regressor_tags
            tags.target_tags = inner.target_tags
            tags.input_tags = inner.input_tags
        return tags
