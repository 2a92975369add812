"""Cells that the tables of the study share: ours, the paper's, and the difference."""

from __future__ import annotations

from collections.abc import Callable

from condrisk.paper._summary import Summary
from condrisk.paper._table import Cell
from condrisk.paper.rwr._results import Results

_DIFFERENCE = (
    "Δ/SE: ours minus the paper's, less what rounding explains, in standard errors of ours; "
    "∞ where all our folds agree."
)


def two_decimals(value: float) -> str:
    return f"{value:.2f}"


def adaptive(value: float) -> str:
    """Return about four significant digits, and never an exponent."""
    size = abs(value)
    decimals = 0 if size >= 1000 else 1 if size >= 100 else 2 if size >= 1 else 3
    return f"{value:.{decimals}f}"


def headers(label: str) -> list[Cell]:
    return [Cell(f"{label}\n{what}") for what in ("ours", "paper", "Δ/SE")]


def cells(
    summary: Summary | None, number: Callable[[float], str], best: str | None = None
) -> list[Cell]:
    """Return ours, the paper's and the difference; ours is bold if it reads as the best does."""
    (ours,) = lone_cell(summary, number, best)
    if summary is None or summary.paper is None:
        return [ours, Cell(), Cell()]
    return [ours, Cell(number(summary.paper.mean)), Cell(summary.in_se_text())]


def lone_cell(
    summary: Summary | None, number: Callable[[float], str], best: str | None = None
) -> list[Cell]:
    if summary is None:
        return [Cell()]
    text = number(summary.mean)
    return [Cell(text, bold=text == best)]


def caption(results: Results, text: str, published: bool = True) -> str:
    folds = sorted(
        {len(results.records(s, m)) for s in results.paper_sets for m in results.methods} - {0}
    )
    if not folds:
        return text
    number = f"{folds[0]} to {folds[-1]}" if len(folds) > 1 else f"{folds[0]}"
    plural = "" if folds[-1] == 1 else "s"
    means = f"Means over {number} fold{plural}."
    return f"{means} {text} {_DIFFERENCE}" if published else f"{means} {text}"
