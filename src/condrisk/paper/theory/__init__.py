"""The paper's bounds, constructions and counterexamples, computable.

Complexities go into bounds; `condrisk.paper.theory.as_printed` has them as the paper prints them.
"""

from condrisk.paper.theory import as_printed
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
from condrisk.paper.theory._bounds_plug_in import (
    brier_probability_bound,
    plug_in_bound,
    plug_in_lipschitz_bound,
    plug_in_matched_bound,
    separable_bound,
)
from condrisk.paper.theory._cantor import (
    distance_regressor_error,
    distance_to_fat_cantor,
    fat_cantor_intervals,
    fat_cantor_measure,
    in_fat_cantor,
)
from condrisk.paper.theory._cantor_regression import (
    LipschitzRegressor,
    best_lipschitz_error,
    best_lipschitz_regressor,
)
from condrisk.paper.theory._complexity import (
    constant_complexity,
    finite_complexity,
    linear_complexity,
)
from condrisk.paper.theory._complexity_trees import greedy_tree_complexity, stump_complexity
from condrisk.paper.theory._complexity_types import (
    Complexity,
    LowerBound,
    average_complexity,
    sum_complexities,
)
from condrisk.paper.theory._complexity_upper import (
    kernel_ball_bound,
    linear_bound,
    massart_bound,
    network_bound,
    stump_bound,
)
from condrisk.paper.theory._counterexamples import (
    COUNTEREXAMPLES,
    CounterexampleResult,
    simulate_counterexample,
)
from condrisk.paper.theory._realizability import RealizabilityGap, realizability_gap
from condrisk.paper.theory._registry import Counterexample
from condrisk.paper.theory._separable import (
    CantorRows,
    SeparableResult,
    sample_cantor_world,
    separable_experiment,
)

__all__ = [
    "COUNTEREXAMPLES",
    "Bound",
    "CantorRows",
    "Complexity",
    "Counterexample",
    "CounterexampleResult",
    "LipschitzRegressor",
    "LowerBound",
    "RealizabilityGap",
    "SeparableResult",
    "as_printed",
    "average_complexity",
    "best_lipschitz_error",
    "best_lipschitz_regressor",
    "brier_probability_bound",
    "constant_complexity",
    "cross_entropy_kl_bound",
    "distance_regressor_error",
    "distance_to_fat_cantor",
    "fat_cantor_intervals",
    "fat_cantor_measure",
    "finite_complexity",
    "greedy_tree_complexity",
    "in_fat_cantor",
    "kernel_ball_bound",
    "linear_bound",
    "linear_complexity",
    "massart_bound",
    "network_bound",
    "plug_in_bound",
    "plug_in_cross_entropy_bound",
    "plug_in_kl_bound",
    "plug_in_lipschitz_bound",
    "plug_in_matched_bound",
    "realised_absolute_bound",
    "realizability_gap",
    "rejection_bound",
    "restricted_rejection_bound",
    "sample_cantor_world",
    "separable_bound",
    "separable_experiment",
    "simulate_counterexample",
    "squared_error_bound",
    "stump_bound",
    "stump_complexity",
    "sum_complexities",
]
