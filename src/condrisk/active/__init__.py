"""Which rows to label next, by estimated risk."""

from condrisk.active._core_set import k_center
from condrisk.active._gain import GainSampler
from condrisk.active._risk_sampler import RiskSampler
from condrisk.active._split import split_risk
from condrisk.active._strategy import RiskQueryStrategy

__all__ = [
    "GainSampler",
    "RiskQueryStrategy",
    "RiskSampler",
    "k_center",
    "split_risk",
]
