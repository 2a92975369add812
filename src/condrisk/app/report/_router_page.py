"""One HTML page about a router: what it is worth at each cost."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

import numpy as np
import polars as pl

import condrisk
from condrisk.app._errors import TableError
from condrisk.app._numbers import count, number, percent
from condrisk.app.models import RouterTable, read_losses
from condrisk.app.report._page import page_policy, styles
from condrisk.app.report._parts import template
from condrisk.app.report._words import isolated, plain
from condrisk.app.tables import check_rows
from condrisk.routing import routing_figures

WIDTH, HEIGHT, LEFT, BOTTOM = 640, 320, 60, 44
_ROWS = 11


def measure_router(router: RouterTable, frame: pl.DataFrame) -> dict[str, Any]:
    """Return what a router is worth on a table of rows that it was not fitted on.

    Parameters
    ----------
    router : RouterTable
        The router; its manifest names the columns with the losses.
    frame : polars.DataFrame
        Rows, with these columns. Rows that not every model has answered are left out.

    Returns
    -------
    dict
        The figures, as the manifest of a router has them.
    """
    if router.loss_columns is None:
        raise TableError(
            "the router does not know which columns hold the losses of its models: save it with "
            "target={model: column}, or fit it by condrisk route-fit."
        )
    checked = check_rows(router.schema, frame)
    losses = read_losses(frame[checked.rows.tolist()], router.loss_columns)
    answered = ~np.isnan(np.column_stack(list(losses.values()))).any(axis=1)
    if not answered.any():
        raise TableError("no row was answered by every model: nothing can be compared.")
    good = checked.good.filter(pl.Series(answered))
    known = {name: values[answered] for name, values in losses.items()}
    found = routing_figures(known, router.predict_risk(good), router.costs)
    return found.to_dict() | {"curve": found.curve.to_dict()}


def render_router(manifest: dict[str, Any], *, title: str | None = None, panel: str = "") -> str:
    """Make one HTML page of what a manifest says about a router.

    Parameters
    ----------
    manifest : dict
        As `condrisk.persistence.read_manifest` gives it, its figures perhaps replaced by those of
        `measure_router`.
    title : str, optional
        What stands at the top.
    panel : str, default=""
        Safe HTML to put before the figures.

    Returns
    -------
    str
        The page: it loads nothing, sends nothing and runs no script.
    """
    about = manifest["routing"]
    figures = about["figures"]
    names = list(about["costs"])
    name = title or f"Routing between {', '.join(names[:5])}"
    style = styles(_STYLE)
    return template(
        "router.html",
        policy=page_policy(style, "", talks=False),
        version=condrisk.__version__,
        title=escape(plain(name)),
        heading=isolated(name),
        style=style,
        panel=panel,
        rule=_rule(manifest),
        body=_unmeasured() if figures is None else _measured(figures, names),
        created=escape(plain(manifest["created"])),
    )


def _rule(manifest: dict[str, Any]) -> str:
    kept = manifest["routing"]["kept_by_rule"]
    if kept is None:
        return ""
    return (
        f"<p>A rule leaves rows with {isolated(kept)}: {escape(plain(str(manifest['rule'])))}. "
        f"The curve below is without it.</p>"
    )


def _unmeasured() -> str:
    return (
        '<p class="caution">The router was saved without rows to measure it on: give condrisk '
        "report a table with the losses of all models.</p>"
    )


def _measured(figures: dict[str, Any], names: Sequence[str]) -> str:
    return "\n".join(
        [_verdict(figures, names), _chart(figures["curve"], names), _table(figures, names)]
    )


def _verdict(figures: dict[str, Any], names: Sequence[str]) -> str:
    curve, gap = figures["curve"], figures["apgr"]
    weak, strong = _ends(curve)
    lines = [
        f"Measured on {count(figures['rows'])} rows that the router was not fitted on and all "
        f"models have answered."
    ]
    if gap["value"] is None:
        lines.append(
            f"{names[weak]} is the cheapest and has the least mean loss too: there is nothing to "
            f"gain on average by another model."
        )
    else:
        lines.append(
            f"Routing closes {_share(gap)} of the gap in mean loss between {names[weak]} and "
            f"{names[strong]}, averaged over all costs between theirs (APGR; random routing: 50 %)."
        )
        lines += [
            f"{each['at']:g} % of the gap is closed at {_share(each)} of the way from the cost of "
            f"{names[weak]} to that of {names[strong]} (CPT)."
            for each in figures["cpt"]
            if each["value"] is not None
        ]
    items = "".join(f"<li>{escape(plain(line, limit=400))}</li>" for line in lines)
    return f'<section class="card"><h2>What it is worth</h2><ul>{items}</ul></section>'


def _share(figure: dict[str, Any]) -> str:
    text = percent(figure["value"])
    if figure["low"] is None or figure["high"] is None:
        return text
    return f"{text} [{percent(figure['low'])}, {percent(figure['high'])}]"


def _ends(curve: dict[str, Any]) -> tuple[int, int]:
    costs, losses = np.array(curve["model_cost"]), np.array(curve["model_loss"])
    return int(np.lexsort((losses, costs))[0]), int(np.lexsort((costs, losses))[0])


def _chart(curve: dict[str, Any], names: Sequence[str]) -> str:
    """Draw loss against cost: the router, random routing, the models and the oracle."""
    costs = np.array(curve["cost"])
    losses = np.array([*curve["loss"], *curve["oracle"], *curve["model_loss"]])
    low, high = losses.min(), losses.max()
    margin = 0.06 * (high - low or 1.0)
    low, high = low - margin, high + margin
    span = costs[-1] - costs[0] or 1.0

    def x(cost: float) -> float:
        return LEFT + (cost - costs[0]) / span * (WIDTH - LEFT - 20)

    def y(loss: float) -> float:
        return 10 + (high - loss) / (high - low) * (HEIGHT - BOTTOM - 10)

    def line(values: Sequence[float], kind: str) -> str:
        points = " ".join(f"{x(c):.1f},{y(v):.1f}" for c, v in zip(costs, values, strict=True))
        return f'<polyline class="{kind}" points="{points}"/>'

    weak, strong = _ends(curve)
    ends = [(curve["model_cost"][k], curve["model_loss"][k]) for k in (weak, strong)]
    random = " ".join(f"{x(c):.1f},{y(v):.1f}" for c, v in ends)
    dots = "".join(
        f'<circle cx="{x(c):.1f}" cy="{y(v):.1f}" r="4"/>'
        f'<text x="{x(c):.1f}" y="{y(v) - 9:.1f}" text-anchor="{_anchor(x(c))}">'
        f"{escape(plain(name, limit=24))}</text>"
        for name, c, v in zip(names, curve["model_cost"], curve["model_loss"], strict=True)
    )
    ticks = "".join(
        f'<text class="tick" x="{x(c):.1f}" y="{HEIGHT - BOTTOM + 18}" text-anchor="middle">'
        f"{escape(number(float(c)))}</text>"
        for c in np.linspace(costs[0], costs[-1], 5)
    ) + "".join(
        f'<text class="tick" x="{LEFT - 8}" y="{y(v) + 4:.1f}" text-anchor="end">'
        f"{escape(number(float(v)))}</text>"
        f'<line class="grid" x1="{LEFT}" x2="{WIDTH - 20}" y1="{y(v):.1f}" y2="{y(v):.1f}"/>'
        for v in np.linspace(low + margin, high - margin, 4)
    )
    return (
        '<section class="card"><h2>Mean loss at each mean cost</h2>'
        f'<svg class="curve" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
        'aria-label="Mean loss against mean cost of a row">'
        f'{ticks}<polyline class="random" points="{random}"/>'
        f"{line(curve['oracle'], 'oracle')}{line(curve['loss'], 'router')}{dots}"
        f'<text class="tick" x="{WIDTH - 20}" y="{HEIGHT - 6}" text-anchor="end">'
        "mean cost of a row</text></svg>"
        '<p class="small"><b class="router">—</b> router <b class="random">- -</b> random routing '
        '<b class="oracle">···</b> oracle, which knows every loss; dots: one model for all rows'
        "</p></section>"
    )


def _anchor(x: float) -> str:
    return "start" if x < WIDTH / 4 else "end" if x > 3 * WIDTH / 4 else "middle"


def _table(figures: dict[str, Any], names: Sequence[str]) -> str:
    curve = figures["curve"]
    costs = np.array(curve["cost"])
    weak, strong = _ends(curve)
    grid = np.linspace(costs[0], costs[-1], _ROWS)
    ends = sorted({weak, strong}, key=lambda k: curve["model_cost"][k])
    random = [[curve[name][k] for k in ends] for name in ("model_cost", "model_loss")]
    rows = "".join(
        f"<tr><td>{escape(number(float(c)))}</td>"
        f"<td>{escape(number(float(np.interp(c, costs, curve['loss']))))}</td>"
        f"<td>{escape(number(float(np.interp(c, random[0], random[1]))))}</td>"
        f"<td>{escape(number(float(np.interp(c, costs, curve['oracle']))))}</td></tr>"
        for c in grid
    )
    models = "".join(
        f"<tr><td>{isolated(name)}</td><td>{escape(number(cost))}</td>"
        f"<td>{escape(number(loss))}</td></tr>"
        for name, cost, loss in zip(names, curve["model_cost"], curve["model_loss"], strict=True)
    )
    table = '<table class="numbers"><thead><tr>'
    return (
        f'<section class="card"><h2>In numbers</h2>{table}<th>mean cost</th>'
        "<th>loss, router</th><th>loss, random</th><th>loss, oracle</th></tr></thead>"
        f"<tbody>{rows}</tbody></table><h3>One model for all rows</h3>{table}"
        "<th>model</th><th>cost</th><th>mean loss</th></tr></thead>"
        f"<tbody>{models}</tbody></table></section>"
    )


_STYLE = """
svg.curve { width: 100%; height: auto; font-size: 12px; }
svg.curve polyline { fill: none; stroke-width: 2; }
svg.curve .router { stroke: var(--accept); stroke-width: 3; }
svg.curve .random { stroke: var(--reference); stroke-dasharray: 6 4; }
svg.curve .oracle { stroke: var(--ask); stroke-dasharray: 2 3; }
svg.curve .grid { stroke: var(--grid); }
svg.curve text { fill: var(--ink); }
svg.curve .tick { fill: var(--soft); }
svg.curve circle { fill: var(--ink); }
b.router { color: var(--accept); }
b.random { color: var(--reference); }
b.oracle { color: var(--ask); }
section.card { margin: 1.2rem 0; }
section.card ul { padding-left: 1.2rem; }
section.card h3 { margin-top: 1rem; }
svg.curve .grid { stroke-width: 1; }
"""
