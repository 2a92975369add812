"""A fitted model together with what it knows about tables."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
from numpy.typing import ArrayLike, NDArray

from condrisk.app.models._encode import encode_rows
from condrisk.app.models._targets import read_target
from condrisk.app.tables import Schema
from condrisk.deferral import Decision, Deferral
from condrisk.losses import Task

Floats = NDArray[np.float64]


class TableModel:
    """What a model file holds: a fitted `Deferral`, the columns that it reads, and its manifest.

    Parameters
    ----------
    model : Deferral
        Fitted.
    manifest : dict
        Plain data about it: columns, target, loss, rule, versions, figures.

    Attributes
    ----------
    schema : Schema
        The columns that the model reads.
    target : str or None
        The column that it predicts.
    task : {"regression", "classification"}
        What it does.
    prediction_column : str or None
        Where the predictor lives elsewhere: the column, one of the schema's, that holds what it
        says.

    See Also
    --------
    condrisk.app.models.fit_table : Fits one.
    condrisk.app.models.load_model : Reads one from a file.
    """

    def __init__(self, model: Deferral, manifest: dict[str, Any]) -> None:
        self.model = model
        self.manifest = manifest
        self.schema = Schema.from_dict(manifest["schema"])
        self.target: str | None = manifest["target"]
        self.task: Task = manifest["task"]
        self.prediction_column: str | None = manifest["prediction_column"]

    def __repr__(self) -> str:
        return f"TableModel({self.task} of {self.target!r}, {self.manifest['predictor']})"

    @property
    def cost(self) -> float | None:
        """The price of asking, None where each decision needs its own."""
        return self.model.cost

    @property
    def classes(self) -> list[Any] | None:
        """The labels, for classification."""
        return self.manifest["classes"]

    def encode(self, frame: pl.DataFrame) -> Floats:
        """Return rows as the model takes them.

        Parameters
        ----------
        frame : polars.DataFrame
            Rows that passed `Schema.check`.

        Returns
        -------
        ndarray of shape (n_rows, n_columns)
            A number for each column of the schema; NaN for what is missing.
        """
        return encode_rows(frame, self.schema)

    def predictions(self, frame: pl.DataFrame) -> NDArray[Any] | None:
        """Return what the predictor that lives elsewhere says; None where it is in the model."""
        if self.prediction_column is None:
            return None
        return read_target(frame[self.prediction_column], self.task, self.classes)

    def decide(self, frame: pl.DataFrame, *, cost: ArrayLike | None = None) -> Decision:
        """Return prediction, risk and decision for each row.

        Parameters
        ----------
        frame : polars.DataFrame
            Rows that passed `Schema.check`.
        cost : float or array-like of shape (n_rows,), optional
            The price of asking; the model's own if not given.

        Returns
        -------
        Decision
            With `prediction`, `risk` and `deferred`.
        """
        return self.model.decide(self.encode(frame), cost=cost, prediction=self.predictions(frame))

    def targets(self, column: pl.Series) -> NDArray[Any]:
        """Return a column of targets as the model compares them: numbers, or labels.

        Parameters
        ----------
        column : polars.Series
            True values, none of them missing.

        Returns
        -------
        ndarray of shape (n_rows,)
            Numbers for regression, labels of the type of `classes` otherwise.
        """
        return read_target(column, self.task, self.classes)

    def loss_values(self, frame: pl.DataFrame, y: Any) -> Floats:
        """Return the realised loss of the prediction of each row, deferred or not.

        Parameters
        ----------
        frame : polars.DataFrame
            Rows that passed `Schema.check`.
        y : polars.Series or array-like of shape (n_rows,)
            Their true values.

        Returns
        -------
        ndarray of shape (n_rows,)
            The losses.
        """
        column = y if isinstance(y, pl.Series) else pl.Series(self.target or "y", np.asarray(y))
        return self.model.loss_values(
            self.encode(frame), self.targets(column), prediction=self.predictions(frame)
        )
