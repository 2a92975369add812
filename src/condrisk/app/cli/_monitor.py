"""`condrisk monitor`: what loss to expect of new rows, and whether labels agree."""

from __future__ import annotations

import json
from pathlib import Path
from time import sleep
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape
from rich.table import Table as RichTable

from condrisk.app._numbers import Amounts, percent, unit_of
from condrisk.app._paths import check_inputs, check_output_folder
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
    TOLD,
    Overwrite,
    Quiet,
    Trust,
    exclusive,
    needs,
    print_json,
    progress,
    say,
    show,
    show_verdict,
    trusted_names,
    user_errors,
)

if TYPE_CHECKING:
    from condrisk.app._table_options import TableOptions
    from condrisk.app.monitor import Monitoring

MOST_LINES = 60
KEPT = "What was taken in is kept; the same command goes on from there."


def monitor(
    model: Annotated[
        Path, typer.Argument(help="A model file, as condrisk fit or save_model writes it.")
    ],
    table: Annotated[
        Source | None,
        typer.Argument(
            help="New rows in the order in which they came: all since the model was fitted. Where "
            f"the target's column is there and filled in, it is the label. {TABLE_HELP}",
            metavar="[TABLE]",
            parser=parse_source,
        ),
    ] = None,
    watch: Annotated[
        Path | None,
        typer.Option(
            help="Instead of TABLE: a folder. Each new file in it is a chunk, or several of "
            "--rows, taken in as it comes, in the order of their times of change. What is known is "
            "kept in --output, whole after each file: stop it, or let it crash, and it goes on.",
            metavar="FOLDER",
        ),
    ] = None,
    once: Annotated[
        bool,
        typer.Option("--once", help="With --watch: take in what is there, and end."),
    ] = False,
    interval: Annotated[
        float, typer.Option(help="With --watch: look every so many seconds.", min=0.1)
    ] = 10.0,
    rows: Annotated[
        int | None,
        typer.Option(
            help="Rows a chunk; 1000 unless --every is given, with --watch a whole file.", min=1
        ),
    ] = None,
    every: Annotated[
        str | None,
        typer.Option(help="Instead, the time of a chunk: 6h, 1d, 1w, 1mo, 1q, 1y. Needs --time."),
    ] = None,
    time: Annotated[
        str | None, typer.Option(help="The column that holds when a row was made.")
    ] = None,
    confidence: Annotated[
        float, typer.Option(help="How often the realised loss lies in its band.", min=0, max=1)
    ] = 0.95,
    false_alarms: Annotated[
        float,
        typer.Option(
            help="The largest probability of an alarm in the whole run while nothing has changed.",
            min=0,
            max=1,
        ),
    ] = 0.05,
    tolerance: Annotated[
        float,
        typer.Option(help="Losses may exceed the expected ones by this share.", min=0),
    ] = 0.0,
    cap: Annotated[
        float | None,
        typer.Option(
            help="For a loss that has no greatest value, such as squared_error: larger losses "
            "count as this, and the alarm is a test of their mean. Without it, of losses relative "
            "to their risks. Choose it before the rows are looked at."
        ),
    ] = None,
    reference: Annotated[
        Source | None,
        typer.Option(
            help="A table of rows like those fitted on: rows unlike all of them are then found, "
            "not only those beyond the range or the categories of a column. Needed where the model "
            "file has no measured rows; then with targets, and not the rows fitted on.",
            metavar="TABLE",
            parser=parse_source,
        ),
    ] = None,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="The folder for monitoring.html, .json and .png.")
    ] = Path("condrisk-monitor"),
    sheet: Sheet = None,
    query: Query = None,
    decimal: Decimal = None,
    date_format: DateFormats = None,
    trust: Trust = None,
    overwrite: Overwrite = False,
    quiet: Quiet = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object instead of the table.")
    ] = False,
    fail_on_alarm: Annotated[
        bool, typer.Option("--fail-on-alarm", help="End with exit code 3 if there is an alarm.")
    ] = False,
) -> None:
    """Tell what loss to expect of new rows, chunk by chunk, before and after labels come.

    The expected loss is the mean risk of the rows; its band says where the realised loss will lie
    if losses still go with risks as they did on the rows held out when fitting. Labels that say
    otherwise raise an alarm, and rows unlike those the model has learnt from are told.

    Example: condrisk monitor model.skops new.csv --every 1w --time day

    Files as they come: condrisk monitor model.skops --watch incoming
    """
    choices: dict[str, Any] = {
        "rows": rows,
        "confidence": confidence,
        "false_alarms": false_alarms,
        "tolerance": tolerance,
        "cap": cap,
    }
    with user_errors(KEPT if watch is not None else "Nothing was written."):
        options = table_options(sheet, query, decimal, date_format)
        if watch is not None:
            _check_watch(table, watch, every, time)
            check_inputs(model, None)
            check_inputs(None, reference)
            found = _watch(
                model, watch, reference, trust, options, output, choices, once, interval, as_json
            )
            written = [] if found is None else _written(output)
        else:
            if table is None:
                raise ValueError("TABLE must be given, or a folder as --watch.")
            if once:
                raise ValueError("--once means nothing without --watch.")
            exclusive(rows=rows, every=every)
            if every is None:
                needs("--every", time=time)
            elif time is None:
                raise ValueError("--every needs --time, the column that says when a row was made.")
            check_inputs(model, table, options=options)
            check_inputs(None, reference)
            check_output_folder(output, "monitoring.json", overwrite=overwrite)
            choices |= {"every": every, "time": time}
            found = _monitor(model, table, reference, trust, options, **choices)
            written = _write(found, output)
    if found is None:
        say(f"No file has come to {watch} yet.")
    elif as_json:
        print_json(found.to_dict() | {"written": [str(path) for path in written]})
    else:
        _show(found, written)
    if fail_on_alarm and found is not None and found.alarm is not None:
        raise typer.Exit(TOLD)


