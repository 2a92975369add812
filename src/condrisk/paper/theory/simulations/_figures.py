"""Figures of the bounds: excess against rows, what they say for practical classes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from condrisk._drawing import GREY, PALETTE
from condrisk.paper._panels import finish, label_axes, new_figure
from condrisk.paper._records import Record
from condrisk.paper.theory.simulations._results import excess_slope, select, values

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_PANELS = {
    "realised_absolute": ("Regression by absolute error", "E|ĝ − z| above the least"),
    "squared_error": ("Regression by squared error", "E(ĝ − g)²"),
    "brier_probability": (
        "Calibration: probabilities by Brier score",
        r"$E\,\Vert p_\theta - p\Vert^2$",
    ),
    "plug_in": ("Calibration: the plug-in risk", "E|ĝ − g|"),
}
_MOST = {"brier_probability": 2.0}


def draw_excess(records: Iterable[Record]) -> Figure | None:
    """Draw the excess of what is minimised, and its bound, against the number of rows.

    Examples
    --------
    >>> from condrisk.paper.theory.simulations._figures import draw_excess
    >>> draw_excess([]) is None
    True
    """
    records = list(records)
    if not select(records, "excess"):
        return None
    figure, axes = new_figure(2, 2, (9.0, 7.0))
    for ax, (method, (words, label)) in zip(axes.flat, _PANELS.items(), strict=True):
        _draw_panel(ax, records, method)
        label_axes(ax, words, "rows n", label)
    title = "Every bound holds, far above what happens, and falls half as fast"
    return finish(figure, axes, title, columns=4)


def _draw_panel(ax: Axes, records: list[Record], method: str) -> None:
    found = [r for r in select(records, "excess", method=method) if r["mean"] > 0]
    n = [r["n"] for r in found]
    bounds = [r["bounds"]["0.05"]["bound"] for r in found]
    most = _MOST.get(method, 1.0)
    ax.axhline(most, color=GREY, linestyle=":", label="the most it can be")
    ax.plot(n, bounds, color=PALETTE[1], linestyle="--", marker="s", label="bound, δ = 0.05")
    high = [r["high"] for r in found]
    ax.plot(n, high, color=PALETTE[0], linewidth=0.8, label="95 % of repetitions")
    means = [r["mean"] for r in found]
    ax.plot(n, means, color=PALETTE[0], marker="o", label="mean of repetitions")
    ax.set(xscale="log", yscale="log")
    slope = excess_slope(records, method)
    if slope is not None:
        ax.text(
            0.03,
            0.04,
            f"slope of the mean {slope.value:.2f}\n(95 %: {slope.low:.2f} to {slope.high:.2f})",
            transform=ax.transAxes,
            fontsize="small",
            color=PALETTE[0],
        )


def draw_planning(records: Iterable[Record]) -> Figure | None:
    """Draw what the bounds say for classes of functions that are used, against the rows.

    Examples
    --------
    >>> from condrisk.paper.theory.simulations._figures import draw_planning
    >>> draw_planning([]) is None
    True
    """
    found = [r for r in select(records, "planning") if "functions" in r]
    if not found:
        return None
    panels = {
        "squared_error": "Regression: bound on E(ĝ − g)² above the best",
        "plug_in, K = 2": "Plug-in, two classes: bound on E|ĝ − g|",
        "plug_in, K = 10": "Plug-in, ten classes: bound on E|ĝ − g|",
    }
    figure, axes = new_figure(1, 3, (12.0, 4.6))
    for ax, (method, words) in zip(axes.flat, panels.items(), strict=True):
        for k, record in enumerate(r for r in found if r["method"] == method):
            n = [int(number) for number in record["values"]]
            style: dict[str, Any] = {"color": PALETTE[k % len(PALETTE)], "marker": "o"}
            ax.plot(n, list(record["values"].values()), label=record["functions"], **style)
        ax.set(xscale="log", yscale="log", ylim=(0.003, 30))
        ax.axhspan(1.0, 30, color=GREY, alpha=0.2, linewidth=0)
        ax.text(0.97, 0.97, "vacuous", transform=ax.transAxes, ha="right", va="top", color="black")
        label_axes(ax, words, "rows n")
    title = "What the bounds promise, for losses in [0, 1] (δ = 0.05)"
    return finish(figure, axes, title, columns=3)


def draw_separable(records: Iterable[Record]) -> Figure | None:
    """Draw the errors of calibration- and regression-based estimates without noise.

    Examples
    --------
    >>> from condrisk.paper.theory.simulations._figures import draw_separable
    >>> draw_separable([]) is None
    True
    """
    found = select(records, "separable")
    if not found:
        return None
    figure, axes = new_figure(1, 3, (12.5, 4.4))
    _draw_limits(axes[0, 0], [r for r in found if r["world"] == "limit"])
    _draw_cantor(axes[0, 1], [r for r in found if r["world"] == "cantor"])
    _draw_sectors(axes[0, 2], [r for r in found if r["world"] == "sectors"])
    figure.suptitle(
        "Classes without noise: the plug-in risk need not learn the predictor, a regression on x "
        "must",
        fontsize="large",
    )
    return figure


def _draw_limits(ax: Axes, found: list[Record]) -> None:
    m = [r["lipschitz"] for r in found]
    ax.plot(m, [r["error"] for r in found], color=PALETTE[1], marker="o", label="best regressor")
    closed = [r["closed_form"] for r in found]
    ax.plot(m, closed, color=PALETTE[4], linestyle="--", label="min(1, m · distance)")
    ax.plot(m, [1.3711 / value**0.5 for value in m], color=GREY, linestyle=":", label="1.37 / √m")
    ax.axhline(0, color=PALETTE[0], linewidth=2, label="calibration-based")
    ax.set(xscale="log", ylim=(-0.02, 0.6))
    label_axes(
        ax,
        "Best m-Lipschitz regressor, any number of rows",
        "Lipschitz constant m",
        "E|ĝ − g| on the fat Cantor set",
    )
    ax.legend(fontsize="small", frameon=False)


def _draw_cantor(ax: Axes, found: list[Record]) -> None:
    for k, m in enumerate(values(found, "lipschitz")):
        here = [r for r in found if r["lipschitz"] == m and r["method"] == "regression on x"]
        colour = PALETTE[k + 1]
        ax.plot(
            [r["n"] for r in here],
            [r["error"] for r in here],
            color=colour,
            marker="o",
            label=f"regression on x, m = {m:g}",
        )
        ax.axhline(here[0]["limit"], color=colour, linestyle=":", linewidth=1)
    last = [r for r in found if r["lipschitz"] == values(found, "lipschitz")[-1]]
    for method, style in (("regression on x and f(x)", "--"), ("calibration-based", "-")):
        here = [r for r in last if r["method"] == method]
        n, error = [r["n"] for r in here], [r["error"] for r in here]
        colour = PALETTE[0] if style == "-" else "black"
        ax.plot(n, error, color=colour, linestyle=style, label=method)
    ax.set(xscale="log", ylim=(-0.01, 0.42))
    label_axes(ax, "The same world, fitted to n rows (dots: limits)", "rows n")
    ax.legend(fontsize="small", frameon=False)


def _draw_sectors(ax: Axes, found: list[Record]) -> None:
    for k, method in enumerate(values(found, "method")):
        here = [r for r in found if r["method"] == method]
        ax.errorbar(
            [r["n"] for r in here],
            [r["error"] for r in here],
            yerr=[2 * r["se"] for r in here],
            color=PALETTE[k],
            marker="o",
            label=method,
        )
    ax.set(xscale="log", yscale="log")
    label_axes(ax, "Sectors of a plane: logistic regression, forests", "rows n")
    ax.legend(fontsize="small", frameon=False, loc="lower left")
