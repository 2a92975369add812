"""What the service counts, for Prometheus.

Prometheus' own counters take a lock each time. What is counted for each request or batch has one
writer, so plain numbers do; they become metrics when somebody asks for them.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, generate_latest
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)
from prometheus_client.process_collector import ProcessCollector

from condrisk.app.serve._monitoring import MonitoringState

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
_ROWS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 4096, 16384)


class Tally:
    """Counts of values between bounds, and their sum.

    Parameters
    ----------
    bounds : sequence of float
        Upper bounds, ascending.
    """

    __slots__ = ("bounds", "counts", "total")

    def __init__(self, bounds: Sequence[float]) -> None:
        self.bounds = bounds
        self.counts = [0] * (len(bounds) + 1)
        self.total = 0.0

    def observe(self, value: float) -> None:
        """Count a value.

        Parameters
        ----------
        value : float
            The value.
        """
        self.counts[bisect_left(self.bounds, value)] += 1
        self.total += value

    def metric(self, name: str, text: str) -> Metric:
        """Return it as a histogram.

        Parameters
        ----------
        name, text : str
            The name, and what it counts.

        Returns
        -------
        Metric
            For Prometheus.
        """
        bounds = [*(f"{bound:g}" for bound in self.bounds), "+Inf"]
        buckets = list(zip(bounds, accumulate(self.counts), strict=True))
        return HistogramMetricFamily(name, text, buckets=buckets, sum_value=self.total)


class Metrics:
    """Counters of one app, in a registry of their own.

    Parameters
    ----------
    model : mapping
        Labels that say which model it is.
    monitoring : MonitoringState, optional
        What monitoring has found, to be told too.
    """

    def __init__(self, model: dict[str, str], monitoring: MonitoringState | None = None) -> None:
        self._registry = registry = CollectorRegistry()
        ProcessCollector(registry=registry)
        about = Gauge("condrisk_model_info", "The model served.", list(model), registry=registry)
        about.labels(**model).set(1)
        self.refused = Counter(
            "condrisk_rows_refused", "Rows that did not fit the schema.", registry=registry
        )
        self.unseen = Counter(
            "condrisk_unseen_categories",
            "Values that were not seen when fitting and count as missing.",
            registry=registry,
        )
        self.requests: dict[tuple[str, int], int] = {}
        self.seconds = Tally(_SECONDS)
        self.batch_rows = Tally(_ROWS)
        self.batch_seconds = Tally(_SECONDS)
        self.deferred = 0
        self.risk = 0.0
        self.waiting = 0
        registry.register(self)
        if monitoring is not None:
            registry.register(monitoring)

    def count(self, path: str, status: int) -> None:
        """Count an answered request.

        Parameters
        ----------
        path : str
            One of the paths of the app, or "other": strangers must not make up labels.
        status : int
            The HTTP status.
        """
        key = (path, status)
        self.requests[key] = self.requests.get(key, 0) + 1

    def collect(self) -> Iterator[Metric]:
        """Give the plain numbers as metrics.

        Yields
        ------
        Metric
            For Prometheus.
        """
        requests = CounterMetricFamily(
            "condrisk_requests", "Requests answered.", labels=["path", "status"]
        )
        for (path, status), count in self.requests.items():
            requests.add_metric([path, str(status)], count)
        yield requests
        yield CounterMetricFamily("condrisk_rows", "Rows decided.", value=self.batch_rows.total)
        yield CounterMetricFamily(
            "condrisk_rows_deferred", "Rows deferred.", value=float(self.deferred)
        )
        # A gauge, because risks of some losses are below zero and counters only go up.
        yield GaugeMetricFamily(
            "condrisk_risk_sum",
            "Sum of the estimated risks; divided by condrisk_rows_total, their mean.",
            value=self.risk,
        )
        yield GaugeMetricFamily("condrisk_rows_waiting", "Rows that wait.", value=self.waiting)
        yield self.seconds.metric(
            "condrisk_decide_seconds", "Time from the head of a request to its answer."
        )
        yield self.batch_rows.metric("condrisk_batch_rows", "Rows decided together.")
        yield self.batch_seconds.metric("condrisk_batch_seconds", "Time to decide them.")

    def text(self) -> bytes:
        """Return them all in Prometheus' text format.

        Returns
        -------
        bytes
            What /metrics answers.
        """
        return generate_latest(self._registry)


def labels_of(manifest: dict[str, Any]) -> dict[str, str]:
    """Return what says which model it is.

    Parameters
    ----------
    manifest : dict
        The model's.

    Returns
    -------
    dict of str to str
        Labels.
    """
    return {key: str(manifest[key]) for key in ("task", "target", "loss", "created")}
