"""Two models on the same rows: deferral loss at all costs, ranking and calibration, in pairs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtri

from condrisk._validation import check_confidence, check_costs, check_vectors
from condrisk.assessment._student import as_figure, student_interval
from condrisk.inference import MeanInterval
from condrisk.metrics import aurc, cost_curve, risk_calibration_curve, risk_calibration_error

Floats = NDArray[np.float64]

N_COSTS = 101
N_BINS = 10


@dataclass(frozen=True)
class PairedFigure:
    """A figure of two models on the same rows, and the first less the second with its interval."""

    first: float
    second: float
    difference: MeanInterval

    @property
    def better(self) -> int | None:
        """Which model has the smaller figure, 0 or 1; None where chance may have made it so."""
        if self.difference.upper < 0:
            return 0
        return 1 if self.difference.lower > 0 else None

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data, the interval as value, low and high."""
        return vars(self) | {"difference": as_figure(self.difference), "better": self.better}


@dataclass(frozen=True)
class RiskComparison:
    """Two models on the same held-out rows; all differences are the first less the second.

    Attributes
    ----------
    cost : ndarray of shape (n_costs,)
        Costs of deferring.
    first, second : ndarray of shape (n_costs,)
        Mean deferral loss at each cost, deferring where the risk exceeds it.
    difference, lower, upper : ndarray of shape (n_costs,)
        Their difference, and a band that has the true differences at all costs in it at once.
    mean_loss, aurc, calibration_error : PairedFigure
        Of the predictions; of the order of the risks; of the risks.
    confidence : float
        Of each interval, and of the whole band.
    n_rows : int
        From how many rows.
    """

    cost: Floats
    first: Floats
    second: Floats
    difference: Floats
    lower: Floats
    upper: Floats
    mean_loss: PairedFigure
    aurc: PairedFigure
    calibration_error: PairedFigure
    confidence: float
    n_rows: int

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data for JSON."""
        return {name: _plain(value) for name, value in vars(self).items()}


def _plain(value: Any) -> Any:
    if isinstance(value, PairedFigure):
        return value.to_dict()
    return value.tolist() if isinstance(value, np.ndarray) else value


def compare_risks(
    loss: tuple[ArrayLike, ArrayLike],
    risk: tuple[ArrayLike, ArrayLike],
    *,
    costs: ArrayLike | None = None,
    confidence: float = 0.95,
    n_resamples: int = 400,
    random_state: int = 0,
) -> RiskComparison:
    """Compare two models on the same rows.

    Parameters
    ----------
    loss : tuple of two array-like of shape (n_rows,)
        Realised losses of the predictions of either model, in the same unit.
    risk : tuple of two array-like of shape (n_rows,)
        Estimated risks of either model.
    costs : array-like of shape (n_costs,), default=None
        Costs of deferring. None: 101 quantiles of the risks of both.
    confidence : float, default=0.95
        Of each interval, and of the whole band.
    n_resamples : int, default=400
        How often the rows are drawn again.
    random_state : int, default=0
        Seed of the draws.

    Returns
    -------
    RiskComparison
        Figures of both, and intervals for the differences.

    Notes
    -----
    Rows are drawn with replacement, the same for both models (a paired bootstrap). Intervals are
    the difference plus and minus a normal quantile times its standard deviation over the draws;
    that of the mean loss is Student's. The band multiplies the standard deviation at each cost by
    one number: the quantile of the greatest standardised deviation over all costs.

    Examples
    --------
    >>> import numpy as np
    >>> from condrisk.assessment import compare_risks
    >>> rng = np.random.default_rng(0)
    >>> g = rng.gamma(1.0, 1.0, 2000)
    >>> loss = g * rng.exponential(size=2000)
    >>> found = compare_risks((loss, loss), (g, np.full(2000, g.mean())))
    >>> found.aurc.better, found.mean_loss.better
    (0, None)
    >>> bool((found.upper < 0).any())  # at some costs the first defers better
    True
    """
    check_confidence(confidence)
    pairs = [check_vectors(**{f"loss[{k}]": loss[k], f"risk[{k}]": risk[k]}) for k in range(2)]
    n = len(pairs[0][0])
    if len(pairs[1][0]) != n:
        raise ValueError(
            f"loss and risk must be of the same rows for both models, got {n} and "
            f"{len(pairs[1][0])} rows."
        )
    at = _costs(pairs[0][1], pairs[1][1]) if costs is None else check_costs(costs)
    models = [_Model(losses, risks, at) for losses, risks in pairs]
    draws = _draws(models, n, n_resamples, random_state)
    difference = models[0].deferral_loss - models[1].deferral_loss
    lower, upper = _band(difference, draws[:, 2:], confidence)
    return RiskComparison(
        at,
        models[0].deferral_loss,
        models[1].deferral_loss,
        difference,
        lower,
        upper,
        mean_loss=_mean_loss(pairs[0][0], pairs[1][0], confidence),
        aurc=_paired(models[0].aurc, models[1].aurc, draws[:, 0], confidence),
        calibration_error=_paired(models[0].error, models[1].error, draws[:, 1], confidence),
        confidence=confidence,
        n_rows=n,
    )


def _costs(first: Floats, second: Floats) -> Floats:
    pooled = np.concatenate([first, second])
    found = np.unique(np.quantile(pooled, np.linspace(0, 1, N_COSTS)))
    found = found[found > 0]
    return found if len(found) else np.array([1.0])


class _Model:
    """One model's rows in order of risk, so that any weights of the rows give its figures."""

    def __init__(self, loss: Floats, risk: Floats, costs: Floats) -> None:
        self.order = np.argsort(risk, kind="stable")
        self.loss, self.risk = loss[self.order], risk[self.order]
        self.costs = costs
        self.accepted = np.searchsorted(self.risk, costs, side="right")
        # The last row of each run of equal risk: such rows are accepted together.
        self.ends = np.flatnonzero(np.append(self.risk[1:] != self.risk[:-1], True))
        self.group = self._groups()
        self.deferral_loss = cost_curve(loss, risk, costs=costs).deferral_loss
        self.aurc = aurc(loss, risk)
        self.error = risk_calibration_error(loss, risk, n_bins=N_BINS)

    def _groups(self) -> NDArray[np.intp]:
        """Return the group of similar risk of each row, as the calibration curve has them."""
        weight = risk_calibration_curve(self.loss, self.risk, n_bins=N_BINS).weight
        return np.repeat(np.arange(len(weight)), np.rint(weight).astype(int))

    def figures(self, weight: Floats) -> Floats:
        """Return area, calibration error and deferral losses, rows counted by their weights."""
        own = weight[self.order]
        rows = np.append(0.0, np.cumsum(own))
        paid = np.append(0.0, np.cumsum(own * self.loss))
        total = rows[-1]
        deferral = (paid[self.accepted] + self.costs * (total - rows[self.accepted])) / total
        return np.concatenate([[self._area(rows, paid), self._error(own)], deferral])

    def _area(self, rows: Floats, paid: Floats) -> float:
        coverage = np.append(0.0, rows[self.ends + 1]) / rows[-1]
        sums = np.diff(np.append(0.0, paid[self.ends + 1])) / rows[-1]
        width = np.diff(coverage)
        kept = width > 0
        with np.errstate(divide="ignore", invalid="ignore"):
            primitive = coverage - np.where(coverage > 0, coverage * np.log(coverage), 0.0)
        return float(np.sum(sums[kept] * np.diff(primitive)[kept] / width[kept]))

    def _error(self, own: Floats) -> float:
        gap = np.bincount(self.group, weights=own * (self.loss - self.risk))
        return float(np.abs(gap).sum() / own.sum())


