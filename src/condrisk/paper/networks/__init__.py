"""Networks for images, one file each, behind a registry."""

from condrisk.paper.networks._registry import create_model, list_models, register_model
from condrisk.paper.networks.cnn import CNN
from condrisk.paper.networks.efficientnet_b0 import EfficientNetB0
from condrisk.paper.networks.efficientnet_lite0 import EfficientNetLite0
from condrisk.paper.networks.mlp import MLP
from condrisk.paper.networks.resnet8 import ResNet8
from condrisk.paper.networks.resnet9 import ResNet9

__all__ = [
    "CNN",
    "MLP",
    "EfficientNetB0",
    "EfficientNetLite0",
    "ResNet8",
    "ResNet9",
    "create_model",
    "list_models",
    "register_model",
]
