"""Folders that one run at a time may work in."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from condrisk._extras import require

_NAME = ".lock"


class FolderInUseError(ValueError):
    """Another run works in the folder."""


@contextmanager
def only_user(folder: Path, *, extra: str) -> Iterator[None]:
    """Work in a folder alone; the system ends that with the process, however it ends.

    Parameters
    ----------
    folder : Path
        The folder, which is made if need be, and removed if it is empty afterwards.
    extra : str
        The extra of condrisk that brings what is needed.

    Raises
    ------
    FolderInUseError
        If another run works in it.
    """
    require("Working in a folder", "filelock", extra=extra)
    from filelock import FileLock, Timeout

    path = folder / _NAME
    lock = FileLock(path, timeout=0)
    while not lock.is_locked:
        folder.mkdir(parents=True, exist_ok=True)
        try:
            lock.acquire()
        except FileNotFoundError:  # the run before has just removed the folder
            continue
        except Timeout:
            raise FolderInUseError(f"another run works in {folder}") from None
    try:
        yield
    finally:
        with suppress(OSError):  # Windows removes no file that is open
            path.unlink()
        lock.release()
        with suppress(OSError):
            folder.rmdir()  # if it is empty


def clear_drafts(folder: Path, pattern: str) -> None:
    """Remove what runs have left in a folder that were killed; others must not work in it."""
    for draft in folder.glob(pattern):
        with suppress(OSError):
            draft.unlink()
