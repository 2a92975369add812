"""The section about regressors: mean and variance put into the loss, or losses regressed."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from condrisk.paper._records import Record
from condrisk.paper._render import to_markdown
from condrisk.paper.theory.simulations._results import select, values
from condrisk.paper.theory.simulations._same_learner_tables import (
    error_ratio,
    errors_table,
    ratios_table,
)

# Predictors whose errors are rough in x, and those whose errors are simple in it.
ROUGH = ("boosting", "nearest neighbour")
SIMPLE = ("coefficient off by 0.5", "coefficient off by 1.5")

_BOUND = (
    "For squared error g = (f − μ)² + σ², where μ and σ² are the mean and variance of the target "
    "given x, and the plug-in risk is ĝ = (f − m̂)² + v̂. Since (f − m̂)² − (f − μ)² = "
    "−(m̂ − μ)(2(f − μ) − (m̂ − μ)),\n\n"
    "|ĝ − g| ≤ |v̂ − σ²| + |m̂ − μ| (2 |f − μ| + |m̂ − μ|),\n\n"
    "with equality where v̂ ≥ σ² and m̂ and f are not on the same side of μ. The same holds for "
    "E|ĝ − g| with E|v̂ − σ²| and root mean squares of m̂ − μ and f − μ "
    "(`plug_in_mean_variance_bound`)."
)
_MISSED = (
    "**What is missed.** The loss z = (f − y)² has the conditional mean g, so for any m and v the "
    "mean of z − (f − m)² − v given x is 2(m − f)(μ − m) + (μ − m)² + σ² − v. A regression of "
    "z − (f − m)² − v on held-out rows (*corrected*) estimates all of it, the first-order term "
    "included. Averaging over m̂ does not remove that term: for a fixed f, with b = E m̂ − μ, "
    "E[(f − m̂)² + v̂] − g = Var(m̂) + b² − 2b(f − μ) + E v̂ − σ². Without bias Var(m̂) is left, "
    "and it counts twice if v̂ is learnt from held-out squared residuals, whose mean is "
    "σ² + Var(m̂)."
)
_LEAF = (
    "**Why they differ.** In a leaf of a tree with the mean ȳ, (f − ȳ)² + mean (yᵢ − ȳ)² = "
    "mean (f − yᵢ)². So the plug-in risk is the mean loss that *this* prediction f(x) would have "
    "on the neighbours; a regression of the losses averages the losses that the neighbours have "
    "with *their* predictions. If f is constant in the leaf, both are the same number. If f is "
    "rough in x, only the first knows f(x). If f follows μ within the leaf, only the second sees "
    "that, and the plug-in risk takes the variation of μ for an error of f."
)
_WORLD = (
    "**The simulation.** `make_heteroscedastic` with four features: μ is linear, with standard "
    "deviation 1; the variance of the noise is constant, or proportional to exp(x₁). One learner "
    "does everything: m, v (on squared residuals of five folds) and the losses, on x or on "
    "(x, f, m, (f − m)²). It is either a ridge on splines of each input, to which a linear μ is "
    "easy, or a forest of 20 trees with at least five rows in a leaf, to which it is not. The "
    "predictors: μ itself; μ with one coefficient off by 0.5 or 1.5, whose squared error is "
    "simple in x; boosting and one nearest neighbour, each on 200 rows of its own, whose errors "
    "are rough in x. As g is known, so is E(ĝ − g)², on 2,000 fresh rows."
)


def same_learner_section(records: list[Record]) -> str:
    """Return the section, or nothing if there are no records for it.

    Examples
    --------
    >>> from condrisk.paper.theory.simulations._same_learner_page import same_learner_section
    >>> same_learner_section([])
    ''
    """
    found = select(records, "same-learner")
    if not found:
        return ""
    return "\n\n".join(
        [
            "## Regressors: plug in, or regress the losses?",
            _BOUND,
            _MISSED,
            _LEAF,
            f"{_WORLD} {_better(found)}",
            "![Plug-in against regression of the losses](same-learner.png)",
            "\n".join(f"- {line}" for line in _verdicts(found)),
            to_markdown(ratios_table(found)).rstrip(),
            to_markdown(errors_table(found)).rstrip(),
        ]
    )


def _better(found: list[Record]) -> str:
    numbers = {r["n"]: r["repetitions"] for r in found}
    repetitions = ", ".join(f"{count} with {n:,} rows" for n, count in numbers.items())
    return (
        f"“Better” and “worse”: the 95 % interval of the error ratio, over repetitions "
        f"({repetitions}), excludes 1."
    )


def of_kind(found: list[Record], learner: str, methods: Sequence[str]) -> list[Record]:
    """Return the records of some predictors under one learner."""
    return [r for r in found if r["learner"] == learner and r["method"] in methods]


def count(found: list[Record], estimate: str, reference: str) -> tuple[int, int]:
    """Return in how many settings the 95 % interval of the ratio is below 1, and above."""
    ratios = [error_ratio(record, estimate, reference) for record in found]
    return sum(r.high < 1 for r in ratios), sum(r.low > 1 for r in ratios)


def mean_ratio(found: list[Record], estimate: str, reference: str) -> float:
    """Return the geometric mean of the error ratio over settings."""
    logs = [np.log(error_ratio(record, estimate, reference).value) for record in found]
    return float(np.exp(np.mean(logs)))


def wins(found: list[Record], estimate: str = "plug-in", reference: str = "losses on x") -> str:
    """Say how often one estimate is better and worse than another, and by how much."""
    better, worse = count(found, estimate, reference)
    ratio = mean_ratio(found, estimate, reference)
    return (
        f"better in {better} of {len(found)} settings, worse in {worse} (mean error ratio "
        f"{ratio:.2f})"
    )


def _verdicts(found: list[Record]) -> list[str]:
    """Return where the plug-in risk wins and where it loses."""
    rough, simple = (of_kind(found, "splines", kind) for kind in (ROUGH, SIMPLE))
    splines, forest = ([r for r in found if r["learner"] == k] for k in ("splines", "forest"))
    exact = [r for r in found if r["method"] == "the mean"]
    by_rows = {
        n: mean_ratio([r for r in rough if r["n"] == n], "plug-in", "losses on x")
        for n in values(rough, "n")
    }
    growing = ", ".join(f"{ratio:.2f} with {n:,} rows" for n, ratio in by_rows.items())
    return [
        f"**It wins where m is good and the errors of f are rough in x.** With splines, for "
        f"boosting and the nearest neighbour: {wins(rough)}. The ratio is {growing}.",
        f"**Where the errors of f are simple in x, there is little between them.** With splines, "
        f"for a wrong coefficient: {wins(simple)}.",
        f"**It loses where f is better than m.** For f = μ, with both learners: {wins(exact)}. "
        f"With homoscedastic noise there is nothing to win: g is a constant, and the mean loss is "
        f"the best estimate.",
        f"**It loses where the learner is wrong for μ.** With forests, for all predictors: "
        f"{wins(forest)}. It wins only for the nearest neighbour, which is both poor and rough: "
        f"{wins(of_kind(found, 'forest', ROUGH[1:]))}.",
        f"**f, m and (f − m)² as inputs of the regression take part of the difference.** Against "
        f"them the plug-in risk is, with splines for boosting and the nearest neighbour, "
        f"{wins(rough, reference='losses on x, f, m')}; with forests, "
        f"{wins(forest, reference='losses on x, f, m')}.",
        f"**The correction repairs much of a poor m, and costs a little with a good one.** Against "
        f"the plug-in risk the corrected one is, with forests, "
        f"{wins(forest, 'corrected', 'plug-in')}; with splines, "
        f"{wins(splines, 'corrected', 'plug-in')}.",
        _bound_verdict(found),
    ]


def _bound_verdict(found: list[Record]) -> str:
    pairs = [pair for r in found for pair in zip(r["absolute"], r["bound"], strict=True)]
    shares = [absolute / bound for absolute, bound in pairs]
    exceeded = sum(share > 1 for share in shares)
    return (
        f"**The bound** was exceeded in {exceeded} of {len(pairs)} cases, and E|ĝ − g| was "
        f"{np.median(shares):.0%} of it in the median. It is zero for the right m and v, however "
        f"poor f is; but |f − μ| multiplies the error of m."
    )
