"""The rows of a query, from any database that SQLAlchemy knows."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

from condrisk._files import first_line
from condrisk.app._errors import TableError
from condrisk.app._paths import source_name

_ROWS = 10_000


def query_rows(url: str, query: str) -> tuple[list[str], Iterator[tuple[Any, ...]]]:
    """Run a query; return the names of its columns, and the rows as they come."""
    import sqlalchemy
    from sqlalchemy import exc

    name = source_name(url)
    opened = ExitStack()
    try:
        engine = sqlalchemy.create_engine(url)
        opened.callback(engine.dispose)
        if engine.dialect.name == "sqlite":
            _check_file(engine.url.database, name)
        connection = opened.enter_context(engine.connect())
        connection = connection.execution_options(stream_results=True, yield_per=_ROWS)
        result = connection.execute(sqlalchemy.text(query))
    except (exc.SQLAlchemyError, ImportError, ValueError) as error:
        opened.close()
        if isinstance(error, TableError):
            raise
        reason = first_line(getattr(error, "orig", None) or error)
        raise TableError(f"{name} did not answer the query: {reason}.") from None
    if not result.returns_rows:
        opened.close()
        raise TableError("query must be a SELECT: it returned no rows.")

    def rows() -> Iterator[tuple[Any, ...]]:
        with opened:
            for row in result:
                yield tuple(row)

    return list(result.keys()), rows()


def _check_file(path: str | None, name: str) -> None:
    """Refuse a file that is not there, which SQLite would make."""
    from pathlib import Path

    if path and not Path(path).is_file():
        raise TableError(f"{name}: {path} does not exist.")
