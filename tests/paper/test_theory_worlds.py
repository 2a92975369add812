"""The worlds of the study of the theory: closed forms against enumeration and against draws."""

import itertools
import math

import numpy as np
import pytest
from scipy import integrate, optimize, stats

from condrisk.inference import sample_size
from condrisk.paper.theory import Bound
from condrisk.paper.theory.simulations import (
    TheoryConfig,
    _coverage,
    _excess,
    _median,
    _planning,
)
from condrisk.paper.theory.simulations._cells import (
    LossCells,
    cell_complexity,
    make_class_cells,
    make_loss_cells,
    mean_absolute_sum,
)


def all_signs(n):
    return np.array(list(itertools.product([-1, 1], repeat=n)))


def test_mean_absolute_sum_by_enumeration():
    found = mean_absolute_sum(np.arange(11))
    assert found[0] == 0
    for m in range(1, 11):
        assert found[m] == pytest.approx(np.abs(all_signs(m).sum(axis=1)).mean())


@pytest.mark.parametrize(("n", "n_cells"), [(1, 3), (4, 2), (5, 3)])
def test_cell_complexity_by_enumeration(n, n_cells):
    values = np.array(list(itertools.product([0, 1], repeat=n_cells)))  # the extreme functions
    cells = np.array(list(itertools.product(range(n_cells), repeat=n)))
    supremum = [(all_signs(n) @ values[:, cell].T).max(axis=1).mean() / n for cell in cells]
    assert cell_complexity(n, n_cells=n_cells).value == pytest.approx(np.mean(supremum))


def test_cell_complexity_is_below_jensen_and_near_the_normal_limit():
    for n in (100, 10_000, 1_000_000):
        value = cell_complexity(n, n_cells=32).value
        assert value < 0.5 * math.sqrt(32 / n)
    assert value == pytest.approx(0.5 * math.sqrt(32 / n) * math.sqrt(2 / math.pi), rel=1e-3)


@pytest.mark.parametrize("n", [1, 2, 7, 12])
def test_threshold_complexity_by_enumeration(n):
    sums = np.cumsum(all_signs(n), axis=1)
    expected = np.maximum(sums.max(axis=1), 0).mean() / n
    assert _excess.threshold_complexity(n).value == pytest.approx(expected)


# -- losses in cells ------------------------------------------------------------------------------


def test_realised_error_by_integration():
    world = make_loss_cells()
    for cell in (0, 17, 31):
        law = stats.beta(0.5, world.b[cell])
        for estimate in (0.01, 0.3, 0.9, 1.0):
            expected, _ = integrate.quad(
                lambda u, law=law, estimate=estimate: abs(estimate - law.ppf(u)), 0, 1, limit=200
            )
            found = LossCells(world.b[[cell]]).realised(np.array([estimate]))
            assert found == pytest.approx(expected, abs=1e-5)


def test_medians_are_best(seed):
    world = make_loss_cells()
    best = world.realised(world.medians)
    other = np.clip(world.medians + 0.05 * np.random.default_rng(seed).standard_normal(32), 0, 1)
    assert best < world.realised(other)


@pytest.mark.parametrize("n", [4, 9])
def test_medians_without_rows_have_the_law_of_medians_of_rows(n):
    rng = np.random.default_rng(0)
    world = LossCells(np.array([2.0]))
    rows, medians = world.draw_medians(n, 3000, rng)
    assert (rows == n).all()
    direct = np.quantile(rng.beta(0.5, 2.0, size=(3000, n)), 0.5, axis=1, method="inverted_cdf")
    assert stats.ks_2samp(medians[:, 0], direct).pvalue > 1e-4


# -- classes in cells -----------------------------------------------------------------------------


def test_fits_of_counts_are_those_of_rows(seed):
    world = make_class_cells()
    rng = np.random.default_rng(seed)
    counts = world.draw(60, 3, rng)
    assert (counts.sum(axis=(1, 2)) == 60).all()
    means, frequencies = world.cell_means(counts), world.group_frequencies(counts)
    cell, label = (
        np.repeat(axis, counts[1].ravel()) for axis in np.indices((32, 3)).reshape(2, -1)
    )
    for j in range(32):
        here = label[cell == j]
        expected = world.loss[j, here].mean() if len(here) else 1.0
        assert means[1, j] == pytest.approx(expected)
        grouped = label[world.group[cell] == world.group[j]]
        share = np.bincount(grouped, minlength=3) / len(grouped)
        np.testing.assert_allclose(frequencies[1, j], share)


