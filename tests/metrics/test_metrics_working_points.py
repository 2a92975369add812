"""AUGRC, coverage at risk and risk at coverage: brute force, and the values of other packages."""

from math import ceil

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.model_selection import cross_val_score

from condrisk import RegressionRisk
from condrisk.datasets import make_heteroscedastic
from condrisk.metrics import (
    augrc,
    coverage_at_risk,
    metric_interval,
    risk_at_coverage,
    risk_coverage_curve,
    risk_scorer,
)

N = 100
CONFIDENCES = {
    "equal": np.ones(N),
    "01": np.arange(N) % 2,
    "10": (np.arange(N) + 1) % 2,
    "asc": np.linspace(0.0, 1.0, N),
    "asc-u": np.arange(-N // 2, N // 2),
    "plateaus": np.repeat([0.2, 0.4, 0.6, 0.8], N // 4),
}
CORRECT = {
    "one": np.ones(N),
    "zero": np.zeros(N),
    "01": np.arange(N) % 2,
    "asc": np.linspace(0.0, 1.0, N),
    "plateaus": np.repeat([0.2, 0.4, 0.6, 0.8], N // 4),
}
# FD-Shifts' own test cases (fd_shifts/tests/utils.py): augrc, then mean losses at 50 and 95 % with
# their coverage, of each confidence and correctness.
FD_SHIFTS = {
    ("equal", "one"): (0.0, (1.0, 0.0), (1.0, 0.0)),
    ("equal", "zero"): (0.5, (1.0, 1.0), (1.0, 1.0)),
    ("equal", "01"): (0.25, (1.0, 0.5), (1.0, 0.5)),
    ("equal", "asc"): (0.25, (1.0, 0.5), (1.0, 0.5)),
    ("equal", "plateaus"): (0.25, (1.0, 0.5), (1.0, 0.5)),
    ("01", "one"): (0.0, (1.0, 0.0), (1.0, 0.0)),
    ("01", "zero"): (0.5, (1.0, 1.0), (1.0, 1.0)),
    ("01", "01"): (0.125, (0.5, 0.0), (1.0, 0.5)),
    ("01", "asc"): (0.24873737373737373, (0.5, 0.4949495), (1.0, 0.5)),
    ("01", "plateaus"): (0.249, (0.5, 0.496), (1.0, 0.5)),
    ("10", "one"): (0.0, (1.0, 0.0), (1.0, 0.0)),
    ("10", "zero"): (0.5, (1.0, 1.0), (1.0, 1.0)),
    ("10", "01"): (0.375, (1.0, 0.5), (1.0, 0.5)),
    ("10", "asc"): (0.25126262626262635, (1.0, 0.5), (1.0, 0.5)),
    ("10", "plateaus"): (0.251, (1.0, 0.5), (1.0, 0.5)),
    ("asc", "one"): (0.0, (1.0, 0.0), (1.0, 0.0)),
    ("asc", "zero"): (0.5, (1.0, 1.0), (1.0, 1.0)),
    ("asc", "01"): (0.2475, (0.51, 0.4901961), (0.95, 0.4947368)),
    ("asc", "asc"): (0.16583333333333353, (0.5, 0.2474747), (0.95, 0.4747475)),
    ("asc", "plateaus"): (0.1875, (0.5, 0.3), (0.95, 0.4842105)),
    ("asc-u", "one"): (0.0, (1.0, 0.0), (1.0, 0.0)),
    ("asc-u", "zero"): (0.5, (1.0, 1.0), (1.0, 1.0)),
    ("asc-u", "01"): (0.2475, (0.51, 0.4901961), (0.95, 0.4947368)),
    ("asc-u", "asc"): (0.16583333333333353, (0.5, 0.2474747), (0.95, 0.4747475)),
    ("asc-u", "plateaus"): (0.1875, (0.5, 0.3), (0.95, 0.4842105)),
    ("plateaus", "one"): (0.0, (1.0, 0.0), (1.0, 0.0)),
    ("plateaus", "zero"): (0.5, (1.0, 1.0), (1.0, 1.0)),
    ("plateaus", "01"): (0.2475, (0.75, 0.4933333), (1.0, 0.5)),
    ("plateaus", "asc"): (0.17108585858585845, (0.5, 0.2474747), (1.0, 0.5)),
    ("plateaus", "plateaus"): (0.1875, (0.5, 0.3), (1.0, 0.5)),
}


@pytest.mark.parametrize("case", FD_SHIFTS, ids=" ".join)
def test_values_of_fd_shifts(case):
    expected, *points = FD_SHIFTS[case]
    loss, risk = 1 - CORRECT[case[1]], -CONFIDENCES[case[0]]
    assert_allclose(augrc(loss, risk), expected, atol=1e-12)
    for at, (coverage, mean) in zip((0.5, 0.95), points, strict=True):
        best = risk_at_coverage(loss, risk, at, convention="best")
        assert_allclose(best, mean, atol=1e-7)
        assert_allclose(risk_at_coverage(loss, risk, coverage), mean, atol=1e-7)


# TorchUncertainty's own test cases (0.13, tests of its metrics for selective classification): the
# confidence of each row, which are wrong, and what is expected. Rows of equal confidence are either
# both right or at no end of what is looked at, since it has no rule for them.
FIVE, NINE = [0.9, 0.8, 0.7, 0.6, 0.8], [0.9, 0.8, 0.75, 0.7, 0.65, 0.6, 0.55, 0.52, 0.51]
SIX, TIED_SIX = [0.9, 0.81, 0.7, 0.85, 0.6, 0.8], [0.9, 0.8, 0.7, 0.85, 0.6, 0.8]
OUTSIDE = [0.95, 0.9, 0.2, 0.1, 0.05]
RISK_AT_COVERAGE = [
    (FIVE, [1, 1, 1, 1, 1], 0.5, 1),
    (FIVE, [0, 0, 1, 1, 1], 0.5, 1 / 3),
    (SIX, [0, 0, 1, 0, 1, 1], 0.5, 0),
    (TIED_SIX, [0, 0, 1, 0, 1, 1], 0.55, 1 / 4),
    (OUTSIDE, [0, 0, 1, 1, 1], 0.8, 0.5),
]
COVERAGE_AT_RISK = [
    (FIVE, [1, 1, 1, 1, 1], 0.5, 0),  # theirs: NaN
    (NINE, [1, 0, 1, 1, 1, 0, 0, 0, 1], 0.55, 8 / 9),
    (FIVE, [0, 0, 1, 1, 1], 0.5, 4 / 5),
    (FIVE, [0, 0, 1, 1, 0], 0.5, 1),
    ([0.9, 0.6, 0.8, 0.5, 0.7], [0, 1, 0, 1, 0], 0.3, 0.8),
    ([0.95, 0.9, 0.8, 0.7, 0.6], [0, 0, 0, 0, 0], 0.05, 1),
]
AUGRC = [
    ([0.9, 0.8, 0.7, 0.6, 0.8], [0, 0, 0, 0, 0], 0),
    ([0.9, 0.8, 0.7, 0.6, 0.8], [1, 1, 1, 1, 1], 0.6),
]


def one_by_one(confidence, wrong):
    """Return coverage and error rate after each row, the surest first: TorchUncertainty's curve."""
    order = np.argsort(-np.asarray(confidence), kind="stable")
    n = len(order)
    return np.arange(1, n + 1) / n, np.cumsum(np.asarray(wrong)[order]) / np.arange(1, n + 1)


@pytest.mark.parametrize(("confidence", "wrong", "at", "expected"), RISK_AT_COVERAGE)
def test_risk_at_coverage_of_torch_uncertainty(confidence, wrong, at, expected):
    coverage, rate = one_by_one(confidence, wrong)
    assert_allclose(rate[np.flatnonzero(coverage >= at - 1e-12)[0]], expected)
    assert_allclose(risk_at_coverage(wrong, -np.array(confidence), at), expected)


@pytest.mark.parametrize(("confidence", "wrong", "target", "expected"), COVERAGE_AT_RISK)
def test_coverage_at_risk_of_torch_uncertainty(confidence, wrong, target, expected):
    coverage, rate = one_by_one(confidence, wrong)
    assert_allclose(coverage[rate <= target].max(initial=0), expected)
    assert_allclose(coverage_at_risk(wrong, -np.array(confidence), target), expected)


@pytest.mark.parametrize(("confidence", "wrong", "expected"), AUGRC)
def test_augrc_of_torch_uncertainty(confidence, wrong, expected):
    coverage, rate = one_by_one(confidence, wrong)
    n = len(rate)
    assert_allclose(np.trapezoid(rate * coverage, coverage) / (1 - 1 / n), expected)
    ours = augrc(wrong, -np.array(confidence))
    assert_allclose((ours - rate[0] / (2 * n**2)) / (1 - 1 / n), expected)


def rows(seed, n=37, ties=False):
    rng = np.random.default_rng(seed)
    risk = rng.integers(6, size=n).astype(float) if ties else rng.permutation(n).astype(float)
    return rng.exponential(size=n) * (risk > 1), risk


@pytest.mark.parametrize("seed", range(5))
def test_values_of_torch_uncertainty_by_its_definitions(seed):
    """`RiskAtxCov`, `CovAtxRisk` and `AUGRC` of 0.13, row by row; it has no rule for ties."""
    loss, risk = rows(seed)
    n, accepted = len(loss), loss[np.argsort(risk)]
    rates = np.cumsum(accepted) / np.arange(1, n + 1)
    for coverage in (0.01, 0.2, 0.5, 0.8, 1.0):
        expected = rates[ceil(n * coverage) - 1]
        assert_allclose(risk_at_coverage(loss, risk, coverage), expected)
    for target in (0.3, 0.6, 0.9, 5.0):
        admissible = np.flatnonzero(rates <= target)
        assert_allclose(coverage_at_risk(loss, risk, target), (admissible[-1] + 1) / n)
    cov = np.arange(1, n + 1) / n
    theirs = np.trapezoid(rates * cov, cov) / (1 - 1 / n)
    assert_allclose((augrc(loss, risk) - accepted[0] / (2 * n**2)) / (1 - 1 / n), theirs)


@pytest.mark.parametrize("ties", [False, True])
def test_brute_force_over_thresholds_and_parts_of_rows(ties):
    loss, risk = rows(7, ties=ties)
    points = [(np.mean(risk <= t), loss[risk <= t].mean()) for t in np.unique(risk)]
    grid = np.linspace(0, 1, 200_001)[1:]
    # Rows in order of risk, those of equal risk with their mean loss, each 1/n long.
    spread = np.array([loss[risk == t].mean() for t in np.sort(risk)])
    inside = np.concatenate([[0.0], np.cumsum(spread)]) / len(loss)
    accepted = np.interp(grid, np.linspace(0, 1, len(loss) + 1), inside)
    assert_allclose(augrc(loss, risk), accepted.mean(), rtol=1e-4)
    for coverage in (0.1, 0.45, 0.9):
        step = min(point for point in points if point[0] >= coverage)[1]
        assert_allclose(risk_at_coverage(loss, risk, coverage), step)
        linear = np.interp(coverage, grid, accepted / grid)
        assert_allclose(
            risk_at_coverage(loss, risk, coverage, convention="linear"), linear, rtol=1e-3
        )
    for target in (0.4, 0.7):
        kept = [c for c, mean in points if mean <= target]
        assert_allclose(coverage_at_risk(loss, risk, target), max(kept, default=0.0))
        linear = grid[accepted <= target * grid].max()
        found = coverage_at_risk(loss, risk, target, convention="linear")
        assert_allclose(found, linear, atol=1e-4)


def test_no_threshold_keeps_the_target():
    assert coverage_at_risk([1.0, 1.0], [0.1, 0.2], 0.5) == 0.0
    assert coverage_at_risk([1.0, 1.0], [0.1, 0.2], 0.5, convention="linear") == 0.0
    assert coverage_at_risk([0.0, 0.0], [0.1, 0.2], 0.0) == 1.0


def test_a_point_of_the_curve_is_found_from_either_side():
    loss, risk = rows(3)
    curve = risk_coverage_curve(loss, risk)
    for coverage, mean in zip(curve.coverage, curve.selective_loss, strict=True):
        assert_allclose(risk_at_coverage(loss, risk, coverage), mean)
        assert coverage_at_risk(loss, risk, mean) >= coverage - 1e-12


@pytest.mark.parametrize(
    ("metric", "kwargs", "truth"),
    [
        ("augrc", {}, 1 / 6),  # ∫∫ u
        ("aurc", {}, 0.25),
        ("risk_at_coverage", {"coverage": 0.6}, 0.3),
        ("coverage_at_risk", {"target": 0.3}, 0.6),
    ],
)
def test_intervals_cover_about_as_often_as_they_say(metric, kwargs, truth):
    covered, widths = 0, []
    for k in range(60):
        rng = np.random.default_rng([5, k])
        u = rng.random(400)
        loss = (rng.random(400) < u).astype(float)
        found = metric_interval(metric, loss, u, n_resamples=100, confidence=0.9, **kwargs)
        covered += found.lower <= truth <= found.upper
        widths.append(found.upper - found.lower)
        assert found.lower <= found.estimate <= found.upper
    assert 45 <= covered <= 60  # 54 expected
    assert np.mean(widths) < 0.2


def test_wrong_arguments():
    for wrong in (0.0, 1.2):
        with pytest.raises(ValueError, match="coverage must be"):
            risk_at_coverage([1.0], [1.0], wrong)
    with pytest.raises(ValueError, match="convention"):
        risk_at_coverage([1.0], [1.0], 0.5, convention="cubic")
    with pytest.raises(ValueError, match="convention"):
        coverage_at_risk([1.0], [1.0], 0.5, convention="best")
    with pytest.raises(ValueError, match="metric must be one of"):
        metric_interval("nonsense", [1.0], [1.0])
    with pytest.raises(ValueError, match="n_resamples"):
        metric_interval("augrc", [1.0], [1.0], n_resamples=1)


def test_scorers_of_all():
    world = make_heteroscedastic(200, random_state=0)
    risk = RegressionRisk(LinearRegression(), regressor=Ridge(), cv=2, random_state=0)
    fitted = risk.fit(world.X, world.y)
    found = fitted.assess(world.X, world.y)
    for metric, kwargs, sign in (
        (augrc, {}, -1),
        (coverage_at_risk, {"target": 1.0}, 1),
        (risk_at_coverage, {"coverage": 0.5}, -1),
    ):
        scorer = risk_scorer(metric.__name__, **kwargs)
        value = metric(found.loss, found.risk, **kwargs)
        assert_allclose(scorer(fitted, world.X, world.y), sign * value)
        assert np.isfinite(cross_val_score(risk, world.X, world.y, scoring=scorer, cv=2)).all()
