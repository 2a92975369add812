"""Figures of many models under bounds that always hold, of medians, and of intervals."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from condrisk._drawing import GREY, PALETTE
from condrisk.paper._panels import finish, label_axes, new_figure
from condrisk.paper._records import Record
from condrisk.paper.theory.simulations._results import select, values

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_METHODS = {
    "betting": ("by betting", PALETTE[0], "o"),
    "bernstein": ("by Bernstein", PALETTE[2], "s"),
    "normal": ("normal approximation", PALETTE[1], "^"),
}
# The counterexample to the printed bound over a class: f ≤ 0, Y = 1, f̂ = −ε.
_EPSILONS = (0.05, 0.1, 0.3)


def draw_plug_in(records: Iterable[Record]) -> Figure | None:
    """Draw the error of plug-in risks against the distance of the probabilities.

    Examples
    --------
    >>> from condrisk.paper.theory.simulations._model_figures import draw_plug_in
    >>> draw_plug_in([]) is None
    True
    """
    found = select(records, "plug-in")
    if not found:
        return None
    worlds = values(found, "world")
    figure, axes = new_figure(1, len(worlds), (4.2 * len(worlds), 4.4))
    for ax, world in zip(axes.flat, worlds, strict=True):
        here = [r for r in found if r["world"] == world]
        most = max(r["l1"] for r in here) * 1.05
        upper = here[0]["upper"]
        ax.plot([0, most], [0, upper * most / 2], color=PALETTE[1], label="bound: (M/2) · distance")
        ax.plot(
            [0, most / 2],
            [0, upper * most / 2],
            color=GREY,
            linestyle=":",
            label="as printed: M · distance",
        )
        fitted = [r for r in here if "rows" in r["method"]]
        other = [r for r in here if "rows" not in r["method"]]
        for part, words, colour, marker in (
            (fitted, "fitted models", PALETTE[0], "o"),
            (other, "p, disturbed", PALETTE[2], "D"),
        ):
            x, y = [r["l1"] for r in part], [r["error"] for r in part]
            ax.scatter(x, y, s=18, color=colour, marker=marker, label=words, zorder=3)
        label_axes(
            ax,
            f"{world[0].upper()}{world[1:]} (M = {upper:.3g})",
            r"distance of the probabilities, $E\,\Vert p_\theta - p\Vert_1$",
            "error of the plug-in risk, E|ĝ − g|",
        )
    title = "Better probabilities, better risk: every model lies under the line"
    return finish(figure, axes, title, columns=4)


def draw_rejection(records: Iterable[Record]) -> Figure | None:
    """Draw the excess loss with rejection of many pairs against the sum that bounds it.

    Examples
    --------
    >>> from condrisk.paper.theory.simulations._model_figures import draw_rejection
    >>> draw_rejection([]) is None
    True
    """
    found = select(records, "rejection")
    if not found:
        return None
    figure, axes = new_figure(1, 1, (7.0, 5.4))
    ax = axes[0, 0]
    for pairs, words, colour, size in (
        ("disturbed", "truth, disturbed in f and g", PALETTE[5], 6),
        ("fitted", "fitted models f + g", PALETTE[0], 16),
    ):
        here = [r for r in found if r["pairs"] == pairs]
        # What is zero but for rounding has no place on a logarithmic axis.
        x, y = [r["bound"] for r in here], [max(r["excess"], 2e-5) for r in here]
        ax.scatter(x, y, s=size, color=colour, label=words)
    ax.scatter(
        [e**2 for e in _EPSILONS],
        [2 * e + e**2 for e in _EPSILONS],
        s=40,
        color=PALETTE[1],
        marker="X",
        label="class without E[Y | X], printed bound",
        zorder=4,
    )
    ends = (1e-3, 20.0)
    ax.plot(ends, ends, color="black", linewidth=1, label="the bound")
    ax.set(xscale="log", yscale="log", xlim=ends, ylim=(2e-5, 20.0))
    label_axes(
        ax,
        "Excess loss with rejection stays under E(f − f*)² + E|ĝ − g|, if f* = E[Y | X]",
        "E(f − f*)² + E|ĝ − g|",
        "excess loss over the best rule (three costs)",
    )
    figure.legend(*ax.get_legend_handles_labels(), loc="outside lower center", ncols=2)
    return figure


def draw_median(records: Iterable[Record]) -> Figure | None:
    """Draw risks that were fitted by absolute and by squared error against the true risk.

    Examples
    --------
    >>> from condrisk.paper.theory.simulations._model_figures import draw_median
    >>> draw_median([]) is None
    True
    """
    found = select(records, "median")
    if not found:
        return None
    laws = values(found, "law")
    figure, axes = new_figure(1, len(laws), (4.6 * len(laws), 4.4))
    most_rows = max(r["n"] for r in found)
    for ax, law in zip(axes.flat, laws, strict=True):
        here = {r["method"]: r for r in select(found, "median", law=law, n=most_rows)}
        ends = (0.0, max(here["L1"]["risk"]) * 1.05)
        ax.plot(ends, ends, color=GREY, linestyle=":", label="the risk g: a conditional mean")
        ax.plot(
            here["L1"]["risk"],
            here["L1"]["median"],
            color=PALETTE[1],
            linewidth=1,
            label="conditional median",
        )
        for method, words, colour, marker in (
            ("L1", "fitted by absolute error", PALETTE[1], "o"),
            ("L2", "fitted by squared error", PALETTE[0], "s"),
        ):
            x, y = here[method]["risk"], here[method]["estimate"]
            ax.plot(x, y, color=colour, marker=marker, linestyle="none", markersize=5, label=words)
        heading = f"{law[0].upper()}{law[1:]}, {most_rows:,} rows"
        label_axes(ax, heading, "true risk g of a cell", "estimate")
    title = "Minimising absolute error against losses finds the median, not the risk"
    return finish(figure, axes, title, columns=2)


def draw_coverage(records: Iterable[Record]) -> Figure | None:
    """Draw how often intervals for the error of a risk cover, and how wide they are.

    Examples
    --------
    >>> from condrisk.paper.theory.simulations._model_figures import draw_coverage
    >>> draw_coverage([]) is None
    True
    """
    found = select(records, "coverage")
    if not found:
        return None
    figure, axes = new_figure(1, 2, (11.0, 4.6))
    places = [(world, n) for world in values(found, "world") for n in sorted(values(found, "n"))]
    for shift, (method, (words, colour, marker)) in enumerate(_METHODS.items()):
        here = {(r["world"], r["n"]): r for r in found if r["method"] == method}
        x = np.arange(len(places)) + 0.18 * (shift - 1)
        rows = [here[place] for place in places]
        coverage = [r["covered"] / r["repetitions"] for r in rows]
        widths = [r["realised"]["width"] for r in rows]
        style = {"color": colour, "marker": marker, "linestyle": "none", "label": words}
        axes[0, 0].plot(x, coverage, **style)
        axes[0, 1].plot(x, widths, **style)
    nominal = found[0]["confidence"]
    axes[0, 0].axhline(nominal, color="black", linewidth=1, label=f"promised: {nominal:.0%}")
    label_axes(axes[0, 0], "How often everything that is reported is true")
    axes[0, 0].set_ylim(top=1.01)
    axes[0, 0].yaxis.set_major_formatter(lambda value, _: f"{value:.0%}")
    label_axes(axes[0, 1], "Mean width of the interval for E(ĝ − z)²")
    axes[0, 1].set_yscale("log")
    for ax in axes.flat:
        _name_places(ax, places)
    title = "The normal approximation promises too much where losses are rare or skewed"
    return finish(figure, axes, title, columns=4)


def _name_places(ax: Axes, places: list[tuple[str, int]]) -> None:
    ax.set_xticks(range(len(places)), [f"{world}\nn = {n:,}" for world, n in places])
    ax.tick_params(axis="x", labelsize="x-small")
    for place in range(2, len(places), 2):
        ax.axvline(place - 0.5, color=GREY, linewidth=0.6, alpha=0.5)
