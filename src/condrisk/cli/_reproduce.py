"""`condrisk reproduce`: the paper's experiments, next to its own numbers."""

from __future__ import annotations

import os
from enum import StrEnum
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.progress import (
    BarColumn,
    Progress,
    SpinnerColumn,
    TaskProgressColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

app = typer.Typer(no_args_is_help=True, help="Run the paper's experiments, next to its numbers.")


_OF_THE_TEXT = ("table3", "table4", "table5")


class Folds(StrEnum):
    """Whose data and folds."""

    embedded = "embedded"
    paper = "paper"


class Networks(StrEnum):
    """Whose networks."""

    fast = "fast"
    sklearn = "sklearn"


@app.callback()
def _group() -> None:
    """Run the paper's experiments, next to its numbers."""


@app.command()
def rwr(
    folds: Annotated[
        Folds, typer.Option(help="Data and folds: those of this package, or the paper's files.")
    ] = Folds.embedded,
    mlp: Annotated[
        Networks, typer.Option(help="Networks: ours, trained at once, or scikit-learn's.")
    ] = Networks.fast,
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", help="A set to run on; may be given several times. Default: all."),
    ] = None,
    method: Annotated[
        list[str] | None,
        typer.Option(help="A method to run; may be given several times. Default: all."),
    ] = None,
    register: Annotated[
        list[Path] | None,
        typer.Option(help="A Python file that registers methods of your own.", metavar="FILE.py"),
    ] = None,
    n_jobs: Annotated[
        int | None, typer.Option(min=1, help="Folds at a time. Default: one for each core.")
    ] = None,
    data_home: Annotated[
        Path | None,
        typer.Option(
            help="With --folds paper: the folder that has uci/SET/data.csv.gz. "
            "Default: $CONDRISK_DATA_HOME, or downloaded."
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            help="The folder of records and tables. Default: condrisk-rwr-FOLDS-MLP.",
        ),
    ] = None,
) -> None:
    """Regression with rejection on eight UCI sets: the paper's Tables 3, 4, 5, 7 and its figure.

    Stopped at any moment, it goes on from there when it is called again.
    """
    from condrisk.reproduce import CorruptRecordError, RwRConfig, run_rwr
    from condrisk.reproduce.rwr._report import write_report

    console, errors = Console(), Console(stderr=True)
    folder = output or Path(f"condrisk-rwr-{folds}-{mlp}")
    try:
        for path in register or []:
            _import_file(path)
        with make_progress(console) as progress:
            bar = progress.add_task("starting", total=None)
            records = run_rwr(
                folder,
                config=RwRConfig(folds=folds.value, mlp=mlp.value),
                sets=set_,
                methods=method,
                n_jobs=n_jobs or os.cpu_count() or 1,
                data_home=data_home,
                progress=lambda done, total, what: progress.update(
                    bar, completed=done, total=total, description=what
                ),
                warn=lambda text: errors.print(f"[yellow]Note:[/] {escape(text)}", highlight=False),
            )
            progress.update(bar, description="writing tables")
            written = write_report(records, folder / "report", folds=folds.value)
    except (ValueError, OSError, ImportError, CorruptRecordError) as error:
        errors.print(f"[bold red]Error:[/] {escape(str(error))}", highlight=False)
        raise typer.Exit(2) from None
    except KeyboardInterrupt:
        errors.print(f"Stopped. What is finished is in {folder}; the same command goes on.")
        raise typer.Exit(130) from None
    from condrisk.reproduce.rwr._tables import all_tables

    # The tables of the text come last, where they are seen.
    tables = sorted(all_tables(records), key=lambda table: table.name in _OF_THE_TEXT)
    _show(console, tables, len(records), folder, written)


@app.command()
def cifar10(
    seeds: Annotated[int, typer.Option(min=1, help="How many seeds.")] = 5,
    first_seed: Annotated[int, typer.Option(min=0, help="The first of them.")] = 0,
    quick: Annotated[
        bool, typer.Option("--quick", help="One epoch on few images: does everything run?")
    ] = False,
    device: Annotated[
        str, typer.Option(help='Where to train: "cuda", "cpu", or a GPU if there is one.')
    ] = "auto",
    weights: Annotated[
        str,
        typer.Option(help='A file of ImageNet weights for EfficientNet-Lite0, or "imagenet".'),
    ] = "imagenet",
    data_home: Annotated[
        Path | None,
        typer.Option(
            help="The folder that has cifar10/. Default: $CONDRISK_DATA_HOME, or the user's cache."
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", help="The folder of records and tables. Default: condrisk-cifar10."
        ),
    ] = None,
) -> None:
    """Classification and learning to defer on CIFAR-10: the paper's Tables 1, 2 and 6.

    One seed takes minutes on a large GPU and far too long on a CPU. Stopped at any moment, it goes
    on from the last finished seed when it is called again.
    """
    console, errors = Console(), Console(stderr=True)
    folder = output or Path("condrisk-cifar10-quick" if quick else "condrisk-cifar10")
    try:
        from condrisk.reproduce.cifar10 import Cifar10Config, run_cifar10
        from condrisk.reproduce.cifar10._report import write_report

        with make_progress(console) as progress:
            bar = progress.add_task("starting", total=None)
            records = run_cifar10(
                folder,
                seeds=range(first_seed, first_seed + seeds),
                config=Cifar10Config(quick=quick),
                device=device,
                weights=weights,
                data_home=data_home,
                tell=lambda what: progress.update(bar, description=what),
                warn=lambda text: errors.print(f"[yellow]Note:[/] {escape(text)}", highlight=False),
            )
            progress.update(bar, description="writing tables")
            written = write_report(records, folder / "report")
    except (ValueError, OSError, ImportError) as error:
        errors.print(f"[bold red]Error:[/] {escape(str(error))}", highlight=False)
        raise typer.Exit(2) from None
    except KeyboardInterrupt:
        errors.print(f"Stopped. What is finished is in {folder}; the same command goes on.")
        raise typer.Exit(130) from None
    from condrisk.reproduce.cifar10._tables import all_tables

    _show(console, all_tables(records), len(records), folder, written)


def _import_file(path: Path) -> None:
    """Run a file of the user's, for the methods that it registers."""
    spec = spec_from_file_location(path.stem, path)
    if not path.is_file() or spec is None or spec.loader is None:
        raise ValueError(f"--register {str(path)!r} is not a Python file.")
    spec.loader.exec_module(module_from_spec(spec))


def make_progress(console: Console) -> Progress:
    """Return the bar that long commands show, which is gone when they have ended."""
    return Progress(
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TextColumn("elapsed"),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
        console=console,
        transient=True,
    )


def _show(
    console: Console, tables: list[Any], n_records: int, folder: Path, written: list[Path]
) -> None:
    from condrisk.reproduce._render import to_terminal

    for table in tables:
        console.print(to_terminal(table))
        console.print()
    console.print(f"{n_records} records in {folder / 'records.jsonl'}", highlight=False)
    console.print(
        f"{len(written)} files in {written[0].parent}: tables as .md, .tex and .png, figures, "
        "and claims.md, which holds the paper's claims against them.",
        highlight=False,
        markup=False,
    )
