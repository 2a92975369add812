"""TorchClassifier, TorchRegressor and Embedder around modules, on images and on rows."""

import copy
import pickle
import subprocess
import sys

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import make_pipeline
from tiny_model import Plain, Tiny, grey_convolutions
from torch import nn

from condrisk import Deferral, PlugInRisk, RegressionRisk
from condrisk.paper.networks import create_model
from condrisk.paper.rwr import LockstepMLPRegressor
from condrisk.torch import Embedder, TorchClassifier, TorchRegressor

QUICK = {"epochs": 15, "batch_size": 32, "learning_rate": 0.01, "augment": False, "device": "cpu"}


def named(name, **more):
    """Return one of the paper's networks as an estimator takes it."""
    return {"module": create_model, "module_params": {"name": name, **more}}


def bars(n_rows, seed, *, channels=3, size=8):
    """Images of noise with a bright bar, upright or lying: 1 or 0."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 100, size=(n_rows, size, size, channels), dtype=np.uint8)
    y = rng.integers(0, 2, size=n_rows)
    for image, upright, place in zip(X, y, rng.integers(0, size, size=n_rows), strict=True):
        (image.transpose(1, 0, 2) if upright else image)[place] += 120
    return X, y


@pytest.fixture(scope="module")
def fitted():
    X, y = bars(300, 0)
    return TorchClassifier(Tiny, random_state=0, **QUICK).fit(X, y)


# Learning -----------------------------------------------------------------------------------------


def test_a_classifier_learns(seed):
    X, y = bars(500, seed)
    net = TorchClassifier(Tiny, random_state=seed, **QUICK).fit(X[:300], y[:300])
    assert net.score(X[300:], y[300:]) > 0.9
    proba = net.predict_proba(X[300:])
    assert proba.dtype == np.float64
    assert_allclose(proba.sum(axis=1), 1)
    assert_array_equal(net.predict(X[300:]), net.classes_[proba.argmax(axis=1)])
    assert net.history_["train_loss"][-1] < 0.5 * net.history_["train_loss"][0]


@pytest.mark.parametrize("standardize", [True, False])
def test_a_regressor_learns_in_the_units_of_the_target(standardize, seed):
    X = np.random.default_rng(seed).integers(0, 256, size=(500, 8, 8, 3), dtype=np.uint8)
    X[..., 0] //= np.random.default_rng(seed + 9).integers(1, 9, size=(500, 1, 1), dtype=np.uint8)
    y = X[..., 0].mean(axis=(1, 2)) / 10
    y = 1e4 + 1e3 * y if standardize else y / 3
    net = TorchRegressor(Tiny, standardize_target=standardize, random_state=seed, **QUICK)
    assert net.fit(X[:400], y[:400]).score(X[400:], y[400:]) > 0.8


@pytest.mark.parametrize("model", ["cnn", "resnet8", "resnet9"])
def test_networks_of_any_size_learn_small_images(model):
    X, y = bars(300, 0)
    net = TorchClassifier(
        **named(model), random_state=0, **QUICK | {"epochs": 3, "learning_rate": 0.003}
    )
    net.fit(X, y)
    assert net.embed(X[:3]).shape == (3, net.embedding_size_)
    assert net.history_["train_loss"][-1] < net.history_["train_loss"][0]
    assert_allclose(net.predict_proba(X[:5]), net.predict_proba(X)[:5], atol=1e-4)


def test_an_efficientnet_from_weights(tmp_path):
    trained = create_model("efficientnet_lite0", num_classes=1000)
    torch.save(trained.state_dict(), tmp_path / "w.pth")
    X, y = bars(16, 0)
    options = QUICK | {"epochs": 1, "batch_size": 8, "patience": None, "learning_rate": 1e-9}
    net = TorchClassifier(
        **named("efficientnet_lite0", weights=tmp_path / "w.pth"),
        input_size=32,
        random_state=0,
        **options,
    ).fit(X, y)
    (tmp_path / "w.pth").unlink()  # only training needs it
    start = trained.stem[0].weight.detach()
    assert_allclose(net.network_.state["stem.0.weight"], start, atol=1e-6)
    assert net.network_.size == 32
    assert net.embed(X).shape == (16, 1280)


# What goes in -------------------------------------------------------------------------------------


def test_bytes_floats_and_flat_rows_are_one(seed):
    X, y = bars(120, seed)
    options = QUICK | {"epochs": 3}
    byte = TorchClassifier(Tiny, random_state=seed, **options).fit(X, y)
    flat = TorchClassifier(Tiny, image_shape=(8, 8, 3), random_state=seed, **options)
    flat.fit(X.reshape(120, -1), y)
    assert_array_equal(flat.predict_proba(X.reshape(120, -1)), byte.predict_proba(X))
    unit = TorchClassifier(Tiny, random_state=seed, **options).fit(X / 255, y)
    assert_allclose(unit.predict_proba(X / 255), byte.predict_proba(X), atol=1e-3)


def test_grey_images_with_and_without_an_axis(seed):
    X, y = bars(120, seed, channels=1)
    options = QUICK | {"epochs": 3}
    with_axis = TorchClassifier(Tiny, random_state=seed, **options).fit(X, y)
    without = TorchClassifier(Tiny, random_state=seed, **options).fit(X[..., 0], y)
    assert_array_equal(with_axis.predict_proba(X), without.predict_proba(X[..., 0]))
    assert with_axis.input_shape_ == (8, 8, 1)
    assert with_axis.network_.arguments == {"num_classes": 2, "in_channels": 1}


def test_five_colours():
    X, y = bars(60, 0, channels=5)
    assert TorchClassifier(Tiny, random_state=0, **QUICK).fit(X, y).predict(X).shape == (60,)


@pytest.mark.parametrize(
    "names", [["lying", "upright"], [7, -2], [True, False], [1.0, 2.0]], ids=repr
)
def test_labels_of_any_kind(names, seed):
    X, codes = bars(300, seed)
    names = np.array(names)
    net = TorchClassifier(Tiny, random_state=seed, **QUICK).fit(X, names[codes])
    assert_array_equal(net.classes_, np.unique(names))
    assert net.predict(X).dtype == names.dtype
    assert (net.predict(X) == names[codes]).mean() > 0.9


def test_images_that_do_not_fit_are_refused(fitted):
    X, y = bars(20, 0)
    with pytest.raises(
        ValueError, match=r"inputs of shape \(8, 8, 3\), as in fit; got \(8, 8, 1\)"
    ):
        fitted.predict(X[..., :1])
    with pytest.raises(ValueError, match="does not fit rows of 192 numbers"):
        TorchClassifier(Tiny, image_shape=(8, 8, 1)).fit(X.reshape(20, -1), y)
    with pytest.raises(ValueError, match=r"got shape \(20, 8, 8, 3, 1\)"):
        TorchClassifier(Tiny).fit(X[..., None], y)
    with pytest.raises(ValueError, match="NaN"):
        TorchClassifier(Tiny).fit(np.where(X > 90, np.nan, X), y)
    with pytest.raises(NotFittedError):
        TorchClassifier(Tiny).embed(X)


@pytest.mark.parametrize(
    ("parameter", "value"),
    [
        ("module", 3),
        ("module", "resnet8"),
        ("module_params", [3]),
        ("epochs", 0),
        ("batch_size", 0),
        ("learning_rate", 0.0),
        ("weight_decay", -1.0),
        ("schedule", "cosine"),
        ("patience", 0),
        ("validation_size", 1.0),
        ("input_size", 0),
        ("label_smoothing", 1.0),
        ("ema", 1.0),
        ("augment", "rotate"),
        ("device", None),
    ],
)
def test_bad_parameters_are_named(parameter, value):
    with pytest.raises(ValueError, match=parameter):
        TorchClassifier(**{"module": Tiny, parameter: value}).fit(*bars(20, 0))


# Weights, seeds, options --------------------------------------------------------------------------


def test_rows_of_weight_zero_are_not_there(seed):
    X, y = bars(100, seed)
    weight = np.repeat([2.0, 0.0], 50)
    net = TorchClassifier(Tiny, random_state=seed, **QUICK)
    weighted = clone(net).fit(X, np.r_[y[:50], 1 - y[50:]], sample_weight=weight)
    assert_array_equal(weighted.predict_proba(X), net.fit(X[:50], y[:50]).predict_proba(X))
    with pytest.raises(ValueError, match="sample_weight must be positive"):
        net.fit(X, y, sample_weight=np.eye(100)[0])


def test_weights_move_the_mean(seed):
    """Every image comes with both targets, one of them nine times as heavy."""
    X, _ = bars(60, seed)
    X, y = np.concatenate([X, X]), np.repeat([0.0, 1.0], 60)
    weight = np.repeat([1.0, 9.0], 60)
    options = QUICK | {"learning_rate": 0.001, "epochs": 20, "patience": None}
    net = TorchRegressor(Tiny, random_state=seed, **options).fit(X, y, sample_weight=weight)
    assert abs(net.predict(X).mean() - 0.9) < 0.1


@pytest.mark.parametrize("options", [{}, {"augment": True, "ema": 0.9}, named("resnet8")])
def test_same_seed_same_network(options, seed):
    X, y = bars(100, seed)
    options = {"module": Tiny} | QUICK | {"epochs": 2} | options
    fits = [
        TorchClassifier(**options, random_state=s).fit(X, y).predict_proba(X)
        for s in (seed, seed, seed + 1)
    ]
    assert_array_equal(fits[0], fits[1])
    assert np.abs(fits[0] - fits[2]).max() > 1e-3


def test_patience_holds_rows_out_and_none_does_not():
    X, y = bars(100, 0)
    stopped = TorchClassifier(Tiny, random_state=0, patience=1, **QUICK | {"epochs": 100})
    losses = stopped.fit(X, y).history_["validation_loss"]
    assert (np.diff(losses[:-1]) < 0).all()
    assert losses[-1] >= losses[-2] or len(losses) == 100
    everything = TorchClassifier(Tiny, random_state=0, patience=None, **QUICK).fit(X, y)
    assert "validation_loss" not in everything.history_
    assert len(everything.history_["train_loss"]) == QUICK["epochs"]


def test_smoothed_labels_in_training_but_not_in_validation(seed):
    """Half smoothed, a sure label of two is 3/4 to 1/4, whose entropy is 0.56."""
    X, y = bars(400, seed)
    options = QUICK | {"epochs": 30}
    net = TorchClassifier(Tiny, label_smoothing=0.5, random_state=seed, **options).fit(X, y)
    assert 0.6 < net.predict_proba(X).max(axis=1).mean() < 0.85
    assert min(net.history_["train_loss"]) > 0.55
    assert min(net.history_["validation_loss"]) < 0.5


def test_flips_are_averaged(fitted):
    X, _ = bars(20, 1)
    both = clone(fitted).set_params(tta=True).fit(*bars(300, 0))
    assert_allclose(both.embed(X), (fitted.embed(X) + fitted.embed(X[:, :, ::-1])) / 2, atol=1e-4)
    assert_allclose(both.predict_proba(X), both.predict_proba(X[:, :, ::-1]), atol=1e-5)


def test_the_embedding_and_the_head_give_the_probabilities(fitted):
    X, _ = bars(20, 1)
    state = fitted.network_.state
    logits = fitted.embed(X) @ state["head.weight"].T + state["head.bias"]
    odds = np.exp(logits - logits.max(axis=1, keepdims=True))
    assert_allclose(odds / odds.sum(axis=1, keepdims=True), fitted.predict_proba(X), atol=1e-5)


def test_batches_of_prediction_are_rows_at_once(fitted, monkeypatch):
    X, _ = bars(50, 1)
    whole = fitted.predict_proba(X)
    monkeypatch.setattr("condrisk.torch._forward._BATCH_PIXELS", 64 * 7)
    assert_allclose(fitted.predict_proba(X), whole, atol=1e-6)


def test_input_size_is_what_the_network_sees():
    X, y = bars(40, 0)
    options = QUICK | {"epochs": 1}
    net = TorchClassifier(**named("resnet8"), input_size=12, random_state=0, **options).fit(X, y)
    assert net.network_.size == 12
    small = TorchClassifier(**named("resnet8"), random_state=0, **options).fit(X, y)
    assert small.network_.size is None
    assert np.abs(net.embed(X) - small.embed(X)).max() > 1e-3


# Any module ---------------------------------------------------------------------------------------


def table(n_rows, seed):
    """Rows on different scales, whose class is the sign of a product."""
    X = np.random.default_rng(seed).normal(size=(n_rows, 5))
    return X * [1, 1e3, 1e-3, 5, 1] + [0, 1e4, 0, -50, 0], (X[:, 0] * X[:, 1] > 0).astype(int)


def test_rows_of_a_table(seed):
    X, y = table(900, seed)
    options = QUICK | {"epochs": 30}
    net = TorchClassifier(Plain, random_state=seed, **options).fit(X[:600], y[:600])
    assert net.score(X[600:], y[600:]) > 0.85
    assert net.network_.arguments == {"num_classes": 2, "in_features": 5}
    assert net.input_shape_ == (5,)
    number = TorchRegressor(
        Plain, module_params={"width": 64}, random_state=seed, **options | {"augment": True}
    ).fit(X[:600], y[:600])
    assert number.score(X[600:], y[600:]) > 0.5
    assert number.embed(X[:3]).shape == (3, 64)


def test_a_function_that_returns_a_network(seed):
    X, y = bars(400, seed, channels=1)
    X = X[..., 0]
    net = TorchClassifier(grey_convolutions, random_state=seed, **QUICK).fit(X[:300], y[:300])
    assert net.score(X[300:], y[300:]) > 0.85
    assert net.embedding_size_ == 128


def test_the_embedding_is_what_the_last_linear_layer_takes(seed):
    X, y = table(200, seed)
    net = TorchClassifier(Plain, random_state=seed, **QUICK).fit(X, y)
    state = net.network_.state
    logits = net.embed(X) @ state["last.weight"].T + state["last.bias"]
    expected = np.log(net.predict_proba(X))
    assert_allclose(logits - logits[:, :1], expected - expected[:, :1], atol=1e-3)


def test_an_instance_is_copied_with_its_weights():
    X, y = table(100, 0)
    module = Plain(5, num_classes=2)
    before = {name: value.clone() for name, value in module.state_dict().items()}
    options = QUICK | {"epochs": 1, "patience": None}
    net = TorchClassifier(module, random_state=0, **options).fit(X, y)
    near = clone(net).set_params(learning_rate=1e-9).fit(X, y)
    for name, value in before.items():
        assert torch.equal(module.state_dict()[name], value)
        assert np.abs(net.network_.state[name] - value.numpy()).max() > 1e-3
        assert_allclose(near.network_.state[name], value, atol=1e-6)
    again = copy.deepcopy(net)
    assert_array_equal(again.predict_proba(X), pickle.loads(pickle.dumps(net)).predict_proba(X))


class OneNumber(nn.Module):
    """Returns shape (n,), from nothing that is linear to torch."""

    def __init__(self, in_features):
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(in_features))

    def forward(self, x):
        return x @ self.weight


def test_outputs_without_an_axis_and_without_an_embedding(seed):
    X, _ = table(300, seed)
    options = QUICK | {"epochs": 40, "learning_rate": 0.05}
    net = TorchRegressor(OneNumber, random_state=seed, **options).fit(X, 3 * X[:, 1] - X[:, 3])
    assert net.score(X, 3 * X[:, 1] - X[:, 3]) > 0.9
    assert net.embedding_size_ is None
    with pytest.raises(ValueError, match=r"OneNumber has no embedding: it needs a last torch.nn.L"):
        net.embed(X)
    with pytest.raises(ValueError, match="OneNumber has no embedding"):
        Embedder(FrozenEstimator(net)).fit(X)


@pytest.mark.parametrize(
    ("estimator", "message"),
    [
        (TorchClassifier(nn.Linear(5, 3)), r"shape \(2, 2\), one column per class.* got \(2, 3\)"),
        (TorchClassifier(OneNumber), r"shape \(2, 2\), one column per class.* got \(2, 1\)"),
        (TorchRegressor(nn.Linear(5, 3)), r"shape \(2,\) or \(2, 1\).* got \(2, 3\)"),
        (TorchClassifier(nn.Linear(4, 2)), r"cannot take a batch of shape \(2, 5\): mat1"),
        (TorchClassifier(nn.Linear(5, 2), module_params={"bias": False}), "module_params is for"),
        (TorchClassifier(Plain, tta=True), "tta=True is for images, but X has rows of 5 features"),
        (TorchClassifier(Plain, cutout=2), "cutout=2 is for images"),
        (TorchClassifier(Plain, input_size=8), "input_size=8 is for images"),
    ],
)
def test_what_does_not_fit_together_is_said(estimator, message):
    with pytest.raises(ValueError, match=message):
        estimator.fit(*table(20, 0))


def test_what_is_no_module_is_refused():
    with pytest.raises(TypeError, match=r"module must return a torch.nn.Module, got dict"):
        TorchClassifier(lambda: {}).fit(*table(20, 0))


class NoisyAlways(nn.Module):
    """Draws from torch's own generator, also outside of training."""

    def forward(self, x):
        return x + torch.rand_like(x)


