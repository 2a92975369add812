"""Experts who err: how close the learnt rules come to those that know every risk.

    python -m benchmarks.experts            # run it, write results/experts.json

Each world has a law that is known, so that the expected cost of any decision is computed, not
sampled: it is the mean, over fresh rows, of the true risk of whoever answers and of the fees.
The Bayes rule knows the true risks; a learnt rule sees `n` rows: their truth, and the answers of
an expert on the rows that the expert was asked about. The first expert was asked with a
probability that depends on x, which is estimated; the second by chance, with a known probability.

Everything below, down to the limits, was written before the first run on the seeds of the record.
A draft was tried on seed 1000; after it the cascade's weights and fees were chosen anew, by the
true risks alone, so that it matters to look ahead, and sizes were cut for time. After a first run
on the seeds of the record the check of overlap got another model, and all was run again.
"""

from __future__ import annotations

import itertools
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit
from scipy.stats import norm
from sklearn.compose import ColumnTransformer
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.tree import DecisionTreeClassifier

from condrisk import RegressionRisk
from condrisk._files import write_whole
from condrisk.datasets import make_gaussian_mixture, make_heteroscedastic
from condrisk.deferral import Cascade, ExpertRisk, ExpertRule
from condrisk.deferral._assignment import _by_matching, _by_programme, assign_batch
from condrisk.paper._records import describe_machine, installed_versions

RECORD = Path(__file__).resolve().parents[1] / "results" / "experts.json"
Floats = NDArray[np.float64]

SEEDS = range(5)
SIZES = (2_000, 20_000)
N_PREDICTOR = 5_000
N_FRESH = 10_000
LIMIT = 1.02  # of the Bayes rule's cost, at the larger size
FLIPS = 0.15

SMALL_BATCHES = 300
LARGE_BATCH = {"rows": 20_000, "capacity": [1_000, 1_000, 1_000]}
STREAM = {"rows": 200, "batches": 100, "capacity": [20, 40]}

CASCADE_FEES = (0.05, 0.05)


class World(NamedTuple):
    """A world, a predictor in it, and experts whose risks are known."""

    loss: str
    fees: tuple[float, ...]
    draw: Callable[[int, Any], tuple[Floats, NDArray[Any]]]
    predictor: Any
    risk: Callable[[Any, Floats], Floats]
    expert_risks: Callable[[Floats], Floats]
    answers: Callable[[Floats, NDArray[Any], Any], list[NDArray[Any]]]
    noise: float = 0.0


def propensities(X: Floats) -> Floats:
    """Return with what probability each expert is asked: one by x, one by chance."""
    return np.column_stack([0.1 + 0.6 * expit(2 * X[:, 1]), np.full(len(X), 0.3)])


def error_rates(X: Floats) -> Floats:
    """Return how often each expert is wrong: a specialist, and a generalist."""
    return np.column_stack([0.03 + 0.4 * expit(3 * X[:, 0]), np.full(len(X), 0.12)])


def error_variances(X: Floats) -> Floats:
    """Return the expected squared error of each expert's measurement."""
    return np.column_stack([0.2 + 0.8 * expit(2 * X[:, 1]), np.full(len(X), 0.5)])


def mixture(n_classes: int, noise: float) -> World:
    """Return a classification by a shallow tree; experts name a wrong class now and then."""
    law = make_gaussian_mixture(
        1, n_classes=n_classes, n_features=4, separation=1.5, random_state=0
    )

    def draw(n_rows: int, rng: Any) -> tuple[Floats, NDArray[Any]]:
        fresh = law.sample(n_rows, random_state=rng)
        return fresh.X, fresh.y

    def answers(X: Floats, y: NDArray[Any], rng: Any) -> list[NDArray[Any]]:
        other = (y[:, None] + rng.integers(1, n_classes, (len(y), 2))) % n_classes
        wrong = rng.random((len(y), 2)) < error_rates(X)
        return list(np.where(wrong, other, y[:, None]).T)

    def risk(model: Any, X: Floats) -> Floats:
        return law.risk(model, X, loss="zero_one")

    tree = DecisionTreeClassifier(max_depth=3, random_state=0)
    return World("zero_one", (0.05, 0.08), draw, tree, risk, error_rates, answers, noise)


