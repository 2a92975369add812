"""What a model expects of a table: its columns, and which rows can be used."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, Self

import numpy as np
import polars as pl
from numpy.typing import NDArray

from condrisk.app._errors import SchemaError
from condrisk.app.tables._cells import Cells, canonical
from condrisk.app.tables._columns import describe, left_out

Kind = Literal["number", "category", "boolean", "date"]
KINDS: tuple[Kind, ...] = ("number", "category", "boolean", "date")


@dataclass(frozen=True)
class Column:
    """One column that a model reads.

    Attributes
    ----------
    name : str
        Its name.
    kind : {"number", "category", "boolean", "date"}
        What stands in it.
    categories : tuple of str
        The values seen, for categories; any other is taken as missing.
    low, high : float or None
        The range seen, for numbers, and for dates in days since 1970-01-01.
    missing : float
        The share of rows in which it was missing.
    required : bool
        Whether a row without it, or with an unknown category in it, is bad.
    """

    name: str
    kind: Kind
    categories: tuple[str, ...] = ()
    low: float | None = None
    high: float | None = None
    missing: float = 0.0
    required: bool = False

    @classmethod
    def infer(cls, values: pl.Series) -> Self:
        """Find out what stands in a column.

        Parameters
        ----------
        values : polars.Series
            A column of rows to fit on, with at least one value.

        Returns
        -------
        Column
            Not required.
        """
        return cls(**describe(values))


@dataclass(frozen=True)
class Checked:
    """The rows of a table that can be used, and what is wrong with the others.

    Attributes
    ----------
    good : polars.DataFrame
        The columns of the schema, in its order, as Float64, String, Boolean or Date; only rows
        that can be used.
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


@dataclass(frozen=True)
class Schema:
    """The columns that a model reads.

    Attributes
    ----------
    columns : tuple of Column
        In the order in which the model takes them.

    Examples
    --------
    >>> import polars as pl
    >>> from condrisk.app.tables import Schema
    >>> frame = pl.DataFrame({"age": [31, 45, None], "city": ["Bern", "Basel", "Bern"]})
    >>> schema = Schema.infer(frame)
    >>> [(column.name, column.kind) for column in schema.columns]
    [('age', 'number'), ('city', 'category')]
    >>> checked = schema.check(pl.DataFrame({"city": ["Basel", "Bern"], "age": ["50", "old"]}))
    >>> checked.rows
    array([0])
    >>> checked.bad
    {1: "column 'age' holds 'old', but it must be a number."}
    """

    columns: tuple[Column, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(column.name for column in self.columns)

    @classmethod
    def infer(cls, frame: pl.DataFrame, *, exclude: Sequence[str] = ()) -> Self:
        """Find out what the columns of a table are.

        Parameters
        ----------
        frame : polars.DataFrame
            Rows to fit on.
        exclude : sequence of str
            Columns that are not for the model, such as the target.

        Returns
        -------
        Schema
            Without columns that no model can learn from, which `left_out` names.
        """
        useless = left_out(frame, exclude=exclude)
        names = [name for name in frame.columns if name not in exclude and name not in useless]
        return cls(tuple(Column.infer(frame[name]) for name in names))

    def to_dict(self) -> list[dict[str, Any]]:
        """Return the columns as plain data, as a manifest holds them."""
        return [asdict(column) | {"categories": list(column.categories)} for column in self.columns]

    @classmethod
    def from_dict(cls, columns: Iterable[Mapping[str, Any]]) -> Self:
        """Make a schema of what `to_dict` gave; anything else is a `SchemaError`."""
        return cls(tuple(_column(column) for column in columns))

    def check(self, frame: pl.DataFrame) -> Checked:
        """Tell good rows from bad ones, and give the good ones the types that the model needs.

        Parameters
        ----------
        frame : polars.DataFrame
            Any rows; columns that the model does not read are ignored.

        Returns
        -------
        Checked
            The good rows, and a reason for each bad one.

        Raises
        ------
        SchemaError
            Where the table cannot be used at all: a column is missing.
        """
        absent = [name for name in self.names if name not in frame.columns]
        if absent:
            raise SchemaError(
                f"the table has no column {_listed(absent)}, which the model needs; "
                f"it has {_listed(frame.columns)}."
            )
        cells = [canonical(frame[column.name], column) for column in self.columns]
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


def _listed(names: Sequence[str], most: int = 12) -> str:
    shown = ", ".join(repr(name) for name in names[:most])
    return f"{shown} and {len(names) - most} more" if len(names) > most else shown


def _column(data: Mapping[str, Any]) -> Column:
    try:
        column = Column(**{**data, "categories": tuple(data["categories"])})
    except (TypeError, KeyError):
        raise SchemaError(f"{data!r} does not describe a column.") from None
    numbers = [n for n in (column.low, column.high) if n is not None]
    fits = (
        isinstance(column.name, str)
        and column.kind in KINDS
        and all(isinstance(text, str) for text in column.categories)
        and len(set(column.categories)) == len(column.categories)
        and all(isinstance(n, int | float) and np.isfinite(n) for n in [*numbers, column.missing])
        and isinstance(column.required, bool)
    )
    if not fits:
        raise SchemaError(f"{data!r} does not describe a column.")
    return column
