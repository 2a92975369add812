"""Every bound function, with arguments it accepts."""

import inspect

from condrisk.inference import sample_size
from condrisk.paper import theory
from condrisk.paper.theory import as_printed

ROWS = {"complexity": 0.03, "n": 200, "delta": 0.1}

VALID = {
    theory.realised_absolute_bound: {**ROWS, "upper": 2.0},
    theory.squared_error_bound: {**ROWS, "upper": 2.0},
    theory.rejection_bound: {"regressor_error": 0.1, "risk_error": 0.2},
    theory.restricted_rejection_bound: {"conditional_excess": 0.1, "risk_error": 0.2},
    theory.plug_in_lipschitz_bound: {"l1_distance": 0.3, "upper": 2.0},
    theory.brier_probability_bound: ROWS,
    theory.plug_in_bound: {**ROWS, "n_classes": 3, "upper": 2.0},
    theory.plug_in_matched_bound: {**ROWS, "upper": 2.0},
    theory.separable_bound: {**ROWS, "upper": 2.0},
    theory.plug_in_kl_bound: {"kl": 0.1, "upper": 2.0},
    theory.cross_entropy_kl_bound: {**ROWS, "floor": 0.1},
    theory.plug_in_cross_entropy_bound: {**ROWS, "floor": 0.1, "upper": 2.0},
    theory.plug_in_mean_variance_bound: {
        "variance_error": 0.1,
        "mean_error": 0.2,
        "predictor_error": 0.5,
    },
}

PRINTED = {
    as_printed.proposition_1: {**ROWS, "upper": 2.0},
    as_printed.theorem_1_line_1: {**ROWS, "upper": 2.0},
    as_printed.theorem_1_line_2: {**ROWS, "n_classes": 3, "upper": 2.0},
    as_printed.theorem_1_l1_distance: {"l1_distance": 0.3, "upper": 2.0},
    as_printed.proposition_3: ROWS,
    as_printed.proposition_3_regression: {**ROWS, "best_risk": 0.1},
    as_printed.rejection_bound: {"regressor_error": 0.1, "risk_error": 0.2},
}

PLANNING = {
    sample_size: {"epsilon": 0.1, "delta": 0.1, "upper": 2.0, "rate_constant": 1.0},
}

ALL = {**VALID, **PRINTED}


def found():
    """The public functions that return a bound."""
    bounds = {getattr(theory, name) for name in theory.__all__ if name.endswith("_bound")}
    printed = inspect.getmembers(as_printed, inspect.isfunction)
    return bounds | {
        function
        for name, function in printed
        if function.__module__ == as_printed.__name__ and not name.startswith("_")
    }
