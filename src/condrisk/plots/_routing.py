"""Mean loss against mean cost of routing between models, as a picture."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike

from condrisk._drawing import import_pyplot, prepare_axes
from condrisk.plots._common import draw_legend, draw_reference, line_style
from condrisk.routing import RoutingCurve, routing_curve

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure
    from matplotlib.lines import Line2D

RANDOM, ORACLE = "Random routing", "Oracle"


class RoutingCurveDisplay:
    """Mean loss at each mean cost, beside random routing, single models and the oracle.

    Routing is worth having at costs where its curve is below the line between the cheapest and the
    best single model, which random routing reaches; no routing is below the oracle. Create one
    with `from_estimator` or `from_predictions`. All parameters are stored as attributes.

    Parameters
    ----------
    curve : RoutingCurve
        As :func:`condrisk.routing.routing_curve` gives it.
    models : list of str, default=None
        The names of the models. None: their numbers.
    name : str, default=None
        What the legend calls the curve.

    Attributes
    ----------
    line_ : matplotlib Line2D
        The curve.
    random_ : matplotlib Line2D or None
        Random routing between the cheapest and the best single model, if asked for.
    oracle_ : matplotlib Line2D or None
        Routing that knows the losses, if asked for.
    models_ : matplotlib Line2D or None
        A point for each model that answers every row, if asked for; the best is among them.
    ax_ : matplotlib Axes
        The axes.
    figure_ : matplotlib Figure
        The figure they are in.

    See Also
    --------
    condrisk.routing.routing_figures : The numbers, with intervals.

    Examples
    --------
    >>> from condrisk.datasets import make_routing
    >>> from condrisk.plots import RoutingCurveDisplay
    >>> world = make_routing(500, random_state=0)
    >>> true = world.risk(world.X)
    >>> display = RoutingCurveDisplay.from_predictions(world.losses, true, world.costs)
    >>> bool(display.line_.get_ydata()[0] > display.line_.get_ydata()[-1])
    True
    """

    line_: Line2D
    random_: Line2D | None
    oracle_: Line2D | None
    models_: Line2D | None
    ax_: Axes
    figure_: Figure | SubFigure

    def __init__(
        self, *, curve: RoutingCurve, models: list[str] | None = None, name: str | None = None
    ) -> None:
        self.curve = curve
        self.models = models
        self.name = name

    @classmethod
    def from_estimator(
        cls,
        router: Any,
        X: Any,
        losses: Any,
        *,
        sample_weight: ArrayLike | None = None,
        reference: bool = True,
        name: str | None = None,
        ax: Axes | None = None,
        **kwargs: Any,
    ) -> Self:
        """Draw the curve of a fitted router on rows that it has not seen.

        Parameters
        ----------
        router : ModelRouter
            Fitted.
        X : list of str, frame or array-like
            Rows.
        losses : mapping, frame or array-like of shape (n_samples, n_models)
            The losses of all models.
        sample_weight : array-like of shape (n_samples,), default=None
            Weight of each row.
        reference : bool, default=True
            Whether to draw random routing, the models and the oracle.
        name : str, default=None
            What the legend calls the curve.
        ax : matplotlib Axes, default=None
            Where to draw. None: on new axes.
        **kwargs : dict
            How to draw the curve, as `matplotlib.axes.Axes.plot` takes it.

        Returns
        -------
        RoutingCurveDisplay
            The display, drawn.
        """
        import_pyplot()  # to fail before the work rather than after it
        costs = dict(zip(router.models_, router.costs_.tolist(), strict=True))
        return cls.from_predictions(
            losses,
            router.predict_risk(X),
            costs,
            sample_weight=sample_weight,
            reference=reference,
            name=name,
            ax=ax,
            **kwargs,
        )

    @classmethod
    def from_predictions(
        cls,
        losses: Any,
        risks: Any,
        costs: Any,
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
        losses, risks : mapping, frame or array-like of shape (n_samples, n_models)
            Realised and estimated losses of the models.
        costs : mapping of str to float, or array-like of shape (n_models,)
            What an answer of each costs.
        sample_weight : array-like of shape (n_samples,), default=None
            Weight of each row.
        reference : bool, default=True
            Whether to draw random routing, the models and the oracle.
        name : str, default=None
            What the legend calls the curve.
        ax : matplotlib Axes, default=None
            Where to draw. None: on new axes.
        **kwargs : dict
            How to draw the curve, as `matplotlib.axes.Axes.plot` takes it.

        Returns
        -------
        RoutingCurveDisplay
            The display, drawn.
        """
        import_pyplot()
        curve = routing_curve(losses, risks, costs, sample_weight=sample_weight)
        models = list(costs) if hasattr(costs, "keys") else None
        return cls(curve=curve, models=models, name=name).plot(ax, reference=reference, **kwargs)

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
            Whether to draw random routing, the models and the oracle.
        **kwargs : dict
            How to draw the curve, as `matplotlib.axes.Axes.plot` takes it.

        Returns
        -------
        RoutingCurveDisplay
            The display itself.
        """
        self.ax_ = ax = prepare_axes(ax)
        self.figure_ = ax.figure
        name = self.name if name is None else name
        style = line_style(ax, kwargs, label="Router" if name is None else name, linewidth=2)
        curve = self.curve
        (self.line_,) = ax.plot(curve.cost, curve.loss, **style)
        self.random_ = self.oracle_ = self.models_ = None
        if reference:
            self._draw_references(style["color"])
        ax.set(xlabel="Mean cost of a row", ylabel="Mean loss")
        draw_legend(ax)
        return self

    def _draw_references(self, color: Any) -> None:
        ax, curve = self.ax_, self.curve
        low, high = curve.ends
        between = np.array([low, high])
        self.random_ = draw_reference(
            ax,
            curve.model_cost[between],
            curve.model_loss[between],
            label=RANDOM,
            curve_color=color,
            linestyle=":",
        )
        self.oracle_ = draw_reference(
            ax,
            curve.oracle_cost,
            curve.oracle_loss,
            label=ORACLE,
            curve_color=color,
            linestyle="--",
        )
        self.models_ = draw_reference(
            ax,
            curve.model_cost,
            curve.model_loss,
            label="One model for all rows",
            curve_color=color,
            linestyle="none",
            marker="o",
        )
        names = self.models or [str(k) for k in range(len(curve.model_cost))]
        points = zip(names, curve.model_cost, curve.model_loss, strict=True)
        for name, cost, loss in points:
            ax.annotate(name, (cost, loss), xytext=(5, 5), textcoords="offset points")
