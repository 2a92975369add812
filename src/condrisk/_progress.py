"""What is being fitted, told to whoever asked: lines of a verbose fit, the bar of a command."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

Listener = Callable[[str], object]

_listener: ContextVar[Listener | None] = ContextVar("listener", default=None)


def announce(part: str) -> None:
    """Say which part of a fit begins; without a listener nothing happens."""
    announcer()(part)


def announcer() -> Listener:
    """Return what says it, for threads that do not inherit who listens here."""
    return _listener.get() or (lambda part: None)


@contextmanager
def announced_to(listener: Listener) -> Iterator[None]:
    """Have a function called with the name of each part that begins."""
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


@contextmanager
def printed(name: str, verbose: bool | int) -> Iterator[None]:
    """Print the parts of a fit as they begin, if that is wanted, and how long all of it took."""
    if not verbose:
        yield
        return
    began = time.perf_counter()

    def line(part: str) -> None:
        print(f"[{name}] {time.perf_counter() - began:7.1f} s  {part}", flush=True)

    with announced_to(line):
        yield
    line("done")
