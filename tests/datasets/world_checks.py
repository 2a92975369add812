"""What the tests of the synthetic worlds share."""

import numpy as np
import pytest

from condrisk.datasets import (
    make_gaussian_mixture,
    make_heteroscedastic,
    make_hidden_noise,
    make_separable,
)

# A mean may be this many standard errors from what it estimates: a chance of 6e-7 for each.
STANDARD_ERRORS = 5

REGRESSION_WORLDS = {
    "exponential": lambda n=1000, **kw: make_heteroscedastic(n, **kw),
    "bounded": lambda n=1000, **kw: make_heteroscedastic(
        n, variance="bounded", **{"n_features": 1, **kw}
    ),
    "hidden_noise": lambda n=1000, **kw: make_hidden_noise(n, **kw),
}
CLASS_WORLDS = {
    "mixture": lambda n=1000, **kw: make_gaussian_mixture(n, **kw),
    "mixture_on_a_line": lambda n=1000, **kw: make_gaussian_mixture(
        n, n_features=1, n_classes=4, **kw
    ),
    "mixture_with_priors": lambda n=1000, **kw: make_gaussian_mixture(
        n, n_features=4, separation=1.0, priors=[0.6, 0.3, 0.1], **kw
    ),
    "separable": lambda n=1000, **kw: make_separable(n, **kw),
    "separable_on_a_line": lambda n=1000, **kw: make_separable(n, n_features=1, n_classes=5, **kw),
}
WORLDS = REGRESSION_WORLDS | CLASS_WORLDS
COSTS = "cost matrix"
CLASS_LOSSES = ["zero_one", "log_loss", "brier", COSTS]

each_regression_world = pytest.mark.parametrize(
    "make", REGRESSION_WORLDS.values(), ids=list(REGRESSION_WORLDS)
)
each_class_world = pytest.mark.parametrize("make", CLASS_WORLDS.values(), ids=list(CLASS_WORLDS))
each_world = pytest.mark.parametrize("make", WORLDS.values(), ids=list(WORLDS))
each_mixture = pytest.mark.parametrize(
    "make", [CLASS_WORLDS[k] for k in CLASS_WORLDS if "mixture" in k]
)


def assert_mean_zero(values):
    """Check that values with mean zero look it, column by column."""
    values = np.atleast_2d(np.transpose(values))
    error = values.std(axis=1, ddof=1) / np.sqrt(values.shape[1])
    assert (np.abs(values.mean(axis=1)) <= STANDARD_ERRORS * error + 1e-12).all()


def functions_of(X):
    """Functions of x; times a variable whose mean given x is zero, each has mean zero."""
    return np.column_stack(
        [np.ones(len(X)), X, X[:, :1] > 0.5, X[:, -1:] ** 2, np.sin(3 * X[:, :1])]
    )


def assert_conditional_mean_zero(values, X):
    assert_mean_zero(values[:, None] * functions_of(X))


def assert_loss_matches_proba(realised, losses, proba, weights):
    """Check realised losses against the losses of all classes and their probabilities.

    Rare classes make the spread of a sample a bad guide to the error of its mean. But here the
    variance of each loss is known, and Bernstein's inequality allows for the largest of them.
    """
    risk = (losses * proba).sum(axis=1)
    variance = (losses**2 * proba).sum(axis=1) - risk**2
    largest = np.abs(losses - risk[:, None]).max(axis=1, where=proba > 0, initial=0.0)
    log_chance = STANDARD_ERRORS**2 / 2
    step = (np.abs(weights) * largest[:, None]).max(axis=0) * log_chance / 3
    limit = step + np.sqrt(step**2 + 2 * log_chance * np.maximum(variance @ weights**2, 0.0))
    assert (np.abs((realised - risk) @ weights) <= limit + 1e-9).all()


def as_loss(name, n_classes):
    if name != COSTS:
        return name
    true, predicted = np.indices((n_classes, n_classes))
    return np.where(predicted > true, 1.0, 3.0) * np.abs(true - predicted) - 0.5


def response_of(predictor, X, loss):
    return getattr(predictor, loss.response)(X)


class Constant:
    """A predictor that says what it is told, for every row."""

    def __init__(self, value):
        self.value = value

    def predict(self, X):
        return np.full(len(X), self.value)
