"""Write the figures of the README and of pages written by hand from the records under results/.

    python -m tools.update_readme            # rewrite them
    python -m tools.update_readme --check    # exit with 1 if one is not what the records give

The records come from ``condrisk quickstart`` (results/quickstart.json), ``make bench``
(results/benchmarks.json), ``python -m benchmarks.default_regressor``, ``python -m
benchmarks.given_model`` and ``condrisk reproduce rwr`` (results/rwr/).
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from pathlib import Path

from condrisk._files import write_whole
from condrisk.app._numbers import Amounts

ROOT = Path(__file__).resolve().parents[1]
# Written by hand, but for the parts that are marked.
PAGES = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "docs/index.md", "docs/tour.md")]
RESULTS = ROOT / "results"


def quickstart() -> str:
    """Return the two tables of the quickstart."""
    record = json.loads((RESULTS / "quickstart.json").read_text())
    text = Amounts(record["loss"]).text
    names = [row["estimate"] for row in record["risk"] if row["estimate"] != "constant"]
    head = ["cost", "always defer", "never defer", *(f"{n} (accepted)" for n in names), "oracle"]
    rows = [
        [
            *(text(row[key]) for key in ("cost", "always_defer", "never_defer")),
            *(f"{text(row[n + '_loss'])} ({row[n + '_coverage']:.0%})" for n in names),
            text(row["oracle"]),
        ]
        for row in record["deferral"]
    ]
    errors = [
        [row["estimate"], *(text(row[key]) for key in ("mean", "L1", "L2", "aurc"))]
        for row in record["risk"]
    ]
    train, test = record["rows"]["train"], record["rows"]["test"]
    return "\n".join(
        [
            f"*{record['data']}, {record['task']} of {record['target']}, {train} rows to fit on,",
            f"{test} to test on, loss {record['loss']}. Mean deferral loss on the test rows:*",
            "",
            markdown(head, rows),
            "",
            "*Estimated risk against realised loss:*",
            "",
            markdown(["estimate", "mean", "L¹ error", "L² error", "AURC"], errors),
        ]
    )


def regressor() -> str:
    """Return the table that stands in the docstring of the default regressor."""
    from benchmarks.default_regressor import table

    return "```text\n" + table() + "\n```"


def rwr() -> str:
    """Return how well the study of regression with rejection agrees with the paper."""
    from condrisk.paper import read_records
    from condrisk.paper.rwr._results import agreement, two_errors

    records = read_records(RESULTS / "rwr" / "paper-sklearn" / "records.jsonl")
    rows = [[what, f"{n['agree']} of {n['cells']}"] for what, n in agreement(records).items()]
    [speed] = json.loads((RESULTS / "benchmarks.json").read_text())["results"]["rwr"]
    return "\n".join(
        [
            "On the paper's folds, with scikit-learn's networks:",
            "",
            markdown(["cells that agree with the paper", "cells"], rows),
            "",
            f"Two standard errors are {two_errors(records):.0%} of the loss in the median cell: "
            "the first three counts are the strict ones.",
            "",
            "The 16 pairs at four costs on energy and housing take "
            f"{speed['ours_s']:.0f} s on two cores, {speed['faster']:.0f} times less than fitting",
            "each pair anew for each cost with scikit-learn, as the paper's public code does "
            "(`python -m benchmarks rwr`).",
        ]
    )


def given_model() -> str:
    """Return how good g is for a model that is given, beside ten lines of user code."""
    from tools.given_model_pages import summary

    return summary()


def auto() -> str:
    """Return how AutoRisk does beside the paper's methods."""
    from tools.auto_pages import summary

    return summary()


def markdown(head: list[str], rows: list[list[str]]) -> str:
    """Return a Markdown table, numbers to the right."""
    rule = ["---", *("---:" for _ in head[1:])]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in [head, rule, *rows])


def mutation() -> str:
    """Return what `make mutants` has found."""
    record = json.loads((RESULTS / "mutation.json").read_text())
    total = sum(room["mutants"] for room in record["rooms"].values())
    drawn = f"Of {record['drawn']} mutants, drawn from {total:,} of {len(record['rooms'])} rooms,"
    counts = f"tests notice {record['killed']}, {record['equivalent']} are the same to any test"
    left = f"{record['survived']} survive, {record['drawn'] - record['run']} have not been run"
    return (
        f"{drawn}\n{counts}, {left}: {record['noticed']:.1%} of those run are noticed or the same."
    )


def updated(text: str) -> str:
    """Return the page with every marked part written anew."""
    parts: dict[str, Callable[[], str]] = {
        "quickstart": quickstart,
        "regressor": regressor,
        "given_model": given_model,
        "rwr": rwr,
        "auto": auto,
        "mutation": mutation,
    }
    for name, write in parts.items():
        begin, end = f"<!-- begin {name} -->", f"<!-- end {name} -->"
        pattern = re.compile(f"{re.escape(begin)}.*?{re.escape(end)}", re.DOTALL)
        if begin in text:
            part = f"{begin}\n{write()}\n{end}"
            text = pattern.sub(lambda _, part=part: part, text)
    return text


def main(arguments: list[str]) -> int:
    """Rewrite the pages, or check them."""
    texts = {page: page.read_text(encoding="utf-8") for page in PAGES}
    changed = {page: new for page, text in texts.items() if (new := updated(text)) != text}
    if "--check" in arguments:
        return int(bool(changed))
    for page, text in changed.items():
        write_whole(page, text)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
