"""Tables of the page: contrasts, ratios set by set, and rules that need no risk."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from condrisk.paper._page import markdown_table, number
from condrisk.paper.rwr._paper import COSTS, MODELS
from condrisk.paper.rwr._plug_in._contrast import Cell, Contrast
from condrisk.paper.rwr._plug_in._names import (
    FOREST,
    FOREST_ON_MORE,
    FOREST_PLUG_IN,
    HYBRID,
    PLUG_IN,
)
from condrisk.paper.rwr._results import Results

WORDS = {
    "risk_l2": "squared error of g",
    "risk_l1": "absolute error of g",
    "loss": "deferral loss",
}
CALIBRATORS = (FOREST, FOREST_ON_MORE, FOREST_PLUG_IN, PLUG_IN, HYBRID)


class Line(NamedTuple):
    """One contrast in one measure."""

    ours: str
    against: str
    measure: str
    found: Contrast


def contrast_table(lines: Sequence[Line]) -> str:
    """Return the contrasts, a line for each measure, with ratios by predictor."""
    header = ["estimate", "against", "measure", *MODELS, "all four"]
    header += ["lower in", "significantly lower", "significantly higher"]
    rows = []
    for ours, against, measure, found in lines:
        ratios = [number(found.ratio(predictor), 2) for predictor in (*MODELS, None)]
        counts = [f"{found.n_below_one()} of {len(found.cells)}"]
        counts += [str(len(cells)) for cells in (found.lower, found.higher)]
        rows.append([ours, against, WORDS[measure], *ratios, *counts])
    return markdown_table(header, rows, n_text=3)


def ratios_table(line: Line) -> str:
    """Return the ratio of every set and predictor, bold where it is significant."""
    cells = {(cell.set, cell.predictor): cell for cell in line.found.cells}
    tested = {*line.found.lower, *line.found.higher}
    rows = [
        [name, *(_ratio(cells.get((name, predictor)), tested) for predictor in MODELS)]
        for name in dict.fromkeys(name for name, _ in cells)
    ]
    title = (
        f"{line.ours} over {line.against}, {WORDS[line.measure]}, set by set; bold where the "
        f"difference is significant:"
    )
    return f"{title}\n\n{markdown_table(['set', *MODELS], rows)}"


def _ratio(cell: Cell | None, tested: set[Cell]) -> str:
    if cell is None:
        return "–"
    return f"**{cell.ratio:.2f}**" if cell in tested else f"{cell.ratio:.2f}"


def references_table(results: Results) -> str:
    """Return how each estimate does beside always deferring, never deferring and the oracle."""
    header = ["estimate of g", "below always", "below never", "below both"]
    header += ["above the oracle", "better of always and never, above the oracle"]
    rows = []
    for calibrator in CALIBRATORS:
        found = _deferrals(results, calibrator)
        if not len(found):
            continue
        loss, always, never, oracle = found.T
        both = np.minimum(always, never)
        counts = [int((loss < bar).sum()) for bar in (always, never, both)]
        above = [float(((x - oracle) / always).mean()) for x in (loss, both)]
        rows.append([calibrator, *(f"{n} of {len(loss)}" for n in counts)])
        rows[-1] += [f"{value:.2f}" for value in above]
    return markdown_table(header, rows)


def _deferrals(results: Results, calibrator: str) -> np.ndarray:
    """Return loss, always, never and oracle of every set, predictor and cost."""
    found = []
    for name in results.sets:
        for predictor in MODELS:
            method = f"{predictor}+{calibrator}"
            never = results.mean("predictor_loss", name, method)
            for cost in COSTS:
                loss = results.mean("loss", name, method, cost)
                oracle = results.mean("oracle", name, method, cost)
                if loss is not None and oracle is not None and never is not None:
                    found.append((loss, float(cost), never, oracle))
    return np.array(found)


def set_table(results: Results, name: str) -> str:
    """Return errors and deferral losses of every estimate on one set."""
    header = ["predictor", "estimate of g", "absolute error", "R² of g"]
    header += [f"c={cost}" for cost in COSTS]
    rows = [["", "always defer", "", "", *COSTS]]
    for predictor in MODELS:
        for calibrator in CALIBRATORS:
            method = f"{predictor}+{calibrator}"
            if results.records(name, method):
                figures = [results.mean("risk_l1", name, method), results.r2(name, method)]
                figures += [results.mean("loss", name, method, cost) for cost in COSTS]
                rows.append([predictor, calibrator, *(number(value, 2) for value in figures)])
        if results.records(name, predictor):
            never = number(results.mean("predictor_loss", name, predictor), 2)
            rows.append([predictor, "never defer", "", "", *[never] * len(COSTS)])
            oracle = [results.mean("oracle", name, predictor, cost) for cost in COSTS]
            rows.append([predictor, "oracle", "", "", *(number(value, 2) for value in oracle)])
    return markdown_table(header, rows, n_text=2)
