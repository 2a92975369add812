"""What `condrisk monitor` has found, for Prometheus: the service exports the state beside it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from prometheus_client.core import GaugeMetricFamily, Metric

_WHICH = "of the last chunk, and of the whole run (from the alarm on, where there was one)"


class MonitoringState:
    """The state that `condrisk monitor` keeps in its output folder, read when somebody asks.

    Parameters
    ----------
    folder : path
        The folder, with monitoring.json; there is nothing to tell until that is there.
    """

    def __init__(self, folder: Path) -> None:
        self._path = Path(folder) / "monitoring.json"
        self._known: tuple[int, Mapping[str, Any]] | None = None

    def collect(self) -> Iterator[Metric]:
        """Give the state as metrics.

        Yields
        ------
        Metric
            For Prometheus.
        """
        found = self._read()
        if found is None:
            return
        changed, state = found
        chunks = {"last": state["chunks"][-1], "run": state.get("overall") or state["chunks"][-1]}
        yield _gauge("expected_loss", f"Expected mean loss {_WHICH}.", _expected(chunks))
        yield _gauge("realised_loss", f"Realised mean loss {_WHICH}.", _part(chunks, "realised"))
        yield _gauge("rows", f"Rows {_WHICH}.", _part(chunks, "rows"))
        yield _gauge("labelled_rows", f"Labelled rows {_WHICH}.", _part(chunks, "labelled"))
        single = {
            "evidence": ("Evidence of larger losses than expected.", chunks["last"]["evidence"]),
            "evidence_threshold": ("The evidence that raises the alarm.", state["threshold"]),
            "alarm": ("Whether there has been an alarm.", float(state["alarm"] is not None)),
            "chunks": ("Chunks so far.", len(state["chunks"])),
            "drifted_chunks": (
                "Chunks in which rows have drifted.",
                sum(bool(chunk["notes"]) for chunk in state["chunks"]),
            ),
            "changed_seconds": ("When the state was written, since 1970.", changed / 1e9),
        }
        for name, (text, value) in single.items():
            if value is not None:
                yield GaugeMetricFamily(f"condrisk_monitor_{name}", text, value=float(value))

    def _read(self) -> tuple[int, Mapping[str, Any]] | None:
        """Return when the state was written, and the state; None where there is none to read."""
        try:
            changed = self._path.stat().st_mtime_ns
            if self._known is None or self._known[0] != changed:
                state = json.loads(self._path.read_text(encoding="utf-8"))
                self._known = (changed, state) if state["chunks"] else None
        except (OSError, ValueError, KeyError, TypeError):
            return None
        return self._known


def _gauge(name: str, text: str, values: Mapping[str, float]) -> Metric:
    family = GaugeMetricFamily(f"condrisk_monitor_{name}", text, labels=["of"])
    for which, value in values.items():
        family.add_metric([which], value)
    return family


def _expected(chunks: Mapping[str, Any]) -> dict[str, float]:
    return {which: float(chunk["expected"]["mean"]) for which, chunk in chunks.items()}


def _part(chunks: Mapping[str, Any], name: str) -> dict[str, float]:
    found = {which: chunk[name] for which, chunk in chunks.items()}
    return {which: float(value) for which, value in found.items() if value is not None}
