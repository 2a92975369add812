"""Figures of the study: learning curves with bands, and areas against random choice."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from condrisk._drawing import GREY, PALETTE
from condrisk.datasets import UCI_NAMES
from condrisk.paper._panels import finish, label_axes, new_figure
from condrisk.paper._records import Record
from condrisk.paper.active._results import (
    NAMES,
    all_comparisons,
    bands,
    curves_of,
    labels_of,
    sets_of,
)
from condrisk.paper.active._settings import METHODS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Nine curves with bands are too many for one panel.
SHOWN = ("random", "core-set", "uncertainty", "risk-k-center", "gain", "gain-share", "gap")
COLOURS = dict(zip(METHODS, [GREY, *PALETTE, "#000000", "#6a3d9a"], strict=True))


def draw_curves(records: Iterable[Record]) -> Figure | None:
    """Draw learning curves with pointwise 95 % intervals, a panel for each set.

    Examples
    --------
    >>> from condrisk.paper.active._figures import draw_curves
    >>> draw_curves([]) is None
    True
    """
    records = list(records)
    names = sets_of(records)
    if not names:
        return None
    n_columns = min(len(names), 5)
    n_rows = -(-len(names) // n_columns)
    figure, axes = new_figure(n_rows, n_columns, (3.1 * n_columns, 3.2 * n_rows + 0.8))
    for ax, name in zip(axes.flat, names, strict=False):
        _draw_set(ax, records, name)
    for ax in list(axes.flat)[len(names) :]:
        ax.set_visible(False)
    title = "Error against the number of labels, with 95 % intervals"
    return finish(figure, axes, title, columns=3)


def _draw_set(ax: Axes, records: list[Record], name: str) -> None:
    labels = labels_of(records, name)
    for method in SHOWN:
        errors = curves_of(records, name, method)
        if not len(errors):
            continue
        mean, low, high = bands(errors)
        colour: Any = COLOURS[method]
        ax.fill_between(labels, low, high, color=colour, alpha=0.13, linewidth=0)
        width = 2.2 if method in ("random", "gain") else 1.2
        ax.plot(labels, mean, color=colour, linewidth=width, label=METHODS[method])
    error = "mean squared error" if name in UCI_NAMES else "share of wrong labels"
    label_axes(ax, NAMES.get(name, name), "labels", error)


def draw_areas(records: Iterable[Record]) -> Figure | None:
    """Draw the ratio of areas to that of random choice, with 95 % intervals.

    Examples
    --------
    >>> from condrisk.paper.active._figures import draw_areas
    >>> draw_areas([]) is None
    True
    """
    records = list(records)
    comparisons = all_comparisons(records)
    names = [name for name in sets_of(records) if any(name in c for c in comparisons.values())]
    if not names:
        return None
    figure, axes = new_figure(1, 1, (8.5, 0.75 * len(names) + 1.8))
    ax = axes[0, 0]
    ax.axvline(1.0, color=GREY, linewidth=1.2)
    for k, (method, by_set) in enumerate(comparisons.items()):
        here = [(row, by_set[name]) for row, name in enumerate(names) if name in by_set]
        y = [row + 0.1 * (k - (len(comparisons) - 1) / 2) for row, _ in here]
        ratio = np.array([found.ratio for _, found in here])
        ends = np.array([[found.low, found.high] for _, found in here]).T
        ax.errorbar(
            ratio,
            y,
            xerr=np.abs(ends - ratio),
            fmt="o",
            markersize=4,
            color=COLOURS[method],
            linewidth=1,
            label=METHODS[method],
        )
    ax.set_yticks(range(len(names)), [NAMES.get(name, name) for name in names])
    ax.invert_yaxis()
    ax.set_xscale("log")
    ticks = [0.7, 0.8, 0.9, 1.0, 1.1, 1.25, 1.5]
    ax.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    ax.minorticks_off()
    ax.set_xlabel("area under the learning curve / that of random choice", fontsize="small")
    figure.legend(loc="outside lower center", ncols=2, frameon=False, fontsize="small")
    figure.suptitle("Left of the line: fewer errors than with random choice", fontsize="large")
    return figure
