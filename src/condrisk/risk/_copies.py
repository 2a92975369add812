"""Rows that are copies of each other, and what they do to held-out losses.

A row may be in a table twice: the same patient, the same part measured by the same error, a join
gone wrong. If its copy is among the training rows when it is held out, a flexible predictor has
seen its noise, and its loss is too low: nothing that is estimated from such losses holds for new
rows. ``groups=`` keeps copies together; this module tells whether that is needed.

*Copies or replicates?* The same x measured again with new noise is no copy: new rows will come
from the same design, and the loss of a held-out row is what theirs will be. Losses cannot tell
the two apart, as holding out a design point with all its replicates makes its mean harder to
learn. Targets can. Within clusters of replicates they differ by the noise, as those of near rows
that are no copies do. Within clusters that share the noise they do not. So exact copies count
only if the target of a copy differs from a row's by less than 0.3 of what the target of the
nearest row outside of the cluster does, in significantly more than 85 % of the clusters (of those
where one of the two differs at all). Replicates with normal noise have that in 85 % of them only
where the noise has 1/200 of the variance of what separates neighbouring points. Replicates with
still less noise cannot be told from copies; the advice is then the same for whoever wants the risk
at new points. Near copies are no replicates of a design. For them 60 % will do, which rows with
noise of their own reach where it has 1/20 of that variance. Nor are clusters copies if there are
half as many where each column has been shuffled: columns of few values make equal rows that have
nothing else in common.

*By consequence.* Copies do no harm to a predictor that does not learn single rows. Hence a trial:
the clusters are divided at random, and the predictor is fitted once, on rows among which are the
copies of the first half's test rows and none of the second half's. If copies do not matter, the
losses of both halves have one distribution, whatever the predictor is. It is fitted on so few
rows that this takes less than a tenth of the time of the cross-fitting, for a predictor that
takes time in proportion to the rows. A stack that `AutoRisk` builds takes too long even so, and a
forest stands in for it.
"""

from __future__ import annotations

import warnings
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binomtest, mannwhitneyu
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.model_selection import BaseShuffleSplit, KFold, StratifiedKFold
from sklearn.utils import _safe_indexing

from condrisk._crossfit import fit_on, respond, seeded
from condrisk.risk._clusters import FEWEST, Clusters, Floats, Rows, coded_columns, find_clusters

# The target of a copy is far nearer than that of a near row if it is within this share of its
# distance; targets are shared if that is so in more than these shares of the clusters.
_FAR_NEARER, _OFTEN_EXACT, _OFTEN_NEAR = 0.3, 0.85, 0.6
# The trial's training rows, as a share of all rows and for each fold.
_TRIAL = 0.08
# Levels of the tests of shared targets and of the trial.
_LEVEL_TARGETS, _LEVEL_TRIAL = 0.05, 0.01
# What is worth a warning: losses of copies lower by a tenth, the mean of all losses by a twentieth.
_LOWER, _LOWER_OVERALL = 0.1, 0.05


class Trial(NamedTuple):
    """Mean losses of rows whose copies were learnt from, and of rows without; the p-value."""

    with_copy: float
    without: float
    p: float


def warn_of_copies(risk: Any, X: Any, y: NDArray[Any], routed: dict[str, dict[str, Any]]) -> None:
    """Warn if copies among the rows of a fitted risk have made its held-out losses too low."""
    if not risk._has_to_fit_predictor() or routed["splitter"].get("groups") is not None:
        return
    columns = coded_columns(X) if _holds_out_at_random(risk.cv) else None
    if columns is None:
        return
    rng = np.random.default_rng(0)
    clusters = find_clusters(columns, rng)
    if len(clusters.rows) < FEWEST:
        return
    clusters = sharing(clusters, columns, y, classes=risk._classes is not None)
    if len(clusters.rows) < FEWEST:
        return
    if find_clusters(rng.permuted(columns, axis=0), rng).share > clusters.share / 2:
        return  # so few values that rows are equal by chance
    trial = _try_out(risk, X, y, columns, clusters, routed["predictor"], rng)
    if trial is None or not trial.without > 0 or trial.p > _LEVEL_TRIAL:
        return
    lower = 1 - trial.with_copy / trial.without
    if lower < _LOWER or clusters.share * lower < _LOWER_OVERALL:
        return
    warnings.warn(
        f"{clusters.share:.0%} of the rows have copies or near copies, with nearly the same "
        f"target. In a trial their mean loss was {trial.with_copy:.3g} where a copy was among the "
        f"training rows, and {trial.without:.3g} where none was: for rows that are no copies, "
        f"the held-out losses of these are about {lower:.0%} too low, and the estimated risk with "
        f"them. Give fit groups= with one label for all copies of a row, or keep one row of each.",
        UserWarning,
        stacklevel=4,
    )


