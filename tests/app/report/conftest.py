"""A browser, and pages to open in it."""

from pathlib import Path

import pytest
from shown import LOSS, RISK, START, profile, rows_page

from condrisk.app.report import render, report_from_arrays, report_from_manifest

CHROMIUM = Path("/usr/bin/chromium")


@pytest.fixture(scope="module")
def browser():
    sync_api = pytest.importorskip("playwright.sync_api", reason="needs playwright")
    if not CHROMIUM.exists():
        pytest.skip(f"needs a browser at {CHROMIUM}")
    with sync_api.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=str(CHROMIUM), args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pages")
    manifest = {"target": "y", "loss": "zero_one", "profile": profile(RISK, LOSS), "cost": START}
    texts = {
        "rows": rows_page(),
        "manifest": render(report_from_manifest(manifest)),
        "one": render(report_from_arrays([1.0], [0.5])),
        "zero": render(report_from_arrays([0.0] * 4, [0.0] * 4)),
        "negative": render(report_from_arrays([-1.0, -2.0, 3.0], [-0.5, -1.5, 2.0])),
    }
    for name, text in texts.items():
        (folder / f"{name}.html").write_text(text, encoding="utf-8", newline="\n")
    return folder


@pytest.fixture
def visit(browser, pages):
    """Open a page; at the end, nothing has gone wrong on it and nothing has been asked for."""
    opened, troubles = [], []

    def open_page(name="rows", **options):
        context = browser.new_context(**{"viewport": {"width": 1280, "height": 900}} | options)
        page = context.new_page()
        page.on("console", lambda said: troubles.append(said.text))
        page.on("pageerror", lambda error: troubles.append(str(error)))
        page.on(
            "request",
            lambda request: (
                request.url.startswith(("file:", "data:")) or troubles.append(request.url)
            ),
        )
        opened.append(context)
        page.goto((pages / f"{name}.html").as_uri())
        return page

    yield open_page
    for context in opened:
        context.close()
    assert not troubles
