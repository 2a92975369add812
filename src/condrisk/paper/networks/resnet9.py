"""A strong network to train from scratch, in the manner of the CIFAR-10 speed runs."""

from __future__ import annotations

from torch import Tensor, nn

from condrisk.paper.networks._registry import register_model


def _layer(width_in: int, width: int, *, pool: bool = False) -> nn.Sequential:
    layer = nn.Sequential(
        nn.Conv2d(width_in, width, 3, padding=1, bias=False),
        nn.BatchNorm2d(width),
        nn.CELU(alpha=0.3),
    )
    if pool:
        # Before the norm, which then has a quarter of the work.
        layer.insert(1, nn.MaxPool2d(2, ceil_mode=True))
    return layer


class Residual(nn.Module):
    """Two layers whose result is added to what came in."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.layers = nn.Sequential(_layer(width, width), _layer(width, width))

    def forward(self, x: Tensor) -> Tensor:
        """Return the sum."""
        return x + self.layers(x)


@register_model("resnet9")
class ResNet9(nn.Module):
    """Layers of width 64, 128, 256, 512 with a residual block after the second and the last.

    Each wider layer halves the image; the largest value of each of the 512 last maps goes into
    the linear layer. 6,573,130 parameters for ten classes.

    Parameters
    ----------
    num_classes : int, default=10
        The number of outputs.
    in_channels : int, default=3
        The number of colours.
    """

    embedding_size = 512
    preferred_size = None

    def __init__(self, num_classes: int = 10, in_channels: int = 3) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            _layer(in_channels, 64),
            _layer(64, 128, pool=True),
            Residual(128),
            _layer(128, 256, pool=True),
            _layer(256, 512, pool=True),
            Residual(512),
        )
        self.head = nn.Linear(self.embedding_size, num_classes)

    def features(self, x: Tensor) -> Tensor:
        """Return the largest value of each map, shape (n, 512)."""
        return self.layers(x).amax(dim=(2, 3))

    def forward(self, x: Tensor) -> Tensor:
        """Return the outputs, shape (n, num_classes)."""
        return self.head(self.features(x))
