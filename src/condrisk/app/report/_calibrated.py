"""Which segments the risk is off in, and what each group with a guarantee keeps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.stats import norm

from condrisk._groups import groups_of_bins, masks
from condrisk._validation import Vector
from condrisk.app.report._segments import MIN_ROWS, as_numbers, is_number, is_text
from condrisk.metrics import segment_calibration

# The chance that any segment is listed where the risk is right in all of them.
LEVEL = 0.05
# Numbers with more values than this are taken in thirds.
MOST_VALUES, N_BINS = 10, 3
# Columns with more values than this are no segments.
MOST_CATEGORIES = 30
MAX_LISTED = 8
# So many columns at most are looked at.
MAX_COLUMNS = 200


@dataclass(frozen=True)
class OffSegment:
    """A segment in which risk and loss differ by more than chance."""

    name: str
    rows: int
    mean_risk: float
    mean_loss: float
    sigma: float


@dataclass(frozen=True)
class GuardedGroup:
    """A group with a guarantee, and what the rows of the report show of it."""

    name: str
    rows: int
    accepted: int
    loss: float | None


def off_segments(frame: pl.DataFrame, loss: Vector, risk: Vector) -> tuple[OffSegment, ...]:
    """Return the segments in which the risk is off by more than chance, the worst first.

    Segments are the values of each column, of numbers with many values thirds of the rows. The
    level is divided by the number of segments; the error of a right risk is the range of a
    Brownian motion, which exceeds r with probability 8 (Φ(−r) − 2Φ(−2r) + …).

    Parameters
    ----------
    frame : polars.DataFrame
        The columns.
    loss, risk : ndarray of shape (n_rows,)
        Realised loss and estimated risk.

    Examples
    --------
    >>> import numpy as np
    >>> import polars as pl
    >>> from condrisk.app.report._calibrated import off_segments
    >>> rng = np.random.default_rng(0)
    >>> frame = pl.DataFrame({"city": ["Oslo", "Rome"] * 500})
    >>> risk = rng.uniform(size=1000)
    >>> loss = risk + 0.3 * (frame["city"] == "Rome").to_numpy() + rng.normal(0, 0.1, 1000)
    >>> off_segments(frame, loss, risk)[0].name
    'city = Rome'
    """
    if frame.height < MIN_ROWS:
        return ()
    columns = {name: _values(frame[name]) for name in frame.columns[:MAX_COLUMNS]}
    used = {name: values for name, values in columns.items() if values is not None}
    if not used:
        return ()
    table = _Columns(used, frame.height)
    groups = groups_of_bins(
        table, list(used), n_bins=N_BINS, most_values=MOST_VALUES, what="segments"
    )
    flags = masks(groups, table, what="segments")
    segments = {group.name: own for group, own in zip(groups, flags, strict=True)}
    found = segment_calibration(loss, risk, segments)
    level = LEVEL / len(found.name)
    lines = zip(
        found.name, found.n_rows, found.mean_risk, found.mean_loss, found.sigma, strict=True
    )
    listed = [
        OffSegment(name, int(n), float(own_risk), float(own_loss), float(sigma))
        for name, n, own_risk, own_loss, sigma in lines
        if chance_of_range(float(sigma)) <= level and n >= MIN_ROWS / 5
    ]
    return tuple(listed[:MAX_LISTED])


def chance_of_range(r: float) -> float:
    """Return the chance that the range of a Brownian motion on [0, 1] exceeds r."""
    if r < 1:
        return 1.0
    k = np.arange(1, 20)
    return float(min(8 * np.sum((-1.0) ** (k - 1) * k * norm.sf(k * r)), 1.0))


class _Columns:
    """Columns by name, as groups of rows are told by."""

    def __init__(self, values: dict[str, NDArray[Any]], height: int) -> None:
        self._values, self.columns, self.shape = values, list(values), (height, len(values))

    def __getitem__(self, name: str) -> NDArray[Any]:
        return self._values[name]


def _values(column: pl.Series) -> NDArray[Any] | None:
    """Return the values of a column; None where it has too many to be segments."""
    if is_text(column):
        text = column.cast(pl.String)
        return text.to_numpy() if text.n_unique() <= MOST_CATEGORIES else None
    if column.dtype.is_temporal() or not is_number(column):
        return None
    return as_numbers(column)


def guarded_groups(
    model: Any, X: Any, loss: Vector, deferred: NDArray[np.bool_] | None
) -> tuple[GuardedGroup, ...]:
    """Return what each group of a rule with groups accepts, and loses where accepted."""
    rule = getattr(model, "rule_", None)
    groups = getattr(rule, "groups_", None)
    if rule is None or not groups or deferred is None:
        return ()
    found = []
    names = rule.group_names_
    for name, own in zip(names, masks(groups, X, what="subgroups"), strict=True):
        accepted = own & ~deferred
        mean = float(loss[accepted].mean()) if accepted.any() else None
        found.append(GuardedGroup(name, int(own.sum()), int(accepted.sum()), mean))
    return tuple(found)
