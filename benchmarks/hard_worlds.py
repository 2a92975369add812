"""Small coded tables, heavy tails, many columns, rare classes: worlds in which g is known.

    python -m benchmarks.hard_worlds    # writes results/hard_worlds.json; half an hour of one core
    python -m benchmarks.hard_worlds --sets    # only the real sets, into the same record

Each draw is a table to learn from and 3,000 new rows, of which the risk of the predictor that is
kept is known exactly: for squared error (f − μ)² + σ², for a cost matrix the costs weighted by the
true probabilities. "bias" is the mean of g over the mean of the true risk, minus one, averaged over
draws; "error" is the mean squared error of g against the true risk, in units of that of the best
constant, the geometric mean over draws. "mean" is the mean of the out-of-fold losses, and "forest"
what a user writes in ten lines: a random forest on these losses, five rows a leaf, from the row
alone. On the coded factors also `AutoRisk()`, which builds its predictor, with and without the
forest on the row that it tries on few rows; there "forest" learns the held-out losses of that
predictor.

The same forest is set beside `AutoRisk()` on seven real sets, 1,500 rows of each at most and a
quarter of them new: "squared" is the squared error against realised losses, "deferral" the
deferral loss at the 0.5, 0.7, 0.85 and 0.95 quantiles of the held-out losses.
"""

from __future__ import annotations

import argparse
import json
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import (
    KFold,
    StratifiedKFold,
    cross_val_predict,
    train_test_split,
)

from benchmarks.given_model._once import fitted_once
from benchmarks.given_model._sets import UCI
from condrisk import AutoRisk, HybridRisk, PlugInRisk, RegressionRisk
from condrisk._files import write_whole
from condrisk.datasets import load_uci
from condrisk.learners import DistributionRegressor
from condrisk.losses import get_loss
from condrisk.metrics import deferral_loss
from condrisk.paper._records import describe_machine, installed_versions
from condrisk.risk._committee import FEW_ROWS

RECORD = Path(__file__).parent.parent / "results" / "hard_worlds.json"
N_NEW = 3000
# The last two take long.
N_DRAWS, FEWER = 20, {"200 columns": 6, "1:250, cost 50:1": 10}
COSTS = np.array([[0.0, 1.0], [50.0, 0.0]])
N_SPLITS, MOST_ROWS = 3, 1500
PRICES = (0.5, 0.7, 0.85, 0.95)
Floats = NDArray[np.float64]


class Draw(NamedTuple):
    """A table, new rows, and what the predictions for these are expected to lose."""

    X: Floats
    y: NDArray[Any]
    X_new: Floats
    true_risk: Callable[[NDArray[Any]], Floats]


def numbers(
    rows: Callable[[Any, int], Floats],
    mean: Callable[[Floats], Floats],
    std: Callable[[Floats], Floats],
    noise: Callable[[Any, int], Floats],
    n: int,
    seed: int,
) -> Draw:
    """Return a draw of y = μ(x) + σ(x)·e, with e of mean zero and variance one."""
    rng = np.random.default_rng(seed)
    X, X_new = rows(rng, n), rows(rng, N_NEW)
    y = mean(X) + std(X) * noise(rng, n)
    return Draw(X, y, X_new, lambda f: (f - mean(X_new)) ** 2 + std(X_new) ** 2)


def normal_rows(n_columns: int) -> Callable[[Any, int], Floats]:
    """Return what draws normal rows."""
    return lambda rng, n: rng.normal(size=(n, n_columns))


def curved(X: Floats) -> Floats:
    """Return a mean that is not a line."""
    return X[:, 0] + np.sin(2 * X[:, 1]) + 0.5 * X[:, 2] * X[:, 0]


def spread(X: Floats) -> Floats:
    """Return a deviation that depends on the row."""
    return 0.5 * np.exp(0.4 * X[:, 3])


def normal(rng: Any, n: int) -> Floats:
    """Return normal noise."""
    return rng.normal(size=n)


def student(rng: Any, n: int) -> Floats:
    """Return t noise with three degrees of freedom."""
    return rng.standard_t(3, size=n) / np.sqrt(3)


def lognormal(rng: Any, n: int) -> Floats:
    """Return lognormal noise."""
    raw = np.exp(rng.normal(size=n))
    return (raw - np.exp(0.5)) / np.sqrt((np.e - 1) * np.e)


