"""Any module of torch: how it is made, and whether its outputs are what is needed."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn

from condrisk.torch._forward import embeddings_of, outputs_of

# What only decides where training starts, by torchvision's name and by timm's.
START = ("weights", "pretrained")


def module_arguments(module: Any, params: Mapping[str, Any] | None, **sizes: int) -> dict[str, Any]:
    """Return the keywords to call `module` with: the sizes that it takes by name, and `params`."""
    if isinstance(module, nn.Module):
        if params:
            raise ValueError(
                "module_params is for a class or function; module is an instance, made already"
            )
        return {}
    takes = inspect.signature(module).parameters
    return {name: size for name, size in sizes.items() if name in takes} | dict(params or {})


def make_module(module: Any, arguments: Mapping[str, Any]) -> Any:
    """Return a new module, or a copy of the instance given."""
    net = copy.deepcopy(module) if isinstance(module, nn.Module) else module(**arguments)
    if not isinstance(net, nn.Module):
        raise TypeError(f"module must return a torch.nn.Module, got {type(net).__name__}")
    return net


@torch.no_grad()
def try_out(net: Any, x: Tensor, n_outputs: int) -> int | None:
    """Check the outputs for a batch, and return the length of an embedding if there is one."""
    net.eval()
    devices = [x.device] if x.device.type == "cuda" else []
    with torch.random.fork_rng(devices=devices):
        try:
            shape = tuple(outputs_of(net, x).shape)
        except (RuntimeError, TypeError, ValueError) as error:
            raise ValueError(
                f"module cannot take a batch of shape {tuple(x.shape)}: {error}"
            ) from error
        if shape != (len(x), n_outputs):
            wanted = (
                f"({len(x)}, {n_outputs}), one column per class"
                if n_outputs > 1
                else f"({len(x)},) or ({len(x)}, 1)"
            )
            raise ValueError(
                f"module must return outputs of shape {wanted}, for {len(x)} rows; got {shape}. "
                f"It may take num_classes as a keyword, or be told by module_params."
            )
        found = embeddings_of(net, x)
    return None if found is None else found.shape[1]
