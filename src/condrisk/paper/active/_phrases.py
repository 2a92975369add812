"""Small words of the page."""

from __future__ import annotations

from collections.abc import Iterable

from condrisk.datasets import UCI_NAMES
from condrisk.paper._render import to_markdown
from condrisk.paper._table import Table
from condrisk.paper.active._results import Comparison


def uci(found: dict[str, Comparison]) -> list[Comparison]:
    """Return the comparisons on UCI sets."""
    return [found[name] for name in UCI_NAMES if name in found]


def names_of(found: Iterable[Comparison]) -> str:
    """Return the names of the sets, or "none"."""
    return ", ".join(c.set for c in found) or "none"


def with_verdict(found: Iterable[Comparison], verdict: str) -> list[Comparison]:
    """Return the comparisons with this verdict."""
    return [c for c in found if c.verdict == verdict]


def capitalised(text: str) -> str:
    """Return a text that begins with a capital."""
    return text[0].upper() + text[1:]


def in_brackets(found: list[Comparison]) -> str:
    """Return the names of the sets in brackets, or nothing."""
    return f" ({names_of(found)})" if found else ""


def body(table: Table) -> str:
    """Return a table as Markdown, without the line break at its end."""
    return to_markdown(table).rstrip()
