"""Every bound function, with arguments it accepts."""

import inspect

from condrisk.inference import sample_size
from condrisk.paper.theory import _bounds, _bounds_cross_entropy, _bounds_plug_in, as_printed

ROWS = {"complexity": 0.03, "n": 200, "delta": 0.1}

VALID = {
    _bounds.realised_absolute_bound: {**ROWS, "upper": 2.0},
    _bounds.squared_error_bound: {**ROWS, "upper": 2.0},
    _bounds.rejection_bound: {"regressor_error": 0.1, "risk_error": 0.2},
    _bounds.restricted_rejection_bound: {"conditional_excess": 0.1, "risk_error": 0.2},
    _bounds_plug_in.plug_in_lipschitz_bound: {"l1_distance": 0.3, "upper": 2.0},
    _bounds_plug_in.brier_probability_bound: ROWS,
    _bounds_plug_in.plug_in_bound: {**ROWS, "n_classes": 3, "upper": 2.0},
    _bounds_plug_in.plug_in_matched_bound: {**ROWS, "upper": 2.0},
    _bounds_plug_in.separable_bound: {**ROWS, "upper": 2.0},
    _bounds_cross_entropy.plug_in_kl_bound: {"kl": 0.1, "upper": 2.0},
    _bounds_cross_entropy.cross_entropy_kl_bound: {**ROWS, "floor": 0.1},
    _bounds_cross_entropy.plug_in_cross_entropy_bound: {**ROWS, "floor": 0.1, "upper": 2.0},
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
    """The public functions of the modules that return a bound."""
    functions = set()
    for module in (_bounds, _bounds_plug_in, _bounds_cross_entropy, as_printed):
        for name, function in inspect.getmembers(module, inspect.isfunction):
            if function.__module__ == module.__name__ and not name.startswith("_"):
                functions.add(function)
    return functions


def arguments(cases):
    """Every pair of a function and the name of one of its numbers."""
    return [(function, name) for function, kwargs in cases.items() for name in kwargs]
