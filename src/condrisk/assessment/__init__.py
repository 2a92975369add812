"""What held-out rows say: does deferring pay, is the risk calibrated, which model is better.

All functions take one realised loss and one estimated risk or decision a row, of rows that neither
predictor nor risk was fitted on, and give estimates with intervals.
"""

from condrisk.assessment._calibration import CalibrationTest, calibration_test
from condrisk.assessment._comparison import PairedFigure, RiskComparison, compare_risks
from condrisk.assessment._savings import DeferralSavings, deferral_savings

__all__ = [
    "CalibrationTest",
    "DeferralSavings",
    "PairedFigure",
    "RiskComparison",
    "calibration_test",
    "compare_risks",
    "deferral_savings",
]
