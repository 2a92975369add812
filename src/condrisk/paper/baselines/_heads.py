"""What stands on the hidden units of a stack of networks, with objective and gradient."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from condrisk.paper.baselines._forward import Floats, Weights

EPS = 1e-5  # of batch norm
MOMENTUM = 0.1
SELECTION_UNITS = 16
# A mean selection of exactly zero, all of it underflown, must not become a NaN.
_LEAST_SELECTION = 1e-12


class Param(NamedTuple):
    """A parameter of each net: drawn from ± 1/√fan_in as torch's layers do, or a constant."""

    shape: tuple[int, ...]
    fan_in: int = 0
    constant: float = 0.0

    def draw(self, rng: np.random.RandomState) -> NDArray[np.float64]:
        """Return the initial value."""
        if not self.fan_in:
            return np.full(self.shape, self.constant)
        return rng.uniform(-1, 1, self.shape) / self.fan_in**0.5


Params = dict[str, Param]


def as_numpy(tensor: Any) -> NDArray[np.float64]:
    """Return a copy in double precision."""
    return tensor.numpy().astype(np.float64)


class NormReLU:
    """BatchNorm → ReLU over all units of all nets at once, and its gradient.

    Parameters
    ----------
    torch : module
        The module torch.
    gain, shift, d_gain, d_shift : tensor of shape (n_nets, n_units)
        The parameters, and where their gradients go.
    """

    def __init__(self, torch: Any, gain: Any, shift: Any, d_gain: Any, d_shift: Any) -> None:
        self.torch = torch
        self.gain, self.shift = gain.view(-1), shift.view(-1)
        self.d_gain, self.d_shift = d_gain.view(-1), d_shift.view(-1)
        # The running mean and variance, updated by each forward pass.
        self.stats = (torch.zeros_like(self.gain), torch.ones_like(self.gain))

    def forward(self, inputs: Any) -> Any:
        """Return the outputs for inputs of shape (n_rows, n_nets * n_units)."""
        self.inputs = inputs
        outputs, self.mean, self.inverse = self.torch.native_batch_norm(
            inputs, self.gain, self.shift, *self.stats, True, MOMENTUM, EPS
        )
        self.outputs = outputs.relu_()
        return self.outputs

    def backward(self, d_outputs: Any) -> Any:
        """Return the gradient of the inputs; set those of the parameters."""
        aten = self.torch.ops.aten
        d_outputs = aten.threshold_backward(d_outputs, self.outputs, 0)
        saved = (*self.stats, self.mean, self.inverse)
        d_inputs, d_gain, d_shift = aten.native_batch_norm_backward(
            d_outputs, self.inputs, self.gain, *saved, True, EPS, [True, True, True]
        )
        self.d_gain.copy_(d_gain)
        self.d_shift.copy_(d_shift)
        return d_inputs

    def folded(self) -> tuple[Floats, Floats]:
        """Return factor and summand, flat, that it comes to with the running statistics."""
        mean, var = (as_numpy(value) for value in self.stats)
        factor = as_numpy(self.gain) / np.sqrt(var + EPS)
        return factor, as_numpy(self.shift) - mean * factor


class Head(ABC):
    """The layers on top of the hidden units, and what they are trained for."""

    n_nets: int
    torch: Any
    params: dict[str, Any]
    grads: dict[str, Any]

    @abstractmethod
    def shapes(self, hidden_units: int) -> Params:
        """Return the parameters of one net."""

    @abstractmethod
    def backward(self, hidden: Any, y: Any) -> Any:
        """Set the gradients; return that of the hidden units, shape (nets, rows, units)."""

    @abstractmethod
    def weights(self, params: dict[str, Floats]) -> Weights:
        """Return what `_forward` computes with."""

    def start(self, torch: Any, params: dict[str, Any], grads: dict[str, Any]) -> None:
        """Take the tensors to work on."""
        self.torch, self.params, self.grads = torch, params, grads


class RegressionHead(Head):
    """Linear(units, 1), trained for the squared error."""

    n_nets = 1

    def shapes(self, hidden_units: int) -> Params:
        """Return the parameters of one net."""
        return {
            "answer": Param((hidden_units, 1), hidden_units),
            "answer_bias": Param((1,), hidden_units),
        }

    def backward(self, hidden: Any, y: Any) -> Any:
        """Set the gradients; return that of the hidden units, shape (nets, rows, units)."""
        torch, params, grads = self.torch, self.params, self.grads
        error = torch.bmm(hidden, params["answer"]).add_(params["answer_bias"].unsqueeze(2))
        error = error.sub_(y.unsqueeze(1)).mul_(2 / len(y))
        torch.bmm(hidden.transpose(1, 2), error, out=grads["answer"])
        torch.sum(error, 1, out=grads["answer_bias"])
        return torch.bmm(error, params["answer"].transpose(1, 2))

    def weights(self, params: dict[str, Floats]) -> Weights:
        """Return what `_forward` computes with."""
        return {"answer": params["answer"][:, :, 0], "answer_bias": params["answer_bias"][:, 0]}


