"""Run every benchmark, show the ratios beside their limits and keep the record.

Usage: ``make bench``, or ``python -m benchmarks [NAME …]`` with names such as ``plugin``.
"""

from __future__ import annotations

import importlib
import json
import os
import platform
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy
import scipy
import sklearn
from rich.console import Console
from rich.table import Table

import condrisk

NAMES = ("import", "plugin", "deferral", "metrics", "rwr")
RECORD = Path(__file__).parent.parent / "results" / "benchmarks.json"


def main(names: list[str]) -> int:
    unknown = set(names) - set(NAMES)
    if unknown:
        print(f"unknown benchmark: {sorted(unknown)}; there are {', '.join(NAMES)}")
        return 2
    console, results = Console(), load()
    for name in names or NAMES:
        with console.status(f"measuring {name}"):
            results[name] = importlib.import_module(f"benchmarks.bench_{name}").run()
        save(results)
    records = [line for lines in results.values() for line in lines]
    console.print(as_table(records))
    return int(any(line["ratio"] > line["limit"] for line in records))


def load() -> dict[str, Any]:
    return json.loads(RECORD.read_text())["results"] if RECORD.exists() else {}


def save(results: dict[str, Any]) -> None:
    """Write the record whole or not at all."""
    record = {
        "when": datetime.now(UTC).isoformat(timespec="seconds"),
        "threads": os.environ.get("OMP_NUM_THREADS", "not set"),
        "machine": f"{platform.machine()}, {os.cpu_count()} cores",
        "versions": {
            "python": platform.python_version(),
            "condrisk": condrisk.__version__,
            "numpy": numpy.__version__,
            "scipy": scipy.__version__,
            "scikit-learn": sklearn.__version__,
        },
        "results": {name: results[name] for name in NAMES if name in results},
    }
    draft = RECORD.with_suffix(".draft")
    draft.write_text(json.dumps(record, indent=1) + "\n")
    draft.replace(RECORD)


def as_table(records: list[dict[str, Any]]) -> Table:
    table = Table("what", "ratio", "limit", title="Ratios, one thread")
    for line in records:
        style = "red" if line["ratio"] > line["limit"] else ""
        table.add_row(line["name"], f"{line['ratio']:.2f}", f"{line['limit']:g}", style=style)
    return table


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
