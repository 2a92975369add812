"""The records: one file for each set and split while a run goes on, then one for each part."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cached_property
from importlib.metadata import distributions, version
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from condrisk._files import write_whole
from condrisk.paper._records import describe_machine, installed_versions

RESULTS = Path(__file__).resolve().parents[2] / "results"
DIGITS = 5
Nested = dict[str, Any]


class Unit(NamedTuple):
    """The figures of one split: each a nested list by predictor, loss and method."""

    axes: dict[str, list[str]]
    figures: Nested
    of_losses: Nested
    rows: list[int]


def path_of(folder: Path, record: str, name: str, split: int) -> Path:
    return folder / record / f"{name}-{split:02d}.json"


def save(path: Path, name: str, split: int, unit: Unit, seconds: float) -> None:
    """Write one set and split, whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    content = {
        "set": name,
        "split": split,
        "axes": unit.axes,
        "machine": describe_machine(),
        "versions": installed_versions() | _other_versions(),
        "rows": unit.rows,
        "seconds": round(seconds, 1),
        "figures": _rounded(unit.figures),
        "of_losses": _rounded(unit.of_losses),
    }
    write_whole(path, json.dumps(content))


def replace(path: Path, unit: Unit) -> None:
    """Put the figures of some methods in the place of those that a file has of them."""
    content = json.loads(path.read_text())
    places = [content["axes"]["methods"].index(name) for name in unit.axes["methods"]]
    for figure, by_predictor in _rounded(unit.figures).items():
        for old, new in zip(content["figures"][figure], by_predictor, strict=True):
            for row, values in zip(old, new, strict=True):
                for place, value in zip(places, values, strict=True):
                    row[place] = value
    write_whole(path, json.dumps(content))


def _other_versions() -> dict[str, str]:
    known = {distribution.name for distribution in distributions()}
    return {name: version(name) for name in ("quantile-forest", "ngboost") if name in known}


def _rounded(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _rounded(part) for name, part in value.items()}
    if isinstance(value, list):
        return [_rounded(part) for part in value]
    return float(f"{value:.{DIGITS}g}")


def collect(folder: Path) -> Iterator[Path]:
    """Write the record of each part that has been run, and yield its path."""
    for part in sorted(path for path in folder.iterdir() if path.is_dir()):
        units = [json.loads(path.read_text()) for path in sorted(part.glob("*.json"))]
        heads = [{key: unit.pop(key) for key in ("axes", "machine", "versions")} for unit in units]
        if any(head["axes"] != heads[0]["axes"] for head in heads):
            raise ValueError(f"{part} has units of several versions of the benchmark.")
        path = RESULTS / f"given_model_{part.name}.json"
        lines = ",\n".join(json.dumps(unit, separators=(",", ":")) for unit in units)
        write_whole(path, f'{json.dumps(heads[0])[:-1]}, "units": [\n{lines}\n]}}\n')
        yield path


class Record:
    """A record as arrays: figures by set, split, predictor, loss and method.

    Parameters
    ----------
    content : dict
        What `collect` has written.
    """

    def __init__(self, content: Nested) -> None:
        self.content = content
        self.axes: dict[str, list[str]] = content["axes"]
        self.figures = list(content["units"][0]["figures"])
        self.sets = sorted({unit["set"] for unit in content["units"]})
        self.splits = sorted({unit["split"] for unit in content["units"]})

    @classmethod
    def read(cls, part: str) -> Record:
        """Read the record of a part."""
        return cls(json.loads((RESULTS / f"given_model_{part}.json").read_text()))

    @cached_property
    def _units(self) -> dict[tuple[str, int], Nested]:
        return {(unit["set"], unit["split"]): unit for unit in self.content["units"]}

    def figure(self, name: str, *, of_losses: bool = False) -> NDArray[np.float64]:
        """Return one figure, by set, split, predictor, loss and method."""
        room = "of_losses" if of_losses else "figures"
        return np.array(
            [
                [self._units[set_name, split][room][name] for split in self.splits]
                for set_name in self.sets
            ]
        )
