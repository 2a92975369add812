"""`condrisk inspect`: what a model file says about itself."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

from condrisk.app._numbers import Amounts, exact, percent, span, unit_of
from condrisk.app._paths import check_inputs
from condrisk.app.cli._terminal import (
    Quiet,
    plain,
    print_json,
    say,
    show,
    show_figures,
    user_errors,
)

# In the table of columns, categories are cut to this many characters.
_SHOWN = 60
_CONTAINERS = {
    "codes": "one matrix of numbers",
    "numpy": "a numpy array",
    "pandas": "a pandas frame",
    "polars": "a polars frame",
}


def inspect(
    model: Annotated[
        Path,
        typer.Argument(
            help="A model file, as `condrisk fit` or save_model writes it.", metavar="MODEL"
        ),
    ],
    quiet: Quiet = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the whole manifest as one JSON object.")
    ] = False,
) -> None:
    """Show what a model file says about itself, without loading the model.

    Columns that new rows need, target, loss, rule, figures, versions. Only the manifest is read:
    nothing else in the file is looked at, so this is safe for a file of unknown origin. What it
    says is what its author wrote.

    Example: condrisk inspect model.skops
    """
    with user_errors():
        check_inputs(model)
        from condrisk.persistence import read_manifest

        manifest = read_manifest(model)
    if as_json:
        print_json(manifest)
    else:
        _show(model, manifest)


def _show(path: Path, manifest: dict[str, Any]) -> None:
    if manifest["task"] == "routing":
        from condrisk.app.cli._route_fit import show_router

        say(f"{path.name}: {manifest['predictor']}", style="bold")
        say(f"  written: {manifest['created']} by {_versions(manifest)}")
        show(_columns(manifest))
        show_router(manifest)
        return
    say(f"{path.name}: {manifest['task']} of {manifest['target']}", style="bold")
    classes = manifest["classes"]
    cost, n_rows = manifest["cost"], manifest["schema"]["n_rows"]
    lines = {
        "predictor": manifest["predictor"],
        "outputs": None if manifest["outputs"] == 1 else manifest["outputs"],
        "classes": None if classes is None else ", ".join(map(str, classes[:20])),
        "loss": manifest["loss"],
        "cost": None if cost is None else _cost(cost, manifest),
        "rule": manifest["rule"] or "none: a risk estimator",
        "rows seen": None if n_rows is None else f"{n_rows:,}",
        "rows passed as": _CONTAINERS[manifest["schema"]["container"]],
        "written": f"{manifest['created']} by {_versions(manifest)}",
        "to load it": _trust(manifest),
    }
    for name, value in lines.items():
        if value is not None:
            say(f"  {name + ':':16} {value}")
    show(_columns(manifest))
    show_figures(manifest)


def _cost(cost: float, manifest: dict[str, Any]) -> str:
    """Return the cost as it was given, and what it means."""
    amounts = Amounts(manifest["loss"], unit_of(manifest["target"]))
    meaning = amounts.cost(cost) if amounts.in_percent else amounts.typical(cost)
    return f"{exact(cost)} ({meaning})".replace("\u00a0", " ") if meaning else exact(cost)


def _trust(manifest: dict[str, Any]) -> str | None:
    """Return what whoever loads the file has to trust, as the file itself says."""
    return " ".join(f"--trust {name}" for name in manifest["trusted"]) or None


def _versions(manifest: dict[str, Any]) -> str:
    versions = manifest["versions"] | {k: v for k, v in manifest["trusted"].items() if v}
    others = ", ".join(f"{name} {number}" for name, number in versions.items())
    return f"condrisk {manifest['condrisk']}, {others}"


def _columns(manifest: dict[str, Any]) -> Table:
    table = Table(title="Columns that new rows need", title_justify="left")
    for name in ("column", "kind", "seen", "missing"):
        table.add_column(name, justify="right" if name == "missing" else "left")
    schema = manifest["schema"]
    prediction = schema["prediction"]
    known = {column["name"]: column for column in schema["columns"]}
    if prediction is not None:
        known[prediction["name"]] = prediction
    for name, column in known.items():
        role = " (prediction)" if column is prediction else ""
        cells = [
            name + role,
            column["kind"],
            _seen(column),
            percent(column["missing"]).replace("\u00a0", " "),
        ]
        table.add_row(*(Text(plain(cell)) for cell in cells))
    return table


def _seen(column: dict[str, Any]) -> str:
    """Return the range or the categories of a column, as far as there is room."""
    if column["categories"]:
        text = ", ".join(column["categories"])
        return text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"
    if column["low"] is None or column["high"] is None:
        return ""
    if column["kind"] in ("date", "datetime"):
        from datetime import date, timedelta

        first = date(1970, 1, 1)
        ends = (first + timedelta(days=column[end]) for end in ("low", "high"))
        return " to ".join(day.isoformat() for day in ends)
    return span(column["low"], column["high"])
