"""The experiment behind Proposition 3: what a Lipschitz regressor cannot learn, and who can.

The world is the one of the paper's proof. A row is, with equal chances, of class 0 and uniform on
[−2, −1], or of class 1 and uniform on [0, 1]. The predictor f is the indicator of the fat Cantor
set C. Its zero-one loss is a function of x: zero on the left and on C, one on [0, 1] outside C.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from condrisk.paper.theory._cantor import in_fat_cantor
from condrisk.paper.theory._cantor_regression import Floats, best_lipschitz_error, fit_lipschitz
from condrisk.paper.theory._checks import check_count, check_positive


@dataclass(frozen=True, eq=False)
class CantorRows:
    """Rows of the world of Proposition 3.

    Attributes
    ----------
    x : ndarray of shape (n,)
        The feature.
    y : ndarray of shape (n,)
        The class: 1 where x ≥ 0, else 0.
    prediction : ndarray of shape (n,)
        f(x): 1 on the fat Cantor set, else 0.
    risk : ndarray of shape (n,)
        g(x), which is also the realised zero-one loss: the classes leave no doubt.

    Examples
    --------
    >>> from condrisk.paper.theory._separable import sample_cantor_world
    >>> rows = sample_cantor_world(5, random_state=0)
    >>> rows.x.shape, rows.y.shape, rows.prediction.shape, rows.risk.shape
    ((5,), (5,), (5,), (5,))
    """

    x: Floats
    y: NDArray[np.intp]
    prediction: NDArray[np.intp]
    risk: Floats


@dataclass(frozen=True)
class SeparableResult:
    """How far three estimates of the risk, fitted to the same rows, are from it.

    Attributes
    ----------
    n : int
        The number of rows.
    lipschitz : float
        The Lipschitz constant m of the regressors.
    regression_error : float
        E|ĝ − g| of the m-Lipschitz function of x with the least absolute error on the rows.
    regression_limit : float
        What the error of such functions cannot fall below, whatever the rows: half of
        `best_lipschitz_error`.
    calibration_error : float
        E|ĝ − g| of the plug-in risk of a threshold that separates the classes.
    augmented_error : float
        E|ĝ − g| of the regression whose inputs are x and f(x), m-Lipschitz in x.

    Examples
    --------
    >>> from condrisk.paper.theory._separable import separable_experiment
    >>> separable_experiment(500, lipschitz=1.0, random_state=0).regression_limit
    0.2137
    """

    n: int
    lipschitz: float
    regression_error: float
    regression_limit: float
    calibration_error: float
    augmented_error: float


def sample_cantor_world(n: int, *, depth: int = 5, random_state: Any = None) -> CantorRows:
    """Draw rows of the world in the proof of Proposition 3.

    Parameters
    ----------
    n : int
        How many rows.
    depth : int, default=5
        The depth of the fat Cantor set.
    random_state : None, int or numpy.random.Generator
        Where the randomness comes from; an int gives the same rows every time.

    Returns
    -------
    CantorRows

    Examples
    --------
    >>> from condrisk.paper.theory._separable import sample_cantor_world
    >>> rows = sample_cantor_world(1000, random_state=0)
    >>> bool(((rows.prediction != rows.y) == rows.risk).all())
    True
    """
    rng = np.random.default_rng(random_state)
    y = rng.integers(2, size=check_count(n, "n"))
    x = rng.random(len(y)) + np.where(y == 1, 0.0, -2.0)
    return _rows(x, y, depth)


def separable_experiment(
    n: int, *, lipschitz: float, depth: int = 5, random_state: Any = None
) -> SeparableResult:
    """Estimate the risk in the world of Proposition 3 in three ways from the same rows.

    Parameters
    ----------
    n : int
        How many rows.
    lipschitz : float
        The Lipschitz constant m of the regressors, at least 1.
    depth : int, default=5
        The depth of the fat Cantor set.
    random_state : None, int or numpy.random.Generator
        Where the randomness comes from; an int gives the same rows every time.

    Returns
    -------
    SeparableResult

    Notes
    -----
    The calibration-based estimate knows that classes are separated by a threshold, and puts it
    half-way between them; its error is zero once both classes have been seen, whatever f is. A
    regression of the loss on x alone has to learn f. With f(x) among its inputs it needs not: for
    f(x) = 0 the risk is zero on the left and one on the right, for f(x) = 1 it is zero.

    Examples
    --------
    >>> from condrisk.paper.theory._separable import separable_experiment
    >>> result = separable_experiment(500, lipschitz=10.0, random_state=0)
    >>> result.regression_error > result.regression_limit > 0.11
    True
    >>> result.calibration_error, round(result.augmented_error, 3)
    (0.0, 0.0)
    """
    m = check_positive(lipschitz, "lipschitz")
    if m < 1:
        raise ValueError(f"lipschitz must be at least 1, to get from class to class, got {m}")
    rows = sample_cantor_world(n, depth=depth, random_state=random_state)
    every = _every_row(depth)
    plain = fit_lipschitz(rows.x, rows.risk, m).predict(every.x)
    augmented = np.zeros(len(every.x))
    for value in (0, 1):
        fitted, predicted = rows.prediction == value, every.prediction == value
        if fitted.any():
            augmented[predicted] = fit_lipschitz(rows.x[fitted], rows.risk[fitted], m).predict(
                every.x[predicted]
            )
    return SeparableResult(
        n=len(rows.x),
        lipschitz=m,
        regression_error=float(np.abs(plain - every.risk).mean()),
        regression_limit=best_lipschitz_error(m, depth=depth) / 2,
        calibration_error=_threshold_error(rows),
        augmented_error=float(np.abs(augmented - every.risk).mean()),
    )


def _rows(x: Floats, y: NDArray[np.intp], depth: int) -> CantorRows:
    prediction = in_fat_cantor(x, depth=depth).astype(np.intp)
    return CantorRows(x, y, prediction, (prediction != y).astype(np.float64))


def _every_row(depth: int, n_points: int = 1 << 16) -> CantorRows:
    """Return the middles of equal cells of both halves, to take means over."""
    unit = (np.arange(n_points) + 0.5) / n_points
    return _rows(np.concatenate([unit - 2, unit]), np.repeat([0, 1], n_points), depth)


def _threshold_error(rows: CantorRows) -> float:
    """Return E|ĝ − g| of the plug-in risk of the threshold half-way between the classes."""
    if rows.y.min() == rows.y.max():
        return 0.5  # one class is taken for the other, and zero-one risks are wrong by one
    return 0.0  # half-way between [−2, −1] and [0, 1] lies in the gap, wherever the rows are
