"""Files that come into a folder: each counts once, also after a crash at any moment."""

import asyncio
import json
import os

import httpx
import numpy as np
import polars as pl
import pytest
from prometheus_client.parser import text_string_to_metric_families
from typer.testing import CliRunner

from condrisk.app.cli import app
from condrisk.app.models import fit_table
from condrisk.app.monitor import WatchedFolder, monitor
from condrisk.app.serve import create_app
from condrisk.app.tables import iter_batches
from saved_models import save_table_model

pytestmark = pytest.mark.usefixtures("quick_fits")


def make(n, seed, noise=1.0):
    rng = np.random.default_rng(seed)
    x = rng.uniform(-1, 1, n)
    return pl.DataFrame({"x": x, "y": 2 * x + noise * np.exp(x) * rng.normal(size=n)})


@pytest.fixture(scope="module")
def model():
    return fit_table(make(800, 0), target="y", predictor="linear", cost=1.0)


def put(folder, name, frame, age=100):
    """Write a file as if it had been there for some seconds."""
    folder.mkdir(exist_ok=True)
    path = folder / name
    frame.write_csv(path)
    now = path.stat().st_mtime
    os.utime(path, (now - age, now - age))
    return path


def watch(model, folder, output, **choices):
    output.mkdir(exist_ok=True)
    read = lambda path: iter_batches(path, schema=model.schema)  # noqa: E731
    return WatchedFolder(model, folder, output, read=read, **choices)


def test_files_in_the_order_of_time_are_the_same_as_one_table(model, tmp_path):
    parts = [make(200, 1), make(300, 2), make(250, 3, noise=2.5), make(250, 4, noise=2.5)]
    inbox = tmp_path / "in"
    for k, part in enumerate(parts):
        put(inbox, f"{9 - k}.csv", part, age=100 - k)
    watched = watch(model, inbox, tmp_path)
    assert watched.step() == ["9.csv", "8.csv", "7.csv", "6.csv"]
    assert watched.step() == []
    found = watched.found()
    assert [chunk.rows for chunk in found.chunks] == [200, 300, 250, 250]
    whole = monitor(model, pl.concat(parts), rows=50)
    assert found.overall is not None
    assert found.reference == whole.reference
    labelled = sum(chunk.realised * chunk.labelled for chunk in found.chunks)
    assert labelled == pytest.approx(sum(c.realised * c.labelled for c in whole.chunks))


def test_a_crash_at_any_moment_loses_nothing_and_counts_nothing_twice(model, tmp_path, monkeypatch):
    inbox = tmp_path / "in"
    for k in range(4):
        put(inbox, f"{k}.csv", make(150, k, noise=1 + k), age=100 - k)
    straight = watch(model, inbox, tmp_path / "straight")
    straight.step()

    whole, calls = os.replace, []

    def failing(*paths):
        calls.append(paths)
        if len(calls) % 2:
            raise OSError("the disk is full")
        whole(*paths)

    monkeypatch.setattr(os, "replace", failing)
    for _ in range(20):  # every other write fails: the process is started again each time
        try:
            resumed = watch(model, inbox, tmp_path / "resumed")
            resumed.step()
        except OSError:
            continue
    assert resumed.found().to_dict() == straight.found().to_dict()


