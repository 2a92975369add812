"""The rows of a part as a model takes them, read where they are needed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from condrisk.app.models._cluster._source import Part
from condrisk.app.models._cluster._trees import Bins
from condrisk.app.models._encode import encode_rows
from condrisk.app.models._targets import read_target
from condrisk.app.tables import TableError, check_rows
from condrisk.losses import Loss, Task
from condrisk.persistence import Schema

N_FOLDS = 5
# Rows that no predictor and no risk is fitted on: to fit the rule on, and to measure on.
FOR_RULE, HELD_OUT = -1, -2
Floats = NDArray[np.float64]


class Recipe(NamedTuple):
    """How rows are read, and what they are for."""

    schema: Schema
    target: str
    task: Task
    classes: NDArray[Any] | None
    loss: Loss
    for_rule: float  # the share of the rows
    held_out: float
    seed: int

    def uses(self, part: Part) -> NDArray[np.int64]:
        """Return, for each row of a part, its fold, or what else it is for.

        This depends on the seed alone, and not on the workers.
        """
        drawn = np.random.default_rng([self.seed, 1, part.number]).random(part.n_rows)
        apart = self.for_rule + self.held_out
        fold = np.floor(N_FOLDS * (drawn - apart) / (1 - apart)).astype(np.int64)
        fold[drawn < apart] = HELD_OUT
        fold[drawn < self.for_rule] = FOR_RULE
        return np.minimum(fold, N_FOLDS - 1)

    def read(self, part: Part, uses: Sequence[int]) -> Rows:
        """Return the rows of a part that are for some uses."""
        frame = part.read([*self.schema.names, self.target])
        use = self.uses(part)
        kept = np.isin(use, uses) & known(frame[self.target])
        checked = check_rows(self.schema, frame.filter(pl.Series(kept)))
        if checked.bad:
            row, reason = next(iter(checked.bad.items()))
            raise TableError(
                f"{len(checked.bad):,} rows of {part.path} cannot be fitted on; in row "
                f"{np.flatnonzero(kept)[row] + 1} of row group {part.group} {reason}"
            )
        labels = None if self.classes is None else self.classes.tolist()
        y = read_target(frame[self.target].filter(pl.Series(kept)), self.task, labels)
        return Rows(encode_rows(checked.good, self.schema), y, use[kept])


class Rows(NamedTuple):
    """Rows of numbers, their targets, and what they are for."""

    X: Floats
    y: NDArray[Any]
    use: NDArray[np.int64]


def known(target: pl.Series) -> NDArray[np.bool_]:
    """Tell which rows have a target."""
    target = target.fill_nan(None) if target.dtype.is_float() else target
    return target.is_not_null().to_numpy()


def rows_apart(parts: Sequence[Part], recipe: Recipe) -> Rows:
    """Return the rows of some parts that are set apart, in the process of a worker."""
    found = [recipe.read(part, (FOR_RULE, HELD_OUT)) for part in parts]
    return Rows(*(np.concatenate(column) for column in zip(*found, strict=True)))


class Stage(NamedTuple):
    """What is fitted: the predictor to the target, or the risk to losses of the predictors.

    Attributes
    ----------
    folds : tuple of int
        The rows that it is fitted on.
    bins : Bins
        Of what it is fitted on.
    predictors : tuple
        For the risk, the predictor of each fold, which has not seen its rows.
    """

    folds: tuple[int, ...]
    bins: Bins
    predictors: tuple[Any, ...] = ()


def training_rows(
    share: Sequence[Part], recipe: Recipe, stage: Stage
) -> tuple[NDArray[np.float32], Floats]:
    """Return the bins and targets of a share of the rows, in the process of a worker."""
    n_rows = sum(part.n_rows for part in share)
    X = np.empty((n_rows, len(stage.bins.edges)), dtype=np.float32)
    y = np.empty(n_rows)
    at = 0
    for part in share:
        rows = recipe.read(part, stage.folds)
        end = at + len(rows.y)
        inputs, y[at:end] = inputs_and_losses(rows, recipe, stage.predictors)
        stage.bins.write(inputs, X[at:end])
        at = end
    return X[:at], y[:at]


def inputs_and_losses(rows: Rows, recipe: Recipe, predictors: Sequence[Any]) -> tuple[Any, Any]:
    """Return what the predictor is fitted on, or with predictors of the folds, what the risk is."""
    if not predictors:
        codes = recipe.classes is not None
        return rows.X, np.searchsorted(recipe.classes, rows.y) if codes else rows.y  # type: ignore[arg-type]
    losses = np.empty(len(rows.y))
    beside = np.empty((len(rows.y), 0 if recipe.classes is None else len(recipe.classes)))
    for fold, predictor in enumerate(predictors):
        own = rows.use == fold
        if own.any():
            X = rows.X[own]
            response = getattr(predictor, recipe.loss.response)(X)
            losses[own] = recipe.loss(rows.y[own], response, classes=recipe.classes)
            if recipe.classes is not None:
                beside[own] = predictor.predict_proba(X)
    if not np.isfinite(losses).all():
        raise TableError(f"loss {recipe.loss.name!r} is not finite on some rows.")
    return np.column_stack([rows.X, beside]), losses
