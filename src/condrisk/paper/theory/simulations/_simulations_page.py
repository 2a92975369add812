"""The page of simulations: every table and figure, and what each shows."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

from condrisk.paper._records import Record
from condrisk.paper._render import escape_markdown, to_markdown
from condrisk.paper._table import Table
from condrisk.paper.theory.simulations._coverage import WORLDS
from condrisk.paper.theory.simulations._interval_tables import coverage_table
from condrisk.paper.theory.simulations._results import select, values
from condrisk.paper.theory.simulations._same_learner_page import same_learner_section
from condrisk.paper.theory.simulations._tables import (
    certain_table,
    false_table,
    median_table,
    separable_table,
    slopes_table,
    violations_table,
)


class Section(NamedTuple):
    """A part of the page: what is asked, the tables that answer, the figure beside them."""

    heading: str
    text: str
    tables: tuple[Callable[[list[Record]], Table], ...]
    figure: str | None = None


_SECTIONS = (
    Section(
        "Do the bounds hold?",
        "The input is one of 32 cells, and everything about the world is known: the loss of a "
        "regression task is skewed in each cell; the three classes of a classification have "
        "probabilities that depend on four groups of cells, and the predictor on the cell. So the "
        "minimisers are medians, means and frequencies, the complexities are exact, and every "
        "error is exact. For Proposition 3 the classes have no noise, and the estimate errs "
        "wherever the rows leave it free to. Every bound is about the risk that was *minimised*.",
        (violations_table, slopes_table),
        "excess.png",
    ),
    Section(
        "Better probabilities, better risk",
        "Normal clouds, whose p(y | x) is known; models from a single nearest neighbour to a "
        "logistic regression on 10,000 rows. The error of the plug-in risk is at most (M/2) times "
        "the distance of the probabilities, half of what is printed, and for two classes and the "
        "zero-one loss it is exactly that. For rejection the world has a known mean and variance.",
        (certain_table,),
        "plug-in.png",
    ),
    Section(
        "Rejection",
        "The loss with rejection of a pair (f, ĝ) exceeds the best possible by at most "
        "E(f − f*)² + E|ĝ − g|, if f* is the conditional mean. Over a class that lacks it the "
        "printed bound fails: for f ≤ 0 and Y = 1, f = −ε exceeds f* = 0 by 2ε + ε².",
        (),
        "rejection.png",
    ),
    Section(
        "Classes without noise",
        "Where the label is a function of x, so is the loss. The plug-in risk has to find the "
        "classes, whatever the predictor is. A regression of the loss on x has to find the "
        "predictor too, here the indicator of a fat Cantor set; no function with a bounded slope "
        "can. But the paper's argument that no *continuous* function comes close is wrong, the gap "
        "closes like 1/√m, and with f(x) among the inputs of the regression it is gone.",
        (separable_table,),
        "separable.png",
    ),
    Section(
        "Median against mean",
        "Minimising |ĝ − z| finds the median of the loss given x. For a zero-one loss that is 0 or "
        "1, and no number of rows helps.",
        (median_table,),
        "median.png",
    ),
    Section(
        "Intervals from held-out rows",
        "`condrisk.inference.risk_error_interval` on rows that ĝ has not seen, in three worlds ("
        + "; ".join(f"{name}: {world.text}" for name, world in WORLDS.items())
        + "). The normal approximation is there to compare with.",
        (coverage_table,),
        "coverage.png",
    ),
)


def simulations_page(records: Iterable[Record]) -> str:
    """Return the page with every simulation.

    Parameters
    ----------
    records : iterable of dict
        What the study found; sections for which there are no records are left out.

    Returns
    -------
    str
        Markdown. It refers to figures beside it.

    Examples
    --------
    >>> from condrisk.paper.theory.simulations._simulations_page import simulations_page
    >>> simulations_page([]).splitlines()[0]
    '# The theory, simulated'
    """
    records = list(records)
    parts = ["# The theory, simulated", _note(records)]
    parts += [_section(section, records) for section in _SECTIONS]
    parts += [same_learner_section(records), _false_section(records)]
    return "\n\n".join(part for part in parts if part) + "\n"


def _note(records: list[Record]) -> str:
    repetitions = values(select(records, "excess"), "repetitions")
    if not repetitions:
        return ""
    return (
        f"g is the conditional risk of a predictor f, z its loss on a row, ĝ an estimate of g. "
        f"{repetitions[0]:,} repetitions for every number of rows, bound and interval. What it all "
        f"means in practice: [README.md](README.md)."
    )


def _section(section: Section, records: list[Record]) -> str:
    tables = [table for table in (build(records) for build in section.tables) if table.rows]
    if not tables and (section.tables or not select(records, "rejection")):
        return ""
    parts = [f"## {section.heading}", section.text]
    if section.figure is not None:
        parts.append(f"![{section.heading}]({section.figure})")
    return "\n\n".join([*parts, *(to_markdown(table).rstrip() for table in tables)])


def _false_section(records: list[Record]) -> str:
    found = select(records, "false")
    if not found:
        return ""
    table = false_table(records)
    lines = []
    for record in found:
        name = record["method"].replace("_", " ")
        lines.append(
            f"- **{name}**. *Printed:* {escape_markdown(record['claim'])}. "
            f"*World:* {escape_markdown(record['world'])}. "
            f"*Looked at:* {escape_markdown(record['quantity'])}. "
            f"*Repair:* {escape_markdown(record['repair'])}."
        )
    return "\n\n".join(
        [
            "## Printed and false",
            "Statements and steps of proofs that are not true as they are printed, each in a world "
            "where that is seen, and what repairs it "
            "(`condrisk.paper.theory.simulate_counterexample`).",
            to_markdown(table).rstrip(),
            "\n".join(lines),
        ]
    )
