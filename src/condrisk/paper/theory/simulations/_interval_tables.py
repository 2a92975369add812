"""Tables of what held-out rows say about the error of a risk."""

from __future__ import annotations

from condrisk.paper._records import Record
from condrisk.paper._table import Cell, Group, Row, Table, filled, row
from condrisk.paper.theory.simulations._results import select, values, with_commas

METHODS = {"betting": "betting", "bernstein": "Bernstein", "normal": "normal"}


def coverage_table(records: list[Record]) -> Table:
    """Return coverage and width of intervals for the error of a risk."""
    groups = []
    found = select(records, "coverage")
    for world in values(found, "world"):
        here = sorted(
            (r for r in found if r["world"] == world),
            key=lambda r: (r["n"], list(METHODS).index(r["method"])),
        )
        groups.append(Group(world, tuple(_coverage_row(record) for record in here)))
    return Table(
        "coverage",
        "risk_error_interval at 95 %: how often it covers, how wide it is",
        "all: everything that is reported, at once; p: exact binomial test that this is less often "
        "than 95 % (bold: p < 0.01). The interval of "
        "E(ĝ − g)² stays wide where the losses are noisy: the rest is not identified.",
        row(
            "rows",
            "limits by",
            "covers\nall",
            "p",
            "E(ĝ − g)²\ncovered",
            "width",
            "E(ĝ − z)²\ncovered",
            "width",
            "difference\ncovered",
            "width",
        ),
        filled(groups),
    )


def _coverage_row(record: Record) -> Row:
    total = record["repetitions"]
    cells = [
        with_commas(record["n"]),
        METHODS[record["method"]],
        f"{record['covered'] / total:.1%}",
        f"{record['p']:.2g}",
    ]
    for name in ("error", "realised", "difference"):
        cells += [f"{record[name]['covered'] / total:.1%}", f"{record[name]['width']:.4f}"]
    shown = row(*cells)
    # Bold: it covers less often than it says.
    return (*shown[:2], Cell(shown[2].text, bold=record["p"] < 0.01), *shown[3:])


def held_out_table(records: list[Record]) -> Table:
    """Return what held-out rows say about the error of a risk that is there already."""
    found = [r for r in select(records, "planning") if "world" in r]
    groups = []
    for world in values(found, "world"):
        rows = tuple(
            row(
                with_commas(record["n"]),
                f"{record['truth']['error']:.4f}",
                f"{record['lower']:.4f} to {record['upper']:.4f}",
                f"{record['truth']['difference']:+.4f}",
                f"{record['difference_lower']:+.4f} to {record['difference_upper']:+.4f}",
            )
            for record in found
            if record["world"] == world
        )
        groups.append(Group(world, rows))
    return Table(
        "held-out",
        "What held-out rows say instead (risk_error_interval, 95 %)",
        "Means of the limits. Difference: E(ĝ − g)² less that of the reference.",
        row("held-out rows", "E(ĝ − g)²", "its limits", "difference", "its limits"),
        filled(groups),
    )
