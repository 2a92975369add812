"""Units of the committed records, run again: the same figures to the last digit."""

import json
from pathlib import Path

import pytest

from condrisk.paper._records import parse_units
from condrisk.paper.active import run_active
from condrisk.paper.rwr import RwRConfig, run_rwr
from condrisk.paper.theory.simulations import run_theory

pytestmark = [
    pytest.mark.slow,
    # Active learning begins with few rows.
    pytest.mark.filterwarnings("ignore:the predictor is worse than a constant"),
]

RESULTS = Path(__file__).parents[2] / "results"
EMBEDDED = RwRConfig(folds="embedded", mlp="fast")
# The folder of the records, what runs the study, and the units to run again.
AGAIN = {
    "rwr": (
        "rwr/embedded-fast",
        lambda folder, **options: run_rwr(folder, config=EMBEDDED, **options),
        [("energy", 0), ("housing", 1), ("housing", 7), ("solar", 2), ("forest", 4)],
    ),
    "theory": (
        "theory",
        run_theory,
        [("excess", 3), ("plug-in", 2), ("separable", 15), ("same-learner", 0), ("false", 6)],
    ),
    "active": (
        "active",
        run_active,
        [("wine", 3), ("forest", 1), ("housing", 0), ("trap", 0), ("trap", 14)],
    ),
}


def without_times(record):
    return json.dumps({name: value for name, value in record.items() if name != "seconds"})


@pytest.mark.parametrize("study", AGAIN)
def test_five_units_again(study, tmp_path):
    name, run, keys = AGAIN[study]
    units, problems = parse_units((RESULTS / name / "records.jsonl").read_text(encoding="utf-8"))
    assert not problems
    committed = {unit.key: unit.records for unit in units}
    rest = [line for unit in units if unit.key not in keys for line in unit.to_lines()]
    (tmp_path / "records.jsonl").write_text("\n".join(rest) + "\n", encoding="utf-8")
    done = []
    records = run(tmp_path, progress=lambda now, total, what: done.append(what))
    assert len(done) == len(keys)  # nothing else was open
    again = [record for record in records if (record["set"], record["fold"]) in keys]
    assert len(again) == sum(len(committed[key]) for key in keys)
    different = [
        (record["set"], record["fold"], record["method"])
        for record in again
        if without_times(record)
        != without_times(committed[record["set"], record["fold"]][record["method"]])
    ]
    assert not different
