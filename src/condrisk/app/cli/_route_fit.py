"""`condrisk route-fit`: from a table of rows and losses to a router."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from condrisk.app._numbers import number, percent
from condrisk.app._paths import check_inputs, check_output
from condrisk.app.cli._tables import (
    TABLE_HELP,
    DateFormats,
    Decimal,
    Query,
    Sheet,
    pairs,
    parse_source,
    table_options,
)
from condrisk.app.cli._terminal import (
    Overwrite,
    Quiet,
    exclusive,
    needs,
    note,
    print_json,
    progress,
    say,
    show,
    user_errors,
)

if TYPE_CHECKING:
    from rich.table import Table


def route_fit(
    table: Annotated[Path, typer.Argument(help=TABLE_HELP, metavar="TABLE", parser=parse_source)],
    losses: Annotated[
        list[str],
        typer.Option(
            help="A model and the column with its losses, true or 1 where it was wrong; given once "
            "for each model. An empty cell is a row that it has not answered.",
            metavar="MODEL=COLUMN",
        ),
    ],
    costs: Annotated[
        list[str],
        typer.Option(
            help="A model and what an answer of it costs; given once for each.",
            metavar="MODEL=COST",
        ),
    ],
    first: Annotated[
        str | None,
        typer.Option(
            help="The model that has answered before it is decided who else does, so that columns "
            "of the table may tell of its answer. Its cost is spent on every row.",
            metavar="MODEL",
        ),
    ] = None,
    risk_target: Annotated[
        float | None,
        typer.Option(
            help="The greatest mean loss of the rows left with the cheapest model, guaranteed with "
            "--confidence. Rows are set aside to show it."
        ),
    ] = None,
    confidence: Annotated[
        float | None,
        typer.Option(help="How sure --risk-target is to be. Default: 0.95.", min=0.0, max=1.0),
    ] = None,
    cap: Annotated[
        float | None,
        typer.Option(
            help="For --risk-target: the greatest loss, larger ones count as this. 1 where losses "
            "are 0 and 1; columns of true and false need none."
        ),
    ] = None,
    holdout: Annotated[
        float,
        typer.Option(help="The share of rows that the router is not fitted on but measured on."),
    ] = 0.2,
    drop: Annotated[
        list[str] | None,
        typer.Option(help="A column to leave out; may be given several times.", metavar="COLUMN"),
    ] = None,
    only: Annotated[
        list[str] | None,
        typer.Option(
            help="A column to learn from, and no other; may be given several times.",
            metavar="COLUMN",
        ),
    ] = None,
    sheet: Sheet = None,
    query: Query = None,
    decimal: Decimal = None,
    date_format: DateFormats = None,
    seed: Annotated[int, typer.Option(help="Same seed, same router.", min=0)] = 0,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="The file to write.", metavar="ROUTER")
    ] = Path("router.skops"),
    overwrite: Overwrite = False,
    quiet: Quiet = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print figures and notes as one JSON object.")
    ] = False,
) -> None:
    r"""Fit a router to a table: which of several models answers each row.

    It learns from texts, numbers and categories how large the loss of each model will be. condrisk
    score then says for new rows which model to ask, condrisk serve does so over HTTP, and condrisk
    report shows what it is worth.

    Example: condrisk route-fit answers.csv --losses small=err_s --losses large=err_l \
    --costs small=0.2 --costs large=3 -o router.skops
    """
    notes: list[str] = []

    def tell(text: str) -> None:
        notes.append(text)
        note(text)

    with user_errors():
        exclusive(drop=drop, only=only)
        if risk_target is None:
            needs("--risk-target", confidence=confidence, cap=cap)
        options = table_options(sheet, query, decimal, date_format)
        columns = pairs(losses, "--losses", "COLUMN")
        prices = {name: _cost(name, text) for name, text in pairs(costs, "--costs", "COST").items()}
        check_inputs(None, table, options=options)
        check_output(output, overwrite=overwrite)
        with progress(f"reading {table}") as update:
            from condrisk.app.models import fit_router
            from condrisk.app.tables import read_table
            from condrisk.persistence import read_manifest, save_model

            frame = read_table(table, options=options, note=tell)
            update("fitting")
            router = fit_router(
                frame,
                losses=columns,
                costs=prices,
                first=first,
                risk_target=risk_target,
                confidence=0.95 if confidence is None else confidence,
                cap=cap,
                holdout=holdout,
                drop=tuple(drop or ()),
                only=only or None,
                random_state=seed,
                note=tell,
            )
            update(f"writing {output}")
            save_model(
                router.router,
                output,
                router.schema,
                target=columns,
                reference=router.reference,
            )
            manifest = read_manifest(output)
    if as_json:
        print_json({"output": str(output), "notes": notes, **manifest})
    else:
        show_router(manifest)
        say(
            f"Written to {output} ({output.stat().st_size / 1024:,.0f} KiB). "
            f"New rows: condrisk score {output} NEW.csv --price 0.1 -o ROUTED.csv"
        )


def _cost(name: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ValueError(f"--costs {name}={text}: the cost must be a number.") from None


def show_router(manifest: dict[str, Any]) -> None:
    """Print what a router is worth, as far as its file says."""
    about = manifest["routing"]
    say(f"A router between {', '.join(about['costs'])}", style="bold")
    if about["kept_by_rule"] is not None:
        say(f"  rows left with {about['kept_by_rule']}: {manifest['rule']}")
    figures = about["figures"]
    if figures is None:
        say("No figures: the router was saved without rows to measure it on.")
        return
    show(_figures(figures, list(about["costs"])))
    gap = figures["apgr"]
    if gap["value"] is not None:
        say(
            f"Of the gap in mean loss between the cheapest and the best model it closes "
            f"{_share(gap)}, averaged over all costs between theirs (APGR; random: 50 %)."
        )
    say(f"Measured on {figures['rows']:,} rows that it was not fitted on; 95% intervals.")


def _share(figure: dict[str, Any]) -> str:
    text = percent(figure["value"])
    if figure["low"] is None or figure["high"] is None:
        text += " (no interval: on too many resamples of the rows there is no gap)"
    else:
        text += f" [{percent(figure['low'])}, {percent(figure['high'])}]"
    return text.replace("\u00a0", " ")


def _figures(figures: dict[str, Any], names: list[str]) -> Table:
    """Return mean costs and losses: each model alone, and the router at some costs."""
    from rich.table import Table

    curve = figures["curve"]
    table = Table(title="Expected on new rows", title_justify="left")
    table.add_column("")
    for name in ("cost per row", "mean loss"):
        table.add_column(name, justify="right")
    for name, cost, loss in zip(names, curve["model_cost"], curve["model_loss"], strict=True):
        table.add_row(f"always {name}", number(cost), number(loss))
    last = len(curve["cost"]) - 1
    for share in (0.25, 0.5, 0.75):
        at = round(share * last)
        cost, loss = number(curve["cost"][at]), number(curve["loss"][at])
        table.add_row(f"router, {share:.0%} of the way", cost, loss, style="bold")
    return table
