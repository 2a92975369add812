"""`condrisk monitor`: what loss to expect of new rows, and whether labels agree."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table as RichTable

from condrisk.app._paths import check_inputs
from condrisk.app.cli._terminal import (
    Trust,
    print_json,
    progress,
    say,
    trusted_names,
    user_errors,
)

if TYPE_CHECKING:
    from condrisk.app.monitor import Monitoring

MOST_LINES = 60


def monitor(
    model: Annotated[
        Path, typer.Argument(help="A model file, as condrisk fit or save_model writes it.")
    ],
    table: Annotated[
        Path,
        typer.Argument(
            help="New rows, CSV, Parquet or Arrow, in the order in which they came: all since the "
            "model was fitted. Where the target's column is there and filled in, it is the label."
        ),
    ],
    rows: Annotated[
        int | None, typer.Option(help="Rows a chunk; 1000 unless --every is given.", min=1)
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
            help="The largest chance of an alarm in the whole table while nothing has changed.",
            min=0,
            max=1,
        ),
    ] = 0.05,
    tolerance: Annotated[
        float,
        typer.Option(help="Losses may exceed the expected ones by this share.", min=0),
    ] = 0.0,
    reference: Annotated[
        Path | None,
        typer.Option(
            help="A table of rows like those fitted on: rows unlike all of them are then found, "
            "not only those beyond the range or the categories of a column. Needed where the model "
            "file has no measured rows; then with targets, and not the rows fitted on."
        ),
    ] = None,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="The folder for monitoring.json and .png.")
    ] = Path("condrisk-monitor"),
    trust: Trust = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object instead of the table.")
    ] = False,
    fail_on_alarm: Annotated[
        bool, typer.Option("--fail-on-alarm", help="End with exit code 1 if there is an alarm.")
    ] = False,
) -> None:
    """Tell what loss to expect of new rows, chunk by chunk, before and after labels come.

    The expected loss is the mean risk of the rows; its band says where the realised loss will lie
    if losses still go with risks as they did on the rows held out when fitting. Labels that say
    otherwise raise an alarm, and rows unlike those the model has learnt from are told.

    For example: condrisk monitor model.skops new.csv --every 1w --time day
    """
    with user_errors():
        check_inputs(model, table, reference)
        found = _monitor(
            model,
            table,
            reference,
            trust,
            rows=rows,
            every=every,
            time=time,
            confidence=confidence,
            false_alarms=false_alarms,
            tolerance=tolerance,
        )
        written = _write(found, output)
    if as_json:
        print_json(found.to_dict() | {"written": [str(path) for path in written]})
    else:
        _show(found, written)
    if fail_on_alarm and found.alarm is not None:
        raise typer.Exit(1)


def _monitor(
    model: Path, table: Path, reference: Path | None, trust: list[str] | None, **options: Any
) -> Monitoring:
    from condrisk.app.models import open_model
    from condrisk.app.monitor import monitor as monitor_rows
    from condrisk.app.tables import iter_batches, read_table

    with progress("reading the model") as update:
        loaded = open_model(model, trusted=trusted_names(trust))
        known = None if reference is None else read_table(reference)
        return monitor_rows(
            loaded,
            iter_batches(table),
            reference=known,
            progress=lambda n: update(f"{n:,} rows"),
            **options,
        )


def _write(found: Monitoring, folder: Path) -> list[Path]:
    """Write the figures as JSON, and as a picture."""
    import matplotlib as mpl

    from condrisk._drawing import save_figure
    from condrisk._files import write_whole

    folder.mkdir(parents=True, exist_ok=True)
    written = [folder / "monitoring.json", folder / "monitoring.png"]
    write_whole(written[0], json.dumps(found.to_dict(), indent=1) + "\n")
    with mpl.rc_context({"backend": "agg", "savefig.dpi": 150}):
        import matplotlib.pyplot as plt

        figure: Any = found.plot().figure
        save_figure(figure, written[1])
        plt.close(figure)
    return written


def _show(found: Monitoring, written: list[Path]) -> None:
    console = Console()
    before = found.reference
    console.print(
        f"Mean {found.loss.replace('_', ' ')} of {before['rows']:,} held-out rows: "
        f"{before['mean_loss']:.4g} (expected {before['mean_risk']:.4g})",
        highlight=False,
    )
    console.print(_table(found))
    if len(found.chunks) > MOST_LINES:
        console.print(
            f"The last {MOST_LINES} of {len(found.chunks):,} chunks; all are in the file."
        )
    for chunk in found.chunks[-MOST_LINES:]:
        for note in chunk.notes:
            console.print(f"[yellow]{escape(chunk.name)}[/]: {escape(note)}.", highlight=False)
    for note in found.notes:
        console.print(escape(note), highlight=False)
    console.print(_verdict(found), highlight=False)
    say(f"Written to {written[0].parent}/: {', '.join(path.name for path in written)}")


def _verdict(found: Monitoring) -> str:
    rate = f"{found.false_alarms:.3g}"
    if found.threshold is None:
        return "No labels, no alarm: what is shown is what to expect."
    if found.alarm is None:
        return f"No alarm. While nothing changes, one ever comes with probability {rate} at most."
    return (
        f"[bold red]Alarm[/] since {escape(found.alarm)}: losses are larger than the risks say. "
        f"While nothing changes, an alarm ever comes with probability {rate} at most."
    )


def _table(found: Monitoring) -> RichTable:
    lines = RichTable(title="Expected and realised mean loss", title_justify="left")
    lines.add_column("chunk")
    for name in ("rows", "expected", f"{found.confidence:.0%} band", "realised", "of", "outside"):
        lines.add_column(name, justify="right")
    lines.add_column("")
    for chunk in found.chunks[-MOST_LINES:]:
        lines.add_row(*_cells(chunk))
    return lines


def _cells(chunk: Any) -> list[str]:
    expected, labelled = chunk.expected, chunk.labelled > 0
    marks = []
    if chunk.alarm:
        marks.append("[bold red]alarm[/]")
    elif chunk.in_band is False:
        marks.append("[red]not in its band[/]")
    if chunk.notes:
        marks.append("[yellow]drift[/]")
    return [
        escape(chunk.name),
        f"{chunk.rows:,}",
        f"{expected.mean:.4g}",
        f"{expected.low:.4g} – {expected.high:.4g}",
        f"{chunk.realised:.4g}" if labelled else "",
        f"{chunk.labelled:,}" if labelled else "",
        f"{chunk.outside:.1%}",
        ", ".join(marks),
    ]
