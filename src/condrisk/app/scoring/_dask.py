"""Dask DataFrames scored partition by partition."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from condrisk.app.models import TableModel, open_model
from condrisk.app.scoring._output import check_names
from condrisk.app.scoring._scores import Wanted, score_table

if TYPE_CHECKING:
    import pandas as pd


def score_dask(
    model: Any,
    frame: Any,
    *,
    cost: float | None = None,
    cost_column: str | None = None,
    parts: bool = False,
    probabilities: bool = False,
    defer_outside: bool = False,
    schema: Any = None,
    trusted: Iterable[str] = (),
    prefix: str = "",
) -> Any:
    """Add prediction, risk and decision to a Dask DataFrame.

    Nothing is computed yet: each partition is scored by itself, where it is, when the result is
    asked for.

    Parameters
    ----------
    model : path, TableModel, Deferral or risk estimator
        A model file, or a fitted model.
    frame : dask.dataframe.DataFrame
        Rows, with the columns of the model among theirs.
    cost : float or None, default=None
        The cost of deferring; None is the model's own.
    cost_column : str or None, default=None
        The column with the cost of deferring each row, instead.
    parts : bool, default=False
        Whether to add ``floor``, ``gap`` and ``correction``, what the risk is made of.
    probabilities : bool, default=False
        Whether to add the predictor's probability of each class.
    defer_outside : bool, default=False
        Whether to defer rows outside what was seen when fitting.
    schema : optional
        For a fitted model: the rows that it was fitted on.
    trusted : iterable of str
        For a model file, as `condrisk.persistence.load_model` takes it.
    prefix : str, default=""
        Put before the names of the new columns, where the frame has such names already.

    Returns
    -------
    dask.dataframe.DataFrame
        The same rows, partitions and index with the new columns ``prediction``, ``risk``,
        ``defer``, ``outside`` and ``reason``. A row that the model cannot take stays: its reason
        says why, prediction and risk are missing, and it is deferred, as nobody else can answer
        for it.

    Examples
    --------
    >>> import dask.dataframe as dd
    >>> import numpy as np
    >>> import pandas as pd
    >>> import polars as pl
    >>> from condrisk.app.models import fit_table
    >>> from condrisk.app.scoring import score_dask
    >>> x = np.random.default_rng(0).normal(size=500)
    >>> model = fit_table(
    ...     pl.DataFrame({"x": x, "y": 2 * x}), target="y", cost=0.5, predictor="linear"
    ... )
    >>> rows = dd.from_pandas(pd.DataFrame({"x": x}), npartitions=2)
    >>> scored = score_dask(model, rows)
    >>> list(scored.columns)
    ['x', 'prediction', 'risk', 'defer', 'outside', 'reason']
    >>> len(scored.compute())
    500
    """
    model = open_model(model, schema=schema, trusted=trusted)
    if cost is None and cost_column is None:
        cost_column = model.cost_column
    wanted = Wanted(
        cost=cost,
        cost_column=cost_column,
        parts=parts,
        probabilities=probabilities,
        defer_outside=defer_outside,
    )
    wanted.check(model)
    check_names(list(frame.columns), model, wanted, prefix)
    meta = _with_scores(frame._meta, _no_scores(model, wanted), prefix)
    return frame.map_partitions(_score_partition, model, wanted, prefix, meta=meta)


def _score_partition(
    rows: pd.DataFrame, model: TableModel, wanted: Wanted, prefix: str
) -> pd.DataFrame:
    given = pa.Table.from_pandas(rows[wanted.columns(model)], preserve_index=False)
    return _with_scores(rows, score_table(model, given, wanted), prefix)


def _with_scores(rows: pd.DataFrame, scores: pa.Table, prefix: str) -> pd.DataFrame:
    import pandas as pd

    added = scores.to_pandas(types_mapper=_nullable)
    added["defer"] = added["defer"].fillna(True).astype(bool)
    added.columns = pd.Index([prefix + name for name in added.columns])
    added.index = rows.index
    kept = [name for name in added.columns if name not in rows.columns]
    return pd.concat([rows, added[kept]], axis=1)


def _nullable(kind: pa.DataType) -> Any:
    """Return types that do not change where a value is missing."""
    import pandas as pd

    if pa.types.is_integer(kind):
        return pd.Int64Dtype()
    return pd.BooleanDtype() if pa.types.is_boolean(kind) else None


def _no_scores(model: TableModel, wanted: Wanted) -> pa.Table:
    """Return the scores of no rows, which have all columns and types."""
    needed = dict.fromkeys(wanted.columns(model), pa.null())
    nothing = pa.table({name: pa.array([], kind) for name, kind in needed.items()})
    return score_table(model, nothing, wanted)
