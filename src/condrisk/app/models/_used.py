"""Which rows and columns of a table a model is fitted on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations
from typing import NamedTuple

import polars as pl

from condrisk.app._names import listed, nearest
from condrisk.app.tables import Notation, TableError


class Roles(NamedTuple):
    """The columns that are more than inputs of a model."""

    target: str
    predictions: str | None = None
    cost_column: str | None = None
    time: str | None = None

    @property
    def given(self) -> dict[str, str]:
        """The roles that a column has, with its name."""
        return {role: name for role, name in self._asdict().items() if name is not None}

    @property
    def apart(self) -> list[str]:
        """The columns that are no inputs: predictions may be one besides."""
        return [name for role, name in self.given.items() if role != "predictions"]


def used_rows(
    frame: pl.DataFrame,
    roles: Roles,
    *,
    drop: Sequence[str],
    only: Sequence[str] | None,
    note: Callable[[str], None],
) -> pl.DataFrame:
    """Return the rows that have a target, with the columns to use."""
    if only is not None and drop:
        raise TableError("drop and only exclude each other: give one of them.")
    named = [("drop", name) for name in drop] + [("only", name) for name in only or ()]
    for what, name in [*roles.given.items(), *named]:
        if name not in frame.columns:
            raise TableError(
                f"{what} {name!r} is not a column{nearest(name, frame.columns)}: there are "
                f"{listed(frame.columns)}."
            )
    for (first, a), (second, b) in combinations(roles.given.items(), 2):
        if a == b and {first, second} != {"cost_column", "predictions"}:
            raise TableError(f"{first} and {second} must be two columns.")
    for needed in roles.given.values():
        if needed in drop:
            raise TableError(f"column {needed!r} is needed, and cannot be in drop.")
    if only is not None:
        kept = {*only, *roles.given.values()}
        frame = frame.select([name for name in frame.columns if name in kept])
    return _with_targets(frame.drop(drop), roles.target, note)


def _with_targets(frame: pl.DataFrame, target: str, note: Callable[[str], None]) -> pl.DataFrame:
    values = frame[target]
    known = values.is_not_null()
    if values.dtype.is_float():
        known &= values.is_not_nan().fill_null(False)
    if known.all():
        return frame
    missing = frame.height - int(known.sum())
    note(f"{missing:,} of {frame.height:,} rows are left out: they have no target {target!r}")
    return frame.filter(known)


def as_written(values: pl.Series, notation: Notation | None) -> pl.Series:
    """Return labels of true and false as the file writes them, so that predictions look alike."""
    words = [] if notation is None else notation.words.split("/")
    if values.dtype != pl.Boolean or len(words) != 2 or words == ["false", "true"]:
        return values
    spelled = {word.lower() == "true": word for word in words}
    return values.replace_strict(spelled, return_dtype=pl.String)
