"""A sampler as a query strategy of scikit-activeml, which need not be installed."""

from __future__ import annotations

import sys
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.utils import _safe_indexing, check_random_state
from sklearn.utils.validation import _num_samples

from condrisk.active._base import BaseSampler
from condrisk.active._core_set import check_count


class RiskQueryStrategy(BaseEstimator):
    """A sampler under the interface of scikit-activeml's query strategies.

    It follows the protocol of ``skactiveml.base.SingleAnnotatorPoolQueryStrategy``, and counts as
    one of these wherever that is loaded, in wrappers and pipelines of scikit-activeml too. It
    does not need the package.

    Parameters
    ----------
    sampler : RiskSampler or GainSampler
        The sampler. Each query fits a clone of it on the rows that have labels.
    missing_label : scalar, str, None or numpy.nan, default=numpy.nan
        Stands in `y` where there is no label.
    random_state : int, RandomState instance or None, default=None
        Seeds the samplers whose own random state is left open.

    Attributes
    ----------
    sampler_ : sampler
        The sampler of the last query, fitted; its ``risk_`` or ``model_`` is the predictor.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.ensemble import RandomForestRegressor
    >>> from condrisk.active import GainSampler, RiskQueryStrategy
    >>> X = np.linspace(0, 1, 50)[:, None]
    >>> y = np.full(50, np.nan)
    >>> y[:20] = np.sin(9 * X[:20, 0])
    >>> sampler = GainSampler(RandomForestRegressor(random_state=0), noise=0.01)
    >>> strategy = RiskQueryStrategy(sampler, random_state=0)
    >>> bool((strategy.query(X, y, batch_size=3) >= 20).all())
    True
    """

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        # An abstract base class may be told of others: no import, no dependency.
        package = sys.modules.get("skactiveml.base")
        if package is not None:
            package.SingleAnnotatorPoolQueryStrategy.register(cls)
        return super().__new__(cls)

    def __init__(
        self, sampler: Any, *, missing_label: Any = np.nan, random_state: Any = None
    ) -> None:
        self.sampler = sampler
        self.missing_label = missing_label
        self.random_state = random_state

    def query(
        self,
        X: Any,
        y: ArrayLike,
        *,
        candidates: Any = None,
        batch_size: int = 1,
        return_utilities: bool = False,
        **fit_params: Any,
    ) -> Any:
        """Choose the rows to label next.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            All rows, with and without labels.
        y : array-like of shape (n_samples,)
            Labels, and `missing_label` where there is none.
        candidates : None, array-like of int or array-like of rows, default=None
            What to choose from: all rows without a label, rows of `X` by position, or rows of
            their own.
        batch_size : int, default=1
            How many rows to choose.
        return_utilities : bool, default=False
            Whether to return what the rows were worth, too.
        **fit_params : dict
            Passed on to the sampler's fit.

        Returns
        -------
        query_indices : ndarray of int, shape (batch_size,)
            Positions in `X`, or in `candidates` if these are rows of their own.
        utilities : ndarray of shape (batch_size, n_samples) or (batch_size, n_candidates)
            Only with ``return_utilities=True``: at each step, what each row was worth. NaN for
            rows that are no candidates, or chosen before.
        """
        labels = np.asarray(y)
        if labels.shape != (_num_samples(X),):
            raise ValueError(
                f"y must have one label for each of {_num_samples(X)} rows of X, got an array of "
                f"shape {labels.shape}."
            )
        if not isinstance(self.sampler, BaseSampler):
            raise TypeError(
                f"sampler must be a RiskSampler or GainSampler, got {type(self.sampler).__name__}."
            )
        has_label = ~_is_missing(labels, self.missing_label)
        if not has_label.any():
            raise ValueError("y has no labels: a risk cannot be estimated without any.")
        rng = check_random_state(self.random_state)
        seed = int(rng.randint(np.iinfo(np.int32).max))
        pool, where = _candidates(X, has_label, candidates)
        n_candidates = _num_samples(pool)
        check_count(batch_size, "batch_size", n_candidates)
        self.sampler_ = _seeded(self.sampler, seed)
        known = np.flatnonzero(has_label)
        self.sampler_.fit(_safe_indexing(X, known), _values(labels[known]), **fit_params)
        rng = check_random_state(self.sampler_.random_state)
        chosen, worth = self.sampler_._steps(pool, batch_size, rng)
        if where is not None:
            chosen = where[chosen]
            whole = np.full((batch_size, len(labels)), np.nan)
            whole[:, where] = worth
            worth = whole
        return (chosen, worth) if return_utilities else chosen


def _seeded(sampler: Any, seed: int) -> Any:
    sampler = clone(sampler)
    return sampler.set_params(random_state=seed) if sampler.random_state is None else sampler


def _is_missing(labels: NDArray[Any], missing_label: Any) -> NDArray[np.bool_]:
    if missing_label is None:
        return np.array([label is None for label in labels])
    if isinstance(missing_label, float) and np.isnan(missing_label):
        # Only NaN differs from itself, also among objects.
        return np.array([label != label for label in labels], dtype=bool)
    return np.asarray(labels == missing_label, dtype=bool)


def _values(labels: NDArray[Any]) -> NDArray[Any]:
    """Return labels without the dtype that a missing one has forced on them."""
    return np.array(labels.tolist()) if labels.dtype == object else labels


def _candidates(
    X: Any, has_label: NDArray[np.bool_], candidates: Any
) -> tuple[Any, NDArray[np.intp] | None]:
    """Return the rows to choose from, and where in `X` they are."""
    if candidates is None:
        where = np.flatnonzero(~has_label)
        if not len(where):
            raise ValueError("y has a label for every row: there is nothing to choose from.")
        return _safe_indexing(X, where), where
    if np.ndim(candidates) != 1:
        return candidates, None
    where = np.asarray(candidates)
    if where.dtype.kind not in "iu" or where.min() < 0 or where.max() >= len(has_label):
        raise ValueError(f"candidates must be positions in X, from 0 to {len(has_label) - 1}.")
    return _safe_indexing(X, where), where.astype(np.intp)
