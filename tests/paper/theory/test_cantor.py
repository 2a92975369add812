"""The fat Cantor set against exact fractions, and its regressors against other ways."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from condrisk.paper.theory._cantor import (
    distance_regressor_error,
    distance_to_fat_cantor,
    fat_cantor_intervals,
    fat_cantor_measure,
    in_fat_cantor,
)
from condrisk.paper.theory._cantor_regression import (
    best_lipschitz_error,
    best_lipschitz_regressor,
    fit_lipschitz,
)
from condrisk.paper.theory._separable import sample_cantor_world, separable_experiment

UNIT = st.floats(0, 1)


def fraction_intervals(depth):
    """Take the middles out of a list of intervals of fractions."""
    intervals = [(Fraction(0), Fraction(1))]
    for level in range(1, depth + 1):
        half = Fraction(1, 2 * 4**level)
        middles = [(start + end) / 2 for start, end in intervals]
        intervals = [
            piece
            for (start, end), middle in zip(intervals, middles, strict=True)
            for piece in ((start, middle - half), (middle + half, end))
        ]
    return intervals


def member_by_fractions(x, depth):
    """Follow one point down, in exact arithmetic."""
    point, (start, end) = Fraction(x), (Fraction(0), Fraction(1))
    if not start <= point <= end:
        return False
    for level in range(1, depth + 1):
        half, middle = Fraction(1, 2 * 4**level), (start + end) / 2
        if middle - half < point < middle + half:
            return False
        start, end = (start, middle - half) if point < middle else (middle + half, end)
    return True


class TestSet:
    @pytest.mark.parametrize("depth", range(8))
    def test_intervals_equal_those_of_fractions(self, depth):
        assert list(map(tuple, fat_cantor_intervals(depth))) == fraction_intervals(depth)

    @pytest.mark.parametrize("depth", [0, 1, 2, 5, 12, 20])
    def test_measure_is_closed_form_and_sum_of_lengths(self, depth):
        assert fat_cantor_measure(depth) == 0.5 + 2.0 ** (-depth - 1)
        assert np.diff(fat_cantor_intervals(depth), axis=1).sum() == fat_cantor_measure(depth)

    def test_measure_by_drawing_points(self, seed):
        inside = in_fat_cantor(np.random.default_rng(seed).random(200_000), depth=7)
        share = fat_cantor_measure(7)
        assert abs(inside.mean() - share) < 5 * np.sqrt(share * (1 - share) / inside.size)

    @given(UNIT, st.integers(0, 52))
    def test_membership_of_any_double(self, x, depth):
        assert in_fat_cantor(x, depth=depth) == member_by_fractions(x, depth)

    @pytest.mark.parametrize("depth", [1, 5, 20])
    def test_membership_at_and_beside_the_ends(self, depth):
        ends = fat_cantor_intervals(min(depth, 6))
        beside = np.concatenate([np.nextafter(ends[:, 0], -1), np.nextafter(ends[:, 1], 2)])
        assert in_fat_cantor(ends, depth=depth).all()
        assert not in_fat_cantor(beside, depth=depth).any()

    def test_deep_membership_near_the_ends(self, seed):
        rng = np.random.default_rng(seed)
        ends = rng.choice(fat_cantor_intervals(15).ravel(), 40)
        points = np.clip(ends + rng.normal(size=40) * 2.0 ** -rng.integers(20, 52, 40), 0, 1)
        expected = [member_by_fractions(x, 52) for x in points]
        assert in_fat_cantor(points, depth=52).tolist() == expected

    @given(st.integers(0, 2**20), st.integers(0, 12), st.integers(0, 12))
    def test_symmetric_and_shrinking(self, numerator, one_depth, other_depth):
        x = numerator / 2**20
        shallow, deep = sorted([one_depth, other_depth])
        assert in_fat_cantor(x, depth=deep) == in_fat_cantor(1 - x, depth=deep)
        assert in_fat_cantor(x, depth=shallow) or not in_fat_cantor(x, depth=deep)

    def test_shapes_are_kept(self):
        x = np.linspace(-1, 2, 24).reshape(2, 3, 4)
        assert in_fat_cantor(x, depth=3).shape == x.shape
        assert distance_to_fat_cantor(x, depth=3).shape == x.shape
        assert in_fat_cantor([], depth=3).shape == (0,)
        assert np.ndim(distance_to_fat_cantor(0.5, depth=3)) == 0

    @pytest.mark.parametrize("depth", [0, 1, 4])
    def test_distance_by_looking_at_all_intervals(self, depth, seed):
        x = np.random.default_rng(seed).uniform(-0.5, 1.5, 500)
        starts, ends = fat_cantor_intervals(depth).T
        beyond = np.maximum(starts - x[:, np.newaxis], x[:, np.newaxis] - ends)
        expected = np.maximum(beyond, 0).min(axis=1)
        np.testing.assert_allclose(distance_to_fat_cantor(x, depth=depth), expected, atol=1e-15)

    @pytest.mark.parametrize("function", [fat_cantor_measure, fat_cantor_intervals])
    def test_bad_depth(self, function):
        with pytest.raises(ValueError, match="depth must be at least 0"):
            function(-1)
        with pytest.raises(TypeError, match="depth must be an integer"):
            function(1.5)

    def test_too_deep(self):
        with pytest.raises(ValueError, match="depth must be at most 20"):
            fat_cantor_intervals(21)
        with pytest.raises(ValueError, match="depth must be at most 52"):
            in_fat_cantor(0.5, depth=53)
        with pytest.raises(ValueError, match="depth must be at most 10"):
            best_lipschitz_error(1.0, depth=11)

    def test_points_must_be_finite(self):
        with pytest.raises(ValueError, match="x must be finite"):
            in_fat_cantor([0.1, np.nan], depth=3)


class TestDistanceRegressor:
    @pytest.mark.parametrize("m", [0.5, 1.0, 7.0, 100.0, 5000.0])
    def test_closed_form_by_integration(self, m):
        x = (np.arange(1 << 16) + 0.5) / (1 << 16)
        distance = distance_to_fat_cantor(x, depth=5)
        error = np.abs((distance > 0) - np.minimum(1, m * distance)).mean()
        assert distance_regressor_error(m, depth=5) == pytest.approx(error, abs=2e-5)

    def test_the_limit_vanishes_like_one_over_root_m(self):
        slopes = np.geomspace(0.1, 1e9, 5000)
        scaled = [distance_regressor_error(m) * np.sqrt(m) for m in slopes]
        assert 1.3705 < max(scaled) < 1.3711

    def test_the_limit_is_the_limit(self):
        assert distance_regressor_error(50.0, depth=40) == pytest.approx(
            distance_regressor_error(50.0), abs=1e-12
        )
        # Between the depths lies what the set loses, at most.
        difference = distance_regressor_error(50.0) - distance_regressor_error(50.0, depth=6)
        assert 0 < difference < fat_cantor_measure(6) - 0.5


class TestBestLipschitz:
    @pytest.mark.parametrize(("m", "error"), [(1, 0.43), (10, 0.23), (100, 0.075)])
    def test_known_values(self, m, error):
        assert best_lipschitz_error(m) == pytest.approx(error, abs=0.005)

    @pytest.mark.parametrize("depth", [1, 3, 5])
    def test_steep_functions_lose_a_quarter_over_m_at_each_end(self, depth):
        # A ramp of width 1/m, centred on an end, leaves two triangles of area 1/(8m).
        m = 4.0**depth * 1024
        inner_ends = 2 ** (depth + 1) - 2
        assert best_lipschitz_error(m, depth=depth) == pytest.approx(inner_ends / (4 * m), rel=1e-6)

    def test_flat_functions_are_constants(self):
        error = best_lipschitz_error(1e-6)
        assert error == pytest.approx(1 - fat_cantor_measure(5), abs=1e-5)

    def test_decreasing_and_below_the_closed_forms(self):
        slopes = [0.5, 1, 3, 10, 30, 100, 300, 1000]
        errors = [best_lipschitz_error(m) for m in slopes]
        assert (np.diff(errors) < 0).all()
        for m, error in zip(slopes, errors, strict=True):
            assert 0 < error <= distance_regressor_error(m, depth=5) + 1e-9
            assert error <= 1.36 / np.sqrt(m)

    @pytest.mark.parametrize("m", [2.0, 40.0])
    def test_the_function_is_what_it_says(self, m):
        best = best_lipschitz_regressor(m)
        assert best.values.min() >= 0
        assert best.values.max() <= 1
        assert (np.abs(np.diff(best.values)) <= m * np.diff(best.nodes) + 1e-7).all()
        x = (np.arange(1 << 17) + 0.5) / (1 << 17)
        error = np.abs(best.predict(x) - ~in_fat_cantor(x, depth=5)).mean()
        assert best_lipschitz_error(m) == pytest.approx(error, abs=1e-5)

    def test_finer_grids_change_little(self):
        for m in (3.0, 60.0):
            coarse, fine = (best_lipschitz_error(m, n_cells=cells) for cells in (4096, 10_000))
            assert abs(coarse - fine) < 1e-4

    def test_against_dynamic_programming(self, seed):
        # Rows at multiples of 1/40 and m = 5: steps are multiples of 1/8. A programme with
        # differences for constraints has a best solution on that lattice.
        rng = np.random.default_rng(seed)
        x, z = rng.integers(0, 40, 60) / 40, rng.integers(0, 2, 60).astype(float)
        fitted = fit_lipschitz(x, z, 5.0)
        order = np.argsort(x)
        reach = np.rint(40 * np.diff(x[order])).astype(int)
        levels = np.arange(9)
        total = np.abs(levels / 8 - z[order][0])
        for target, steps in zip(z[order][1:], reach, strict=True):
            near = np.abs(levels[:, np.newaxis] - levels) <= steps
            total = np.where(near, total, np.inf).min(axis=1) + np.abs(levels / 8 - target)
        assert np.abs(fitted.values - z[np.argsort(x)]).sum() == pytest.approx(total.min())

    def test_bad_arguments(self):
        with pytest.raises(ValueError, match="lipschitz must be greater than zero"):
            best_lipschitz_error(0.0)
        with pytest.raises(ValueError, match="n_cells must be at least 1"):
            best_lipschitz_error(1.0, n_cells=0)


class TestSeparableExperiment:
    def test_rows(self, seed):
        rows = sample_cantor_world(20_000, depth=4, random_state=seed)
        assert ((rows.x >= 0) == rows.y).all()
        assert not ((rows.x > -1) & (rows.x < 0)).any()
        assert (rows.prediction == in_fat_cantor(rows.x, depth=4)).all()
        assert (rows.risk == (rows.prediction != rows.y)).all()
        # On the right, the risk is one outside the set.
        expected = (1 - fat_cantor_measure(4)) / 2
        assert abs(rows.risk.mean() - expected) < 5 * np.sqrt(expected / 20_000)

    @pytest.mark.parametrize("m", [1.0, 10.0, 100.0])
    def test_regression_keeps_its_distance_and_others_do_not(self, m, seed):
        result = separable_experiment(1000, lipschitz=m, random_state=seed)
        assert result.regression_limit == best_lipschitz_error(m) / 2
        assert result.regression_error > result.regression_limit - 1e-4
        assert result.calibration_error == 0.0
        assert result.augmented_error < 1e-3

    def test_more_rows_approach_the_limit(self, seed):
        result = separable_experiment(20_000, lipschitz=10.0, random_state=seed)
        assert result.regression_error == pytest.approx(result.regression_limit, abs=2e-3)

    @pytest.mark.parametrize("n", [1, 2, 3, 5])
    def test_calibration_error_by_integration(self, n, seed):
        rows = sample_cantor_world(n, random_state=seed)
        if len(set(rows.y)) == 1:
            threshold = np.inf if rows.y[0] == 0 else -np.inf
        else:
            threshold = (rows.x[rows.y == 0].max() + rows.x[rows.y == 1].min()) / 2
        unit = (np.arange(100_000) + 0.5) / 100_000
        x = np.concatenate([unit - 2, unit])
        prediction = in_fat_cantor(x, depth=5)
        error = np.abs((prediction != (x >= threshold)) * 1.0 - (prediction != (x >= 0))).mean()
        result = separable_experiment(n, lipschitz=1.0, random_state=seed)
        assert result.calibration_error == pytest.approx(error, abs=2e-5)

    def test_same_seed_same_result(self):
        one, other = (separable_experiment(50, lipschitz=2.0, random_state=3) for _ in range(2))
        assert one == other

    def test_bad_arguments(self):
        with pytest.raises(ValueError, match="lipschitz must be at least 1"):
            separable_experiment(50, lipschitz=0.5)
        with pytest.raises(ValueError, match="n must be at least 1"):
            separable_experiment(0, lipschitz=2.0)
