"""LockstepMLPRegressor against scikit-learn's own networks, one by one."""

import pickle
import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.multioutput import MultiOutputRegressor
from sklearn.neural_network import MLPRegressor
from sklearn.utils.estimator_checks import parametrize_with_checks

from condrisk.paper.rwr import LockstepMLPRegressor

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def rows(seed, n=300, d=4):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    easy, hard = 0.1 * X[:, 0], 5 * np.abs(X[:, 1] * X[:, 2]) + rng.normal(size=n)
    return X, np.column_stack([hard, easy, np.full(n, 2.0), -hard])


@pytest.mark.parametrize(
    ("hidden", "batch_size"),
    [((64,), "auto"), ((16, 8), 100), ((8, 8, 8), 64), (5, 1000), ((16, 8), 1)],
)
def test_agrees_with_separate_fits_of_scikit_learn(hidden, batch_size, seed):
    X, Y = rows(seed, n=20 if batch_size == 1 else 300)
    settings = {
        "hidden_layer_sizes": hidden,
        "batch_size": batch_size,
        "learning_rate_init": 0.005,
        "max_iter": 30,
        "random_state": seed,
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # batches larger than the data, not converged
        theirs = MultiOutputRegressor(MLPRegressor(**settings)).fit(X, Y)
    ours = LockstepMLPRegressor(**settings, dtype="float64").fit(X, Y)
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), rtol=1e-7, atol=1e-9)
    np.testing.assert_array_equal(ours.n_iter_, [net.n_iter_ for net in theirs.estimators_])
    np.testing.assert_allclose(ours.loss_, [net.loss_ for net in theirs.estimators_], rtol=1e-8)


def test_each_network_stops_by_itself(seed):
    X, Y = rows(seed)
    settings = {"learning_rate_init": 0.01, "max_iter": 400, "random_state": seed, "tol": 1e-3}
    ours = LockstepMLPRegressor(**settings, dtype="float64").fit(X, Y)
    theirs = MultiOutputRegressor(MLPRegressor(**settings)).fit(X, Y)
    assert len(set(ours.n_iter_)) > 2
    np.testing.assert_array_equal(ours.n_iter_, [net.n_iter_ for net in theirs.estimators_])


def test_weights_as_in_scikit_learn(seed):
    X, Y = rows(seed)
    weight = np.random.default_rng(seed).uniform(0.1, 3, len(X))
    settings = {"max_iter": 40, "learning_rate_init": 0.01, "random_state": seed}
    ours = LockstepMLPRegressor(**settings, dtype="float64").fit(X, Y[:, 0], sample_weight=weight)
    theirs = MLPRegressor(**settings).fit(X, Y[:, 0], sample_weight=weight)
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), rtol=1e-8)


def test_a_row_without_weight_is_no_row(seed):
    X, Y = rows(seed)
    weight = (np.arange(len(X)) % 3 > 0).astype(float)
    net = LockstepMLPRegressor(max_iter=20, random_state=seed)
    some = net.fit(X[weight > 0], Y[weight > 0]).predict(X)
    np.testing.assert_array_equal(net.fit(X, Y, sample_weight=weight).predict(X), some)
    with pytest.raises(ValueError, match="at least one non-zero"):
        net.fit(X, Y, sample_weight=np.zeros(len(X)))


def test_a_column_alone_is_the_column_among_others(seed):
    X, Y = rows(seed)
    net = LockstepMLPRegressor(max_iter=30, random_state=seed, dtype="float64")
    together = net.fit(X, Y)
    columns, first = together.predict(X), together.target(0)
    assert columns.shape == Y.shape
    np.testing.assert_allclose(first.predict(X), columns[:, 0], rtol=1e-12)
    np.testing.assert_allclose(
        LockstepMLPRegressor(max_iter=30, random_state=seed, dtype="float64")
        .fit(X, Y[:, 0])
        .predict(X),
        columns[:, 0],
        rtol=1e-9,
    )
    for k in (-1, 4):
        with pytest.raises(ValueError, match="k must be from 0 to 3"):
            together.target(k)


def test_float32_is_close_while_training_is_short(seed):
    X, Y = rows(seed)
    single, double = (
        LockstepMLPRegressor(max_iter=30, random_state=seed, dtype=dtype).fit(X, Y).predict(X)
        for dtype in ("float32", "float64")
    )
    np.testing.assert_allclose(single, double, atol=1e-3 * Y.std())
    assert not np.array_equal(single, double)


def test_blocks_of_prediction_do_not_matter(monkeypatch):
    X, Y = rows(0)
    net = LockstepMLPRegressor(max_iter=5, random_state=0, dtype="float64").fit(X, Y)
    whole = net.predict(X)
    monkeypatch.setattr("condrisk.paper.rwr._lockstep._BLOCK", 7)
    np.testing.assert_allclose(net.predict(X), whole, rtol=1e-12)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(net)).predict(X), net.predict(X))


@pytest.mark.filterwarnings("error")
def test_says_when_it_has_not_converged():
    X, Y = rows(0)
    with pytest.warns(ConvergenceWarning, match="max_iter=3"):
        LockstepMLPRegressor(max_iter=3).fit(X, Y)


def test_says_when_it_diverges():
    X, Y = rows(0)
    with pytest.raises(ValueError, match="became infinite"):
        LockstepMLPRegressor(max_iter=50, learning_rate_init=1e30).fit(X, Y)


@pytest.mark.parametrize("sizes", [(), (0,), (3, -1), (2.5,), "ab"])
def test_bad_layers(sizes):
    X, Y = rows(0)
    with pytest.raises(ValueError, match="hidden_layer_sizes"):
        LockstepMLPRegressor(hidden_layer_sizes=sizes).fit(X, Y)


def expected_failures(_):
    reason = "batches of equal size hold fewer distinct rows when rows are repeated"
    return {
        "check_sample_weight_equivalence_on_dense_data": reason,
    }


@parametrize_with_checks(
    [LockstepMLPRegressor(max_iter=100)], expected_failed_checks=expected_failures
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)
