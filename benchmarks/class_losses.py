"""Platt scaling beside temperature, three losses ℓ and two L, where classes are predicted.

    python -m benchmarks.class_losses    # writes results/class_losses.json; one minute on one core

Two sets: scikit-learn's digits with normal noise of standard deviation 6 on every pixel (which has
values from 0 to 16), and 1,800 rows of `make_gaussian_mixture`, five classes, ten features. Each
of ten seeds draws noise or rows and splits them as the paper splits CIFAR-10: 50 % for the
predictor, 40 % for the calibrators, 10 % to test on. Of the calibrators' rows a third is kept from
the probability models: scaling learns on it. The predictor is a network of one hidden layer. The
probability models are such a network, a forest and a logistic regression; each as it is, with a
temperature, and with Platt's sigmoid for each class against the rest, normalised. scikit-learn's
sigmoid is one of the decision function or, where there is none, as for the network and the forest,
of the probability. Platt's was made for scores without bounds, so one of the log-odds is measured
too. Two regressions of the loss on row and response are boosted trees that minimise the squared
(L²) or the absolute (L¹) error, on all of the calibrators' rows. Seed 99 was a trial; the run of
the record was the first of its seeds, but for the log-odds, which were added later.
"""

from __future__ import annotations

import json
import platform
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, NamedTuple, Self

import numpy as np
import scipy
import sklearn
from numpy.typing import NDArray
from scipy.special import logit
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.datasets import load_digits
from sklearn.dummy import DummyRegressor
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from condrisk import PlugInRisk, RegressionRisk
from condrisk._files import write_whole
from condrisk.datasets import make_gaussian_mixture
from condrisk.losses import get_loss
from condrisk.metrics import risk_error

RECORD = Path(__file__).parent.parent / "results" / "class_losses.json"
SEEDS, NOISE, N_ROWS, CERTAIN = 10, 6.0, 1800, 1e-6
ERRORS = ["L1", "L2", "bias"]
LOSSES = ("log_loss", "brier", "zero_one")
SCALINGS: dict[str, Literal["temperature", "sigmoid"] | None] = {
    "": None,
    ", temperature": "temperature",
    ", Platt": "sigmoid",
}
SQUARED, ABSOLUTE = "g, L²", "g, L¹"
CRITERIA = {SQUARED: "squared_error", ABSOLUTE: "absolute_error"}
DIGITS, MIXTURE = "noisy digits", "Gaussian mixture"

Rows = tuple[NDArray[Any], NDArray[Any]]


class Parts(NamedTuple):
    """The rows for scaling (and the constant), for regressions of the loss, and to test on."""

    held: Rows
    calibrators: Rows
    test: Rows


class Models(NamedTuple):
    """A frozen predictor, frozen models of probabilities, and regressors with their inputs."""

    predictor: Any
    probabilities: dict[str, Any]
    regressors: dict[str, Any]
    features: Literal["x", "x+response"]


def rows_of(name: str, seed: int) -> Rows:
    """Return the rows of a set."""
    if name == MIXTURE:
        world = make_gaussian_mixture(
            N_ROWS, n_classes=5, n_features=10, separation=2.5, random_state=seed
        )
        return world.X, world.y
    X, y = load_digits(return_X_y=True)
    return X + np.random.default_rng(seed).normal(scale=NOISE, size=X.shape), y


def network(seed: int) -> Any:
    """Return a network that is not fitted."""
    layer = MLPClassifier((64,), max_iter=60, tol=0.0, n_iter_no_change=100, random_state=seed)
    return make_pipeline(StandardScaler(), layer)


def probability_models(seed: int) -> dict[str, Any]:
    """Return the models of class probabilities, not fitted."""
    return {
        "network": network(1000 + seed),
        "forest": RandomForestClassifier(random_state=seed),
        "logistic": make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000)),
    }


