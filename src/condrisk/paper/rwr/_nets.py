"""Training of many small networks at once: stacked parameters, one gradient step for all.

A network of 64 units takes so little arithmetic that most of its training time goes into calling
numpy. Networks of one shape therefore share every call: parameters, activations and gradients
have the network as their first axis.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.floating]

_BETA_1, _BETA_2, _EPSILON = 0.9, 0.999, 1e-8


class Recipe(NamedTuple):
    """How to train: the settings that scikit-learn's networks have under the same names."""

    alpha: float
    batch_size: int
    learning_rate_init: float
    max_iter: int
    tol: float
    n_iter_no_change: int


class Nets:
    """Networks of one shape, their parameters in one array of shape (n_nets, n_parameters).

    Weights come first, then biases, so that what is penalised is one slice. `weights` and `biases`
    are views into that array, of shapes (n_nets, fan_in, fan_out) and (n_nets, 1, fan_out).
    """

    def __init__(self, parameters: Floats, units: Sequence[int]) -> None:
        self.parameters = parameters
        self.units = tuple(units)
        shapes = list(pairwise(self.units))
        self.n_weights = sum(fan_in * fan_out for fan_in, fan_out in shapes)
        self.weights = list(self._views(shapes, start=0))
        self.biases = list(self._views([(1, size) for size in self.units[1:]], self.n_weights))

    def _views(self, shapes: Sequence[tuple[int, int]], start: int) -> Iterator[Floats]:
        for fan_in, fan_out in shapes:
            stop = start + fan_in * fan_out
            yield self.parameters[:, start:stop].reshape(len(self.parameters), fan_in, fan_out)
            start = stop

    @classmethod
    def initial(
        cls, units: Sequence[int], n_nets: int, dtype: str, rng: np.random.RandomState
    ) -> Self:
        """Draw one network by scikit-learn's law (Glorot's) and repeat it."""
        weights, biases = [], []
        for fan_in, fan_out in pairwise(units):
            bound = np.sqrt(6.0 / (fan_in + fan_out))
            weights.append(rng.uniform(-bound, bound, fan_in * fan_out))
            biases.append(rng.uniform(-bound, bound, fan_out))
        one = np.concatenate(weights + biases).astype(dtype)
        return cls(np.tile(one, (n_nets, 1)), units)

    def __len__(self) -> int:
        return len(self.parameters)

    def squared_norms(self) -> Floats:
        """Return the sum of squared weights of each network."""
        weights = self.parameters[:, : self.n_weights]
        return np.einsum("ij,ij->i", weights, weights)


def outputs(weights: Sequence[Floats], biases: Sequence[Floats], X: Floats) -> Floats:
    """Return what networks answer on some rows, in the shape (n_rows, n_nets)."""
    signal = X
    for weight, bias in zip(weights[:-1], biases[:-1], strict=True):
        signal = np.maximum(signal @ weight + bias, 0)
    return (signal @ weights[-1] + biases[-1])[:, :, 0].T


class _Workspace:
    """The arrays that a step on a batch of a certain size writes into, kept between steps."""

    def __init__(self, nets: Nets, n_rows: int) -> None:
        dtype = nets.parameters.dtype
        sizes = [(len(nets), n_rows, units) for units in nets.units[1:]]
        self.signals = [np.empty(size, dtype) for size in sizes]
        self.deltas = [np.empty(size, dtype) for size in sizes[:-1]]
        self.active = [np.empty(size, bool) for size in sizes[:-1]]


