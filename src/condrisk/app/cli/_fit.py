"""`condrisk fit`: from a table to a model file."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from condrisk.app._errors import NO_RULE
from condrisk.app._paths import check_inputs, check_output, source_name
from condrisk.app.cli._engines import Engine, Scheduler, Wait, Workers, cluster_options
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
    show_figures,
    user_errors,
    verdict_of,
)

# What a cluster cannot do, with what stands for not asking for it.
_LOCAL_ONLY: dict[str, Any] = {
    "cost_column": None,
    "time": None,
    "subgroups": (),
    "predictor": "boosting",
    "trust": False,
    "predictions": None,
}
_EXAMPLE = "Example: condrisk fit patients.csv --target outcome --cost 0.1 -o model.skops"

if TYPE_CHECKING:
    from condrisk.app._table_options import TableOptions


def fit(
    table: Annotated[
        Source,
        typer.Argument(
            help=f"{TABLE_HELP} With --engine dask a Parquet file, or a folder of such files.",
            metavar="TABLE",
            parser=parse_source,
        ),
    ],
    target: Annotated[str, typer.Option(help="The column to predict.")],
    task: Annotated[
        Task | None,
        typer.Option(
            help="The kind of target; told from the column unless given: text, booleans and at "
            "most ten whole numbers are classes.",
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
            help="The cost of deferring a row, in units of the loss: rows whose expected loss "
            "is higher are deferred."
        ),
    ] = None,
    cost_column: Annotated[
        str | None,
        typer.Option(
            help="Instead: the column with the cost of deferring each row. It is no input of the "
            "model, and new rows need it.",
            metavar="COLUMN",
        ),
    ] = None,
    cost_matrix: Annotated[
        Path | None,
        typer.Option(
            help="For classes: a CSV file with what each mistake costs, a line for each true "
            "class and a column for each predicted one; the first column and the header name them.",
            metavar="CSV",
        ),
    ] = None,
    budget: Annotated[
        float | None,
        typer.Option(help="Instead: the largest share of rows to defer, as 0.1."),
    ] = None,
    risk_target: Annotated[
        float | None,
        typer.Option(
            help="Instead: the largest mean loss of the accepted rows, "
            "guaranteed with --confidence. Rows are set aside to show it."
        ),
    ] = None,
    confidence: Annotated[
        float | None,
        typer.Option(help="How sure --risk-target is to be. Default: 0.9.", min=0.0, max=1.0),
    ] = None,
    cap: Annotated[
        float | None,
        typer.Option(
            help="For --risk-target with a loss that has no greatest value, such as "
            "squared_error: larger losses count as this."
        ),
    ] = None,
    subgroup: Annotated[
        list[str] | None,
        typer.Option(
            help="For --risk-target: a column each of whose values keeps it, all at once; may be "
            "given several times.",
            metavar="COLUMN",
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
    drop: Annotated[
        list[str] | None,
        typer.Option(
            help="A column to leave out; may be given several times.",
            metavar="COLUMN",
            rich_help_panel="Reading the table",
        ),
    ] = None,
    only: Annotated[
        list[str] | None,
        typer.Option(
            help="A column to learn from, and no other; may be given several times.",
            metavar="COLUMN",
            rich_help_panel="Reading the table",
        ),
    ] = None,
    sheet: Sheet = None,
    query: Query = None,
    decimal: Decimal = None,
    date_format: DateFormats = None,
    holdout: Annotated[
        float,
        typer.Option(
            help="The share of rows that the model is not fitted on but measured on; with 0 it is "
            "fitted on all rows, and no figures are known."
        ),
    ] = 0.2,
    time: Annotated[
        str | None,
        typer.Option(
            help="The column that says when a row was made: the last rows are held out instead of "
            "random ones, which tells how the model does later. It is no input of the model.",
            metavar="COLUMN",
        ),
    ] = None,
    engine: Annotated[
        Engine,
        typer.Option(
            help="Who fits: this process, or the workers of a Dask cluster, for tables that no "
            "machine holds. They fit boosting, by LightGBM.",
            rich_help_panel="On a cluster",
        ),
    ] = Engine.local,
    scheduler: Scheduler = None,
    workers: Workers = None,
    wait: Wait = None,
    seed: Annotated[int, typer.Option(help="Same seed, same model.", min=0)] = 0,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="The model file to write.", metavar="MODEL")
    ] = Path("model.skops"),
    overwrite: Overwrite = False,
    quiet: Quiet = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print figures and notes as one JSON object.")
    ] = False,
) -> None:
    """Fit a model to a table, and say what it will do on new rows.

    It predicts, estimates for each row how large the loss of its prediction will be, and
    defers to an expert where that is worth the cost.

    Example: condrisk fit patients.csv --target outcome --cost 0.1 -o model.skops
    """
    notes: list[str] = []
    with user_errors():
        rules = {"cost": cost, "cost_column": cost_column, "budget": budget}
        exclusive(**rules, risk_target=risk_target)
        if risk_target is None and all(given is None for given in rules.values()):
            raise ValueError(f"{NO_RULE[:-1]}. {_EXAMPLE}")
        exclusive(drop=drop, only=only)
        exclusive(loss=loss, cost_matrix=cost_matrix)
        if risk_target is None:
            needs("--risk-target", confidence=confidence, cap=cap, subgroup=subgroup)
        options = table_options(sheet, query, decimal, date_format)
        cluster = cluster_options(engine, scheduler, workers, wait)
        choices = {
            "target": target,
            "task": None if task is None else task.value,
            "loss": loss,
            "cost": cost,
            "cost_column": cost_column,
            "cost_matrix": cost_matrix,
            "time": time,
            "budget": budget,
            "risk_target": risk_target,
            "confidence": 0.9 if confidence is None else confidence,
            "cap": cap,
            "subgroups": tuple(subgroup or ()),
            "predictor": predictor,
            "trust": trust,
            "predictions": predictions,
            "holdout": holdout,
            "random_state": seed,
            "drop": tuple(drop or ()),
            "only": only or None,
        }
        if engine is Engine.dask:
            choices = _on_cluster(choices, options) | cluster
        else:
            check_inputs(None, table, options=options)
        check_inputs(None, cost_matrix)
        check_output(output, overwrite=overwrite)
        with progress(f"reading {table}") as update:
            manifest = _fit(table, output, update, notes, options, engine, choices)
    if as_json:
        shown = {k: v for k, v in manifest.items() if k not in ("profile", "held_out")}
        said = [sentence.text.replace("\u00a0", " ") for sentence in verdict_of(manifest)]
        print_json({"output": str(output), "notes": notes, "verdict": said, **shown})
    else:
        _show(table, output, manifest)


def _on_cluster(choices: dict[str, Any], options: TableOptions) -> dict[str, Any]:
    """Return what is wanted of a cluster; refuse what it cannot do."""
    named = {"subgroups": "subgroup", "date_formats": "date_format"}
    kept = dict(choices)
    for name, default in _LOCAL_ONLY.items():
        if kept.pop(name) != default:
            option = named.get(name, name).replace("_", "-")
            raise ValueError(f"--{option} works with --engine local alone.")
    for name, value in vars(options).items():
        if value:
            option = named.get(name, name).replace("_", "-")
            raise ValueError(f"--{option} is not for Parquet, which --engine dask reads.")
    return kept


def _fit(
    table: Path,
    output: Path,
    update: Any,
    notes: list[str],
    options: TableOptions,
    engine: Engine,
    choices: dict[str, Any],
) -> dict[str, Any]:
    """Fit a model, write it, and return what its file says."""
    from condrisk.app.models import fit_parquet, fit_table, read_cost_matrix
    from condrisk.app.tables import read_noted
    from condrisk.persistence import read_manifest, save_model

    if choices.get("trust"):
        sys.path.insert(0, os.getcwd())  # where the user's own modules are

    def tell(text: str) -> None:
        notes.append(text)
        note(text)

    if choices["cost_matrix"] is not None:
        choices["cost_matrix"] = read_cost_matrix(choices["cost_matrix"])
    if engine is Engine.dask:
        model = fit_parquet(table, **choices, progress=update, note=tell)
    else:
        roles = ("target", "predictions", "cost_column", "time")
        named = {*(choices["only"] or ()), *(choices[role] for role in roles)}

        def used(name: str) -> bool:
            return name in named if choices["only"] else name not in choices["drop"]

        frame, notations = read_noted(table, options=options, used=used, note=tell)
        model = fit_table(frame, **choices, notations=notations, progress=update, note=tell)
    update(f"writing {output}")
    save_model(
        model.model,
        output,
        model.schema,
        target=model.target,
        reference=model.reference,
        cost_column=model.cost_column,
    )
    return read_manifest(output)


def _show(table: Path | str, output: Path, manifest: dict[str, Any]) -> None:
    name = table.name if isinstance(table, Path) else source_name(table)
    n = len(manifest["schema"]["columns"])
    say(
        f"{name}: {manifest['task']} of {manifest['target']} from "
        f"{n} column{'s' if n > 1 else ''}, loss {manifest['loss']}",
        style="bold",
    )
    say(f"  predictor: {manifest['predictor']}")
    say(f"  rule: {manifest['rule']}")
    show_figures(manifest)
    size = output.stat().st_size / 1024
    trust = "".join(f" --trust {name}" for name in manifest["trusted"])
    say(
        f"Written to {output} ({size:,.0f} KiB). "
        f"New rows: condrisk score {output} NEW.csv -o SCORED.csv{trust}"
    )
