"""Records of a study on disk: written whole or not at all, resumed, and checked when read."""

from __future__ import annotations

import hashlib
import json
import os
import platform
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from glob import escape
from importlib.metadata import PackageNotFoundError, version
from itertools import pairwise
from pathlib import Path
from secrets import token_hex
from typing import Any

from condrisk._files import write_whole
from condrisk._locks import FolderInUseError, clear_drafts, only_user

Record = dict[str, Any]
Key = tuple[str, int]

_PACKAGES = ("condrisk", "numpy", "scipy", "scikit-learn", "torch")


class CorruptRecordError(ValueError):
    """A file of records is not what was written."""


@dataclass
class Unit:
    """The records of one fold of one set, under one configuration.

    On disk a unit is a head line, with a checksum, and then a line for each record. Times stand
    in the field "seconds" of a record and are left out of the checksum: two runs of the same
    study agree in everything else, byte for byte.
    """

    set: str
    fold: int
    config: dict[str, Any]
    records: dict[str, Record] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=lambda: installed_versions())
    machine: str = field(default_factory=lambda: describe_machine())

    @property
    def key(self) -> Key:
        """What tells it from others: set and fold."""
        return self.set, self.fold

    def to_lines(self) -> list[str]:
        """Return the unit as lines of JSON."""
        head = {
            "unit": {"set": self.set, "fold": self.fold},
            "config": self.config,
            "versions": self.versions,
            "machine": self.machine,
            "records": len(self.records),
            "sha256": _checksum(self.records.values()),
        }
        return [_dump(line) for line in (head, *self.records.values())]


def _dump(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def _checksum(records: Iterable[Record]) -> str:
    """Return the SHA-256 of records without their times."""
    digest = hashlib.sha256()
    for record in records:
        timeless = {name: value for name, value in record.items() if name != "seconds"}
        digest.update(_dump(timeless).encode() + b"\n")
    return digest.hexdigest()


def parse_units(text: str) -> tuple[list[Unit], list[str]]:
    """Read units from lines of JSON; return those that are intact, and what is wrong elsewhere."""
    units: list[Unit] = []
    problems: list[str] = []
    lines = text.split("\n")
    heads = [k for k, line in enumerate(lines) if line.startswith('{"unit"')]
    if heads[:1] != [0] and text:
        problems.append("it does not begin with the head of a unit")
    for start, stop in pairwise([*heads, len(lines)]):
        part = [line for line in lines[start:stop] if line]
        try:
            units.append(_parse_unit(part))
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            problems.append(f"the unit at line {start + 1}: {type(error).__name__}: {error}")
    return units, problems


def _parse_unit(lines: list[str]) -> Unit:
    head, *records = [json.loads(line) for line in lines]
    if len(records) != head["records"]:
        raise CorruptRecordError(f"has {len(records)} of {head['records']} records")
    if _checksum(records) != head["sha256"]:
        raise CorruptRecordError("does not match its checksum")
    by_method = {record["method"]: record for record in records}
    where = head["unit"]
    return Unit(
        where["set"], where["fold"], head["config"], by_method, head["versions"], head["machine"]
    )


def read_records(path: str | os.PathLike[str]) -> list[Record]:
    """Read the records of a finished study.

    Parameters
    ----------
    path : path
        The file ``records.jsonl`` of a run.

    Returns
    -------
    list of dict
        One for each set, fold and method.
    """
    units, problems = parse_units(Path(path).read_text(encoding="utf-8"))
    if problems:
        raise CorruptRecordError(f"{path} is corrupt: {'; '.join(problems)}.")
    return [record for unit in units for record in unit.records.values()]


class Store:
    """The folder of a run: ``units/`` while it goes on, ``records.jsonl`` once it is done.

    Parameters
    ----------
    folder : Path
        Where to keep them; made if it is not there.
    warn : callable
        Gets a sentence about each file that was set aside.

    Attributes
    ----------
    run : str
        In the names of the files of this run's units: where nothing is locked, another run in the
        folder keeps its own.
    """

    def __init__(self, folder: Path, *, warn: Callable[[str], None]) -> None:
        self.folder, self.warn = folder, warn
        self.units_folder = folder / "units"
        self.path = folder / "records.jsonl"
        self.run = token_hex(8)
        self._read: set[Path] = set()

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Work in the folder while no other run does; what killed runs have left is cleared."""
        try:
            with only_user(self.units_folder, extra="paper"):
                clear_drafts(self.units_folder, ".*.tmp")
                clear_drafts(self.folder, f".{escape(self.path.name)}.*.tmp")
                yield
        except FolderInUseError:
            raise ValueError(
                f"another run works in folder {str(self.folder)!r}: wait until it has ended, or "
                f"choose another folder."
            ) from None

    def load(self, config: dict[str, Any]) -> dict[Key, Unit]:
        """Return the intact units, which must be of this configuration.

        A file that has others than intact ones is named, and set aside.
        """
        found: dict[Key, Unit] = {}
        for path in [self.path, *sorted(self.units_folder.glob("*.jsonl"))]:
            if not path.exists():
                continue
            # What is not text any more is replaced, and then does not match its checksum.
            units, problems = parse_units(path.read_text(encoding="utf-8", errors="replace"))
            found |= {unit.key: unit for unit in units}
            if problems:
                for unit in units:
                    save_unit(unit, self.units_folder, self.run)
                aside = _set_aside(path)
                self.warn(f"{path} is corrupt ({'; '.join(problems)}): set aside as {aside.name}.")
            elif path != self.path:
                self._read.add(path)
        for unit in found.values():
            if unit.config != config:
                raise ValueError(
                    f"folder {str(self.folder)!r} has records of another configuration, "
                    f"{unit.config}: choose another folder, or run it under that one."
                )
        return found

    def finish(self, units: Iterable[Unit]) -> None:
        """Write all units into one file, and drop the single ones of this run and those it read."""
        lines = [line for unit in units for line in unit.to_lines()]
        text = "\n".join(lines) + "\n"
        if not self.path.exists() or self.path.read_text(encoding="utf-8") != text:
            write_whole(self.path, text)
        for path in {*self._read, *self.units_folder.glob(f"*.{self.run}.jsonl")}:
            path.unlink(missing_ok=True)


def save_unit(unit: Unit, folder: Path, run: str) -> None:
    """Write one unit into a folder of units; called in the process that has made it."""
    path = folder / f"{unit.set}-{unit.fold:02d}.{run}.jsonl"
    write_whole(path, "\n".join(unit.to_lines()) + "\n")


def _set_aside(path: Path) -> Path:
    number = 1
    while (aside := path.with_name(f"{path.name}.corrupt-{number}")).exists():
        number += 1
    return path.rename(aside)


@cache
def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def installed_versions() -> dict[str, str]:
    """Return the versions of what the figures depend on."""
    versions = {"python": platform.python_version()}
    for name in _PACKAGES:
        found = _version(name)
        if found is not None:
            versions[name] = found
    return versions


def describe_machine() -> str:
    """Return the kind of processor and the number of its cores."""
    return f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores"
