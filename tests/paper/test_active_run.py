"""The study of which rows to label: its records, and that it can be stopped and resumed."""

import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from condrisk.paper._records import parse_units
from condrisk.paper.active import ActiveConfig, _run, run_active
from condrisk.paper.active import _curve as curve_module
from condrisk.paper.active._settings import METHODS, SETS
from condrisk.paper.active._strategies import STRATEGIES
from condrisk.paper.active._worlds import World, make_world

QUICK = ActiveConfig(quick=True)
CHOSEN = ["forest", "trap"]


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
    return folder, run_active(folder, config=QUICK, sets=CHOSEN)


def test_every_seed_has_a_curve_of_every_method(finished):
    _, records = finished
    found = [(r["set"], r["fold"], r["method"]) for r in records]
    assert found == [(s, k, m) for s in CHOSEN for k in QUICK.seeds(s) for m in METHODS]
    assert QUICK.methods("energy") == list(METHODS)
    for record in records:
        assert record["labels"] == [20, 30, 40]
        assert len(record["errors"]) == 3
        assert np.isfinite(record["errors"]).all()
        assert ("share_of_noise" in record) == (record["set"] == "trap")
    assert set(STRATEGIES) == set(METHODS)


def test_all_begin_with_the_same_labels(finished):
    for name in CHOSEN:
        for seed in QUICK.seeds(name):
            here = [r for r in finished[1] if r["set"] == name and r["fold"] == seed]
            assert len({r["errors"][0] for r in here}) == 1
            assert len({r["errors"][-1] for r in here}) > 1


def test_a_full_run_has_enough_seeds():
    full = ActiveConfig()
    assert all(len(full.seeds(name)) >= 10 for name in SETS)
    assert list(full.seeds("energy")) == list(range(10))  # one for each fold
    assert all(full.draws("energy", method) >= 2 for method in METHODS if method != "gap")
    assert all(max(full.seeds(name)) < 100 for name in SETS)  # none of those of the design


def test_draws_begin_with_labels_of_their_own_shared_by_all_methods(monkeypatch):
    seen = {}

    def fake(method, world, schedule, first, rng):
        seen.setdefault(method, []).append((tuple(first), rng.random()))
        return [1.0] * (schedule.rounds + 1), np.arange(schedule.labels[-1])

    monkeypatch.setattr(curve_module, "_curve", fake)
    config = ActiveConfig()
    world = make_world("energy", 3, None)
    records = curve_module.curves("energy", 3, world, config, list(METHODS))
    assert {r["method"]: len(r["curves"]) for r in records} == {
        method: config.draws("energy", method) for method in METHODS
    }
    assert len(set(seen["random"])) == config.draws("energy", "random")
    for method in METHODS:
        assert seen[method] == seen["random"][: len(seen[method])]


@pytest.mark.parametrize("method", METHODS)
def test_rows_are_labelled_once_and_only_labels_that_were_asked_for_are_seen(method):
    """Labels of rows that were not chosen, and of test rows, change nothing."""
    world = make_world("trap", 0, None)
    schedule = QUICK.schedule("trap")
    first = np.arange(schedule.initial)

    def run(one):
        return curve_module._curve(method, one, schedule, first, np.random.default_rng(0))

    errors, labelled = run(world)
    assert len(set(labelled)) == 40
    spoilt = np.where(np.isin(np.arange(len(world.y)), labelled), world.y, 1 - world.y)
    other = World(world.X, spoilt, world.X_test, 1 - world.y_test, n_classes=2, noisy=world.noisy)
    again, same = run(other)
    assert same.tolist() == labelled.tolist()
    assert again == pytest.approx([1 - error for error in errors])


def test_number_of_processes_and_order_do_not_matter(finished, tmp_path):
    run_active(tmp_path, config=QUICK, sets=["trap"])
    run_active(tmp_path, config=QUICK, sets=["forest"], n_jobs=2)
    assert timeless(tmp_path) == timeless(finished[0])


def test_a_second_run_does_nothing(finished, monkeypatch):
    monkeypatch.setattr(_run.ActiveStudy, "do", pytest.fail)
    folder, records = finished
    before = (folder / "records.jsonl").stat().st_mtime_ns
    assert run_active(folder, config=QUICK, sets=CHOSEN) == records
    assert (folder / "records.jsonl").stat().st_mtime_ns == before


