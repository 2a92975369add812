"""Which rows of a table a model can use, by its schema."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import polars as pl
from numpy.typing import NDArray

from condrisk.app._errors import TableError
from condrisk.app._names import listed, nearest
from condrisk.app.tables._cells import Cells, canonical
from condrisk.persistence import Schema


@dataclass(frozen=True)
class Checked:
    """The rows of a table that can be used, and what is wrong with the others.

    Attributes
    ----------
    good : polars.DataFrame
        The columns of the schema, in its order, as Float64, String, Boolean, Date or Datetime;
        only rows that can be used.
    rows : ndarray of int
        Their positions in the table.
    bad : dict of int to str
        For every other row, by its position, one sentence that says what is wrong.
    unseen : dict of str to int
        For columns with categories, how many rows held one that was not seen when fitting; these
        were taken as missing.
    """

    good: pl.DataFrame
    rows: NDArray[np.intp]
    bad: dict[int, str] = field(default_factory=dict)
    unseen: dict[str, int] = field(default_factory=dict)


def check_rows(schema: Schema, frame: pl.DataFrame) -> Checked:
    """Tell good rows from bad ones, and give the good ones the types of their kinds.

    Parameters
    ----------
    schema : Schema
        The columns that a model reads.
    frame : polars.DataFrame
        Any rows; columns that the model does not read are ignored.

    Returns
    -------
    Checked
        The good rows, and a reason for each bad one.

    Raises
    ------
    TableError
        Where the table cannot be used at all: a column is missing.

    Examples
    --------
    >>> import polars as pl
    >>> from condrisk.app.tables import check_rows, table_schema
    >>> frame = pl.DataFrame({"age": [31, 45, None], "city": ["Bern", "Basel", "Bern"]})
    >>> rows = pl.DataFrame({"city": ["Basel", "Bern"], "age": ["50", "old"]})
    >>> checked = check_rows(table_schema(frame), rows)
    >>> checked.rows
    array([0])
    >>> checked.bad
    {1: "column 'age' holds 'old', but it must be a number."}
    """
    absent = [name for name in schema.names if name not in frame.columns]
    if absent:
        raise TableError(
            f"the table has no column {listed(absent)}, which the model needs"
            f"{nearest(absent[0], frame.columns)}; it has {listed(frame.columns)}."
        )
    cells = [canonical(frame[column.name], column) for column in schema.needed]
    good = pl.DataFrame([part.values for part in cells])
    unseen = {part.values.name: part.unseen for part in cells if part.unseen}
    bad = _reasons(cells)
    if not bad:
        return Checked(good, np.arange(frame.height), {}, unseen)
    keep = np.ones(frame.height, dtype=bool)
    keep[list(bad)] = False
    return Checked(good.filter(pl.Series(keep)), np.flatnonzero(keep), bad, unseen)


def _reasons(cells: Sequence[Cells]) -> dict[int, str]:
    """Return what is wrong with each bad row, where several things are: the first of them."""
    found: dict[int, str] = {}
    for part in reversed(cells):
        found |= part.bad
    return dict(sorted(found.items()))
