"""What pages of claims are made of: parts, verdicts, and Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from scipy.stats import rankdata

HOLDS, PARTLY, FAILS = "holds", "holds in part", "does not hold"
# From which share of the cases on a claim about "generally" holds, and from which on in part.
MOST, HALF = 0.9, 0.5


class Part(NamedTuple):
    """A part of a claim, as it should be, and whether it is so."""

    text: str
    true: bool


def verdict(parts: Sequence[Part]) -> str:
    """Return "holds" if all parts are true, "does not hold" if none is, else "holds in part".

    Examples
    --------
    >>> from condrisk.paper._page import Part, verdict
    >>> verdict([Part("a", True), Part("b", False)])
    'holds in part'
    """
    true = [part.true for part in parts]
    return HOLDS if all(true) else PARTLY if any(true) else FAILS


def grade(share: float) -> str:
    """Return the verdict on what should be so in general, from the share of cases where it is.

    Examples
    --------
    >>> from condrisk.paper._page import grade
    >>> grade(0.95), grade(0.7), grade(0.5)
    ('holds', 'holds in part', 'does not hold')
    """
    return HOLDS if share >= MOST else PARTLY if share > HALF else FAILS


def section(title: str, claim: str, *body: str) -> str:
    """Return a section, or nothing if the records have nothing for it."""
    return "\n\n".join([f"\n## {title}", claim, *body]) + "\n" if body else ""


def markdown_table(header: Sequence[str], rows: Iterable[Sequence[str]], *, n_text: int = 1) -> str:
    lines = [header, [":--"] * n_text + ["--:"] * (len(header) - n_text), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def number(value: float | None, decimals: int) -> str:
    return "–" if value is None else f"{value:.{decimals}f}"


def verdict_sentence(where: str, parts: Sequence[Part], claim: str = "the claim") -> str:
    true = "; ".join(part.text for part in parts if part.true)
    false = "; ".join(part.text for part in parts if not part.true)
    reasons = [f"True: {true}"] if true else []
    reasons += [f"Not true: {false}"] if false else []
    return f"On {where} {claim} **{verdict(parts)}**. {'. '.join(reasons)}."


def spearman(a: Sequence[float | None], b: Sequence[float | None]) -> float | None:
    """Return the rank correlation, or None if a value is missing or one side is constant.

    Examples
    --------
    >>> from condrisk.paper._page import spearman
    >>> spearman([1.0, 2.0, 3.0], [1.0, 3.0, 2.0])
    0.5
    >>> spearman([1.0, 2.0, 3.0], [0.2, 0.2, 0.2]) is None
    True
    """
    if None in a or None in b or not len(a):
        return None
    # Ten digits: losses that are equal but for the rounding of float64 are tied.
    ranks = [rankdata([float(f"{value:.10g}") for value in side]) for side in (a, b)]
    if min(np.ptp(side) for side in ranks) == 0:
        return None
    return float(np.corrcoef(*ranks)[0, 1])
