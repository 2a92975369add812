"""What the classifier and the regressor of images share: rows, devices and training."""

from __future__ import annotations

import os
from numbers import Integral, Real
from typing import Any, ClassVar, NamedTuple

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, Options, StrOptions
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data
from torch import Tensor

from condrisk.paper.networks import create_model
from condrisk.torch._images import Look, channel_statistics, upload
from condrisk.torch._network import Network, to_device
from condrisk.torch._recipe import Augment, Recipe, hold_out
from condrisk.torch._steps import Objective, TrainingRows
from condrisk.torch._training import make_judge, resolve_device, seeded, train


class Goal(NamedTuple):
    """What a network is to learn."""

    targets: NDArray[Any]
    n_outputs: int
    objective: Objective
    judged_by: Objective


class BaseTorch(BaseEstimator):
    """Base of the estimators that train a network on images."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "model": [str],
        "weights": [str, os.PathLike, None],
        "image_shape": [tuple, list, None],
        "epochs": [Interval(Integral, 1, None, closed="left")],
        "batch_size": [Interval(Integral, 1, None, closed="left")],
        "learning_rate": [Interval(Real, 0, None, closed="neither")],
        "weight_decay": [Interval(Real, 0, None, closed="left")],
        "schedule": [StrOptions({"one-cycle", "constant"})],
        "patience": [Interval(Integral, 1, None, closed="left"), None],
        "validation_size": [Interval(Real, 0, 1, closed="neither")],
        "input_size": [Interval(Integral, 1, None, closed="left"), None],
        "ema": [Interval(Real, 0, 1, closed="neither"), None],
        "augment": ["boolean", Options(str, {"crop", "flip"})],
        "cutout": [Interval(Integral, 0, None, closed="left")],
        "tta": ["boolean"],
        "device": [str],
        "random_state": ["random_state"],
    }

    model: str
    weights: Any
    image_shape: tuple[int, int, int] | None
    epochs: int
    batch_size: int
    learning_rate: float
    weight_decay: float
    schedule: Any
    patience: int | None
    validation_size: float
    input_size: int | None
    ema: float | None
    augment: Augment
    cutout: int
    tta: bool
    device: str
    random_state: Any

    network_: Network
    image_shape_: tuple[int, ...]
    embedding_size_: int

    def embed(self, X: Any) -> NDArray[np.float32]:
        """Return the embedding of each image: what the last layer of the network sees.

        Parameters
        ----------
        X : array-like of shape (n_samples, height, width, channels)
            Images as in `fit`.

        Returns
        -------
        ndarray of float32 of shape (n_samples, embedding_size)
            The embeddings.
        """
        images, device = self._images_to_answer(X)
        return self.network_.embed(images, device, tta=self.tta).cpu().numpy()

    def _outputs(self, X: Any) -> Tensor:
        images, device = self._images_to_answer(X)
        return self.network_.outputs(images, device, tta=self.tta).cpu()

    def _images_to_answer(self, X: Any) -> tuple[NDArray[Any], torch.device]:
        check_is_fitted(self, "network_")
        X = validate_data(self, X, reset=False, allow_nd=True, dtype="numeric")
        images = as_images(X, self.image_shape)
        if images.shape[1:] != self.image_shape_:
            raise ValueError(
                f"X must hold images of shape {self.image_shape_}, as in fit; "
                f"got {images.shape[1:]}"
            )
        return images, resolve_device(self.device, strict=False)

    # -- fitting ------------------------------------------------------------------------------

    def _check_rows(self, X: Any, y: Any, *, y_numeric: bool) -> tuple[Any, Any]:
        return validate_data(
            self, X, y, allow_nd=True, dtype="numeric", y_numeric=y_numeric, ensure_min_samples=2
        )

    def _train(self, X: Any, goal: Goal, weight: NDArray[np.float64]) -> None:
        images = as_images(X, self.image_shape)
        self.image_shape_ = images.shape[1:]
        device = resolve_device(self.device)
        seed = int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))
        training, validation = (
            _on_device(images, goal.targets, weight, rows, device)
            for rows in self._split(goal.targets, seed)
        )
        in_channels = 3 if images.shape[3] == 1 else images.shape[3]
        with seeded(seed, device):
            net = create_model(
                self.model,
                num_classes=goal.n_outputs,
                in_channels=in_channels,
                weights=self.weights,
            )
            size = net.preferred_size if self.input_size is None else self.input_size
            look = Look(*channel_statistics(training.pixels), size)
            judge = make_judge(validation, look, goal.judged_by, batch=self.batch_size)
            net, self.history_ = train(
                to_device(net, device),
                training,
                look,
                self._recipe(seed),
                objective=goal.objective,
                judge=judge if len(validation.pixels) else None,
            )
        self.embedding_size_ = net.embedding_size
        self.network_ = Network.of(
            net,
            look,
            model=self.model,
            n_outputs=goal.n_outputs,
            in_channels=in_channels,
            batch=min(self.batch_size, len(training.pixels)),
        )

    def _split(self, targets: NDArray[Any], seed: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Return the rows to train on and those to hold out."""
        if self.patience is None:
            return np.arange(len(targets)), np.empty(0, dtype=np.intp)
        is_class = targets.dtype.kind == "i"
        rng = np.random.RandomState(seed)
        return hold_out(targets, self.validation_size, rng, keep_each=is_class)

    def _recipe(self, seed: int) -> Recipe:
        names = [name for name in Recipe._fields if name != "seed"]
        return Recipe(**{name: getattr(self, name) for name in names}, seed=seed)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "network_")


