"""Where the predictor is likely to be wrong: rows of high estimated risk, or of a high gap."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils._param_validation import HasMethods, Integral, Interval, StrOptions
from sklearn.utils.validation import _num_samples

from condrisk._delegate import has_risk, predict_risk, risk_part
from condrisk._validation import check_vector, validated
from condrisk.active._base import BaseSampler
from condrisk.active._core_set import check_count, distance_to, k_center
from condrisk.active._gap import gap_and_disagreement
from condrisk.active._pool import Kept, keep_largest

Floats = NDArray[np.float64]


class RiskSampler(BaseSampler):
    """Choose rows to label by the estimated risk of the predictor there, or by a part of it.

    A high risk has two causes that no estimate of it tells apart: too few labels nearby, which
    more labels mend, and noise, which they do not. Where noise differs much between rows, this
    choice labels noise. ``by="gap"`` and `GainSampler` are for that.

    Parameters
    ----------
    risk : estimator with predict_risk
        The estimate of the risk, such as `RegressionRisk` around the predictor, or a pipeline
        that ends in one. It is cloned and fitted in `fit`; one that is fitted already comes in a
        `sklearn.frozen.FrozenEstimator`.
    by : {"risk", "gap"}, default="risk"
        What rows are chosen by. "risk": the whole of it. "gap": the gap of ``decompose_risk``,
        which `PlugInRisk`, `HybridRisk` and `AutoRisk` have, without the floor. The gap is small
        where the predictor and the distribution beside it are equally ignorant. So the squared
        disagreement of the models behind that distribution is added, if its mean is a stack, as
        by default, and the loss is the squared error; otherwise it is the gap alone.
    batch_size : int, default=10
        How many rows to choose at a time.
    diversity : {"k-center", "proportional"} or None, default="k-center"
        How to keep the rows of a batch from being all alike. "k-center": among the riskiest
        ``oversample * batch_size`` rows, those far from each other and from labelled rows.
        "proportional": rows are drawn, with chances proportional to their risk. None: the
        riskiest rows.
    oversample : int, default=5
        With "k-center", among how many times the batch to choose.
    space : transformer or None, default=None
        With "k-center", where distances are measured, such as a `StandardScaler`; fitted on the
        labelled rows. None: as the rows are.
    random_state : int, RandomState instance or None, default=None
        Seeds the draws, and the order of rows of equal risk.

    Attributes
    ----------
    risk_ : estimator
        The fitted risk; its ``predict`` is the predictor.
    space_ : transformer or None
        The fitted transformer.

    See Also
    --------
    GainSampler : Tells risk that labels reduce from risk that they do not.

    Examples
    --------
    >>> from sklearn.linear_model import LinearRegression
    >>> from condrisk import RegressionRisk
    >>> from condrisk.active import RiskSampler
    >>> from condrisk.datasets import make_heteroscedastic
    >>> world = make_heteroscedastic(1000, random_state=0)  # σ²(x) = exp(x₁)
    >>> labelled, pool = slice(0, 200), world.X[200:]
    >>> risk = RegressionRisk(LinearRegression(), random_state=0)
    >>> sampler = RiskSampler(risk, batch_size=5, random_state=0)
    >>> chosen = sampler.fit(world.X[labelled], world.y[labelled]).query(pool)
    >>> bool(pool[chosen, 0].min() > 0)
    True
    >>> halves = (pool[k : k + 400] for k in (0, 400))
    >>> bool((sampler.query_chunks(halves) == chosen).all())
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "risk": [HasMethods(["fit"])],
        "by": [StrOptions({"risk", "gap"})],
        "batch_size": [Interval(Integral, 1, None, closed="left")],
        "diversity": [StrOptions({"k-center", "proportional"}), None],
        "oversample": [Interval(Integral, 1, None, closed="left")],
        "space": [HasMethods(["fit", "transform"]), None],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        risk: Any,
        *,
        by: Literal["risk", "gap"] = "risk",
        batch_size: int = 10,
        diversity: Literal["k-center", "proportional"] | None = "k-center",
        oversample: int = 5,
        space: Any = None,
        random_state: Any = None,
    ) -> None:
        self.risk = risk
        self.by = by
        self.batch_size = batch_size
        self.diversity = diversity
        self.oversample = oversample
        self.space = space
        self.random_state = random_state

    @validated(nested=True)
    def fit(self, X: Any, y: Any, **params: Any) -> Self:
        """Fit the risk on the labelled rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The labelled rows.
        y : array-like of shape (n_samples,)
            Their labels.
        **params : dict
            Passed on to the fit of the risk, such as ``sample_weight``.

        Returns
        -------
        self : object
            The fitted sampler.
        """
        if not has_risk(self.risk):
            raise TypeError(
                f"risk must have predict_risk, such as RegressionRisk(model); "
                f"got {type(self.risk).__name__}."
            )
        if self.by == "gap" and not hasattr(risk_part(self.risk), "decompose_risk"):
            raise TypeError(
                f'risk must have decompose_risk with by="gap", such as PlugInRisk(model); '
                f"got {type(self.risk).__name__}."
            )
        self.risk_ = clone(self.risk).fit(X, y, **params)
        if self.diversity == "k-center":
            self.space_ = None if self.space is None else clone(self.space).fit(X)
            self._labelled = self._place(X)
        return self

    def _place(self, X: Any) -> Floats:
        """Return rows as points between which distances are measured."""
        placed = X if self.space_ is None else self.space_.transform(X)
        if hasattr(placed, "toarray"):
            placed = placed.toarray()
        return np.asarray(placed, dtype=np.float64)

    def _values_of(self, X: Any) -> Floats:
        """Return what rows are chosen by."""
        values = predict_risk if self.by == "risk" else gap_and_disagreement
        found = check_vector(values(self.risk_, X), "risk")
        if len(found) != _num_samples(X):
            raise ValueError(f"risk gave {len(found)} values for {_num_samples(X)} rows.")
        return found

    def _keys(self, X: Any, rng: np.random.RandomState) -> tuple[Floats, Floats]:
        """Return what rows are ordered by, and what decides between equal ones."""
        # One draw a row in the order of the rows: the same, however the pool is cut in chunks.
        draw = rng.random_sample(_num_samples(X))
        values = self._values_of(X)
        if self.diversity != "proportional":
            return values, draw
        if values.min() < 0:
            raise ValueError(
                f'diversity="proportional" needs risks that are not negative, got {values.min()}.'
            )
        # The largest of log g + Gumbel noise are draws in proportion to g, one after the other.
        with np.errstate(divide="ignore"):
            return np.log(values) - np.log(-np.log1p(-draw)), draw

    def _query(
        self, chunks: Iterable[Any], batch_size: int, rng: np.random.RandomState
    ) -> NDArray[np.intp]:
        n_kept = batch_size * (self.oversample if self.diversity == "k-center" else 1)
        kept = keep_largest(chunks, lambda chunk: self._keys(chunk, rng), n_kept)
        check_count(batch_size, "batch_size", len(kept.position))
        return kept.position[self._choose(kept, batch_size)]

    def _choose(self, kept: Kept, batch_size: int) -> NDArray[np.intp]:
        if self.diversity != "k-center":
            return np.arange(batch_size)
        return k_center(self._place(kept.rows), batch_size, labelled=self._labelled)

    def _steps(
        self, X: Any, batch_size: int, rng: np.random.RandomState
    ) -> tuple[NDArray[np.intp], Floats]:
        key, tie = self._keys(X, rng)
        if self.diversity != "k-center":
            chosen = np.lexsort((tie, -key))[:batch_size]
            return chosen, without_chosen(np.tile(key, (batch_size, 1)), chosen)
        kept = keep_largest([X], lambda chunk: (key, tie), batch_size * self.oversample)
        points = self._place(kept.rows)
        order = k_center(points, batch_size, labelled=self._labelled)
        worth = np.full((batch_size, len(key)), -1.0)  # not among the riskiest
        distance = distance_to(points, self._labelled)
        for step, k in enumerate(order):
            worth[step, kept.position] = distance
            distance = np.minimum(distance, distance_to(points, points[[k]]))
        chosen = kept.position[order]
        return chosen, without_chosen(worth, chosen)


def without_chosen(worth: Floats, chosen: NDArray[np.intp]) -> Floats:
    """Put NaN at rows that were chosen in an earlier step."""
    for step in range(1, len(chosen)):
        worth[step:, chosen[step - 1]] = np.nan
    return worth
