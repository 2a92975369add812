"""One hidden layer on numbers that come as an image of one pixel: for embeddings."""

from __future__ import annotations

from torch import Tensor, nn
from torch.nn import functional

from condrisk.paper.networks._registry import register_model


@register_model("mlp")
class MLP(nn.Module):
    """Linear 256 → relu → linear, on as many numbers as an image has channels.

    It learns from the embeddings of another network: flat rows with ``image_shape=(1, 1, -1)``.

    Parameters
    ----------
    num_classes : int, default=10
        The number of outputs.
    in_channels : int, default=3
        The number of inputs.
    """

    embedding_size = 256
    preferred_size = None

    def __init__(self, num_classes: int = 10, in_channels: int = 3) -> None:
        super().__init__()
        self.hidden = nn.Linear(in_channels, self.embedding_size)
        self.head = nn.Linear(self.embedding_size, num_classes)

    def features(self, x: Tensor) -> Tensor:
        """Return the hidden units, shape (n, 256)."""
        return functional.relu(self.hidden(x.mean(dim=(2, 3))))

    def forward(self, x: Tensor) -> Tensor:
        """Return the outputs, shape (n, num_classes)."""
        return self.head(self.features(x))
