"""What of a fitted estimator goes into a model file: not the rows that it was fitted on."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_without_rows: ContextVar[bool] = ContextVar("without_rows", default=False)


@contextmanager
def without_training_rows() -> Iterator[None]:
    """Leave held-out rows out of the state of every estimator, as model files do."""
    token = _without_rows.set(True)
    try:
        yield
    finally:
        _without_rows.reset(token)


def leaves_rows_out() -> bool:
    """Tell whether held-out rows are to be left out of the state of an estimator."""
    return _without_rows.get()