def _holds_out_at_random(cv: Any) -> bool:
    """Tell whether copies are bound to get into different folds."""
    if isinstance(cv, KFold | StratifiedKFold):
        return bool(cv.shuffle)
    return cv is None or isinstance(cv, Integral | BaseShuffleSplit)


def sharing(clusters: Clusters, columns: Floats, y: NDArray[Any], *, classes: bool) -> Clusters:
    """Return the clusters that share their targets: the exact ones, the near ones, both, none."""
    row, copy = np.array([rows[:2] for rows in clusters.rows]).T

    columns_of_y = y.reshape(len(y), -1)
    # Outputs have units of their own.
    unit = 1.0 if classes else columns_of_y.std(axis=0).clip(np.finfo(float).tiny)

    def apart(other: Rows) -> Floats:
        here, there = columns_of_y[row], columns_of_y[other]
        return (here != there if classes else np.abs(here - there) / unit).mean(axis=1)

    within, outside = apart(copy), apart(clusters.outside)
    exact = (columns[row] == columns[copy]).all(axis=1)
    kept = np.zeros(len(row), dtype=bool)
    for kind, often in ((exact, _OFTEN_EXACT), (~exact, _OFTEN_NEAR)):
        kept |= kind & _far_nearer(within[kind], outside[kind], often)
    return clusters.only(kept)


def _far_nearer(within: Floats, outside: Floats, often: float) -> bool:
    """Tell whether targets of copies are more often far nearer than those of near rows."""
    telling = int(((within > 0) | (outside > 0)).sum())
    if telling == 0:
        return False
    found = int((within < _FAR_NEARER * outside).sum())
    return bool(binomtest(found, telling, often, alternative="greater").pvalue < _LEVEL_TARGETS)


def _try_out(
    risk: Any,
    X: Any,
    y: NDArray[Any],
    columns: Floats,
    clusters: Clusters,
    fit_params: dict[str, Any],
    rng: np.random.Generator,
) -> Trial | None:
    """Fit the predictor on the copies of some rows and not on those of others; compare losses."""
    n_folds = 5 if risk.cv is None else getattr(risk.cv, "n_splits", risk.cv)
    train, seen, unseen = _assign(clusters, len(y), _TRIAL * n_folds, rng)
    if 2 * len(seen) < FEWEST:
        return None
    if risk.predictor is not None:
        predictor = seeded(risk.predictor, 0)
    else:
        forest = RandomForestRegressor if risk._classes is None else RandomForestClassifier
        predictor, X, fit_params = forest(30, random_state=0), columns, {}
    test = np.concatenate([seen, unseen])
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = fit_on(predictor, X, y, train, fit_params)
            found = respond(
                model, _safe_indexing(X, test), risk.loss_.response, classes=risk._classes
            )
            losses = risk.loss_(y[test], found, classes=risk._classes)
    except ValueError:  # too few rows, or classes, for this predictor: nothing is known then
        return None
    low, high = losses[: len(seen)], losses[len(seen) :]
    p = mannwhitneyu(low, high, alternative="less").pvalue
    return Trial(float(low.mean()), float(high.mean()), float(p))


def _assign(
    clusters: Clusters, n: int, share: float, rng: np.random.Generator
) -> tuple[Rows, Rows, Rows]:
    """Return training rows, test rows with copies among them, and as many without.

    Of the training rows, half are copies, or more if more of all rows are.
    """
    n_train = int(min(share, 0.5) * n)
    copies = np.cumsum([len(rows) - 1 for rows in clusters.rows])
    most = np.searchsorted(copies, n_train * max(0.5, clusters.share), side="right")
    half = min(len(copies) // 2, int(most))
    seen, unseen = clusters.rows[:half], clusters.rows[half : 2 * half]
    free = np.ones(n, dtype=bool)
    for rows in (*seen, *unseen):
        free[rows] = False
    learnt = np.concatenate([np.empty(0, dtype=np.intp), *(rows[1:] for rows in seen)])
    others = rng.permutation(np.flatnonzero(free))[: n_train - len(learnt)]
    tested = [np.array([rows[0] for rows in part], dtype=np.intp) for part in (seen, unseen)]
    return np.concatenate([learnt, others]), tested[0], tested[1]
