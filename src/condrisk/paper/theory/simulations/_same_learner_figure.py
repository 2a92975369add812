"""The figure of the plug-in risk of regressors beside regressions of the losses."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from condrisk._drawing import GREY, PALETTE
from condrisk.paper._panels import finish, label_axes, new_figure
from condrisk.paper._records import Record
from condrisk.paper.theory.simulations._results import select, values
from condrisk.paper.theory.simulations._same_learner_tables import error_ratio

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_SIZES = {200: 14, 800: 32, 3200: 60}
# Where the predictor is μ itself, m is infinitely farther away; drawn here.
_BEYOND = 12.0


def draw_same_learner(records: Iterable[Record]) -> Figure | None:
    """Draw the error of the plug-in risk over that of a regression, against how good m is.

    Examples
    --------
    >>> from condrisk.paper.theory.simulations._same_learner_figure import draw_same_learner
    >>> draw_same_learner([]) is None
    True
    """
    found = select(records, "same-learner")
    if not found:
        return None
    learners = values(found, "learner")
    figure, axes = new_figure(
        1, len(learners), (5.2 * len(learners), 5.0), sharex=True, sharey=True
    )
    for ax, learner in zip(axes.flat, learners, strict=True):
        _draw_panel(ax, [r for r in found if r["learner"] == learner])
        label_axes(
            ax,
            f"{learner[0].upper()}{learner[1:]} for m, v and the losses",
            "distance of m from μ / distance of f from μ",
            "E(ĝ − g)²: plug-in / losses on x",
        )
    _explain_marks(axes[0, 0])
    title = "The plug-in risk wins where m is better than f and the errors of f are rough in x"
    return finish(figure, axes, title, columns=5)


def _draw_panel(ax: Axes, found: list[Record]) -> None:
    ax.axhline(1, color="black", linewidth=1)
    ax.axvline(1, color=GREY, linewidth=1, linestyle=":")
    for k, method in enumerate(values(found, "method")):
        here = [r for r in found if r["method"] == method]
        x = [_distance_ratio(record) for record in here]
        y = [error_ratio(record, "plug-in", "losses on x").value for record in here]
        sizes = [_SIZES[record["n"]] for record in here]
        faces = [PALETTE[k] if r["noise"] == "homoscedastic" else "none" for r in here]
        ax.scatter(x, y, s=sizes, facecolors=faces, edgecolors=PALETTE[k], label=f"f: {method}")
    ax.set(xscale="log", yscale="log")
    ax.minorticks_off()
    ax.set_xticks([0.03, 0.1, 0.3, 1, 3, _BEYOND], ["0.03", "0.1", "0.3", "1", "3", "f = μ"])
    ax.text(3.0, 0.8, "plug-in better", fontsize="small", ha="center", va="top")
    ax.text(3.0, 1.2, "regression better", fontsize="small", ha="center")


def _explain_marks(ax: Axes) -> None:
    """Add to the legend what size and filling of a mark mean."""
    for n, size in _SIZES.items():
        ax.scatter([], [], s=size, color=GREY, label=f"{n:,} rows")
    ax.scatter([], [], s=32, facecolors="none", edgecolors=GREY, label="heteroscedastic noise")


def _distance_ratio(record: Record) -> float:
    m, f = (np.sqrt(np.mean(np.square(record[k]))) for k in ("mean_error", "predictor_error"))
    return float(m / f) if f > 0 else _BEYOND
