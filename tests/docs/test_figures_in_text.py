"""Figures in pages that people wrote: they are those of the records."""

import json
import math
from pathlib import Path

ROOT = Path(__file__).parents[2]


def page(name):
    return " ".join((ROOT / "docs" / name).read_text(encoding="utf-8").split())


def test_the_share_that_a_budget_defers():
    record = json.loads((ROOT / "results" / "held_out_rates.json").read_text(encoding="utf-8"))
    few, many = (line for line in record["found"] if line["predictor"] == "cross-fitted")
    assert (record["rate"], few["n"], many["n"]) == (0.1, 200, 1000)
    assert few["mean"] - 3 * few["se"] > record["rate"]  # above a tenth beyond chance
    spread = [100 * line["se"] * math.sqrt(record["repetitions"]) for line in (few, many)]
    text = page("how-to/budget.md")
    assert (
        f"Over {record['repetitions']} draws of a synthetic world its mean was "
        f"{few['mean']:.1%} after a fit on 200 rows and {many['mean']:.1%} after a fit on 1,000, "
        f"with standard deviations of {spread[0]:.1f} and {spread[1]:.1f} percentage points"
    ).replace("%", " %") in text


def test_the_share_of_ordinary_rows_that_are_outside():
    record = json.loads((ROOT / "results" / "outside.json").read_text(encoding="utf-8"))
    found = {
        margin: [shares[k] for shares in record["found"].values()]
        for k, margin in enumerate(record["margins"])
    }
    with_it, without = (100 * sum(found[m]) / len(found[m]) for m in (0.1, 0.0))
    text = page("how-to/score.md")
    assert (
        f"{with_it:.2f} % of the rows are outside on average and {100 * max(found[0.1]):.2f} % at "
        f"most; without any margin it is {without:.2f} % and {100 * max(found[0.0]):.1f} %"
    ) in text
