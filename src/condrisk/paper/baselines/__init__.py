"""Other people's methods for regression with rejection, under condrisk's interface.

`SelectiveNet` trains a network that answers and selects at once. `KernelRejector` smooths the
losses of a given predictor; with `NetRegressor` as the predictor it is known as NN+kNNRej.
Training `SelectiveNet` or `NetRegressor` needs torch (``pip install "condrisk[torch]"``); using
what was trained, and `KernelRejector` itself, do not.
"""

from condrisk.paper.baselines._kernel_rejector import KernelRejector
from condrisk.paper.baselines._net_regressor import NetRegressor
from condrisk.paper.baselines._selective_net import SelectiveNet

__all__ = ["KernelRejector", "NetRegressor", "SelectiveNet"]
