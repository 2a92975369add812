"""NetRegressor: it learns, repeats itself, and predicts without torch."""

import pickle
import subprocess
import sys

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from condrisk.datasets import make_heteroscedastic
from condrisk.paper.baselines import NetRegressor

pytest.importorskip("torch")


@pytest.fixture
def world(seed):
    return make_heteroscedastic(300, random_state=seed)


def test_it_learns_a_curve(seed):
    rng = np.random.RandomState(seed)
    X = rng.uniform(-2, 2, size=(500, 2))
    y = 5 + X[:, 0] ** 2 + X[:, 1]
    net = NetRegressor(max_epochs=150, batch_size=64, learning_rate=0.01, random_state=seed)
    assert net.fit(X[:400], y[:400]).score(X[400:], y[400:]) > 0.95


def test_same_seed_same_net(world, seed):
    fits = [
        NetRegressor(max_epochs=3, random_state=s).fit(world.X, world.y).predict(world.X)
        for s in (seed, seed, seed + 1)
    ]
    assert_array_equal(fits[0], fits[1])
    assert np.abs(fits[0] - fits[2]).max() > 1e-3


def test_a_constant_feature_does_no_harm(world):
    X = np.column_stack([world.X, np.full(len(world.X), 3.0)])
    net = NetRegressor(max_epochs=3, random_state=0).fit(X, world.y)
    assert np.isfinite(net.predict(X)).all()


def test_rows_in_blocks_are_rows_at_once(world, monkeypatch):
    net = NetRegressor(max_epochs=3, random_state=0).fit(world.X, world.y)
    whole = net.predict(world.X)
    monkeypatch.setattr("condrisk.paper.baselines._forward._BLOCK_ROWS", 7)
    assert_allclose(net.predict(world.X), whole, rtol=1e-12)


def test_a_pickled_net_predicts_without_torch(tmp_path):
    world = make_heteroscedastic(100, random_state=0)
    net = NetRegressor(max_epochs=3, random_state=0).fit(world.X, world.y)
    path = tmp_path / "net.pickle"
    path.write_bytes(pickle.dumps((net, world.X, net.predict(world.X))))
    code = (
        "import pickle, sys; "
        "net, X, expected = pickle.load(open(sys.argv[1], 'rb')); "
        "sys.exit(int((net.predict(X) != expected).any() or 'torch' in sys.modules))"
    )
    subprocess.run([sys.executable, "-c", code, str(path)], check=True)


def test_without_torch_training_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(ImportError, match=r'pip install "condrisk\[torch\]"'):
        NetRegressor().fit([[0.0], [1.0]], [0.0, 1.0])


@pytest.mark.parametrize(
    ("parameter", "value"),
    [
        ("hidden_units", 0),
        ("max_epochs", 0),
        ("batch_size", 1),
        ("learning_rate", 0.0),
        ("weight_decay", -1.0),
    ],
)
def test_bad_parameters_are_named(parameter, value):
    with pytest.raises(ValueError, match=parameter):
        NetRegressor(**{parameter: value}).fit([[0.0], [1.0]], [0.0, 1.0])


def test_targets_that_single_precision_cannot_square_are_an_error(world):
    with pytest.raises(ValueError, match=r"diverged.*scale y"):
        NetRegressor(max_epochs=2).fit(world.X, 1e30 * world.y)
