"""A risk learnt again from all held-out losses there are, and mixed with the risk as it is."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import GroupKFold, KFold

from condrisk.learners import LossRegressor
from condrisk.risk._level import Level

Floats = NDArray[np.float64]
Groups = NDArray[np.intp] | None

N_FOLDS = 5
# A risk below this share of the mean counts as this much, where it divides.
LEAST_SHARE = 0.01


class Known(NamedTuple):
    """Rows in numbers, with their held-out risks and losses, weights and groups if any."""

    numbers: Floats
    risk: Floats
    loss: Floats
    weight: Floats
    groups: Groups

    def at(self, rows: NDArray[np.intp]) -> Known:
        """Return some of the rows."""
        groups = None if self.groups is None else self.groups[rows]
        return Known(
            self.numbers[rows], self.risk[rows], self.loss[rows], self.weight[rows], groups
        )

    def folds(self) -> list[tuple[NDArray[np.intp], NDArray[np.intp]]]:
        """Return rows to learn from and rows to estimate, with groups in one piece."""
        n = len(self.loss) if self.groups is None else len(np.unique(self.groups))
        every = np.arange(len(self.loss))
        if n < 2 or (self.groups is None and n < 2 * N_FOLDS):
            return [(every, every)]
        kind = KFold if self.groups is None else GroupKFold
        folds = kind(min(N_FOLDS, n), shuffle=True, random_state=0)
        return list(folds.split(every, groups=self.groups))


class Relearnt:
    """A regressor of losses that has the risk among its inputs, and the risk's level, mixed.

    The regressor learns from rows that the risk was fitted on, too: from their held-out losses and
    risks, as the risk remembers them. The rows that correct the risk tell how much of each is
    taken: the share has the least squared error on them, each row counting by the inverse of its
    risk.

    Attributes
    ----------
    regressor : LossRegressor
        Of rows and risks.
    level : Level
        Of the risk alone.
    share : float
        How much of the regressor is taken, from 0 to 1.
    """

    def fit(self, own: Known, past: Known) -> Floats:
        """Learn from the rows that correct the risk, `own`, and those it was fitted on, `past`.

        Returns the corrected risks of the rows that correct it, each learnt without its loss.
        """
        self.level = Level().fit(own.risk, own.loss, own.weight)
        plain = np.empty(len(own.loss))
        for others, fold in own.folds():
            part = own.at(others)
            level = Level().fit(part.risk, part.loss, part.weight)
            plain[fold] = level.predict(own.risk[fold])
        parts = own, past
        inputs = np.concatenate([_inputs(part.numbers, part.risk) for part in parts])
        loss = np.concatenate([part.loss for part in parts])
        weight = np.concatenate([part.weight for part in parts])
        groups = own.groups
        if groups is not None and past.groups is not None:
            groups = np.concatenate([groups, past.groups + groups.max() + 1])
        self.regressor = LossRegressor(random_state=0).fit(inputs, loss, weight, groups=groups)
        learnt = self.regressor.held_out_[: len(own.loss)]
        seen = np.isfinite(learnt)  # of more rows than it needs not all were held out
        learnt = np.where(seen, learnt, plain)
        least = LEAST_SHARE * float(np.average(np.abs(plain), weights=own.weight))
        unit = np.maximum(np.abs(plain + learnt) / 2, least) if least > 0 else 1.0
        mass, away = own.weight / unit**2, learnt - plain
        size = float(mass @ away**2)
        gain = float(mass @ (away * (own.loss - plain)))
        self.share = float(np.clip(gain / size, 0.0, 1.0)) if size > 0 else 0.0
        return plain + self.share * away

    def apply(self, risk: Floats, numbers: Floats) -> Floats:
        """Return the corrected risks."""
        plain = self.level.predict(risk)
        if not self.share:
            return plain
        learnt = self.regressor.predict(_inputs(numbers, risk))
        return plain + self.share * (learnt - plain)


def _inputs(numbers: Floats, risk: Floats) -> Floats:
    return np.column_stack([numbers, risk])
