"""Stopped at any moment, the same call goes on, and the output is the same to the byte."""

import os
import signal
import subprocess
import sys

import pyarrow as pa
import pytest
from joblib import cpu_count
from scoring_rows import make_rows, number_model

from condrisk.app.models import open_model
from condrisk.app.scoring import _engines, score_file
from condrisk.app.tables import TableError
from saved_models import save_table_model

pytestmark = pytest.mark.usefixtures("quick_fits")

# It kills itself as the system would: no clean-up of any kind is run.
KILLED = """
import os, signal, sys
from condrisk.app.scoring import score_file
from condrisk.app.scoring._output import Receipt

def kill(*_):
    os.kill(os.getpid(), signal.SIGKILL)

model, source, output, when = sys.argv[1:]
if when == "before the receipt":
    Receipt.write = kill
told = lambda rows, share: kill() if when == str(rows) else None
score_file(model, source, output, batch_rows=20, progress=told)
"""


@pytest.fixture
def files(tmp_path):
    make_rows(190).with_columns(note=None).write_csv(tmp_path / "rows.csv")
    with open(tmp_path / "rows.csv", "a") as file:
        file.write("bad\n")
    save_table_model(number_model(), tmp_path / "model.skops")
    return tmp_path


def score(folder, output="scored.csv", **options):
    options = {"batch_rows": 20} | options
    return score_file(folder / "model.skops", folder / "rows.csv", folder / output, **options)


def stop_after(n_batches):
    def tell(rows, share):
        if rows >= 20 * n_batches:
            raise KeyboardInterrupt

    return tell


def stopped(folder, n_batches=4, **options):
    with pytest.raises(KeyboardInterrupt):
        score(folder, progress=stop_after(n_batches), **options)


@pytest.fixture
def batches_scored(monkeypatch):
    """Count the batches that a model was asked about."""
    counts = []
    original = _engines.score_table

    def counting(*args, **kwargs):
        counts.append(1)
        return original(*args, **kwargs)

    monkeypatch.setattr(_engines, "score_table", counting)
    return counts


def names(folder):
    return {path.name for path in folder.iterdir()}


@pytest.mark.parametrize("when", ["60", pytest.param("before the receipt", marks=pytest.mark.slow)])
def test_killed_and_called_again(files, batches_scored, when):
    score(files, "whole.csv")
    paths = [str(files / name) for name in ("model.skops", "rows.csv", "scored.csv")]
    done = subprocess.run([sys.executable, "-c", KILLED, *paths, when], check=False)
    assert done.returncode == -signal.SIGKILL
    if when == "60":
        assert not (files / "scored.csv").exists()
        assert not (files / "scored.rejects.csv").exists()
    assert (files / "scored.csv.parts" / "journal.json").exists()
    batches_scored.clear()
    summary = score(files)
    assert summary.resumed >= 3
    assert len(batches_scored) == summary.batches - summary.resumed
    for kind in ("", ".rejects"):
        whole, again = (files / f"{stem}{kind}.csv" for stem in ("whole", "scored"))
        assert whole.read_bytes() == again.read_bytes()
    left = {"rows.csv", "model.skops"}
    for stem in ("whole", "scored"):
        left |= {f"{stem}.csv", f"{stem}.csv.json", f"{stem}.rejects.csv"}
    assert names(files) == left


@pytest.mark.parametrize("ending", ["csv", "parquet", "arrow"])
def test_stopped_again_and_again(files, ending, batches_scored):
    score(files, f"whole.{ending}")
    batches_scored.clear()
    for n_batches in (1, 2, 5):
        stopped(files, n_batches, output=f"scored.{ending}")
        assert not (files / f"scored.{ending}").exists()
    summary = score(files, f"scored.{ending}")
    assert summary.resumed >= 5
    # What was under way when it was stopped may be scored twice, what was told never.
    assert len(batches_scored) <= summary.batches + 3 * 2 * cpu_count()
    whole, again = files / f"whole.{ending}", files / f"scored.{ending}"
    assert whole.read_bytes() == again.read_bytes()
    assert summary.mean_risk == pytest.approx(score(files, f"whole.{ending}").mean_risk)


