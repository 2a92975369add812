"""What support, returning labels and weights for a shift are worth, in worlds of known risk.

    python -m benchmarks.beyond_support         # run it, write results/support.json
    python -m benchmarks.beyond_support shift   # the same for one part, the rest kept

Support: calibration rows from a law, and rows that it does not give; which of them `SupportRule`
defers, with nothing else to defer for. On the embedded data the rows above the 80 % quantile of
one feature are kept from everything (those at it where none lies above, which the first run has
shown to be so for solar): the predictor has 40 % of the others, the risk 40 %.

Returning labels: a batch of rows comes in, `ExploringRule` decides on an early estimate of the
risk, and only asked rows get their loss. What is then learnt with and without `feedback_weights`,
over many repetitions, against the truth; "all" has the losses of all rows.

Shift: calibration rows of one law, a target population of another, the ratio of their densities
known. What is estimated for the target population, or learnt for it, without weights, with those
of `ShiftWeights` and with the known ratio.

All settings and limits below were written down before the first full run; what was looked at
before were single draws from normal rows, with other seeds, while the code was written.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.ensemble import IsolationForest, RandomForestRegressor
from sklearn.linear_model import LinearRegression

from benchmarks.beyond_shift import SHIFT, run_shift
from condrisk._files import write_whole
from condrisk.datasets import (
    UCI_NAMES,
    load_uci,
    make_heteroscedastic,
    make_hidden_noise,
)
from condrisk.deferral import BudgetRule, ExploringRule, SupportRule
from condrisk.learners import LossRegressor
from condrisk.paper._records import describe_machine, installed_versions
from condrisk.shift import DistanceSupport, ForestSupport, effective_sample_size, feedback_weights

RECORD = Path(__file__).resolve().parents[1] / "results" / "support.json"
Floats = np.ndarray[Any, np.dtype[np.float64]]

CONFIG: dict[str, Any] = {
    "support": {
        "seeds": 3,
        "rows": 500,
        "features": [2, 5, 20, 50],
        "fresh": 2000,
        "rate": 0.01,
        "far": 6.0,
        "most_deferred_of_the_same_law": 0.02,
        "least_deferred_elsewhere": 0.95,
        "quantile": 0.8,
    },
    "feedback": {
        "repetitions": 200,
        "repetitions_of_curves": 5,
        "early_rows": 300,
        "rows": 5000,
        "price": 1.0,
        "rates": [0.02, 0.05, 0.2],
        "budget": 0.2,
        "least_bias_without": 0.1,
        "most_bias_with": 0.02,
        "most_errors_with": 3.0,
    },
    "shift": SHIFT,
}

SUPPORTS: dict[str, Callable[[], Any]] = {
    "DistanceSupport": DistanceSupport,
    "ForestSupport": ForestSupport,
    "IsolationForest": lambda: IsolationForest(random_state=0),
}


# -- support --------------------------------------------------------------------------------


def places(d: int, rng: np.random.Generator) -> dict[str, tuple[Floats, Floats]]:
    """Return calibration rows and rows to be judged, by what sets them apart."""
    set_ = CONFIG["support"]
    n, m = set_["rows"], set_["fresh"]
    X, fresh = rng.normal(size=(n, d)), rng.normal(size=(m, d))
    first, last = fresh.copy(), fresh.copy()
    first[:, 0], last[:, -1] = set_["far"], set_["far"]
    many = rng.normal(size=(6 * n, d))
    gap = many[np.abs(many[:, 0]) > 1.0][:n]
    in_gap = fresh.copy()
    in_gap[:, 0] = rng.uniform(-0.25, 0.25, m)
    line, off = X.copy(), fresh.copy()
    line[:, 1] = line[:, 0] + 0.1 * rng.normal(size=n)
    off[:, 0] = rng.choice([-1, 1], m) * rng.uniform(1, 2, m)
    off[:, 1] = -off[:, 0]
    return {
        "the same law": (X, fresh),
        "out of range where the risk varies": (X, first),
        "out of range where it does not": (X, last),
        "in a gap of 2 standard deviations": (gap, in_gap),
        "off a line of two features": (line, off),
    }


def run_support() -> list[dict[str, Any]]:
    """Return the share of rows that are deferred for lack of support."""
    set_, records = CONFIG["support"], []
    for d in set_["features"]:
        for seed in range(set_["seeds"]):
            for place, (X, judged) in places(d, np.random.default_rng(seed)).items():
                rng = np.random.default_rng(seed + 10_000)
                loss = np.exp(X[:, 0]) * rng.normal(size=len(X)) ** 2
                for name, make in SUPPORTS.items():
                    rule = SupportRule(rate=set_["rate"], support=make())
                    rule.fit(np.zeros(len(X)), loss, X=X)
                    deferred = rule.defer(np.zeros(len(judged)), X=judged, cost=1.0)
                    records.append(
                        {
                            "features": d,
                            "seed": seed,
                            "place": place,
                            "support": name,
                            "deferred": float(deferred.mean()),
                        }
                    )
        _say(f"support, {d} features")
    return records


def run_support_on_data() -> list[dict[str, Any]]:
    """Return what happens above the quantile of a feature, on the embedded data."""
    set_, records = CONFIG["support"], []
    for name in UCI_NAMES:
        data = load_uci(name)
        X, y = np.asarray(data.data, dtype=float), np.asarray(data.target, dtype=float)
        feature = int(np.argmax([len(np.unique(column)) for column in X.T]))
        level = np.quantile(X[:, feature], set_["quantile"])
        below = X[:, feature] <= level
        if below.all():  # of few values the largest is that frequent
            below = X[:, feature] < level
        out = np.flatnonzero(~below)
        inside = np.random.default_rng(0).permutation(np.flatnonzero(below))[:5000]
        fit, held, test = np.split(inside, [int(0.4 * len(inside)), int(0.8 * len(inside))])
        model = RandomForestRegressor(random_state=0).fit(X[fit], y[fit])
        loss = (y - model.predict(X)) ** 2
        regressor = LossRegressor(random_state=0).fit(X[held], loss[held])
        risk = regressor.predict(X)
        for kind, make in SUPPORTS.items():
            rule = SupportRule(rate=set_["rate"], support=make())
            rule.fit(np.zeros(len(held)), loss[held], X=X[held])
            deferred = rule.defer(np.zeros(len(X)), X=X, cost=1.0)
            records.append(
                {
                    "set": name,
                    "feature": str(data.feature_names[feature]),
                    "support": kind,
                    "calibration_rows": len(held),
                    "deferred_inside": float(deferred[test].mean()),
                    "deferred_outside": float(deferred[out].mean()),
                    "loss_to_risk_inside": float(loss[test].mean() / risk[test].mean()),
                    "loss_to_risk_outside": float(loss[out].mean() / risk[out].mean()),
                }
            )
        _say(f"support, {name}")
    return records


# -- labels that come back ------------------------------------------------------------------


def line(X: Floats, z: Floats, weight: Floats | None = None) -> Floats:
    """Return intercept and slopes of the plane through the losses."""
    model = LinearRegression().fit(X, z, weight)
    return np.array([model.intercept_, *model.coef_])


def ask(risk: Floats, price: Any, rate: float, rng: np.random.Generator) -> Any:
    """Return which rows are asked about, and the weights of the answers."""
    rule = ExploringRule(rate=rate, random_state=int(rng.integers(1 << 31))).fit(risk, risk)
    asked = rule.defer(risk, cost=price)
    return asked, feedback_weights(asked, rule.propensity(risk, cost=price))


def batch(rate: float, rng: np.random.Generator) -> Any:
    """Return rows of risk exp(x₁), their losses and early risks, and which were asked about."""
    set_ = CONFIG["feedback"]
    world = make_heteroscedastic(set_["early_rows"] + set_["rows"], random_state=rng)
    X, z = world.X, (world.y - world.mean(world.X)) ** 2
    n = set_["early_rows"]
    early = line(X[:n, :1], z[:n])
    risk = np.maximum(early[0] + early[1] * X[n:, 0], 0.0)
    return X[n:], z[n:], risk, *ask(risk, set_["price"], rate, rng)


def batch_of_dear_rows(rate: float, rng: np.random.Generator) -> Any:
    """Return rows whose price grows with a feature that g does not have, and who was asked."""
    world = make_hidden_noise(CONFIG["feedback"]["rows"], random_state=rng)
    X, z = world.X, (world.y - world.mean(world.X)) ** 2
    asked, weight = ask(np.full(len(z), 1.25), 0.5 + np.abs(X[:, -1]), rate, rng)
    return X[:, :-1], z, asked, weight


FEEDBACK_TRUTH = {
    "mean loss": np.exp(0.5),
    "line through the losses, intercept": np.exp(0.5),
    "line through the losses, slope": np.exp(0.5),
    "rate of BudgetRule(0.2)": CONFIG["feedback"]["budget"],
    "risk at x = 0, price knows more than g": 1.25,
}


def learnt(rate: float, rng: np.random.Generator) -> dict[str, dict[str, float]]:
    """Return each quantity as learnt from a batch: without weights, with them, from all rows."""
    X, z, risk, asked, weight = batch(rate, rng)
    R, u, asked_too, weight_too = batch_of_dear_rows(rate, rng)
    n = len(z)
    views = {
        "without": (asked, np.ones(n), asked_too, np.ones(n)),
        "with": (asked, weight, asked_too, weight_too),
        "all": (np.full(n, True), np.ones(n), np.full(n, True), np.ones(n)),
    }
    found: dict[str, dict[str, float]] = {}
    for view, (rows, w, rows_too, w_too) in views.items():
        a, b = line(X[rows, :1], z[rows], w[rows])
        rule = BudgetRule(CONFIG["feedback"]["budget"]).fit(risk[rows], sample_weight=w[rows])
        values = [
            np.average(z[rows], weights=w[rows]),
            a,
            b,
            rule.defer(risk).mean(),
            line(R[rows_too], u[rows_too], w_too[rows_too])[0],
        ]
        found[view] = dict(zip(FEEDBACK_TRUTH, map(float, values), strict=True))
    found["effective"] = {"share": effective_sample_size(weight) / n, "asked": float(asked.mean())}
    return found


def run_feedback() -> list[dict[str, Any]]:
    """Return what was learnt, for each rate and repetition."""
    set_, records = CONFIG["feedback"], []
    for rate in set_["rates"]:
        for seed in range(set_["repetitions"]):
            rng = np.random.default_rng([seed, int(1000 * rate)])
            records.append({"rate": rate, "seed": seed, **learnt(rate, rng)})
        _say(f"feedback, rate {rate}")
    return records


def run_curves() -> list[dict[str, Any]]:
    """Return how much of the variance of the true risk the default regressor explains."""
    set_, records = CONFIG["feedback"], []
    for seed in range(set_["repetitions_of_curves"]):
        rng = np.random.default_rng([seed, 77])
        X, z, _, asked, weight = batch(set_["rates"][1], rng)
        fresh = rng.normal(size=(5000, X.shape[1]))
        truth = np.exp(fresh[:, 0])
        views = {
            "without": (asked, None),
            "with": (asked, weight[asked]),
            "all": (np.full(len(z), True), None),
        }
        explained = {}
        for view, (rows, w) in views.items():
            estimate = LossRegressor(random_state=seed).fit(X[rows], z[rows], w).predict(fresh)
            explained[view] = float(1 - np.mean((estimate - truth) ** 2) / np.var(truth))
        records.append({"seed": seed, **explained})
        _say(f"feedback, curve {seed}")
    return records


def _say(what: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {what}", file=sys.stderr, flush=True)


PARTS: dict[str, Callable[[], list[dict[str, Any]]]] = {
    "support": run_support,
    "support_on_data": run_support_on_data,
    "feedback": run_feedback,
    "curves": run_curves,
    "shift": run_shift,
}


def main(names: list[str]) -> None:
    """Run some parts, keep the others, and write their record whole or not at all."""
    old = json.loads(RECORD.read_text("utf-8")) if RECORD.exists() else {}
    seconds, parts = dict(old.get("seconds", {})), {}
    for name, run in PARTS.items():
        start = time.perf_counter()
        if name in old and name not in names:
            parts[name] = old[name]
            continue
        parts[name] = run()
        seconds[name] = time.perf_counter() - start
    record = {
        "config": CONFIG,
        "versions": installed_versions(),
        "machine": describe_machine(),
        "seconds": seconds,
        "feedback_truth": {name: float(value) for name, value in FEEDBACK_TRUTH.items()},
        **parts,
    }
    write_whole(RECORD, json.dumps(record, indent=0, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main([name for name in PARTS if name in sys.argv[1:]] or list(PARTS))
