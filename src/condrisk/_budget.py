"""How many rows are many, and how much of a time budget is left."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

# From so many rows on, models are chosen that learn from all of them at little cost: deep trees
# grow with the rows, boosting hardly does, and is the better of the two there.
MANY_ROWS = 30_000
# A tree among many rows is grown on so many of them.
ROWS_PER_TREE = 10_000
# From so many rows on, two folds hold rows out as well as five.
FOLDS_MATTER = 200_000
# An estimate is multiplied by this: a part must end in time, not only on average.
CAUTION = 1.3
# A part is tried on at most so many rows, and on at most a quarter of them.
TRIAL_ROWS = 1000


class Clock:
    """The time left of a budget.

    Parameters
    ----------
    seconds : float or None
        The budget; None is no limit.
    """

    def __init__(self, seconds: float | None) -> None:
        self._until = np.inf if seconds is None else time.perf_counter() + seconds

    @property
    def limited(self) -> bool:
        """Whether there is a limit at all."""
        return bool(np.isfinite(self._until))

    def left(self) -> float:
        """Return the seconds that are left; infinite without a limit."""
        return float(max(self._until - time.perf_counter(), 0.0)) if self.limited else np.inf

    def share(self, share: float) -> float | None:
        """Return a share of what is left as a budget, None where there is no limit."""
        return share * self.left() if self.limited else None

    def allows(self, seconds: float) -> bool:
        """Tell whether a part that is expected to take so many seconds ends in time."""
        return not self.limited or CAUTION * seconds < self.left()


def timed(action: Callable[[], object]) -> float:
    """Return the seconds that a call takes."""
    start = time.perf_counter()
    action()
    return time.perf_counter() - start
