"""Models under bounds that always hold: figures recomputed where they are known."""

import math

import numpy as np
import pytest

from condrisk.datasets import make_heteroscedastic
from condrisk.paper.theory._cantor import fat_cantor_measure
from condrisk.paper.theory.simulations import TheoryConfig, _plug_in, _rejection, _separable

QUICK = TheoryConfig(quick=True)


@pytest.mark.parametrize("world", _plug_in.WORLDS)
def test_plug_in_risks(world):
    found = _plug_in.simulate({"world": world}, QUICK, np.random.default_rng(0))
    by_method = {r["method"]: r for r in found}
    exact = by_method["p itself"]
    assert exact["error"] == exact["l1"] == exact["bounds"]["kl"] == 0
    # A mixture is as far away as its share of what is mixed in.
    whole, part = by_method["1 uniform"], by_method["0.3 uniform"]
    assert part["error"] == pytest.approx(0.3 * whole["error"])
    assert part["l1"] == pytest.approx(0.3 * whole["l1"])
    for record in found:
        upper = _plug_in.WORLDS[world]["upper"]
        assert record["bounds"]["lipschitz"] == pytest.approx(upper / 2 * record["l1"])
        assert record["error"] <= record["bounds"]["lipschitz"] + 1e-12
        assert record["error"] <= record["bounds"].get("kl", math.inf) + 1e-12
        if world.startswith("two"):  # an equality
            assert record["error"] == pytest.approx(record["l1"] / 2)
    assert "kl" not in by_method["nearest neighbour, 30 rows"]  # it gives probability zero


def test_losses_are_clipped_and_in_range():
    proba = np.array([[0.9, 0.1, 0.0], [0.3, 0.3, 0.4]])
    log_loss = _plug_in._losses(_plug_in.WORLDS["five classes, clipped log loss"], proba)
    np.testing.assert_allclose(log_loss[0], [-math.log(0.9), -math.log(0.1), -math.log(0.01)])
    assert log_loss.max() == _plug_in.WORLDS["five classes, clipped log loss"]["upper"]
    zero_one = _plug_in._losses(_plug_in.WORLDS["two classes, zero-one loss"], proba)
    np.testing.assert_array_equal(zero_one, [[0, 1, 1], [1, 1, 0]])


@pytest.mark.parametrize(("shift", "extra"), [(0.0, 0.0), (1.0, 0.0), (0.0, 5.0), (2.0, -1.0)])
def test_excess_loss_with_rejection(monkeypatch, shift, extra):
    """By hand: f = f* + shift, and a risk that is off by a constant."""
    world = make_heteroscedastic(10, n_features=4, random_state=0)

    def pairs(_, X, rng, *, quick):
        mean, variance = world.mean(X), world.variance(X)
        seen.append(variance)
        yield "one", mean + shift, variance + shift**2 + extra

    seen = []
    monkeypatch.setattr(_rejection, "_disturbed", pairs)
    found = _rejection.simulate({"pairs": "disturbed"}, QUICK, np.random.default_rng(1))
    for record in found:
        cost = record["cost"]
        assert record["regressor_error"] == pytest.approx(shift**2)
        assert record["risk_error"] == pytest.approx(abs(extra))
        assert record["bound"] == pytest.approx(shift**2 + abs(extra))
        v = seen[0]
        excess = [
            (b if b + extra <= cost else cost) - min(a, cost)
            for a, b in zip(v, v + shift**2, strict=True)
        ]
        assert record["excess"] == pytest.approx(np.mean(excess), abs=1e-12)
        assert record["excess"] <= record["bound"] + 1e-12


def test_pairs_are_fitted_to_the_right_rows():
    """A linear f on a linear mean is nearly perfect, and stays so for every g beside it."""
    found = _rejection.simulate({"pairs": "fitted"}, QUICK, np.random.default_rng(0))
    linear = {r["regressor_error"] for r in found if r["method"].startswith("linear +")}
    assert len(linear) == 1
    assert linear.pop() < 0.5
    by_regressor = {r["method"].split(" + ")[0]: r["regressor_error"] for r in found}
    assert len(by_regressor) == 4
    assert by_regressor["linear"] == min(by_regressor.values())


def test_separable_records():
    rng = np.random.default_rng(0)
    limits = _separable.simulate({"world": "limit"}, QUICK, rng)
    errors = [r["error"] for r in limits]
    assert errors == sorted(errors, reverse=True)
    outside = 1 - fat_cantor_measure(_separable.DEPTH)
    for record in limits:
        assert 0 < record["error"] <= min(record["closed_form"], outside) + 1e-6
    setting = {"world": "cantor", "n": 100, "lipschitz": 10.0}
    found = {r["method"]: r for r in _separable.simulate(setting, QUICK, rng)}
    assert found["calibration-based"]["error"] == 0
    assert found["regression on x"]["error"] > found["regression on x"]["limit"] > 0.1
    assert found["regression on x and f(x)"]["error"] < 0.02
    setting = {"world": "sectors", "n": 300}
    found = {r["method"]: r["error"] for r in _separable.simulate(setting, QUICK, rng)}
    assert found["calibration-based"] < 0.5 * min(
        found["regression on x"], found["regression on x and f(x)"]
    )