def _check_watch(table: Path | None, folder: Path, every: str | None, time: str | None) -> None:
    if table is not None:
        raise ValueError("TABLE and --watch exclude each other: give one of them.")
    if every is not None or time is not None:
        raise ValueError("--every and --time are for a table: with --watch each file is a chunk.")
    if not folder.is_dir():
        raise ValueError(f"{folder} is not a folder.")


def _watch(
    model: Path,
    folder: Path,
    reference: Path | None,
    trust: list[str] | None,
    options: TableOptions,
    output: Path,
    choices: dict[str, Any],
    once: bool,
    interval: float,
    as_json: bool,
) -> Monitoring | None:
    """Take in files as they come; return what was found when there is nothing more to wait for."""
    from condrisk.app.models import open_model
    from condrisk.app.monitor import WatchedFolder
    from condrisk.app.tables import iter_batches, read_table

    loaded = open_model(model, trusted=trusted_names(trust))
    known = None if reference is None else read_table(reference, schema=loaded.schema)
    output.mkdir(parents=True, exist_ok=True)
    watched = WatchedFolder(
        loaded,
        folder,
        output,
        read=lambda path: iter_batches(path, options=options, schema=loaded.schema),
        reference=known,
        **choices,
    )
    first = True
    while True:
        taken = watched.step()
        found = watched.found()
        if (taken or first) and found is not None:
            _write(found, output)
        if once:
            return found
        for name in taken:
            _tell(name, found, watched.refused, as_json)
        first = False
        sleep(interval)


def _tell(name: str, found: Monitoring | None, refused: dict[str, str], as_json: bool) -> None:
    """Print a line on a file that was taken in."""
    if name in refused or found is None:
        line: dict[str, Any] = {"file": name, "refused": refused.get(name)}
        text = f"{name}: left out, {refused.get(name)}"
    else:
        amounts = Amounts(found.loss, unit_of(found.target))
        own = [c for c in found.chunks if c.name == name or c.name.startswith(f"{name} ")]
        last = own[-1]
        state = {"alarm": found.alarm, "evidence": last.evidence, "threshold": found.threshold}
        line = {"file": name, "expected": last.expected.mean, "realised": last.realised} | state
        realised = "no labels" if last.realised is None else amounts.text(last.realised)
        alarm = f", alarm since {found.alarm}" if found.alarm else ""
        text = f"{name}: expected {amounts.text(last.expected.mean)}, realised {realised}{alarm}"
    if as_json:
        print_json(line)
    else:
        say(text.replace("\u00a0", " "))


