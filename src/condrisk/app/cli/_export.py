"""`condrisk export`: a model for where condrisk is not."""

from __future__ import annotations

import json
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape


class Kind(StrEnum):
    """What to make of the model."""

    onnx = "onnx"
    mlflow = "mlflow"


def export(
    model: Annotated[Path, typer.Argument(help="A model file that condrisk fit has written.")],
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
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object instead of sentences.")
    ] = False,
) -> None:
    """Write predictor, risk and decision as one ONNX graph, or as an MLflow model.

    The graph has an input for each column and the outputs prediction, risk and defer. It is
    compared with Python row by row before it is written.

    For example: condrisk export model.skops -o model.onnx --check new.csv
    """
    from condrisk.app.export import ExportError
    from condrisk.app.models import ModelFileError
    from condrisk.app.tables import TableError

    wanted = kind or (Kind.onnx if output.suffix == ".onnx" else Kind.mlflow)
    console = Console(stderr=True)
    try:
        with console.status("exporting"):
            found = (
                _to_onnx(model, output, check) if wanted == Kind.onnx else _mlflow(model, output)
            )
    except (ExportError, ModelFileError, TableError, OSError) as error:
        console.print(f"[bold red]Error:[/] {escape(str(error))}", highlight=False)
        raise typer.Exit(2) from None
    if as_json:
        typer.echo(json.dumps(found))
    else:
        for line in _lines(found):
            typer.echo(line)


def _to_onnx(model: Path, output: Path, check: Path | None) -> dict[str, Any]:
    from condrisk.app.export import check_onnx, to_onnx
    from condrisk.app.export._check import TOLERANCE, random_rows
    from condrisk.app.models import load_model
    from condrisk.app.tables import read_table

    loaded = load_model(model)
    rows = random_rows(loaded.schema) if check is None else read_table(check)
    graph = to_onnx(loaded, check=rows)
    found = check_onnx(graph, loaded, rows)
    _write(output, graph.SerializeToString())
    return {
        "format": "onnx",
        "written": str(output),
        "inputs": [item.name for item in graph.graph.input],
        "outputs": [item.name for item in graph.graph.output],
        "rows_compared": found.rows,
        "tolerance": TOLERANCE,
        "largest_difference": found.largest * TOLERANCE,
        "too_close_to_call": len(found.close),
    }


def _write(path: Path, content: bytes) -> None:
    """Write a file whole or not at all."""
    import os
    from secrets import token_hex

    draft = path.with_name(f".{path.name}.{token_hex(4)}.tmp")
    try:
        with open(draft, "xb") as file:
            file.write(content)
        os.replace(draft, path)
    finally:
        draft.unlink(missing_ok=True)


def _mlflow(model: Path, output: Path) -> dict[str, Any]:
    from condrisk.app.export import save_mlflow
    from condrisk.app.models import load_model

    written = save_mlflow(load_model(model), output)
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
