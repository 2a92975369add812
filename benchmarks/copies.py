"""Who is warned of copies among the rows, and what the check takes of the time of a fit.

    python -m benchmarks.copies             # write results/copies.json; a quarter of an hour
    python -m benchmarks.copies --draws 5   # a small try, written nowhere

- Rates: in worlds with copies that share their noise, with replicates whose noise is new, without
  copies, and without noise, the share of draws in which `RegressionRisk.fit` would warn, for three
  predictors. Only the check is run, not the fit around it.
- Time: what the check takes of `RegressionRisk(f).fit` with its default regressor. Limit,
  set before the first run: a tenth.
- Sets: on which of the UCI sets, and of three of scikit-learn, it warns.

The thresholds of the check were set with most of these worlds (other draws of them) and with the
UCI sets in view; that near copies need less evidence than exact ones was decided on concrete. The
worlds in `FRESH` and the sets of scikit-learn were written down afterwards, and nothing was changed
since.
"""

from __future__ import annotations

import argparse
import json
import re
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone, is_classifier
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.linear_model import LinearRegression, LogisticRegression

import condrisk.risk._base
from condrisk import RegressionRisk
from condrisk._files import write_whole
from condrisk.datasets import UCI_NAMES, load_uci
from condrisk.losses import get_loss
from condrisk.paper._records import describe_machine, installed_versions
from condrisk.risk._copies import warn_of_copies

RECORD = Path(__file__).resolve().parents[1] / "results" / "copies.json"
DRAWS, N, SIZES, FEATURES = 50, 1000, (1000, 10_000), 5
FIRST_SEED = 10_000  # draws that no threshold was set with
Draw = tuple[NDArray[Any], NDArray[Any]]
World = Callable[[np.random.Generator], Draw]

REGRESSORS: dict[str, Any] = {
    "forest": RandomForestRegressor(random_state=0),
    "boosting": HistGradientBoostingRegressor(random_state=0),
    "linear": LinearRegression(),
}
CLASSIFIERS: dict[str, Any] = {
    "forest": RandomForestClassifier(random_state=0),
    "boosting": HistGradientBoostingClassifier(random_state=0),
    "linear": LogisticRegression(),
}


# -- worlds ---------------------------------------------------------------------------------------


def mean(X: NDArray[Any]) -> NDArray[Any]:
    """Return the mean target, of variance about 2."""
    return np.sin(2 * X[:, 0]) + X[:, 1] + (0.5 * X[:, 2] ** 2 if X.shape[1] > 2 else 0.0)


def shared(
    rng: np.random.Generator, n: int = N, *, share: float, times: int = 2, jitter: float = 0.0
) -> Draw:
    """Return rows of which a share has copies with the same noise, of standard deviation 1."""
    n_copied = int(share * n) // times
    X = rng.normal(size=(n - n_copied * (times - 1), FEATURES))
    y = mean(X) + rng.normal(size=len(X))
    which = np.concatenate([np.arange(len(X)), np.tile(np.arange(n_copied), times - 1)])
    return X[which] + jitter * rng.normal(size=(n, FEATURES)), y[which]


