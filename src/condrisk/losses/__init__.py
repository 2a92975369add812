"""What an error costs, example by example.

A loss is called as ``loss(y_true, response)`` and gives one value per example. It knows which
response of a predictor it scores (`response`), for which task (`task`), and its least value
(`minimum`). A loss on classes also gives ``rows(response, classes=…)``, what each class would
have cost, and ``expected(response, proba, classes=…)``, the sum of those under probabilities.

Examples
--------
>>> from condrisk.losses import log_loss
>>> log_loss([1, 0], [[0.5, 0.5], [0.1, 0.9]])
array([0.693..., 2.302...])
>>> log_loss.expected([[0.5, 0.5]], [[0.9, 0.1]], classes=[0, 1])
array([0.693...])
"""

from condrisk.losses._averaged import AveragedLoss
from condrisk.losses._base import ClassLoss, Loss, Task, encode
from condrisk.losses._classes import LOG_LOSS_FLOOR, CostMatrix
from condrisk.losses._numeric import huber, pinball
from condrisk.losses._resolve import (
    LOSSES,
    PrecomputedLoss,
    absolute_error,
    averaged,
    brier,
    get_loss,
    hamming,
    log_loss,
    make_loss,
    squared_error,
    zero_one,
)

__all__ = [
    "LOG_LOSS_FLOOR",
    "LOSSES",
    "AveragedLoss",
    "ClassLoss",
    "CostMatrix",
    "Loss",
    "PrecomputedLoss",
    "Task",
    "absolute_error",
    "averaged",
    "brier",
    "encode",
    "get_loss",
    "hamming",
    "huber",
    "log_loss",
    "make_loss",
    "pinball",
    "squared_error",
    "zero_one",
]
