"""The page of docs/architecture, from results/architecture.json and results/held_out_rates.json."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from condrisk.paper._page import markdown_table

RESULTS = Path(__file__).resolve().parents[1] / "results"
PARTS = {"library": "the library", "app": "operation (`condrisk.app`)", "paper": "the study"}

INTRODUCTION = """# Architecture

Three parts, one direction: `condrisk.app` and `condrisk.paper` stand on the library and not on
each other. No room uses a private module of another; what rooms share is public in one of them, or
a small module directly in the package. `tests/test_architecture.py` reads the import graph and
checks both.

## The contract of a risk estimator

Rules, displays, scorers, reports and the study use these methods and nothing private. A class that
has them works everywhere without inheriting from anything here (`tests/test_contract.py` has one of
thirty lines).

| method | what it gives |
| --- | --- |
| `fit(X, y, *, sample_weight=None, prediction=None, **params)` | itself, fitted |
| `predict(X, *, prediction=None)` | the predictor's own predictions |
| `predict_risk(X, *, prediction=None)` | g(x): finite, at least the least value of the loss |
| `loss_values(X, y, *, prediction=None)` | the realised loss of each row |
| `assess(X, y=None, *, prediction=None)` | optional: prediction, risk, loss, each computed once |
| `held_out_` | optional: `rows`, `losses`, `risks` that g has not seen; rules are fitted on it |
| `loss_`, `classes_` | optional |

Without `held_out_`, rules other than `CostRule` need ``calibration=`` rows. A rule has
``fit(risk, loss, *, X=None, sample_weight=None, calibration=None, loss_bound=None)`` and
``defer(risk, *, X=None, cost=None)``; one that keeps rows back for tests also has ``hold_back``.
"""


def pages() -> dict[str, str]:
    """Return the text of the page by its name."""
    record = json.loads((RESULTS / "architecture.json").read_text(encoding="utf-8"))
    rates = json.loads((RESULTS / "held_out_rates.json").read_text(encoding="utf-8"))
    parts = [INTRODUCTION, held_out_text(rates), size_text(record), walks_text(record), ""]
    return {"README.md": "\n".join(parts)}


def draw(folder: Path) -> None:
    """Draw nothing: the tables say it."""


def held_out_text(rates: dict[str, Any]) -> str:
    """Return how a budget is kept on new rows."""
    rows = [
        [found["predictor"], f"{found['n']:,}", f"{found['mean']:.3f}", f"{found['se']:.3f}"]
        for found in rates["found"]
    ]
    header = ["predictor", "rows to fit on", "share of new rows deferred", "standard error"]
    return "\n".join(
        [
            "## Rules see risks that have not seen their rows",
            "",
            f"`BudgetRule({rates['rate']:g})`, fitted on `held_out_`: the mean share of "
            f"{rates['new_rows']:,} new rows that it defers, over {rates['repetitions']} draws of "
            f"a heteroscedastic world (`python -m benchmarks.held_out_rates`).",
            "",
            markdown_table(header, rows),
            "",
            "In this world risks that have seen their rows do little harm. Where there is nothing "
            "to learn they do: `tests/risk/test_held_out.py` has such a world.",
            "",
        ]
    )


def size_text(record: dict[str, Any]) -> str:
    """Return code lines by part and public names by room."""
    now, then = record["after"], record["before"]
    lines = [
        [title, f"{now['code_lines'][part]:,}", f"{now['files'][part]:,}"]
        for part, title in PARTS.items()
    ]
    total = sum(now["code_lines"].values())
    lines.append(["all", f"{total:,}", f"{sum(now['files'].values()):,}"])
    names = now["public_names"]
    most = max(names, key=lambda room: names[room])
    return "\n".join(
        [
            "## Size",
            "",
            markdown_table(["part", "code lines", "files"], lines),
            "",
            f"Code lines are neither blank nor comments nor docstrings. Before there were three "
            f"parts it was {sum(then['code_lines'].values()):,} lines in "
            f"{then['files']['all']} files of {len(then['code_lines'])} rooms. Public names: "
            f"{sum(names.values())} in {len(names)} rooms, at most {names[most]} in one "
            f"(`{most}`); before, {sum(then['public_names'].values())} in "
            f"{len(then['public_names'])}, at most {max(then['public_names'].values())}. What was "
            "before was measured once, on the commit before, by a script that is not kept.",
            "",
        ]
    )


def walks_text(record: dict[str, Any]) -> str:
    """Return what four jobs go through."""
    rows = [
        [
            job,
            *(f"{found[job][what]}" for what in ("functions", "files") for found in both),
        ]
        for both in [(record["before"]["walks"], record["after"]["walks"])]
        for job in record["after"]["walks"]
    ]
    header = ["job", "functions before", "after", "files before", "after"]
    return "\n".join(
        [
            "## What a job goes through",
            "",
            "Functions of the package that are called, and the files that they are in "
            "(`python -m benchmarks.architecture`).",
            "",
            markdown_table(header, rows),
            "",
        ]
    )
