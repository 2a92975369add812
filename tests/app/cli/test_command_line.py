"""What holds for every command: outputs, paths, exit codes, help, quiet and JSON."""

import json
import os
import re
import subprocess
import sys
from itertools import pairwise

import numpy as np
import polars as pl
import pytest
import typer
from typer.testing import CliRunner

from condrisk.app.cli import EXIT_CODES, app

pytestmark = pytest.mark.usefixtures("quick_fits")


def rows(n=120):
    rng = np.random.default_rng(0)
    x = rng.normal(size=n)
    return pl.DataFrame({"x": x, "price": rng.integers(10, 99, n), "y": x + rng.normal(size=n)})


def call(*arguments, **options):
    return CliRunner().invoke(app, list(map(str, arguments)), **options)


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """Return a folder with a model and a table."""
    folder = tmp_path_factory.mktemp("home")
    rows().write_csv(folder / "rows.csv")
    options = ("--target", "y", "--cost", 1, "--predictor", "linear")
    done = call("fit", folder / "rows.csv", *options, "-o", folder / "model.skops")
    assert done.exit_code == 0, done.output
    return folder


@pytest.fixture(autouse=True)
def in_empty_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def commands(home, output=None):
    """Return a call of each command that writes something, and where it writes."""
    model, table = home / "model.skops", home / "rows.csv"
    fit = ("--target", "y", "--cost", 1, "--predictor", "linear")
    quick = ("--data", table, "--target", "y", "--cost", 1)
    return {
        "fit": (["fit", table, *fit, "-o", output or "m.skops"], "m.skops"),
        "score": (["score", model, table, "-o", output or "s.csv"], "s.csv"),
        "report": (["report", model, table, "-o", output or "r.html"], "r.html"),
        "compare": (["compare", model, model, table, "-o", output or "c.html"], "c.html"),
        "monitor": (["monitor", model, table, "-o", output or "mon"], "mon/monitoring.json"),
        "quickstart": (["quickstart", *quick, "--output", output or "q"], "q/results.json"),
        "export": (["export", model, "--check", table, "-o", output or "m.onnx"], "m.onnx"),
    }


COMMANDS = tuple(typer.main.get_command(app).commands)
NAMES = ("fit", "score", "report", "compare", "monitor", "quickstart", "export")

# -- outputs --------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_an_output_that_is_there_is_replaced_only_when_told(home, tmp_path, name):
    arguments, written = commands(home)[name]
    path = tmp_path / written
    path.parent.mkdir(exist_ok=True)
    path.write_text("old")
    done = call(*arguments)
    assert done.exit_code == 2
    assert "is there already" in done.stderr
    assert "--overwrite" in done.stderr
    assert path.read_text() == "old"
    done = call(*arguments, "--overwrite")
    assert done.exit_code == 0, done.output
    assert path.read_bytes() != b"old"


@pytest.mark.parametrize("name", NAMES)
def test_quiet_says_nothing_and_json_is_one_object(home, name):
    arguments, _ = commands(home)[name]
    done = call(*arguments, "--quiet")
    assert (done.exit_code, done.output) == (0, "")
    done = call(*arguments, "--json", "--overwrite")
    assert done.exit_code == 0, done.output
    assert isinstance(json.loads(done.stdout), dict)


def test_inspect_is_quiet_too(home):
    assert call("inspect", home / "model.skops", "--quiet").output == ""
    assert json.loads(call("inspect", home / "model.skops", "--json").stdout)["target"] == "y"


FOLDERS = ("monitor", "quickstart", "export")
BAD = ["nowhere/deep/x", ".", "/proc/version/x", "a\0b", "n" * 300, "loop", "/dev/full/x"]


@pytest.mark.parametrize("bad", BAD)
def test_no_path_ends_in_a_traceback(home, tmp_path, bad):
    (tmp_path / "loop").symlink_to("loop")
    model, table = home / "model.skops", home / "rows.csv"
    calls = [arguments for arguments, _ in commands(home, bad).values()]
    calls += [
        ["fit", bad, "--target", "y", "--cost", 1],
        ["inspect", bad],
        ["score", bad, table, "-o", "s.csv"],
        ["score", model, bad, "-o", "s.csv"],
        ["report", model, bad],
        ["report", bad],
        ["compare", bad, model, table],
        ["compare", model, bad, table],
        ["compare", model, model, bad],
        ["serve", bad],
        ["serve", model, "--token-file", bad],
        ["serve", model, "--report", bad],
        ["monitor", model, bad],
        ["monitor", model, table, "--reference", bad],
        ["export", bad, "-o", "m.onnx"],
        ["export", model, "-o", "m.onnx", "--check", bad],
        ["quickstart", "--data", bad, "--target", "y"],
    ]
    for arguments in calls:
        if bad in (".", "nowhere/deep/x") and arguments[0] in FOLDERS and bad == arguments[-1]:
            continue  # folders are what they make
        done = call(*arguments)
        assert done.exit_code == 2, (arguments, done.output, done.exception)
        assert isinstance(done.exception, SystemExit)
        assert len(done.stderr.strip().splitlines()) == 1 or "Usage: " in done.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["loop"]


