"""The commands, one for each study."""

from __future__ import annotations

import os
from collections.abc import Callable
from enum import StrEnum
from functools import partial
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Annotated, Any

import typer

from condrisk.paper._cli._run import run_and_report

reproduce = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Run the paper's experiments, next to its numbers.",
)

# What runs a study, given a folder and where to report to, and what is made of its records.
Loaded = tuple[Callable[..., Any], Any]

# -- options that several studies have ------------------------------------------------------------

Sets = Annotated[
    list[str] | None,
    typer.Option("--set", help="A set to run on; may be given several times. Default: all."),
]
Scheduler = Annotated[
    str | None,
    typer.Option(
        help="Run on the workers of this Dask scheduler instead, as in tcp://10.0.0.1:8786; "
        "--n-jobs then means nothing.",
        metavar="ADDRESS",
    ),
]


def _quick(help_: str) -> typer.models.OptionInfo:
    return typer.Option("--quick", help=help_)


def _n_jobs(of: str) -> typer.models.OptionInfo:
    return typer.Option(min=1, help=f"{of} at a time. Default: one for each core.")


def _output(of: str, default: str) -> typer.models.OptionInfo:
    return typer.Option("--output", "-o", help=f"The folder of {of}. Default: {default}.")


def _folder(output: Path | None, name: str, *, quick: bool) -> Path:
    return output or Path(f"condrisk-{name}-quick" if quick else f"condrisk-{name}")


class Folds(StrEnum):
    """Whose data and folds."""

    embedded = "embedded"
    paper = "paper"


class Networks(StrEnum):
    """Whose networks."""

    fast = "fast"
    sklearn = "sklearn"


# -- commands -------------------------------------------------------------------------------------


@reproduce.callback()
def _group() -> None:
    """Run the paper's experiments, next to its numbers."""


@reproduce.command()
def rwr(
    folds: Annotated[
        Folds, typer.Option(help="Data and folds: those of this package, or the paper's files.")
    ] = Folds.embedded,
    mlp: Annotated[
        Networks, typer.Option(help="Networks: ours, trained at once, or scikit-learn's.")
    ] = Networks.fast,
    set_: Sets = None,
    method: Annotated[
        list[str] | None,
        typer.Option(help="A method to run; may be given several times. Default: all."),
    ] = None,
    register: Annotated[
        list[Path] | None,
        typer.Option(help="A Python file that registers methods of your own.", metavar="FILE.py"),
    ] = None,
    plug_in: Annotated[
        bool,
        typer.Option(
            "--plug-in",
            help="Not in the paper: plug-in risks of its predictors, beside a forest on losses.",
        ),
    ] = False,
    n_jobs: Annotated[int | None, _n_jobs("Folds")] = None,
    scheduler: Scheduler = None,
    data_home: Annotated[
        Path | None,
        typer.Option(
            help="With --folds paper: the folder that has uci/SET/data.csv.gz. "
            "Default: $CONDRISK_DATA_HOME, or downloaded."
        ),
    ] = None,
    output: Annotated[
        Path | None, _output("records and tables", "condrisk-rwr-FOLDS-MLP or ...-plug-in")
    ] = None,
) -> None:
    """Regression with rejection on eight UCI sets: the paper's Tables 3, 4, 5, 7 and its figure.

    Stopped at any moment, it goes on from there when it is called again.
    """

    def load() -> Loaded:
        from condrisk.paper.rwr import RwRConfig, run_rwr
        from condrisk.paper.rwr.report import PLUG_IN_REPORT, REPORTS

        for path in register or []:
            _import_file(path)
        run = partial(
            run_rwr,
            config=RwRConfig(folds=folds.value, mlp=mlp.value),
            sets=set_,
            methods=method,
            plug_in=plug_in,
            n_jobs=n_jobs or os.cpu_count() or 1,
            scheduler=scheduler,
            data_home=data_home,
        )
        return run, PLUG_IN_REPORT if plug_in else REPORTS[folds.value]

    folder = output or Path(f"condrisk-rwr-{folds}-{mlp}{'-plug-in' if plug_in else ''}")
    # The tables of the text come last, where they are seen.
    run_and_report(folder, load, shown_last=("table3", "table4", "table5"))


