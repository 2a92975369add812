"""What each mistake costs, from a file that people make in a spreadsheet."""

from __future__ import annotations

import csv
import math
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from condrisk.app.tables import TableError
from condrisk.losses import CostMatrix, Loss

CostTable = Mapping[tuple[str, str], float]


def read_cost_matrix(path: str | os.PathLike[str]) -> dict[tuple[str, str], float]:
    r"""Read what it costs to predict each class where another is true.

    Parameters
    ----------
    path : path
        CSV: the header names the predicted classes, the first cell of each line a true class.

    Returns
    -------
    dict of (str, str) to float
        By true and predicted class.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import mkdtemp
    >>> from condrisk.app.models import read_cost_matrix
    >>> path = Path(mkdtemp()) / "costs.csv"
    >>> _ = path.write_text("true,ill,well\nill,0,10\nwell,1,0\n")
    >>> read_cost_matrix(path)["ill", "well"]
    10.0
    """
    try:
        text = Path(path).read_text(encoding="utf-8-sig")
    except OSError as error:
        raise TableError(f"{path} cannot be read: {error.strerror}.") from None
    except UnicodeDecodeError:
        raise TableError(f"{path} is not text in UTF-8.") from None
    first = text.partition("\n")[0]
    separator = max(",;\t", key=first.count)
    lines = [line for line in csv.reader(text.splitlines(), delimiter=separator) if any(line)]
    if len(lines) < 2:
        raise TableError(f"{path} must have a header and a line for each true class.")
    predicted = [name.strip() for name in lines[0][1:]]
    found: dict[tuple[str, str], float] = {}
    for line in lines[1:]:
        true, cells = line[0].strip(), line[1:]
        if len(cells) != len(predicted):
            raise TableError(
                f"{path} has {len(cells)} costs in the line of {true!r}, but its header names "
                f"{len(predicted)} predicted classes."
            )
        for name, cell in zip(predicted, cells, strict=True):
            found[true, name] = _cost(cell, path, true, name)
    if {true for true, _ in found} != set(predicted) or len(found) != len(predicted) ** 2:
        raise TableError(
            f"{path} must name the same classes in its header and in its first column, each once; "
            f"it has {sorted({true for true, _ in found})} and {sorted(predicted)}."
        )
    return found


def _cost(cell: str, path: object, true: str, predicted: str) -> float:
    text = cell.strip()
    if "," in text and "." not in text:
        text = text.replace(",", ".")
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise TableError(
            f"{path} holds {cell!r} for true {true!r} and predicted {predicted!r}, but a cost must "
            f"be a number."
        )
    return value


def matrix_loss(costs: CostTable, classes: Sequence[Any]) -> Loss:
    """Return the loss of a table of costs, in the order of the classes of a target."""
    names = [str(label) for label in classes]
    known = {true.lower(): true for true, _ in costs}
    absent = [name for name in names if name.lower() not in known]
    if absent:
        raise TableError(
            f"cost_matrix has no class {absent[0]!r}, which is in the target; it has "
            f"{sorted(known.values())}."
        )
    order = [known[name.lower()] for name in names]
    return CostMatrix([[costs[true, predicted] for predicted in order] for true in order])
