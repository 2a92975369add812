"""Frames as they are: the aim is met in the record, and the page says where it is not."""

import json

import numpy as np
import pandas as pd
import pytest
from benchmarks import frames as benchmark
from tools import checks_frames as page

RECORD = json.loads(page.RECORD.read_text("utf-8"))


def test_ours_lose_no_more_than_pipelines_made_by_hand():
    frames = page.by_frame(RECORD["records"])
    assert {name: len(lines) for name, lines in frames.items()} == dict.fromkeys(
        benchmark.SOURCES, benchmark.N_SPLITS
    )
    for name in page.OURS:
        assert all(page.ratio(frames, name, cell) <= 1 for cell in page.cells_of(frames))
        assert not page.compare(frames, name).worse


def made_up(ours, theirs):
    """Return a frame of five splits, in which each contender loses as much at all costs."""
    figures = {name: {"deferral": [loss] * 3, "never": loss} for name, loss in ours.items()}
    figures[page.BY_HAND] = {"deferral": [theirs] * 3, "never": theirs}
    return [
        {
            "costs": [1.0, 2.0, 3.0],
            "figures": {
                name: found | {"deferral": [x * (1 + k / 100) for x in found["deferral"]]}
                for name, found in figures.items()
            },
        }
        for k in range(5)
    ]


def test_the_verdict_turns_with_the_record():
    good = {"one": made_up({page.OURS[0]: 0.8}, 1.0)}
    text = page.verdict(page.OURS[0], good)
    assert "at most that by hand in 3 of 3 cells, 0.80 of it" in text
    assert "significantly lower in 3, higher in 0." in text
    bad = good | {"two": made_up({page.OURS[0]: 1.5}, 1.0)}
    text = page.verdict(page.OURS[0], bad)
    assert "in 3 of 6 cells" in text
    assert "higher in 3 (above it: two at 0.5: 1.500; two at 0.7: 1.500; two at 0.85" in text


@pytest.mark.parametrize("classes", [False, True])
def test_a_pipeline_by_hand_takes_every_column(classes):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        {
            "a": np.where(np.arange(120) % 9, rng.normal(size=120), np.nan),
            "kind": pd.Categorical(rng.choice(["x", "y"], 120)),
            "note": pd.array([f"note {k % 40}" for k in range(120)], dtype="str"),
            "when": pd.Timestamp("2024-01-01") + pd.to_timedelta(np.arange(120), "D"),
        }
    )
    y = np.where(X["kind"] == "x", "yes", "no") if classes else rng.normal(size=120)
    new = X[80:].assign(note="never seen", when=pd.NaT).reset_index(drop=True)
    predict = benchmark.two_steps(benchmark.by_hand, X[:80].reset_index(drop=True), y[:80])
    prediction, risk = predict(new)
    assert np.isfinite(risk).all()
    if classes:
        assert (prediction == y[80:]).all()
    assert len(benchmark.costs_of(X, y)) == 3
    with_encoder = benchmark.before_boosting(X, classes)
    assert with_encoder.steps[0][0] == "tableencoder"
    assert not hasattr(benchmark.before_boosting(X[["a", "kind"]], classes), "steps")
