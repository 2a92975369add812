"""The command line: conditional risk for people who do not write Python."""

from __future__ import annotations

from typing import Annotated

import typer

import condrisk
from condrisk.app.cli._lazy import LazyGroup

EXIT_CODES = """\
Exit codes:
  0    done
  1    the system is in the way: a full disk, a file that may not be read
  2    the input is wrong: one sentence says what, and what would be right
  3    done, but no row could be scored; or an alarm, with --fail-on-alarm
  130  stopped with Ctrl-C"""

app = typer.Typer(
    name="condrisk",
    cls=LazyGroup,
    no_args_is_help=True,
    rich_markup_mode=None,  # panels leave too little room for sentences in 80 columns
    pretty_exceptions_show_locals=False,
    help="Estimate the expected loss of a model at each input, and defer where it is too high.",
    epilog=f"\b\n{EXIT_CODES}",
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
