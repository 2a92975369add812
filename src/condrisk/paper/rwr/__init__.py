"""Regression with rejection: the paper's study on eight UCI sets."""

from condrisk.paper.rwr._lockstep import LockstepMLPRegressor
from condrisk.paper.rwr._methods import PaperSplit, register_method, unregister_method
from condrisk.paper.rwr._run import RwRConfig, run_rwr

__all__ = [
    "LockstepMLPRegressor",
    "PaperSplit",
    "RwRConfig",
    "register_method",
    "run_rwr",
    "unregister_method",
]
