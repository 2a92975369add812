"""The tables of the study, from its records."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from condrisk.datasets import UCI_NAMES
from condrisk.paper._records import Record
from condrisk.paper._table import Cell, Group, Row, Table, filled, row
from condrisk.paper.active._results import (
    NAMES,
    Comparison,
    all_comparisons,
    area,
    compare,
    labels_needed,
    labels_of,
    left_at_the_end,
    sets_of,
)
from condrisk.paper.active._settings import MAIN_METHOD, METHODS, TRAP

HEADS = {
    "core-set": "core-set",
    "uncertainty": "uncertainty",
    "risk-k-center": "risk,\nk-centre",
    "risk-proportional": "risk,\nproportional",
    "gain": "reduction\nof risk",
    "gain-excess": "reduction,\nexcess",
    "gain-share": "reduction,\nshare",
    "gap": "gap, dis-\nagreement",
}
MARKS = {"better": " +", "worse": " −", "not proven": ""}


def all_tables(records: Iterable[Record]) -> list[Table]:
    """Return every table that the records have something for.

    Examples
    --------
    >>> from condrisk.paper.active._tables import all_tables
    >>> all_tables([])
    []
    """
    records = list(records)
    tables = [ratios_table(records), main_table(records), noise_table(records)]
    return [table for table in tables if table.rows]


def _groups(names: list[str]) -> dict[str, list[str]]:
    return {
        "UCI sets, squared error": [name for name in names if name in UCI_NAMES],
        "classes, share of wrong labels": [name for name in names if name not in UCI_NAMES],
    }


def ratios_table(records: list[Record]) -> Table:
    """Return the ratio of areas to that of random choice, for each way to choose."""
    comparisons = all_comparisons(records)
    groups = [
        Group(label, tuple(_ratios_row(name, comparisons) for name in names))
        for label, names in _groups(sets_of(records)).items()
    ]
    return Table(
        "areas",
        "Area under the learning curve, divided by that of random choice",
        "Geometric mean over seeds; below 1 is better than random. + and −: better and worse at "
        "5 %, paired t-test over seeds (UCI: Nadeau–Bengio, and Holm over the eight sets).",
        row("", *HEADS.values()),
        filled(groups),
    )


def _ratios_row(name: str, comparisons: dict[str, dict[str, Comparison]]) -> Row:
    cells = [Cell(NAMES.get(name, name), align="left")]
    for method in HEADS:
        found = comparisons[method].get(name)
        text = "" if found is None else f"{found.ratio:.3f}{MARKS[found.verdict]}"
        cells.append(Cell(text, bold=found is not None and found.verdict == "better"))
    return tuple(cells)


def main_table(records: list[Record]) -> Table:
    """Return the tests of the way to choose that was to be better than random."""
    found = compare(records, MAIN_METHOD)
    groups = []
    for label, names in _groups(list(found)).items():
        rows = [_main_row(records, found[name]) for name in names]
        groups.append(Group(label, tuple(rows)))
    return Table(
        "tests",
        f"{METHODS[MAIN_METHOD].capitalize()}, against random choice",
        "Ratio of areas with 95 % interval and p of the paired t-test, on UCI sets with Nadeau "
        "and Bengio's correction; labels with which it is as good as random choice with "
        "all of them; and which share of the first error random choice has left in the end: near "
        "1, labels do not help, however they are chosen.",
        row(
            "",
            "seeds",
            "ratio of areas",
            "p, without\ncorrection",
            "p",
            "p, Holm",
            "verdict",
            "labels as good\nas all at random",
            "error left\nat random",
        ),
        filled(groups),
    )


def _main_row(records: list[Record], found: Comparison) -> Row:
    needed = labels_needed(records, found.set, found.method)
    last = labels_of(records, found.set)[-1]
    return row(
        NAMES.get(found.set, found.set),
        str(found.n_seeds),
        f"{found.ratio:.3f} ({found.low:.3f} to {found.high:.3f})",
        _p(found.p_plain),
        _p(found.p),
        _p(found.p_holm),
        found.verdict,
        f"more than {last}" if needed is None else f"{needed:.0f} of {last}",
        f"{left_at_the_end(records, found.set):.2f}",
    )


def _p(value: float) -> str:
    return "< 0.0001" if value < 0.0001 else f"{value:.4f}"


def noise_table(records: list[Record]) -> Table:
    """Return how many labels each way to choose spends on noise."""
    rows = []
    for method, words in METHODS.items():
        found = [r for r in records if r["set"] == TRAP and r["method"] == method]
        if found:
            share = float(np.mean([r["share_of_noise"] for r in found]))
            error = float(np.mean([area(r) for r in found]))
            rows.append(row(words, f"{share:.0%}", f"{error:.3f}"))
    return Table(
        "noise",
        "Half of the rows are coins: labels spent on them",
        "Share of the chosen rows whose labels are noise, and the mean share of wrong labels on "
        "the other half along the learning curve.",
        row("", "labels spent\non noise", "wrong where it\ncan be right"),
        filled([Group("half coins", tuple(rows))]),
    )