@reproduce.command()
def cifar10(
    seeds: Annotated[int, typer.Option(min=1, help="How many seeds.")] = 5,
    first_seed: Annotated[int, typer.Option(min=0, help="The first of them.")] = 0,
    quick: Annotated[bool, _quick("One epoch on few images: does everything run?")] = False,
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
    scheduler: Annotated[
        str | None,
        typer.Option(
            help="Run seeds on the workers of this Dask scheduler, as in tcp://10.0.0.1:8786; each "
            "finds the images and the weights where it is.",
            metavar="ADDRESS",
        ),
    ] = None,
    output: Annotated[Path | None, _output("records and tables", "condrisk-cifar10")] = None,
) -> None:
    """Classification and learning to defer on CIFAR-10: the paper's Tables 1, 2 and 6.

    One seed takes minutes on a large GPU and far too long on a CPU. Stopped at any moment, it goes
    on from the last finished seed when it is called again.
    """

    def load() -> Loaded:
        from condrisk.paper.cifar10 import Cifar10Config, run_cifar10
        from condrisk.paper.cifar10.report import REPORT

        run = partial(
            run_cifar10,
            seeds=range(first_seed, first_seed + seeds),
            config=Cifar10Config(quick=quick),
            device=device,
            weights=weights,
            data_home=data_home,
            scheduler=scheduler,
        )
        return run, REPORT

    run_and_report(_folder(output, "cifar10", quick=quick), load)


@reproduce.command()
def theory(
    quick: Annotated[bool, _quick("Few repetitions: does everything run?")] = False,
    n_jobs: Annotated[int | None, _n_jobs("Settings")] = None,
    scheduler: Scheduler = None,
    output: Annotated[Path | None, _output("records and pages", "condrisk-theory")] = None,
) -> None:
    """Bounds, counterexamples and intervals: the paper's theory, simulated in known worlds.

    It takes four minutes on two cores. Stopped at any moment, it goes on from there when it is
    called again.
    """

    def load() -> Loaded:
        from condrisk.paper.theory.simulations import TheoryConfig, run_theory
        from condrisk.paper.theory.simulations.report import REPORT

        run = partial(
            run_theory,
            config=TheoryConfig(quick=quick),
            n_jobs=n_jobs or os.cpu_count() or 1,
            scheduler=scheduler,
        )
        return run, REPORT

    run_and_report(_folder(output, "theory", quick=quick), load)


@reproduce.command()
def active(
    quick: Annotated[bool, _quick("Few seeds and rounds: does everything run?")] = False,
    embeddings: Annotated[
        Path | None,
        typer.Option(
            help="A file with a row for each image of CIFAR-10. Default: that set is left out.",
            metavar="FILE.npy",
        ),
    ] = None,
    set_: Sets = None,
    n_jobs: Annotated[int | None, _n_jobs("Seeds")] = None,
    scheduler: Scheduler = None,
    output: Annotated[Path | None, _output("records and the page", "condrisk-active")] = None,
) -> None:
    """Labels that pay: learning curves of ways to choose which rows to label next.

    It takes some minutes on two cores. Stopped at any moment, it goes on from there when it is
    called again.
    """

    def load() -> Loaded:
        from condrisk.paper.active import ActiveConfig, run_active
        from condrisk.paper.active.report import REPORT

        run = partial(
            run_active,
            config=ActiveConfig(quick=quick),
            embeddings=embeddings,
            sets=set_,
            n_jobs=n_jobs or os.cpu_count() or 1,
            scheduler=scheduler,
        )
        return run, REPORT

    run_and_report(_folder(output, "active", quick=quick), load)


def _import_file(path: Path) -> None:
    """Run a file of the user's, for the methods that it registers."""
    spec = spec_from_file_location(path.stem, path)
    if not path.is_file() or spec is None or spec.loader is None:
        raise ValueError(f"--register {str(path)!r} is not a Python file.")
    spec.loader.exec_module(module_from_spec(spec))
