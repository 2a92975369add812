"""Estimated risk against realised loss, bin by bin, as a picture."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike

from condrisk import metrics
from condrisk._drawing import prepare_axes
from condrisk._validation import Vector
from condrisk.metrics import RiskCalibrationCurve
from condrisk.plots._common import draw_diagonal, draw_legend, evaluate, line_style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import LineCollection, PathCollection
    from matplotlib.figure import Figure, SubFigure
    from matplotlib.lines import Line2D

Strategy = Literal["quantile", "uniform"]
CALIBRATED = "Perfectly calibrated"
# Area of a marker in square points: of the heaviest bin, and the least that can still be seen.
GREATEST_AREA, LEAST_AREA = 80.0, 6.0


class RiskCalibrationDisplay:
    """Mean realised loss against mean estimated risk, in bins of similar risk.

    The risk is calibrated where the points lie on the diagonal; above it the risk is too low. The
    area of a point tells the weight of its bin, its bar the mean loss ± 1.96 standard errors.
    Both axes are logarithmic where a linear scale would crowd half of the bins into a corner.
    Create one with `from_estimator` or `from_predictions`. All parameters are stored as
    attributes.

    Parameters
    ----------
    curve : RiskCalibrationCurve
        As :func:`condrisk.metrics.risk_calibration_curve` gives it.
    standard_error : ndarray of shape (n_bins,)
        Standard error of each mean loss; NaN where a bin has a single row.
    calibration_error : float
        As :func:`condrisk.metrics.risk_calibration_error` gives it for the same bins.
    name : str, default=None
        What the legend calls the curve.

    Attributes
    ----------
    line_ : matplotlib Line2D
        The line from bin to bin.
    points_ : matplotlib PathCollection
        The points.
    bars_ : matplotlib LineCollection
        The bars.
    diagonal_ : matplotlib Line2D or None
        The diagonal, if asked for.
    ax_ : matplotlib Axes
        The axes.
    figure_ : matplotlib Figure
        The figure they are in.

    See Also
    --------
    condrisk.metrics.risk_calibration_curve : The numbers.

    Examples
    --------
    >>> from condrisk.plots import RiskCalibrationDisplay
    >>> loss, risk = [0, 0, 1, 3], [0.1, 0.3, 1.0, 2.0]
    >>> display = RiskCalibrationDisplay.from_predictions(loss, risk, n_bins=2, name="mine")
    >>> display.points_.get_label()
    'mine (calibration error = 0.35)'
    """

    line_: Line2D
    points_: PathCollection
    bars_: LineCollection
    diagonal_: Line2D | None
    ax_: Axes
    figure_: Figure | SubFigure

    def __init__(
        self,
        *,
        curve: RiskCalibrationCurve,
        standard_error: Vector,
        calibration_error: float,
        name: str | None = None,
    ) -> None:
        self.curve = curve
        self.standard_error = standard_error
        self.calibration_error = calibration_error
        self.name = name

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        n_bins: int = 10,
        strategy: Strategy = "quantile",
        prediction: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        reference: bool = True,
        name: str | None = None,
        ax: Axes | None = None,
        **kwargs: Any,
    ) -> Self:
        """Draw the curve of a fitted estimator on rows that it has not seen.

        Parameters
        ----------
        estimator : estimator
            A fitted risk estimator or `Deferral`, or a Pipeline or search that ends in one.
        X : array-like of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,)
            Their targets.
        n_bins : int, default=10
            Number of bins, at least 1.
        strategy : {"quantile", "uniform"}, default="quantile"
            Bins of equal weight, or of equal width.
        prediction : array-like, default=None
            Only for an external predictor: its response to each row.
        sample_weight : array-like of shape (n_samples,), default=None
            Weight of each row. None: all rows count the same.
        reference : bool, default=True
            Whether to draw the diagonal.
        name : str, default=None
            What the legend calls the curve. None: the class of the estimator.
        ax : matplotlib Axes, default=None
            Where to draw. None: on new axes.
        **kwargs : dict
            How to draw line and bars, as `matplotlib.axes.Axes.errorbar` takes it.

        Returns
        -------
        RiskCalibrationDisplay
            The display, drawn.
        """
        loss, risk, class_name = evaluate(estimator, X, y, prediction)
        return cls.from_predictions(
            loss,
            risk,
            n_bins=n_bins,
            strategy=strategy,
            sample_weight=sample_weight,
            reference=reference,
            name=class_name if name is None else name,
            ax=ax,
            **kwargs,
        )

    @classmethod
    def from_predictions(
        cls,
        loss: ArrayLike,
        risk: ArrayLike,
        *,
        n_bins: int = 10,
        strategy: Strategy = "quantile",
        sample_weight: ArrayLike | None = None,
        reference: bool = True,
        name: str | None = None,
        ax: Axes | None = None,
        **kwargs: Any,
    ) -> Self:
        """Draw the curve of given losses and risks.

        Parameters
        ----------
        loss : array-like of shape (n_samples,)
            Realised loss of the prediction for each row.
        risk : array-like of shape (n_samples,)
            Estimated loss of the prediction for each row.
        n_bins : int, default=10
            Number of bins, at least 1.
        strategy : {"quantile", "uniform"}, default="quantile"
            Bins of equal weight, or of equal width.
        sample_weight : array-like of shape (n_samples,), default=None
            Weight of each row. None: all rows count the same.
        reference : bool, default=True
            Whether to draw the diagonal.
        name : str, default=None
            What the legend calls the curve.
        ax : matplotlib Axes, default=None
            Where to draw. None: on new axes.
        **kwargs : dict
            How to draw line and bars, as `matplotlib.axes.Axes.errorbar` takes it.

        Returns
        -------
        RiskCalibrationDisplay
            The display, drawn.
        """
        curve = metrics.risk_calibration_curve(
            loss, risk, n_bins=n_bins, strategy=strategy, sample_weight=sample_weight
        )
        display = cls(
            curve=curve,
            standard_error=_standard_error(curve, loss, risk, sample_weight),
            calibration_error=metrics.risk_calibration_error(
                loss, risk, n_bins=n_bins, strategy=strategy, sample_weight=sample_weight
            ),
            name=name,
        )
        return display.plot(ax, reference=reference, **kwargs)

    def plot(
        self,
        ax: Axes | None = None,
        *,
        name: str | None = None,
        reference: bool = True,
        **kwargs: Any,
    ) -> Self:
        """Draw the curve.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw. None: on new axes.
        name : str, default=None
            What the legend calls the curve. None: the display's own name, if it has one.
        reference : bool, default=True
            Whether to draw the diagonal, unless it is on the axes already.
        **kwargs : dict
            How to draw line and bars, as `matplotlib.axes.Axes.errorbar` takes it.

        Returns
        -------
        RiskCalibrationDisplay
            The display itself.
        """
        self.ax_ = ax = prepare_axes(ax)
        self.figure_ = ax.figure
        name = self.name if name is None else name
        error = f"calibration error = {self.calibration_error:.3g}"
        _set_scale(ax, self._choose_scale(ax))
        self._draw_bins(error if name is None else f"{name} ({error})", kwargs)
        means = np.concatenate([self.curve.mean_risk, self.curve.mean_loss])
        self.diagonal_ = None
        if reference:
            self.diagonal_ = draw_diagonal(ax, means.min(), means.max(), label=CALIBRATED)
        ax.set(xlabel="Mean estimated risk in the bin", ylabel="Mean realised loss in the bin")
        draw_legend(ax, loc="upper left")
        return self

    def _choose_scale(self, ax: Axes) -> str:
        """Logarithmic where half of the bins would crowd into a tenth of a linear axis."""
        risk, loss, _ = self.curve
        scale = ax.get_xscale()
        if min(risk.min(), loss.min()) <= 0:
            return "linear" if scale == "log" else scale
        if ax.lines or scale != "linear":
            return scale  # what is there already has chosen
        crowded = np.median(risk) - risk[0] < 0.1 * (risk[-1] - risk[0])
        return "log" if crowded else "linear"

    def _draw_bins(self, label: str, kwargs: dict[str, Any]) -> None:
        x, y, weight = self.curve
        style = line_style(self.ax_, kwargs, label=label, linewidth=1.2, elinewidth=1.2)
        label = style.pop("label")
        drawn = self.ax_.errorbar(x, y, 1.96 * self.standard_error, **style)
        self.line_, _, (self.bars_,) = drawn.lines
        area = np.maximum(GREATEST_AREA * weight / weight.max(), LEAST_AREA)
        self.points_ = self.ax_.scatter(
            x, y, area, color=style["color"], label=label, zorder=self.line_.zorder + 0.1
        )


def _set_scale(ax: Axes, scale: str) -> None:
    from matplotlib.ticker import LogLocator, StrMethodFormatter

    if scale == ax.get_xscale():
        return
    ax.set(xscale=scale, yscale=scale)
    if scale == "log":
        for axis in (ax.xaxis, ax.yaxis):
            axis.set_major_locator(LogLocator(subs=(1, 2, 5)))
            axis.set_major_formatter(StrMethodFormatter("{x:g}"))  # 10 rather than a power of it


def _standard_error(
    curve: RiskCalibrationCurve,
    loss: ArrayLike,
    risk: ArrayLike,
    sample_weight: ArrayLike | None,
) -> Vector:
    """Return the standard error of the mean loss of each bin.

    Of a weighted mean m = Σ wl / Σ w of independent rows it is √(Σ w²(l - m)²) / Σ w, here times
    √(n / (n - 1)) with n = (Σ w)² / Σ w². Without weights that is the usual one.
    """
    order = np.argsort(np.asarray(risk))
    losses = np.asarray(loss, dtype=np.float64)[order]
    weight = np.ones(len(losses)) if sample_weight is None else np.asarray(sample_weight)[order]
    # The bins follow each other in order of risk, so their weights tell where each one ends.
    middle = np.cumsum(weight) - weight / 2
    n_bins = len(curve.weight)
    row_bin = np.minimum(np.searchsorted(np.cumsum(curve.weight), middle), n_bins - 1)
    squares = np.bincount(row_bin, (weight * (losses - curve.mean_loss[row_bin])) ** 2, n_bins)
    n_rows = curve.weight**2 / np.bincount(row_bin, weight**2, n_bins)
    correction = np.full(n_bins, np.nan)
    np.divide(n_rows, n_rows - 1, out=correction, where=n_rows > 1 + 1e-9)
    return np.sqrt(squares * correction) / curve.weight
