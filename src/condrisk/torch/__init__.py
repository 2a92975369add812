"""Any module of torch as a scikit-learn estimator: train, predict, embed; on a GPU if there is one.

`TorchClassifier` and `TorchRegressor` train a network of your own on an array of images or of
rows, and `RegressionRisk`, `PlugInRisk` and `Deferral` take them as they take any predictor.
`Embedder` makes the embedding of a trained network the input of another estimator. All of it needs
torch (``pip install "condrisk[torch]"``).
"""

try:
    import torch as _torch  # noqa: F401 - here for its sentence
except ImportError as error:
    raise ImportError(
        'condrisk.torch needs torch, which is not installed: pip install "condrisk[torch]".'
    ) from error

from condrisk.torch._classifier import TorchClassifier
from condrisk.torch._embedder import Embedder
from condrisk.torch._regressor import TorchRegressor

__all__ = ["Embedder", "TorchClassifier", "TorchRegressor"]
