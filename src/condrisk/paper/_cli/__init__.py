"""`condrisk reproduce`: a command for each study."""

from condrisk.paper._cli._active import active
from condrisk.paper._cli._main import app as reproduce
from condrisk.paper._cli._theory import theory

reproduce.command()(theory)
reproduce.command()(active)

__all__ = ["reproduce"]
