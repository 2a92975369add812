"""The Gaussian process: its gradient, scikit-learn's with the same kernel, and rows held out."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import ConstantKernel, Matern, WhiteKernel

import condrisk.learners._gaussian_process as module
from condrisk.learners._gaussian_process import JITTER, GaussianProcess, _cost, learn_kernel

SMOOTHNESS = (0.5, 1.5)


def rows(n_rows=80, n_features=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, n_features))
    return X, np.sin(2 * X[:, 0]) + 0.1 * rng.normal(size=n_rows)


def folds(n_rows, n_folds=5):
    return np.random.default_rng(0).permutation(n_rows) % n_folds


def fitted(X, y, smoothness=1.5, leave_one_out=True):
    return GaussianProcess(0, smoothness).fit(X, y, folds(len(y)), leave_one_out=leave_one_out)


def scikit_learn(part, X, y):
    """Return scikit-learn's process with the kernel, mean and unit of a part of ours."""
    scales, signal, noise, smoothness = part.kernel
    kernel = ConstantKernel(signal) * Matern(scales, nu=smoothness) + WhiteKernel(noise + JITTER)
    process = GaussianProcessRegressor(kernel, optimizer=None, alpha=0.0)
    process.fit(X, (y - part.mean) / part.scale)

    def predict(at):
        mean, deviation = process.predict(at, return_std=True)
        return part.mean + part.scale * mean, part.scale * deviation

    return predict


@pytest.mark.parametrize("smoothness", SMOOTHNESS)
@pytest.mark.parametrize("seed", range(3))
def test_gradient(seed, smoothness):
    X, y = rows(seed=seed)
    logs = np.random.default_rng(seed).normal([1, 1, 1, 0, -2], 0.7)
    steps = 1e-3 * np.eye(len(logs))
    slope = [
        (_cost(logs + step, X, y, smoothness)[0] - _cost(logs - step, X, y, smoothness)[0]) / 2e-3
        for step in steps
    ]
    assert_allclose(_cost(logs, X, y, smoothness)[1], slope, rtol=1e-4, atol=1e-3)


@pytest.mark.parametrize("smoothness", SMOOTHNESS)
def test_predictions_are_the_average_of_two_of_scikit_learn(smoothness):
    X, y = rows()
    ours = fitted(X, y, smoothness)
    fresh = rows(seed=1)[0]
    middle, spread = X.mean(0), X.std(0)
    theirs = [
        scikit_learn(part, (X - middle) / spread, y)((fresh - middle) / spread)
        for part in ours._parts
    ]
    mean, deviation = ours.predict(fresh)
    assert_allclose(mean, (theirs[0][0] + theirs[1][0]) / 2, atol=1e-7)
    assert_allclose(deviation**2, (theirs[0][1] ** 2 + theirs[1][1] ** 2) / 2, rtol=1e-3)


@pytest.mark.parametrize("leave_one_out", [True, False])
def test_held_out_is_what_a_process_without_those_rows_says(leave_one_out):
    X, y = rows(60)
    fold = folds(60)
    ours = fitted(X, y, leave_one_out=leave_one_out)
    scaled = (X - X.mean(0)) / X.std(0)
    for row in range(0, 60, 7):
        left = np.arange(60) != row if leave_one_out else fold != fold[row]
        part = ours._parts[1 - fold[row] % 2]  # the one that did not learn on the row's fold
        mean, deviation = scikit_learn(part, scaled[left], y[left])(scaled[[row]])
        assert_allclose(ours.held_out[0][row], mean[0], atol=1e-6)
        assert_allclose(ours.held_out[1][row], deviation[0], rtol=1e-3)


@pytest.mark.parametrize("leave_one_out", [True, False])
def test_a_target_has_no_part_in_what_is_held_out(leave_one_out):
    X, y = rows(60)
    before = fitted(X, y, leave_one_out=leave_one_out).held_out[0]
    for row in (0, 11, 42):
        changed = y.copy()
        changed[row] += 100
        after = fitted(X, changed, leave_one_out=leave_one_out).held_out[0]
        assert_allclose(after[row], before[row], atol=1e-6)
        assert not np.allclose(after, before)


def test_few_reference_rows_are_less_sure(monkeypatch):
    X, y = rows(120)
    sure = fitted(X, y)
    monkeypatch.setattr(module, "REFERENCE_ROWS", 30)
    less = fitted(X, y)
    fresh = rows(seed=3)[0]
    assert_allclose(less.predict(fresh)[0], sure.predict(fresh)[0])
    assert (less.predict(fresh)[1] >= sure.predict(fresh)[1] - 1e-9).all()
    assert all(len(part.reference_root) == 30 for part in less._parts)


def test_chunks_change_nothing(monkeypatch):
    X, y = rows()
    process = fitted(X, y)
    whole = process.predict(X)
    monkeypatch.setattr(module, "CHUNK_ROWS", 7)
    assert_allclose(process.predict(X), whole)


def test_length_scales_tell_the_feature_that_matters():
    for seed in range(3):
        X, y = rows(200, seed=seed)
        scales = learn_kernel((X - X.mean(0)) / X.std(0), (y - y.mean()) / y.std(), 1.5).scales
        assert scales[0] < scales[1:].min()


def test_deviation_grows_away_from_the_rows():
    X, y = rows()
    process = fitted(X, y)
    assert process.predict(X + 100)[1].min() > process.predict(X)[1].max()


def test_constant_features_and_targets():
    X, y = rows()
    X[:, 1] = 7.0
    assert np.isfinite(fitted(X, y).predict(X)[0]).all()
    assert_allclose(fitted(X, np.full(len(y), 3.0)).predict(X)[0], 3.0)
