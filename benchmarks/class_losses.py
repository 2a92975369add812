"""Platt scaling beside temperature, three losses ℓ and two L, where classes are predicted.

    python -m benchmarks.class_losses    # writes results/class_losses.json; one minute on one core

Two sets: scikit-learn's digits with normal noise of standard deviation 6 on every pixel (which has
values from 0 to 16), and 1,800 rows of `make_gaussian_mixture`, five classes, ten features. Each
of ten seeds draws noise or rows and splits them as the paper splits CIFAR-10: 50 % for the
predictor, 40 % for the calibrators, 10 % to test on. Of the calibrators' rows a third is kept from
the probability models: scaling learns on it. The predictor is a network of one hidden layer. The
probability models are such a network, a forest and a logistic regression; each as it is, with a
temperature, and with Platt's sigmoid for each class against the rest, normalised, as in
scikit-learn. Two regressions of the loss on row and response are boosted trees that minimise the
squared (L²) or the absolute (L¹) error, on all of the calibrators' rows. Seed 99 was a trial; the
run of the record was the first of its seeds.
"""

from __future__ import annotations

import json
import platform
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import scipy
import sklearn
from numpy.typing import NDArray
from sklearn.base import clone
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
SEEDS, NOISE, N_ROWS = 10, 6.0, 1800
LOSSES = ("log_loss", "brier", "zero_one")
SCALINGS = {"": None, ", temperature": "temperature", ", Platt": "sigmoid"}
CRITERIA = {"g, L²": "squared_error", "g, L¹": "absolute_error"}
DIGITS, MIXTURE = "noisy digits", "Gaussian mixture"

Rows = tuple[NDArray[Any], NDArray[Any]]


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


def models(seed: int) -> dict[str, Any]:
    """Return the models of class probabilities, not fitted."""
    return {
        "network": network(1000 + seed),
        "forest": RandomForestClassifier(random_state=seed),
        "logistic": make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000)),
    }


def methods(
    predictor: Any, probabilities: dict[str, Any], held: Rows, calibrators: Rows, loss: str
) -> Iterator[tuple[str, Any]]:
    """Yield the name and the fitted estimator of every method."""
    for name, model in probabilities.items():
        for scaling, calibration in SCALINGS.items():
            risk = PlugInRisk(predictor, loss=loss, probability=model, calibration=calibration)
            yield f"p {name}{scaling}", risk.fit(*held)
    for name, criterion in CRITERIA.items():
        trees = HistGradientBoostingRegressor(
            loss=criterion, max_iter=40, max_leaf_nodes=8, random_state=0
        )
        risk = RegressionRisk(predictor, loss=loss, regressor=trees, features="x+response")
        yield name, risk.fit(*calibrators)
    yield "constant", RegressionRisk(predictor, loss=loss, regressor=DummyRegressor()).fit(*held)


def one_seed(name: str, seed: int) -> Iterator[dict[str, Any]]:
    """Yield a record for each loss."""
    X, y = rows_of(name, seed)
    rest, test = train_test_split(np.arange(len(y)), test_size=0.1, stratify=y, random_state=seed)
    own, other = train_test_split(rest, test_size=4 / 9, stratify=y[rest], random_state=seed)
    fit, held = train_test_split(other, test_size=1 / 3, stratify=y[other], random_state=seed)
    predictor = FrozenEstimator(network(seed).fit(X[own], y[own]))
    probabilities = {
        kind: FrozenEstimator(clone(model).fit(X[fit], y[fit]))
        for kind, model in models(seed).items()
    }
    parts = (X[held], y[held]), (X[other], y[other])
    for loss in LOSSES:
        found = get_loss(loss)
        values = found(y[test], getattr(predictor, found.response)(X[test]), classes=np.unique(y))
        errors = {}
        for method, risk in methods(predictor, probabilities, *parts, loss):
            g = risk.predict_risk(X[test])
            norms = [risk_error(values, g, norm=1), risk_error(values, g, norm=2)]
            errors[method] = [float(f"{v:.5g}") for v in (*norms, float((g - values).mean()))]
        mean = float(f"{values.mean():.5g}")
        yield {"set": name, "seed": seed, "loss": loss, "mean_loss": mean, "errors": errors}


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
        "errors": ["L1", "L2", "bias"],
        "records": records,
    }
    write_whole(RECORD, json.dumps(record) + "\n")


if __name__ == "__main__":
    main()
