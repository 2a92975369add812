"""Every block of code on every page of the documentation runs."""

import fcntl
import importlib
import shutil
from contextlib import contextmanager
from pathlib import Path
from socket import create_server

import pytest
from page_session import RUN, SHOWN, Shell, blocks, run_console, run_page, shows

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
TEXTS = {p.relative_to(DOCS).as_posix(): p.read_text("utf-8") for p in sorted(DOCS.rglob("*.md"))}
WITH_CODE = [name for name, text in TEXTS.items() if any(b.language in RUN for b in blocks(text))]
GOES_ON = "<!-- goes on from tutorial.md -->"

_ROWS = """
import numpy as np
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from condrisk import RegressionRisk
from condrisk.datasets import make_gaussian_mixture
world = make_gaussian_mixture(2 * n, n_classes=2, separation=4.0, random_state=0)
X, y = world.X[:n], world.y[:n]
X_new, y_new = world.X[n:], world.y[n:]
batch = X_new
classifier = LogisticRegression()
rng = np.random.default_rng(0)
asked = rng.random(n) < 0.9
said = np.where(rng.random(n) < 0.05, 1 - y, y)
small = large = RegressionRisk(classifier, cv=2, random_state=0)
"""
# Pages written from records show fragments; these are the rows that they speak of.
BEFORE = {
    "experts/README.md": "n = 400\n" + _ROWS,
    "risk_control/README.md": "n = 2000\n" + _ROWS,  # fewer cannot show what is promised
}


PORT = 8000  # the one that pages name


@contextmanager
def alone(path: Path):
    """One process at a time: pages that serve use the port that they name."""
    if shutil.which("curl") is None:
        pytest.skip("the pages ask the service with curl, which is not installed")
    with path.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        try:
            create_server(("127.0.0.1", PORT)).close()
        except OSError:
            pytest.skip(f"port {PORT}, which the pages name, is taken")
        yield


@pytest.fixture(scope="session")
def shared(tmp_path_factory):
    """Return a folder that all workers of one run of the tests have in common."""
    base = tmp_path_factory.getbasetemp()
    return base.parent if base.name.startswith("popen-") else base


@pytest.fixture
def tutorial_files(shared):
    """Return the folder of somebody who has followed the tutorial, made once."""
    folder = shared / "tutorial"
    with alone(shared / "port.lock"):
        if not (folder / "done").exists():
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
            run_page(DOCS / "tutorial.md", folder)
            (folder / "done").touch()
    return folder


# What MLflow asks of pandas is theirs to settle.
@pytest.mark.filterwarnings("ignore::DeprecationWarning:mlflow")
@pytest.mark.parametrize("name", [name for name in WITH_CODE if name != "tutorial.md"])
def test_page_runs(name, tmp_path, request):
    pytest.importorskip("matplotlib").use("Agg")
    folder = tmp_path
    if GOES_ON in TEXTS[name]:
        folder = tmp_path / "page"
        shutil.copytree(request.getfixturevalue("tutorial_files"), folder)
    if "condrisk serve" in TEXTS[name]:
        with alone(request.getfixturevalue("shared") / "port.lock"):
            run_page(DOCS / name, folder, before=BEFORE.get(name, ""))
    else:
        run_page(DOCS / name, folder, before=BEFORE.get(name, ""))


@pytest.mark.parametrize("name", TEXTS)
def test_blocks_are_run_or_say_why_not(name):
    for block in blocks(TEXTS[name]):
        assert block.language in RUN + SHOWN, f"{name}:{block.line}: which language?"
        assert block.not_run is None or len(block.not_run.split()) >= 3, f"{name}:{block.line}"
        if block.language == "console":
            assert block.commands()


def test_the_tutorial_leaves_what_it_promises(tutorial_files):
    assert {"model.skops", "report.html"} <= {path.name for path in tutorial_files.iterdir()}


# -- the runner itself: a check that cannot fail is none ------------------------------------------


def page(tmp_path, text):
    path = tmp_path / "page.md"
    path.write_text(text)
    return path


def test_blocks_share_a_session_and_a_folder(tmp_path):
    text = (
        "```python\nfrom pathlib import Path; Path('a.txt').write_text('one\\n')\n```\n"
        "```console\n$ cat \\\n  a.txt\none\n$ here=$(pwd)\n$ echo $here | grep -c /\n1\n```\n"
        "```python\nimport os; assert os.path.getsize('a.txt') == 4\n```\n"
    )
    run_page(page(tmp_path, text), tmp_path)


def test_a_block_with_a_title_is_that_file(tmp_path):
    text = '```python title="a.py"\nprint(6)\n```\n```console\n$ python a.py\n6\n```\n'
    run_page(page(tmp_path, text), tmp_path)


def test_python_finds_modules_that_a_page_writes_and_the_next_page_does_not(tmp_path):
    text = '```python title="of_a_page.py"\nx = 6\n```\n```python\nimport of_a_page\n```\n'
    run_page(page(tmp_path, text), tmp_path)
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("of_a_page")


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("```python\nx\n```\n", NameError),
        ("```console\n$ false\n```\n", AssertionError),
        ("```console\n$ echo one\ntwo\n```\n", AssertionError),
        ("```console\n$ echo one\none\n$ exit 3\n```\n", AssertionError),
        ("- a list:\n\n    ```python\n    x\n    ```\n", NameError),
    ],
)
def test_what_fails_on_a_page_fails(text, error, tmp_path):
    with pytest.raises(error):
        run_page(page(tmp_path, text), tmp_path)


def test_output_may_leave_things_out_and_blocks_may_stay_out(tmp_path):
    text = (
        "```console\n$ printf 'a 1.234 b\\nc\\n'\na ... b\nc\n```\n"
        "<!-- not run: needs the moon -->\n\n```python\nx\n```\n"
    )
    run_page(page(tmp_path, text), tmp_path)


@pytest.mark.parametrize(
    ("wanted", "printed", "same"),
    [
        ("a 1.00 b", "a   1.05 b\n", True),
        ("a 1.00 b", "a 1.2 b", False),
        ("a 1.00 b", "a b", False),
        ("a b", "a 1 b", False),
        ("...\nlast 3", "first\n2 3\nlast 3\n", True),
        ("10,000 rows", "9,900 rows", True),
        ("10,000 rows", "99 rows", False),
        ("┏━━┓\n┃ 9 ┃\n┗━━┛", "┏━━━━┓\n┃  9.12 ┃\n┗━━━━┛\n", True),
        ("2 of 3 (x)", "2 of 3 (y)", False),
    ],
)
def test_output_is_compared_up_to_small_differences_of_numbers(wanted, printed, same):
    assert shows(wanted, printed) is same


def test_what_a_page_leaves_running_is_stopped(tmp_path):
    with Shell(tmp_path) as shell:
        status, _ = shell.run("sleep 600 & echo $! > pid")
        assert status == 0
        pid = int((tmp_path / "pid").read_text())
    assert (
        not Path(f"/proc/{pid}/cmdline").exists() or not Path(f"/proc/{pid}/cmdline").read_bytes()
    )


def test_jobs_are_there_for_later_commands(tmp_path):
    [block] = blocks("```console\n$ sleep 600 &\n$ kill %1\n```\n")
    with Shell(tmp_path) as shell:
        run_console(block, shell, "here")
