"""Studies on a Dask cluster: the records are those of a run on this machine."""

import json

import pytest
from typer.testing import CliRunner

from condrisk import _cluster
from condrisk.app.cli import app
from condrisk.paper.active import ActiveConfig, run_active
from condrisk.paper.rwr import run_rwr
from condrisk.paper.theory.simulations import TheoryConfig, run_theory

distributed = pytest.importorskip("distributed", reason="needs condrisk[dask]")

STUDIES = {
    "theory": lambda folder, **where: run_theory(
        folder, config=TheoryConfig(quick=True), parts=["median"], **where
    ),
    "rwr": lambda folder, **where: run_rwr(folder, sets=["housing"], methods=["LR+LR"], **where),
    "active": lambda folder, **where: run_active(
        folder, config=ActiveConfig(quick=True), sets=["energy"], **where
    ),
}


@pytest.fixture(scope="module")
def scheduler():
    with distributed.LocalCluster(
        n_workers=1, threads_per_worker=1, dashboard_address="127.0.0.1:0"
    ) as cluster:
        yield cluster.scheduler_address


def timeless(folder):
    lines = (folder / "records.jsonl").read_text().splitlines()
    records = [json.loads(line) for line in lines]
    for record in records:
        record.pop("seconds", None)
    return records


@pytest.mark.parametrize("study", STUDIES)
def test_the_records_are_the_same(scheduler, tmp_path, study):
    here, there = tmp_path / "here", tmp_path / "there"
    STUDIES[study](here)
    done = []
    STUDIES[study](
        there, scheduler=scheduler, progress=lambda now, total, what: done.append(now / total)
    )
    assert timeless(there) == timeless(here)
    assert done[-1] == pytest.approx(1.0)
    STUDIES[study](there, scheduler="nobody is asked when all is done")


def test_the_command_names_the_address(tmp_path, monkeypatch):
    monkeypatch.setattr(_cluster, "WAIT_SECONDS", 0.5)
    arguments = ["reproduce", "theory", "--quick", "-o", str(tmp_path), "--scheduler", "nowhere"]
    done = CliRunner().invoke(app, arguments, env={"COLUMNS": "200"})
    assert done.exit_code == 2
    assert "scheduler must be the address of a Dask scheduler" in done.output
    assert "'nowhere'" in done.output
