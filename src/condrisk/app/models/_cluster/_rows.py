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
_BLOCK = 65_536  # rows to predict at a time
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
    bins: Bins

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
        kept = np.isin(use, uses) & _known(frame[self.target])
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


def _known(target: pl.Series) -> NDArray[np.bool_]:
    """Tell which rows have a target."""
    target = target.fill_nan(None) if target.dtype.is_float() else target
    return target.is_not_null().to_numpy()


def rows_apart(parts: Sequence[Part], recipe: Recipe) -> Rows:
    """Return the rows of some parts that are set apart, in the process of a worker."""
    found = [recipe.read(part, (FOR_RULE, HELD_OUT)) for part in parts]
    return Rows(*(np.concatenate(column) for column in zip(*found, strict=True)))


# -- what workers keep -----------------------------------------------------------------------------


class Share(NamedTuple):
    """The rows that a worker holds: a byte for each number, read once for all fits.

    Attributes
    ----------
    bins : ndarray of uint8, shape (n_rows, n_columns)
        The bin of each number, the code of each category.
    y : ndarray of shape (n_rows,)
        Targets; of labels their positions among the classes.
    fold : ndarray of int8, shape (n_rows,)
        The fold of each row.
    """

    bins: NDArray[np.uint8]
    y: Floats
    fold: NDArray[np.int8]

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return len(self.y)


def read_share(parts: Sequence[Part], recipe: Recipe) -> Share:
    """Read the rows of some parts that are fitted on, in the process of a worker."""
    n_rows = sum(part.n_rows for part in parts)
    bins = np.empty((n_rows, len(recipe.schema.columns)), dtype=np.uint8)
    y, fold = np.empty(n_rows), np.empty(n_rows, dtype=np.int8)
    at = 0
    for part in parts:
        rows = recipe.read(part, range(N_FOLDS))
        end = at + len(rows.y)
        recipe.bins.write(rows.X, bins[at:end])
        y[at:end] = rows.y if recipe.classes is None else np.searchsorted(recipe.classes, rows.y)
        fold[at:end] = rows.use
        at = end
    return Share(bins[:at], y[:at], fold[:at])


class Stage(NamedTuple):
    """What is fitted: the predictor to the target, or the risk to losses of the predictors.

    Attributes
    ----------
    folds : tuple of int
        The rows that it is fitted on.
    bins : Bins
        Of what it is fitted on.
    boosters : tuple of str
        For the risk, the predictor of each fold, which has not seen its rows.
    """

    folds: tuple[int, ...]
    bins: Bins
    boosters: tuple[str, ...] = ()


def training_rows(share: Share, recipe: Recipe, stage: Stage) -> tuple[NDArray[np.float32], Floats]:
    """Return what LightGBM is fitted to on a worker: bins, and targets or losses."""
    n_own = share.bins.shape[1]
    if not stage.boosters:
        kept = np.isin(share.fold, stage.folds)
        X = np.empty((int(kept.sum()), n_own), dtype=np.float32)
        stage.bins.as_numbers(share.bins[kept], X)
        return X, share.y[kept]
    X = np.empty((share.n_rows, len(stage.bins.edges)), dtype=np.float32)
    stage.bins.as_numbers(share.bins, X[:, :n_own])
    losses = np.empty(share.n_rows)
    for fold, text in enumerate(stage.boosters):
        booster = lightgbm_booster(text)
        rows = np.flatnonzero(share.fold == fold)
        for start in range(0, len(rows), _BLOCK):
            block = rows[start : start + _BLOCK]
            response = booster.predict(X[block, :n_own], num_threads=1)
            losses[block], beside = losses_of(recipe, share.y[block], response)
            for k, column in enumerate(beside.T, start=n_own):
                X[block, k] = stage.bins.bin_of(column, k)
    if not np.isfinite(losses).all():
        raise TableError(f"loss {recipe.loss.name!r} is not finite on some rows.")
    return X, losses


def lightgbm_booster(text: str) -> Any:
    """Return a booster of a text that this process, or another of this fit, has made."""
    from lightgbm import Booster

    return Booster(model_str=text)


def losses_of(recipe: Recipe, y: Floats, response: Floats) -> tuple[Floats, Floats]:
    """Return the losses of what a booster says, and what of it the risk is learnt from."""
    if recipe.classes is None:
        return recipe.loss(y, response), np.empty((len(y), 0))
    chances = response if response.ndim == 2 else np.column_stack([1 - response, response])
    labels = recipe.classes[y.astype(np.int64)]
    proba = recipe.loss.response == "predict_proba"
    said = chances if proba else recipe.classes[chances.argmax(axis=1)]
    return recipe.loss(labels, said, classes=recipe.classes), chances
