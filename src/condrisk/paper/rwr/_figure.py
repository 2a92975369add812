"""The paper's figure, and one of what it claims: better calibration, better deferral."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from condrisk._drawing import GREY, PALETTE, import_pyplot
from condrisk.paper._panels import label_axes, new_figure
from condrisk.paper._results import Record
from condrisk.paper.rwr._paper import COSTS, MODELS
from condrisk.paper.rwr._results import Results
from condrisk.plots import RiskProfileDisplay

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FIGURE_SET, FIGURE_METHOD = "energy", "MLP+RF"
_MARKERS = {"LR": "o", "MLP": "s", "MLP2": "^", "RF": "D"}


def figure_record(records: Iterable[Record]) -> Record | None:
    """Return the first record of MLP+RF on energy that has kept its rows, or None."""
    wanted = (FIGURE_SET, FIGURE_METHOD)
    found = (r for r in records if (r["set"], r["method"]) == wanted and r.get("rows"))
    return min(found, key=lambda record: record["fold"], default=None)


def draw_profile(records: Iterable[Record]) -> Figure | None:
    """Draw the paper's figure: targets, predictions of the MLP, and ± √risk by the forest.

    Parameters
    ----------
    records : iterable of dict
        Records. The one of MLP+RF on energy that has "rows", with "y", "prediction" and "risk",
        is drawn.

    Returns
    -------
    matplotlib.figure.Figure or None
        None: no record has rows.

    Examples
    --------
    >>> from condrisk.paper.rwr._figure import draw_profile
    >>> rows = {"y": [1.0, 2.0], "prediction": [1.5, 2.5], "risk": [0.2, 0.3]}
    >>> record = {"set": "energy", "fold": 0, "method": "MLP+RF", "rows": rows}
    >>> draw_profile([record]).axes[0].get_title(loc="left")
    'energy, fold 1: an MLP, and a forest that estimates its squared error'
    """
    record = figure_record(records)
    if record is None:
        return None
    plt = import_pyplot()
    rows = record["rows"]
    figure, ax = plt.subplots(figsize=(9.0, 4.0), dpi=150, layout="constrained")
    RiskProfileDisplay.from_predictions(
        rows["y"], rows["prediction"], rows["risk"], name=FIGURE_METHOD, ax=ax
    )
    fold = f"{FIGURE_SET}, fold {record['fold'] + 1}"
    label_axes(ax, f"{fold}: an MLP, and a forest that estimates its squared error")
    plt.close(figure)  # it is the caller's to show or to save: pyplot need not keep it
    return figure


def draw_calibration_against_deferral(records: Iterable[Record]) -> Figure | None:
    """Draw, for each set, the error of each pair's calibrator against its deferral loss.

    The error is the root mean squared error of the risk over that of the best calibrator of the
    same predictor, so that predictors can share an axis. The loss is relative to deferring
    everything, and averaged over the costs: below 1, the pair is of use.

    Parameters
    ----------
    records : iterable of dict
        Records.

    Returns
    -------
    matplotlib.figure.Figure or None
        None: there is no record of a pair on a set of the paper.

    Examples
    --------
    >>> from condrisk.paper.rwr._figure import draw_calibration_against_deferral
    >>> draw_calibration_against_deferral([]) is None
    True
    """
    results = Results(records)
    points = {name: _points(results, name) for name in results.paper_sets}
    points = {name: found for name, found in points.items() if found}
    if not points:
        return None
    n_columns = min(4, len(points))
    n_rows = -(-len(points) // n_columns)
    size = (max(2.6 * n_columns, 6.5), max(2.5 * n_rows + 0.9, 4.2))
    figure, axes = new_figure(n_rows, n_columns, size)
    for ax in axes.flat[len(points) :]:
        ax.set_axis_off()
    for ax, (name, found) in zip(axes.flat, points.items(), strict=False):
        _draw_set(ax, name, found)
    figure.supxlabel(
        "RMSE of the risk / that of the best calibrator of the same predictor", fontsize="medium"
    )
    figure.supylabel("Deferral loss / cost, mean over costs", fontsize="medium")
    _draw_legend(figure, columns=5 if n_columns > 2 else 3)
    return figure


def _points(results: Results, name: str) -> dict[str, dict[str, tuple[float, float]]]:
    """Return, for predictor and calibrator, relative error and relative deferral loss."""
    points: dict[str, dict[str, tuple[float, float]]] = {}
    for predictor in MODELS:
        found: dict[str, tuple[float, float]] = {}
        for calibrator in MODELS:
            method = f"{predictor}+{calibrator}"
            error = results.mean("risk_rmse", name, method)
            losses = {cost: results.mean("loss", name, method, cost) for cost in COSTS}
            shares = [loss / float(cost) for cost, loss in losses.items() if loss is not None]
            if error is not None and shares:
                found[calibrator] = (error, float(np.mean(shares)))
        least = min((error for error, _ in found.values()), default=0.0)
        if least > 0:
            points[predictor] = {c: (error / least, loss) for c, (error, loss) in found.items()}
    return points


def _draw_set(ax: Axes, name: str, points: dict[str, dict[str, tuple[float, float]]]) -> None:
    ax.axhline(1.0, color=GREY, linewidth=1.0, linestyle="--", zorder=1.5)
    for predictor, found in points.items():
        color = PALETTE[MODELS.index(predictor)]
        in_order = sorted(found.values())
        ax.plot(*zip(*in_order, strict=True), color=color, linewidth=1.0, alpha=0.5)
        for calibrator, (error, loss) in found.items():
            style: dict[str, Any] = {"color": color, "marker": _MARKERS[calibrator]}
            ax.plot(error, loss, markersize=5, markeredgecolor="white", **style)
    label_axes(ax, name)
    ax.margins(0.08)


def _draw_legend(figure: Figure, *, columns: int) -> None:
    from matplotlib.lines import Line2D

    handles = [
        Line2D([], [], color=PALETTE[k], linewidth=2, label=f"predictor {model}")
        for k, model in enumerate(MODELS)
    ]
    handles += [
        Line2D([], [], color=GREY, marker=marker, linestyle="none", label=f"calibrator {model}")
        for model, marker in _MARKERS.items()
    ]
    handles.append(Line2D([], [], color=GREY, linestyle="--", label="always defer"))
    figure.legend(
        handles=handles,
        loc="outside upper center",
        ncols=columns,
        fontsize="small",
        frameon=False,
    )