def measured() -> World:
    """Return a regression whose noise varies; experts measure the target, with an error."""
    law = make_heteroscedastic(1, n_features=4, random_state=0)

    def draw(n_rows: int, rng: Any) -> tuple[Floats, NDArray[Any]]:
        fresh = law.sample(n_rows, random_state=rng)
        return fresh.X, fresh.y

    def answers(X: Floats, y: NDArray[Any], rng: Any) -> list[NDArray[Any]]:
        errors = np.sqrt(error_variances(X)) * rng.standard_normal((len(y), 2))
        return list((y[:, None] + errors).T)

    def risk(model: Any, X: Floats) -> Floats:
        return law.risk(model, X, loss="squared_error")

    return World(
        "squared_error", (0.3, 0.4), draw, LinearRegression(), risk, error_variances, answers
    )


WORLDS: dict[str, Callable[[], World]] = {
    "three classes": lambda: mixture(3, 0.0),
    "two classes, labels flipped": lambda: mixture(2, FLIPS),
    "regression": measured,
}


def flipped(y: NDArray[Any], noise: float, rng: Any) -> NDArray[Any]:
    """Return binary labels of which some are flipped."""
    return np.where(rng.random(len(y)) < noise, 1 - y, y) if noise else y


def price_of(rule_choice: NDArray[Any], risk: Floats, theirs: Floats) -> float:
    """Return the expected cost of a choice, from true risks (fees are in `theirs`)."""
    rows = np.arange(len(risk))
    return float(np.where(rule_choice < 0, risk, theirs[rows, rule_choice]).mean())


def in_world(name: str, size: int, seed: int) -> dict[str, Any]:
    """Return the expected cost of each way to decide in one world."""
    world = WORLDS[name]()
    rng = np.random.default_rng([seed, size, list(WORLDS).index(name)])
    X, y = world.draw(N_PREDICTOR, rng)
    model = FrozenEstimator(world.predictor.fit(X, flipped(y, world.noise, rng)))
    X, truth = world.draw(size, rng)
    y = flipped(truth, world.noise, rng)
    said = world.answers(X, truth, rng)
    asked = rng.random((size, 2)) < propensities(X)
    fresh, _ = world.draw(N_FRESH, rng)
    risk = world.risk(model, fresh)
    theirs = world.expert_risks(fresh) + world.fees
    start = time.perf_counter()
    own = RegressionRisk(model, loss=world.loss, features="x", random_state=seed).fit(X, y)
    experts = []
    for k, known in enumerate([None, propensities(X)[:, 1]]):
        expert = ExpertRisk(world.loss, noise=world.noise, random_state=seed)
        experts.append(expert.fit(X, y, prediction=said[k], deferred=asked[:, k], propensity=known))
    estimate = own.predict_risk(fresh)
    rule = ExpertRule([FrozenEstimator(e) for e in experts], fee=world.fees, noise=world.noise)
    costs = {"ExpertRule": price_of(rule.assign(estimate, X=fresh), risk, theirs)}
    seconds = time.perf_counter() - start
    means = [float(e.predict_risk(X[a]).mean()) for e, a in zip(experts, asked.T, strict=True)]
    simpler = {
        "experts never err": ExpertRule([0.0, 0.0], fee=world.fees, noise=world.noise),
        "experts err alike everywhere": ExpertRule(means, fee=world.fees, noise=world.noise),
    }
    costs |= {k: price_of(r.assign(estimate), risk, theirs) for k, r in simpler.items()}
    if world.noise:
        raw = [e.set_params(noise=0.0) for e in experts]
        as_seen = ExpertRule([FrozenEstimator(e) for e in raw], fee=world.fees)
        costs["flips not corrected"] = price_of(as_seen.assign(estimate, X=fresh), risk, theirs)
    never = np.full(N_FRESH, -1)
    costs |= {"nobody": price_of(never, risk, theirs)}
    costs |= {f"always expert {k + 1}": price_of(never + 1 + k, risk, theirs) for k in range(2)}
    costs["Bayes"] = float(np.minimum(risk, theirs.min(axis=1)).mean())
    outside = [e.overlap_.outside for e in experts]
    return {
        "world": name, "n": size, "seed": seed, "costs": costs, "outside": outside,
        "seconds": seconds,
    }  # fmt: skip


# -- capacities ------------------------------------------------------------------------------


def exhaustive(gain: Floats, capacity: NDArray[np.intp]) -> float:
    """Return the greatest total gain over all assignments within the capacities."""
    n_rows, n_experts = gain.shape
    padded = np.column_stack([gain, np.zeros(n_rows)])
    best = 0.0
    for choice in itertools.product(range(n_experts + 1), repeat=n_rows):
        used = np.bincount(choice, minlength=n_experts + 1)[:n_experts]
        if (used <= capacity).all():
            best = max(best, float(padded[np.arange(n_rows), choice].sum()))
    return best


