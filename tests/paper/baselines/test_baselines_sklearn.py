"""scikit-learn's own checks over the baselines."""

import pytest
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from condrisk.paper.baselines import KernelRejector, NetRegressor, SelectiveNet

# Fast enough to learn the checks' small data in a few epochs.
QUICK = {"hidden_units": 16, "batch_size": 64, "learning_rate": 0.01, "random_state": 0}


@parametrize_with_checks(
    [
        KernelRejector(LinearRegression(), cost=0.5, random_state=0),
        KernelRejector(
            make_pipeline(StandardScaler(), LinearRegression()), cost=0.5, no_data="accept"
        ),
    ]
)
def test_kernel_rejector_passes_the_checks_of_scikit_learn(estimator, check):
    check(estimator)


@parametrize_with_checks(
    [
        NetRegressor(max_epochs=40, **QUICK),
        SelectiveNet(max_epochs=3, budgets=(0.2, 0.8), cost=0.5, **QUICK),
    ]
)
def test_networks_pass_the_checks_of_scikit_learn(estimator, check):
    pytest.importorskip("torch")
    check(estimator)
