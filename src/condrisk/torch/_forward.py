"""What a network says of images: bfloat16 inside on a GPU, single precision at the end."""

from __future__ import annotations

from typing import Any

import torch
from numpy.typing import NDArray
from torch import Tensor

from condrisk.torch._images import Look, show, upload

# So many pixels a batch keep a processor's caches in use.
_BATCH_PIXELS = 2**19


def features_of(net: Any, x: Tensor) -> Tensor:
    """Return the embeddings of a batch in single precision."""
    device = x.device.type
    half = device == "cuda" and torch.cuda.is_bf16_supported()
    # No cache of converted weights: it would not survive in a CUDA graph, and each is used once.
    with torch.autocast(device, torch.bfloat16, enabled=half, cache_enabled=False):
        features = net.features(x)
    return features.float()


@torch.inference_mode()
def embed(
    net: Any,
    images: NDArray[Any] | Tensor,
    look: Look,
    device: torch.device,
    *,
    tta: bool,
    batch: int,
) -> Tensor:
    """Return the embeddings of images of any number, on the device.

    Parameters
    ----------
    net : torch.nn.Module
        The network, in evaluation mode.
    images : ndarray or Tensor of shape (n, height, width, channels)
        The images, on the host or on the device.
    look : Look
        How the network sees them.
    device : torch.device
        Where the network is.
    tta : bool
        Whether to average over each image and its mirror image. The outputs are then averaged
        too, since the last layer is linear.
    batch : int
        Images at a time on a GPU, best as many as in training: libraries there prepare, and some
        compile, for each size of a batch, so that the last one is filled up too.
    """
    parts = []
    on_gpu = device.type == "cuda"
    size = images.shape[1] * images.shape[2] if look.size is None else look.size**2
    n_rows = batch if on_gpu else max(1, _BATCH_PIXELS // size)
    for start in range(0, len(images), n_rows):
        pixels = upload(images[start : start + n_rows], device)
        if on_gpu and len(pixels) < n_rows:
            filler = pixels[:1].expand(n_rows - len(pixels), *pixels.shape[1:])
            pixels = torch.cat([pixels, filler])
        x = show(pixels, look)
        features = features_of(net, x)
        if tta:
            features = (features + features_of(net, x.flip(3))) / 2
        parts.append(features)
    return torch.cat(parts)[: len(images)]
