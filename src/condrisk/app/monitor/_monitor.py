"""Monitoring of a table, chunk by chunk: what to expect, what came, and whether rows drifted."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import polars as pl

from condrisk.app.models import TableModel, open_model
from condrisk.app.monitor._chunks import check_every
from condrisk.app.monitor._drift import Support
from condrisk.app.monitor._reference import Reference
from condrisk.app.monitor._report import ChunkReport, Monitoring
from condrisk.app.monitor._reporting import Reporting
from condrisk.app.monitor._rows import Reader, read_batches
from condrisk.app.monitor._running import Running
from condrisk.app.tables import TableError

DEFAULT_ROWS = 1000


def monitor(
    model: Any,
    chunks: Any,
    *,
    rows: int | None = None,
    every: str | None = None,
    time: str | None = None,
    confidence: float = 0.95,
    false_alarms: float = 0.05,
    tolerance: float = 0.0,
    cap: float | None = None,
    reference: Any = None,
    schema: Any = None,
    target: str | None = None,
    trusted: Iterable[str] = (),
    progress: Callable[[int], Any] = lambda rows: None,
) -> Monitoring:
    """Estimate the loss of new rows by chunk, and compare with labels where they are there.

    Parameters
    ----------
    model : path, TableModel, Deferral or risk estimator
        A model file, or a fitted model.
    chunks : frame, or iterable of frames or of tuples (X, y)
        New rows, in the order in which they came, however they are cut: `rows` or `every` cuts
        them again. Frames are of polars or pandas, or arrays; in a column of the target's name,
        or in y, known values are labels.
    rows : int, optional
        Rows a chunk; 1,000 if neither this nor `every` is given.
    every : str, optional
        Instead, the length of time of a chunk, such as ``"1d"``, ``"1w"`` or ``"1mo"``.
    time : str, optional
        With `every`: the column that holds the times.
    confidence : float, default=0.95
        Of the bands.
    false_alarms : float, default=0.05
        The largest probability of an alarm, in the whole sequence, while nothing has changed; and
        likewise of a note on drift.
    tolerance : float, default=0.0
        By which share losses may exceed the expected ones without an alarm.
    cap : float, optional
        For the alarm, larger losses count as this: with it, the alarm is a test of the mean also
        where the loss has no greatest value. To be chosen before the rows are looked at.
    reference : frame or tuple (X, y), optional
        Rows like those that the model was fitted on. With them the region where the risk was learnt
        is known by `condrisk.deferral.SupportRule`, without them only by the range and the
        categories of each column. Needed where the model was not measured when it was saved:
        then they must have targets, and the model must not have been fitted on them.
    schema, target : optional
        For a fitted model, as `condrisk.persistence.save_model` takes them.
    trusted : iterable of str
        For a model file, as `condrisk.persistence.load_model` takes it.
    progress : callable, optional
        Gets the number of rows read so far.

    Returns
    -------
    Monitoring
        What was found; `to_dict` gives it as plain data, `plot` draws it.

    Notes
    -----
    Run it on all rows since the model was fitted, not on each day alone: the rate of false alarms
    holds for one sequence.

    Examples
    --------
    >>> import numpy as np
    >>> import polars as pl
    >>> from condrisk.app.models import fit_table
    >>> from condrisk.app.monitor import monitor
    >>> rng = np.random.default_rng(0)
    >>> x = rng.uniform(-1, 1, 2000)
    >>> frame = pl.DataFrame(
    ...     {"x": x, "y": 2 * x + np.where(x > 0, 1.0, 0.1) * rng.normal(size=2000)}
    ... )
    >>> model = fit_table(frame[:1000], target="y", cost=0.5, predictor="linear")
    >>> found = monitor(model, frame[1000:], rows=500)
    >>> [chunk.in_band for chunk in found.chunks], found.alarm
    ([True, True], None)
    """
    _check_choices(rows, every, time, false_alarms)
    if schema is None and isinstance(reference, tuple):
        schema = None if isinstance(model, TableModel | str | os.PathLike) else reference[0]
    model = open_model(model, schema=schema, target=target, trusted=trusted)
    running = start(
        model,
        reference,
        confidence=confidence,
        level=false_alarms,
        tolerance=tolerance,
        cap=cap,
        time=time,
    )
    batches = (_frame(model, part) for part in _parts(chunks))
    size = DEFAULT_ROWS if rows is None else rows
    running.read(batches, rows=size, every=every, progress=progress)
    running.check(time)
    reporting = Reporting(running, false_alarms)
    n = len(running.chunks)
    reports = [reporting.chunk(k, 1 / n) for k in range(n)]
    return assemble(running, reporting, reports, confidence, false_alarms, tolerance, cap)


def start(model: TableModel, reference: Any, **choices: Any) -> Running:
    """Return what a monitoring begins with: the held-out rows, and an alarm without evidence."""
    before = None if reference is None else _frame(model, reference)
    support = None if before is None else Support(model, before)
    return Running(model, _known(model, before), support=support, **choices)


def assemble(
    running: Running,
    reporting: Reporting,
    reports: list[ChunkReport],
    confidence: float,
    false_alarms: float,
    tolerance: float,
    cap: float | None,
) -> Monitoring:
    """Return what was found in the chunks so far."""
    known = running.reference
    labelled = any(report.labelled for report in reports)
    first = next((k for k, report in enumerate(reports) if report.alarm), None)
    test = running.test if labelled else None
    return Monitoring(
        running.model.manifest["loss"],
        confidence,
        false_alarms,
        tolerance,
        {"rows": known.rows, "mean_risk": known.mean_risk, "mean_loss": known.mean_loss},
        tuple(reports),
        None if first is None else reports[first].name,
        None if test is None else test.threshold,
        tuple(running.notes()),
        running.model.target,
        None if test is None else running.kind,
        cap,
        reporting.together(range(first or 0, len(reports))),
    )


def _parts(chunks: Any) -> Iterable[Any]:
    """Return the parts of a sequence of rows; a frame, an array or one tuple is one part."""
    one = hasattr(chunks, "columns") or isinstance(chunks, np.ndarray | tuple)
    return [chunks] if one else chunks


def _frame(model: TableModel, part: Any) -> pl.DataFrame:
    """Return rows from Python as one table, targets in it."""
    X, y = part if isinstance(part, tuple) else (part, None)
    return model.table(X, y)


def _known(model: TableModel, before: pl.DataFrame | None) -> Reference:
    """Return how losses went with risks on rows that the model was not fitted on."""
    if model.manifest["profile"] is not None:
        return Reference.from_manifest(model.manifest)
    if before is None or model.target not in before.columns:
        raise TableError(
            "the model was saved without rows to compare with: give reference (--reference), rows "
            "with targets that it was not fitted on, or save it with reference=(X, y)."
        )
    found = list(read_batches(Reader(model), [before]))
    risk = np.concatenate([batch.risk for batch in found])
    loss = np.concatenate([batch.loss for batch in found])
    known = np.isfinite(loss)
    if known.sum() < 2:
        raise TableError("reference must have at least two rows with a target.")
    return Reference.from_rows(risk[known], loss[known])


def _check_choices(
    rows: int | None, every: str | None, time: str | None, false_alarms: float
) -> None:
    if rows is not None and rows < 1:
        raise TableError(f"rows must be at least 1 a chunk, got {rows}.")
    if every is not None:
        check_every(every)
    if rows is not None and every is not None:
        raise TableError("rows and every are two ways to cut a table into chunks: give one.")
    if (every is None) != (time is None):
        raise TableError(
            "every and time belong together: how long a chunk is, and by which column."
        )
    if not 0 < false_alarms < 1:
        raise TableError(f"false_alarms must lie between 0 and 1, got {false_alarms}.")
