"""Stochastic depth: in training, the branch of some images is left out."""

from __future__ import annotations

import torch
from torch import Tensor, nn


class DropPath(nn.Module):
    """Set a residual branch to zero for a share of the images and scale up the others.

    Parameters
    ----------
    share : float
        The share, in [0, 1).
    """

    def __init__(self, share: float) -> None:
        super().__init__()
        self.share = share

    def forward(self, x: Tensor) -> Tensor:
        """Return the branch, unchanged outside of training."""
        if not self.training or self.share == 0:
            return x
        keep = torch.rand(len(x), 1, 1, 1, device=x.device) >= self.share
        return x * (keep / (1 - self.share)).to(x.dtype)
