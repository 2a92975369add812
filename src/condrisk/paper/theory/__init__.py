"""The paper's bounds and counterexamples, computable.

`condrisk.paper.theory.complexity` has the complexities that go into bounds, and
`condrisk.paper.theory.as_printed` the bounds as the paper prints them.
"""

from condrisk.paper.theory._bound import Bound
from condrisk.paper.theory._bounds import (
    realised_absolute_bound,
    rejection_bound,
    restricted_rejection_bound,
    squared_error_bound,
)
from condrisk.paper.theory._bounds_cross_entropy import (
    cross_entropy_kl_bound,
    plug_in_cross_entropy_bound,
    plug_in_kl_bound,
)
from condrisk.paper.theory._bounds_mean_variance import plug_in_mean_variance_bound
from condrisk.paper.theory._bounds_plug_in import (
    brier_probability_bound,
    plug_in_bound,
    plug_in_lipschitz_bound,
    plug_in_matched_bound,
    separable_bound,
)
from condrisk.paper.theory._counterexamples import COUNTEREXAMPLES, simulate_counterexample
from condrisk.paper.theory._realizability import realizability_gap

__all__ = [
    "COUNTEREXAMPLES",
    "Bound",
    "brier_probability_bound",
    "cross_entropy_kl_bound",
    "plug_in_bound",
    "plug_in_cross_entropy_bound",
    "plug_in_kl_bound",
    "plug_in_lipschitz_bound",
    "plug_in_matched_bound",
    "plug_in_mean_variance_bound",
    "realised_absolute_bound",
    "realizability_gap",
    "rejection_bound",
    "restricted_rejection_bound",
    "separable_bound",
    "simulate_counterexample",
    "squared_error_bound",
]
