"""What the displays share: axes, colours, reference lines, thinning, and saving."""

from __future__ import annotations

import os
from pathlib import Path
from secrets import token_hex
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from condrisk import _walk
from condrisk.metrics._validation import Vector

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

# Okabe and Ito's colours, which people who see colours differently can tell apart, less those
# that are too pale on white or too dark on black.
PALETTE = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")
# Halfway between black and white: readable on either.
GREY = "#808080"
REFERENCE_STYLE: dict[str, Any] = {"color": GREY, "linewidth": 1.2, "zorder": 1.5}
MAX_POINTS = 2000


def import_pyplot() -> Any:
    """Return `matplotlib.pyplot`, or say how to get it."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError(
            'Drawing needs matplotlib, which is not installed: pip install "condrisk[plots]".'
        ) from error
    return plt


def prepare_axes(ax: Axes | None) -> Axes:
    """Return `ax`, or new axes, with a light grid behind the data and no frame around them."""
    plt = import_pyplot()
    if ax is None:
        _, ax = plt.subplots(layout="constrained")
    ax.grid(True, color=GREY, alpha=0.2, linewidth=0.6)
    ax.set_axisbelow(True)
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def evaluate(
    estimator: Any, X: Any, y: Any, prediction: ArrayLike | None
) -> tuple[Vector, Vector, str]:
    """Return loss and risk of each row, and the name of the class that knows them."""
    import_pyplot()  # to fail before the work rather than after it
    owner, inner = _walk.find(estimator, X, "predict_risk")
    given = {} if prediction is None else {"prediction": prediction}
    loss = _walk.loss_values(owner, inner, y, **given)
    return loss, owner.predict_risk(inner, **given), type(owner).__name__


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


def save_figure(figure: Figure, path: str | os.PathLike[str]) -> None:
    """Write `figure` to `path` whole or not at all; the end of the name tells the format.

    Parameters
    ----------
    figure : matplotlib.figure.Figure
        The figure, such as the `figure_` of a display.
    path : str or path-like
        Where to. A file that is there already stays as it was until the new one is complete.
    """
    path = Path(path)
    picture_format = path.suffix.lower().removeprefix(".")
    if picture_format not in figure.canvas.get_supported_filetypes():
        raise ValueError(f"path must end in .png, .svg, .pdf or the like, got {str(path)!r}")
    if not path.parent.is_dir():
        raise FileNotFoundError(f"path {str(path)!r} is in a folder that does not exist")
    temporary = path.with_name(f".{path.name}.{token_hex(4)}.tmp")
    try:
        with open(temporary, "xb") as file:
            figure.savefig(file, format=picture_format)
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)
