"""The page about broken and hostile files, from the cases that the tests run."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

TESTS = Path(__file__).resolve().parents[1] / "tests"
_PAGE = """\
# Broken and hostile files

Model files come by mail, tables from everywhere. Each case below is built by a test, given to the
code that reads such files, and ends as it says here; nothing is executed and nothing is written.
Whatever is refused is refused with one sentence, and the commands end with status 2.

Written from the cases of those tests by `python -m tools.site_pages`.

## Model files

{n_models} files that must not become a model. Loading reads the manifest, looks through the archive
and through every type that it names, and only then makes anything; what was made is checked before
it is used.

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
    models = _module(TESTS / "persistence" / "hostile_models.py").CASES
    # The second starts from the tools of the first, which has to be there by its name.
    trusted = _module(TESTS / "persistence" / "hostile_trusted.py").TRUSTED_CASES
    tables = _module(TESTS / "app" / "tables" / "hostile_tables.py").CASES
    return _PAGE.format(
        n_models=len(models),
        models=_table(models),
        n_trusted=len(trusted),
        trusted=_trusted_table(trusted),
        n_tables=len(tables),
        tables=_table(tables),
    )


def _module(path: Path) -> ModuleType:
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
    return _markdown(
        ["case", "what it is", "what becomes of it"],
        [(case.name, case.what, case.outcome) for case in cases],
    )


def _trusted_table(cases: Sequence[Any]) -> str:
    return _markdown(
        ["case", "what it is", "trusted", "the refusal says"],
        [
            (case.name, case.what, ", ".join(case.trusted) or "nothing", _words(case.refused))
            for case in cases
        ],
    )


def _words(pattern: str) -> str:
    """Return the pattern that a test looks for in a message as text."""
    return re.sub(r"\\(.)", r"\1", pattern.replace(".*", " … ").replace("|", ", or "))


def _markdown(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    plain = [[" ".join(_plain(cell).split()) for cell in row] for row in rows]
    lines = [head, [":--"] * len(head), *plain]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in lines)


def _plain(cell: str) -> str:
    """Return text that Markdown shows as it stands."""
    return re.sub(r"([\\`*_|<>\[\]])", r"\\\1", cell)