def test_probabilities_depend_on_the_group_alone():
    world = make_class_cells()
    assert len(np.unique(world.proba, axis=0)) == world.group.max() + 1 == 4
    np.testing.assert_allclose(world.proba.sum(axis=1), 1)
    assert world.proba.min() >= _excess.FLOOR
    assert 0 <= world.loss.min() < world.loss.max() == 1
    assert len(np.unique(world.risk.round(9))) > 4  # the risk is not a function of the group


@pytest.mark.parametrize("counts", [[5, 3, 2], [10, 0, 0], [97, 2, 1], [50, 50, 0]])
def test_floor_against_a_solver(counts):
    share = np.array(counts) / sum(counts)
    found = _excess.raise_to_floor(share[None], 0.05)[0]
    solved = optimize.minimize(
        lambda p: -(share * np.log(p)).sum(),
        np.full(3, 1 / 3),
        bounds=[(0.05, 1)] * 3,
        constraints={"type": "eq", "fun": lambda p: p.sum() - 1},
        options={"ftol": 1e-12},
    )
    assert found.sum() == pytest.approx(1)
    assert found.min() >= 0.05 - 1e-12
    np.testing.assert_allclose(found, solved.x, atol=1e-4)


# -- counting -------------------------------------------------------------------------------------


def test_violations_are_counted_and_tested():
    excess = np.repeat([0.1, 0.9], [70, 30])
    bound = {0.05: 0.5, 0.2: 0.95}
    record = _excess.violation_record(
        "x",
        10,
        excess,
        lambda n, delta: Bound(
            value=bound[delta], terms={}, assumptions=(), statement="", trivial=0.9
        ),
    )
    assert record["bounds"]["0.05"]["violations"] == 30
    assert record["bounds"]["0.05"]["p"] == pytest.approx(stats.binom.sf(29, 100, 0.05))
    assert not record["bounds"]["0.05"]["vacuous"]
    assert record["bounds"]["0.2"] == {
        "bound": 0.95,
        "violations": 0,
        "p": pytest.approx(1.0),
        "vacuous": True,
    }
    assert record["mean"] == pytest.approx(0.34)


def test_a_bound_that_is_too_small_is_found_out(monkeypatch):
    """A study that could not see a violation would prove nothing."""
    original = _excess.squared_error_bound
    monkeypatch.setattr(
        _excess,
        "squared_error_bound",
        lambda **arguments: original(**arguments | {"upper": 0.05, "complexity": 0.0}),
    )
    rng = np.random.default_rng(0)
    found = _excess.simulate({"n": 100}, TheoryConfig(quick=True), rng)
    [record] = [r for r in found if r["method"] == "squared_error"]
    assert record["bounds"]["0.05"]["violations"] == 40
    assert record["bounds"]["0.05"]["p"] < 1e-10


@pytest.mark.parametrize("world", _coverage.WORLDS)
def test_truth_of_the_worlds_of_intervals(world):
    world = _coverage.WORLDS[world]
    rng = np.random.default_rng(3)
    u = rng.random(400_000)
    z, estimate = world.draw(u, rng), world.estimate(u)
    assert 0 <= z.min() <= z.max() <= 1
    squared = (estimate - z) ** 2
    difference = squared - (world.reference(u) - z) ** 2
    error = (estimate - world.moments(u)[0]) ** 2
    for values, truth in zip((error, squared, difference), world.truth(), strict=True):
        assert values.mean() == pytest.approx(truth, abs=5 * values.std() / math.sqrt(len(u)))


def test_normal_interval():
    x = np.random.default_rng(0).uniform(-1, 1, (1, 50))
    found = _coverage.normal_interval(x, confidence=0.95, lower=-1.0, upper=1.0)
    expected = stats.norm.interval(0.95, loc=x.mean(), scale=stats.sem(x[0]))
    assert np.ravel(found) == pytest.approx((x.mean(), *expected))


def test_rows_needed_agrees_with_sample_size():
    exact = sample_size(epsilon=0.05, delta=0.05, upper=1.0, rate_constant=math.sqrt(20))
    setting = {"functions": "linear, 20 features, weights of norm 1"}
    found = _planning.simulate(setting, TheoryConfig(), np.random.default_rng(0))
    assert found[0]["rows_needed"] == pytest.approx(exact, rel=0.005)
    assert _planning.rows_needed(lambda n: 1.0, 0.5) is None


def test_medians_of_losses():
    rng = np.random.default_rng(0)
    risk = np.array([0.1, 0.3, 0.45])
    for law in _median.LAWS:
        medians = _median._medians(law, risk)
        for k, value in enumerate(risk):
            losses = _median._draw(law, float(value), 100_001, rng)
            assert losses.mean() == pytest.approx(value, abs=0.01)
            assert np.median(losses) == pytest.approx(medians[k], abs=0.01)
