"""From a table to a fitted model that knows what it will do on new rows."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.model_selection import train_test_split
from threadpoolctl import threadpool_limits

from condrisk._progress import announced_to
from condrisk.app._errors import NO_RULE
from condrisk.app.models._cost_matrix import CostTable, matrix_loss
from condrisk.app.models._encode import encode_rows
from condrisk.app.models._predictors import Plan, make_risk
from condrisk.app.models._table_model import TableModel, open_model
from condrisk.app.models._targets import read_costs, read_target, task_of
from condrisk.app.models._time_split import split_by_time
from condrisk.app.models._used import Roles, as_written, used_rows
from condrisk.app.tables import (
    Checked,
    Notation,
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


class Rows(NamedTuple):
    """Rows ready for a model."""

    X: NDArray[np.float64]
    y: NDArray[Any]
    prediction: NDArray[Any] | None
    cost: NDArray[np.float64] | None = None

    def as_tuple(self) -> tuple[Any, ...]:
        """Return the rows as a reference: what is not there at the end is left out."""
        if self.cost is not None:
            return tuple(self)
        return (self.X, self.y) if self.prediction is None else tuple(self)[:3]

    def at(self, rows: NDArray[np.intp]) -> Rows:
        prediction = None if self.prediction is None else self.prediction[rows]
        cost = None if self.cost is None else self.cost[rows]
        return Rows(self.X[rows], self.y[rows], prediction, cost)


def fit_table(
    frame: pl.DataFrame,
    *,
    target: str,
    task: Task | None = None,
    loss: str | Loss | None = None,
    cost: float | None = None,
    cost_column: str | None = None,
    cost_matrix: CostTable | None = None,
    budget: float | None = None,
    risk_target: float | None = None,
    confidence: float = 0.9,
    cap: float | None = None,
    subgroups: Sequence[str] = (),
    predictor: str = "boosting",
    trust: bool = False,
    predictions: str | None = None,
    holdout: float = 0.2,
    time: str | None = None,
    random_state: int = 0,
    drop: Sequence[str] = (),
    only: Sequence[str] | None = None,
    notations: Mapping[str, Notation] | None = None,
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
        The cost of deferring, in units of the loss. Alone it is the rule: defer where the risk
        is higher.
    cost_column : str or None, default=None
        Instead: the column with the cost of deferring each row. It is no input of the model.
    cost_matrix : mapping or None, default=None
        For classes, instead of `loss`: what each mistake costs, by pairs of the true and the
        predicted class, as `read_cost_matrix` gives it.
    budget : float or None, default=None
        The largest share of rows to defer, instead.
    risk_target : float or None, default=None
        The largest mean loss of the accepted rows, instead. It is kept with
        probability `confidence`, which rows that are set aside for it show.
    confidence : float, default=0.9
        For `risk_target`.
    cap : float or None, default=None
        For `risk_target` with a loss that has no greatest value: losses above it count as this.
    subgroups : sequence of str, default=()
        For `risk_target`: columns, among the inputs of the model, each of whose values keeps it.
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
    time : str or None, default=None
        A column of dates or numbers that orders the rows: the last of them are held out, instead
        of random ones, rows of one time together. It is no input of the model.
    random_state : int, default=0
        Seeds everything.
    drop : sequence of str, default=()
        Columns to leave out.
    only : sequence of str or None, default=None
        The columns to learn from, besides the target; numbers that look like those of rows are
        among them if they are named here. None: all that a model can learn from.
    notations : mapping of str to Notation, optional
        How cells were written, as `condrisk.app.tables.read_noted` gives it: new rows are then
        read in the same way.
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
    check_choices(cost, cost_column, budget, risk_target, confidence, holdout)
    note = progress if note is None else note
    roles = Roles(target, predictions, cost_column, time)
    frame = used_rows(frame, roles, drop=drop, only=only, note=note)
    rows, schema, task, found_loss = _prepare(
        frame, roles, task, (loss, cost_matrix), only, notations or {}, note
    )
    groups = _subgroups(subgroups, schema, risk_target)
    rule = make_rule(budget, risk_target, confidence, cap, groups, random_state)
    if time is None:
        train, held = _split(rows, task, holdout, random_state)
    else:
        train, held = split_by_time(frame[time], holdout, note)
        _check_train_classes(rows, train, task, time)
    folds = _folds(rows.y[train], task)
    plan = Plan(schema, task, found_loss, cost, folds, random_state, predictions, len(train))
    risk = make_risk(plan, predictor, trust=trust)
    progress(f"fitting on {len(train):,} rows")
    with announced_to(lambda part: progress(f"fitting on {len(train):,} rows: {part}")):
        model = fit_rows(Deferral(risk, cost=cost, rule=rule), rows.at(train), note)
    if groups:
        name_groups(model.rule_, schema)
        _note_deferred(model.rule_, note)
    reference = None
    if len(held):
        progress(f"measuring on {len(held):,} rows")
        reference = rows.at(held).as_tuple()
    return open_model(
        model, schema=schema, target=target, reference=reference, cost_column=cost_column
    )


# -- what was asked for -------------------------------------------------------------------------


def check_choices(
    cost: float | None,
    cost_column: str | None,
    budget: float | None,
    risk_target: float | None,
    confidence: float,
    holdout: float,
) -> None:
    if cost is None and cost_column is None and budget is None and risk_target is None:
        raise TableError(NO_RULE)
    given = [cost is not None, budget is not None, risk_target is not None]
    if cost_column is not None and any(given):
        raise TableError("cost_column is a rule by itself: give no cost, budget or risk_target.")
    if budget is not None and risk_target is not None:
        raise TableError("budget and risk_target are two rules: give one of them.")
    if cost is not None and not 0 <= cost < math.inf:
        raise TableError(f"cost must be a number of at least 0, got {cost}.")
    if budget is not None and not 0 <= budget <= 1:
        raise TableError(f"budget is a share of the rows, from 0 to 1, got {budget}.")
    if risk_target is not None and not math.isfinite(risk_target):
        raise TableError(f"risk_target is a mean loss and must be a number, got {risk_target}.")
    if not 0 < confidence < 1:
        raise TableError(f"confidence is a probability between 0 and 1, got {confidence}.")
    if not 0 <= holdout < 1:
        raise TableError(f"holdout is a share of the rows, from 0 to below 1, got {holdout}.")


def make_rule(
    budget: float | None,
    risk_target: float | None,
    confidence: float,
    cap: float | None,
    subgroups: dict[str, int],
    seed: int,
) -> Any:
    if budget is not None:
        return BudgetRule(budget)
    if risk_target is None:
        return None
    from condrisk import RiskControlRule

    return RiskControlRule(
        risk_target,
        subgroups=subgroups or None,
        confidence=confidence,
        cap=cap,
        random_state=seed,
    )


def _subgroups(names: Sequence[str], schema: Schema, risk_target: float | None) -> dict[str, int]:
    """Return where the columns of groups are among the inputs of the model."""
    if names and risk_target is None:
        raise TableError("subgroups are for a guarantee: give a risk_target too (--risk-target).")
    for name in names:
        if name not in schema.names:
            raise TableError(
                f"subgroup: {name!r} is no input of the model; groups are told by its inputs, "
                f"{', '.join(map(repr, schema.names))}."
            )
    return {name: schema.names.index(name) for name in names}


def name_groups(rule: Any, schema: Schema) -> None:
    """Call the groups of a rule what the table calls them: categories are numbers inside."""
    named = []
    for group, name in zip(rule.groups_, rule.group_names_, strict=True):
        column = schema.columns[group.column]
        if column.kind == "category" and group.value.isdigit():
            name = f"{column.name} = {column.categories[int(group.value)]}"
        named.append(name)
    rule.group_names_ = named


def _note_deferred(rule: Any, note: Progress) -> None:
    """Say which groups are deferred as a whole; where all are, a warning has said so."""
    limits = zip(rule.group_names_, rule.group_thresholds_, strict=True)
    none = [name for name, limit in limits if limit == -math.inf]
    if none and rule.feasible_:
        note(
            f"every row of {', '.join(none)} is deferred: too few rows, or too many losses, to "
            f"show that the risk target is kept there."
        )


# -- rows ---------------------------------------------------------------------------------------


def _prepare(
    frame: pl.DataFrame,
    roles: Roles,
    task: Task | None,
    loss: tuple[str | Loss | None, CostTable | None],
    only: Sequence[str] | None,
    notations: Mapping[str, Notation],
    note: Progress,
) -> tuple[Rows, Schema, Task, Loss]:
    target, predictions = roles.target, roles.predictions
    if frame.height < FEWEST_ROWS:
        raise TableError(f"the table has {frame.height} rows; at least {FEWEST_ROWS} are needed.")
    task = task or task_of(frame[target])
    y = read_target(as_written(frame[target], notations.get(target)), task)
    try:
        found = get_loss(chosen_loss(*loss, task, y), task=task).for_outputs(1)
    except (ValueError, TypeError) as error:
        # A file has no room for a function of the user's, which the library would offer.
        raise TableError(str(error).replace(" or make_loss", "")) from None
    if task == "classification":
        check_classes(y, target)
    elif np.ptp(y) == 0:
        raise TableError(
            f"target {target!r} is {y[0]:g} in every row: there is nothing to predict."
        )
    for name, reason in left_out(frame, exclude=roles.apart, only=only).items():
        if name != predictions:
            note(f"column {name!r} is left out: {reason}")
    schema = table_schema(frame, exclude=roles.apart, only=only, notations=notations)
    for name in schema.names:
        if isinstance(frame[name].dtype, pl.Datetime):
            note(f"of column {name!r} the day is used, not the time of day")
    given = None
    if predictions is not None:
        schema, given = _with_predictions(frame, schema, predictions, y, task)
    if not schema.columns:
        raise TableError("there is no column besides the target that a model could learn from.")
    checked = _all_good(check_rows(schema, frame))
    cost = None if roles.cost_column is None else read_costs(frame[roles.cost_column])
    return Rows(encode_rows(checked.good, schema), y, given, cost), schema, task, found


def chosen_loss(
    loss: str | Loss | None, cost_matrix: CostTable | None, task: Task, y: NDArray[Any]
) -> str | Loss | None:
    if cost_matrix is None:
        return loss
    if loss is not None:
        raise TableError("cost_matrix is a loss of its own: give no loss beside it.")
    if task != "classification":
        raise TableError("cost_matrix is for classes, but the target is a number.")
    return matrix_loss(cost_matrix, np.unique(y).tolist())


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


def check_classes(y: NDArray[Any], target: str) -> None:
    labels, counts = np.unique(y, return_counts=True)
    if len(labels) < 2:
        raise TableError(f"target {target!r} has one class only, {labels.tolist()[0]!r}.")
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
    rows: Rows, task: Task, holdout: float, seed: int
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    n = len(rows.y)
    if not holdout:
        return np.arange(n), np.empty(0, dtype=np.intp)
    strata = rows.y if task == "classification" else None
    n_classes = 1 if strata is None else len(np.unique(strata))
    size = min(max(math.ceil(holdout * n), n_classes), n - 2 * n_classes)
    train, held = train_test_split(np.arange(n), test_size=size, stratify=strata, random_state=seed)
    return np.sort(train), np.sort(held)


def _check_train_classes(rows: Rows, train: NDArray[np.intp], task: Task, time: str) -> None:
    """Refuse a split by time that leaves too little of a class to learn from."""
    if task != "classification":
        return
    labels, counts = np.unique(rows.y, return_counts=True)
    before = np.array([int(np.sum(rows.y[train] == label)) for label in labels])
    rare = labels[(before < 2) & (counts > 0)].tolist()
    if rare:
        raise TableError(
            f"classes {', '.join(map(repr, rare[:5]))} are hardly there before the last rows by "
            f"{time!r}: give a smaller holdout, or leave time out."
        )


def _folds(y: NDArray[Any], task: Task) -> int:
    rarest = np.unique(y, return_counts=True)[1].min() if task == "classification" else len(y)
    return int(max(2, min(N_FOLDS, rarest)))


# -- fitting and measuring ------------------------------------------------------------------------


def fit_rows(unfitted: Deferral, rows: Rows, note: Progress) -> Deferral:
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
