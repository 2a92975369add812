"""The section of docs/operations on fitting on a cluster, from results/cluster.json."""

from __future__ import annotations

from typing import Any

from condrisk.paper._page import markdown_table

GB = 1e9
SPEEDS = ("speed", "speed-large")


def cluster_text(record: dict[str, Any]) -> str:
    """Return what `condrisk fit --engine dask` takes, and how its risk compares."""
    limits, parts = record["limits"], ["## Fitting on a cluster"]
    parts.append(
        "`condrisk fit --engine dask` on clusters of one machine; workers have one thread, and at "
        "most 4 GB. The machine had other work, as the load tells, the number of processes that "
        "waited for its two cores: the times are upper limits."
    )
    rows = [
        _line(part["rows"], part["columns"], run)
        for name in ("large", *SPEEDS, "agreement")
        if name in record
        for part in [record[name]]
        for run in part.get("turns") or [part["fit"]]
    ]
    header = ["rows", "columns", "workers", "seconds", "largest worker", "client", "load"]
    parts.append(markdown_table(header, rows))
    parts += [_speed(record[name], limits) for name in SPEEDS if name in record]
    parts += [_agreement(record["agreement"], limits)] if "agreement" in record else []
    parts.append(
        "LightGBM's workers wait for each other at every split of a tree; the more rows each has, "
        "the less that matters."
    )
    parts.append(
        "Again with `python -m benchmarks.cluster large`, `speed`, `speed-large` and `agreement`."
    )
    return "\n\n".join(parts)


def _line(rows: int, columns: int, run: dict[str, Any]) -> list[str]:
    peak = run["peak_bytes"]
    return [
        f"{rows:,}",
        f"{columns}",
        f"{run['workers']}",
        f"{run['seconds']:,.0f}",
        f"{max(peak['workers']) / GB:.2f} GB",
        f"{peak['client_and_scheduler'] / GB:.2f} GB",
        f"{run['load_before']:.0f}",
    ]


def _speed(part: dict[str, Any], limits: dict[str, float]) -> str:
    ratio, limit = part["two_workers_to_one"], limits["two_workers_to_one"]
    verdict = "kept" if ratio >= limit else "not kept"
    return (
        f"At {part['rows']:,} rows two workers are {ratio:.2f} times as fast as one, by the "
        f"fastest turn of each (at least {limit}: {verdict})."
    )


def _agreement(part: dict[str, Any], limits: dict[str, float]) -> str:
    found = part["compared"]
    level, here = found["difference_of_means"], found["mean_error_of_g"]
    kept = abs(level) <= limits["agreement"]
    verdict = "kept" if kept else "not kept"
    return (
        f"Beside the same learners in memory, on the same {found['rows_fitted_on']:,} rows and "
        f"folds: the mean risk of new rows differs by {level:+.2%} (at most "
        f"{limits['agreement']:.0%}: {verdict}), the risks of single rows by "
        f"{found['mean_difference_by_row']:.1%} of the mean, with correlation "
        f"{found['correlation']:.3f}. Mean error against the true risk, which is known here: "
        f"{here['cluster']:.1%} of the mean risk on the cluster, {here['memory']:.1%} in memory."
    )
