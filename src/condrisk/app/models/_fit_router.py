"""`fit_router`: from a table of rows and the losses of several models to a router."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from condrisk.app._errors import TableError
from condrisk.app._names import listed, nearest
from condrisk.app.models._router_table import RouterTable, open_router, read_losses
from condrisk.app.tables import left_out
from condrisk.persistence import Schema
from condrisk.routing import ModelRouter

FEWEST_ROWS = 50
# Text of so many words on average is text to learn from; labels have fewer.
FEWEST_WORDS = 3


def fit_router(
    frame: pl.DataFrame,
    *,
    losses: Mapping[str, str],
    costs: Mapping[str, float],
    first: str | None = None,
    risk_target: float | None = None,
    confidence: float = 0.95,
    cap: float | None = None,
    holdout: float = 0.2,
    drop: Sequence[str] = (),
    only: Sequence[str] | None = None,
    random_state: int = 0,
    note: Callable[[str], None] = lambda text: None,
) -> RouterTable:
    """Fit a router to a table, and measure it on rows held out from it.

    Parameters
    ----------
    frame : polars.DataFrame
        A row for each question, with a column for the loss of each model.
    losses : mapping of str to str
        For each model, the column with its losses: numbers, or true where it was wrong. A gap is a
        row that it has not answered.
    costs : mapping of str to float
        What an answer of each model costs.
    first : str or None, default=None
        The model that has answered before the others are asked; see `ModelRouter`.
    risk_target : float or None, default=None
        The greatest mean loss of the rows left with the cheapest model, with a guarantee.
    confidence : float, default=0.95
        For `risk_target`.
    cap : float or None, default=None
        For `risk_target`: the greatest loss, larger ones count as this. Needed unless the losses
        are true and false: numbers do not tell how large others can be, not even 0 and 1.
    holdout : float, default=0.2
        The share of the rows to measure on.
    drop, only : sequence of str
        Columns to leave out, or the ones to learn from.
    random_state : int, default=0
        Seeds everything.
    note : callable, optional
        Gets a sentence about each thing that the user should know.

    Returns
    -------
    RouterTable
        Its `manifest` has the figures.

    Examples
    --------
    >>> import polars as pl
    >>> from condrisk.app.models import fit_router
    >>> from condrisk.datasets import make_routing
    >>> world = make_routing(500, n_models=2, random_state=0)
    >>> frame = pl.DataFrame(world.X).with_columns(
    ...     err_small=pl.Series(world.losses["small"]), err_large=pl.Series(world.losses["large"])
    ... )
    >>> columns = {"small": "err_small", "large": "err_large"}
    >>> router = fit_router(frame, losses=columns, costs=world.costs)
    >>> router.manifest["routing"]["figures"]["rows"]
    100
    """
    _check(frame, losses, costs, drop, only, holdout)
    table = read_losses(frame, losses)
    inputs = _inputs(frame, list(losses.values()), drop, only, note)
    rule = None
    if risk_target is not None:
        rule = _rule(risk_target, confidence, cap, frame.select(losses.values()))
    train, held = _split(table, frame.height, holdout, random_state)
    ordered = {name: table[name] for name in costs}
    router = ModelRouter(dict(costs), first=first, rule=rule, random_state=random_state)
    _fit(router, inputs[train], {name: values[train] for name, values in ordered.items()}, note)
    reference = None
    if len(held):
        reference = inputs[held], {name: values[held] for name, values in ordered.items()}
    else:
        note("no figures are known: no held-out row was answered by every model")
    return open_router(
        router, schema=Schema.infer(inputs[train]), target=dict(losses), reference=reference
    )


def _rule(target: float, confidence: float, cap: float | None, losses: pl.DataFrame) -> Any:
    """Return the rule; true and false are 1 and 0 and nothing else, of numbers nobody knows."""
    from condrisk.deferral import RiskControlRule

    if cap is None and all(dtype == pl.Boolean for dtype in losses.dtypes):
        cap = 1.0
    if cap is None:
        raise TableError(
            "risk_target needs cap, the greatest loss: a larger one than those in the table would "
            "break the guarantee. Give cap=1 where losses are 0 and 1, which are errors."
        )
    return RiskControlRule(target, confidence=confidence, cap=cap)


def _fit(router: ModelRouter, X: pl.DataFrame, losses: Any, note: Callable[[str], None]) -> None:
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        try:
            router.fit(X, losses)
        except (ValueError, TypeError) as error:
            raise TableError(str(error)) from None
    rule: Any = router.rule_
    if getattr(rule, "feasible_", True):  # a solver's troubles show in the figures
        messages = [str(w.message) for w in warned if w.category is UserWarning]
    else:
        cheapest = router.models_[int(np.argmin(router.costs_))]
        others = [name for name in router.models_ if name != cheapest]
        messages = [
            f"no row is left with {cheapest}, every row goes to {' or '.join(others)}: a mean loss "
            f"of at most {rule.target:g} could not be shown with confidence {rule.confidence:g} "
            f"from {rule.n_calibration_:,} rows set aside. A greater target, a lower confidence or "
            f"more rows may help."
        ]
    for text in dict.fromkeys(messages):
        note(text)


def _check(
    frame: pl.DataFrame,
    losses: Mapping[str, str],
    costs: Mapping[str, float],
    drop: Sequence[str],
    only: Sequence[str] | None,
    holdout: float,
) -> None:
    if set(losses) != set(costs):
        raise TableError(
            f"losses and costs must name the same models; got {listed(list(losses))} and "
            f"{listed(list(costs))}."
        )
    if len(losses) < 2:
        raise TableError("losses must name two models or more, each with its column.")
    for name in (*drop, *(only or ())):
        if name not in frame.columns:
            raise TableError(
                f"{name!r} is not a column{nearest(name, frame.columns)}: there are "
                f"{listed(frame.columns)}."
            )
    if len(set(losses.values())) < len(losses):
        raise TableError("losses must name a column of its own for each model.")
    if frame.height < FEWEST_ROWS:
        raise TableError(f"the table has {frame.height} rows; at least {FEWEST_ROWS} are needed.")
    if not 0 <= holdout < 1:
        raise TableError(f"holdout is a share of the rows, from 0 to below 1, got {holdout}.")


def _inputs(
    frame: pl.DataFrame,
    losses: list[str],
    drop: Sequence[str],
    only: Sequence[str] | None,
    note: Callable[[str], None],
) -> pl.DataFrame:
    """Return the columns to learn from; texts of many words are among them."""
    apart = [*losses, *drop]
    useless = left_out(frame, exclude=apart, only=only)
    for name, reason in dict(useless).items():
        if frame[name].dtype == pl.String and _words(frame[name]) >= FEWEST_WORDS:
            del useless[name]
        else:
            note(f"column {name!r} is left out: {reason}")
    names = [
        name
        for name in frame.columns
        if name not in apart and name not in useless and (only is None or name in only)
    ]
    if not names:
        raise TableError("there is no column besides the losses that a router could learn from.")
    return frame.select(names)


def _words(column: pl.Series) -> float:
    known = column.drop_nulls()
    return sum(len(text.split()) for text in known) / max(len(known), 1)


def _split(
    table: Mapping[str, NDArray[np.float64]], n_rows: int, holdout: float, seed: int
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return rows to fit on and rows to measure on, which all models have answered."""
    order = np.random.default_rng(seed).permutation(n_rows)
    held = order[: round(holdout * n_rows)]
    gaps = np.isnan(np.column_stack(list(table.values())))
    answered: NDArray[np.bool_] = np.logical_not(gaps.any(axis=1))
    return np.sort(order[len(held) :]), np.sort(held[answered[held]])