def coded(n: int, seed: int) -> Draw:
    """Return a draw with six factors, whose codes have no order."""
    rng = np.random.default_rng(seed + 5000)
    levels = np.array([2, 3, 4, 5, 3, 4])
    effects = [rng.normal(size=k) for k in levels]
    pairs = rng.normal(size=(levels[1], levels[2]))
    spreads = np.exp(rng.uniform(-1.2, 0.6, size=levels[3]))

    def rows(rng: Any, n: int) -> Floats:
        return np.column_stack([rng.integers(k, size=n) for k in levels]).astype(float)

    def mean(X: Floats) -> Floats:
        codes = X.astype(int)
        own = sum(effect[codes[:, j]] for j, effect in enumerate(effects))
        return own + pairs[codes[:, 1], codes[:, 2]]

    return numbers(rows, mean, lambda X: spreads[X[:, 3].astype(int)], normal, n, seed)


def rare(n: int, seed: int) -> Draw:
    """Return a draw with one row in 250 of the second class."""
    rng = np.random.default_rng(seed)

    def chance(X: Floats) -> Floats:
        return 1 / (1 + np.exp(7.1 - 1.3 * X[:, 0] - X[:, 1] * X[:, 0]))

    X, X_new = rng.normal(size=(n, 5)), rng.normal(size=(N_NEW, 5))
    y = (rng.uniform(size=n) < chance(X)).astype(int)
    p = chance(X_new)
    return Draw(X, y, X_new, lambda f: (1 - p) * COSTS[0, f] + p * COSTS[1, f])


CODED = "coded factors, 150 rows"
WORLDS: dict[str, Callable[[int], Draw]] = {
    CODED: lambda seed: coded(150, seed),
    "t₃ noise": lambda seed: numbers(normal_rows(5), curved, spread, student, 500, seed),
    "lognormal noise": lambda seed: numbers(normal_rows(5), curved, spread, lognormal, 500, seed),
    "200 columns": lambda seed: numbers(normal_rows(200), curved, spread, normal, 500, seed),
    "1:250, cost 50:1": lambda seed: rare(5000, seed),
}
REGRESSORS: dict[str, Any] = {
    "linear": LinearRegression(),
    "forest": RandomForestRegressor(random_state=0),
}
CLASSIFIERS: dict[str, Any] = {
    "logistic": LogisticRegression(),
    "forest": RandomForestClassifier(random_state=0),
    "boosting": HistGradientBoostingClassifier(random_state=0),
}
KINDS: dict[str, Any] = {
    "RegressionRisk": RegressionRisk,
    "PlugInRisk": PlugInRisk,
    "HybridRisk": HybridRisk,
    "AutoRisk": AutoRisk,
}


def estimates(draw: Draw, predictor: Any, loss: Any) -> dict[str, Floats]:
    """Return g at the new rows by every method, and the truth."""
    X, y, X_new, true_risk = draw
    kind = KFold if y.dtype.kind == "f" else StratifiedKFold
    folds = kind(5, shuffle=True, random_state=0)
    predicted = cross_val_predict(predictor, X, y, cv=folds)
    held_out = get_loss(loss)(y, predicted, **({} if kind is KFold else {"classes": [0, 1]}))
    forest = RandomForestRegressor(min_samples_leaf=5, random_state=0).fit(X, held_out)
    found = {"mean": np.full(len(X_new), held_out.mean()), "forest": forest.predict(X_new)}
    for name, risk in KINDS.items():
        model = risk(predictor, loss=loss, random_state=0).fit(X, y)
        found[name] = model.predict_risk(X_new)
    return {"truth": true_risk(model.predictor_.predict(X_new)), **found}


def judge(found: dict[str, Floats]) -> dict[str, list[float]]:
    """Return mean of g over mean risk, and error, of each method."""
    truth = found.pop("truth")
    return {
        name: [float(g.mean() / truth.mean()), float(np.mean((g - truth) ** 2) / truth.var())]
        for name, g in found.items()
    }


def run(world: str, seed: int) -> list[dict[str, Any]]:
    """Return a record for each predictor of one draw."""
    draw = WORLDS[world](seed)
    classes = draw.y.dtype.kind != "f"
    found = []
    for name, predictor in (CLASSIFIERS if classes else REGRESSORS).items():
        with fitted_once(DistributionRegressor):
            figures = judge(estimates(draw, predictor, COSTS if classes else "squared_error"))
        found.append({"world": world, "seed": seed, "predictor": name, "figures": figures})
    return found


