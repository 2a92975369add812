"""The study's networks for images, one file each, behind a registry.

`condrisk.torch.TorchClassifier` takes `create_model` as its module, with the name of a network in
``module_params``.
"""

from condrisk.paper.networks import (  # noqa: F401 - each registers its network
    cnn,
    efficientnet_b0,
    efficientnet_lite0,
    mlp,
    resnet8,
    resnet9,
)
from condrisk.paper.networks._registry import create_model, list_models, register_model

__all__ = ["create_model", "list_models", "register_model"]
