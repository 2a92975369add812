"""Data to try things on: the paper's UCI sets, embedded, and worlds whose risk is known."""

from ._class_worlds import make_gaussian_mixture, make_separable
from ._regression_worlds import make_heteroscedastic, make_hidden_noise
from ._uci import UCI_NAMES, load_uci
from ._world import ClassificationWorld, RegressionWorld

__all__ = [
    "UCI_NAMES",
    "ClassificationWorld",
    "RegressionWorld",
    "load_uci",
    "make_gaussian_mixture",
    "make_heteroscedastic",
    "make_hidden_noise",
    "make_separable",
]