class LogOdds(ClassifierMixin, BaseEstimator):
    """A fitted classifier whose scores are the log-odds of its probabilities."""

    def __init__(self, estimator: Any) -> None:
        self.estimator = estimator

    def fit(self, X: Any, y: Any) -> Self:
        """Do nothing: it is fitted."""
        return self

    @property
    def classes_(self) -> NDArray[Any]:
        """The labels."""
        return self.estimator.classes_

    def predict_proba(self, X: Any) -> NDArray[Any]:
        """Return class probabilities."""
        return self.estimator.predict_proba(X)

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the most probable label."""
        return self.estimator.predict(X)

    def decision_function(self, X: Any) -> NDArray[Any]:
        """Return log-odds; those of 0 and 1 are made finite."""
        return logit(np.clip(self.predict_proba(X).astype(float), CERTAIN, 1 - CERTAIN))

    def __sklearn_is_fitted__(self) -> bool:
        return True


def methods(models: Models, parts: Parts, loss: str) -> Iterator[tuple[str, Any]]:
    """Yield the name and the fitted estimator of every method."""
    predictor = models.predictor
    for name, model in models.probabilities.items():
        for scaling, calibration in SCALINGS.items():
            risk = PlugInRisk(predictor, loss=loss, probability=model, calibration=calibration)
            yield f"p {name}{scaling}", risk.fit(*parts.held)
        scores = FrozenEstimator(LogOdds(model))
        risk = PlugInRisk(predictor, loss=loss, probability=scores, calibration="sigmoid")
        yield f"p {name}, Platt of log-odds", risk.fit(*parts.held)
    for name, regressor in models.regressors.items():
        regression = RegressionRisk(
            predictor, loss=loss, regressor=regressor, features=models.features
        )
        yield name, regression.fit(*parts.calibrators)
    constant = RegressionRisk(predictor, loss=loss, regressor=DummyRegressor(), features="x")
    yield "constant", constant.fit(*parts.held)


def measure(name: str, seed: int, models: Models, parts: Parts) -> Iterator[dict[str, Any]]:
    """Yield a record for each loss: by method, the errors of the risk on the rows to test on."""
    X, y = parts.test
    for loss in LOSSES:
        found = get_loss(loss)
        response = getattr(models.predictor, found.response)(X)
        values = found(y, response, classes=models.predictor.classes_)
        errors = {}
        for method, risk in methods(models, parts, loss):
            g = risk.predict_risk(X)
            norms = [risk_error(values, g, norm=1), risk_error(values, g, norm=2)]
            errors[method] = [float(f"{v:.5g}") for v in (*norms, float((g - values).mean()))]
        mean = float(f"{values.mean():.5g}")
        yield {"set": name, "seed": seed, "loss": loss, "mean_loss": mean, "errors": errors}


def one_seed(name: str, seed: int) -> Iterator[dict[str, Any]]:
    """Yield a record for each loss."""
    X, y = rows_of(name, seed)
    rest, test = train_test_split(np.arange(len(y)), test_size=0.1, stratify=y, random_state=seed)
    own, other = train_test_split(rest, test_size=4 / 9, stratify=y[rest], random_state=seed)
    fit, held = train_test_split(other, test_size=1 / 3, stratify=y[other], random_state=seed)
    models = Models(
        FrozenEstimator(network(seed).fit(X[own], y[own])),
        {
            kind: FrozenEstimator(clone(model).fit(X[fit], y[fit]))
            for kind, model in probability_models(seed).items()
        },
        {
            kind: HistGradientBoostingRegressor(
                loss=criterion, max_iter=40, max_leaf_nodes=8, random_state=0
            )
            for kind, criterion in CRITERIA.items()
        },
        "x+response",
    )
    yield from measure(name, seed, models, Parts(*((X[r], y[r]) for r in (held, other, test))))


def main() -> None:
    """Measure, and keep the record."""
    warnings.simplefilter("ignore", ConvergenceWarning)  # the number of epochs is fixed
    records = [
        record
        for name in (DIGITS, MIXTURE)
        for seed in range(SEEDS)
        for record in one_seed(name, seed)
    ]
    record = {
        "versions": {
            "python": platform.python_version(),
            "numpy": np.__version__,
            "scipy": scipy.__version__,
            "scikit-learn": sklearn.__version__,
        },
        "errors": ERRORS,
        "records": records,
    }
    write_whole(RECORD, json.dumps(record) + "\n")


if __name__ == "__main__":
    main()
