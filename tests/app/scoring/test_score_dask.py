"""The same scores from a Dask cluster, also when one of its workers dies."""

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import contextmanager, suppress

import pandas as pd
import polars as pl
import pytest
from scoring_rows import class_model, expected, make_rows, number_model

from condrisk import _cluster
from condrisk._cluster import connect
from condrisk.app.scoring import score_dask, score_file
from condrisk.app.tables import TableError

pytestmark = pytest.mark.usefixtures("quick_fits")

dd = pytest.importorskip("dask.dataframe", reason="needs condrisk[dask]")
distributed = pytest.importorskip("distributed", reason="needs condrisk[dask]")

ROWS = make_rows(2000).with_columns(note=None)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("dask")
    ROWS.write_parquet(folder / "rows.parquet")
    lines = ROWS.write_csv().splitlines()
    lines[700] = "bad"
    lines[1500] = lines[1500].replace(",", ",huge", 1)
    (folder / "rows.csv").write_text("\n".join(lines) + "\n")
    return folder


@pytest.mark.parametrize("given", ["csv", "parquet"])
def test_a_cluster_gives_the_same_bytes(cluster, files, given):
    outputs = [files / f"{who}-{given}.csv" for who in ("local", "dask")]
    options = {"batch_rows": 150, "parts": given == "csv"}
    source = files / f"rows.{given}"
    local = score_file(number_model(), source, outputs[0], **options)
    there = score_file(
        number_model(),
        source,
        outputs[1],
        engine="dask",
        scheduler=cluster.scheduler_address,
        **options,
    )
    assert outputs[0].read_bytes() == outputs[1].read_bytes()
    assert (there.rows, there.rejected) == (local.rows, local.rejected)
    if given == "csv":
        assert there.rejected == 2
        assert local.rejects.read_bytes() == there.rejects.read_bytes()


@pytest.mark.slow
def test_a_worker_killed_in_the_middle_costs_no_row(cluster, files):
    address = cluster.scheduler_address
    with connect(address) as client:
        victims = list(client.run(os.getpid).values())
    score_file(number_model(), files / "rows.csv", files / "whole.csv", batch_rows=20)
    killed = []

    def kill(rows, share):
        if rows >= 600 and not killed:
            os.kill(victims[0], signal.SIGKILL)
            killed.append(victims[0])

    score_file(
        number_model(),
        files / "rows.csv",
        files / "survived.csv",
        batch_rows=20,
        engine="dask",
        scheduler=address,
        progress=kill,
    )
    assert killed
    assert (files / "whole.csv").read_bytes() == (files / "survived.csv").read_bytes()
    rejects = [files / f"{stem}.rejects.csv" for stem in ("whole", "survived")]
    assert rejects[0].read_bytes() == rejects[1].read_bytes()


def test_a_cluster_is_started_where_none_is_given(files):
    score_file(number_model(), files / "rows.csv", files / "one.csv", batch_rows=500)
    score_file(
        number_model(),
        files / "rows.csv",
        files / "started.csv",
        batch_rows=500,
        engine="dask",
        workers=1,
    )
    assert (files / "one.csv").read_bytes() == (files / "started.csv").read_bytes()


def test_a_scheduler_that_is_not_there(files):
    for address in ("nowhere", "tcp://127.0.0.1:1"):
        with pytest.raises(ValueError, match="scheduler must be the address"):
            score_file(
                number_model(),
                files / "rows.csv",
                files / "none.csv",
                engine="dask",
                scheduler=address,
                wait=1.0,
            )
    assert not (files / "none.csv").exists()


@contextmanager
def started(folder, program, *options):
    """Run a program of Dask's that tells or finds the scheduler by a file in the folder."""
    command = [sys.executable, "-m", f"distributed.cli.{program}", *options, "--no-dashboard"]
    process = subprocess.Popen(
        [*command, "--scheduler-file", folder / "scheduler.json"], stderr=subprocess.DEVNULL
    )
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def address_in(folder):
    while True:
        with suppress(OSError, ValueError):
            return json.loads((folder / "scheduler.json").read_text())["address"]
        time.sleep(0.05)