class _Trainer:
    """Networks in training: their parameters, and what Adam remembers of each."""

    def __init__(self, nets: Nets, recipe: Recipe) -> None:
        self.nets, self.recipe = nets, recipe
        self.moment = np.zeros_like(nets.parameters)
        self.square = np.zeros_like(nets.parameters)
        self.n_steps = 0
        self._prepare()

    def _prepare(self) -> None:
        self.gradient = Nets(np.empty_like(self.nets.parameters), self.nets.units)
        self.scratch = np.empty_like(self.nets.parameters)
        self.workspaces: dict[int, _Workspace] = {}

    def keep(self, chosen: NDArray[np.bool_]) -> None:
        """Go on with some of the networks only."""
        self.nets = Nets(self.nets.parameters[chosen], self.nets.units)
        self.moment, self.square = self.moment[chosen], self.square[chosen]
        self._prepare()

    def step(self, X: Floats, Y: Floats, weight: Floats | None) -> Floats:
        """Take one step of Adam on a batch; return the loss of each network before it."""
        work = self.workspaces.get(len(X))
        if work is None:
            work = self.workspaces[len(X)] = _Workspace(self.nets, len(X))
        total = float(len(X)) if weight is None else float(weight.sum())
        delta = self._forward(X, work)
        delta -= Y
        loss = self._loss(delta, weight, total)
        if weight is not None:
            delta *= weight[:, np.newaxis]
        delta *= delta.dtype.type(1 / total)
        self._backward(X, delta, work)
        self._descend(self.recipe.alpha / total)
        return loss

    def _loss(self, error: Floats, weight: Floats | None, total: float) -> Floats:
        # As scikit-learn counts: half the mean squared error, plus the penalty.
        if weight is None:
            squares = np.einsum("nbk,nbk->n", error, error)
        else:
            squares = np.einsum("nbk,nbk,b->n", error, error, weight)
        return (squares + self.recipe.alpha * self.nets.squared_norms()) / (2 * total)

    def _forward(self, X: Floats, work: _Workspace) -> Floats:
        signal = X
        last = len(work.signals) - 1
        for layer, out in enumerate(work.signals):
            np.matmul(signal, self.nets.weights[layer], out=out)
            out += self.nets.biases[layer]
            if layer < last:
                np.maximum(out, 0, out=out)
            signal = out
        return signal

    def _backward(self, X: Floats, delta: Floats, work: _Workspace) -> None:
        for layer in range(len(work.signals) - 1, -1, -1):
            below = work.signals[layer - 1] if layer else X
            np.matmul(below.swapaxes(-1, -2), delta, out=self.gradient.weights[layer])
            np.add.reduce(delta, axis=1, keepdims=True, out=self.gradient.biases[layer])
            if not layer:
                return
            out, active = work.deltas[layer - 1], work.active[layer - 1]
            upward = self.nets.weights[layer].swapaxes(1, 2)
            # Below the one output: a column times a row, which numpy multiplies faster than BLAS.
            product = np.multiply if delta.shape[2] == 1 else np.matmul
            product(delta, upward, out=out)
            np.greater(below, 0, out=active)
            out *= active
            delta = out

    def _descend(self, decay: float) -> None:
        """Update the parameters by Adam; in place, since these arrays are most of the traffic."""
        gradient, scratch, scalar = self.gradient.parameters, self.scratch, self.scratch.dtype.type
        weights = slice(0, self.nets.n_weights)
        np.multiply(self.nets.parameters[:, weights], scalar(decay), out=scratch[:, weights])
        gradient[:, weights] += scratch[:, weights]
        self.n_steps += 1
        self.moment *= scalar(_BETA_1)
        self.moment += np.multiply(gradient, scalar(1 - _BETA_1), out=scratch)
        self.square *= scalar(_BETA_2)
        gradient *= gradient
        gradient *= scalar(1 - _BETA_2)
        self.square += gradient
        correction = np.sqrt(1 - _BETA_2**self.n_steps) / (1 - _BETA_1**self.n_steps)
        np.sqrt(self.square, out=scratch)
        scratch += scalar(_EPSILON)
        np.divide(self.moment, scratch, out=scratch)
        scratch *= scalar(self.recipe.learning_rate_init * correction)
        self.nets.parameters -= scratch


class Trained(NamedTuple):
    """The outcome: networks, and for each its number of epochs and its last loss."""

    nets: Nets
    n_iter: NDArray[np.intp]
    loss: NDArray[np.float64]
    converged: NDArray[np.bool_]


def train(
    nets: Nets,
    X: Floats,
    Y: Floats,
    weight: Floats | None,
    recipe: Recipe,
    rng: np.random.RandomState,
) -> Trained:
    """Train networks on the same rows, each on its own column of `Y`, until each has stopped.

    A network stops, as in scikit-learn, after more than `n_iter_no_change` epochs in a row that
    did not lower its best loss by `tol`, or after `max_iter` epochs. The others go on without it.
    """
    n_rows, n_nets = Y.shape
    targets = np.ascontiguousarray(Y.T)[:, :, np.newaxis]
    trainer = _Trainer(nets, recipe)
    done = Nets(np.empty_like(nets.parameters), nets.units)
    n_iter, losses = np.zeros(n_nets, np.intp), np.zeros(n_nets)
    converged = np.zeros(n_nets, bool)
    running = np.arange(n_nets)
    best, idle = np.full(n_nets, np.inf), np.zeros(n_nets, np.intp)
    order = np.arange(n_rows)
    for epoch in range(1, recipe.max_iter + 1):
        order = order[_permutation(n_rows, rng)]
        loss = _epoch(trainer, X, targets[running], weight, order)
        idle[running] = np.where(loss > best[running] - recipe.tol, idle[running] + 1, 0)
        best[running] = np.minimum(best[running], loss)
        converged[running] = idle[running] > recipe.n_iter_no_change
        stopped = converged[running] | (epoch == recipe.max_iter)
        if stopped.any():
            done.parameters[running[stopped]] = trainer.nets.parameters[stopped]
            n_iter[running[stopped]], losses[running[stopped]] = epoch, loss[stopped]
            running = running[~stopped]
            if not len(running):
                break
            trainer.keep(~stopped)
    return Trained(done, n_iter, losses, converged)


def _permutation(n_rows: int, rng: np.random.RandomState) -> NDArray[np.intp]:
    order = np.arange(n_rows)
    rng.shuffle(order)  # not rng.permutation: the numbers are to be those of sklearn.utils.shuffle
    return order


def _epoch(
    trainer: _Trainer, X: Floats, Y: Floats, weight: Floats | None, order: NDArray[np.intp]
) -> NDArray[np.float64]:
    """Go through the rows once; return the mean loss of each network on the way."""
    X, Y = X[order], Y[:, order]
    weight = None if weight is None else weight[order]
    total = np.zeros(len(Y))
    size = trainer.recipe.batch_size
    for start in range(0, len(X), size):
        batch = slice(start, start + size)
        part = None if weight is None else weight[batch]
        loss = trainer.step(X[batch], Y[:, batch], part)
        total += np.multiply(loss, len(X[batch]), dtype=np.float64)
    return total / len(X)
