"""`condrisk reproduce`: a command for each study, next to the paper's own numbers.

Importing it loads typer and little else: what runs a study is imported when it is run.
"""

from condrisk.paper._cli._commands import reproduce

__all__ = ["reproduce"]
