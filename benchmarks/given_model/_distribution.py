"""How good is the distribution itself: CRPS and coverage, beside quantile-forest and NGBoost.

    pip install quantile-forest ngboost

A quarter of the rows to test on; parkinsons by patient, and cut to 2,000 rows. All are judged by
their quantiles: CRPS is twice the mean pinball loss over 200 levels, and coverage is the share of
rows between two quantiles, such as those of 0.05 and 0.95. "constant" has the quantiles of the
training targets.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.model_selection import GroupShuffleSplit, ShuffleSplit

import condrisk.learners
from benchmarks.given_model._protocol import SEED, TEST_SHARE
from benchmarks.given_model._sets import MOST_ROWS, Data

Floats = NDArray[np.float64]

N_SPLITS = 20
N_LEVELS = 200
LEVELS = (np.arange(N_LEVELS) + 0.5) / N_LEVELS
COVERAGES = (0.5, 0.9, 0.99)


Quantiles = Callable[[Data, Floats, Floats], Floats]


def constant(train: Data, X: Floats, levels: Floats) -> Floats:
    return np.tile(np.quantile(train.y, levels), (len(X), 1))


def ours(train: Data, X: Floats, levels: Floats) -> Floats:
    model = condrisk.learners.DistributionRegressor(random_state=SEED).fit(
        train.X, train.y, groups=train.groups
    )
    return model.predict_quantiles(X, levels)


def quantile_forest(train: Data, X: Floats, levels: Floats) -> Floats:
    from quantile_forest import RandomForestQuantileRegressor

    model = RandomForestQuantileRegressor(random_state=SEED).fit(train.X, train.y)
    return np.asarray(model.predict(X, quantiles=levels.tolist()))


def ngboost(train: Data, X: Floats, levels: Floats) -> Floats:
    from ngboost import NGBRegressor
    from ngboost.learners import default_tree_learner

    # Its seed does not reach its trees, which break ties at random.
    tree = clone(default_tree_learner).set_params(random_state=SEED)
    model = NGBRegressor(Base=tree, random_state=SEED, verbose=False).fit(train.X, train.y)
    answer = model.pred_dist(X)
    return np.column_stack([answer.ppf(level) for level in levels])


METHODS: dict[str, Quantiles] = {
    "constant": constant,
    "quantile-forest": quantile_forest,
    "NGBoost": ngboost,
}
if hasattr(condrisk.learners, "DistributionRegressor"):
    METHODS["DistributionRegressor"] = ours


def parts(data: Data, split: int) -> tuple[Data, Data]:
    """Return the rows to learn from and those to test on; groups are kept together."""
    kind = ShuffleSplit if data.groups is None else GroupShuffleSplit
    splitter = kind(1, test_size=TEST_SHARE["cross-fitted"], random_state=split)
    drawn = np.sort(np.random.RandomState(SEED).permutation(len(data.y))[:MOST_ROWS])
    some = _take(data, drawn)
    [(train, test)] = splitter.split(some.X, some.y, some.groups)
    return _take(some, train), _take(some, test)


def _take(data: Data, rows: NDArray[Any]) -> Data:
    groups = None if data.groups is None else data.groups[rows]
    return Data(data.name, data.X[rows], data.y[rows], groups)


def run(train: Data, test: Data) -> dict[str, Any]:
    """Return the figures by predictor and loss, of which there is one, and method."""
    tails = [(1 - share) / 2 for share in COVERAGES]
    levels = np.concatenate([LEVELS, tails, [1 - tail for tail in tails]])
    found = [scores(test.y, method(train, test.X, levels)) for method in METHODS.values()]
    return {figure: [[[each[figure] for each in found]]] for figure in found[0]}


def scores(y: Floats, quantiles: Floats) -> dict[str, float]:
    """Return CRPS and coverage from the quantiles at `LEVELS`, then at those of the tails."""
    inner, lower, upper = np.split(quantiles, [N_LEVELS, N_LEVELS + len(COVERAGES)], axis=1)
    short = y[:, None] - inner
    found = {"CRPS": float(2 * np.mean(np.maximum(LEVELS * short, (LEVELS - 1) * short)))}
    for k, share in enumerate(COVERAGES):
        inside = (lower[:, k] <= y) & (y <= upper[:, k])
        found[f"coverage {share:g}"] = float(inside.mean())
        found[f"width {share:g}"] = float(np.mean(upper[:, k] - lower[:, k]))
    return found
