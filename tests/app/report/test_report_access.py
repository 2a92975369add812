"""The page in a browser: safe, and for everybody to read and reach."""

import re
from http.server import BaseHTTPRequestHandler, HTTPServer
from itertools import pairwise
from threading import Thread
from typing import ClassVar

import numpy as np
import pytest
from shown import HOSTILE, LOSS, RISK, START, check_numbers

from condrisk.app import _numbers
from condrisk.metrics import deferral_loss, deferral_rate

sync_api = pytest.importorskip("playwright.sync_api", reason="needs playwright")


@pytest.mark.parametrize("name", ["rows", "manifest", "one", "zero", "negative"])
def test_every_kind_of_page_is_drawn_without_an_error(visit, name):
    page = visit(name)
    assert page.locator("figure svg[role=img]").count() == 4
    page.locator("#slider").fill("1000")
    page.locator("#slider").fill("0")
    assert "NaN" not in page.locator("body").inner_html().split('<script type="app')[0]


def test_the_riskiest_rows_can_be_sorted_by_the_keyboard(visit):
    page = visit()
    table = page.locator("table.sortable")
    column = lambda k: table.locator(f"tbody tr > :nth-child({k})").evaluate_all(  # noqa: E731
        "cells => cells.map(cell => cell.dataset.sort)"
    )
    worst = np.sort(RISK)[::-1][:50]
    np.testing.assert_allclose([float(value) for value in column(2)], worst)
    heads = table.locator("thead th")
    assert heads.nth(1).get_attribute("aria-sort") == "descending"
    heads.nth(2).locator("button").focus()
    page.keyboard.press("Enter")
    losses = [float(value) for value in column(3)]
    assert losses == sorted(losses, reverse=True)
    page.keyboard.press("Enter")
    assert [float(value) for value in column(3)] == sorted(losses)
    assert heads.nth(2).get_attribute("aria-sort") == "ascending"
    assert heads.nth(1).get_attribute("aria-sort") is None
    income = [head.inner_text() for head in heads.all()].index("income") + 1
    heads.nth(income - 1).locator("button").click()
    values = column(income)
    known = [float(value) for value in values if value is not None]
    assert known == sorted(known, reverse=True)
    assert None not in values[: len(known)]  # what is missing comes last
    decisions = table.locator(".decision").all_inner_texts()
    risks = [float(value) for value in column(2)]
    assert decisions == ["defer" if risk > START else "accept" for risk in risks]


def test_hostile_text_is_only_text(visit):
    page = visit()
    assert page.evaluate("window.hacked") is None
    assert HOSTILE in page.locator("h1").inner_text()
    assert page.title() == f"Risk of {HOSTILE}"
    assert HOSTILE in page.locator("table.sortable").inner_text()
    assert "\\u202e<b>odd</b>" in page.locator("table.sortable thead").inner_text()


class Silent(BaseHTTPRequestHandler):
    """Counts who comes by."""

    visits: ClassVar[list[str]] = []

    def do_GET(self):
        self.visits.append(self.path)
        self.send_error(404)

    def log_message(self, *_):
        pass


def test_the_policy_stops_what_would_talk(browser, pages):
    """A page of our own that is told to talk does not: nobody comes to the server next door."""
    server = HTTPServer(("127.0.0.1", 0), Silent)
    Thread(target=server.serve_forever, daemon=True).start()
    page = browser.new_page()
    page.goto((pages / "one.html").as_uri())
    found = page.evaluate(
        """async (place) => {
            const script = document.createElement("script");
            script.textContent = "window.ran = 1";
            const image = document.createElement("img");
            image.src = `${place}/image.png`;
            const sheet = document.createElement("link");
            sheet.rel = "stylesheet";
            sheet.href = `${place}/style.css`;
            document.body.append(script, image, sheet);
            navigator.sendBeacon(`${place}/beacon`);
            const answer = await fetch(`${place}/data`).catch((error) => error.name);
            return [answer, window.ran];
        }""",
        f"http://127.0.0.1:{server.server_port}",
    )
    page.close()
    server.shutdown()
    server.server_close()
    assert found == ["TypeError", None]
    assert Silent.visits == []


