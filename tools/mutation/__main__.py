"""`python -m tools.mutation`: run the sample of mutants, and record what noticed each."""

from __future__ import annotations

import argparse
import compileall
import json
import py_compile
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import tools.mutation
from tools.mutation.covering import Covering, run_rooms
from tools.mutation.forked import Functions, failing, warm_up
from tools.mutation.sample import ROOT, Mutant, changed_lines, draw, read_settings

RECORD = ROOT / "results" / "mutation.json"
# First a few fast tests, which notice most; then all there are, as far as time allows.
FEW, FEW_SECONDS, ALL_SECONDS, COLD_FILES = 15, 15.0, 60.0, 4
CHECK_SECONDS = 3600

Found = dict[str, Any]


def read_found() -> dict[tuple[str, str, str, int], Found]:
    """Return what is known of each mutant."""
    if not RECORD.exists():
        return {}
    record = json.loads(RECORD.read_text(encoding="utf-8"))
    return {(m["file"], m["operator"], m["old"], m["nth"]): m for m in record["mutants"]}


def main(arguments: list[str] | None = None) -> int:
    """Run the mutants; return 1 if any survives."""
    parser = argparse.ArgumentParser(description=tools.mutation.__doc__.split("\n", 1)[0])
    parser.add_argument("--only", default="", metavar="PREFIX", help="files that begin so")
    parser.add_argument("--survivors", action="store_true", help="those that survived last time")
    parser.add_argument("--new", action="store_true", help="those that have never been run")
    parser.add_argument("--quick", action="store_true", help="a few tests for each")
    parser.add_argument("--list", action="store_true", help="list them, run nothing")
    parser.add_argument("--lines-again", action="store_true", help="which test runs which line")
    parser.add_argument("--check", action="store_true", help="run what killed on sound code again")
    options = parser.parse_args(arguments)
    settings = read_settings()
    drawn, sizes = draw(settings)
    known = read_found()
    chosen = [mutant for mutant in drawn if mutant.file.startswith(options.only)]
    if options.survivors:
        chosen = [m for m in chosen if known.get(m.key, {}).get("outcome") == "survived"]
    if options.new:
        chosen = [mutant for mutant in chosen if mutant.key not in known]
    if options.list:
        for mutant in chosen:
            print(f"{mutant.file}:{mutant.line} {' -> '.join(changed_lines(mutant))}")
        return 0
    if not options.check:
        run_rooms(settings, options.lines_again)
    warm_up()
    with tempfile.TemporaryDirectory() as folder:
        source = copied_source(Path(folder))
        if not options.check:
            for found in run_all(chosen, source, settings, options.quick):
                known[found["file"], found["operator"], found["old"], found["nth"]] = found
                said = found.get("by") or found.get("why") or f"{found['tests']} tests"
                print(f"{found['outcome']:10} {found['file']}:{found['line']} {said}", flush=True)
                write_record(drawn, sizes, known, settings)
        broken = failing_when_sound([known[m.key] for m in chosen if m.key in known], source)
    for mutant in chosen:
        if known.get(mutant.key, {}).get("by") in broken:
            del known[mutant.key]
    write_record(drawn, sizes, known, settings)
    if broken:
        raise RuntimeError(f"fails without any mutant, so that nothing is known: {broken}")
    return int(any(known[m.key]["outcome"] == "survived" for m in chosen if m.key in known))


