"""Plug-in risk against regression of losses: the simulation where its figures are known."""

import numpy as np
import pytest
from sklearn.dummy import DummyRegressor
from sklearn.linear_model import LinearRegression
from sklearn.neighbors import KNeighborsRegressor

from condrisk.datasets import make_heteroscedastic
from condrisk.paper.theory.simulations import TheoryConfig, _same_learner
from condrisk.paper.theory.simulations._same_learner import Moments, Rows
from condrisk.paper.theory.simulations._same_learner_tables import errors_table, ratios_table

ESTIMATES = ("constant", "losses on x", "losses on x, f, m", "plug-in", "corrected")


def draw(seed, n, *, deviation):
    """Return rows whose mean is no function that the predictor knows."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 2))
    mean = np.exp(X[:, 0])
    y = mean + deviation * rng.standard_normal(n)
    return Rows(X, y, mean, np.full(n, deviation**2))


def estimates(learner, moments_of, *, deviation):
    """Return the estimates and the true risk of f = 0.3 − x₂, for given moments of the target."""
    rows, fresh = draw(0, 60, deviation=deviation), draw(1, 40, deviation=deviation)
    f, fresh_f = (0.3 - sample.X[:, 1] for sample in (rows, fresh))
    moments = Moments(*moments_of(rows), *moments_of(fresh))
    found = _same_learner.estimate_risks(learner, rows, f, fresh.X, fresh_f, moments)
    assert tuple(found) == ESTIMATES
    return found, (fresh_f - fresh.mean) ** 2 + fresh.variance, (rows.y - f) ** 2


def test_true_moments_give_the_true_risk():
    found, risk, losses = estimates(
        DummyRegressor(), lambda rows: (rows.mean, rows.variance), deviation=0.4
    )
    np.testing.assert_allclose(found["plug-in"], risk)
    for name in ("constant", "losses on x", "losses on x, f, m"):  # what the dummy makes of them
        np.testing.assert_allclose(found[name], losses.mean())


def test_the_correction_finds_the_first_order_term():
    """No noise, m off by 0.7 and v by 0.2: what is missed is linear in f and m, not in x."""
    found, risk, _ = estimates(
        LinearRegression(),
        lambda rows: (rows.mean + 0.7, np.full(len(rows.y), 0.2)),
        deviation=0.0,
    )
    np.testing.assert_allclose(found["corrected"], risk, atol=1e-9)
    # ĝ − g = d² − 2d(f − μ) + v, of which the correction has to know every term.
    assert np.abs(found["plug-in"] - risk).max() > 2


def test_moments_are_held_out():
    """One neighbour has no residual on its own row, and twice the variance on others."""
    rng = np.random.default_rng(0)
    rows = Rows(rng.random((2000, 1)), rng.standard_normal(2000), np.zeros(2000), np.ones(2000))
    found = _same_learner.fit_moments(KNeighborsRegressor(1), rows, rows.X, 0)
    assert np.mean((rows.y - found.mean) ** 2) == pytest.approx(2, abs=0.25)
    assert found.variance.mean() == pytest.approx(2, abs=0.25)
    np.testing.assert_array_equal(found.fresh_mean, rows.y)  # fitted to all rows
    np.testing.assert_array_equal(found.fresh_variance, (rows.y - found.mean) ** 2)


@pytest.mark.parametrize("noise", _same_learner.NOISES)
def test_noise_has_the_level_and_the_variance_that_is_said(noise):
    world = make_heteroscedastic(100_000, n_features=4, random_state=0)
    rows = _same_learner._rows(world, {"noise": noise, "level": 0.5})
    assert rows.variance.mean() == pytest.approx(0.25, rel=0.03)
    assert (np.ptp(rows.variance) > 0) == (noise == "heteroscedastic")
    scaled = (rows.y - rows.mean) ** 2 / rows.variance
    for half in (rows.X[:, 0] < 0, rows.X[:, 0] >= 0):
        assert scaled[half].mean() == pytest.approx(1, abs=0.03)


@pytest.mark.parametrize("learner", ["splines", "forest"])
def test_records(learner):
    setting = {"learner": learner, "noise": "homoscedastic", "level": 0.5, "n": 200}
    rng = np.random.default_rng(0)
    found = {r["method"]: r for r in _same_learner.simulate(setting, TheoryConfig(quick=True), rng)}
    assert list(found) == [
        "the mean",
        "coefficient off by 0.5",
        "coefficient off by 1.5",
        "boosting",
        "nearest neighbour",
    ]
    for name, value in {"the mean": 0, "coefficient off by 0.5": 0.5}.items():
        assert found[name]["predictor_error"] == pytest.approx([value] * 2, abs=0.03)
    for record in found.values():
        assert record["mean_error"] == found["the mean"]["mean_error"]  # m knows of no predictor
        for name in ESTIMATES:
            assert len(record[name]) == record["repetitions"] == 2
            assert min(record[name]) > 0
        for absolute, bound in zip(record["absolute"], record["bound"], strict=True):
            assert 0 < absolute <= bound


def made_up(plug_in, *, learner="splines"):
    """Return a record in which the other errors are 1, and that of the constant 2."""
    ones = dict.fromkeys(("losses on x", "losses on x, f, m", "corrected"), [1.0] * len(plug_in))
    others = {k: [0.5, 0.5] for k in ("absolute", "bound", "mean_error", "predictor_error")}
    noise = {"noise": "homoscedastic", "level": 1.0, "n": 800}
    record = {"set": "same-learner", "method": "boosting", "learner": learner, **noise}
    return record | ones | others | {"plug-in": plug_in, "constant": [2.0, 2.0]}


def test_ratios_are_geometric_means_with_a_mark_where_they_are_not_certain():
    better, uncertain, worse = ([0.1, 0.11], [0.5, 2.0], [8.0, 8.1])
    records = [made_up(p, learner=str(k)) for k, p in enumerate((better, uncertain, worse))]
    shown = [group.rows[0][2] for group in ratios_table(records).groups]
    # The standard error of two logarithms is half their difference.
    se = np.log(2) * 1.0
    assert [cell.text for cell in shown] == ["0.10 ± 0.00", f"1.00 ± {se:.2f}*", "8.05 ± 0.05"]
    assert [cell.bold for cell in shown] == [True, False, False]


def test_errors_are_relative_to_the_mean_loss():
    (row,) = errors_table([made_up([0.2, 0.4])]).rows
    assert [cell.text for cell in row] == (
        ["boosting", "0.50", "0.50", "0.5", "0.5", "0.15", "0.5", "0.50", "0.50"]
    )
    assert [cell.text for cell in row if cell.bold] == ["0.15"]
