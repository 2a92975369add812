"""From Parquet that no process can hold to a fitted model, by the workers of a Dask cluster."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from sklearn.frozen import FrozenEstimator

from condrisk._cluster import WAIT_SECONDS, connect
from condrisk._extras import require
from condrisk.app._names import listed, nearest
from condrisk.app.models._cluster._crew import Crew
from condrisk.app.models._cluster._rows import (
    FOR_RULE,
    HELD_OUT,
    N_FOLDS,
    Recipe,
    Rows,
    Stage,
    rows_apart,
)
from condrisk.app.models._cluster._source import Source, open_source
from condrisk.app.models._cluster._survey import (
    SAMPLE_ROWS,
    Survey,
    find_schema,
    look_at,
    put_together,
)
from condrisk.app.models._cluster._trees import boosting_of, find_bins
from condrisk.app.models._cost_matrix import CostTable
from condrisk.app.models._encode import encode_rows
from condrisk.app.models._fit import (
    Progress,
    check_choices,
    check_classes,
    chosen_loss,
    fit_rows,
    make_rule,
)
from condrisk.app.models._fit import Rows as FitRows
from condrisk.app.models._table_model import TableModel, open_model
from condrisk.app.models._targets import read_target, task_of
from condrisk.app.tables import TableError, check_rows
from condrisk.deferral import Deferral
from condrisk.losses import Loss, Task, get_loss
from condrisk.persistence import Schema

FEWEST_ROWS = 1_000
# More rows than these say nothing new to a rule, or of a model.
MOST_ROWS_APART = 50_000
# The share of rows that the rule is fitted on, where they are few.
FOR_RULE_SHARE = 0.1
KEPT = "nothing was written, and fitting has to be begun anew."

PREDICTOR = {"n_estimators": 100, "learning_rate": 0.1, "min_child_samples": 20}
# Losses are noisier than targets: smaller steps, larger leaves.
RISK = {"n_estimators": 100, "learning_rate": 0.05, "min_child_samples": 100}


def fit_parquet(
    table: str | os.PathLike[str],
    *,
    target: str,
    task: Task | None = None,
    loss: str | Loss | None = None,
    cost: float | None = None,
    cost_matrix: CostTable | None = None,
    budget: float | None = None,
    risk_target: float | None = None,
    confidence: float = 0.9,
    cap: float | None = None,
    holdout: float = 0.2,
    random_state: int = 0,
    drop: Sequence[str] = (),
    only: Sequence[str] | None = None,
    scheduler: str | None = None,
    workers: int | None = None,
    wait: float = WAIT_SECONDS,
    progress: Progress = lambda what: None,
    note: Progress | None = None,
) -> TableModel:
    """Fit predictor, risk and rule to Parquet on a Dask cluster: no process holds all rows.

    Boosting predicts, five times without a fifth of the rows and once from all of them, and
    boosting learns the risk from the losses on rows that each had not seen. LightGBM fits both, on
    all workers together; the model holds its trees as those of scikit-learn. A worker holds its
    share of the rows, and reads it from the files, which it must find under the same path.

    Parameters
    ----------
    table : path
        A Parquet file of several row groups, or a folder of Parquet files with the same columns.
    target : str
        The column to predict.
    task, loss, cost, cost_matrix, budget, risk_target, confidence, cap
        As `fit_table` takes them.
    holdout : float, default=0.2
        The share of the rows to measure the model on; at most 50,000 rows. As many again, a tenth
        of the rows at most, are set aside for the rule.
    random_state : int, default=0
        Seeds everything: the same rows are held out however many workers there are.
    drop, only
        As `fit_table` takes them.
    scheduler : str or None, default=None
        The address of the scheduler. None starts a cluster on this machine for the call.
    workers : int or None, default=None
        How many workers such a cluster has. None: one for each core.
    wait : float, default=10
        How many seconds the cluster may be without any worker.
    progress, note : callable, optional
        As `fit_table` takes them.

    Returns
    -------
    TableModel
        A `RegressionRisk` inside a `Deferral`, as model files of any origin hold it.

    Raises
    ------
    TableError
        Where the table cannot be used.
    ConnectionError
        Where the scheduler is lost, there are no workers, or workers died four times.

    Examples
    --------
    >>> from condrisk.app.models import fit_parquet
    >>> model = fit_parquet(
    ...     "/data/claims", target="amount", cost=100.0, scheduler="tcp://10.0.0.1:8786"
    ... )  # doctest: +SKIP
    """
    check_choices(cost, None, budget, risk_target, confidence, holdout)
    require("Fitting on a cluster", "distributed", "lightgbm", extra="dask")
    note = progress if note is None else note
    rule = make_rule(budget, risk_target, confidence, cap, {}, random_state)
    source = open_source(table)
    names = _used(source, target, drop, only)
    with connect(scheduler, workers=workers, wait=wait, kept=KEPT) as client:
        crew = Crew(client, wait, note, own=scheduler is None)
        progress(f"looking at {source.n_rows:,} rows")
        share = min(1.0, SAMPLE_ROWS / source.n_rows)
        survey = put_together(crew.map(look_at, source.parts, names, target, share, random_state))
        recipe = _recipe(
            source, survey, target, task, (loss, cost_matrix), only, holdout, random_state, note
        )
        predictor, regressor = _boosted(crew, source, recipe, survey, progress)
        progress("setting rows apart")
        found = crew.map(rows_apart, [(part,) for part in source.parts], recipe)
    apart = Rows(*(np.concatenate(column) for column in zip(*found, strict=True)))
    model = _decided(recipe, predictor, regressor, apart, cost, rule, note)
    measured = apart.use == HELD_OUT
    return open_model(
        model,
        schema=recipe.schema,
        target=target,
        reference=(apart.X[measured], apart.y[measured]) if measured.any() else None,
    )


def _used(
    source: Source, target: str, drop: Sequence[str], only: Sequence[str] | None
) -> list[str]:
    """Return the columns to look at."""
    if only is not None and drop:
        raise TableError("drop and only exclude each other: give one of them.")
    named = [("drop", name) for name in drop] + [("only", name) for name in only or ()]
    for what, name in [("target", target), *named]:
        if name not in source.names:
            raise TableError(
                f"{what} {name!r} is not a column{nearest(name, source.names)}: there are "
                f"{listed(source.names)}."
            )
    if target in drop:
        raise TableError(f"column {target!r} is needed, and cannot be in drop.")
    return [
        name
        for name in source.names
        if name == target or (name not in drop and (only is None or name in only))
    ]


def _recipe(
    source: Source,
    survey: Survey,
    target: str,
    task: Task | None,
    loss: tuple[str | Loss | None, CostTable | None],
    only: Sequence[str] | None,
    holdout: float,
    seed: int,
    note: Progress,
) -> Recipe:
    """Return how rows are read: what the survey says of columns and target."""
    seen = survey.seen[target]
    n_rows = source.n_rows - seen.missing
    if n_rows < FEWEST_ROWS:
        raise TableError(
            f"the table has {n_rows:,} rows with a target; at least {FEWEST_ROWS:,} are needed on "
            f"a cluster. Fewer are fitted without one, by fit_table or --engine local."
        )
    if seen.missing:
        note(
            f"{seen.missing:,} of {source.n_rows:,} rows are left out: they have no target "
            f"{target!r}"
        )
    task, labels = _labels(survey, target, task)
    try:
        found = get_loss(chosen_loss(*loss, task, labels), task=task).for_outputs(1)
    except (ValueError, TypeError) as error:
        raise TableError(str(error)) from None
    if task == "classification":
        check_classes(labels, target)
    schema, useless = find_schema(survey, source.n_rows, exclude=(target,), only=only)
    for name, reason in useless.items():
        note(f"column {name!r} is left out: {reason}")
    if not schema.columns:
        raise TableError("there is no column besides the target that a model could learn from.")
    most = MOST_ROWS_APART / n_rows
    bins = find_bins(sampled(survey, schema), [len(c.categories) for c in schema.columns])
    return Recipe(
        schema,
        target,
        task,
        np.unique(labels) if task == "classification" else None,
        found,
        min(FOR_RULE_SHARE, most),
        min(holdout, most),
        seed,
        bins,
    )


def sampled(survey: Survey, schema: Schema) -> NDArray[np.float64]:
    """Return the rows of the sample as a model takes them, as far as it can take them."""
    return encode_rows(check_rows(schema, survey.sample).good, schema)


def _labels(survey: Survey, target: str, task: Task | None) -> tuple[Task, NDArray[Any]]:
    """Return the task, and the values of the target, each a few times at most."""
    seen, sample = survey.seen[target], survey.sample[target]
    if seen.values is None:
        column = sample.drop_nulls()
        if task == "classification" or not column.dtype.is_numeric():
            raise TableError(
                f"target {target!r} has too many distinct values for classes: is it a number, for "
                f"regression?"
            )
        return "regression", np.empty(0)
    dtype = pl.String if isinstance(sample.dtype, pl.Enum) else sample.dtype
    column = pl.Series(target, list(seen.values), dtype=dtype)
    task = task or task_of(column)
    # As many of each as make no difference to what is checked.
    counts = np.minimum(list(seen.values.values()), FEWEST_ROWS)
    return task, np.repeat(read_target(column, task), counts)


# -- fitting ---------------------------------------------------------------------------------------


def _boosted(
    crew: Crew, source: Source, recipe: Recipe, survey: Survey, progress: Progress
) -> tuple[Any, Any]:
    """Return the predictor, fitted to all rows, and what was fitted to losses it had not seen."""
    objective = _objective(recipe.classes)
    folds = tuple(range(N_FOLDS))

    def boost(what: str, stage: Stage, options: dict[str, Any]) -> str:
        def tell(part: str) -> None:
            progress(f"fitting on {crew.size} workers: {what}, {part}")

        return crew.boost(source.parts, recipe, stage, options, tell)

    boosters = tuple(
        boost(
            f"predictor, fold {fold + 1} of {N_FOLDS}",
            Stage(tuple(other for other in folds if other != fold), recipe.bins),
            PREDICTOR | objective,
        )
        for fold in folds
    )
    bins = recipe.bins
    if recipe.classes is not None:  # the risk is learnt from probabilities, too
        first = boosting_of(boosters[0], bins, recipe.classes)
        bins = bins.with_numbers(first.predict_proba(sampled(survey, recipe.schema)))
    risk = boost("risk", Stage(folds, bins, boosters), RISK)
    predictor = boost("predictor, all rows", Stage(folds, recipe.bins), PREDICTOR | objective)
    return (
        boosting_of(predictor, recipe.bins, recipe.classes, **_words(PREDICTOR)),
        boosting_of(risk, bins, None, **_words(RISK)),
    )


def _words(options: dict[str, Any]) -> dict[str, Any]:
    """Return options of LightGBM in scikit-learn's words."""
    return {
        "learning_rate": options["learning_rate"],
        "min_samples_leaf": options["min_child_samples"],
    }


def _objective(classes: NDArray[Any] | None) -> dict[str, Any]:
    if classes is None:
        return {}
    if len(classes) == 2:
        return {"objective": "binary"}
    return {"objective": "multiclass", "num_class": len(classes)}


def _decided(
    recipe: Recipe,
    predictor: Any,
    regressor: Any,
    apart: Rows,
    cost: float | None,
    rule: Any,
    note: Progress,
) -> Deferral:
    """Return the model: what was fitted, with a rule for rows that nothing was fitted on."""
    from condrisk import RegressionRisk

    risk = RegressionRisk(
        FrozenEstimator(predictor),
        loss=recipe.loss,
        regressor=FrozenEstimator(regressor),
        features="x" if recipe.classes is None else "x+response",
        random_state=recipe.seed,
    )
    own = apart.use == FOR_RULE
    rows = FitRows(apart.X[own], apart.y[own], None)
    return fit_rows(Deferral(risk, cost=cost, rule=rule), rows, note)
