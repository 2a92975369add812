"""What the columns of a CSV file are: judged by all of their cells, batch by batch."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

from condrisk.app.tables._cells import clean_text
from condrisk.app.tables._moments import MOMENT_TYPE, has_offset, moments_of

POINT, COMMA = ".", ","
_EXPONENT = r"([eE][+-]?[0-9]+)?"
_PLAIN_WHOLE = r"^[+-]?(0|[1-9][0-9]{0,17})$"
_WHOLE = r"^[+-]?[0-9]+$"
_LEADING_ZERO = r"^[+-]?0[0-9]"
_SHORT, _LONG = 18, r"^[+-]?[0-9]{19,}$"
_WITH_POINT = rf"^[+-]?([0-9]+\.[0-9]*|\.[0-9]+){_EXPONENT}$"
_WITH_COMMA = rf"^[+-]?[0-9]*,[0-9]+{_EXPONENT}$"
# One number or a thousand times as much: which, only the other cells can tell.
_THOUSANDS = r"^[+-]?[1-9][0-9]{0,2}([.,][0-9]{3})+$"
_GROUPED = r"^[+-]?[0-9]{1,3}([.,][0-9]{3})+([.,][0-9]+)?$"
_UNCLEAR = " (in a file with decimal commas)"


class ColumnFacts:
    """What was seen of the cells of a column of text.

    A column that is text anyhow, and not mostly numbers, is not looked at any further.
    """

    def __init__(self) -> None:
        self.cells = 0  # that are not missing
        self.numbers = self.commas = self.grouped = self.booleans = self.moments = 0
        self.timed = self.zoned = False
        # Of numbers: whether all are whole, any is a code such as 007, or any is too long.
        self.whole, self.zeros, self.long = True, False, False
        # A number with a point, or a comma, and whether one of them cannot mean thousands.
        self.point: str | None = None
        self.comma: str | None = None
        self.clear_point = self.clear_comma = False
        self._settled = False

    def add(self, text: pl.Series) -> None:
        """Look at further cells."""
        cells = text.drop_nulls()
        if self._settled or not len(cells) or self._add_alike(cells):
            return
        values = cells.cast(pl.Float64, strict=False)
        is_number = values.is_not_nan().fill_null(False)
        if is_number.all():
            self._add_numbers(cells)
            return
        self._add_numbers(cells.filter(is_number))
        self._add_others(clean_text(cells.filter(~is_number)).drop_nulls())
        known = self.booleans + self.moments + self.quantities
        self._settled = known < self.cells and not self.mostly_numbers

    def _add_alike(self, cells: pl.Series) -> bool:
        """Look first whether all are what all before were: that is quick, and usual."""
        if self.booleans == self.cells > 0:
            alike = bool(cells.is_in(["true", "false"]).all())
            self.booleans += alike * len(cells)
        elif self.moments == self.cells > 0 and not self.timed:
            days = cells.str.len_bytes().max() == len("2026-11-15")
            alike = days and not moments_of(cells).null_count()
            self.moments += alike * len(cells)
        else:
            return False
        self.cells += alike * len(cells)
        return alike

    @property
    def quantities(self) -> int:
        """How many cells are numbers, however written."""
        return self.numbers + self.commas + self.grouped

    @property
    def mostly_numbers(self) -> bool:
        """Whether at least half of the cells are."""
        return 2 * self.quantities >= self.cells > 0

    def _add_numbers(self, cells: pl.Series) -> None:
        self.cells += len(cells)
        self.numbers += len(cells)
        if not len(cells) or (
            self.whole and not self.zeros and cells.str.contains(_PLAIN_WHOLE).all()
        ):
            return
        if cells.str.len_bytes().max() > _SHORT:  # type: ignore[operator]
            self.long = self.long or bool(cells.str.contains(_LONG).any())
        if self.whole:
            self.zeros = self.zeros or bool(cells.str.contains(_LEADING_ZERO).any())
            self.whole = bool(cells.str.contains(_WHOLE).all())
        if not self.whole and not self.clear_point:
            self._add_points(cells)

    def _add_points(self, cells: pl.Series) -> None:
        pointed = cells.filter(cells.str.contains(_WITH_POINT))
        if len(pointed):
            self.point = self.point or pointed[0]
            self.clear_point = not pointed.str.contains(_THOUSANDS).all()

    def _add_others(self, cells: pl.Series) -> None:
        """Look at cells without spaces around them that are no plain numbers."""
        is_number = cells.cast(pl.Float64, strict=False).is_not_null()
        self._add_numbers(cells.filter(is_number))
        cells = cells.filter(~is_number)
        self.cells += len(cells)
        truths = cells.str.to_lowercase().is_in(["true", "false"])
        self.booleans += int(truths.sum())
        cells = cells.filter(~truths)
        if not len(cells):
            return
        is_moment = moments_of(cells).is_not_null()
        moments, cells = cells.filter(is_moment), cells.filter(~is_moment)
        self.moments += len(moments)
        self.timed = self.timed or bool((moments.str.len_bytes() > len("2026-11-15")).any())
        self.zoned = self.zoned or (self.timed and has_offset(moments))
        if len(cells):
            self._add_commas(cells)

    def _add_commas(self, cells: pl.Series) -> None:
        with_comma = cells.str.contains(_WITH_COMMA)
        grouped = cells.str.contains(_GROUPED) & cells.str.contains(",", literal=True) & ~with_comma
        self.commas += int(with_comma.sum())
        self.grouped += int(grouped.sum())
        found = cells.filter(with_comma)
        if len(found):
            self.clear_comma = self.clear_comma or not found.str.contains(_THOUSANDS).all()
        either = cells.filter(with_comma | grouped)
        if len(either):
            self.comma = self.comma or either[0]

    def dtype(self, decimal: str) -> Any:
        """Return the type that all of the cells have; text where there is none."""
        if not self.cells:
            return pl.String()
        if self.booleans == self.cells:
            return pl.Boolean()
        if self.moments == self.cells:
            return pl.Datetime("us", "UTC" if self.zoned else None) if self.timed else pl.Date()
        written = self.numbers + (self.commas if decimal == COMMA else 0)
        if written < self.cells or (decimal == COMMA and self.point is not None):
            return pl.String()
        if not self.whole or self.commas:
            return pl.Float64()
        if self.zeros:
            return pl.String()  # 007 is a name, as post codes are
        return pl.Float64() if self.long else pl.Int64()

    def unclear(self, decimal: str) -> str | None:
        """Return a cell of a column of numbers that may be one number or another."""
        if self.quantities < self.cells or not self.cells:
            return None
        if decimal == COMMA and self.point is not None:
            return self.point
        return self.comma if self.grouped or decimal == POINT else None


def decimal_sign(facts: Mapping[str, ColumnFacts]) -> str:
    """Return the sign before decimals: a comma if some must be, and no point must."""
    numbers = [column for column in facts.values() if column.mostly_numbers]
    commas = any(column.clear_comma for column in numbers)
    return COMMA if commas and not any(column.clear_point for column in numbers) else POINT


def with_points(text: pl.Series) -> pl.Series:
    """Return numbers with decimal commas as numbers with points.

    What has a point in such a file may be in thousands: a remark makes it no number at all, and
    tells why, in the message about the cell.
    """
    cells = text.str.strip_chars()
    mended = cells.str.replace(",", ".", literal=True)
    found = mended.zip_with(cells.str.contains(_WITH_COMMA), text)
    return (text + _UNCLEAR).zip_with(cells.str.contains(_WITH_POINT), found).alias(text.name)


def typed(text: pl.Series, dtype: Any, decimal: str) -> pl.Series:
    """Return a column of text in the type that all of its cells have."""
    if dtype == pl.String:
        return clean_text(text)
    if dtype.is_numeric():
        text = with_points(text) if decimal == COMMA else text
        values = text.cast(dtype, strict=False)
        if values.null_count() > text.null_count():  # a word for nothing, or spaces
            values = clean_text(text).cast(dtype, strict=False)
        return values
    text = clean_text(text)
    if dtype == pl.Boolean:
        return text.str.to_lowercase() == "true"
    moments = moments_of(text)
    if isinstance(dtype, pl.Datetime) and dtype.time_zone is not None:
        return moments.cast(MOMENT_TYPE).dt.replace_time_zone(dtype.time_zone)
    return moments.cast(dtype)
