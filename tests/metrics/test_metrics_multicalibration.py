"""Calibration errors in segments, against slow ways to the same numbers."""

from itertools import pairwise

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose

from condrisk.metrics import multicalibration_error, segment_calibration


def slow(loss, risk):
    """Error and error in σ of one segment without ties, row by row."""
    order = sorted(range(len(loss)), key=lambda i: risk[i])
    residual = [loss[i] - risk[i] for i in order]
    n, total, high, low = len(loss), 0.0, 0.0, 0.0
    for r in residual:
        total += r / n
        high, low = max(high, total), min(low, total)
    squares = sum((b - a) ** 2 for a, b in pairwise(residual))
    return high - low, (high - low) / (squares / (2 * n * (n - 1))) ** 0.5


def rows(n=60, seed=0):
    rng = np.random.default_rng(seed)
    risk = rng.random(n)
    return risk * rng.exponential(size=n), risk, rng.integers(3, size=(n, 2))


def test_each_segment_is_what_the_definition_says():
    loss, risk, labels = rows()
    found = segment_calibration(loss, risk, labels)
    assert len(found.name) == 7
    assert (np.diff(found.sigma) <= 0).all()
    for k, name in enumerate(found.name):
        inside = np.ones(60, bool)
        if name != "all rows":
            column, value = name.removeprefix("column ").split(" = ")
            inside = labels[:, int(column)] == int(value)
        assert_allclose([found.error[k], found.sigma[k]], slow(loss[inside], risk[inside]))
        assert_allclose(found.mean_loss[k], loss[inside].mean())
        assert_allclose(found.mean_risk[k], risk[inside].mean())
        assert found.n_rows[k] == inside.sum()
    assert multicalibration_error(loss, risk, labels) == found.sigma[0]
    noise = slow(loss, risk)[0] / slow(loss, risk)[1]
    relative = multicalibration_error(loss, risk, labels, scale="relative")
    assert_allclose(relative, found.sigma[0] * noise / loss.mean())


def test_values_of_mcgrad():
    """MCGrad 0.1.5, MulticalibrationError(df, "loss", "risk", outcome_type="regression",
    categorical_segment_columns=["a", "b"], max_depth=1, min_samples_per_segment=2,
    precision_dtype="float64"), on these rows: mce_sigma and mce."""
    loss, risk, labels = rows()
    assert_allclose(multicalibration_error(loss, risk, labels), 1.5238994837150408, rtol=1e-9)
    relative = multicalibration_error(loss, risk, labels, scale="relative")
    assert_allclose(relative * loss.mean(), 0.12115748980433994, rtol=1e-9)


def test_rows_of_equal_risk_have_no_order():
    """The squared σ is the mean over the orders of rows that tie."""
    rng = np.random.default_rng(1)
    loss, risk = rng.exponential(size=6), np.array([0.1, 0.5, 0.5, 0.5, 0.9, 0.9])
    found = segment_calibration(loss, risk, np.zeros(6))
    squares = []
    for _ in range(20_000):
        order = np.lexsort((rng.random(6), risk))
        residual = (loss - risk)[order]
        squares.append(np.sum(np.diff(residual) ** 2) / (2 * 6 * 5))
    assert_allclose((found.error[0] / found.sigma[0]) ** 2, np.mean(squares), rtol=0.02)
    moved = segment_calibration(loss[::-1], risk[::-1], np.zeros(6))
    assert_allclose(moved.sigma, found.sigma)


def test_a_calibrated_risk_has_the_range_of_a_brownian_motion():
    rng = np.random.default_rng(2)
    found = []
    for _ in range(300):
        risk = rng.random(400)
        loss = (rng.random(400) < risk).astype(float)
        found.append(multicalibration_error(loss, risk, np.zeros(400)))
    assert 1.4 < np.mean(found) < 1.7  # √(8/π) = 1.60 in the limit
    assert np.mean(np.array(found) > 2.5) < 0.1


def test_counts_are_rows_given_so_many_times():
    loss, risk, labels = rows()
    count = np.random.default_rng(3).integers(0, 4, 60)
    weighted = segment_calibration(loss, risk, labels, sample_weight=count)
    repeated = segment_calibration(
        *(np.repeat(values, count, axis=0) for values in (loss, risk, labels))
    )
    assert weighted.name == repeated.name
    assert_allclose(weighted.sigma, repeated.sigma)
    assert_allclose(weighted.error, repeated.error)


def test_segments_may_overlap_and_have_names():
    loss, risk, _ = rows()
    masks = {"low": risk < 0.5, "lower": risk < 0.3}
    assert set(segment_calibration(loss, risk, masks).name) == {"all rows", "low", "lower"}
    for wrong in ({"low": risk}, {"low": [True]}):
        with pytest.raises(ValueError, match=r"segments\['low'\]"):
            segment_calibration(loss, risk, wrong)
    with pytest.raises(ValueError, match="scale"):
        multicalibration_error(loss, risk, masks, scale="percent")
    with pytest.raises(ValueError, match="segments must have a label"):
        multicalibration_error(loss, risk, [1, 2])


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_columns_of_a_frame_keep_their_names(frame):
    loss, risk, labels = rows()
    found = segment_calibration(
        loss,
        risk,
        frame({"city": np.array(["Oslo", "Rome", "Bern"])[labels[:, 0]], "kind": labels[:, 1]}),
    )
    assert set(found.name) == {
        "all rows", "city = Oslo", "city = Rome", "city = Bern", "kind = 0", "kind = 1", "kind = 2"
    }  # fmt: skip
    plain = segment_calibration(loss, risk, labels)
    assert_allclose(found.sigma, plain.sigma)


def test_numbers_of_many_values_are_thirds_and_many_labels_are_refused():
    loss, risk, _ = rows(600)
    age = np.arange(600) % 400 * 0.1
    found = segment_calibration(loss, risk, pd.DataFrame({"age": age}))
    assert set(found.name) == {"all rows", "age <= 9.967", "9.967 < age <= 19.93", "age > 19.93"}
    assert found.n_rows[found.name.index("all rows")] == 600
    alone = segment_calibration(loss, risk, age)
    assert set(alone.name) == {name.replace("age", "value") for name in found.name}
    gaps = np.where(np.arange(600) < 90, np.nan, age)
    assert "age = missing" in segment_calibration(loss, risk, pd.DataFrame({"age": gaps})).name
    with pytest.raises(ValueError, match="column 0 has 400 values, more than 50"):
        segment_calibration(loss, risk, age.astype(str))
