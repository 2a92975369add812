"""What came of scoring a file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyarrow import compute

from condrisk.app.tables import Batch


@dataclass(frozen=True)
class ScoreSummary:
    """What came of scoring a file.

    Attributes
    ----------
    output : Path
        The scored rows.
    rejects : Path or None
        The rows that could not be scored, with their numbers and reasons; None if there are none.
    rows : int
        How many rows the table has.
    scored, rejected, deferred : int
        How many of them were scored, were not, and were scored and are to be deferred.
    outside : int
        How many of the scored rows are outside what was seen when the model was fitted.
    mean_risk : float or None
        The mean risk of the scored rows: the loss to expect if all of them are accepted.
    unseen : dict of str to int
        For columns of categories, in how many rows stood one that the model had never seen; it
        was taken as missing.
    batches, resumed : int
        How many batches there were, and how many of them an earlier, stopped call had scored.
    seconds : float
        How long this call took.
    notes : list of str
        What had to be guessed about the input.
    finished_before : bool
        Whether the output was there already, so that nothing was done.
    """

    output: Path
    rejects: Path | None
    rows: int
    scored: int
    rejected: int
    deferred: int
    outside: int
    mean_risk: float | None
    unseen: dict[str, int] = field(default_factory=dict)
    batches: int = 0
    resumed: int = 0
    seconds: float = 0.0
    notes: list[str] = field(default_factory=list)
    finished_before: bool = False

    @property
    def deferral_rate(self) -> float | None:
        """The share of the scored rows that are to be deferred."""
        return self.deferred / self.scored if self.scored else None

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data."""
        rejects = None if self.rejects is None else str(self.rejects)
        plain = asdict(self) | {"output": str(self.output), "rejects": rejects}
        return plain | {"deferral_rate": self.deferral_rate}

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> ScoreSummary:
        """Make one of what `to_dict` gave."""
        values = {part.name: plain[part.name] for part in fields(cls)}
        rejects = None if plain["rejects"] is None else Path(plain["rejects"])
        return cls(**values | {"output": Path(plain["output"]), "rejects": rejects})


class Tally:
    """Counts that grow batch by batch."""

    def __init__(self) -> None:
        self.rows = self.scored = self.deferred = self.outside = 0
        self.batches = self.resumed = 0
        self.risk = 0.0
        self.unseen: Counter[str] = Counter()

    def add(self, batch: Batch, good: pa.Table, unseen: dict[str, int], *, known: bool) -> None:
        """Count a batch, given the scores of its good rows, and if they were known before."""
        self.batches += 1
        self.resumed += known
        self.rows += len(batch.rows) + len(batch.malformed)
        self.scored += good.num_rows
        self.deferred += compute.sum(good["defer"]).as_py() or 0
        self.outside += good.num_rows - good["outside"].null_count
        self.risk += compute.sum(good["risk"]).as_py() or 0.0
        self.unseen.update(unseen)

    def summary(
        self, output: Path, rejects: Path, *, seconds: float, notes: list[str]
    ) -> ScoreSummary:
        """Return what the counts have come to."""
        rejected = self.rows - self.scored
        return ScoreSummary(
            output=output,
            rejects=rejects if rejected else None,
            rows=self.rows,
            scored=self.scored,
            rejected=rejected,
            deferred=self.deferred,
            outside=self.outside,
            mean_risk=self.risk / self.scored if self.scored else None,
            unseen=dict(self.unseen),
            batches=self.batches,
            resumed=self.resumed,
            seconds=seconds,
            notes=notes,
        )
