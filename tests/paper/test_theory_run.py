"""The study of the theory: its records, and that it can be stopped and resumed."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest

from condrisk.paper.theory.simulations import TheoryConfig, _run, run_theory
from condrisk.paper.theory.simulations._run import PARTS
from condrisk.paper.theory.simulations._settings import Part

QUICK = TheoryConfig(quick=True)
# Many short settings, and random numbers in each of them.
CHOSEN = ["excess", "false", "median"]
N_UNITS = sum(len(PARTS[name].folds(QUICK)) for name in CHOSEN)


def timeless(folder):
    """Return the lines of the records without their times."""
    lines = (folder / "records.jsonl").read_text().splitlines()
    records = [json.loads(line) for line in lines]
    for record in records:
        record.pop("seconds", None)
    return [json.dumps(record) for record in records]


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    folder = tmp_path_factory.mktemp("finished")
    return folder, run_theory(folder, config=QUICK, parts=CHOSEN)


def test_every_setting_has_records(finished):
    _, records = finished
    found = {(r["set"], r["fold"]) for r in records}
    assert found == {(name, fold) for name in CHOSEN for fold in PARTS[name].folds(QUICK)}
    keys = [(r["set"], r["fold"], r["method"]) for r in records]
    assert len(keys) == len(set(keys))


def test_a_full_run_has_all_settings():
    full = TheoryConfig()
    assert full.repetitions >= 2000
    for part in PARTS.values():
        assert part.folds(full) == list(range(len(part.settings)))
        assert 0 < len(part.folds(QUICK)) <= len(part.settings)


def test_number_of_processes_and_order_do_not_matter(finished, tmp_path):
    run_theory(tmp_path, config=QUICK, parts=["median"])
    run_theory(tmp_path, config=QUICK, parts=["false", "excess"], n_jobs=2)
    assert timeless(tmp_path) == timeless(finished[0])


def test_a_second_run_simulates_nothing(finished, monkeypatch):
    monkeypatch.setattr(_run.TheoryStudy, "do", pytest.fail)
    folder, records = finished
    before = (folder / "records.jsonl").stat().st_mtime_ns
    assert run_theory(folder, config=QUICK, parts=CHOSEN) == records
    assert (folder / "records.jsonl").stat().st_mtime_ns == before


# It waits a little after each setting: a busy machine may be slow to kill it.
RUN = """
import sys, time
from condrisk.paper.theory.simulations import TheoryConfig, run_theory
run_theory(
    sys.argv[1],
    config=TheoryConfig(quick=True),
    parts=sys.argv[3:],
    n_jobs=int(sys.argv[2]),
    progress=lambda done, total, what: time.sleep(0.5),
)
"""


@pytest.mark.parametrize("n_jobs", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_killed_and_resumed(finished, tmp_path, n_jobs):
    command = [sys.executable, "-c", RUN, str(tmp_path), str(n_jobs), *CHOSEN]
    process = subprocess.Popen(command, start_new_session=True)
    while len(list(tmp_path.glob("units/*.jsonl"))) < 2:
        assert process.poll() is None, "it ended before it could be killed"
        time.sleep(0.001)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    assert not (tmp_path / "records.jsonl").exists()
    left = list(tmp_path.glob("units/*.jsonl"))
    assert 2 <= len(left) <= N_UNITS
    seen = []
    run_theory(
        tmp_path,
        config=QUICK,
        parts=CHOSEN,
        progress=lambda done, total, what: seen.append((done, total)),
    )
    assert len(seen) == N_UNITS - len(left)  # what was finished is not done again
    assert all(done <= total * (1 + 1e-9) for done, total in seen)
    assert timeless(tmp_path) == timeless(finished[0])


def test_a_corrupt_file_costs_only_itself(finished, tmp_path):
    text = (finished[0] / "records.jsonl").read_text()
    path = tmp_path / "records.jsonl"
    path.write_text(text.replace('"mean": ', '"mean": 1', 1))
    told, seen = [], []
    run_theory(
        tmp_path,
        config=QUICK,
        parts=CHOSEN,
        progress=lambda done, total, what: seen.append(what),
        warn=told.append,
    )
    assert len(told) == 1
    assert len(seen) == 1
    assert timeless(tmp_path) == timeless(finished[0])


def test_every_setting_has_random_numbers_of_its_own(tmp_path, monkeypatch):
    parts = {
        name: Part(
            name=name,
            title=name,
            settings=[{}, {}],
            simulate=lambda setting, config, rng: [{"method": "draw", "value": rng.random()}],
        )
        for name in ("one", "other")
    }
    monkeypatch.setattr(_run, "PARTS", parts)
    draws = [record["value"] for record in run_theory(tmp_path, config=QUICK)]
    assert len(set(draws)) == 4


def test_a_setting_that_fails_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr("condrisk.paper.theory.simulations._median._draw", lambda *arguments: 1 / 0)
    with pytest.raises(ZeroDivisionError) as caught:
        run_theory(tmp_path, config=QUICK, parts=["median"])
    assert any("median against mean, {'law'" in note for note in caught.value.__notes__)


def test_a_folder_has_one_configuration(finished):
    with pytest.raises(ValueError, match="another configuration"):
        run_theory(finished[0], parts=["median"])


@pytest.mark.parametrize("wrong", [["bounds"], "excess", []])
def test_bad_parts_are_named(tmp_path, wrong):
    with pytest.raises(ValueError, match="parts must be a list of some of excess, plug-in"):
        run_theory(tmp_path, config=QUICK, parts=wrong)


def test_bad_configurations_are_named():
    with pytest.raises(TypeError, match="quick must be True or False"):
        TheoryConfig(quick="yes")
