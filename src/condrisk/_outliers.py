"""Gross outliers among losses: a few that are most of the sum, far above all others."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

# Losses are capped where fewer than this many equal ones would have the same tail.
FEWEST_TAIL_ROWS = 20
# Outliers are above so many times the largest other loss, and together they are more than this
# share of all losses, at most this share of the weight of all rows or one row. Of 500 squared
# errors of t noise with three degrees of freedom one sample in fifty has such.
GAP, SHARE_OF_LOSSES, SHARE_OF_ROWS = 10.0, 0.5, 0.01
# Squared errors below this share of the largest are rounding: what is not fitted exactly among rows
# that are is no outlier.
ROUNDING = 1e-24
# Fewer rows than this do not tell what is far out.
FEWEST_ROWS = 20
# Row numbers in the warning.
MOST_NAMED = 5


def without_outliers(
    loss: Floats,
    weight: Floats | None,
    *,
    least: float = 0.0,
    what: str = "losses",
    rows: NDArray[Any] | None = None,
) -> Floats:
    """Return losses; where some are gross outliers, the tail is capped, with a warning.

    The mean of the losses is an honest estimate of their level as long as many rows have a part in
    it. A few rows, one or a cluster of its copies, that alone are most of it say nothing of the
    loss elsewhere. The rows next to them may have large losses because of them, so that not only
    the outliers are lowered. Losses of few values, such as 0, 1 and 50, are left as they are: there
    a large one is an event, not an outlier.

    Parameters
    ----------
    loss : ndarray of shape (n_rows,)
        Losses.
    weight : ndarray of shape (n_rows,) or None
        Their weights.
    least : float, default=0.0
        The least value of a loss.
    what : str, default="losses"
        What the warning calls them.
    rows : ndarray of shape (n_rows,), optional
        What the warning calls the rows; None numbers them.
    """
    weight = np.ones(len(loss)) if weight is None else weight
    used = np.flatnonzero(weight > 0)
    z, w = loss[used] - least, weight[used]
    few_values = 2 * len(np.unique(z)) < len(z)
    if len(z) < FEWEST_ROWS or few_values or not np.isfinite(z).all() or z.min() < 0:
        return loss
    order = np.argsort(-z, kind="stable")
    z, w = z[order], w[order]
    carried, share = np.cumsum(w * z), np.cumsum(w) / w.sum()
    far = z[:-1] > GAP * z[1:]
    most = carried[:-1] > SHARE_OF_LOSSES * carried[-1]
    few = (share <= SHARE_OF_ROWS)[:-1]
    few[0] = True
    found = np.flatnonzero(far & most & few & (z[1:] > ROUNDING * z[0]))
    if not len(found):
        return loss
    n = int(found[0]) + 1
    lowered = loss.copy()
    lowered[used] = capped(loss[used] - least, weight[used]) + least
    own = used[order[:n]] if rows is None else rows[used[order[:n]]]
    _warn(np.unique(own), float(carried[n - 1] / carried[-1]), float(lowered[used].max()), what)
    return lowered


def capped(loss: Floats, weight: Floats) -> Floats:
    """Return non-negative losses, the largest lowered until no few of them are the whole tail."""
    order = np.argsort(-loss)
    z, w = loss[order], weight[order]
    # With the cap at z[k], the k losses before it count as z[k].
    heavier = np.cumsum(w) - w
    second, fourth = w * z**2, w * z**4
    below_second, below_fourth = second[::-1].cumsum()[::-1], fourth[::-1].cumsum()[::-1]
    squares = below_second + heavier * z**2
    fourths = below_fourth + heavier * z**4
    # Equal losses cannot be made more equal: of few that are positive, half have to count.
    wanted = min(FEWEST_TAIL_ROWS, 0.5 * np.count_nonzero((z > 0) & (w > 0)))
    enough = squares**2 >= wanted * fourths * w.mean()
    return np.minimum(loss, z[np.argmax(enough)]) if enough.any() else loss


def _warn(rows: NDArray[Any], share: float, limit: float, what: str) -> None:
    named = ", ".join(str(row) for row in rows[:MOST_NAMED])
    more = f" and {len(rows) - MOST_NAMED} more" if len(rows) > MOST_NAMED else ""
    one = len(rows) == 1
    warnings.warn(
        f"row{'' if one else 's'} {named}{more} (counted from 0) {'has' if one else 'have'} "
        f"{share:.0%} of all {what}, each more than {GAP:.0f} times any other: an error in y? So "
        f"that {'it does' if one else 'they do'} not set the risk of all rows, {what} are capped "
        f"at {limit:.3g}.",
        UserWarning,
        stacklevel=2,
    )
