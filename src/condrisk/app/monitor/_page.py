"""The page of a monitored table: one file that loads nothing, for a light or a dark screen."""

from __future__ import annotations

import base64
import csv
import io
from collections.abc import Sequence
from html import escape
from importlib import resources
from string import Template
from typing import TYPE_CHECKING

from condrisk.app._numbers import Amounts, count, percent, unit_of
from condrisk.app.monitor._figure import draw_all

if TYPE_CHECKING:
    from condrisk.app.monitor._report import ChunkReport, Monitoring

# The latest chunks, newest first; all are in the JSON file.
MOST_LINES = 200


def render(found: Monitoring) -> str:
    """Return the page.

    Parameters
    ----------
    found : Monitoring
        What was found.

    Returns
    -------
    str
        HTML with the verdict, the figure over time and a table of the chunks.
    """
    template = Template(
        resources.files("condrisk.app.monitor").joinpath("page.html").read_text(encoding="utf-8")
    )
    amounts = Amounts(found.loss, unit_of(found.target))
    verdict = "".join(
        f'<li class="{kind or "plain"}">{escape(text)}</li>' for kind, text in found.verdict()
    )
    notes = "".join(f"<li>{escape(note)}</li>" for note in found.notes)
    svg, png = _figures(found)
    shown = list(found.chunks[::-1][:MOST_LINES])
    left = len(found.chunks) - len(shown)
    return template.substitute(
        title=escape(f"Monitoring of {found.target or 'the model'}"),
        verdict=verdict,
        notes=f"<ul>{notes}</ul>" if notes else "",
        figure=_on_page(svg),
        saved="".join(
            _link(name, kind, data)
            for name, kind, data in (
                ("monitoring.svg", "image/svg+xml", svg),
                ("monitoring.png", "image/png", png),
                ("monitoring.csv", "text/csv", _csv(found.chunks)),
            )
        ),
        band=f"{100 * found.confidence:.4g} %",
        lines="".join(_line(chunk, amounts) for chunk in shown),
        left=f"<p>{count(left)} earlier chunks are in monitoring.json.</p>" if left else "",
    )


def _figures(found: Monitoring) -> tuple[bytes, bytes]:
    """Draw the figure, as SVG and as PNG."""
    import matplotlib as mpl

    with mpl.rc_context({"backend": "agg", "svg.fonttype": "none", "svg.hashsalt": "condrisk"}):
        import matplotlib.pyplot as plt

        figure = draw_all(found)
        svg, png = io.BytesIO(), io.BytesIO()
        figure.savefig(svg, format="svg", transparent=True, metadata={"Date": None})
        figure.savefig(png, format="png", dpi=150, facecolor="white")
        plt.close(figure)
    return svg.getvalue(), png.getvalue()


def _on_page(svg: bytes) -> str:
    """Return the figure with its text and lines in the colour of the page's text."""
    text = svg.decode()
    text = text[text.index("<svg") :].replace("#000000", "currentColor")
    return text.replace("<svg ", '<svg fill="currentColor" role="img" ', 1)


def _csv(chunks: Sequence[ChunkReport]) -> bytes:
    """Return what the figure shows, a line for each chunk."""
    text = io.StringIO()
    lines = csv.writer(text, lineterminator="\n")
    lines.writerow(
        ["chunk", "rows", "expected", "low", "high", "realised", "evidence", "outside", "alarm"]
    )
    for chunk in chunks:
        band = chunk.expected
        lines.writerow(
            (chunk.name, chunk.rows, band.mean, band.low, band.high, chunk.realised,
             chunk.evidence, chunk.outside, str(chunk.alarm).lower())
        )  # fmt: skip
    return text.getvalue().encode()


def _link(name: str, kind: str, data: bytes) -> str:
    """Return a link that saves data which the page holds: it has no script to make any."""
    held = base64.b64encode(data).decode()
    label = name.rpartition(".")[2].upper()
    return f'<a download="{name}" href="data:{kind};base64,{held}">{label}</a>'


def _line(chunk: ChunkReport, amounts: Amounts) -> str:
    expected = chunk.expected
    cells = [
        chunk.name,
        count(chunk.rows),
        amounts.text(expected.mean),
        f"{amounts.bare(expected.low)} – {amounts.bare(expected.high)}",
        "" if chunk.realised is None else amounts.text(chunk.realised),
        "" if chunk.evidence is None else f"{chunk.evidence:.3g}",
        percent(chunk.outside),
        ", ".join(column.name for column in chunk.moved[:3]),
        "" if chunk.cause == "none" else chunk.cause,
    ]
    kind = "alarm" if chunk.alarm else "drift" if chunk.notes else ""
    return f'<tr class="{kind}">{"".join(f"<td>{escape(cell)}</td>" for cell in cells)}</tr>\n'
