"""Each printed claim fails where it should, each repair holds, and the figures are known ones."""

from itertools import combinations, product

import numpy as np
import pytest
from scipy.stats import binom, binomtest

from condrisk.paper.theory import COUNTEREXAMPLES, _counterexamples, simulate_counterexample
from condrisk.paper.theory._cantor import distance_regressor_error
from condrisk.paper.theory._flaws_of_probabilities import _cells_complexity, _moved
from condrisk.paper.theory._registry import FLAWS
from condrisk.paper.theory.complexity import constant_complexity

every = pytest.mark.parametrize("name", COUNTEREXAMPLES)


def simulate(name, seed=0, **options):
    return simulate_counterexample(name, random_state=seed, **options)


def test_every_flaw_is_listed():
    assert set(COUNTEREXAMPLES) == set(FLAWS)
    assert all(shown.name == name for name, shown in COUNTEREXAMPLES.items())


@every
def test_printed_claim_fails_and_repair_holds(name, seed):
    result = simulate(name, seed, n_repetitions=400)
    assert binomtest(result.violations, 400, result.delta, alternative="greater").pvalue < 1e-9
    allowed = binomtest(result.repaired_violations, 400, result.delta, alternative="greater")
    assert allowed.pvalue > 1e-4
    sign = 1 if result.relation == "<=" else -1
    assert sign * (result.observed - result.printed_bound) > 0
    assert sign * (result.repaired_observed - result.repaired_bound) <= 1e-12


@every
def test_more_rows_do_not_save_the_claim(name):
    rows = 4 * COUNTEREXAMPLES[name].n
    if name == "unbounded_log_loss":
        rows = COUNTEREXAMPLES[name].n * 3 // 2  # with many rows the rare class is seen
    result = simulate(name, n=rows, n_repetitions=100)
    assert result.violations > 40
    assert result.repaired_violations <= 12


@every
def test_same_seed_same_figures_and_fields(name):
    one, other = (simulate(name, 7, n_repetitions=30) for _ in range(2))
    assert one == other
    shown = COUNTEREXAMPLES[name]
    assert (one.claim, one.repair, one.n) == (shown.claim, shown.repair, shown.n)
    assert 0 <= one.repaired_violations <= one.n_repetitions == 30


# What the worlds are built to show, in closed form.
KNOWN = {
    "proposition_1": 0.3,
    "unbiased_risk": 0.3 * 0.7 + 0.7 * 0.3,
    "weak_realizability": 0.4,
    # 0.8·min(share, 1 − share), where |share − ½| is half the mean of random signs
    "proposition_2_membership": 0.8 * (0.5 - constant_complexity(n=1000).value),
    "theorem_1_line_1": 0.4 * 0.3,
    "theorem_1_line_2": 0.8,
    "theorem_1_cross_term": 0.9 * 0.08 + 0.1 * 0.72,
    "theorem_1_conditional_mean": 0.5 - (0.2 - 0.5),
    "outside_simplex": 4.5,
    "unique_minimizer": 0.5,
    "rejection_over_class": 2 * 0.1 + 0.1**2,
    "proposition_3_density": distance_regressor_error(3000, depth=5),
}


@pytest.mark.parametrize("name", KNOWN)
def test_observed_mean_is_the_known_one(name, seed):
    result = simulate(name, seed)
    assert abs(result.observed - KNOWN[name]) < 5 * result.standard_error + 1e-12


@pytest.mark.parametrize(
    ("name", "mean", "spread"),
    [
        ("proposition_1", 0.21 / 1000, 0.21 / 1000 * np.sqrt(2)),  # a squared normal, nearly
        ("unbiased_risk", 0.0, 0.6 * np.sqrt(0.21 / 1000)),
        ("theorem_1_conditional_mean", 0.0, 0.4 * np.sqrt(0.09 / 1000)),
        ("outside_simplex", 0.9, 0.1),  # the shares of ten classes are alike
        ("rejection_over_class", 1.21, 1e-9),
    ],
)
def test_repaired_mean_is_the_known_one(name, mean, spread, seed):
    result = simulate(name, seed)
    assert abs(result.repaired_observed - mean) < 5 * spread / np.sqrt(2000)


def test_printed_bounds_have_the_known_values():
    assert simulate("proposition_1").printed_bound == pytest.approx(0.103, abs=5e-4)
    assert simulate("theorem_1_line_1").printed_bound == pytest.approx(0.04, abs=1e-3)
    result = simulate("proposition_1", n_repetitions=2000)
    assert result.violations == 2000


def test_standard_error_is_that_of_the_mean():
    means = [simulate("theorem_1_line_1", seed, n_repetitions=100) for seed in range(200)]
    spread = np.std([result.observed for result in means], ddof=1)
    assert np.mean([result.standard_error for result in means]) == pytest.approx(spread, rel=0.2)


