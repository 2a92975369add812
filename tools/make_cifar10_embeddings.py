"""Write what an ImageNet network sees in CIFAR-10, for ``condrisk reproduce active --embeddings``.

    python -m tools.make_cifar10_embeddings FILE.npy [--weights FILE] [--data-home FOLDER]

EfficientNet-Lite0 with its ImageNet weights looks at each image, resized to 144 × 144 pixels; its
1,280 features are reduced to the 64 principal components of all 60,000 images, without any label.
A GPU takes seconds, a CPU an hour.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from condrisk.datasets import load_cifar10
from condrisk.paper.networks import create_model

SIZE, BATCH, COMPONENTS = 144, 500, 64
# How the network's weights were trained to see pixels in [0, 1].
MEAN, SCALE = 0.498, 0.502


def features(images: np.ndarray, weights: str, device: torch.device) -> Tensor:
    """Return the features of each image."""
    net = create_model("efficientnet_lite0", num_classes=10, weights=weights).to(device).eval()
    parts = []
    with torch.inference_mode(), torch.autocast(device.type, torch.bfloat16):
        for start in range(0, len(images), BATCH):
            batch = torch.from_numpy(np.array(images[start : start + BATCH])).to(device)
            pixels = batch.permute(0, 3, 1, 2).float() / 255
            pixels = functional.interpolate(pixels, size=SIZE, mode="bilinear")
            parts.append(net.features((pixels - MEAN) / SCALE).float())
    return torch.cat(parts)


def principal(found: Tensor) -> np.ndarray:
    """Return the first principal components, the largest first."""
    centred = found.double() - found.double().mean(dim=0)
    _, axes = torch.linalg.eigh(centred.T @ centred)
    return (centred @ axes[:, -COMPONENTS:].flip(1)).cpu().numpy().astype(np.float16)


def main() -> None:
    """Write the file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("output", type=Path)
    parser.add_argument("--weights", default="imagenet")
    parser.add_argument("--data-home", type=Path)
    arguments = parser.parse_args()
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    images = load_cifar10(data_home=arguments.data_home).images
    np.save(arguments.output, principal(features(images, arguments.weights, device)))


if __name__ == "__main__":
    main()
