"""Run tests in forked processes that need not import anything again.

A change inside a function is made where the function is: its code is exchanged in a child of a
process that has imported the package and the tests. What runs at import, decorators, defaults and
tables, needs a child of a process that has imported the packages around us, but not ours.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import inspect
import json
import os
import re
import resource
import signal
import sys
import time
import traceback
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

import pytest

from tools.mutation.sample import ROOT

# What takes seconds to import, and is safe to fork: no threads before it is used.
OTHERS = [
    "numpy",
    "scipy.stats",
    "scipy.optimize",
    "sklearn.calibration",
    "sklearn.ensemble",
    "sklearn.linear_model",
    "sklearn.mixture",
    "sklearn.model_selection",
    "sklearn.neural_network",
    "sklearn.pipeline",
    "sklearn.utils.estimator_checks",
    "pandas",
    "polars",
    "pyarrow.parquet",
    "pyarrow.csv",
    "skops.io",
    "matplotlib.pyplot",
    "hypothesis",
    "starlette.testclient",
    "uvicorn",
    "typer.testing",
    "prometheus_client",
]
# Tests that use polars when they are imported: its threads would not be there in a child.
BUSY = ["hostile_tables.py", "real_files.py", "test_score_dask.py"]
# A test that waits for something takes no processor time.
MOST_WAIT = 5


def warm_up() -> None:
    """Import what every test needs; one thread each, as the machine's cores are shared."""
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "POLARS_MAX_THREADS"):
        os.environ[name] = "1"
    os.environ |= {"CI": "1", "MPLBACKEND": "Agg"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in OTHERS:
            importlib.import_module(name)
    if any(name.split(".")[0] == "condrisk" for name in sys.modules):
        raise RuntimeError("condrisk has been imported before any mutant of it")


class Functions:
    """The functions of the package as imported from `source`, with the tests that call them."""

    def __init__(self, source: Path, tests: list[str]) -> None:
        self._source = source
        with open(os.devnull, "w") as nowhere, contextlib.redirect_stdout(nowhere):
            ignored = [f"--ignore-glob=*{name}" for name in BUSY]
            _pytest(["--collect-only", *ignored, *tests], source, [])
        if Path("/proc/self/task").exists():
            names = [path.read_text() for path in Path("/proc/self/task").glob("*/comm")]
            if any(name.startswith("polars-0") for name in names):
                raise RuntimeError("a test module uses polars when it is imported")
        self._found: dict[tuple[str, str, int], list[FunctionType]] = defaultdict(list)
        for thing in gc.get_objects():
            if isinstance(thing, FunctionType):
                self._found[_place_of(thing.__code__)].append(thing)
        gc.freeze()

    def change(self, path: Path, before: str, after: str, line: int) -> None:
        """Exchange the code of the function that has the line, and of those that it has made.

        A module that has not been imported will be, as changed.
        """
        if not any(file == str(path) for file, _, _ in self._found):
            return
        old, new = (
            max(
                (code for code in _outermost(text, path) if code.co_firstlineno <= line),
                key=lambda code: code.co_firstlineno,
            )
            for text in (before, after)
        )
        n_changed = 0
        for one, other in zip(_with_inner(old), _with_inner(new), strict=True):
            for function in self._found[_place_of(one)]:
                # Several lambdas may begin on one line.
                if function.__code__ == one:
                    function.__code__ = other
                    n_changed += 1
        if not n_changed:
            raise LookupError(f"{path}: no function of line {line} has been imported")


def _place_of(code: CodeType) -> tuple[str, str, int]:
    return code.co_filename, code.co_qualname, code.co_firstlineno


def _outermost(text: str, path: Path) -> Iterator[CodeType]:
    """Return the code of functions and methods of a module, not of what is inside them."""
    waiting = [compile(text, str(path), "exec", dont_inherit=True)]
    while waiting:
        for inner in waiting.pop().co_consts:
            if isinstance(inner, CodeType):
                if inner.co_flags & inspect.CO_NEWLOCALS:
                    yield inner
                else:
                    waiting.append(inner)


def _with_inner(code: CodeType) -> Iterator[CodeType]:
    """Return the code of a function and of all that are defined in it."""
    yield code
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield from _with_inner(inner)


class _First:
    """A plugin of pytest that remembers what failed."""

    def __init__(self) -> None:
        self.failed: list[str] = []

    def pytest_runtest_logreport(self, report: Any) -> None:
        if report.failed:
            self.failed.append(report.nodeid)

    def pytest_collectreport(self, report: Any) -> None:
        if report.failed:
            self.failed.append(report.nodeid)


def failing(
    tests: list[str],
    source: Path,
    seconds: int,
    *,
    before: Callable[[], None] | None = None,
    all_of_them: bool = False,
) -> list[str]:
    """Return the first test that fails with the package in `source`, or all that do.

    `before` is called in the child first.
    """
    answer = source.parent / "answer.json"
    answer.unlink(missing_ok=True)
    child = os.fork()
    if not child:
        _run_tests(tests, source, answer, seconds, before, all_of_them)
    status = _wait(child, seconds * MOST_WAIT)
    if status is None or (os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGXCPU):
        return [f"no end after {seconds} s"]
    if os.WIFSIGNALED(status):
        return [f"ended by {signal.Signals(os.WTERMSIG(status)).name}"]
    if not answer.exists():
        raise RuntimeError(f"pytest did not run:\n{_log(source)}")
    code, failed = json.loads(answer.read_text(encoding="utf-8"))
    unloaded = re.search("ImportError while loading conftest '(.+?)'", _log(source))
    if unloaded is not None:
        return [Path(unloaded[1]).relative_to(ROOT).as_posix()]
    if code == pytest.ExitCode.USAGE_ERROR and any("[" in test for test in tests):
        # A parameter of a test comes from the code and is another one now.
        bare = sorted({test.partition("[")[0] for test in tests})
        return failing(bare, source, seconds, before=before, all_of_them=all_of_them)
    if code not in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED) and not failed:
        raise RuntimeError(f"pytest did not run:\n{_log(source)}")
    return list(dict.fromkeys(failed))


