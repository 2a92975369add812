"""Claims about targets, the best pairs, lost cells and the risk itself: figures and verdicts."""

import numpy as np
import pytest
from fake_records import fake_records

from condrisk.datasets import load_uci
from condrisk.paper._page import FAILS, HOLDS, PARTLY
from condrisk.paper.rwr._claims._benchmarks import remaining
from condrisk.paper.rwr._claims._best_pairs import two_best
from condrisk.paper.rwr._claims._common import Run
from condrisk.paper.rwr._claims._effective import effective
from condrisk.paper.rwr._claims._targets import one_value, similar_models
from condrisk.paper.rwr._paper import PAIRS, SETS
from condrisk.paper.rwr._results import Results


@pytest.fixture
def exact():
    """Records that are the published figures."""
    return fake_records(noise=0.0, n_folds=3)


def section(write, records):
    return write([Run("made-up folds", Results(records), None)])


def row(text, *labels):
    start = f"| {' | '.join(labels)} | "
    (line,) = [line for line in text.splitlines() if line.startswith(start)]
    return [cell.strip() for cell in line[len(start) :].removesuffix("|").split("|")]


def losses_of(records, method, value):
    for record in records:
        if record["method"] == method:
            for cell in record["costs"].values():
                cell["loss"] = value
    return records


def test_the_second_best_pair_of_table_4_is_the_seventh(exact):
    text = section(two_best, exact)
    for source in ("paper's own tables", "made-up folds"):
        places = row(text, source, "energy")
        assert places == ["1 of 16", "7 of 16", "RF+RF, RF+MLP, RF+LR, RF+MLP2"]
        assert row(text, source, "8 sets")[:2] == ["1 of 16", "2 of 16"]
    assert "Not true: MLP+RF is one of the two best on energy (place 7)" in text
    text = section(two_best, losses_of(exact, "MLP+RF", 0.01))
    assert f"On the made-up folds the claim **{HOLDS}**" in text
    assert f"On the paper's own tables the claim **{PARTLY}**" in text
    assert section(two_best, [r for r in exact if r["method"] != "LR+LR"]) == ""


def test_lost_cells_of_the_paper_itself(exact):
    """Counted by hand in Table 7: at 10 % or more two of MLP+RF's (solar), six of RF+RF's."""
    text = section(remaining, exact)
    for source in ("As published", "On the made-up folds"):
        assert row(text, source, "MLP+RF") == ["7", "2", "4%", "28%"]
        assert row(text, source, "RF+RF") == ["15", "6", "7%", "28%"]
        assert f"{source} the claim **{PARTLY}**: of 22 lost cells 8 lose 10% or more" in text


@pytest.mark.parametrize(("loss", "verdict"), [(0.01, HOLDS), (99.0, FAILS)])
def test_lost_cells_turn_with_the_records(exact, loss, verdict):
    for method in ("MLP+RF", "RF+RF"):
        losses_of(exact, method, loss)
    text = section(remaining, exact)
    assert f"On the made-up folds the claim **{verdict}**" in text
    assert row(text, "On the made-up folds", "RF+RF")[0] == ("0" if verdict == HOLDS else "64")


def test_one_value_has_most_rows_of_solar_and_not_of_forest(exact):
    text = section(one_value, exact)
    for name, printed in (("solar", 0.63), ("forest", 2.11)):  # the loss of LR in Table 3
        y = load_uci(name).target
        share = np.mean(y == 0)  # no flare, no area burnt
        assert row(text, name)[:2] == [f"{share:.1%}", f"{1 - printed / y.var():.2f}"]
    assert "83% of solar's targets are one value (82.9%)" in text
    assert "Not true: one value has most rows of forest (48%)" in text
    assert "LR explains any of the variance of forest (-0.08)" in text
    for record in exact:
        if record["set"] == "solar" and record["method"].startswith("LR"):
            record["predictor_loss"] = 9.0
    assert "LR explains most on solar (best: MLP)" in section(one_value, exact)


def test_small_losses_are_those_of_small_targets(exact):
    text = section(similar_models, exact)
    assert "True: worst over best predictor loss less than on any other set" in text
    assert "Not true: predictor loss relative to the variance of y less than" in text
    solar = row(text, "made-up folds", "solar")
    variance = load_uci("solar").target.var()
    assert float(solar[3]) == pytest.approx(float(solar[1]) / variance, abs=0.01)
    assert solar[5] == f"{variance:.2f}"
    for record in exact:
        if record["set"] in ("wine", "solar", "forest"):
            record["predictor_loss"] = 1e-3
            record["risk_l1"] = 1e-7
    assert f"the made-up folds the claim **{HOLDS}**" in section(similar_models, exact)


def test_the_risk_against_a_constant():
    records = fake_records(n_folds=10, methods=PAIRS)
    n = len(SETS) * len(PAIRS)
    for record in records:
        record["loss_variance"], record["aurc"] = 2 * record["risk_l2"], 0.5
        record["predictor_loss"] = 1.0
    text = section(effective, records)
    assert row(text, "made-up folds", "all pairs") == [f"{n} of {n}", f"{n} / 0"] * 2
    assert f"**{HOLDS}**" in text
    for record in records:
        record["loss_variance"], record["aurc"] = 0.5 * record["risk_l2"], 2.0
    text = section(effective, records)
    assert row(text, "made-up folds", "all pairs") == [f"0 of {n}", f"0 / {n}"] * 2
    assert f"**{FAILS}**" in text


def test_a_risk_that_is_lower_by_chance_is_not_significantly_lower():
    records = fake_records(n_folds=10, methods=PAIRS, noise=0.5)
    rng = np.random.default_rng(0)
    for record in records:
        record["loss_variance"] = record["risk_l2"] + rng.normal(0.1)
    cells = row(section(effective, records), "made-up folds", "all pairs")
    assert int(cells[0].split()[0]) > 0.5 * len(SETS) * len(PAIRS)
    assert cells[1] == "0 / 0"
