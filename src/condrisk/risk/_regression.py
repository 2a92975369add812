"""Conditional risk by regressing realised losses."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.utils._param_validation import HasMethods, StrOptions
from sklearn.utils.validation import _check_method_params, _num_samples

from condrisk._crossfit import CrossFitted, rows_of, seeded
from condrisk._outliers import without_outliers
from condrisk._progress import announce
from condrisk._routing import routing_enabled
from condrisk.learners import LossRegressor
from condrisk.risk._base import BaseRisk, check_regressor
from condrisk.risk._features import beside
from condrisk.risk._held_out import Pairs
from condrisk.risk._learning_curve import factor_of_refit
from condrisk.risk._predictor import Routed
from condrisk.risk._responses import Responses, held_out_at_once


class RegressionRisk(BaseRisk):
    """Conditional risk of any predictor under any loss, by regressing its losses.

    The realised losses zᵢ = ℓ(f(xᵢ), yᵢ), on rows that f was not fitted on, are regressed on xᵢ.
    Since E[z | x] = g(x), any regressor that estimates a conditional mean estimates g.

    * With a frozen predictor (`sklearn.frozen.FrozenEstimator`), `fit` takes held-out rows and
      uses all of them.
    * Otherwise the predictor is cross-fitted: for each split of `cv` it is fitted on the training
      rows and its losses are taken on the others; the regressor is fitted on all pairs of row and
      loss that the splits yield; and the predictor is fitted again on all rows (`refit=True`).
      The losses are those of predictors that saw fewer rows than the one that is kept, and so
      too high for it: with five folds on 200 rows by a tenth in the mean over fifteen worlds and
      sets of regressors, and by half on some. With ``cv=`` a number, a second
      cross-fitting on halves of the rows tells how fast the loss falls with their number, and
      the risk is multiplied by `refit_factor_`. That takes a fifth more time; it is left out
      for more than 20,000 rows, and for wrong labels, of which few rows tell too little.
    * With ``predictor="precomputed"`` the predictor is external: its responses to held-out rows
      are given to `fit` as ``prediction=``, or the losses themselves as ``loss=``.

    Of a regressor, where at most one row in a hundred have more than half of all losses, each more
    than ten times any other, the default regressor of losses gets them capped, with a warning that
    names the rows: one error in `y` must not set the risk of all rows. `held_out_` has the losses
    as they are.

    Parameters
    ----------
    predictor : classifier, regressor or "precomputed"
        The model whose risk is wanted: cross-fitted here, frozen, or external.
    loss : str, Loss, array-like, callable or None, default=None
        What an error costs: a name (``"squared_error"``, ``"absolute_error"``, ``"zero_one"``,
        ``"log_loss"``, ``"brier"``), a loss such as ``pinball(0.9)``, a cost matrix
        ``C[true, predicted]`` (in the order of `classes_`, or a labelled pandas frame), or a
        function ``fn(y_true, y_pred)`` (see `condrisk.losses.make_loss`). None is the squared
        error for regressors and the chance of being wrong for classifiers. Of several outputs
        losses of numbers are their mean, `condrisk.losses.averaged` weights it, and None is
        ``"hamming"`` for classifiers, the share of wrong labels.
    regressor : regressor or None, default=None
        What learns g; it gets the rows as they are. None is `condrisk.learners.LossRegressor`,
        made for noisy losses; its docstring gives the figures that speak for it. Frames, texts
        and sparse rows are encoded for it by `condrisk.learners.TableEncoder`.
    features : {"auto", "x", "x+response"}, default="auto"
        The inputs of g: the row, or the row and the predictor's response to it (probabilities
        for classifiers; out-of-fold when fitting). "auto" is "x+response" for classifiers with
        `predict_proba` on rows of features, and "x" for all else. A classifier is most often
        wrong where it is unsure, which its probabilities say and which a regressor of noisy
        losses hardly finds in the rows alone. "auto" asks nothing of an external predictor, and
        leaves images as they are.
    clip : bool, default=True
        Whether estimates below the least value of the loss, or above its greatest, are moved to it.
    cv : int, cross-validation splitter or iterable, default=5
        How to cross-fit a predictor that is not frozen. A number means shuffled folds (stratified
        for classifiers) seeded by `random_state`; given ``groups``, folds that keep groups
        together. All else as in scikit-learn.
    refit : bool, default=True
        Whether to fit the predictor again on all rows. If False, `cv` must give exactly one split,
        whose predictor is kept.
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
    regressor_ : estimator
        The fitted regressor of losses.
    features_ : {"x", "x+response"}
        Its inputs.
    encoder_ : TableEncoder or None
        What makes numbers of the rows for learners of ours; None where no such learner takes the
        row, or where it is numbers already. The predictor gets the rows untouched.
    loss_ : Loss
        The loss.
    refit_factor_ : float
        What the risk learnt from held-out losses is multiplied by, at most 1: how much
        less the predictor that is kept is expected to lose than those of the folds. Always 1
        where the loss is one of labels.
    held_out_ : HeldOut
        Losses of rows that the predictor was not fitted on, and risks estimated without them:
        what rules are fitted on. Estimated when first asked for, on at most 50,000 rows, which are
        kept until then. Not part of a model file.
    classes_ : ndarray of shape (n_classes,)
        The labels, for classifiers; of several outputs in the form that the predictor has.
    n_outputs_ : int
        The number of columns of `y`.
    n_features_in_ : int
        The number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, where `X` has such.

    See Also
    --------
    PlugInRisk : For classifiers, from estimated class probabilities.
    condrisk.Deferral : Acts on the risk.

    Examples
    --------
    >>> from sklearn.linear_model import LinearRegression
    >>> from condrisk import RegressionRisk
    >>> from condrisk.datasets import make_heteroscedastic
    >>> world = make_heteroscedastic(2000, random_state=0)  # σ²(x) = exp(x₁)
    >>> risk = RegressionRisk(LinearRegression(), random_state=0).fit(world.X, world.y)
    >>> calm, noisy = risk.predict_risk([[-1, 0, 0, 0, 0], [1, 0, 0, 0, 0]])
    >>> bool(noisy > 3 * calm)
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **BaseRisk._parameter_constraints,
        "regressor": [HasMethods(["fit", "predict"]), None],
        "features": [StrOptions({"auto", "x", "x+response"})],
        "clip": ["boolean"],
    }

    def __init__(
        self,
        predictor: Any,
        *,
        loss: Any = None,
        regressor: Any = None,
        features: Literal["auto", "x", "x+response"] = "auto",
        clip: bool = True,
        cv: Any = 5,
        refit: bool = True,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: bool | int = False,
    ) -> None:
        self.predictor = predictor
        self.loss = loss
        self.regressor = regressor
        self.features = features
        self.clip = clip
        self.cv = cv
        self.refit = refit
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def _parts(self) -> dict[str, Any]:
        if self.regressor is not None:
            return {"regressor": self.regressor}
        default = LossRegressor()
        if routing_enabled():
            default.set_fit_request(sample_weight=True, groups=True)
        return {"regressor": default}

    def _check_parts(self) -> None:
        if self.features == "x+response":
            self._check_response('features="x+response"', self._feature_response())
        check_regressor(self.regressor)

    def _fit(
        self,
        X: Any,
        y: NDArray[Any],
        prediction: ArrayLike | None,
        sample_weight: NDArray[Any] | None,
        routed: Routed,
    ) -> None:
        self._check_dimensions(X)
        rows = self._learn_encoding(X, needed=self.regressor is None)
        self.features_ = self._inputs_of_risk(rows)
        methods = {self.loss_.response, *self._feature_methods()}
        fitted = self._cross_fitted(X, y, prediction, routed, methods)
        if self._task() == "classification":
            self._check_loss_classes(self.classes_)
        loss = self._losses(y[fitted.rows], fitted.responses[0][self.loss_.response])
        announce("what refitting on all rows saves")
        self.refit_factor_ = factor_of_refit(self, X, y, loss, fitted, sample_weight, routed)
        self._regress(rows, loss, fitted, sample_weight, routed)

    def _fit_to_losses(
        self,
        X: Any,
        loss: NDArray[np.float64],
        prediction: ArrayLike | None,
        sample_weight: NDArray[Any] | None,
        routed: Routed,
    ) -> None:
        self._check_dimensions(X)
        encoded = self._learn_encoding(X, needed=self.regressor is None)
        self.features_ = self._inputs_of_risk(encoded)
        self.refit_factor_ = 1.0
        if prediction is None and self._is_precomputed() and not self._risk_uses_response():
            rows = np.arange(_num_samples(X))
            fitted = held_out_at_once(rows, Responses(None, X), set())
        else:
            fitted = self._fixed_responses(X, prediction, self._feature_methods())
        self._regress(encoded, loss, fitted, sample_weight, routed)

    def _regress(
        self,
        X: Any,
        loss: NDArray[np.float64],
        fitted: CrossFitted,
        sample_weight: NDArray[Any] | None,
        routed: Routed,
    ) -> None:
        """Fit the regressor on held-out losses."""
        response = fitted.responses[0].get(self._feature_response())
        inputs = self._inputs(rows_of(X, fitted.rows), response)
        params = _check_method_params(X, routed["regressor"], indices=fitted.rows)
        if self.regressor is None and params.get("groups") is None and fitted.n_splits > 1:
            # Losses of one fold are those of one fitted predictor: what it lacks they share.
            params["groups"] = fitted.split
        regressor = seeded(self._parts()["regressor"], self.random_state)
        announce(f"risk: {type(regressor).__name__} on realised losses")
        target = loss
        if isinstance(regressor, LossRegressor) and self._task() != "classification":
            weight = None if sample_weight is None else sample_weight[fitted.rows]
            least = self.loss_.minimum
            target = without_outliers(loss, weight, least=least, rows=fitted.rows)
        self.regressor_ = clone(regressor).fit(inputs, target, **params)
        self._remember(
            fitted,
            loss,
            weight=sample_weight,
            routed=routed,
            arrays={"inputs": inputs, "target": target},
            model=regressor,
            params=params,
        )

    def _held_out_risks(self, pairs: Pairs) -> NDArray[np.float64]:
        return self._clipped(self.refit_factor_ * self._regressed_out_of_fold(pairs))

    def _risk(self, X: Any, responses: Responses) -> NDArray[np.float64]:
        response = responses.get(self._feature_response()) if self._risk_uses_response() else None
        inputs = self._inputs(self._encoded(X), response)
        estimate = np.asarray(self.regressor_.predict(inputs))
        return self._clipped(self.refit_factor_ * estimate)

    def _inputs_of_risk(self, X: Any) -> str:
        """Return the inputs of g that `features` stands for."""
        if self.features != "auto":
            return self.features
        says_how_sure = self._task() == "classification" and hasattr(
            self.predictor, "predict_proba"
        )
        return "x+response" if says_how_sure and _is_table(X) else "x"

    def _risk_uses_response(self) -> bool:
        return self.features_ == "x+response"

    def _feature_response(self) -> str:
        return "predict_proba" if self._task() == "classification" else "predict"

    def _feature_methods(self) -> set[str]:
        return {self._feature_response()} if self._risk_uses_response() else set()

    def _inputs(self, X: Any, response: NDArray[Any] | None) -> Any:
        if not self._risk_uses_response() or response is None:
            return X
        return beside(X, response, self._known_classes())

    def _check_dimensions(self, X: Any) -> None:
        if self.regressor is None and getattr(X, "ndim", 2) > 2:
            raise ValueError(
                f"regressor must be given where X has {X.ndim} dimensions, as images have: one "
                f"that takes them, such as condrisk.torch.TorchRegressor."
            )


def _is_table(X: Any) -> bool:
    """Return whether `X` has rows of features, not images or texts."""
    return len(getattr(X, "shape", None) or np.shape(X)) == 2
