"""A network small enough for scikit-learn's many checks."""

from torch import nn

from condrisk.paper.networks import register_model


@register_model("tiny")
class Tiny(nn.Module):
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