def run_all(
    chosen: list[Mutant], source: Path, settings: dict[str, Any], quick: bool
) -> Iterator[Found]:
    """Yield what the tests say to each mutant."""
    covering = Covering(settings["unsteady"])
    at_import = [mutant for mutant in chosen if mutant.runs_at_import()]
    inside = [mutant for mutant in chosen if mutant not in at_import]
    for mutant in at_import:
        tests = covering.tests_of(mutant)
        # Every file of tests has to be imported again.
        few = covering.few_tests(tests, FEW, FEW_SECONDS, COLD_FILES)
        rest = covering.few_tests([t for t in tests if t not in few], len(tests), ALL_SECONDS)
        parts = [[*few, *settings["of_signatures"]], *([] if quick else [rest])]
        yield run_mutant(mutant, source, None, parts, settings)
    if not inside:
        return
    functions = Functions(source, [test for room in settings["room"] for test in room["tests"]])
    for mutant in inside:
        tests = covering.tests_of(mutant)
        few = covering.few_tests(tests, FEW, FEW_SECONDS)
        rest = covering.few_tests([t for t in tests if t not in few], len(tests), ALL_SECONDS)
        yield run_mutant(mutant, source, functions, [few, *([] if quick else [rest])], settings)


def failing_when_sound(found: list[Found], source: Path) -> list[str]:
    """Return the tests that have killed a mutant and fail on the code as it is, too."""
    killers = {each["by"] for each in found if "::" in each.get("by", "")}
    return failing(sorted(killers), source, CHECK_SECONDS, all_of_them=True) if killers else []


def run_mutant(
    mutant: Mutant,
    source: Path,
    functions: Functions | None,
    parts: list[list[str]],
    settings: dict[str, Any],
) -> Found:
    """Return what parts of the tests say to one mutant; `source` is as before afterwards.

    What no test can tell from the original is not run.
    """
    _, new = changed_lines(mutant)
    found: Found = {
        "file": mutant.file,
        "line": mutant.line,
        "operator": mutant.operator,
        "old": mutant.text,
        "new": new,
        "nth": mutant.nth,
    }
    for same in settings.get("equivalent", []):
        if (same["file"], same["old"], same["new"]) == (mutant.file, mutant.text, new):
            return found | {"outcome": "equivalent", "why": same["why"]}
    path = source / Path(mutant.file).relative_to("src")
    text = path.read_text(encoding="utf-8")
    try:
        changed = mutant.source() or ""
        # On the disk, too: some tests start processes.
        path.write_text(changed, encoding="utf-8")
        before = None
        if functions is not None:
            before = partial(functions.change, path, text, changed, mutant.line)
        for tests in parts:
            failed = failing(tests, source, settings["seconds"], before=before) if tests else []
            if failed:
                return found | {"outcome": "killed", "by": failed[0]}
    finally:
        path.write_text(text, encoding="utf-8")
    return found | {"outcome": "survived", "tests": sum(map(len, parts))}


def write_record(
    drawn: list[Mutant],
    sizes: dict[str, int],
    known: dict[tuple[str, str, str, int], Found],
    settings: dict[str, Any],
) -> None:
    """Write what is known of the mutants of the sample, and the counts."""
    found = [known[mutant.key] for mutant in drawn if mutant.key in known]
    counts = Counter(each["outcome"] for each in found)
    noticed = counts["killed"] + counts["equivalent"]
    record = {
        "seed": settings["seed"],
        "drawn": len(drawn),
        "run": len(found),
        **{name: counts[name] for name in ("killed", "equivalent", "survived")},
        "noticed": round(noticed / max(len(found), 1), 4),
        "rooms": {
            room: {
                "mutants": size,
                **Counter(m["outcome"] for m in found if m["file"].startswith(f"{room}/")),
            }
            for room, size in sizes.items()
        },
        "mutants": found,
    }
    RECORD.write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def copied_source(folder: Path) -> Path:
    """Copy the package into a folder, compiled; a file that changes is compiled again."""
    source = folder / "src"
    shutil.copytree(ROOT / "src", source, ignore=shutil.ignore_patterns("__pycache__"))
    # By content: a change within a second, of the same size, would pass for what was compiled.
    mode = py_compile.PycInvalidationMode.CHECKED_HASH
    compileall.compile_dir(source, quiet=2, invalidation_mode=mode)
    return source


if __name__ == "__main__":
    sys.exit(main())
