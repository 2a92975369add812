"""The paper's weak predictor: two convolutions, two fully connected layers."""

from __future__ import annotations

from torch import Tensor, nn
from torch.nn import functional

from condrisk.paper.networks._registry import register_model


@register_model("cnn")
class CNN(nn.Module):
    """Convolution 16 → pool → convolution 32 → pool → linear 64 → linear: 136,874 parameters.

    The fully connected layer takes 8 × 8 maps, so images are 32 × 32.

    Parameters
    ----------
    num_classes : int, default=10
        The number of outputs.
    in_channels : int, default=3
        The number of colours.
    """

    embedding_size = 64
    preferred_size = 32

    def __init__(self, num_classes: int = 10, in_channels: int = 3) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(in_channels, 16, kernel_size=3, padding=1)
        self.conv2 = nn.Conv2d(16, 32, kernel_size=3, padding=1)
        self.hidden = nn.Linear(32 * 8 * 8, self.embedding_size)
        self.head = nn.Linear(self.embedding_size, num_classes)

    def features(self, x: Tensor) -> Tensor:
        """Return the 64 hidden units, shape (n, 64)."""
        x = functional.max_pool2d(functional.relu(self.conv1(x)), 2)
        x = functional.max_pool2d(functional.relu(self.conv2(x)), 2)
        return functional.relu(self.hidden(x.flatten(1)))

    def forward(self, x: Tensor) -> Tensor:
        """Return the outputs, shape (n, num_classes)."""
        return self.head(self.features(x))