def test_a_method_that_is_missing_is_added_to_the_records_that_are_there(finished, tmp_path):
    units, _ = parse_units((finished[0] / "records.jsonl").read_text())
    assert units[-1].records.pop("core-set")
    lines = [line for unit in units for line in unit.to_lines()]
    (tmp_path / "records.jsonl").write_text("\n".join(lines) + "\n")
    seen = []
    records = run_active(
        tmp_path, config=QUICK, sets=CHOSEN, progress=lambda *done: seen.append(done[2])
    )
    assert seen == ["trap"]
    again = {(r["set"], r["fold"], r["method"]): r["errors"] for r in records}
    assert again == {(r["set"], r["fold"], r["method"]): r["errors"] for r in finished[1]}


# It waits a little after each seed: a busy machine may be slow to kill it.
RUN = """
import sys, time
from condrisk.paper.active import ActiveConfig, run_active
run_active(
    sys.argv[1],
    config=ActiveConfig(quick=True),
    sets=sys.argv[2:],
    progress=lambda done, total, what: time.sleep(0.5),
)
"""


def test_killed_and_resumed(finished, tmp_path):
    command = [sys.executable, "-c", RUN, str(tmp_path), *CHOSEN]
    process = subprocess.Popen(command, start_new_session=True)
    while not list(tmp_path.glob("units/*.jsonl")):
        assert process.poll() is None, "it ended before it could be killed"
        time.sleep(0.001)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    left = list(tmp_path.glob("units/*.jsonl"))
    seen = []
    run_active(
        tmp_path,
        config=QUICK,
        sets=CHOSEN,
        progress=lambda done, total, what: seen.append((done, total)),
    )
    assert len(seen) == 4 - len(left)  # what was finished is not done again
    assert timeless(tmp_path) == timeless(finished[0])


def test_a_corrupt_file_costs_only_itself(finished, tmp_path):
    text = (finished[0] / "records.jsonl").read_text()
    (tmp_path / "records.jsonl").write_text(text.replace('"errors": [', '"errors": [1', 1))
    told, seen = [], []
    run_active(
        tmp_path,
        config=QUICK,
        sets=CHOSEN,
        progress=lambda done, total, what: seen.append(what),
        warn=told.append,
    )
    assert (len(told), len(seen)) == (1, 1)
    assert timeless(tmp_path) == timeless(finished[0])


def test_a_seed_that_fails_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr(_run, "curves", lambda *arguments: 1 / 0)
    with pytest.raises(ZeroDivisionError) as caught:
        run_active(tmp_path, config=QUICK, sets=["energy"])
    assert "the curves of energy, seed 0" in caught.value.__notes__[0]


def test_a_folder_has_one_configuration(finished):
    with pytest.raises(ValueError, match="another configuration"):
        run_active(finished[0], sets=["trap"])


def test_embeddings(tmp_path, monkeypatch):
    with pytest.raises(ValueError, match="embeddings must be given"):
        run_active(tmp_path, config=QUICK, sets=["cifar10"])
    np.save(tmp_path / "few.npy", np.zeros((10, 3)))
    with pytest.raises(ValueError, match="a row for each of the 60,000 images"):
        run_active(tmp_path, config=QUICK, embeddings=tmp_path / "few.npy")
    with pytest.raises(FileNotFoundError):
        run_active(tmp_path, config=QUICK, embeddings=tmp_path / "none.npy")


def test_images_by_their_embeddings(tmp_path, monkeypatch):
    from condrisk.paper.active import _worlds

    labels = np.random.default_rng(0).integers(0, 10, 60_000)
    rows = np.random.default_rng(1).normal(size=(60_000, 4)).astype(np.float16)
    rows[:, 0] += labels  # a class is nearly known from its row
    np.save(tmp_path / "rows.npy", rows)
    fake = type("Images", (), {"labels": labels})()
    monkeypatch.setattr(_worlds, "load_cifar10", lambda: fake)
    monkeypatch.setattr(QUICK.__class__, "seeds", lambda self, name: range(1))
    _worlds._cifar10.cache_clear()
    records = run_active(
        tmp_path / "run", config=QUICK, embeddings=tmp_path / "rows.npy", sets=["cifar10"]
    )
    _worlds._cifar10.cache_clear()
    assert {r["method"] for r in records} == set(METHODS) - {"gap"}
    assert len({r["embeddings"] for r in records}) == 1
    assert all(r["labels"] == [50, 100, 150] for r in records)
    assert max(r["errors"][-1] for r in records) < 0.85  # better than guessing


@pytest.mark.parametrize("wrong", [["flowers"], "energy", []])
def test_bad_sets_are_named(tmp_path, wrong):
    with pytest.raises(ValueError, match="sets must be a list of some of airfoil, concrete"):
        run_active(tmp_path, config=QUICK, sets=wrong)


def test_bad_configurations_are_named():
    with pytest.raises(TypeError, match="quick must be True or False"):
        ActiveConfig(quick="yes")
