"""The page about broken and hostile files, from the cases that the tests run."""

from __future__ import annotations

import json
import re
import sys
import textwrap
from collections.abc import Sequence
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

from condrisk.persistence._allowed import KNOWN
from condrisk.persistence._audit import FREE_BYTES, TIMES_PACKED
from tools.fuzz_models import RECORD

TESTS = Path(__file__).resolve().parents[1] / "tests"
_PAGE = """\
# Broken and hostile files

Model files come by mail, tables from everywhere. Each case below is built by a test, given to the
code that reads such files, and ends as it says here; nothing is executed and nothing is written.
Whatever is refused is refused with one sentence, and the commands end with status 2.

Written from the cases of those tests by `python -m tools.site_pages`.

## Model files: two levels

Which level a file is on, `condrisk inspect` says in the line "to load it", and loading enforces it.

**Closed: a file that needs no trust.** What `condrisk fit` makes by name, and condrisk's own
estimators around scikit-learn's common ones. Loading such a file from a stranger is safe: it runs
no code of theirs, cannot crash the process, and takes no more memory than its size allows for.

- For each of {n_classes} classes the attributes that an object may have are listed, each with its
  kind, dtype, shape and range, and relations between them: categories and what they are mapped to,
  columns that trees look at, nodes and their children. Anything else is refused. A list of types
  would not do: compiled code believes the numbers that it is given.
- All of the file is checked before anything in it is made.
- Memory is counted from the sizes that the file declares, before arrays are unpacked; an array that
  is named twice counts twice. The limit is {free_mb} MB and {times} times the size of the file.

**Open: a file that needs `trusted=` or `--trust`.** Everything else: LightGBM, XGBoost, CatBoost,
the rest of scikit-learn, networks, classes and functions of your own. Objects of classes that only
your trust admits may have any attributes. **A hostile file of that kind can do what the code of
that package can do when it is given any numbers: crash the process, take all memory, and, if the
package's own loader runs code, run code.** Trust a package only for files of somebody you trust.
What is known inside of such a file is checked all the same.

What a model predicts is another matter: a file from a stranger may hold a model that is wrong on
purpose.

### Found by changing sound files

{fuzz_said}

{fuzz}

There is no second process around loading in `load_model` itself. It would contain what the checks
miss in loading, and not what they miss in predicting, which happens in your process; and it would
take the second or so in which Python and scikit-learn start, for every file. Whoever wants it runs
the command that reads the file, `condrisk score`, under the system's limits (`ulimit -v`, a
container).

### {n_models} files, each refused

{models}

## Files that abuse trust

What is not on the list may be [trusted by name](how-to/save.md#trust). {n_trusted} files that must
not become a model though their reader trusts something: what that was, and how the sentence reads
that refuses them. Trust is the name of a class or, after `function:`, of a function; what the name
stands for is looked up before anything in the file is made.

{trusted}

Beyond that, a trusted package's file is as safe as that package's own loader, which gets bytes from
the file.

## Tables

{n_tables} tables, as people have them and as people should not have them, given to `condrisk fit`.

{tables}

At scoring, a row that does not fit goes into the file of rejects with the reason, and a category
that was never seen is taken as missing and counted ([score](how-to/score.md#rows-that-do-not-fit)).
"""


def text() -> str:
    """Return the text of the page."""
    models = load_module(TESTS / "persistence" / "hostile_models.py").CASES
    # The second starts from the tools of the first, which has to be there by its name.
    trusted = load_module(TESTS / "persistence" / "hostile_trusted.py").TRUSTED_CASES
    tables = load_module(TESTS / "app" / "tables" / "hostile_tables.py").CASES
    record = json.loads(RECORD.read_text(encoding="utf-8"))
    return _PAGE.format(
        n_classes=len(KNOWN),
        free_mb=FREE_BYTES >> 20,
        times=TIMES_PACKED,
        fuzz_said=_fuzz_said(record),
        fuzz=_fuzz_table(record),
        n_models=len(models),
        models=_table(models),
        n_trusted=len(trusted),
        trusted=_trusted_table(trusted),
        n_tables=len(tables),
        tables=_table(tables),
    )


def _fuzz_said(record: dict[str, Any]) -> str:
    """Return what became of all cases, in words."""
    failures, limits = record["failures"], record["limits"]
    limit = f"{limits['seconds']:g} s of processor time or {limits['bytes'] >> 30} GB"
    bad = f"{len(failures)} of them" if failures else "none of them"
    text = (
        f"`make fuzz` changes one thing in a sound file, of {len(record['files'])} kinds: what "
        f"`condrisk fit` makes, and estimators, rules and losses by themselves. Each changed file "
        f"is loaded and predicts in a process of its own. Of {record['cases']:,} cases with the "
        f"seed {record['seed']}, {bad} crashed, raised anything but one sentence in loading, or "
        f"took more than {limit}. The slowest took {record['slowest_seconds']:g} s, the largest "
        f"{record['most_bytes'] / 2**20:,.0f} MB with Python and its packages. A change may leave "
        f"what could be a model: that predicts, or raises an exception in predicting."
    )
    return textwrap.fill(text, 100)


def _fuzz_table(record: dict[str, Any]) -> str:
    outcomes = ("refused", "predicted", "raised in predicting")
    rows = [
        [name, *(f"{counts.get(outcome, 0):,}" for outcome in outcomes)]
        for name, counts in record["changes"].items()
    ]
    return markdown_table(["what is changed", *outcomes], rows)


def load_module(path: Path) -> ModuleType:
    """Return the module of a file of the tests."""
    # Dataclasses look their module up by its name: it needs one of its own.
    if path.stem in sys.modules:
        return sys.modules[path.stem]
    spec = spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules[path.stem] = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _table(cases: Sequence[Any]) -> str:
    return markdown_table(
        ["case", "what it is", "what becomes of it"],
        [(case.name, case.what, case.outcome) for case in cases],
    )


def _trusted_table(cases: Sequence[Any]) -> str:
    return markdown_table(
        ["case", "what it is", "trusted", "the refusal says"],
        [
            (case.name, case.what, ", ".join(case.trusted) or "nothing", _words(case.refused))
            for case in cases
        ],
    )


def _words(pattern: str) -> str:
    """Return the pattern that a test looks for in a message as text."""
    return re.sub(r"\\(.)", r"\1", pattern.replace(".*", " … ").replace("|", ", or "))


def markdown_table(
    head: Sequence[str], rows: Sequence[Sequence[str]], *, code: bool = False
) -> str:
    """Return a table; with `code`, text between backticks stays as it is."""
    plain = [[" ".join(_cell(cell, code=code).split()) for cell in row] for row in rows]
    lines = [head, [":--"] * len(head), *plain]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in lines)


def _cell(cell: str, *, code: bool) -> str:
    if not code:
        return _plain(cell)
    parts = cell.split("`")
    return "`".join(part if k % 2 else _plain(part) for k, part in enumerate(parts))


def _plain(cell: str) -> str:
    """Return text that Markdown shows as it stands."""
    return re.sub(r"([\\`*_|<>\[\]])", r"\\\1", cell)
