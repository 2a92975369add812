"""`condrisk inspect`: the manifest, and nothing but the manifest."""

import json
from zipfile import ZipFile

import polars as pl
import pytest
from test_fit_command import table
from typer.testing import CliRunner

from condrisk.app.cli import app
from condrisk.app.models import fit_table
from condrisk.persistence import read_manifest
from saved_models import save_table_model

pytestmark = pytest.mark.usefixtures("quick_fits")


def run(*arguments):
    return CliRunner().invoke(app, ["inspect", *map(str, arguments)])


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    path = tmp_path_factory.mktemp("inspect") / "model.skops"
    day = (20_000 + 10 * pl.col("x")).cast(pl.Int32).cast(pl.Date)
    frame = table().drop("name").with_columns(day=day, mine=2 * pl.col("x"))
    save_table_model(fit_table(frame, target="y", cost=0.25, predictions="mine"), path)
    return path


def test_people_see_columns_rule_and_figures(path):
    result = run(path)
    assert result.exit_code == 0
    for part in (
        "model.skops: regression of y",
        "the column 'mine'",
        "cost:            0.25",
        "squared_error",
        "rows seen:       200",
        "scikit-learn",
        "mine (prediction)",
        "a, b",
        "2024-09-24 to 2024-10-13",
        "category",
        "Expected on new rows",
        "Measured on 40 rows",
    ):
        assert part in result.stdout


def test_machines_get_the_whole_manifest(path):
    result = run(path, "--json")
    assert json.loads(result.stdout) == read_manifest(path)


def test_a_file_that_cannot_be_loaded_can_be_inspected(path, tmp_path):
    """Nothing but the manifest is read."""
    with ZipFile(path) as file:
        manifest = json.loads(file.read("manifest.json"))
    manifest["versions"] = {"scikit-learn": "0.1"}
    other = tmp_path / "other.skops"
    for predictor, code in (("[bold]x[/] red", 0), ("\x1b[31m red", 2)):
        manifest["predictor"] = predictor
        with ZipFile(other, "w") as file:
            file.writestr("manifest.json", json.dumps(manifest))
            file.writestr("schema.json", "nothing")
        result = run(other)
        assert result.exit_code == code
        assert "\x1b[31m" not in result.output  # no file tells the terminal what to do
        if code == 0:
            assert "scikit-learn 0.1" in result.stdout
            assert predictor in result.stdout  # shown, not obeyed


def test_what_is_no_model_ends_with_a_sentence_and_two(tmp_path):
    path = tmp_path / "model.skops"
    path.write_text("nothing")
    result = run(path)
    assert result.exit_code == 2
    assert "is not a model file, or only a part of one." in " ".join(result.stderr.split())
    assert not result.stdout
