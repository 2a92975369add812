"""Tables with a row for each predictor and columns for its calibrators."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from condrisk.paper._summary import Summary
from condrisk.paper._table import Cell, Group, Row, Table
from condrisk.paper.rwr._cells import adaptive, caption, cells, headers, lone_cell, two_decimals
from condrisk.paper.rwr._paper import MODELS, PAIRS
from condrisk.paper.rwr._plug_in._names import OUR_CALIBRATORS, OUR_PAIRS
from condrisk.paper.rwr._results import Results


@dataclass(frozen=True)
class _View:
    """A quantity of the risk, and how to show it."""

    quantity: str
    name: str
    title: str
    caption: str
    published: bool = True  # the paper, or its authors' files, have it too
    best: Callable[[Iterable[float]], float] | None = min
    with_loss: bool = False
    number: Callable[[float], str] = adaptive


_PROPER = "Unlike the absolute error it is least, in expectation, for the true risk."
_OWN = "own: the risk that a method other than the pairs estimates of its own predictor."
TABLE_3_VIEW = _View(
    "risk_l1",
    "table3",
    "Table 3: squared loss of the predictors, absolute error of the calibrators",
    "The least absolute error for each predictor is bold.",
    with_loss=True,
    number=two_decimals,
)
EXTRA_VIEWS = (
    _View(
        "risk_rmse",
        "risk-rmse",
        "Root mean squared error of the risk",
        f"{_PROPER} Root in each fold, then the mean. The least is bold.",
    ),
    _View(
        "risk_l2",
        "risk-squared-error",
        "Mean squared error of the risk",
        f"{_PROPER} The least is bold.",
        published=False,
    ),
    _View(
        "r2",
        "risk-r2",
        "R² of the risk",
        "Share of the variance of the losses on the test rows that the risk explains, all folds "
        "pooled; below zero, the mean loss would have done better. The largest is bold.",
        published=False,
        best=max,
    ),
    _View(
        "risk_bias",
        "risk-bias",
        "Bias of the risk",
        "Mean of the risk minus mean of the losses.",
        best=None,
    ),
    _View(
        "aurc",
        "aurc",
        "Area under the risk-coverage curve",
        "How well the risk ranks the rows, on the scale of the predictor's loss. The least for "
        "each predictor is bold.",
        published=False,
    ),
)


def by_predictor(results: Results, view: _View) -> Table:
    """Return a quantity of each calibrator for each predictor, and of the other methods."""
    calibrators = [
        calibrator
        for calibrator in (*MODELS, *OUR_CALIBRATORS)
        if any(f"{model}+{calibrator}" in results.methods for model in MODELS)
    ]
    others = [method for method in results.methods if method not in (*PAIRS, *OUR_PAIRS)]
    header = [Cell("Predictor", align="left")] + (headers("loss") if view.with_loss else [])
    for calibrator in calibrators:
        header += _headers(calibrator, view)
    header += [Cell("own\nours" if view.published else "own")] if others else []
    groups = []
    for set_name in results.paper_sets:
        rows = []
        for label in (*MODELS, *others):
            if results.records(set_name, label):
                row = _predictor_row(results, view, set_name, label, calibrators)
                own = None if label in MODELS else _summary(results, view, set_name, label)
                rows.append((*row, *(lone_cell(own, view.number) if others else [])))
        if any(cell.text for row in rows for cell in row[1:]):
            groups.append(Group(set_name, tuple(rows)))
    text = f"{view.caption} {_OWN}" if others else view.caption
    note = caption(results, text, published=view.published)
    return Table(view.name, view.title, note, tuple(header), tuple(groups))


def _predictor_row(
    results: Results, view: _View, set_name: str, label: str, calibrators: Sequence[str]
) -> Row:
    row = [Cell(label, align="left")]
    if view.with_loss:
        row += cells(results.summary("predictor_loss", set_name, label), view.number)
    found = [
        _summary(results, view, set_name, f"{label}+{calibrator}") for calibrator in calibrators
    ]
    means = [summary.mean for summary in found if summary is not None]
    best = view.number(view.best(means)) if view.best and means else None
    for calibrator, summary in zip(calibrators, found, strict=True):
        published = view.published and calibrator in MODELS
        row += (cells if published else lone_cell)(summary, view.number, best)
    return tuple(row)


def _headers(calibrator: str, view: _View) -> list[Cell]:
    if not view.published:
        return [Cell(calibrator)]
    return headers(calibrator) if calibrator in MODELS else [Cell(f"{calibrator}\nours")]


def _summary(results: Results, view: _View, set_name: str, method: str) -> Summary | None:
    if view.quantity != "r2":
        return results.summary(view.quantity, set_name, method)
    value = results.r2(set_name, method)
    return None if value is None else Summary(value, None, len(results.records(set_name, method)))
