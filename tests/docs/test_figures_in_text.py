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
