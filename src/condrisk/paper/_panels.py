"""Figures of the studies: panels of one style, with a legend below and a title above."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from condrisk._drawing import import_pyplot, prepare_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def new_figure(
    n_rows: int, n_columns: int, size: tuple[float, float], **options: Any
) -> tuple[Figure, Any]:
    """Return a figure and its axes, which pyplot does not keep."""
    plt = import_pyplot()
    figure, axes = plt.subplots(
        n_rows, n_columns, figsize=size, dpi=150, layout="constrained", squeeze=False, **options
    )
    for ax in axes.flat:
        prepare_axes(ax)
        ax.tick_params(labelsize="small")
    plt.close(figure)
    return figure, axes


def label_axes(ax: Axes, title: str, x: str = "", y: str = "") -> None:
    """Write what a panel shows above it, and beside its axes."""
    ax.set_title(title, loc="left", fontsize="medium")
    if x:
        ax.set_xlabel(x, fontsize="small")
    if y:
        ax.set_ylabel(y, fontsize="small")


def finish(figure: Figure, axes: Any, title: str, *, columns: int) -> Figure:
    """Put the legend of the first panel below all of them, and a title above."""
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=columns, frameon=False)
    figure.suptitle(title, fontsize="large")
    return figure
