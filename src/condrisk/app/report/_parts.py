"""The parts of the page that do not move: all text of the user's in them is escaped."""

from __future__ import annotations

import datetime
import math
from collections.abc import Iterable, Sequence
from html import escape
from importlib import resources
from string import Template
from typing import Any

from condrisk.app._numbers import count, exact, number, percent
from condrisk.app.report._classes import Confusion
from condrisk.app.report._made_of import MadeOf
from condrisk.app.report._report import Report
from condrisk.app.report._rows import Riskiest
from condrisk.app.report._segments import Segment
from condrisk.app.report._words import isolated, plain

MAX_DRIVERS = 10
MAX_FACT = 240


def read(name: str) -> str:
    """Return a part of the page that is a file of its own."""
    return resources.files("condrisk.app.report").joinpath(name).read_text(encoding="utf-8")


def template(name: str, **values: str) -> str:
    """Fill in a part of the page; the values are HTML."""
    return Template(read(name)).substitute(values)


def facts(report: Report) -> str:
    """Return the list of facts about the model and the rows."""
    return listed_facts([("Held-out rows", count(report.n_rows)), *report.facts])


def listed_facts(facts: Iterable[tuple[str, str]]) -> str:
    """Return labels and texts as parts of a list."""
    return "".join(
        f"<div><dt>{escape(plain(label))}</dt>"
        f"<dd><bdi>{escape(plain(text, limit=MAX_FACT))}</bdi></dd></div>"
        for label, text in facts
    )


# -- prices -------------------------------------------------------------------------------------


def _amount(report: Report, value: float) -> str:
    """Write an amount of the loss as HTML: its unit is the user's."""
    return escape(plain(report.amounts.text(value)))


def break_even(report: Report) -> str:
    """Say below which cost to defer everything, and from which nothing."""
    low, high = report.all_below, report.highest
    low_cost = (
        (f"below {_amount(report, low)}", "Defer everything: every row has a higher risk.")
        if low > 0
        else (
            "at 0",
            "Defer everything only if that costs nothing: the safest rows have hardly any risk.",
        )
    )
    even = (
        f"at {_amount(report, report.mean_loss)}",
        "Always and never deferring cost the same: the mean loss of all rows. " + _worth(report),
    )
    high_cost = (f"from {_amount(report, high)}", "Defer nothing: no row has a higher risk.")
    items = [
        ("always", *low_cost),
        ("pays", *_paying(report)),
        ("even", *even),
        ("never", *high_cost),
    ]
    listed = "".join(
        f'<div class="{name}"><dt>{term}</dt><dd>{text}</dd></div>' for name, term, text in items
    )
    return f'{_ruler(report)}<dl class="sense">{listed}</dl>'


def _worth(report: Report) -> str:
    saved = report.mean_loss - report.at(max(report.mean_loss, 0.0)).loss
    if saved <= 0 or report.mean_loss <= 0:
        return "Deferring by risk saves nothing there."
    share = percent(saved / report.mean_loss)
    return (
        f"There the risk has most to offer: deferring by it saves "
        f"{_amount(report, saved)} a row, {share}."
    )


def _paying(report: Report) -> tuple[str, str]:
    between = report.pays_between()
    if between is None:
        return "nowhere", "is deferring by risk cheaper than both always and never deferring."
    low, high = between
    return (
        f"{_amount(report, low)} to {_amount(report, high)}",
        "On these rows deferring by risk is cheaper than both always and never deferring at these "
        "costs.",
    )


