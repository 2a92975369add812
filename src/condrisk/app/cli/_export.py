"""`condrisk export`: a model for where condrisk is not."""

from __future__ import annotations

import logging
from enum import StrEnum
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Any

import typer

from condrisk.app._paths import (
    check_inputs,
    check_new_folder,
    check_output,
    check_output_folder,
)
from condrisk.app.cli._tables import (
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
    Trust,
    note,
    print_json,
    progress,
    say,
    trusted_names,
    user_errors,
)

if TYPE_CHECKING:
    from condrisk.app._table_options import TableOptions
    from condrisk.app.models import TableModel


class Kind(StrEnum):
    """What to make of the model."""

    onnx = "onnx"
    mlflow = "mlflow"


def export(
    model: Annotated[
        Path, typer.Argument(help="A model file, as condrisk fit or save_model writes it.")
    ],
    output: Annotated[
        Path,
        typer.Option("--output", "-o", help="A file for ONNX; for MLflow a folder."),
    ],
    kind: Annotated[
        Kind | None,
        typer.Option(
            "--format",
            help="What to write; without it a name that ends in .onnx means onnx, and one without "
            "an ending mlflow.",
        ),
    ] = None,
    check: Annotated[
        Source | None,
        typer.Option(
            help="For ONNX: a table on whose rows the graph is compared with Python; 2,000 random "
            "rows if not given.",
            metavar="TABLE",
            parser=parse_source,
        ),
    ] = None,
    sheet: Sheet = None,
    query: Query = None,
    decimal: Decimal = None,
    date_format: DateFormats = None,
    trust: Trust = None,
    overwrite: Overwrite = False,
    quiet: Quiet = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object instead of sentences.")
    ] = False,
) -> None:
    """Write predictor, risk and decision as one ONNX graph, or as an MLflow model.

    The graph has an input for each column and the outputs prediction, risk and defer. It is
    compared with Python row by row before it is written.

    For example: condrisk export model.skops -o model.onnx --check new.csv
    """
    with user_errors():
        wanted = kind or _kind_of(output)
        options = table_options(sheet, query, decimal, date_format)
        check_inputs(model, check, options=options)
        if wanted == Kind.onnx:
            check_output(output, overwrite=overwrite)
        else:
            _check_folder(output, overwrite=overwrite)
        with progress("exporting"):
            from condrisk.app.models import open_model

            loaded = open_model(model, trusted=trusted_names(trust))
            found = (
                _to_onnx(loaded, output, check, options)
                if wanted == Kind.onnx
                else _mlflow(loaded, output, overwrite=overwrite)
            )
    if as_json:
        print_json(found)
    else:
        for line in _lines(found):
            say(line)


def _to_onnx(
    model: TableModel, output: Path, check: Path | None, options: TableOptions
) -> dict[str, Any]:
    from condrisk._files import write_whole
    from condrisk.app.export import check_onnx, to_onnx
    from condrisk.app.tables import read_table

    rows = None
    if check is not None:
        rows = read_table(check, options=options, schema=model.schema, note=note)
    graph = to_onnx(model, check=rows)
    found = check_onnx(graph, model, rows)
    write_whole(output, graph.SerializeToString())
    return {
        "format": "onnx",
        "written": str(output),
        "inputs": [item.name for item in graph.graph.input],
        "outputs": [item.name for item in graph.graph.output],
        "rows_compared": found.rows,
        "tolerance": found.tolerance,
        "largest_difference": found.largest * found.tolerance,
        "too_close_to_call": len(found.close),
    }


def _kind_of(output: Path) -> Kind:
    """Tell by its name what to write: a file of ONNX, or a folder."""
    if output.suffix and output.suffix != ".onnx":
        raise ValueError(f"{output} tells no format: end it in .onnx, or give --format.")
    return Kind.onnx if output.suffix else Kind.mlflow


def _check_folder(output: Path, *, overwrite: bool) -> None:
    """Refuse a folder that is there, unless it is a model of MLflow that is to be replaced."""
    if not overwrite or not output.exists():
        check_output_folder(output, "MLmodel", overwrite=False)
        check_new_folder(output)
    elif not (output / "MLmodel").is_file():
        raise ValueError(f"{output} is there already, and is no model of MLflow to replace.")


def _mlflow(model: TableModel, output: Path, *, overwrite: bool) -> dict[str, Any]:
    from condrisk.app.export import save_mlflow

    logging.getLogger("mlflow").setLevel(logging.WARNING)  # it tells of its own checks
    if not overwrite or not output.exists():
        save_mlflow(model, output)
    else:
        # The earlier one stays until the new one is whole.
        with TemporaryDirectory(prefix=".condrisk-", dir=output.resolve().parent) as folder:
            made = save_mlflow(model, Path(folder) / "new")
            output.rename(Path(folder) / "old")
            made.rename(output)
    return {"format": "mlflow", "written": str(output)}


def _lines(found: dict[str, Any]) -> list[str]:
    if found["format"] == "mlflow":
        return [
            f"Written to {found['written']}: mlflow.pyfunc.load_model gives a model whose predict "
            f"returns prediction, risk and defer."
        ]
    lines = [
        f"Compared with Python on {found['rows_compared']:,} rows: the same, within "
        f"{found['tolerance']:g} of each number (largest difference "
        f"{found['largest_difference']:.1g}).",
        f"Written to {found['written']}: inputs {', '.join(found['inputs'])}; outputs "
        f"{', '.join(found['outputs'])}.",
    ]
    if found["too_close_to_call"]:
        lines.insert(
            1,
            f"{found['too_close_to_call']:,} of the rows are within that tolerance of the "
            f"threshold, or of two classes: they may come out either way.",
        )
    return lines
