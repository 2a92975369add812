"""The chances of several labels, calibrated and put into a loss, each by itself."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from condrisk._expected_loss import class_risk_and_floor
from condrisk.losses import AveragedLoss
from condrisk.risk._calibration import fit_calibrator, warn_of_shifted_classes

Floats = NDArray[np.float64]
LABELS = np.arange(2)


def fit_label_calibrators(
    chances: Floats, y: NDArray[Any], method: str, weight: NDArray[Any] | None
) -> list[Any]:
    """Fit a calibration for each label; see `fit_calibrator`."""
    return [
        fit_calibrator(
            _both(column),
            own,
            classes=LABELS,
            response="predict_proba",
            method=method,
            sample_weight=weight,
        )
        for column, own in zip(chances.T, y.T, strict=True)
    ]


def calibrated_chances(chances: Floats, calibrators: list[Any] | None) -> Floats:
    """Return the chance of each label, after calibration if there is any."""
    if calibrators is None:
        return chances
    columns = zip(calibrators, chances.T, strict=True)
    return np.column_stack([own.predict_proba(_both(column))[:, 1] for own, column in columns])


def warn_of_shifted_labels(chances: Floats, y: NDArray[Any], weight: NDArray[Any] | None) -> None:
    """Warn where the calibrated chance of a label is far from its share on average."""
    for k, (column, own) in enumerate(zip(chances.T, y.T, strict=True)):
        names = np.array([f"not label {k}", f"label {k}"])
        warn_of_shifted_classes(_both(column), names[own], names, weight)


def label_risk_and_floor(
    loss: AveragedLoss, response: NDArray[Any], chances: Floats
) -> tuple[Floats, Floats]:
    """Return the expected loss of each row, and the least of any answer: means over labels."""
    columns = zip(response.T, chances.T, strict=True)
    parts = [class_risk_and_floor(loss.loss, own, _both(p), LABELS) for own, p in columns]
    risks, floors = zip(*parts, strict=True)
    return loss.mean(risks), loss.mean(floors)


def _both(chance: Floats) -> Floats:
    return np.column_stack([1 - chance, chance])
