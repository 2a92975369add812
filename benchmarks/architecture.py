"""The size and shape of the code: lines by part, public names by room, and four traced walks.

``python -m benchmarks.architecture [NAME]`` writes the measurements of this checkout under NAME
("after" if none is given) into results/architecture.json and leaves the others there. A code line
is one that is neither blank nor a comment nor part of a docstring. A walk counts the functions of
the package that a job goes through, and the files that these are in.
"""

from __future__ import annotations

import ast
import importlib
import io
import json
import pkgutil
import sys
import tempfile
import threading
import tokenize
import warnings
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from sklearn.linear_model import Ridge

import condrisk
from condrisk._files import write_whole

SOURCE = Path(condrisk.__file__).parent
RECORD = Path(__file__).parent.parent / "results" / "architecture.json"
PARTS = ("app", "paper")
NO_CODE = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
}


def code_lines(path: Path) -> int:
    """Return how many lines of a file are code."""
    text = path.read_text(encoding="utf-8")
    docstrings: set[int] = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            first = node.body[0] if node.body else None
            if ast.get_docstring(node, clean=False) is not None and first is not None:
                docstrings |= set(range(first.lineno, (first.end_lineno or 0) + 1))
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in NO_CODE:
            lines |= set(range(token.start[0], token.end[0] + 1))
    return len(lines - docstrings)


def part_of(path: Path) -> str:
    first = path.relative_to(SOURCE).parts[0]
    return first if first in PARTS else "library"


def sizes() -> dict[str, Any]:
    """Return code lines and files of each part."""
    lines: Counter[str] = Counter()
    files: Counter[str] = Counter()
    for path in SOURCE.rglob("*.py"):
        lines[part_of(path)] += code_lines(path)
        files[part_of(path)] += 1
    return {"code_lines": dict(sorted(lines.items())), "files": dict(sorted(files.items()))}


def public_names() -> dict[str, int]:
    """Return how many names each room has; those of `condrisk` itself are names of rooms."""
    found = {}
    for module in pkgutil.walk_packages(condrisk.__path__, "condrisk."):
        private = any(step.startswith("_") for step in module.name.split("."))
        if module.ispkg and not private:
            names = getattr(importlib.import_module(module.name), "__all__", ())
            if names:
                found[module.name] = len(names)
    return dict(sorted(found.items()))


def walk(job: Callable[[], Any]) -> dict[str, int]:
    """Return how many functions, in how many files, a job goes through."""
    seen: set[tuple[str, str]] = set()

    def note(frame: Any, event: str, argument: Any) -> None:
        code = frame.f_code
        inside = code.co_filename.startswith(str(SOURCE))
        if event == "call" and inside and code.co_name != "<module>":
            seen.add((code.co_filename, code.co_qualname))

    threading.setprofile(note)
    sys.setprofile(note)
    try:
        job()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return {"functions": len(seen), "files": len({file for file, _ in seen})}


def walks() -> dict[str, dict[str, int]]:
    """Return the walks of four jobs."""
    from starlette.testclient import TestClient
    from typer.testing import CliRunner

    from condrisk.app.cli import app
    from condrisk.app.models import open_model
    from condrisk.app.serve import create_app
    from condrisk.datasets import load_uci
    from condrisk.paper.rwr import run_rwr

    data = load_uci("energy")
    X, y = data.data[:200], data.target[:200]
    names = [f"x{k}" for k in range(X.shape[1])]

    def request(service: Any) -> None:
        row = dict(zip(names, X[0].tolist(), strict=True))
        with TestClient(service, base_url="http://127.0.0.1") as client:
            client.post("/decide", json={"rows": [row]}).raise_for_status()

    def cell() -> None:
        with tempfile.TemporaryDirectory() as folder:
            run_rwr(folder, sets=["housing"], methods=["RF+RF"])

    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        table, file = Path(folder) / "table.csv", Path(folder) / "model.skops"
        pl.DataFrame(X, schema=names).with_columns(y=y).write_csv(table)
        command = ["fit", str(table), "--target", "y", "--cost", "1", "--predictor", "linear"]
        found = {
            "AutoRisk().fit": walk(lambda: condrisk.AutoRisk(random_state=0).fit(X, y)),
            "AutoRisk(Ridge()).fit": walk(
                lambda: condrisk.AutoRisk(Ridge(), random_state=0).fit(X, y)
            ),
            "condrisk fit": walk(lambda: CliRunner().invoke(app, [*command, "-o", str(file)])),
        }
        service = create_app(open_model(file))
        request(service)  # what is loaded with the first request is not part of the second
        found["one HTTP request, with start and stop of the service"] = walk(
            lambda: request(service)
        )
        found["a cell of Table 7 (housing, RF+RF, ten folds)"] = walk(cell)
    return found


def main(arguments: list[str]) -> None:
    """Measure this checkout, and keep what was measured of others."""
    name = arguments[0] if arguments else "after"
    record = json.loads(RECORD.read_text(encoding="utf-8")) if RECORD.exists() else {}
    record[name] = {**sizes(), "public_names": public_names(), "walks": walks()}
    write_whole(RECORD, json.dumps(record, indent=1) + "\n")
    print(json.dumps(record[name], indent=1))


if __name__ == "__main__":
    np.seterr(all="ignore")
    main(sys.argv[1:])