def test_the_rare_class_decides_about_log_loss(seed):
    result = simulate("unbounded_log_loss", seed)
    unseen = (1 - 6e-4) ** 500
    assert binomtest(result.violations, 2000, unseen).pvalue > 1e-4
    risk = (1 - 6e-4) * np.log(2) + 6e-4 * 300 * np.log(10)
    expected = result.violations / 2000 * (risk - np.log(2)) ** 2
    assert result.observed == pytest.approx(expected)


def test_realizable_cells_err_as_often_as_coins_do(seed):
    result = simulate("theorem_1_line_1_realizable", seed, n_repetitions=100)
    rows = np.arange(2000)
    chances = binom.pmf(rows, 300_000, 1 / 1500)
    nearer_to_the_wrong_one = binom.sf(np.floor(rows * (0.5 + 0.053 / 2)), rows, 0.5)
    expected = 0.053 * chances @ nearer_to_the_wrong_one
    assert abs(result.observed - expected) < 5 * result.standard_error


def test_proposition_1_from_rows(seed):
    rng = np.random.default_rng(seed)
    losses = rng.random((20, 501)) < 0.3
    grid = np.linspace(0, 1, 101)
    absolute = np.abs(grid[:, np.newaxis, np.newaxis] - losses).mean(axis=2)
    squared = ((grid[:, np.newaxis, np.newaxis] - losses) ** 2).mean(axis=2)
    assert (np.abs(grid[absolute.argmin(axis=0)] - 0.3) == 0.3).all()
    assert (np.abs(grid[squared.argmin(axis=0)] - losses.mean(axis=1)) <= 0.005 + 1e-9).all()


def test_the_bias_of_the_test_error_depends_on_the_estimate():
    # Zero has a risk of 0.3 and is scored 0.3; the truth has none and is scored 0.42.
    z = np.random.default_rng(0).random(400_000) < 0.3
    assert np.abs(0.0 - z).mean() - 0.3 == pytest.approx(0.0, abs=0.005)
    assert np.abs(0.3 - z).mean() - 0.0 == pytest.approx(0.42, abs=0.005)


def test_moves_are_those_of_least_brier_loss(seed):
    # All moves of one cell: none, or ten of twenty classes up.
    lifts = np.full((184_756, 20), -1 / 20)
    lifts[np.arange(len(lifts))[:, np.newaxis], list(combinations(range(20), 10))] = 1 / 20
    rng = np.random.default_rng(seed)
    counts = rng.integers(0, 40, 30)

    class Recorded:
        def multinomial(self, rows, chances):
            self.labels = rng.multinomial(rows, chances)
            return self.labels

    recorded = Recorded()
    moved = _moved(counts, recorded)
    crowded = counts > 10
    for cell, labels in zip(np.flatnonzero(crowded), recorded.labels, strict=True):
        # n‖v‖² − 2 Σ v_y, where none is zero
        change = labels.sum() / 20 - 2 * (lifts @ labels)
        assert moved[cell] == (change.min() < -1e-9)
    assert (moved[~crowded] == (counts[~crowded] > 0)).all()


class TestCellsComplexity:
    @pytest.mark.parametrize("n", [1, 2, 7, 100])
    def test_one_cell_is_a_constant(self, n):
        value = _cells_complexity(n=n, n_cells=1, width=0.5).value
        assert value == pytest.approx(constant_complexity(n=n, upper=0.5).value)

    @pytest.mark.parametrize(("n", "n_cells"), [(3, 2), (4, 3)])
    def test_by_enumeration(self, n, n_cells):
        total = 0.0
        for cells in product(range(n_cells), repeat=n):
            for signs in product([-1, 1], repeat=n):
                sums = np.bincount(cells, weights=signs, minlength=n_cells)
                total += np.maximum(sums, 0).sum() / n
        mean = total / (n_cells**n * 2**n)
        assert _cells_complexity(n=n, n_cells=n_cells).value == pytest.approx(mean)


def test_blocks_change_nothing(monkeypatch):
    # This one draws row by row, so blocks of 7, 7, …, 1 repetitions draw the same rows.
    whole = simulate("rejection_over_class", n=200, n_repetitions=50)
    monkeypatch.setattr(_counterexamples, "_BLOCK_ROWS", 1500)
    assert simulate("rejection_over_class", n=200, n_repetitions=50) == whole


def test_one_repetition_has_no_standard_error():
    assert np.isnan(simulate("proposition_1", n_repetitions=1).standard_error)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"name": "proposition_4"}, "name must be one of .*proposition_1.*got 'proposition_4'"),
        ({"name": "proposition_1", "n": 0}, "n must be at least 1"),
        ({"name": "proposition_1", "n_repetitions": 0}, "n_repetitions must be at least 1"),
        ({"name": "proposition_1", "delta": 1.0}, "delta must lie strictly between 0 and 1"),
    ],
)
def test_bad_arguments(options, message):
    with pytest.raises(ValueError, match=message):
        simulate_counterexample(**options)