def test_what_is_kept_does_not_grow_with_the_rows(model, tmp_path):
    """As many chunks, four times the rows: the state is as long."""
    sizes = []
    for n in (1000, 4000):
        put(tmp_path / f"{n}", "a.csv", make(n, 27))
        watch(model, tmp_path / f"{n}", tmp_path / f"out{n}", rows=n // 4).step()
        sizes.append((tmp_path / f"out{n}" / "state.json").stat().st_size)
    assert sizes[1] == pytest.approx(sizes[0], rel=0.05)


def test_a_file_that_cannot_be_used_changes_nothing_but_is_told(model, tmp_path):
    inbox = tmp_path / "in"
    put(inbox, "a.csv", make(100, 1))
    watched = watch(model, inbox, tmp_path)
    watched.step()
    before = watched.found().to_dict()
    put(inbox, "b.csv", pl.DataFrame({"other": [1.0]}))
    rows = make(50, 2).with_columns(x=pl.lit("many"))
    put(inbox, "c.csv", rows)
    assert watched.step() == ["b.csv", "c.csv"]
    after = watched.found().to_dict()
    assert set(watched.refused) == {"b.csv", "c.csv"}
    assert "no column 'x'" in watched.refused["b.csv"]
    assert after["chunks"] == before["chunks"]
    assert any("b.csv was left out" in note for note in after["notes"])
    again = watch(model, inbox, tmp_path)
    assert again.step() == []
    assert again.refused == watched.refused


def test_a_file_that_breaks_off_in_its_middle_changes_nothing(model, tmp_path):
    """Its first chunks were good, and counted until the rest turned out to be missing."""
    inbox = tmp_path / "in"
    put(inbox, "a.csv", make(100, 1))

    def read(path):
        for k in range(2 * os.cpu_count() + 4):  # more than are read ahead
            yield make(60, k)
        if path.name == "b.csv":
            raise OSError("the end of it is missing")

    watched = WatchedFolder(model, inbox, tmp_path, read=read, rows=50)
    watched.step()
    before = watched.found().to_dict()
    put(inbox, "b.csv", make(100, 1))
    assert watched.step() == ["b.csv"]
    assert watched.refused == {"b.csv": "the end of it is missing"}
    after = watched.found().to_dict()
    assert after | {"notes": before["notes"]} == before


def test_files_that_are_still_written_are_left_for_later(model, tmp_path):
    inbox = tmp_path / "in"
    put(inbox, "new.csv", make(50, 1), age=0)
    put(inbox, "half.csv.part", make(50, 1))
    put(inbox, ".hidden.csv", make(50, 1))
    watched = watch(model, inbox, tmp_path)
    assert watched.step() == []
    assert watched.found() is None


def test_other_choices_do_not_go_on_from_a_state(model, tmp_path):
    put(tmp_path / "in", "a.csv", make(100, 1))
    watch(model, tmp_path / "in", tmp_path).step()
    with pytest.raises(ValueError, match=r"begun with another false_alarms: choose another output"):
        watch(model, tmp_path / "in", tmp_path, false_alarms=0.1)
    (tmp_path / "state.json").write_text("{}")
    with pytest.raises(ValueError, match="is no state of condrisk monitor"):
        watch(model, tmp_path / "in", tmp_path)


@pytest.fixture
def place(model, tmp_path):
    save_table_model(model, tmp_path / "model.skops")
    put(tmp_path / "in", "1.csv", make(400, 1), age=100)
    put(tmp_path / "in", "2.csv", make(600, 2, noise=3.0), age=90)
    return tmp_path


def run(*arguments):
    return CliRunner().invoke(app, ["monitor", *map(str, arguments)], env={"COLUMNS": "200"})


def test_the_command_takes_in_what_is_there_and_ends(place):
    options = ("--watch", place / "in", "--once", "-o", place / "out")
    result = run(place / "model.skops", *options, "--json", "--fail-on-alarm")
    assert result.exit_code == 3, result.output
    said = json.loads(result.stdout)
    assert [chunk["name"] for chunk in said["chunks"]] == ["1.csv", "2.csv"]
    assert said["alarm"] == "2.csv"
    assert said["claim"].startswith("False-alarm probability over the whole run: at most 5 %")
    names = {path.name for path in (place / "out").iterdir()}
    assert names == {"state.json", "monitoring.json", "monitoring.html", "monitoring.png"}
    again = run(place / "model.skops", *options, "--json")
    assert json.loads(again.stdout) == said


def test_what_comes_with_watch_and_what_does_not(place):
    model, inbox = place / "model.skops", place / "in"
    for arguments, message in (
        ((inbox / "1.csv", "--watch", inbox), "TABLE and --watch exclude each other"),
        (("--watch", inbox / "1.csv"), "is not a folder"),
        (("--watch", inbox, "--every", "1d", "--time", "t"), "with --watch each file is a chunk"),
        ((), "TABLE must be given, or a folder as --watch"),
        ((inbox / "1.csv", "--once"), "--once means nothing without --watch"),
    ):
        result = run(model, *arguments, "-o", place / "out")
        assert result.exit_code == 2, result.output
        assert message in " ".join(result.output.split())


def get(service, path):
    async def ask():
        transport = httpx.ASGITransport(service)
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            return await client.get(path)

    return asyncio.run(ask())


def test_the_service_tells_the_state(place, model):
    service = create_app(model, monitoring=place / "out")
    assert "condrisk_monitor" not in get(service, "/metrics").text  # nothing to tell yet
    run(place / "model.skops", "--watch", place / "in", "--once", "-o", place / "out")
    found = json.loads((place / "out" / "monitoring.json").read_text())
    told = {
        (sample.name, sample.labels.get("of")): sample.value
        for family in text_string_to_metric_families(get(service, "/metrics").text)
        for sample in family.samples
    }
    last, whole = found["chunks"][-1], found["overall"]
    assert told["condrisk_monitor_expected_loss", "last"] == last["expected"]["mean"]
    assert told["condrisk_monitor_realised_loss", "last"] == last["realised"]
    assert told["condrisk_monitor_realised_loss", "run"] == whole["realised"]
    assert told["condrisk_monitor_evidence", None] == last["evidence"]
    assert told["condrisk_monitor_evidence_threshold", None] == pytest.approx(20.0)
    assert told["condrisk_monitor_alarm", None] == 1.0
    assert told["condrisk_monitor_chunks", None] == 2.0
    (place / "out" / "monitoring.json").write_text("{")
    assert "condrisk_monitor" not in get(service, "/metrics").text
    assert "held_out" not in get(service, "/model").json()
