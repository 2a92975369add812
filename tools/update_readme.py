"""Write the figures of the README from the records under results/.

    python tools/update_readme.py            # rewrite README.md
    python tools/update_readme.py --check    # exit with 1 if it is not what the records give

The records come from ``condrisk quickstart`` (results/quickstart.json), ``make bench``
(results/benchmarks.json) and ``python -m benchmarks.default_regressor``
(results/default_regressor.json), and ``condrisk reproduce rwr`` and ``cifar10`` (results/rwr/,
results/cifar10/).
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

README = ROOT / "README.md"
RESULTS = ROOT / "results"


def quickstart() -> str:
    """Return the two tables of the quickstart."""
    record = json.loads((RESULTS / "quickstart.json").read_text())
    names = [row["estimate"] for row in record["risk"] if row["estimate"] != "constant"]
    head = ["cost", "always defer", "never defer", *(f"{n} (accepted)" for n in names), "oracle"]
    rows = [
        [
            *(f"{row[key]:.4g}" for key in ("cost", "always_defer", "never_defer")),
            *(f"{row[n + '_loss']:.4g} ({row[n + '_coverage']:.0%})" for n in names),
            f"{row['oracle']:.4g}",
        ]
        for row in record["deferral"]
    ]
    errors = [
        [row["estimate"], *(f"{row[key]:.4g}" for key in ("mean", "L1", "L2", "aurc"))]
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


def benchmarks() -> str:
    """Return the ratios of the benchmarks beside their limits."""
    record = json.loads((RESULTS / "benchmarks.json").read_text())
    rows = [
        [line["name"], f"{line['n']:,}", f"{line['ratio']:.2f}", f"{line['limit']:g}"]
        for lines in record["results"].values()
        for line in lines
    ]
    versions = record["versions"]
    return "\n".join(
        [
            "Ratios within one run, one thread, against: `import sklearn.ensemble`; one `einsum`",
            "over the same 1,000,000 × 100 arrays; the responses of the models; one `argsort`; for",
            "rwr, two cores against fitting each pair anew for each price in one process.",
            "",
            markdown(["what", "rows", "ratio", "limit"], rows),
            "",
            f"Measured by `make bench` on {record['machine']}, Python {versions['python']}, "
            f"numpy {versions['numpy']}, scikit-learn {versions['scikit-learn']}.",
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
            "The 16 pairs at four prices on energy and housing take "
            f"{speed['ours_s']:.0f} s on two cores, {speed['faster']:.0f} times less than fitting",
            "each pair anew for each price with scikit-learn, as the paper's public code does "
            "(`python -m benchmarks rwr`).",
        ]
    )


def cifar10() -> str:
    """Return the deferral losses of the recalibrated risk on CIFAR-10, beside the paper's best."""
    from condrisk.paper import read_records
    from condrisk.paper.cifar10._claims._beaten import loss_share, paper_best
    from condrisk.paper.cifar10._paper import COSTS
    from condrisk.paper.cifar10._results import HYBRID, PLUG_INS, Results, least

    results = Results(read_records(RESULTS / "cifar10" / "records.jsonl"))
    device = json.loads((RESULTS / "cifar10" / "speed.json").read_text())["device"]
    rows = []
    for predictor in results.predictors:
        share = loss_share(results, predictor)
        assert share is not None
        for cost in COSTS:
            plug_in = least(results, predictor, PLUG_INS, "loss", cost)
            best = paper_best("table6", "loss", predictor, cost)
            assert plug_in is not None
            assert best is not None
            values = [
                results.mean("loss", predictor, method, cost)
                for method in ("always", "never", plug_in, HYBRID, "oracle")
            ]
            cells = [f"{value:.3f}" for value in values if value is not None]
            named = f"{predictor}, {share:.0%} of the paper's loss"
            rows.append([named, cost, f"{best[1].mean:.2f}", *cells])
    head = ["predictor", "price", "paper's best", "always ask", "never ask", "best plug-in"]
    return "\n".join(
        [
            f"Loss of learning to defer on CIFAR-10, means over {len(results.seeds)} seeds on one "
            f"{device} (the best plug-in",
            "is chosen after the fact; the paper's best is for its own predictors, and does not "
            "compare like with like):",
            "",
            markdown([*head, "`HybridRisk`", "oracle"], rows),
        ]
    )


def auto() -> str:
    """Return how AutoRisk does beside the paper's methods."""
    from tools.auto_pages import summary

    return summary()


def markdown(head: list[str], rows: list[list[str]]) -> str:
    """Return a Markdown table, numbers to the right."""
    rule = ["---", *("---:" for _ in head[1:])]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in [head, rule, *rows])


def updated(text: str) -> str:
    """Return the page with every marked part written anew."""
    parts: dict[str, Any] = {
        "quickstart": quickstart,
        "benchmarks": benchmarks,
        "regressor": regressor,
        "rwr": rwr,
        "cifar10": cifar10,
        "auto": auto,
    }
    for name, write in parts.items():
        begin, end = f"<!-- begin {name} -->", f"<!-- end {name} -->"
        pattern = re.compile(f"{re.escape(begin)}.*?{re.escape(end)}", re.DOTALL)
        part = f"{begin}\n{write()}\n{end}"
        text = pattern.sub(lambda _, part=part: part, text)
    return text


def main(arguments: list[str]) -> int:
    """Rewrite the page, or check it."""
    text = README.read_text(encoding="utf-8")
    new = updated(text)
    if "--check" in arguments:
        return int(new != text)
    draft = README.with_suffix(".draft")
    draft.write_text(new, encoding="utf-8")
    draft.replace(README)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
