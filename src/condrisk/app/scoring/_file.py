"""From a file of rows to a file of scored rows, in one pass and little memory."""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, closing
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa

from condrisk.app._paths import written_format
from condrisk.app.models import TableModel, open_model
from condrisk.app.scoring._engines import Engine, Future, dask_engine, local_engine
from condrisk.app.scoring._journal import Journal, run_head
from condrisk.app.scoring._output import Output, Receipt, check_names
from condrisk.app.scoring._read_ahead import read_ahead
from condrisk.app.scoring._scores import unseen_categories
from condrisk.app.scoring._summary import ScoreSummary, Tally
from condrisk.app.tables import Batch, TableError, TableSource

# Called with how many rows are done, and which share of the work that is.
Progress = Callable[[int, float], None]


def score_file(
    model: Any,
    source: str | os.PathLike[str],
    output: str | os.PathLike[str],
    *,
    cost: float | None = None,
    parts: bool = False,
    schema: Any = None,
    trusted: Iterable[str] = (),
    batch_rows: int | None = None,
    engine: Literal["local", "dask"] = "local",
    threads: int | None = None,
    scheduler: str | None = None,
    workers: int | None = None,
    prefix: str = "",
    overwrite: bool = False,
    progress: Progress | None = None,
) -> ScoreSummary:
    """Add prediction, risk and decision to the rows of a file, however many they are.

    Rows are read, scored and written in batches, at the same time. Their order and all their
    columns stay. From CSV to CSV the cells stay as they are written; in Parquet and Arrow a column
    of CSV has the type that all of its cells have, as `read_table` finds it. Rows that the model
    cannot take are written, with their numbers and the reasons, into a file of rejects beside the
    output. The output is there when it is complete; stopped before, the same call goes on from
    the last batch that was scored.

    Parameters
    ----------
    model : path, TableModel, Deferral or risk estimator
        A model file, or a fitted model.
    source : path
        Rows: CSV, Parquet or Arrow.
    output : path
        Where to write; its ending tells the format.
    cost : float or None, default=None
        The cost of deferring; None is the model's own.
    parts : bool, default=False
        Whether to add columns with what the risk is made of: ``floor``, ``gap`` and
        ``correction``, which add up to it, as the estimator's ``decompose_risk`` gives them.
    schema : optional
        For a fitted model: the rows that it was fitted on, as `condrisk.persistence.save_model`
        takes them.
    trusted : iterable of str
        For a model file, as `condrisk.persistence.load_model` takes it.
    batch_rows : int or None, default=None
        How many rows to score at a time. None: 65,536, or fewer where the table is wide.
    engine : {"local", "dask"}, default="local"
        Who scores: threads of this process, or the workers of a Dask cluster. The output is the
        same.
    threads : int or None, default=None
        With ``engine="local"``, how many batches to score at a time. None: one for each core.
    scheduler : str or None, default=None
        With ``engine="dask"``, the address of the scheduler. None starts a cluster on this
        machine for the time of the call.
    workers : int or None, default=None
        How many workers such a cluster has. None: one for each core.
    prefix : str, default=""
        Put before the names of the new columns, where the table has such names already.
    overwrite : bool, default=False
        Whether to score again what is finished, and to replace files that are there. What the
        same call had scored when it was stopped is kept.
    progress : callable or None, default=None
        Called, after each batch, with the rows done so far and the share of all that they are.

    Returns
    -------
    ScoreSummary
        Counts, and where the files are.

    Raises
    ------
    TableError
        Where the table cannot be used, the model has no parts, or the output is there already and
        not of this call.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import mkdtemp
    >>> import numpy as np
    >>> import polars as pl
    >>> from condrisk.app.models import fit_table
    >>> from condrisk.app.scoring import score_file
    >>> x = np.random.default_rng(0).normal(size=500)
    >>> rows = pl.DataFrame({"x": x, "y": 2 * x})
    >>> model = fit_table(rows, target="y", cost=0.5, predictor="linear")
    >>> folder = Path(mkdtemp())
    >>> new = pl.DataFrame({"name": ["Ada", "Bob"], "x": ["1.5", "many"]})
    >>> new.write_csv(folder / "new.csv")
    >>> summary = score_file(model, folder / "new.csv", folder / "scored.csv")
    >>> summary.scored, summary.rejected
    (1, 1)
    >>> pl.read_csv(folder / "scored.csv").columns
    ['name', 'x', 'prediction', 'risk', 'defer']
    """
    model_file = Path(model) if isinstance(model, str | os.PathLike) else None
    model = open_model(model, schema=schema, trusted=trusted)
    model.check_cost(cost)
    if parts:
        model.check_parts()
    source, output = Path(source), Path(output)
    working = _engine(engine, model, cost, parts, threads, scheduler, workers)
    started = time.perf_counter()
    with TableSource(source, batch_rows=batch_rows) as table:
        _check_output(output, source)
        check_names(table.schema.names, model, prefix, parts=parts)
        settings = {"cost": cost, "parts": parts, "batch_rows": table.batch_rows}
        head = run_head(source, model, model_file, **settings)
        journal, receipt = Journal(output, head), Receipt(output, head | {"prefix": prefix})
        if not overwrite and (known := receipt.known(stopped=journal.exists())) is not None:
            return replace(known, finished_before=True)
        journal.begin(overwrite=overwrite)
        written = Output(output, table, model, journal, prefix=prefix, parts=parts)
        with written as files, working as scorers:
            tally = _run(table, model, scorers, journal, files, progress)
    summary = tally.summary(
        output, files.rejects, seconds=time.perf_counter() - started, notes=table.notes
    )
    receipt.write(summary)
    journal.remove()
    return summary


