"""Tensors as rows and targets, and a module of one's own inside the risk estimators."""

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, Ridge
from tiny_model import Plain
from torch import nn

from condrisk import AutoRisk, Deferral, HybridRisk, PlugInRisk, RegressionRisk
from condrisk.datasets import make_heteroscedastic
from condrisk.losses import log_loss, squared_error, zero_one
from condrisk.metrics import deferral_loss
from condrisk.torch import TorchRegressor

WORLD = make_heteroscedastic(100, random_state=0)
X, Y = torch.tensor(WORLD.X), torch.tensor(WORLD.y)
LIVE_X, LIVE_Y = X.clone().requires_grad_(), Y.clone().requires_grad_()
ROWS = {"epochs": 3, "batch_size": 32, "device": "cpu", "random_state": 0}


def make_risk(predictor):
    return RegressionRisk(predictor, loss="squared_error", regressor=Ridge(), cv=2, random_state=0)


FITTED = make_risk(LinearRegression()).fit(X, Y)


@pytest.mark.parametrize(
    ("name", "use"),
    [
        ("X", lambda: make_risk(LinearRegression()).fit(LIVE_X, Y)),
        ("y", lambda: make_risk(LinearRegression()).fit(X, LIVE_Y)),
        ("y", lambda: AutoRisk().fit(X, LIVE_Y)),
        ("y", lambda: Deferral(make_risk(LinearRegression()), cost=1.0).fit(X, LIVE_Y)),
        ("prediction", lambda: make_risk("precomputed").fit(X, Y, prediction=LIVE_Y)),
        ("loss", lambda: make_risk("precomputed").fit(X, loss=LIVE_Y)),
        ("groups", lambda: make_risk(LinearRegression()).fit(X, Y, groups=LIVE_Y)),
        ("X", lambda: FITTED.predict(LIVE_X)),
        ("X", lambda: FITTED.predict_risk(LIVE_X)),
        ("y", lambda: FITTED.loss_values(X, LIVE_Y)),
        ("y", lambda: FITTED.score(X, LIVE_Y)),
        ("X", lambda: TorchRegressor(Plain, **ROWS).fit(LIVE_X, Y)),
        ("y_true", lambda: squared_error(LIVE_Y, Y)),
        ("response", lambda: squared_error(Y, LIVE_Y)),
        ("response", lambda: zero_one(Y, LIVE_Y)),
        ("response", lambda: log_loss([0, 1], torch.eye(2, requires_grad=True))),
        ("risk", lambda: deferral_loss(Y, LIVE_Y, 1.0)),
    ],
)
def test_tensors_that_require_grad_are_refused_by_name(name, use):
    with pytest.raises(ValueError, match=rf"^{name} is a tensor that requires grad.*{name}.detach"):
        use()


def test_other_tensors_are_arrays():
    as_arrays = make_risk(LinearRegression()).fit(WORLD.X, WORLD.y)
    assert_allclose(FITTED.predict_risk(X), as_arrays.predict_risk(WORLD.X))
    column = np.asarray(LIVE_Y.detach())
    assert_allclose(squared_error(Y, LIVE_Y.detach()), (WORLD.y - column) ** 2)


@pytest.mark.filterwarnings("ignore:the predictor is worse than a constant")
@pytest.mark.parametrize("module", [Plain, nn.Linear(5, 1), lambda in_features: nn.Linear(5, 1)])
def test_a_module_of_ones_own_is_judged_as_any_predictor(module):
    risk = make_risk(TorchRegressor(module, **ROWS)).fit(X, Y)
    assert_allclose(risk.loss_values(X, Y), (WORLD.y - risk.predict(X)) ** 2)
    assert np.isfinite(risk.predict_risk(X)).all()


@pytest.mark.parametrize("kind", [RegressionRisk, PlugInRisk, HybridRisk, AutoRisk])
@pytest.mark.parametrize("predictor", [nn.Linear(5, 1), FrozenEstimator(nn.Linear(5, 1))])
def test_a_bare_module_is_refused_with_advice(kind, predictor):
    with pytest.raises(ValueError, match=r"^predictor: Linear is a module of torch, .*") as told:
        kind(predictor).fit(X, Y)
    for way in ("TorchRegressor(module)", "FrozenEstimator of an object", '"precomputed"'):
        assert way in str(told.value)


class Trained(nn.Linear):
    """A module with a `predict`, whose answers still know their gradients."""

    def predict(self, X):
        return self(torch.as_tensor(X).float())


def test_a_frozen_module_with_predict_is_judged():
    net = Trained(5, 1)
    risk = RegressionRisk(FrozenEstimator(net), regressor=Ridge(), random_state=0).fit(WORLD.X, Y)
    expected = net.predict(WORLD.X).detach().numpy().ravel()
    assert_allclose(risk.predict(WORLD.X), expected)
    assert_allclose(risk.loss_values(WORLD.X, Y), (WORLD.y - expected) ** 2, rtol=1e-5)


@pytest.mark.filterwarnings("ignore:the predictor is worse than a constant")
def test_what_a_trained_module_says_is_given_as_predictions():
    net = nn.Linear(5, 1)
    prediction = net(X.float()).detach()
    risk = make_risk("precomputed").fit(X, Y, prediction=prediction)
    assert_allclose(
        risk.loss_values(X, Y, prediction=prediction), (WORLD.y - prediction.numpy().ravel()) ** 2
    )
