"""A folder that files come into: each is taken in once, and the state is on disk after each."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from condrisk._files import write_whole
from condrisk.app.monitor._expected import RiskSums
from condrisk.app.monitor._monitor import assemble, start
from condrisk.app.monitor._report import ChunkReport, Monitoring
from condrisk.app.monitor._reporting import Reporting
from condrisk.app.monitor._sums import ChunkSums
from condrisk.app.tables import TableError

STATE = "state.json"
FORMAT = 1
# A file that was written to less than so many seconds ago may not be complete yet.
SETTLED_SECONDS = 2.0
# Endings of files that somebody is still writing.
UNFINISHED = (".tmp", ".part", ".partial", ".crdownload", ".swp")
WHOLE_FILE = 2**62

ReadTable = Callable[[Path], Iterable[pl.DataFrame]]


class WatchedFolder:
    """A running monitoring of the files of a folder.

    Each file is a chunk, or several of `rows` rows. What is known after it is written to
    ``state.json`` in the output folder, whole: stopped at any moment, the next run goes on after
    the last file that was taken in, and takes none in twice.

    Parameters
    ----------
    model : TableModel
        The model.
    folder, output : path
        Where files come to, and where the state is.
    read : callable
        Returns the batches of a file.
    reference : frame, optional
        As `monitor` takes it.
    rows : int, optional
        Rows a chunk; a whole file if not given.
    confidence, false_alarms, tolerance, cap
        As `monitor` takes them; with another model or other values than those that the state was
        begun with, a ValueError.

    Attributes
    ----------
    files : dict of str to list
        Size and time of change of each file that was taken in.
    refused : dict of str to str
        Files that could not be read, and why.
    """

    def __init__(
        self,
        model: Any,
        folder: Path,
        output: Path,
        *,
        read: ReadTable,
        reference: pl.DataFrame | None = None,
        rows: int | None = None,
        confidence: float = 0.95,
        false_alarms: float = 0.05,
        tolerance: float = 0.0,
        cap: float | None = None,
    ) -> None:
        self._folder, self._state_file, self._read = folder, output / STATE, read
        self._rows = WHOLE_FILE if rows is None else rows
        choices = {"confidence": confidence, "tolerance": tolerance, "cap": cap}
        self._begin = lambda: start(model, reference, level=false_alarms, **choices)
        self._choices = (confidence, false_alarms, tolerance, cap)
        manifest = model.manifest
        self._head = {
            "format": FORMAT,
            "model": {key: manifest[key] for key in ("created", "loss", "target", "predictor")},
            "rows": rows,
            "false_alarms": false_alarms,
            "held_out_rows": None if reference is None else reference.height,
            **choices,
        }
        self.running = self._begin()
        self.files: dict[str, list[int]] = {}
        self.refused: dict[str, str] = {}
        if self._state_file.exists():
            self._load()

    def step(self) -> list[str]:
        """Take in the files that have come since; return their names."""
        taken = []
        for path in self._new_files():
            self._take(path)
            write_whole(self._state_file, json.dumps(self._state()) + "\n")
            taken.append(path.name)
        return taken

    def found(self) -> Monitoring | None:
        """Return what was found in all files so far; None before the first."""
        n = len(self.running.chunks)
        if not n:
            return None
        reporting = Reporting(self.running, self._choices[1])
        # Nobody knows how many chunks will come: the k-th has 1/(k (k + 1)) of the level.
        reports: list[ChunkReport] = [reporting.chunk(k, 1 / ((k + 1) * (k + 2))) for k in range(n)]
        found = assemble(self.running, reporting, reports, *self._choices)
        refused = (f"{name} was left out: {why}" for name, why in self.refused.items())
        return replace(found, notes=(*found.notes, *refused))

    # -- files -------------------------------------------------------------------------------------

    def _new_files(self) -> list[Path]:
        now = time.time()
        found = []
        for path in self._folder.iterdir():
            known = path.name in self.files or path.name in self.refused
            if known or path.name.startswith(".") or path.suffix in UNFINISHED:
                continue
            if path.is_file() and now - path.stat().st_mtime >= SETTLED_SECONDS:
                found.append(path)
        return sorted(found, key=lambda path: (path.stat().st_mtime_ns, path.name))

    def _take(self, path: Path) -> None:
        """Take in a file whole, or not at all."""
        before, stat = self._state(), path.stat()
        n = len(self.running.chunks)
        try:
            self.running.read(self._read(path), rows=self._rows)
            if len(self.running.chunks) == n:
                raise TableError("it has no row that the model can use.")
        except (ValueError, OSError) as error:
            self._restore(before)
            self.refused[path.name] = str(error)
            return
        own = self.running.chunks[n:]
        names = [path.name if len(own) == 1 else f"{path.name} {name}" for name, _ in own]
        self.running.chunks[n:] = [(name, sums) for name, (_, sums) in zip(names, own, strict=True)]
        self.files[path.name] = [stat.st_size, stat.st_mtime_ns]

    # -- state -------------------------------------------------------------------------------------

    def _state(self) -> dict[str, Any]:
        running = self.running
        return {
            "head": self._head,
            "files": dict(self.files),
            "refused": dict(self.refused),
            "test": None if running.test is None else running.test.state(),
            "chunks": [[name, _plain_sums(sums)] for name, sums in running.chunks],
            "columns": list(running.columns),
            "counts": [running.seen, running.used, running.bad, running.labelled, running.reason],
        }

    def _load(self) -> None:
        try:
            state = json.loads(self._state_file.read_text(encoding="utf-8"))
            head = state["head"]
        except (ValueError, KeyError, TypeError):
            raise ValueError(f"{self._state_file} is no state of condrisk monitor.") from None
        if head != json.loads(json.dumps(self._head)):
            changed = [key for key in self._head if head.get(key) != self._head[key]]
            raise ValueError(
                f"{self._state_file} was begun with another {' and '.join(changed) or 'format'}: "
                f"choose another output (--output), which begins anew."
            )
        self._restore(state)

    def _restore(self, state: dict[str, Any]) -> None:
        running = self._begin()
        if running.test is not None:
            running.test.restore(state["test"])
        running.chunks = [(name, _sums_of(plain)) for name, plain in state["chunks"]]
        running.columns = tuple(state["columns"])
        running.seen, running.used, running.bad, running.labelled, running.reason = state["counts"]
        self.running, self.files, self.refused = running, state["files"], state["refused"]


def _plain_sums(sums: ChunkSums) -> dict[str, Any]:
    return {
        "risks": _plain_risks(sums.risks),
        "labelled": _plain_risks(sums.labelled),
        "loss": sums.loss,
        "outside": sums.outside,
        "outside_by": sums.outside_by.tolist(),
        "counts": sums.counts.tolist(),
        "evidence": sums.evidence,
    }


def _plain_risks(risks: RiskSums) -> dict[str, Any]:
    return asdict(risks) | {"unit": risks.unit.tolist()}


def _sums_of(plain: dict[str, Any]) -> ChunkSums:
    risks, labelled = (
        RiskSums(**(plain[key] | {"unit": np.asarray(plain[key]["unit"])}))
        for key in ("risks", "labelled")
    )
    outside_by, counts = (np.asarray(plain[key], dtype=np.intp) for key in ("outside_by", "counts"))
    return ChunkSums(
        risks,
        labelled,
        plain["loss"],
        plain["outside"],
        outside_by,
        counts,
        None,
        plain["evidence"],
    )