def _log(source: Path) -> str:
    """Return the end of what pytest has said."""
    return (source.parent / "log").read_text(encoding="utf-8", errors="replace")[-5000:]


def _pytest(arguments: list[str], source: Path, plugins: list[object]) -> int:
    """Run pytest with the package in `source`."""
    os.environ["PYTHONPATH"] = f"{source}{os.pathsep}{ROOT}"
    sys.path[:] = [str(source), *(p for p in sys.path if p not in (str(source), str(ROOT / "src")))]
    importlib.invalidate_caches()
    os.chdir(ROOT)
    options = ["-q", "-m", "not slow", "-p", "no:xdist", "-p", "no:cov"]
    options += ["-W", "ignore::pytest.PytestAssertRewriteWarning"]
    return int(pytest.main([*options, *arguments], plugins=plugins))


def _run_tests(
    tests: list[str],
    source: Path,
    answer: Path,
    seconds: int,
    before: Callable[[], None] | None,
    all_of_them: bool,
) -> None:
    """Run pytest in the child; what it found is written to a file."""
    code = 1
    try:
        os.setsid()
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 5))
        log = os.open(source.parent / "log", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(log, 1)
        os.dup2(log, 2)
        if before is not None:
            before()
        first = _First()
        found = _pytest([*([] if all_of_them else ["-x"]), *tests], source, [first])
        where = getattr(sys.modules.get("condrisk"), "__file__", None) or str(source)
        if not where.startswith(str(source)):
            raise RuntimeError(f"the copy is not what is imported: {where}")
        answer.write_text(json.dumps([found, first.failed]), encoding="utf-8")
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        # Neither threads nor what runs at exit may hold it up.
        os._exit(code)


def _wait(child: int, seconds: float) -> int | None:
    """Return how a child ended, None if it had to be ended; what it started ends with it."""
    until = time.monotonic() + seconds
    status = None
    while status is None and time.monotonic() < until:
        ended, found = os.waitpid(child, os.WNOHANG)
        if ended:
            status = found
        else:
            time.sleep(0.02)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)
    if status is None:
        os.waitpid(child, 0)
    return status
