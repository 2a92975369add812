"""Outputs and embeddings of a network: bfloat16 inside on a GPU, single precision at the end."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from condrisk.torch._images import InputSpec, prepare, upload

# So many pixels a batch keep a processor's caches in use.
_BATCH_PIXELS = 2**19


def has_head(net: Any) -> bool:
    """Whether `forward(x)` is, by agreement, `head(features(x))`, with a linear head."""
    return all(hasattr(net, name) for name in ("features", "head", "embedding_size"))


def outputs_of(net: Any, x: Tensor) -> Tensor:
    """Return the outputs of a batch in single precision, with an axis for the outputs."""
    if has_head(net):
        return net.head(_in_half(net.features, x))
    outputs = _in_half(net, x)
    return outputs[:, None] if outputs.ndim == 1 else outputs


def embeddings_of(net: Any, x: Tensor) -> Tensor | None:
    """Return the embeddings of a batch, or None if nothing says what they are."""
    if has_head(net):
        return _in_half(net.features, x)
    seen: list[Tensor] = []
    hooks = [
        part.register_forward_pre_hook(lambda _, inputs: seen.append(inputs[0]))
        for part in net.modules()
        if isinstance(part, nn.Linear)
    ]
    try:
        _in_half(net, x)
    finally:
        for hook in hooks:
            hook.remove()
    return seen[-1].float() if seen and seen[-1].ndim == 2 else None


def _in_half(function: Callable[[Tensor], Tensor], x: Tensor) -> Tensor:
    device = x.device.type
    half = device == "cuda" and torch.cuda.is_bf16_supported()
    # No cache of converted weights: it would not survive in a CUDA graph, and each is used once.
    with torch.autocast(device, torch.bfloat16, enabled=half, cache_enabled=False):
        return function(x).float()


@dataclass(frozen=True, eq=False)
class Batches:
    """Rows of any number, as a network takes them, some at a time.

    Attributes
    ----------
    rows : ndarray or Tensor of shape (n, height, width, channels) or (n, features)
        The rows, on the host or on the device.
    spec : InputSpec
        What the network takes.
    device : torch.device
        Where the network is.
    tta : bool
        Whether to average over each image and its mirror image.
    batch : int
        Rows at a time on a GPU, best as many as in training: libraries there prepare, and some
        compile, for each size of a batch, so that the last one is filled up too.
    """

    rows: NDArray[Any] | Tensor
    spec: InputSpec
    device: torch.device
    tta: bool
    batch: int

    @torch.inference_mode()
    def outputs(self, net: Any) -> Tensor:
        """Return the outputs of a network in evaluation mode, on the device."""
        if has_head(net):  # a mean over mirror images commutes with a linear layer
            return net.head(self._each(lambda x: _in_half(net.features, x)))
        return self._each(lambda x: outputs_of(net, x))

    @torch.inference_mode()
    def embeddings(self, net: Any) -> Tensor:
        """Return the embeddings of a network in evaluation mode, on the device."""

        def embed(x: Tensor) -> Tensor:
            found = embeddings_of(net, x)
            if found is None:
                raise ValueError(
                    f"{type(net).__name__} has no embedding: it needs a last torch.nn.Linear whose "
                    f"input has one row per sample, or features, head and embedding_size"
                )
            return found

        return self._each(embed)

    def _each(self, function: Callable[[Tensor], Tensor]) -> Tensor:
        on_gpu = self.device.type == "cuda"
        size = math.prod(self.rows.shape[1:3]) if self.spec.size is None else self.spec.size**2
        n_rows = self.batch if on_gpu else max(1, _BATCH_PIXELS // size)
        parts = []
        for start in range(0, len(self.rows), n_rows):
            pixels = upload(self.rows[start : start + n_rows], self.device)
            if on_gpu and len(pixels) < n_rows:
                filler = pixels[:1].expand(n_rows - len(pixels), *pixels.shape[1:])
                pixels = torch.cat([pixels, filler])
            x = prepare(pixels, self.spec)
            found = function(x)
            if self.tta:
                found = (found + function(x.flip(3))) / 2
            parts.append(found)
        return torch.cat(parts)[: len(self.rows)]
