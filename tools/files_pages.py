"""The page about files as people have them, from the cases that the tests run."""

from __future__ import annotations

from pathlib import Path

from tools.hostile_pages import load_module, markdown_table

TESTS = Path(__file__).resolve().parents[1] / "tests"
_PAGE = """\
# Files as people have them

Every command reads tables in the same way: CSV and its relatives, Excel, JSON, Parquet, Arrow, what
comes through a pipe, and the rows of a query. Nothing is guessed silently. What was decided is said
in a note, on standard error and under `notes` of `--json`; what can be read in two ways is refused,
with the option that settles it.

| option | settles |
| :-- | :-- |
| `--decimal` | whether `1.234` is a thousand or a little more than one |
| `--date-format` | whether `03/04/2026` is in March or in April |
| `--sheet` | which sheet of a workbook |
| `--query` | which rows of a database, whose URL stands in place of a file |
| `--drop`, `--only` | which columns `fit` learns from |

The model file keeps how numbers and dates were written. A later file, though of one row, is read in
the same way: `$1,234` as an amount, `7%` as 0.07, `03/04/2026` as it was when fitting. An amount in
another currency is rejected. Excel needs `pip install "condrisk[excel]"`, a database
`"condrisk[sql]"` and the driver of its vendor (SQLite needs none).

Score writes `.csv`, `.tsv`, `.xlsx`, `.jsonl`, `.parquet` and `.arrow`, the first two and JSON
lines also as `.gz` and `.zst`, or CSV to standard output with `-o -`.

## {n_files} files

Each is made by a test, read as `condrisk fit` reads it, and read again as `condrisk score` does, in
small batches and with nothing but what the model file knows: every cell must come out the same.
Column `c` is meant where none is named. [Broken and hostile files](../hostile.md) have a page of
their own.

{files}

Written from the cases of the test by `python -m tools.site_pages`.
"""


def text() -> str:
    """Return the text of the page."""
    files = load_module(TESTS / "app" / "tables" / "real_files.py").FILES
    rows = [(case.name, case.what, case.outcome) for case in files]
    table = markdown_table(["file", "what it is", "what becomes of it"], rows, code=True)
    return _PAGE.format(n_files=len(files), files=table)
