"""The networks of the study, and how each is trained.

What the paper leaves open (batch size, schedule, input size, epochs) was chosen on rows held out of
the training parts; the trials are in ``results/cifar10/tuning.jsonl``.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import starmap
from typing import Any

import torch
from sklearn.pipeline import Pipeline, make_pipeline

from condrisk.paper.networks import create_model
from condrisk.torch import Embedder, TorchClassifier, TorchRegressor

# Averages over each image and its mirror image, and over the steps of training, cost little.
_COMMON: dict[str, Any] = {"ema": 0.999, "tta": True, "patience": None}
CLASSIFIERS: dict[str, dict[str, Any]] = {
    "CNN": {"model": "cnn", "epochs": 100, "batch_size": 512, "learning_rate": 1e-2},
    "ResNet": {"model": "resnet8", "epochs": 100, "batch_size": 512, "learning_rate": 1e-2},
    "EffNet": {
        "model": "efficientnet_lite0",
        "epochs": 10,
        "batch_size": 128,
        "input_size": 144,
        "cutout": 8,
    },
    "ResNet-9": {
        "model": "resnet9",
        "epochs": 80,
        "batch_size": 512,
        "learning_rate": 3e-3,
        "weight_decay": 0.2,
        "cutout": 12,
    },
}
# From scratch, on losses: fewer epochs, since they are noisy and soon learnt by heart.
REGRESSORS: dict[str, dict[str, Any]] = {
    "CNN": {"model": "cnn", "epochs": 30, "batch_size": 512},
    "ResNet": {"model": "resnet8", "epochs": 30, "batch_size": 512},
    "EffNet": {"model": "efficientnet_lite0", "epochs": 20, "batch_size": 512, "input_size": 32},
}
# None of the networks keeps a GPU busy: so many are trained on it at once.
AT_ONCE = 6
HIDDEN: dict[str, Any] = {"model": "mlp", "epochs": 30, "batch_size": 512, "augment": False}


@dataclass(frozen=True)
class Networks:
    """Makes the networks, not trained yet.

    Parameters
    ----------
    weights : path, "imagenet" or None
        Where EfficientNet starts from; see `condrisk.paper.networks.create_model`.
    device : str
        Where to train.
    quick : bool
        Whether to train for one epoch only, on small images: to see that everything runs.
    """

    weights: str | os.PathLike[str] | None = "imagenet"
    device: str = "auto"
    quick: bool = False

    def classifier(self, name: str, seed: int) -> TorchClassifier:
        """Return a classifier."""
        weights = self.weights if name == "EffNet" and not self.quick else None
        settings = self._settings(CLASSIFIERS[name], weights=weights)
        return TorchClassifier(create_model, **settings, device=self.device, random_state=seed)

    def regressor(self, name: str, seed: int) -> TorchRegressor:
        """Return a network for losses, to be trained from scratch."""
        settings = self._settings(REGRESSORS[name])
        return TorchRegressor(create_model, **settings, device=self.device, random_state=seed)

    def representation_regressor(self, network: Any, seed: int) -> Pipeline:
        """Return 256 hidden units for losses, on the embedding of a trained network."""
        settings = self._settings(HIDDEN) | {"tta": False, "ema": None}
        hidden = TorchRegressor(
            create_model,
            **settings,
            image_shape=(1, 1, -1),
            device=self.device,
            random_state=seed,
        )
        return make_pipeline(Embedder(network), hidden)

    @contextlib.contextmanager
    def side_by_side(self) -> Iterator[Callable[[Callable[..., Any], Sequence[Any]], Any]]:
        """Give a function that calls another for each of some tuples, on a GPU several at once."""
        if self.device == "cpu" or not torch.cuda.is_available():
            yield starmap
            return
        with ThreadPoolExecutor(AT_ONCE) as pool:
            yield lambda function, jobs: pool.map(lambda job: function(*job), jobs)

    def _settings(self, settings: dict[str, Any], weights: Any = None) -> dict[str, Any]:
        """Return keywords of the estimator; the model is one that `create_model` makes."""
        settings = _COMMON | settings
        params = {"name": settings.pop("model"), "weights": weights}
        if self.quick:
            settings |= {"epochs": 1, "batch_size": 64}
            if "input_size" in settings:
                settings["input_size"] = 32
        return settings | {"module_params": params}