def test_a_part_that_is_torn_is_scored_again(files, batches_scored):
    score(files, "whole.csv")
    stopped(files)
    parts = sorted((files / "scored.csv.parts").glob("batch-*.arrow"))
    parts[0].write_bytes(parts[0].read_bytes()[:100])
    parts[1].write_bytes(b"")
    batches_scored.clear()
    summary = score(files)
    assert summary.resumed == len(parts) - 2
    assert (files / "whole.csv").read_bytes() == (files / "scored.csv").read_bytes()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("input", "the input was another, or has changed"),
        ("model", "the model was another"),
        ("cost", "the price was another"),
        ("parts", "the parts of the risk were not the same"),
        ("batch_rows", "the batches had another size"),
    ],
)
def test_another_run_does_not_go_on_with_these_scores(files, change, message):
    stopped(files)
    options = {"cost": {"cost": 0.1}, "parts": {"parts": True}, "batch_rows": {"batch_rows": 30}}
    options = options.get(change, {})
    if change == "input":
        with open(files / "rows.csv", "r+") as file:
            file.seek(os.path.getsize(files / "rows.csv") // 2)
            file.write("7")
    if change == "model":
        save_table_model(number_model("boosting"), files / "model.skops")
    with pytest.raises(TableError, match=message):
        score(files, **options)
    assert score(files, overwrite=True, **options).resumed == 0
    assert not (files / "scored.csv.parts").exists()


def test_to_overwrite_is_no_reason_to_begin_again(files, batches_scored):
    (files / "scored.csv").write_text("old")
    stopped(files, overwrite=True)
    assert (files / "scored.csv").read_text() == "old"
    assert score(files, overwrite=True).resumed >= 4


def test_what_is_finished_is_not_scored_again(files, batches_scored):
    first = score(files)
    before = {path: path.stat().st_mtime_ns for path in files.iterdir()}
    batches_scored.clear()
    again = score(files)
    assert not batches_scored
    assert again.finished_before
    assert (again.rows, again.rejected, again.mean_risk) == (191, 1, first.mean_risk)
    assert {path: path.stat().st_mtime_ns for path in files.iterdir()} == before
    assert not score(files, overwrite=True).finished_before
    assert batches_scored


def test_a_finished_output_of_something_else_stays(files):
    (files / "scored.csv").write_text("mine")
    with pytest.raises(TableError, match="is there already, and nothing tells"):
        score(files)
    assert (files / "scored.csv").read_text() == "mine"
    score(files, overwrite=True)
    for options, message in (
        ({"cost": 0.1}, "the price was another"),
        ({"parts": True}, "the parts of the risk were not the same"),
        ({"prefix": "p_"}, "the new columns had other names"),
    ):
        with pytest.raises(TableError, match=message):
            score(files, **options)
    (files / "scored.csv").write_text("mine")
    with pytest.raises(TableError, match="it was changed since"):
        score(files)


def test_models_that_are_in_memory_resume_too(files):
    def score_loaded(**options):
        model = open_model(files / "model.skops")
        return score_file(model, files / "rows.csv", files / "scored.csv", batch_rows=20, **options)

    with pytest.raises(KeyboardInterrupt):
        score_loaded(progress=stop_after(3))
    assert score_loaded().resumed >= 3


def test_only_what_is_ours_is_removed_with_the_parts(files):
    stopped(files)
    (files / "scored.csv.parts" / "mine.txt").write_text("mine")
    score(files)
    assert names(files / "scored.csv.parts") == {"mine.txt"}


def test_a_broken_input_leaves_no_output(files):
    with open(files / "rows.csv", "a") as file:
        file.write("1," + "x" * (1 << 23))
    with pytest.raises(TableError, match="could not be read"):
        score(files)
    assert not (files / "scored.csv").exists()
    assert (files / "scored.csv.parts").exists()


def test_a_part_of_another_length_is_scored_again(files):
    whole = score(files, "whole.csv")
    stopped(files)
    parts = sorted((files / "scored.csv.parts").glob("batch-*.arrow"))
    with pa.OSFile(str(parts[0])) as file:
        scores = pa.ipc.open_file(file).read_all()
    with pa.OSFile(str(parts[0]), "wb") as file, pa.ipc.new_file(file, scores.schema) as writer:
        writer.write_table(scores[:-1])
    assert score(files).scored == whole.scored
    assert (files / "scored.csv").read_bytes() == (files / "whole.csv").read_bytes()


# -- two calls at a time --------------------------------------------------------------------------


def test_one_call_at_a_time_writes_an_output(files):
    """The second is told so, and does no harm to the first."""
    refused = []

    def second(rows, share):
        if not refused:
            with pytest.raises(TableError, match=r"another run is writing .*scored\.csv") as told:
                score(files, cost=5.0, overwrite=True)
            refused.append(told)

    score(files, progress=second)
    assert refused
    score(files, "whole.csv")
    assert (files / "scored.csv").read_bytes() == (files / "whole.csv").read_bytes()
    assert not score(files, cost=5.0, overwrite=True).deferred
    assert not (files / "scored.csv.parts").exists()


WORKING = """
import sys, time
from condrisk.app.scoring import score_file

def told(rows, share):
    print("working", flush=True)
    time.sleep(60)

score_file(*sys.argv[1:], batch_rows=20, progress=told)
"""


def test_a_call_in_another_process_is_noticed_until_it_ends(files):
    paths = [str(files / name) for name in ("model.skops", "rows.csv", "scored.csv")]
    command = [sys.executable, "-c", WORKING, *paths]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout.readline() == b"working\n"
            with pytest.raises(TableError, match="another run is writing"):
                score(files)
        finally:
            process.kill()
    assert score(files).resumed >= 1


def test_batches_that_another_run_put_back_are_scored_again(files):
    """Where the file system locks nothing, a batch still names its run."""
    stopped(files)
    kept = {path: path.read_bytes() for path in (files / "scored.csv.parts").glob("batch-*")}
    stopped(files, n_batches=2, cost=5.0, overwrite=True)
    for path, content in kept.items():
        path.write_bytes(content)
    summary = score(files, cost=5.0)
    assert (summary.resumed, summary.deferred) == (0, 0)
    score(files, "whole.csv", cost=5.0)
    assert (files / "scored.csv").read_bytes() == (files / "whole.csv").read_bytes()


def test_drafts_of_killed_calls_are_cleared(files):
    paths = [str(files / name) for name in ("model.skops", "rows.csv", "scored.csv")]
    for when in ("40", "80"):
        subprocess.run([sys.executable, "-c", KILLED, *paths, when], check=False)
    parts = files / "scored.csv.parts"
    # Of the scored rows and, from the last batch on, the rejected ones: those of the last call.
    assert len(list(parts.glob("scored.csv.*.tmp"))) == 1
    (files / ".scored.csv.json.0123abcd.tmp").write_text("half")
    score(files)
    assert names(files) == {
        "rows.csv",
        "model.skops",
        "scored.csv",
        "scored.csv.json",
        "scored.rejects.csv",
    }


def test_rows_of_another_date_are_other_rows(files):
    """The same number of bytes, and the same ones wherever a large file is looked at."""
    stopped(files)
    os.utime(files / "rows.csv", (1e9, 1e9))
    with pytest.raises(TableError, match="the input was another, or has changed"):
        score(files)


@pytest.mark.parametrize("link", [os.symlink, os.link])
@pytest.mark.parametrize("made", ["scored.csv", "scored.rejects.csv", "scored.csv.json"])
@pytest.mark.parametrize("read", ["rows.csv", "model.skops"])
def test_nothing_that_is_read_is_written_under_another_name(files, link, made, read):
    link(files / read, files / made)
    before = {name: (files / name).read_bytes() for name in ("rows.csv", "model.skops")}
    what = "input" if read == "rows.csv" else "model"
    with pytest.raises(TableError, match=f"is the {what}: choose another name"):
        score(files, overwrite=True)
    assert before == {name: (files / name).read_bytes() for name in before}


def test_rejected_rows_that_are_scored_again_are_not_lost(files):
    score(files)
    with pytest.raises(TableError, match="is the input"):
        score_file(files / "model.skops", files / "scored.rejects.csv", files / "scored.csv")
