"""The parts of a table in Parquet: row groups of one file, or of all files in a folder."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from condrisk.app.tables import TableError, to_polars

_ENDINGS = (".parquet", ".pq")


class Part(NamedTuple):
    """A row group: what is read at once."""

    number: int  # among all parts of the table
    path: str
    group: int
    n_rows: int

    def read(self, columns: Sequence[str]) -> pl.DataFrame:
        """Return its rows."""
        from pyarrow import ArrowException, parquet

        try:
            with parquet.ParquetFile(self.path) as file:
                table = file.read_row_group(self.group, columns=list(columns))
        except (OSError, ArrowException) as error:
            raise TableError(
                f"{self.path} cannot be read by a worker, which needs the file under the same "
                f"path: {str(error).splitlines()[0]}."
            ) from None
        return to_polars(table, self.path)


class Source(NamedTuple):
    """A table in Parquet, of which only the ends of the files have been read."""

    parts: tuple[Part, ...]
    names: tuple[str, ...]

    @property
    def n_rows(self) -> int:
        """The number of its rows."""
        return sum(part.n_rows for part in self.parts)


def open_source(table: Any) -> Source:
    """Return the parts of a Parquet file, or of a folder of such files with the same columns."""
    from pyarrow import ArrowInvalid, parquet

    parts: list[Part] = []
    first: Any = None
    for path in _files(Path(table)):
        try:
            with parquet.ParquetFile(path) as file:
                found, schema = file.metadata, file.schema_arrow.remove_metadata()
        except (OSError, ArrowInvalid):
            raise TableError(
                f"{path} is not Parquet, which a cluster reads: one file of several row groups, or "
                f"a folder of files."
            ) from None
        first = first or (path, schema)
        if not schema.equals(first[1]):
            raise TableError(
                f"{path} has other columns, or other types of columns, than {first[0]}: all files "
                f"of a table must have the same."
            )
        for group in range(found.num_row_groups):
            n_rows = found.row_group(group).num_rows
            if n_rows:
                parts.append(Part(len(parts), str(path.absolute()), group, n_rows))
    if not parts:
        raise TableError(f"{table} has no rows.")
    return Source(tuple(parts), tuple(first[1].names))


def _files(table: Path) -> list[Path]:
    if not table.exists():
        raise TableError(f"{table} does not exist.")
    if not table.is_dir():
        return [table]
    found = sorted(path for path in table.iterdir() if path.suffix.lower() in _ENDINGS)
    if not found:
        raise TableError(f"{table} is a folder without files that end in {_ENDINGS[0]}.")
    return found


def shares(parts: Sequence[Part], n_shares: int) -> list[tuple[Part, ...]]:
    """Deal parts out, so that all shares have about as many rows; none of them is empty."""
    dealt: list[list[Part]] = [[] for _ in range(min(n_shares, len(parts)))]
    for part in sorted(parts, key=lambda part: -part.n_rows):
        min(dealt, key=lambda share: sum(p.n_rows for p in share)).append(part)
    return [tuple(sorted(share)) for share in dealt]
