"""The prediction of least expected loss, by a model's own probabilities or distribution."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone, is_classifier
from sklearn.utils import get_tags, indexable
from sklearn.utils._param_validation import HasMethods
from sklearn.utils.metadata_routing import MetadataRouter, process_routing
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from condrisk._adapters import conditionals_of, has_distribution
from condrisk._crossfit import respond
from condrisk._distributions import Conditional
from condrisk._expected_loss import best_class, best_prediction, expected_loss
from condrisk._routing import add_part, routing_enabled, weight_params
from condrisk._validation import validated
from condrisk.learners._distribution import DistributionRegressor
from condrisk.learners._stack import HeldOutStack
from condrisk.losses import CostMatrix, Loss, get_loss

Floats = NDArray[np.float64]


def _model_has(method: str) -> Any:
    def check(self: BayesDecision) -> bool:
        getattr(getattr(self, "model_", self.model), method)  # its error names what lacks
        return True

    return check


class BayesDecision(MetaEstimatorMixin, BaseEstimator):
    """Predict what has the least expected loss under a model's own probabilities.

    * A classifier: of all labels, the one that costs least on average under `predict_proba`. For a
      loss of probabilities, such as the log loss, the probabilities themselves are the best
      answer; `predict` then is the most probable label.
    * A regressor with a conditional distribution: the mean for the squared error, the median for
      the absolute one, a quantile for `pinball`. For any other loss, 17 quantiles are tried, and
      then the best one's neighbourhood is searched. This is the best prediction wherever the
      expected loss falls and then rises (it is quasi-convex); otherwise it may miss it.

    A prediction that is best under a distribution looks better under that distribution than it
    is. Its risk is estimated by what sees held-out losses: ``HybridRisk(BayesDecision(…))``.

    Parameters
    ----------
    model : estimator
        A classifier with `predict_proba`; or a regressor that answers distributions:
        `DistributionRegressor`, a quantile forest, NGBoost, a regressor of skpro, or one whose
        `predict` has ``return_std=``. Fitted here, unless it is frozen.
    loss : str, Loss, array-like, callable or None, default=None
        What an error costs, as for `condrisk.RegressionRisk`.

    Attributes
    ----------
    model_ : estimator
        The fitted model.
    loss_ : Loss
        The loss.
    classes_ : ndarray of shape (n_classes,)
        The labels, for classifiers.
    n_features_in_ : int
        The number of features, where the model knows it.

    See Also
    --------
    condrisk.AutoRisk : Builds such a predictor where none is given.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from condrisk.datasets import make_gaussian_mixture
    >>> from condrisk.learners import BayesDecision
    >>> world = make_gaussian_mixture(500, n_classes=2, random_state=0)
    >>> costs = [[0, 1], [50, 0]]  # to miss a 1 costs fifty times as much
    >>> plain = LogisticRegression().fit(world.X, world.y)
    >>> careful = BayesDecision(LogisticRegression(), loss=costs).fit(world.X, world.y)
    >>> bool(careful.predict(world.X).mean() > plain.predict(world.X).mean())
    True
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "model": [HasMethods(["fit"])],
        "loss": "no_validation",
    }

    def __init__(self, model: Any, *, loss: Any = None) -> None:
        self.model = model
        self.loss = loss

    # -- fitting ------------------------------------------------------------------------------

    @validated(nested=True)
    def fit(self, X: Any, y: Any, sample_weight: Any = None, **params: Any) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,)
            Targets.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the rows, if the model takes them.
        **params : dict
            What else the model's own `fit` takes.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        loss = self._checked_loss()
        if routing_enabled():
            given = {} if sample_weight is None else {"sample_weight": sample_weight}
            params = dict(process_routing(self, "fit", **given, **params)["model"].fit)
        else:
            params |= weight_params(self.model, sample_weight, part="model")
        self.model_ = clone(self.model).fit(X, y, **params)
        if isinstance(loss, CostMatrix):
            loss.check_classes(self.model_.classes_)
        self.loss_ = loss
        for name in ("n_features_in_", "feature_names_in_"):
            self.__dict__.pop(name, None)
            if hasattr(self.model_, name):
                setattr(self, name, getattr(self.model_, name))
        return self

    def _checked_loss(self) -> Loss:
        """Return the loss; refuse a model that cannot tell what an answer costs."""
        if is_classifier(self.model):
            if not hasattr(self.model, "predict_proba"):
                raise ValueError(
                    f"model must have predict_proba, which {type(self.model).__name__} has not: "
                    f"wrap it in CalibratedClassifierCV."
                )
            return get_loss(self.loss, task="classification").for_outputs(1)
        if not has_distribution(self.model):
            raise ValueError(
                f"model must answer a distribution, which {type(self.model).__name__} does not: "
                f"DistributionRegressor({type(self.model).__name__}()) learns one around it."
            )
        return get_loss(self.loss, task="regression").for_outputs(1)

    # -- answers ------------------------------------------------------------------------------

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the prediction of least expected loss at each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples,)
            Labels or numbers.
        """
        check_is_fitted(self, "loss_")
        if is_classifier(self):
            return self._label(respond(self.model_, X, "predict_proba"))
        if isinstance(self.model_, DistributionRegressor):
            return self._number(self.model_.predict_conditional(X))
        (X,) = indexable(X)
        laws = conditionals_of(self.model_, X)
        return np.concatenate([self._number(law) for _, law in laws])

    @available_if(_model_has("predict_proba"))
    def predict_proba(self, X: Any) -> NDArray[Any]:
        """Return the model's own class probabilities, shape (n_samples, n_classes)."""
        check_is_fitted(self, "loss_")
        return respond(self.model_, X, "predict_proba")

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return minus the mean loss.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,)
            Their targets.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the rows in the mean.

        Returns
        -------
        float
            Larger is better.
        """
        check_is_fitted(self, "loss_")
        labels = self.classes_ if is_classifier(self) else None
        losses = self.loss_(y, getattr(self, self.loss_.response)(X), classes=labels)
        return -float(np.average(losses, weights=sample_weight))

    @property
    def classes_(self) -> NDArray[Any]:
        """The class labels, where the model is a classifier."""
        check_is_fitted(self, "loss_")
        return np.asarray(self.model_.classes_)

    def _label(self, proba: Floats) -> NDArray[Any]:
        return best_class(self.loss_, proba, self.classes_)

    def _number(self, law: Conditional) -> Floats:
        return best_prediction(self.loss_, law)

    # -- what a stack knows besides -------------------------------------------------------------

    def responses(self, X: Any) -> dict[str, NDArray[Any]]:
        """Return all responses of a stack or of a `DistributionRegressor`, each part called once.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        dict of str to ndarray
            "predict"; "uncertainty", shape (n_samples, n_columns); for classes "predict_proba",
            for numbers "risk", the expected loss of the prediction.
        """
        check_is_fitted(self, "loss_")
        if is_classifier(self):
            found = self.model_.responses(X)
            return found | {"predict": self._label(found["predict_proba"])}
        return self._of_law(*self.model_.predict_parts(X))

    @property
    def held_out_(self) -> HeldOutStack:
        """Responses to the training rows, of a model that keeps those of what had not seen them."""
        found = self.model_.held_out_
        if is_classifier(self):
            label = self._label(found.responses["predict_proba"])
            return HeldOutStack(found.responses | {"predict": label}, found.fold)
        law = self.model_.held_out_conditional()
        return HeldOutStack(self._of_law(law, found.uncertainty), found.fold)

    def _of_law(self, law: Conditional, uncertainty: Floats) -> dict[str, NDArray[Any]]:
        best = self._number(law)
        risk = expected_loss(self.loss_, best, law)
        known = np.column_stack([law.std, uncertainty])
        return {"predict": best, "risk": risk, "uncertainty": known}

    # -- scikit-learn -------------------------------------------------------------------------

    def get_metadata_routing(self) -> MetadataRouter:
        """Return which part takes which metadata.

        Returns
        -------
        MetadataRouter
            The routing of scikit-learn.
        """
        return add_part(MetadataRouter(owner=self), model=self.model)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = get_tags(self.model)
        tags.estimator_type = inner.estimator_type
        tags.classifier_tags, tags.regressor_tags = inner.classifier_tags, inner.regressor_tags
        tags.input_tags, tags.target_tags = inner.input_tags, inner.target_tags
        for own in (tags.classifier_tags, tags.regressor_tags):
            if own is not None:
                own.poor_score = True  # score is minus a loss, neither accuracy nor R²
        return tags
