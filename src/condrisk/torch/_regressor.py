"""A module of torch as a scikit-learn regressor."""

from __future__ import annotations

from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import RegressorMixin, _fit_context

from condrisk.torch._base import BaseTorch, Task, check_weight
from condrisk.torch._recipe import Augment
from condrisk.torch._training import squared_error


class TorchRegressor(RegressorMixin, BaseTorch):
    """Regressor around any module of torch, trained with AdamW on the squared error.

    X is an array of images of shape (n_samples, height, width, channels), of uint8 or of floats of
    any scale, or (n_samples, height, width) for grey images; or of rows, (n_samples, n_features).
    The network takes (n, channels, height, width) or (n, features). Each channel or feature is
    normalised by its mean and standard deviation over the training rows. On a GPU all rows lie in
    its memory, where images are cropped, mirrored and resized; the network runs in bfloat16, and
    each training step is one CUDA graph.

    Parameters
    ----------
    module : callable or torch.nn.Module
        A class or function that returns the network, called with those of the keywords
        ``num_classes`` (the number of outputs), ``in_channels`` (of images) and ``in_features`` (of
        rows) that it takes; or an instance, of which a copy is trained from its present weights.
        It returns numbers of shape (n,) or (n, 1).
    module_params : dict or None, default=None
        Further keywords for a class or function. ``weights`` and ``pretrained``, by which networks
        of torchvision and timm start from files, are left out when a stored network is loaded.
    image_shape : tuple of three ints or None, default=None
        If the rows are flat images: height, width and channels, one of which may be -1 and is then
        worked out.
    epochs : int, default=30
        How often to go through the rows at most.
    batch_size : int, default=512
        Rows a step; all of them if there are fewer. Rows that do not fill a batch wait for the
        next epoch.
    learning_rate : float, default=1e-3
        The (largest) step size of AdamW.
    weight_decay : float, default=1e-4
        AdamW's weight decay.
    schedule : {"one-cycle", "constant"}, default="one-cycle"
        One cycle: up to the learning rate over the first fifth of all steps, then down to zero
        along a cosine.
    patience : int or None, default=5
        Stop after so many epochs without a better loss on rows held out, and keep the weights of
        the best epoch. None holds nothing out and runs all epochs.
    validation_size : float, default=0.1
        The share of rows held out for `patience`, alike in the target.
    input_size : int or None, default=None
        The height and width that images are resized to on the device. None is the
        ``preferred_size`` of the network if it has one, and as they come otherwise.
    standardize_target : bool, default=True
        Whether the network learns the target less its mean, divided by its standard deviation.
        Predictions are in the units of the target in any case.
    ema : float or None, default=None
        Keep an exponential moving average of the weights with this decay, such as 0.99, and use
        that for validation and prediction.
    augment : bool, "crop" or "flip", default=True
        Whether training moves images at random by up to an eighth of their size and mirrors half
        of them left to right, or only one of the two. Letters and digits must not be mirrored. Rows
        are not augmented.
    cutout : int, default=0
        Height and width, in pixels, of a square that training blanks out of each image at a random
        place; 0 for none.
    tta : bool, default=False
        Whether predictions are averaged over each image and its mirror image.
    device : str, default="auto"
        Where to run: "cpu", "cuda", "cuda:1", or the GPU if there is one.
    random_state : int, RandomState instance or None, default=None
        Seeds weights, order, augmentation and the rows held out. The same seed gives the same
        network on the same device.

    Attributes
    ----------
    history_ : dict of str to list of float
        "train_loss", "validation_loss" (if rows were held out), "learning_rate" (of the last step)
        and "seconds" of each epoch; losses are those of the
        standardised target, if it was standardised.
    network_ : object
        The trained network as plain arrays, which needs no GPU.
    input_shape_ : tuple of ints
        Height, width and channels, or the number of features.
    embedding_size_ : int or None
        The length of an embedding: of what the last `torch.nn.Linear` takes, or what ``features``
        returns if the network has ``features``, ``head`` and ``embedding_size``, and ``forward(x)``
        is ``head(features(x))``. None if there is no embedding.
    n_features_in_ : int
        The length of the second axis of `X`.

    See Also
    --------
    TorchClassifier : The same for classes.
    condrisk.RegressionRisk : Takes it as the regressor of losses on images.

    Examples
    --------
    >>> import numpy as np
    >>> from torch import nn
    >>> from condrisk.torch import TorchRegressor
    >>> class Colours(nn.Module):
    ...     def __init__(self, in_channels=3):
    ...         super().__init__()
    ...         self.last = nn.Linear(in_channels, 1)
    ...
    ...     def forward(self, x):
    ...         return self.last(x.mean(dim=(2, 3)))
    >>> rng = np.random.default_rng(0)
    >>> X = rng.integers(0, 256, size=(200, 8, 8, 3), dtype=np.uint8)
    >>> y = X[..., 0].mean(axis=(1, 2))  # how red
    >>> net = TorchRegressor(Colours(), epochs=2, device="cpu", random_state=0).fit(X, y)
    >>> net.predict(X).shape
    (200,)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **BaseTorch._parameter_constraints,
        "standardize_target": ["boolean"],
    }

    def __init__(
        self,
        module: Any,
        *,
        module_params: dict[str, Any] | None = None,
        image_shape: tuple[int, int, int] | None = None,
        epochs: int = 30,
        batch_size: int = 512,
        learning_rate: float = 1e-3,
        weight_decay: float = 1e-4,
        schedule: Literal["one-cycle", "constant"] = "one-cycle",
        patience: int | None = 5,
        validation_size: float = 0.1,
        input_size: int | None = None,
        standardize_target: bool = True,
        ema: float | None = None,
        augment: Augment = True,
        cutout: int = 0,
        tta: bool = False,
        device: str = "auto",
        random_state: Any = None,
    ) -> None:
        self.module = module
        self.module_params = module_params
        self.image_shape = image_shape
        self.epochs = epochs
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.weight_decay = weight_decay
        self.schedule = schedule
        self.patience = patience
        self.validation_size = validation_size
        self.input_size = input_size
        self.standardize_target = standardize_target
        self.ema = ema
        self.augment = augment
        self.cutout = cutout
        self.tta = tta
        self.device = device
        self.random_state = random_state

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Train the network.

        Parameters
        ----------
        X : array-like of shape (n_samples, height, width, channels) or (n_samples, n_features)
            Images or rows, at least two.
        y : array-like of shape (n_samples,)
            Numbers.
        sample_weight : array-like of shape (n_samples,), optional
            The weight of each row in the loss.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        X, y = self._check_rows(X, y, y_numeric=True)
        X, y, weight = check_weight(X, np.asarray(y, dtype=np.float64), sample_weight)
        self._offset, self._unit = 0.0, 1.0
        if self.standardize_target:
            self._offset = float(np.average(y, weights=weight))
            spread = float(np.sqrt(np.average((y - self._offset) ** 2, weights=weight)))
            self._unit = spread if spread > 0 else 1.0
        targets = (y - self._offset) / self._unit
        self._train(X, Task(targets, 1, squared_error, squared_error), weight)
        return self

    def predict(self, X: Any) -> NDArray[np.float64]:
        """Predict the target.

        Parameters
        ----------
        X : array-like of shape (n_samples, height, width, channels) or (n_samples, n_features)
            Images or rows as in `fit`.

        Returns
        -------
        ndarray of shape (n_samples,)
            The predictions.
        """
        outputs = self._outputs(X)[:, 0].double().numpy()
        return outputs * self._unit + self._offset
