"""Error of the plug-in risk against the distance of the probabilities, over many models."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.special import rel_entr
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier

from condrisk.datasets import ClassificationWorld, make_gaussian_mixture
from condrisk.paper._records import Record
from condrisk.paper.theory import plug_in_kl_bound, plug_in_lipschitz_bound
from condrisk.paper.theory.simulations._cells import Floats
from condrisk.paper.theory.simulations._settings import Part, TheoryConfig

# Probabilities of the predictor are clipped here before the logarithm is taken.
CLIP = 0.01
N_FRESH = 5000
SIZES = (30, 100, 300, 1000, 10_000)

WORLDS: dict[str, dict[str, Any]] = {
    "two classes, zero-one loss": {"n_classes": 2, "loss": "zero_one", "upper": 1.0},
    "five classes, zero-one loss": {"n_classes": 5, "loss": "zero_one", "upper": 1.0},
    "five classes, clipped log loss": {
        "n_classes": 5,
        "loss": "log_loss",
        "upper": -math.log(CLIP),
    },
}


def simulate(
    setting: dict[str, Any], config: TheoryConfig, rng: np.random.Generator
) -> list[Record]:
    """Return a record for each model of the probabilities, judged on fresh rows of known p."""
    world = WORLDS[setting["world"]]
    data = make_gaussian_mixture(100, n_classes=world["n_classes"], random_state=rng)
    predictor = LogisticRegression().fit(data.X, data.y)
    fresh = data.sample(N_FRESH, random_state=rng)
    truth = data.proba(fresh.X)
    loss = _losses(world, predictor.predict_proba(fresh.X))
    risk = (loss * truth).sum(axis=1)
    records = []
    for method, proba in _probabilities(data, fresh.X, truth, rng, quick=config.quick):
        error = float(np.abs((loss * proba).sum(axis=1) - risk).mean())
        distance = float(np.abs(proba - truth).sum(axis=1).mean())
        with np.errstate(over="ignore"):
            divergence = float(rel_entr(truth, proba).sum(axis=1).mean())
        upper = world["upper"]
        record: Record = {"method": method, **setting, "upper": upper, "error": error}
        bounds = {"lipschitz": plug_in_lipschitz_bound(l1_distance=distance, upper=upper).value}
        if math.isfinite(divergence):  # no model gives probability zero to what happens
            bounds["kl"] = plug_in_kl_bound(kl=max(divergence, 0.0), upper=upper).value
        records.append(record | {"l1": distance, "bounds": bounds})
    return records


def _losses(world: dict[str, Any], proba: Floats) -> Floats:
    """Return ℓ(f(x), k) of each row and class."""
    if world["loss"] == "zero_one":
        return 1.0 - np.eye(proba.shape[1])[proba.argmax(axis=1)]
    return -np.log(np.clip(proba, CLIP, 1.0))


def _probabilities(
    data: ClassificationWorld,
    X: Floats,
    truth: Floats,
    rng: np.random.Generator,
    *,
    quick: bool,
) -> Iterator[tuple[str, Floats]]:
    """Yield probabilities of very different quality: fitted ones, and the true ones disturbed."""
    seed = int(rng.integers(2**31))
    for n in SIZES[:2] if quick else SIZES:
        rows = data.sample(n, random_state=rng)
        while len(np.unique(rows.y)) < truth.shape[1]:  # all classes, so that columns are aligned
            rows = data.sample(n, random_state=rng)
        models: dict[str, Any] = {
            "logistic regression": LogisticRegression(),
            "naive Bayes": GaussianNB(),
            "tree": DecisionTreeClassifier(random_state=seed),
            "small tree": DecisionTreeClassifier(max_depth=2, random_state=seed),
            "forest": RandomForestClassifier(
                5 if quick else 50, min_samples_leaf=3, random_state=seed
            ),
            "nearest neighbour": KNeighborsClassifier(1),
            "15 neighbours": KNeighborsClassifier(15),
            "frequencies": DummyClassifier(),
        }
        for name, model in models.items():
            yield f"{name}, {n} rows", model.fit(rows.X, rows.y).predict_proba(X)
    for temperature in (0.25, 0.5, 2.0, 4.0):
        tempered = truth ** (1 / temperature)
        yield f"p at temperature {temperature:g}", tempered / tempered.sum(axis=1, keepdims=True)
    for share in (0.1, 0.3, 1.0):
        yield f"{share:g} uniform", (1 - share) * truth + share / truth.shape[1]
        yield f"{share:g} of p in wrong order", (1 - share) * truth + share * truth[:, ::-1]
    yield "p itself", truth


PART = Part(
    name="plug-in",
    title="plug-in risk against distance of probabilities",
    settings=[{"world": world} for world in WORLDS],
    simulate=simulate,
    work=lambda setting: 4.0,
)
