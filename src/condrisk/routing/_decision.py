"""What a router decided for each row."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from condrisk._extras import require


@dataclass(frozen=True)
class RoutingDecision:
    """Which model answers each row, what that costs and how large its loss is likely to be.

    Attributes
    ----------
    model : ndarray of str, shape (n_samples,)
        The name of the model that answers.
    risk : ndarray of shape (n_samples,)
        Its estimated expected loss. For losses of 0 and 1, one minus the chance of a right answer.
    cost : ndarray of shape (n_samples,)
        What is spent on the row; after a model that answers first, with what that costs.
    price : float or None
        The loss that one unit of cost had to save; None where rows were routed by a target.
    guarantee : str or None
        What is guaranteed about the rows that the rule left with the cheapest model, or that it
        could leave none; None without a rule.
    """

    model: NDArray[Any]
    risk: NDArray[np.float64]
    cost: NDArray[np.float64]
    price: float | None = None
    guarantee: str | None = None
    _rows: Any = field(default=None, repr=False, compare=False)

    def to_frame(self) -> Any:
        """Return the decision as a data frame of the kind that the rows came in.

        Returns
        -------
        pandas.DataFrame or polars.DataFrame
            With columns model, risk and cost. pandas rows give pandas back, with their index; all
            else gives polars.
        """
        columns = {"model": self.model, "risk": self.risk, "cost": self.cost}
        if hasattr(self._rows, "iloc"):
            import pandas as pd

            return pd.DataFrame(columns, index=self._rows.index)
        require("to_frame, of rows that are not in pandas,", "polars", extra="app")
        import polars as pl

        return pl.DataFrame(columns)
