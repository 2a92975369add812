"""Worlds that are hard for g: the truth that the benchmark judges by, and its summary."""

import numpy as np
import pytest
from benchmarks import decisions, hard_worlds
from benchmarks.hard_worlds import COSTS, WORLDS, summarise
from scipy.integrate import quad
from scipy.stats import norm

NUMBERS = [name for name in WORLDS if not name.startswith("1:250")]


@pytest.mark.parametrize("name", NUMBERS)
def test_the_true_risk_is_a_squared_distance_plus_a_variance(name, monkeypatch):
    monkeypatch.setattr(hard_worlds, "N_NEW", 4)
    draw = WORLDS[name](0)
    zero = draw.true_risk(np.zeros(4))
    # (f − μ)² + σ²: from three values of f, both μ and σ are known.
    up, down = draw.true_risk(np.ones(4)), draw.true_risk(-np.ones(4))
    mean = (down - up) / 4
    variance = zero - mean**2
    assert (variance > 0).all()
    far = draw.true_risk(np.full(4, 7.0))
    np.testing.assert_allclose(far, (7 - mean) ** 2 + variance)


@pytest.mark.parametrize("noise", ["student", "lognormal", "normal"])
def test_noise_has_mean_zero_and_variance_one(noise):
    found = getattr(hard_worlds, noise)(np.random.default_rng(0), 2_000_000)
    assert found.mean() == pytest.approx(0, abs=0.005)
    assert found.var() == pytest.approx(1, abs=0.15)  # the fourth moment of t₃ is infinite


def test_costs_of_a_rare_class(monkeypatch):
    monkeypatch.setattr(hard_worlds, "N_NEW", 2000)
    draw = WORLDS["1:250, cost 50:1"](0)
    assert 0.002 < draw.y.mean() < 0.008
    flagged, passed = (draw.true_risk(np.full(2000, k)) for k in (1, 0))
    chance = passed / COSTS[1, 0]
    np.testing.assert_allclose(flagged, 1 - chance)


def test_a_summary_by_hand():
    rows = [
        {"world": "w", "predictor": "f", "figures": {"m": [ratio, error]}}
        for ratio, error in ((1.1, 0.5), (1.3, 2.0))
    ]
    [line] = summarise(rows)
    assert line["bias"] == pytest.approx(0.2)
    assert line["bias_se"] == pytest.approx(0.1)
    assert line["error"] == pytest.approx(1.0)
    assert line["draws"] == 2


def test_the_risk_of_a_quantile_is_an_integral(monkeypatch):
    """What `decisions` takes for the true risk, of a constant prediction."""
    monkeypatch.setattr(decisions, "N_NEW", 3)
    seen = {}
    monkeypatch.setattr(
        decisions, "judged", lambda m, w, X, risk, best: seen.update(w=w, X=X, r=risk)
    )
    decisions.numbers(0)
    law, X = seen["w"].law, seen["X"]
    found = seen["r"](np.full(3, 0.4))
    for mean, variance, risk in zip(law.mean(X), law.variance(X), found, strict=True):
        y = norm(mean, np.sqrt(variance))
        above = quad(lambda t, y=y: 0.9 * (t - 0.4) * y.pdf(t), 0.4, mean + 12 * y.std())[0]
        below = quad(lambda t, y=y: 0.1 * (0.4 - t) * y.pdf(t), mean - 12 * y.std(), 0.4)[0]
        assert risk == pytest.approx(above + below, rel=1e-6)
