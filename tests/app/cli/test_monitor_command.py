"""`condrisk monitor`, as somebody runs it every week."""

import base64
import json
import re
from datetime import date, timedelta

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

from condrisk.app.cli import app
from condrisk.app.models import fit_table, open_model
from condrisk.app.monitor import monitor
from condrisk.app.tables import read_table
from saved_models import save_table_model

pytestmark = pytest.mark.usefixtures("quick_fits")


def run(*arguments):
    return CliRunner().invoke(app, ["monitor", *map(str, arguments)], env={"COLUMNS": "200"})


def make(n, seed, noise=1.0):
    rng = np.random.default_rng(seed)
    x = rng.uniform(-1, 1, n)
    y = 2 * x + noise * np.exp(x) * rng.normal(size=n)
    days = [date(2026, 1, 1) + timedelta(days=k // 25) for k in range(n)]
    return pl.DataFrame({"day": days, "x": x, "y": y})


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("monitor")
    train = make(800, 0)
    train.write_csv(folder / "train.csv")
    model = fit_table(train.drop("day"), target="y", predictor="linear", cost=1.0)
    save_table_model(model, folder / "model.skops")
    make(1000, 1).write_csv(folder / "quiet.csv")
    make(1000, 1).drop("y").write_parquet(folder / "unlabelled.parquet")
    loud = pl.concat([make(500, 2), make(500, 3, noise=2.0)])
    loud.with_columns(day=make(1000, 0)["day"]).write_csv(folder / "loud.csv")
    (folder / "empty.csv").write_text("x,y\n")
    (folder / "other.csv").write_text("a,b\n1,2\n")
    return folder


def test_table_json_and_picture_agree_with_python(place, tmp_path):
    result = run(
        *(place / "model.skops", place / "loud.csv", "--every", "1w", "--time", "day"),
        *("-o", tmp_path / "out"),
    )
    assert result.exit_code == 0, result.output
    model = open_model(place / "model.skops")
    found = monitor(model, read_table(place / "loud.csv"), every="1w", time="day")
    kept = json.loads((tmp_path / "out" / "monitoring.json").read_text())
    assert [c["name"] for c in kept["chunks"]] == [c.name for c in found.chunks]
    for now, then in zip(kept["chunks"], found.chunks, strict=True):
        assert now["realised"] == pytest.approx(then.realised)
        assert now["expected"]["mean"] == pytest.approx(then.expected.mean)
    said = re.sub(r"\s+", " ", result.output)
    for chunk in found.chunks:
        assert f"{chunk.name} │ {chunk.rows} │ {chunk.expected.mean:.3g} │" in said
    assert found.alarm is not None
    assert f"Alarm since {found.alarm}: losses are larger for their risks than" in said
    assert (tmp_path / "out" / "monitoring.png").read_bytes()[:4] == b"\x89PNG"


def test_the_page_can_be_saved_as_pictures_and_as_data(place, tmp_path):
    run(place / "model.skops", place / "loud.csv", "-o", tmp_path)
    page = (tmp_path / "monitoring.html").read_text()
    links = re.findall(r'download="monitoring\.(\w+)" href="data:[\w/+]+;base64,([^"]+)"', page)
    saved = {ending: base64.b64decode(data) for ending, data in links}
    assert list(saved) == ["svg", "png", "csv"]
    assert b"<svg" in saved["svg"]
    assert saved["png"].startswith(b"\x89PNG")
    table = pl.read_csv(saved["csv"])
    kept = json.loads((tmp_path / "monitoring.json").read_text())["chunks"]
    assert table["realised"].to_list() == pytest.approx([chunk["realised"] for chunk in kept])
    assert table["high"].to_list() == pytest.approx([chunk["expected"]["high"] for chunk in kept])


def test_json_for_machines_is_all_there_is_on_stdout(place, tmp_path):
    result = run(place / "model.skops", place / "quiet.csv", "-o", tmp_path, "--json")
    assert result.exit_code == 0, result.output
    said = json.loads(result.stdout)
    assert said["alarm"] is None
    assert [chunk["rows"] for chunk in said["chunks"]] == [1000]
    endings = ("json", "html", "png")
    assert said["written"] == [str(tmp_path / f"monitoring.{end}") for end in endings]


def test_an_alarm_can_be_an_exit_code(place, tmp_path):
    options = ("--rows", 250, "-o", tmp_path, "--overwrite", "--fail-on-alarm")
    assert run(place / "model.skops", place / "quiet.csv", *options).exit_code == 0
    assert run(place / "model.skops", place / "loud.csv", *options).exit_code == 3


def test_without_labels_it_says_what_to_expect(place, tmp_path):
    result = run(place / "model.skops", place / "unlabelled.parquet", "-o", tmp_path)
    assert result.exit_code == 0, result.output
    assert "No labels, no alarm" in result.output


def test_a_reference_is_a_table_too(place, tmp_path):
    options = ("--reference", place / "train.csv", "-o", tmp_path, "--json")
    result = run(place / "model.skops", place / "quiet.csv", *options)
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["chunks"][0]["outside"] < 0.05


@pytest.mark.parametrize(
    ("model", "table", "options", "message"),
    [
        ("none.skops", "quiet.csv", [], "none.skops"),
        ("model.skops", "none.csv", [], "none.csv does not exist"),
        ("model.skops", "empty.csv", [], "no row that the model can use"),
        ("model.skops", "other.csv", [], "no column 'x', which the model needs"),
        ("model.skops", "quiet.csv", ["--every", "1w"], "--every needs --time"),
        ("model.skops", "quiet.csv", ["--every", "soon", "--time", "day"], "every must be a time"),
        ("model.skops", "quiet.csv", ["--confidence", "1"], "strictly between 0 and 1"),
    ],
)
def test_a_mistake_is_one_sentence_and_exit_code_two(
    place, tmp_path, model, table, options, message
):
    result = run(place / model, place / table, *options, "-o", tmp_path / "out")
    assert result.exit_code == 2, result.output
    assert message in re.sub(r"\s+", " ", result.output)
    assert "Traceback" not in result.output
    assert not (tmp_path / "out").exists()
