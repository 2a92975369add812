"""Which columns move the risk: shuffle one among the rows, and see how far the risk goes."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from scipy.stats import spearmanr

from condrisk._validation import Vector
from condrisk.app._numbers import Amounts
from condrisk.app.report._segments import as_numbers, is_number, is_text
from condrisk.app.report._words import isolated, plain

MAX_ROWS = 4_000
MAX_REPEATS = 5
# Seconds that the search may take, and the rank correlation from which a direction is named.
TIME_LIMIT = 20.0
MIN_RANK_CORRELATION = 0.3
# A category is named as the highest or lowest from this many rows on.
MIN_CATEGORY = 10

RiskOf = Callable[[pl.DataFrame], Vector]
Progress = Callable[[str], None]


@dataclass(frozen=True)
class Driver:
    """A column, how far the risk moves when it is shuffled, and which way the risk goes with it.

    `change` is the mean absolute change of the risk, in units of the loss; `share` is it divided
    by the sum over all columns; `direction` is HTML, empty where there is no clear one.
    """

    column: str
    change: float
    share: float
    direction: str


def find_drivers(
    frame: pl.DataFrame,
    risk: Vector,
    risk_of: RiskOf,
    *,
    columns: Sequence[str] | None = None,
    random_state: int = 0,
    time_limit: float = TIME_LIMIT,
    progress: Progress | None = None,
    amounts: Amounts | None = None,
) -> tuple[tuple[Driver, ...], int]:
    """Return the columns by how much the risk depends on them, and how many were looked at.

    Parameters
    ----------
    frame : polars.DataFrame
        The rows as the model takes them.
    risk : ndarray of shape (n_rows,)
        Their risk.
    risk_of : callable
        Gives the risk of such rows.
    columns : sequence of str or None, default=None
        The columns to look at; None: all.
    random_state : int, default=0
        Seed of the shuffles.
    time_limit : float, default=20.0
        Seconds after which no further column or repetition is begun.
    progress : callable or None, default=None
        Gets a sentence about each step.
    amounts : Amounts or None, default=None
        How amounts of the loss are written.

    Returns
    -------
    tuple of (tuple of Driver, int)
        Those that move the risk at all, the first the most.

    Examples
    --------
    >>> import numpy as np
    >>> import polars as pl
    >>> from condrisk.app.report._drivers import find_drivers
    >>> frame = pl.DataFrame({"a": np.arange(50.0), "b": np.ones(50)})
    >>> drivers, looked_at = find_drivers(frame, np.arange(50.0), lambda f: f["a"].to_numpy())
    >>> [(driver.column, driver.direction) for driver in drivers], looked_at
    ([('a', 'rises with it')], 2)
    """
    rng = np.random.default_rng(random_state)
    names = list(frame.columns if columns is None else columns)
    rows = np.sort(rng.permutation(frame.height)[:MAX_ROWS])
    sample, before = frame[rows], risk[rows]
    totals = dict.fromkeys(names, 0.0)
    done = dict.fromkeys(names, 0)
    end = time.monotonic() + time_limit
    for _ in range(MAX_REPEATS):
        for name in names:
            if time.monotonic() > end:
                break
            if progress is not None:
                progress(f"shuffling {plain(name)}")
            shuffled = sample.with_columns(sample[name].gather(rng.permutation(sample.height)))
            totals[name] += float(np.abs(risk_of(shuffled) - before).mean())
            done[name] += 1
    change = {name: totals[name] / done[name] for name in names if done[name]}
    whole = sum(change.values())
    moving = sorted((name for name in change if change[name] > 0), key=lambda name: -change[name])
    drivers = tuple(
        Driver(
            name,
            change[name],
            change[name] / whole,
            _direction(frame[name], risk, amounts or Amounts("loss")),
        )
        for name in moving
    )
    return drivers, len(change)


def _direction(column: pl.Series, risk: Vector, amounts: Amounts) -> str:
    if is_text(column):
        return _by_category(column, risk, amounts)
    if not is_number(column):
        return ""
    values = as_numbers(column)
    known = ~np.isnan(values)
    if known.sum() < 3 or np.ptp(values[known]) == 0 or np.ptp(risk[known]) == 0:
        return ""
    together = float(spearmanr(values[known], risk[known]).statistic)
    if abs(together) < MIN_RANK_CORRELATION:
        return "varies"
    return "rises with it" if together > 0 else "falls with it"


def _by_category(column: pl.Series, risk: Vector, amounts: Amounts) -> str:
    table = (
        pl.DataFrame({"value": column.cast(pl.String), "risk": risk})
        .drop_nulls()
        .group_by("value")
        .agg(pl.len().alias("n"), pl.col("risk").mean())
        .filter(pl.col("n") >= MIN_CATEGORY)
        .sort("risk", "value")
    )
    if table.height < 2:
        return ""
    (low, _, low_risk), (high, _, high_risk) = table.row(0), table.row(-1)
    return (
        f"highest for {isolated(high)} ({amounts.text(high_risk)}), "
        f"lowest for {isolated(low)} ({amounts.text(low_risk)})"
    )
