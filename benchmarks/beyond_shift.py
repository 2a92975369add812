"""The part of `benchmarks.beyond_support` about weights for another population."""

from __future__ import annotations

import sys
import time
from typing import Any

import numpy as np
from scipy.special import expit
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import LinearRegression, LogisticRegression

from condrisk.datasets import make_gaussian_mixture
from condrisk.deferral import BudgetRule
from condrisk.metrics import deferral_loss
from condrisk.shift import ShiftWeights, effective_sample_size

Floats = np.ndarray[Any, np.dtype[np.float64]]

SHIFT: dict[str, Any] = {
    "seeds": 10,
    "rows": 2000,
    "features": 5,
    "means": [0.0, 0.5, 1.0, 1.5, 4.0],
    "truth_rows": 20_000,
    "budget": 0.2,
}


def shift_worlds() -> dict[str, dict[str, Any]]:
    """Return, by name: source and target rows, ratio of densities, risk, a loss of it, a price."""
    d = SHIFT["features"]

    def moved(s: float) -> dict[str, Any]:
        return {
            "source": lambda n, rng: rng.normal(size=(n, d)),
            "target": lambda n, rng: rng.normal(size=(n, d)) + s * np.eye(d)[0],
            "ratio": lambda X: np.exp(s * X[:, 0] - s**2 / 2),
            "risk": lambda X: np.exp(X[:, 0]),
            "loss": lambda g, rng: g * rng.normal(size=len(g)) ** 2,
            "price": 1.0,
        }

    narrow = {
        "source": lambda n, rng: rng.normal(size=(n, d)),
        "target": lambda n, rng: rng.normal(size=(n, d)) * (1 - 0.5 * np.eye(d)[-1]),
        "ratio": lambda X: 2 * np.exp(-1.5 * X[:, -1] ** 2),
        "risk": lambda X: 0.25 + X[:, -1] ** 2,
        "loss": lambda g, rng: g * rng.normal(size=len(g)) ** 2,
        "price": 0.5,
    }
    names = {s: f"mean of x₁ + {s:g}" for s in SHIFT["means"]}
    return {names[s]: moved(s) for s in names} | {
        "half the spread of x₅": narrow,
        "one side of three classes": _classes(),
    }


def _classes() -> dict[str, Any]:
    """Three classes; the target population has rows with a chance that grows with x₁."""
    world = make_gaussian_mixture(500, separation=1.5, random_state=0)
    model = LogisticRegression().fit(world.X, world.y)
    share = expit(3 * world.sample(1_000_000, random_state=1).X[:, 0]).mean()

    def target(n: int, rng: np.random.Generator) -> Floats:
        X = world.sample(int(3 * n / share), random_state=rng).X
        return X[rng.random(len(X)) < expit(3 * X[:, 0])][:n]

    return {
        "source": lambda n, rng: world.sample(n, random_state=rng).X,
        "target": target,
        "ratio": lambda X: expit(3 * X[:, 0]) / share,
        "risk": lambda X: world.risk(model, X),
        "loss": lambda g, rng: (rng.random(len(g)) < g).astype(float),
        "price": 0.2,
    }


def forest(X: Floats, z: Floats, weight: Floats | None, seed: int) -> Any:
    return RandomForestRegressor(30, min_samples_leaf=20, random_state=seed).fit(X, z, weight)


def judge(world: dict[str, Any], seed: int) -> dict[str, Any]:
    """Return what each kind of weights finds, beside the truth in the target population."""
    set_, rng = SHIFT, np.random.default_rng([seed, 99])
    n, g = set_["rows"], world["risk"]
    X, test = world["source"](n, rng), world["source"](n, rng)
    unlabelled, labelled = world["target"](n, rng), world["target"](n, rng)
    everyone = world["target"](set_["truth_rows"], rng)
    z, z_test = world["loss"](g(X), rng), world["loss"](g(test), rng)
    record: dict[str, Any] = {"known": {"effective": effective_sample_size(world["ratio"](X)) / n}}
    views = {
        "without": (np.ones(n), np.ones(n)),
        "known": (world["ratio"](X), world["ratio"](test)),
    }
    try:
        shift = ShiftWeights(random_state=seed).fit(X, unlabelled)
        views["estimated"] = (shift.weight_, shift.predict(test))
        record["estimated"] = {
            "effective": shift.effective_size_ / n,
            "coverage": shift.coverage_,
            "auc": shift.auc_,
        }
    except ValueError as error:
        record["refused"] = str(error)
    fixed = forest(X, z, None, seed)
    estimate, far = fixed.predict(test), fixed.predict(everyone)
    truth, price = g(everyone), world["price"]
    record["truth"] = {
        "mean loss": float(truth.mean()),
        "deferral loss": float(np.where(far <= price, truth, price).mean()),
        "rate of BudgetRule(0.2)": set_["budget"],
    }
    for view, (w, w_test) in views.items():
        rule = BudgetRule(set_["budget"]).fit(estimate, sample_weight=w_test)
        record.setdefault(view, {}).update(
            {
                "mean loss": float(np.average(z_test, weights=w_test)),
                "deferral loss": deferral_loss(z_test, estimate, price, sample_weight=w_test),
                "rate of BudgetRule(0.2)": float(rule.defer(far).mean()),
                **learnt_risk(X, z, w, everyone, truth, seed),
            }
        )
    z_labelled = world["loss"](g(labelled), rng)
    record["target rows"] = learnt_risk(labelled, z_labelled, np.ones(n), everyone, truth, seed)
    return record


def learnt_risk(
    X: Floats, z: Floats, w: Floats, everyone: Floats, truth: Floats, seed: int
) -> dict[str, float]:
    """Return the squared error of g in the target population, of a plane and of a forest."""
    plane = LinearRegression().fit(X, z, w).predict(everyone)
    trees = forest(X, z, w, seed).predict(everyone)
    return {
        "error of a plane": float(np.mean((plane - truth) ** 2)),
        "error of a forest": float(np.mean((trees - truth) ** 2)),
    }


def run_shift() -> list[dict[str, Any]]:
    """Return what was found, for each world and seed."""
    records = []
    for name, world in shift_worlds().items():
        for seed in range(SHIFT["seeds"]):
            records.append({"world": name, "seed": seed, **judge(world, seed)})
        print(f"{time.strftime('%H:%M:%S')} shift, {name}", file=sys.stderr, flush=True)
    return records