# -- standard input and output --------------------------------------------------------------------


def test_rows_go_through_a_pipe(home):
    table = (home / "rows.csv").read_bytes() + b"many,5,1\n"
    command = [sys.executable, "-m", "condrisk", "score", home / "model.skops", "-", "-o", "-"]
    done = subprocess.run(command, input=table, capture_output=True, check=True)
    scored = pl.read_csv(done.stdout)
    assert scored.height == 120
    assert scored.columns == ["x", "price", "y", "prediction", "risk", "defer", "outside"]
    said = done.stderr.decode()
    assert "Row 121 is left out: column 'x' holds 'many', but it must be a number." in said
    assert "120 rows scored\n" in said
    assert call("score", home / "model.skops", home / "rows.csv", "-o", "file.csv").exit_code == 0
    assert pl.read_csv("file.csv").equals(scored)


def test_where_no_row_is_scored_the_exit_code_says_so(home, tmp_path):
    for name, text in {"bad.csv": "x,price\nmany,few\n", "none.csv": "x,price\n"}.items():
        (tmp_path / name).write_text(text)
        done = call("score", home / "model.skops", name, "-o", f"s-{name}")
        assert done.exit_code == 3
        assert "no row could be scored" in done.stderr


# -- words ----------------------------------------------------------------------------------------


def test_notes_are_on_stderr_and_in_json(tmp_path):
    rows().with_columns(
        customer_id=pl.arange(5, 125), cost="$" + pl.col("price").cast(pl.String) + ".5"
    ).write_csv("train.csv")
    options = ("--target", "y", "--cost", 1, "--predictor", "linear", "--json")
    done = call("fit", "train.csv", *options)
    notes = json.loads(done.stdout)["notes"]
    assert len(notes) == 2
    assert "column 'cost' is in $" in notes[0]
    assert "column 'customer_id' is left out" in notes[1]
    assert [f"Note: {note}." for note in notes] == done.stderr.splitlines()


def test_columns_can_be_dropped_or_named(home):
    fit = ("fit", home / "rows.csv", "--target", "y", "--cost", 1, "--predictor", "linear")
    for option, left in (("--drop", ["x"]), ("--only", ["price"])):
        done = call(*fit, option, "price", "--json", "--overwrite")
        columns = json.loads(done.stdout)["schema"]["columns"]
        assert [column["name"] for column in columns] == left
    done = call(*fit, "--drop", "prise", "--overwrite")
    assert "--drop 'prise' is not a column (did you mean 'price'?)" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("fit rows.csv --target y", "give --cost 0.1 "),
        ("fit rows.csv --target y --cost 1 --budget 0.1", "--cost and --budget exclude each other"),
        ("fit rows.csv --target y --cost 1 --cap 2", "--cap means nothing without --risk-target"),
        ("fit rows.csv --target y --cost 1 --drop x --only x", "--drop and --only exclude each"),
        ("fit rows.csv --target Y --cost 1", "(did you mean 'y'?)"),
        ("fit rows.csv --target y --cost 1 --sheet a", "--sheet a is for workbooks"),
        ("fit rows.csv --target y --cost 1 --query q", "is for a database, whose URL"),
        ("fit https://x.org/a.csv --target y --cost 1", "is not here: download it first"),
        ("score model.skops s3://b/a.csv -o s.csv", "is not here: download it first"),
        ("fit /dev/null --target y --cost 1", "Error: /dev/null is a device; a table is a file or"),
        ("fit rows.csv --target y --cost 1 --predictor x", "or module:object with --trust;"),
        ("fit rows.csv --target y --cost 1 --decimal x", "must be a point or a comma"),
        ("fit sqlite:///x.db --target y --cost 1", "such as --query 'SELECT"),
        ("fit open.csv --target y --cost 1", "say --decimal . or --decimal ,"),
        ("fit one.csv --target y --cost 1", "has one class only, 1."),
        ("fit same.csv --target y --cost 1", "target 'y' is 1.5 in every row: there is nothing"),
        (
            "fit rows.csv --target y --cost 1 --loss zero_one",
            "['squared_error', 'absolute_error'].",
        ),
        ("fit names.csv --target y --cost 1 --time a", "of 60 rows ('Bo'): fill them in"),
        ("quickstart --data rows.csv --dataset wine", "--data and --dataset exclude each other"),
        ("quickstart --sheet a", "--sheet means nothing without --data"),
        ("score model.skops rows.csv -o - --json", "give one of them"),
        ("score model.skops rows.csv -o s.csv --prefix= --cost 1 --scheduler a", "--engine dask"),
        ("score model.skops other.csv -o s.csv", "(did you mean 'Price'?)"),
    ],
)
def test_what_is_wrong_is_said_with_what_would_be_right(home, tmp_path, arguments, message):
    for name in ("rows.csv", "model.skops"):
        os.symlink(home / name, tmp_path / name)
    (tmp_path / "open.csv").write_text("a;y\n1.234;1\n2.345;2\n")
    (tmp_path / "one.csv").write_text("a,y\n" + "".join(f"{k % 7},1\n" for k in range(60)))
    (tmp_path / "same.csv").write_text("a,y\n" + "".join(f"{k % 7},1.5\n" for k in range(60)))
    (tmp_path / "names.csv").write_text("a,b,y\n" + "".join(f"Bo,{k % 7},{k}\n" for k in range(60)))
    (tmp_path / "other.csv").write_text("x,Price\n1,2\n")
    written = ("-o", "m.skops") if arguments.startswith("fit") else ()
    done = call(*arguments.split(), *written)
    assert done.exit_code == 2, done.output
    assert message in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert "=True" not in done.stderr


