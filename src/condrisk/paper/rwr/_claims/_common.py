"""What the sections of the page of claims share: runs, and losses by their source."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from condrisk.paper._results import Record
from condrisk.paper.rwr._paper import source_value
from condrisk.paper.rwr._results import Results

# The deferral loss of a method on a set at a cost, or None if there is none.
Losses = Callable[[str, str, str], float | None]


class Run(NamedTuple):
    """Records under a name."""

    label: str
    results: Results
    figure: Record | None


def printed_losses(name: str, method: str, cost: str) -> float | None:
    """Return a deferral loss of the paper's Table 7."""
    found = source_value("printed", "loss", name, method, cost)
    return None if found is None else found.mean


def losses_of(results: Results) -> Losses:
    """Return what looks up mean deferral losses in records."""
    return lambda name, method, cost: results.mean("loss", name, method, cost)
