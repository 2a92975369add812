"""From a table of answers to routed rows, by commands."""

import json

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

from condrisk.app.cli import app
from condrisk.datasets import make_routing

FIT = ["--losses", "small=err_small", "--losses", "large=err_large"]
COSTS = ["--costs", "small=0.2", "--costs", "large=0.6"]


def run(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("routes")
    world = make_routing(300, n_models=2, random_state=0)
    words = pl.Series([f"question number {k} of many" for k in range(300)])
    frame = pl.DataFrame(world.X).with_columns(
        question=words,
        err_small=pl.Series(world.losses["small"].astype(bool)),
        err_large=pl.Series(world.losses["large"].astype(bool)),
    )
    frame[:250].write_csv(folder / "answers.csv")
    frame[250:].write_csv(folder / "new.csv")
    made = run(
        "route-fit", folder / "answers.csv", *FIT, *COSTS, "--risk-target", 0.5,
        "-o", folder / "router.skops",
    )  # fmt: skip
    assert made.exit_code == 0, made.output
    assert "APGR" in made.output
    assert "rows left with small: mean min(loss, 1) of accepted rows <= 0.5" in made.output
    return folder


def test_new_rows_are_routed(folder):
    done = run(
        "score", folder / "router.skops", folder / "new.csv", "--price", 0.1, "-o",
        folder / "routed.csv",
    )  # fmt: skip
    assert done.exit_code == 0, done.output
    routed = pl.read_csv(folder / "routed.csv")
    assert routed.columns[-3:] == ["model", "risk", "cost"]
    assert routed.height == 50
    costs = {"small": 0.2, "large": 0.6}
    assert all(costs[m] == c for m, c in zip(routed["model"], routed["cost"], strict=True))


def test_models_take_no_more_rows_than_they_can(folder):
    """The table is assigned as a whole, and the price decides who is worth a place."""
    args = ["score", folder / "router.skops", folder / "new.csv", "--price", 0.01]
    done = run(*args, "--capacity", "small=9", "-o", folder / "few.csv")
    assert done.exit_code == 2  # the rule decides who is left with small
    assert "capacity names 'small', which is none of the models ['large']" in done.output
    plain = folder / "plain.skops"
    run("route-fit", folder / "answers.csv", *FIT, *COSTS, "-o", plain)
    args = ["score", plain, folder / "new.csv", "--price", 0.01]
    run(*args, "-o", folder / "any.csv")
    free = pl.read_csv(folder / "any.csv")["model"].to_list().count("large")
    done = run(*args, "--capacity", "large=5", "-o", folder / "few.csv")
    assert done.exit_code == 0, done.output
    assert free > pl.read_csv(folder / "few.csv")["model"].to_list().count("large") == 5
    for wrong, message in {
        ("large=many",): "must be a whole number",
        ("huge=1",): "none of the models",
        ("large=1", "--batch-rows", 10): "--capacity and --batch-rows exclude each other",
    }.items():
        done = run(*args, "--capacity", *wrong, "-o", folder / "no.csv")
        assert done.exit_code == 2
        assert message in done.output
    assert not (folder / "no.csv").exists()


def test_a_target_that_cannot_be_shown_is_told_everywhere(folder):
    done = run(
        "route-fit", folder / "answers.csv", *FIT, *COSTS, "--risk-target", 0.001,
        "-o", folder / "strict.skops",
    )  # fmt: skip
    assert done.exit_code == 0, done.output
    assert "Warning" not in done.output
    assert "no row is left with small, every row goes to large" in " ".join(done.output.split())
    args = ["score", folder / "strict.skops", folder / "new.csv", "--price", 0, "-o"]
    done = run(*args, folder / "strict.csv")
    assert "no row is left with small, since this could not be shown" in done.output
    summary = json.loads(run(*args, folder / "strict.parquet", "--json").stdout)
    assert summary["models"] == {"large": 50}
    assert summary["guarantee"].startswith("no row is left with small")


def test_bad_rows_are_rejected_with_the_reason(folder):
    frame = pl.read_csv(folder / "new.csv", infer_schema=False)
    frame = frame.with_columns(
        column_0=pl.when(pl.int_range(pl.len()) == 3).then(pl.lit("many")).otherwise("column_0")
    )
    frame.write_csv(folder / "bad.csv")
    done = run(
        "score", folder / "router.skops", folder / "bad.csv", "--target", 0.3, "-o",
        folder / "some.parquet", "--json",
    )  # fmt: skip
    assert done.exit_code == 0, done.output
    summary = json.loads(done.stdout)
    assert (summary["routed"], summary["rejected"]) == (49, 1)
    assert "many" in pl.read_csv(summary["rejects"])["reason"][0]
    routed = pl.read_parquet(folder / "some.parquet")
    assert routed.height == 49
    assert summary["mean_risk"] == pytest.approx(routed["risk"].mean())
    assert summary["mean_cost"] == pytest.approx(routed["cost"].mean())


def test_report_and_inspect_know_routers(folder):
    done = run("report", folder / "router.skops", folder / "new.csv", "-o", folder / "r.html")
    assert done.exit_code == 0, done.output
    page = (folder / "r.html").read_text()
    assert "Measured on 50 rows" in page
    shown = run("inspect", folder / "router.skops")
    assert "a router between small, large" in shown.output


def test_models_that_hardly_differ_have_no_interval(tmp_path):
    world = make_routing(300, n_models=2, random_state=0)
    small = world.losses["small"].astype(bool)
    better = small & (np.cumsum(small) % 15 == 0)  # the large one is right on every 15th of these
    frame = pl.DataFrame(world.X).with_columns(err_small=small, err_large=small & ~better)
    frame.write_csv(tmp_path / "answers.csv")
    made = run("route-fit", tmp_path / "answers.csv", *FIT, *COSTS, "-o", tmp_path / "r.skops")
    assert made.exit_code == 0, made.output
    assert "% (no interval: on too many resamples" in " ".join(made.output.split())
    assert "?" not in made.output


WRONG = {
    "--losses must be MODEL=COLUMN": ["--losses", "small", *COSTS],
    "names the model 'small' twice": [*FIT, *FIT, *COSTS],
    "the cost must be a number": [*FIT, "--costs", "small=cheap", "--costs", "large=1"],
    "must name the same models": [*FIT, "--costs", "small=1"],
    "means nothing without --risk-target": [*FIT, *COSTS, "--confidence", "0.9"],
}


@pytest.mark.parametrize("message", WRONG)
def test_wrong_options_are_told_in_a_sentence(folder, message):
    done = run("route-fit", folder / "answers.csv", *WRONG[message], "-o", folder / "no.skops")
    assert done.exit_code == 2
    assert message in done.output
    assert not (folder / "no.skops").exists()


def test_options_of_the_other_kind_of_file_are_refused(folder):
    routed = folder / "nowhere.csv"
    cost = run("score", folder / "router.skops", folder / "new.csv", "--cost", 1, "-o", routed)
    assert "--cost means nothing for a router" in cost.output
    none = run("score", folder / "router.skops", folder / "new.csv", "-o", routed)
    assert "one of price, budget and target" in none.output
    assert not routed.exists()
