"""Rademacher complexities: what a class of functions counts for in a bound.

The empirical complexity of a class G on rows x₁, …, xₙ is E_σ sup_g (1/n) Σᵢ σᵢ g(xᵢ) with
independent random signs σ; its mean over the rows is the expected complexity. Functions named
``…_complexity`` compute it, exactly or by Monte Carlo; those named ``…_bound`` return an upper
bound in closed form.
"""

from condrisk.paper.theory.complexity._closed_form import (
    constant_complexity,
    kernel_ball_bound,
    linear_bound,
    massart_bound,
    network_bound,
    stump_bound,
)
from condrisk.paper.theory.complexity._complexity import (
    Complexity,
    LowerBound,
    average_complexity,
    sum_complexities,
)
from condrisk.paper.theory.complexity._monte_carlo import (
    finite_complexity,
    greedy_tree_complexity,
    linear_complexity,
    stump_complexity,
)

__all__ = [
    "Complexity",
    "LowerBound",
    "average_complexity",
    "constant_complexity",
    "finite_complexity",
    "greedy_tree_complexity",
    "kernel_ball_bound",
    "linear_bound",
    "linear_complexity",
    "massart_bound",
    "network_bound",
    "stump_bound",
    "stump_complexity",
    "sum_complexities",
]
