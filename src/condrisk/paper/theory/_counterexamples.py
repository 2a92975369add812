"""What the paper claims and small worlds show to be otherwise, with what repairs each claim."""

from __future__ import annotations

from dataclasses import astuple, dataclass
from typing import Any

import numpy as np

from condrisk.paper.theory import _flaws_of_probabilities, _flaws_of_proofs, _flaws_of_regression
from condrisk.paper.theory._checks import check_count, check_open_unit
from condrisk.paper.theory._registry import FLAWS, Counterexample, Floats, Outcome

_FILES = (_flaws_of_regression, _flaws_of_probabilities, _flaws_of_proofs)  # they fill FLAWS

# In the order of the paper.
COUNTEREXAMPLES: dict[str, Counterexample] = {
    name: FLAWS[name]
    for name in (
        "proposition_1",
        "unbiased_risk",
        "weak_realizability",
        "proposition_2_membership",
        "unique_minimizer",
        "theorem_1_line_1",
        "theorem_1_line_1_realizable",
        "theorem_1_line_2",
        "theorem_1_cross_term",
        "theorem_1_conditional_mean",
        "vector_complexity",
        "outside_simplex",
        "proposition_3_density",
        "rejection_over_class",
        "unbounded_log_loss",
    )
}

# Below this an excess over a bound is rounding: several bounds here are equalities.
_ROUNDING = 1e-12
# Repetitions are simulated in blocks of about this many rows.
_BLOCK_ROWS = 2_000_000


@dataclass(frozen=True)
class CounterexampleResult:
    """A claim of the paper, put to the test in a world of its own.

    Attributes
    ----------
    name : str
        The key in `COUNTEREXAMPLES`.
    claim : str
        What is printed.
    quantity : str
        What was computed in every repetition, to be held against the printed bound.
    relation : {"<=", ">="}
        How the quantity should stand to the printed bound.
    printed_bound : float
        The printed bound (its mean over the repetitions where it depends on the rows).
    observed : float
        The mean of the quantity over the repetitions.
    standard_error : float
        The standard error of that mean.
    violations : int
        In how many repetitions the printed claim failed.
    n : int
        The rows of a repetition.
    n_repetitions : int
        How many repetitions there were.
    delta : float
        In what share of the repetitions a bound may fail.
    repair : str
        What makes the claim true.
    repaired_quantity : str
        What the repaired bound is about.
    repaired_bound : float
        The repaired bound (its mean where it depends on the rows).
    repaired_observed : float
        The mean of that quantity over the repetitions.
    repaired_violations : int
        In how many repetitions the repaired claim failed.

    Examples
    --------
    >>> from condrisk.paper.theory import simulate_counterexample
    >>> result = simulate_counterexample("theorem_1_line_1", random_state=0)
    >>> print(f"{result.observed:.2f} {result.relation} {result.printed_bound:.2f} fails")
    0.12 <= 0.04 fails
    """

    name: str
    claim: str
    quantity: str
    relation: str
    printed_bound: float
    observed: float
    standard_error: float
    violations: int
    n: int
    n_repetitions: int
    delta: float
    repair: str
    repaired_quantity: str
    repaired_bound: float
    repaired_observed: float
    repaired_violations: int


def simulate_counterexample(
    name: str,
    *,
    n: int | None = None,
    n_repetitions: int = 2000,
    delta: float = 0.05,
    random_state: Any = None,
) -> CounterexampleResult:
    """Put a claim of the paper, and its repair, to the test in a small world.

    Parameters
    ----------
    name : str
        A key of `COUNTEREXAMPLES`.
    n : int, optional
        The rows of a repetition; by default what the counterexample names as its own.
    n_repetitions : int, default=2000
        How often to draw those rows anew.
    delta : float, default=0.05
        The share of repetitions in which a bound may fail.
    random_state : None, int or numpy.random.Generator
        Where the randomness comes from; an int gives the same figures every time.

    Returns
    -------
    CounterexampleResult
        The printed claim with how often it failed, and the same for its repair.

    Examples
    --------
    >>> from condrisk.paper.theory import simulate_counterexample
    >>> shown = simulate_counterexample("proposition_1", n=1000, random_state=0)
    >>> round(shown.observed, 3), round(shown.printed_bound, 3)
    (0.3, 0.103)
    >>> shown.violations, shown.n_repetitions, shown.repaired_violations
    (2000, 2000, 0)
    """
    if name not in COUNTEREXAMPLES:
        raise ValueError(f"name must be one of {sorted(COUNTEREXAMPLES)}, got {name!r}.")
    shown = COUNTEREXAMPLES[name]
    n = shown.n if n is None else check_count(n, "n")
    n_repetitions = check_count(n_repetitions, "n_repetitions")
    delta = check_open_unit(delta, "delta")
    outcome = _simulate(shown, n, n_repetitions, delta, np.random.default_rng(random_state))
    return _summary(shown, outcome, n=n, n_repetitions=n_repetitions, delta=delta)


def _simulate(
    shown: Counterexample, n: int, n_repetitions: int, delta: float, rng: np.random.Generator
) -> Outcome:
    """Simulate block by block, and return a number per repetition of everything."""
    size = max(1, _BLOCK_ROWS // n)
    blocks = []
    for start in range(0, n_repetitions, size):
        count = min(size, n_repetitions - start)
        block = shown.simulate(n, count, delta, rng)
        blocks.append([np.broadcast_to(values, count) for values in astuple(block)])
    return Outcome(*(np.concatenate(values) for values in zip(*blocks, strict=True)))


def _summary(
    shown: Counterexample, outcome: Outcome, *, n: int, n_repetitions: int, delta: float
) -> CounterexampleResult:
    sign = 1.0 if shown.relation == "<=" else -1.0

    def failures(quantity: Floats | float, bound: Floats | float) -> int:
        return int(np.count_nonzero(sign * (quantity - bound) > _ROUNDING))

    spread = float(np.std(outcome.observed, ddof=1)) if n_repetitions > 1 else float("nan")
    return CounterexampleResult(
        name=shown.name,
        claim=shown.claim,
        quantity=shown.quantity,
        relation=shown.relation,
        printed_bound=float(np.mean(outcome.printed_bound)),
        observed=float(np.mean(outcome.observed)),
        standard_error=spread / np.sqrt(n_repetitions),
        violations=failures(outcome.observed, outcome.printed_bound),
        n=n,
        n_repetitions=n_repetitions,
        delta=delta,
        repair=shown.repair,
        repaired_quantity=shown.repaired_quantity,
        repaired_bound=float(np.mean(outcome.repaired_bound)),
        repaired_observed=float(np.mean(outcome.repaired_observed)),
        repaired_violations=failures(outcome.repaired_observed, outcome.repaired_bound),
    )
