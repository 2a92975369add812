"""Rows whose labels reduce the risk of the whole pool the most."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.utils._param_validation import HasMethods, Integral, Interval, Real, StrOptions
from sklearn.utils.validation import _num_samples

from condrisk._delegate import has_risk, predict_risk
from condrisk._validation import validated
from condrisk.active._base import BaseSampler
from condrisk.active._core_set import check_count
from condrisk.active._pool import keep_largest
from condrisk.active._posterior import posterior_of
from condrisk.active._risk_sampler import without_chosen
from condrisk.active._split import check_noise, split_risk

Floats = NDArray[np.float64]


class GainSampler(BaseSampler):
    """Choose rows whose labels reduce the risk in the whole pool the most.

    If the model's predictions vary with covariance K, as a posterior or as the members of an
    ensemble do, and a label at row c has noise of variance s(c), then learning that label reduces
    the mean squared error by Σₓ K(x, c)² / (K(c, c) + s(c)): much where the model is ignorant,
    where many rows are alike, and where labels say something; little where the risk is noise. Of
    a batch each row is chosen given the ones before, so that no two tell the same.

    This separates reducible from irreducible risk, and it can do so only because it assumes that
    the model's covariance is what the model does not know. `split_risk` states the choices.

    Parameters
    ----------
    model : estimator
        The predictor: a forest, a bagging or voting ensemble, a `GaussianProcessRegressor`, a
        pipeline that ends in one, or any model with ``posterior(X)`` that returns the covariance
        of shape (n, n) and the noise of shape (n,). It is cloned and fitted in `fit`; one that is
        fitted already comes in a `sklearn.frozen.FrozenEstimator`.
    risk : estimator with predict_risk, or None, default=None
        An estimate of the risk under squared error (for classifiers the Brier score), which then
        says how large the noise is, or how large the whole is, depending on `split`. None: the
        model's own noise.
    split : {"excess", "share"}, default="excess"
        With `risk`, how it is split. "excess": what it has beyond the model's variance is noise.
        "share": covariance and noise are scaled such that at each row they add up to it.
    noise : float or None, default=None
        Variance of labels. None: as the model says; regressors in an ensemble say nothing, and
        need it, unless `risk` is given with ``split="excess"``.
    batch_size : int, default=10
        How many rows to choose at a time.
    max_candidates : int, default=1000
        From a larger pool as many rows are drawn, and chosen from: memory and time grow with the
        square of it.
    random_state : int, RandomState instance or None, default=None
        Seeds the draw, and the order of rows that are worth the same.

    Attributes
    ----------
    model_ : estimator
        The fitted model.
    risk_ : estimator or None
        The fitted risk.

    See Also
    --------
    RiskSampler : By the size of the risk, whatever its cause.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.ensemble import RandomForestRegressor
    >>> from condrisk.active import GainSampler
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(size=(600, 2))
    >>> y = np.sin(9 * X[:, 0])
    >>> forest = RandomForestRegressor(random_state=0)
    >>> sampler = GainSampler(forest, noise=0.01, batch_size=3, random_state=0)
    >>> labelled = X[:, 0] < 0.8  # nothing is known beyond
    >>> sampler.fit(X[labelled][:50], y[labelled][:50]).query(X).shape
    (3,)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "model": [HasMethods(["fit", "predict"])],
        "risk": [HasMethods(["fit"]), None],
        "split": [StrOptions({"excess", "share"})],
        "noise": [Interval(Real, 0, None, closed="left"), None],
        "batch_size": [Interval(Integral, 1, None, closed="left")],
        "max_candidates": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        model: Any,
        *,
        risk: Any = None,
        split: Literal["excess", "share"] = "excess",
        noise: float | None = None,
        batch_size: int = 10,
        max_candidates: int = 1000,
        random_state: Any = None,
    ) -> None:
        self.model = model
        self.risk = risk
        self.split = split
        self.noise = noise
        self.batch_size = batch_size
        self.max_candidates = max_candidates
        self.random_state = random_state

    @validated(nested=True)
    def fit(self, X: Any, y: Any, **params: Any) -> Self:
        """Fit the model, and the risk if there is one, on the labelled rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The labelled rows.
        y : array-like of shape (n_samples,)
            Their labels.
        **params : dict
            Passed on to the fits, such as ``sample_weight``.

        Returns
        -------
        self : object
            The fitted sampler.
        """
        if self.risk is not None and not has_risk(self.risk):
            raise TypeError(
                f"risk must have predict_risk, such as RegressionRisk(model); "
                f"got {type(self.risk).__name__}."
            )
        self.model_ = clone(self.model).fit(X, y, **params)
        self.risk_ = None if self.risk is None else clone(self.risk).fit(X, y, **params)
        return self

    def _query(
        self, chunks: Iterable[Any], batch_size: int, rng: np.random.RandomState
    ) -> NDArray[np.intp]:
        def keys(chunk: Any) -> tuple[Floats, Floats]:
            # Those with the largest of random keys: a draw without replacement, in one pass.
            draw = rng.random_sample(_num_samples(chunk))
            return draw, draw

        kept = keep_largest(chunks, keys, max(self.max_candidates, batch_size))
        check_count(batch_size, "batch_size", len(kept.position))
        return kept.position[self._gains(kept.rows, batch_size)[0]]

    def _steps(
        self, X: Any, batch_size: int, rng: np.random.RandomState
    ) -> tuple[NDArray[np.intp], Floats]:
        draw = rng.random_sample(_num_samples(X))
        n_kept = max(self.max_candidates, batch_size)
        kept = keep_largest([X], lambda chunk: (draw, draw), n_kept)
        order, gains = self._gains(kept.rows, batch_size)
        worth = np.full((batch_size, len(draw)), -1.0)  # not among those drawn
        worth[:, kept.position] = gains
        chosen = kept.position[order]
        return chosen, without_chosen(worth, chosen)

    def _gains(self, X: Any, batch_size: int) -> tuple[NDArray[np.intp], Floats]:
        covariance, noise = posterior_of(self.model_, X)
        if self.noise is not None:
            noise = np.full(len(covariance), float(self.noise))
        if self.risk_ is not None:
            covariance, noise = self._with_risk(X, covariance, noise)
        if noise is None:
            raise ValueError(
                f"noise must be given, or risk: the members of {type(self.model_).__name__} say "
                f"nothing about the noise of labels."
            )
        return greedy_gains(covariance, noise, batch_size)

    def _with_risk(self, X: Any, covariance: Floats, noise: Floats | None) -> tuple[Floats, Floats]:
        risk = np.maximum(predict_risk(self.risk_, X), 0.0)
        variance = np.maximum(covariance.diagonal(), 0.0)
        if self.split == "excess":
            return covariance, split_risk(risk, variance).irreducible
        if noise is None:
            raise ValueError(
                'noise must be given with split="share" for an ensemble of regressors.'
            )
        both = variance + noise
        scale = np.sqrt(np.divide(risk, both, out=np.zeros_like(risk), where=both > 0))
        return covariance * np.outer(scale, scale), scale**2 * noise


