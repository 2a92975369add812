"""The command line: conditional risk for people who do not write Python."""

from __future__ import annotations

from typing import Annotated

import typer

import condrisk
from condrisk.app.cli._export import export
from condrisk.app.cli._fit import fit
from condrisk.app.cli._inspect import inspect
from condrisk.app.cli._monitor import monitor
from condrisk.app.cli._quickstart import quickstart
from condrisk.app.cli._report import report
from condrisk.app.cli._score import score
from condrisk.app.cli._serve import serve
from condrisk.paper._cli import reproduce

app = typer.Typer(
    name="condrisk",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_show_locals=False,
    help="Estimate the expected loss of a model at each input, and defer where it is too high.",
)
for command in (quickstart, fit, inspect, score, report, serve, monitor, export):
    app.command()(command)
app.add_typer(reproduce, name="reproduce")


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"condrisk {condrisk.__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_show_version, is_eager=True, help="Show the version and stop."
        ),
    ] = False,
) -> None:
    """Estimate the expected loss of a model at each input, and defer where it is too high."""


def main() -> None:
    """Run the command line."""
    app()
