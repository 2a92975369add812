"""`condrisk quickstart`: the main job on embedded data, or on a table of one's own."""

from __future__ import annotations

import json
import os
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.syntax import Syntax
from rich.table import Table as RichTable

import condrisk
from condrisk.app.cli import _job
from condrisk.app.cli._table import Table, TableError, embedded_table, read_table
from condrisk.datasets import UCI_NAMES
from condrisk.losses import LOSSES, get_loss

_FIGURES = ("risk_coverage", "risk_calibration", "cost_curve", "risk_profile")


class Task(StrEnum):
    """What kind of target it is."""

    regression = "regression"
    classification = "classification"


def quickstart(
    data: Annotated[
        Path | None,
        typer.Option(help="A CSV file with a header, instead of the embedded data.", metavar="CSV"),
    ] = None,
    target: Annotated[
        str | None, typer.Option(help="The column to predict; needed with --data.")
    ] = None,
    task: Annotated[
        Task | None, typer.Option(help="The kind of target; told from the column unless given.")
    ] = None,
    dataset: Annotated[
        str, typer.Option(help=f"An embedded set: {', '.join(UCI_NAMES)}.")
    ] = "energy",
    loss: Annotated[
        str | None,
        typer.Option(
            help=f"What an error costs: {', '.join(LOSSES)}. "
            "By default squared_error, or zero_one for classes."
        ),
    ] = None,
    cost: Annotated[
        list[float] | None,
        typer.Option(help="A price of asking, in units of the loss; may be given several times."),
    ] = None,
    output: Annotated[Path, typer.Option(help="The folder for figures, results and code.")] = Path(
        "condrisk-quickstart"
    ),
) -> None:
    """Fit a predictor, estimate its risk row by row, defer at several prices, and show it all.

    Three quarters of the rows are fitted on, by five-fold cross-fitting; every number shown is
    of the other quarter.

    On your own table: condrisk quickstart --data patients.csv --target outcome --cost 0.1
    """
    console = Console()
    try:
        table = _table(data, target, task, dataset)
        loss = get_loss(loss, task=table.task).name
        if any(price < 0 for price in cost or []):
            raise TableError("--cost is a price and must not be negative.")
    except ValueError as error:
        Console(stderr=True).print(f"[bold red]Error:[/] {escape(str(error))}", highlight=False)
        raise typer.Exit(2) from None
    with _progress(console) as progress:
        step = progress.add_task("", total=None)
        result = _job.run(
            table,
            loss=loss,
            costs=sorted(cost) if cost else None,
            tell=lambda what: progress.update(step, description=what),
        )
        progress.update(step, description="drawing figures")
        written = _write(result, output)
    _show(console, result, written)


def _table(data: Path | None, target: str | None, task: Task | None, dataset: str) -> Table:
    wanted: Any = None if task is None else task.value
    if data is None:
        return embedded_table(dataset, target, wanted)
    if target is None:
        raise TableError("--data needs --target, the column to predict.")
    return read_table(data, target, wanted)


def _progress(console: Console) -> Progress:
    return Progress(
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        TimeElapsedColumn(),
        console=console,
        transient=True,
    )


# -- files --------------------------------------------------------------------------------------


def _write(result: _job.Result, folder: Path) -> list[Path]:
    """Write results, code and figures, each whole or not at all."""
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("*.png"):
        if old.stem in _FIGURES:  # of an earlier run, perhaps of another table
            old.unlink()
    record = {
        "condrisk": condrisk.__version__,
        "data": result.table.name,
        "task": result.table.task,
        "target": result.table.target,
        "loss": result.loss,
        "rows": {"train": result.n_train, "test": len(result.y_test)},
        "deferral": result.deferral_rows(),
        "risk": result.error_rows(),
    }
    written = [
        _write_text(folder / "results.json", json.dumps(record, indent=2) + "\n"),
        _write_text(folder / "quickstart.py", _job.code(result)),
    ]
    return written + _draw(result, folder)


def _write_text(path: Path, text: str) -> Path:
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    draft.write_text(text, encoding="utf-8")
    draft.replace(path)
    return path


def _draw(result: _job.Result, folder: Path) -> list[Path]:
    """Draw the figures, or none where matplotlib is missing."""
    try:
        import matplotlib as mpl
    except ImportError:
        return []
    from condrisk.app.cli._figures import draw

    with mpl.rc_context(), mpl.rc_context({"backend": "Agg"}):
        return draw(result, folder)


# -- the terminal ---------------------------------------------------------------------------------


def _show(console: Console, result: _job.Result, written: list[Path]) -> None:
    # Names of files and columns are the user's: none of them is markup.
    say = partial(console.print, markup=False, highlight=False, soft_wrap=True)
    table = result.table
    say(
        f"\n{table.name}: {table.task} of {table.target}, "
        f"{result.n_train} rows to fit on, {len(result.y_test)} to test on, "
        f"{table.X.shape[1]} features, loss {result.loss}",
        style="bold",
    )
    for note in table.notes:
        say(f"  note: {note}")
    console.print(_deferral_table(result))
    console.print(_error_table(result))
    console.print(
        "\nThe price is what asking an expert costs, in units of the loss. A row is accepted if "
        "its estimated risk is at most the price. The oracle knows each loss beforehand: no rule "
        "can beat it. L² is least for the true risk; the noise of single losses keeps it far "
        "from zero even there.",
        highlight=False,
    )
    console.print("\n[bold]The same in Python[/]")
    console.print(Syntax(_job.code(result), "python", background_color="default", word_wrap=True))
    names = ", ".join(path.name for path in written)
    say(f"Written to {written[0].parent}/: {names}")
    if not any(path.suffix == ".png" for path in written):
        say("No figures: they need matplotlib, as in pip install 'condrisk[plots]'.")


def _deferral_table(result: _job.Result) -> RichTable:
    table = RichTable(title="Mean deferral loss on the test rows", title_justify="left")
    for name in ("price", "always ask", "never ask"):
        table.add_column(name, justify="right")
    for estimate in result.estimates:
        table.add_column(f"{estimate.name}\n(accepted)", justify="right", style="bold")
    table.add_column("oracle", justify="right")
    for row in result.deferral_rows():
        cells = [f"{row[key]:.4g}" for key in ("cost", "always_defer", "never_defer")]
        cells += [
            f"{row[e.name + '_loss']:.4g} ({row[e.name + '_coverage']:4.0%})"
            for e in result.estimates
        ]
        table.add_row(*cells, f"{row['oracle']:.4g}")
    return table


def _error_table(result: _job.Result) -> RichTable:
    table = RichTable(title="Estimated risk against realised loss", title_justify="left")
    for name in ("estimate", "mean", "L¹ error", "L² error", "AURC"):
        table.add_column(name, justify="left" if name == "estimate" else "right")
    for row in result.error_rows():
        cells = [f"{row[key]:.4g}" for key in ("mean", "L1", "L2", "aurc")]
        table.add_row(row["estimate"], *cells)
    table.add_row("[dim]realised loss[/]", f"{result.realised.mean():.4g}", "", "", "")
    return table
