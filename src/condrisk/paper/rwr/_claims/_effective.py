"""Whether regressing the losses is an effective way to estimate the risk."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from condrisk.paper._page import HALF, Part, markdown_table, section, verdict_sentence
from condrisk.paper._summary import paired_tests
from condrisk.paper.rwr._claims._common import Run
from condrisk.paper.rwr._claims._trivial import RF_PAIRS
from condrisk.paper.rwr._paper import PAIRS, TEST_SHARE
from condrisk.paper.rwr._results import Results

GROUPS = {"all pairs": PAIRS, "the pairs with RF as calibrator": RF_PAIRS}
# A figure of the risk, and that of a constant in its place.
MEASURES = {"squared error": ("risk_l2", "loss_variance"), "AURC": ("aurc", "predictor_loss")}


class Count(NamedTuple):
    """In how many cells the risk is better than a constant, and in how many significantly."""

    cells: int
    lower: int
    better: int
    worse: int


def effective(runs: Sequence[Run]) -> str:
    rows, sentences = [], []
    for run in runs:
        parts = []
        for group, pairs in GROUPS.items():
            found = {name: _count(run.results, pairs, *pair) for name, pair in MEASURES.items()}
            if not any(count.cells for count in found.values()):
                continue
            row = [run.label, group]
            for name, count in found.items():
                row += [f"{count.lower} of {count.cells}", f"{count.better} / {count.worse}"]
                parts += _parts(group, name, count)
            rows.append(row)
        sentences += [verdict_sentence(f"the {run.label}", parts)] if parts else []
    if not rows:
        return ""
    header = ["run", "pairs"]
    for name in MEASURES:
        header += [f"{name} lower", "significantly lower / higher"]
    return section(
        "Regression-based is also effective",
        "“[T]he regression-based method is also effective for conditional risk estimation” "
        "(introduction), as far as this study goes: number of cells, of sets and pairs, in which "
        "the estimated risk has a lower squared error than the mean loss of the test rows, a "
        "constant that nobody knows beforehand, and in which it orders the rows better than "
        "chance (AURC below the mean loss). What it is worth for deferring is in the section on "
        "deferring everything, or nothing.",
        markdown_table(header, rows, n_text=2),
        *sentences,
    )


def _count(results: Results, pairs: Sequence[str], ours: str, constant: str) -> Count:
    cells = {}
    for name in results.paper_sets:
        for pair in pairs:
            risk, other = (results.values(what, name, pair) for what in (ours, constant))
            folds = sorted(risk.keys() & other.keys())
            if folds:
                cells[name, pair] = ([risk[k] for k in folds], [other[k] for k in folds])
    tests = paired_tests(cells, test_share=TEST_SHARE)
    lower = sum(bool(np.mean(a) < np.mean(b)) for a, b in cells.values())
    return Count(len(cells), lower, len(tests.better), len(tests.worse))


def _parts(group: str, measure: str, count: Count) -> list[Part]:
    if not count.cells:
        return []
    most = HALF * count.cells
    return [
        Part(f"{measure} of {group} lower in most cells", count.lower > most),
        Part(f"{measure} of {group} significantly lower in most", count.better > most),
    ]
