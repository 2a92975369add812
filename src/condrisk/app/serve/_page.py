"""The page of a model: its report, and a form to try a row."""

from __future__ import annotations

from datetime import date
from html import escape
from importlib import resources
from string import Template
from typing import Any

from condrisk.app._numbers import Amounts, span, unit_of
from condrisk.app.models import TableModel
from condrisk.app.report import Panel, render, render_panel, report_from_manifest
from condrisk.app.serve._columns import day, moment
from condrisk.persistence import Column

# Longer lists are typed into rather than chosen from.
MOST_CHOICES = 60
UNMEASURED = (
    "The model file holds no measured rows, so there is no report here: condrisk report makes one "
    "of the model and a table of rows whose target is known."
)


def page(model: TableModel, *, has_report: bool) -> str:
    """Return the page at ``/``.

    Parameters
    ----------
    model : TableModel
        The model.
    has_report : bool
        Whether there is a longer report to point to.

    Returns
    -------
    str
        HTML that loads nothing and talks only to its own server.
    """
    measured = bool(model.manifest.get("profile"))
    fields = [_field(k, column) for k, column in enumerate(model.schema.needed)]
    if model.uses_cost and not measured:  # else the report has the field
        fields.append(_cost_field(model.cost))
    link = '<p><a href="report">The full report of this model</a></p>' if has_report else ""
    amounts = Amounts(model.manifest["loss"], unit_of(model.target))
    html = Template(_read("try.html")).substitute(
        fields="\n".join(fields),
        link=link,
        uses_cost="true" if model.uses_cost else "false",
        target=escape(str(model.target)),
        percent="true" if amounts.in_percent else "false",
        square="true" if amounts.is_square else "false",
        unit=escape(amounts.unit),
    )
    panel = Panel(html, script=_read("try.js"), style=_read("try.css"))
    if measured:
        return render(report_from_manifest(model.manifest), panel=panel)
    return render_panel(panel, model.manifest, lead=UNMEASURED)


def report_headers(*, talks: bool) -> dict[str, str]:
    """Return the headers of an HTML page.

    Parameters
    ----------
    talks : bool
        Whether the page may send requests to its own server. One that a user gives may not: it
        is shut in, whatever is written in it.

    Returns
    -------
    dict
        Headers; pages also carry a policy of their own, and both must allow a thing.
    """
    policy = "frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
    if not talks:
        policy += (
            "; default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; "
            "img-src data:; sandbox allow-scripts allow-downloads allow-modals"
        )
    return {
        "Content-Security-Policy": policy,
        "X-Content-Type-Options": "nosniff",
        "Referrer-Policy": "no-referrer",
        "Cache-Control": "no-cache",
    }


def _read(name: str) -> str:
    return resources.files("condrisk.app.serve").joinpath(name).read_text(encoding="utf-8")


# -- fields -------------------------------------------------------------------------------------


def _field(k: int, column: Column) -> str:
    """Return label, control and hint of a column."""
    identity = f"try-{k}"
    control = _CONTROLS[column.kind](identity, column, column.typical)
    hint = _hint(column)
    return (
        f'<div class="try-field"><label for="{identity}"><bdi>{escape(column.name)}</bdi></label>'
        f'{control}<p class="try-hint" id="{identity}-hint">{hint}</p></div>'
    )


def _attributes(identity: str, column: Column) -> str:
    needed = " required" if column.required else ""
    return (
        f'id="{identity}" data-name="{escape(column.name)}" data-kind="{column.kind}" '
        f'aria-describedby="{identity}-hint"{needed}'
    )


def _number(identity: str, column: Column, value: Any) -> str:
    shown = "" if value is None else f"{value:.6g}"
    return (
        f'<input type="number" step="any" inputmode="decimal" value="{escape(shown)}" '
        f"{_attributes(identity, column)}>"
    )


def _day(identity: str, column: Column, value: Any) -> str:
    shown = "" if value is None else date.fromisoformat(value).isoformat()
    return f'<input type="date" value="{shown}" {_attributes(identity, column)}>'


def _moment(identity: str, column: Column, value: Any) -> str:
    shown = "" if value is None else escape(str(value)[:19])
    return f'<input type="datetime-local" step="1" value="{shown}" {_attributes(identity, column)}>'


def _cost_field(cost: float | None) -> str:
    shown = "" if cost is None else repr(float(cost))
    return (
        '<div class="try-field"><label for="price">Cost of deferring</label>'
        f'<input id="price" type="number" min="0" step="any" inputmode="decimal" value="{shown}">'
        '<p class="try-hint">in units of the loss</p></div>'
    )


def _boolean(identity: str, column: Column, value: Any) -> str:
    choices = [("true", "yes"), ("false", "no")]
    chosen = None if value is None else str(value).lower()
    return _choice(identity, column, choices, chosen)


def _category(identity: str, column: Column, value: Any) -> str:
    if len(column.categories) <= MOST_CHOICES:
        return _choice(identity, column, [(name, name) for name in column.categories], value)
    return _text(identity, column, value)


def _text(identity: str, column: Column, value: Any) -> str:
    known = "".join(f'<option value="{escape(name)}">' for name in column.categories)
    shown = "" if value is None else escape(str(value))
    return (
        f'<input type="text" list="{identity}-list" value="{shown}" '
        f'{_attributes(identity, column)}><datalist id="{identity}-list">{known}</datalist>'
    )


def _choice(
    identity: str, column: Column, choices: list[tuple[str, str]], chosen: str | None
) -> str:
    options = [
        f'<option value="{escape(value)}"{" selected" if value == chosen else ""}>'
        f"{escape(text)}</option>"
        for value, text in choices
    ]
    if not column.required:
        # Told apart by an attribute: a category may well be the empty text.
        options.append(
            f"<option data-missing{'' if chosen is not None else ' selected'}>missing</option>"
        )
    return f"<select {_attributes(identity, column)}>{''.join(options)}</select>"


_CONTROLS = {
    "number": _number,
    "date": _day,
    "datetime": _moment,
    "boolean": _boolean,
    "category": _category,
    "text": _text,
}


def _hint(column: Column) -> str:
    if column.low is not None and column.high is not None:
        if column.kind not in ("date", "datetime"):
            return span(column.low, column.high)
        show, zone = (day, "") if column.kind == "date" else (moment, ", UTC")
        return f"{show(column.low)} to {show(column.high)}{zone}"
    if column.kind == "category" and len(column.categories) > MOST_CHOICES:
        return f"{len(column.categories)} values are known"
    return ""