def _monitor(
    model: Path,
    table: Path,
    reference: Path | None,
    trust: list[str] | None,
    options: TableOptions,
    **choices: Any,
) -> Monitoring:
    from condrisk.app.models import open_model
    from condrisk.app.monitor import monitor as monitor_rows
    from condrisk.app.tables import iter_batches, read_table

    with progress("reading the model") as update:
        loaded = open_model(model, trusted=trusted_names(trust))
        known = None if reference is None else read_table(reference, schema=loaded.schema)
        return monitor_rows(
            loaded,
            iter_batches(table, options=options, schema=loaded.schema),
            reference=known,
            progress=lambda n: update(f"{n:,} rows"),
            **choices,
        )


def _written(folder: Path) -> list[Path]:
    return [folder / f"monitoring.{ending}" for ending in ("json", "html", "png")]


def _write(found: Monitoring, folder: Path) -> list[Path]:
    """Write the figures as JSON, as a page and as a picture."""
    import matplotlib as mpl

    from condrisk._drawing import save_figure
    from condrisk._files import write_whole

    folder.mkdir(parents=True, exist_ok=True)
    data, page, picture = written = _written(folder)
    write_whole(data, json.dumps(found.to_dict(), indent=1) + "\n")
    write_whole(page, found.to_html())
    with mpl.rc_context({"backend": "agg", "savefig.dpi": 150}):
        import matplotlib.pyplot as plt

        figure: Any = found.plot_all()
        save_figure(figure, picture)
        plt.close(figure)
    return written


def _show(found: Monitoring, written: list[Path]) -> None:
    amounts, before = Amounts(found.loss, unit_of(found.target)), found.reference
    means = f"{amounts.full(before['mean_loss'])}, expected {amounts.text(before['mean_risk'])}"
    name = f"{amounts.mean[0].upper()}{amounts.mean[1:]}"
    say(f"{name} on {before['rows']:,} held-out rows: {means}".replace("\u00a0", " "))
    show(_table(found, amounts))
    if len(found.chunks) > MOST_LINES:
        say(f"The last {MOST_LINES} of {len(found.chunks):,} chunks; all are in the file.")
    for note in found.notes:
        say(note)
    show_verdict(found.verdict())
    say(f"Written to {written[0].parent}/: {', '.join(path.name for path in written)}")


def _table(found: Monitoring, amounts: Amounts) -> RichTable:
    lines = RichTable(title="Expected and realised mean loss", title_justify="left")
    lines.add_column("chunk", no_wrap=True)
    band = f"{100 * found.confidence:.4g} % band"
    for name in ("rows", "expected", band, "realised", "outside"):
        lines.add_column(name, justify="right")
    lines.add_column("")
    for chunk in found.chunks[-MOST_LINES:]:
        lines.add_row(*(cell.replace("\u00a0", " ") for cell in _cells(chunk, amounts)))
    return lines


def _cells(chunk: Any, amounts: Amounts) -> list[str]:
    expected, labelled = chunk.expected, chunk.labelled > 0
    marks = []
    if chunk.alarm:
        marks.append("[bold red]alarm[/]")
    elif chunk.in_band is False:
        above = (chunk.realised or 0.0) > chunk.expected_labelled.high
        marks.append(f"[red]{'above' if above else 'below'} band[/]")
    if chunk.notes:
        marks.append("[yellow]drift[/]")
    return [
        escape(chunk.name),
        f"{chunk.rows:,}",
        amounts.text(expected.mean),
        f"{amounts.bare(expected.low)} – {amounts.bare(expected.high)}",
        _realised(chunk, amounts) if labelled else "",
        percent(chunk.outside),
        ", ".join(marks),
    ]


def _realised(chunk: Any, amounts: Amounts) -> str:
    """Return the realised loss, and of how many rows where not all have a label."""
    text = amounts.text(chunk.realised)
    return text if chunk.labelled == chunk.rows else f"{text} of {chunk.labelled:,}"
