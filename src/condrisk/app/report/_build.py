"""From a model and a table to a report."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from condrisk._validation import Vector
from condrisk.app._names import nearest
from condrisk.app._numbers import Amounts, count, percent, roundest, unit_of
from condrisk.app.report._calibrated import guarded_groups
from condrisk.app.report._drivers import Progress
from condrisk.app.report._manifest import facts_of, title_of
from condrisk.app.report._report import Report, report_from_arrays
from condrisk.app.report._rows import Explain

if TYPE_CHECKING:
    from condrisk.app.models import TableModel
    from condrisk.app.tables import Checked


# So many standard errors less than on held-out rows is no accident.
MIN_STANDARD_ERRORS = 4.0


def build_report(
    model: Any,
    X: Any,
    y: Any = None,
    *,
    schema: Any = None,
    trusted: Iterable[str] = (),
    price: float | None = None,
    title: str | None = None,
    top: int = 50,
    unit: str | None = None,
    progress: Progress | None = None,
) -> Report:
    """Measure a model on rows with known targets that it was not fitted on.

    Rows without a target and rows that the model cannot take are left out, and the report says
    how many.

    Parameters
    ----------
    model : path, TableModel, Deferral or risk estimator
        A model file, or a fitted model.
    X : polars.DataFrame, pandas.DataFrame or array-like of shape (n_rows, n_columns)
        Rows that it was not fitted on.
    y : array-like of shape (n_rows,), optional
        Their targets. None: `X` has a column with the name of the model's target.
    schema : optional
        For a fitted model: the rows that it was fitted on, as `condrisk.persistence.save_model`
        takes them; `X` if not given.
    trusted : iterable of str
        For a model file, as `condrisk.persistence.load_model` takes it.
    price : float or None, default=None
        The cost that the page starts with; None: the model's own. A model that has none asks
        above a fixed risk, and the page starts with that.
    title : str or None, default=None
        What stands at the top; None: what is predicted.
    top : int, default=50
        How many of the riskiest rows are listed.
    unit : str or None, default=None
        The unit of the target, such as "g"; None: as the name of the target says, if it does.
    progress : callable or None, default=None
        Gets a sentence about each step.

    Returns
    -------
    Report
        For `render`.

    Examples
    --------
    >>> import numpy as np
    >>> import polars as pl
    >>> from condrisk.app.models import fit_table
    >>> from condrisk.app.report import build_report
    >>> rng = np.random.default_rng(0)
    >>> x = rng.uniform(-1, 1, 600)
    >>> y = 2 * x + np.where(x > 0, 1.0, 0.1) * rng.normal(size=600)
    >>> frame = pl.DataFrame({"x": x, "y": y})
    >>> model = fit_table(frame[:400], target="y", cost=0.5, predictor="linear")
    >>> report = build_report(model, frame[400:])
    >>> report.n_rows, report.price, report.drivers[0].direction
    (200, 0.5, 'rises with it')
    """
    progress = progress or (lambda what: None)
    progress("checking the rows")
    model, frame = _opened(model, X, y, schema, trusted)
    checked, target, notes = _usable(model, frame)
    with threadpool_limits(1, user_api="openmp"):
        progress(f"estimating the risk of {count(checked.good.height)} rows")
        risk, deferred, prediction = _decisions(model, checked.good)
        loss = model.loss_values(checked.good, target)
        report = report_from_arrays(
            loss,
            risk,
            frame=checked.good,
            risk_of=model.predict_risk,
            parts=_parts(model, checked.good),
            prediction=list(prediction),
            target=target.to_list(),
            row_numbers=(checked.rows + 1).tolist(),
            price=_start(model, risk) if price is None else price,
            title=title_of(model.manifest) if title is None else title,
            loss_name=model.manifest["loss"],
            facts=facts_of(model.manifest),
            notes=notes,
            cautions=[
                *_training_row_caution(model, loss),
                *_rule_caution(model, deferred, loss),
            ],
            top=top,
            unit=unit_of(model.target) if unit is None else unit,
            classes=model.classes,
            explain=_explainer(model),
            progress=progress,
        )
    groups = guarded_groups(model.model, model.encode(checked.good), loss, deferred)
    return replace(report, groups=groups) if groups else report


def _explainer(model: TableModel) -> Explain:
    def explain(rows: pl.DataFrame, risk: Vector) -> list[list[tuple[str, float]]]:
        found = model.explain(rows, risk)
        return [found.most(row) for row in range(rows.height)]

    return explain


def _opened(
    model: Any, X: Any, y: Any, schema: Any, trusted: Iterable[str]
) -> tuple[TableModel, pl.DataFrame]:
    """Return the model, and the rows as one table with their targets in it."""
    from condrisk.app.models import TableModel, open_model

    if isinstance(model, TableModel | str | os.PathLike):
        model = open_model(model, schema=schema, trusted=trusted)
    else:
        model = open_model(model, schema=X if schema is None else schema, target="y")
    return model, model.table(X, y)


def _decisions(
    model: TableModel, good: pl.DataFrame
) -> tuple[Vector, NDArray[np.bool_] | None, Any]:
    """Return risks, decisions (None where these need a cost that is not known), predictions."""
    if model.uses_cost and model.cost is None:
        found = model.decide(good, cost=0.0)
        return found.risk, None, found.prediction
    decision = model.decide(good)
    return decision.risk, decision.deferred, decision.prediction


def _parts(model: TableModel, good: pl.DataFrame) -> Any:
    """Return floor, gap and correction of each row; None where the model cannot say."""
    from condrisk.app.tables import TableError

    try:
        return model.decompose_risk(good)
    except TableError:
        return None


def _usable(model: TableModel, frame: pl.DataFrame) -> tuple[Checked, pl.Series, list[str]]:
    """Return the rows to measure on, their targets, and what is to be said of the others."""
    from condrisk.app.tables import Checked, TableError, check_rows

    if model.target is None or model.target not in frame.columns:
        raise TableError(
            f"the table has no column {model.target!r}, the target, without which no loss can be "
            f"measured{nearest(model.target or '', frame.columns)}."
        )
    target = frame[model.target]
    known = target.is_not_null().to_numpy()
    if target.dtype.is_float():
        known &= target.is_not_nan().fill_null(False).to_numpy()
    checked = check_rows(model.schema, frame)
    keep = known[checked.rows]
    good, rows = checked.good.filter(pl.Series(keep)), checked.rows[keep]
    if not good.height:
        first = next(iter(checked.bad.values()), "no row has a target.")
        raise TableError(f"no row of the table can be used: {first}")
    notes = _exclusion_notes(frame.height, int((~known).sum()), checked)
    return Checked(good, rows, checked.bad, checked.unseen), target[rows], notes


def _exclusion_notes(n_rows: int, without_target: int, checked: Checked) -> list[str]:
    notes = []
    if without_target:
        notes.append(
            f"{count(without_target)} of {count(n_rows)} rows have no target and are left out."
        )
    if checked.bad:
        row, reason = next(iter(checked.bad.items()))
        notes.append(
            f"{count(len(checked.bad))} of {count(n_rows)} rows cannot be used and are left out; "
            f"in row {count(row + 1)} {reason}"
        )
    for name, n in checked.unseen.items():
        notes.append(
            f"In {count(n)} rows the column {name!r} holds a value that was not there when the "
            f"model was fitted; it is taken as missing."
        )
    return notes


def _start(model: TableModel, risk: Vector) -> float | None:
    """Return the price to start with: the model's, else one that defers the same rows."""
    if model.cost is not None:
        return float(model.cost)
    threshold = getattr(model.model.rule_, "threshold_", None)
    if threshold is None or not np.isfinite(threshold) or threshold < 0:
        return None
    above = risk[risk > threshold]
    return roundest(float(threshold), float(above.min())) if above.size else float(threshold)


