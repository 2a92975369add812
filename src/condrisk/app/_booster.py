"""The text of a LightGBM booster, which has every number in full."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Text = dict[str, str]


def read_booster(text: str) -> list[Text]:
    """Return the lines of the head and of each tree, by their names."""
    head, *trees = text.split("end of trees")[0].split("\nTree=")
    return [_read(block) for block in (head, *trees)]


def _read(block: str) -> Text:
    pairs = (line.partition("=") for line in block.splitlines())
    return {name: value for name, _, value in pairs}


def numbers(tree: Text, name: str, dtype: Any) -> NDArray[Any]:
    """Return a line of a tree as numbers; none where there is no such line."""
    return np.array(tree.get(name, "").split(), dtype=dtype)


def members(tree: Text, number: int) -> list[int]:
    """Return the categories that go left at a categorical split, which are bits of words."""
    bounds = numbers(tree, "cat_boundaries", np.intp)
    words = numbers(tree, "cat_threshold", np.uint32)[bounds[number] : bounds[number + 1]]
    return [32 * k + bit for k, word in enumerate(words) for bit in range(32) if word >> bit & 1]
