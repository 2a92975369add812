"""What the methods that decide for themselves share: prices, decisions and their score."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.model_selection import GroupShuffleSplit, train_test_split
from sklearn.utils import check_array, check_consistent_length, column_or_1d
from sklearn.utils.validation import _num_samples

from condrisk._validation import check_cost, check_weight
from condrisk.deferral import Decision

Floats = NDArray[np.float64]
Rows = NDArray[np.intp]


class DeferringMixin:
    """`defer`, `decide` and `score` of a regressor that decides by itself, at a price."""

    cost: float | None

    @abstractmethod
    def _respond(self, X: Any, cost: Floats) -> tuple[Floats, Floats, NDArray[np.bool_]]:
        """Return prediction, risk and whether to defer, at a price or one price a row."""

    @abstractmethod
    def _loss_of(self, X: Any, y: Any, prediction: Floats) -> Floats:
        """Return the loss of each prediction."""

    def defer(self, X: Any, *, cost: ArrayLike | None = None) -> NDArray[np.bool_]:
        """Tell for which rows to ask the expert.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.
        cost : float or array-like of shape (n_samples,), optional
            The price of asking, one for all rows or one a row; the model's own if not given.

        Returns
        -------
        ndarray of bool, shape (n_samples,)
            True where the expert is asked.
        """
        return self._respond(X, self._cost_of(cost, X, "defer(X"))[2]

    def decide(self, X: Any, *, cost: ArrayLike | None = None) -> Decision:
        """Return prediction, risk and decision together.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.
        cost : float or array-like of shape (n_samples,), optional
            The price of asking, one for all rows or one a row; the model's own if not given.

        Returns
        -------
        Decision
            With `prediction`, `risk`, `deferred` and `to_frame()`. The risk is NaN where the
            method estimates none.
        """
        return Decision(*self._respond(X, self._cost_of(cost, X, "decide(X")), X)

    def score(
        self,
        X: Any,
        y: Any,
        *,
        cost: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> float:
        """Return minus the mean deferral loss: the loss where accepted, the price where not.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows that the model was not fitted on.
        y : array-like of shape (n_samples,)
            Their targets.
        cost : float or array-like of shape (n_samples,), optional
            The price of asking, one for all rows or one a row; the model's own if not given.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the rows in the mean.

        Returns
        -------
        float
            Larger is better.
        """
        each = self._cost_of(cost, X, "score(X, y")
        prediction, _, deferred = self._respond(X, each)
        loss = self._loss_of(X, y, prediction)
        weight = check_weight(sample_weight, loss, "X")
        return -float(np.average(np.where(deferred, each, loss), weights=weight))

    def _cost_of(self, cost: ArrayLike | None, X: Any, call: str) -> Floats:
        cost = self.cost if cost is None else cost
        if cost is None:
            raise ValueError(
                f"cost must be given: the price of asking, as {type(self).__name__}(…, cost=…) or "
                f"{call}, cost=…)."
            )
        return check_cost(cost, np.zeros(_num_samples(X)), "X")

    def _check_own_cost(self) -> None:
        if self.cost is None:
            return
        if np.ndim(self.cost):
            raise ValueError("cost must be one number here; give a price a row to `decide`.")
        check_cost(self.cost, np.zeros(1), "cost")

    @abstractmethod
    def _choose(self, cost: Floats) -> Any:
        """Return the number of the candidate for a cost, or for each of several."""

    def _chosen_for(self, candidates: Floats, cost: ArrayLike) -> Any:
        """Return the candidate for a cost, or an array for several."""
        chosen = candidates[self._choose(check_cost(cost, np.zeros(np.size(cost)), "cost"))]
        return chosen if np.ndim(cost) else float(chosen)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.regressor_tags.poor_score = True  # score is minus a loss, not an R²
        return tags


def check_targets(X: Any, y: Any) -> Floats:
    """Return the targets of some rows, as finite numbers."""
    y = column_or_1d(y, warn=True)
    check_consistent_length(X, y)
    return check_array(y, ensure_2d=False, input_name="y", dtype=np.float64)


def check_candidates(values: ArrayLike, name: str) -> Floats:
    """Return a non-empty list of numbers as an array."""
    array = np.asarray(values)
    if array.ndim != 1 or not array.size or array.dtype.kind not in "biuf":
        raise ValueError(f"{name} must be a non-empty list of numbers, got {values!r}.")
    return array.astype(np.float64)


def split_rows(
    n_rows: int, groups: Any, *, test_size: float, random_state: Any
) -> tuple[Rows, Rows]:
    """Split the numbers of the rows in two, keeping groups together where there are such."""
    rows = np.arange(n_rows)
    if groups is None:
        return train_test_split(rows, test_size=test_size, random_state=random_state)
    splitter = GroupShuffleSplit(1, test_size=test_size, random_state=random_state)
    return next(splitter.split(rows, groups=groups))


def check_groups(groups: Any, X: Any) -> NDArray[Any] | None:
    """Return the groups as an array with one entry for each row of `X`."""
    if groups is None:
        return None
    check_consistent_length(X, groups)
    return np.asarray(groups)


def by_choice(choice: Any, n_rows: int) -> list[tuple[int, Rows]]:
    """Return each choice with the rows that made it, from one for all rows or one a row."""
    each = np.broadcast_to(choice, n_rows)
    return [(int(one), np.flatnonzero(each == one)) for one in np.unique(each)]
