"""`condrisk fit`: from a table to a model file."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from condrisk.app._paths import check_inputs
from condrisk.app.cli._terminal import (
    Task,
    check_output,
    print_json,
    progress,
    say,
    show_figures,
    user_errors,
)


def fit(
    table: Annotated[
        Path, typer.Argument(help="CSV with a header, Parquet or Arrow.", metavar="TABLE")
    ],
    target: Annotated[str, typer.Option(help="The column to predict.")],
    task: Annotated[
        Task | None,
        typer.Option(
            help="The kind of target; told from the column unless given: text, booleans and at "
            "most ten whole numbers are classes."
        ),
    ] = None,
    loss: Annotated[
        str | None,
        typer.Option(
            help="What an error costs: squared_error (for numbers the default), absolute_error, "
            "zero_one (for classes the default: the chance of being wrong), log_loss, brier."
        ),
    ] = None,
    cost: Annotated[
        float | None,
        typer.Option(
            help="The price of asking about a row, in units of the loss: rows whose expected loss "
            "is higher are deferred."
        ),
    ] = None,
    budget: Annotated[
        float | None,
        typer.Option(help="Instead of a price: the largest share of rows to ask about, as 0.1."),
    ] = None,
    risk_target: Annotated[
        float | None,
        typer.Option(
            help="Instead of a price: the largest mean loss of the rows that are not asked about, "
            "promised with --confidence. Rows are set aside to show it."
        ),
    ] = None,
    confidence: Annotated[
        float, typer.Option(help="How sure --risk-target is to be.", min=0.0, max=1.0)
    ] = 0.9,
    cap: Annotated[
        float | None,
        typer.Option(
            help="For --risk-target with a loss that has no greatest value, such as "
            "squared_error: larger losses count as this."
        ),
    ] = None,
    predictor: Annotated[
        str,
        typer.Option(
            help="What predicts: boosting, forest, linear, auto (slow, the best), or with --trust "
            "module:object, a scikit-learn model or what makes one."
        ),
    ] = "boosting",
    trust: Annotated[
        bool,
        typer.Option("--trust", help="Allow --predictor module:object, which runs that module."),
    ] = False,
    predictions: Annotated[
        str | None,
        typer.Option(
            help="The column with the predictions of a model of your own, for rows that it was not "
            "fitted on. Then only risk and rule are learnt, and new rows need that column.",
            metavar="COLUMN",
        ),
    ] = None,
    holdout: Annotated[
        float,
        typer.Option(
            help="The share of rows that the model is not fitted on but measured on; with 0 it is "
            "fitted on all rows, and no figures are known."
        ),
    ] = 0.2,
    seed: Annotated[int, typer.Option(help="Same seed, same model.", min=0)] = 0,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="The model file to write.", metavar="MODEL")
    ] = Path("model.skops"),
    as_json: Annotated[
        bool, typer.Option("--json", help="Print figures and notes as one JSON object.")
    ] = False,
) -> None:
    """Fit a model to a table, and say what it will do on new rows.

    It predicts, estimates for each row how large the loss of its prediction will be, and asks
    somebody who knows where that is worth the price.

    Example: condrisk fit patients.csv --target outcome --cost 0.1 -o model.skops
    """
    notes: list[str] = []
    with user_errors():
        check_inputs(None, table)
        check_output(output)
        with progress(f"reading {table}") as update:
            manifest = _fit(
                table,
                output,
                update,
                notes,
                target=target,
                task=None if task is None else task.value,
                loss=loss,
                cost=cost,
                budget=budget,
                risk_target=risk_target,
                confidence=confidence,
                cap=cap,
                predictor=predictor,
                trust=trust,
                predictions=predictions,
                holdout=holdout,
                random_state=seed,
            )
    if as_json:
        shown = {k: v for k, v in manifest.items() if k != "profile"}
        print_json({"output": str(output), "notes": notes, **shown})
    else:
        _show(table, output, manifest, notes)


def _fit(
    table: Path, output: Path, update: Any, notes: list[str], **choices: Any
) -> dict[str, Any]:
    """Fit a model, write it, and return what its file says."""
    from condrisk.app.models import fit_table
    from condrisk.app.tables import read_table
    from condrisk.persistence import read_manifest, save_model

    if choices["trust"]:
        sys.path.insert(0, os.getcwd())  # where the user's own modules are
    frame = read_table(table, note=notes.append)
    model = fit_table(frame, **choices, progress=update, note=notes.append)
    update(f"writing {output}")
    save_model(model.model, output, model.schema, target=model.target, reference=model.reference)
    return read_manifest(output)


def _show(table: Path, output: Path, manifest: dict[str, Any], notes: list[str]) -> None:
    say(
        f"{table.name}: {manifest['task']} of {manifest['target']} from "
        f"{len(manifest['schema']['columns'])} columns, loss {manifest['loss']}",
        style="bold",
    )
    say(f"  predictor: {manifest['predictor']}")
    say(f"  rule: {manifest['rule']}")
    for note in notes:
        say(f"  note: {note}")
    show_figures(manifest["evaluation"])
    size = output.stat().st_size / 1024
    say(f"Written to {output} ({size:,.0f} KiB). New rows: condrisk score {output} NEW.csv")
