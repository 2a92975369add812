"""One way to check the quantities that complexities and bounds are given by name."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Matrix = NDArray[np.float64]


def check_real(value: Any, name: str) -> float:
    """Return `value` as a finite float."""
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value.item()
    if isinstance(value, bool | np.bool_) or not isinstance(value, Real):
        raise TypeError(f"{name} must be a real number, got {value!r}")
    number = float(value)
    if not np.isfinite(number):
        raise ValueError(f"{name} must be finite, got {number}")
    return number


def check_non_negative(value: Any, name: str) -> float:
    """Return `value` as a finite float of at least zero."""
    number = check_real(value, name)
    if number < 0:
        raise ValueError(f"{name} must not be negative, got {number}")
    return number


def check_positive(value: Any, name: str) -> float:
    """Return `value` as a finite float above zero."""
    number = check_real(value, name)
    if number <= 0:
        raise ValueError(f"{name} must be greater than zero, got {number}")
    return number


def check_open_unit(value: Any, name: str) -> float:
    """Return `value` as a float strictly between zero and one."""
    number = check_real(value, name)
    if not 0 < number < 1:
        raise ValueError(f"{name} must lie strictly between 0 and 1, got {number}")
    return number


def check_count(value: Any, name: str, *, minimum: int = 1) -> int:
    """Return `value` as an integer of at least `minimum`."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, Integral):
        raise TypeError(f"{name} must be an integer, got {value!r}")
    if value < minimum:
        raise ValueError(f"{name} must be at least {minimum}, got {value}")
    return int(value)


def check_interval(low: Any, high: Any, *, names: tuple[str, str]) -> tuple[float, float]:
    """Return the two ends of an interval, the first not above the second."""
    start, end = check_real(low, names[0]), check_real(high, names[1])
    if start > end:
        raise ValueError(f"{names[0]} must not exceed {names[1]}, got {start} and {end}")
    return start, end


def check_matrix(values: ArrayLike, name: str, shape: str) -> Matrix:
    """Return `values` as a two-dimensional float64 array without NaN or infinity.

    `shape` says in words what the two dimensions are.
    """
    try:
        array = np.asarray(values)
    except ValueError as error:  # rows of different lengths
        raise ValueError(f"{name} must be two-dimensional, {shape}: {error}") from error
    if array.ndim != 2:
        raise ValueError(
            f"{name} must be two-dimensional, {shape}, got an array of shape {array.shape}"
        )
    if array.size == 0:
        raise ValueError(f"{name} is empty, its shape is {array.shape}: {shape} are needed")
    if array.dtype.kind not in "biuf":
        raise TypeError(f"{name} must be made of real numbers, got dtype {array.dtype}")
    wrong = np.argwhere(~np.isfinite(array))
    if len(wrong):
        row, column = wrong[0]
        raise ValueError(
            f"{name} must be finite, got {len(wrong)} value(s) that are NaN or infinite, the first "
            f"at row {row}, column {column}"
        )
    return array.astype(np.float64, copy=False)
