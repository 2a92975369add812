"""How a table is to be read, as far as the table itself does not tell."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from condrisk.app._errors import TableError


@dataclass(frozen=True)
class TableOptions:
    r"""How a table is to be read, as far as the table itself does not tell.

    Parameters
    ----------
    sheet : str or None, default=None
        Of a workbook: the name of the sheet, or its number from 1.
    query : str or None, default=None
        For a database, whose URL stands in place of a file: the SQL that gives the rows.
    decimal : {".", ","} or None, default=None
        The decimal sign of numbers that do not show theirs, such as 1.234. The other sign may then
        stand between thousands.
    date_formats : tuple of str, default=()
        Formats of dates, as `datetime.strptime` takes them: a column all of whose cells are in
        one of them holds dates. Needed where 12/11/2026 may be in November or December.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import mkdtemp
    >>> from condrisk.app.tables import TableOptions, read_table
    >>> path = Path(mkdtemp()) / "sales.csv"
    >>> _ = path.write_text("day;sold\n03/04/2026;1.234\n05/04/2026;2.500\n")
    >>> read_table(path, options=TableOptions(decimal=",", date_formats=("%d/%m/%Y",))).rows()
    [(datetime.date(2026, 4, 3), 1234.0), (datetime.date(2026, 4, 5), 2500.0)]
    """

    sheet: str | None = None
    query: str | None = None
    decimal: str | None = None
    date_formats: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.decimal not in (None, ".", ","):
            raise TableError(f"decimal must be a point or a comma; got {self.decimal!r}.")

    def to_dict(self) -> dict[str, Any]:
        """Return them as plain data."""
        return asdict(self) | {"date_formats": list(self.date_formats)}
