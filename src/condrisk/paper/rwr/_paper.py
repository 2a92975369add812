"""What the paper prints, and what its authors' result files say."""

from __future__ import annotations

import json
import re
from functools import cache
from importlib.resources import files
from typing import Any

from condrisk.paper._summary import PaperValue

SETS = ("concrete", "wine", "airfoil", "energy", "housing", "solar", "forest", "parkinsons")
MODELS = ("LR", "MLP", "MLP2", "RF")
PAIRS = tuple(f"{regressor}+{calibrator}" for regressor in MODELS for calibrator in MODELS)
BENCHMARKS = ("SelNet", "NN+kNNRej")
COSTS = ("0.2", "0.5", "1", "2")
# Of the rows of a set, each of the ten folds tests on so many.
TEST_SHARE = 0.1

_CELL = re.compile(r"(-?\d+(?:\.(\d+))?)(?: \((\d+(?:\.(\d+))?)\))?")
# Table 3 leaves out trailing zeros, so that the digits of one cell do not tell its precision.
_TABLE_3_DECIMALS = 2


def paper_value(
    quantity: str, set_name: str, method: str, cost: float | str | None = None
) -> PaperValue | None:
    """Return a published figure: from the authors' file if there is one, else as printed.

    Parameters
    ----------
    quantity : str
        "predictor_loss" (Table 3), "risk_l1" (Table 3 and file), "risk_rmse", "risk_bias" (files),
        "loss" (Table 7 and file, the file without SelNet and NN+kNNRej) or "rate" (file).
    set_name : str
        Name of the data set.
    method : str
        Such as "MLP+RF". The loss of a predictor is that of the first part, "MLP".
    cost : float or str, default=None
        Cost of deferring, for "loss" and "rate".

    Returns
    -------
    PaperValue or None
        None: it was not published.

    Examples
    --------
    >>> from condrisk.paper.rwr._paper import paper_value
    >>> paper_value("loss", "energy", "MLP+RF", 0.5)
    PaperValue(mean=0.46, std=0.04, half_unit=0.005)
    >>> paper_value("loss", "energy", "SelNet", 2)
    PaperValue(mean=1.39, std=None, half_unit=0.005)
    >>> paper_value("rate", "energy", "SelNet", 2) is None
    True
    """
    for source in ("authors", "printed"):
        value = source_value(source, quantity, set_name, method, cost)
        if value is not None:
            return value
    return None


def source_value(
    source: str, quantity: str, set_name: str, method: str, cost: float | str | None = None
) -> PaperValue | None:
    """Return a figure of one source, "authors" or "printed", or None if it has none.

    Examples
    --------
    >>> from condrisk.paper.rwr._paper import source_value
    >>> source_value("printed", "loss", "energy", "MLP+RF", 0.5)
    PaperValue(mean=0.46, std=None, half_unit=0.005)
    """
    if quantity == "predictor_loss" and method in PAIRS:
        method = method.partition("+")[0]
    cell = _figures()[source].get(quantity, {}).get(set_name, {}).get(method)
    if isinstance(cell, dict):
        cell = cell.get(None if cost is None else f"{float(cost):g}")
    if cell is None:
        return None
    from_table_3 = source == "printed" and quantity != "loss"
    return _parse(cell, decimals=_TABLE_3_DECIMALS if from_table_3 else 0)


@cache
def _figures() -> dict[str, Any]:
    path = files("condrisk.paper.rwr") / "data" / "paper.json"
    return json.loads(path.read_text(encoding="utf-8"))


def _parse(cell: str, *, decimals: int) -> PaperValue:
    """Return the figure of a cell such as "0.46 (0.09)", with at least so many decimals."""
    match = _CELL.fullmatch(cell)
    if match is None:  # pragma: no cover - a test reads every cell
        raise ValueError(f"cell must look like '0.46' or '0.46 (0.09)', got {cell!r}")
    mean, mean_digits, std, std_digits = match.groups()
    # Some of the files leave out trailing zeros as well: the finer of the two tells the precision.
    decimals = max(decimals, len(mean_digits or ""), len(std_digits or ""))
    half_unit = float(f"5e-{decimals + 1}")
    return PaperValue(float(mean), None if std is None else float(std), half_unit)
