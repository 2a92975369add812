"""Files that are written whole or not at all, and model files opened within limits."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from secrets import token_hex
from typing import BinaryIO

MOST_MODEL_BYTES = 2 << 30


class ModelFileError(ValueError):
    """A model file cannot be written or used; the message is one sentence that says why."""


def first_line(error: BaseException) -> str:
    """Return what an error says, as a part of a sentence: its first line, without a full stop."""
    text = str(error).strip() or type(error).__name__
    return text.splitlines()[0][:200].rstrip(".")


def write_whole(path: Path, content: str | bytes) -> None:
    """Write a file whole or not at all, also if the machine stops in between."""
    data = content.encode() if isinstance(content, str) else content
    draft = path.with_name(f".{path.name}.{token_hex(4)}.tmp")
    try:
        with open(draft, "xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(draft, path)
    finally:
        draft.unlink(missing_ok=True)


def open_model_file(path: str | os.PathLike[str]) -> BinaryIO:
    """Open a model file, if it is a file and no larger than one can be."""
    name = str(path)
    try:
        found = Path(path).stat()
        if not stat.S_ISREG(found.st_mode):
            raise ModelFileError(f"{name} is not a file.")
        if found.st_size > MOST_MODEL_BYTES:
            raise ModelFileError(f"{name} has {found.st_size / 2**30:,.0f} GiB; no model has.")
        return open(path, "rb")
    except FileNotFoundError:
        raise ModelFileError(f"{name} does not exist.") from None
    except OSError as error:
        raise ModelFileError(f"{name} cannot be read: {error.strerror}.") from None
