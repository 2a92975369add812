"""How people write numbers and dates: signs, units and orders, made plain text that all agree on.

A plain number is what `float` reads, a plain day or moment is in ISO 8601. What cannot be made
plain stays as it is, for a message that shows it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

import polars as pl

from condrisk.app._errors import TableError

if TYPE_CHECKING:
    from condrisk.persistence import Column

POINT, COMMA, SPACE, PERCENT = ".", ",", " ", "%"
_CURRENCY = r"[$€£¥₹₩₽₺]|USD|EUR|GBP|CHF|JPY|CNY|CAD|AUD|INR|SEK|NOK|DKK|PLN|BRL"
_SPACES = "[ \u00a0\u202f'’]"
_EXPONENT = r"(?:[eE][+-]?[0-9]+)?"
# A sign, a currency, a sign, digits with signs between them, and a currency or a percent sign.
_PARTS = (
    rf"^([+-]?) ?({_CURRENCY})?{_SPACES}?([+-]?)"
    rf"([0-9.,][0-9.,'’ \u00a0\u202f]*{_EXPONENT}){_SPACES}?({_CURRENCY}|%)?$"
)
_SPACED = rf"^[0-9]{{1,3}}(?:{_SPACES}[0-9]{{3}})+(?:[.,][0-9]+)?$"
_PLAIN = rf"^(?:[0-9]+\.?[0-9]*|\.[0-9]+){_EXPONENT}$"
# By the decimal sign: numbers that have it; by the sign: what may be one number or a thousand times
# it, and what may have that sign between thousands.
DECIMAL = {
    POINT: rf"^[0-9]*\.[0-9]*{_EXPONENT}$",
    COMMA: rf"^[0-9]*,[0-9]+{_EXPONENT}$",
}
EITHER = {POINT: r"^[1-9][0-9]{0,2}\.[0-9]{3}$", COMMA: r"^[1-9][0-9]{0,2},[0-9]{3}$"}
GROUPED = {
    POINT: r"^[1-9][0-9]{0,2}(?:\.[0-9]{3})+(?:,[0-9]*)?$",
    COMMA: r"^[1-9][0-9]{0,2}(?:,[0-9]{3})+(?:\.[0-9]*)?$",
}
_REMARKS = {
    COMMA: " (in a file with decimal commas)",
    PERCENT: " (without the percent sign of other rows)",
}
_FEWEST_YEARS = 1000  # of three digits or less is no year of four


@dataclass(frozen=True)
class Notation:
    """How the cells of a column are written.

    Attributes
    ----------
    unit : str
        Of numbers: "%" or a currency, such as "$".
    decimal : {".", ","}
        Of numbers: the sign before decimals.
    thousands : str
        Of numbers: the signs between thousands, if there are any; " " for spaces and apostrophes.
    dates : str
        Of dates: the format, as `datetime.strptime` takes it; "" for ISO 8601.
    words : str
        Of true and false: how they are written, such as "False/True".
    marked : bool
        Of percent: whether cells without the sign are doubtful, as others in the file have it.
    """

    unit: str = ""
    decimal: str = POINT
    thousands: str = ""
    dates: str = ""
    words: str = ""
    marked: bool = False

    @property
    def is_plain(self) -> bool:
        """Whether cells are plain already."""
        return (self.unit, self.decimal, self.thousands, self.dates) == ("", POINT, "", "")

    @property
    def written(self) -> str:
        """The notation without the unit, as a schema keeps it."""
        if self.dates:
            return self.dates
        signs = self.decimal + self.thousands
        return "" if signs == POINT else signs

    @classmethod
    def of(cls, column: Column) -> Notation:
        """Return the notation that a schema keeps of a column."""
        if column.kind in ("date", "datetime"):
            return cls(dates=column.written)
        if column.kind != "number":
            return cls()
        signs = column.written or POINT
        return cls(column.unit, signs[0], signs[1:])


# -- numbers --------------------------------------------------------------------------------------


def number_parts(text: pl.Series) -> tuple[pl.Series, pl.Series, pl.Series]:
    """Return sign, digits and unit of text that may be numbers; null where it is none.

    Spaces and apostrophes between thousands are gone from the digits.
    """
    groups = text.str.extract_groups(_PARTS).struct
    first, before, second, digits, after = (groups.field(str(k)) for k in range(1, 6))
    sign = first.fill_null("") + second.fill_null("")
    twice = (sign.str.len_bytes() > 1) | (before.is_not_null() & after.is_not_null())
    digits = digits.str.strip_chars().set(twice.fill_null(True), None)
    spaced = digits.str.contains(_SPACED).fill_null(False)
    if spaced.any():
        digits = digits.str.replace_all(_SPACES, "").zip_with(spaced, digits)
    unit = before.fill_null("") + after.fill_null("")
    return sign, digits, unit


def is_spaced(text: pl.Series) -> bool:
    """Tell whether any number has spaces or apostrophes between its thousands."""
    return bool(text.str.contains(rf"[0-9]{_SPACES}[0-9]{{3}}").any())


def plain_numbers(text: pl.Series, notation: Notation) -> pl.Series:
    """Return numbers in a notation as plain ones; other text stays, perhaps with a remark.

    Examples
    --------
    >>> import polars as pl
    >>> from condrisk.app.tables._notation import Notation, plain_numbers
    >>> plain_numbers(pl.Series(["$1,009.03", "-$5", "many"]), Notation("$", ".", ",")).to_list()
    ['1009.03', '-5', 'many']
    >>> plain_numbers(pl.Series(["1.234,56", "12,5"]), Notation("", ",", ".")).to_list()
    ['1234.56', '12.5']
    >>> plain_numbers(pl.Series(["12.5%"]), Notation("%")).to_list()
    ['12.5e-2']
    """
    sign, digits, unit = number_parts(text.str.strip_chars())
    plain = _plain_digits(digits, notation)
    found = sign + plain
    is_marked = unit == PERCENT
    if notation.unit == PERCENT:
        found = (found + "e-2").zip_with(is_marked.fill_null(False), found)
    fits = ((unit == "") | (unit == notation.unit)) & plain.is_not_null()
    found = found.zip_with(fits.fill_null(False), _remarked(text, digits, notation))
    if notation.marked:
        bare = fits & ~is_marked & (plain.cast(pl.Float64, strict=False) != 0)
        found = (text + _REMARKS[PERCENT]).zip_with(bare.fill_null(False), found)
    return found.alias(text.name)


def looks_plain(text: pl.Series, notation: Notation) -> pl.Series:
    """Tell which cells of text are plain numbers, and not thousands in a notation with commas."""
    if notation.decimal == POINT:
        return pl.Series([True]).new_from_index(0, len(text))
    return ~text.str.contains(rf"^\s*[+-]?{EITHER[POINT][1:]}").fill_null(False)


def _plain_digits(digits: pl.Series, notation: Notation) -> pl.Series:
    """Return digits with a decimal point and nothing between thousands; null for others."""
    thousands = notation.thousands.strip()
    if thousands:
        grouped = digits.str.contains(GROUPED[thousands])
        without = digits.str.replace_all(thousands, "", literal=True)
        digits = without.zip_with(grouped.fill_null(False), digits)
    if notation.decimal == COMMA:
        digits = digits.set(digits.str.contains(DECIMAL[POINT]).fill_null(True), None)
        digits = digits.str.replace(COMMA, POINT, literal=True)
        # A digit that says nothing: what is plain now must not look like thousands.
        digits = digits.str.replace(rf"^({EITHER[POINT][1:-1]})$", "${1}0")
    return digits.set(~digits.str.contains(_PLAIN).fill_null(False), None)


def _remarked(text: pl.Series, digits: pl.Series, notation: Notation) -> pl.Series:
    """Say of numbers with a point where decimals have commas why they are not taken."""
    if notation.decimal == POINT:
        return text
    pointed = digits.str.contains(DECIMAL[POINT]).fill_null(False)
    return (text + _REMARKS[COMMA]).zip_with(pointed, text)


# -- dates ----------------------------------------------------------------------------------------

_DIGITS = re.compile(r"([0-9]{1,4})([/.-])([0-9]{1,2})\2([0-9]{4}|[0-9]{1,2})(.*)")
_CLOCK = re.compile(r"([ T])[0-9]{1,2}:[0-9]{2}(:[0-9]{2})?(\.[0-9]+)?( ?[AaPp][Mm])?")
# For months, %B reads names in full and in short.
_MONTHS = ("%d %B %Y", "%d-%B-%Y", "%B %d %Y", "%B %d, %Y", "%d. %B %Y")
_MONTH = re.compile(r"(.*[A-Za-z]{3}.*?[0-9]{4})(.*)")


def date_formats(cell: str) -> list[str]:
    """Return the formats that a cell may be a date in, by its look.

    Examples
    --------
    >>> from condrisk.app.tables._notation import date_formats
    >>> date_formats("31.12.2020"), date_formats("2012/01/01 9:30"), date_formats("7 kg")
    (['%d.%m.%Y'], ['%Y/%m/%d %H:%M'], [])
    >>> date_formats("12/31/2020")
    ['%d/%m/%Y', '%m/%d/%Y']
    """
    found = _DIGITS.fullmatch(cell)
    if found is None:
        named = _MONTH.fullmatch(cell)
        return [] if named is None else _with_clock(_MONTHS, named[2])
    first, mark, _, last, rest = found.groups()
    if len(first) == 4:
        days: tuple[str, ...] = (f"%Y{mark}%m{mark}%d",)
    elif len(last) == 1 or len(first) == 3:
        return []
    else:
        year = "%Y" if len(last) == 4 else "%y"
        # Where dots stand between, the day comes first.
        orders = ("%d", "%m"), ("%m", "%d")
        days = tuple(mark.join((*order, year)) for order in orders[: 1 if mark == "." else 2])
    return _with_clock(days, rest)


def _with_clock(days: tuple[str, ...], rest: str) -> list[str]:
    if not rest:
        return list(days)
    clock = _CLOCK.fullmatch(rest)
    if clock is None:
        return []
    mark, seconds, fraction, half = clock.groups()
    hour = "%I" if half else "%H"
    ending = (":%S" if seconds else "") + ("%.f" if fraction else "")
    ending += (" %p" if half.startswith(" ") else "%p") if half else ""
    return [f"{day}{mark}{hour}:%M{ending}" for day in days]


def has_clock(date_format: str) -> bool:
    """Tell whether dates in a format have a time of day."""
    return any(part in date_format for part in ("%H", "%I", "%T", "%R", "%s"))


def read_dates(text: pl.Series, date_format: str) -> pl.Series:
    """Return text as moments in UTC, null where it is not in the format."""
    try:
        found = text.str.to_datetime(date_format, strict=False, time_unit="us")
    except pl.exceptions.PolarsError:
        return pl.Series(text.name, [None] * len(text), pl.Datetime("us"))
    if found.dtype.time_zone is not None:  # type: ignore[attr-defined]
        found = found.dt.convert_time_zone("UTC").dt.replace_time_zone(None)
    return found.zip_with(found.dt.year() >= _FEWEST_YEARS, found.clear(len(found)))


def plain_dates(text: pl.Series, date_format: str) -> pl.Series:
    """Return dates in a format as ISO 8601 writes them; other text stays."""
    found = read_dates(text.str.strip_chars(), date_format)
    written = found.dt.to_string("%Y-%m-%dT%H:%M:%S%.6f" if has_clock(date_format) else "%Y-%m-%d")
    return written.zip_with(found.is_not_null(), text).alias(text.name)


def check_date_format(date_format: str) -> None:
    """Refuse a format that says no day."""
    moment = datetime(2026, 11, 23)
    text = pl.Series([moment.strftime(date_format.replace("%.f", ".0"))])
    if read_dates(text, date_format).to_list() != [moment]:
        raise TableError(
            f"date_format={date_format!r} must have a year, a month and a day, such as %d/%m/%Y "
            f"for 23/11/2026 or %m/%d/%y for 11/23/26."
        )


def plain_text(text: pl.Series, notation: Notation) -> pl.Series:
    """Return numbers or dates in a notation as plain ones; other text stays."""
    if notation.is_plain:
        return text
    if notation.dates:
        return plain_dates(text, notation.dates)
    return plain_numbers(text, notation)
