"""What is scored already: the scores of each batch on disk, so that a stopped run can go on.

Only scores are kept, not the rows: a later call reads the rows again, which is quick, takes the
scores of the batches that it finds here, and computes the others.
"""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from secrets import token_hex
from typing import Any

import numpy as np
import pyarrow as pa
from joblib.hashing import NumpyHasher

import condrisk
from condrisk._files import write_whole
from condrisk.app.models import TableModel
from condrisk.app.tables import TableError

_HEAD = "journal.json"
# A file is told from another by its size, its date, and blocks of it spread from end to end.
_BLOCKS, _BLOCK_BYTES = 16, 1 << 16
_CHANGED = {
    "condrisk": "condrisk was of another version",
    "input": "the input was another, or has changed since",
    "model": "the model was another",
    "cost": "the price was another",
    "parts": "the parts of the risk were not the same",
    "batch_rows": "the batches had another size",
    "prefix": "the new columns had other names",
}


def run_head(
    source: Path, model: TableModel, model_file: Path | None, **settings: Any
) -> dict[str, Any]:
    """Return what the scores depend on: two runs with the same head have the same scores."""
    return {
        "condrisk": condrisk.__version__,
        "input": _fingerprint(source),
        "model": _hash(model) if model_file is None else _checksum(model_file),
        **settings,
    }


def _fingerprint(path: Path) -> str:
    digest = hashlib.sha256()
    status = path.stat()
    digest.update(f"{status.st_size} {status.st_mtime_ns}".encode())
    with open(path, "rb") as file:
        for k in range(_BLOCKS):
            file.seek(max(0, status.st_size - _BLOCK_BYTES) * k // (_BLOCKS - 1))
            digest.update(file.read(_BLOCK_BYTES))
    return digest.hexdigest()


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
        self.folder = output.with_name(f"{output.name}.parts")
        self.head = head

    def begin(self, *, overwrite: bool) -> None:
        """Make the folder, or go on with the one of the same run; another's goes if `overwrite`."""
        try:
            known = json.loads((self.folder / _HEAD).read_text(encoding="utf-8"))
        except (FileNotFoundError, NotADirectoryError, ValueError):
            self._make()
            return
        changed = difference(known, self.head)
        if changed and not overwrite:
            raise TableError(
                f"{self.folder} holds scores of a run that was stopped, and {changed}: "
                f"call it as before to go on, or start anew with --overwrite (overwrite=True)."
            )
        if changed:
            self.remove()
            self._make()

    def _make(self) -> None:
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise TableError(f"{self.folder} cannot be made: {error.strerror}.") from None
        write_whole(self.folder / _HEAD, json.dumps(self.head, indent=2) + "\n")

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
        return scores if scores.num_rows == n_rows else None

    def save(self, number: int, scores: pa.Table) -> None:
        """Put the scores of a batch on disk, whole or not at all."""
        draft = self.draft("batch")
        with pa.OSFile(str(draft), "wb") as file, pa.ipc.new_file(file, scores.schema) as writer:
            writer.write_table(scores)
        os.replace(draft, self._part(number))

    def remove(self) -> None:
        """Remove the folder, with all that a run can have left in it and nothing else."""
        if not self.folder.is_dir():
            return
        for pattern in ("batch-*.arrow", "*.tmp", _HEAD):
            for path in self.folder.glob(pattern):
                path.unlink(missing_ok=True)
        if not any(self.folder.iterdir()):
            self.folder.rmdir()
