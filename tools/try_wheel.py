"""Try the wheel as a user gets it: ``python -m tools.try_wheel DIST``.

The wheel goes into an environment that has nothing else. First without any extra: the README's
example and `condrisk --version`, and a command says which extra it needs. Then with ``[app]``:
the tutorial, every command of it. Nothing of this checkout is imported but the runner of pages.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

ROOT = Path(__file__).parents[1]
ENVIRONMENT = ROOT / "build" / "wheel"
TUTORIAL = """
import sys
sys.path.append(sys.argv[1])
from pathlib import Path
from page_session import run_page
run_page(Path(sys.argv[2]), Path.cwd())
"""


def main(dist: str) -> None:
    """Install the one wheel of a folder, and use it."""
    [wheel] = Path(dist).resolve().glob("condrisk-*.whl")
    venv.create(ENVIRONMENT, clear=True, with_pip=True)
    with tempfile.TemporaryDirectory() as folder:
        _install(str(wheel))
        code = (
            "import condrisk, sys; print(condrisk.__file__); assert sys.prefix in condrisk.__file__"
        )
        _python(["-c", code], folder)
        _python(["-m", "condrisk", "--version"], folder)
        missing = _python(["-m", "condrisk", "fit"], folder, status=2)
        assert 'pip install "condrisk[app]"' in missing, missing
        _python(["-W", "error", "-c", _readme_example()], folder)
        print("The library alone: the README's example runs.", flush=True)

        _install(f"{wheel}[app]")
        pages = (str(ROOT / "tests" / "docs"), str(ROOT / "docs" / "tutorial.md"))
        _python(["-c", TUTORIAL, *pages], folder)
        _python(["-m", "pip", "check"], folder)
    print(f"{wheel.name}: installed alone, it runs the whole tutorial.")


def _readme_example() -> str:
    """Return the README's Python; without pandas and polars there is no frame to make."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    code = "\n".join(re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL))
    return re.sub(r"\.to_frame\(\)", "", code)


def _install(what: str) -> None:
    quiet = ("--quiet", "--disable-pip-version-check")
    _python(["-m", "pip", "install", *quiet, "-c", str(ROOT / "constraints.txt"), what], ROOT)


def _python(arguments: list[str], folder: str | Path, *, status: int = 0) -> str:
    """Run the environment's interpreter with nothing of this one; return what it printed."""
    interpreter = ENVIRONMENT / ("Scripts" if os.name == "nt" else "bin") / "python"
    clean = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    done = subprocess.run(
        [str(interpreter), *arguments],
        cwd=folder,
        env=clean,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if done.returncode != status:
        raise SystemExit(f"{arguments} ended with {done.returncode}:\n{done.stdout}")
    return done.stdout


if __name__ == "__main__":
    main(*sys.argv[1:])