CONTRAST = """() => {
  const channel = (v) => (v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
  const parse = (text) => {
    const [r, g, b, a = 1] = text.match(/[\\d.]+/g).map(Number);
    return { r, g, b, a };
  };
  const light = ({ r, g, b }) => 0.2126 * channel(r) + 0.7152 * channel(g) + 0.0722 * channel(b);
  const ground = (place) => {
    for (let at = place; at; at = at.parentElement) {
      const colour = parse(getComputedStyle(at).backgroundColor);
      if (colour.a === 1) return colour;
    }
    return parse("rgb(255, 255, 255)");
  };
  const bad = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  let seen = 0;
  while (walker.nextNode()) {
    const place = walker.currentNode.parentElement;
    if (!walker.currentNode.textContent.trim()) continue;
    if (place.closest("script, noscript, title, desc")) continue;
    if (place.closest(".unseen, .skip") || !place.getClientRects().length) continue;
    const style = getComputedStyle(place);
    const ink = parse(place.namespaceURI.endsWith("svg") ? style.fill : style.color);
    const [a, b] = [light(ink), light(ground(place))];
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    seen += 1;
    if (ratio < 4.5) bad.push([walker.currentNode.textContent.trim().slice(0, 40), ratio]);
  }
  return { seen, bad };
}"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_all_text_can_be_read_in_both_themes(visit, scheme):
    page = visit(color_scheme=scheme)
    page.evaluate("document.querySelectorAll('details').forEach((d) => { d.open = true; })")
    page.locator("#price").fill("-1")  # so that the sentence about mistakes is there too
    for dark in (scheme == "dark", scheme != "dark"):
        ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert (sum(map(int, re.findall(r"\d+", ground))) < 200) == dark
        assert page.locator("#theme").inner_text() == ("Light colours" if dark else "Dark colours")
        found = page.evaluate(CONTRAST)
        assert found["seen"] > 300
        assert found["bad"] == []
        page.locator("#theme").click()


def test_print_is_light_and_leaves_out_what_paper_cannot_do(visit):
    page = visit(color_scheme="dark")
    page.locator("#theme").click()
    page.locator("#theme").click()  # dark by choice, too
    page.emulate_media(media="print")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    for hidden in ("#slider", "#theme", "#reset", "details"):
        assert page.locator(hidden).first.is_hidden()
    assert page.locator("#price").is_visible()
    assert page.evaluate(CONTRAST)["bad"] == []
    assert page.pdf(prefer_css_page_size=True).startswith(b"%PDF")


def test_no_table_is_cut_on_paper(visit):
    page = visit(viewport={"width": 690, "height": 980})  # A4 between its margins
    page.emulate_media(media="print")
    cut = page.evaluate(
        """() => [...document.querySelectorAll("table")].filter((table) => {
            const box = table.closest(".card").getBoundingClientRect();
            const own = table.getBoundingClientRect();
            return own.right > box.right + 1 || own.bottom > box.bottom + 1 || own.height > 980;
        }).map((table) => table.textContent.slice(0, 60))"""
    )
    assert cut == []
    assert page.locator(".sortable tbody tr").count() == 50
    assert page.locator(".sortable tbody tr >> visible=true").count() == 15
    assert page.locator(".sortable .own >> visible=true").count() == 0
    assert page.locator(".print-only").is_visible()


def test_the_page_fits_every_window_and_is_drawn_anew(visit):
    page = visit()
    picture = page.locator("#histogram .plot > svg")
    for width in (360, 480, 768, 1024, 1600):
        before = picture.get_attribute("viewBox")
        page.set_viewport_size({"width": width, "height": 800})
        sync_api.expect(picture).not_to_have_attribute("viewBox", before)
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        wide = page.evaluate(
            """() => [...document.querySelectorAll("main *")].filter((place) =>
                !place.closest(".scroll, .unseen, svg")
                && place.getBoundingClientRect().right > innerWidth + 1).map((e) => e.outerHTML)"""
        )
        assert wide == []
    check_numbers(page, START)


def test_everything_has_a_name_and_can_be_reached(visit):
    page = visit()
    silent = page.evaluate(
        """() => [...document.querySelectorAll("svg")].filter((svg) => !svg.ariaLabel
            && !svg.getAttribute("aria-labelledby") && !svg.closest("[aria-hidden=true]")).length"""
    )
    assert silent == 0
    for figure_id in ("histogram", "cost-curve", "coverage", "reliability"):
        place = page.locator(f"#{figure_id}")
        assert place.locator("svg[role=img] > title").text_content()
        assert len(place.locator("svg[role=img] > desc").text_content()) > 40
        assert place.locator("details table caption").count() == 1
        assert place.locator("details tbody tr").count() >= 5
    nameless = page.evaluate(
        """() => [...document.querySelectorAll("button, input, [role=region]")].filter((place) =>
            !place.textContent.trim() && !place.labels?.length && !place.ariaLabel
            && !place.getAttribute("aria-labelledby")).map((place) => place.outerHTML)"""
    )
    assert nameless == []
    repeated = page.evaluate(
        "() => { const ids = [...document.querySelectorAll('[id]')].map((e) => e.id);"
        " return ids.filter((id, k) => ids.indexOf(id) !== k); }"
    )
    assert repeated == []
    dangling = page.evaluate(
        """() => ["aria-labelledby", "aria-describedby"].flatMap((name) =>
            [...document.querySelectorAll(`[${name}]`)].flatMap((e) =>
                e.getAttribute(name).split(/ +/))).filter((id) => !document.getElementById(id))"""
    )
    assert dangling == []
    reached = []
    for _ in range(12):
        page.keyboard.press("Tab")
        reached.append(page.evaluate("document.activeElement.id || document.activeElement.tagName"))
    assert reached[0] == "A"  # skips to the report
    assert [name for name in reached if name in ("theme", "price", "slider", "reset")] == [
        "theme", "price", "slider", "reset",
    ]  # fmt: skip
    levels = page.evaluate("[...document.querySelectorAll('h1,h2,h3')].map((h) => +h.tagName[1])")
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after - before <= 1 for before, after in pairwise(levels))


def test_without_scripts_the_numbers_of_the_price_are_there(visit):
    page = visit(java_script_enabled=False)
    assert page.locator("noscript p").is_visible()
    rate = page.locator('[data-figure="rate"]').first.inner_text()
    assert rate == _numbers.percent(deferral_rate(RISK, START))
    loss = page.locator('[data-figure="loss"]').first.inner_text()
    assert loss == _numbers.number(deferral_loss(LOSS, RISK, START))
