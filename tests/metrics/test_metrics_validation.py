"""Every metric refuses bad input with an error that names the argument."""

import numpy as np
import polars as pl
import pytest

from condrisk.metrics import (
    aurc,
    cost_curve,
    deferral_loss,
    deferral_rate,
    excess_aurc,
    risk_calibration_curve,
    risk_calibration_error,
    risk_coverage_curve,
    risk_error,
)

GOOD = {
    "loss": [0.0, 1.0, 2.0],
    "risk": [0.5, 0.5, 1.0],
    "cost": [0.1, 0.2, 0.3],
    "costs": [0.1, 0.2],
    "sample_weight": [1.0, 2.0, 0.0],
}

ARGUMENTS = {
    deferral_loss: ["loss", "risk", "cost", "sample_weight"],
    deferral_rate: ["risk", "cost", "sample_weight"],
    risk_error: ["loss", "risk", "sample_weight"],
    risk_coverage_curve: ["loss", "risk", "sample_weight"],
    aurc: ["loss", "risk", "sample_weight"],
    excess_aurc: ["loss", "risk", "sample_weight"],
    cost_curve: ["loss", "risk", "costs", "sample_weight"],
    risk_calibration_curve: ["loss", "risk", "sample_weight"],
    risk_calibration_error: ["loss", "risk", "sample_weight"],
}

BAD = {
    "NaN": ([0.0, np.nan, 1.0], ValueError, "must be finite, got 1 value.* first at row 1"),
    "infinity": ([np.inf, 0.0, -np.inf], ValueError, "must be finite, got 2 value.* at row 0"),
    "a missing value": (pl.Series([0.0, None, 1.0]), ValueError, "must be finite"),
    "None among numbers": ([0.0, None, 1.0], TypeError, "must be made of real numbers, got None"),
    "a column": ([[0.0], [1.0], [2.0]], ValueError, r"one-dimensional.* shape \(3, 1\)"),
    "ragged": ([[0.0], [1.0, 2.0], [2.0]], ValueError, "one-dimensional"),
    "empty": ([], ValueError, "is empty"),
    "strings": (["0", "1", "2"], TypeError, "must be made of real numbers"),
    "strings in objects": (np.array(["0", "1"], object), TypeError, "real numbers, got '0'"),
    "complex": ([1j, 0j, 0j], TypeError, "must be made of real numbers"),
    "dates": (np.zeros(3, "datetime64[s]"), TypeError, "must be made of real numbers"),
}
BAD_LENGTH = {
    "one row": ([1.0], ValueError, "must have the same length, got"),
    "too long": ([1.0] * 4, ValueError, "must have the same length, got"),
}
BAD_OF_ONE = [
    ("sample_weight", [1.0, -1.0, 1.0], "must not be negative, got -1.0"),
    ("sample_weight", [0.0, 0.0, 0.0], "must have a positive, finite sum"),
    ("sample_weight", [1e308, 1e308, 1e308], "must have a positive, finite sum"),
    ("sample_weight", 1.0, "must be one-dimensional"),
    ("loss", 1.0, "must be one-dimensional"),
    ("risk", 1.0, "must be one-dimensional"),
    ("cost", -0.1, "is a price and must not be negative, got -0.1"),
    ("cost", [0.1, -0.2, 0.1], "is a price and must not be negative, got -0.2"),
    ("cost", np.nan, "must be finite"),
    ("cost", np.inf, "must be finite"),
    ("costs", [0.1, -0.2], "is a price and must not be negative, got -0.2"),
    ("costs", 0.5, "must be one-dimensional"),
]


# All metrics check columns by one function: everything that it refuses is tried on one metric, what
# is most often wrong on all.
OFTEN = ("NaN", "strings", "a column")


def cases():
    for function, arguments in ARGUMENTS.items():
        kinds = BAD if function is risk_error else {what: BAD[what] for what in OFTEN}
        for argument in arguments:
            bad = kinds if argument == "costs" else kinds | BAD_LENGTH
            for what, (value, error, message) in bad.items():
                name = f"{function.__name__}-{argument}-{what}"
                yield pytest.param(function, argument, value, error, message, id=name)
        for argument, value, message in BAD_OF_ONE:
            if argument in arguments:
                name = f"{function.__name__}-{argument}-{value}"
                yield pytest.param(function, argument, value, ValueError, message, id=name)


def call(function, **changed):
    """Call with good arguments but for those that are changed."""
    values = {name: GOOD[name] for name in ARGUMENTS[function]} | changed
    positional = [values.pop(name) for name in ("loss", "risk", "cost") if name in values]
    return function(*positional, **values)


@pytest.mark.parametrize(("function", "argument", "value", "error", "message"), list(cases()))
def test_bad_argument(function, argument, value, error, message):
    with pytest.raises(error, match=message) as caught:
        call(function, **{argument: value})
    assert argument in str(caught.value)


@pytest.mark.parametrize("function", ARGUMENTS)
def test_good_arguments(function):
    call(function)


@pytest.mark.parametrize("function", ARGUMENTS)
def test_options_are_keywords(function):
    positional = [GOOD[name] for name in ARGUMENTS[function] if name != "sample_weight"]
    with pytest.raises(TypeError, match="positional argument"):
        function(*positional, GOOD["sample_weight"], GOOD["sample_weight"])


def test_the_price_is_one_or_one_a_row():
    with pytest.raises(ValueError, match="cost must be one-dimensional"):
        deferral_loss([1.0, 2.0], [1.0, 2.0], [[0.5, 0.5]])
    with pytest.raises(ValueError, match="cost and risk must have the same length"):
        deferral_rate([1.0, 2.0], [0.5])
