"""The command line: conditional risk for people who do not write Python."""

from __future__ import annotations

from typing import Annotated

import typer

import condrisk
from condrisk.app.cli._lazy import LazyGroup

app = typer.Typer(
    name="condrisk",
    cls=LazyGroup,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_show_locals=False,
    help="Estimate the expected loss of a model at each input, and defer where it is too high.",
)


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
