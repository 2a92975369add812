"""Names that do not exist, and the ones that are meant."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches

_MOST = 12


def nearest(name: str, known: Sequence[str]) -> str:
    """Return a part of a sentence that asks for the nearest name that there is, or nothing.

    Examples
    --------
    >>> from condrisk.app._names import nearest
    >>> nearest("heating", ["age", "heating_load"]), nearest("x", ["age"])
    (" (did you mean 'heating_load'?)", '')
    """
    by_lower = {text.lower(): text for text in reversed(known)}
    found = get_close_matches(name.lower(), list(by_lower), n=1, cutoff=0.5)
    return f" (did you mean {by_lower[found[0]]!r}?)" if found else ""


def listed(names: Sequence[str], most: int = _MOST) -> str:
    """Return names in a sentence, not too many of them."""
    shown = ", ".join(repr(name) for name in names[:most])
    return f"{shown} and {len(names) - most} more" if len(names) > most else shown
