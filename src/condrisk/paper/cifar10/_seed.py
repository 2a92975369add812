"""One seed of the study: train the networks, estimate risks in every way, and evaluate them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.dummy import DummyRegressor
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import train_test_split

from condrisk import Deferral, HybridRisk, PlugInRisk, RegressionRisk
from condrisk.datasets import CIFAR10
from condrisk.losses import log_loss
from condrisk.paper._cached import CachedClassifier
from condrisk.paper._figures import COSTS, deferral_figures, risk_figures
from condrisk.paper._records import Record
from condrisk.paper.cifar10._networks import Networks

PREDICTORS = ("CNN", "ResNet")
PROBABILITIES = ("CNN", "ResNet", "EffNet", "ResNet-9")
REGRESSORS = ("CNN", "ResNet", "EffNet")
# Of the calibrators' rows, those that no network is trained on: for temperatures and HybridRisk.
HELD_OUT = 1 / 6

Images = NDArray[np.uint8]


@dataclass
class Part:
    """Images and their labels."""

    X: Images
    y: NDArray[np.int64]


@dataclass
class Parts:
    """The rows of a seed: for predictors, for calibrators (fit and held out), and for testing."""

    predictor: Part
    calibrator: Part
    fit: Part
    held: Part
    test: Part

    @classmethod
    def of(cls, data: CIFAR10, seed: int) -> Parts:
        """Split the images as the paper does."""
        predictor, calibrator, test = data.split(random_state=seed)
        fit, held = train_test_split(
            calibrator, test_size=HELD_OUT, stratify=data.labels[calibrator], random_state=seed
        )
        rows = (predictor, calibrator, np.sort(fit), np.sort(held), test)
        return cls(*(Part(np.asarray(data.images[part]), data.labels[part]) for part in rows))


@dataclass
class Trained:
    """The networks of a seed, and what training them took and gave."""

    predictors: dict[str, Any] = field(default_factory=dict)
    probabilities: dict[str, Any] = field(default_factory=dict)
    records: list[Record] = field(default_factory=list)


def train_networks(
    parts: Parts, networks: Networks, seed: int, log: Callable[[str], None]
) -> Trained:
    """Train predictors and probability models."""

    def train(role: str, name: str, part: Part) -> tuple[Any, Record]:
        log(f"training {name} ({role})")
        start = time.perf_counter()
        network = networks.classifier(name, seed).fit(part.X, part.y)
        seconds = time.perf_counter() - start
        model = FrozenEstimator(CachedClassifier(network))
        return model, {
            "set": "networks",
            "fold": seed,
            "method": f"{role} {name}",
            "n_train": len(part.y),
            **_accuracy(model, parts.test),
            "seconds": {"fit": seconds},
        }

    trained = Trained()
    jobs = [("predictor", name, parts.predictor) for name in PREDICTORS]
    jobs += [("probability", name, parts.fit) for name in PROBABILITIES]
    with networks.side_by_side() as each:
        for (role, name, _), (model, record) in zip(jobs, each(train, jobs), strict=True):
            found = trained.predictors if role == "predictor" else trained.probabilities
            found[name] = model
            trained.records.append(record)
    return trained


def _accuracy(network: Any, test: Part) -> Record:
    proba = network.predict_proba(test.X)
    loss = log_loss(test.y, proba, classes=network.classes_)
    return {
        "accuracy": float((network.predict(test.X) == test.y).mean()),
        "log_loss": float(loss.mean()),
        "n_test": len(test.y),
    }


def evaluate_methods(
    parts: Parts, trained: Trained, networks: Networks, seed: int, log: Callable[[str], None]
) -> Iterator[Record]:
    """Estimate the risk of each predictor in every way, and evaluate it on the test images."""

    def evaluate(name: str, loss: NDArray[Any], method: str, risk: Any, rows: Part) -> Record:
        log(f"{name}: {method}")
        return {"set": name, "fold": seed, **_evaluated(method, risk, rows, parts.test, loss)}

    jobs = [
        (name, _losses(predictor, parts.test), *method)
        for name, predictor in trained.predictors.items()
        for method in _methods(name, predictor, parts, trained, networks, seed)
    ]
    with networks.side_by_side() as each:
        yield from each(evaluate, jobs)


def _losses(predictor: Any, test: Part) -> NDArray[Any]:
    return log_loss(test.y, predictor.predict_proba(test.X), classes=predictor.classes_)


def _evaluated(method: str, risk: Any, rows: Part, test: Part, loss: NDArray[Any]) -> Record:
    """Fit a method on its rows, and evaluate it on the test images."""
    start = time.perf_counter()
    model = Deferral(risk).fit(rows.X, rows.y)
    fitting = time.perf_counter() - start
    start = time.perf_counter()
    decision = model.decide(test.X, cost=COSTS[0])
    predicting = time.perf_counter() - start
    by_cost = {
        f"{cost:g}": deferral_figures(loss, model.rule_.defer(decision.risk, cost=cost), cost)
        for cost in COSTS
    }
    return {
        "method": method,
        "n_train": len(rows.y),
        "n_test": len(test.y),
        **risk_figures(loss, decision.risk),
        "share_above": float((decision.risk > loss).mean()),
        **_fitted_parameters(model.risk_),
        "costs": by_cost,
        "seconds": {"fit": fitting, "predict": predicting},
    }


def _fitted_parameters(risk: Any) -> Record:
    """Return the few numbers that a method has learnt from held-out images."""
    if isinstance(risk, HybridRisk):
        return {"weights": risk.pool_.weights.tolist(), "scale": risk.scale_}
    if getattr(risk, "calibrator_", None) is not None:
        [scaling] = risk.calibrator_.calibrated_classifiers_[0].calibrators
        return {"temperature": 1 / float(scaling.beta_)}
    return {}


def _methods(
    name: str,
    predictor: Any,
    parts: Parts,
    trained: Trained,
    networks: Networks,
    seed: int,
) -> Iterator[tuple[str, Any, Part]]:
    """Yield name, estimator and the rows to fit it on."""
    plug_in: dict[str, Any] = {"loss": "log_loss", "random_state": seed}
    for other, model in trained.probabilities.items():
        raw = PlugInRisk(predictor, probability=model, calibration=None, **plug_in)
        yield f"p {other}", raw, parts.held
        scaled = PlugInRisk(predictor, probability=model, calibration="temperature", **plug_in)
        yield f"p {other}, scaled", scaled, parts.held
    for other in REGRESSORS:
        regressor = networks.regressor(other, seed)
        yield f"g {other}", _regression(predictor, regressor), parts.calibrator
    for label, source in (("own", predictor), ("EffNet", trained.probabilities["EffNet"])):
        regressor = networks.representation_regressor(source, seed)
        yield f"g of {label} representation", _regression(predictor, regressor), parts.calibrator
    every = list(trained.probabilities.values())
    # Its few parameters are learnt on the same five folds of every seed's rows.
    yield "Hybrid", HybridRisk(predictor, probability=every, loss="log_loss"), parts.held
    yield "constant", _regression(predictor, DummyRegressor()), parts.held
    own = PlugInRisk(predictor, probability=predictor, calibration=None, **plug_in)
    yield "own entropy", own, parts.held


def _regression(predictor: Any, regressor: Any) -> RegressionRisk:
    return RegressionRisk(predictor, loss="log_loss", regressor=regressor, features="x")
