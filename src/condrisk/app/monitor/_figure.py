"""The pictures of what monitoring found, over time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from condrisk._drawing import GREY, PALETTE, import_pyplot, prepare_axes
from condrisk.app._numbers import Amounts, unit_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from condrisk.app.monitor._report import Monitoring

BLUE, RED, GREEN, _, ORANGE, _ = PALETTE
MOST_LABELS = 12
# Of the columns that moved, those that explain most.
MOST_COLUMNS = 6


def draw(found: Monitoring, ax: Axes | None) -> Axes:
    """Draw the expected loss with its band, the realised one, the alarm and where rows drifted."""
    if ax is None:
        ax = import_pyplot().subplots(figsize=(_width(found), 4.2), layout="constrained")[1]
    ax = prepare_axes(ax)
    _draw_losses(ax, found)
    _label_chunks(ax, found)
    return ax


def draw_all(found: Monitoring) -> Figure:
    """Draw losses, the evidence of the alarm and the columns that moved, one below the other."""
    plt = import_pyplot()
    names = _most_moved(found)
    heights = [4.0, *([1.6] if found.threshold is not None else [])]
    heights += [0.5 + 0.28 * len(names)] if names else []
    figure, grid = plt.subplots(
        len(heights),
        1,
        sharex=True,
        squeeze=False,
        figsize=(_width(found), sum(heights) + 0.6),
        gridspec_kw={"height_ratios": heights},
        layout="constrained",
    )
    axes = [prepare_axes(ax) for ax in grid[:, 0]]
    _draw_losses(axes[0], found)
    if found.threshold is not None:
        _draw_evidence(axes[1], found)
    if names:
        _draw_columns(axes[-1], found, names)
    _label_chunks(axes[-1], found)
    return figure


def _width(found: Monitoring) -> float:
    return min(6.8 + 0.25 * max(len(found.chunks) - 12, 0), 14)


# -- losses ---------------------------------------------------------------------------------------


def _draw_losses(ax: Axes, found: Monitoring) -> None:
    place = np.arange(len(found.chunks))
    low, mean, high = (
        np.array([getattr(chunk.expected, part) for chunk in found.chunks])
        for part in ("low", "mean", "high")
    )
    # Steps, so that one chunk alone has a band too.
    edges = np.append(place - 0.5, place[-1] + 0.5)
    band = f"{100 * found.confidence:.4g} % band"
    ax.stairs(high, edges, baseline=low, fill=True, color=BLUE, alpha=0.25, label=band)
    ax.hlines(mean, edges[:-1], edges[1:], color=BLUE, linewidth=1.8, label="expected loss")
    before = found.reference["mean_loss"]
    ax.axhline(before, color=GREY, linestyle="--", linewidth=1.2, label="held-out rows, realised")
    _draw_realised(ax, found)
    _draw_drift(ax, found)
    _draw_alarm(ax, found, label="alarm")
    ax.set_ylim(bottom=min(0.0, *(chunk.expected.low for chunk in found.chunks)))
    amounts = Amounts(found.loss, unit_of(found.target))
    ax.yaxis.set_major_formatter(lambda value, _: amounts.text(value))
    ax.set_ylabel(amounts.mean)
    # Above the axes: inside, it would hide what it explains.
    ax.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=3, fontsize="small", frameon=False)


def _draw_realised(ax: Axes, found: Monitoring) -> None:
    points = [(k, c.realised, c.in_band) for k, c in enumerate(found.chunks) if c.labelled]
    styles: list[tuple[bool, dict[str, Any]]] = [
        (True, {"marker": "o", "color": GREEN, "label": "realised loss"}),
        (False, {"marker": "D", "color": RED, "label": "realised loss, outside its band"}),
    ]
    for inside, style in styles:
        some = [(k, value) for k, value, is_inside in points if is_inside is inside]
        if some:
            ax.plot(*zip(*some, strict=True), linestyle="none", markersize=6, **style)


def _draw_drift(ax: Axes, found: Monitoring) -> None:
    drifted = [k for k, chunk in enumerate(found.chunks) if chunk.notes]
    if drifted:
        ax.plot(
            drifted,
            np.full(len(drifted), 0.02),
            transform=ax.get_xaxis_transform(),
            linestyle="none",
            marker="^",
            color=ORANGE,
            markersize=8,
            label="rows have drifted",
            clip_on=False,
        )


def _draw_alarm(ax: Axes, found: Monitoring, label: str | None = None) -> None:
    if found.alarm is None:
        return
    first = next(k for k, chunk in enumerate(found.chunks) if chunk.alarm)
    ax.axvspan(first - 0.5, len(found.chunks) - 0.5, color=RED, alpha=0.1, zorder=0)
    ax.axvline(first - 0.5, color=RED, linewidth=1.2, label=label)


# -- evidence and columns -------------------------------------------------------------------------


def _draw_evidence(ax: Axes, found: Monitoring) -> None:
    """Draw the evidence of the alarm on a logarithmic axis, up to a little above the threshold."""
    assert found.threshold is not None
    known = [(k, c.evidence) for k, c in enumerate(found.chunks) if c.evidence is not None]
    place, evidence = (np.array(part, dtype=float) for part in zip(*known, strict=True))
    top, bottom = 10 * found.threshold, 1e-3
    ax.plot(place, evidence.clip(bottom, top), color=RED, linewidth=1.6, marker="o", markersize=3)
    ax.axhline(found.threshold, color=GREY, linestyle="--", linewidth=1.2)
    ax.text(-0.45, found.threshold, "alarm", color=GREY, fontsize="small", va="bottom")
    ax.set_yscale("log")
    ax.set_ylim(bottom, 2 * top)
    ax.set_ylabel("evidence")
    _draw_alarm(ax, found)


def _most_moved(found: Monitoring) -> list[str]:
    weight: dict[str, float] = {}
    for chunk in found.chunks:
        for column in chunk.moved:
            weight[column.name] = weight.get(column.name, 0.0) + abs(column.explained)
    return sorted(weight, key=lambda name: -weight[name])[:MOST_COLUMNS]


def _draw_columns(ax: Axes, found: Monitoring, names: list[str]) -> None:
    """Draw a bubble where a column has moved: red if it makes losses larger, as far as its size."""
    lines = {name: k for k, name in enumerate(reversed(names))}
    points = [
        (k, lines[column.name], column.explained)
        for k, chunk in enumerate(found.chunks)
        for column in chunk.moved
        if column.name in lines
    ]
    x, y, size = (np.array(part, dtype=float) for part in zip(*points, strict=True))
    area = 12 + 110 * np.abs(size) / max(float(np.abs(size).max()), 1e-300)
    for sign, color, label in ((1, RED, "expects larger losses"), (-1, BLUE, "smaller ones")):
        some = np.sign(size + 1e-300) == sign
        if some.any():
            ax.scatter(x[some], y[some], s=area[some], color=color, alpha=0.8, label=label)
    ax.set_yticks(list(lines.values()), list(lines))
    ax.set_ylim(-0.7, len(names) - 0.3)
    ax.set_title("columns that moved", fontsize="small", loc="left")
    ax.legend(loc="lower right", bbox_to_anchor=(1, 1), ncols=2, fontsize="small", frameon=False)


def _label_chunks(ax: Axes, found: Monitoring) -> None:
    n = len(found.chunks)
    shown = range(0, n, -(-n // MOST_LABELS))
    ax.set_xticks(list(shown), [found.chunks[k].name for k in shown], rotation=30, ha="right")
    ax.set_xlim(-0.5, n - 0.5)
