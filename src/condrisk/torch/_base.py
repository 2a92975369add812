"""What the classifier and the regressor share: rows, devices and training."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar, NamedTuple

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, Options, StrOptions
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data
from torch import Tensor, nn

from condrisk._files import ModelFileError
from condrisk._state import leaves_rows_out
from condrisk._validation import refuse_gradients
from condrisk.torch._forward import Batches
from condrisk.torch._images import InputSpec, channel_statistics, prepare, upload
from condrisk.torch._module import make_module, module_arguments, try_out
from condrisk.torch._network import Network, to_device
from condrisk.torch._random import RandomNumbers
from condrisk.torch._recipe import Recipe, hold_out
from condrisk.torch._steps import Objective, TrainingRows
from condrisk.torch._training import make_validation, own_stream, resolve_device, train


class Task(NamedTuple):
    """What a network is to learn."""

    targets: NDArray[Any]
    n_outputs: int
    objective: Objective
    validation_objective: Objective


class BaseTorch(BaseEstimator):
    """Base of the estimators around a module of torch."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "module": [callable],
        "module_params": [dict, None],
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

    def embed(self, X: Any) -> NDArray[np.float32]:
        """Return the embedding of each row: what the last layer of the network takes.

        Parameters
        ----------
        X : array-like of shape (n_samples, height, width, channels) or (n_samples, n_features)
            Images or rows as in `fit`.

        Returns
        -------
        ndarray of float32 of shape (n_samples, embedding_size)
            The embeddings.
        """
        rows, device = self._check_inputs(X)
        return self.network_.embeddings(rows, device, tta=self.tta).cpu().numpy()

    def _outputs(self, X: Any) -> Tensor:
        rows, device = self._check_inputs(X)
        return self.network_.outputs(rows, device, tta=self.tta).cpu()

    def _check_inputs(self, X: Any) -> tuple[NDArray[Any], torch.device]:
        check_is_fitted(self, "network_")
        refuse_gradients(X=X)
        X = validate_data(self, X, reset=False, allow_nd=True, dtype="numeric")
        rows = as_inputs(X, self.image_shape)
        if rows.shape[1:] != self.input_shape_:
            raise ValueError(
                f"X must hold inputs of shape {self.input_shape_}, as in fit; got {rows.shape[1:]}"
            )
        return rows, resolve_device(self.device, strict=False)

    # -- fitting ------------------------------------------------------------------------------

    def _check_rows(self, X: Any, y: Any, *, y_numeric: bool) -> tuple[Any, Any]:
        refuse_gradients(X=X, y=y)
        return validate_data(
            self, X, y, allow_nd=True, dtype="numeric", y_numeric=y_numeric, ensure_min_samples=2
        )

    def _train(self, X: Any, task: Task, weight: NDArray[np.float64]) -> None:
        inputs = as_inputs(X, self.image_shape)
        self._check_options(inputs)
        self.input_shape_ = inputs.shape[1:]
        device = resolve_device(self.device)
        seed = int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))
        with own_stream(device):
            self._train_on(device, inputs, task, weight, seed)

    def _train_on(
        self,
        device: torch.device,
        inputs: NDArray[Any],
        task: Task,
        weight: NDArray[np.float64],
        seed: int,
    ) -> None:
        training, validation = (
            _on_device(inputs, task.targets, weight, rows, device)
            for rows in self._split(task.targets, seed)
        )
        n_inputs = {"in_features" if inputs.ndim == 2 else "in_channels": inputs.shape[-1]}
        arguments = module_arguments(
            self.module, self.module_params, num_classes=task.n_outputs, **n_inputs
        )
        numbers = RandomNumbers(seed, device)
        with numbers:
            net = to_device(make_module(self.module, arguments), device)
            spec = InputSpec(*channel_statistics(training.pixels), self._input_size(net, inputs))
            sample = prepare(training.pixels[:2], spec)
            self.embedding_size_ = try_out(net, sample, task.n_outputs)
        validate = None
        if len(validation.pixels):
            held_out = Batches(validation.pixels, spec, device, False, self.batch_size)
            validate = make_validation(held_out, validation, task.validation_objective)
        net, self.history_ = train(
            net, training, spec, self._recipe(seed), task.objective, numbers, validate
        )
        batch = min(self.batch_size, len(training.pixels))
        self.network_ = Network.of(net, spec, module=self.module, arguments=arguments, batch=batch)

    def _input_size(self, net: Any, inputs: NDArray[Any]) -> int | None:
        if inputs.ndim == 2:
            return None
        return getattr(net, "preferred_size", None) if self.input_size is None else self.input_size

    def _check_options(self, inputs: NDArray[Any]) -> None:
        """Refuse for rows what only images can have."""
        for name, default in (("input_size", None), ("cutout", 0), ("tta", False)):
            if inputs.ndim == 2 and getattr(self, name) != default:
                raise ValueError(
                    f"{name}={getattr(self, name)!r} is for images, but X has rows of "
                    f"{inputs.shape[1]} features; give image_shape if these are flat images"
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

    def __getstate__(self) -> dict[str, Any]:
        if leaves_rows_out() and isinstance(self.module, nn.Module):
            raise ModelFileError(
                f"module must be a class or function for a model file, which keeps its name, its "
                f"keywords (module_params) and its weights; got an instance of "
                f"{type(self.module).__name__}."
            )
        return super().__getstate__()


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


def as_inputs(X: NDArray[Any], image_shape: tuple[int, ...] | None) -> NDArray[Any]:
    """Return rows of features, or images (n, height, width, channels), as uint8 or float32."""
    if X.ndim == 2 and image_shape is not None:
        X = _unflattened(X, image_shape)
    elif X.ndim == 3:
        X = X[..., None]
    if X.ndim not in (2, 4) or 0 in X.shape[1:]:
        raise ValueError(
            f"X must be images of shape (n_samples, height, width, channels), or rows of shape "
            f"(n_samples, n_features); got shape {X.shape}"
        )
    return X if X.dtype == np.uint8 else X.astype(np.float32, copy=False)


def _unflattened(X: NDArray[Any], image_shape: tuple[int, ...]) -> NDArray[Any]:
    try:
        return X.reshape(len(X), *image_shape)
    except (TypeError, ValueError):
        raise ValueError(
            f"image_shape={image_shape!r} does not fit rows of {X.shape[1]} numbers: it must be "
            f"(height, width, channels), one of which may be -1"
        ) from None


def _on_device(
    inputs: NDArray[Any],
    targets: NDArray[Any],
    weight: NDArray[np.float64],
    rows: NDArray[np.intp],
    device: torch.device,
) -> TrainingRows:
    kind = torch.long if targets.dtype.kind == "i" else torch.float32
    return TrainingRows(
        upload(inputs[rows], device),
        torch.tensor(targets[rows], dtype=kind).to(device),
        torch.tensor(weight[rows], dtype=torch.float32).to(device),
    )
