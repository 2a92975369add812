"""The regressor for means over many rows: right where single rows are shrunk."""

import numpy as np
import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from condrisk.app.monitor import MeanLossRegressor
from condrisk.learners import LossRegressor

EXPECTED = {
    "check_sample_weight_equivalence_on_dense_data": "a row repeated is in several folds",
}


@parametrize_with_checks(
    [MeanLossRegressor(random_state=0)], expected_failed_checks=lambda estimator: EXPECTED
)
def test_it_is_a_scikit_learn_regressor(estimator, check):
    check(estimator)


def noisy(n, rng, d=5):
    """Losses whose mean is linear in two of five features, with much noise."""
    X = rng.normal(size=(n, d))
    g = np.maximum(3 + X[:, 0] + 0.5 * X[:, 1], 0.2)
    return X, g, g * rng.exponential(size=n)


def test_means_of_shifted_rows_are_closer_than_those_of_the_regressor_it_corrects():
    rng = np.random.default_rng(0)
    off = {"mean": [], "row": []}
    for seed in range(8):
        X, _, z = noisy(400, rng)
        new, g, _ = noisy(4000, rng)
        riskier = rng.choice(4000, 1000, p=np.exp(new[:, 0]) / np.exp(new[:, 0]).sum())
        for name, kind in (("mean", MeanLossRegressor), ("row", LossRegressor)):
            said = kind(random_state=seed).fit(X, z).predict(new[riskier]).mean()
            off[name].append(abs(said - g[riskier].mean()))
    assert np.mean(off["mean"]) < np.mean(off["row"])


def test_without_shrinking_the_mean_over_its_own_rows_is_that_of_the_left_over():
    """The linear part is a ridge regression of out-of-fold errors, written out."""
    rng = np.random.default_rng(0)
    X, _, z = noisy(200, rng)
    fitted = MeanLossRegressor(random_state=0, alpha=1e-9).fit(X, z)
    linear = fitted.linear_.intercept_ + fitted._standard(X) @ fitted.linear_.coef_
    inside = fitted.regressor_.predict(X) + linear
    np.testing.assert_allclose(
        fitted.predict(X), np.clip(inside, z.min(), z.max()), rtol=1e-12, atol=0
    )
    stiff = MeanLossRegressor(random_state=0, alpha=1e9).fit(X, z)
    assert np.abs(stiff.linear_.coef_).max() < 1e-6
    assert stiff.linear_.intercept_ == pytest.approx(fitted.linear_.intercept_)


def test_missing_values_and_rows_of_no_weight():
    rng = np.random.default_rng(0)
    X, _, z = noisy(150, rng)
    X[::7, 0] = np.nan
    fitted = MeanLossRegressor(random_state=0).fit(X, z)
    assert np.isfinite(fitted.predict(X)).all()
    assert fitted.predict(X).min() >= z.min()
    with pytest.raises(ValueError, match="alpha must be more than 0"):
        MeanLossRegressor(alpha=0).fit(X, z)