def _ruler(report: Report) -> str:
    """Return a strip with the costs at which all, some and no rows are deferred."""
    scale = report.scale

    def place(price: float) -> float:
        if scale.log:
            share = math.log(max(price, scale.low) / scale.low) / math.log(scale.high / scale.low)
        else:
            start = max(scale.low, 0.0)
            share = (price - start) / (scale.high - start)
        return 100 * min(max(share, 0.0), 1.0)

    low, high = place(max(report.lowest, 0.0)), place(max(report.highest, 0.0))
    parts = [("always", 0.0, low), ("between", low, high), ("never", high, 100.0)]
    between = report.pays_between()
    if between is not None:
        parts.append(("pays", place(between[0]), place(between[1])))
    rects = "".join(
        f'<rect class="{name}" x="{start:.3f}" width="{max(end - start, 0):.3f}" height="10"/>'
        for name, start, end in parts
    )
    words = (
        f"Costs from {_amount(report, max(scale.low, 0.0))} to {_amount(report, scale.high)}: "
        f"below {_amount(report, report.all_below)} all rows are deferred, from "
        f"{_amount(report, report.highest)} none."
    )
    return (
        f'<svg class="ruler" viewBox="0 0 100 10" preserveAspectRatio="none" role="img" '
        f'aria-label="{words}"><title>{words}</title>{rects}</svg>'
        f'<p class="ruler-ends" aria-hidden="true">'
        f"<span>{_amount(report, max(scale.low, 0.0))}</span><span>cost of deferring"
        f"{' (log scale)' if scale.log else ''}</span>"
        f"<span>{_amount(report, scale.high)}</span></p>"
    )


# -- where the risk is high ---------------------------------------------------------------------


def where(report: Report) -> str:
    """Return which columns drive the risk, and the segments where it is high."""
    parts = [_drivers(report), _segments(report), _off(report), _groups(report)]
    shown = [part for part in parts if part]
    return f'<section class="where">{"".join(shown)}</section>' if shown else ""


def _drivers(report: Report) -> str:
    drivers = report.drivers
    if not drivers:
        return ""
    longest = drivers[0].change
    rows = "".join(
        f'<tr><th scope="row" class="text">{isolated(driver.column)}</th>'
        f'<td class="bar-cell"><svg viewBox="0 0 100 12" preserveAspectRatio="none" '
        f'aria-hidden="true"><rect class="amount" y="2" height="8" rx="1" '
        f'width="{100 * driver.change / longest:.2f}"/></svg></td>'
        f"<td>{_amount(report, driver.change)}</td><td class='text'>{driver.direction}</td></tr>"
        for driver in drivers[:MAX_DRIVERS]
    )
    more = len(drivers) - MAX_DRIVERS
    rest = f'<p class="small">and {more} more that move it less</p>' if more > 0 else ""
    return template("drivers.html", rows=rows, rest=rest)


def _segments(report: Report) -> str:
    if not report.segments:
        return read("no_segments.html") if report.looked_for_segments else ""
    top = max(max(segment.high, segment.mean_risk) for segment in report.segments)
    top = top if top > 0 else 1.0
    rows = "".join(_segment(segment, report, top) for segment in report.segments)
    return template("segments.html", rows=rows)


def _off(report: Report) -> str:
    if not report.off_segments:
        return ""
    rows = "".join(
        f'<tr><th scope="row" class="text segment">{isolated(segment.name)}</th>'
        f'<td data-label="rows">{count(segment.rows)}</td>'
        f'<td data-label="risk">{_amount(report, segment.mean_risk)}</td>'
        f'<td data-label="loss"><b>{_amount(report, segment.mean_loss)}</b></td>'
        f'<td data-label="σ">{number(segment.sigma)}</td></tr>'
        for segment in report.off_segments
    )
    return template("off_segments.html", rows=rows)


def _groups(report: Report) -> str:
    if not report.groups:
        return ""
    rows = "".join(
        f'<tr><th scope="row" class="text segment">{isolated(group.name)}</th>'
        f'<td data-label="rows">{count(group.rows)}</td>'
        f'<td data-label="accepted">{count(group.accepted)} '
        f"({percent(group.accepted / group.rows if group.rows else 0.0)})</td>"
        f'<td data-label="loss where accepted">'
        f"{'–' if group.loss is None else _amount(report, group.loss)}</td></tr>"
        for group in report.groups
    )
    return template("groups.html", rows=rows)


