"""The columns that a model reads, and in which form rows reach it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal, Self

import numpy as np

Kind = Literal["number", "category", "boolean", "date", "datetime", "text"]
KINDS: tuple[Kind, ...] = ("number", "category", "boolean", "date", "datetime", "text")
Container = Literal["codes", "numpy", "pandas", "polars"]
CONTAINERS: tuple[Container, ...] = ("codes", "numpy", "pandas", "polars")


# Of all columns together; a file of more would be one of invented categories.
MOST_CATEGORIES = 100_000
_MOST_TEXT = 10_000
# The first and the last day of Python's dates, in days since 1970-01-01.
_FIRST_DAY, _LAST_DAY = -719_162, 2_932_897
# Texts of so many letters would be made of every value.
_LONG_DTYPE = re.compile(r"[0-9]{4}")


@dataclass(frozen=True)
class Column:
    """One column that a model reads.

    Attributes
    ----------
    name : str
        Its name.
    kind : {"number", "category", "boolean", "date", "datetime", "text"}
        What stands in it. A category is one of `categories`; text is anything.
    categories : tuple of str
        The values of a category, in order; any other is missing. For text, the values seen where
        they were few.
    low, high : float or None
        The range seen, for numbers, and for dates and moments in days since 1970-01-01.
    missing : float
        The share of rows in which it was missing.
    required : bool
        Whether a row without it, or with an unknown category in it, cannot be used.
    dtype : str
        The type that the model was fitted with, such as "int64" or "category[int64]".
    ordered : bool
        Whether the categories of a pandas column have an order.
    typical : float, str, bool or None
        A value that stands for all: the median, or the commonest. Dates are in ISO 8601.
    unit : str
        Of numbers in text: "%" where 12% is 0.12, or a currency, such as "$".
    written : str
        Of numbers in text: the decimal sign and the sign between thousands, such as ",." for
        1.234,5; "" for plain numbers. Of dates in text: the format, as "%d.%m.%Y"; "" for ISO 8601.
    """

    name: str
    kind: Kind
    categories: tuple[str, ...] = ()
    low: float | None = None
    high: float | None = None
    missing: float = 0.0
    required: bool = False
    dtype: str = "float64"
    ordered: bool = False
    typical: float | str | bool | None = None
    unit: str = ""
    written: str = ""


@dataclass(frozen=True)
class Schema:
    """The columns that a model reads, and the container in which it takes them.

    Attributes
    ----------
    columns : tuple of Column
        In the order in which the model takes them.
    container : {"codes", "numpy", "pandas", "polars"}
        What the model was fitted on: a numpy array, or a frame with the types of its columns.
        "codes" is a matrix of float64 in which a category is its position, a date its day, and
        NaN what is missing.
    prediction : Column or None
        For an external predictor: the column that holds its predictions.
    n_rows : int or None
        How many rows the ranges and categories were seen in.

    Examples
    --------
    >>> import pandas as pd
    >>> from condrisk.persistence import Schema
    >>> frame = pd.DataFrame({"age": [31, 45], "city": pd.Categorical(["Bern", "Basel"])})
    >>> schema = Schema.infer(frame)
    >>> [(column.name, column.kind, column.dtype) for column in schema.columns]
    [('age', 'number', 'int64'), ('city', 'category', 'category[str]')]
    >>> schema.container
    'pandas'
    """

    columns: tuple[Column, ...]
    container: Container = "codes"
    prediction: Column | None = None
    n_rows: int | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all columns that rows need, that of the predictions among them."""
        names = tuple(column.name for column in self.columns)
        extra = self.prediction
        return names if extra is None or extra.name in names else (*names, extra.name)

    @property
    def needed(self) -> tuple[Column, ...]:
        """All columns that rows need, that of the predictions last if the model has it not."""
        known = {column.name: column for column in self.columns}
        if self.prediction is not None:
            known[self.prediction.name] = self.prediction
        return tuple(known[name] for name in self.names)

    @property
    def example(self) -> dict[str, Any]:
        """A row of typical values, which need not be any row of the training rows."""
        return {column.name: column.typical for column in self.needed}

    @classmethod
    def infer(
        cls, X: Any, *, names: Sequence[str] | None = None, prediction: str | None = None
    ) -> Self:
        """Find out what the columns of training rows are.

        Parameters
        ----------
        X : pandas.DataFrame, polars.DataFrame or array-like of shape (n_rows, n_columns)
            The rows that a model was fitted on, or rows of the same types.
        names : sequence of str, optional
            The names of the columns of an array; x0, x1, … if not given.
        prediction : str, optional
            For an external predictor: a column of `X` that holds its predictions. The model does
            not read it as an input.

        Returns
        -------
        Schema
            With all columns, none of them required.
        """
        from condrisk.persistence._infer import describe_columns

        container, columns = describe_columns(X, names)
        if prediction is None:
            return cls(columns, container, n_rows=len(X))
        found = [column for column in columns if column.name == prediction]
        if not found:
            known = [column.name for column in columns]
            raise ValueError(
                f"prediction must be a column of X, one of {known}; got {prediction!r}."
            )
        inputs = tuple(column for column in columns if column.name != prediction)
        return cls(inputs, container, found[0], len(X))

    def rows(self, columns: Mapping[str, Any]) -> Any:
        """Return rows as the model takes them.

        Parameters
        ----------
        columns : mapping of str to ndarray of shape (n_rows,)
            By name: floats with NaN for numbers and booleans, positions with -1 for categories,
            ``datetime64`` with NaT for dates and moments, objects with None for text.

        Returns
        -------
        ndarray, pandas.DataFrame or polars.DataFrame
            By `container`.
        """
        from condrisk.persistence._rows import build_rows

        return build_rows(self, columns)

    def to_dict(self) -> dict[str, Any]:
        """Return the schema as plain data, as a manifest holds it."""
        return {
            "container": self.container,
            "columns": [_plain(column) for column in self.columns],
            "prediction": None if self.prediction is None else _plain(self.prediction),
            "n_rows": self.n_rows,
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Make a schema of what `to_dict` gave; anything else is a `ValueError`."""
        try:
            columns, container = data["columns"], data["container"]
            prediction, n_rows = data["prediction"], data["n_rows"]
        except (TypeError, KeyError):
            raise ValueError("a schema has columns, a container and a prediction.") from None
        if container not in CONTAINERS or not isinstance(columns, list) or not columns:
            raise ValueError(f"{str(container)[:40]!r} is no container of columns.")
        if n_rows is not None and not (type(n_rows) is int and 0 <= n_rows < 2**63):
            raise ValueError("n_rows of a schema must be a whole number, or null.")
        made = _columns(columns)
        return cls(made, container, None if prediction is None else _column(prediction), n_rows)


def _plain(column: Column) -> dict[str, Any]:
    return asdict(column) | {"categories": list(column.categories)}


def _columns(columns: Iterable[Any]) -> tuple[Column, ...]:
    made = tuple(_column(column) for column in columns)
    names = [column.name for column in made]
    if len(set(names)) < len(names):
        raise ValueError("a schema has a column twice.")
    if sum(len(column.categories) for column in made) > MOST_CATEGORIES:
        raise ValueError(f"a schema has more than {MOST_CATEGORIES:,} categories.")
    return made


def _column(data: Any) -> Column:
    try:
        column = Column(**{**data, "categories": tuple(data["categories"])})
    except (TypeError, KeyError):
        raise ValueError(f"{str(data)[:80]} does not describe a column.") from None
    fits = (
        _is_text(column.name)
        and column.kind in KINDS
        and all(map(_is_text, column.categories))
        and len(set(column.categories)) == len(column.categories)
        and _is_range(column)
        and isinstance(column.required, bool)
        and isinstance(column.ordered, bool)
        and all(map(_is_text, (column.unit, column.written)))
        and _is_text(column.dtype)
        and column.dtype.isprintable()
        and not _LONG_DTYPE.search(column.dtype)
        and (_is_text(column.typical) or isinstance(column.typical, int | float | None))
    )
    if not fits:
        raise ValueError(f"{str(data)[:80]} does not describe a column.")
    return column


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and len(value) <= _MOST_TEXT


def _is_range(column: Column) -> bool:
    """Tell whether a column's figures are numbers that fit together, days where it has dates."""
    numbers = [n for n in (column.low, column.high) if n is not None]
    if not all(isinstance(n, int | float) and np.isfinite(n) for n in [*numbers, column.missing]):
        return False
    days = column.kind not in ("date", "datetime") or all(
        _FIRST_DAY <= day <= _LAST_DAY for day in numbers
    )
    return days and numbers == sorted(numbers) and 0 <= column.missing <= 1
