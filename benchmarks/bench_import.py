"""`import condrisk` against `import sklearn.ensemble`, each in a fresh interpreter."""

from __future__ import annotations

import compileall
import subprocess
import sys
from pathlib import Path
from typing import Any

import condrisk
from benchmarks.timing import interleaved, record

LIMIT = 1.05


def run(repeats: int = 15) -> list[dict[str, Any]]:
    # As an installer would: pip compiles what it installs, but not an editable checkout.
    compileall.compile_dir(Path(condrisk.__file__).parent, quiet=1)
    seconds = interleaved(
        {
            "condrisk": lambda: _python("import condrisk"),
            "sklearn": lambda: _python("import sklearn.ensemble"),
        },
        repeats,
    )
    return [record("import condrisk", seconds["condrisk"], seconds["sklearn"], LIMIT, n=1)]


def _python(statement: str) -> None:
    subprocess.run([sys.executable, "-c", statement], check=True)