def _segment(segment: Segment, report: Report, top: float) -> str:
    def place(value: float) -> float:
        return 100 * min(max(value / top, 0.0), 1.0)

    low, high = place(segment.low), place(segment.high)
    bar = (
        f'<rect class="reach" x="{low:.2f}" width="{max(high - low, 0.6):.2f}" y="3" height="6"/>'
        f'<rect class="dot" x="{max(place(segment.mean_loss) - 0.8, 0):.2f}" width="1.6" '
        f'y="1" height="10"/>'
        f'<rect class="average" x="{place(report.mean_loss):.2f}" width="0.8" height="12"/>'
    )
    return (
        f'<tr><th scope="row" class="text segment">{segment.words(report.dates, report.years)}</th>'
        f'<td data-label="rows">{count(segment.rows)} ({percent(segment.share)})</td>'
        f'<td data-label="risk">{_amount(report, segment.mean_risk)}</td>'
        f'<td data-label="loss"><b>{_amount(report, segment.mean_loss)}</b></td>'
        f'<td class="limits" data-label="limits">{_amount(report, segment.low)} to '
        f"{_amount(report, segment.high)}</td>"
        f'<td class="bar-cell"><svg viewBox="0 0 100 12" preserveAspectRatio="none" '
        f'aria-hidden="true">{bar}</svg></td>'
        f'<td data-label="× mean">{number(segment.times_average)}</td></tr>'
    )


# -- what the risk is made of -------------------------------------------------------------------


def composition(report: Report) -> str:
    """Return floor, gap and correction of all rows and of the riskiest, as a table."""
    if not report.made_of:
        return ""
    names = ("all", "the riskiest")
    rows = "".join(
        _made_of(name, part, report) for name, part in zip(names, report.made_of, strict=True)
    )
    return template("made_of.html", rows=rows)


def _made_of(name: str, part: MadeOf, report: Report) -> str:
    expected = part.floor + part.gap
    share = 100 * part.floor / expected if expected > 0 else 0.0
    bar = (
        f'<rect class="floor" y="2" height="8" width="{share:.2f}"/>'
        f'<rect class="gap" y="2" height="8" x="{share:.2f}" width="{100 - share:.2f}"/>'
        if expected > 0
        else ""
    )

    def cell(value: float, label: str) -> str:
        of = f' <span class="limits">({percent(value / expected)})</span>' if expected > 0 else ""
        return f'<td data-label="{label}">{_amount(report, value)}{of}</td>'

    return (
        f'<tr><th scope="row" class="text">{name} {count(part.rows)}</th>'
        f'<td data-label="risk"><b>{_amount(report, part.risk)}</b></td>'
        f'<td class="bar-cell"><svg viewBox="0 0 100 12" preserveAspectRatio="none" '
        f'aria-hidden="true">{bar}</svg></td>'
        f"{cell(part.floor, 'floor')}{cell(part.gap, 'gap')}"
        f'<td data-label="correction">{_amount(report, part.correction)}</td></tr>'
    )


# -- the riskiest rows --------------------------------------------------------------------------


def riskiest(report: Report) -> str:
    """Return the rows of greatest risk as a table that can be sorted."""
    table = report.riskiest
    if table is None or not table.numbers:
        return ""
    heads = ["row", "risk", "loss", "at this cost", *_response_columns(table)]
    heads += ["typical error"] if report.amounts.is_square else []
    header = "".join(
        f'<th scope="col"{_sorted(name)}><button type="button">{name}</button></th>'
        for name in heads
    )
    if table.raised_by is not None:
        header += '<th scope="col" class="text">raised most by</th>'
    header += "".join(
        f'<th scope="col" class="own"><button type="button">{isolated(name)}</button></th>'
        for name, _ in table.columns
    )
    body = "".join(_row(report, table, k) for k in range(len(table.numbers)))
    rest = f" {count(table.left_out)} other columns are not shown." if table.left_out else ""
    if table.raised_by is not None:
        rest += (
            " “Raised most by”: by how much the row’s own value raises its risk, against the "
            "average row, one column at a time."
        )
    n = count(len(table.numbers))
    return template("riskiest.html", n=n, rest=rest, header=header, body=body)


def _sorted(name: str) -> str:
    return ' aria-sort="descending"' if name == "risk" else ""


def _response_columns(table: Riskiest) -> list[str]:
    names = (("prediction", table.prediction), ("truth", table.target))
    return [name for name, values in names if values is not None]


