"""MLflow's autologging: models that are fitted inside of one of ours are no runs."""

import os
import subprocess
import sys
from contextlib import contextmanager
from types import ModuleType

import pytest
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.ensemble import ExtraTreesRegressor
from sklearn.linear_model import LinearRegression, RidgeCV

from condrisk import RegressionRisk
from condrisk.datasets import make_heteroscedastic
from condrisk.learners import DistributionRegressor, LossRegressor, StackedRegressor

WORLD = make_heteroscedastic(60, random_state=0)
NAME = "mlflow.utils.autologging_utils"


@pytest.fixture
def mlflow(monkeypatch):
    """Stand in for MLflow's switch, which leaves autologging on whatever it was before."""
    module = ModuleType(NAME)
    module._AUTOLOGGING_GLOBALLY_DISABLED = False

    @contextmanager
    def disable_autologging():
        module._AUTOLOGGING_GLOBALLY_DISABLED = True
        try:
            yield
        finally:
            module._AUTOLOGGING_GLOBALLY_DISABLED = False

    module.disable_autologging = disable_autologging
    monkeypatch.setitem(sys.modules, NAME, module)
    return module


class Watched(RegressorMixin, BaseEstimator):
    """Notes whether its fit would have been recorded."""

    recorded = []  # noqa: RUF012 - of the class, as clones are fitted

    def fit(self, X, y):
        self.recorded.append(not sys.modules[NAME]._AUTOLOGGING_GLOBALLY_DISABLED)
        self.model_ = LinearRegression().fit(X, y)
        return self

    def predict(self, X):
        return self.model_.predict(X)


@pytest.mark.parametrize(
    "use",
    [
        lambda: (
            RegressionRisk(Watched(), regressor=Watched(), random_state=0)
            .fit(WORLD.X, WORLD.y)
            .held_out_
        ),
        # The end of the fit inside must not switch it on for those that follow.
        lambda: (
            RegressionRisk(
                Watched(),
                regressor=DistributionRegressor(Watched(), Watched(), cv=2, random_state=0),
                random_state=0,
            )
            .fit(WORLD.X, WORLD.y)
            .held_out_
        ),
        lambda: RegressionRisk("precomputed", regressor=Watched()).fit(WORLD.X, loss=WORLD.y**2),
        lambda: DistributionRegressor(Watched(), Watched(), random_state=0).fit(WORLD.X, WORLD.y),
    ],
    ids=["risk", "nested", "losses", "distribution"],
)
def test_nothing_is_recorded_inside(use, mlflow):
    Watched.recorded.clear()
    use()
    assert Watched.recorded
    assert not any(Watched.recorded)
    assert not mlflow._AUTOLOGGING_GLOBALLY_DISABLED


@pytest.mark.parametrize(
    ("learner", "inside"),
    [(LossRegressor(), ExtraTreesRegressor), (StackedRegressor(time_budget=0), RidgeCV)],
)
def test_nor_by_the_learners(learner, inside, mlflow, monkeypatch):
    seen, fit = [], inside.fit

    def watched(self, *args, **kwargs):
        seen.append(mlflow._AUTOLOGGING_GLOBALLY_DISABLED)
        return fit(self, *args, **kwargs)

    monkeypatch.setattr(inside, "fit", watched)
    learner.fit(WORLD.X, WORLD.y**2)
    assert seen
    assert all(seen)


def test_what_was_off_stays_off(mlflow):
    with mlflow.disable_autologging():
        RegressionRisk(Watched(), regressor=Watched()).fit(WORLD.X, WORLD.y)
        assert mlflow._AUTOLOGGING_GLOBALLY_DISABLED


REAL = """
import mlflow
mlflow.set_tracking_uri("file:{folder}/runs")
mlflow.sklearn.autolog(log_models=False, log_datasets=False, silent=True)
from sklearn.linear_model import LinearRegression, Ridge
from condrisk import RegressionRisk
from condrisk.datasets import make_heteroscedastic
world = make_heteroscedastic(60, random_state=0)
RegressionRisk(LinearRegression(), regressor=Ridge(), cv=2).fit(world.X, world.y)
print("runs", len(mlflow.search_runs(output_format="list")))
Ridge().fit(world.X, world.y)
print("runs", len(mlflow.search_runs(output_format="list")))
"""


@pytest.mark.slow
def test_with_mlflow_itself(tmp_path):
    pytest.importorskip("mlflow", reason="the extra mlflow is not installed")
    command = [sys.executable, "-c", REAL.format(folder=tmp_path)]
    env = os.environ | {"MLFLOW_ALLOW_FILE_STORE": "true"}
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["runs", "0", "runs", "1"]
