"""The default regressor of losses."""

import pickle
import tracemalloc

import numpy as np
import pytest
from benchmarks.default_regressor import table
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize
from sklearn.tree import DecisionTreeRegressor
from sklearn.utils.estimator_checks import parametrize_with_checks

from condrisk._mixing import convex_shares
from condrisk._outliers import capped
from condrisk.datasets import make_heteroscedastic
from condrisk.learners import LossRegressor
from condrisk.learners._members import _values_by_size

BOOTSTRAP = (
    "its trees draw bootstrap samples of rows and its folds are of rows, so weights and repeats "
    "differ: scikit-learn's own forests are exempt from this check for the same reason"
)


@parametrize_with_checks(
    [LossRegressor()],
    expected_failed_checks=lambda _: {
        f"check_sample_weight_equivalence_on_{kind}_data": BOOTSTRAP for kind in ("dense", "sparse")
    },
)
def test_estimator_passes_the_checks_of_scikit_learn(estimator, check):
    check(estimator)


def noisy_losses(n_rows, seed=0, **options):
    world = make_heteroscedastic(n_rows, random_state=seed, **options)
    return world, (world.y - world.mean(world.X)) ** 2


@pytest.mark.parametrize("scale", [1e-6, 0.1, 3.0, 1e6])
def test_the_estimate_scales_with_the_losses(scale):
    world, loss = noisy_losses(300)
    plain = LossRegressor(random_state=0).fit(world.X, loss).predict(world.X)
    scaled = LossRegressor(random_state=0).fit(world.X, scale * loss).predict(world.X)
    assert_allclose(scaled, scale * plain, rtol=1e-6)


def test_the_estimate_shifts_with_the_losses():
    world, loss = noisy_losses(300)
    loss = np.round(loss * 1024) / 1024  # exact under the shift
    plain = LossRegressor(random_state=0).fit(world.X, loss).predict(world.X)
    shifted = LossRegressor(random_state=0).fit(world.X, loss - 8).predict(world.X)
    assert np.abs(shifted - (plain - 8)).mean() < 0.02 * plain.mean()


def test_the_estimate_stays_within_the_losses(seed):
    world, loss = noisy_losses(300, seed)
    regressor = LossRegressor(random_state=seed).fit(world.X, loss)
    far = regressor.predict(1e3 * world.X)
    assert far.min() >= loss.min()
    assert far.max() <= loss.max()
    assert sum(regressor.shares_.values()) == pytest.approx(1)


@pytest.mark.parametrize("value", [0.0, 1.0, -3.5])
@pytest.mark.parametrize("n_rows", [1, 5, 100])
def test_equal_losses_are_given_back(value, n_rows):
    X = np.random.default_rng(0).normal(size=(n_rows, 2))
    regressor = LossRegressor(random_state=0).fit(X, np.full(n_rows, value))
    assert_array_equal(regressor.predict(X), np.full(n_rows, value))


@pytest.mark.parametrize("n_rows", [1, 2, 5, 19, 20, 21, 30])
def test_a_few_rows_are_enough(n_rows):
    rng = np.random.default_rng(0)
    X, loss = rng.normal(size=(n_rows, 2)), rng.exponential(size=n_rows)
    assert np.isfinite(LossRegressor(random_state=0).fit(X, loss).predict(X)).all()


def test_a_single_error_among_many_rows():
    """Folds without any loss have nothing to learn."""
    X = np.random.default_rng(0).normal(size=(100, 2))
    loss = (np.arange(100) == 7).astype(int)
    risk = LossRegressor(random_state=0).fit(X, loss).predict(X)
    assert 0 <= risk.min() <= risk.max() <= 1
    assert risk.mean() < 0.2


def test_missing_values_are_taken():
    world, loss = noisy_losses(200)
    X = world.X.copy()
    X[::7, 1] = np.nan
    X[:, 2] = np.nan
    assert np.isfinite(LossRegressor(random_state=0).fit(X, loss).predict(X)).all()


