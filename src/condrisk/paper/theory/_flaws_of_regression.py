"""Where Proposition 1, what is said about its risks, and the bound on rejection fail."""

from __future__ import annotations

import numpy as np

from condrisk.paper.theory import as_printed
from condrisk.paper.theory._bound import deviation
from condrisk.paper.theory._bounds import rejection_bound, squared_error_bound
from condrisk.paper.theory._registry import Floats, Outcome, flaw
from condrisk.paper.theory.complexity import constant_complexity

_CHANCE = 0.3  # of a loss of one, in the worlds whose loss is Bernoulli


@flaw(
    claim="Proposition 1: R(θ̂) − R(θ*) ≤ 2 Rad(G) + 2M·s for R(θ) = E|g_θ − g|",
    world="Z ~ Bernoulli(0.3) whatever x, so g = 0.3; G: the constants in [0, 1]",
    quantity="E|ĝ − g| less the least in G, for ĝ of least mean |ĝ − z|",
    repair="least squares, and E(ĝ − g)² ≤ 4M Rad(G) + 2M²·s above the least: the mean absolute "
    "error leads to the median of the loss (its bound holds for E|ĝ − Z| alone)",
    repaired_quantity="E(ĝ − g)² less the least in G, for ĝ of least mean (ĝ − z)²",
    n=1000,
)
def proposition_1(n: int, n_repetitions: int, delta: float, rng: np.random.Generator) -> Outcome:
    """Minimise the absolute error over constants: the median, not the mean, is found."""
    mean = rng.binomial(n, _CHANCE, n_repetitions) / n
    median = (mean > 0.5).astype(np.float64)
    constants = constant_complexity(n=n)
    return Outcome(
        printed_bound=as_printed.proposition_1(
            complexity=constants, n=n, upper=1.0, delta=delta
        ).value,
        observed=np.abs(median - _CHANCE),
        repaired_bound=squared_error_bound(complexity=constants, n=n, upper=1.0, delta=delta).value,
        repaired_observed=(mean - _CHANCE) ** 2,
    )


@flaw(
    claim="the test error R̂(θ), the mean of |g_θ − z|, is an unbiased estimator of R(θ)",
    world="Z ~ Bernoulli(0.3) whatever x, and g_θ = g = 0.3, so R(θ) = 0. (For g_θ = 0, R = 0.3 "
    "and there is no bias: the truth looks worse than zero, 0.42 against 0.3)",
    quantity="R̂(θ) − R(θ), where an unbiased mean exceeds s with probability at most δ",
    repair="differences of squared errors: the mean of (g_θ − z)² − (h − z)² is unbiased for "
    "E(g_θ − g)² − E(h − g)²; it may be off by 2M²·s",
    repaired_quantity="the mean of (g_θ − z)² − (h − z)² less what it estimates, for h = 0",
    n=1000,
)
def unbiased_risk(n: int, n_repetitions: int, delta: float, rng: np.random.Generator) -> Outcome:
    """Score the true risk against realised losses."""
    ones = rng.binomial(n, _CHANCE, n_repetitions) / n

    def mean_over_rows(of_one: float, of_zero: float) -> Floats:
        return of_one * ones + of_zero * (1 - ones)

    truth, other = _CHANCE, 0.0
    difference = mean_over_rows((truth - 1) ** 2 - (other - 1) ** 2, truth**2 - other**2)
    s = deviation(n, delta)
    return Outcome(
        printed_bound=s,
        observed=mean_over_rows(1 - truth, truth),
        repaired_bound=2 * s,
        repaired_observed=difference - (0.0 - (other - _CHANCE) ** 2),
    )


# The third class comes six times in 10,000 rows; the predictor gives it next to no probability.
_RARE = 6e-4
_COMMON_LOSS = float(np.log(2.0))
_RARE_LOSS = float(-np.log(1e-300))
_CLIP = 1e-3


