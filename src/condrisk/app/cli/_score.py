"""`condrisk score`: prediction, risk and decision for every row of a file."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from shutil import copyfileobj
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from condrisk.app._numbers import Amounts, number, percent, unit_of
from condrisk.app._paths import STANDARD, check_inputs, check_output, written_format
from condrisk.app.cli._engines import Engine, Scheduler, Wait, Workers, cluster_options
from condrisk.app.cli._tables import (
    TABLE_HELP,
    DateFormats,
    Decimal,
    Query,
    Sheet,
    Source,
    pairs,
    parse_source,
    table_options,
)
from condrisk.app.cli._terminal import (
    TOLD,
    Overwrite,
    Quiet,
    Trust,
    exclusive,
    is_quiet,
    is_router_file,
    note,
    only_for,
    print_json,
    say,
    trusted_names,
    user_errors,
)

if TYPE_CHECKING:
    from condrisk.app._table_options import TableOptions
    from condrisk.app.scoring import RouteSummary, ScoreSummary


def score(
    model: Annotated[
        Path,
        typer.Argument(
            help="A model file, as condrisk fit or save_model writes it.", metavar="MODEL.skops"
        ),
    ],
    table: Annotated[
        Source,
        typer.Argument(
            help=f"The rows, with the columns of the model among theirs: {TABLE_HELP}",
            metavar="TABLE",
            parser=parse_source,
        ),
    ],
    output: Annotated[
        Path,
        typer.Option(
            "--output",
            "-o",
            help="Where to write; the ending tells the format: .csv, .tsv, .xlsx, .jsonl, .parquet "
            "or .arrow, also .csv.gz or .csv.zst. - writes CSV to standard output, and says on "
            "standard error what could not be scored.",
        ),
    ],
    cost: Annotated[
        float | None,
        typer.Option(
            min=0, help="The cost of deferring, in units of the loss. Default: the model's own."
        ),
    ] = None,
    cost_column: Annotated[
        str | None,
        typer.Option(
            help="Instead: the column with the cost of deferring each row. Default: the model's.",
            metavar="COLUMN",
        ),
    ] = None,
    price: Annotated[
        float | None,
        typer.Option(
            min=0, help="Of a router: the loss that one unit of cost must save, for a dearer model."
        ),
    ] = None,
    budget: Annotated[
        float | None,
        typer.Option(min=0, help="Of a router, instead: the greatest mean cost of a row."),
    ] = None,
    target: Annotated[
        float | None,
        typer.Option(
            help="Of a router, instead: the greatest expected loss of a row; each has the cheapest "
            "model that meets it."
        ),
    ] = None,
    capacity: Annotated[
        list[str] | None,
        typer.Option(
            help="Of a router, with --price: a model and how many rows of the table it can take; "
            "may be given several times. The table is then routed as a whole, in memory.",
            metavar="MODEL=ROWS",
        ),
    ] = None,
    defer_outside: Annotated[
        bool,
        typer.Option(
            "--defer-outside",
            help="Defer rows outside what was seen when the model was fitted, whatever their risk.",
        ),
    ] = False,
    explain: Annotated[
        bool,
        typer.Option(
            "--explain",
            help="Add the column raised_by: which columns raise the risk of a row most against the "
            "average row. It takes up to 20 predictions a row.",
        ),
    ] = False,
    probabilities: Annotated[
        bool,
        typer.Option("--probabilities", help="For classes: add the probability of each."),
    ] = False,
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
    sheet: Sheet = None,
    query: Query = None,
    decimal: Decimal = None,
    date_format: DateFormats = None,
    overwrite: Overwrite = False,
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
        typer.Option(
            help="Who scores: this process, or the workers of a Dask cluster.",
            rich_help_panel="On a cluster",
        ),
    ] = Engine.local,
    scheduler: Scheduler = None,
    workers: Workers = None,
    wait: Wait = None,
    trust: Trust = None,
    quiet: Quiet = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the summary as one JSON object, for machines.")
    ] = False,
) -> None:
    """Add prediction, risk and decision to every row of a table, however many rows it has.

    Order and all other columns stay. The new columns are prediction; risk, the loss to expect of
    that prediction; defer, true where deferring is worth its cost; and outside, the columns in
    which a row leaves what was seen when the model was fitted. Rows that the model cannot take go
    into a second file, OUTPUT.rejects, with their numbers and the reasons.

    Rows pass through in batches, so memory stays small. Stopped at any moment, the same command
    goes on from there. OUTPUT.json tells what an output was made from. If no row at all could be
    scored, the command ends with exit code 3.

    Of a router, which condrisk route-fit makes, the new columns are model, risk and cost.

    Example: condrisk score model.skops new.parquet -o scored.parquet
    """
    summary: Any
    piped = str(output) == STANDARD
    with user_errors(_kept(output)), _written_to(output) as written:
        options = table_options(sheet, query, decimal, date_format)
        exclusive(cost=cost, cost_column=cost_column)
        cluster = cluster_options(engine, scheduler, workers, wait)
        check_inputs(model, table, options=options)
        written_format(written)
        check_output(written, overwrite=True)
        if piped and as_json:
            raise ValueError("--json and -o - both print to standard output: give one of them.")
        wish: dict[str, Any] = {"price": price, "budget": budget, "target": target}
        routes = is_router_file(model)
        if routes:
            only_for(
                "a router",
                cost=cost,
                cost_column=cost_column,
                defer_outside=defer_outside,
                explain=explain,
                probabilities=probabilities,
                parts=parts,
                threads=threads,
                engine=engine is not Engine.local,
            )
            exclusive(capacity=capacity, batch_rows=batch_rows)
            wish["capacity"] = _capacity(capacity)
            summary = _route(
                model, table, written, wish, options, trust, batch_rows, prefix, overwrite
            )
        else:
            only_for("a model that is no router", capacity=capacity, **wish)
            from condrisk.app.scoring import score_file

            with _progress() as update:
                summary = score_file(
                    model,
                    table,
                    written,
                    cost=cost,
                    cost_column=cost_column,
                    parts=parts,
                    probabilities=probabilities,
                    explain=explain,
                    defer_outside=defer_outside,
                    trusted=trusted_names(trust),
                    options=options,
                    prefix=prefix,
                    overwrite=overwrite,
                    batch_rows=batch_rows,
                    threads=threads,
                    engine=engine.value,
                    **cluster,
                    progress=update,
                )
        if piped:
            _pipe(summary)
    if as_json:
        print_json(summary.to_dict())
    elif routes:
        _show_routes(summary, piped=piped)
    else:
        _show(summary, _amounts(model), piped=piped)
    if not (summary.routed if routes else summary.scored):
        raise typer.Exit(TOLD)


def _route(
    model: Path,
    table: Path,
    output: Path,
    wish: dict[str, Any],
    options: TableOptions,
    trust: list[str] | None,
    batch_rows: int | None,
    prefix: str,
    overwrite: bool,
) -> RouteSummary:
    from condrisk.app.scoring import route_file

    return route_file(
        model,
        table,
        output,
        **wish,
        options=options,
        trusted=trusted_names(trust),
        batch_rows=batch_rows,
        prefix=prefix,
        overwrite=overwrite,
    )


def _capacity(given: list[str] | None) -> dict[str, int] | None:
    """Return how many rows each model can take."""
    if given is None:
        return None
    found = {}
    for name, text in pairs(given, "--capacity", "ROWS").items():
        if not text.isdecimal():
            raise ValueError(
                f"--capacity {name}={text}: the number of rows must be a whole number."
            )
        found[name] = int(text)
    return found


def _show_routes(summary: RouteSummary, *, piped: bool) -> None:
    """Say which model answers how many rows."""

    def tell(text: str) -> None:
        say(text, stderr=piped)

    for text in summary.notes:
        note(text)
    tell(f"{summary.routed:,} rows routed{'' if piped else f': {summary.output}'}")
    for name, rows in summary.models.items():
        tell(f"  {name}: {rows:,} ({rows / summary.routed:.1%})")
    if summary.routed:
        tell(
            f"  mean cost {number(summary.mean_cost or 0.0)}, "
            f"mean risk {number(summary.mean_risk or 0.0)}"
        )
    else:
        note("no row could be routed")
    if summary.guarantee is not None:
        tell(f"  {summary.guarantee}")
    if summary.rejected:
        file = "above" if piped else str(summary.rejects)
        tell(f"{summary.rejected:,} rows rejected, each with the reason: {file}")


def _kept(output: Path) -> str:
    if str(output) == STANDARD:
        return "Nothing was written."
    return f"What was scored is kept in {output}.parts: the same command goes on from here."


@contextmanager
def _written_to(output: Path) -> Iterator[Path]:
    """Yield where to write: for standard output a file that is written there when it is whole."""
    if str(output) != STANDARD:
        yield output
        return
    with TemporaryDirectory(prefix="condrisk-") as folder:
        yield Path(folder) / "scored.csv"


def _pipe(summary: ScoreSummary | RouteSummary) -> None:
    """Write scored rows to standard output, and the reasons for the others to standard error."""
    from condrisk.app.tables import TableSource

    try:
        with open(summary.output, "rb") as file:
            copyfileobj(file, sys.stdout.buffer)
        sys.stdout.flush()
    except BrokenPipeError:  # whoever read it has enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    if summary.rejects is not None:
        with TableSource(summary.rejects, batch_rows=None) as source:
            for batch in source:
                numbers, reasons = batch.table.columns[:2]
                for number, reason in zip(numbers, reasons, strict=True):
                    say(f"Row {number} is left out: {reason}", stderr=True)


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
    console = Console(stderr=True)
    off = is_quiet() or not console.is_terminal
    with Progress(*columns, console=console, transient=True, disable=off) as progress:
        bar = progress.add_task("reading", total=1.0)

        def update(rows: int, share: float) -> None:
            progress.update(bar, completed=share, description=f"{rows:,} rows")

        yield update


def _amounts(model: Path) -> Amounts:
    from condrisk.persistence import read_manifest

    manifest = read_manifest(model)
    return Amounts(manifest["loss"], unit_of(manifest["target"]))


def _show(summary: ScoreSummary, amounts: Amounts, *, piped: bool) -> None:
    """Say what came of it: on standard error where the rows are on standard output."""

    def tell(text: str) -> None:
        say(text, stderr=piped)

    for text in summary.notes:
        note(text)
    where = "" if piped else f": {summary.output}"
    if summary.finished_before:
        tell(f"{summary.output} is finished already; --overwrite scores it again.")
    tell(f"{summary.scored:,} rows scored{where}")
    if summary.deferral_rate is not None:
        rate, risk = percent(summary.deferral_rate), amounts.full(summary.mean_risk or 0.0)
        tell(
            f"  {summary.deferred:,} to be deferred ({rate}); mean risk {risk}, the loss to expect "
            f"if none were".replace("\u00a0", " ")
        )
    if summary.outside:
        tell(
            f"  {summary.outside:,} outside what was seen when the model was fitted: the column "
            f"outside names where, and their risk is a guess"
        )
    if summary.rejected:
        file = "above" if piped else str(summary.rejects)
        tell(f"{summary.rejected:,} rows rejected, each with the reason: {file}")
    for name, count in summary.unseen.items():
        tell(f"  column {name!r}: {count:,} rows with a category never seen, taken as missing")
    if summary.resumed:
        tell(f"  {summary.resumed:,} of {summary.batches:,} batches were scored by an earlier call")
    if not summary.finished_before and summary.seconds >= 1:
        tell(f"  in {summary.seconds:,.1f} s, {summary.rows / summary.seconds:,.0f} rows a second")
    if not summary.scored:
        note("no row could be scored")
