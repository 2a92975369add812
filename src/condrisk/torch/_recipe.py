"""How to train: the numbers, the learning rate of each step, and which rows are held out."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

WARM_UP_SHARE = 0.2

Augment = bool | Literal["crop", "flip"]


class Recipe(NamedTuple):
    """How to train a network."""

    epochs: int
    batch_size: int
    learning_rate: float
    weight_decay: float
    schedule: Literal["one-cycle", "constant"]
    patience: int | None
    ema: float | None
    augment: Augment
    cutout: int
    seed: int

    @property
    def crops(self) -> bool:
        """Whether images are moved at random."""
        return self.augment in (True, "crop")

    @property
    def flips(self) -> bool:
        """Whether images are mirrored at random."""
        return self.augment in (True, "flip")


def controls(recipe: Recipe, n_steps: int) -> NDArray[np.float32]:
    """Return learning rate and share of the new weights in their average, for each step.

    One cycle: up to the learning rate over the first fifth of all steps, then down to zero along
    a cosine. The average forgets faster at first, when what it began with is worth little.
    """
    step = np.arange(recipe.epochs * n_steps)
    rate = np.full(len(step), recipe.learning_rate)
    if recipe.schedule == "one-cycle":
        time = (step + 0.5) / len(step)
        up = time / WARM_UP_SHARE
        down = (1 + np.cos(np.pi * (time - WARM_UP_SHARE) / (1 - WARM_UP_SHARE))) / 2
        rate *= np.where(time < WARM_UP_SHARE, up, down)
    keep = np.minimum(recipe.ema or 0.0, (1 + step) / (10 + step))
    table = np.column_stack([rate, 1 - keep]).astype(np.float32)
    return table.reshape(recipe.epochs, n_steps, 2)


def hold_out(
    key: NDArray[Any], share: float, rng: np.random.RandomState, *, keep_each: bool
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Split rows into training and validation, alike in `key` (classes or numbers).

    The rows, sorted by key and at random among equals, give up one in every 1 / share. At least
    two rows stay for training, with `keep_each` one of each key; if that leaves none to validate
    on, so be it.
    """
    n_rows = len(key)
    order = np.lexsort((rng.random_sample(n_rows), key))
    free = order
    if keep_each:
        free = order[1:][key[order[1:]] == key[order[:-1]]]
    n_held = min(max(1, round(n_rows * share)), n_rows - 2, len(free))
    held = np.zeros(n_rows, dtype=bool)
    if n_held > 0:
        places = (np.arange(n_held) + rng.random_sample()) * len(free) / n_held
        held[free[places.astype(int)]] = True
    return np.flatnonzero(~held), np.flatnonzero(held)
