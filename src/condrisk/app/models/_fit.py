"""From a table to a fitted model that knows what it will do on new rows."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.model_selection import train_test_split
from threadpoolctl import threadpool_limits

from condrisk.app.models._encode import encode_rows
from condrisk.app.models._predictors import Plan, make_risk
from condrisk.app.models._table_model import TableModel, open_model
from condrisk.app.models._targets import read_target, task_of
from condrisk.app.tables import (
    Checked,
    TableError,
    check_rows,
    left_out,
    table_schema,
)
from condrisk.deferral import BudgetRule, Deferral
from condrisk.losses import Loss, Task, get_loss
from condrisk.persistence import Column, Schema

FEWEST_ROWS = 50
# Fewer rows of a class cannot be held out, cross-fitted and learnt from.
FEWEST_OF_CLASS = 5
N_FOLDS = 5
# On few rows the threads of boosting wait for each other, badly so on a busy machine.
FEW_ROWS = 20_000

Progress = Callable[[str], None]


class _Rows(NamedTuple):
    """Rows ready for a model."""

    X: NDArray[np.float64]
    y: NDArray[Any]
    prediction: NDArray[Any] | None

    def as_tuple(self) -> tuple[Any, ...]:
        return (self.X, self.y) if self.prediction is None else tuple(self)

    def at(self, rows: NDArray[np.intp]) -> _Rows:
        prediction = None if self.prediction is None else self.prediction[rows]
        return _Rows(self.X[rows], self.y[rows], prediction)


def fit_table(
    frame: pl.DataFrame,
    *,
    target: str,
    task: Task | None = None,
    loss: str | Loss | None = None,
    cost: float | None = None,
    budget: float | None = None,
    risk_target: float | None = None,
    confidence: float = 0.9,
    cap: float | None = None,
    predictor: str = "boosting",
    trust: bool = False,
    predictions: str | None = None,
    holdout: float = 0.2,
    random_state: int = 0,
    progress: Progress = lambda what: None,
    note: Progress | None = None,
) -> TableModel:
    """Fit predictor, risk and rule to a table, and measure them on rows held out from it.

    Parameters
    ----------
    frame : polars.DataFrame
        The table, as `condrisk.app.tables.read_table` gives it.
    target : str
        The column to predict.
    task : {"regression", "classification"} or None, default=None
        None tells it from the column: text, booleans and at most ten whole numbers are classes.
    loss : str, Loss or None, default=None
        What an error costs; None is squared_error, or zero_one for classes.
    cost : float or None, default=None
        The price of asking, in units of the loss. Alone it is the rule: ask where the risk is
        higher.
    budget : float or None, default=None
        The largest share of rows to ask about, instead.
    risk_target : float or None, default=None
        The largest mean loss of the rows that are not asked about, instead. It is kept with
        probability `confidence`, which rows that are set aside for it show.
    confidence : float, default=0.9
        For `risk_target`.
    cap : float or None, default=None
        For `risk_target` with a loss that has no greatest value: losses above it count as this.
    predictor : str, default="boosting"
        "boosting", "forest", "linear", "auto" (`AutoRisk`), or with `trust` ``module:object``, a
        scikit-learn model or a class or function that makes one.
    trust : bool, default=False
        Whether importing a predictor, which runs code, is allowed.
    predictions : str or None, default=None
        A column with the predictions of a model that lives elsewhere, made for rows that it was
        not fitted on. Then only risk and rule are fitted, and new rows must have that column too.
    holdout : float, default=0.2
        The share of the rows that the model is not fitted on but measured on. With 0 it is fitted
        on all rows, and nothing is known of it.
    random_state : int, default=0
        Seeds everything.
    progress : callable, optional
        Gets a sentence about each thing that is being done.
    note : callable, optional
        Gets a sentence about each thing that the user should know, such as a column that is left
        out; `progress` if not given.

    Returns
    -------
    TableModel
        Its `manifest` has the figures; `reference` are the rows that they were measured on.

    Examples
    --------
    >>> import numpy as np
    >>> import polars as pl
    >>> from condrisk.app.models import fit_table
    >>> from condrisk.app.tables import check_rows
    >>> rng = np.random.default_rng(0)
    >>> x = rng.uniform(-1, 1, 500)
    >>> y = 2 * x + np.where(x > 0, 1.0, 0.1) * rng.normal(size=500)
    >>> frame = pl.DataFrame({"x": x, "y": y})
    >>> model = fit_table(frame, target="y", cost=0.5, predictor="linear")
    >>> checked = check_rows(model.schema, pl.DataFrame({"x": [-0.9, 0.9]}))
    >>> model.decide(checked.good).deferred
    array([False,  True])
    >>> figures = model.manifest["evaluation"]
    >>> figures["rows"], figures["deferral_loss"]["value"] < figures["never"]["value"]
    (100, True)
    """
    _check_choices(cost, budget, risk_target, confidence, holdout)
    note = progress if note is None else note
    rows, schema, task, found_loss = _prepare(frame, target, task, loss, predictions, note)
    rule = _rule(budget, risk_target, confidence, cap, random_state)
    train, held = _split(rows, task, holdout, random_state)
    folds = _folds(rows.y[train], task)
    plan = Plan(schema, task, found_loss, cost, folds, random_state, predictions, len(train))
    risk = make_risk(plan, predictor, trust=trust)
    progress(f"fitting on {len(train):,} rows")
    model = _fit(Deferral(risk, cost=cost, rule=rule), rows.at(train), note)
    reference = None
    if len(held):
        progress(f"measuring on {len(held):,} rows")
        reference = rows.at(held).as_tuple()
    return open_model(model, schema=schema, target=target, reference=reference)


# -- what was asked for -------------------------------------------------------------------------


def _check_choices(
    cost: float | None,
    budget: float | None,
    risk_target: float | None,
    confidence: float,
    holdout: float,
) -> None:
    if cost is None and budget is None and risk_target is None:
        raise TableError("one of cost, budget and risk_target must be given: it is the rule.")
    if budget is not None and risk_target is not None:
        raise TableError("budget and risk_target are two rules: give one of them.")
    if cost is not None and not 0 <= cost < math.inf:
        raise TableError(f"cost is a price and must be a number of at least 0, got {cost}.")
    if budget is not None and not 0 <= budget <= 1:
        raise TableError(f"budget is a share of the rows, from 0 to 1, got {budget}.")
    if risk_target is not None and not math.isfinite(risk_target):
        raise TableError(f"risk_target is a mean loss and must be a number, got {risk_target}.")
    if not 0 < confidence < 1:
        raise TableError(f"confidence is a probability between 0 and 1, got {confidence}.")
    if not 0 <= holdout < 1:
        raise TableError(f"holdout is a share of the rows, from 0 to below 1, got {holdout}.")


def _rule(
    budget: float | None,
    risk_target: float | None,
    confidence: float,
    cap: float | None,
    seed: int,
) -> Any:
    if budget is not None:
        return BudgetRule(budget)
    if risk_target is None:
        return None
    from condrisk import RiskControlRule

    return RiskControlRule(risk_target, confidence=confidence, cap=cap, random_state=seed)


# -- rows ---------------------------------------------------------------------------------------


def _prepare(
    frame: pl.DataFrame,
    target: str,
    task: Task | None,
    loss: str | Loss | None,
    predictions: str | None,
    note: Progress,
) -> tuple[_Rows, Schema, Task, Loss]:
    for name, what in ((target, "target"), (predictions, "predictions")):
        if name is not None and name not in frame.columns:
            raise TableError(f"{what} {name!r} is not a column: there are {frame.columns}.")
    if target == predictions:
        raise TableError("target and predictions must be two columns.")
    if frame.height < FEWEST_ROWS:
        raise TableError(f"the table has {frame.height} rows; at least {FEWEST_ROWS} are needed.")
    task = task or task_of(frame[target])
    try:
        found = get_loss(loss, task=task)
    except (ValueError, TypeError) as error:
        raise TableError(str(error)) from None
    y = read_target(frame[target], task)
    if task == "classification":
        _check_classes(y, target)
    for name, reason in left_out(frame, exclude=[target]).items():
        if name != predictions:
            note(f"column {name!r} is left out: {reason}")
    schema = table_schema(frame, exclude=[target])
    for name in schema.names:
        if isinstance(frame[name].dtype, pl.Datetime):
            note(f"of column {name!r} the day is used, not the time of day")
    given = None
    if predictions is not None:
        schema, given = _with_predictions(frame, schema, predictions, y, task)
    if not schema.columns:
        raise TableError("there is no column besides the target that a model could learn from.")
    checked = _all_good(check_rows(schema, frame))
    return _Rows(encode_rows(checked.good, schema), y, given), schema, task, found


def _with_predictions(
    frame: pl.DataFrame, schema: Schema, name: str, y: NDArray[Any], task: Task
) -> tuple[Schema, NDArray[Any]]:
    """Return the schema with the column of predictions as one that no row may lack."""
    others = [column for column in schema.columns if column.name != name]
    if task == "regression":
        given = read_target(frame[name], task)
        (column,) = Schema.infer(pl.DataFrame({name: given})).columns
    else:
        known = np.unique(y).tolist()
        given = read_target(frame[name], task, known)
        labels = np.unique(np.concatenate([np.unique(y), np.unique(given)]))
        words = [str(k).lower() if isinstance(k, bool) else str(k) for k in labels.tolist()]
        column = Column(name, "category", tuple(words), typical=words[0])
    column = replace(column, required=True)
    return replace(schema, columns=(*others, column), prediction=column), given


def _all_good(checked: Checked) -> Checked:
    if checked.bad:
        row, reason = next(iter(checked.bad.items()))
        raise TableError(
            f"{len(checked.bad):,} rows cannot be fitted on; in row {row + 1} {reason}"
        )
    return checked


def _check_classes(y: NDArray[Any], target: str) -> None:
    labels, counts = np.unique(y, return_counts=True)
    if len(labels) < 2:
        raise TableError(f"target {target!r} has one class only, {labels[0]!r}.")
    if len(labels) > len(y) / FEWEST_OF_CLASS:
        raise TableError(
            f"target {target!r} has {len(labels):,} classes in {len(y):,} rows: is it a number, "
            f"for regression?"
        )
    rare = labels[counts < FEWEST_OF_CLASS].tolist()
    if rare:
        raise TableError(
            f"target {target!r} has classes of fewer than {FEWEST_OF_CLASS} rows: "
            f"{', '.join(map(repr, rare[:5]))}; join them with others, or leave those rows out."
        )


def _split(
    rows: _Rows, task: Task, holdout: float, seed: int
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    n = len(rows.y)
    if not holdout:
        return np.arange(n), np.empty(0, dtype=np.intp)
    strata = rows.y if task == "classification" else None
    n_classes = 1 if strata is None else len(np.unique(strata))
    size = min(max(math.ceil(holdout * n), n_classes), n - 2 * n_classes)
    train, held = train_test_split(np.arange(n), test_size=size, stratify=strata, random_state=seed)
    return np.sort(train), np.sort(held)


def _folds(y: NDArray[Any], task: Task) -> int:
    rarest = np.unique(y, return_counts=True)[1].min() if task == "classification" else len(y)
    return int(max(2, min(N_FOLDS, rarest)))


# -- fitting and measuring ------------------------------------------------------------------------


def _fit(unfitted: Deferral, rows: _Rows, note: Progress) -> Deferral:
    given = {} if rows.prediction is None else {"prediction": rows.prediction}
    threads = threadpool_limits(1 if len(rows.y) < FEW_ROWS else None, user_api="openmp")
    with threads, warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        try:
            model = clone(unfitted).fit(rows.X, rows.y, **given)
        except ValueError as error:
            raise TableError(str(error)) from None
    # Rules warn of promises that cannot be kept; a solver's troubles show in the figures.
    messages = [str(warning.message) for warning in warned if warning.category is UserWarning]
    for text in dict.fromkeys(messages):
        note(text)
    return model
