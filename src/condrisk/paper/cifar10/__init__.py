"""Classification on CIFAR-10: the paper's study of conditional risk and learning to defer.

It needs torch (``pip install "condrisk[torch]"``), and in practice a GPU.
"""

from condrisk.paper.cifar10._run import Cifar10Config, run_cifar10

__all__ = ["Cifar10Config", "run_cifar10"]
