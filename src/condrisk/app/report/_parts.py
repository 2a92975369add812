"""The parts of the page that do not move: all text of the user's in them is escaped."""

from __future__ import annotations

import datetime
import math
from collections.abc import Iterable
from html import escape
from importlib import resources
from string import Template
from typing import Any

from condrisk.app._numbers import count, exact, number, percent
from condrisk.app.report._drivers import Driver
from condrisk.app.report._made_of import MadeOf
from condrisk.app.report._report import Report
from condrisk.app.report._rows import Riskiest
from condrisk.app.report._segments import Segment
from condrisk.app.report._words import isolated, plain

MAX_DRIVERS = 10


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
        f"<div><dt>{escape(plain(label))}</dt><dd>{isolated(text)}</dd></div>"
        for label, text in facts
    )


# -- prices -------------------------------------------------------------------------------------


def break_even(report: Report) -> str:
    """Say below which price asking always pays and above which it never does."""
    low, high = max(report.lowest, 0.0), report.highest
    cheap = (
        (f"below {number(low)}", "Asking always pays: every row has a higher risk.")
        if low > 0
        else ("at 0", "Only if asking is free does it always pay: the safest row has a risk of 0.")
    )
    even = (
        f"at {number(report.mean_loss)}",
        "Always asking and never asking cost the same: the mean loss of all rows. "
        + _worth(report),
    )
    dear = (f"from {number(high)}", "Asking never pays: no row has a higher risk.")
    items = [
        ("always", *cheap),
        ("pays", *_paying(report)),
        ("even", *even),
        ("never", *dear),
    ]
    listed = "".join(
        f'<div class="{name}"><dt>{term}</dt><dd>{text}</dd></div>' for name, term, text in items
    )
    return f'{_ruler(report)}<dl class="sense">{listed}</dl>'


def _worth(report: Report) -> str:
    saved = report.mean_loss - report.at(max(report.mean_loss, 0.0)).loss
    if saved <= 0 or report.mean_loss <= 0:
        return "Asking by risk saves nothing there."
    share = percent(saved / report.mean_loss)
    return f"There the risk has most to offer: asking by it saves {number(saved)} a row, {share}."


def _paying(report: Report) -> tuple[str, str]:
    between = report.pays_between()
    if between is None:
        return "nowhere", "is asking by risk cheaper than both always and never asking."
    low, high = between
    return (
        f"{number(low)} to {number(high)}",
        "On these rows asking by risk is cheaper than both always and never asking at these "
        "prices.",
    )


def _ruler(report: Report) -> str:
    """Return a strip with the prices at which all, some and no rows are asked about."""
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
        f"Prices from {number(max(scale.low, 0.0))} to {number(scale.high)}: below "
        f"{number(max(report.lowest, 0.0))} all rows are asked about, from "
        f"{number(report.highest)} none."
    )
    return (
        f'<svg class="ruler" viewBox="0 0 100 10" preserveAspectRatio="none" role="img" '
        f'aria-label="{words}"><title>{words}</title>{rects}</svg>'
        f'<p class="ruler-ends" aria-hidden="true"><span>{number(max(scale.low, 0.0))}</span>'
        f"<span>price of asking</span><span>{number(scale.high)}</span></p>"
    )


# -- where the risk is high ---------------------------------------------------------------------


def where(report: Report) -> str:
    """Return which columns drive the risk, and the segments where it is high."""
    parts = [_drivers(report.drivers), _segments(report)]
    shown = [part for part in parts if part]
    return f'<section class="where">{"".join(shown)}</section>' if shown else ""


def _drivers(drivers: tuple[Driver, ...]) -> str:
    if not drivers:
        return ""
    longest = drivers[0].change
    rows = "".join(
        f'<tr><th scope="row" class="text">{isolated(driver.column)}</th>'
        f'<td class="bar-cell"><svg viewBox="0 0 100 12" preserveAspectRatio="none" '
        f'aria-hidden="true"><rect class="amount" y="2" height="8" rx="1" '
        f'width="{100 * driver.change / longest:.2f}"/></svg></td>'
        f"<td>{number(driver.change)}</td><td class='text'>{driver.direction}</td></tr>"
        for driver in drivers[:MAX_DRIVERS]
    )
    more = len(drivers) - MAX_DRIVERS
    rest = f'<p class="small">and {more} more that move it less</p>' if more > 0 else ""
    return template("drivers.html", rows=rows, rest=rest)


