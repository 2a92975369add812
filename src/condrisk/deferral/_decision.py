"""What was decided for each row."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from condrisk._extras import require


def prediction_columns(prediction: NDArray[Any]) -> dict[str, NDArray[Any]]:
    """Return predictions by the names of their columns in a frame."""
    if prediction.ndim == 1:
        return {"prediction": prediction}
    return {f"prediction_{k}": own for k, own in enumerate(prediction.T)}


@dataclass(frozen=True)
class Decision:
    """The prediction, its risk and whether to defer it to an expert, row by row.

    Attributes
    ----------
    prediction : ndarray of shape (n_samples,) or (n_samples, n_outputs)
        The predictor's prediction, for deferred rows too.
    risk : ndarray of shape (n_samples,)
        Its estimated expected loss.
    deferred : ndarray of bool, shape (n_samples,)
        True where the row goes to an expert.
    guarantee : str or None
        What the rule guarantees about the accepted rows, "no guarantee" where it was told to go
        without, None for rules that have none.
    groups : dict of str to str, or None
        Of a rule with a guarantee for groups of rows: what is guaranteed about each, by its name,
        or that all of its rows are deferred. None for rules without groups.
    """

    prediction: NDArray[Any]
    risk: NDArray[np.float64]
    deferred: NDArray[np.bool_]
    _rows: Any = field(default=None, repr=False, compare=False)
    guarantee: str | None = None
    groups: dict[str, str] | None = None

    def to_frame(self) -> Any:
        """Return the decision as a data frame of the kind that the rows came in.

        Returns
        -------
        pandas.DataFrame or polars.DataFrame
            With columns prediction (of several outputs prediction_0, prediction_1 and so on), risk
            and deferred. pandas rows give pandas back, with their index; all else gives polars.
        """
        columns = prediction_columns(self.prediction)
        columns |= {"risk": self.risk, "deferred": self.deferred}
        if hasattr(self._rows, "iloc"):
            import pandas as pd

            return pd.DataFrame(columns, index=self._rows.index)
        require("to_frame, of rows that are not in pandas,", "polars", extra="app")
        import polars as pl

        return pl.DataFrame(columns)
