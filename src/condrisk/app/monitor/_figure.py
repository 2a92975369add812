"""The picture of a monitored table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from condrisk._drawing import GREY, PALETTE, prepare_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from condrisk.app.monitor._report import Monitoring

BLUE, RED, GREEN, _, ORANGE, _ = PALETTE
MOST_LABELS = 12


def draw(found: Monitoring, ax: Axes | None) -> Axes:
    """Draw the expected loss with its band, the realised one, the alarm and where rows drifted."""
    if ax is None:
        from condrisk._drawing import import_pyplot

        plt = import_pyplot()
        width = min(6.4 + 0.25 * max(len(found.chunks) - 12, 0), 14)
        ax = plt.subplots(figsize=(width, 4.2), layout="constrained")[1]
    ax = prepare_axes(ax)
    place = np.arange(len(found.chunks))
    low, mean, high = (
        np.array([getattr(chunk.expected, part) for chunk in found.chunks])
        for part in ("low", "mean", "high")
    )
    _draw_expected(ax, place, low, mean, high, f"{found.confidence:.0%} band")
    ax.axhline(
        found.reference["mean_loss"],
        color=GREY,
        linestyle="--",
        linewidth=1.2,
        label="held-out rows, realised",
    )
    _draw_realised(ax, found)
    _draw_drift(ax, found)
    if found.alarm is not None:
        first = next(k for k, chunk in enumerate(found.chunks) if chunk.alarm)
        ax.axvspan(first - 0.5, len(place) - 0.5, color=RED, alpha=0.08, zorder=0)
        ax.axvline(first - 0.5, color=RED, linewidth=1.2, label="alarm")
    _label(ax, found)
    return ax


def _draw_expected(ax: Axes, place: Any, low: Any, mean: Any, high: Any, name: str) -> None:
    # Steps, so that one chunk alone has a band too.
    edges = np.append(place - 0.5, place[-1] + 0.5)
    ax.stairs(high, edges, baseline=low, fill=True, color=BLUE, alpha=0.18, label=name)
    ax.hlines(mean, edges[:-1], edges[1:], color=BLUE, linewidth=1.8, label="expected loss")


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


def _label(ax: Axes, found: Monitoring) -> None:
    n = len(found.chunks)
    step = max(1, -(-n // MOST_LABELS))
    shown = range(0, n, step)
    ax.set_xticks(list(shown), [found.chunks[k].name for k in shown], rotation=30, ha="right")
    ax.set_xlim(-0.5, n - 0.5)
    ax.set_ylim(bottom=min(0.0, *(c.expected.low for c in found.chunks)))
    ax.set_ylabel(f"mean {found.loss.replace('_', ' ')}")
    # Above the axes: inside, it would hide what it explains.
    ax.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=3, fontsize="small", frameon=False)
