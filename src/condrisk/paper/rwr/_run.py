"""Regression with rejection: every method on every fold of every set, into records."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal

from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

from condrisk.paper._dispatch import Progress, run_tasks
from condrisk.paper._figures import COSTS
from condrisk.paper._records import Key, Record, Store, Unit
from condrisk.paper.rwr._baselines import NEED_TORCH
from condrisk.paper.rwr._data import SETS, StudySet, load_set
from condrisk.paper.rwr._fingerprint import fingerprint
from condrisk.paper.rwr._fitting import Fitted, Rows, fit_methods
from condrisk.paper.rwr._judging import judge
from condrisk.paper.rwr._methods import MLP, SEED, make_methods

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
    n_jobs: int = 1,
    scheduler: str | None = None,
    data_home: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
    warn: Callable[[str], None] = warnings.warn,
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
        Some of the sets. None: all ten.
    methods : sequence of str or None, default=None
        Some of the methods. None: the paper's pairs and all that are registered.
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
    sets = _check_choice("sets", sets, SETS)
    estimators = make_methods(mlp=config.mlp)
    chosen = _check_choice("methods", methods, tuple(estimators))
    if methods is None and find_spec("torch") is None:
        chosen = [name for name in chosen if name not in NEED_TORCH]
        warn(
            f"{', '.join(NEED_TORCH)} are left out: they need torch, which is not installed "
            f'(pip install "condrisk[torch]").'
        )
    estimators = {name: estimators[name] for name in chosen}
    store = Store(Path(folder), warn=warn)
    units = store.load(config.to_dict())
    tasks = list(_open_tasks(sets, estimators, units, config, data_home))
    run_tasks(
        _do,
        tasks,
        units,
        store,
        order=_in_order,
        n_jobs=n_jobs,
        scheduler=scheduler,
        progress=progress,
    )
    return [
        units[name, fold].records[method]
        for name in sets
        for fold in sorted(fold for other, fold in units if other == name)
        for method in chosen
    ]


def _check_choice(name: str, given: Sequence[str] | None, valid: tuple[str, ...]) -> list[str]:
    if given is None:
        return list(valid)
    unknown = [choice for choice in given if choice not in valid]
    if isinstance(given, str) or unknown or not given:
        raise ValueError(f"{name} must be a list of some of {', '.join(valid)}; got {given!r}.")
    return [choice for choice in valid if choice in given]


def _in_order(key: Key) -> tuple[int, int]:
    return SETS.index(key[0]), key[1]


# -- what is to be done ---------------------------------------------------------------------------


@dataclass
class Task:
    """The methods that one fold of one set still needs."""

    data: StudySet
    fold: int
    methods: dict[str, Any]
    unit: Unit

    @property
    def key(self) -> Key:
        """The key of its unit."""
        return self.unit.key

    @property
    def title(self) -> str:
        """What to call it."""
        return f"{self.data.name}, fold {self.fold + 1}"

    @property
    def work(self) -> float:
        """A rough measure of the time it takes, for order and progress."""
        return len(self.data.X) * len(self.methods)


def _open_tasks(
    sets: Sequence[str],
    methods: dict[str, Any],
    units: dict[Key, Unit],
    config: RwRConfig,
    data_home: str | os.PathLike[str] | None,
) -> Iterator[Task]:
    """Yield what is not on record yet, or was recorded for another method of the same name."""
    prints = {name: fingerprint(method) for name, method in methods.items()}
    # The largest sets first: two processes then end at about the same time.
    for name in sorted(sets, key=lambda name: "parkinsons" not in name):
        missing = {}
        for fold in range(10):
            known = units[name, fold].records if (name, fold) in units else {}
            missing[fold] = {
                method: estimator
                for method, estimator in methods.items()
                if known.get(method, {}).get("fingerprint") != prints[method]
            }
        if not any(missing.values()):
            continue
        data = load_set(name, folds=config.folds, data_home=data_home)
        for fold, needed in missing.items():
            if needed:
                unit = units.get((name, fold)) or Unit(name, fold, config.to_dict())
                yield Task(data, fold, needed, unit)


def _do(task: Task) -> Unit:
    """Fit and judge what a fold needs."""
    train, test = task.data.folds[task.fold]
    groups = task.data.groups
    rows = Rows(task.data.X, task.data.y, groups)
    new: dict[str, Record] = {}
    with _one_thread(task.methods), warnings.catch_warnings():
        # The paper's networks are stopped after 800 epochs, converged or not.
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.filterwarnings("ignore", message="Got `batch_size` less than 1 or larger")
        X_test, y_test = task.data.X[test], task.data.y[test]
        for fitted in _named(fit_methods(task.methods, rows.take(train)), task):
            record = {
                "set": task.data.name,
                "fold": task.fold,
                "method": fitted.name,
                "fingerprint": fingerprint(task.methods[fitted.name]),
                "n_train": len(train),
                "n_test": len(test),
            }
            keep = (task.data.name, task.fold, fitted.name) == _FIGURE
            new[fitted.name] = record | judge(fitted, X_test, y_test, keep_rows=keep)
    return Unit(task.unit.set, task.unit.fold, task.unit.config, task.unit.records | new)


def _named(fits: Iterator[Fitted], task: Task) -> Iterator[Fitted]:
    """Say on which fold a method failed."""
    try:
        yield from fits
    except Exception as error:
        error.add_note(
            f"while fitting {', '.join(task.methods)} on {task.data.name}, fold {task.fold + 1}"
        )
        raise


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
