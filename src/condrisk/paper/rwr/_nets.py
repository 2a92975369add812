"""Training of many small networks at once: stacked parameters, one gradient step for all.

A network of 64 units takes so little arithmetic that most of its training time goes into calling
numpy and into passes over its activations. Networks of one shape therefore share every call:
parameters, activations and gradients have the network as their first axis. Rows are the last axis,
and what goes into a layer ends with a line of ones, so that products of matrices add the biases
and give their gradient too. Gradients are written over the activations that they no longer need,
so that a step stays in the processor's cache. What a step takes beside its products of matrices
(``python -m benchmarks rwr``, "floor") are passes over arrays, which numpy cannot fuse.
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

    `layers` are views into that array, of shapes (n_nets, fan_out, fan_in + 1): weights, and last
    the bias. So are `weights` and `biases`, with axes in the order of scikit-learn:
    (n_nets, fan_in, fan_out) and (n_nets, 1, fan_out).
    """

    def __init__(self, parameters: Floats, units: Sequence[int]) -> None:
        self.parameters = parameters
        self.units = tuple(units)
        self.layers = list(self._views())
        self.weights = [layer[:, :, :-1].swapaxes(1, 2) for layer in self.layers]
        self.biases = [layer[:, :, -1:].swapaxes(1, 2) for layer in self.layers]

    def _views(self) -> Iterator[Floats]:
        start = 0
        for fan_in, fan_out in pairwise(self.units):
            stop = start + fan_out * (fan_in + 1)
            yield self.parameters[:, start:stop].reshape(-1, fan_out, fan_in + 1)
            start = stop

    @classmethod
    def initial(
        cls, units: Sequence[int], n_nets: int, dtype: str, rng: np.random.RandomState
    ) -> Self:
        """Draw one network by scikit-learn's law (Glorot's) and repeat it."""
        size = sum(fan_out * (fan_in + 1) for fan_in, fan_out in pairwise(units))
        nets = cls(np.empty((n_nets, size), dtype), units)
        for weights, biases in zip(nets.weights, nets.biases, strict=True):
            _, fan_in, fan_out = weights.shape
            bound = np.sqrt(6.0 / (fan_in + fan_out))
            weights[:] = rng.uniform(-bound, bound, (fan_in, fan_out))
            biases[:] = rng.uniform(-bound, bound, fan_out)
        return nets

    def __len__(self) -> int:
        return len(self.parameters)


def outputs(weights: Sequence[Floats], biases: Sequence[Floats], X: Floats) -> Floats:
    """Return what networks answer on some rows, in the shape (n_rows, n_nets)."""
    signal = X
    for weight, bias in zip(weights[:-1], biases[:-1], strict=True):
        signal = np.maximum(signal @ weight + bias, 0)
    return (signal @ weights[-1] + biases[-1])[:, :, 0].T


class _Workspace:
    """The arrays that a step on a batch of a certain size writes into, kept between steps.

    `inputs` are what goes into each layer but the first: `signals`, the units below, and ones.
    """

    def __init__(self, nets: Nets, n_rows: int) -> None:
        dtype, hidden = nets.parameters.dtype, nets.units[1:-1]
        self.inputs = [np.ones((len(nets), units + 1, n_rows), dtype) for units in hidden]
        self.signals = [inputs[:, :-1] for inputs in self.inputs]
        self.transposed = [inputs.swapaxes(1, 2) for inputs in self.inputs]
        self.active = [np.empty(signal.shape, bool) for signal in self.signals]
        # numpy takes the maximum of two arrays five times as fast as that of an array and 0.
        self.zeros = [np.zeros((units, n_rows), dtype) for units in hidden]
        self.output = np.empty((len(nets), 1, n_rows), dtype)


