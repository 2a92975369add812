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

from condrisk._cluster import WAIT_SECONDS
from condrisk.app._paths import check_output, is_url, written_format
from condrisk.app.models import TableModel, open_model
from condrisk.app.scoring._engines import Engine, Future, dask_engine, local_engine
from condrisk.app.scoring._journal import Journal, run_head
from condrisk.app.scoring._output import (
    Output,
    Receipt,
    check_names,
    receipt_path,
    rejects_path,
)
from condrisk.app.scoring._read_ahead import read_ahead
from condrisk.app.scoring._scores import Wanted, unseen_categories
from condrisk.app.scoring._summary import ScoreSummary, Tally
from condrisk.app.tables import (
    Batch,
    TableError,
    TableOptions,
    TableSource,
    check_rows,
    to_polars,
)
from condrisk.persistence import Column

# Of a wide table, so many rows tell which columns are looked at to explain a risk.
FIRST_ROWS = 200

# Called with how many rows are done, and which share of the work that is.
Progress = Callable[[int, float], None]


def score_file(
    model: Any,
    source: str | os.PathLike[str],
    output: str | os.PathLike[str],
    *,
    cost: float | None = None,
    cost_column: str | None = None,
    parts: bool = False,
    probabilities: bool = False,
    explain: bool = False,
    defer_outside: bool = False,
    schema: Any = None,
    options: TableOptions = TableOptions(),  # noqa: B008
    trusted: Iterable[str] = (),
    batch_rows: int | None = None,
    engine: Literal["local", "dask"] = "local",
    threads: int | None = None,
    scheduler: str | None = None,
    workers: int | None = None,
    wait: float = WAIT_SECONDS,
    prefix: str = "",
    overwrite: bool = False,
    progress: Progress | None = None,
) -> ScoreSummary:
    """Add prediction, risk and decision to the rows of a file, however many they are.

    The column ``outside`` names the columns in which a row leaves what was seen when the model was
    fitted: a number more than a tenth of its range beyond it, a category never seen, or nothing
    where never anything was missing. It is empty for all other rows.

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
        Rows, from wherever `condrisk.app.tables.read_table` reads them.
    output : path
        Where to write; its ending tells the format.
    cost : float or None, default=None
        The cost of deferring; None is the model's own.
    cost_column : str or None, default=None
        The column with the cost of deferring each row, instead; without `cost`, that of the model.
    parts : bool, default=False
        Whether to add columns with what the risk is made of: ``floor``, ``gap`` and
        ``correction``, which add up to it, as the estimator's ``decompose_risk`` gives them.
    probabilities : bool, default=False
        Whether to add the predictor's probability of each class, in columns such as ``p_yes``.
    explain : bool, default=False
        Whether to add the column ``raised_by``: the three columns that raise the risk of the row
        most against the average row, and by how much. It takes up to 20 predictions a row.
    defer_outside : bool, default=False
        Whether to defer the rows that are outside what was seen when the model was fitted.
    schema : optional
        For a fitted model: the rows that it was fitted on, as `condrisk.persistence.save_model`
        takes them.
    options : TableOptions, optional
        How to read the rows, as far as they do not tell.
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
    wait : float, default=10
        How many seconds a cluster may be without any worker.
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
        Where the table cannot be used, the model has no parts, the output is there already and
        not of this call, is the input or the model, or is being written by another call.

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
    ['name', 'x', 'prediction', 'risk', 'defer', 'outside']
    """
    model_file = Path(model) if isinstance(model, str | os.PathLike) else None
    model = open_model(model, schema=schema, trusted=trusted)
    if cost is None and cost_column is None:
        cost_column = model.cost_column
    wanted = Wanted(
        cost=cost,
        cost_column=cost_column,
        parts=parts,
        probabilities=probabilities,
        explain=model.first_columns if explain else (),
        defer_outside=defer_outside,
    )
    wanted.check(model)
    output = Path(output)
    check_names_of_files(output, source, model_file)
    started = time.perf_counter()
    with TableSource(source, batch_rows=batch_rows, options=options, schema=model.schema) as table:
        check_names(table.schema.names, model, wanted, prefix)
        if explain:
            wanted = replace(wanted, explain=_explaining_columns(model, table, options))
        working = _engine(engine, model, wanted, threads, scheduler, workers, wait)
        settings = {
            "cost": cost,
            "cost_column": cost_column,
            "parts": parts,
            "probabilities": probabilities,
            "explain": [column.name for column in wanted.explain],
            "defer_outside": defer_outside,
            "batch_rows": table.batch_rows,
            "options": options.to_dict(),
        }
        head = run_head(table.local.fingerprint(), model, model_file, **settings)
        journal, receipt = Journal(output, head), Receipt(output, head | {"prefix": prefix})
        if not overwrite and (known := receipt.known(stopped=journal.exists())) is not None:
            return replace(known, finished_before=True)
        with journal.alone():
            # Another call may have finished it in between.
            if not overwrite and (known := receipt.known(stopped=journal.exists())) is not None:
                return replace(known, finished_before=True)
            journal.begin(overwrite=overwrite)
            written = Output(output, table, model, journal, wanted, prefix=prefix)
            with written as files, working as scorers:
                tally = _run(table, wanted.columns(model), scorers, journal, files, progress)
            summary = tally.summary(
                output, files.rejects, seconds=time.perf_counter() - started, notes=table.notes
            )
            receipt.write(summary)
            journal.remove()
    return summary