def _draws(models: list[Any], n: int, n_resamples: int, random_state: int) -> Floats:
    """Return the differences of all figures, a line for each draw of the rows."""
    rng = np.random.default_rng(random_state)
    found = []
    for _ in range(n_resamples):
        weight = np.bincount(rng.integers(0, n, n), minlength=n).astype(np.float64)
        first, second = (model.figures(weight) for model in models)
        found.append(first - second)
    return np.array(found)


def _band(difference: Floats, draws: Floats, confidence: float) -> tuple[Floats, Floats]:
    spread = draws.std(axis=0, ddof=1)
    known = spread > 1e-12 * max(float(spread.max()), 1e-300)
    if not known.any():
        return difference.copy(), difference.copy()
    apart = np.abs(draws[:, known] - difference[known]) / spread[known]
    half = float(np.quantile(apart.max(axis=1), confidence)) * spread
    return difference - half, difference + half


def _paired(first: float, second: float, draws: Floats, confidence: float) -> PairedFigure:
    apart = first - second
    half = float(ndtri((1 + confidence) / 2)) * float(draws.std(ddof=1))
    return PairedFigure(first, second, MeanInterval(apart, apart - half, apart + half))


def _mean_loss(first: Floats, second: Floats, confidence: float) -> PairedFigure:
    found = student_interval(first - second, confidence)
    return PairedFigure(float(first.mean()), float(second.mean()), found)
