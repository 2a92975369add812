"""What a predictor fitted on all rows is expected to lose, from the losses of two cross-fittings.

A cross-fitted predictor has seen fewer rows than the one that is kept, so its held-out losses are
too high for that one: with five folds on 200 rows by a fifth, for a forest or boosting. A second
cross-fitting with other folds gives a second point of the learning curve, and two curves through
both points are followed to the size of all rows: a line in one over the number of rows, which is
right where noise sets the pace, and a power of that number, which is right where there is none.
Of the two the one that changes less is taken.
"""

from __future__ import annotations

import numpy as np

# Half of the rows to fit on are the cheapest second point; where two folds are the first, quarters.
FEW_FOLDS, OTHERWISE = 2, 4
# On more rows than this the two differ by little, and another fit takes long.
MOST_ROWS = 20_000
# Fewer rows than this tell nothing but noise.
FEWEST_ROWS = 40
LEAST_FACTOR = 0.5


def second_folds(n_folds: int) -> int:
    """Return the number of folds of the second cross-fitting."""
    return FEW_FOLDS if n_folds > FEW_FOLDS else OTHERWISE


def refit_factor(first: float, second: float, n_folds: int) -> float:
    """Return the mean loss expected of a predictor fitted on all rows, as a share of `first`.

    Parameters
    ----------
    first, second : float
        The mean held-out losses of cross-fittings with `n_folds` and with ``second_folds(n_folds)``
        folds.
    n_folds : int
        The number of folds of the first.

    Returns
    -------
    float
        Between 0.5 and 1; 1 where more rows did not help.
    """
    share, other = 1 - 1 / n_folds, 1 - 1 / second_folds(n_folds)
    if first <= 0 or second <= 0 or (second - first) * (share - other) <= 0:
        return 1.0
    line = 1 - (second / first - 1) * (1 / share - 1) / (1 / other - 1 / share)
    power = (second / first) ** (-np.log(1 / share) / np.log(share / other))
    return float(np.clip(max(line, power), LEAST_FACTOR, 1.0))
