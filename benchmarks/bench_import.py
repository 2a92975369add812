"""Processes that should be quick: `import condrisk`, and commands that have nothing to do.

`import condrisk` is held against `import sklearn.ensemble`, each in a fresh interpreter; of
`condrisk --version`, of the list of commands, and of the slowest command with a path that does not
exist the time on the processor, against the 0.3 s that are allowed.
"""

from __future__ import annotations

import compileall
import resource
import subprocess
import sys
from pathlib import Path
from statistics import median
from typing import Any

import condrisk
from benchmarks.timing import interleaved, record

LIMIT = 1.05
CPU_SECONDS = 0.3
WRONG_PATHS = (
    "quickstart --data missing.csv --target y",
    "fit missing.csv --target y --cost 1",
    "inspect missing.skops",
    "score missing.skops rows.csv -o scored.csv",
    "report missing.skops",
    "serve missing.skops",
    "monitor missing.skops rows.csv",
    "export missing.skops -o model.onnx",
)


def run(repeats: int = 15) -> list[dict[str, Any]]:
    # As an installer would: pip compiles what it installs, but not an editable checkout.
    compileall.compile_dir(Path(condrisk.__file__).parent, quiet=1)
    seconds = interleaved(
        {
            "condrisk": lambda: _python("-c", "import condrisk"),
            "sklearn": lambda: _python("-c", "import sklearn.ensemble"),
        },
        repeats,
    )
    used = {
        command: median(_cpu_seconds(command) for _ in range(repeats))
        for command in ("--version", "--help", *WRONG_PATHS)
    }
    slowest = max(WRONG_PATHS, key=used.__getitem__)
    return [
        record("import condrisk", seconds["condrisk"], seconds["sklearn"], LIMIT, n=1),
        record("condrisk --version", used["--version"], CPU_SECONDS, 1.0, n=1),
        record("condrisk --help", used["--help"], CPU_SECONDS, 1.0, n=1),
        record("a wrong path", used[slowest], CPU_SECONDS, 1.0, n=1, cpu_s=used),
    ]


def _python(*arguments: str) -> None:
    subprocess.run([sys.executable, *arguments], check=True)


def _cpu_seconds(command: str) -> float:
    """Return the time on the processor, of user and system, that a command takes."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(
        [sys.executable, "-m", "condrisk", *command.split()],
        check=False,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
