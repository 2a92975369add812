"""A trained network as plain arrays, which can be stored anywhere and run on any device."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from condrisk.torch._forward import Batches
from condrisk.torch._images import InputSpec
from condrisk.torch._module import START, make_module


@dataclass(frozen=True, eq=False)
class Network:
    """What it takes to make a trained network again.

    Attributes
    ----------
    module : callable or torch.nn.Module
        The class or function that makes it, or an instance to copy.
    arguments : dict of str to object
        What that is called with.
    size : int or None
        The height and width that images are resized to.
    batch : int
        How many rows at a time it was trained on.
    mean, scale : ndarray of shape (channels,) or (features,)
        What inputs are normalised by.
    state : dict of str to ndarray
        Its weights.
    """

    module: Any
    arguments: dict[str, Any]
    size: int | None
    batch: int
    mean: NDArray[np.float32]
    scale: NDArray[np.float32]
    state: dict[str, NDArray[Any]] = field(repr=False)

    @classmethod
    def of(
        cls, net: Any, spec: InputSpec, *, module: Any, arguments: Mapping[str, Any], batch: int
    ) -> Network:
        """Take a network off its device."""
        state = {name: _as_numpy(value) for name, value in net.state_dict().items()}
        kept = {name: value for name, value in arguments.items() if name not in START}
        mean, scale = _as_numpy(spec.mean), _as_numpy(spec.scale)
        return cls(module, kept, spec.size, batch, mean, scale, state)

    def outputs(self, rows: NDArray[Any], device: torch.device, *, tta: bool) -> Tensor:
        """Return the outputs for rows in single precision, on the device."""
        return self._batches(rows, device, tta).outputs(self.on(device))

    def embeddings(self, rows: NDArray[Any], device: torch.device, *, tta: bool) -> Tensor:
        """Return the embeddings of rows, on the device."""
        return self._batches(rows, device, tta).embeddings(self.on(device))

    def _batches(self, rows: NDArray[Any], device: torch.device, tta: bool) -> Batches:
        mean, scale = (torch.tensor(array).to(device) for array in (self.mean, self.scale))
        return Batches(rows, InputSpec(mean, scale, self.size), device, tta, self.batch)

    def on(self, device: torch.device) -> Any:
        """Return the network itself, made once for each device."""
        known = _made.setdefault(self, {})
        if device not in known:
            with torch.random.fork_rng(devices=[]):  # random weights, which are replaced at once
                net = make_module(self.module, self.arguments)
            net.load_state_dict({k: torch.tensor(v) for k, v in self.state.items()})
            known[device] = to_device(net, device).eval()
        return known[device]


# Beside the networks and not in them, so that they stay plain data when copied or stored.
_made: WeakKeyDictionary[Network, dict[torch.device, Any]] = WeakKeyDictionary()


def to_device(net: Any, device: torch.device) -> Any:
    """Move a network, its channels innermost in memory, as both kinds of device like it."""
    return net.to(device=device, memory_format=torch.channels_last)


def _as_numpy(tensor: Tensor) -> NDArray[Any]:
    return np.ascontiguousarray(tensor.detach().cpu().numpy())
