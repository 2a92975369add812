"""What the displays share: losses and risks of an estimator, reference lines, thinning."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from condrisk._delegate import assess, risk_part
from condrisk._drawing import GREY, PALETTE, import_pyplot
from condrisk._validation import Vector

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D

REFERENCE_STYLE: dict[str, Any] = {"color": GREY, "linewidth": 1.2, "zorder": 1.5}
MAX_POINTS = 2000


def evaluate(
    estimator: Any, X: Any, y: Any, prediction: ArrayLike | None
) -> tuple[Vector, Vector, str]:
    """Return loss and risk of each row, and the name of the class that knows them."""
    import_pyplot()  # to fail before the work rather than after it
    found = assess(estimator, X, y, prediction=prediction)
    assert found.loss is not None
    return found.loss, found.risk, type(risk_part(estimator)).__name__


def line_style(ax: Axes, kwargs: dict[str, Any], **defaults: Any) -> dict[str, Any]:
    """Return how to draw a line: the user's wishes, else `defaults` and a colour not in use."""
    from matplotlib.cbook import normalize_kwargs
    from matplotlib.lines import Line2D

    return {"color": _next_color(ax)} | defaults | normalize_kwargs(kwargs, Line2D)


def _next_color(ax: Axes) -> str:
    from matplotlib.colors import to_hex

    used = [to_hex(line.get_color()) for line in ax.lines]
    return min(PALETTE, key=used.count)  # the first of those least used


def find_references(ax: Axes, label: str) -> list[Line2D]:
    """Return the reference lines of this kind, whether the legend has them or not."""
    return [line for line in ax.lines if line.get_gid() == _gid(label)]


def _gid(label: str) -> str:
    """Mark of a reference line: its label will not do, a curve may have the same."""
    return "reference-" + label.lower().replace(" ", "-")


def draw_reference(
    ax: Axes, x: ArrayLike, y: ArrayLike, *, label: str, curve_color: Any, **style: Any
) -> Line2D:
    """Draw a thin line to compare with, or return it if it is on the axes already.

    Another predictor has other losses, and so a reference of its own: that takes the colour of
    its curve, and has no second entry in the legend.
    """
    others = find_references(ax, label)
    points = np.column_stack([x, y])
    for line in others:
        known = np.asarray(line.get_xydata())
        if known.shape == points.shape and np.allclose(known, points, rtol=1e-9, atol=0):
            return line
    style = REFERENCE_STYLE | style | {"label": label, "gid": _gid(label)}
    if others:
        style |= {"label": "_" + label, "color": curve_color}
    (line,) = ax.plot(x, y, **style)
    return line


def draw_diagonal(ax: Axes, low: float, high: float, *, label: str) -> Line2D:
    """Draw the line y = x through these two values and beyond, unless it is there already."""
    for line in find_references(ax, label):
        return line
    if low == high:
        high = low + (abs(low) or 1.0)
    return ax.axline((low, low), (high, high), label=label, gid=_gid(label), **REFERENCE_STYLE)


def draw_legend(ax: Axes, *, loc: Any = "best") -> None:
    """Draw the legend, with the reference lines at its end."""
    handles, labels = ax.get_legend_handles_labels()
    is_reference = [str(getattr(h, "get_gid", str)()).startswith("reference-") for h in handles]
    order = np.argsort(is_reference, stable=True)
    ax.legend([handles[k] for k in order], [labels[k] for k in order], loc=loc)


def thin(x: Vector, y: Vector) -> NDArray[np.intp]:
    """Return the positions of at most `MAX_POINTS` points that draw the same line.

    `x` is increasing. Of the many points in one narrow strip of the picture, the line shows
    where it enters, where it leaves, and how far down and up it goes in between.
    """
    if len(x) <= MAX_POINTS:
        return np.arange(len(x))
    n_strips = MAX_POINTS // 4
    strip = np.minimum((x - x[0]) / (x[-1] - x[0]) * n_strips, n_strips - 1).astype(np.intp)
    first = np.flatnonzero(np.append(True, strip[1:] != strip[:-1]))
    last = np.append(first[1:], len(x)) - 1
    by_height = np.lexsort((y, strip))
    return np.unique(np.concatenate([first, last, by_height[first], by_height[last]]))
