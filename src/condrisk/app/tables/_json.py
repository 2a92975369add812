"""JSON: an object a line, or one array of objects."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson

from condrisk.app._errors import TableError
from condrisk.app.tables._rows import BrokenRow

# One array is parsed at once.
_MOST_BYTES = 1 << 29
_SHOWN = 80


def json_lines(path: Path, name: str) -> tuple[list[str], Iterator[list[Any] | BrokenRow]]:
    """Return the names of all keys, in the order in which they come, and the rows."""
    names: dict[str, None] = {}
    for row in _parsed(path):
        if isinstance(row, dict):
            names.update(dict.fromkeys(row))
    if not names:
        raise TableError(f'{name} has no line that is an object such as {{"x": 1}}.')
    return list(names), _rows(path, list(names))


def _rows(path: Path, names: list[str]) -> Iterator[list[Any] | BrokenRow]:
    for row in _parsed(path):
        yield row if isinstance(row, BrokenRow) else [row.get(name) for name in names]


def _parsed(path: Path) -> Iterator[dict[str, Any] | BrokenRow]:
    with open(path, "rb") as file:
        for line in file:
            text = line.removeprefix(b"\xef\xbb\xbf").strip()
            if not text:
                continue
            try:
                row = orjson.loads(text)
            except orjson.JSONDecodeError as error:
                yield _broken(text, f"the line is not JSON ({error.msg})")
                continue
            yield row if isinstance(row, dict) else _broken(text, "the line is no object")


def _broken(text: bytes, reason: str) -> BrokenRow:
    shown = text.decode(errors="replace")
    shown = shown if len(shown) <= _SHOWN else shown[: _SHOWN - 1] + "…"
    return BrokenRow(shown, f"{reason}: {shown!r}.")


def json_array(path: Path, name: str) -> tuple[list[str], Iterator[list[Any]]]:
    """Return the names of all keys of an array of objects, and its rows."""
    if path.stat().st_size > _MOST_BYTES:
        raise TableError(
            f"{name} is one long array, which is read at once: write an object a line."
        )
    try:
        found = orjson.loads(path.read_bytes().removeprefix(b"\xef\xbb\xbf"))
    except orjson.JSONDecodeError as error:
        raise TableError(f"{name} is not JSON: {error}.") from None
    odd = next((k for k, row in enumerate(found, start=1) if not isinstance(row, dict)), None)
    if odd is not None:
        raise TableError(f"{name} must be an array of objects; element {odd} is none.")
    names = list(dict.fromkeys(key for row in found for key in row))
    return names, ([row.get(key) for key in names] for row in found)