def check_weight(
    X: Any, y: NDArray[Any], sample_weight: ArrayLike | None
) -> tuple[Any, NDArray[Any], NDArray[np.float64]]:
    """Return rows, targets and weights with a mean of one, without the rows of weight zero."""
    weight = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
    used = weight > 0
    if used.sum() < 2:
        raise ValueError("sample_weight must be positive for at least two rows")
    if not used.all():
        X, y, weight = X[used], y[used], weight[used]
    return X, y, weight / weight.mean()


def as_images(X: NDArray[Any], image_shape: tuple[int, ...] | None) -> NDArray[Any]:
    """Return rows as images of shape (n, height, width, channels), uint8 or float32."""
    if X.ndim == 2:
        X = _unflattened(X, image_shape)
    elif X.ndim == 3:
        X = X[..., None]
    if X.ndim != 4 or 0 in X.shape[1:]:
        raise ValueError(
            f"X must be images of shape (n_samples, height, width, channels), or flat rows with "
            f"image_shape=(height, width, channels); got shape {X.shape}"
        )
    return X if X.dtype == np.uint8 else X.astype(np.float32, copy=False)


def _unflattened(X: NDArray[Any], image_shape: tuple[int, ...] | None) -> NDArray[Any]:
    if image_shape is None:
        raise ValueError(
            f"image_shape must be given for flat rows, such as image_shape=(8, 8, 1) for grey "
            f"images of 8 × 8 pixels; X has shape {X.shape}"
        )
    try:
        return X.reshape(len(X), *image_shape)
    except (TypeError, ValueError):
        raise ValueError(
            f"image_shape={image_shape!r} does not fit rows of {X.shape[1]} numbers: it must be "
            f"(height, width, channels), one of which may be -1"
        ) from None


def _on_device(
    images: NDArray[Any],
    targets: NDArray[Any],
    weight: NDArray[np.float64],
    rows: NDArray[np.intp],
    device: torch.device,
) -> TrainingRows:
    kind = torch.long if targets.dtype.kind == "i" else torch.float32
    return TrainingRows(
        upload(images[rows], device),
        torch.tensor(targets[rows], dtype=kind).to(device),
        torch.tensor(weight[rows], dtype=torch.float32).to(device),
    )
