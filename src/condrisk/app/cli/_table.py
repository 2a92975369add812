"""From a user's table to numbers: which task it is, and what was left out."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import polars.selectors as cs
from numpy.typing import NDArray

from condrisk.app.tables import TableError
from condrisk.datasets import load_uci
from condrisk.losses import Task

# More distinct values than this and a column of text is taken for a name, not for a category.
MAX_CATEGORIES = 30
# A whole number with at most this many distinct values is taken for a class.
MAX_CLASSES = 10
MAX_ROWS = 100_000


@dataclass(frozen=True)
class Table:
    """Rows ready for a model, and how they came to be."""

    name: str
    X: NDArray[np.float64]
    y: NDArray[Any]
    task: Task
    target: str
    notes: tuple[str, ...]
    code: tuple[str, ...]  # the lines of Python that give the same X and y
    imports: tuple[str, ...]


def embedded_table(name: str, target: str | None, task: Task | None) -> Table:
    """Return one of the embedded sets."""
    data = load_uci(name, target=target)
    arguments = f'"{name}"' if target is None else f'"{name}", target="{target}"'
    task = task or "regression"
    y = data.target.astype(int) if task == "classification" else data.target
    as_labels = ".astype(int)" if task == "classification" else ""
    return Table(
        name=name,
        X=data.data,
        y=y,
        task=task,
        target=data.target_name,
        notes=(),
        code=(f"data = load_uci({arguments})", f"X, y = data.data, data.target{as_labels}"),
        imports=("from condrisk.datasets import load_uci",),
    )


def read_table(path: Path, target: str, task: Task | None) -> Table:
    """Read a CSV file and turn it into numbers."""
    frame = _read(path)
    if target not in frame.columns:
        raise TableError(f"--target {target!r} is not a column of {path}: it has {frame.columns}.")
    rows = frame.drop_nulls(target)
    left_out = _columns_left_out(rows.drop(target))
    features = rows.drop([target, *left_out]).to_dummies(cs.string())
    if not features.width:
        raise TableError(f"{path} has no column besides the target that a model could use.")
    if rows.height < 50:
        raise TableError(f"{path} has {rows.height} rows with a target; at least 50 are needed.")
    y = rows[target].to_numpy()
    task = task or _task_of(rows[target])
    if task == "regression" and y.dtype.kind not in "iuf":
        raise TableError(f"--task regression needs numbers, but column {target!r} is not numeric.")
    notes = _notes(frame.height - rows.height, left_out)
    X = features.cast(pl.Float64).to_numpy()
    kept, more = _sample(len(y))
    return Table(
        name=path.name,
        X=X[kept],
        y=y[kept],
        task=task,
        target=target,
        notes=(*notes, *more),
        code=_code(path, target, left_out, kept),
        imports=("import polars as pl", "import polars.selectors as cs"),
    )


def _read(path: Path) -> pl.DataFrame:
    try:
        return pl.read_csv(path, infer_schema_length=None, null_values=["", "NA", "NaN", "null"])
    except (pl.exceptions.PolarsError, OSError, UnicodeDecodeError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise TableError(f"--data {path} could not be read as CSV: {reason}") from None


def _columns_left_out(features: pl.DataFrame) -> dict[str, str]:
    """Return the columns that no model should see as they are, with the reason."""
    reasons = {}
    for column in features:
        if column.null_count() == len(column):
            reasons[column.name] = "is empty"
        elif column.dtype == pl.String and column.n_unique() > MAX_CATEGORIES:
            reasons[column.name] = f"is text with {column.n_unique()} distinct values"
        elif not (column.dtype.is_numeric() or column.dtype in (pl.String, pl.Boolean)):
            reasons[column.name] = f"is of type {column.dtype}"
    return reasons


def _task_of(target: pl.Series) -> Task:
    if target.dtype in (pl.String, pl.Boolean):
        return "classification"
    whole = target.dtype.is_integer() or bool((target == target.round()).all())
    return "classification" if whole and target.n_unique() <= MAX_CLASSES else "regression"


def _notes(without_target: int, left_out: dict[str, str]) -> tuple[str, ...]:
    notes = [f"column {name!r} is left out: it {reason}" for name, reason in left_out.items()]
    if without_target:
        notes.append(f"{without_target} rows are left out: they have no target")
    return tuple(notes)


def _sample(n_rows: int) -> tuple[Any, tuple[str, ...]]:
    if n_rows <= MAX_ROWS:
        return slice(None), ()
    note = f"the first look takes {MAX_ROWS:,} of {n_rows:,} rows at random"
    return np.random.default_rng(0).permutation(n_rows)[:MAX_ROWS], (note,)


def _code(path: Path, target: str, left_out: dict[str, str], kept: Any) -> tuple[str, ...]:
    nulls = 'null_values=["", "NA", "NaN", "null"]'
    lines = [
        f'rows = pl.read_csv("{path}", infer_schema_length=None, {nulls})',
        f'rows = rows.drop_nulls("{target}")',
        f"X = rows.drop({[target, *left_out]!r}).to_dummies(cs.string()).cast(pl.Float64)",
        f'X, y = X.to_numpy(), rows["{target}"].to_numpy()',
    ]
    if not isinstance(kept, slice):
        lines.append(f"kept = np.random.default_rng(0).permutation(len(y))[:{MAX_ROWS}]")
        lines.append("X, y = X[kept], y[kept]")
    return tuple(lines)
