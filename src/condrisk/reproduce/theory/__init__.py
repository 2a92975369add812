"""The paper's theory, simulated: bounds, what is false, and intervals that hold."""

from condrisk.reproduce.theory._run import run_theory
from condrisk.reproduce.theory._settings import TheoryConfig

__all__ = ["TheoryConfig", "run_theory"]