def total(gain: Floats, chosen: NDArray[np.intp]) -> float:
    """Return the gain of an assignment."""
    rows = np.flatnonzero(chosen >= 0)
    return float(gain[rows, chosen[rows]].sum())


def on_small_batches() -> dict[str, Any]:
    """Return the largest difference between an exhaustive search and each way to solve."""
    rng = np.random.default_rng(0)
    worst = {"assign": 0.0, "matching": 0.0, "programme": 0.0}
    for _ in range(SMALL_BATCHES):
        shape = int(rng.integers(1, 7)), int(rng.integers(1, 4))
        gain = rng.normal(size=shape)
        capacity = rng.integers(0, 4, shape[1])
        best = exhaustive(gain, capacity)
        within = np.minimum(capacity, shape[0])
        found = {"assign": assign_batch(gain, capacity)}
        if (gain > 0).any():
            found["matching"] = _by_matching(gain, within)
            found["programme"] = _by_programme(gain, within)
        for way, chosen in found.items():
            used = np.bincount(chosen[chosen >= 0], minlength=shape[1])
            assert (used <= capacity).all(), way
            worst[way] = max(worst[way], abs(total(gain, chosen) - best))
    return {"batches": SMALL_BATCHES, "worst": worst}


def on_a_large_batch() -> dict[str, Any]:
    """Return how long the exact assignment of a large batch takes."""
    gain = np.random.default_rng(0).normal(size=(LARGE_BATCH["rows"], 3))
    start = time.perf_counter()
    chosen = assign_batch(gain, np.array(LARGE_BATCH["capacity"]))
    return LARGE_BATCH | {
        "seconds": time.perf_counter() - start,
        "asked": np.bincount(chosen[chosen >= 0], minlength=3).tolist(),
    }


def in_streams() -> dict[str, Any]:
    """Return what greedy choices and exact assignments win in the world of three classes."""
    world = WORLDS["three classes"]()
    rng = np.random.default_rng(0)
    X, y = world.draw(N_PREDICTOR, rng)
    model = world.predictor.fit(X, y)
    capacity = np.array(STREAM["capacity"])
    won = {"exact": 0.0, "greedy": 0.0, "no limits": 0.0}
    for _ in range(STREAM["batches"]):
        X, _ = world.draw(STREAM["rows"], rng)
        risk, theirs = world.risk(model, X), world.expert_risks(X)
        gain = risk[:, None] - theirs - world.fees
        table = make_rule_of(X, theirs, world.fees, capacity.tolist())
        won["exact"] += total(gain, table.assign(risk, X=X))
        won["greedy"] += total(gain, table.stream().assign(risk, X=X))
        won["no limits"] += float(np.maximum(gain.max(axis=1), 0).sum())
    return STREAM | {"won": won}


class Known:
    """An expert whose risk is known, for a rule that wants an estimator."""

    def __init__(self, risk: Floats) -> None:
        self.risk = risk

    def predict_risk(self, X: Floats) -> Floats:
        """Return the known risks."""
        return self.risk


def make_rule_of(X: Floats, theirs: Floats, fees: Any, capacity: Any) -> ExpertRule:
    return ExpertRule([Known(column) for column in theirs.T], fee=fees, capacity=capacity)


# -- cascades --------------------------------------------------------------------------------

# Two cheap features and a dear one, all standard normal; P(y = 1) = expit(2 a₁ + b).
NODES = 201


def human_risk(X: Floats) -> Floats:
    """Return how often the human is wrong."""
    return 0.02 + 0.2 * expit(2 * X[:, 1])


def chance(a: Floats, b: Floats) -> Floats:
    """Return P(y = 1)."""
    return expit(2 * a + b)


def select(columns: list[int]) -> Any:
    """Return a step that keeps some columns."""
    return ColumnTransformer([("kept", "passthrough", columns)])


def true_values(f1: Any, f2: Any, X: Floats) -> dict[str, Floats]:
    """Return the true risks, and what the Bayes rule expects behind the first model."""
    nodes = np.linspace(-6, 6, NODES)
    mass = norm.pdf(nodes) / norm.pdf(nodes).sum()
    p = chance(X[:, :1], nodes)  # a row for each row of X, a column for each value of b
    first = f1.predict(X)[:, None]
    g1 = np.where(first == 1, 1 - p, p) @ mass
    spread = np.column_stack([np.repeat(X[:, :2], NODES, axis=0), np.tile(nodes, len(X))])
    second = f2.predict(spread).reshape(len(X), NODES)
    g2_at = np.where(second == 1, 1 - p, p)
    human = human_risk(X)
    behind = np.minimum(g2_at, CASCADE_FEES[1] + human[:, None]) @ mass
    own = chance(X[:, 0], X[:, 2])
    g2 = np.where(f2.predict(X) == 1, 1 - own, own)
    return {"g1": g1, "g2": g2, "human": human, "behind": behind, "mean g2": g2_at @ mass}


