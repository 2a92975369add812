"""What deferring saves at each price, as a picture."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike

from condrisk import metrics
from condrisk._drawing import prepare_axes
from condrisk._validation import Vector
from condrisk.metrics import CostCurve
from condrisk.plots._common import (
    draw_diagonal,
    draw_legend,
    draw_reference,
    evaluate,
    find_references,
    line_style,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure
    from matplotlib.lines import Line2D

ALWAYS, NEVER, ORACLE = "Always defer", "Never defer", "Oracle"


class CostCurveDisplay:
    """Mean loss with deferral against the cost of deferring a row.

    A row is deferred where its risk exceeds the price. The risk is worth having at prices where
    the curve is below both always and never deferring; no rule is below the oracle. Create one
    with `from_estimator` or `from_predictions`. All parameters are stored as attributes.

    Parameters
    ----------
    curve : CostCurve
        As :func:`condrisk.metrics.cost_curve` gives it.
    name : str, default=None
        What the legend calls the curve.

    Attributes
    ----------
    line_ : matplotlib Line2D
        The deferral loss.
    always_defer_ : matplotlib Line2D or None
        The loss of deferring every row, which is the price, if asked for.
    never_defer_ : matplotlib Line2D or None
        The loss of accepting every row, which is the mean loss, if asked for.
    oracle_ : matplotlib Line2D or None
        The loss of the rule that knows the losses, if asked for.
    ax_ : matplotlib Axes
        The axes.
    figure_ : matplotlib Figure
        The figure they are in.

    See Also
    --------
    condrisk.metrics.cost_curve : The numbers.

    Examples
    --------
    >>> from condrisk.plots import CostCurveDisplay
    >>> loss, risk = [0.0, 1.0, 3.0, 2.0], [0.5, 0.5, 2.0, 1.0]
    >>> display = CostCurveDisplay.from_predictions(loss, risk, costs=[0.25, 1.0, 4.0])
    >>> display.line_.get_ydata()
    array([0.25, 1.  , 1.5 ])
    """

    line_: Line2D
    always_defer_: Line2D | None
    never_defer_: Line2D | None
    oracle_: Line2D | None
    ax_: Axes
    figure_: Figure | SubFigure

    def __init__(self, *, curve: CostCurve, name: str | None = None) -> None:
        self.curve = curve
        self.name = name

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        costs: ArrayLike | None = None,
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
            A fitted risk estimator or `Deferral`, or a Pipeline or search that ends in one. Of a
            `Deferral` only the risk counts, not its price or rule.
        X : array-like of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,)
            Their targets.
        costs : array-like of shape (n_costs,), default=None
            Prices. None: as :func:`condrisk.metrics.cost_curve` chooses them.
        prediction : array-like, default=None
            Only for an external predictor: its response to each row.
        sample_weight : array-like of shape (n_samples,), default=None
            Weight of each row. None: all rows count the same.
        reference : bool, default=True
            Whether to draw always deferring, never deferring and the oracle to compare with.
        name : str, default=None
            What the legend calls the curve. None: the class of the estimator.
        ax : matplotlib Axes, default=None
            Where to draw. None: on new axes.
        **kwargs : dict
            How to draw the curve, as `matplotlib.axes.Axes.plot` takes it.

        Returns
        -------
        CostCurveDisplay
            The display, drawn.
        """
        loss, risk, class_name = evaluate(estimator, X, y, prediction)
        return cls.from_predictions(
            loss,
            risk,
            costs=costs,
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
        costs: ArrayLike | None = None,
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
        costs : array-like of shape (n_costs,), default=None
            Prices. None: as :func:`condrisk.metrics.cost_curve` chooses them.
        sample_weight : array-like of shape (n_samples,), default=None
            Weight of each row. None: all rows count the same.
        reference : bool, default=True
            Whether to draw always deferring, never deferring and the oracle to compare with.
        name : str, default=None
            What the legend calls the curve.
        ax : matplotlib Axes, default=None
            Where to draw. None: on new axes.
        **kwargs : dict
            How to draw the curve, as `matplotlib.axes.Axes.plot` takes it.

        Returns
        -------
        CostCurveDisplay
            The display, drawn.
        """
        curve = metrics.cost_curve(loss, risk, costs=costs, sample_weight=sample_weight)
        return cls(curve=curve, name=name).plot(ax, reference=reference, **kwargs)

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
            Whether to draw always deferring, never deferring and the oracle to compare with.
            Lines that are on the axes already, from another risk of the same predictor, are not
            drawn again; those of another predictor are drawn in the colour of its curve.
        **kwargs : dict
            How to draw the curve, as `matplotlib.axes.Axes.plot` takes it.

        Returns
        -------
        CostCurveDisplay
            The display itself.
        """
        self.ax_ = ax = prepare_axes(ax)
        self.figure_ = ax.figure
        name = self.name if name is None else name
        label = "Defer where the risk exceeds the price" if name is None else name
        style = line_style(ax, kwargs, label=label, linewidth=2)
        curve = self._in_order()
        (self.line_,) = ax.plot(curve.cost, curve.deferral_loss, **style)
        self.always_defer_ = self.never_defer_ = self.oracle_ = None
        if reference:
            self._draw_references(curve, style["color"])
        ax.set(xlabel="Cost of deferring a row (units of the loss)", ylabel="Mean deferral loss")
        draw_legend(ax)
        return self

    def _in_order(self) -> CostCurve:
        """Return the curve from the lowest price to the highest."""
        order = np.argsort(self.curve.cost)
        return CostCurve(*(field[order] for field in self.curve))

    def _draw_references(self, curve: CostCurve, color: Any) -> None:
        ax, mean_loss = self.ax_, float(curve.never_defer[0])
        # Only as far up as never deferring: the line goes on, but the axes need not follow it.
        self.always_defer_ = draw_diagonal(ax, 0.0, mean_loss, label=ALWAYS)
        known = _known_references(ax, mean_loss)
        if known is not None:
            self.never_defer_, self.oracle_ = known
            _add_points(self.oracle_, curve.cost, curve.oracle)
            return
        self.never_defer_ = draw_reference(
            ax,
            [0, 1],
            [mean_loss, mean_loss],
            label=NEVER,
            curve_color=color,
            linestyle=":",
            transform=ax.get_yaxis_transform(),  # from end to end, whatever the prices
        )
        self.oracle_ = draw_reference(
            ax, curve.cost, curve.oracle, label=ORACLE, curve_color=color, linestyle="--"
        )


def _known_references(ax: Axes, mean_loss: float) -> tuple[Line2D, Line2D] | None:
    """Return never deferring and oracle of the same losses, if they are on the axes."""
    pairs = zip(find_references(ax, NEVER), find_references(ax, ORACLE), strict=False)
    for never, oracle in pairs:
        if np.allclose(np.asarray(never.get_ydata()), mean_loss, rtol=1e-9, atol=0):
            return never, oracle
    return None


def _add_points(line: Line2D, x: Vector, y: Vector) -> None:
    """Draw the line through more points of the same function."""
    xs, first = np.unique(np.append(line.get_xdata(), x), return_index=True)
    line.set_data(xs, np.append(line.get_ydata(), y)[first])