def _engine(
    engine: str,
    model: TableModel,
    wanted: Wanted,
    threads: int | None,
    scheduler: str | None,
    workers: int | None,
    wait: float,
) -> AbstractContextManager[Engine]:
    if engine == "dask":
        if threads is not None:
            raise ValueError("threads is only for engine='local'.")
        return dask_engine(model, wanted, scheduler=scheduler, workers=workers, wait=wait)
    if engine != "local":
        raise ValueError(f"engine must be 'local' or 'dask'; got {engine!r}.")
    if scheduler is not None or workers is not None:
        raise ValueError("scheduler and workers are only for engine='dask'.")
    return local_engine(model, wanted, threads=threads)


def _explaining_columns(
    model: TableModel, table: TableSource, options: TableOptions
) -> tuple[Column, ...]:
    """Return the columns that may raise a risk, chosen by the first rows of the table."""
    if len(model.first_columns) == len(model.schema.needed):
        return model.first_columns
    # What was piped in, or came from a database, is a file here by now.
    here = replace(options, sheet=None, query=None)
    with TableSource(
        table.path, batch_rows=FIRST_ROWS, options=here, schema=model.schema
    ) as source:
        first = next(iter(source))
        given = to_polars(first.values(list(model.schema.names)), table.name)
    good = check_rows(model.schema, given).good
    if not good.height:
        return model.first_columns
    return model.important_columns(good, model.predict_risk(good))


def check_names_of_files(
    output: Path, source: str | os.PathLike[str], model_file: Path | None
) -> None:
    """Refuse an output that cannot be written, or that would replace what is read.

    A file can have several names: by links, or where upper and lower case are the same.
    """
    written_format(output)
    check_output(output, overwrite=True)  # what is there already is told from its receipt
    read = {"input": None if is_url(source) else Path(source), "model": model_file}
    for made in (output, rejects_path(output), receipt_path(output)):
        for what, path in read.items():
            if path is not None and _is_same(made, path):
                which = "is" if made == output else f"has {made} beside it, which is"
                raise TableError(
                    f"{output} {which} the {what}: choose another name for the output."
                )


def _is_same(one: Path, other: Path) -> bool:
    try:
        return one.samefile(other)
    except OSError:  # one of them is not there
        return one.resolve() == other.resolve()


def _run(
    table: TableSource,
    columns: list[str],
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
