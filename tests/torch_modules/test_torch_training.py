"""The training engine: schedule, held-out rows, steps, early stopping, averages, capture."""

import contextlib
import copy
import itertools
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose, assert_array_equal
from torch import nn

from condrisk.paper.networks import create_model
from condrisk.torch import TorchClassifier
from condrisk.torch import _steps as steps_module
from condrisk.torch._forward import Batches
from condrisk.torch._images import InputSpec
from condrisk.torch._random import RandomNumbers
from condrisk.torch._recipe import Recipe, controls, hold_out
from condrisk.torch._steps import WARM_UP_RUNS, CapturedFunction, Steps, TrainingRows
from condrisk.torch._training import (
    cross_entropy,
    make_validation,
    resolve_device,
    squared_error,
    train,
)

CPU = torch.device("cpu")
SPEC = InputSpec(torch.zeros(3), torch.ones(3), None)
NUMBERS = RandomNumbers(0, CPU)
RECIPE = Recipe(
    epochs=4,
    batch_size=8,
    learning_rate=0.01,
    weight_decay=0.1,
    schedule="one-cycle",
    patience=None,
    ema=None,
    augment=False,
    cutout=0,
    seed=0,
)


def some_rows(n_rows=20, seed=0, n_classes=3):
    generator = torch.Generator().manual_seed(seed)
    return TrainingRows(
        torch.randn(n_rows, 8, 8, 3, generator=generator),
        torch.randint(0, n_classes, (n_rows,), generator=generator),
        0.5 + torch.rand(n_rows, generator=generator),
    )


def small_net(seed=0):
    with RandomNumbers(seed, CPU):
        return create_model("resnet8", num_classes=3)


# The recipe ---------------------------------------------------------------------------------------


def test_one_cycle_goes_up_and_down():
    rate = controls(RECIPE._replace(epochs=10), 50)[..., 0].ravel()
    peak = rate.argmax()
    assert abs(peak / len(rate) - 0.2) < 0.01
    assert 0.98 * 0.01 < rate.max() <= 0.01 * (1 + 1e-6)
    assert (np.diff(rate[: peak + 1]) > 0).all()
    assert (np.diff(rate[peak:]) < 0).all()
    assert rate[-1] < 1e-6
    assert rate[0] < 2e-4
    # Up along a line: 0.1 of the peak in the mean; down along a cosine: half of 0.8.
    assert_allclose(rate.mean(), 0.01 * 0.5, rtol=0.01)


def test_constant_rate():
    assert_allclose(controls(RECIPE._replace(schedule="constant"), 3)[..., 0], 0.01)


def test_share_of_new_weights():
    share = controls(RECIPE._replace(epochs=100, ema=0.9), 10)[..., 1].ravel()
    assert_allclose(share[0], 0.9)
    assert (np.diff(share) <= 0).all()
    assert_allclose(share[-1], 0.1, rtol=1e-6)


@pytest.mark.parametrize("share", [0.1, 0.25])
def test_classes_are_held_out_in_proportion(share, seed):
    rng = np.random.RandomState(seed)
    codes = rng.permutation(np.repeat(np.arange(23), [400, 120, 40, *[1] * 20]))
    rows, held = hold_out(codes, share, rng, keep_each=True)
    assert_array_equal(np.sort(np.r_[rows, held]), np.arange(len(codes)))
    assert len(held) == round(share * len(codes))
    expected = share * np.bincount(codes)
    assert (np.abs(np.bincount(codes[held], minlength=23) - expected)[:3] <= 1 + 20 * share).all()
    assert codes[held].max() < 3  # the only row of a class is for training


