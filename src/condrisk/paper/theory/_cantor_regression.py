"""The Lipschitz function nearest to the fat Cantor set's indicator, by linear programming."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import linprog
from scipy.sparse import diags, vstack

from condrisk.paper.theory._cantor import fat_cantor_intervals, fat_cantor_measure
from condrisk.paper.theory._checks import check_count, check_positive

Floats = NDArray[np.float64]

_DEEPEST = 10  # 2¹¹ gaps and intervals, with at least four cells each


@dataclass(frozen=True, eq=False)
class LipschitzRegressor:
    """A piecewise linear function of one variable; beyond its last nodes it is constant.

    Attributes
    ----------
    nodes : ndarray
        Where its pieces meet, in increasing order.
    values : ndarray
        Its values there.

    Examples
    --------
    >>> import numpy as np
    >>> from condrisk.paper.theory._cantor_regression import LipschitzRegressor
    >>> ramp = LipschitzRegressor(nodes=np.array([0.0, 2.0]), values=np.array([0.0, 1.0]))
    >>> ramp.predict([-1.0, 0.5, 3.0])
    array([0.  , 0.25, 1.  ])
    """

    nodes: Floats
    values: Floats

    def predict(self, x: ArrayLike) -> Floats:
        """Return the values at any points."""
        return np.interp(np.asarray(x, dtype=np.float64), self.nodes, self.values)


def best_lipschitz_regressor(
    lipschitz: float, *, depth: int = 5, n_cells: int = 4096
) -> LipschitzRegressor:
    """Return the m-Lipschitz function on [0, 1] that is nearest to not being in the Cantor set.

    Nearest in the mean absolute error ∫ |ĝ(x) − 1[x ∉ C]| dx, among functions that are linear
    on each cell of a grid.

    Parameters
    ----------
    lipschitz : float
        The constant m.
    depth : int, default=5
        The depth of the fat Cantor set C, at most 10.
    n_cells : int, default=4096
        One over the width of the widest cells. The ends of the intervals of C are among the
        points of the grid, and near them the cells are narrower.

    Returns
    -------
    LipschitzRegressor

    Examples
    --------
    >>> from condrisk.paper.theory._cantor_regression import best_lipschitz_regressor
    >>> best_lipschitz_regressor(100.0).predict([0.005, 0.5])  # inside C, and in the widest gap
    array([0., 1.])
    """
    m = check_positive(lipschitz, "lipschitz")
    nodes, outside = _grid(depth, check_count(n_cells, "n_cells"), m)
    spacing = np.diff(nodes)
    return LipschitzRegressor(nodes, _least_cost(_cost(spacing, outside), spacing, m))


def best_lipschitz_error(lipschitz: float, *, depth: int = 5, n_cells: int = 4096) -> float:
    """Return the least mean absolute error e(m) of an m-Lipschitz function on the Cantor set.

    Proposition 3 needs that a regressor of x keeps away from g = 1[x ∉ C]. All continuous
    functions together do not, but for each m the m-Lipschitz ones do.

    Parameters
    ----------
    lipschitz : float
        The constant m.
    depth : int, default=5
        The depth of the fat Cantor set C, at most 10.
    n_cells : int, default=4096
        One over the width of the widest cells of the grid.

    Returns
    -------
    float
        The error of `best_lipschitz_regressor`, for x uniform on [0, 1].

    See Also
    --------
    distance_regressor_error : A closed form that is never less.

    Notes
    -----
    As 1[x ∉ C] is zero or one and ĝ may be kept within [0, 1], the error is linear in ĝ: its
    integral over C, plus that of 1 − ĝ outside. So the best piecewise linear function is the
    solution of a sparse linear programme, whose unknowns are the values at the nodes and whose
    constraints are the slopes of the cells. Its error is at least e(m), and at most e(m) + Σ mh²/4
    over the cells' widths h, because an m-Lipschitz function is replaced by its chords at that
    price.

    Examples
    --------
    >>> from condrisk.paper.theory._cantor_regression import best_lipschitz_error
    >>> [round(best_lipschitz_error(m), 3) for m in (1, 10, 100)]
    [0.427, 0.234, 0.075]
    """
    best = best_lipschitz_regressor(lipschitz, depth=depth, n_cells=n_cells)
    nodes, outside = _grid(depth, n_cells, lipschitz)
    cost = _cost(np.diff(nodes), outside)
    return float(1 - fat_cantor_measure(depth) + cost @ best.values)


def fit_lipschitz(x: Floats, z: Floats, m: float) -> LipschitzRegressor:
    """Return the m-Lipschitz function with the least absolute error on rows of zeros and ones."""
    order = np.argsort(x)
    nodes = x[order]
    values = _least_cost(np.where(z[order] == 0, 1.0, -1.0), np.diff(nodes), m)
    return LipschitzRegressor(nodes, values)


def _grid(depth: int, n_cells: int, m: float) -> tuple[Floats, NDArray[np.bool_]]:
    """Return grid points, the ends of the set's intervals among them; and what is no part of it."""
    if check_count(depth, "depth", minimum=0) > _DEEPEST:
        raise ValueError(f"depth must be at most {_DEEPEST} for the linear programme, got {depth}")
    ends = fat_cantor_intervals(depth).ravel()
    lengths = np.diff(ends)
    cells = {length: _cells(length, 1 / n_cells, m) for length in np.unique(lengths)}
    starts = [start + cells[length] for start, length in zip(ends, lengths, strict=False)]
    outside = np.repeat(np.arange(len(starts)) % 2 == 1, [len(piece) for piece in starts])
    return np.append(np.concatenate(starts), 1.0), outside


def _cells(length: float, coarse: float, m: float) -> Floats:
    """Return where the cells of a gap or interval start, counted from where it starts itself.

    The best function climbs at the ends, within 1/m of them, so the cells are narrow there; there
    are at least four, for it to go up and down.
    """
    fine = 1 / (8 * m)
    if fine >= coarse or length <= 16 * fine:
        step = min(fine, coarse, length / 4)
        return np.linspace(0.0, length, int(np.ceil(length / step - 1e-9)), endpoint=False)
    near = fine * np.arange(8)
    count = int(np.ceil((length - 16 * fine) / coarse))
    middle = np.linspace(8 * fine, length - 8 * fine, count, endpoint=False)
    return np.concatenate([near, middle, length - fine * np.arange(8, 0, -1)])


def _cost(spacing: Floats, outside: NDArray[np.bool_]) -> Floats:
    """Return the weight of each node's value in ∫_C ĝ − ∫_{not C} ĝ, exact on linear pieces."""
    halves = np.where(outside, -spacing, spacing) / 2
    return np.append(halves, 0.0) + np.append(0.0, halves)


def _least_cost(cost: Floats, spacing: Floats, m: float) -> Floats:
    """Return values in [0, 1] of least cost whose steps are at most m times the spacing."""
    if len(cost) == 1:
        return (cost < 0).astype(np.float64)
    ones = np.ones(len(spacing))
    steps = diags([-ones, ones], offsets=[0, 1], shape=(len(spacing), len(cost)), format="csr")
    limit = np.tile(m * spacing, 2)
    # Costs of the order of one: the solver's tolerances are absolute.
    found = linprog(
        cost / np.abs(cost).max(),
        A_ub=vstack([steps, -steps], format="csr"),
        b_ub=limit,
        bounds=(0.0, 1.0),
        method="highs",
    )
    if not found.success:
        raise RuntimeError(f"the linear programme was not solved: {found.message}")
    return np.clip(found.x, 0.0, 1.0)
