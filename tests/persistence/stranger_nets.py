"""A network of a user's own."""

from torch import nn


class Net(nn.Module):
    """Two layers."""

    def __init__(self, in_features=1, width=4):
        super().__init__()
        self.first, self.last = nn.Linear(in_features, width), nn.Linear(width, 1)

    def forward(self, x):
        return self.last(self.first(x).relu())
