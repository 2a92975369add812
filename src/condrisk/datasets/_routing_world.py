"""A world of several models whose true risk at each row is known."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit

from ._world import check_count

Floats = NDArray[np.float64]

# A dearer model is better by so much for each step of its cost, on the scale of logits.
_STEP, _SPREAD, _SHARED = 1.2, 1.5, 1.0


@dataclass(frozen=True, eq=False)
class RoutingWorld:
    """Rows, and the errors of several models whose chance at each row is known.

    Attributes
    ----------
    X : ndarray of shape (n_samples, n_features)
        The features, standard normal and independent.
    losses : dict of str to ndarray of shape (n_samples,)
        For each model 1 where its answer is wrong and 0 where it is right; NaN where it has not
        answered.
    costs : dict of str to float
        What an answer of each costs.

    Examples
    --------
    >>> from condrisk.datasets import make_routing
    >>> world = make_routing(1000, random_state=0)
    >>> world.risk(world.X).shape
    (1000, 3)
    """

    X: Floats = field(repr=False)
    losses: dict[str, Floats] = field(repr=False)
    costs: dict[str, float]
    answered: float = 1.0

    @classmethod
    def draw(cls, n: int, n_features: int, costs: dict[str, float], share: float, rng: Any) -> Self:
        """Draw rows, the models' errors, and who has answered."""
        rng = np.random.default_rng(rng)
        X = rng.standard_normal((n, n_features))
        # Models tend to fail on the same rows, beyond what x tells.
        luck = rng.uniform(size=n)
        wrong = (luck[:, None] < _risk(X, len(costs))).astype(np.float64)
        if share < 1:
            wrong[rng.uniform(size=wrong.shape) >= share] = np.nan
        return cls(X, dict(zip(costs, wrong.T, strict=True)), costs, share)

    def risk(self, X: ArrayLike) -> Floats:
        """Return the true g of each model at any rows: the chance of a wrong answer.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples, n_models)
            In the order of `costs`.
        """
        rows = np.asarray(X, dtype=np.float64)
        if rows.ndim != 2 or rows.shape[1] != self.X.shape[1]:
            raise ValueError(f"X must have shape (n_samples, {self.X.shape[1]}), got {rows.shape}.")
        return _risk(rows, len(self.costs))

    def sample(self, n_samples: int, *, random_state: Any = None) -> Self:
        """Draw fresh rows from the same law.

        Parameters
        ----------
        n_samples : int
            How many.
        random_state : None, int or numpy.random.Generator
            Where the randomness comes from; an int gives the same rows every time.

        Returns
        -------
        RoutingWorld
            A world of the same kind.
        """
        n = check_count(n_samples, "n_samples", 1)
        return self.draw(n, self.X.shape[1], self.costs, self.answered, random_state)


def _risk(X: Floats, n_models: int) -> Floats:
    """Return the chance that each model is wrong: difficulty, ability and a strength of its own."""
    difficulty = _SHARED * X[:, 0]
    columns = []
    for k in range(n_models):
        own = _SPREAD * np.tanh(X[:, 1 + k % (X.shape[1] - 1)])
        columns.append(expit(difficulty - own * (k < n_models - 1) - _STEP * k + 0.5))
    return np.column_stack(columns)


def make_routing(
    n_samples: int = 1000,
    *,
    n_models: int = 3,
    n_features: int = 6,
    answered: float = 1.0,
    random_state: Any = None,
) -> RoutingWorld:
    r"""Draw rows that several models answer, from cheap and often wrong to dear and mostly right.

    Model k of K is wrong at x with the chance

    .. math::

        g_k(x) = \sigma(x_0 + 0.5 - 1.2 k - 1.5 \tanh(x_{1 + k}) [k < K - 1]) ,

    so that the first feature makes a row hard for all of them, and all but the last have a
    strength of their own. Given x, models fail together: one draw from the uniform distribution
    is compared with all of the chances.

    Parameters
    ----------
    n_samples : int, default=1000
        How many rows.
    n_models : int, default=3
        How many models; three are called small, medium and large, two small and large.
    n_features : int, default=6
        How many features, at least two.
    answered : float, default=1.0
        The share of rows that each model has answered, drawn by chance.
    random_state : None, int or numpy.random.Generator
        Where the randomness comes from; an int gives the same rows every time.

    Returns
    -------
    RoutingWorld
        The rows `X`, `losses` and `costs` (3 to the power of k, by 5), and the function `risk`.

    Examples
    --------
    >>> from condrisk.datasets import make_routing
    >>> world = make_routing(1000, n_models=2, random_state=0)
    >>> world.costs
    {'small': 0.2, 'large': 0.6}
    """
    n = check_count(n_samples, "n_samples", 1)
    n_models = check_count(n_models, "n_models", 2)
    n_features = check_count(n_features, "n_features", 2)
    if not 0 < answered <= 1:
        raise ValueError(f"answered must be a share above 0 and at most 1, got {answered!r}.")
    known = {2: ["small", "large"], 3: ["small", "medium", "large"]}
    names = known.get(n_models, [f"model{k}" for k in range(n_models)])
    costs = {name: round(0.2 * 3**k, 10) for k, name in enumerate(names)}
    return RoutingWorld.draw(n, n_features, costs, float(answered), random_state)
