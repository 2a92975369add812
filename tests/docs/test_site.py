"""The documentation site: built without network, complete, and true to what it describes."""

import importlib
import pkgutil
import re
import subprocess
import sys
import zlib
from html.parser import HTMLParser
from pathlib import Path

import pytest
from tools.cli_pages import commands
from tools.site_pages import pages

import condrisk

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
CHROMIUM = Path("/usr/bin/chromium")
PRIVATE = ("condrisk.app.cli",)  # commands, which have a page of their own
ROOMS = [
    room.name
    for room in pkgutil.walk_packages(condrisk.__path__, "condrisk.")
    if room.ispkg and "._" not in room.name and room.name not in PRIVATE
] + ["condrisk.paper.theory.as_printed"]


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """Build the site as CI does, where every connection fails."""
    pytest.importorskip("mkdocs", reason="the site is built with the extra docs")
    folder = tmp_path_factory.mktemp("site")
    code = (
        "import socket, sys\n"
        "def refuse(*_, **__): raise OSError('no network here')\n"
        "socket.socket.connect = socket.getaddrinfo = refuse\n"
        "from mkdocs.__main__ import cli\n"
        "cli(['build', '--strict', '--site-dir', sys.argv[1]])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(folder)], cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return folder


class Loads(HTMLParser):
    """What a browser fetches by itself when it shows a page."""

    def __init__(self):
        super().__init__()
        self.urls = []

    def handle_starttag(self, tag, attrs):
        names = dict(attrs)
        if tag in ("script", "img", "iframe", "source", "video"):
            self.urls.append(names.get("src"))
        if tag == "link" and names.get("rel") != "canonical":
            self.urls.append(names.get("href"))


def test_pages_load_nothing_from_elsewhere(site):
    found = []
    for page in site.rglob("*.html"):
        parser = Loads()
        parser.feed(page.read_text("utf-8"))
        found += [u for u in parser.urls if u and re.match(r"(\w+:)?//", u)]
        if page.name != "404.html":  # which does not know where it will be shown
            for url in parser.urls:
                if url and not url.startswith("data:"):
                    assert (page.parent / url.split("#")[0].split("?")[0]).exists(), (page, url)
    assert found == []
    css = "".join(path.read_text("utf-8") for path in site.rglob("*.css"))
    assert not re.findall(r"url\(\s*['\"]?(?:https?:)?//[^)]*\)|@import\s+['\"]https?:", css)


def inventory(site):
    raw = (site / "objects.inv").read_bytes()
    head, _, body = raw.partition(b"zlib.\n")
    assert head.startswith(b"# Sphinx inventory version 2")
    return {line.split(" ")[0] for line in zlib.decompress(body).decode().splitlines()}


@pytest.mark.parametrize("room", ROOMS)
def test_every_public_name_is_in_the_reference(site, room):
    names = getattr(importlib.import_module(room), "__all__", ())
    missing = {name for name in names if f"{room}.{name}" not in inventory(site)}
    # Constants have no docstring to write a section from: the pages name them.
    text = "".join(page.read_text("utf-8") for page in (DOCS / "api").glob("*.md"))
    assert {name for name in missing if f"`{name}`" not in text} == set()


def test_names_of_the_package_itself_are_listed():
    page = (DOCS / "api" / "index.md").read_text("utf-8")
    assert all(f"[`{name}`][" in page for name in condrisk.__all__)
    library = [room for room in ROOMS if room.count(".") == 1 and not room.endswith(".app")]
    assert all(f"[{room}](" in page for room in library)


def test_pages_written_from_code_are_what_the_code_gives():
    for path, text in pages().items():
        assert path.read_text("utf-8") == text, "run python -m tools.site_pages"


def test_every_command_has_a_recipe():
    from condrisk.app.cli import app

    listed = (DOCS / "how-to" / "index.md").read_text("utf-8")
    names = {name.split()[1] for name, _ in commands(app, "condrisk")} - {"quickstart"}
    assert all(f"[`condrisk {name}`](" in listed for name in names)


QUOTED = {  # on the page about the paper, and on the page that it was computed for
    "30 of 32 cases, 0.59 on average": "rwr/claims.md",
    "25 of 32": "rwr/claims.md",
    "135 of 512": "rwr/claims.md",
    "6 of 8": "rwr/claims.md",
    "12 of 14 cases": "cifar10/claims.md",
    "-4.8 to +2.4 %": "cifar10/claims.md",
}


@pytest.mark.parametrize("figure", QUOTED)
def test_figures_quoted_from_other_pages_are_there(figure):
    def flat(name):
        return " ".join((DOCS / name).read_text("utf-8").split())

    assert figure in flat("paper.md")
    assert figure in flat(QUOTED[figure])


def test_every_neighbour_of_the_table_is_told_when_to_take_it():
    text = (DOCS / "neighbours.md").read_text("utf-8")
    head = next(line for line in text.splitlines() if line.startswith("| capability |"))
    columns = {name.strip().replace("<wbr>", "") for name in head.strip("|").split("|")}
    columns = columns - {"capability", "condrisk"}
    assert {"MAPIE", "NannyML", "probly", "MCGrad", "BARGAIN", "vLLM router"} <= columns
    titles = {"vLLM router": "vLLM's semantic router", "paper's code": "The paper's code"}
    parts = dict(part.split("\n", 1) for part in text.split("\n## ")[1:])
    assert all("ake it" in parts[titles.get(name, name)] for name in columns)
    rows = [line for line in text.splitlines() if line.startswith("| ")]
    assert len({row.count("|") for row in rows}) == 1


def test_searches_on_pages_rank_by_what_deferring_costs():
    pages_ = [*DOCS.rglob("*.md"), ROOT / "README.md"]
    calls = [c for p in pages_ for c in re.findall(r"SearchCV\(\n(.*?)\n\)", p.read_text(), re.S)]
    assert len(calls) >= 2
    assert all("Deferral(" in call or "deferral_loss" in call for call in calls)


@pytest.mark.skipif(not CHROMIUM.exists(), reason="needs Chromium in /usr/bin")
def test_search_works_from_a_folder_and_nothing_leaves(site):
    sync_api = pytest.importorskip("playwright.sync_api")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page = browser.new_page()
        page.set_default_timeout(90_000)  # busy machines are slow, not wrong
        asked, errors = [], []
        page.on("request", lambda request: asked.append(request.url))
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.goto((site / "index.html").as_uri())
        page.click("input[name=query]")
        page.keyboard.type("RiskControlRule")
        page.wait_for_selector(".md-search-result__item a", state="attached")
        hits = page.locator(".md-search-result__item").all_inner_texts()
        browser.close()
    assert any("RiskControlRule" in hit for hit in hits)
    assert [url for url in asked if not url.startswith(("file:", "data:", "blob:"))] == []
    assert errors == []