def _engine(
    engine: str,
    model: TableModel,
    cost: float | None,
    parts: bool,
    threads: int | None,
    scheduler: str | None,
    workers: int | None,
) -> AbstractContextManager[Engine]:
    if engine == "dask":
        if threads is not None:
            raise ValueError("threads is only for engine='local'.")
        return dask_engine(model, cost=cost, parts=parts, scheduler=scheduler, workers=workers)
    if engine != "local":
        raise ValueError(f"engine must be 'local' or 'dask'; got {engine!r}.")
    if scheduler is not None or workers is not None:
        raise ValueError("scheduler and workers are only for engine='dask'.")
    return local_engine(model, cost=cost, parts=parts, threads=threads)


def _check_output(output: Path, source: Path) -> None:
    written_format(output)
    if output.resolve() == source.resolve():
        raise TableError(f"{output} is the input: choose another name for the output.")
    if not output.parent.is_dir():
        raise TableError(f"{output.parent} is not a folder: make it first.")
    if output.is_dir():
        raise TableError(f"{output} is a folder: choose the name of a file.")


def _run(
    table: TableSource,
    model: TableModel,
    engine: Engine,
    journal: Journal,
    files: Output,
    progress: Progress | None,
) -> Tally:
    """Read in one thread, score in others, and write in this one, batch after batch."""
    tally = Tally()
    under_way: deque[tuple[Batch, pa.Table | Future]] = deque()

    def finish() -> None:
        batch, scores = under_way.popleft()
        known = isinstance(scores, pa.Table)
        if not known:
            scores = scores.result()
            journal.save(batch.number, scores)
        tally.add(batch, files.write(batch, scores), unseen_categories(scores), known=known)
        if progress is not None:
            share = tally.rows / table.n_rows if table.n_rows else table.read_share
            progress(tally.rows, share)

    columns = list(model.schema.names)
    with closing(read_ahead(table)) as batches:
        for batch in batches:
            scores = journal.load(batch.number, batch.table.num_rows)
            if scores is None:
                scores = engine.submit(batch.values(columns), batch.bad)
            under_way.append((batch, scores))
            if len(under_way) >= engine.depth:
                finish()
    while under_way:
        finish()
    return tally
