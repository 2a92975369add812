"""A module of torch as a scikit-learn classifier."""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar, Literal, Self

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin, _fit_context
from sklearn.utils._param_validation import Interval
from sklearn.utils.multiclass import check_classification_targets

from condrisk.torch._base import BaseTorch, Task, check_weight
from condrisk.torch._recipe import Augment
from condrisk.torch._training import cross_entropy


class TorchClassifier(ClassifierMixin, BaseTorch):
    """Classifier around any module of torch, trained with AdamW on the cross-entropy.

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
        It returns logits of shape (n, num_classes).
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
        The share of rows held out for `patience`, with every class in proportion.
    input_size : int or None, default=None
        The height and width that images are resized to on the device. None is the
        ``preferred_size`` of the network if it has one, and as they come otherwise.
    label_smoothing : float, default=0.0
        The share of each label that is spread over all classes in training.
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
    classes_ : ndarray of shape (n_classes,)
        The labels.
    history_ : dict of str to list of float
        "train_loss", "validation_loss" (if rows were held out), "learning_rate" (of the last step)
        and "seconds" of each epoch.
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
    TorchRegressor : The same for numbers, such as losses.
    Embedder : What a trained network sees as the input of another estimator.

    Examples
    --------
    How sure is a small network of handwritten digits, and which should an expert look at?

    >>> from sklearn.datasets import load_digits
    >>> from sklearn.frozen import FrozenEstimator
    >>> from torch import nn
    >>> from condrisk import Deferral, PlugInRisk
    >>> from condrisk.torch import TorchClassifier
    >>> def small_cnn(num_classes, in_channels):
    ...     return nn.Sequential(
    ...         nn.Conv2d(in_channels, 32, 3, padding=1),
    ...         nn.ReLU(),
    ...         nn.MaxPool2d(2),
    ...         nn.Conv2d(32, 64, 3, padding=1),
    ...         nn.ReLU(),
    ...         nn.Flatten(),
    ...         nn.Linear(64 * 4 * 4, num_classes),
    ...     )
    >>> digits = load_digits()
    >>> X, y = digits.images, digits.target  # 8 × 8 grey images
    >>> net = TorchClassifier(
    ...     small_cnn, epochs=15, batch_size=64, learning_rate=0.01, augment="crop", random_state=0
    ... )
    >>> net = net.fit(X[:900], y[:900])
    >>> net.predict_proba(X[900:]).shape, net.embed(X[900:]).shape
    ((897, 10), (897, 1024))
    >>> model = Deferral(PlugInRisk(FrozenEstimator(net)), cost=0.1).fit(X[900:1300], y[900:1300])
    >>> asked = model.defer(X[1300:])
    >>> wrong = model.predict(X[1300:]) != y[1300:]
    >>> bool(wrong[~asked].mean() < wrong.mean() < 0.2)
    True

    The same rows as a table, without anything that is for images:

    >>> def mlp(num_classes, in_features, width=64):
    ...     return nn.Sequential(
    ...         nn.Linear(in_features, width), nn.ReLU(), nn.Linear(width, num_classes)
    ...     )
    >>> net = TorchClassifier(mlp, module_params={"width": 128}, batch_size=64, random_state=0)
    >>> net.fit(digits.data[:900], y[:900]).score(digits.data[900:], y[900:]) > 0.85
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **BaseTorch._parameter_constraints,
        "label_smoothing": [Interval(Real, 0, 1, closed="left")],
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
        label_smoothing: float = 0.0,
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
        self.label_smoothing = label_smoothing
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
            Labels of any kind.
        sample_weight : array-like of shape (n_samples,), optional
            The weight of each row in the loss.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        X, y = self._check_rows(X, y, y_numeric=False)
        check_classification_targets(y)
        X, y, weight = check_weight(X, y, sample_weight)
        self.classes_, codes = np.unique(y, return_inverse=True)
        smoothed, plain = cross_entropy(self.label_smoothing), cross_entropy(0.0)
        task = Task(codes.astype(np.int64), len(self.classes_), smoothed, plain)
        self._train(X, task, weight)
        return self

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Estimate the probability of each class.

        Parameters
        ----------
        X : array-like of shape (n_samples, height, width, channels) or (n_samples, n_features)
            Images or rows as in `fit`.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            The probabilities, in the order of `classes_`.
        """
        return torch.softmax(self._outputs(X).double(), dim=1).numpy()

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the most probable class.

        Parameters
        ----------
        X : array-like of shape (n_samples, height, width, channels) or (n_samples, n_features)
            Images or rows as in `fit`.

        Returns
        -------
        ndarray of shape (n_samples,)
            The labels.
        """
        best = self._outputs(X).argmax(dim=1).numpy()
        return self.classes_[best]