def run_built(seed: int) -> dict[str, Any]:
    """Return a record of a predictor that AutoRisk builds for one draw of the coded factors."""
    draw = WORLDS[CODED](seed)
    found = {}
    for name, few_rows in {"AutoRisk, no forest on the row": 0, "AutoRisk": FEW_ROWS}.items():
        with patch("condrisk.risk._committee.FEW_ROWS", few_rows):
            model = AutoRisk(task="regression", random_state=0).fit(draw.X, draw.y)
        found[name] = model.predict_risk(draw.X_new)
    forest = RandomForestRegressor(min_samples_leaf=5, random_state=0)
    found["forest"] = forest.fit(draw.X, model.held_out_.losses).predict(draw.X_new)
    truth = draw.true_risk(model.predictor_.predict(draw.X_new))
    return {"seed": seed, "figures": judge({"truth": truth, **found})}


def run_set(name: str, seed: int) -> dict[str, Any]:
    """Return a record of a predictor that AutoRisk builds for a split of a real set."""
    found = load_uci(name)
    rows = np.random.RandomState(seed).permutation(len(found.target))[:MOST_ROWS]
    y = found.target[rows]
    X, X_new, y, y_new = train_test_split(
        found.data[rows], (y - y.mean()) / y.std(), test_size=0.25, random_state=seed
    )
    model = AutoRisk(task="regression", random_state=0).fit(X, y)
    seen = model.held_out_.losses
    forest = RandomForestRegressor(min_samples_leaf=5, random_state=0).fit(X, seen)
    loss = model.loss_values(X_new, y_new)
    figures = {
        method: {
            "squared": float(np.mean((risk - loss) ** 2)),
            "deferral": [deferral_loss(loss, risk, cost) for cost in np.quantile(seen, PRICES)],
        }
        for method, risk in {
            "AutoRisk": model.predict_risk(X_new),
            "forest": forest.predict(X_new),
        }.items()
    }
    return {"set": name, "seed": seed, "figures": figures}


def summarise(records: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return bias, its standard error and the error, by world, predictor and method."""
    lines = []
    cells = dict.fromkeys((r["world"], r["predictor"]) for r in records)
    for world, predictor in cells:
        own = [r for r in records if (r["world"], r["predictor"]) == (world, predictor)]
        for method in own[0]["figures"]:
            ratio, error = np.array([r["figures"][method] for r in own]).T
            lines.append(
                {
                    "world": world,
                    "predictor": predictor,
                    "method": method,
                    "draws": len(own),
                    "bias": float(ratio.mean() - 1),
                    "bias_se": float(ratio.std(ddof=1) / np.sqrt(len(own))),
                    "error": float(np.exp(np.log(error).mean())),
                }
            )
    return lines


def run_sets(n_splits: int) -> list[dict[str, Any]]:
    """Return the records of all real sets, and print each."""
    found = []
    for seed in range(n_splits):
        for name in UCI:
            found.append(run_set(name, seed))
            print(json.dumps(found[-1]), flush=True)
    return found


def main() -> None:
    """Run all worlds and write the record."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int)
    parser.add_argument("--world", choices=list(WORLDS))
    parser.add_argument("--output", type=Path, default=RECORD)
    parser.add_argument("--sets", action="store_true")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    if arguments.sets:
        record = json.loads(arguments.output.read_text(encoding="utf-8"))
        record["sets"] = run_sets(arguments.draws or N_SPLITS)
        write_whole(arguments.output, json.dumps(record, indent=1, ensure_ascii=False) + "\n")
        return
    records = []
    for world in [arguments.world] if arguments.world else WORLDS:
        for seed in range(arguments.draws or FEWER.get(world, N_DRAWS)):
            records += run(world, seed)
        for line in summarise([r for r in records if r["world"] == world]):
            print(json.dumps(line, ensure_ascii=False), flush=True)
    record = {
        "machine": describe_machine(),
        "versions": installed_versions(),
        "summary": summarise(records),
        "records": records,
        "built": [run_built(seed) for seed in range(arguments.draws or N_DRAWS)],
        "sets": run_sets(arguments.draws or N_SPLITS),
    }
    write_whole(arguments.output, json.dumps(record, indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