def cascade_costs(stage: NDArray[Any], true: dict[str, Floats]) -> float:
    """Return the expected cost of who answers, fees included."""
    spent = np.cumsum([0.0, *CASCADE_FEES])
    columns = np.column_stack([true["g1"], true["g2"], true["human"]]) + spent
    return float(columns[np.arange(len(stage)), stage].mean())


def in_a_cascade(size: int, seed: int) -> dict[str, Any]:
    """Return the expected cost of each way to go through the cascade."""
    rng = np.random.default_rng([seed, size, 99])

    def draw(n_rows: int) -> tuple[Floats, NDArray[np.intp]]:
        X = rng.standard_normal((n_rows, 3))
        return X, (rng.random(n_rows) < chance(X[:, 0], X[:, 2])).astype(np.intp)

    X, y = draw(N_PREDICTOR)
    f1 = make_pipeline(select([0, 1]), LogisticRegression()).fit(X, y)
    f2 = LogisticRegression().fit(X, y)
    # Half of the rows for the risks, the other half, of which no label is used, to look ahead.
    X, y = draw(size // 2)
    ahead, _ = draw(size // 2)
    fresh, _ = draw(N_FRESH)
    true = true_values(f1, f2, fresh)
    start = time.perf_counter()
    asked = rng.random(len(X)) < propensities(X)[:, 0]
    said = np.where(rng.random(len(X)) < human_risk(X), 1 - y, y)
    human = ExpertRisk("zero_one", random_state=seed).fit(X, y, prediction=said, deferred=asked)
    cheap_only = FrozenEstimator(f1[-1])
    of_row: dict[str, Any] = {"features": "x", "random_state": seed}
    stages = [
        make_pipeline(select([0, 1]), RegressionRisk(cheap_only, **of_row)).fit(X, y),
        RegressionRisk(FrozenEstimator(f2), **of_row).fit(X, y),
    ]
    cascade = Cascade(
        [FrozenEstimator(stage) for stage in stages],
        fee=CASCADE_FEES,
        expert=FrozenEstimator(human),
        columns=[[0, 1]],
        random_state=seed,
    ).fit(ahead)
    costs = {"Cascade": cascade_costs(cascade.decide(fresh).stage, true)}
    seconds = time.perf_counter() - start
    last = np.where(true["g2"] > CASCADE_FEES[1] + true["human"], 2, 1)
    leave = true["g1"] > CASCADE_FEES[0] + true["behind"]
    short = true["g1"] > CASCADE_FEES[0] + true["mean g2"]
    costs |= {
        "true risks, without looking past the second model": cascade_costs(
            np.where(short, last, 0), true
        ),
        "always the first model": cascade_costs(np.zeros(N_FRESH, dtype=int), true),
        "always the second model": cascade_costs(np.ones(N_FRESH, dtype=int), true),
        "always the human": cascade_costs(np.full(N_FRESH, 2), true),
        "Bayes": cascade_costs(np.where(leave, last, 0), true),
    }
    return {"n": size, "seed": seed, "costs": costs, "seconds": seconds}


def _say(what: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {what}", file=sys.stderr, flush=True)


def main() -> None:
    """Run everything and write the record whole or not at all."""
    worlds, cascades = [], []
    for size in SIZES:
        for seed in SEEDS:
            worlds += [in_world(name, size, seed) for name in WORLDS]
            if size == max(SIZES):
                cascades.append(in_a_cascade(size, seed))
            _say(f"{size} rows, seed {seed}")
    record = {
        "versions": installed_versions(),
        "machine": describe_machine(),
        "config": {
            "seeds": list(SEEDS), "sizes": SIZES, "predictor": N_PREDICTOR, "fresh": N_FRESH,
            "limit": LIMIT, "flips": FLIPS, "cascade_fees": CASCADE_FEES,
        },
        "worlds": worlds,
        "cascades": cascades,
        "small": on_small_batches(),
        "large": on_a_large_batch(),
        "stream": in_streams(),
    }  # fmt: skip
    write_whole(RECORD, json.dumps(record, indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
