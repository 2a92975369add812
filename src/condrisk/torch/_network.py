"""A trained network as plain arrays, which can be stored anywhere and run on any device."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from condrisk.paper.networks import create_model
from condrisk.torch._forward import embed
from condrisk.torch._images import Look


@dataclass(frozen=True, eq=False)
class Network:
    """What it takes to make a trained network again.

    Attributes
    ----------
    model : str
        Its name in the registry.
    n_outputs, in_channels : int
        Its sizes.
    size : int or None
        The height and width that images are resized to.
    batch : int
        How many images at a time it was trained on.
    mean, scale : ndarray of shape (channels,)
        What images are normalised by.
    state : dict of str to ndarray
        Its weights.
    """

    model: str
    n_outputs: int
    in_channels: int
    size: int | None
    batch: int
    mean: NDArray[np.float32]
    scale: NDArray[np.float32]
    state: dict[str, NDArray[Any]] = field(repr=False)

    @classmethod
    def of(
        cls, net: Any, look: Look, *, model: str, n_outputs: int, in_channels: int, batch: int
    ) -> Network:
        """Take a network off its device."""
        state = {name: _as_numpy(value) for name, value in net.state_dict().items()}
        mean, scale = _as_numpy(look.mean), _as_numpy(look.scale)
        return cls(model, n_outputs, in_channels, look.size, batch, mean, scale, state)

    def embed(self, images: NDArray[Any], device: torch.device, *, tta: bool) -> Tensor:
        """Return the embeddings of images, on the device."""
        look = Look(_as_tensor(self.mean, device), _as_tensor(self.scale, device), self.size)
        return embed(self.on(device), images, look, device, tta=tta, batch=self.batch)

    @torch.inference_mode()
    def outputs(self, images: NDArray[Any], device: torch.device, *, tta: bool) -> Tensor:
        """Return the outputs for images in single precision, on the device."""
        return self.on(device).head(self.embed(images, device, tta=tta))

    def on(self, device: torch.device) -> Any:
        """Return the network itself, made once for each device."""
        known = _made.setdefault(self, {})
        if device not in known:
            with torch.random.fork_rng(devices=[]):  # random weights, which are replaced at once
                net = create_model(
                    self.model, num_classes=self.n_outputs, in_channels=self.in_channels
                )
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


def _as_tensor(array: NDArray[Any], device: torch.device) -> Tensor:
    return torch.tensor(array).to(device)
