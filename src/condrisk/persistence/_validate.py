"""What was loaded of classes that only the caller's trust admits, looked through before it is used.

What is known has been checked attribute by attribute before it was made.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from condrisk.persistence._kinds import MOST_JOBS, BadModelError


def validate(model: Any) -> None:
    """Raise `BadModelError` if any part of a loaded model is not safe to use."""
    for part in _parts(model):
        _check_attributes(part)
        _check_booster(part)


def _parts(model: Any) -> Iterator[Any]:
    """Yield every object inside a model, each once."""
    waiting, seen = [model], set()
    while waiting:
        part = waiting.pop()
        if id(part) in seen:
            continue
        seen.add(id(part))
        if isinstance(part, dict):
            waiting.extend(part.values())
        elif isinstance(part, list | tuple):
            waiting.extend(part)
        elif isinstance(part, np.ndarray):
            if part.dtype == object:
                waiting.extend(part.ravel().tolist())
        elif hasattr(part, "__dict__") and not isinstance(part, type):
            yield part
            waiting.extend(vars(part).values())


def _check_attributes(part: Any) -> None:
    """Refuse attributes that hide those of the type, and threads that no machine has."""
    kind = type(part)
    own = kind.__module__.partition(".")[0] in ("condrisk", "sklearn")
    for name in getattr(part, "__dict__", ()):
        fixed = getattr(kind, name, None)
        if callable(fixed) or (own and isinstance(fixed, str)):
            raise BadModelError(f"has a {kind.__name__} whose {name} is not its own")
    jobs = vars(part).get("n_jobs") if hasattr(part, "__dict__") else None
    if jobs is not None and not (isinstance(jobs, int) and abs(jobs) <= MOST_JOBS):
        raise BadModelError(f"has a {kind.__name__} with n_jobs={jobs!r}")


def _check_booster(part: Any) -> None:
    """Refuse a model of one package with the booster of another."""
    booster = getattr(part, "__dict__", {}).get("_Booster")
    kinds = (type(part).__module__.partition(".")[0], type(booster).__module__.partition(".")[0])
    if booster is not None and kinds[0] != kinds[1]:
        raise BadModelError(f"has a {type(part).__name__} without its trees")
