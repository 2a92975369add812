"""Truth, prediction and root risk, row by row, as a picture."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import is_classifier

from condrisk._delegate import assess, risk_part
from condrisk._drawing import import_pyplot, prepare_axes
from condrisk._validation import Vector, check_vectors, check_weight
from condrisk.losses import absolute_error, squared_error
from condrisk.plots._common import draw_reference, line_style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import LineCollection
    from matplotlib.figure import Figure, SubFigure
    from matplotlib.lines import Line2D

# More bars than this beside each other are a blot.
MAX_ROWS = 400
# What to call the typical size of an error, in units of the target, that the risk speaks of.
SIZES = {"squared_error": "√risk", "absolute_error": "risk"}


class RiskProfileDisplay:
    """Truth, and prediction ± √risk, over the rows of a regression sorted by their target.

    Under the squared error the risk is the expected square of the error, so its root is a typical
    size of the error, in units of the target. Under the absolute error the risk itself is.
    Create one with `from_estimator` or `from_predictions`. All parameters are stored as
    attributes.

    Parameters
    ----------
    position : ndarray of shape (n_rows,)
        Place of each row between 0 and 1: the share of the rows that come before its middle.
    y_true, y_pred : ndarray of shape (n_rows,)
        Target and prediction, in increasing order of the target.
    error_size : ndarray of shape (n_rows,)
        Size of the error that the risk speaks of.
    size_name : str, default="√risk"
        What the legend calls that size.
    name : str, default=None
        What the legend calls the predictor.

    Attributes
    ----------
    truth_ : matplotlib Line2D
        The targets.
    prediction_ : matplotlib Line2D
        The predictions. Of more than 400 rows, 400 are drawn, evenly spaced.
    bars_ : matplotlib LineCollection
        The bars from prediction − √risk to prediction + √risk.
    ax_ : matplotlib Axes
        The axes.
    figure_ : matplotlib Figure
        The figure they are in.

    Examples
    --------
    >>> from condrisk.plots import RiskProfileDisplay
    >>> y_true, y_pred, risk = [3.0, 1.0, 2.0], [2.5, 1.0, 2.5], [0.36, 0.01, 0.16]
    >>> display = RiskProfileDisplay.from_predictions(y_true, y_pred, risk)
    >>> display.truth_.get_ydata()
    array([1., 2., 3.])
    >>> display.error_size
    array([0.1, 0.4, 0.6])
    """

    truth_: Line2D
    prediction_: Line2D
    bars_: LineCollection
    ax_: Axes
    figure_: Figure | SubFigure

    def __init__(
        self,
        *,
        position: Vector,
        y_true: Vector,
        y_pred: Vector,
        error_size: Vector,
        size_name: str = "√risk",
        name: str | None = None,
    ) -> None:
        self.position = position
        self.y_true = y_true
        self.y_pred = y_pred
        self.error_size = error_size
        self.size_name = size_name
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
        name: str | None = None,
        ax: Axes | None = None,
        **kwargs: Any,
    ) -> Self:
        """Draw the profile of a fitted estimator on rows that it has not seen.

        Parameters
        ----------
        estimator : estimator
            A fitted risk estimator or `Deferral` of a regressor, under the squared or the
            absolute error, or a Pipeline or search that ends in one.
        X : array-like of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,)
            Their targets.
        prediction : array-like, default=None
            Only for an external predictor: its response to each row.
        sample_weight : array-like of shape (n_samples,), default=None
            Weight of each row, which is the width it is given. None: all have the same.
        name : str, default=None
            What the legend calls the predictor. None: the class of the estimator.
        ax : matplotlib Axes, default=None
            Where to draw. None: on new axes.
        **kwargs : dict
            How to draw predictions and bars, as `matplotlib.axes.Axes.errorbar` takes it.

        Returns
        -------
        RiskProfileDisplay
            The display, drawn.
        """
        import_pyplot()  # to fail before the work rather than after it
        owner = risk_part(estimator)
        loss = _loss_name(owner)
        found = assess(estimator, X, prediction=prediction)
        return cls.from_predictions(
            y,
            found.prediction,
            found.risk,
            loss=loss,
            sample_weight=sample_weight,
            name=type(owner).__name__ if name is None else name,
            ax=ax,
            **kwargs,
        )

    @classmethod
    def from_predictions(
        cls,
        y_true: ArrayLike,
        y_pred: ArrayLike,
        risk: ArrayLike,
        *,
        loss: Literal["squared_error", "absolute_error"] = "squared_error",
        sample_weight: ArrayLike | None = None,
        name: str | None = None,
        ax: Axes | None = None,
        **kwargs: Any,
    ) -> Self:
        """Draw the profile of given targets, predictions and risks.

        Parameters
        ----------
        y_true : array-like of shape (n_samples,)
            Target of each row.
        y_pred : array-like of shape (n_samples,)
            Prediction for each row.
        risk : array-like of shape (n_samples,)
            Estimated loss of the prediction for each row. A negative one counts as zero.
        loss : {"squared_error", "absolute_error"}, default="squared_error"
            Which loss it estimates.
        sample_weight : array-like of shape (n_samples,), default=None
            Weight of each row, which is the width it is given. None: all have the same.
        name : str, default=None
            What the legend calls the predictor.
        ax : matplotlib Axes, default=None
            Where to draw. None: on new axes.
        **kwargs : dict
            How to draw predictions and bars, as `matplotlib.axes.Axes.errorbar` takes it.

        Returns
        -------
        RiskProfileDisplay
            The display, drawn.
        """
        if loss not in SIZES:
            raise ValueError(
                f"loss must be one of {list(SIZES)}, whose risk tells the size of an error in "
                f"units of the target, got {loss!r}"
            )
        columns = check_vectors(y_true=y_true, y_pred=y_pred, risk=risk)
        weight = check_weight(sample_weight, columns[0], "y_true")
        position, (truth, prediction, risks) = _sort_rows(columns, weight)
        size = np.maximum(risks, 0.0)
        display = cls(
            position=position,
            y_true=truth,
            y_pred=prediction,
            error_size=np.sqrt(size) if loss == "squared_error" else size,
            size_name=SIZES[loss],
            name=name,
        )
        return display.plot(ax, **kwargs)

    def plot(self, ax: Axes | None = None, *, name: str | None = None, **kwargs: Any) -> Self:
        """Draw the profile.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw. None: on new axes. The truth is not drawn again if it is there already.
        name : str, default=None
            What the legend calls the predictor. None: the display's own name, if it has one.
        **kwargs : dict
            How to draw predictions and bars, as `matplotlib.axes.Axes.errorbar` takes it.

        Returns
        -------
        RiskProfileDisplay
            The display itself.
        """
        self.ax_ = ax = prepare_axes(ax)
        self.figure_ = ax.figure
        name = self.name if name is None else name
        n_rows = len(self.position)
        shown = np.unique(np.linspace(0, n_rows - 1, min(n_rows, MAX_ROWS)).astype(np.intp))
        content = f"prediction ± {self.size_name}"
        self._draw_predictions(shown, content if name is None else f"{name}: {content}", kwargs)
        self._draw_truth(shown)
        left_out = "" if len(shown) == n_rows else f"; {len(shown)} of {n_rows:,} drawn"
        ax.set(
            xlabel=f"Rows in order of their target (share of rows{left_out})",
            ylabel="Target",
        )
        ax.legend()
        return self

    def _draw_predictions(self, shown: Any, label: str, kwargs: dict[str, Any]) -> None:
        dots = {"label": label, "linestyle": "none", "marker": "o", "markersize": 3.5}
        style = line_style(self.ax_, kwargs, **dots)
        style = {"ecolor": (style["color"], 0.45), "elinewidth": 1.5, **style}
        drawn = self.ax_.errorbar(
            self.position[shown],
            self.y_pred[shown],
            self.error_size[shown],
            **style,
        )
        self.prediction_, _, (self.bars_,) = drawn.lines

    def _draw_truth(self, shown: Any) -> None:
        self.truth_ = draw_reference(
            self.ax_,
            self.position[shown],
            self.y_true[shown],
            label="Truth",
            curve_color=self.prediction_.get_color(),
            color=self.ax_.xaxis.label.get_color(),  # black on white, white on black
            linewidth=1.5,
            zorder=2.5,
        )


def _sort_rows(columns: list[Vector], weight: Vector | None) -> tuple[Vector, list[Vector]]:
    """Return the place of each row between 0 and 1, and the columns, sorted by the first.

    The others break its ties, so that the order in which the rows came does not matter.
    """
    width = np.ones(len(columns[0])) if weight is None else weight
    order = np.lexsort(columns[::-1])
    order = order[width[order] > 0]
    width = width[order]
    position = (np.cumsum(width) - width / 2) / width.sum()
    return position, [column[order] for column in columns]


def _loss_name(owner: Any) -> Any:
    """Return the name of the loss whose risk `owner` estimates, if it can be drawn here.

    An estimator that does not tell its loss is taken to have that of regression.
    """
    if is_classifier(owner):
        raise ValueError(
            "estimator: RiskProfileDisplay is for regressors, and this is a classifier; "
            "RiskCalibrationDisplay takes either."
        )
    while not hasattr(owner, "loss_") and hasattr(owner, "risk_"):  # a Deferral
        owner = risk_part(owner.risk_)
    if not hasattr(owner, "loss_"):
        return squared_error.name
    for known in (squared_error, absolute_error):
        if owner.loss_ == known:
            return known.name
    raise ValueError(
        f"estimator: RiskProfileDisplay shows the size of an error in units of the target, which "
        f"the risk tells under {list(SIZES)}, not under {owner.loss_!r}"
    )
