"""Training on a GPU: captured steps do what plain ones do, and the same again for a seed.

Without a GPU these are skipped. They need nothing but torch, numpy and scikit-learn, so that
`python tests/torch_modules/test_torch_cuda.py` runs them on a machine that has no pytest.
"""

import copy
import pickle
import unittest
import warnings
from unittest import mock

import numpy as np
import torch
from numpy.testing import assert_allclose, assert_array_equal

from condrisk.paper.networks import create_model
from condrisk.torch import TorchClassifier, TorchRegressor
from condrisk.torch import _steps as steps_module
from condrisk.torch._images import InputSpec
from condrisk.torch._network import to_device
from condrisk.torch._random import RandomNumbers
from condrisk.torch._recipe import Recipe, controls
from condrisk.torch._steps import Steps, TrainingRows
from condrisk.torch._training import cross_entropy

DEVICE = torch.device("cuda", 0)
needs_gpu = unittest.skipUnless(torch.cuda.is_available(), "no GPU")

MODELS = {"cnn": None, "resnet8": None, "resnet9": None, "efficientnet_lite0": 64}


def named(name):
    """Return one of the paper's networks as an estimator takes it."""
    return {"module": create_model, "module_params": {"name": name}}


def colours(n_rows, seed=0):
    """Images of noise around one of four colours, and which."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 4, n_rows)
    centres = np.array([[200, 60, 60], [60, 200, 60], [60, 60, 200], [160, 160, 60]])
    X = centres[y][:, None, None, :] + rng.normal(0, 60, size=(n_rows, 32, 32, 3))
    return X.clip(0, 255).astype(np.uint8), y


def trained_steps(model, size, *, captured, ema=None, n_epochs=10):
    """Return what some epochs of four steps do to a network, and the losses."""
    device = DEVICE
    X, y = colours(256)
    rows = TrainingRows(
        torch.tensor(X).to(device), torch.tensor(y).to(device), torch.ones(256, device=device)
    )
    spec = InputSpec(
        torch.full((3,), 110.0, device=device), torch.full((3,), 1 / 70, device=device), size
    )
    recipe = Recipe(n_epochs, 64, 1e-3, 1e-4, "one-cycle", None, ema, True, 8, 0)
    fewest = 0 if captured else 10**9
    numbers = RandomNumbers(0, device)
    with (
        numbers,
        mock.patch.object(steps_module, "FEWEST_STEPS", fewest),
        warnings.catch_warnings(),
    ):
        warnings.filterwarnings("error", message="a training step could not be captured")
        net = to_device(create_model(model, num_classes=4), device)
        steps = Steps(net, rows, spec, cross_entropy(0.1), recipe, numbers)
        losses = [steps.epoch(table) for table in controls(recipe, steps.n_steps)]
        assert steps.run.is_captured == captured
        state = {k: v.float().cpu() for k, v in copy.deepcopy(steps.trained()).state_dict().items()}
    return state, losses


@needs_gpu
def test_captured_steps_are_plain_steps():
    for model, size in MODELS.items():
        for ema in (None, 0.9):
            plain, plain_losses = trained_steps(model, size, captured=False, ema=ema)
            graph, graph_losses = trained_steps(model, size, captured=True, ema=ema)
            # Dropout may draw other numbers in a graph; all else is the same.
            drops = model.startswith("efficientnet")
            assert_allclose(graph_losses, plain_losses, rtol=0.5 if drops else 0.02, err_msg=model)
            for key, value in plain.items():
                if not drops:
                    assert_allclose(
                        graph[key], value, rtol=0.1, atol=0.02, err_msg=f"{model} {key}"
                    )
            assert graph_losses[-1] < 0.8 * graph_losses[0], model


@needs_gpu
def test_same_seed_same_network_on_a_gpu():
    for model, size in MODELS.items():
        one, _ = trained_steps(model, size, captured=True)
        two, _ = trained_steps(model, size, captured=True)
        for key, value in one.items():
            assert_array_equal(two[key], value, err_msg=f"{model} {key}")


@needs_gpu
def test_estimators_learn_on_a_gpu_and_answer_without_it():
    X, y = colours(2000)
    options = {"batch_size": 128, "epochs": 8, "learning_rate": 3e-3, "random_state": 0}
    for model in ("cnn", "resnet8", "resnet9"):
        net = TorchClassifier(**named(model), tta=True, ema=0.9, **options).fit(X[:1500], y[:1500])
        assert net.score(X[1500:], y[1500:]) > 0.9, model
        on_gpu = net.predict_proba(X[1500:])
        moved = pickle.loads(pickle.dumps(net)).set_params(device="cpu")
        assert_allclose(moved.predict_proba(X[1500:]), on_gpu, atol=0.1, err_msg=model)
    number = TorchRegressor(**named("resnet8"), **options).fit(X[:1500], y[:1500].astype(float))
    assert number.score(X[1500:], y[1500:]) > 0.5


@needs_gpu
def test_training_leaves_the_generator_of_the_gpu_alone():
    torch.cuda.manual_seed(5)
    expected = torch.rand(3, device="cuda")
    torch.cuda.manual_seed(5)
    X, y = colours(256)
    TorchClassifier(**named("resnet8"), batch_size=64, epochs=8).fit(X, y)
    assert torch.equal(torch.rand(3, device="cuda"), expected)


if __name__ == "__main__":
    for name, test in list(globals().items()):
        if name.startswith("test_"):
            test()
            print(f"passed: {name}")