def test_a_scheduler_that_dies_ends_in_one_sentence_and_the_rest_is_scored_later(files, tmp_path):
    score_file(number_model(), files / "rows.csv", files / "alone.csv", batch_rows=20)
    local = ("--host", "127.0.0.1", "--port", "0")
    with started(tmp_path, "dask_scheduler", *local) as scheduler:
        address = address_in(tmp_path)
        with started(tmp_path, "dask_worker", "--nthreads", "1", "--no-nanny"):
            output = tmp_path / "scored.csv"

            def kill(rows, share):
                scheduler.kill()

            options = {"batch_rows": 20, "engine": "dask", "scheduler": address, "wait": 60.0}
            with pytest.raises(ConnectionError, match=r"^the connection .* is lost; .*goes on"):
                score_file(number_model(), files / "rows.csv", output, progress=kill, **options)
    assert not output.exists()
    seen = []
    score_file(
        number_model(),
        files / "rows.csv",
        output,
        batch_rows=20,
        progress=lambda rows, share: seen.append(rows),
    )
    assert output.read_bytes() == (files / "alone.csv").read_bytes()
    assert not (tmp_path / "scored.csv.parts").exists()


def test_a_cluster_without_workers_is_told_in_time(files):
    with distributed.LocalCluster(
        n_workers=0, processes=False, dashboard_address="127.0.0.1:0"
    ) as empty:
        begun = time.monotonic()
        with pytest.raises(ConnectionError, match="no workers for 1 seconds: start one"):
            score_file(
                number_model(),
                files / "rows.csv",
                files / "none.csv",
                engine="dask",
                scheduler=empty.scheduler_address,
                wait=1.0,
            )
        assert time.monotonic() - begun > 1.0
    assert not (files / "none.csv").exists()
    assert _cluster.WAIT_SECONDS == 10.0  # what it is unless --wait says otherwise


def test_workers_that_all_leave_are_told_in_time(files):
    with distributed.LocalCluster(
        n_workers=1, processes=False, dashboard_address="127.0.0.1:0"
    ) as leaving:

        def leave(rows, share):
            leaving.scale(0)

        with pytest.raises(ConnectionError, match="no workers for 2 seconds"):
            score_file(
                number_model(),
                files / "rows.csv",
                files / "left.csv",
                engine="dask",
                scheduler=leaving.scheduler_address,
                batch_rows=20,
                wait=2.0,
                progress=leave,
            )


def test_a_wait_is_a_number_of_seconds(files):
    for wait in (0, -1.0, float("nan")):
        with pytest.raises(ValueError, match="wait must be a number of seconds above 0"):
            score_file(
                *(number_model(), files / "rows.csv", files / "none.csv"), engine="dask", wait=wait
            )


@pytest.mark.parametrize("make", [number_model, class_model])
@pytest.mark.parametrize("partitions", [1, 3])
def test_a_dask_frame_is_scored_partition_by_partition(make, partitions):
    rows = ROWS[:100].drop("note")
    frame = rows.to_pandas().set_index(pd.Index(range(500, 600), name="who"))
    given = dd.from_pandas(frame, npartitions=partitions)
    scored = score_dask(make(), given, parts=True)
    assert scored.npartitions == given.npartitions
    found = scored.compute(scheduler="sync")
    assert dict(found.dtypes) == dict(scored.dtypes)
    assert list(found.index) == list(range(500, 600))
    pd.testing.assert_frame_equal(found[frame.columns], given.compute(scheduler="sync"))
    wanted = expected(make(), rows)
    assert found["risk"].tolist() == pytest.approx(wanted["risk"].to_list())
    assert found["defer"].tolist() == wanted["defer"].to_list()
    assert found["prediction"].tolist() == pytest.approx(wanted["prediction"].to_list())
    parts = found["floor"] + found["gap"] + found["correction"]
    assert parts.tolist() == pytest.approx(found["risk"].tolist())
    assert found["reason"].isna().all()


def test_bad_rows_of_a_dask_frame_stay_and_say_why():
    rows = ROWS[:4].drop("note").with_columns(size=pl.Series(["1", "wide", None, "2"]))
    frame = dd.from_pandas(rows.to_pandas(), npartitions=2)
    found = score_dask(class_model(), frame, prefix="m_").compute(scheduler="sync")
    names = ["prediction", "risk", "defer", "outside", "reason"]
    assert list(found.columns[-5:]) == [f"m_{name}" for name in names]
    assert found["m_reason"].notna().tolist() == [False, True, False, False]
    assert "'wide'" in found["m_reason"].iloc[1]
    assert found["m_risk"].isna().tolist() == [False, True, False, False]
    assert found["m_prediction"].isna().tolist() == [False, True, False, False]
    assert found["m_defer"].iloc[1]
    assert found["m_defer"].dtype == bool


def test_names_are_checked_before_anything_is_computed():
    frame = dd.from_pandas(ROWS[:4].drop("city").to_pandas(), npartitions=1)
    with pytest.raises(TableError, match="no column 'city'"):
        score_dask(number_model(), frame)
    frame = dd.from_pandas(ROWS[:4].with_columns(defer=1).to_pandas(), npartitions=1)
    with pytest.raises(TableError, match="'defer' already"):
        score_dask(number_model(), frame)