def _row(report: Report, table: Riskiest, k: int) -> str:
    cells = [
        f'<th scope="row" data-sort="{table.numbers[k]}">{count(table.numbers[k])}</th>',
        *(
            f'<td data-sort="{value!r}">{_amount(report, value)}</td>'
            for value in (table.risk[k], table.loss[k])
        ),
        '<td class="decision" data-sort=""></td>',
    ]
    cells += [_cell(values[k]) for values in (table.prediction, table.target) if values is not None]
    if report.amounts.is_square:
        typical = escape(plain(report.amounts.typical(table.risk[k]))) or "–"
        cells.append(f'<td data-sort="{table.risk[k]!r}">{typical.removeprefix("about ")}</td>')
    if table.raised_by is not None:
        cells.append(f'<td class="text">{_raised_by(report, table.raised_by[k])}</td>')
    cells += [_own_cell(values[k], name in report.years) for name, values in table.columns]
    return f'<tr data-risk="{table.risk[k]!r}">{"".join(cells)}</tr>'


def _raised_by(report: Report, most: Sequence[tuple[str, float]]) -> str:
    words = [f"{isolated(name)}&nbsp;+{_amount(report, change)}" for name, change in most]
    return ", ".join(words) or "–"


def _own_cell(value: Any, is_year: bool) -> str:
    """Return the cell of a column of the table, which is not printed."""
    cell = _cell(value)
    if is_year and isinstance(value, int | float) and not math.isnan(value):
        cell = f'<td data-sort="{value!r}">{value:.0f}</td>'
    return (
        cell.replace("<td", '<td class="own"', 1)
        if "class=" not in cell
        else cell.replace('class="', 'class="own ', 1)
    )


def _cell(value: Any) -> str:
    """Return a cell; numbers are sorted as such, all else by its text, what is missing last."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return '<td class="limits">–</td>'
    if isinstance(value, bool):
        return f'<td data-sort="{value}">{"yes" if value else "no"}</td>'
    if isinstance(value, int | float):
        text = exact(value) if isinstance(value, int) or value.is_integer() else number(value)
        return f'<td data-sort="{value!r}">{text}</td>'
    if isinstance(value, datetime.date):
        return f'<td data-sort="{value.isoformat()}">{value.isoformat()}</td>'
    return f'<td data-sort="{escape(plain(value))}">{isolated(value)}</td>'


# -- the verdict, and errors by class -----------------------------------------------------------


def verdict_box(report: Report) -> str:
    """Return what the rows say, at the price that the page starts with."""
    if not report.verdict:
        return ""
    items = "".join(
        f'<li class="says-{escape(kind or "plain")}">{escape(plain(text, limit=600))}</li>'
        for kind, text in report.verdict
    )
    return template("verdict.html", items=items)


def classes(report: Report) -> str:
    """Return the confusion matrix, and how often each class is wrong."""
    found = report.confusion
    if found is None:
        return ""
    header = "".join(f'<th scope="col">{isolated(name)}</th>' for name in found.labels)
    matrix = "".join(
        f'<tr><th scope="row" class="text">{isolated(name)}</th>'
        + "".join(_count_cell(found, k, j) for j in range(len(found.labels)))
        + "</tr>"
        for k, name in enumerate(found.labels)
        if found.counts[k].sum()
    )
    errors = "".join(
        f'<tr><th scope="row" class="text">{isolated(one.label)}</th>'
        f'<td data-label="rows">{count(one.rows)}</td>'
        f'<td data-label="wrong">{count(one.wrong)}</td>'
        f'<td data-label="share"><b>{percent(one.wrong / one.rows)}</b></td>'
        f'<td class="limits" data-label="limits">{percent(one.low)} to {percent(one.high)}</td>'
        f'<td class="text" data-label="taken for">'
        f"{isolated(one.taken_for) if one.taken_for else '–'}</td></tr>"
        for one in found.errors
    )
    return template("classes.html", header=header, matrix=matrix, errors=errors)


def _count_cell(found: Confusion, k: int, j: int) -> str:
    n, rows = int(found.counts[k, j]), int(found.counts[k].sum())
    shade = math.ceil(5 * n / rows) if n else 0
    kind = "right" if k == j else "wrong"
    return f'<td class="{kind} shade-{shade}" data-value="{n}">{count(n)}</td>'
