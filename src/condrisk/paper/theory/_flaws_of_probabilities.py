"""Where realizability, Proposition 2 and the two lines of Theorem 1 fail.

In all worlds the loss is zero-one and f ≡ 0, so that g is the probability of not being class 0.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, xlog1py

from condrisk.paper.theory import as_printed
from condrisk.paper.theory._bounds_plug_in import (
    brier_probability_bound,
    plug_in_bound,
    plug_in_matched_bound,
)
from condrisk.paper.theory._registry import Floats, Outcome, flaw
from condrisk.paper.theory.complexity import Complexity, constant_complexity, sum_complexities

_LOW, _HIGH = 0.1, 0.9  # the probability of class 1 at x = 0 and at x = 1


def _two_classes(one: Complexity) -> Complexity:
    """Return the sum over both classes: 1 − q has the complexity of q."""
    return sum_complexities([one, one])


@lru_cache(maxsize=8)
def _cells_complexity(*, n: int, n_cells: int, width: float = 1.0) -> Complexity:
    """Return the expected complexity of all functions of a cell, values in a range of this width.

    In a cell with N rows the supremum is width/2 times |Σ σᵢ|, plus what has mean zero, and
    E|Σ σᵢ| = N·C(N−1, ⌊(N−1)/2⌋)/2ᴺ⁻¹; N is binomial.
    """
    rows = np.arange(1, n + 1)
    below = (rows - 1) // 2
    log_ways = gammaln(rows) - gammaln(below + 1) - gammaln(rows - below)
    walk = rows * np.exp(log_ways - (rows - 1) * np.log(2))
    log_chance = gammaln(n + 1) - gammaln(rows + 1) - gammaln(n - rows + 1)
    log_chance += xlog1py(n - rows, -1 / n_cells) - rows * np.log(n_cells)
    value = width / 2 * n_cells * float(np.exp(log_chance) @ walk) / n
    return Complexity(value=value, kind="exact", name=f"functions of {n_cells} cells")


@flaw(
    claim="Theorem 1, line 2, under weak realizability as printed: for all x, p(· | x) is in H",
    world="X a fair coin, P(Y = 1 | x) = 0.1 or 0.9; H: constants, one of which equals p(· | x) "
    "for each x, but none for both",
    quantity="R_ca(θ̂) = E|g_ca,θ̂ − g| of the Brier minimiser",
    repair="one member of H equals p almost everywhere, as among all functions of x",
    repaired_quantity="R_ca(θ̂) of the Brier minimiser over all functions of x",
    n=10_000,
)
def weak_realizability(
    n: int, n_repetitions: int, delta: float, rng: np.random.Generator
) -> Outcome:
    """Fit a constant where each value of x has a constant of its own."""
    right = rng.binomial(n, 0.5, n_repetitions)
    counts = np.stack([n - right, right], axis=1)
    ones = rng.binomial(counts, [_LOW, _HIGH])
    constant = ones.sum(axis=1, keepdims=True) / n
    by_cell = np.divide(ones, counts, out=np.full(counts.shape, 0.5), where=counts > 0)
    return Outcome(
        printed_bound=as_printed.theorem_1_line_2(
            complexity=_two_classes(constant_complexity(n=n)),
            n=n,
            n_classes=2,
            upper=1.0,
            delta=delta,
        ).value,
        observed=np.abs(constant - [_LOW, _HIGH]).mean(axis=1),
        repaired_bound=plug_in_bound(
            complexity=_two_classes(_cells_complexity(n=n, n_cells=2)),
            n=n,
            n_classes=2,
            upper=1.0,
            delta=delta,
        ).value,
        repaired_observed=np.abs(by_cell - [_LOW, _HIGH]).mean(axis=1),
    )


@flaw(
    claim="Proposition 2: the plug-in risk of p is a minimiser of E|g_θ − g| in G",
    world="X a fair coin, P(Y = 1 | x) = 0.1 or 0.9; G: constants",
    quantity="the mean over n rows of |g_ca − g_θ| for the nearest g_θ in G: zero for a member",
    repair="g has to be in G, as it is among all functions of x",
    repaired_quantity="the same, for G: all functions of x",
    n=1000,
)
def proposition_2_membership(
    n: int, n_repetitions: int, delta: float, rng: np.random.Generator
) -> Outcome:
    """Measure how far the plug-in risk is from a class that lacks g."""
    right = rng.binomial(n, 0.5, n_repetitions) / n
    # The nearest constant is a median of the plug-in risks of the rows, one of the two values.
    to_constants = (_HIGH - _LOW) * np.minimum(right, 1 - right)
    by_cell = np.array([_LOW, _HIGH])
    to_functions = np.abs(by_cell - [_LOW, _HIGH]) @ np.stack([1 - right, right])
    return Outcome(0.0, to_constants, 0.0, to_functions)


@flaw(
    claim="Proposition 2: the minimiser of the expected loss in H is unique",
    world="X uniform on [0, 1], P(Y = 1 | x) = x; H = {p, q}, where q is p but for q(½) = (1, 0)",
    quantity="sup over x of |p − q| if p and q have the same Brier loss on the rows, else zero",
    repair="the minimiser is unique almost everywhere: E|p − q| = 0",
    repaired_quantity="the mean of |p − q| over the rows",
    n=500,
)
def unique_minimizer(n: int, n_repetitions: int, delta: float, rng: np.random.Generator) -> Outcome:
    """Change the truth where no row will ever be."""
    x = rng.random((n_repetitions, n))
    y = rng.random((n_repetitions, n)) < x
    other = np.where(x == 0.5, 0.0, x)
    tied = ((x - y) ** 2).sum(axis=1) == ((other - y) ** 2).sum(axis=1)
    return Outcome(0.0, np.where(tied, 0.5, 0.0), 0.0, np.abs(x - other).mean(axis=1))


@flaw(
    claim="Theorem 1, line 1: R_ca(θ̂) − R_ca(θ*) ≤ 2M Rad(H) + 2M·s",
    world="P(X = 1) = 0.3, Y = X; H: constants, so that p(· | x) is in H for each x, as printed",
    quantity="R_ca(θ̂) less the least in H, for the Brier minimiser θ̂",
    repair="the bound holds for the minimiser of the mean of |g_ca,θ − z|, not of a proper score",
    repaired_quantity="E|g_ca,θ̂ − Z| less the least in H, for its empirical minimiser (Z = g)",
    n=10_000,
)
def theorem_1_line_1(n: int, n_repetitions: int, delta: float, rng: np.random.Generator) -> Outcome:
    """Fit probabilities, and be judged by the absolute error of the risk."""
    share = rng.binomial(n, 0.3, n_repetitions) / n
    complexity = _two_classes(constant_complexity(n=n))

    def excess(constant: Floats) -> Floats:
        return 0.3 * (1 - constant) + 0.7 * constant - 0.3

    return Outcome(
        printed_bound=as_printed.theorem_1_line_1(
            complexity=complexity, n=n, upper=1.0, delta=delta
        ).value,
        observed=excess(share),
        repaired_bound=plug_in_matched_bound(
            complexity=complexity, n=n, upper=1.0, delta=delta
        ).value,
        repaired_observed=excess((share > 0.5).astype(np.float64)),
    )


_CROWD = 200  # rows a cell, on average
_STEP = 0.053  # ¾ of the standard deviation of a share of so many fair labels, twice


@flaw(
    claim="Theorem 1, line 1, where p is a member of H: R_ca(θ̂) ≤ 2M Rad(H) + 2M·s",
    world="X uniform on cells with 200 rows each on average, P(Y = 1) = 0.5; H chooses 0.5 or "
    "0.553 in each cell",
    quantity="R_ca(θ̂) of the Brier minimiser",
    repair="the root of line 2, M√(K(Σₖ Rad(H_k) + s)): a proper score controls the square of the "
    "distance",
    repaired_quantity="R_ca(θ̂) of the Brier minimiser",
    n=300_000,
)
def theorem_1_line_1_realizable(
    n: int, n_repetitions: int, delta: float, rng: np.random.Generator
) -> Outcome:
    """Err a little in many cells, where the Brier loss hardly tells the members apart."""
    n_cells = max(1, n // _CROWD)
    counts = rng.multinomial(n, np.full(n_cells, 1 / n_cells), size=n_repetitions)
    ones = rng.binomial(counts, 0.5)
    wrong = ones > counts * (0.5 + _STEP / 2)  # the share of ones is nearer to 0.553
    risk = _STEP * wrong.mean(axis=1)
    complexity = _two_classes(_cells_complexity(n=n, n_cells=n_cells, width=_STEP))
    return Outcome(
        printed_bound=as_printed.theorem_1_line_1(
            complexity=complexity, n=n, upper=1.0, delta=delta
        ).value,
        observed=risk,
        repaired_bound=plug_in_bound(
            complexity=complexity, n=n, n_classes=2, upper=1.0, delta=delta
        ).value,
        repaired_observed=risk,
    )


@flaw(
    claim="Theorem 1, line 2: R_ca(θ) ≤ M√(K(2 Rad(H) + s)) for all θ",
    world="P(Y = 1) = 0.1 whatever x; H = {p, q} with q = (0.1, 0.9)",
    quantity="the greatest R_ca(θ) over θ",
    repair="it holds for the Brier minimiser θ̂, as M√(K(Σₖ Rad(H_k) + s))",
    repaired_quantity="R_ca(θ̂)",
    n=1000,
)
def theorem_1_line_2(n: int, n_repetitions: int, delta: float, rng: np.random.Generator) -> Outcome:
    """Keep a bad member in the class."""
    share = rng.binomial(n, _LOW, n_repetitions) / n
    members = np.array([_LOW, _HIGH])
    risks = np.abs(members - _LOW)
    brier = share[:, np.newaxis] * (1 - members) ** 2 + (1 - share[:, np.newaxis]) * members**2
    # Two constants have the complexity of the interval between them.
    complexity = _two_classes(constant_complexity(n=n, lower=_LOW, upper=_HIGH))
    return Outcome(
        printed_bound=as_printed.theorem_1_line_2(
            complexity=complexity, n=n, n_classes=2, upper=1.0, delta=delta
        ).value,
        observed=float(risks.max()),
        repaired_bound=plug_in_bound(
            complexity=complexity, n=n, n_classes=2, upper=1.0, delta=delta
        ).value,
        repaired_observed=risks[np.argmin(brier, axis=1)],
    )


_CLASSES = 20
_ROWS_A_CELL = 8


@flaw(
    claim="Theorem 1's proof: E‖p_θ̂ − p‖² ≤ 2 Rad(H) + s, where Rad(H) of vectors is left open; "
    "here read as the greatest Rad(H_k)",
    world="X uniform on cells with 8 rows each on average, 20 classes of equal chances; H moves p "
    "in each cell by 0 or by ±1/20 in every class, half of them up",
    quantity="E‖p_θ̂ − p‖² of the Brier minimiser",
    repair="the sum over classes: 4 Σₖ Rad(H_k) + 4s (here far above what can happen at all)",
    repaired_quantity="E‖p_θ̂ − p‖² of the Brier minimiser",
    n=6000,
)
def vector_complexity(
    n: int, n_repetitions: int, delta: float, rng: np.random.Generator
) -> Outcome:
    """Overfit in all classes at once, and count one of them.

    This breaks the proof's bound on the squared distance. The line of the theorem itself, which
    has twice the factor it needs before the root, is not broken here.
    """
    n_cells = max(1, n // _ROWS_A_CELL)
    counts = rng.multinomial(n, np.full(n_cells, 1 / n_cells), size=n_repetitions)
    moved = _moved(counts, rng)
    each = _cells_complexity(n=n, n_cells=n_cells, width=2 / _CLASSES)
    printed = as_printed.theorem_1_line_2(
        complexity=each, n=n, n_classes=_CLASSES, upper=1.0, delta=delta
    )
    distance = moved.mean(axis=1) / _CLASSES  # a move has the squared length 20·(1/20)²
    return Outcome(
        printed_bound=sum(printed.terms.values()),
        observed=distance,
        repaired_bound=brier_probability_bound(
            complexity=sum_complexities([each] * _CLASSES), n=n, delta=delta
        ).value,
        repaired_observed=distance,
    )


def _moved(counts: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.bool_]:
    """Tell in which cells of `counts` rows the Brier minimiser differs from p.

    A move v changes the Brier loss of a cell by N‖v‖² − 2 Σᵢ v_{yᵢ}, which is N/20 − (up − down)/10
    with the numbers of rows in classes that go up and down; the best move lifts the ten classes
    with the most rows. Up to ten rows are always all lifted, so labels need not be drawn.
    """
    moved = counts > 0
    crowded = counts > _CLASSES // 2
    labels = rng.multinomial(counts[crowded], np.full(_CLASSES, 1 / _CLASSES))
    up = np.sort(labels, axis=1)[:, _CLASSES // 2 :].sum(axis=1)
    moved[crowded] = 2 * up - counts[crowded] > counts[crowded] / 2
    return moved


@flaw(
    claim="Theorem 1's proof: g_ca,θ ≤ M, though H is only said to map into [0, 1]ᴷ",
    world="10 classes; p_θ drawn uniformly from [0, 1]¹⁰",
    quantity="g_ca,θ, for M = 1",
    repair="H has to map into the simplex: divide by the sum",
    repaired_quantity="g_ca,θ after division by the sum",
    n=1,
)
def outside_simplex(n: int, n_repetitions: int, delta: float, rng: np.random.Generator) -> Outcome:
    """Let probabilities add up to more than one."""
    vectors = rng.random((n_repetitions, 10))
    risk = vectors[:, 1:].sum(axis=1)
    return Outcome(1.0, risk, 1.0, risk / vectors.sum(axis=1))
