"""The paper's theory, simulated: bounds, what is false, and intervals that hold."""

from condrisk.paper.theory.simulations._run import run_theory
from condrisk.paper.theory.simulations._settings import TheoryConfig

__all__ = ["TheoryConfig", "run_theory"]