def _segments(report: Report) -> str:
    if not report.segments:
        return ""
    top = max(max(segment.high, segment.mean_risk) for segment in report.segments)
    top = top if top > 0 else 1.0
    rows = "".join(_segment(segment, report, top) for segment in report.segments)
    return template("segments.html", rows=rows)


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
        f'<tr><th scope="row" class="text segment">{segment.words(report.dates)}</th>'
        f"<td>{count(segment.rows)} ({percent(segment.share)})</td>"
        f"<td>{number(segment.mean_risk)}</td><td><b>{number(segment.mean_loss)}</b></td>"
        f'<td class="limits">{number(segment.low)} to {number(segment.high)}</td>'
        f'<td class="bar-cell"><svg viewBox="0 0 100 12" preserveAspectRatio="none" '
        f'aria-hidden="true">{bar}</svg></td>'
        f"<td>{number(segment.times_average)}</td></tr>"
    )


# -- what the risk is made of -------------------------------------------------------------------


def composition(report: Report) -> str:
    """Return floor, gap and correction of all rows and of the riskiest, as a table."""
    if not report.made_of:
        return ""
    names = ("all", "the riskiest")
    rows = "".join(_made_of(name, part) for name, part in zip(names, report.made_of, strict=True))
    return template("made_of.html", rows=rows)


def _made_of(name: str, part: MadeOf) -> str:
    expected = part.floor + part.gap
    share = 100 * part.floor / expected if expected > 0 else 0.0
    bar = (
        f'<rect class="floor" y="2" height="8" width="{share:.2f}"/>'
        f'<rect class="gap" y="2" height="8" x="{share:.2f}" width="{100 - share:.2f}"/>'
        if expected > 0
        else ""
    )

    def cell(value: float) -> str:
        of = f' <span class="limits">({percent(value / expected)})</span>' if expected > 0 else ""
        return f"<td>{number(value)}{of}</td>"

    return (
        f'<tr><th scope="row" class="text">{name} {count(part.rows)}</th>'
        f"<td><b>{number(part.risk)}</b></td>"
        f'<td class="bar-cell"><svg viewBox="0 0 100 12" preserveAspectRatio="none" '
        f'aria-hidden="true">{bar}</svg></td>'
        f"{cell(part.floor)}{cell(part.gap)}<td>{number(part.correction)}</td></tr>"
    )


# -- the riskiest rows --------------------------------------------------------------------------


def riskiest(report: Report) -> str:
    """Return the rows of greatest risk as a table that can be sorted."""
    table = report.riskiest
    if table is None or not table.numbers:
        return ""
    heads = ["row", "risk", "loss", "at this price", *_response_columns(table)]
    header = "".join(
        f'<th scope="col"{_sorted(name)}><button type="button">{name}</button></th>'
        for name in heads
    ) + "".join(
        f'<th scope="col"><button type="button">{isolated(name)}</button></th>'
        for name, _ in table.columns
    )
    body = "".join(_row(table, k) for k in range(len(table.numbers)))
    rest = f" {count(table.left_out)} other columns are not shown." if table.left_out else ""
    n = count(len(table.numbers))
    return template("riskiest.html", n=n, rest=rest, header=header, body=body)


def _sorted(name: str) -> str:
    return ' aria-sort="descending"' if name == "risk" else ""


def _response_columns(table: Riskiest) -> list[str]:
    names = (("prediction", table.prediction), ("truth", table.target))
    return [name for name, values in names if values is not None]


def _row(table: Riskiest, k: int) -> str:
    cells = [
        f'<th scope="row" data-sort="{table.numbers[k]}">{count(table.numbers[k])}</th>',
        _cell(table.risk[k]),
        _cell(table.loss[k]),
        '<td class="decision" data-sort=""></td>',
    ]
    cells += [_cell(values[k]) for values in (table.prediction, table.target) if values is not None]
    cells += [_cell(values[k]) for _, values in table.columns]
    return f'<tr data-risk="{table.risk[k]!r}">{"".join(cells)}</tr>'


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
