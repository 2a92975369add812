"""Model files with one change each: refused or used, and never a crash."""

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from tools import fuzz_models
from tools.fuzz_files import QUICK, sound_files
from tools.fuzz_models import RECORD, run_case

ROOT = Path(__file__).parents[2]
# As many as so many seconds allow for, on a machine that may be busy.
N_CASES, SECONDS = 500, 15


def test_no_changed_file_crashes_or_takes_more_than_its_limits(tmp_path):
    command = [sys.executable, "-m", "tools.fuzz_models", "--quick", "--no-record"]
    command += ["--cases", str(N_CASES), "--seconds", str(SECONDS), "--seed", "1"]
    found = subprocess.run(
        [*command, "--keep", str(tmp_path)], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert found.returncode == 0, found.stderr[-2000:]
    done = re.search(r"^(\d+) cases, 0 failed$", found.stdout, re.MULTILINE)
    assert done is not None
    assert int(done[1]) > 0


def test_sound_files_predict(tmp_path):
    """Otherwise the cases would be refused for something else than their change."""
    path = tmp_path / "model.skops"
    rare = ("other regressors", "other classifiers", "several outputs", "hybrid")
    for name, (data, rows) in sound_files([*QUICK, *rare]).items():
        path.write_bytes(data)
        assert run_case(path, rows) == 10, name


# Its threads are those of BLAS, which a child that only ends does not use.
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_crash_is_seen(tmp_path, monkeypatch):
    """The process around a case tells a crash from an exception, and both from a refusal."""
    for what, expected in ((_die, -signal.SIGKILL), (lambda: 1 / 0, 11), (lambda: None, 10)):
        monkeypatch.setattr(fuzz_models, "run_case", lambda path, rows, what=what: _run(what))
        code, seconds, memory = fuzz_models.in_own_process(tmp_path, np.empty(0))
        assert code == expected
        assert seconds < 5
        assert memory > 0


def _die():
    os.kill(os.getpid(), signal.SIGKILL)


def _run(what):
    try:
        what()
    except ZeroDivisionError:
        return 11
    return 10


def test_no_case_of_the_record_failed():
    record = json.loads(RECORD.read_text(encoding="utf-8"))
    assert record["cases"] > 0
    assert record["failures"] == []
