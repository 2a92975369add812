"""How far what a learner predicts depends on each column."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from condrisk._state import leaves_rows_out

if TYPE_CHECKING:
    from condrisk.learners._encoder import TableEncoder

Floats = NDArray[np.float64]

# Training rows that are kept to ask the learner about, and rows that it is asked about at a time.
MOST_ROWS, ROWS_AT_A_TIME = 500, 10_000


class ImportancesMixin(BaseEstimator):
    """Gives learners `feature_importances_`, the same for models of any kind.

    Impurities would say something of the trees only, and most of it of the noise that a tree grown
    to the end has learnt. Here a column counts as far as predictions change where its values are
    those of another row: half the mean squared change, which is the total Sobol index of columns
    that are independent of each other.
    """

    encoder_: TableEncoder | None
    _sample: Floats
    _importances: Floats | None

    @abstractmethod
    def _predictions(self, numbers: Floats) -> Floats:
        """Return what is predicted for encoded rows: numbers, or a column for each class."""

    def _keep_sample(self, numbers: Floats, weight: Floats) -> None:
        """Keep some of the encoded training rows, in random order."""
        rows = np.random.default_rng(0).permutation(np.flatnonzero(weight > 0))[:MOST_ROWS]
        self._sample, self._importances = numbers[rows], None

    @property
    def feature_importances_(self) -> Floats:
        """How far predictions depend on each column; see the class."""
        check_is_fitted(self, "encoder_")
        if self.__dict__.get("_importances") is None:
            if "_sample" not in self.__dict__:
                raise AttributeError(
                    f"this {type(self).__name__} has no feature_importances_: it comes from a "
                    f"model file, which holds no training rows. Ask for them before saving."
                )
            changes = self._changes()
            self._importances = changes / (changes.sum() or 1.0)
        assert self._importances is not None
        return self._importances.copy()

    def _changes(self) -> Floats:
        """Return the mean squared change of predictions by each column of the input."""
        rows, n_rows = self._sample, len(self._sample)
        source = np.arange(rows.shape[1]) if self.encoder_ is None else self.encoder_.sources()
        others, before = np.roll(rows, 1, axis=0), self._predictions(rows)
        columns = [np.flatnonzero(source == k) for k in range(source.max() + 1)]
        changes, step = [], max(1, ROWS_AT_A_TIME // n_rows)
        for start in range(0, len(columns), step):
            part = columns[start : start + step]
            mixed = np.tile(rows, (len(part), 1, 1))
            for copy, own in zip(mixed, part, strict=True):
                copy[:, own] = others[:, own]
            after = self._predictions(mixed.reshape(-1, rows.shape[1]))
            squared = (after.reshape(len(part), *before.shape) - before) ** 2
            changes += [float(change.sum() / n_rows) for change in squared]
        return np.array(changes)

    def __getstate__(self) -> dict[str, Any]:
        state = dict(super().__getstate__())
        if leaves_rows_out():
            state.pop("_sample", None)
        return state
