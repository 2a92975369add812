"""Conditional risk from an estimated distribution of the target, put into the loss."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils._param_validation import HasMethods, StrOptions

from condrisk._delegate import is_frozen
from condrisk._expected_loss import class_loss_points, class_risk_and_floor
from condrisk.losses import AveragedLoss, Task
from condrisk.risk._base import BaseRisk, groups_of
from condrisk.risk._distribution_risk import DistributionRisk
from condrisk.risk._held_out import Pairs
from condrisk.risk._label_chances import label_risk_and_floor
from condrisk.risk._loss_law import LossLawMixin, LossPoints
from condrisk.risk._plugin_classes import ClassPlugIn
from condrisk.risk._predictor import Routed
from condrisk.risk._responses import Responses

Floats = NDArray[np.float64]


class PlugInRisk(ClassPlugIn, DistributionRisk, LossLawMixin):
    """Conditional risk from an estimate of what the target may be, put into its expectation.

    For a classifier the risk is Σₖ ℓ(f(x), k) pₖ(x): what each class would cost, weighted by how
    likely a second model, `probability`, takes it to be. For a regressor it is
    ∫ ℓ(f(x), y) p(y | x) dy under a second model, `distribution`: for squared error
    (f(x) − m(x))² + v(x), the distance to its mean plus its variance. With the true distribution
    it *is* g, whatever f and the loss. The error for classes is at most half the range of the loss
    times the L¹ error of p.

    * With a frozen predictor (`sklearn.frozen.FrozenEstimator`), the second model is fitted on
      the rows given.
    * Otherwise predictor and second model are both fitted on all rows, and cross-fitted through
      `cv` for the out-of-fold attributes and the calibration.
    * With ``predictor="precomputed"`` the predictor is external: its responses are given as
      ``prediction=`` wherever they are needed. The loss or the second model tells the task.

    Parameters
    ----------
    predictor : classifier, regressor or "precomputed"
        The model whose risk is wanted: cross-fitted here, frozen, or external.
    loss : str, Loss, array-like, callable or None, default=None
        What an error costs, as for `RegressionRisk`. None is the chance of being wrong for
        classifiers and the squared error for regressors. Of several outputs a mean over these,
        for labels ``"hamming"`` if None.
    probability : classifier or None, default=None
        For classifiers, the model that estimates the class probabilities; frozen, it is used as
        it is. None is a
        clone of the predictor, fitted on the rows given. With a frozen predictor those are fresh
        rows, and the clone an honest second opinion. Otherwise they are the predictor's own rows
        and the clone is the predictor itself: with ``calibration=None`` the risk is then its own
        view of itself, and too low by as much as it is overconfident (a forest that fits its rows
        perfectly reports a chance of being wrong far below the real one). What another model gets
        wrong looks like an error of the predictor, under any calibration: by a forest beside a
        logistic regression g is 20 to 32 % too high in normal clouds, where `HybridRisk` is off
        by 4 % at most.
    distribution : estimator or None, default=None
        For regressors, the model that estimates the distribution of the target; frozen, it is used
        as it is. None is `condrisk.learners.DistributionRegressor`. Others may answer as
        quantile-forest (``predict(X, quantiles=…)``), NGBoost (``pred_dist``), skpro
        (``predict_quantiles``) or scikit-learn's Gaussian processes
        (``predict(X, return_std=True)``) do.
    calibration : {"temperature", "sigmoid", "isotonic"} or None, default="temperature"
        For classifiers, scikit-learn's calibration of the probabilities, always fitted on rows
        that the probability model was not fitted on: all rows given if it is frozen, its
        out-of-fold rows otherwise. None leaves them as they are. A temperature is one number, so
        that few rows will do. Two things differ from scikit-learn's: half of the least positive
        probability stands for those of exactly zero, as forests, trees and neighbours give them,
        and where no held-out row is wrong, the least sure one counts as wrong once. On
        six sets and three predictors the mean of g is off by 10 % with it, 69 % without, 45 %
        with "sigmoid" and 36 % with "isotonic" (``benchmarks/class_defaults.py``). It moves
        towards equal probabilities: where a model is sure and wrong about a rare class, `fit` warns
        that this class now looks frequent.
    cv : int, cross-validation splitter or iterable, default=5
        How to cross-fit, as for `RegressionRisk`. With a frozen predictor it is used only for the
        calibration of a probability model that is not frozen, which is then fitted once more for
        each split.
    refit : bool, default=True
        Whether to fit the predictor again on all rows. If False, `cv` must give exactly one split:
        predictor and probability model are fitted on its first part, so that the second is free
        for the calibration (with ``calibration=None`` the probability model is fitted on it).
    n_jobs : int or None, default=None
        How many fits to run at a time; the results do not depend on it.
    random_state : int, RandomState instance or None, default=None
        Seeds the folds and every part whose own random state is left open.
    verbose : bool or int, default=False
        Whether `fit` prints each part as it begins.

    Attributes
    ----------
    predictor_ : estimator
        The fitted predictor.
    probability_ : estimator
        The fitted probability model, for classifiers.
    calibrator_ : estimator or None
        What maps its scores to calibrated probabilities, for classifiers.
    distribution_ : estimator or list of estimators
        The fitted distribution, for regressors; of several outputs one for each.
    encoder_ : TableEncoder or None
        For regressors, what makes numbers of the rows for learners of ours; None where there is no
        such learner, or where they are numbers already.
    loss_ : Loss
        The loss.
    held_out_ : HeldOut
        Losses of held-out rows, and risks estimated without them: what rules are fitted on.
        Estimated when first asked for, on at most 50,000 rows. Not part of a model file.
    classes_ : ndarray of shape (n_classes,)
        The labels that the predictor knows. Classes that only one of predictor and probability
        model knows are aligned by label, with probability zero where unknown.
    n_outputs_ : int
        The number of columns of `y`.
    n_features_in_ : int
        The number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, where `X` has such.

    See Also
    --------
    HybridRisk : Corrects plug-in risks by realised losses: where their mean has to be right.
    RegressionRisk : For any task, by regressing realised losses.
    condrisk.Deferral : Acts on the risk.

    Examples
    --------
    >>> from sklearn.frozen import FrozenEstimator
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from condrisk import PlugInRisk
    >>> from condrisk.datasets import make_gaussian_mixture
    >>> train = make_gaussian_mixture(500, random_state=0)
    >>> fresh = train.sample(5000, random_state=1)
    >>> tree = DecisionTreeClassifier(random_state=0).fit(train.X, train.y)
    >>> risk = PlugInRisk(FrozenEstimator(tree), probability=LogisticRegression())
    >>> estimate = risk.fit(fresh.X, fresh.y).predict_risk(fresh.X)
    >>> truth = train.risk(tree, fresh.X, loss="zero_one")
    >>> bool(abs(estimate - truth).mean() < 0.05 * truth.mean())
    True

    A straight line where the mean is bent: the gap says how far it is off.

    >>> import numpy as np
    >>> from sklearn.linear_model import LinearRegression
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-2, 2, size=(400, 1))
    >>> y = X[:, 0] ** 2 + 0.3 * rng.normal(size=400)
    >>> risk = PlugInRisk(LinearRegression(), random_state=0).fit(X, y)
    >>> floor, gap, correction = risk.decompose_risk([[0.0], [1.15]])
    >>> bool(gap[0] > 10 * floor[0]), bool(gap[1] < floor[1])
    (True, True)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **BaseRisk._parameter_constraints,
        "probability": [HasMethods(["fit", "predict"]), None],
        "distribution": [HasMethods(["fit", "predict"]), None],
        "calibration": [StrOptions({"temperature", "sigmoid", "isotonic"}), None],
    }

    def __init__(
        self,
        predictor: Any,
        *,
        loss: Any = None,
        probability: Any = None,
        distribution: Any = None,
        calibration: Literal["temperature", "sigmoid", "isotonic"] | None = "temperature",
        cv: Any = 5,
        refit: bool = True,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: bool | int = False,
    ) -> None:
        self.predictor = predictor
        self.loss = loss
        self.probability = probability
        self.distribution = distribution
        self.calibration = calibration
        self.cv = cv
        self.refit = refit
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    # -- fitting -----------------------------------------------------------------------------

    def _fit(
        self,
        X: Any,
        y: NDArray[Any],
        prediction: ArrayLike | None,
        sample_weight: NDArray[Any] | None,
        routed: Routed,
    ) -> None:
        if self._task() == "classification":
            self._fit_to_classes(X, y, prediction, sample_weight, routed)
            return
        rows = self._rows_of_law(X, self._learn_encoding(X, needed=self.distribution is None))
        fitted = self._cross_fitted(X, y, prediction, routed, {self.loss_.response})
        response = fitted.responses[0][self.loss_.response]
        loss = self._losses(y[fitted.rows], response)
        groups = groups_of(routed, fitted.rows)
        params = routed.get("distribution", {})
        found = self._fit_distribution(rows, y, response, fitted, params, groups)
        weight = None if sample_weight is None else sample_weight[fitted.rows]
        pairs = Pairs(fitted.rows, loss, [], weight, groups)
        self._held_out = pairs.with_risks(self._lifted(found.risk))

    def _held_out_risks(self, pairs: Pairs) -> Floats:
        return self._held_out_class_risks(pairs)  # those of a regressor are found in fit

    # -- risk ----------------------------------------------------------------------------------

    def _risk(self, X: Any, responses: Responses) -> Floats:
        if self._task() == "classification":
            return self._class_risk(X, responses)
        rows = self._rows_of_law(X, self._encoded(X))
        return self._lifted(self._plugged(rows, responses.get(self.loss_.response)).risk)

    def _lifted(self, risk: Floats) -> Floats:
        if not np.isfinite(risk).all():
            raise ValueError("the expected loss of some rows is NaN or infinite.")
        return np.maximum(risk, self.loss_.minimum)

    def _plug_in_and_floor(self, X: Any, responses: Responses) -> tuple[Floats, Floats]:
        if self._task() != "classification":
            return self._expected_and_least(X, responses.get(self.loss_.response))
        if isinstance(self.loss_, AveragedLoss):
            return label_risk_and_floor(self.loss_, *self._class_law(X, responses))
        return class_risk_and_floor(self.loss_, *self._class_law(X, responses), self._labels)

    def _loss_points(self, X: Any, responses: Responses) -> Iterator[LossPoints]:
        if self._task() != "classification":
            yield from self._losses_of_points(X, responses.get(self.loss_.response))
        else:
            yield class_loss_points(self.loss_, *self._class_law(X, responses), self._labels)

    # -- parts -------------------------------------------------------------------------------

    def _task(self) -> Task | None:
        return self._task_by_parts()

    def _parts(self) -> dict[str, Any]:
        if self._task() != "classification":
            model = self._distribution()
            return {} if is_frozen(model) else {"distribution": model}
        probability = self._probability()
        if probability is self.predictor or probability is None or is_frozen(probability):
            return {}
        return {"probability": probability}

    def _check_parts(self) -> None:
        self._check_outputs()
        if self._task() != "classification":
            other = None if self.calibration == "temperature" else self.calibration
            self._refuse(probability=self.probability, calibration=other)
            self._check_distribution()
            return
        self._refuse(distribution=self.distribution)
        self._check_probability()
