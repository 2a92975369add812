"""What the paper prints about CIFAR-10."""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from typing import Any

from condrisk.paper._summary import PaperValue

PREDICTORS = ("CNN", "ResNet")
NETWORKS = "networks"
# In the order of the paper: from weak to strong.
PAPER_NETWORKS = ("CNN", "ResNet", "EffNet")
COSTS = ("0.2", "0.5", "1", "2")
# The table of the errors of each predictor's risk.
ERROR_TABLE = {"CNN": "table1", "ResNet": "table2"}


def paper_value(
    table: str, quantity: str, set_name: str, method: str, cost: float | str | None = None
) -> PaperValue | None:
    """Return a printed figure.

    Parameters
    ----------
    table : {"table1", "table2", "table6", "networks"}
        Where it stands: Tables 1 and 6 have different absolute errors of the same methods.
        "networks" has the training accuracies of the appendix.
    quantity : str
        "predictor_loss", "risk_l1", "risk_l2" (Tables 1 and 2), "risk_l1", "loss" (Table 6) or
        "accuracy".
    set_name : str
        The predictor, or "networks".
    method : str
        Such as "p EffNet, scaled". The predictor's own loss is the same for all.
    cost : float or str, default=None
        Cost of deferring, for "loss".

    Returns
    -------
    PaperValue or None
        None: it was not published. There is never a standard deviation.

    Examples
    --------
    >>> from condrisk.paper.cifar10._paper import paper_value
    >>> paper_value("table1", "risk_l1", "CNN", "p EffNet")
    PaperValue(mean=0.28, std=None, half_unit=0.005)
    >>> paper_value("table6", "loss", "ResNet", "p EffNet", 1).mean
    0.42
    >>> paper_value("table6", "loss", "ResNet", "Hybrid", 1) is None
    True
    """
    cell = _figures()[table].get(set_name, {}).get(quantity)
    if isinstance(cell, dict):
        cell = cell.get(method)
    if isinstance(cell, dict):
        cell = cell.get(None if cost is None else f"{float(cost):g}")
    if cell is None:
        return None
    decimals = len(cell.partition(".")[2])
    return PaperValue(float(cell), None, float(f"5e-{decimals + 1}"))


def paper_methods(table: str, quantity: str, set_name: str) -> tuple[str, ...]:
    """Return the methods that a table has, in its order.

    Examples
    --------
    >>> from condrisk.paper.cifar10._paper import paper_methods
    >>> paper_methods("table6", "loss", "CNN")
    ('p CNN', 'p ResNet', 'p EffNet', 'g of EffNet representation')
    """
    return tuple(_figures()[table].get(set_name, {}).get(quantity, ()))


@cache
def _figures() -> dict[str, Any]:
    path = files("condrisk.paper.cifar10") / "data" / "paper.json"
    return json.loads(path.read_text(encoding="utf-8"))
