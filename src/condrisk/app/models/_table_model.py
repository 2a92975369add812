"""A fitted model together with what it knows about tables."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import ArrayLike, NDArray

from condrisk._delegate import find, risk_part
from condrisk.app.models._encode import encode_rows
from condrisk.app.models._explain import (
    MOST_COLUMNS,
    Explanation,
    explain,
    important_columns,
)
from condrisk.app.models._frames import as_frame
from condrisk.app.models._outside import MARGIN, Outside, Seen, unseen_rows
from condrisk.app.models._targets import read_target
from condrisk.app.tables import Checked, TableError
from condrisk.deferral import CostRule, Decision, Deferral
from condrisk.losses import Task
from condrisk.persistence import Column, Schema, describe_model, load_model

Floats = NDArray[np.float64]


class TableModel:
    """A fitted model, the columns that it reads, and its manifest.

    Parameters
    ----------
    model : Deferral or risk estimator
        Fitted. A risk estimator gets a `CostRule`: it defers where the risk exceeds the cost that
        each call gives.
    manifest : dict
        Plain data about it, as `condrisk.persistence.describe_model` gives it.
    reference : tuple (X, y), (X, y, prediction) or (X, y, prediction, cost), optional
        The rows that it was measured on, where they are at hand.

    Attributes
    ----------
    model : Deferral
        What decides.
    schema : Schema
        The columns that rows need.
    target : str or None
        The column that it predicts.
    task : {"regression", "classification"}
        What it does.
    prediction_column : str or None
        For an external predictor: the column that holds its predictions.

    See Also
    --------
    condrisk.app.models.open_model : Makes one of a file or of a fitted model.
    condrisk.app.models.fit_table : Fits one.
    """

    def __init__(self, model: Any, manifest: dict[str, Any], reference: Any = None) -> None:
        if manifest["task"] == "routing":
            raise TableError(
                "the model is a router, which chooses between models and predicts nothing: use "
                "condrisk score, report, serve or inspect, or condrisk.app.models.open_router."
            )
        if manifest["outputs"] > 1:
            raise TableError(
                f"the model predicts {manifest['outputs']} targets, and commands and tables take "
                f"models of one: use it in Python, by condrisk.persistence.load_model."
            )
        self.model = model if hasattr(model, "decide") else _with_cost_rule(model)
        self.manifest = manifest
        self.reference = reference
        self.schema = Schema.from_dict(manifest["schema"])
        self.target: str | None = manifest["target"]
        self.task: Task = manifest["task"]
        prediction = self.schema.prediction
        self.prediction_column = None if prediction is None else prediction.name

    def __repr__(self) -> str:
        return f"TableModel({self.task} of {self.target!r}, {self.manifest['predictor']})"

    @property
    def cost(self) -> float | None:
        """The cost of deferring, None where each decision needs its own."""
        return getattr(self.model, "cost", None)

    @property
    def cost_column(self) -> str | None:
        """The column with the cost of deferring each row, where each has its own."""
        return self.manifest["cost_column"]

    @property
    def uses_cost(self) -> bool:
        """Whether the rule compares the risk with a cost."""
        return bool(getattr(self.model.rule_, "uses_cost", False))

    @property
    def classes(self) -> list[Any] | None:
        """The labels, for classification."""
        return self.manifest["classes"]

    def encode(self, frame: pl.DataFrame) -> Any:
        """Return rows as the model takes them.

        Parameters
        ----------
        frame : polars.DataFrame
            Rows that passed `condrisk.app.tables.check_rows`.

        Returns
        -------
        ndarray, pandas.DataFrame or polars.DataFrame
            By the container of the schema.
        """
        return encode_rows(frame, self.schema)

    def numbers(self, frame: pl.DataFrame) -> Floats:
        """Return rows as a matrix of numbers, whatever the model takes; columns of text are not in.

        Parameters
        ----------
        frame : polars.DataFrame
            Rows that passed `condrisk.app.tables.check_rows`.

        Returns
        -------
        ndarray of shape (n_rows, n_columns)
            Categories are their positions, dates their days; NaN is what is missing.
        """
        columns = tuple(column for column in self.schema.columns if column.kind != "text")
        return encode_rows(frame, Schema(columns)) if columns else np.empty((frame.height, 0))

    def table(self, X: Any, y: Any = None) -> pl.DataFrame:
        """Return rows from Python as a table, with their targets in it if they are given.

        Parameters
        ----------
        X : polars.DataFrame, pandas.DataFrame or array-like of shape (n_rows, n_columns)
            Rows.
        y : array-like of shape (n_rows,), optional
            Their targets; a model that has no name for what it predicts then calls it "y".

        Returns
        -------
        polars.DataFrame
            The rows, not checked.
        """
        if y is not None and self.target is None:
            self.target = "y"
        return as_frame(X, names=self.schema.names, y=y, target=self.target)

    def predictions(self, frame: pl.DataFrame) -> NDArray[Any] | None:
        """Return what an external predictor says; None where the predictor is in the model."""
        if self.prediction_column is None:
            return None
        return read_target(frame[self.prediction_column], self.task, self.classes)

    def decide(self, frame: pl.DataFrame, *, cost: ArrayLike | None = None) -> Decision:
        """Return prediction, risk and decision for each row.

        Parameters
        ----------
        frame : polars.DataFrame
            Rows that passed `condrisk.app.tables.check_rows`.
        cost : float or array-like of shape (n_rows,), optional
            The cost of deferring; the model's own if not given.

        Returns
        -------
        Decision
            With `prediction`, `risk` and `deferred`.
        """
        self.check_cost(cost)
        return self.model.decide(self.encode(frame), cost=cost, **self._given(frame))

    def predict_risk(self, frame: pl.DataFrame) -> Floats:
        """Return the risk of each row that passed `condrisk.app.tables.check_rows`."""
        found = self.model.predict_risk(self.encode(frame), **self._given(frame))
        return np.asarray(found, dtype=np.float64)

    def decompose_risk(self, frame: pl.DataFrame) -> tuple[Floats, Floats, Floats]:
        """Return floor, gap and correction of each row's risk, as risk estimators give them.

        Parameters
        ----------
        frame : polars.DataFrame
            Rows that passed `condrisk.app.tables.check_rows`.

        Returns
        -------
        floor, gap, correction : ndarray of shape (n_rows,)
            They add up to the risk.

        Raises
        ------
        TableError
            Where the model estimates no distribution of the target.
        """
        self.check_parts()
        owner, X = find(self.model.risk_, self.encode(frame), "decompose_risk")
        try:
            return owner.decompose_risk(X, **self._given(frame))
        except ValueError as error:
            raise TableError(str(error)) from None

    def outside(
        self, good: pl.DataFrame, unseen: Mapping[str, Any], *, margin: float = MARGIN
    ) -> Outside:
        """Tell which rows leave what was seen of each column when the model was fitted.

        A number more than a tenth of its range beyond it, a category that was not seen, or nothing
        where never anything was missing. Dates are not looked at, as time goes on.

        Parameters
        ----------
        good : polars.DataFrame
            Rows that passed `condrisk.app.tables.check_rows`.
        unseen : mapping of str to sequence of int
            For columns of categories, the positions of rows with one that was not seen, as
            `unseen` gives them.
        margin : float, default=0.1
            How far beyond the range seen a number may lie, as a share of that range.

        Returns
        -------
        Outside
            Its `any` has a flag for each row, its `names` the columns.
        """
        return Seen(self.schema.columns, margin).outside(good, unseen)

    def unseen(self, given: pl.DataFrame, checked: Checked) -> dict[str, Any]:
        """Return, for columns of categories, which good rows hold one that was not seen.

        Parameters
        ----------
        given : polars.DataFrame
            The rows before the check.
        checked : Checked
            What `condrisk.app.tables.check_rows` made of them.

        Returns
        -------
        dict of str to ndarray of int
            Positions in ``checked.good``.
        """
        return unseen_rows(given, checked)

    def explain(
        self, good: pl.DataFrame, risk: Floats, *, columns: Sequence[Column] | None = None
    ) -> Explanation:
        """Tell which columns raise the risk of each row most, against the average row.

        One column after the other gets the value of the average row, its median or its commonest
        value, and the risk is estimated again: at most 20 predictions a row. Columns that say the
        same share what they explain, and a column that raises the risk need not cause the loss.

        Parameters
        ----------
        good : polars.DataFrame
            Rows that passed `condrisk.app.tables.check_rows`.
        risk : ndarray of shape (n_rows,)
            Their risk.
        columns : sequence of Column, optional
            The columns to look at, as `important_columns` gives them for other rows.

        Returns
        -------
        Explanation
            The change of the risk by row and column.
        """
        chosen = self.important_columns(good, risk) if columns is None else columns
        return explain(good, risk, self.predict_risk, chosen)

    def important_columns(self, good: pl.DataFrame, risk: Floats) -> tuple[Column, ...]:
        """Return the columns, 20 at most, that move the risk of such rows most."""
        return important_columns(good, risk, self.predict_risk, self.schema.needed)

    @property
    def first_columns(self) -> tuple[Column, ...]:
        """The columns that are looked at to explain a risk where no rows tell which matter."""
        return self.schema.needed[:MOST_COLUMNS]

    def class_probabilities(self, frame: pl.DataFrame) -> Floats:
        """Return the predictor's probability of each class, for rows that passed the check.

        Returns
        -------
        ndarray of shape (n_rows, n_classes)
            In the order of `classes`.
        """
        self.check_probabilities()
        owner, X = find(self.model.risk_, self.encode(frame), "predict_proba")
        return np.asarray(owner.predict_proba(X), dtype=np.float64)

    def check_probabilities(self) -> None:
        """Raise `TableError` where the predictor has no class probabilities."""
        if self.classes is None:
            raise TableError("the model predicts numbers: there are no class probabilities.")
        if self.prediction_column is not None or not hasattr(self._risk_part, "predict_proba"):
            raise TableError("the predictor of this model gives no class probabilities.")

    @property
    def _risk_part(self) -> Any:
        """What estimates the risk; of a model that decides by itself, that model."""
        return risk_part(getattr(self.model, "risk_", self.model))

    @property
    def has_parts(self) -> bool:
        """Whether the model can say what its risks are made of."""
        return hasattr(self._risk_part, "decompose_risk")

    def check_parts(self) -> None:
        """Raise `TableError` where the model cannot say what its risks are made of."""
        if not self.has_parts:
            name = type(self._risk_part).__name__
            raise TableError(
                f"the risk of this model has no parts: {name} estimates it as a whole; PlugInRisk, "
                f"HybridRisk and AutoRisk, and models that condrisk fit makes, have parts."
            )

    def check_cost(self, cost: Any) -> None:
        """Raise `TableError` where a decision needs a cost and neither model nor caller has one."""
        if cost is None and self.cost is None and self.uses_cost:
            raise TableError(
                "the model has no cost of deferring, so that nothing can be decided: give cost "
                "(--cost), or save a Deferral that has one."
            )

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
            Rows that passed `condrisk.app.tables.check_rows`.
        y : polars.Series or array-like of shape (n_rows,)
            Their true values.

        Returns
        -------
        ndarray of shape (n_rows,)
            The losses.
        """
        column = y if isinstance(y, pl.Series) else pl.Series(self.target or "y", np.asarray(y))
        return self.model.loss_values(
            self.encode(frame), self.targets(column), **self._given(frame)
        )

    def _given(self, frame: pl.DataFrame) -> dict[str, Any]:
        found = self.predictions(frame)
        return {} if found is None else {"prediction": found}


