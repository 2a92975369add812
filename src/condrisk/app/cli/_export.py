"""`condrisk export`: a model for where condrisk is not."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from condrisk.app._paths import check_inputs
from condrisk.app.cli._terminal import (
    Trust,
    check_output,
    print_json,
    progress,
    say,
    trusted_names,
    user_errors,
)

if TYPE_CHECKING:
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
        typer.Option(
            "--output", "-o", help="A file for ONNX; for MLflow a folder that does not exist."
        ),
    ],
    kind: Annotated[
        Kind | None,
        typer.Option(
            "--format", help="What to write; without it a name that ends in .onnx means onnx."
        ),
    ] = None,
    check: Annotated[
        Path | None,
        typer.Option(
            help="For ONNX: a table on whose rows the graph is compared with Python; 2,000 random "
            "rows if not given."
        ),
    ] = None,
    trust: Trust = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object instead of sentences.")
    ] = False,
) -> None:
    """Write predictor, risk and decision as one ONNX graph, or as an MLflow model.

    The graph has an input for each column and the outputs prediction, risk and defer. It is
    compared with Python row by row before it is written.

    For example: condrisk export model.skops -o model.onnx --check new.csv
    """
    wanted = kind or (Kind.onnx if output.suffix == ".onnx" else Kind.mlflow)
    with user_errors():
        check_inputs(model, check)
        if wanted == Kind.onnx:
            check_output(output)
        with progress("exporting"):
            from condrisk.app.models import open_model

            loaded = open_model(model, trusted=trusted_names(trust))
            found = (
                _to_onnx(loaded, output, check) if wanted == Kind.onnx else _mlflow(loaded, output)
            )
    if as_json:
        print_json(found)
    else:
        for line in _lines(found):
            say(line)


def _to_onnx(model: TableModel, output: Path, check: Path | None) -> dict[str, Any]:
    from condrisk._files import write_whole
    from condrisk.app.export import check_onnx, to_onnx
    from condrisk.app.tables import read_table

    rows = None if check is None else read_table(check)
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


def _mlflow(model: TableModel, output: Path) -> dict[str, Any]:
    from condrisk.app.export import save_mlflow

    written = save_mlflow(model, output)
    return {"format": "mlflow", "written": str(written)}


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
