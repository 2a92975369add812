"""Data to try things on: the paper's UCI sets, embedded, CIFAR-10, and worlds of known risk."""

from ._cifar10 import CIFAR10, load_cifar10
from ._class_worlds import make_gaussian_mixture, make_separable
from ._mmlu_routing import MMLURouting, load_mmlu_routing
from ._regression_worlds import make_heteroscedastic, make_hidden_noise
from ._routing_world import RoutingWorld, make_routing
from ._uci import UCI_NAMES, load_uci
from ._world import ClassificationWorld, RegressionWorld

__all__ = [
    "CIFAR10",
    "UCI_NAMES",
    "ClassificationWorld",
    "MMLURouting",
    "RegressionWorld",
    "RoutingWorld",
    "load_cifar10",
    "load_mmlu_routing",
    "load_uci",
    "make_gaussian_mixture",
    "make_heteroscedastic",
    "make_hidden_noise",
    "make_routing",
    "make_separable",
]
