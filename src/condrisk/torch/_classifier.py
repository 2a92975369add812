"""A network for images as a scikit-learn classifier."""

from __future__ import annotations

import os
from numbers import Real
from typing import Any, ClassVar, Literal, Self

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin, _fit_context
from sklearn.utils._param_validation import Interval
from sklearn.utils.multiclass import check_classification_targets

from condrisk.torch._base import BaseTorch, Goal, check_weight
from condrisk.torch._recipe import Augment
from condrisk.torch._training import cross_entropy


class TorchClassifier(ClassifierMixin, BaseTorch):
    """Classifier of images by a network, trained with AdamW on the cross-entropy.

    X is an array of shape (n_samples, height, width, channels), of uint8 or of floats of any scale,
    or (n_samples, height, width) for grey images, or flat rows with `image_shape`. Each channel is
    normalised by its mean and standard deviation over the training rows. On a GPU all images lie
    in its memory, where they are cropped, mirrored and resized; the network runs in bfloat16, and
    each training step is one CUDA graph.

    Parameters
    ----------
    model : str, default="cnn"
        The network, one of `list_models`.
    weights : path, "imagenet" or None, default=None
        What the network starts from, see `create_model`.
    image_shape : tuple of three ints or None, default=None
        For flat rows: height, width and channels, one of which may be -1 and is then worked out.
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
        The height and width that images are resized to on the device. None is what the network
        prefers: 32 for "cnn", 224 for the EfficientNets, as they come for the others.
    label_smoothing : float, default=0.0
        The share of each label that is spread over all classes in training.
    ema : float or None, default=None
        Keep an exponential moving average of the weights with this decay, such as 0.99, and use
        that for validation and prediction.
    augment : bool, "crop" or "flip", default=True
        Whether training moves images at random by up to an eighth of their size and mirrors half
        of them left to right, or only one of the two. Letters and digits must not be mirrored.
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
    image_shape_ : tuple of three ints
        Height, width and channels.
    embedding_size_ : int
        The length of an embedding.
    n_features_in_ : int
        The length of the second axis of `X`.

    See Also
    --------
    TorchRegressor : The same for numbers, such as losses.
    Embedder : What a trained network sees as the input of another estimator.

    Examples
    --------
    How sure is a small network of handwritten digits, and which should somebody look at?

    >>> from sklearn.datasets import load_digits
    >>> from sklearn.frozen import FrozenEstimator
    >>> from condrisk import Deferral, PlugInRisk
    >>> from condrisk.torch import TorchClassifier
    >>> digits = load_digits()
    >>> X, y = digits.images, digits.target  # 8 × 8 grey images
    >>> net = TorchClassifier(
    ...     "resnet8", epochs=15, batch_size=64, learning_rate=0.01, augment="crop", random_state=0
    ... )
    >>> net = net.fit(X[:900], y[:900])
    >>> net.predict_proba(X[900:]).shape, net.embed(X[900:]).shape
    ((897, 10), (897, 64))
    >>> model = Deferral(PlugInRisk(FrozenEstimator(net)), cost=0.1).fit(X[900:1300], y[900:1300])
    >>> asked = model.defer(X[1300:])
    >>> wrong = model.predict(X[1300:]) != y[1300:]
    >>> bool(wrong[~asked].mean() < wrong.mean() < 0.2)
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **BaseTorch._parameter_constraints,
        "label_smoothing": [Interval(Real, 0, 1, closed="left")],
    }

    def __init__(
        self,
        model: str = "cnn",
        *,
        weights: str | os.PathLike[str] | None = None,
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
        self.model = model
        self.weights = weights
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
        X : array-like of shape (n_samples, height, width, channels)
            Images, at least two.
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
        goal = Goal(
            codes.astype(np.int64),
            len(self.classes_),
            objective=cross_entropy(self.label_smoothing),
            judged_by=cross_entropy(0.0),
        )
        self._train(X, goal, weight)
        return self

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Estimate the probability of each class.

        Parameters
        ----------
        X : array-like of shape (n_samples, height, width, channels)
            Images as in `fit`.

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
        X : array-like of shape (n_samples, height, width, channels)
            Images as in `fit`.

        Returns
        -------
        ndarray of shape (n_samples,)
            The labels.
        """
        best = self._outputs(X).argmax(dim=1).numpy()
        return self.classes_[best]
