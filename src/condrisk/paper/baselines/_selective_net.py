"""SelectiveNet: a network that answers and selects at once."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, RegressorMixin, _fit_context
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import check_is_fitted, validate_data

from condrisk.paper.baselines._deferring import (
    DeferringMixin,
    Floats,
    Rows,
    by_choice,
    check_candidates,
    check_groups,
    check_targets,
    split_rows,
)
from condrisk.paper.baselines._forward import Weights, predictions_and_selection
from condrisk.paper.baselines._heads import SelectiveHead
from condrisk.paper.baselines._net_regressor import TRAINING_CONSTRAINTS, training_of
from condrisk.paper.baselines._stack import train

_FEWEST_ROWS = 2  # of a batch norm


class SelectiveNet(DeferringMixin, RegressorMixin, BaseEstimator):
    """Network with an integrated rejector, after Geifman and El-Yaniv (2019), for regression.

    One trunk (that of `NetRegressor`) carries a prediction, a selection s(x) between 0 and 1, and
    an auxiliary prediction that is for training only. A row is accepted where s(x) > 0.5. A net
    is trained for a budget, the share of rows that it may defer: it minimises the squared error
    among the selected rows, and is punished where the mean selection falls short of 1 − budget.

    Which budget suits a price is found on held-out rows. For each budget a candidate is trained
    on the rows that are left, and the budget whose candidate has the least deferral loss at that
    price is chosen. The net that answers is another one, trained for the chosen budget after a
    further split of the candidates' rows, as the method's public code for regression does. With
    ``validation_size=0.2`` candidates see 80 % of the rows and the final nets 64 %. None of the
    nets depends on the price, so one fit serves all prices.

    It estimates no risk: the `risk` of its decisions is NaN. Training needs torch, everything
    else does not.

    Parameters
    ----------
    cost : float or None, default=None
        The price of asking, in units of the squared error; None if each call gives its own.
    budgets : sequence of float, default=(0.01, 0.2, 0.4, 0.6, 0.8, 0.99)
        The shares of deferred rows that nets are trained for, each from 0 to 1.
    alpha : float, default=0.5
        The share of the selective part in the objective; the auxiliary prediction has the rest.
    penalty : float, default=200.0
        What a mean selection below 1 − budget costs, times the square of what is missing.
    validation_size : float, default=0.2
        The share of rows (of groups, where such are given) that each of the two splits holds out.
    hidden_units, max_epochs, batch_size, learning_rate, weight_decay : int or float
        As in `NetRegressor`.
    random_state : int, RandomState instance or None, default=None
        Seeds the splits, the initial weights and the order of the batches.

    Attributes
    ----------
    weights_ : dict of str to ndarray
        The weights of the final nets, one net for each budget along the first axis, batch norms
        folded into the linear layers.
    validation_loss_ : ndarray of shape (n_budgets,)
        For each candidate the sum of its squared errors over the held-out rows that it accepts,
        divided by the number of all held-out rows.
    validation_rate_ : ndarray of shape (n_budgets,)
        The share of held-out rows that each candidate defers. The deferral loss at a price c is
        ``validation_loss_ + c * validation_rate_``.
    n_features_in_ : int
        The number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, where `X` has such.

    References
    ----------
    Yonatan Geifman and Ran El-Yaniv. SelectiveNet: A Deep Neural Network with an Integrated
    Reject Option. ICML 2019.

    Examples
    --------
    >>> from condrisk.paper.baselines import SelectiveNet
    >>> from condrisk.datasets import make_heteroscedastic
    >>> world = make_heteroscedastic(400, random_state=0)
    >>> model = SelectiveNet(budgets=(0.2, 0.8), max_epochs=20, random_state=0)
    >>> model = model.fit(world.X, world.y)
    >>> model.budget_for(1e6)  # when deferring costs much
    0.2
    >>> decision = model.decide(world.X, cost=1.0)
    >>> decision.prediction.shape, decision.deferred.dtype
    ((400,), dtype('bool'))
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "cost": "no_validation",  # by check_cost, whose message says what a price is
        "budgets": ["array-like"],
        "alpha": [Interval(Real, 0, 1, closed="both")],
        "penalty": [Interval(Real, 0, None, closed="left")],
        "validation_size": [Interval(Real, 0, 1, closed="neither")],
        **TRAINING_CONSTRAINTS,
    }

    def __init__(
        self,
        *,
        cost: float | None = None,
        budgets: Sequence[float] = (0.01, 0.2, 0.4, 0.6, 0.8, 0.99),
        alpha: float = 0.5,
        penalty: float = 200.0,
        validation_size: float = 0.2,
        hidden_units: int = 64,
        max_epochs: int = 800,
        batch_size: int = 256,
        learning_rate: float = 5e-4,
        weight_decay: float = 1e-4,
        random_state: Any = None,
    ) -> None:
        self.cost = cost
        self.budgets = budgets
        self.alpha = alpha
        self.penalty = penalty
        self.validation_size = validation_size
        self.hidden_units = hidden_units
        self.max_epochs = max_epochs
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.weight_decay = weight_decay
        self.random_state = random_state

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any, *, groups: ArrayLike | None = None) -> Self:
        """Train a candidate and a final net for each budget.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,)
            Targets.
        groups : array-like of shape (n_samples,), optional
            Groups of rows that must not be torn apart by the splits.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        self._check_own_cost()
        self._budgets = _check_budgets(self.budgets)
        X, y = validate_data(
            self, X, y, dtype=np.float64, y_numeric=True, ensure_min_samples=_FEWEST_ROWS
        )
        groups = check_groups(groups, X)
        rng = check_random_state(self.random_state)
        train_rows, held_out = self._split(np.arange(len(X)), groups)
        final_rows, _ = self._split(train_rows, groups)
        candidates = self._train(X[train_rows], y[train_rows], rng)
        self._validate(candidates, X[held_out], y[held_out])
        self.weights_ = self._train(X[final_rows], y[final_rows], rng)
        return self

    def _split(self, rows: Rows, groups: NDArray[Any] | None) -> tuple[Rows, Rows]:
        kept, held_out = split_rows(
            len(rows),
            None if groups is None else groups[rows],
            test_size=self.validation_size,
            random_state=self.random_state,
        )
        if len(kept) < _FEWEST_ROWS:
            raise ValueError(
                f"X has too few rows: {len(rows)} of them, less what validation_size="
                f"{self.validation_size} holds out, leave n_samples={len(kept)} to train on, and "
                f"at least {_FEWEST_ROWS} are needed."
            )
        return rows[kept], rows[held_out]

    def _train(self, X: Floats, y: Floats, rng: np.random.RandomState) -> Weights:
        head = SelectiveHead(1 - self._budgets, alpha=self.alpha, penalty=self.penalty)
        training = training_of(self)
        return train(X, y, head, hidden_units=self.hidden_units, training=training, rng=rng)

    def _validate(self, candidates: Weights, X: Floats, y: Floats) -> None:
        """Keep what tells the deferral loss of each candidate at any price."""
        n_nets = len(self._budgets)
        self.validation_loss_, self.validation_rate_ = np.empty(n_nets), np.empty(n_nets)
        for net in range(n_nets):
            prediction, selection = predictions_and_selection(candidates, X, net)
            accepted = selection > 0.5
            self.validation_loss_[net] = np.mean(np.where(accepted, (prediction - y) ** 2, 0.0))
            self.validation_rate_[net] = np.mean(~accepted)

    # -- using it ---------------------------------------------------------------------------

    def predict(self, X: Any, *, cost: ArrayLike | None = None) -> NDArray[np.float64]:
        """Return an answer for every row, deferred or not.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.
        cost : float or array-like of shape (n_samples,), optional
            The price of asking, which tells the net that answers; the model's own if not given.
            Without any price, the net of the smallest budget answers.

        Returns
        -------
        ndarray of shape (n_samples,)
            The predictions.
        """
        X = self._checked(X)
        if cost is None and self.cost is None:
            return self._outputs(X, np.argmin(self._budgets))[0]
        return self._outputs(X, self._choose(self._cost_of(cost, X, "predict(X")))[0]

    def selection(self, X: Any, *, cost: ArrayLike | None = None) -> NDArray[np.float64]:
        """Return s(x), which accepts a row where it exceeds 0.5.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.
        cost : float or array-like of shape (n_samples,), optional
            The price of asking, which tells the net that selects; the model's own if not given.

        Returns
        -------
        ndarray of shape (n_samples,)
            From 0 to 1. It is no probability, and says nothing of the size of the error.
        """
        X = self._checked(X)
        return self._outputs(X, self._choose(self._cost_of(cost, X, "selection(X")))[1]

    def budget_for(self, cost: ArrayLike) -> Any:
        """Return the budget that is chosen for a price.

        Parameters
        ----------
        cost : float or array-like of shape (n_prices,)
            The price of asking, or several.

        Returns
        -------
        float or ndarray of shape (n_prices,)
            The first budget whose candidate has the least deferral loss on the held-out rows.
        """
        check_is_fitted(self)
        return self._chosen_for(self._budgets, cost)

    # -- inside -----------------------------------------------------------------------------

    def _checked(self, X: Any) -> Floats:
        check_is_fitted(self)
        return validate_data(self, X, dtype=np.float64, reset=False)

    def _choose(self, cost: Floats) -> Any:
        """Return the net for a price, or for each of several."""
        loss = self.validation_loss_ + cost[..., None] * self.validation_rate_
        return np.argmin(loss, axis=-1)

    def _outputs(self, X: Floats, net: Any) -> tuple[Floats, Floats]:
        prediction, selection = np.empty(len(X)), np.empty(len(X))
        for one, rows in by_choice(net, len(X)):
            prediction[rows], selection[rows] = predictions_and_selection(
                self.weights_, X[rows], one
            )
        return prediction, selection

    def _respond(self, X: Any, cost: Floats) -> tuple[Floats, Floats, NDArray[np.bool_]]:
        prediction, selection = self._outputs(self._checked(X), self._choose(cost))
        return prediction, np.full(len(prediction), np.nan), selection <= 0.5

    def _loss_of(self, X: Any, y: Any, prediction: Floats) -> Floats:
        return (prediction - check_targets(X, y)) ** 2


def _check_budgets(budgets: ArrayLike) -> Floats:
    array = check_candidates(budgets, "budgets")
    if not ((array >= 0) & (array <= 1)).all():
        raise ValueError(f"budgets must be shares of rows, each from 0 to 1, got {budgets!r}.")
    return array