class _Trainer:
    """Networks in training: their parameters, and what Adam remembers of each."""

    def __init__(self, nets: Nets, recipe: Recipe) -> None:
        self.nets, self.recipe = nets, recipe
        penalty = Nets(np.zeros_like(nets.parameters[:1]), nets.units)
        for weights in penalty.weights:
            weights[:] = recipe.alpha
        self.penalty = penalty.parameters
        # Sums of gradients and of their squares, the past forgotten at Adam's two rates.
        self.memory = np.zeros((2, *nets.parameters.shape), nets.parameters.dtype)
        self.rates = np.array([_BETA_1, _BETA_2], self.memory.dtype)[:, np.newaxis, np.newaxis]
        self.n_steps = 0
        self._prepare()

    def _prepare(self) -> None:
        self.news = np.empty_like(self.memory)
        self.gradient = Nets(self.news[0], self.nets.units)
        self.scratch = np.empty_like(self.nets.parameters)
        self.workspaces: dict[int, _Workspace] = {}

    def keep(self, chosen: NDArray[np.bool_]) -> None:
        """Go on with some of the networks only."""
        self.nets = Nets(self.nets.parameters[chosen], self.nets.units)
        self.memory = self.memory[:, chosen]
        self._prepare()

    def step(self, X: Floats, Y: Floats, weight: Floats | None) -> Floats:
        """Take one step of Adam on a batch; return the loss of each network before it.

        The loss is scikit-learn's: half the mean squared error, plus the penalty.
        """
        n_rows = X.shape[1]
        work = self.workspaces.get(n_rows)
        if work is None:
            work = self.workspaces[n_rows] = _Workspace(self.nets, n_rows)
        total = float(n_rows if weight is None else weight.sum())
        error = self._forward(X, work)
        error -= Y
        share = error * ((1.0 if weight is None else weight) / total)
        squares = np.vecdot(error, share)[:, 0]
        self._backward(X, share, work)
        loss = (squares + self._penalise(total)) / 2
        self._descend()
        return loss

    def _forward(self, X: Floats, work: _Workspace) -> Floats:
        below = X
        for layer, inputs in enumerate(work.inputs):
            signal = work.signals[layer]
            np.matmul(self.nets.layers[layer], below, out=signal)
            np.maximum(signal, work.zeros[layer], out=signal)
            below = inputs
        return np.matmul(self.nets.layers[-1], below, out=work.output)

    def _backward(self, X: Floats, error: Floats, work: _Workspace) -> None:
        """Write the gradient of the loss, each hidden layer's in the place of its signals.

        In the last hidden layer it is the error of a row times the weight of a unit. The weights
        are left out there, and multiplied into what has been summed over the rows.
        """
        gradients, weights = self.gradient.layers, self.nets.weights
        np.matmul(error, work.transposed[-1], out=gradients[-1])
        last = len(work.signals) - 1
        for layer in range(last, -1, -1):
            delta = work.signals[layer]
            active = np.greater(delta, 0, out=work.active[layer])
            if layer == last:
                np.multiply(active, error, out=delta)
            else:
                upward = weights[layer + 1]
                if layer + 1 == last:
                    upward = upward * self.nets.layers[-1][:, :, :-1]
                np.matmul(upward, work.signals[layer + 1], out=delta)
                delta *= active
            np.matmul(delta, work.transposed[layer - 1] if layer else X.T, out=gradients[layer])
            if layer == last:
                gradients[layer] *= weights[-1]

    def _penalise(self, total: float) -> Floats:
        """Add the gradient of the penalty; return twice the penalty of each network."""
        pull = np.multiply(self.nets.parameters, self.penalty / total, out=self.scratch)
        twice = np.vecdot(self.nets.parameters, pull)
        self.gradient.parameters += pull
        return twice

    def _descend(self) -> None:
        """Update the parameters by Adam; in place, since these arrays are most of the traffic."""
        gradient, squares = self.news
        np.multiply(gradient, gradient, out=squares)
        self.memory *= self.rates
        self.memory += self.news
        self.n_steps += 1
        # Adam's moments are what is remembered times 1 - beta.
        size = (1 - _BETA_2) ** 0.5
        correction = (1 - _BETA_2**self.n_steps) ** 0.5 / (1 - _BETA_1**self.n_steps)
        rate = self.recipe.learning_rate_init * correction * (1 - _BETA_1) / size
        change = np.sqrt(self.memory[1], out=self.scratch)
        change += _EPSILON / size
        np.divide(self.memory[0], change, out=change)
        change *= rate
        self.nets.parameters -= change


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
    inputs = np.vstack([X.T, np.ones(n_rows, X.dtype)])
    targets = np.ascontiguousarray(Y.T)
    trainer = _Trainer(nets, recipe)
    done = Nets(np.empty_like(nets.parameters), nets.units)
    n_iter, losses = np.zeros(n_nets, np.intp), np.zeros(n_nets)
    converged = np.zeros(n_nets, bool)
    running = np.arange(n_nets)
    best, idle = np.full(n_nets, np.inf), np.zeros(n_nets, np.intp)
    order = np.arange(n_rows)
    for epoch in range(1, recipe.max_iter + 1):
        # Not rng.permutation: the order is to be that of sklearn.utils.shuffle, epoch after epoch.
        rng.shuffle(order)
        loss = _epoch(trainer, inputs, targets, weight, order)
        idle = (idle + 1) * (loss > best - recipe.tol)
        best = np.minimum(best, loss)
        stopped = idle > recipe.n_iter_no_change
        if epoch == recipe.max_iter or stopped.any():
            converged[running] = stopped
            stopped |= epoch == recipe.max_iter
            which, going = running[stopped], ~stopped
            done.parameters[which] = trainer.nets.parameters[stopped]
            n_iter[which], losses[which] = epoch, loss[stopped]
            if not going.any():
                break
            running, targets = running[going], targets[going]
            best, idle = best[going], idle[going]
            trainer.keep(going)
    return Trained(done, n_iter, losses, converged)


def _epoch(
    trainer: _Trainer, X: Floats, Y: Floats, weight: Floats | None, order: NDArray[np.intp]
) -> NDArray[np.float64]:
    """Go through the rows once; return the mean loss of each network on the way."""
    X, Y = X.take(order, axis=1), Y.take(order, axis=1)[:, np.newaxis]
    weight = None if weight is None else weight[order]
    n_rows, size = len(order), trainer.recipe.batch_size
    total = np.zeros(len(Y))
    for start in range(0, n_rows, size):
        stop = min(start + size, n_rows)
        part = None if weight is None else weight[start:stop]
        loss = trainer.step(X[:, start:stop], Y[:, :, start:stop], part)
        total += loss * (stop - start)
    return total / n_rows
