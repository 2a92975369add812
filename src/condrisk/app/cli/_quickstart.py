"""`condrisk quickstart`: the main job on embedded data, or on a table of one's own."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.syntax import Syntax
from rich.table import Table as RichTable

import condrisk
from condrisk.app._paths import check_inputs
from condrisk.app.cli._terminal import Task, progress, say, user_errors

if TYPE_CHECKING:
    from condrisk.app.cli._job import Data, Result

_FIGURES = ("risk_coverage", "risk_calibration", "cost_curve", "risk_profile")
# Written out: the packages that know them take longer to import than the help to read.
_SETS = "airfoil, concrete, energy, forest, housing, parkinsons, solar, wine"
_LOSSES = "squared_error, absolute_error, zero_one, log_loss, brier"


def quickstart(
    data: Annotated[
        Path | None,
        typer.Option(
            help="A table of your own, instead of the embedded data: CSV with a header, Parquet "
            "or Arrow.",
            metavar="TABLE",
        ),
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
        typer.Option(help="A cost of deferring a row, in units of the loss; may be repeated."),
    ] = None,
    output: Annotated[
        Path, typer.Option(help="The folder for the page, figures, results and code.")
    ] = Path("condrisk-quickstart"),
) -> None:
    """Fit a predictor, estimate its risk row by row, defer at several costs, and show it all.

    It is what `condrisk fit` and `condrisk report` do, in one step. Three quarters of the rows are
    fitted on; every number shown is of the other quarter.

    On your own table: condrisk quickstart --data patients.csv --target outcome --cost 0.1
    """
    with user_errors():
        check_inputs(None, data)
        if data is not None and target is None:
            raise ValueError("--data needs --target, the column to predict.")
        if any(not 0 <= value < math.inf for value in cost or []):
            raise ValueError("--cost must be a number of at least 0.")
        with progress("starting") as update:
            from condrisk.app.cli import _job

            table = _data(data, target, None if task is None else task.value, dataset)
            costs = sorted(set(cost)) if cost else None
            result = _job.run(table, loss=loss, costs=costs, progress=update)
            update("drawing figures")
            written = _write(result, output)
    _show(result, written)


def _data(data: Path | None, target: str | None, task: Any, dataset: str) -> Data:
    from condrisk.app.cli._job import embedded_data, users_data

    if data is None or target is None:
        return embedded_data(dataset, target, task)
    return users_data(data, target, task)


# -- files --------------------------------------------------------------------------------------


def _write(result: Result, folder: Path) -> list[Path]:
    """Write results, code, page and figures, each whole or not at all."""
    import matplotlib as mpl

    from condrisk._files import write_whole
    from condrisk.app.cli._figures import draw
    from condrisk.app.report import render

    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("*.png"):
        if old.stem in _FIGURES:  # of an earlier run, perhaps of another table
            old.unlink()
    manifest = result.model.manifest
    record = {
        "condrisk": condrisk.__version__,
        "data": result.data.name,
        "task": manifest["task"],
        "target": manifest["target"],
        "loss": manifest["loss"],
        "rows": {"train": result.n_train, "test": len(result.loss)},
        "deferral": result.deferral_rows(),
        "risk": result.error_rows(),
    }
    texts = {
        "results.json": json.dumps(record, indent=2) + "\n",
        "quickstart.py": result.code(),
        "report.html": render(result.report),
    }
    for name, text in texts.items():
        write_whole(folder / name, text)
    with mpl.rc_context(), mpl.rc_context({"backend": "Agg"}):
        return [*(folder / name for name in texts), *draw(result, folder)]


# -- the terminal ---------------------------------------------------------------------------------


def _show(result: Result, written: list[Path]) -> None:
    console, manifest = Console(), result.model.manifest
    console.print()
    say(
        f"{result.data.name}: {manifest['task']} of {manifest['target']}, "
        f"{result.n_train:,} rows to fit on, {len(result.loss):,} to test on, "
        f"{len(result.model.schema.columns)} features, loss {manifest['loss']}",
        style="bold",
    )
    for note in result.data.notes:
        say(f"  note: {note}")
    console.print(_deferral_table(result))
    console.print(_error_table(result))
    console.print(
        "\nThe cost is what deferring a row to an expert costs, in units of the loss. A row is "
        "accepted if its estimated risk is at most the cost. The oracle knows each loss "
        "beforehand: no rule can beat it. L² is least for the true risk; the noise of single "
        "losses keeps it far from zero even there.",
        highlight=False,
    )
    console.print("\n[bold]The same in Python[/]")
    console.print(Syntax(result.code(), "python", background_color="default", word_wrap=True))
    say(f"Written to {written[0].parent}/: {', '.join(path.name for path in written)}")


def _deferral_table(result: Result) -> RichTable:
    table = RichTable(title="Mean deferral loss on the test rows", title_justify="left")
    for name in ("cost", "always defer", "never defer"):
        table.add_column(name, justify="right")
    table.add_column(f"{result.name}\n(accepted)", justify="right", style="bold")
    table.add_column("oracle", justify="right")
    for row in result.deferral_rows():
        cells = [f"{row[key]:.4g}" for key in ("cost", "always_defer", "never_defer")]
        accepted = f"{row[f'{result.name}_loss']:.4g} ({row[f'{result.name}_coverage']:4.0%})"
        table.add_row(*cells, accepted, f"{row['oracle']:.4g}")
    return table


def _error_table(result: Result) -> RichTable:
    table = RichTable(title="Estimated risk against realised loss", title_justify="left")
    for name in ("estimate", "mean", "L¹ error", "L² error", "AURC"):
        table.add_column(name, justify="left" if name == "estimate" else "right")
    for row in result.error_rows():
        cells = [f"{row[key]:.4g}" for key in ("mean", "L1", "L2", "aurc")]
        table.add_row(row["estimate"], *cells)
    table.add_row("[dim]realised loss[/]", f"{result.loss.mean():.4g}", "", "", "")
    return table