def test_trying_a_module_out_does_not_change_what_training_draws(monkeypatch):
    X, y = table(60, 0)
    module = nn.Sequential(nn.Linear(5, 2), NoisyAlways())
    net = TorchClassifier(module, random_state=0, **QUICK | {"epochs": 2})
    tried = clone(net).fit(X, y).network_.state
    monkeypatch.setattr("condrisk.torch._base.try_out", lambda *_: None)
    not_tried = net.fit(X, y).network_.state
    assert_array_equal(tried["0.weight"], not_tried["0.weight"])


# Storing ------------------------------------------------------------------------------------------


def test_a_pickle_is_plain_data_and_predicts_the_same(fitted, tmp_path):
    X, _ = bars(20, 1)
    expected = fitted.predict_proba(X)
    content = pickle.dumps(fitted)
    assert b"torch" not in content.replace(b"condrisk.torch", b"").replace(b"TorchClassifier", b"")
    again = pickle.loads(content)
    before = torch.get_rng_state()
    assert_array_equal(again.predict_proba(X), expected)
    assert torch.equal(torch.get_rng_state(), before)
    assert_array_equal(again.embed(X), fitted.embed(X))


def test_a_network_trained_on_a_gpu_answers_without_one(fitted, monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    X, y = bars(20, 1)
    elsewhere = pickle.loads(pickle.dumps(fitted)).set_params(device="cuda")
    assert_array_equal(elsewhere.predict_proba(X), fitted.predict_proba(X))
    with pytest.raises(ValueError, match="torch finds no GPU"):
        elsewhere.fit(X, y)


# In the company of condrisk -----------------------------------------------------------------------


def test_images_go_through_risk_and_deferral_as_they_are(seed):
    X, y = bars(600, seed)
    y = np.where(np.random.default_rng(seed).random(600) < 0.15, 1 - y, y)
    net = TorchClassifier(Tiny, random_state=seed, **QUICK).fit(X[:200], y[:200])
    frozen = FrozenEstimator(net)
    regressor = TorchRegressor(Tiny, random_state=seed, **QUICK)
    estimates = [
        PlugInRisk(frozen, loss="log_loss", calibration=None),
        PlugInRisk(frozen, loss="log_loss"),
        PlugInRisk(frozen, loss="log_loss", probability=clone(net), calibration=None),
        RegressionRisk(frozen, loss="log_loss", regressor=regressor),
        RegressionRisk(frozen, regressor=make_pipeline(Embedder(frozen), Ridge())),
        RegressionRisk(clone(net), loss="brier", regressor=regressor, cv=2, random_state=seed),
    ]
    for risk in estimates:
        model = Deferral(risk, cost=0.3).fit(X[200:500], y[200:500])
        decision = model.decide(X[500:])
        assert decision.risk.shape == decision.deferred.shape == (100,)
        assert np.isfinite(decision.risk).all()
        assert np.isfinite(model.score(X[500:], y[500:]))


def test_weights_are_routed_to_the_networks(seed):
    X, y = bars(120, seed)
    net = TorchClassifier(Tiny, random_state=seed, **QUICK | {"epochs": 2})
    risk = RegressionRisk(net, regressor=TorchRegressor(Tiny, **QUICK | {"epochs": 2}), cv=2)
    risk.fit(X, y, sample_weight=np.random.default_rng(seed).random(120) + 0.5)
    assert np.isfinite(risk.predict_risk(X)).all()


@pytest.mark.parametrize(
    "mlp",
    [
        MLPRegressor(hidden_layer_sizes=(256,), learning_rate_init=0.01, random_state=0),
        LockstepMLPRegressor(hidden_layer_sizes=(256,), learning_rate_init=0.01, random_state=0),
    ],
    ids=["scikit-learn", "lockstep"],
)
def test_the_papers_regressor_on_a_representation(mlp, fitted):
    X, y = bars(300, 3)
    frozen = FrozenEstimator(fitted)
    risk = RegressionRisk(frozen, loss="log_loss", regressor=make_pipeline(Embedder(frozen), mlp))
    estimate = risk.fit(X, y).predict_risk(X)
    direct = clone(mlp).fit(fitted.embed(X), risk.loss_values(X, y))
    assert_allclose(estimate, np.maximum(direct.predict(fitted.embed(X)), 0), atol=1e-5)


def test_embedder_fits_a_network_that_is_not_frozen(seed):
    X, y = bars(100, seed)
    net = TorchClassifier(Tiny, random_state=seed, **QUICK)
    embedder = Embedder(net).fit(X, y)
    assert_array_equal(embedder.transform(X), net.fit(X, y).embed(X))
    weight = np.random.default_rng(seed).random(100)
    weighted = Embedder(clone(net)).fit(X, y, sample_weight=weight)
    assert_array_equal(weighted.transform(X), clone(net).fit(X, y, weight).embed(X))
    assert list(embedder.get_feature_names_out()[:2]) == ["embedder0", "embedder1"]
    line = make_pipeline(Embedder(FrozenEstimator(net)), LinearRegression()).fit(X, y)
    assert line.predict(X).shape == (100,)


def test_embedder_wants_a_network_that_is_fitted_if_frozen():
    with pytest.raises(NotFittedError):
        Embedder(FrozenEstimator(TorchClassifier(Tiny))).fit(*bars(20, 0))
    with pytest.raises(ValueError, match="'embed'"):
        Embedder(Ridge()).fit(*bars(20, 0))


@pytest.mark.slow
def test_digits_within_a_minute():
    """Classifier, both kinds of risk and deferral on scikit-learn's 8 × 8 digits."""
    digits = load_digits()
    X, y = digits.images, digits.target
    train, calibration, test = slice(900), slice(900, 1500), slice(1500, None)
    options = {"batch_size": 64, "augment": "crop", "device": "cpu", "random_state": 0}
    net = TorchClassifier(**named("cnn"), epochs=15, learning_rate=0.003, **options)
    net.fit(X[train], y[train])
    assert net.score(X[test], y[test]) > 0.85
    frozen = FrozenEstimator(net)
    regressor = TorchRegressor(**named("cnn"), epochs=6, learning_rate=0.003, **options)
    for risk in (
        PlugInRisk(frozen, loss="log_loss", calibration=None),
        RegressionRisk(frozen, loss="log_loss", regressor=regressor),
    ):
        model = Deferral(risk).fit(X[calibration], y[calibration])
        price = np.median(model.predict_risk(X[test]))
        loss, asked = model.loss_values(X[test], y[test]), model.defer(X[test], cost=price)
        assert 0.3 < asked.mean() < 0.6
        assert loss[~asked].mean() < loss.mean()


# Imports ------------------------------------------------------------------------------------------


HIDE = """
import sys
class Hiding:
    def __init__(self, finder):
        self.finder = finder
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {blocked!r}:
            return None
        return self.finder.find_spec(name, path, target)
    def __getattr__(self, name):
        return getattr(self.finder, name)
sys.meta_path[:] = [Hiding(finder) for finder in sys.meta_path]
"""


def run_without(blocked, code):
    """Run code in a fresh interpreter in which some packages are not installed."""
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", HIDE.format(blocked=blocked) + code],
        capture_output=True,
        text=True,
        check=False,
    )


def test_without_torch_the_extra_is_named():
    done = run_without(["torch"], "import condrisk; import condrisk.torch")
    assert done.returncode != 0
    assert "ImportError: condrisk.torch needs torch, which is not installed: pip install" in (
        done.stderr
    )
    assert '"condrisk[torch]"' in done.stderr


def test_it_needs_torch_and_scikit_learn_alone():
    blocked = ["pandas", "polars", "typer", "rich", "matplotlib", "pooch", "PIL", "pyarrow"]
    blocked.append("skops")
    code = (
        "import numpy as np; from condrisk.torch import TorchClassifier; "
        "import condrisk.datasets; "
        "import condrisk.paper.cifar10; from condrisk.paper.networks import create_model; "
        "X = np.zeros((8, 4, 4, 3), dtype=np.uint8); y = [0, 1] * 4; "
        "net = TorchClassifier(create_model, module_params={'name': 'resnet8'}, epochs=1); "
        "net.set_params(device='cpu').fit(X, y).predict(X)"
    )
    done = run_without(blocked, code)
    assert done.returncode == 0, done.stderr
