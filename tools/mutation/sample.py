"""The mutants that cosmic-ray's operators make of the rooms, and a sample of them."""

from __future__ import annotations

import ast
import hashlib
import tomllib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import islice
from pathlib import Path
from typing import Any

from cosmic_ray.ast import ast_nodes, get_ast
from cosmic_ray.mutating import mutate_code
from cosmic_ray.plugins import get_operator

ROOT = Path(__file__).resolve().parents[2]
SETTINGS = ROOT / "tools" / "mutation.toml"


@dataclass(frozen=True)
class Mutant:
    """One change of one place by one operator of cosmic-ray.

    `nth` counts the places of the file where the operator meets the same `text`, the line.
    """

    file: str
    line: int
    column: int
    operator: str
    occurrence: int
    text: str
    nth: int

    @property
    def key(self) -> tuple[str, str, str, int]:
        """What it is known by: not its line's number, which changes with what is above it."""
        return self.file, self.operator, self.text, self.nth

    def rank(self, seed: int) -> str:
        """Return where it stands in the order of a seed, whatever other mutants there are."""
        return hashlib.sha256(repr((seed, self.key)).encode()).hexdigest()

    def source(self) -> str | None:
        """Return its file as changed, None if that is no other code."""
        text = (ROOT / self.file).read_text(encoding="utf-8")
        changed = mutate_code(text, get_operator(f"core/{self.operator}")(), self.occurrence)
        try:
            same = changed is None or ast.dump(ast.parse(changed)) == ast.dump(ast.parse(text))
        except SyntaxError:
            return None
        return None if same else changed

    def runs_at_import(self) -> bool:
        """Say whether it is outside of the bodies of functions, in a default or a decorator."""
        tree = ast.parse((ROOT / self.file).read_text(encoding="utf-8"))
        return not any(
            isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
            and node.body[0].lineno <= self.line <= (node.end_lineno or 0)
            for node in ast.walk(tree)
        )


def read_settings() -> dict[str, Any]:
    """Return tools/mutation.toml."""
    return tomllib.loads(SETTINGS.read_text(encoding="utf-8"))


def mutants_of(file: str, operators: list[str]) -> list[Mutant]:
    """Return the mutants of one file, without those of places that are never evaluated."""
    text = (ROOT / file).read_text(encoding="utf-8")
    lines = text.splitlines()
    nodes = list(ast_nodes(get_ast(text)))
    silent = _silent_places(text)
    found: list[Mutant] = []
    counts: Counter[tuple[str, str]] = Counter()
    for name in operators:
        operator = get_operator(f"core/{name}")()
        places = ((node, at) for node in nodes for at, _ in operator.mutation_positions(node))
        for occurrence, (node, (line, column)) in enumerate(places):
            # The bare star of keyword-only parameters is taken for a product.
            is_star = node.parent is not None and node.parent.type == "parameters"
            if is_star or any(start <= (line, column) < end for start, end in silent):
                continue
            there = lines[line - 1].strip()
            counts[name, there] += 1
            found.append(Mutant(file, line, column, name, occurrence, there, counts[name, there]))
    return found


def draw(settings: dict[str, Any]) -> tuple[list[Mutant], dict[str, int]]:
    """Return the sample, by file and line, and how many mutants there are in each room."""
    rooms = {
        room["folder"]: [
            mutant
            for path in sorted((ROOT / room["folder"]).glob("*.py"))
            for mutant in mutants_of(path.relative_to(ROOT).as_posix(), settings["operators"])
        ]
        for room in settings["room"]
    }
    sizes = {folder: len(mutants) for folder, mutants in rooms.items()}
    drawn: list[Mutant] = []
    for folder, count in shares(sizes, settings["size"]).items():
        in_order = sorted(rooms[folder], key=lambda mutant: mutant.rank(settings["seed"]))
        real = islice((mutant for mutant in in_order if mutant.source() is not None), count)
        drawn += sorted(real, key=lambda mutant: (mutant.file, mutant.line))
    return drawn, sizes


def changed_lines(mutant: Mutant) -> tuple[str, str]:
    """Return the lines that differ, before and after, without indentation."""
    before = (ROOT / mutant.file).read_text(encoding="utf-8").splitlines()
    after = (mutant.source() or "").splitlines()
    [(_, *old), *rest] = [
        span
        for span in SequenceMatcher(None, before, after, autojunk=False).get_opcodes()
        if span[0] != "equal"
    ]
    first, last = old, (rest[-1][1:] if rest else old)
    spans = (before[first[0] : last[1]], after[first[2] : last[3]])
    return tuple(" ".join(line.strip() for line in lines) for lines in spans)  # type: ignore


def shares(sizes: dict[str, int], total: int) -> dict[str, int]:
    """Return whole numbers in proportion to sizes that sum to a total (largest remainders)."""
    exact = {name: total * size / sum(sizes.values()) for name, size in sizes.items()}
    whole = {name: int(share) for name, share in exact.items()}
    by_rest = sorted(exact, key=lambda name: whole[name] - exact[name])
    for name in by_rest[: total - sum(whole.values())]:
        whole[name] += 1
    return whole


def _silent_places(text: str) -> list[tuple[tuple[int, int], tuple[int, int]]]:
    """Return where nothing is ever evaluated: annotations."""
    found = []
    for node in ast.walk(ast.parse(text)):
        parts: Iterator[ast.expr | None] = iter(())
        if isinstance(node, ast.AnnAssign):
            parts = iter([node.annotation])
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            given = node.args
            each = [*given.posonlyargs, *given.args, *given.kwonlyargs, given.vararg, given.kwarg]
            parts = iter([node.returns, *(one.annotation for one in each if one is not None)])
        found += [
            ((part.lineno, part.col_offset), (part.end_lineno or 0, part.end_col_offset or 0))
            for part in parts
            if part is not None
        ]
    return found
