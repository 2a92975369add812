"""`condrisk quickstart`: the main job on embedded data, or on a table of one's own."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.syntax import Syntax
from rich.table import Table as RichTable

import condrisk
from condrisk.app._numbers import Amounts
from condrisk.app._paths import check_inputs, check_output_folder
from condrisk.app.cli._tables import (
    TABLE_HELP,
    DateFormats,
    Decimal,
    Query,
    Sheet,
    Source,
    parse_source,
    table_options,
)
from condrisk.app.cli._terminal import (
    Overwrite,
    Quiet,
    Task,
    exclusive,
    needs,
    note,
    print_json,
    progress,
    say,
    show,
    user_errors,
)

if TYPE_CHECKING:
    from condrisk.app._table_options import TableOptions
    from condrisk.app.cli._job import Data, Result

_FIGURES = ("risk_coverage", "risk_calibration", "cost_curve", "risk_profile")
# Written out: the packages that know them take longer to import than the help to read.
_SETS = "airfoil, concrete, energy, forest, housing, parkinsons, solar, wine"
_LOSSES = "squared_error, absolute_error, zero_one, log_loss, brier"


def quickstart(
    data: Annotated[
        Source | None,
        typer.Option(
            help=f"A table of your own, instead of the embedded data. {TABLE_HELP}",
            metavar="TABLE",
            parser=parse_source,
        ),
    ] = None,
    target: Annotated[
        str | None, typer.Option(help="The column to predict; needed with --data.")
    ] = None,
    task: Annotated[
        Task | None, typer.Option(help="The kind of target; told from the column unless given.")
    ] = None,
    dataset: Annotated[
        str | None, typer.Option(help=f"An embedded set: {_SETS}. Default: energy.")
    ] = None,
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
    sheet: Sheet = None,
    query: Query = None,
    decimal: Decimal = None,
    date_format: DateFormats = None,
    overwrite: Overwrite = False,
    quiet: Quiet = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print figures and notes as one JSON object.")
    ] = False,
) -> None:
    """Fit a predictor, estimate its risk row by row, defer at several costs, and show it all.

    It is what `condrisk fit` and `condrisk report` do, in one step. Three quarters of the rows are
    fitted on; every number shown is of the other quarter.

    On your own table: condrisk quickstart --data patients.csv --target outcome --cost 0.1
    """
    with user_errors():
        exclusive(data=data, dataset=dataset)
        options = table_options(sheet, query, decimal, date_format)
        if data is None:
            needs("--data", sheet=sheet, query=query, decimal=decimal, date_format=date_format)
        check_inputs(None, data, options=options)
        check_output_folder(output, "results.json", overwrite=overwrite)
        if data is not None and target is None:
            raise ValueError("--data needs --target, the column to predict.")
        if any(not 0 <= value < math.inf for value in cost or []):
            raise ValueError("--cost must be a number of at least 0.")
        with progress("starting") as update:
            from condrisk.app.cli import _job

            table = _data(data, target, None if task is None else task.value, dataset, options)
            costs = sorted(set(cost)) if cost else None
            result = _job.run(table, loss=loss, costs=costs, progress=update)
            update("drawing figures")
            written = _write(result, output)
            record = _record(result)
    if as_json:
        paths = [str(path) for path in written]
        print_json(record | {"notes": result.data.notes, "written": paths})
    else:
        _show(result, written)


def _data(
    data: Path | None, target: str | None, task: Any, dataset: str | None, options: TableOptions
) -> Data:
    from condrisk.app.cli._job import embedded_data, users_data

    if data is None or target is None:
        return embedded_data(dataset or "energy", target, task)
    return users_data(data, target, task, options, note=note)


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
    texts = {
        "results.json": json.dumps(_record(result), indent=2) + "\n",
        "quickstart.py": result.code(),
        "report.html": render(result.report),
    }
    for name, text in texts.items():
        write_whole(folder / name, text)
    with mpl.rc_context(), mpl.rc_context({"backend": "Agg"}):
        return [*(folder / name for name in texts), *draw(result, folder)]


def _record(result: Result) -> dict[str, Any]:
    manifest = result.model.manifest
    return {
        "condrisk": condrisk.__version__,
        "data": result.data.name,
        "task": manifest["task"],
        "target": manifest["target"],
        "loss": manifest["loss"],
        "rows": {"train": result.n_train, "test": len(result.loss)},
        "deferral": result.deferral_rows(),
        "risk": result.error_rows(),
    }


# -- the terminal ---------------------------------------------------------------------------------


def _show(result: Result, written: list[Path]) -> None:
    manifest = result.model.manifest
    show()
    say(
        f"{result.data.name}: {manifest['task']} of {manifest['target']}, "
        f"{result.n_train:,} rows to fit on, {len(result.loss):,} to test on, "
        f"{len(result.model.schema.columns)} features, loss {manifest['loss']}",
        style="bold",
    )
    show(_deferral_table(result))
    show(_error_table(result))
    show(
        "\nThe cost is what deferring a row to an expert costs, in units of the loss. A row is "
        "accepted if its estimated risk is at most the cost. The oracle knows each loss "
        "beforehand: no rule can beat it. L² is least for the true risk; the noise of single "
        "losses keeps it far from zero even there.",
        highlight=False,
    )
    show("\n[bold]The same in Python[/]")
    show(Syntax(result.code(), "python", background_color="default", word_wrap=True))
    say(f"Written to {written[0].parent}/: {', '.join(path.name for path in written)}")


def _deferral_table(result: Result) -> RichTable:
    table = RichTable(title="Mean deferral loss on the test rows", title_justify="left")
    for name in ("cost", "always defer", "never defer"):
        table.add_column(name, justify="right")
    table.add_column(f"{result.name}\n(accepted)", justify="right", style="bold")
    table.add_column("oracle", justify="right")
    for row in result.deferral_rows():
        cells = [_amount(result, row[key]) for key in ("cost", "always_defer", "never_defer")]
        paid, coverage = row[f"{result.name}_loss"], row[f"{result.name}_coverage"]
        accepted = f"{_amount(result, paid)} ({coverage:4.0%})"
        table.add_row(*cells, accepted, _amount(result, row["oracle"]))
    return table


def _error_table(result: Result) -> RichTable:
    table = RichTable(title="Estimated risk against realised loss", title_justify="left")
    for name in ("estimate", "mean", "L¹ error", "L² error", "AURC"):
        table.add_column(name, justify="left" if name == "estimate" else "right")
    for row in result.error_rows():
        cells = [_amount(result, row[key]) for key in ("mean", "L1", "L2", "aurc")]
        table.add_row(row["estimate"], *cells)
    table.add_row("[dim]realised loss[/]", _amount(result, result.loss.mean()), "", "", "")
    return table


def _amount(result: Result, value: float) -> str:
    """Return an amount of the loss; a terminal needs no space that does not break."""
    return Amounts(result.model.manifest["loss"]).text(value).replace("\u00a0", " ")
