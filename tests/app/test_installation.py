"""Light installations: what works without an extra, and the sentence that names the extra."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from condrisk.app.cli._lazy import COMMANDS

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
APP = ("typer", "rich", "polars", "pyarrow", "skops", "matplotlib", "filelock")
SERVER = ("starlette", "uvicorn", "httptools", "orjson", "prometheus_client")
BLOCK = """
import sys

class Blocker:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {blocked}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Blocker())
"""
COMMAND = "from condrisk.__main__ import main; main()"


def run_without(blocked, code, *arguments):
    """Run code in a fresh interpreter in which some packages are not installed."""
    return subprocess.run(
        [sys.executable, "-c", BLOCK.format(blocked=set(blocked)) + code, *arguments],
        capture_output=True,
        text=True,
        check=False,
    )


def names_of(requirements):
    """Return what requirements are to be imported as, those of our own extras among them."""
    found = set()
    for requirement in requirements:
        name, extras = re.match(r"([\w-]+)(?:\[([\w,]+)\])?", requirement).groups()
        if name == "condrisk":
            own = PROJECT["optional-dependencies"]
            found |= {each for extra in extras.split(",") for each in names_of(own[extra])}
        else:
            found.add(name.replace("-", "_"))
    return found


# -- the library ----------------------------------------------------------------------------------

LIBRARY = """
import numpy as np
from sklearn.linear_model import Ridge
import condrisk.active, condrisk.datasets, condrisk.inference, condrisk.learners, condrisk.losses
import condrisk.metrics, condrisk.shift
from condrisk.deferral import Deferral
from condrisk.risk import RegressionRisk

X = np.arange(60.0).reshape(-1, 1)
model = Deferral(RegressionRisk(Ridge(), regressor=Ridge(), random_state=0), cost=1.0)
decision = model.fit(X, X.ravel() % 7).decide(X)
assert decision.deferred.shape == (60,)
try:
    decision.to_frame()
except ImportError as error:
    print(error)
"""


def test_the_library_needs_numpy_scipy_and_scikit_learn_alone():
    blocked = {*APP, *SERVER, "torch", "PIL", "pandas", "dask", "distributed", "pooch"}
    done = run_without(blocked, LIBRARY)
    assert done.returncode == 0, done.stderr
    assert done.stdout == (
        "to_frame, of rows that are not in pandas, needs polars, which is not installed: "
        'pip install "condrisk[app]".\n'
    )
    core = {"numpy", "scipy", "scikit_learn", "joblib", "threadpoolctl"}
    assert names_of(PROJECT["dependencies"]) == core


# -- the command line -----------------------------------------------------------------------------


@pytest.mark.parametrize("arguments", [[], ["--help"], *([name, "x"] for name in COMMANDS)])
def test_without_the_app_every_command_names_the_extra(arguments):
    done = run_without({*APP, *SERVER}, COMMAND, *arguments)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr == (
        "Error: The command line needs typer, which is not installed: "
        'pip install "condrisk[app]".\n'
    )


@pytest.mark.parametrize("package", [*APP, *SERVER])
def test_a_part_of_the_app_is_as_good_as_none(package):
    done = run_without({package}, COMMAND, "inspect", "model.skops")
    assert done.returncode == 2
    assert f"needs {package}, which is not installed" in done.stderr
    assert 'pip install "condrisk[app]"' in done.stderr
    # uvicorn brings h11 by itself; the bound keeps versions away that read some heads wrongly.
    assert names_of(["condrisk[app]"]) == {*APP, *SERVER, "h11"}


def test_the_version_needs_nothing():
    done = run_without({*APP, *SERVER, "numpy", "sklearn"}, COMMAND, "--version")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("condrisk ")


# -- what comes on top ----------------------------------------------------------------------------

ON_TOP = """
import polars as pl
from condrisk.app.export import save_mlflow, to_onnx
from condrisk.app.models import fit_table
from condrisk.app.scoring import score_file

frame = pl.DataFrame({"x": range(100), "y": [float(x % 7) for x in range(100)]})
model = fit_table(frame, target="y", task="regression", cost=2.0, predictor="linear")
frame.write_csv(sys.argv[1] + "/rows.csv")
calls = [
    lambda: score_file(model, sys.argv[1] + "/rows.csv", sys.argv[1] + "/s.csv", engine="dask"),
    lambda: to_onnx(model),
    lambda: save_mlflow(model, sys.argv[1] + "/flow"),
]
for call in calls:
    try:
        call()
    except ImportError as error:
        print(error)
"""


def test_each_further_extra_is_named_in_one_sentence(tmp_path):
    blocked = {"distributed", "onnx", "onnxruntime", "skl2onnx", "mlflow"}
    done = run_without(blocked, ON_TOP, str(tmp_path))
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        'A cluster needs distributed, which is not installed: pip install "condrisk[dask]".',
        'ONNX needs onnx, which is not installed: pip install "condrisk[onnx]".',
        'MLflow needs mlflow, which is not installed: pip install "condrisk[mlflow]".',
    ]


def test_every_extra_that_a_sentence_names_is_there():
    text = "".join(p.read_text(encoding="utf-8") for p in (ROOT / "src").rglob("*.py"))
    named = set(re.findall(r"condrisk\[(\w+)\]", text)) | set(re.findall(r'extra="(\w+)"', text))
    assert named >= {"app", "dask", "mlflow", "onnx", "plots", "torch"}
    assert named <= set(PROJECT["optional-dependencies"])
