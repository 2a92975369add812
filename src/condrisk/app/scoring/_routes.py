"""From a file of rows to a file that says which model answers each."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa

from condrisk.app._paths import check_output, is_url, written_format
from condrisk.app.models import RouterTable, open_router
from condrisk.app.tables import (
    Batch,
    TableError,
    TableOptions,
    TableSource,
    TableWriter,
    check_rows,
    to_polars,
)

ROUTED = ("model", "risk", "cost")
_ALL_ROWS = 2**31 - 1


@dataclass(frozen=True)
class RouteSummary:
    """What came of routing the rows of a file.

    Attributes
    ----------
    output : Path
        The routed rows.
    rejects : Path or None
        The rows that could not be routed, with their numbers and reasons; None if there are none.
    rows, routed, rejected : int
        How many rows the table has, and how many of them were routed or were not.
    models : dict of str to int
        How many rows each model answers.
    mean_risk, mean_cost : float or None
        The loss to expect of a routed row, and what is spent on it.
    guarantee : str or None
        What is guaranteed about the rows left with the cheapest model, or that none could be left
        with it; None for a router without a rule.
    notes : list of str
        What had to be guessed about the input.
    """

    output: Path
    rejects: Path | None
    rows: int
    routed: int
    rejected: int
    models: dict[str, int]
    mean_risk: float | None
    mean_cost: float | None
    guarantee: str | None = None
    notes: list[str] = field(default_factory=list)

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data."""
        rejects = None if self.rejects is None else str(self.rejects)
        return asdict(self) | {"output": str(self.output), "rejects": rejects}


def route_file(
    model: Any,
    source: str | os.PathLike[str],
    output: str | os.PathLike[str],
    *,
    price: float | None = None,
    budget: float | None = None,
    target: float | None = None,
    capacity: Mapping[str, int] | None = None,
    options: TableOptions = TableOptions(),  # noqa: B008
    trusted: Iterable[str] = (),
    batch_rows: int | None = None,
    prefix: str = "",
    overwrite: bool = False,
) -> RouteSummary:
    """Add to each row of a file which model answers it, its risk and its cost.

    Rows are read, routed and written in batches. Their order and all their columns stay. Rows that
    the router cannot take are written, with their numbers and the reasons, into a file of rejects
    beside the output. The output is there when it is complete.

    Parameters
    ----------
    model : path, RouterTable or ModelRouter
        A file of a router, or a fitted one.
    source, output : path
        The rows, and where to write; the ending tells the format.
    price, budget, target : float, optional
        One of them, as `condrisk.routing.ModelRouter.route` takes it.
    capacity : mapping of str to int, optional
        With `price`: how many rows of the file a model can take. The file is then routed as a
        whole, and has to fit into memory.
    options : TableOptions, optional
        How to read the rows, as far as they do not tell.
    trusted : iterable of str
        For a file, as `condrisk.persistence.load_model` takes it.
    batch_rows : int or None, default=None
        How many rows to route at a time, without `capacity`.
    prefix : str, default=""
        Put before the names of the new columns.
    overwrite : bool, default=False
        Whether to replace files that are there.

    Returns
    -------
    RouteSummary
        Counts, and where the files are.
    """
    router = open_router(model, trusted=trusted)
    wish = {"price": price, "budget": budget, "target": target, "capacity": capacity}
    if capacity is not None:
        if batch_rows is not None:
            raise TableError("batch_rows means nothing with capacity: all rows are routed at once.")
        batch_rows = _ALL_ROWS
    output = Path(output)
    written_format(output)
    check_output(output, overwrite=overwrite)
    rejects = output.with_name(f"{output.stem}.rejects.csv")
    check_output(rejects, overwrite=overwrite)
    if not is_url(source) and output.resolve() == Path(source).resolve():
        raise TableError(f"{output} is the input: choose another name for the output.")
    tally = _Tally()
    with (
        TableSource(source, batch_rows=batch_rows, options=options, schema=router.schema) as table,
        ExitStack() as stack,
    ):
        _check_names(table.schema.names, router, prefix)
        writer = stack.enter_context(TableWriter(output))
        refused: TableWriter | None = None
        plain = table.layout is None or writer.format in ("csv", "tsv")
        for batch in table:
            rows, added, bad = _routed(router, batch, wish, tally)
            rows = rows if plain else table.typed(rows, router.schema)
            for name, column in added.items():
                rows = rows.append_column(prefix + name, column)
            writer.write(rows)
            if len(bad):
                refused = refused or stack.enter_context(TableWriter(rejects))
                refused.write(bad)
        notes = list(table.notes)
    if not tally.rejected:
        rejects.unlink(missing_ok=True)  # of an earlier run
    return tally.summary(output, rejects, router.router.guarantee_, notes)


class _Tally:
    """Counts that grow batch by batch."""

    def __init__(self) -> None:
        self.rejected, self.models = 0, Counter[str]()
        self.risk = self.cost = 0.0

    def summary(
        self, output: Path, rejects: Path, guarantee: str | None, notes: list[str]
    ) -> RouteSummary:
        n = self.models.total()
        return RouteSummary(
            output=output,
            rejects=rejects if self.rejected else None,
            rows=n + self.rejected,
            routed=n,
            rejected=self.rejected,
            models=dict(self.models.most_common()),
            mean_risk=self.risk / n if n else None,
            mean_cost=self.cost / n if n else None,
            guarantee=guarantee,
            notes=notes,
        )


def _check_names(names: Iterable[str], router: RouterTable, prefix: str) -> None:
    known = list(names)
    check_rows(router.schema, pl.DataFrame(schema=dict.fromkeys(known, pl.Null)))
    twice = [prefix + name for name in ROUTED if prefix + name in known]
    if twice:
        raise TableError(
            f"the table has a column {twice[0]!r} already: choose other names for the new columns "
            f"with prefix='route_'."
        )


def _routed(
    router: RouterTable, batch: Batch, wish: dict[str, Any], tally: _Tally
) -> tuple[pa.Table, dict[str, pa.Array], pa.Table]:
    """Return the good rows of a batch, their models, and the bad rows with the reasons."""
    frame = to_polars(batch.values(list(router.schema.names)), "the table")
    checked = check_rows(router.schema, frame)
    bad = {**checked.bad, **batch.bad}
    keep = ~np.isin(checked.rows, list(batch.bad))
    rows, good = checked.rows[keep], checked.good.filter(pl.Series(keep, dtype=pl.Boolean))
    table = batch.table.take(pa.array(rows))
    columns: dict[str, Any] = {"model": [], "risk": [], "cost": []}
    if len(rows):
        decision = router.route(good, **wish)
        columns = {"model": decision.model, "risk": decision.risk, "cost": decision.cost}
        tally.models.update(decision.model.tolist())
        tally.risk += float(decision.risk.sum())
        tally.cost += float(decision.cost.sum())
    kinds = {"model": pa.string(), "risk": pa.float64(), "cost": pa.float64()}
    added = {name: pa.array(columns[name], kinds[name]) for name in ROUTED}
    numbers = [*(int(batch.rows[at]) for at in sorted(bad)), *(line for line, _ in batch.malformed)]
    reasons = [*(bad[at] for at in sorted(bad)), *(why for _, why in batch.malformed)]
    tally.rejected += len(numbers)
    refused = {"row": pa.array(numbers, pa.int64()), "reason": pa.array(reasons, pa.string())}
    return table, added, pa.table(refused)
