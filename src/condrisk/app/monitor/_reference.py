"""How risk and loss went together on rows that the model had not seen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from condrisk._bins import BinnedColumn
from condrisk._validation import check_vectors

Floats = NDArray[np.float64]

# As a model file keeps them.
MOST_GROUPS = 200


def _n_groups(n_rows: int) -> int:
    return min(MOST_GROUPS, n_rows)


@dataclass(frozen=True, eq=False)
class Reference:
    """Held-out rows in groups of similar risk; what new rows are compared with.

    Attributes
    ----------
    n : ndarray of shape (n_groups,)
        The number of rows of each group; groups go from the least risk to the greatest.
    risk, loss : ndarray of shape (n_groups,)
        Means of estimated risk and of realised loss.
    low, high : ndarray of shape (n_groups,)
        The least and the greatest risk.
    square : ndarray of shape (n_groups,)
        Means of the squared loss.
    row_risk, row_loss : ndarray of shape (n_kept,)
        Risk and loss of single rows in random order, which the alarm compares new rows with;
        empty where they are not known.
    fitted : Reference or None
        The rows that the risk was learnt from, each with a risk learnt from the others.
    same_predictor : bool
        Whether the losses of `fitted` are those of the same predictor, not of one that was fitted
        on fewer rows.
    columns : tuple of BinnedColumn
        How the rows are distributed, column by column.

    Examples
    --------
    >>> import numpy as np
    >>> from condrisk.app.monitor import Reference
    >>> rng = np.random.default_rng(0)
    >>> risk = rng.uniform(1, 3, size=1000)
    >>> reference = Reference.from_rows(risk, risk * rng.exponential(size=1000))
    >>> len(reference.n), reference.rows
    (200, 1000)
    """

    n: Floats
    risk: Floats
    low: Floats
    high: Floats
    loss: Floats
    square: Floats
    row_risk: Floats = field(default_factory=lambda: np.empty(0))
    row_loss: Floats = field(default_factory=lambda: np.empty(0))
    fitted: Reference | None = None
    same_predictor: bool = False
    columns: tuple[BinnedColumn, ...] = ()

    @classmethod
    def from_manifest(cls, manifest: Mapping[str, Any]) -> Self:
        """Return the reference that a model's manifest describes: its held-out rows."""
        groups = cls.from_profile(manifest["profile"])
        held = manifest.get("held_out")
        if held is None:
            return groups
        fitted = None if held["fit_profile"] is None else cls.from_profile(held["fit_profile"])
        return replace(
            groups,
            row_risk=np.asarray(held["risk"], dtype=np.float64),
            row_loss=np.asarray(held["loss"], dtype=np.float64),
            fitted=fitted,
            same_predictor=held["same_predictor"],
            columns=tuple(BinnedColumn.from_dict(column) for column in held["columns"]),
        )

    @classmethod
    def from_profile(cls, groups: Sequence[Sequence[float]]) -> Self:
        """Return the reference that the `profile` of a model's manifest describes.

        Parameters
        ----------
        groups : sequence of [n, mean risk, lowest risk, highest risk, mean loss, mean loss²]
            From the least risk to the greatest.

        Returns
        -------
        Reference
            The same as arrays.
        """
        table = np.asarray(groups, dtype=np.float64)
        if table.ndim != 2 or table.shape[1] != 6 or not len(table):
            raise ValueError("groups must be a table of six columns, as a model's manifest has it.")
        return cls(*table.T)

    @classmethod
    def from_rows(cls, risk: ArrayLike, loss: ArrayLike) -> Self:
        """Group rows that neither predictor nor risk was fitted on.

        Parameters
        ----------
        risk, loss : array-like of shape (n_rows,)
            Estimated risk and realised loss.

        Returns
        -------
        Reference
            With at most 200 groups of equal size.
        """
        risk, loss = check_vectors(risk=risk, loss=loss)
        mixed = np.random.default_rng(0).permutation(len(risk))
        rows = risk[mixed], loss[mixed]
        order = np.argsort(risk, kind="stable")
        risk, loss = risk[order], loss[order]
        ends = np.cumsum([len(part) for part in np.array_split(order, _n_groups(len(order)))])
        starts = np.append(0, ends[:-1])
        n = np.diff(ends, prepend=0).astype(np.float64)
        means = (np.add.reduceat(values, starts) / n for values in (risk, loss, loss**2))
        mean_risk, mean_loss, square = means
        low, high = risk[starts], risk[ends - 1]
        return cls(n, mean_risk, low, high, mean_loss, square, *rows)

    def joined(self, other: Reference | None) -> Reference:
        """Return the groups of both."""
        if other is None:
            return self
        parts = ("n", "risk", "high", "loss", "square")
        both = [np.concatenate([getattr(self, part), getattr(other, part)]) for part in parts]
        order = np.argsort(both[1], kind="stable")
        n, risk, high, loss, square = (values[order] for values in both)
        # Groups of the two lie across each other: from here on each lies at its mean risk.
        ends = risk.copy()
        ends[-1] = high.max()
        return Reference(n, risk, risk, ends, loss, square)

    @property
    def rows(self) -> int:
        """The number of rows."""
        return int(self.n.sum())

    @property
    def mean_risk(self) -> float:
        """The mean estimated risk."""
        return float(np.average(self.risk, weights=self.n))

    @property
    def mean_loss(self) -> float:
        """The mean realised loss."""
        return float(np.average(self.loss, weights=self.n))

    @property
    def residual_square(self) -> Floats:
        """The mean square of loss less risk in each group, risks taken as equal in it."""
        return np.maximum(self.square - 2 * self.risk * self.loss + self.risk**2, 0.0)

    def merged(self, *, at_most: int, at_least: int = 1) -> Reference:
        """Return fewer groups, with no risk in two of them.

        Parameters
        ----------
        at_most : int
            The greatest number of groups.
        at_least : int, default=1
            The least number of rows in each, as far as there are so many.

        Returns
        -------
        Reference
            The same rows in other groups.
        """
        size = max(at_least, self.rows / at_most)
        starts, rows = [0], 0.0
        left = self.rows - np.cumsum(self.n)  # after each group
        for k in range(len(self.n) - 1):
            rows += self.n[k]
            enough = rows >= size - 1e-9 and left[k] >= size - 1e-9
            if enough and self.low[k + 1] > self.high[k]:
                starts.append(k + 1)
                rows = 0.0
        n = np.add.reduceat(self.n, starts)

        def mean(values: Floats) -> Floats:
            return np.add.reduceat(self.n * values, starts) / n

        return Reference(
            n,
            mean(self.risk),
            np.minimum.reduceat(self.low, starts),
            np.maximum.reduceat(self.high, starts),
            mean(self.loss),
            mean(self.square),
        )

    def group_of(self, risk: Floats) -> NDArray[np.intp]:
        """Return the group in which each risk falls; what lies between two goes to the lower."""
        return np.maximum(np.searchsorted(self.low, risk, side="right") - 1, 0)
