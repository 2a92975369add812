"""The part of the page that says how to use it, and what was run."""

from __future__ import annotations

from condrisk.paper._records import Record
from condrisk.paper.active._phrases import uci, with_verdict
from condrisk.paper.active._results import compare
from condrisk.paper.active._settings import (
    CANDIDATES,
    CIFAR10,
    DESIGN_SETS,
    GAP_FOLDS,
    LEAF,
    MAIN_METHOD,
    RANDOM_ORDERS,
    TRAP,
    TREES,
    ActiveConfig,
)

EXAMPLE = """\
import numpy as np
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import Matern, WhiteKernel
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from condrisk.active import GainSampler
from condrisk.datasets import load_uci

data = load_uci("energy")
pool = np.arange(len(data.target))
labelled = np.random.default_rng(0).choice(pool, 20, replace=False)

kernel = 1.0 * Matern(3.0, (0.5, 50), nu=1.5) + WhiteKernel(0.1, (1e-4, 3))
process = GaussianProcessRegressor(kernel, normalize_y=True)
sampler = GainSampler(make_pipeline(StandardScaler(), process), batch_size=10, random_state=0)

for _ in range(3):
    sampler.fit(data.data[labelled], data.target[labelled])
    rest = np.setdiff1d(pool, labelled)
    chosen = rest[sampler.query(data.data[rest])]
    labelled = np.append(labelled, chosen)  # ask for their labels
"""


def use_section() -> str:
    """Return how to use it."""
    return "\n\n".join(
        [
            "## How to use it",
            f"```python\n{EXAMPLE}```",
            "`RiskSampler` takes any estimator with `predict_risk` instead, and chooses rows of "
            'high estimated risk: apart from each other (`diversity="k-center"`), drawn in '
            'proportion to it, or the riskiest. With `by="gap"` it leaves out the floor of the '
            "risk, and adds the disagreement of models. `query_chunks` takes a pool that does not "
            "fit in memory, chunk by chunk, and chooses the same rows. `RiskQueryStrategy` makes "
            "either of them a query strategy of scikit-activeml.",
        ]
    )


def protocol_section(records: list[Record]) -> str:
    """Return what was run."""
    config = ActiveConfig()
    small, images = config.schedule("energy"), config.schedule(CIFAR10)
    return "\n\n".join(
        [
            "## What was run",
            f"Decided on seeds from 100 on of the sets {' and '.join(DESIGN_SETS)} (and tried on "
            f"such seeds of the world of coins below and of CIFAR-10), which the study does not "
            f"use. The ten embedded folds of each UCI set: labels come from nine tenths of the "
            f"rows, {small.initial} at random, then {small.batch} at a time, {small.rounds} times; "
            f"errors are those on the last tenth. On each fold there are several draws of first "
            f"labels, the same for every way to choose: {config.draws('energy', MAIN_METHOD)} for "
            f"random choice and for two of the reductions of risk, {config.draws('energy', '')} "
            f"for the others. From pools of more than {CANDIDATES:,} rows as many are drawn each "
            f"time. CIFAR-10: {len(config.seeds(CIFAR10))} seeds, {images.initial} labels, then "
            f"{images.batch} at a time, from the 50,000 training images, tested on the 10,000 test "
            f"images; there and in the world of coins ({len(config.seeds(TRAP))} seeds) random "
            f"choice is the mean of {RANDOM_ORDERS} orders.",
            f"*Predictor*: a Gaussian process with one length scale (Matérn 3/2; length and noise "
            f"by marginal likelihood on a grid), in closed form, on standardised columns; classes "
            f"as zeros and ones. Forests were tried on the same two "
            f"sets first: less accurate, and with more noise from fit to fit. "
            f"*Risk*: losses on rows left out, regressed by a forest of {TREES} trees with "
            f"{LEAF} rows a leaf (`RegressionRisk`); for the reduction of risk with classes, the "
            f"Brier score of the probabilities. *Test*: two-sided t-test over folds or seeds on "
            f"the logarithm of the ratio of areas (mean over draws), on UCI sets with Nadeau and "
            f"Bengio's correction for pools that overlap and Holm's over the eight sets.",
            "The ways to choose:",
            "\n".join(
                [
                    "- *core-set*: the row farthest from labelled and chosen ones, repeatedly;",
                    "- *uncertainty*: the largest posterior variance; for classes the largest "
                    "entropy;",
                    "- *estimated risk, k-centre*: the same among the riskiest five batches; *in "
                    "proportion*: drawn with chances proportional to the risk;",
                    "- *reduction of risk*: by how much the label reduces the model's variance "
                    "over all candidates, Σₓ K(x, c)² / (K(c, c) + noise). The noise is the "
                    "model's own, one for all rows; or, *excess*, what the estimated risk has "
                    "beyond the variance; or, *share*, both are scaled such that they add up to "
                    "the estimated risk;",
                    "- *gap plus disagreement*: drawn with chances proportional to (f − m)² + d², "
                    "where f is the predictor, m the mean of `DistributionRegressor`, a stack, "
                    "and d the deviation of the stack's models from m.",
                ]
            ),
            _added(config),
        ]
    )


def _added(config: ActiveConfig) -> str:
    return (
        f"*Added later*: the gap, when the others had been run. Seeds 100 and 101 of concrete and "
        f"the coins, and 100 of forest, decided for drawing in proportion (better than k-centre "
        f"on concrete, no clear difference elsewhere); the deviations of the stack's Gaussian "
        f"processes in place of the disagreement were tried on one seed of concrete, and were "
        f"worse. A stack in every round is many times the work of the others. So there is "
        f"{config.draws('energy', 'gap')} draw of first labels on each fold, compared with random "
        f"choice from the same draw, and the stack has {GAP_FOLDS} folds. Two classes are the "
        f"numbers 0 and 1, and f is the probability of the second. On CIFAR-10, with ten classes, "
        f"it was not run."
    )


def first_run_section(first: list[Record]) -> str:
    """Return what a first run found, with one draw of first labels a seed."""
    main = uci(compare(first, MAIN_METHOD))
    if not main:
        return ""
    return (
        f"**A first run** had {main[0].n_seeds} seeds, two on each fold, with one draw of first "
        f"labels each, and was all that had been planned. There the reduction of risk had the "
        f"smaller area on {sum(c.ratio < 1 for c in main)} of {len(main)} UCI sets, significantly "
        f"on {len(with_verdict(main, 'better'))}. To see how much of that was the luck of the "
        f"first labels, the draws on each fold were increased after it, and the test now takes "
        f"their mean; nothing else was changed. The first records are beside the others."
    )
