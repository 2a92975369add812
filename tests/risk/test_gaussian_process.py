"""The Gaussian process: its gradient, and scikit-learn's with the same kernel."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import approx_fprime
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import ConstantKernel, Matern, WhiteKernel

from condrisk.risk._gaussian_process import JITTER, GaussianProcess, _cost, learn_kernel


def rows(n_rows=80, n_features=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, n_features))
    return X, np.sin(2 * X[:, 0]) + 0.1 * rng.normal(size=n_rows)


@pytest.mark.parametrize("seed", range(4))
def test_gradient(seed):
    X, y = rows(seed=seed)
    logs = np.random.default_rng(seed).normal([1, 1, 1, 0, -2], 0.7)
    slope = approx_fprime(logs, lambda at: _cost(at, X, y)[0], 1e-6)
    assert_allclose(_cost(logs, X, y)[1], slope, rtol=1e-4, atol=1e-4)


def test_predictions_are_those_of_scikit_learn_with_the_same_kernel():
    X, y = rows()
    ours = GaussianProcess(0).fit(X, y)
    scales, signal, noise = ours.kernel
    kernel = ConstantKernel(signal) * Matern(scales, nu=2.5) + WhiteKernel(noise + JITTER)
    theirs = GaussianProcessRegressor(kernel, optimizer=None, alpha=0.0)
    theirs.fit((X - X.mean(0)) / X.std(0), (y - y.mean()) / y.std())
    fresh = rows(seed=1)[0]
    mean, deviation = theirs.predict((fresh - X.mean(0)) / X.std(0), return_std=True)
    found, spread = ours.predict(fresh)
    assert_allclose(found, y.mean() + y.std() * mean, atol=1e-8)
    assert_allclose(spread, y.std() * deviation, rtol=1e-4)


def test_length_scales_tell_the_feature_that_matters():
    for seed in range(3):
        X, y = rows(200, seed=seed)
        scales = learn_kernel((X - X.mean(0)) / X.std(0), (y - y.mean()) / y.std()).scales
        assert scales[0] < scales[1:].min()


def test_deviation_grows_away_from_the_rows():
    X, y = rows()
    process = GaussianProcess(0).fit(X, y)
    assert process.predict(X + 100)[1].min() > process.predict(X)[1].max()


def test_constant_features_and_targets():
    X, y = rows()
    X[:, 1] = 7.0
    process = GaussianProcess(0)
    assert np.isfinite(process.fit(X, y).predict(X)[0]).all()
    assert_allclose(process.fit(X, np.full(len(y), 3.0)).predict(X)[0], 3.0)