def _rule_caution(model: TableModel, deferred: NDArray[np.bool_] | None, loss: Vector) -> list[str]:
    """Say what the model's own rule does, where that is not to defer above the cost."""
    if model.uses_cost or deferred is None:
        return []
    accepted = loss[~deferred]
    amounts = Amounts(model.manifest["loss"], unit_of(model.target))
    left = f", with a mean loss of {amounts.text(float(accepted.mean()))}" if accepted.size else ""
    return [
        f"The model's own rule does not follow the cost ({model.manifest['rule']}). On these "
        f"rows it defers {percent(float(deferred.mean()))} and accepts "
        f"{percent(1 - float(deferred.mean()))}{left}. The slider shows what deferring by a cost "
        f"would do."
    ]


def _training_row_caution(model: TableModel, loss: Vector) -> list[str]:
    """Warn where the rows lose so little that the model has probably been fitted on them."""
    groups = np.asarray(model.manifest.get("profile") or np.empty((0, 6)), dtype=float)
    n, measured, squares = groups[:, 0], groups[:, 4], groups[:, 5]
    if n.sum() < 2 or len(loss) < 2:
        return []
    then = float(np.average(measured, weights=n))
    variance = max(float(np.average(squares, weights=n)) - then**2, 0.0)
    noise = np.sqrt(variance / n.sum() + loss.var() / len(loss))
    if then - loss.mean() <= MIN_STANDARD_ERRORS * noise:
        return []
    amounts = Amounts(model.manifest["loss"], unit_of(model.target))
    return [
        f"These rows lose {amounts.text(float(loss.mean()))} on average, those that were held out "
        f"when the model was fitted lost {amounts.text(then)}. If the model was fitted on these "
        f"rows, everything here is too good: use rows that it has not seen."
    ]
