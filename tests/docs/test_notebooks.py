"""The notebooks are those of their pages, and their cells run."""

import json
import subprocess
from contextlib import chdir
from pathlib import Path

import pytest
from page_session import blocks, environment
from test_pages_run import alone, shared  # noqa: F401
from tools.notebooks import DOCS, LINK, NOTEBOOKS, PAGES, notebook, notebooks

SLOW = [pytest.param(page, marks=pytest.mark.slow) for page in PAGES if "budget" not in page]


def sources(page, kind="code"):
    return ["".join(c["source"]) for c in notebook(page)["cells"] if c["cell_type"] == kind]


def test_the_notebooks_are_those_of_the_pages():
    written = {path: path.read_text(encoding="utf-8") for path in NOTEBOOKS.glob("*.ipynb")}
    assert written == notebooks(), "run `make notebooks`"


@pytest.mark.parametrize("page", PAGES)
def test_cells_are_the_blocks_of_the_page_that_run(page):
    """What the page's own test runs is what the cells hold, in that order."""
    wanted = []
    for block in blocks((DOCS / page).read_text(encoding="utf-8")):
        if block.title:
            wanted.append(f"%%writefile {block.title}\n{block.text.strip()}")
        elif block.not_run or block.language not in ("python", "console"):
            continue
        elif block.language == "python":
            wanted.append(block.text.strip())
        else:
            wanted.append("\n".join(["%%bash", *(typed for typed, _ in block.commands())]))
    assert sources(page) == wanted


@pytest.mark.parametrize("page", PAGES)
def test_what_a_notebook_links_to_is_there(page):
    for text in sources(page, "markdown"):
        assert "!!! " not in text
        assert "<!--" not in text
        for target in LINK.findall(text):
            assert (NOTEBOOKS / target.partition("#")[0]).resolve().exists(), target


def run_cells(path, folder):
    """Run the cells of a notebook file in a folder, as a notebook's server would."""
    session = {"__name__": "__main__"}
    with chdir(folder):
        for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
            source = "".join(cell["source"])
            if cell["cell_type"] != "code":
                continue
            magic, _, rest = source.partition("\n")
            if magic.startswith("%%writefile "):
                Path(magic.split()[1]).write_text(rest, encoding="utf-8")
            elif magic == "%%bash":
                subprocess.run(["bash", "-ec", rest], env=environment(), check=True, timeout=300)
            else:
                exec(compile(source, f"{path.name} {cell['id']}", "exec"), session)


@pytest.mark.parametrize("page", ["how-to/budget.md", *SLOW])
def test_cells_run(page, tmp_path, request):
    pytest.importorskip("matplotlib").use("Agg")
    path = NOTEBOOKS / f"{Path(page).stem}.ipynb"
    if page == "tutorial.md":  # which serves
        with alone(request.getfixturevalue("shared") / "port.lock"):
            run_cells(path, tmp_path)
    else:
        run_cells(path, tmp_path)


def test_a_cell_that_fails_is_noticed(tmp_path):
    for source, error in (("1 / 0", ZeroDivisionError), ("%%bash\nfalse\ntrue", Exception)):
        cells = [{"cell_type": "code", "id": "a", "source": [source]}]
        (tmp_path / "bad.ipynb").write_text(json.dumps({"cells": cells}))
        with pytest.raises(error):
            run_cells(tmp_path / "bad.ipynb", tmp_path)
