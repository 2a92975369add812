"""Networks small enough for scikit-learn's many checks, as somebody would write them."""

from torch import nn


class Tiny(nn.Module):
    """For images, with all that a network may say about itself."""

    embedding_size = 32
    preferred_size = 8

    def __init__(self, num_classes=10, in_channels=3):
        super().__init__()
        self.hidden = nn.Linear(in_channels * 64, self.embedding_size)
        self.head = nn.Linear(self.embedding_size, num_classes)

    def features(self, x):
        return self.hidden(x.flatten(1)).relu()

    def forward(self, x):
        return self.head(self.features(x))


class Plain(nn.Module):
    """For rows, with nothing but `forward`."""

    def __init__(self, in_features, num_classes=1, width=32):
        super().__init__()
        self.hidden = nn.Linear(in_features, width)
        self.last = nn.Linear(width, num_classes)

    def forward(self, x):
        return self.last(self.hidden(x).relu())


def grey_convolutions(num_classes, in_channels):
    """Return a network for images from a function."""
    return nn.Sequential(
        nn.Conv2d(in_channels, 8, 3, padding=1),
        nn.ReLU(),
        nn.AdaptiveAvgPool2d(4),
        nn.Flatten(),
        nn.Linear(128, num_classes),
    )
