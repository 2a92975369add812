"""`make journey`: what it types, what its browser finds, and its page."""

import json
import os
import random
from pathlib import Path

import pytest
import typer
from tools import journey_page
from tools.journey import _browser, _tables, _walk
from tools.journey.__main__ import DOCS, PICTURES

from condrisk.app.cli import app

PAGE = """<!doctype html><html lang="en"><meta name="viewport" content="width=device-width">
<style>body {{ margin: 0 }} {style}</style>
<main><section class="card"><h2>A title</h2><input id="field"><p class="text">Some words</p>
<svg width="200" height="60"><text x="5" y="20">here</text><text x="{x}" y="20">there</text></svg>
</section></main></html>"""


@pytest.fixture(scope="module")
def browser():
    if not _browser.CHROMIUM.exists():
        pytest.skip(f"needs {_browser.CHROMIUM}")
    with _browser.browser() as opened:
        yield opened


def look(browser, folder, style="", x=90):
    page = folder / "page.html"
    page.write_text(PAGE.format(style=style, x=x), encoding="utf-8")
    return _browser.look(browser, page.as_uri(), folder, "page")


def test_a_page_in_order_has_its_pictures_and_no_troubles(browser, tmp_path):
    assert look(browser, tmp_path) == []
    looks = ((width, colours) for width in (1280, 390) for colours in ("light", "dark"))
    names = {f"page-{width}-{colours}.png" for width, colours in looks}
    assert {path.name for path in tmp_path.iterdir()} == {"page.html", "page.pdf", *names}


@pytest.mark.parametrize(
    ("style", "x", "trouble"),
    [
        (".text { width: 20px; overflow: hidden; white-space: nowrap }", 90, "cut: p.text"),
        ("@media (max-width: 500px) { .text { width: 500px } }", 90, "beyond the page: p.text"),
        ("", 20, "over each other"),
        ("h2 { position: fixed; inset: 0; margin: 0 }", 90, "covered: field by H2"),
        ("body { background: url('http://127.0.0.1:9/x.png') }", 90, "asked for http://127.0.0.1"),
    ],
)
def test_what_is_wrong_with_a_page_is_found(browser, tmp_path, style, x, trouble):
    found = look(browser, tmp_path, style, x)
    assert any(trouble in text for text in found), found


@pytest.mark.parametrize("table", _tables.TABLES, ids=lambda table: table.name)
def test_what_is_typed_are_commands_with_options_that_they_have(table):
    known = typer.main.get_command(app).commands
    for words in _walk.commands(table).values():
        options = {name for each in known[words[0]].load().params for name in each.opts}
        assert {word for word in words if word.startswith("-")} <= options


def test_rows_that_come_later_are_no_rows_to_fit_on():
    rows = [random.random() for _ in range(100)]
    first, later = _tables._split(rows, 0.3)
    assert len(later) == 30
    assert sorted(first + later) == sorted(rows)
    assert first == [row for row in rows if row in first]


def test_the_page_is_what_the_record_gives():
    assert (DOCS / "README.md").read_text("utf-8") == journey_page.pages()["README.md"]
    assert {f"{name}.png" for name in PICTURES} == {p.name for p in DOCS.glob("*.png")}
    assert sum(os.path.getsize(path) for path in DOCS.glob("*.png")) < 500_000


def test_six_tables_went_the_whole_way():
    tables = json.loads(journey_page.RECORD.read_text("utf-8"))["tables"]
    assert list(tables) == [table.name for table in _tables.TABLES]
    for table in tables.values():
        assert not table["troubles"]
        assert table["form"]["as_scored"]
        assert all(step["code"] == 0 for step in table["steps"].values())
        assert str(Path.home()) not in json.dumps(table)
