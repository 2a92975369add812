"""Names beside the points of a figure, where they do not cover each other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from condrisk._drawing import GREY

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Point = tuple[float, float]
Box = tuple[float, float, float, float]  # left, bottom, right, top

_FONT = 7.5  # points
_MARK = 5.0  # half the size of a marker, in points, with a little room
_ANGLES = np.deg2rad([0, 180, 90, 270, 30, 150, 330, 210, 60, 120, 300, 240])
_BESIDE = 12.0  # farther from its point than this, a label needs a line to it
_DISTANCES = (7.0, 12.0, 18.0, 26.0, 36.0, 48.0, 62.0)


def place_labels(ax: Axes, labels: Mapping[str, Point], points: Sequence[Point]) -> None:
    """Write each label near its point, on none of the points and on no other label.

    The nearest free place of some is taken, with a thin line to the point if it is not beside it.

    Parameters
    ----------
    ax : matplotlib.axes.Axes
        Axes with their final size and limits.
    labels : mapping of str to (float, float)
        The labels and their points.
    points : sequence of (float, float)
        All points that are to stay visible.
    """
    scale = ax.get_figure(root=True).dpi / 72  # type: ignore[union-attr]
    marks = ax.transData.transform(np.array(points)) / scale
    taken = [_around(x, y, _MARK, _MARK) for x, y in marks]
    frame = tuple(np.array(ax.bbox.extents) / scale)
    for text, point in labels.items():
        place = np.asarray(ax.transData.transform(point)) / scale
        offset, box, distance = _free_place(text, place, taken, frame)
        taken.append(box)
        line = {"arrowstyle": "-", "color": GREY, "linewidth": 0.6, "shrinkB": 3}
        ax.annotate(
            text,
            point,
            xytext=tuple(offset),
            textcoords="offset points",
            ha="center",
            va="center",
            fontsize=_FONT,
            arrowprops=line if distance > _BESIDE else None,
        )


def _free_place(
    text: str, place: NDArray[np.float64], taken: Sequence[Box], frame: Sequence[float]
) -> tuple[NDArray[np.float64], Box, float]:
    """Return the middle of a label, from its point, the box it fills, and how far it is."""
    half_width, half_height = 0.28 * _FONT * len(text), 0.62 * _FONT
    best: tuple[float, NDArray[np.float64], Box, float] | None = None
    for distance in _DISTANCES:
        for angle in _ANGLES:
            along = np.array([np.cos(angle), np.sin(angle)])
            offset = along * (distance + half_width * abs(along[0]))
            x, y = place + offset
            box = _around(x, y, half_width, half_height)
            covered = sum(_overlap(box, other) for other in taken) + _outside(box, frame)
            if covered == 0.0:
                return offset, box, distance
            if best is None or covered < best[0]:
                best = covered, offset, box, distance
    assert best is not None
    return best[1:]


def _around(x: float, y: float, half_width: float, half_height: float) -> Box:
    return x - half_width, y - half_height, x + half_width, y + half_height


def _overlap(a: Box, b: Box) -> float:
    """Return the area that two boxes share."""
    width = min(a[2], b[2]) - max(a[0], b[0])
    height = min(a[3], b[3]) - max(a[1], b[1])
    return max(width, 0.0) * max(height, 0.0)


def _outside(box: Box, frame: Sequence[float]) -> float:
    """Return the area of a box that is outside a frame."""
    left, bottom, right, top = frame
    area = (box[2] - box[0]) * (box[3] - box[1])
    return area - _overlap(box, (left, bottom, right, top))
