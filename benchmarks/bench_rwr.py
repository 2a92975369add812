"""The sixteen pairs at four prices on energy and housing, against fitting each pair for each.

The baseline is what the paper's public code does: for every pair and every price, predictor and
calibrator are fitted anew, by scikit-learn, in one process. It takes some ten minutes.
"""

from __future__ import annotations

import os
import tempfile
import time
import warnings
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
from joblib.externals.loky import get_reusable_executor
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

from benchmarks.timing import interleaved, record
from condrisk.paper._figures import COSTS
from condrisk.paper.rwr import RwRConfig, run_rwr
from condrisk.paper.rwr._data import load_set
from condrisk.paper.rwr._fitting import Rows, fit_methods
from condrisk.paper.rwr._methods import PaperSplit, make_model, make_pair, pair_names

SETS = ("energy", "housing")
LIMIT = 1 / 25


def run(n_jobs: int = 2) -> list[dict[str, Any]]:
    before = _processor_seconds()
    ours, records = _ours(n_jobs)
    between = _processor_seconds()
    public, losses = _public()
    after = _processor_seconds()
    _check_same_study(records, losses)
    return [
        record(
            f"rwr: 16 pairs, 4 prices, {' and '.join(SETS)}",
            ours,
            public,
            LIMIT,
            n=sum(len(load_set(name, folds="embedded").X) for name in SETS),
            n_jobs=n_jobs,
            faster=public / ours,
            # Where it is far below n_jobs times ours_s, processes waited for a core.
            processor_s={"ours": between - before, "baseline": after - between},
            profile=_profile(records, ours * n_jobs),
            one_fold=_one_fold(),
            floor=_floor(),
        )
    ]


def _ours(n_jobs: int) -> tuple[float, list[dict[str, Any]]]:
    with tempfile.TemporaryDirectory() as folder:
        start = time.perf_counter()
        config = RwRConfig(folds="embedded", mlp="fast")
        records = run_rwr(
            Path(folder), config=config, sets=SETS, methods=pair_names(), n_jobs=n_jobs
        )
        seconds = time.perf_counter() - start
    # The time of a child counts from its end on.
    get_reusable_executor().shutdown(wait=True)
    return seconds, records


def _processor_seconds() -> float:
    """Return the seconds that this process and its finished children had a core."""
    return sum(os.times()[:4])


def _public() -> tuple[float, dict[tuple[str, str, str], list[float]]]:
    """Fit every pair anew for every price; return the seconds and the losses."""
    losses: dict[tuple[str, str, str], list[float]] = defaultdict(list)
    start = time.perf_counter()
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.filterwarnings("ignore", message="Got `batch_size`")
        for name in SETS:
            data = load_set(name, folds="embedded")
            for train, test in data.folds:
                for pair in pair_names():
                    for cost in COSTS:
                        loss = _one_cell(data.X, data.y, train, test, pair, cost)
                        losses[name, pair, f"{cost:g}"].append(loss)
    return time.perf_counter() - start, losses


def _one_cell(X: Any, y: Any, train: Any, test: Any, pair: str, cost: float) -> float:
    regressor, calibrator = (make_model(part, mlp="sklearn") for part in pair.split("+"))
    [(first, second)] = PaperSplit().split(train)
    f = clone(regressor).fit(X[train[first]], y[train[first]])
    held = train[second]
    g = clone(calibrator).fit(X[held], (y[held] - f.predict(X[held])) ** 2)
    loss = (y[test] - f.predict(X[test])) ** 2
    return float(np.where(g.predict(X[test]) < cost, loss, cost).mean())


def _check_same_study(records: list[dict[str, Any]], losses: dict[Any, list[float]]) -> None:
    """Fail unless pairs without a network agree exactly: otherwise two things were timed."""
    for name, pair, cost in losses:
        if "MLP" not in pair:
            ours = [
                line["costs"][cost]["loss"]
                for line in records
                if (line["set"], line["method"]) == (name, pair)
            ]
            np.testing.assert_allclose(ours, losses[name, pair, cost], rtol=1e-9)


def _one_fold() -> dict[str, float]:
    """Return the seconds of a fold of energy: the pairs together, and each pair by itself."""
    data = load_set("energy", folds="embedded")
    train, _ = data.folds[0]
    rows = Rows(data.X[train], data.y[train])
    methods = {name: make_pair(name, mlp="fast") for name in pair_names()}
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        start = time.perf_counter()
        list(fit_methods(methods, rows))
        together = time.perf_counter() - start
        start = time.perf_counter()
        for method in methods.values():
            clone(method).fit(rows.X, rows.y)
        alone = time.perf_counter() - start
    return {"together": together, "each by itself": alone}


def _profile(records: list[dict[str, Any]], total: float) -> dict[str, float]:
    """Return the share of processor time that each kind of model takes, from the records."""
    seconds: dict[str, float] = defaultdict(float)
    for line in records:
        regressor, calibrator = line["method"].split("+")
        if calibrator == "LR":  # four pairs share a predictor: count it once
            seconds[f"{regressor} predictors"] += line["seconds"]["predictor"]
        seconds[f"{calibrator} calibrators"] += line["seconds"]["risk"]
        seconds["predicting"] += line["seconds"]["predict"]
    seconds["all else"] = total - sum(seconds.values())
    return {name: value / total for name, value in sorted(seconds.items())}


def _floor(repeats: int = 7) -> dict[str, float]:
    """Return the seconds of a fold of energy for the two things that are left: products, trees.

    The products of matrices in float32 that training a network of two layers for 800 epochs takes,
    and the forest, beside what the whole training takes: by processor time, in turns, since the
    quotient of two samples by the clock told of other processes, too.
    """
    from condrisk.paper.rwr import LockstepMLPRegressor

    data = load_set("energy", folds="embedded")
    X = data.X[:307].astype(np.float32)
    scaled = (X - X.mean(0)) / (X.std(0) + 1e-9)
    Y = np.tile(data.y[:307, None], 4).astype(np.float32)
    net = LockstepMLPRegressor(
        hidden_layer_sizes=(64, 64), batch_size=256, max_iter=800, tol=0.0, random_state=0
    )
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        epochs = round(net.fit(scaled, Y).n_iter_.mean())
        return interleaved(
            {
                "four networks (64, 64)": lambda: net.fit(scaled, Y),
                "their products of matrices alone": lambda: _products(scaled, epochs),
                "one forest": lambda: make_model("RF", mlp="fast").fit(X, Y[:, 0]),
            },
            repeats,
            time.process_time,
        )


def _products(X: Any, epochs: int) -> None:
    """Compute the matrix products in so many epochs of four networks (64, 64)."""
    rng = np.random.default_rng(0)
    layers = [
        rng.normal(size=(4, *shape)).astype(np.float32) for shape in ((X.shape[1], 64), (64, 64))
    ]
    batches = [X[:256], X[256:]]
    hidden = [rng.normal(size=(4, len(batch), 64)).astype(np.float32) for batch in batches]
    # Of an array and itself numpy computes half a product.
    deltas = [signal.copy() for signal in hidden]
    for _ in range(epochs):
        for batch, signal, delta in zip(batches, hidden, deltas, strict=True):
            batch @ layers[0]
            batch.T @ delta
            signal @ layers[1]
            signal.swapaxes(1, 2) @ delta
            delta @ layers[1].swapaxes(1, 2)
