"""`condrisk reproduce`: the paper's experiments, next to its own numbers."""

from __future__ import annotations

import os
from enum import StrEnum
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Annotated, Any

import typer

from condrisk.paper._cli._study import Records, Scheduler, Update, Warn, carry_out

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
    scheduler: Scheduler = None,
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
    folder = output or Path(f"condrisk-rwr-{folds}-{mlp}")

    def run(update: Update, warn: Warn) -> Records:
        from condrisk.paper.rwr import RwRConfig, run_rwr

        for path in register or []:
            _import_file(path)
        return run_rwr(
            folder,
            config=RwRConfig(folds=folds.value, mlp=mlp.value),
            sets=set_,
            methods=method,
            n_jobs=n_jobs or os.cpu_count() or 1,
            scheduler=scheduler,
            data_home=data_home,
            progress=update,
            warn=warn,
        )

    def report(records: Records, where: Path) -> list[Path]:
        from condrisk.paper.rwr._report import write_report

        return write_report(records, where, folds=folds.value)

    def tables(records: Records) -> list[Any]:
        from condrisk.paper.rwr._tables import all_tables

        # The tables of the text come last, where they are seen.
        return sorted(all_tables(records), key=lambda table: table.name in _OF_THE_TEXT)

    carry_out(folder, run=run, report=report, tables=tables, last_words=_claims_are_there)


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
    folder = output or Path("condrisk-cifar10-quick" if quick else "condrisk-cifar10")

    def run(update: Update, warn: Warn) -> Records:
        from condrisk.paper.cifar10 import Cifar10Config, run_cifar10

        return run_cifar10(
            folder,
            seeds=range(first_seed, first_seed + seeds),
            config=Cifar10Config(quick=quick),
            device=device,
            weights=weights,
            data_home=data_home,
            tell=lambda what: update(None, None, what),
            warn=warn,
        )

    def report(records: Records, where: Path) -> list[Path]:
        from condrisk.paper.cifar10._report import write_report

        return write_report(records, where)

    def tables(records: Records) -> list[Any]:
        from condrisk.paper.cifar10._tables import all_tables

        return all_tables(records)

    carry_out(folder, run=run, report=report, tables=tables, last_words=_claims_are_there)


def _import_file(path: Path) -> None:
    """Run a file of the user's, for the methods that it registers."""
    spec = spec_from_file_location(path.stem, path)
    if not path.is_file() or spec is None or spec.loader is None:
        raise ValueError(f"--register {str(path)!r} is not a Python file.")
    spec.loader.exec_module(module_from_spec(spec))


def _claims_are_there(written: list[Path]) -> str:
    return (
        f"{len(written)} files in {written[0].parent}: tables as .md, .tex and .png, figures, "
        "and claims.md, which holds the paper's claims against them."
    )