class SelectiveHead(Head):
    """Prediction, auxiliary prediction and selection, trained for SelectiveNet's objective.

    The prediction and the auxiliary one are Linear(units, 1), the selection s is Linear(units, 16)
    → BatchNorm → ReLU → Linear(16, 1) → sigmoid. On a batch, net k minimises

        α · (mean(s · error²) / mean(s) + penalty · max(0, coverageₖ − mean(s))²)
        + (1 − α) · mean(auxiliary error²).

    Parameters
    ----------
    coverage : ndarray of shape (n_nets,)
        The mean selection that each net aims for.
    alpha : float
        The share of the selective part in the objective.
    penalty : float
        What a selection below the coverage costs.
    """

    def __init__(self, coverage: NDArray[np.float64], *, alpha: float, penalty: float) -> None:
        self.n_nets = len(coverage)
        self.coverage = coverage
        self.alpha = alpha
        self.penalty = penalty

    def shapes(self, hidden_units: int) -> Params:
        """Return the parameters of one net."""
        return {
            # Prediction, auxiliary prediction and selection, side by side.
            "heads": Param((hidden_units, 2 + SELECTION_UNITS), hidden_units),
            "heads_bias": Param((2,), hidden_units),
            "inner_gain": Param((SELECTION_UNITS,), constant=1.0),
            "inner_shift": Param((SELECTION_UNITS,), constant=0.0),
            "select": Param((SELECTION_UNITS, 1), SELECTION_UNITS),
            "select_bias": Param((1,), SELECTION_UNITS),
        }

    def start(self, torch: Any, params: dict[str, Any], grads: dict[str, Any]) -> None:
        """Take the tensors to work on."""
        super().start(torch, params, grads)
        names = ("inner_gain", "inner_shift")
        self.norm = NormReLU(torch, *(params[n] for n in names), *(grads[n] for n in names))
        self._target = torch.tensor(self.coverage, dtype=params["heads"].dtype).unsqueeze(1)

    def backward(self, hidden: Any, y: Any) -> Any:
        """Set the gradients; return that of the hidden units, shape (nets, rows, units)."""
        torch, params, grads = self.torch, self.params, self.grads
        n_nets, n_rows, _ = hidden.shape
        out = torch.bmm(hidden, params["heads"])
        errors = out[:, :, :2].add_(params["heads_bias"].unsqueeze(1)).sub_(y.view(1, -1, 1))
        inner = self.norm.forward(out[:, :, 2:].transpose(0, 1).reshape(n_rows, -1))
        inner = inner.view(n_rows, n_nets, -1).transpose(0, 1)
        logit = torch.baddbmm(params["select_bias"].unsqueeze(2), inner, params["select"])
        # What was errors now holds their gradient, and so in the end does all of `out`.
        d_logit = self._objective_gradient(errors, logit.sigmoid_().squeeze(2)).unsqueeze(2)
        torch.sum(errors, 1, out=grads["heads_bias"])
        torch.bmm(inner.transpose(1, 2), d_logit, out=grads["select"])
        torch.sum(d_logit, 1, out=grads["select_bias"])
        d_inner = torch.bmm(d_logit, params["select"].transpose(1, 2))
        d_inner = self.norm.backward(d_inner.transpose(0, 1).reshape(n_rows, -1))
        out[:, :, 2:] = d_inner.view(n_rows, n_nets, -1).transpose(0, 1)
        torch.bmm(hidden.transpose(1, 2), out, out=grads["heads"])
        return torch.bmm(out, params["heads"].transpose(1, 2))

    def _objective_gradient(self, errors: Any, selection: Any) -> Any:
        """Return the gradient of the logit of the selection; turn errors into their gradient.

        The errors, of prediction and auxiliary prediction, have the shape (nets, rows, 2).
        """
        n_rows = selection.shape[1]
        squared = errors[:, :, 0].square()
        mean = selection.mean(1, keepdim=True).clamp_(min=_LEAST_SELECTION)
        risk = (squared * selection).mean(1, keepdim=True).div_(mean)
        missing = (self._target - mean).clamp_(min=0)
        share = selection * (self.alpha / n_rows)
        d_logit = squared.sub_(risk).div_(mean).sub_(missing.mul_(2 * self.penalty))
        d_logit.mul_(share).mul_(1 - selection)
        errors[:, :, 0].mul_(share.mul_(2).div_(mean))
        errors[:, :, 1].mul_(2 * (1 - self.alpha) / n_rows)
        return d_logit

    def weights(self, params: dict[str, Floats]) -> Weights:
        """Return what `_forward` computes with; the auxiliary prediction is for training only."""
        factor, summand = (value.reshape(self.n_nets, -1) for value in self.norm.folded())
        return {
            "answer": params["heads"][:, :, 0],
            "answer_bias": params["heads_bias"][:, 0],
            "inner": params["heads"][:, :, 2:] * factor[:, None, :],
            "inner_bias": summand,
            "select": params["select"][:, :, 0],
            "select_bias": params["select_bias"][:, 0],
        }
