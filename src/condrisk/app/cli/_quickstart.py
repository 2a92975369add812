"""`condrisk quickstart`: the main job on embedded data, or on a table of one's own."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.syntax import Syntax
from rich.table import Table as RichTable

import condrisk
from condrisk.app.cli._terminal import Task, progress, say, user_errors

if TYPE_CHECKING:
    from condrisk.app.cli._job import Result
    from condrisk.app.cli._table import Table

_FIGURES = ("risk_coverage", "risk_calibration", "cost_curve", "risk_profile")
# Written out: the packages that know them take longer to import than the help to read.
_SETS = "airfoil, concrete, energy, forest, housing, parkinsons, solar, wine"
_LOSSES = "squared_error, absolute_error, zero_one, log_loss, brier"


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
    dataset: Annotated[str, typer.Option(help=f"An embedded set: {_SETS}.")] = "energy",
    loss: Annotated[
        str | None,
        typer.Option(
            help=f"What an error costs: {_LOSSES}. "
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
    with user_errors():
        if data is not None and not data.is_file():
            raise ValueError(f"--data {data} does not exist.")
        if data is not None and target is None:
            raise ValueError("--data needs --target, the column to predict.")
        if any(price < 0 for price in cost or []):
            raise ValueError("--cost is a price and must not be negative.")
        table = _table(data, target, None if task is None else task.value, dataset)
        with progress("starting") as update:
            from condrisk.app.cli import _job

            result = _job.run(
                table, loss=loss, costs=sorted(cost) if cost else None, progress=update
            )
            update("drawing figures")
            written = _write(result, output)
    _show(result, written)


def _table(data: Path | None, target: str | None, task: Any, dataset: str) -> Table:
    from condrisk.app.cli._table import embedded_table, read_table

    if data is None or target is None:
        return embedded_table(dataset, target, task)
    return read_table(data, target, task)


# -- files --------------------------------------------------------------------------------------


def _write(result: Result, folder: Path) -> list[Path]:
    """Write results, code and figures, each whole or not at all."""
    import matplotlib as mpl

    from condrisk._files import write_whole
    from condrisk.app.cli._figures import draw

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
    write_whole(folder / "results.json", json.dumps(record, indent=2) + "\n")
    write_whole(folder / "quickstart.py", result.code())
    with mpl.rc_context(), mpl.rc_context({"backend": "Agg"}):
        return [folder / "results.json", folder / "quickstart.py", *draw(result, folder)]


# -- the terminal ---------------------------------------------------------------------------------


def _show(result: Result, written: list[Path]) -> None:
    console, table = Console(), result.table
    console.print()
    say(
        f"{table.name}: {table.task} of {table.target}, "
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
    console.print(Syntax(result.code(), "python", background_color="default", word_wrap=True))
    say(f"Written to {written[0].parent}/: {', '.join(path.name for path in written)}")


def _deferral_table(result: Result) -> RichTable:
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


def _error_table(result: Result) -> RichTable:
    table = RichTable(title="Estimated risk against realised loss", title_justify="left")
    for name in ("estimate", "mean", "L¹ error", "L² error", "AURC"):
        table.add_column(name, justify="left" if name == "estimate" else "right")
    for row in result.error_rows():
        cells = [f"{row[key]:.4g}" for key in ("mean", "L1", "L2", "aurc")]
        table.add_row(row["estimate"], *cells)
    table.add_row("[dim]realised loss[/]", f"{result.realised.mean():.4g}", "", "", "")
    return table
