"""The parts of the page that do not move: all text of the user's in them is escaped."""

from __future__ import annotations

import datetime
import math
from html import escape
from typing import Any

from condrisk.app._numbers import count, exact, number, percent
from condrisk.app.report._drivers import Driver
from condrisk.app.report._report import Report
from condrisk.app.report._rows import Riskiest
from condrisk.app.report._segments import Segment
from condrisk.app.report._words import isolated, loss_in_words, plain

MAX_DRIVERS = 10


def facts(report: Report) -> str:
    """Return the list of facts about the model and the rows."""
    rows = ("Held-out rows", count(report.n_rows))
    return "".join(
        f"<div><dt>{escape(plain(label))}</dt><dd>{isolated(text)}</dd></div>"
        for label, text in (rows, *report.facts)
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
    said = "".join(
        f'<div class="{name}"><dt>{term}</dt><dd>{text}</dd></div>' for name, term, text in items
    )
    return f'{_ruler(report)}<dl class="sense">{said}</dl>'


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
    return (
        '<section class="card" aria-labelledby="drivers-title">'
        '<h2 id="drivers-title">Features that drive the risk</h2>'
        "<p>How far the estimated risk moves, on average, when a column is shuffled among the "
        "rows. Columns that say the same share the credit.</p>"
        '<div class="scroll" tabindex="0" role="region" aria-labelledby="drivers-title">'
        '<table class="numbers"><thead><tr><th scope="col" class="text">column</th>'
        '<th scope="col" class="bar-cell"><span class="unseen">bar</span></th>'
        '<th scope="col">moves by</th><th scope="col" class="text">the risk</th></tr></thead>'
        f"<tbody>{rows}</tbody></table></div>{rest}</section>"
    )


def _segments(report: Report) -> str:
    if not report.segments:
        return ""
    top = max(max(segment.high, segment.mean_risk) for segment in report.segments)
    top = top if top > 0 else 1.0
    rows = "".join(_segment(segment, report, top) for segment in report.segments)
    return (
        '<section class="card" aria-labelledby="segments-title">'
        '<h2 id="segments-title">Where the risk is high</h2>'
        "<p>Groups of rows found on one half of the table and measured on the other, so the "
        "losses are not flattered by the search. The tick in each bar is the mean of all rows; "
        "each pair of limits holds with 95&nbsp;% by itself.</p>"
        '<div class="scroll" tabindex="0" role="region" aria-labelledby="segments-title">'
        '<table class="numbers"><thead><tr><th scope="col" class="text">rows with</th>'
        '<th scope="col">rows</th><th scope="col">risk</th><th scope="col">loss</th>'
        '<th scope="col">95&nbsp;% limits</th>'
        '<th scope="col" class="bar-cell"><span class="unseen">bar</span></th>'
        '<th scope="col">×&nbsp;mean</th>'
        f"</tr></thead><tbody>{rows}</tbody></table></div></section>"
    )


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


# -- the riskiest rows --------------------------------------------------------------------------


def riskiest(report: Report) -> str:
    """Return the rows of greatest risk as a table that can be sorted."""
    table = report.riskiest
    if table is None or not table.numbers:
        return ""
    heads = ["row", "risk", "loss", "at this price", *_answers(table)]
    header = "".join(
        f'<th scope="col"{_sorted(name)}><button type="button">{name}</button></th>'
        for name in heads
    ) + "".join(
        f'<th scope="col"><button type="button">{isolated(name)}</button></th>'
        for name, _ in table.columns
    )
    body = "".join(_row(table, k) for k in range(len(table.numbers)))
    rest = ""
    if table.left_out:
        rest = f" {count(table.left_out)} other columns are not shown."
    return (
        '<section class="card table-card" aria-labelledby="rows-title">'
        '<h2 id="rows-title">The riskiest rows</h2>'
        f"<p>The {count(len(table.numbers))} rows of greatest estimated risk, counted from the "
        f'first row of the table. <span class="screen-only">Choose a heading to sort.</span>{rest}'
        "</p>"
        '<div class="scroll" tabindex="0" role="region" aria-labelledby="rows-title">'
        '<table class="numbers sortable"><caption class="unseen">The riskiest rows</caption>'
        f"<thead><tr>{header}</tr></thead><tbody>{body}</tbody></table></div></section>"
    )


def _sorted(name: str) -> str:
    return ' aria-sort="descending"' if name == "risk" else ""


def _answers(table: Riskiest) -> list[str]:
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


# -- how to read it -----------------------------------------------------------------------------


def reading(report: Report) -> str:
    """Explain every figure in plain words."""
    loss = isolated(report.loss_name.replace("_", " "))
    items = [
        ("Loss", f"What an answer turned out to cost: {loss}, {loss_in_words(report.loss_name)}."),
        (
            "Risk",
            "The loss to expect for a row before its true answer is known. It is an estimate, and "
            "it is checked on this page against what happened.",
        ),
        (
            "Price of asking",
            "What it costs to ask somebody who knows, such as an hour of a specialist, in the "
            "same units as the loss. A row is asked about if its risk is above the price.",
        ),
        (
            "Cost a row",
            "The mean over all rows of what was paid: the loss where the model answered, the "
            "price where somebody was asked. Lower is better. It is worth asking by risk if it is "
            "below both always and never asking.",
        ),
        (
            "Perfect foresight",
            "What it would cost if every loss were known beforehand. Nothing can be cheaper; how "
            "near one gets depends on how much of the loss is chance.",
        ),
        (
            "95&nbsp;% limits",
            "How much the figure could differ on other rows of the same kind. Where the limits of "
            "a difference include zero, the page says that it is within the noise.",
        ),
        (
            "What could mislead",
            "All of this holds for rows like these. New rows of another kind, or another way of "
            "measuring, can have another risk. A column that drives the risk need not cause it.",
        ),
    ]
    if report.by_loss is None:
        items = [item for item in items if item[0] != "Perfect foresight"]
    said = "".join(f"<div><dt>{term}</dt><dd>{text}</dd></div>" for term, text in items)
    return f"<dl>{said}</dl>"
