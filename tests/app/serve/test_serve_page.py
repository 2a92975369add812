"""The page at `/`: the report, and a form to try a row."""

import json
import os
import re
from html.parser import HTMLParser
from pathlib import Path

import polars as pl
import pytest

from condrisk.app.models import TableModel
from condrisk.app.serve import create_app
from condrisk.app.tables import check_rows
from condrisk.persistence import Column, Schema

CHROMIUM = Path("/usr/bin/chromium")
HOSTILE = '"><script>alert(1)</script>&amp;\u2028$fields{x}'


class Controls(HTMLParser):
    """The controls of the form, by the column that they stand for."""

    def __init__(self, html):
        super().__init__()
        self.found, self.labels, self.scripts = {}, set(), 0
        self.feed(html)

    def handle_starttag(self, tag, attributes):
        values = dict(attributes)
        if "data-name" in values:
            self.found[values["data-name"]] = (tag, values)
        elif tag == "label":
            self.labels.add(values["for"])
        self.scripts += tag == "script"


def front_of(model, serve, **options):
    with serve(create_app(model, **options)) as (client, _):
        return client.get("/").text


def test_every_column_has_a_labelled_control_with_the_example(client, models):
    controls = Controls(client.get("/").text)
    example = models["linear"].schema.example
    assert set(controls.found) == set(example)
    for name, (_, values) in controls.found.items():
        assert values["id"] in controls.labels
        if values.get("value") and values["data-kind"] == "number":
            assert float(values["value"]) == pytest.approx(example[name], rel=1e-4)
    assert controls.found["seen"][1]["type"] == "date"
    assert controls.found["city"][0] == controls.found["smokes"][0] == "select"


def test_what_users_write_stays_text(models, serve):
    many = tuple(f"{k}{HOSTILE}" for k in range(61))
    columns = (
        Column(HOSTILE, "category", categories=(HOSTILE, ""), typical=HOSTILE),
        Column("many", "category", categories=many, typical=many[7]),
        Column("must", "category", categories=("a", HOSTILE), required=True),
        Column("text", "text", categories=(HOSTILE,), typical=HOSTILE),
        Column("moment", "datetime", low=0.0, high=1.5, typical="1970-01-01T12:00:00"),
    )
    linear = models["linear"]
    manifest = linear.manifest | {"schema": Schema(columns).to_dict(), "target": HOSTILE}
    for profile in (linear.manifest["profile"], None):
        model = TableModel(linear.model, manifest | {"profile": profile})
        html = front_of(model, serve, report_html="<!doctype html>")
        controls = Controls(html)
        assert set(controls.found) == {column.name for column in columns}
        assert controls.found["many"][1]["value"] == many[7]
        assert controls.found["text"][1]["value"] == HOSTILE
        assert controls.found["text"][1]["type"] == "text"
        assert controls.found["moment"][1]["type"] == "datetime-local"
        assert controls.found["moment"][1]["value"] == "1970-01-01T12:00:00"
        assert "1970-01-01T00:00:00 to 1970-01-02T12:00:00, UTC" in html
        assert "required" in controls.found["must"][1]
        assert controls.scripts == (1 if profile is None else 2)
        assert "<script>alert" not in html


def test_a_model_without_measured_rows_has_a_form_and_no_report(models, serve):
    model = models["boosting"]
    assert model.manifest["profile"] is model.manifest["evaluation"] is None
    html = front_of(model, serve)
    assert "holds no measured rows" in html
    assert "How the risk is spread" not in html
    assert re.search('id="price"[^>]*value="1.0"', html)
    assert set(Controls(html).found) == set(model.schema.names)
    assert 'id="price"' not in front_of(models["budget"], serve)
    measured = front_of(models["linear"], serve)
    assert "How the risk is spread" in measured
    assert measured.count('id="price"') == 1


def test_pages_may_do_no_more_than_they_must(models, serve):
    report = "<!doctype html><script>alert(1)</script>"
    with serve(create_app(models["budget"], report_html=report)) as (client, _):
        front = client.get("/")
        policy = re.search(r'Content-Security-Policy" content="([^"]*)"', front.text)[1]
        assert "default-src 'none'" in policy
        assert "connect-src 'self'" in policy
        assert "unsafe" not in policy
        assert "frame-ancestors 'none'" in front.headers["content-security-policy"]
        assert 'href="report"' in front.text
        given = client.get("/report")
        assert given.text == report
        assert "sandbox allow-scripts" in given.headers["content-security-policy"]
        assert "connect-src" not in given.headers["content-security-policy"]
        for answer in (front, given):
            assert answer.headers["x-content-type-options"] == "nosniff"
        assert 'data-uses-cost="false"' in front.text
    with serve(create_app(models["budget"])) as (client, _):
        assert client.get("/report").status_code == 404


# -- in a browser -----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def browser():
    if not CHROMIUM.exists():
        pytest.skip(f"needs {CHROMIUM}")
    from playwright.sync_api import sync_playwright

    os.environ.setdefault("NO_PROXY", "127.0.0.1")
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield opened
        opened.close()


