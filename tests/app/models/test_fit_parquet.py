"""Fitting on a cluster: the same kind of file, the same risk, also when a worker dies."""

import os
import signal
import time

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

from condrisk import Deferral, RegressionRisk, RiskControlRule
from condrisk.app.cli import app
from condrisk.app.models import fit_parquet, open_model
from condrisk.app.scoring import score_file
from condrisk.app.tables import TableError, check_rows
from condrisk.persistence import load_model, read_manifest, save_model

distributed = pytest.importorskip("distributed", reason="needs condrisk[dask]")
lightgbm = pytest.importorskip("lightgbm", reason="needs condrisk[dask]")

EFFECTS = {"Basel": 0.0, "Bern": 3.0, "Chur": -2.0, "Genf": 1.0}
N_ROWS = 6_000


def make_rows(n, seed=0):
    rng = np.random.default_rng(seed)
    x, z = rng.normal(size=(2, n))
    city = rng.choice(list(EFFECTS), n)
    gap = rng.random(n) < 0.1
    mean = x + np.vectorize(EFFECTS.get)(city) + 2.0 * gap
    return pl.DataFrame(
        {
            "row_id": np.arange(seed * n, seed * n + n),
            "x": x,
            "z": pl.Series(np.where(gap, np.nan, z)).fill_nan(None),
            "city": city,
            "day": pl.Series(18_000 + np.arange(n) % 400).cast(pl.Int32).cast(pl.Date),
            "flag": rng.random(n) < 0.5,
            "one": 7,
            "name": [f"{seed} {k}" for k in range(n)],
            "y": mean + np.exp(x / 2) * rng.normal(size=n),
        }
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Four files, and targets missing in one of them."""
    made = tmp_path_factory.mktemp("parquet")
    for k in range(4):
        rows = make_rows(N_ROWS // 4, seed=k)
        if k == 2:
            rows = rows.with_columns(y=pl.when(pl.col("x") < 2).then("y"))
        rows.write_parquet(made / f"{k}.parquet", row_group_size=500)
    return made


@pytest.fixture
def fitted(cluster, folder, quick_boosting):
    def fit(**options):
        where = {"scheduler": cluster.scheduler_address, "wait": 60.0}
        choices = {"target": "y", "cost": 1.5, **where, **options}
        return fit_parquet(choices.pop("table", folder), **choices)

    return fit


def numbers(model, rows):
    return model.predict_risk(check_rows(model.schema, rows).good)


def test_the_file_is_one_of_condrisk_fit_for_every_command(
    cluster, folder, tmp_path, quick_boosting
):
    file = tmp_path / "model.skops"
    options = ["--engine", "dask", "--scheduler", cluster.scheduler_address, "--wait", "60"]
    done = CliRunner().invoke(
        app, ["fit", str(folder), "--target", "y", "--cost", "1.5", *options, "-o", str(file)]
    )
    assert done.exit_code == 0, done.output
    assert "row_id" in done.output
    assert "rows are left out: they have no target" in done.output
    manifest = read_manifest(file)
    assert manifest["trusted"] == {}
    assert 1_000 < manifest["evaluation"]["rows"] < 1_400
    assert (
        manifest["evaluation"]["deferral_loss"]["value"] < manifest["evaluation"]["never"]["value"]
    )
    assert isinstance(load_model(file), Deferral)

    rows = make_rows(300, seed=9).with_columns(city=pl.lit("Zug"), x=pl.lit(50.0))
    rows.write_csv(tmp_path / "new.csv")
    score_file(file, tmp_path / "new.csv", tmp_path / "scored.csv")
    scored = pl.read_csv(tmp_path / "scored.csv")
    assert (scored["risk"] >= 0).all()
    assert "x" in scored["outside"][0]
    assert "city" in scored["outside"][0]
    make_rows(300, seed=9).write_csv(tmp_path / "new.csv")
    for command in (
        ["inspect", file],
        ["report", file, tmp_path / "new.csv", "-o", tmp_path / "r"],
    ):
        done = CliRunner().invoke(app, [*map(str, command)])
        assert done.exit_code == 0, done.output


def test_columns_are_described_by_all_rows(fitted, folder):
    rows = pl.concat([pl.read_parquet(path) for path in sorted(folder.iterdir())])
    notes = []
    model = fitted(note=notes.append)
    columns = {column.name: column for column in model.schema.columns}
    assert list(columns) == ["x", "z", "city", "day", "flag"]
    assert {note.split("'")[1] for note in notes if "column" in note} == {"row_id", "one", "name"}
    assert (columns["x"].low, columns["x"].high) == (rows["x"].min(), rows["x"].max())
    assert columns["z"].missing == rows["z"].null_count() / len(rows)
    assert columns["city"].categories == tuple(sorted(EFFECTS))
    assert columns["day"].kind == "date"
    assert columns["x"].typical == pytest.approx(rows["x"].median(), abs=0.1)
    assert model.schema.n_rows == len(rows)


def test_categories_gaps_and_dates_are_learnt(fitted):
    model = fitted()
    rows = make_rows(2_000, seed=20)
    found = model.decide(check_rows(model.schema, rows).good).prediction
    gap = rows["z"].is_null().to_numpy()
    known = np.vectorize(EFFECTS.get)(rows["city"].to_numpy()) + rows["x"].to_numpy() + 2.0 * gap
    assert np.corrcoef(found, known)[0, 1] > 0.95
    x = rows["x"].to_numpy()
    risk = numbers(model, rows)
    assert risk[x > 1].mean() > 2 * risk[x < -1].mean()


def test_the_risk_is_that_of_the_same_learners_in_memory(cluster, tmp_path):
    rows = make_rows(24_000)
    rows.write_parquet(tmp_path / "rows.parquet", row_group_size=3_000)
    model = fit_parquet(
        tmp_path / "rows.parquet",
        target="y",
        only=["x", "z"],
        cost=1.0,
        scheduler=cluster.scheduler_address,
        wait=60.0,
    )
    quiet = {"verbosity": -1, "n_jobs": 1, "n_estimators": 100}
    local = RegressionRisk(
        lightgbm.LGBMRegressor(**quiet),
        regressor=lightgbm.LGBMRegressor(**quiet, learning_rate=0.05, min_child_samples=100),
        random_state=0,
    )
    held = len(model.reference[1]) + 2_400
    X = rows.select("x", "z").to_numpy()
    local.fit(X[held:], rows["y"].to_numpy()[held:])
    new = make_rows(20_000, seed=5)
    there, here = numbers(model, new), local.predict_risk(new.select("x", "z").to_numpy())
    assert there.mean() == pytest.approx(here.mean(), rel=0.01)
    assert np.corrcoef(there, here)[0, 1] > 0.9  # they are fitted to other rows of the same world


def test_one_worker_and_two_give_nearly_the_same_model(fitted, folder, quick_boosting):
    two = fitted()
    one = fit_parquet(folder, target="y", cost=1.5, workers=1, wait=60.0)
    for ours, theirs in zip(two.reference, one.reference, strict=True):
        np.testing.assert_array_equal(ours, theirs)  # the same rows are held out
    new = make_rows(2_000, seed=5)
    assert numbers(two, new).mean() == pytest.approx(numbers(one, new).mean(), rel=0.01)
    assert np.corrcoef(numbers(two, new), numbers(one, new))[0, 1] > 0.95


@pytest.mark.parametrize("labels", [["no", "yes"], [False, True], [3, 1, 2]])
def test_classes_of_any_kind(fitted, tmp_path, labels):
    for k in range(2):
        rows = make_rows(1_500, seed=k)
        # One file lacks a class, so that the rows of one worker do.
        codes = np.digitize(rows["y"], [0.0, 3.0][: len(labels) - 1])
        codes = np.minimum(codes, 1) if k else codes
        given = pl.Series(np.array(labels)[codes])
        rows.with_columns(y=given).write_parquet(tmp_path / f"{k}.parquet")
    model = fitted(table=tmp_path, cost=0.2)
    assert model.task == "classification"
    assert model.classes == sorted(labels)
    save_model(model.model, tmp_path / "m.skops", model.schema, target="y")
    again = open_model(tmp_path / "m.skops")
    good = check_rows(again.schema, make_rows(500, seed=7)).good
    chances = again.class_probabilities(good)
    assert chances.sum(axis=1) == pytest.approx(1.0)
    assert 0.0 <= again.predict_risk(good).min() <= again.predict_risk(good).max() <= 1.0
    assert np.corrcoef(again.predict_risk(good), 1 - chances.max(axis=1))[0, 1] > 0.7


def test_other_losses_and_rules(fitted):
    model = fitted(loss="absolute_error", cost=None, budget=0.2)
    assert model.manifest["loss"] == "absolute_error"
    assert model.manifest["evaluation"]["deferral_rate"]["value"] == pytest.approx(0.2, abs=0.05)
    model = fitted(loss="absolute_error", cost=None, risk_target=0.9, cap=5.0)
    assert isinstance(model.model.rule_, RiskControlRule)
    assert model.manifest["evaluation"]["accepted_loss"]["value"] < 1.0


class Sizes(distributed.SchedulerPlugin):
    """The largest result of a task of each name."""

    def __init__(self):
        self.bytes = {}

    def transition(self, key, start, finish, *args, nbytes=0, **more):
        name = str(key).rsplit("-", 5)[0]
        self.bytes[name] = max(self.bytes.get(name, 0), nbytes or 0)


def test_no_process_holds_the_table(fitted, cluster, folder):
    sizes = Sizes()
    cluster.scheduler.add_plugin(sizes, name="sizes")
    try:
        fitted()
    finally:
        cluster.scheduler.remove_plugin("sizes")
    assert 0.3 * N_ROWS * (5 + 9) < sizes.bytes["read_share"] < 0.6 * N_ROWS * (5 + 9)
    whole = N_ROWS * (4 * 5 + 8)  # five columns in 32 bits, and the target
    assert 0.25 * whole < sizes.bytes["training_rows"] < 0.6 * whole
    # What comes to the client is a part's rows set apart, and its sample.
    assert sizes.bytes["rows_apart"] < 0.1 * whole


# -- workers that die ------------------------------------------------------------------------------


def pids(cluster):
    with distributed.Client(cluster.scheduler_address, set_as_default=False) as client:
        client.wait_for_workers(2, timeout=60)
        return sorted(client.run(os.getpid).values())


def killing(cluster, where, sign=signal.SIGKILL, times=1):
    """Return a listener that stops a worker when a fit is there, each time that it is begun."""
    heard, killed = [], []

    def listen(what):
        heard.append(what)
        if where(what) and len(killed) < min(times, sum(w == what for w in heard)):
            os.kill(pids(cluster)[0], sign)
            killed.append(what)

    return listen, heard, killed


def begun(heard):
    """Return the fits in the order in which they began."""
    reading = [what for what in heard if what.endswith(", preparing rows")]
    return [what.split(": ")[1].removesuffix(", preparing rows") for what in reading]


@pytest.mark.parametrize("half_way", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_a_worker_that_dies_costs_one_fit_and_changes_nothing(request, cluster, folder, half_way):
    """While rows are read, or while trees are grown."""
    request.getfixturevalue("watched_boosting" if half_way else "quick_boosting")

    def there(what):
        if not half_way:
            return what.endswith("fold 3 of 5, preparing rows")
        return "fold 3 of 5, tree " in what and not what.endswith(("tree 0 of 100", "100 of 100"))

    where = {"scheduler": cluster.scheduler_address, "wait": 60.0}
    before = fit_parquet(folder, target="y", cost=1.5, **where)
    listen, heard, killed = killing(cluster, there)
    notes = []
    after = fit_parquet(folder, target="y", cost=1.5, **where, progress=listen, note=notes.append)
    assert len(killed) == 1
    assert sum("begun again (1 of 3 times)" in note for note in notes) == 1
    folds = [f"predictor, fold {k} of 5" for k in (1, 2, 3, 3, 4, 5)]
    assert begun(heard) == [*folds, "risk", "predictor, all rows"]
    new = make_rows(1_000, seed=5)
    np.testing.assert_allclose(numbers(after, new), numbers(before, new), rtol=1e-3)


@pytest.mark.slow
def test_a_fit_is_begun_again_three_times_and_no_more(fitted, cluster):
    listen, heard, killed = killing(cluster, lambda what: "risk, preparing" in what, times=4)
    with pytest.raises(ConnectionError, match=r"begun again 3 times, and .* once more: are the"):
        fitted(progress=listen)
    assert len(killed) == 4
    assert begun(heard)[5:] == ["risk"] * 4


@pytest.mark.slow
@pytest.mark.usefixtures("impatient_boosting", "watched_boosting")
def test_a_worker_that_stands_still_is_noticed(cluster, folder):
    def there(what):
        return "fold 2 of 5, tree " in what and not what.endswith(("tree 0 of 100", "100 of 100"))

    listen, _, killed = killing(cluster, there, sign=signal.SIGSTOP)
    notes = []
    where = {"scheduler": cluster.scheduler_address, "wait": 60.0}
    fit_parquet(folder, target="y", cost=1.0, **where, progress=listen, note=notes.append)
    assert len(killed) == 1
    assert any("no new tree for 10 seconds" in note for note in notes)


def test_a_scheduler_that_dies_ends_in_one_sentence(folder, quick_boosting):
    with distributed.LocalCluster(
        n_workers=1, threads_per_worker=1, dashboard_address="127.0.0.1:0"
    ) as dying:

        def die(what):
            if "fold 2" in what:
                dying.close()

        with pytest.raises(ConnectionError, match=r"is lost; nothing was written"):
            fit_parquet(
                folder,
                target="y",
                cost=1.0,
                scheduler=dying.scheduler_address,
                wait=10.0,
                progress=die,
            )


def test_a_cluster_without_workers_is_told_in_time(folder):
    with distributed.LocalCluster(
        n_workers=0, processes=False, dashboard_address="127.0.0.1:0"
    ) as empty:
        begun = time.monotonic()
        with pytest.raises(ConnectionError, match="no workers for 1 seconds: start one"):
            fit_parquet(folder, target="y", cost=1.0, scheduler=empty.scheduler_address, wait=1.0)
        assert time.monotonic() - begun < 10


# -- what is refused -------------------------------------------------------------------------------


def test_what_cannot_be_fitted_is_said_before_a_cluster_is_looked_for(tmp_path):
    def refuse(match, table=tmp_path, **options):
        with pytest.raises(TableError, match=match):
            fit_parquet(table, **{"target": "y", "cost": 1.0, **options})

    refuse("does not exist", tmp_path / "nothing")
    refuse("is a folder without files that end in .parquet")
    (tmp_path / "a.parquet").write_text("x,y\n1,2\n")
    refuse("a.parquet is not Parquet")
    make_rows(50).write_parquet(tmp_path / "a.parquet")
    make_rows(50).drop("z").write_parquet(tmp_path / "b.parquet")
    refuse("b.parquet has other columns, or other types of columns, than .*a.parquet")
    (tmp_path / "b.parquet").unlink()
    refuse("target 'yy' is not a column", target="yy")
    refuse("drop and only exclude each other", drop=["x"], only=["z"])
    refuse("only 'w' is not a column", only=["w"])
    refuse("'y' is needed", drop=["y"])
    refuse("nothing says when to defer", cost=None)
    make_rows(50)[:0].write_parquet(tmp_path / "a.parquet")
    refuse("has no rows")


def test_what_only_the_rows_tell_is_one_sentence(fitted, tmp_path):
    def refuse(rows, match, **options):
        rows.write_parquet(tmp_path / "rows.parquet")
        with pytest.raises(TableError, match=match):
            fitted(table=tmp_path / "rows.parquet", **options)

    rows = make_rows(1_200)
    refuse(rows[:900], "900 rows with a target; at least 1,000 are needed on a cluster")
    refuse(rows, "too many distinct values for classes", task="classification")
    refuse(rows.select("row_id", "one", "name", "y").drop("row_id"), "no column besides the target")
    refuse(rows, "loss", loss="log_loss")
    refuse(rows, "one class only", target="one", task="classification")
    far = rows.with_columns(x=pl.when(pl.col("row_id") == 7).then(np.inf).otherwise("x"))
    refuse(far, "in row 8 of row group 0 column 'x'", holdout=0.0)


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ("--predictor linear", "--predictor works with --engine local alone"),
        ("--time day", "--time works with --engine local alone"),
        ("--predictions x", "--predictions works with --engine local alone"),
        ("--risk-target 1 --subgroup city", "--subgroup works with --engine local alone"),
        ("--decimal ,", "--decimal is not for Parquet"),
    ],
)
def test_what_a_cluster_cannot_do_is_refused_by_the_command(tmp_path, options, match):
    rule = [] if "risk" in options else ["--cost", "1"]
    arguments = ["fit", str(tmp_path), "--target", "y", *rule, "--engine", "dask"]
    done = CliRunner().invoke(app, [*arguments, *options.split()], env={"COLUMNS": "200"})
    assert done.exit_code == 2
    assert match in done.output


def test_a_cluster_is_not_for_the_local_engine(tmp_path):
    done = CliRunner().invoke(
        app, ["fit", "rows.csv", "--target", "y", "--cost", "1", "--workers", "2"]
    )
    assert done.exit_code == 2
    assert "--workers means nothing without --engine dask" in done.output
