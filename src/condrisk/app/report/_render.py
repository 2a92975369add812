"""From a report to one HTML file that needs nothing else."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from html import escape
from typing import Any

import condrisk
from condrisk.app._numbers import Amounts, count, loss_name, percent
from condrisk.app.report._manifest import facts_of, title_of
from condrisk.app.report._page import page_policy, scripts, styles
from condrisk.app.report._parts import (
    break_even,
    classes,
    composition,
    facts,
    listed_facts,
    riskiest,
    template,
    verdict_box,
    where,
)
from condrisk.app.report._report import Report
from condrisk.app.report._steps import Steps, as_lists
from condrisk.app.report._words import isolated, loss_in_words, plain


@dataclass(frozen=True)
class Panel:
    """Something of one's own at the top of the page, such as a form that asks a server.

    Attributes
    ----------
    html : str
        The part of the page, in safe HTML: what comes from users must be escaped already.
    script, style : str
        JavaScript and CSS for it. Only these texts are allowed to run, by their hash.
    """

    html: str
    script: str = ""
    style: str = ""

    def __post_init__(self) -> None:
        if "</" in self.script + self.style:
            raise ValueError("panel must have no </ in its script and style: it would end them.")


SILENT = "One file: it loads nothing and sends nothing."
FORESIGHT = (
    "<div><dt>Perfect foresight</dt><dd>What it would cost if every loss were known beforehand. "
    "Nothing can be cheaper; how near one gets depends on how much of the loss is chance."
    "</dd></div>"
)
TALKS = "It loads nothing, and sends nothing but what is entered, to the server that it came from."


def render(report: Report, *, panel: Panel | None = None) -> str:
    """Make one HTML file of a report: it loads nothing, and its policy forbids it to.

    Parameters
    ----------
    report : Report
        What to show.
    panel : Panel or None, default=None
        Something to put before it. Only a page with a panel may talk, and only to the server
        that it came from.

    Returns
    -------
    str
        The page. The same report gives the same page.

    Examples
    --------
    >>> from condrisk.app.report import render, report_from_arrays
    >>> page = render(report_from_arrays([0.0, 1.0, 3.0, 2.0], [0.5, 0.5, 2.0, 1.0]))
    >>> page.startswith("<!doctype html>"), "http-equiv" in page
    (True, True)
    """
    style = styles(panel.style if panel else "")
    script = scripts("figures.js", "page.js", more=panel.script if panel else "")
    return template(
        "page.html",
        **_numbers(report),
        policy=page_policy(style, script, talks=panel is not None),
        version=condrisk.__version__,
        title=escape(plain(report.title)),
        heading=isolated(report.title),
        facts=facts(report),
        cautions="".join(
            f'<p class="caution">{escape(plain(text, limit=600))}</p>' for text in report.cautions
        ),
        panel=panel.html if panel else "",
        verdict_box=verdict_box(report),
        classes=classes(report),
        break_even=break_even(report),
        where=where(report),
        made_of=composition(report),
        riskiest=riskiest(report),
        notes="".join(f"<p>{escape(plain(note, limit=600))}</p>" for note in report.notes),
        talks=SILENT if panel is None else TALKS,
        holds_rows=_holds_rows(report),
        data=_data(report),
        style=style,
        script=script,
    )


def render_panel(panel: Panel, manifest: Mapping[str, Any], *, lead: str) -> str:
    """Make a page that shows a panel and no report, for a model without measured rows.

    Parameters
    ----------
    panel : Panel
        What to show.
    manifest : mapping
        What the model says of itself.
    lead : str
        A sentence above the panel.

    Returns
    -------
    str
        HTML that loads nothing, and talks only to the server that it came from.

    Examples
    --------
    >>> from condrisk.app.report import Panel, render_panel
    >>> page = render_panel(Panel("<p>Here.</p>"), {"target": "y"}, lead="Nothing was measured.")
    >>> "<p>Here.</p>" in page, "Risk of predicting" in page
    (True, True)
    """
    style, script = styles(panel.style), panel.script
    title = title_of(manifest)
    return template(
        "panel.html",
        policy=page_policy(style, script, talks=True),
        version=condrisk.__version__,
        title=escape(plain(title)),
        heading=isolated(title),
        lead=escape(lead),
        facts=listed_facts(facts_of(manifest)),
        panel=panel.html,
        talks=TALKS,
        style=style,
        script=script,
    )


# -- what the script works with -------------------------------------------------------------------


def _data(report: Report) -> str:
    """Return the data of the page as JSON in which nothing can end the element around it."""
    data = {
        "price": report.price,
        "lowest": report.lowest,
        "highest": report.highest,
        "nonnegative": bool((report.steps.loss >= 0).all()),
        "steps": _compact(report.steps),
        "by_loss": _by_loss(report),
        "bins": as_lists(report.bins),
        "bars": as_lists(report.bars),
        "scale": report.scale._asdict(),
        "amounts": {
            "percent": report.amounts.in_percent,
            "square": report.amounts.is_square,
            "unit": plain(report.amounts.unit),
        },
    }
    text = json.dumps(data, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _compact(steps: Steps) -> dict[str, Any]:
    """Leave out what the script can work out: where every step is one row, most of it."""
    lists = as_lists(steps)
    if (steps.rows == 1).all():
        lists["rows"] = lists["squares"] = None
    return lists


def _by_loss(report: Report) -> Any:
    if report.by_loss is None:
        return None
    if (report.steps.rows == 1).all():
        return "sorted"
    return _compact(report.by_loss) | {"squares": None}


# -- the numbers that the page starts with ------------------------------------------------------


def _numbers(report: Report) -> dict[str, str]:
    now, amounts = report.at(report.price), report.amounts
    deferred = round(now.rate * report.n_rows)
    accepted_loss = math.nan if now.accepted_loss is None else now.accepted_loss
    return {
        "price": _html(amounts.text(report.price)),
        "price_value": repr(report.price),
        "n_rows": count(report.n_rows),
        "loss_name": isolated(loss_name(report.loss_name)),
        "loss_words": loss_in_words(report.loss_name),
        "rate": percent(now.rate),
        "loss": _html(amounts.text(now.loss)),
        "always": _html(amounts.text(now.always)),
        "never": _html(amounts.text(now.never)),
        "oracle_row": _oracle_row(now.oracle, amounts),
        "foresight": "" if report.by_loss is None else FORESIGHT,
        "accepted": count(report.n_rows - deferred),
        "asked": count(deferred),
        "accepted_loss": _html(amounts.text(accepted_loss)),
        "price_typical": _html(amounts.typical(report.price)),
        "never_typical": _html(amounts.typical(now.never)),
        "accepted_typical": _html(amounts.typical(accepted_loss)),
    }


def _html(text: str) -> str:
    """Escape an amount: its unit is the user's."""
    return escape(plain(text))


def _oracle_row(oracle: float | None, amounts: Amounts) -> str:
    if oracle is None:
        return ""
    return (
        '<tr class="oracle"><th scope="row">perfect foresight</th><td class="track" '
        f'data-bar="oracle"></td><td data-figure="oracle">{_html(amounts.text(oracle))}</td></tr>'
    )


def _holds_rows(report: Report) -> str:
    if report.riskiest is None:
        return ""
    n = len(report.riskiest.numbers)
    return f" It holds {count(n)} rows of the table: mind who sees it." if n else ""