def test_jobs_and_pickles_change_nothing():
    world, loss = noisy_losses(200)
    one = LossRegressor(random_state=3).fit(world.X, loss).predict(world.X)
    two = LossRegressor(random_state=3, n_jobs=2).fit(world.X, loss)
    assert_array_equal(two.predict(world.X), one)
    assert_array_equal(pickle.loads(pickle.dumps(two)).predict(world.X), one)


def test_weights_move_the_estimate():
    X = np.repeat([[0.0], [1.0]], 200, axis=0)
    loss = np.tile([1.0, 3.0], 200)
    weight = np.tile([1.0, 9.0], 200)
    risk = LossRegressor(random_state=0).fit(X, loss, sample_weight=weight).predict([[0.0], [1.0]])
    assert_allclose(risk, [2.8, 2.8], rtol=0.05)


def test_more_rows_than_a_tree_sees(monkeypatch):
    monkeypatch.setattr("condrisk.learners._members.ROWS_PER_TREE", 300)
    monkeypatch.setattr("condrisk.learners._loss_regressor.MOST_ROWS", 300)
    world, loss = noisy_losses(2000)
    regressor = LossRegressor(random_state=0).fit(world.X, loss)
    truth = world.variance(world.X)
    assert np.corrcoef(regressor.predict(world.X), truth)[0, 1] > 0.8


def test_among_many_rows_trees_of_a_small_share_are_left_out(monkeypatch):
    """What is left out is a tenth at most, and the others take its place."""
    found = []
    for seed in range(4):
        world, loss = noisy_losses(2000, seed)  # a log-linear world: trees are of little use
        monkeypatch.undo()
        kept = LossRegressor(random_state=0).fit(world.X, loss)
        monkeypatch.setattr("condrisk.learners._loss_regressor.MANY_ROWS", 1999)
        regressor = LossRegressor(random_state=0).fit(world.X, loss)
        found.append(0 < kept.shares_["trees"] < 0.1)
        assert (regressor.shares_["trees"] == 0) == (kept.shares_["trees"] < 0.1)
        assert (regressor.forest_ is None) == (kept.shares_["trees"] < 0.1)
        assert sum(regressor.shares_.values()) == pytest.approx(1)
        alike = np.corrcoef(regressor.predict(world.X), kept.predict(world.X))[0, 1]
        assert alike > 0.99
    assert any(found)
    assert not all(found)


def test_the_answer_at_a_size_stops_at_the_last_node_of_that_size():
    rng = np.random.default_rng(0)
    X, z = rng.normal(size=(200, 3)), rng.exponential(size=200)
    tree = DecisionTreeRegressor(random_state=0).fit(X, z)
    sizes = np.array([1, 5, 40, 1000])
    values = _values_by_size(tree.tree_, sizes)[tree.apply(X)]
    path = tree.decision_path(X)
    for row in range(0, 200, 17):
        nodes = path.indices[path.indptr[row] : path.indptr[row + 1]]  # from the root down
        for column, size in enumerate(sizes):
            held = [node for node in nodes if tree.tree_.n_node_samples[node] >= size] or [0]
            # nodes shrink on the way down, so the last that is large enough is the deepest
            assert values[row, column] == pytest.approx(tree.tree_.value[held[-1], 0, 0])


def test_shares_are_the_best_convex_combination():
    rng = np.random.default_rng(0)
    table = rng.exponential(size=(500, 4))
    z = table @ [0.6, 0.4, 0.0, 0.0] + rng.normal(size=500)
    weight = rng.random(500)
    shares = convex_shares(table, z, weight)

    def error(v):
        return np.average((table @ v - z) ** 2, weights=weight)

    best = minimize(
        error,
        np.full(4, 0.25),
        bounds=[(0, 1)] * 4,
        constraints={"type": "eq", "fun": lambda v: v.sum() - 1},
    )
    assert shares.sum() == pytest.approx(1)
    assert shares.min() >= 0
    assert error(shares) == pytest.approx(best.fun, rel=1e-4)


def test_the_figures_in_the_docstring_are_those_of_the_record():
    docstring = [line.strip() for line in LossRegressor.__doc__.splitlines()]
    for line in table().splitlines():
        assert line.strip() in docstring


