"""Training a network: epochs, early stopping, and nothing left behind in global state."""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from condrisk.torch._forward import Batches
from condrisk.torch._images import InputSpec
from condrisk.torch._random import RandomNumbers
from condrisk.torch._recipe import Recipe, controls
from condrisk.torch._steps import Objective, Steps, TrainingRows

History = dict[str, list[float]]


def resolve_device(device: str, *, strict: bool = True) -> torch.device:
    """Return the device that a name stands for; "auto" is the GPU if there is one.

    Where it need not be that very one (`strict` False), a missing GPU is replaced by the CPU.
    """
    if device == "auto":
        device = "cuda" if torch.cuda.is_available() else "cpu"
    found = torch.device(device)
    if found.type != "cuda":
        return found
    if torch.cuda.is_available():
        return found if found.index is not None else torch.device("cuda", 0)
    if strict:
        raise ValueError(
            f"device={device!r} was asked for, but torch finds no GPU: use device='auto' or "
            f"device='cpu'"
        )
    return torch.device("cpu")


def own_stream(device: torch.device) -> contextlib.AbstractContextManager[object]:
    """Have what follows in this thread done beside what other threads ask of the same GPU."""
    if device.type != "cuda":
        return contextlib.nullcontext()
    return torch.cuda.stream(torch.cuda.Stream(device))


def cross_entropy(smoothing: float) -> Objective:
    """Return the cross-entropy of each row, with labels smoothed so much."""

    def objective(outputs: Tensor, targets: Tensor) -> Tensor:
        return functional.cross_entropy(
            outputs, targets, reduction="none", label_smoothing=smoothing
        )

    return objective


def squared_error(outputs: Tensor, targets: Tensor) -> Tensor:
    """Return the squared error of each row."""
    return (outputs[:, 0] - targets).square()


def train(
    net: Any,
    rows: TrainingRows,
    spec: InputSpec,
    recipe: Recipe,
    objective: Objective,
    numbers: RandomNumbers,
    validate: Callable[[Any], float] | None = None,
) -> tuple[Any, History]:
    """Train a network on the device on which it is.

    Parameters
    ----------
    net : torch.nn.Module
        The network; it is trained in place.
    rows : TrainingRows
        What to train on.
    spec : InputSpec
        What the network takes.
    recipe : Recipe
        How to train.
    objective : callable
        The loss of each row, from outputs and targets.
    numbers : RandomNumbers
        What the network draws, for dropout and the like.
    validate : callable, optional
        Gives the loss of a network on rows held out, by which the best epoch is kept.

    Returns
    -------
    net : torch.nn.Module
        The trained network, or the average over the steps, with the weights of the best epoch.
    history : dict of str to list of float
        Figures of each epoch.
    """
    steps = Steps(net, rows, spec, objective, recipe, numbers)
    history: History = {"train_loss": [], "learning_rate": [], "seconds": []}
    best = _BestEpoch(recipe.patience)
    for of_epoch in controls(recipe, steps.n_steps):
        began = time.perf_counter()
        loss = steps.epoch(of_epoch)
        if not math.isfinite(loss):
            raise ValueError(
                "training diverged: the loss became NaN or infinite. Lower learning_rate, or "
                "scale the inputs or the target."
            )
        history["train_loss"].append(loss)
        history["learning_rate"].append(float(of_epoch[-1, 0]))
        if validate is not None:
            with numbers:
                held_out = validate(steps.trained())
            history.setdefault("validation_loss", []).append(held_out)
            best.consider(held_out, steps.trained())
        history["seconds"].append(time.perf_counter() - began)
        if best.is_over:
            break
    steps.close()
    trained = steps.trained()
    best.restore(trained)
    return trained, history


def make_validation(
    batches: Batches, rows: TrainingRows, objective: Objective
) -> Callable[[Any], float]:
    """Return the function that gives the mean loss of a network on rows held out."""

    @torch.inference_mode()
    def validate(net: Any) -> float:
        losses = objective(batches.outputs(net), rows.targets) * rows.weights
        return float(losses.sum() / rows.weights.sum())

    return validate


class _BestEpoch:
    """Remembers the weights of the best epoch and when patience is at its end."""

    def __init__(self, patience: int | None) -> None:
        self._patience = patience
        self._loss = math.inf
        self._state: dict[str, Tensor] | None = None
        self._waited = 0

    @property
    def is_over(self) -> bool:
        return self._patience is not None and self._waited >= self._patience

    def consider(self, loss: float, net: Any) -> None:
        if loss < self._loss:
            self._loss, self._waited = loss, 0
            self._state = {name: value.clone() for name, value in net.state_dict().items()}
        else:
            self._waited += 1

    def restore(self, net: Any) -> None:
        if self._state is not None:
            net.load_state_dict(self._state)
