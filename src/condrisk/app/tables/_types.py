"""What the columns of text are: judged by all of their cells, batch by batch."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import polars as pl

from condrisk.app.tables._cells import clean_text
from condrisk.app.tables._moments import MOMENT_TYPE, has_offset, moments_of
from condrisk.app.tables._notation import (
    COMMA,
    DECIMAL,
    EITHER,
    GROUPED,
    PERCENT,
    POINT,
    SPACE,
    Notation,
    date_formats,
    has_clock,
    is_spaced,
    number_parts,
    plain_text,
    read_dates,
)

_PLAIN_WHOLE = r"^[+-]?(0|[1-9][0-9]{0,17})$"
_WHOLE = r"^[+-]?[0-9]+$"
_LEADING_ZERO = r"^[+-]?0[0-9]"
_SHORT, _LONG = 18, r"^[+-]?[0-9]{19,}$"
_SIGN = r"^[+-]"


class ColumnFacts:
    """What was seen of the cells of a column of text.

    A column that is text anyhow, and not mostly numbers, is not looked at any further.

    Parameters
    ----------
    formats : sequence of str
        Formats of dates that the user has named.
    """

    def __init__(self, formats: Sequence[str] = ()) -> None:
        self.cells = 0  # that are not missing
        # Plain numbers, numbers in another notation, and others.
        self.numbers = self.written = self.booleans = self.moments = self.dated = 0
        self.timed = self.zoned = False
        self.words: set[str] = set()
        # Of plain numbers: whether all are whole, any is a code such as 007, or any is too long.
        self.whole, self.zeros, self.long = True, False, False
        # Signs that some number shows clearly, and numbers that do not show theirs.
        self.decimals: dict[str, str] = {}
        self.thousands: set[str] = set()
        self.either: dict[str, str] = {}
        self.units: Counter[str] = Counter()
        self.bare = 0  # plain numbers that are not 0
        self.example = ""  # of the notation
        self.other = ""  # a cell that is no number, truth or moment
        self.formats: list[str] | None = None
        self.first_date = ""
        self._named = list(formats)
        self._settled = False

    def add(self, text: pl.Series) -> None:
        """Look at further cells."""
        cells = text.drop_nulls()
        if self._settled or not len(cells):
            return
        if self._named:
            self._add_named(cells)
        if self._add_alike(cells):
            return
        values = cells.cast(pl.Float64, strict=False)
        is_number = values.is_not_nan().fill_null(False)
        if is_number.all():
            self._add_numbers(cells)
            return
        self._add_numbers(cells.filter(is_number))
        self._add_others(clean_text(cells.filter(~is_number)).drop_nulls())
        known = self.booleans + self.moments + self.dated + self.quantities
        self._settled = known < self.cells and not self.mostly_numbers and not self._named

    def _add_named(self, cells: pl.Series) -> None:
        """Keep those of the user's formats that all cells are in."""
        cells = clean_text(cells).drop_nulls()
        self._named = [form for form in self._named if not read_dates(cells, form).null_count()]

    def _add_alike(self, cells: pl.Series) -> bool:
        """Look first whether all are what all before were: that is quick, and usual."""
        if self.booleans == self.cells > 0:
            alike = bool(cells.is_in(sorted(self.words)).all())
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
        return self.numbers + self.written

    @property
    def mostly_numbers(self) -> bool:
        """Whether at least half of the cells are."""
        return 2 * self.quantities >= self.cells > 0

    @property
    def named_format(self) -> str | None:
        """A format of the user's in which all cells are."""
        return self._named[0] if self._named and self.cells else None

    # -- plain numbers ----------------------------------------------------------------------------

    def _add_numbers(self, cells: pl.Series) -> None:
        self.cells += len(cells)
        self.numbers += len(cells)
        self.bare += int((cells.cast(pl.Float64, strict=False) != 0).sum())
        if not len(cells) or (
            self.whole and not self.zeros and cells.str.contains(_PLAIN_WHOLE).all()
        ):
            return
        if cells.str.len_bytes().max() > _SHORT:  # type: ignore[operator]
            self.long = self.long or bool(cells.str.contains(_LONG).any())
        if self.whole:
            self.zeros = self.zeros or bool(cells.str.contains(_LEADING_ZERO).any())
            self.whole = bool(cells.str.contains(_WHOLE).all())
        if not self.whole and POINT not in self.decimals:
            pointed = cells.filter(cells.str.contains(POINT, literal=True))
            self._add_signs(pointed.str.replace(_SIGN, ""))

    def _add_signs(self, digits: pl.Series) -> None:
        """Keep an example of each sign that digits show, and of each that they leave open."""
        for decimal, thousands in ((POINT, COMMA), (COMMA, POINT)):
            either = digits.str.contains(EITHER[decimal])
            other = digits.str.contains(thousands, literal=True)
            grouped = digits.str.contains(GROUPED[thousands])
            groups = grouped & ~digits.str.contains(EITHER[thousands])
            own = digits.str.contains(GROUPED[decimal])
            clear = digits.str.contains(decimal, literal=True) & ~other & ~either & ~own
            for found, kept in ((groups | clear, self.decimals), (either, self.either)):
                if found.any():
                    kept.setdefault(decimal, digits.filter(found)[0])
            if groups.any():
                self.thousands.add(thousands)

    # -- others -----------------------------------------------------------------------------------

    def _add_others(self, cells: pl.Series) -> None:
        """Look at cells without spaces around them that are no plain numbers."""
        is_number = cells.cast(pl.Float64, strict=False).is_not_null()
        self._add_numbers(cells.filter(is_number))
        cells = cells.filter(~is_number)
        self.cells += len(cells)
        truths = cells.str.to_lowercase().is_in(["true", "false"])
        if truths.any():
            self.booleans += int(truths.sum())
            self.words.update(cells.filter(truths).unique().to_list())
            cells = cells.filter(~truths)
        if not len(cells):
            return
        is_moment = moments_of(cells).is_not_null()
        moments, cells = cells.filter(is_moment), cells.filter(~is_moment)
        self.moments += len(moments)
        self.timed = self.timed or bool((moments.str.len_bytes() > len("2026-11-15")).any())
        self.zoned = self.zoned or (self.timed and has_offset(moments))
        if len(cells):
            others = self._add_written(cells)
            self.other = self.other or (others[0] if len(others) else "")
            self._add_dates(others)

    def _add_written(self, cells: pl.Series) -> pl.Series:
        """Look at numbers in other notations, and return the cells that are none."""
        _, digits, unit = number_parts(cells)
        valid = digits.is_not_null() & (
            digits.cast(pl.Float64, strict=False).is_not_null()
            | digits.str.contains(GROUPED[COMMA])
            | digits.str.contains(GROUPED[POINT])
            | digits.str.contains(DECIMAL[COMMA])
        ).fill_null(False)
        if valid.any():
            found = cells.filter(valid)
            self.written += len(found)
            self.example = self.example or found[0]
            self.units.update(unit.filter(valid).drop_nulls().to_list())
            if is_spaced(found):
                self.thousands.add(SPACE)
            self._add_signs(digits.filter(valid))
        return cells.filter(~valid)

    def _add_dates(self, cells: pl.Series) -> None:
        if not len(cells) or self.formats == []:
            return
        self.first_date = self.first_date or cells[0]
        formats = date_formats(self.first_date) if self.formats is None else self.formats
        self.formats = [form for form in formats if not read_dates(cells, form).null_count()]
        self.dated += len(cells) if self.formats else 0

    # -- what it comes to -------------------------------------------------------------------------

    def unit(self) -> str | None:
        """Return the unit of the numbers; None if there are several."""
        known = [unit for unit in self.units if unit]
        return known[0] if len(known) == 1 else None if known else ""

    def dtype(self, notation: Notation) -> Any:
        """Return the type that all of the cells have; text where there is none."""
        if not self.cells:
            return pl.String()
        if notation.dates and (self.named_format or self.dated == self.cells):
            return pl.Datetime("us") if has_clock(notation.dates) else pl.Date()
        if self.booleans == self.cells:
            return pl.Boolean()
        if self.moments == self.cells:
            return pl.Datetime("us", "UTC" if self.zoned else None) if self.timed else pl.Date()
        if not self._fits(notation):
            return pl.String()
        if not self.whole or self.written:
            return pl.Float64()
        if self.zeros:
            return pl.String()  # 007 is a name, as post codes are
        return pl.Float64() if self.long else pl.Int64()

    def _fits(self, notation: Notation) -> bool:
        """Tell whether all cells are numbers in a notation."""
        if self.quantities < self.cells or self.unit() is None or self.misfit(notation):
            return False
        return not (self.unit() == PERCENT and self.bare)

    def misfit(self, notation: Notation) -> str | None:
        """Return a number that a notation does not read, or not for sure."""
        other = POINT if notation.decimal == COMMA else COMMA
        clear = self.decimals.get(other)
        return clear if clear or other in notation.thousands else self.either.get(other)


def typed(text: pl.Series, dtype: Any, notation: Notation) -> pl.Series:
    """Return a column of text in the type that all of its cells have."""
    if dtype == pl.String:
        return clean_text(text)
    text = plain_text(text, notation)
    if dtype.is_numeric():
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
