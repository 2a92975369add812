"""Change one thing in sound model files, load each, predict with it, and see that nothing breaks.

    python -m tools.fuzz_models                   20,000 cases, the record in results/
    python -m tools.fuzz_models --cases 500 --quick --seconds 15 --no-record

A case is one change of one sound file (`tools.fuzz_files`): an attribute, an index, a number in an
array, its dtype or shape, or a reference to another array, part or class, chosen by the seed and
the number of the case (`tools.fuzz_changes`). It is loaded by `load_model` and predicts rows in a
process of its own, which is forked from one that has loaded everything, and has limits of time and
memory. Allowed is that the file is refused in one sentence, or that it predicts, or that predicting
raises an exception. A crash, another exception in loading, more than 5 seconds of processor time or
1 GB of memory fails.
"""

from __future__ import annotations

import argparse
import gc
import json
import math
import os
import platform
import resource
import signal
import sys
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

# Threads do not survive a fork: a case that waits for them would wait for ever.
os.environ["OMP_NUM_THREADS"] = "1"

RECORD = Path(__file__).resolve().parents[1] / "results" / "fuzz_models.json"
CASES, SEED, SAVED_EVERY = 20_000, 19, 500
MOST_SECONDS, MOST_BYTES = 5.0, 1 << 30
# What ends a process that is far over the limits, so that it does no harm to the machine.
_STOP_SECONDS, _STOP_BYTES = 30, 4 << 30
REFUSED, PREDICTED, RAISED, BROKEN = 0, 10, 11, 12
_WORDS = {REFUSED: "refused", PREDICTED: "predicted", RAISED: "raised in predicting"}


def run_case(path: Path, rows: Any) -> int:
    """Load a file and predict with it; return what became of it."""
    from condrisk.persistence import ModelFileError, load_model

    try:
        model = load_model(path)
    except ModelFileError as error:
        return REFUSED if _is_sentence(str(error), path) else BROKEN
    except BaseException as error:
        print(f"{type(error).__name__}: {error}"[:300], file=sys.stderr)
        return BROKEN
    try:
        for method in ("predict", "predict_risk", "decide"):
            if hasattr(model, method):
                getattr(model, method)(rows)
        if hasattr(model, "route"):
            model.route(rows, price=0.1)
    except BaseException:
        return RAISED
    return PREDICTED


def _is_sentence(text: str, path: Path) -> bool:
    return text.startswith(str(path)) and text.endswith(".") and text.isprintable()


def in_own_process(path: Path, rows: Any) -> tuple[int, float, int]:
    """Return how a process ended, its processor seconds and its most bytes of memory."""
    child = os.fork()
    if child == 0:
        code = BROKEN
        try:
            _limit()
            warnings.simplefilter("ignore")
            code = run_case(path, rows)
        finally:
            os._exit(code)
    _, status, used = os.wait4(child, 0)
    code = os.waitstatus_to_exitcode(status)
    return code, used.ru_utime + used.ru_stime, used.ru_maxrss * 1024


def _limit() -> None:
    taken = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (taken + _STOP_BYTES,) * 2)
    resource.setrlimit(resource.RLIMIT_CPU, (_STOP_SECONDS,) * 2)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    signal.alarm(20 * _STOP_SECONDS)


class Tally:
    """What became of the cases so far."""

    def __init__(self, names: list[str], seed: int) -> None:
        self.seed = seed
        self.files: dict[str, Counter[str]] = {name: Counter() for name in names}
        self.changes: dict[str, Counter[str]] = {}
        self.failures: list[dict[str, Any]] = []
        self.slowest, self.largest = 0.0, 0

    @property
    def cases(self) -> int:
        """How many there were."""
        return sum(counts.total() for counts in self.files.values())

    def add(self, name: str, what: str, ended: tuple[int, float, int]) -> bool:
        """Count a case; tell whether it failed."""
        code, took, memory = ended
        self.slowest, self.largest = max(self.slowest, took), max(self.largest, memory)
        outcome = _WORDS.get(code, f"ended with {code}")
        self.files[name][outcome] += 1
        self.changes.setdefault(what.split(":")[0], Counter())[outcome] += 1
        failed = code not in _WORDS or took > MOST_SECONDS or memory > MOST_BYTES
        if failed:
            case = {"file": name, "change": what, "outcome": outcome}
            self.failures.append(case | {"seconds": round(took, 2), "bytes": memory})
            print(self.failures[-1], file=sys.stderr, flush=True)
        return failed

    def record(self) -> dict[str, Any]:
        """Return the record."""
        return {
            "seed": self.seed,
            "cases": self.cases,
            "limits": {"seconds": MOST_SECONDS, "bytes": MOST_BYTES},
            "slowest_seconds": round(self.slowest, 2),
            "most_bytes": self.largest,
            "files": {name: dict(sorted(n.items())) for name, n in self.files.items()},
            "changes": {what: dict(sorted(n.items())) for what, n in sorted(self.changes.items())},
            "failures": self.failures,
            "machine": f"{platform.system()}, Python {platform.python_version()}",
            "versions": {
                name: version(name) for name in ("numpy", "scikit-learn", "scipy", "skops")
            },
        }


def fuzz(
    sound: dict[str, tuple[bytes, Any]],
    *,
    cases: int,
    seed: int,
    seconds: float = math.inf,
    keep: Path | None = None,
    save: Callable[[Tally], None] = lambda tally: None,
) -> Tally:
    """Run cases, and save what became of them now and then."""
    from tools.fuzz_changes import Sound

    names, began = sorted(sound), time.monotonic()
    files = {name: Sound(data) for name, (data, _) in sound.items()}
    tally = Tally(names, seed)
    gc.freeze()  # what is there already is not copied into each process by a look at it
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.skops"
        for case in range(cases):
            if time.monotonic() - began > seconds:
                break
            name = names[case % len(names)]
            what, changed = files[name].changed(seed, case)
            path.write_bytes(changed)
            if tally.add(name, what, in_own_process(path, sound[name][1])) and keep is not None:
                (keep / f"{case}.skops").write_bytes(changed)
            if tally.cases % SAVED_EVERY == 0:
                save(tally)
    return tally


def main() -> int:
    """Run the cases and write the record; 1 if any failed."""
    assert __doc__ is not None
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--cases", type=int, default=CASES)
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--seconds", type=float, default=float("inf"), help="stop after so long")
    parser.add_argument("--quick", action="store_true", help="only files that are quickly made")
    parser.add_argument("--no-record", action="store_true")
    parser.add_argument("--keep", type=Path, help="a folder for the files that failed")
    options = parser.parse_args()
    from threadpoolctl import threadpool_limits

    from tools.fuzz_files import QUICK, sound_files

    def save(tally: Tally) -> None:
        print(f"{tally.cases:,} cases, {len(tally.failures)} failed", flush=True)
        if not options.no_record:
            RECORD.write_text(json.dumps(tally.record(), indent=1) + "\n")

    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tally = fuzz(
            sound_files(QUICK if options.quick else None),
            cases=options.cases,
            seed=options.seed,
            seconds=options.seconds,
            keep=options.keep,
            save=save,
        )
    save(tally)
    print(f"slowest {tally.slowest:.2f} s, most memory {tally.largest / 2**20:.0f} MB")
    return 1 if tally.failures else 0


if __name__ == "__main__":
    sys.exit(main())