@pytest.fixture
def visit(browser):
    """Open a page; nothing it does may go wrong or go elsewhere."""
    context = browser.new_context()
    wrong = []

    def open_page(url):
        tab = context.new_page()
        tab.on("console", lambda said: wrong.append(said.text) if said.type == "error" else None)
        tab.on("pageerror", lambda error: wrong.append(str(error)))
        tab.on("request", lambda r: None if r.url.startswith(url) else wrong.append(r.url))
        tab.goto(url)
        return tab

    yield open_page
    context.close()
    # A browser counts a refusal that was asked for among the errors.
    assert [text for text in wrong if not text.startswith("data:") and "422" not in text] == []


def shown(tab):
    """What the page says: verdict, prediction and risk."""
    tab.wait_for_selector("#try-answer:not(.stale)", state="attached")
    values = tab.eval_on_selector_all(".try-numbers dd", "all => all.map((d) => d.dataset.value)")
    return tab.inner_text(".try-verdict"), *values


def wait_for_answer(tab):
    tab.wait_for_timeout(400)  # longer than the form waits for a further change
    return shown(tab)


def decided(model, row, cost):
    frame = check_rows(model.schema, pl.DataFrame([row])).good
    decision = model.decide(frame, cost=cost)
    return (
        "Defer" if decision.deferred[0] else "Accept",
        decision.prediction[0],
        float(decision.risk[0]),
    )


def test_the_form_says_what_the_model_decides(visit, client, models):
    model = models["linear"]
    tab = visit(str(client.base_url))
    row = json.loads(json.dumps(model.schema.example))
    for changes, cost in (
        ({}, 1.0),
        ({"x": 2.5, "city": "Rome", "smokes": True}, 1.0),
        ({"gaps": None, "seen": "2024-03-03"}, 0.05),
        ({"city": None, "seen": None, "x": -1.5}, 50.0),
    ):
        row |= changes
        for k, name in enumerate(model.schema.names):
            if name not in changes:
                continue
            value = changes[name]
            if name in ("city", "smokes"):
                label = {None: "missing", True: "yes", False: "no"}.get(value, value)
                tab.select_option(f"#try-{k}", label=label)
            else:
                tab.fill(f"#try-{k}", "" if value is None else str(value))
        tab.fill("#price", str(cost))
        tab.click(".try-go")
        said, prediction, risk, price = wait_for_answer(tab)
        typed = row | {"gaps": row["gaps"] and float(f"{row['gaps']:.6g}")}
        typed["x"] = float(f"{row['x']:.6g}")
        verdict, wanted, wanted_risk = decided(model, typed, cost)
        assert said == verdict
        assert float(prediction) == pytest.approx(wanted, rel=1e-9)
        assert float(risk) == pytest.approx(wanted_risk, rel=1e-9)
        assert float(price) == cost
        assert tab.get_attribute(".try-bar", "aria-label").startswith("Risk ")


def test_the_price_of_the_page_moves_the_verdict(visit, client):
    tab = visit(str(client.base_url))
    wait_for_answer(tab)
    verdicts = []
    for price in ("0", "1000000"):
        tab.fill("#price", price)
        verdicts.append(wait_for_answer(tab)[0])
    assert verdicts == ["Defer", "Accept"]
    tab.click("#try button[type=reset]")
    assert wait_for_answer(tab)[0] == "Accept"


def test_the_form_works_without_a_report(visit, models, serve):
    with serve(create_app(models["boosting"])) as (client, _):
        tab = visit(str(client.base_url))
        verdicts = []
        for cost in ("0", "1000000"):
            tab.fill("#price", cost)
            verdicts.append(wait_for_answer(tab)[0])
        assert verdicts == ["Defer", "Accept"]


def test_the_form_warns_of_values_never_seen(visit, client, models):
    tab = visit(str(client.base_url))
    wait_for_answer(tab)
    assert tab.locator(".try-outside").count() == 0
    at = models["linear"].schema.names.index("x")
    tab.fill(f"#try-{at}", "5000")
    tab.click(".try-go")
    wait_for_answer(tab)
    assert "x" in tab.inner_text(".try-outside")
    assert "outside" in tab.get_attribute(f".try-field:has(#try-{at})", "class")
    assert tab.inner_text(".try-raised").startswith("Raises the risk most")
    tab.click("#try button[type=reset]")
    wait_for_answer(tab)
    assert tab.locator(".try-outside, .try-field.outside").count() == 0


def test_the_form_works_by_keyboard_and_complains_in_words(visit, models, serve):
    with serve(create_app(models["labels elsewhere"])) as (client, _):
        tab = visit(str(client.base_url))
        assert wait_for_answer(tab)[1] in ("ill", "well")
        tab.focus("#try-0")
        tab.keyboard.press("Control+A")
        tab.keyboard.type("1e31")
        tab.keyboard.press("Enter")
        tab.wait_for_selector(".try-answer .error")
        assert "x" in tab.inner_text(".try-answer li")
        assert tab.get_attribute("#try-answer", "aria-live") == "polite"
