"""Tests and intervals for the mean of bounded losses, exact at every number of rows."""

from condrisk.inference._betting import betting_interval, betting_p_value, betting_p_values
from condrisk.inference._binomial import binomial_interval, binomial_p_values, binomial_upper
from condrisk.inference._mean import MeanInterval, empirical_bernstein_interval
from condrisk.inference._risk_error import RiskErrorInterval, risk_error_interval
from condrisk.inference._sample_size import sample_size

__all__ = [
    "MeanInterval",
    "RiskErrorInterval",
    "betting_interval",
    "betting_p_value",
    "betting_p_values",
    "binomial_interval",
    "binomial_p_values",
    "binomial_upper",
    "empirical_bernstein_interval",
    "risk_error_interval",
    "sample_size",
]