def _with_cost_rule(risk: Any) -> Deferral:
    """Return a fitted risk estimator as a model that decides by a cost."""
    model = Deferral(risk)
    model.risk_, model.rule_ = risk, CostRule()
    return model


def open_model(
    model: Any,
    *,
    schema: Any = None,
    target: str | None = None,
    reference: Any = None,
    cost_column: str | None = None,
    trusted: Iterable[str] = (),
) -> TableModel:
    """Return a model of tables: of a model file, or of a fitted model itself.

    Parameters
    ----------
    model : path, TableModel, Deferral or risk estimator
        A file that `condrisk.persistence.save_model` or ``condrisk fit`` wrote, or a fitted model.
    schema, target, reference, cost_column : optional
        For a fitted model, as `condrisk.persistence.save_model` takes them. Without a schema its
        columns are taken to be numbers, of the names that it was fitted with.
    trusted : iterable of str
        For a file, as `condrisk.persistence.load_model` takes it.

    Returns
    -------
    TableModel
        For `condrisk.app.scoring`, `condrisk.app.report`, `condrisk.app.monitor`,
        `condrisk.app.serve` and `condrisk.app.export`, which all take the same things.

    Examples
    --------
    >>> from sklearn.linear_model import LinearRegression
    >>> from condrisk import RegressionRisk
    >>> from condrisk.app.models import open_model
    >>> from condrisk.datasets import make_heteroscedastic
    >>> world = make_heteroscedastic(500, random_state=0)
    >>> risk = RegressionRisk(LinearRegression(), random_state=0).fit(world.X, world.y)
    >>> open_model(risk, schema=world.X, target="y").schema.names
    ('x0', 'x1', 'x2', 'x3', 'x4')
    """
    about_fitted = {
        "schema": schema,
        "target": target,
        "reference": reference,
        "cost_column": cost_column,
    }
    if isinstance(model, TableModel | str | os.PathLike):
        given = [name for name, value in about_fitted.items() if value is not None]
        if given:
            raise ValueError(f"{given[0]} is for a fitted model; a model file has its own.")
        if isinstance(model, TableModel):
            return model
        return TableModel(*load_model(model, trusted, with_manifest=True))
    if schema is None:
        schema = _numbers(model) if reference is None else reference[0]
    manifest = describe_model(
        model, schema, target=target, reference=reference, cost_column=cost_column
    )
    return TableModel(model, manifest, reference)


def _numbers(model: Any) -> Schema | None:
    """Return a schema of numbers under the names that a model knows."""
    names = getattr(model, "feature_names_in_", None)
    count = getattr(model, "n_features_in_", None)
    if names is None and count is None:
        return None
    known = [f"x{k}" for k in range(int(count or 0))] if names is None else map(str, names)
    columns = tuple(Column(name, "number", typical=0.0) for name in known)
    return Schema(columns, "numpy" if names is None else "pandas")
