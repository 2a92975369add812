"""A hybrid risk and regressions of the loss, mixed as far as held-out rows bear it out."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from condrisk._budget import Clock
from condrisk._progress import announce
from condrisk.learners import LossRegressor
from condrisk.risk._correction import followed
from condrisk.risk._held_out import MOST_ROWS

Floats = NDArray[np.float64]

# The least unit of an error, as a share of the mean loss: rows of hardly any risk decide nothing.
LEAST_UNIT = 0.1
BASE = "hybrid"
# Fewer rows than this teach nothing but their mean.
FEWEST_ROWS = 20


class RiskMixture:
    """The hybrid risk, moved towards regressions of the loss where these do better.

    Regressions learn whatever repeats, artefacts of a few rows included, and beyond the rows seen
    they know nothing. So the hybrid risk is the base, another candidate has a share only as far
    as its gain on held-out rows is sure, and none where the base is higher than it ever was.

    Parameters
    ----------
    seed : int
        For the regressions.
    n_jobs : int or None
        How many trees to grow at a time.

    Attributes
    ----------
    shares : dict of str to float
        The share of each candidate.
    rows : ndarray of int, shape (n_judged,)
        The rows that candidates are judged on: those that every regression says something of
        without having seen them. At most 50,000, and rows without weight.
    held_out : dict of str to ndarray of shape (n_judged,)
        What each candidate, and the mixture, says of these rows, whose losses it has not seen.
    seconds : dict of str to float
        What each regression took; zero for those that there was no time for.
    """

    def __init__(self, seed: int, n_jobs: int | None) -> None:
        self._seed, self._n_jobs = seed, n_jobs

    def regress(
        self,
        inputs: dict[str, Callable[[], Floats]],
        loss: Floats,
        weight: Floats | None,
        groups: Any,
        *,
        clock: Clock,
        expected: float,
    ) -> Self:
        """Fit the regressions.

        Parameters
        ----------
        inputs : dict of str to callable
            Returns the inputs of each regression, shape (n_rows, n_inputs).
        loss : ndarray of shape (n_rows,)
            Losses of rows that the predictor was not fitted on.
        weight : ndarray of shape (n_rows,) or None
            Their weights.
        groups : ndarray of shape (n_rows,) or None
            What is held out together.
        clock : Clock
            The time left. What follows the regressions is to have as much as one of them.
        expected : float
            How many seconds a regression is expected to take.
        """
        self._models: dict[str, LossRegressor] = {}
        self.seconds = dict.fromkeys(inputs, 0.0)
        found: dict[str, Floats] = {}
        for name, rows in inputs.items():
            start = time.perf_counter()
            if not clock.allows(2 * expected):
                break
            announce(f"risk: {name}")
            model = LossRegressor(n_jobs=self._n_jobs, random_state=self._seed)
            self._models[name] = model.fit(rows(), loss, weight, groups=groups)
            found[name] = model.held_out_
            del model.held_out_
            self.seconds[name] = expected = time.perf_counter() - start
        known = np.isfinite(np.column_stack([*found.values(), loss])).all(axis=1)
        if weight is not None:
            known |= weight == 0
        self.rows = np.flatnonzero(known)
        if len(self.rows) > MOST_ROWS:  # there is no regression
            order = np.random.RandomState(self._seed).permutation(self.rows)
            self.rows = np.sort(order[:MOST_ROWS])
        mean = float(np.average(loss, weights=weight))
        self.held_out = {
            name: np.where(np.isnan(estimate), mean, estimate)[self.rows]
            for name, estimate in found.items()
        }
        self._mean = mean
        return self

    def mix(self, known: dict[str, Floats], loss: Floats, weight: Floats | None) -> Self:
        """Find the shares.

        Parameters
        ----------
        known : dict of str to ndarray of shape (n_judged,)
            Candidates that are at hand, the base among them, which have not seen the losses.
        loss : ndarray of shape (n_judged,)
            Losses of the rows judged.
        weight : ndarray of shape (n_judged,) or None
            Their weights.
        """
        mean = np.full(len(loss), self._mean)
        self.held_out = {**known, "mean": mean, **self.held_out}
        self._mix(loss, np.ones(len(loss)) if weight is None else weight)
        return self

    def _mix(self, loss: Floats, weight: Floats) -> None:
        base = self.held_out[BASE]
        names = [name for name in self.held_out if name != BASE]
        unit = np.maximum(np.abs(base), LEAST_UNIT * abs(self._mean))
        unit = np.where(unit > 0, unit, 1.0)
        away = np.column_stack([self.held_out[name] - base for name in names])
        shares = followed(away / unit[:, None], (loss - base) / unit, weight)
        if len(loss) < FEWEST_ROWS:
            shares = np.array([float(name == "mean") for name in names])
        self.shares = dict(zip(names, shares.tolist(), strict=True))
        self.shares[BASE] = 1.0 - float(shares.sum())
        self._highest = float(base.max()) if len(loss) >= FEWEST_ROWS else np.inf
        self.held_out["mixture"] = base + away @ shares

    def keep(self, name: str) -> None:
        """Use one candidate in place of the mixture."""
        self.shares = {other: float(other == name) for other in self.shares}
        self._highest = np.inf

    def __getstate__(self) -> dict[str, Any]:
        used = {name: model for name, model in self._models.items() if self.shares[name] > 0}
        return {**vars(self), "_models": used}

    def predict(self, inputs: dict[str, Any], known: dict[str, Floats]) -> Floats:
        """Estimate the mean loss at each row; inputs are functions that return arrays."""
        base = known[BASE]
        mixture = self.shares[BASE] * base + self.shares["mean"] * self._mean
        for name, share in self.shares.items():
            if share > 0 and name in self._models:
                mixture = mixture + share * self._models[name].predict(inputs[name]())
            elif share > 0 and name in known and name != BASE:
                mixture = mixture + share * known[name]
        return np.where(base > self._highest, base, mixture)