# -- heavy tails -----------------------------------------------------------------------------------


def test_one_huge_loss_does_not_shape_the_estimate(seed):
    rng = np.random.default_rng(seed)
    X, loss = rng.normal(size=(400, 2)), rng.exponential(size=400)
    loss[7] = 1e4
    risk = LossRegressor(random_state=seed).fit(X, loss).predict(X)
    assert risk[7] < 3 * np.median(risk)
    assert risk.mean() == pytest.approx(loss.mean(), rel=0.35)  # the mean is kept


def test_what_the_cap_cuts_off_is_added_to_every_estimate_alike(seed):
    """One huge loss does not tell where the next one will be: it must not stretch the risk."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(400, 2))
    plain = np.exp(X[:, 0]) * rng.exponential(size=400)
    huge = plain.copy()
    huge[np.argsort(plain)[-30:]] *= np.linspace(1, 50, 30)
    cut = capped(huge, np.ones(400))
    without = LossRegressor(random_state=seed).fit(X, cut).predict(X)
    assert (cut < huge).any()
    risk = LossRegressor(random_state=seed).fit(X, huge).predict(X)
    inside = without < 0.2 * cut.max()  # beyond the cap neither estimate is held
    assert inside.mean() > 0.9
    assert_allclose((risk - without)[inside], huge.mean() - cut.mean(), rtol=1e-3)


def test_losses_are_capped_where_their_tail_amounts_to_twenty():
    rng = np.random.default_rng(0)
    weight = rng.uniform(0.5, 2, size=500)
    for loss in (rng.exponential(size=500), rng.pareto(1.1, size=500), np.arange(500.0) ** 8):
        found = capped(loss, weight)
        cap = found.max()
        assert_array_equal(found, np.minimum(loss, cap))

        def tail(limit, loss=loss):
            z = np.minimum(loss, limit)
            return (weight @ z**2) ** 2 / (weight @ z**4) / weight.mean()

        assert tail(cap) >= 20 - 1e-9
        higher = loss[loss > cap]
        assert not len(higher) or tail(higher.min()) < 20
    even = rng.exponential(size=5000)
    assert_array_equal(capped(even, np.ones(5000)), even)


@pytest.mark.parametrize("n_errors", [1, 7, 100])
def test_errors_of_one_size_are_not_capped(n_errors):
    loss = (np.arange(300) < n_errors).astype(float)
    assert_array_equal(capped(loss, np.ones(300)), loss)


def test_held_out_estimates_have_not_seen_their_loss():
    """What is pure noise cannot be told without having seen it; in sample it seems so."""
    rng = np.random.default_rng(0)
    X, loss = rng.normal(size=(400, 3)), rng.exponential(size=400)
    weight = np.where(np.arange(400) % 4 == 0, 0.0, 1.0)
    model = LossRegressor(random_state=0).fit(X, loss, weight)
    assert np.isnan(model.held_out_).tolist() == (weight == 0).tolist()
    used = weight > 0
    held_out = np.corrcoef(model.held_out_[used], loss[used])[0, 1]
    assert abs(held_out) < 0.15


def test_memory_of_wide_tables_grows_with_their_columns_and_not_with_the_square():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3000))
    loss = np.exp(X[:, 0]) * rng.normal(size=60) ** 2
    tracemalloc.start()
    try:
        LossRegressor(random_state=0).fit(X, loss)
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert most < 8 * 3000**2 / 2  # half of one square matrix, 36 MB


@pytest.mark.parametrize("share", [0.03, 0.2])
def test_the_mean_of_chances_is_that_of_the_errors(share):
    """A few errors in many rows are smoothed away easily, and the level with them."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 4))
    loss = (rng.uniform(size=300) < share * np.exp(X[:, 0] - 0.5)).astype(float)
    regressor = LossRegressor(random_state=0).fit(X, loss)
    assert_allclose(regressor.held_out_.mean(), loss.mean(), rtol=0.02)
    assert_allclose(regressor.predict(X).mean(), loss.mean(), rtol=0.15)
    assert regressor.predict(X).max() <= 1