def test_numbers_are_held_out_alike(seed):
    rng = np.random.RandomState(seed)
    y = rng.lognormal(size=1000)
    _, held = hold_out(y, 0.1, rng, keep_each=False)
    assert len(held) == 100
    # One from each of a hundred quantile bins, so the quantiles agree far better than by chance.
    ranks = np.sort(np.argsort(np.argsort(y))[held])
    assert (ranks // 10 == np.arange(100)).all()


@pytest.mark.parametrize(("n_rows", "n_held"), [(2, 0), (3, 1), (4, 1), (30, 3)])
def test_few_rows(n_rows, n_held):
    rng = np.random.RandomState(0)
    rows, held = hold_out(np.arange(n_rows), 0.1, rng, keep_each=False)
    assert (len(rows), len(held)) == (n_rows - n_held, n_held)


# Steps --------------------------------------------------------------------------------------------


def by_hand(net, rows, plan, rates, objective, recipe, shares=None):
    """Train with torch's plain parts; return the network and its average."""
    optimizer = torch.optim.AdamW(net.parameters(), weight_decay=recipe.weight_decay, foreach=False)
    average = {k: v.clone().double() for k, v in net.state_dict().items()}
    net.train()
    for step, picked in enumerate(plan):
        optimizer.param_groups[0]["lr"] = float(rates[step])
        optimizer.zero_grad()
        outputs = net(rows.pixels[picked].permute(0, 3, 1, 2))
        (objective(outputs, rows.targets[picked]) * rows.weights[picked]).mean().backward()
        optimizer.step()
        if shares is not None:
            for key, value in net.state_dict().items():
                average[key] += float(shares[step]) * (value - average[key])
    return net, average


@pytest.mark.parametrize("ema", [None, 0.8])
def test_an_epoch_is_what_torch_does_step_by_step(ema, seed):
    recipe = RECIPE._replace(ema=ema, seed=seed)
    rows, net = some_rows(seed=seed), small_net(seed)
    twin = copy.deepcopy(net)
    steps = Steps(net, rows, SPEC, cross_entropy(0.1), recipe, NUMBERS)
    table = controls(recipe, steps.n_steps)
    plans = []
    for of_epoch in table[:2]:
        loss = steps.epoch(of_epoch)
        plans += list(steps._plan[:, 0].clone())
    assert steps.n_steps == 2  # of 20 rows in batches of 8, four are left out
    assert all(len(set(plan.tolist())) == 8 for plan in plans)
    rates, shares = table[:2].reshape(-1, 2).T
    twin, average = by_hand(twin, rows, plans, rates, cross_entropy(0.1), recipe, shares)
    assert 0 < loss < 10
    for key, value in net.state_dict().items():
        torch.testing.assert_close(value, twin.state_dict()[key], rtol=1e-3, atol=1e-4)
    if ema is not None:
        for key, value in steps.trained().state_dict().items():
            if value.is_floating_point():
                torch.testing.assert_close(value.double(), average[key], rtol=1e-3, atol=1e-4)


def test_every_row_is_used_and_moves_stay_in_reach():
    rows = some_rows(40)
    recipe = RECIPE._replace(augment=True, batch_size=20)
    steps = Steps(small_net(), rows, SPEC, cross_entropy(0), recipe, NUMBERS)
    plans = torch.cat([steps._new_plan() for _ in range(20)])
    assert sorted(plans[:2, 0].flatten().tolist()) == list(range(40))
    assert set(plans[:, 1].flatten().tolist()) == {-1, 0, 1}
    assert set(plans[:, 2].flatten().tolist()) == {-1, 0, 1}
    assert abs(float(plans[:, 3].double().mean()) - 0.5) < 0.1


@pytest.mark.parametrize(
    ("augment", "moves", "flips"),
    [(True, True, True), (False, False, False), ("crop", True, False), ("flip", False, True)],
)
def test_kinds_of_augmentation(augment, moves, flips):
    recipe = RECIPE._replace(augment=augment, batch_size=20)
    plan = Steps(small_net(), some_rows(40), SPEC, cross_entropy(0), recipe, NUMBERS)._new_plan()
    assert bool(plan[:, 1:3].any()) == moves
    assert bool(plan[:, 3].any()) == flips


def test_objectives():
    outputs = torch.tensor([[1.0, 2.0, 0.5]])
    log_p = torch.log_softmax(outputs, dim=1)[0]
    plain = cross_entropy(0.0)(outputs, torch.tensor([1]))
    assert_allclose(plain, [-log_p[1]])
    smoothed = cross_entropy(0.3)(outputs, torch.tensor([1]))
    assert_allclose(smoothed, [-0.7 * log_p[1] - 0.3 * log_p.mean()], rtol=1e-6)
    assert_allclose(squared_error(torch.tensor([[3.0], [1.0]]), torch.tensor([1.0, 1.0])), [4, 0])


# Early stopping -----------------------------------------------------------------------------------


def validation_with(losses):
    """Return a validation with given losses, and the states of the networks it saw."""
    seen = []

    def validate(net):
        seen.append({k: v.clone() for k, v in net.state_dict().items()})
        return losses[len(seen) - 1]

    return validate, seen


@pytest.mark.parametrize("ema", [None, 0.5])
def test_patience_and_the_best_epoch(ema):
    validate, seen = validation_with([5, 3, 4, 2, 2.5, 2, 3, 1, 1])
    recipe = RECIPE._replace(epochs=9, patience=3, ema=ema)
    net, history = train(
        small_net(), some_rows(), SPEC, recipe, cross_entropy(0), NUMBERS, validate=validate
    )
    assert history["validation_loss"] == [5, 3, 4, 2, 2.5, 2, 3]
    assert len(history["train_loss"]) == len(history["seconds"]) == 7
    for key, value in net.state_dict().items():
        assert torch.equal(value, seen[3][key])
    assert not net.training
    # Judged in evaluation mode, trained in training mode: running statistics go on running.
    means = [state["norm.running_mean"] for state in seen]
    assert all(not torch.equal(a, b) for a, b in itertools.pairwise(means))


def test_without_validation_all_epochs_are_run():
    _, history = train(
        small_net(), some_rows(), SPEC, RECIPE, objective=cross_entropy(0), numbers=NUMBERS
    )
    assert sorted(history) == ["learning_rate", "seconds", "train_loss"]
    assert len(history["train_loss"]) == 4
    assert_allclose(history["learning_rate"], controls(RECIPE, 2)[:, -1, 0])


def test_validation_weighs_the_rows():
    rows, net = some_rows(30), small_net().eval()
    with torch.inference_mode():
        losses = cross_entropy(0)(net(rows.pixels.permute(0, 3, 1, 2)), rows.targets)
    expected = np.average(losses.numpy(), weights=rows.weights.numpy())
    batches = Batches(rows.pixels, SPEC, CPU, False, 8)
    validate = make_validation(batches, rows, cross_entropy(0))
    assert_allclose(validate(net), expected, rtol=1e-5)


def test_divergence_is_an_error():
    rows = some_rows()._replace(targets=torch.full((20,), torch.inf))
    with pytest.raises(ValueError, match="training diverged"):
        train(small_net(), rows, SPEC, RECIPE, objective=squared_error, numbers=NUMBERS)


# Global state -------------------------------------------------------------------------------------


def test_training_leaves_the_generator_of_torch_alone():
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    with RandomNumbers(1, CPU):
        inside = torch.rand(3)
    assert torch.equal(torch.rand(3), expected)
    with RandomNumbers(1, CPU):
        assert torch.equal(torch.rand(3), inside)


def dropping_net(num_classes):
    return nn.Sequential(
        nn.Flatten(), nn.Linear(8 * 8 * 3, 32), nn.Dropout(0.5), nn.Linear(32, num_classes)
    )


def test_networks_trained_in_threads_at_once_are_what_they_are_alone():
    X, y = some_rows(200).pixels.numpy(), some_rows(200).targets.numpy()

    def losses(seed):
        net = TorchClassifier(dropping_net, epochs=12, batch_size=32, random_state=seed)
        return net.fit(X, y).history_["train_loss"]

    alone = [losses(seed) for seed in range(4)]
    assert alone[0] != alone[1]
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(losses, range(4))) == alone


