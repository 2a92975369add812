"""Inputs on a device: kept as they came, cropped, mirrored, normalised and resized there."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

# How far a random crop may move an image: 4 pixels of 32.
CROP_SHARE = 8
_CHUNK_ROWS = 4096


class InputSpec(NamedTuple):
    """What a network takes: less the mean, times the scale; images `size` pixels high and wide."""

    mean: Tensor
    scale: Tensor
    size: int | None


def upload(rows: NDArray[Any] | Tensor, device: torch.device) -> Tensor:
    """Put images, shape (n, height, width, channels), or rows on the device; uint8 stays uint8."""
    if isinstance(rows, Tensor):
        return rows
    kind = torch.uint8 if rows.dtype == np.uint8 else torch.float32
    # A copy: torch does not share the memory of arrays that are read-only, such as memory maps.
    return torch.tensor(np.ascontiguousarray(rows), dtype=kind).to(device)


def channel_statistics(pixels: Tensor) -> tuple[Tensor, Tensor]:
    """Return mean and inverse standard deviation of each channel, or feature, over all pixels."""
    count, others = pixels[..., 0].numel(), tuple(range(pixels.ndim - 1))
    chunks = pixels.split(_CHUNK_ROWS)
    mean = sum(chunk.double().sum(dim=others) for chunk in chunks) / count
    squares = sum((chunk.double() - mean).square().sum(dim=others) for chunk in chunks)
    spread = (squares / count).sqrt()
    spread = torch.where(spread > 0, spread, torch.ones_like(spread))
    return mean.float(), spread.reciprocal().float()


def largest_shift(pixels: Tensor) -> tuple[int, int]:
    """Return by how many pixels a crop may move images up or down, and left or right."""
    return pixels.shape[1] // CROP_SHARE, pixels.shape[2] // CROP_SHARE


def crop_and_flip(
    pixels: Tensor, rows: Tensor, down: Tensor, right: Tensor, flip: Tensor
) -> Tensor:
    """Return some images, each moved by whole pixels and mirrored where `flip` is 1.

    What a move uncovers shows the image reflected at its edge. One gather does it all.
    """
    height, width = pixels.shape[1:3]
    ys = torch.arange(height, device=pixels.device) + down[:, None]
    xs = torch.arange(width, device=pixels.device)
    xs = torch.where(flip[:, None] == 1, width - 1 - xs, xs) + right[:, None]
    ys, xs = _reflected(ys, height), _reflected(xs, width)
    return pixels[rows[:, None, None], ys[:, :, None], xs[:, None, :]]


def cut_out(pixels: Tensor, down: Tensor, right: Tensor, size: int, colour: Tensor) -> Tensor:
    """Return images of shape (n, height, width, channels), a square of each in one colour.

    `down` and `right` are the middle of the square; near an edge it sticks out.
    """
    inside = []
    for length, middle in zip(pixels.shape[1:3], (down, right), strict=True):
        place = torch.arange(length, device=pixels.device) - middle[:, None] + size // 2
        inside.append((place >= 0) & (place < size))
    square = inside[0][:, :, None, None] & inside[1][:, None, :, None]
    return torch.where(square, colour.to(pixels.dtype), pixels)


def _reflected(position: Tensor, size: int) -> Tensor:
    position = position.abs()
    return (size - 1) - (size - 1 - position).abs()


def prepare(pixels: Tensor, spec: InputSpec) -> Tensor:
    """Return images as a network takes them: (n, channels, size, size), the channels innermost.

    Rows of shape (n, features) are only normalised.
    """
    x = (pixels.float() - spec.mean) * spec.scale
    if x.ndim == 2:
        return x
    x = x.permute(0, 3, 1, 2)
    if spec.size is not None and tuple(x.shape[2:]) != (spec.size, spec.size):
        shrinks = max(x.shape[2:]) > spec.size
        x = functional.interpolate(
            x, size=(spec.size, spec.size), mode="bilinear", antialias=shrinks
        )
    return x.contiguous(memory_format=torch.channels_last)
