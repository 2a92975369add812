"""What rules that need no risk would have done."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from condrisk.paper._page import HALF, Part, markdown_table, section, verdict_sentence
from condrisk.paper.rwr._claims._common import Run
from condrisk.paper.rwr._paper import COSTS, MODELS, PAIRS, SETS, source_value
from condrisk.paper.rwr._results import Results

RF_PAIRS = tuple(f"{model}+RF" for model in MODELS)


class Trivial(NamedTuple):
    """A cell beside the rules that need no risk."""

    loss: float
    always: float
    never: float
    oracle: float


def against_trivial(runs: Sequence[Run]) -> str:
    rows = []
    header = ["set", "as published: not below always", "not below the better of the two"]
    for run in runs:
        header += [f"{run.label}: not below always", "not below the better of the two"]
        header += ["above the oracle: pairs", "above the oracle: better of the two"]
    names = [name for name in SETS if any(name in run.results.paper_sets for run in runs)]
    for label, sets in [*((name, [name]) for name in names), ("all", names)]:
        row = [label, *_not_below([c for s in sets for c in _published_cells(s)])]
        for run in runs:
            cells = [cell for name in sets for cell in _cells(run.results, name, PAIRS)]
            row += [*_not_below(cells), *_above_oracle(cells)]
        rows.append(row)
    sentences = []
    for run in runs:
        parts = []
        for group, methods in (("all pairs", PAIRS), ("the pairs with RF as calibrator", RF_PAIRS)):
            cells = [cell for name in names for cell in _cells(run.results, name, methods)]
            if cells:
                n = sum(_below(cell, min(cell.always, cell.never)) for cell in cells)
                text = f"{group} beat both in most cells ({n} of {len(cells)})"
                parts.append(Part(text, n > HALF * len(cells)))
        sentences += [verdict_sentence(f"the {run.label}", parts)] if parts else []
    if not sentences:
        return ""
    return section(
        "What deferring everything, or nothing, would have done",
        "“We demonstrate the benefits of conditional risk calibration for the RwR task” (before "
        "the experiments). The paper does not show what always deferring (a loss of c) and never "
        "deferring (the predictor's loss) would cost. Number of cells, of pairs and costs, in "
        "which a pair is not below always deferring, or not below the better of the two, at two "
        "decimals; and the mean distance from the oracle, in units of the cost.",
        markdown_table(header, rows),
        *sentences,
    )


def _cells(results: Results, name: str, methods: Iterable[str]) -> list[Trivial]:
    cells = []
    for method in methods:
        never = results.mean("predictor_loss", name, method)
        for cost in COSTS:
            loss, oracle = (results.mean(what, name, method, cost) for what in ("loss", "oracle"))
            if loss is not None and oracle is not None and never is not None:
                cells.append(Trivial(loss, float(cost), never, oracle))
    return cells


def _published_cells(name: str) -> list[Trivial]:
    cells = []
    for method in PAIRS:
        never = source_value("printed", "predictor_loss", name, method)
        for cost in COSTS:
            loss = source_value("printed", "loss", name, method, cost)
            if loss is not None and never is not None:
                cells.append(Trivial(loss.mean, float(cost), never.mean, np.nan))
    return cells


def _below(cell: Trivial, bar: float) -> bool:
    return round(cell.loss, 2) < round(bar, 2)


def _not_below(cells: Sequence[Trivial]) -> list[str]:
    if not cells:
        return ["", ""]
    always = sum(not _below(cell, cell.always) for cell in cells)
    better = sum(not _below(cell, min(cell.always, cell.never)) for cell in cells)
    return [f"{always} of {len(cells)}", f"{better} of {len(cells)}"]


def _above_oracle(cells: Sequence[Trivial]) -> list[str]:
    if not cells:
        return ["", ""]
    pairs = [(cell.loss - cell.oracle) / cell.always for cell in cells]
    rules = [(min(cell.always, cell.never) - cell.oracle) / cell.always for cell in cells]
    return [f"{np.mean(pairs):.2f}", f"{np.mean(rules):.2f}"]
