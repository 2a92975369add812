"""What is scored already: the scores of each batch on disk, so that a stopped run can go on.

Only scores are kept, not the rows: a later call reads the rows again, which is quick, takes the
scores of the batches that it finds here, and computes the others. One call at a time works in the
folder. Each batch names the run that it belongs to, for file systems where nothing is locked.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from secrets import token_hex
from typing import Any

import numpy as np
import pyarrow as pa
from joblib.hashing import NumpyHasher

import condrisk
from condrisk._files import write_whole
from condrisk._locks import FolderInUseError, clear_drafts, only_user
from condrisk.app.models import TableModel
from condrisk.app.tables import TableError

_HEAD = "journal.json"
_RUN = b"run"
_CHANGED = {
    "condrisk": "condrisk was of another version",
    "input": "the input was another, or has changed since",
    "options": "the input was read in another way",
    "model": "the model was another",
    "cost": "the price was another",
    "cost_column": "the column with the costs was another",
    "parts": "the parts of the risk were not the same",
    "probabilities": "class probabilities were not the same",
    "explain": "what is explained was not the same",
    "defer_outside": "rows outside what was seen were not treated alike",
    "batch_rows": "the batches had another size",
    "prefix": "the new columns had other names",
}


def run_head(
    source: str, model: TableModel, model_file: Path | None, **settings: Any
) -> dict[str, Any]:
    """Return what the scores depend on: two runs with the same head have the same scores.

    `source` is the fingerprint of the rows.
    """
    return {
        "condrisk": condrisk.__version__,
        "input": source,
        "model": _hash(model) if model_file is None else _checksum(model_file),
        **settings,
    }


class _Hasher(NumpyHasher):
    """Hashes models: of the nodes of trees their fields, not the unused bytes between these."""

    def save(self, obj: Any) -> None:
        """Hash an object."""
        if isinstance(obj, np.ndarray) and obj.dtype.names:
            obj = {name: np.ascontiguousarray(obj[name]) for name in obj.dtype.names}
        super().save(obj)


def _hash(model: TableModel) -> str:
    """Return what a model is known again by: not its manifest, which says when it was made."""
    try:
        return str(_Hasher("sha1").hash((model.model, model.schema)))
    except Exception:  # a class of somebody's that cannot be pickled: its runs start anew
        return token_hex(16)


def _checksum(path: Path) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def difference(known: dict[str, Any], head: dict[str, Any]) -> str | None:
    """Return in words how the run of a head differs from another; None if it does not."""
    for name, words in _CHANGED.items():
        if known.get(name) != head.get(name):
            return words
    return None


class Journal:
    """The folder ``OUTPUT.parts`` of a run that is not finished.

    Parameters
    ----------
    output : Path
        What is being written.
    head : dict
        What the scores depend on.
    """

    def __init__(self, output: Path, head: dict[str, Any]) -> None:
        self.output = output
        self.folder = output.with_name(f"{output.name}.parts")
        self.head = head
        self.run = ""

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Work in the folder, which is made if need be, while no other call does."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise TableError(f"{self.folder} cannot be made: {error.strerror}.") from None
        try:
            with only_user(self.folder, extra="app"):
                yield
        except FolderInUseError:
            raise TableError(
                f"another run is writing {self.output}: wait until it has ended, or choose another "
                f"name."
            ) from None

    def begin(self, *, overwrite: bool) -> None:
        """Start in the folder, or go on with the same run; another's goes if `overwrite`."""
        clear_drafts(self.folder, "*.tmp")  # of runs that were killed
        try:
            known = json.loads((self.folder / _HEAD).read_text(encoding="utf-8"))
            run, changed = known["run"], difference(known, self.head)
        except (FileNotFoundError, NotADirectoryError, ValueError, KeyError, TypeError):
            self._make()
            return
        if changed and not overwrite:
            raise TableError(
                f"{self.folder} holds scores of a run that was stopped, and {changed}: "
                f"call it as before to go on, or start anew with overwrite=True."
            )
        self.run = run
        if changed:
            self.remove()
            self._make()

    def _make(self) -> None:
        self.run = token_hex(16)
        head = json.dumps({"run": self.run, **self.head}, indent=2)
        write_whole(self.folder / _HEAD, head + "\n")

    def exists(self) -> bool:
        """Tell whether a run was stopped."""
        return (self.folder / _HEAD).exists()

    def draft(self, name: str) -> Path:
        """Return where to write a file until it is complete."""
        return self.folder / f"{name}.{token_hex(4)}.tmp"

    def _part(self, number: int) -> Path:
        return self.folder / f"batch-{number:08d}.arrow"

    def load(self, number: int, n_rows: int) -> pa.Table | None:
        """Return the scores of a batch; None where they are not there, or not intact."""
        path = self._part(number)
        try:
            with pa.OSFile(str(path)) as file:
                scores = pa.ipc.open_file(file).read_all()
        except (pa.ArrowException, OSError):
            return None
        of_this = (scores.schema.metadata or {}).get(_RUN) == self.run.encode()
        return scores if of_this and scores.num_rows == n_rows else None

    def save(self, number: int, scores: pa.Table) -> None:
        """Put the scores of a batch on disk, whole or not at all."""
        known = scores.schema.metadata or {}
        scores = scores.replace_schema_metadata({**known, _RUN: self.run.encode()})
        draft = self.draft("batch")
        try:
            with (
                pa.OSFile(str(draft), "wb") as file,
                pa.ipc.new_file(file, scores.schema) as writer,
            ):
                writer.write_table(scores)
            os.replace(draft, self._part(number))
        finally:
            draft.unlink(missing_ok=True)

    def remove(self) -> None:
        """Remove all that a run can have left in the folder, and nothing else.

        The folder goes with the last file in it, which is that of `alone`.
        """
        for pattern in ("batch-*.arrow", "*.tmp", _HEAD):
            for path in self.folder.glob(pattern):
                path.unlink(missing_ok=True)