def greedy_gains(
    covariance: Floats, noise: ArrayLike, n_rows: int
) -> tuple[NDArray[np.intp], Floats]:
    """Choose rows one after the other by how much their labels reduce the sum of the variances.

    Parameters
    ----------
    covariance : ndarray of shape (n, n)
        What is not known of the rows.
    noise : array-like of shape (n,)
        Variance of a label of each row.
    n_rows : int
        How many to choose.

    Returns
    -------
    chosen : ndarray of int, shape (n_rows,)
        The rows.
    gains : ndarray of shape (n_rows, n)
        At each step, by how much the sum of the variances would fall with each row; below zero
        for rows that are chosen already.
    """
    s = check_noise(noise, len(covariance))
    variance = np.maximum(covariance.diagonal(), 0.0)
    # Below this, a variance is rounding.
    least = 1e-12 * max(float(variance.max()), np.finfo(float).tiny)
    squares = np.einsum("ij,ij->j", covariance, covariance)
    columns = np.empty((n_rows, len(s)))  # each divided by its root: K loses their squares
    chosen: list[int] = []
    gains = np.empty((n_rows, len(s)))
    for step in range(n_rows):
        total = variance + s
        gains[step] = np.where(
            variance > least, np.maximum(squares, 0.0) / np.maximum(total, least), 0.0
        )
        gains[step, chosen] = -1.0
        k = int(np.argmax(gains[step]))
        chosen.append(k)
        before = columns[:step]
        column = covariance[:, k] - before[:, k] @ before
        columns[step] = column = column / np.sqrt(max(total[k], least))
        # Σₓ K(x, c)² after K has lost the square of the column, without touching K itself.
        moved = covariance @ column - (before @ column) @ before
        squares = squares - 2 * column * moved + column**2 * (column @ column)
        variance = np.maximum(variance - column**2, 0.0)
    return np.array(chosen, dtype=np.intp), gains
