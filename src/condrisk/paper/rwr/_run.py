"""Regression with rejection: every method on every fold of every set, into records."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from typing import Any, Literal

from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

from condrisk.paper._figures import COSTS
from condrisk.paper._records import Key, Record
from condrisk.paper._study import Progress, Study, Task, Units, Warn, check_choice
from condrisk.paper.rwr._baselines import NEED_TORCH
from condrisk.paper.rwr._data import PLUG_IN_SETS, SETS, StudySet, load_set
from condrisk.paper.rwr._evaluation import evaluate
from condrisk.paper.rwr._fingerprint import fingerprint
from condrisk.paper.rwr._fitting import Rows, fit_methods
from condrisk.paper.rwr._methods import MLP, SEED, make_methods
from condrisk.paper.rwr._plug_in._methods import make_plug_in_methods

# What the paper's figure shows; its rows are kept in the records.
_FIGURE = ("energy", 0, "MLP+RF")


@dataclass(frozen=True)
class RwRConfig:
    """What the figures of a run depend on, besides versions.

    Parameters
    ----------
    folds : {"embedded", "paper"}, default="embedded"
        Whose data and folds: those embedded in the package, or the paper's own files.
    mlp : {"fast", "sklearn"}, default="fast"
        Which networks: `condrisk.paper.rwr.LockstepMLPRegressor` or scikit-learn's.
    """

    folds: Literal["embedded", "paper"] = "embedded"
    mlp: MLP = "fast"

    def __post_init__(self) -> None:
        for name, valid in (("folds", ("embedded", "paper")), ("mlp", ("fast", "sklearn"))):
            if getattr(self, name) not in valid:
                raise ValueError(
                    f"{name} must be one of {', '.join(valid)}; got {getattr(self, name)!r}."
                )

    def to_dict(self) -> dict[str, Any]:
        """Return what stands in the records."""
        return {"study": "rwr", **asdict(self), "seed": SEED, "costs": list(COSTS)}


def run_rwr(
    folder: str | os.PathLike[str],
    *,
    config: RwRConfig | None = None,
    sets: Sequence[str] | None = None,
    methods: Sequence[str] | None = None,
    plug_in: bool = False,
    n_jobs: int = 1,
    scheduler: str | None = None,
    data_home: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
    warn: Warn = warnings.warn,
) -> list[Record]:
    """Run the study of regression with rejection, or what is missing of it.

    Every method is fitted on nine tenths of the rows of each set and judged on the other tenth,
    ten times. Each finished fold is on disk at once: stopped at any moment, the next call goes on
    from there, and ends in the same records.

    Parameters
    ----------
    folder : path
        Where the records are, or will be, in the file ``records.jsonl``.
    config : RwRConfig or None, default=None
        Whose folds and which networks. A folder holds the records of one configuration.
    sets : sequence of str or None, default=None
        Some of the sets. None: all ten, or with `plug_in` all but "wine-quality".
    methods : sequence of str or None, default=None
        Some of the methods. None: the paper's pairs and all that are registered.
    plug_in : bool, default=False
        Whether to run, instead of these, plug-in risks of the paper's predictors beside the
        regression of their losses by a forest.
    n_jobs : int, default=1
        How many folds to work on at a time, each in a process of its own and on one core. The
        figures do not depend on it.
    scheduler : str or None, default=None
        The address of a Dask scheduler, on whose workers to run instead. The records are the
        same.
    data_home : path or None, default=None
        With the paper's folds, where their files are; see `condrisk.datasets.load_uci`.
    progress : callable or None, default=None
        Called with the work done, the whole work and what was just finished.
    warn : callable, default=warnings.warn
        Called with a sentence about each file of records that is corrupt and was set aside.

    Returns
    -------
    list of dict
        The records of the chosen sets and methods.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from condrisk.paper.rwr import run_rwr
    >>> with TemporaryDirectory() as folder:
    ...     records = run_rwr(folder, sets=["housing"], methods=["LR+LR"])
    >>> len(records), records[0]["method"]
    (10, 'LR+LR')
    """
    config = RwRConfig() if config is None else config
    make = make_plug_in_methods if plug_in else make_methods
    estimators = make(mlp=config.mlp)
    chosen = check_choice("methods", methods, estimators)
    if methods is None and not plug_in and find_spec("torch") is None:
        chosen = [name for name in chosen if name not in NEED_TORCH]
        warn(
            f"{', '.join(NEED_TORCH)} are left out: they need torch, which is not installed "
            f'(pip install "condrisk[torch]").'
        )
    study = RwRStudy(
        config,
        check_choice("sets", sets, PLUG_IN_SETS if plug_in else SETS),
        {name: estimators[name] for name in chosen},
        data_home,
    )
    return study.run(folder, n_jobs=n_jobs, scheduler=scheduler, progress=progress, warn=warn)


@dataclass(frozen=True)
class RwRStudy(Study):
    """Some sets and methods of the study; a unit is one fold of a set."""

    config: RwRConfig
    names: list[str]
    methods: dict[str, Any]
    data_home: str | os.PathLike[str] | None

    def order(self, key: Key) -> tuple[int, int]:
        """Return the place of a unit: set by set."""
        return SETS.index(key[0]), key[1]

    def keys(self) -> list[Key]:
        """Return every fold of the chosen sets."""
        return [(name, fold) for name in self.names for fold in range(10)]

    def chosen(self, units: Units) -> list[Record]:
        """Return the records of the chosen methods only."""
        return [units[key].records[method] for key in self.keys() for method in self.methods]

    def tasks(self, units: Units) -> Iterator[Task]:
        """Yield what is not on record, or was recorded for another method of the same name."""
        prints = {name: fingerprint(method) for name, method in self.methods.items()}
        loaded: dict[str, StudySet] = {}
        for name, fold in self.keys():
            known = units[name, fold].records if (name, fold) in units else {}
            missing = {
                method: estimator
                for method, estimator in self.methods.items()
                if known.get(method, {}).get("fingerprint") != prints[method]
            }
            if not missing:
                continue
            if name not in loaded:
                loaded[name] = load_set(name, folds=self.config.folds, data_home=self.data_home)
            yield Task(
                ((name, fold),),
                f"{name}, fold {fold + 1}",
                f"fitting {', '.join(missing)} on {name}, fold {fold + 1}",
                work=len(loaded[name].X) * len(missing),
                inputs=(loaded[name], missing, prints),
            )

    def do(self, task: Task) -> Iterator[Record]:
        """Fit what a fold needs, and evaluate it."""
        [(name, fold)] = task.keys
        data, methods, prints = task.inputs
        train, test = data.folds[fold]
        rows = Rows(data.X, data.y, data.groups)
        with _one_thread(methods), warnings.catch_warnings():
            # The paper's networks are stopped after 800 epochs, converged or not.
            warnings.simplefilter("ignore", ConvergenceWarning)
            warnings.filterwarnings("ignore", message="Got `batch_size` less than 1 or larger")
            # Predictors are the paper's, good or not, and so are the folds, copies or not.
            warnings.filterwarnings("ignore", message="the predictor is worse than a constant")
            warnings.filterwarnings("ignore", message=".* of the rows have copies or near copies")
            X_test, y_test = data.X[test], data.y[test]
            for fitted in fit_methods(methods, rows.take(train)):
                record = {
                    "set": name,
                    "fold": fold,
                    "method": fitted.name,
                    "fingerprint": prints[fitted.name],
                    "n_train": len(train),
                    "n_test": len(test),
                }
                keep = (name, fold, fitted.name) == _FIGURE
                yield record | evaluate(fitted, X_test, y_test, keep_rows=keep)


@contextmanager
def _one_thread(methods: Iterable[str]) -> Iterator[None]:
    """Keep linear algebra to one thread: processes share the cores, and sums their order."""
    with threadpool_limits(1):
        # Importing torch takes seconds, so only where a method will do it anyway.
        if "torch" not in sys.modules and not any(name in NEED_TORCH for name in methods):
            yield
            return
        import torch

        before = torch.get_num_threads()
        torch.set_num_threads(1)
        try:
            yield
        finally:
            torch.set_num_threads(before)
