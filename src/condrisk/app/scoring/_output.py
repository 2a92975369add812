"""The files that scoring writes: scored rows, rejected rows, and a receipt."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import ExitStack
from glob import escape
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
from pyarrow import compute

from condrisk._files import write_whole
from condrisk._locks import clear_drafts
from condrisk.app._names import nearest
from condrisk.app._paths import COMPRESSED
from condrisk.app.models import TableModel
from condrisk.app.scoring._journal import Journal, difference
from condrisk.app.scoring._scores import Wanted
from condrisk.app.scoring._summary import ScoreSummary
from condrisk.app.tables import (
    Batch,
    TableError,
    TableSource,
    TableWriter,
    check_rows,
)


def check_names(names: Sequence[str], model: TableModel, wanted: Wanted, prefix: str) -> None:
    """Refuse a table without the columns of the model, or with names that the new ones get."""
    check_rows(model.schema, pl.DataFrame(schema=dict.fromkeys(names, pl.Null)))
    if wanted.cost_column is not None and wanted.cost_column not in names:
        raise TableError(
            f"the table has no column {wanted.cost_column!r}, which holds the cost of deferring "
            f"each row{nearest(wanted.cost_column, names)}."
        )
    twice = [
        prefix + name
        for name in wanted.names(model)
        if prefix + name in names and prefix + name != model.prediction_column
    ]
    if twice:
        raise TableError(
            f"the table has a column {twice[0]!r} already: choose other names for the new columns "
            f"with prefix='model_'."
        )


def rejects_path(output: Path) -> Path:
    """Return where the rows go that could not be scored: scored.rejects.csv for scored.csv."""
    ending = "".join(output.suffixes[-2:]) if output.suffix in COMPRESSED else output.suffix
    return output.with_name(f"{output.name.removesuffix(ending)}.rejects{ending}")


def receipt_path(output: Path) -> Path:
    """Return where it stands what an output was made from: scored.csv.json for scored.csv."""
    return output.with_name(f"{output.name}.json")


class Output:
    """Scored rows and rejected rows, each file there when it is complete.

    Parameters
    ----------
    path : Path
        Where the scored rows go.
    source : TableSource
        Where the rows come from.
    model : TableModel
        What scores them.
    journal : Journal
        Has the folder for drafts.
    wanted : Wanted
        What is to be said of each row.
    prefix : str
        Of the names of new columns.
    """

    def __init__(
        self,
        path: Path,
        source: TableSource,
        model: TableModel,
        journal: Journal,
        wanted: Wanted,
        *,
        prefix: str,
    ) -> None:
        self.path, self.rejects = path, rejects_path(path)
        self.model, self.journal = model, journal
        self.source, self.layout = source, source.layout
        self.names = [prefix + name for name in wanted.names(model)]
        self._stack = ExitStack()
        self._rejected: TableWriter | None = None

    def __enter__(self) -> Output:
        self._scored = self._open(self.path)
        return self

    def __exit__(self, *error: Any) -> None:
        self._stack.__exit__(*error)
        if error[0] is None and self._rejected is None:
            self.rejects.unlink(missing_ok=True)  # of an earlier run

    def _open(self, path: Path) -> TableWriter:
        draft = self.journal.draft(path.name)
        written = self.layout
        style = (
            {} if written is None else {"separator": written.separator, "decimal": written.decimal}
        )
        return self._stack.enter_context(TableWriter(path, draft=draft, **style))

    def write(self, batch: Batch, scores: pa.Table) -> pa.Table:
        """Write a batch, and return the scores of its good rows."""
        is_bad = compute.is_valid(scores["reason"])
        if batch.malformed or compute.any(is_bad).as_py():
            self._reject(batch, scores["reason"], np.asarray(is_bad))
            good = compute.invert(is_bad)
            rows, scores = batch.table.filter(good), scores.filter(good)
        else:
            rows = batch.table
        if self.layout is not None and self._scored.format not in ("csv", "tsv"):
            rows = self.source.typed(rows, self.model.schema)
        for name, column in zip(self.names, scores.columns, strict=False):
            if name not in rows.column_names:
                rows = rows.append_column(name, column)
        self._scored.write(rows)
        return scores

    def _reject(self, batch: Batch, reasons: pa.ChunkedArray, is_bad: Any) -> None:
        """Write the bad rows of a batch, and the lines that are no rows, in their order."""
        rows = batch.table.filter(pa.array(is_bad))
        lines = [line for line, _ in batch.malformed]
        rows = pa.concat_tables(
            [rows, pa.table([pa.nulls(len(lines), f.type) for f in rows.schema], rows.schema)]
        )
        numbers = pa.array([*batch.rows[is_bad].tolist(), *lines], pa.int64())
        why = [*reasons.filter(pa.array(is_bad)).to_pylist(), *(why for _, why in batch.malformed)]
        for at, (name, column) in enumerate({"row": numbers, "reason": pa.array(why)}.items()):
            rows = rows.add_column(at, _unused_name(name, rows.column_names), column)
        if self._rejected is None:
            self._rejected = self._open(self.rejects)
        self._rejected.write(rows.take(compute.sort_indices(numbers)))


def _unused_name(name: str, taken: Sequence[str]) -> str:
    while name in taken:
        name += "_"
    return name


class Receipt:
    """The file ``OUTPUT.json``: what an output was made from, and what came of it.

    Parameters
    ----------
    output : Path
        The scored rows.
    head : dict
        What they depend on.
    """

    def __init__(self, output: Path, head: dict[str, Any]) -> None:
        self.output, self.head = output, head
        self.path = receipt_path(output)

    def known(self, *, stopped: bool) -> ScoreSummary | None:
        """Return the summary of the finished output; None if there is work to do.

        `stopped` tells that a run into this output was begun and not finished.
        """
        rejects = rejects_path(self.output)
        if stopped:
            return None
        if not self.output.exists():
            if rejects.exists():
                raise TableError(
                    f"{rejects} is there already, but {self.output} is not: move it away, or "
                    f"replace it with overwrite=True."
                )
            return None
        try:
            record = json.loads(self.path.read_text(encoding="utf-8"))
            known, size, made = record["made_from"], record["bytes"], record["summary"]
        except (OSError, ValueError, KeyError, TypeError):
            known, size, made = {}, None, {}
        changed = "nothing tells what it was made from"
        if known:
            changed = difference(known, self.head) or ""
        if not changed and size != self.output.stat().st_size:
            changed = "it was changed since"
        if changed:
            raise TableError(
                f"{self.output} is there already, and {changed}: choose another name, or replace "
                f"it with overwrite=True."
            )
        return ScoreSummary.from_dict(made)

    def write(self, summary: ScoreSummary) -> None:
        """Put it beside the output."""
        clear_drafts(self.path.parent, f".{escape(self.path.name)}.*.tmp")  # of runs killed here
        record = {
            "made_from": self.head,
            "bytes": self.output.stat().st_size,
            "summary": summary.to_dict(),
        }
        write_whole(self.path, json.dumps(record, indent=2, ensure_ascii=False) + "\n")