def test_predictions_are_written_as_the_labels_are(home, tmp_path):
    table = rows().with_columns(y=(pl.col("y") > 0).cast(pl.String).replace({"true": "True"}))
    table.with_columns(pl.col("y").replace({"false": "False"})).write_csv("train.csv")
    options = ("--target", "y", "--cost", 0.3, "--predictor", "linear", "-o", "m.skops")
    assert call("fit", "train.csv", *options).exit_code == 0
    assert call("score", "m.skops", "train.csv", "-o", "s.csv").exit_code == 0
    scored = pl.read_csv("s.csv", infer_schema=False)
    assert set(scored["prediction"]) == set(scored["y"]) == {"True", "False"}
    done = call("report", "m.skops", "train.csv", "--json")
    agree = (scored["prediction"] != scored["y"]).mean()
    assert json.loads(done.stdout)["never"] == pytest.approx(agree)


def test_control_c_says_what_is_kept(home, monkeypatch):
    def stop(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("condrisk.app.tables.read_noted", stop)
    done = call("fit", home / "rows.csv", "--target", "y", "--cost", 1)
    assert done.exit_code == 130
    assert done.stderr.strip() == "Stopped. Nothing was written."
    monkeypatch.setattr("condrisk.app.scoring.score_file", stop)
    done = call("score", home / "model.skops", home / "rows.csv", "-o", "s.csv")
    assert done.exit_code == 130
    assert "is kept in s.csv.parts: the same command goes on from here" in done.stderr


# -- help -----------------------------------------------------------------------------------------


def helps():
    """Yield what each command says of itself in 80 columns."""
    yield "condrisk", call("--help", env={"COLUMNS": "80"}).stdout
    for name in COMMANDS:
        yield name, call(name, "--help", env={"COLUMNS": "80"}).stdout


def test_help_fits_80_columns_and_breaks_lines_only_where_they_are_full():
    for name, text in helps():
        assert max(map(len, text.splitlines())) <= 80, name
        before_options = text.split("\nOptions:")[0].split("\nArguments:")[0]
        for paragraph in before_options.split("\n\n")[1:]:
            # An example has lines of its own.
            if "condrisk " in paragraph.splitlines()[-1] or "Example:" in paragraph:
                continue
            for line, following in pairwise(paragraph.strip("\n").splitlines()):
                assert len(line) + 1 + len(following.split()[0]) > 76, (name, line)


def test_groups_of_commands_are_told_in_whole_sentences():
    text = call("reproduce", "--help", env={"COLUMNS": "80"}).stdout
    assert "..." not in text.split("Commands:")[1]


def test_help_names_the_exit_codes_that_there_are():
    text = call("--help").stdout
    codes = re.findall(r"^  (\d+) ", EXIT_CODES, re.MULTILINE)
    assert codes == ["0", "1", "2", "3", "130"]  # each is met in a test above
    assert all(line.strip() in text for line in EXIT_CODES.splitlines())


@pytest.mark.parametrize(
    ("words", "wanted"),
    [("condrisk mon", ["monitor"]), ("condrisk fit rows.csv --dec", ["--decimal"])],
)
def test_the_shell_completes_commands_and_options(words, wanted):
    environment = os.environ | {
        "_CONDRISK_COMPLETE": "complete_bash",
        "COMP_WORDS": words,
        "COMP_CWORD": str(len(words.split()) - 1),
    }
    code = "import sys; sys.argv = ['condrisk']; from condrisk.app.cli import app; app()"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=False
    )
    assert done.stdout.split() == wanted


def test_every_command_that_prints_results_can_be_quiet_and_speak_json():
    for name in COMMANDS:
        if name != "reproduce":
            command = typer.main.get_command(app).commands[name].load()
            options = {option for p in command.params for option in p.opts}
            assert {"--quiet", "--json"} <= options, name
