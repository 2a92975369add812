"""What the paper claims about regression with rejection, and whether the records bear it out.

Every figure and every verdict of the page is computed from records; none is typed in.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence

from condrisk.paper._page import HALF, MOST, markdown_table, section
from condrisk.paper._results import Record
from condrisk.paper._summary import LEVEL
from condrisk.paper.rwr._claims._benchmarks import counts, outperforms, remaining
from condrisk.paper.rwr._claims._best_pairs import two_best
from condrisk.paper.rwr._claims._calibration import calibration_helps, figure_claim
from condrisk.paper.rwr._claims._common import Run
from condrisk.paper.rwr._claims._effective import effective
from condrisk.paper.rwr._claims._flaws import without_flaws
from condrisk.paper.rwr._claims._roles import strong_and_weak
from condrisk.paper.rwr._claims._targets import one_value, similar_models
from condrisk.paper.rwr._claims._trivial import against_trivial
from condrisk.paper.rwr._figure import figure_record
from condrisk.paper.rwr._results import Results, agreement, two_errors

__all__ = ["claims_page"]

_SECTIONS: tuple[Callable[[Sequence[Run]], str], ...] = (
    strong_and_weak,
    one_value,
    similar_models,
    effective,
    calibration_helps,
    two_best,
    counts,
    remaining,
    outperforms,
    figure_claim,
    against_trivial,
    without_flaws,
)

_INTRODUCTION = f"""\
# The paper's claims about regression with rejection, checked

This page is computed from records; so are its verdicts. A claim of several parts *holds in part*
if some are true. A claim about what is so in general *holds* from {MOST:.0%} of the cases on, and
*in part* in more than {HALF:.0%}. Settings are sets × costs. *Significantly*: one-sided t-tests
over folds with Nadeau and Bengio's correction, Holm's over the cells of a comparison, at
{LEVEL:.0%}.
"""


def claims_page(paper_records: Iterable[Record], embedded_records: Iterable[Record]) -> str:
    """Return the page of claims, as Markdown.

    Parameters
    ----------
    paper_records, embedded_records : iterable of dict
        Records on the paper's folds and on the embedded ones. Either may be empty.

    Returns
    -------
    str
        The page. What the records have nothing for is left out.

    Examples
    --------
    >>> from condrisk.paper.rwr._claims import claims_page
    >>> costs = {"0.5": {"loss": 0.463, "rate": 0.77, "oracle": 0.3}}
    >>> record = {
    ...     "set": "energy",
    ...     "fold": 0,
    ...     "method": "MLP+RF",
    ...     "predictor_loss": 7.5,
    ...     "costs": costs,
    ... }
    >>> page = claims_page([], [record])
    >>> print(page.splitlines()[0])
    # The paper's claims about regression with rejection, checked
    """
    given = {"paper's folds": list(paper_records), "embedded folds": list(embedded_records)}
    runs = [Run(k, Results(r), figure_record(r)) for k, r in given.items() if r]
    if not runs:
        raise ValueError("paper_records or embedded_records must have records; both are empty")
    claims = [text for section in _SECTIONS if (text := section(runs))]
    parts = [_verdicts(claims, runs), _scope(runs), _closeness(given["paper's folds"]), *claims]
    return "\n".join([_INTRODUCTION, *(text for text in parts if text)])


def _verdicts(claims: Sequence[str], runs: Sequence[Run]) -> str:
    """Return the verdicts of each section, the different ones in their order."""
    rows = []
    for text in claims:
        title, *paragraphs = text.strip().split("\n\n")
        row = [title.removeprefix("## ")]
        for run in runs:
            found = [
                verdict
                for paragraph in paragraphs
                if f"the {run.label}" in paragraph
                for verdict in re.findall(r"\*\*(.+?)\*\*", paragraph)
            ]
            row.append(" / ".join(dict.fromkeys(found)))
        rows.append(row)
    note = "Several verdicts: by several measures, or on several sets."
    table = markdown_table(["claim", *(run.label for run in runs)], rows)
    return f"{table}\n\n{note}\n" if rows else ""


def _scope(runs: Sequence[Run]) -> str:
    rows = []
    for run in runs:
        cells = [
            len(run.results.records(s, m)) for s in run.results.sets for m in run.results.methods
        ]
        counts = (len(run.results.sets), len(run.results.methods), max(cells), sum(cells))
        rows.append([run.label, *map(str, counts)])
    return markdown_table(["records", "sets", "methods", "folds", "in all"], rows) + "\n"


def _closeness(records: list[Record]) -> str:
    counts = {kind: n for kind, n in agreement(records).items() if n["cells"]}
    if not counts:
        return ""
    rows = [[kind, f"{n['agree']} of {n['cells']}"] for kind, n in counts.items()]
    share = two_errors(records)
    weak = (
        []
        if share is None
        else [
            f"Two standard errors are {share:.0%} of the RwR loss in the "
            "median cell: the other counts are the strict ones."
        ]
    )
    return section(
        "How close the figures are to the paper's",
        "On the paper's folds, against its authors' result files and, where there is none, its "
        "tables.",
        markdown_table(["agreement", "cells"], rows),
        *weak,
    )
