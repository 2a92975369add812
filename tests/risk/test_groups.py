"""Groups reach the inner folds of the learners: what a group teaches is no risk of new groups."""

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from condrisk import PlugInRisk, RegressionRisk
from condrisk.learners import DistributionRegressor, LossRegressor


def make_groups(n_groups, n_rows, seed):
    """Return rows of groups whose place tells which group it is, and nothing of its noise."""
    rng = np.random.default_rng(seed)
    group = np.repeat(np.arange(n_groups), n_rows)
    X = rng.normal(size=(n_groups, 3))[group] + 0.05 * rng.normal(size=(len(group), 3))
    variance = rng.choice([0.25, 4.0], n_groups)[group]
    y = X[:, 0] + np.sqrt(variance) * rng.normal(size=len(group))
    return X, y, group, variance


@pytest.mark.parametrize(
    "risk",
    [
        RegressionRisk(LinearRegression(), random_state=0),
        RegressionRisk(
            LinearRegression(),
            regressor=make_pipeline(StandardScaler(), LossRegressor()),
            random_state=0,
        ),
        PlugInRisk(
            LinearRegression(),
            distribution=DistributionRegressor(LinearRegression()),
            random_state=0,
        ),
    ],
    ids=["default", "pipeline", "distribution"],
)
def test_the_risk_of_new_groups_is_no_worse_than_a_constant(risk):
    error, constant = [], []
    for seed in range(2):
        X, y, group, _ = make_groups(100, 8, seed)
        risk.fit(X, y, groups=group)
        fresh, _, _, variance = make_groups(300, 3, 100 + seed)
        error.append(np.mean((risk.predict_risk(fresh) - variance) ** 2))
        constant.append(np.mean((risk.loss_values(X, y).mean() - variance) ** 2))
    # Without groups it is 1.28 or more.
    assert np.mean(error) < 1.05 * np.mean(constant)
