"""A plugin of pytest that writes how long each test took, its set-up included."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

SECONDS: dict[str, float] = {}


def pytest_runtest_logreport(report: Any) -> None:
    """Add up the phases of a test."""
    SECONDS[report.nodeid] = SECONDS.get(report.nodeid, 0.0) + report.duration


def pytest_sessionfinish() -> None:
    """Write what was added up."""
    Path(os.environ["MUTATION_DURATIONS"]).write_text(json.dumps(SECONDS), encoding="utf-8")
