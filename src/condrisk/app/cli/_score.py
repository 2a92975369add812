"""`condrisk score`: prediction, risk and decision for every row of a file."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from condrisk.app._paths import check_inputs
from condrisk.app.cli._terminal import Trust, print_json, say, trusted_names, user_errors

if TYPE_CHECKING:
    from condrisk.app.scoring import ScoreSummary


class Engine(StrEnum):
    """Who scores."""

    local = "local"
    dask = "dask"


def score(
    model: Annotated[
        Path,
        typer.Argument(
            help="A model file, as condrisk fit or save_model writes it.", metavar="MODEL.skops"
        ),
    ],
    table: Annotated[
        Path,
        typer.Argument(
            help="The rows: CSV, Parquet or Arrow, with the columns of the model among theirs.",
            metavar="TABLE",
        ),
    ],
    output: Annotated[
        Path,
        typer.Option(
            "--output",
            "-o",
            help="Where to write; the ending tells the format: .csv, .parquet or .arrow.",
        ),
    ],
    cost: Annotated[
        float | None,
        typer.Option(
            min=0, help="The cost of deferring, in units of the loss. Default: the model's own."
        ),
    ] = None,
    parts: Annotated[
        bool,
        typer.Option(
            "--parts",
            help="Add what the risk is made of: floor, the least expected loss of any prediction; "
            "gap, what the best one would save; correction, by realised losses.",
        ),
    ] = False,
    prefix: Annotated[
        str,
        typer.Option(
            help="Put before the names of the new columns, where the table has such names already."
        ),
    ] = "",
    overwrite: Annotated[
        bool,
        typer.Option(
            "--overwrite", help="Score again what is finished, and replace what is there."
        ),
    ] = False,
    batch_rows: Annotated[
        int | None,
        typer.Option(
            min=1, help="Rows at a time. Default: 65536, or fewer where the table is wide."
        ),
    ] = None,
    threads: Annotated[
        int | None,
        typer.Option(min=1, help="Batches at a time, on this machine. Default: one for each core."),
    ] = None,
    engine: Annotated[
        Engine,
        typer.Option(help="Who scores: this process, or the workers of a Dask cluster."),
    ] = Engine.local,
    scheduler: Annotated[
        str | None,
        typer.Option(
            help="With --engine dask: where the scheduler is, as in tcp://10.0.0.1:8786. "
            "Default: a cluster on this machine, started for the purpose.",
            metavar="ADDRESS",
        ),
    ] = None,
    workers: Annotated[
        int | None,
        typer.Option(
            min=1, help="With --engine dask: workers of such a cluster. Default: one for each core."
        ),
    ] = None,
    trust: Trust = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the summary as one JSON object, for machines.")
    ] = False,
) -> None:
    """Add prediction, risk and decision to every row of a table, however many rows it has.

    Order and all other columns stay. The new columns are prediction; risk, the loss to expect of
    that prediction; and defer, true where asking is worth its price. Rows that the model cannot
    take go into a second file, OUTPUT.rejects, with their numbers and the reasons.

    Rows pass through in batches, so memory stays small. Stopped at any moment, the same command
    goes on from there. OUTPUT.json tells what an output was made from.

    Example: condrisk score model.skops new.parquet -o scored.parquet
    """
    try:
        with user_errors():
            check_inputs(model, table)
            from condrisk.app.scoring import score_file

            with _progress() as update:
                summary = score_file(
                    model,
                    table,
                    output,
                    cost=cost,
                    parts=parts,
                    trusted=trusted_names(trust),
                    prefix=prefix,
                    overwrite=overwrite,
                    batch_rows=batch_rows,
                    threads=threads,
                    engine=engine.value,
                    scheduler=scheduler,
                    workers=workers,
                    progress=update,
                )
    except KeyboardInterrupt:
        say("Stopped. The same command goes on from here.", stderr=True)
        raise typer.Exit(130) from None
    if as_json:
        print_json(summary.to_dict())
    else:
        _show(summary)


@contextmanager
def _progress() -> Iterator[Callable[[int, float], None]]:
    """Show how far it is, on the terminal for errors, and leave nothing there."""
    from rich.progress import (
        BarColumn,
        Progress,
        TaskProgressColumn,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        bar = progress.add_task("reading", total=1.0)

        def update(rows: int, share: float) -> None:
            progress.update(bar, completed=share, description=f"{rows:,} rows")

        yield update


def _show(summary: ScoreSummary) -> None:
    if summary.finished_before:
        say(f"{summary.output} is finished already; --overwrite scores it again.")
    say(f"{summary.scored:,} rows scored: {summary.output}")
    if summary.deferral_rate is not None:
        say(
            f"  {summary.deferred:,} to be deferred ({summary.deferral_rate:.1%}); "
            f"mean risk {summary.mean_risk:.4g}, the loss to expect if none were"
        )
    for note in summary.notes:
        say(f"  note: {note}")
    if summary.rejected:
        say(f"{summary.rejected:,} rows rejected, each with the reason: {summary.rejects}")
    for name, count in summary.unseen.items():
        say(f"  column {name!r}: {count:,} rows with a category never seen, taken as missing")
    if summary.resumed:
        say(f"  {summary.resumed:,} of {summary.batches:,} batches were scored by an earlier call")
    if not summary.finished_before and summary.seconds >= 1:
        say(f"  in {summary.seconds:,.1f} s, {summary.rows / summary.seconds:,.0f} rows a second")
