"""The paper's stronger predictor: a residual network of eight layers."""

from __future__ import annotations

from torch import Tensor, nn
from torch.nn import functional

from condrisk.paper.networks._registry import register_model


class BasicBlock(nn.Module):
    """Two convolutions beside a shortcut, which is a 1 × 1 convolution where sizes change."""

    def __init__(self, width_in: int, width: int, stride: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(width_in, width, 3, stride=stride, padding=1, bias=False)
        self.norm1 = nn.BatchNorm2d(width)
        self.conv2 = nn.Conv2d(width, width, 3, padding=1, bias=False)
        self.norm2 = nn.BatchNorm2d(width)
        self.shortcut = nn.Sequential()
        if stride != 1 or width_in != width:
            self.shortcut = nn.Sequential(
                nn.Conv2d(width_in, width, 1, stride=stride, bias=False), nn.BatchNorm2d(width)
            )

    def forward(self, x: Tensor) -> Tensor:
        """Return the maps of the block."""
        out = functional.relu(self.norm1(self.conv1(x)))
        return functional.relu(self.norm2(self.conv2(out)) + self.shortcut(x))


@register_model("resnet8")
class ResNet8(nn.Module):
    """Convolution 16, blocks of width 16, 32, 64, global mean, linear: 78,042 parameters.

    Parameters
    ----------
    num_classes : int, default=10
        The number of outputs.
    in_channels : int, default=3
        The number of colours.
    """

    embedding_size = 64
    preferred_size = None

    def __init__(self, num_classes: int = 10, in_channels: int = 3) -> None:
        super().__init__()
        self.conv = nn.Conv2d(in_channels, 16, 3, padding=1, bias=False)
        self.norm = nn.BatchNorm2d(16)
        self.blocks = nn.Sequential(
            BasicBlock(16, 16, stride=1), BasicBlock(16, 32, stride=2), BasicBlock(32, 64, stride=2)
        )
        self.head = nn.Linear(self.embedding_size, num_classes)

    def features(self, x: Tensor) -> Tensor:
        """Return the means of the last maps, shape (n, 64)."""
        x = functional.relu(self.norm(self.conv(x)))
        return self.blocks(x).mean(dim=(2, 3))

    def forward(self, x: Tensor) -> Tensor:
        """Return the outputs, shape (n, num_classes)."""
        return self.head(self.features(x))
