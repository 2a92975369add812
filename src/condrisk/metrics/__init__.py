"""How good was it: functions of arrays, one realised loss and one estimated risk a row.

All take `sample_weight`. None depends on the order of the rows, whatever ties the risk has. A
row of weight two counts as that row given twice, a row of weight zero as a row that is not there.
"""

from condrisk.metrics._calibration import (
    RiskCalibrationCurve,
    risk_calibration_curve,
    risk_calibration_error,
)
from condrisk.metrics._coverage import RiskCoverageCurve, aurc, excess_aurc, risk_coverage_curve
from condrisk.metrics._deferral import (
    CostCurve,
    cost_curve,
    deferral_loss,
    deferral_rate,
    risk_error,
)
from condrisk.metrics._multicalibration import (
    SegmentCalibration,
    multicalibration_error,
    segment_calibration,
)
from condrisk.metrics._scorer import risk_scorer
from condrisk.metrics._working_points import (
    MetricInterval,
    augrc,
    coverage_at_risk,
    metric_interval,
    risk_at_coverage,
)

__all__ = [
    "CostCurve",
    "MetricInterval",
    "RiskCalibrationCurve",
    "RiskCoverageCurve",
    "SegmentCalibration",
    "augrc",
    "aurc",
    "cost_curve",
    "coverage_at_risk",
    "deferral_loss",
    "deferral_rate",
    "excess_aurc",
    "metric_interval",
    "multicalibration_error",
    "risk_at_coverage",
    "risk_calibration_curve",
    "risk_calibration_error",
    "risk_coverage_curve",
    "risk_error",
    "risk_scorer",
    "segment_calibration",
]
