"""The shape of the code: three parts, one direction, and no private module of another room."""

import ast
import re
import tomllib
from pathlib import Path

import pytest

import condrisk

SOURCE = Path(condrisk.__file__).parent
# Parts that stand on the library, and not on each other.
PARTS = ("app", "paper")
# The ways in: `python -m condrisk`, and from the command line to the study, `condrisk reproduce`.
LOADED_LATE = {
    ("condrisk.__main__", "condrisk.app.cli"),
    ("condrisk.app.cli", "condrisk.paper._cli"),
}
# Modules whose strings name the classes that a model file may hold, and load nothing.
NAMES_ONLY = ("condrisk.persistence._allowed", "condrisk.persistence._validate")


def modules():
    """Return the syntax tree of every module by its dotted name."""
    found = {}
    for path in SOURCE.rglob("*.py"):
        parts = path.relative_to(SOURCE.parent).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        found[name] = ast.parse(path.read_text(encoding="utf-8"))
    return found


def imports(name, tree, known):
    """Yield the modules of ours that a module imports, wherever in it that is written."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            targets = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                package = name if f"{name}.__init__" in known else name.rsplit(".", 1)[0]
                base = ".".join([*package.split(".")[: -(node.level - 1) or None], base]).strip(".")
            inner = [f"{base}.{alias.name}" for alias in node.names]
            targets = [target if target in known else base for target in inner]
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            # Modules that are loaded late are named by a string.
            late = node.value in known and "." in node.value and name not in NAMES_ONLY
            targets = [node.value] if late else []
        else:
            continue
        yield from (target for target in targets if target.split(".")[0] == "condrisk")


def room(name):
    """Return the package that a module belongs to: `condrisk.risk`, `condrisk.app.serve`, …"""
    parts = name.split(".")
    depth = 3 if parts[1:2] in ([part] for part in PARTS) else 2
    return ".".join(parts[:depth])


def part(name):
    """Return the part of the software: "app", "paper", or "library"."""
    second = name.split(".")[1:2]
    return second[0] if second and second[0] in PARTS else "library"


def edges():
    known = modules()
    return sorted(
        {
            (name, target)
            for name, tree in known.items()
            for target in imports(name, tree, known)
            if target in known
        }
    )


EDGES = edges()


def test_the_graph_is_read():
    assert ("condrisk.deferral._deferral", "condrisk._delegate") in EDGES
    assert ("condrisk", "condrisk.risk") in EDGES
    assert len(EDGES) > 500


def test_the_library_imports_no_other_part_and_these_not_each_other():
    wrong = [
        (name, target)
        for name, target in EDGES
        if part(target) not in ("library", part(name))
        and not any(
            name.startswith(allowed[0]) and target.startswith(allowed[1]) for allowed in LOADED_LATE
        )
    ]
    assert not wrong


def is_shared(target):
    """Tell whether a private module is one of the small ones that rooms share.

    Those lie directly in the package, or directly in a part of it.
    """
    parts = target.split(".")[1:]
    inner = parts[1:] if parts[0] in PARTS else parts
    return len(inner) == 1 and inner[0].startswith("_")


def test_no_room_imports_a_private_module_of_another():
    wrong = [
        (name, target)
        for name, target in EDGES
        if room(name) != room(target)
        and any(step.startswith("_") for step in target.split("."))
        and not is_shared(target)
    ]
    assert not wrong


@pytest.mark.parametrize("leaf", ["losses", "metrics", "inference"])
def test_leaves_stand_on_shared_modules_alone(leaf):
    inside = f"condrisk.{leaf}"
    targets = {target for name, target in EDGES if room(name) == inside and room(target) != inside}
    assert all(is_shared(target) for target in targets), targets


# -- tests and the public surface ------------------------------------------------------------------

TESTS = Path(__file__).parent
LISTED = TESTS / "private_imports.toml"
# Those of the app are counted only: they are to become fewer.
MOST_FILES_OF_THE_APP = 21
PRIVATE = re.compile(r"condrisk(?:\.[a-z]\w*)*\._[a-z]\w*")


def private_modules(path):
    """Return the private modules that a test names, in an import or as text."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [node.module or "", *(f"{node.module}.{alias.name}" for alias in node.names)]
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            names = [node.value]
        else:
            continue
        found |= {match for name in names for match in PRIVATE.findall(name)}
    return found


def test_tests_use_private_modules_only_where_the_list_says_why():
    """The list may shrink: what is on it and not used any more has to go, too."""
    used = {
        path.relative_to(TESTS).as_posix(): private_modules(path)
        for path in sorted(TESTS.rglob("*.py"))
        if path != Path(__file__)
    }
    used = {name: modules for name, modules in used.items() if modules}
    of_the_app = [name for name in used if name.startswith("app/")]
    assert len(of_the_app) <= MOST_FILES_OF_THE_APP
    entries = tomllib.loads(LISTED.read_text(encoding="utf-8"))["because"]
    assert all(len(entry["reason"].split()) > 5 for entry in entries)
    allowed = {name: set(mods) for entry in entries for name, mods in entry["files"].items()}
    assert {name: used[name] for name in used if name not in of_the_app} == allowed
