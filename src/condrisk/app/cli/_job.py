"""The job of the quickstart: a table read, fitted and measured, as `fit` and `report` do it."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from sklearn.model_selection import train_test_split

from condrisk.app._names import listed, nearest
from condrisk.app._paths import source_name
from condrisk.app.models import TableModel, fit_table, open_model
from condrisk.app.report import Report, build_report
from condrisk.app.tables import Notation, TableError, TableOptions, check_rows, read_noted
from condrisk.datasets import load_uci
from condrisk.metrics import aurc, deferral_loss, deferral_rate, risk_error

SEED = 0
TEST_SHARE = 0.25
# A first look needs no more rows, and a model needs 50 of what is left to fit on.
MOST_ROWS = 100_000
FEWEST_ROWS = math.ceil(50 / (1 - TEST_SHARE))
# A target with no more values than this is split so that both parts have each of them.
MOST_CLASSES = 10

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Data:
    """A table with its target, and the lines of Python that give the same."""

    name: str
    frame: pl.DataFrame
    target: str
    task: Any
    notes: list[str]
    imports: tuple[str, ...]
    code: tuple[str, ...]
    notations: dict[str, Notation] = field(default_factory=dict)


class Notes(list[str]):
    """Notes that are told when they come, and kept."""

    def __init__(self, tell: Callable[[str], None]) -> None:
        super().__init__()
        self._tell = tell

    def append(self, text: str) -> None:
        """Tell a note, and keep it."""
        super().append(text)
        self._tell(text)


@dataclass(frozen=True)
class Result:
    """Everything that the job found; losses and risks are those of the test rows."""

    data: Data
    model: TableModel
    report: Report
    costs: list[float]
    test: pl.DataFrame
    loss: Floats
    risk: Floats
    n_train: int

    @property
    def name(self) -> str:
        """What estimates the risk."""
        return type(self.model.model.risk_).__name__

    def deferral_rows(self) -> list[dict[str, float]]:
        """Return the deferral loss at each cost, beside what any method must be held against."""
        return [
            {
                "cost": cost,
                "always_defer": cost,
                "never_defer": float(self.loss.mean()),
                "oracle": float(np.minimum(self.loss, cost).mean()),
                f"{self.name}_loss": deferral_loss(self.loss, self.risk, cost),
                f"{self.name}_coverage": 1 - deferral_rate(self.risk, cost),
            }
            for cost in self.costs
        ]

    def error_rows(self) -> list[dict[str, Any]]:
        """Return how far the risk is from the realised losses; a constant for comparison."""
        mean = float(self.model.model.risk_.held_out_.losses.mean())
        candidates = [(self.name, self.risk), ("constant", np.full_like(self.loss, mean))]
        return [
            {
                "estimate": name,
                "mean": float(risk.mean()),
                "L1": risk_error(self.loss, risk, norm=1),
                "L2": risk_error(self.loss, risk, norm=2),
                "aurc": aurc(self.loss, risk),
            }
            for name, risk in candidates
        ]

    def code(self) -> str:
        """Return the Python that does the same, with the names and a cost of this job."""
        manifest, target = self.model.manifest, self.data.target
        strata = f", stratify=frame[{target!r}]" if _strata(self.data) is not None else ""
        choices = f"task={manifest['task']!r}, loss={manifest['loss']!r}, cost={self.model.cost!r}"
        if self.data.notations:
            choices += ", notations=notations"
        lines = [
            *self.data.imports,
            "from condrisk.app.models import fit_table",
            "from condrisk.app.report import build_report, render",
            "from sklearn.model_selection import train_test_split",
            *self.data.code,
            "rows = range(frame.height)",
            f"split = train_test_split(rows, test_size={TEST_SHARE}, random_state={SEED}{strata})",
            "train, test = (frame[sorted(part)] for part in split)",
            f"model = fit_table(train, target={target!r}, {choices}, holdout=0)",
            "report = build_report(model, test)  # render(report) is the page",
            "print(report.at(model.cost))",
        ]
        return "\n".join(lines) + "\n"


# -- tables ---------------------------------------------------------------------------------------


def embedded_data(name: str, target: str | None, task: Any) -> Data:
    """Return one of the embedded sets."""
    data = load_uci(name, target=target)
    arguments = repr(name) if target is None else f"{name!r}, target={target!r}"
    classes = task == "classification"
    y = data.target.astype(int) if classes else data.target
    frame = pl.DataFrame(data.data, schema=data.feature_names)
    imports = ("import polars as pl", "from condrisk.datasets import load_uci")
    code = (
        f"data = load_uci({arguments})",
        f"y = pl.Series(data.target_name, data.target{'.astype(int)' if classes else ''})",
        "frame = pl.DataFrame(data.data, schema=data.feature_names).with_columns(y)",
    )
    frame = frame.with_columns(pl.Series(data.target_name, y))
    return Data(name, frame, data.target_name, task or "regression", [], imports, code)


def users_data(
    path: Path | str,
    target: str,
    task: Any,
    options: TableOptions,
    *,
    note: Callable[[str], None],
) -> Data:
    """Read a user's table; rows without a target are left out, and a note says so."""
    name = source_name(path)
    notes = Notes(note)
    frame, notations = read_noted(path, options=options, note=notes.append)
    if target not in frame.columns:
        raise TableError(
            f"--target {target!r} is not a column of {name}{nearest(target, frame.columns)}: "
            f"it has {listed(frame.columns)}."
        )
    known = frame.fill_nan(None).drop_nulls(target)
    if known.height < FEWEST_ROWS:
        raise TableError(
            f"{name} has {known.height} rows with a target; at least {FEWEST_ROWS} are needed, of "
            f"which a quarter is held out."
        )
    said = "" if options == TableOptions() else f", options={options!r}"
    read = f"frame, notations = read_noted({str(path)!r}{said})"
    code = [read, f"frame = frame.fill_nan(None).drop_nulls({target!r})"]
    if known.height < frame.height:
        notes.append(f"{frame.height - known.height:,} rows are left out: they have no target")
    if known.height > MOST_ROWS:
        notes.append(f"the first look takes {MOST_ROWS:,} of {known.height:,} rows at random")
        known = known.sample(MOST_ROWS, seed=SEED)
        code.append(f"frame = frame.sample({MOST_ROWS}, seed={SEED})")
    names = "TableOptions, read_noted" if said else "read_noted"
    imports = (f"from condrisk.app.tables import {names}",)
    name = path.name if isinstance(path, Path) else name
    return Data(name, known, target, task, notes, imports, tuple(code), notations)


