"""What a cascade decided for each row."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from condrisk._extras import require
from condrisk.deferral._decision import prediction_columns


@dataclass(frozen=True)
class CascadeDecision:
    """Who answers each row, and with what.

    Attributes
    ----------
    prediction : ndarray of shape (n_samples,)
        The answer of the last model that was run, for rows that go to the expert too.
    risk : ndarray of shape (n_samples,)
        The estimated expected loss of whoever answers: that model, or the expert.
    stage : ndarray of int, shape (n_samples,)
        The position of the model that answers; the number of models where the expert does.
    deferred : ndarray of bool, shape (n_samples,)
        True where the row is deferred.
    spent : ndarray of shape (n_samples,)
        The fees on the way there.
    """

    prediction: NDArray[Any]
    risk: NDArray[np.float64]
    stage: NDArray[np.intp]
    deferred: NDArray[np.bool_]
    spent: NDArray[np.float64]
    _rows: Any = field(default=None, repr=False, compare=False)

    def to_frame(self) -> Any:
        """Return the decision as a data frame of the kind that the rows came in.

        Returns
        -------
        pandas.DataFrame or polars.DataFrame
            With columns prediction (of several outputs prediction_0, prediction_1 and so on), risk,
            stage, deferred and spent. pandas rows give pandas back, with their index; all else
            gives polars.
        """
        columns = prediction_columns(self.prediction)
        columns |= {name: getattr(self, name) for name in ("risk", "stage", "deferred", "spent")}
        if hasattr(self._rows, "iloc"):
            import pandas as pd

            return pd.DataFrame(columns, index=self._rows.index)
        require("to_frame, of rows that are not in pandas,", "polars", extra="app")
        import polars as pl

        return pl.DataFrame(columns)
