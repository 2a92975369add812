"""How many ordinary rows lie beyond the ranges seen, by the margin that is allowed.

For each embedded set and each of 20 splits, ranges are taken from four fifths of the rows, and the
others are counted if any number of theirs lies beyond its range by more than the margin, a share of
that range. ``python -m benchmarks.outside`` writes results/outside.json; it takes seconds.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl

from condrisk._files import write_whole
from condrisk.app.models._outside import Seen
from condrisk.app.tables import table_schema
from condrisk.datasets import UCI_NAMES, load_uci

RECORD = Path(__file__).parent.parent / "results" / "outside.json"
MARGINS, SPLITS, HELD = (0.0, 0.05, 0.1, 0.2, 0.5), 20, 0.2


def shares(name: str) -> list[float]:
    """Return, for each margin, the mean share of held-out rows that are outside."""
    data = load_uci(name)
    frame = pl.DataFrame(data.data, schema=[f"c{k}" for k in range(data.data.shape[1])])
    found = np.zeros((SPLITS, len(MARGINS)))
    for seed in range(SPLITS):
        order = np.random.default_rng(seed).permutation(frame.height)
        cut = int((1 - HELD) * frame.height)
        columns = table_schema(frame[order[:cut]]).columns
        held = frame[order[cut:]]
        for k, margin in enumerate(MARGINS):
            found[seed, k] = Seen(columns, margin).outside(held, {}).any.mean()
    return found.mean(axis=0).round(5).tolist()


def main() -> None:
    """Write the record."""
    record = {
        "margins": list(MARGINS),
        "splits": SPLITS,
        "held_out": HELD,
        "found": {name: shares(name) for name in UCI_NAMES},
    }
    write_whole(RECORD, json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    main()