@flaw(
    claim="bounds with ‖ℓ‖∞ < M, for the log loss, with M taken from the losses that are seen",
    world="f = (½, ½, 10⁻³⁰⁰), the third class comes six times in 10,000 rows, all other losses "
    "are ln 2 = M; G = {ln 2, g}. The rare loss is 691, so that g = 1.11",
    quantity="E(ĝ − g)² for ĝ of least mean (ĝ − z)², against 4M Rad(G) + 2M²·s",
    repair="clip probabilities, here at 10⁻³: the loss is bounded by M = −ln(clip)",
    repaired_quantity="E(ĝ − g)² of the clipped loss, for the best constant in [0, M]",
    n=500,
)
def unbounded_log_loss(
    n: int, n_repetitions: int, delta: float, rng: np.random.Generator
) -> Outcome:
    """Believe that the largest loss seen is the largest there is."""
    share = rng.binomial(n, _RARE, n_repetitions) / n
    risk = (1 - _RARE) * _COMMON_LOSS + _RARE * _RARE_LOSS
    mean = (1 - share) * _COMMON_LOSS + share * _RARE_LOSS
    # The mean of squares is least for the member nearest to the mean.
    chosen = np.where(mean < (risk + _COMMON_LOSS) / 2, _COMMON_LOSS, risk)
    upper = float(-np.log(_CLIP))
    clipped_risk = (1 - _RARE) * _COMMON_LOSS + _RARE * upper
    clipped_mean = (1 - share) * _COMMON_LOSS + share * upper
    return Outcome(
        printed_bound=squared_error_bound(
            complexity=constant_complexity(n=n, lower=_COMMON_LOSS, upper=risk),
            n=n,
            upper=_COMMON_LOSS,
            delta=delta,
        ).value,
        observed=(chosen - risk) ** 2,
        repaired_bound=squared_error_bound(
            complexity=constant_complexity(n=n, upper=upper), n=n, upper=upper, delta=delta
        ).value,
        repaired_observed=(clipped_mean - clipped_risk) ** 2,
    )


_BELOW = 0.1  # how far the regressor lies below the best one of its class


@flaw(
    claim="the loss with rejection exceeds that of the best pair (f*, r*) of the class by at most "
    "E(f̂ − f*)² + E|g_θ − g|",
    world="Y uniform on [0, 2], the class {f ≤ 0}, so f* = 0; f̂ = −0.1, g_θ the mean loss of n "
    "rows, and asking costs c = 10, so that nothing is rejected",
    quantity="the loss of (f̂, r_θ) less that of (f*, r*)",
    repair="f* = E[Y | X], the best of all regressors (for a class, E max(0, g − g*) has to take "
    "the place of the first term)",
    repaired_quantity="the loss of (f̂, r_θ) less that of (E[Y | X], r*)",
    n=1000,
)
def rejection_over_class(
    n: int, n_repetitions: int, delta: float, rng: np.random.Generator
) -> Outcome:
    """Compare with the best regressor of a class that lacks the conditional mean."""
    cost, centre, variance, fitted = 10.0, 1.0, 1 / 3, -_BELOW
    risk = (fitted - centre) ** 2 + variance
    estimate = ((fitted - 2 * rng.random((n_repetitions, n))) ** 2).mean(axis=1)
    loss = np.where(estimate <= cost, risk, cost)
    risk_error = np.abs(estimate - risk)
    best_of_class, best_of_all = 0.0, centre

    def excess(best: float) -> Floats:
        return loss - min((best - centre) ** 2 + variance, cost)

    return Outcome(
        printed_bound=np.array(
            [
                as_printed.rejection_bound(
                    regressor_error=(fitted - best_of_class) ** 2, risk_error=error
                ).value
                for error in risk_error
            ]
        ),
        observed=excess(best_of_class),
        repaired_bound=np.array(
            [
                rejection_bound(regressor_error=(fitted - best_of_all) ** 2, risk_error=error).value
                for error in risk_error
            ]
        ),
        repaired_observed=excess(best_of_all),
    )
