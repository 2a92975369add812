"""What the pages of docs/risk_control share: records, and how violations are judged."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from scipy.stats import binom

RESULTS = Path(__file__).resolve().parents[1] / "results"
LEVEL_OF_TEST = 0.01


def load(name: str) -> dict[str, Any] | None:
    """Return a record, None if it has not been made."""
    path = RESULTS / name
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else None


def passes(violations: int, n: int, chance: float, level: float) -> bool:
    """Tell whether so many violations are compatible with at most that chance."""
    return bool(binom.sf(violations - 1, n, chance) >= level)


def kept(violations: int, n: int, chance: float) -> bool:
    """Tell the same at the level of these pages."""
    return passes(violations, n, chance, LEVEL_OF_TEST)


def joined(parts: list[str]) -> str:
    """Return a page of these parts."""
    return "\n\n".join(part for part in parts if part) + "\n"


def made_by(record: dict[str, Any], command: str) -> str:
    """Return on what a record was made."""
    versions = ", ".join(f"{package} {number}" for package, number in record["versions"].items())
    return f"Made by `{command}` on one core of {record['machine']}; {versions}."
