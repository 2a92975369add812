"""Two figures: error of the risk against deferral, and what temperature scaling changes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from condrisk._drawing import GREY, PALETTE
from condrisk.paper._panels import label_axes, new_figure
from condrisk.paper._results import Record
from condrisk.paper._summary import Summary, mean_and_se
from condrisk.paper.cifar10._labels import place_labels
from condrisk.paper.cifar10._paper import COSTS
from condrisk.paper.cifar10._results import (
    FROM_SCRATCH,
    HYBRID,
    PROBABILITIES,
    REPRESENTATIONS,
    SCALED,
    Results,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Point = tuple[float, float]
_FULL: dict[str, Any] = {"markersize": 7, "markeredgecolor": "white", "linestyle": "none"}
# Those that lie on others are rings around them.
_RING: dict[str, Any] = {"markersize": 11, "markerfacecolor": "none", "linestyle": "none"}
# Kind of method: which ones, and how to draw them.
_KINDS: dict[str, tuple[tuple[str, ...], dict[str, Any]]] = {
    "probabilities": (PROBABILITIES, _FULL | {"color": PALETTE[0], "marker": "o"}),
    "probabilities, scaled": (SCALED, _RING | {"color": PALETTE[5], "marker": "o"}),
    "regression from scratch": (FROM_SCRATCH, _FULL | {"color": PALETTE[1], "marker": "s"}),
    "regression on a representation": (
        REPRESENTATIONS,
        _FULL | {"color": PALETTE[2], "marker": "^"},
    ),
    "recalibrated risk": ((HYBRID,), _RING | {"color": PALETTE[3], "marker": "D"}),
}
_OTHER = ("to compare with", _FULL | {"color": GREY, "marker": "X"})
_RULES: dict[str, dict[str, Any]] = {
    "always or never, the cheaper": {"linestyle": "--"},
    "oracle": {"linestyle": ":"},
}


# -- error against deferral ----------------------------------------------------------------------


def draw_error_against_deferral(records: Iterable[Record]) -> Figure | None:
    """Draw, for each predictor, the squared error of each risk against its deferral loss.

    The loss is relative to the cost, which is what deferring everything would take, and averaged
    over the costs.

    Parameters
    ----------
    records : iterable of dict
        Records.

    Returns
    -------
    matplotlib.figure.Figure or None
        None: there is no method with both.

    Examples
    --------
    >>> from condrisk.paper.cifar10._figure import draw_error_against_deferral
    >>> draw_error_against_deferral([]) is None
    True
    """
    results = Results(records)
    points = {name: _points(results, name) for name in results.predictors}
    points = {name: found for name, found in points.items() if found}
    if not points:
        return None
    figure, axes = new_figure(1, len(points), (max(5.2 * len(points), 6.5), 5.4))
    kinds: dict[str, Any] = {}
    for ax, (predictor, found) in zip(axes.flat, points.items(), strict=True):
        kinds |= _draw_points(ax, found)
        for rule, style in _RULES.items():
            height = _relative_loss(results, predictor, rule)
            if height is not None:
                kinds[rule] = ax.axhline(height, color=GREY, linewidth=1.0, zorder=1.5, **style)
        _finish_panel(ax, f"predictor {predictor}")
    # The legend takes its room first: labels are placed on axes that keep their size.
    figure.legend(
        kinds.values(),
        kinds.keys(),
        loc="outside upper center",
        ncols=4 if len(points) > 1 else 2,
        fontsize="small",
        frameon=False,
    )
    figure.draw_without_rendering()
    figure.set_layout_engine("none")
    for ax, found in zip(axes.flat, points.values(), strict=True):
        place_labels(ax, {m: p for m, p in found.items() if m not in SCALED}, [*found.values()])
    return figure


def _draw_points(ax: Axes, points: dict[str, Point]) -> dict[str, Any]:
    """Draw the methods, raw and scaled ones joined; return a line of each kind."""
    kinds: dict[str, Any] = {}
    for method, point in points.items():
        label, style = _kind(method)
        (kinds[label],) = ax.plot(*point, **style)
    for raw, scaled in zip(PROBABILITIES, SCALED, strict=True):
        if raw in points and scaled in points:
            ends = zip(points[raw], points[scaled], strict=True)
            ax.plot(*ends, color=PALETTE[5], linewidth=0.8, zorder=1.8)
    return kinds


def _points(results: Results, predictor: str) -> dict[str, Point]:
    """Return squared error and relative deferral loss of each method."""
    points = {}
    for method in results.methods(predictor):
        error = results.mean("risk_l2", predictor, method)
        loss = _relative_loss(results, predictor, method)
        if error is not None and loss is not None:
            points[method] = (error, loss)
    return points


def _relative_loss(results: Results, predictor: str, method: str) -> float | None:
    """Return loss over cost, the mean over the costs."""
    names = ("always", "never") if method.startswith("always or") else (method,)
    shares = []
    for cost in COSTS:
        found = [results.mean("loss", predictor, name, cost) for name in names]
        known = [loss for loss in found if loss is not None]
        shares += [min(known) / float(cost)] if known else []
    return float(np.mean(shares)) if shares else None


def _kind(method: str) -> tuple[str, dict[str, Any]]:
    for label, (methods, style) in _KINDS.items():
        if method in methods:
            return label, style
    return _OTHER


def _finish_panel(ax: Axes, title: str) -> None:
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    ax.set_xscale("log")
    ax.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    ax.xaxis.set_minor_formatter(NullFormatter())
    ax.margins(0.12)
    label_axes(
        ax,
        title,
        "Squared error of the risk against the realised loss",
        "Loss of learning to defer / cost, mean over costs",
    )


# -- temperature scaling -------------------------------------------------------------------------


def draw_temperature(records: Iterable[Record]) -> Figure | None:
    """Draw by how much temperature scaling changes errors and deferral loss, in per cent.

    Arrows go from the risk as it is to the scaled one, by the mean over seeds of the relative
    change; whiskers are two standard errors either way. What is within them of no change is a dot.

    Parameters
    ----------
    records : iterable of dict
        Records.

    Returns
    -------
    matplotlib.figure.Figure or None
        None: no risk is there both ways.

    Examples
    --------
    >>> from condrisk.paper.cifar10._figure import draw_temperature
    >>> draw_temperature([]) is None
    True
    """
    results = Results(records)
    changes = {name: _changes(results, name) for name in results.predictors}
    changes = {name: found for name, found in changes.items() if found}
    if not changes:
        return None
    size = (max(4.8 * len(changes), 6.0), 4.0)
    figure, axes = new_figure(1, len(changes), size, sharey=True)
    methods = [m for m in PROBABILITIES if any(m in found for found in changes.values())]
    for ax, (predictor, found) in zip(axes.flat, changes.items(), strict=True):
        ax.axvline(0.0, color=GREY, linewidth=1.2, zorder=1.5)
        for row, method in enumerate(methods):
            for k, change in enumerate(found.get(method, {}).values()):
                if change is not None:
                    _draw_arrow(ax, change, row + 0.24 * (k - 1), PALETTE[k])
        label_axes(ax, f"predictor {predictor}", "Change by temperature scaling, %")
        ax.margins(x=0.08)
    first = axes.flat[0]
    first.set_yticks(range(len(methods)), methods)
    first.set_ylim(len(methods) - 0.4, -0.6)
    _temperature_legend(figure)
    return figure


_MEASURES: dict[str, tuple[str, tuple[str | None, ...]]] = {
    "absolute error": ("risk_l1", (None,)),
    "squared error": ("risk_l2", (None,)),
    "loss of learning to defer, mean over costs": ("loss", COSTS),
}


def _changes(results: Results, predictor: str) -> dict[str, dict[str, Summary | None]]:
    """Return, for each risk that is there both ways, the relative changes in per cent."""
    there = results.methods(predictor)
    return {
        raw: {
            label: _change(results, predictor, (raw, scaled), *what)
            for label, what in _MEASURES.items()
        }
        for raw, scaled in zip(PROBABILITIES, SCALED, strict=True)
        if raw in there and scaled in there
    }


def _change(
    results: Results,
    predictor: str,
    pair: tuple[str, str],
    quantity: str,
    costs: tuple[str | None, ...],
) -> Summary | None:
    by_seed: dict[int, list[float]] = {}
    for cost in costs:
        before, after = (results.values(quantity, predictor, method, cost) for method in pair)
        for seed in sorted(before.keys() & after.keys()):
            by_seed.setdefault(seed, []).append(100 * (after[seed] / before[seed] - 1))
    if not by_seed:
        return None
    return Summary(*mean_and_se([float(np.mean(v)) for v in by_seed.values()]), len(by_seed))


def _draw_arrow(ax: Axes, change: Summary, height: float, colour: str) -> None:
    spread = 0.0 if change.se is None else 2 * change.se
    is_change = abs(change.mean) > spread
    if is_change:
        style = {"arrowstyle": "-|>", "color": colour, "linewidth": 1.8, "mutation_scale": 9}
        style |= {"shrinkA": 0, "shrinkB": 0}
        ax.annotate("", xy=(change.mean, height), xytext=(0.0, height), arrowprops=style)
    # Annotations do not move the limits of the axes, and this does.
    ax.errorbar(
        change.mean,
        height,
        xerr=spread,
        color=colour,
        marker="" if is_change else "o",
        markersize=4,
        linewidth=0.9,
        capsize=2.5,
    )


def _temperature_legend(figure: Figure) -> None:
    from matplotlib.lines import Line2D

    handles = [
        Line2D([], [], color=PALETTE[k], linewidth=2, label=label)
        for k, label in enumerate(_MEASURES)
    ]
    figure.legend(
        handles=handles, loc="outside upper center", ncols=3, fontsize="small", frameon=False
    )
