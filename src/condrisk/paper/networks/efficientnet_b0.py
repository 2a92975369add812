"""EfficientNet-B0, with parameters named as in torchvision, whose ImageNet weights it loads."""

from __future__ import annotations

from pathlib import Path

import torch
from torch import Tensor, nn

from condrisk.paper.networks._drop import DropPath
from condrisk.paper.networks._registry import register_model

# Expansion, kernel, stride, width and number of blocks of each stage.
STAGES = (
    (1, 3, 1, 16, 1),
    (6, 3, 2, 24, 2),
    (6, 5, 2, 40, 2),
    (6, 3, 2, 80, 3),
    (6, 5, 1, 112, 3),
    (6, 5, 2, 192, 4),
    (6, 3, 1, 320, 1),
)
N_BLOCKS = sum(stage[-1] for stage in STAGES)


def _conv(
    width_in: int, width: int, kernel: int, *, stride: int = 1, groups: int = 1, act: bool = True
) -> nn.Sequential:
    layers: list[nn.Module] = [
        nn.Conv2d(width_in, width, kernel, stride, kernel // 2, groups=groups, bias=False),
        nn.BatchNorm2d(width),
    ]
    return nn.Sequential(*layers, *([nn.SiLU()] if act else []))


class SqueezeExcite(nn.Module):
    """Each channel times a number between 0 and 1 that depends on the means of all."""

    def __init__(self, width: int, squeezed: int) -> None:
        super().__init__()
        self.fc1 = nn.Conv2d(width, squeezed, 1)
        self.fc2 = nn.Conv2d(squeezed, width, 1)

    def forward(self, x: Tensor) -> Tensor:
        """Return the scaled maps."""
        inner = nn.functional.silu(self.fc1(x.mean(dim=(2, 3), keepdim=True)))
        return x * torch.sigmoid(self.fc2(inner))


class MBConv(nn.Module):
    """Expand, convolve each channel by itself, squeeze and excite, project."""

    def __init__(
        self, width_in: int, width: int, *, expand: int, kernel: int, stride: int, drop: float
    ) -> None:
        super().__init__()
        wide = width_in * expand
        layers: list[nn.Module] = [_conv(width_in, wide, 1)] if expand != 1 else []
        layers += [
            _conv(wide, wide, kernel, stride=stride, groups=wide),
            SqueezeExcite(wide, max(1, width_in // 4)),
            _conv(wide, width, 1, act=False),
        ]
        self.block = nn.Sequential(*layers)
        self.residual = stride == 1 and width_in == width
        self.drop = DropPath(drop)

    def forward(self, x: Tensor) -> Tensor:
        """Return the maps of the block."""
        out = self.block(x)
        return x + self.drop(out) if self.residual else out


@register_model("efficientnet_b0")
class EfficientNetB0(nn.Module):
    """EfficientNet-B0: 4,020,358 parameters for ten classes, 5,288,548 for a thousand.

    ``weights=`` takes torchvision's file of ``EfficientNet_B0_Weights.IMAGENET1K_V1``.

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
        parts: list[nn.Module] = [_conv(in_channels, 32, 3, stride=2)]
        width_in, done = 32, 0
        for expand, kernel, stride, width, repeats in STAGES:
            blocks = []
            for number in range(repeats):
                blocks.append(
                    MBConv(
                        width_in,
                        width,
                        expand=expand,
                        kernel=kernel,
                        stride=1 if number else stride,
                        drop=0.2 * done / N_BLOCKS,
                    )
                )
                width_in, done = width, done + 1
            parts.append(nn.Sequential(*blocks))
        parts.append(_conv(width_in, self.embedding_size, 1))
        # What has no parameters stands here, so that `features` ends in the embedding.
        parts += [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Dropout(0.2)]
        self.features = nn.Sequential(*parts)
        self.classifier = nn.Sequential(nn.Identity(), nn.Linear(self.embedding_size, num_classes))
        self._initialise()

    @property
    def head(self) -> nn.Linear:
        """The last linear layer."""
        layer = self.classifier[1]
        assert isinstance(layer, nn.Linear)
        return layer

    def _initialise(self) -> None:
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight, mode="fan_out")
                if module.bias is not None:
                    nn.init.zeros_(module.bias)

    def forward(self, x: Tensor) -> Tensor:
        """Return the outputs, shape (n, num_classes)."""
        return self.head(self.features(x))

    @staticmethod
    def imagenet_file() -> Path:
        """Return the newest copy in torch's cache, where torchvision puts it."""
        folder = Path(torch.hub.get_dir()) / "checkpoints"
        found = sorted(folder.glob("efficientnet_b0_rwightman-*.pth"))
        if not found:
            raise FileNotFoundError(
                f"weights='imagenet': there is no efficientnet_b0_rwightman-*.pth in {folder}; "
                "torchvision.models.efficientnet_b0(weights='IMAGENET1K_V1') downloads it, or "
                "give the path of the file"
            )
        return found[-1]