def test_devices(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert resolve_device("auto") == CPU
    assert resolve_device("cuda:1", strict=False) == CPU
    with pytest.raises(ValueError, match="torch finds no GPU"):
        resolve_device("cuda")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    assert resolve_device("auto") == torch.device("cuda", 0)
    assert resolve_device("cuda:1") == torch.device("cuda", 1)
    assert resolve_device("cpu") == CPU


# Capture, with a stand-in for CUDA ----------------------------------------------------------------


class FakeCuda:
    """Keeps what is run during a capture and runs it at each replay, as a CUDA graph does."""

    def __init__(self, monkeypatch, *, fails=False):
        self.fails = fails
        self.capturing = None
        self.on_side = 0
        for name in ("Stream", "stream", "current_stream", "CUDAGraph", "graph"):
            monkeypatch.setattr(steps_module.torch.cuda, name, getattr(self, name))

    class Stream:
        def __init__(self, device=None):
            pass

        def wait_stream(self, other):
            pass

    class CUDAGraph:
        def __init__(self):
            self.work = []

        def replay(self):
            for work in self.work:
                work()

    def current_stream(self):
        return self.Stream()

    @contextlib.contextmanager
    def stream(self, stream):
        self.on_side += 1
        yield

    @contextlib.contextmanager
    def graph(self, graph, *, stream, capture_error_mode):
        self.capturing = graph
        yield
        self.capturing = None
        if self.fails:
            raise RuntimeError("operation not permitted when stream is capturing")

    def launch(self, work):
        if self.capturing is None:
            work()
        else:
            self.capturing.work.append(work)


def test_a_captured_function_runs_as_often_as_asked(monkeypatch):
    cuda, done = FakeCuda(monkeypatch), []
    run = CapturedFunction(
        lambda: cuda.launch(lambda: done.append(1)), torch.device("cuda", 0), 100, NUMBERS
    )
    for count in range(1, 30):
        run()
        assert len(done) == count
        assert run.is_captured == (count > WARM_UP_RUNS)
    assert cuda.on_side == WARM_UP_RUNS


def test_if_the_capture_fails_steps_go_on(monkeypatch):
    cuda, done = FakeCuda(monkeypatch, fails=True), []
    run = CapturedFunction(
        lambda: cuda.launch(lambda: done.append(1)), torch.device("cuda", 0), 100, NUMBERS
    )
    for _ in range(WARM_UP_RUNS):
        run()
    with pytest.warns(RuntimeWarning, match="CUDA graph"):
        run()
    for _ in range(5):
        run()
    assert len(done) == WARM_UP_RUNS + 6
    assert not run.is_captured


def test_few_runs_are_not_captured(monkeypatch):
    cuda, done = FakeCuda(monkeypatch), []
    run = CapturedFunction(lambda: done.append(1), torch.device("cuda", 0), 10, NUMBERS)
    for _ in range(10):
        run()
    assert len(done) == 10
    assert cuda.on_side == 0
