"""Which tests execute a line, and how long each of them takes."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from coverage import CoverageData

from tools.mutation.sample import ROOT, Mutant

# Ignored by git: it is found again in minutes.
FOLDER = ROOT / "build" / "mutation"

Lines = dict[int, set[str]]


def run_rooms(settings: dict[str, Any], again: bool) -> None:
    """Run the tests of each room once, and keep which test executed which line."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    config = FOLDER / "coverage.ini"
    folders = "\n".join(f"    {room['folder']}" for room in settings["room"])
    config.write_text(f"[run]\nsource =\n{folders}\n", encoding="utf-8")
    for room in settings["room"]:
        name = room["tests"][0].replace("/", "_")
        data, seconds = FOLDER / f"{name}.coverage", FOLDER / f"{name}.json"
        if seconds.exists() and not again:
            continue
        options = ["-q", "-m", "not slow", "-p", "no:xdist", "-p", "tools.mutation.durations"]
        options += ["--cov", f"--cov-config={config}", "--cov-context=test", "--cov-report="]
        env = os.environ | {
            "COVERAGE_FILE": str(data),
            "MUTATION_DURATIONS": str(seconds),
            "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}",
            "CI": "1",  # the same examples at every run
        }
        print(f"which test runs which line: {room['folder']}", flush=True)
        command = [sys.executable, "-m", "pytest", *options, *room["tests"]]
        subprocess.run(command, cwd=ROOT, env=env, check=True, stdout=subprocess.DEVNULL)


class Covering:
    """The tests of every line, from what `run_rooms` has kept."""

    def __init__(self, unsteady: list[str]) -> None:
        self.seconds: dict[str, float] = {}
        self._lines: dict[str, Lines] = defaultdict(lambda: defaultdict(set))
        for path in sorted(FOLDER.glob("*.json")):
            self.seconds |= json.loads(path.read_text(encoding="utf-8"))
            data = CoverageData(str(path.with_suffix(".coverage")))
            data.read()
            for file in data.measured_files():
                lines = self._lines[Path(file).relative_to(ROOT).as_posix()]
                for line, contexts in data.contexts_by_lineno(file).items():
                    # What runs while tests are collected has no test's name.
                    lines[line] |= {context.rpartition("|")[0] for context in contexts} - {""}
        for test in unsteady:
            self.seconds.pop(test, None)

    def tests_of(self, mutant: Mutant) -> list[str]:
        """Return the tests that run a mutant, those of its own room and the fastest ones first.

        A fixture of a whole module runs in its first test only: others of the module come last.
        """
        found: set[str] = set()
        for file, lines in self._lines_that_use(mutant).items():
            found |= set().union(*(self._lines[file].get(line, set()) for line in lines))
        fast = sorted(found & self.seconds.keys(), key=self.seconds.__getitem__)
        files = {test.split("::")[0] for test in fast}
        others = (test for test in self.seconds if test.split("::")[0] in files)
        rest = sorted(set(others) - found, key=self.seconds.__getitem__)
        return [*fast, *rest]

    def few_tests(
        self, tests: list[str], count: int, seconds: float, n_files: int | None = None
    ) -> list[str]:
        """Return the fastest of some tests, in turn from each of the files with most of them."""
        by_file: dict[str, list[str]] = defaultdict(list)
        for test in tests:
            by_file[test.split("::")[0]].append(test)
        files = sorted(by_file.values(), key=len, reverse=True)[:n_files]
        turns = [(k, test) for each in files for k, test in enumerate(each)]
        chosen: list[str] = []
        for _, test in sorted(turns, key=lambda turn: (turn[0], self.seconds[turn[1]])):
            if len(chosen) < count and self.seconds[test] <= seconds:
                chosen.append(test)
                seconds -= self.seconds[test]
        # Together by file, for the sake of fixtures.
        return sorted(chosen, key=lambda test: test.split("::")[0])

    def _lines_that_use(self, mutant: Mutant) -> dict[str, Iterable[int]]:
        """Return the lines whose tests would notice a change, by file.

        What runs at import is used wherever its name, its function or its class is.
        """
        tree = ast.parse((ROOT / mutant.file).read_text(encoding="utf-8"))
        path = _path_to(tree, mutant.line)
        bodies = [node for node in path if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
        inner = bodies[-1] if bodies else None
        if inner is not None and mutant.line >= inner.body[0].lineno:
            statement = path[-1]
            exact = [mutant.line] if self._lines[mutant.file].get(mutant.line) else []
            return {mutant.file: exact or _own_lines(statement)}
        # The narrowest scope that any test runs: an abstract method has none itself.
        kinds = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
        for scope in (node for node in reversed(path) if isinstance(node, kinds)):
            lines = range(scope.lineno, (scope.end_lineno or scope.lineno) + 1)
            if any(self._lines[mutant.file].get(line) for line in lines):
                return {mutant.file: lines}
        inside = [node for node in ast.walk(path[-1]) if isinstance(node, ast.Name)]
        names = {node.id for node in inside if isinstance(node.ctx, ast.Store)}
        found: dict[str, Iterable[int]] = {}
        for file in list(self._lines):
            lines = (ROOT / file).read_text(encoding="utf-8").splitlines()
            uses = [k for k, line in enumerate(lines, 1) if any(name in line for name in names)]
            if file == mutant.file or uses:
                found[file] = uses
        if not any(self._lines[file].get(line) for file, lines in found.items() for line in lines):
            found[mutant.file] = list(self._lines[mutant.file])
        return found


def _path_to(tree: ast.Module, line: int) -> list[ast.stmt]:
    """Return the statements around a line, the outermost first."""
    path: list[ast.stmt] = []
    inside: Any = tree
    while True:
        children = [
            node
            for node in ast.walk(inside)
            if isinstance(node, ast.stmt)
            and node is not inside
            and _first_line(node) <= line <= (node.end_lineno or 0)
        ]
        if not children:
            return path
        # The widest comes next: all of them are one in the other.
        inside = min(children, key=_first_line_and_size)
        path.append(inside)


def _first_line(node: ast.stmt) -> int:
    """Return where a statement begins, its decorators included."""
    decorators = getattr(node, "decorator_list", [])
    return min([node.lineno, *(decorator.lineno for decorator in decorators)])


def _first_line_and_size(node: ast.stmt) -> tuple[int, int]:
    """Order statements around a line from the outermost to the innermost."""
    return _first_line(node), -(node.end_lineno or 0)


def _own_lines(statement: ast.stmt) -> range:
    """Return the lines of a statement, of a compound one its head alone."""
    body = getattr(statement, "body", None)
    if isinstance(body, list) and body and body[0].lineno > statement.lineno:
        return range(statement.lineno, body[0].lineno)
    return range(statement.lineno, (statement.end_lineno or statement.lineno) + 1)
