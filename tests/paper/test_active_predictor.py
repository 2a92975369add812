"""The predictor of the study: against scikit-learn's process, and rows left out by hand."""

import numpy as np
import pytest
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import ConstantKernel, Matern, WhiteKernel

from condrisk.paper.active import _predictor
from condrisk.paper.active._predictor import LENGTHS, NOISES, KernelProcess

RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 3))
Y = np.sin(X[:, 0]) + 0.3 * RNG.normal(size=40)
CLASSES = (X[:, 0] > 0.3).astype(int) + (X[:, 1] > 1)


def theirs(model):
    """Return scikit-learn's process with the parameters of ours."""
    kernel = ConstantKernel(model.signal_) * Matern(model.length_, nu=1.5)
    return GaussianProcessRegressor(kernel, alpha=model.signal_ * model.ratio_, optimizer=None).fit(
        X, Y - model.mean_[0]
    )


def test_predictions_and_covariance_are_those_of_scikit_learn():
    model = KernelProcess().fit(X, Y)
    new = RNG.normal(size=(15, 3))
    mean, covariance = theirs(model).predict(new, return_cov=True)
    assert model.predict(new) == pytest.approx(mean + model.mean_[0])
    found, noise = model.posterior(new)
    assert found == pytest.approx(covariance, abs=1e-7)
    assert model.variance(new) == pytest.approx(covariance.diagonal(), abs=1e-7)
    assert noise == pytest.approx(np.full(15, model.signal_ * model.ratio_))


def test_length_and_noise_have_the_largest_likelihood_on_the_grid():
    model = KernelProcess().fit(X, Y)
    apart = Y - Y.mean()
    best = -np.inf
    for length in LENGTHS * np.sqrt(3):
        for noise in NOISES:
            shape = Matern(length, nu=1.5) + WhiteKernel(noise)
            # The signal has a closed form given the two.
            signal = apart @ np.linalg.solve(shape(X), apart) / len(X)
            gp = GaussianProcessRegressor(ConstantKernel(signal) * shape, optimizer=None)
            likelihood = gp.fit(X, apart).log_marginal_likelihood_value_
            if likelihood > best:
                best, parameters = likelihood, (length, noise, signal)
    assert (model.length_, model.ratio_, model.signal_) == pytest.approx(parameters)


@pytest.mark.parametrize("n_classes", [None, 3])
def test_rows_left_out(n_classes, monkeypatch):
    y = Y if n_classes is None else CLASSES
    model = KernelProcess(n_classes=n_classes).fit(X, y)
    target = y[:, None] if n_classes is None else np.eye(3)[y]
    found = (model.length_, model.ratio_, model.signal_)
    monkeypatch.setattr(_predictor, "_choose", lambda X, apart: found)
    for k in (0, 7, 39):
        rest = np.delete(np.arange(40), k)
        other = KernelProcess(n_classes=n_classes).fit(X[rest], y[rest])
        # The mean is that of all rows, as it is in the closed form.
        apart = target[rest] - model.mean_
        other.mean_, other.weights_ = model.mean_, other.inverse_ @ apart
        assert model.left_out_[k] == pytest.approx(other.response(X[[k]])[0])


def test_classes_have_probabilities():
    model = KernelProcess(n_classes=4).fit(X, CLASSES)  # one class has no rows
    proba = model.response(X)
    assert proba.shape == (40, 4)
    assert proba.min() > 0
    assert proba.sum(axis=1) == pytest.approx(np.ones(40))
    assert (model.predict(X) == CLASSES).mean() > 0.8


def test_a_constant_target():
    model = KernelProcess().fit(X, np.ones(40))
    assert model.predict(X) == pytest.approx(np.ones(40))
    assert np.isfinite(model.posterior(X)[0]).all()
