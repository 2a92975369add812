"""Every choice of a predictor, from a table to a service, by the commands that users type.

`make test-lowest` and `make test-newest` run this with the oldest and the newest versions of every
dependency, whatever is marked slow included.
"""

import json
from pathlib import Path

import polars as pl
import pytest
from typer.testing import CliRunner

from condrisk.app.cli import app
from condrisk.app.models import open_model
from condrisk.app.serve import create_app
from saved_models import classes, scored_by_service, table

PREDICTORS = ("boosting", "forest", "linear", "auto")
TABLES = {"numbers": table, "classes": classes}
PACKAGES = ("lightgbm:LGBMRegressor", "xgboost:XGBRegressor")
CASES = [
    *((predictor, kind) for predictor in PREDICTORS for kind in TABLES),
    *((predictor, "numbers") for predictor in PACKAGES),
]
QUICK = {("boosting", "numbers"), ("linear", "classes")}


def run(*arguments):
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert result.exit_code == 0, result.output
    return result.stdout


def test_every_choice_is_listed_here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    table(60).write_csv("train.csv")
    arguments = ("fit", "train.csv", "--target", "y", "--cost", "1", "--predictor", "none")
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 2
    assert f"must be one of {', '.join(PREDICTORS)}, or" in " ".join(result.output.split())


@pytest.mark.usefixtures("quick_fits")
@pytest.mark.parametrize(
    ("predictor", "kind"),
    [pytest.param(*case, marks=[] if case in QUICK else pytest.mark.slow) for case in CASES],
)
def test_from_a_table_to_a_service(predictor, kind, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    package, is_code, _ = predictor.partition(":")
    if is_code:
        pytest.importorskip(package)
    trust = ("--trust", package) if is_code else ()
    TABLES[kind](120).write_csv("train.csv")
    rows = TABLES[kind](40, seed=1)
    rows.write_csv("known.csv")
    rows.drop("y").write_parquet("new.parquet")

    run("fit", "train.csv", "--target", "y", "--cost", 0.3, "--predictor", predictor, *trust[:1])
    assert predictor.partition(":")[0] in run("inspect", "model.skops").lower() or not is_code
    for output in ("scored.csv", "scored.parquet", "scored.arrow"):
        run("score", "model.skops", "new.parquet", "-o", output, *trust)
    run("report", "model.skops", "known.csv", "-o", "report.html", *trust)
    run("monitor", "model.skops", "known.csv", "--rows", 20, *trust)

    scored = pl.read_csv("scored.csv")
    for other in (pl.read_parquet("scored.parquet"), pl.read_ipc("scored.arrow")):
        assert other["risk"].to_list() == pytest.approx(scored["risk"].to_list(), rel=1e-12)
        assert other["defer"].to_list() == scored["defer"].to_list()
    assert ((scored["risk"] > 0.3) == scored["defer"]).all()
    assert "<html" in Path("report.html").read_text(encoding="utf-8")
    assert json.loads(Path("condrisk-monitor/monitoring.json").read_text(encoding="utf-8"))

    served = create_app(open_model("model.skops", trusted=trust[1:]))
    said = scored_by_service(served, json.loads(rows.drop("y").write_json()))
    assert [row["risk"] for row in said] == pytest.approx(scored["risk"].to_list(), rel=1e-9)
    assert [row["prediction"] for row in said] == (
        scored["prediction"].to_list()
        if kind == "classes"
        else pytest.approx(scored["prediction"].to_list(), rel=1e-9)
    )
