"""What the samplers share: fitting on labelled rows, then asking about a pool."""

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from collections.abc import Iterable
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import _num_samples, check_is_fitted

from condrisk.active._core_set import check_count


class BaseSampler(BaseEstimator, metaclass=ABCMeta):
    """Base of the samplers: `fit` on the labelled rows, then `query` the pool."""

    batch_size: int
    random_state: Any

    @abstractmethod
    def fit(self, X: Any, y: Any, **params: Any) -> Self:
        """Fit on the labelled rows."""

    @abstractmethod
    def _query(
        self, chunks: Iterable[Any], batch_size: int, rng: np.random.RandomState
    ) -> NDArray[np.intp]:
        """Choose rows from a pool."""

    @abstractmethod
    def _steps(
        self, X: Any, batch_size: int, rng: np.random.RandomState
    ) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
        """Choose rows, and say what each was worth when each was chosen."""

    def query(self, X: Any, *, batch_size: int | None = None) -> NDArray[np.intp]:
        """Choose the rows of a pool to label next.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The pool: rows without labels.
        batch_size : int or None, default=None
            How many rows to choose. None: as many as the sampler was made for.

        Returns
        -------
        ndarray of int, shape (batch_size,)
            Positions in `X`, the first choice first.
        """
        check_is_fitted(self)
        size = self.batch_size if batch_size is None else batch_size
        check_count(size, "batch_size", _num_samples(X))
        return self._query([X], size, check_random_state(self.random_state))

    def query_chunks(
        self, chunks: Iterable[Any], *, batch_size: int | None = None
    ) -> NDArray[np.intp]:
        """Choose rows from a pool that does not fit in memory.

        The choice is the same as that of `query` on all chunks together.

        Parameters
        ----------
        chunks : iterable of array-likes of shape (n_chunk, n_features)
            The pool in parts. Each is looked at once, and only its best rows are kept.
        batch_size : int or None, default=None
            How many rows to choose. None: as many as the sampler was made for.

        Returns
        -------
        ndarray of int, shape (batch_size,)
            Positions in the chunks, counted through, the first choice first.
        """
        check_is_fitted(self)
        size = self.batch_size if batch_size is None else batch_size
        return self._query(chunks, size, check_random_state(self.random_state))
