"""Tests and intervals for the mean of bounded losses, exact at every number of rows."""

from condrisk.inference._betting import (
    MeanInterval,
    betting_interval,
    betting_p_value,
    empirical_bernstein_interval,
)
from condrisk.inference._interval import RiskErrorInterval, risk_error_interval
from condrisk.inference._planning import sample_size

__all__ = [
    "MeanInterval",
    "RiskErrorInterval",
    "betting_interval",
    "betting_p_value",
    "empirical_bernstein_interval",
    "risk_error_interval",
    "sample_size",
]
