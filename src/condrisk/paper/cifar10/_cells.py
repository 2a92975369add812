"""Cells that the tables of the study share."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from condrisk.paper._summary import Summary
from condrisk.paper._table import Cell
from condrisk.paper.cifar10._results import Paired, Results

Number = Callable[[float], str]

DIFFERENCE = (
    "Δ: ours minus the paper's; Δ/SE: the same, less what rounding explains, in standard errors of "
    "ours. The paper trained its networks differently and gives no spread, so large ones do not "
    "say that either is wrong."
)
BIAS_HEADER = Cell("bias %\nours")


def decimals(n: int) -> Number:
    return lambda value: f"{value:.{n}f}"


three_decimals = decimals(3)


def spread(
    summary: Summary | None,
    best: str | None = None,
    *,
    bold: bool = False,
    number: Number = three_decimals,
    factor: float = 1.0,
) -> Cell:
    """Return mean ± standard error, bold if asked for or if the mean reads as the best does."""
    if summary is None:
        return Cell()
    mean = number(factor * summary.mean)
    # No standard error: one seed. None at all: what does not depend on the seed.
    text = f"{mean} ± {number(factor * summary.se)}" if summary.se else mean
    return Cell(text, bold=bold or mean == best)


def compared_headers(label: str) -> list[Cell]:
    return [Cell(f"{label}\n{what}") for what in ("ours", "paper", "Δ", "Δ/SE")]


def compared(
    summary: Summary | None,
    best: str | None = None,
    *,
    number: Number = three_decimals,
    factor: float = 1.0,
) -> list[Cell]:
    """Return ours, the paper's, the difference, and the difference in standard errors."""
    ours = spread(summary, best, number=number, factor=factor)
    if summary is None or summary.paper is None or summary.difference is None:
        return [ours, Cell(), Cell(), Cell()]
    difference = factor * summary.difference
    sign = "+" if difference >= 0 else "-"
    return [
        ours,
        Cell(f"{factor * summary.paper.mean:.2f}"),
        Cell(f"{sign}{number(abs(difference))}"),
        Cell(summary.in_se_text(whole_from=100)),
    ]


def bias_cell(results: Results, predictor: str, method: str) -> Cell:
    """Return the bias in per cent of the mean loss."""
    bias = results.relative_bias(predictor, method)
    if bias is None:
        return Cell()
    text = f"{100 * bias.mean:+.1f}"
    return Cell(text if bias.se is None else f"{text} ± {100 * bias.se:.1f}")


def paired_cell(difference: Paired | None) -> Cell:
    """Return a difference ± its standard error, bold if it is below zero by two of them."""
    if difference is None:
        return Cell()
    text = f"{difference.mean:+.4f}"
    if difference.se is not None:
        text += f" ± {difference.se:.4f}"
    return Cell(text, bold=difference.by_two_se())


def least_text(
    results: Results,
    predictor: str,
    methods: Sequence[str],
    quantity: str,
    cost: float | str | None = None,
) -> str | None:
    """Return how the least mean reads."""
    means = [results.mean(quantity, predictor, method, cost) for method in methods]
    known = [mean for mean in means if mean is not None]
    return three_decimals(min(known)) if known else None


def caption(results: Results, text: str) -> str:
    n = len(results.seeds)
    return f"Means over {n} seed{'' if n == 1 else 's'}{' ± standard error' * (n > 1)}. {text}"