def replicates(
    rng: np.random.Generator, *, times: int, noise: float, d: int = FEATURES, jitter: float = 0.0
) -> Draw:
    """Return each input several times, each time with new noise."""
    X = rng.normal(size=(N // times, d))
    X = X[np.arange(N) % len(X)]
    X = X + jitter * rng.normal(size=X.shape)
    return X, mean(X) + noise * rng.normal(size=N)


def labels(draw: Draw, rng: np.random.Generator, *, copied: bool) -> Draw:
    """Return classes, a fifth of them wrong: for copies the same ones, for replicates new ones."""
    X, _ = draw
    _, first, which = np.unique(X, axis=0, return_index=True, return_inverse=True)
    wrong = rng.random(len(first))[which.ravel()] if copied else rng.random(len(X))
    return X, (mean(X) > 0.5) ^ (wrong < 0.2)


def grid(_: np.random.Generator, *, d: int) -> Draw:
    """Return a grid and a function on it, without noise."""
    ticks = [np.linspace(-2, 2, round(N ** (1 / d)))] * d
    X = np.stack(np.meshgrid(*ticks), axis=-1).reshape(-1, d)
    return X, mean(X)


def heavy_tails(rng: np.random.Generator) -> Draw:
    """Return rows of which a third has copies, with noise of three degrees of freedom."""
    X = rng.normal(size=(N - N // 6, FEATURES))
    y = mean(X) + rng.standard_t(3, size=len(X))
    which = np.concatenate([np.arange(len(X)), np.arange(N // 6)])
    return X[which], y[which]


def wide(rng: np.random.Generator) -> Draw:
    """Return near copies with twenty columns, of which seventeen are noise."""
    X = np.tile(rng.normal(size=(N // 2, 20)), (2, 1))
    y = mean(X) + np.tile(rng.normal(size=N // 2), 2)
    return X + 0.01 * rng.normal(size=X.shape), y


def near_labels(rng: np.random.Generator) -> Draw:
    """Return near copies with three columns, and the same wrong labels, a tenth of all."""
    X = np.tile(rng.normal(size=(N // 2, 3)), (2, 1))
    wrong = np.tile(rng.random(N // 2) < 0.1, 2)
    return X + 0.003 * rng.normal(size=X.shape), (mean(X) > 0.5) ^ wrong


def clumps(rng: np.random.Generator) -> Draw:
    """Return inputs in fifty tight clumps, with noise of their own."""
    X = rng.normal(size=(50, FEATURES))[rng.integers(50, size=N)]
    X = X + 0.02 * rng.normal(size=X.shape)
    return X, mean(X) + 0.3 * rng.normal(size=N)


def walk(rng: np.random.Generator) -> Draw:
    """Return inputs that change slowly from row to row, with little noise."""
    X = np.cumsum(rng.normal(size=(N, 3)), axis=0)
    X = X / X.std(axis=0)
    return X, mean(X) + 0.1 * rng.normal(size=N)


def skewed(rng: np.random.Generator) -> Draw:
    """Return lognormal columns without copies, and no noise."""
    X = np.exp(rng.normal(size=(N, 4)))
    return X, mean(X)


def few_wrong(rng: np.random.Generator) -> Draw:
    """Return each input ten times, each time with new labels, a fiftieth of them wrong."""
    X = np.repeat(rng.normal(size=(N // 10, FEATURES)), 10, axis=0)
    return X, (mean(X) > 0.5) ^ (rng.random(N) < 0.02)


def coded(rng: np.random.Generator, *, noise: float) -> Draw:
    """Return four columns of three values each."""
    X = rng.integers(0, 3, size=(N, 4)).astype(np.float64)
    return X, mean(X) + noise * rng.normal(size=N)


def curve(rng: np.random.Generator) -> Draw:
    """Return points of a curve in three columns, and a function of them without noise."""
    t = rng.uniform(0, 20, N)
    X = np.column_stack([np.sin(t), np.cos(t), np.sin(3 * t)])
    return X, X.sum(axis=1)


COPIES: dict[str, World] = {
    "each row twice": lambda rng: shared(rng, share=1.0),
    "a fifth of the rows twice": lambda rng: shared(rng, share=0.4),
    "each row ten times": lambda rng: shared(rng, share=1.0, times=10),
    "near copies, 0.001 σ apart": lambda rng: shared(rng, share=1.0, jitter=0.001),
    "near copies, 0.01 σ apart": lambda rng: shared(rng, share=1.0, jitter=0.01),
    "five near copies, 0.01 σ apart": lambda rng: shared(rng, share=1.0, times=5, jitter=0.01),
    "classes, each row twice": lambda rng: labels(shared(rng, share=1.0), rng, copied=True),
}
NO_COPIES: dict[str, World] = {
    "replicates, two, noise 1": lambda rng: replicates(rng, times=2, noise=1.0),
    "replicates, five, noise 1": lambda rng: replicates(rng, times=5, noise=1.0),
    "replicates, five, noise 0.2": lambda rng: replicates(rng, times=5, noise=0.2),
    "replicates, five, noise 0.05": lambda rng: replicates(rng, times=5, noise=0.05),
    "replicates, five, 0.01 σ apart, noise 0.3": lambda rng: replicates(
        rng, times=5, noise=0.3, jitter=0.01
    ),
    "replicates, twenty, two columns, noise 0.3": lambda rng: replicates(
        rng, times=20, noise=0.3, d=2
    ),
    "replicates of classes, five": lambda rng: labels(
        replicates(rng, times=5, noise=0.0), rng, copied=False
    ),
    "coded columns, noise 1": lambda rng: coded(rng, noise=1.0),
    "coded columns, no noise": lambda rng: coded(rng, noise=0.0),
    "no copies, noise 1": lambda rng: replicates(rng, times=1, noise=1.0),
    "no copies, no noise": lambda rng: replicates(rng, times=1, noise=0.0),
    "no copies, two columns, no noise": lambda rng: replicates(rng, times=1, noise=0.0, d=2),
    "a grid of two columns, no noise": lambda rng: grid(rng, d=2),
    "a grid of three columns, no noise": lambda rng: grid(rng, d=3),
    "a curve, no noise": curve,
}

FRESH: dict[str, dict[str, World]] = {
    "copies": {
        "a sixth of the rows twice, heavy tails": heavy_tails,
        "near copies, twenty columns": wide,
        "near copies of classes, three columns": near_labels,
    },
    "no copies": {
        "fifty clumps, noise 0.3": clumps,
        "a random walk, noise 0.1": walk,
        "lognormal columns, no noise": skewed,
        "replicates of classes, ten, 2 % wrong": few_wrong,
    },
}


# -- rates ----------------------------------------------------------------------------------------


def check(predictor: Any, X: NDArray[Any], y: NDArray[Any]) -> str | None:
    """Return what `fit` would warn of, without the fit."""
    risk = RegressionRisk(clone(predictor), random_state=0)
    risk._classes = np.unique(y) if is_classifier(predictor) else None
    risk.loss_ = get_loss(None, task=risk._task())
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        warn_of_copies(risk, X, y, {"splitter": {}, "predictor": {}})
    return str(warned[0].message) if warned else None


def too_low(text: str) -> float:
    """Return by how much losses are too low, as a warning says."""
    found = re.search(r"about (\d+)% too low", text)
    assert found is not None
    return int(found[1]) / 100


def rates(draws: int) -> Iterator[dict[str, Any]]:
    """Yield how often each world is warned of, with each predictor."""
    for kind, worlds in (("copies", COPIES), ("no copies", NO_COPIES)):
        for name, world in (worlds | FRESH[kind]).items():
            for model, regressor in REGRESSORS.items():
                said = []
                for seed in range(FIRST_SEED, FIRST_SEED + draws):
                    X, y = world(np.random.default_rng(seed))
                    predictor = CLASSIFIERS[model] if y.dtype == bool else regressor
                    said.append(check(predictor, X, y))
                lower = [too_low(text) for text in said if text]
                yield {
                    "kind": kind,
                    "world": name,
                    "fresh": name in FRESH[kind],
                    "predictor": model,
                    "warned": len(lower),
                    "draws": draws,
                    "too_low": float(np.mean(lower)) if lower else None,
                }


# -- time, and the UCI sets -----------------------------------------------------------------------


def time_shares(sizes: tuple[int, ...]) -> Iterator[dict[str, Any]]:
    """Yield the processor's seconds of a fit, and those of the check in it."""
    spent: list[float] = []

    def timed(*arguments: Any) -> None:
        began = time.process_time()
        warn_of_copies(*arguments)
        spent.append(time.process_time() - began)

    condrisk.risk._base.warn_of_copies = timed  # type: ignore[attr-defined]
    for n in sizes:
        for share in (0.0, 1.0):
            X, y = shared(np.random.default_rng(0), n, share=share)
            for model, predictor in REGRESSORS.items():
                began = time.process_time()
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    RegressionRisk(predictor, random_state=0).fit(X, y)
                took = time.process_time() - began
                yield {
                    "n": n,
                    "copies": share > 0,
                    "predictor": model,
                    "fit_seconds": took,
                    "check_seconds": spent[-1],
                }
    condrisk.risk._base.warn_of_copies = warn_of_copies  # type: ignore[attr-defined]


def real_sets() -> Iterator[dict[str, Any]]:
    """Yield what is said of each set, with a forest and with boosting."""
    fresh = {
        "diabetes": (load_diabetes(), REGRESSORS),
        "breast cancer": (load_breast_cancer(), CLASSIFIERS),
        "digits": (load_digits(), CLASSIFIERS),
    }
    known = {name: (load_uci(name), REGRESSORS) for name in UCI_NAMES}
    for name, (found, models) in (known | fresh).items():
        for model in ("forest", "boosting"):
            text = check(models[model], found.data, found.target)
            yield {
                "set": name,
                "fresh": name in fresh,
                "predictor": model,
                "rows": len(found.target),
                "warning": text,
            }


def main() -> None:
    """Measure, and keep the record."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=DRAWS)
    draws = parser.parse_args().draws
    record: dict[str, Any] = {
        "n": N,
        "machine": describe_machine(),
        "versions": installed_versions(),
    }
    parts = {
        "sets": real_sets(),
        "time": time_shares(SIZES if draws == DRAWS else SIZES[:1]),
        "rates": rates(draws),
    }
    for name, rows in parts.items():
        record[name] = []
        for row in rows:
            print(row, flush=True)
            record[name].append(row)
    if draws == DRAWS:
        write_whole(RECORD, json.dumps(record, indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
