"""The risk-coverage curve as a picture."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike

from condrisk import metrics
from condrisk._drawing import prepare_axes
from condrisk._validation import Vector
from condrisk.metrics import RiskCoverageCurve
from condrisk.plots._common import draw_legend, draw_reference, evaluate, line_style, thin

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure
    from matplotlib.lines import Line2D

ORACLE, MEAN_LOSS = "Oracle", "Mean loss"
# Below this coverage the curve shows means of few rows, which may be far from all others.
FEW_ROWS = 0.05


class RiskCoverageDisplay:
    """Mean loss of the accepted rows against the share of rows that is accepted.

    Rows are accepted in order of increasing risk: the lower the curve, the better the risk ranks.
    Create one with `from_estimator` or `from_predictions`. All parameters are stored as
    attributes.

    Parameters
    ----------
    curve : RiskCoverageCurve
        As :func:`condrisk.metrics.risk_coverage_curve` gives it for the losses and risks.
    oracle : RiskCoverageCurve
        The same with the losses themselves as the risk: no ranking has a lower curve.
    aurc : float
        The area under the curve, as :func:`condrisk.metrics.aurc` gives it.
    name : str, default=None
        What the legend calls the curve.

    Attributes
    ----------
    line_ : matplotlib Line2D
        The curve. Among rows of equal risk it shows what accepting a random part of them loses in
        expectation, so the area under it is `aurc`. Of a long curve not all points are drawn, but
        enough for the same picture.
    oracle_ : matplotlib Line2D or None
        The curve of the oracle, if asked for.
    mean_loss_ : matplotlib Line2D or None
        The mean loss of all rows, which accepting at random has at any coverage, if asked for.
    ax_ : matplotlib Axes
        The axes.
    figure_ : matplotlib Figure
        The figure they are in.

    See Also
    --------
    condrisk.metrics.risk_coverage_curve : The numbers.

    Examples
    --------
    >>> from condrisk.plots import RiskCoverageDisplay
    >>> loss, risk = [0.0, 1.0, 2.0, 5.0], [0.1, 0.4, 0.3, 0.7]
    >>> display = RiskCoverageDisplay.from_predictions(loss, risk, name="mine")
    >>> display.line_.get_label()
    'mine (AURC = 0.79)'
    """

    line_: Line2D
    oracle_: Line2D | None
    mean_loss_: Line2D | None
    ax_: Axes
    figure_: Figure | SubFigure

    def __init__(
        self,
        *,
        curve: RiskCoverageCurve,
        oracle: RiskCoverageCurve,
        aurc: float,
        name: str | None = None,
    ) -> None:
        self.curve = curve
        self.oracle = oracle
        self.aurc = aurc
        self.name = name

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        *,
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
        prediction : array-like, default=None
            Only for an external predictor: its response to each row.
        sample_weight : array-like of shape (n_samples,), default=None
            Weight of each row. None: all rows count the same.
        reference : bool, default=True
            Whether to draw the oracle and the mean loss to compare with.
        name : str, default=None
            What the legend calls the curve. None: the class of the estimator.
        ax : matplotlib Axes, default=None
            Where to draw. None: on new axes.
        **kwargs : dict
            How to draw the curve, as `matplotlib.axes.Axes.plot` takes it.

        Returns
        -------
        RiskCoverageDisplay
            The display, drawn.
        """
        loss, risk, class_name = evaluate(estimator, X, y, prediction)
        return cls.from_predictions(
            loss,
            risk,
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
        sample_weight : array-like of shape (n_samples,), default=None
            Weight of each row. None: all rows count the same.
        reference : bool, default=True
            Whether to draw the oracle and the mean loss to compare with.
        name : str, default=None
            What the legend calls the curve.
        ax : matplotlib Axes, default=None
            Where to draw. None: on new axes.
        **kwargs : dict
            How to draw the curve, as `matplotlib.axes.Axes.plot` takes it.

        Returns
        -------
        RiskCoverageDisplay
            The display, drawn.
        """
        display = cls(
            curve=metrics.risk_coverage_curve(loss, risk, sample_weight=sample_weight),
            oracle=metrics.risk_coverage_curve(loss, loss, sample_weight=sample_weight),
            aurc=metrics.aurc(loss, risk, sample_weight=sample_weight),
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
            Whether to draw the oracle and the mean loss to compare with. Lines that are on the
            axes already, from another risk of the same predictor, are not drawn again; those of
            another predictor are drawn in the colour of its curve.
        **kwargs : dict
            How to draw the curve, as `matplotlib.axes.Axes.plot` takes it.

        Returns
        -------
        RiskCoverageDisplay
            The display itself.
        """
        self.ax_ = ax = prepare_axes(ax)
        self.figure_ = ax.figure
        name = self.name if name is None else name
        area = f"AURC = {self.aurc:.3g}"
        label = area if name is None else f"{name} ({area})"
        style = line_style(ax, kwargs, label=label, linewidth=2)
        (self.line_,) = ax.plot(*_points(self.curve), **style)
        self.oracle_ = self.mean_loss_ = None
        if reference:
            self._draw_references(style["color"])
        ax.set(xlabel="Coverage (share of rows accepted)", ylabel="Mean loss of accepted rows")
        _frame(ax)
        draw_legend(ax)
        return self

    def _draw_references(self, color: Any) -> None:
        mean_loss = self.curve.selective_loss[-1]
        self.oracle_ = draw_reference(
            self.ax_, *_points(self.oracle), label=ORACLE, curve_color=color, linestyle="--"
        )
        self.mean_loss_ = draw_reference(
            self.ax_, [0, 1], [mean_loss] * 2, label=MEAN_LOSS, curve_color=color, linestyle=":"
        )


def _points(curve: RiskCoverageCurve) -> tuple[Vector, Vector]:
    """Return what to draw: enough points of the curve, and some inside wide blocks of ties.

    Accepting a random part of a block adds loss in proportion, so the sum of the accepted losses
    is linear between the points of the curve; their mean is not.
    """
    drawn = thin(curve.coverage, curve.selective_loss)
    coverage = np.union1d(curve.coverage[drawn], np.linspace(0.01, 1.0, 100))
    accepted_loss = np.interp(
        coverage,
        np.append(0.0, curve.coverage),
        np.append(0.0, curve.coverage * curve.selective_loss),
    )
    first = curve.selective_loss[0]
    return np.append(0.0, coverage), np.append(first, accepted_loss / coverage)


def _frame(ax: Axes) -> None:
    """Cut off a peak among the first few rows where it would press everything else flat."""
    curves = [line.get_xydata() for line in ax.lines if line.get_transform() == ax.transData]
    coverage, height = np.concatenate(curves).T
    low, high = height.min(), height[coverage >= FEW_ROWS].max()
    if high > low and height.max() - low > 1.5 * (high - low):
        margin = 0.05 * (high - low)
        ax.set_ylim(low - margin, high + margin)
