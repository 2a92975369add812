"""Labels that pay: learning curves of ways to choose which rows to label next."""

from condrisk.paper.active._run import run_active
from condrisk.paper.active._settings import ActiveConfig

__all__ = ["ActiveConfig", "run_active"]
