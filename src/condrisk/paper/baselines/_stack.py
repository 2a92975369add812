"""Networks trained side by side: one set of parameters with a leading axis for the net.

All nets of a stack see the same batches, so that one matrix product serves them all. A step of
such small networks is mostly overhead, of which automatic differentiation is the greater part;
hence the gradients are written out here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from condrisk.paper.baselines._forward import Floats, Weights
from condrisk.paper.baselines._heads import EPS, MOMENTUM, Head, NormReLU, Param, Params, as_numpy

BETA1, BETA2, ADAM_EPS = 0.9, 0.999, 1e-8


class Training(NamedTuple):
    """How to train."""

    max_epochs: int
    batch_size: int
    learning_rate: float
    weight_decay: float


def import_torch() -> Any:
    """Return torch, or say how to get it."""
    try:
        import torch
    except ImportError as error:
        raise ImportError(
            "Training this network needs torch, which is not installed: "
            'pip install "condrisk[torch]".'
        ) from error
    return torch


def train(
    X: Floats,
    y: Floats,
    head: Head,
    *,
    hidden_units: int,
    training: Training,
    rng: np.random.RandomState,
) -> Weights:
    """Train a stack of networks and return their weights, batch norms folded in.

    The first number drawn from `rng` seeds the order of the batches, the others one net each, so
    that the first net of a stack is what it would be alone.
    """
    shuffle_seed, *net_seeds = rng.randint(np.iinfo(np.int32).max, size=1 + head.n_nets)
    # Batch norm takes any shift of the features away, float32 its digits.
    centre = X.mean(axis=0)
    stack = Stack(X.shape[1], hidden_units, head, net_seeds)
    stack.run(X - centre, y, training, np.random.RandomState(shuffle_seed))
    if not stack.is_finite():
        raise ValueError(
            "training diverged: weights or gradients became NaN or infinite. The networks are "
            "trained in single precision on y as it is: scale y, or lower learning_rate."
        )
    return stack.weights() | {"centre": centre}


class Stack:
    """Networks BatchNorm → Linear → BatchNorm → ReLU → head, side by side.

    A constant added to the inputs of a batch norm is taken away by it. So neither the shift of
    the first batch norm nor the bias of the linear layer before the second is there.

    Parameters
    ----------
    n_features, hidden_units : int
        The size of the linear layer.
    head : Head
        What stands on the hidden units, and the objective.
    seeds : sequence of int
        The seed of each net's initial parameters.
    dtype : str
        "float32" or "float64".
    """

    def __init__(
        self,
        n_features: int,
        hidden_units: int,
        head: Head,
        seeds: Sequence[int],
        *,
        dtype: str = "float32",
    ) -> None:
        torch = self.torch = import_torch()
        self.dtype = getattr(torch, dtype)
        self.head = head
        self.n_nets, self.n_features, self.hidden_units = len(seeds), n_features, hidden_units
        layout = _trunk(n_features, hidden_units) | head.shapes(hidden_units)
        size = self.n_nets * sum(int(np.prod(param.shape)) for param in layout.values())
        # One vector each for parameters and gradients: Adam then takes a few calls in all.
        self.flat = torch.empty(size, dtype=self.dtype)
        self.flat_grad = torch.zeros_like(self.flat)
        self.params, self.grads = (self._views(v, layout) for v in (self.flat, self.flat_grad))
        self._adam = (torch.zeros_like(self.flat), torch.zeros_like(self.flat))
        self._n_steps = 0
        for net, seed in enumerate(seeds):
            rng = np.random.RandomState(seed)
            for name, param in layout.items():
                self.params[name][net] = torch.tensor(param.draw(rng), dtype=self.dtype)
        like = self.flat.new_zeros(n_features)
        self.input_stats = (like, torch.ones_like(like))
        names = ("gain", "shift")
        self.norm = NormReLU(
            torch, *(self.params[n] for n in names), *(self.grads[n] for n in names)
        )
        head.start(torch, self.params, self.grads)

    def run(self, X: Floats, y: Floats, training: Training, rng: np.random.RandomState) -> None:
        """Go through the rows `max_epochs` times in shuffled batches."""
        torch = self.torch
        rows, targets = (torch.tensor(values, dtype=self.dtype) for values in (X, y))
        batches = list(batch_slices(len(X), training.batch_size))
        with torch.no_grad():
            for _ in range(training.max_epochs):
                order = torch.from_numpy(rng.permutation(len(X)))
                x, target = rows[order], targets[order]
                for batch in batches:
                    self.backward(x[batch], target[batch])
                    self._update(training)

    def backward(self, x: Any, y: Any) -> None:
        """Compute the gradient of the objective on one batch; keep running statistics."""
        torch, params, grads = self.torch, self.params, self.grads
        n_nets, n_rows, n_features = self.n_nets, len(x), self.n_features
        x, _, _ = torch.native_batch_norm(x, None, None, *self.input_stats, True, MOMENTUM, EPS)
        # The nets differ in the scale of the first batch norm only, so that it joins the weights.
        scale = params["scale"].unsqueeze(2)
        weight = (scale * params["hidden"]).transpose(0, 1).reshape(n_features, -1)
        hidden = self.norm.forward(x @ weight)
        hidden = hidden.view(n_rows, n_nets, -1).transpose(0, 1)
        d_hidden = self.head.backward(hidden, y).transpose(0, 1).reshape(n_rows, -1)
        d_weight = x.t() @ self.norm.backward(d_hidden)
        d_weight = d_weight.view(n_features, n_nets, -1).transpose(0, 1)
        torch.mul(d_weight, scale, out=grads["hidden"])
        torch.sum(d_weight * params["hidden"], 2, out=grads["scale"])

    def _update(self, training: Training) -> None:
        """Take a step of Adam, the weight decay as part of the gradient."""
        first, second = self._adam
        self._n_steps += 1
        grad = self.flat_grad.add_(self.flat, alpha=training.weight_decay)
        first.lerp_(grad, 1 - BETA1)
        second.mul_(BETA2).addcmul_(grad, grad, value=1 - BETA2)
        root = second.sqrt().div_((1 - BETA2**self._n_steps) ** 0.5).add_(ADAM_EPS)
        rate = training.learning_rate / (1 - BETA1**self._n_steps)
        self.flat.addcdiv_(first, root, value=-rate)

    def is_finite(self) -> bool:
        """Tell whether all went well; infinite squares of gradients would stop Adam silently."""
        return all(bool(self.torch.isfinite(v).all()) for v in (self.flat, *self._adam))

    def weights(self) -> Weights:
        """Return what `_forward` computes with, running statistics folded in, in float64."""
        params = {name: as_numpy(value) for name, value in self.params.items()}
        mean, var = (as_numpy(value) for value in self.input_stats)
        hidden = (params["scale"] / np.sqrt(var + EPS))[:, :, None] * params["hidden"]
        factor, summand = (value.reshape(self.n_nets, -1) for value in self.norm.folded())
        hidden *= factor[:, None, :]
        bias = summand - np.einsum("f,nfh->nh", mean, hidden)
        return {"hidden": hidden, "hidden_bias": bias} | self.head.weights(params)

    def _views(self, flat: Any, layout: Params) -> dict[str, Any]:
        views, begin = {}, 0
        for name, param in layout.items():
            end = begin + self.n_nets * int(np.prod(param.shape))
            views[name] = flat[begin:end].view(self.n_nets, *param.shape)
            begin = end
        return views


def _trunk(n_features: int, hidden_units: int) -> Params:
    return {
        "scale": Param((n_features,), constant=1.0),
        "hidden": Param((n_features, hidden_units), n_features),
        "gain": Param((hidden_units,), constant=1.0),
        "shift": Param((hidden_units,), constant=0.0),
    }


def batch_slices(n_rows: int, batch_size: int) -> Iterator[slice]:
    """Cut rows into batches; a last row by itself, which has no variance, joins the one before."""
    starts = list(range(0, n_rows, batch_size))
    if len(starts) > 1 and n_rows - starts[-1] == 1:
        starts.pop()
    return (slice(a, b) for a, b in zip(starts, [*starts[1:], n_rows], strict=True))
