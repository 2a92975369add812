"""Which classes are taken for which, and how often each is wrong."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from condrisk.inference import binomial_interval

# With more classes than this, the rarer ones are taken together.
MOST_CLASSES = 10
OTHERS = "all others"


class ClassErrors(NamedTuple):
    """The rows of one true class.

    Attributes
    ----------
    label : str
        The class.
    rows, wrong : int
        How many rows have it, and how many of these got another prediction.
    low, high : float
        95 % limits for the share of wrong ones.
    taken_for : str
        The class that it is most often taken for; empty if it never is.
    """

    label: str
    rows: int
    wrong: int
    low: float
    high: float
    taken_for: str


class Confusion(NamedTuple):
    """Counts by true and predicted class, the commonest true class first."""

    labels: tuple[str, ...]
    counts: NDArray[np.int64]
    errors: tuple[ClassErrors, ...]


def confusion(target: Sequence[Any], prediction: Sequence[Any], labels: Sequence[Any]) -> Confusion:
    """Count rows by true and predicted class.

    Parameters
    ----------
    target, prediction : sequence
        True and predicted class of each row.
    labels : sequence
        The classes of the model.
    """
    true, predicted = ([_word(value) for value in values] for values in (target, prediction))
    names = list(dict.fromkeys([*map(_word, labels), *true, *predicted]))
    rows = {name: true.count(name) for name in names}
    names.sort(key=lambda name: -rows[name])
    if len(names) > MOST_CLASSES:
        kept = names[: MOST_CLASSES - 1]
        true, predicted = (
            [name if name in kept else OTHERS for name in values] for values in (true, predicted)
        )
        names = [*kept, OTHERS]
    place = {name: k for k, name in enumerate(names)}
    counts = np.zeros((len(names), len(names)), dtype=np.int64)
    np.add.at(counts, ([place[name] for name in true], [place[name] for name in predicted]), 1)
    errors = tuple(_errors(counts, k, names) for k in range(len(names)) if counts[k].sum())
    return Confusion(tuple(names), counts, errors)


def _word(value: Any) -> str:
    value = value.item() if hasattr(value, "item") else value
    return str(value).lower() if isinstance(value, bool) else str(value)


def _errors(counts: NDArray[np.int64], k: int, names: Sequence[str]) -> ClassErrors:
    rows = int(counts[k].sum())
    others = counts[k].copy()
    others[k] = 0
    wrong = int(others.sum())
    found = binomial_interval(wrong, rows)
    most = names[int(others.argmax())] if wrong else ""
    return ClassErrors(names[k], rows, wrong, found.lower, found.upper, most)
