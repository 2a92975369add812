"""What the sections of the page of claims share: tests over seeds, and verdicts on them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from condrisk.paper._page import FAILS, HALF, HOLDS, MOST, PARTLY
from condrisk.paper._summary import Summary, holm
from condrisk.paper.cifar10._cells import spread
from condrisk.paper.cifar10._paper import COSTS, paper_value
from condrisk.paper.cifar10._results import Paired, Results, paired

REFUTED, OPEN = "is refuted", "cannot be told from one seed"
# What is compared: as it is called, in the records, and at which cost.
Quantity = tuple[str, str, str | None]
ERRORS: tuple[Quantity, ...] = (("L¹", "risk_l1", None), ("L²", "risk_l2", None))
LOSSES: tuple[Quantity, ...] = tuple((f"L2D, c={cost}", "loss", cost) for cost in COSTS)
# Table, predictor, the method that should be the lower, the other one, and what of.
PrintedCell = tuple[str, str, str, str, Quantity]


def verdict_of_tests(tests: Sequence[Paired]) -> str:
    """Return the verdict on the claim that the first of each two compared is the lower.

    Examples
    --------
    >>> from condrisk.paper.cifar10._results import paired_values
    >>> from condrisk.paper.cifar10._claims._common import verdict_of_tests
    >>> lower = paired_values({0: 1.0, 1: 1.1, 2: 0.9}, {0: 2.0, 1: 2.1, 2: 2.0})
    >>> [verdict_of_tests(tests) for tests in ([lower], [lower, lower._replace(p=0.8)])]
    ['holds', 'does not hold']
    """
    if all(test.p is None for test in tests):
        return OPEN
    tests = corrected(tests)
    lower = sum(test.is_less for test in tests) / len(tests)
    higher = sum(test.is_more for test in tests) / len(tests)
    if lower >= MOST:
        return HOLDS
    if higher >= MOST:
        return REFUTED
    return PARTLY if lower > HALF else FAILS


def corrected(tests: Sequence[Paired]) -> list[Paired]:
    """Return the tests with p-values corrected for their number, by Holm's method.

    Examples
    --------
    >>> from condrisk.paper.cifar10._results import Paired
    >>> from condrisk.paper.cifar10._claims._common import corrected
    >>> [test.p for test in corrected([Paired(-1.0, 0.3, 9, p, 8, 1) for p in (0.04, 0.01)])]
    [0.04, 0.02]
    """
    known = holm([1.0 if test.p is None else test.p for test in tests])
    return [
        test if test.p is None else test._replace(p=p) for test, p in zip(tests, known, strict=True)
    ]


def count_sentence(where: str, tests: Sequence[Paired], claim: str = "the claim") -> str:
    """Return the verdict, and what it was counted from."""
    found = verdict_of_tests(tests)
    if found == OPEN:
        return f"{where} {claim} **{found}**."
    tests = corrected(tests)
    lower, higher = sum(t.is_less for t in tests), sum(t.is_more for t in tests)
    return (
        f"{where} {claim} **{found}**: of {len(tests)} comparison{'s' * (len(tests) > 1)} {lower} "
        f"for it, {higher} against it, {len(tests) - lower - higher} not told from chance."
    )


def compare_all(
    results: Results,
    predictor: str,
    lower: Iterable[str],
    higher: Iterable[str],
    quantities: Sequence[Quantity],
) -> list[Paired]:
    """Compare each method that should be the lower with each other one in every quantity."""
    found = [
        paired(results, predictor, a, b, quantity, cost)
        for a in lower
        for b in higher
        if a != b
        for _, quantity, cost in quantities
    ]
    return [test for test in found if test is not None]


def difference(test: Paired | None, decimals: int = 3) -> str:
    """Return mean ± standard error, seeds below and above, and p; bold if it is below zero."""
    if test is None:
        return "–"
    text = f"{test.mean:+.{decimals}f}"
    if test.se is not None:
        text += f" ± {test.se:.{decimals}f}"
    text = f"**{text}**" if test.is_less else text
    return f"{text} ({test.less}:{test.more}{p_text(test, ', ')})"


def p_text(test: Paired, before: str = "") -> str:
    """Return p as a word, or nothing if there is none."""
    if test.p is None:
        return ""
    return f"{before}p < 0.001" if test.p < 0.001 else f"{before}p = {test.p:.3f}"


def mean(summary: Summary | None) -> str:
    return spread(summary).text or "–"


def printed_sentence(cells: Iterable[PrintedCell]) -> str:
    """Return in how many comparisons of the paper's own figures a claim is so."""
    true = total = 0
    for table, predictor, lower, higher, (_, quantity, cost) in cells:
        a, b = (paper_value(table, quantity, predictor, m, cost) for m in (lower, higher))
        if a is not None and b is not None and lower != higher:
            total += 1
            true += a.mean < b.mean
    return f"In the paper's own tables it is so in {true} of {total} comparisons."
