"""What everything that draws shares: colours, axes, and figures written whole."""

from __future__ import annotations

import os
from pathlib import Path
from secrets import token_hex
from typing import TYPE_CHECKING, Any

from condrisk._extras import require

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Okabe and Ito's colours, which people who see colours differently can tell apart, less those
# that are too pale on white or too dark on black.
PALETTE = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")
# Halfway between black and white: readable on either.
GREY = "#808080"


def import_pyplot() -> Any:
    """Return `matplotlib.pyplot`, or say how to get it."""
    require("Drawing", "matplotlib.pyplot", extra="plots")
    import matplotlib.pyplot as plt

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
