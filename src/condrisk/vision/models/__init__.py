"""Networks for images, one file each, behind a registry."""

from condrisk.vision.models._registry import create_model, list_models, register_model
from condrisk.vision.models.cnn import CNN
from condrisk.vision.models.efficientnet_b0 import EfficientNetB0
from condrisk.vision.models.efficientnet_lite0 import EfficientNetLite0
from condrisk.vision.models.mlp import MLP
from condrisk.vision.models.resnet8 import ResNet8
from condrisk.vision.models.resnet9 import ResNet9

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