# -- the job --------------------------------------------------------------------------------------


def run(
    data: Data, *, loss: str | None, costs: list[float] | None, progress: Callable[[str], Any]
) -> Result:
    """Do the job; `progress` gets a sentence about each step."""
    split = train_test_split(
        range(data.frame.height),
        test_size=TEST_SHARE,
        random_state=SEED,
        stratify=_strata(data),
    )
    train, test = (data.frame[sorted(part)] for part in split)
    model = fit_table(
        train,
        target=data.target,
        task=data.task,
        loss=loss,
        cost=costs[len(costs) // 2] if costs else 1.0,
        holdout=0,
        random_state=SEED,
        notations=data.notations,
        progress=progress,
        note=data.notes.append,
    )
    if costs is None:  # the rule follows any cost: nothing has to be fitted again for it
        costs = interesting_costs(model.model.risk_.held_out_.risks)
        deferral = model.model.set_params(cost=costs[len(costs) // 2])
        model = open_model(deferral, schema=model.schema, target=model.target)
    report = build_report(model, test, progress=progress)
    rows = check_rows(model.schema, test)
    realised = model.loss_values(rows.good, test[data.target].gather(rows.rows))
    risk = model.predict_risk(rows.good)
    return Result(data, model, report, costs, test[rows.rows], realised, risk, train.height)


def _strata(data: Data) -> list[Any] | None:
    """Return the classes of the rows, where each has enough of them to be in both parts."""
    target = data.frame[data.target]
    counts = target.value_counts()["count"]
    few = target.dtype in (pl.String, pl.Boolean) or len(counts) <= MOST_CLASSES
    return target.to_list() if few and int(counts.min()) > 1 else None  # type: ignore[arg-type]


def interesting_costs(risk: Floats) -> list[float]:
    """Return costs at which some rows are deferred and some not, from training rows alone."""
    quantiles = np.quantile(risk, [0.1, 0.35, 0.65, 0.9])
    rounded = [float(f"{value:.2g}") for value in quantiles if value > 0]
    return sorted(set(rounded)) or [1.0]
