"""The page of docs/operations: scoring and serving, from their records."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from condrisk.paper._page import markdown_table
from tools.cluster_section import cluster_text
from tools.scaling_section import draw_scaling, scaling_text

RESULTS = Path(__file__).resolve().parents[1] / "results"


def pages() -> dict[str, str]:
    """Return the text of the page by its name."""
    records = {
        name: json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))
        for name in ("cluster", "scoring", "serving", "serving_against", "pressure")
    }
    parts = [
        "# How fast it runs",
        scaling_text(_scaling()),
        cluster_text(records["cluster"]),
        startup_text(),
        scoring_text(records["scoring"]),
        serving_text(records["serving"]),
        against_text(records["serving_against"]),
        pressure_text(records["pressure"]["results"]),
        benchmarks_text(),
    ]
    return {"README.md": "\n\n".join(parts) + "\n"}


def draw(folder: Path) -> None:
    """Draw what fitting takes; the rest is in tables."""
    record = _scaling()
    if "sizes" in record:
        draw_scaling(record, folder / "fitting.png")


def _scaling() -> dict[str, Any]:
    found: dict[str, Any] = json.loads((RESULTS / "scaling.json").read_text(encoding="utf-8"))
    return found


def startup_text() -> str:
    """Return what commands take on a table of few rows."""
    record = json.loads((RESULTS / "startup.json").read_text(encoding="utf-8"))
    rows = [
        [f"`{name}`", f"{found['wall']:.2f} s", f"{found['cpu']:.2f} s"]
        for name, found in record["seconds"].items()
    ]
    return "\n\n".join(
        [
            "## Start-up",
            f"Each a process of its own, on 40 rows of four numbers, so nearly all of it is "
            f"start-up. Medians of {record['repeats']} turns on {record['machine']}, which had "
            f"other work meanwhile (load {record['load_average']:.1f}): the time on the processor "
            f"tells more.",
            markdown_table(["process", "wall", "processor"], rows),
            "Commands load what they need when they need it, and check paths before that. Again "
            "with `python -m benchmarks.startup`.",
        ]
    )


def scoring_text(record: dict[str, Any]) -> str:
    """Return what `condrisk score` takes beside the bare predictions."""
    settings, limits, figures = record["settings"], record["limits"], record["figures"]
    rows = [
        [
            kind,
            f"{figures['rows_per_second'][kind]:,.0f}",
            f"{figures['ratio_to_bare'][kind]:.2f}",
            f"{figures['ratio_of_processor_time'][kind]:.2f}",
            f"{limits[kind]:.2f}",
            f"{figures['peak_bytes'][kind] / 2**20:,.0f} MiB",
        ]
        for kind in ("parquet", "csv")
    ]
    text = (
        f"{settings['rows']:,} rows of {settings['columns']} numbers, a boosted predictor and a "
        f"boosted risk of {settings['iterations']} trees each, beside two bare loops of `predict` "
        f"over the same batches in memory, run the faster way (a batch on each core: "
        f"{figures['rows_per_second']['bare_batch_per_core']:,.0f} rows a second). Medians of "
        f"{settings['repeats']} turns; the machine had other work, to which the share of "
        f"processor time is less sensitive."
    )
    header = ["file", "rows a second", "of the bare loops", "by processor time", "at least", "peak"]
    dask = (
        f"On a Dask cluster of this machine, {settings['dask_rows']:,} rows: two workers are "
        f"{figures['dask_two_workers_to_one']:.2f} times as fast as one (at least "
        f"{limits['dask']}). With a worker killed half-way the output is "
        f"{'the same, byte by byte' if record['kept']['killed_worker'] else 'not the same'}."
    )
    kept = ", ".join(what for what, true in record["kept"].items() if not true)
    verdict = f"Limits not kept: {kept}." if kept else "All limits, set beforehand, are kept."
    return "\n\n".join(
        [
            "## `condrisk score`",
            text,
            markdown_table(header, rows),
            f"{dask} {verdict} Again with `python -m benchmarks.scoring`.",
        ]
    )


def against_text(record: dict[str, Any]) -> str:
    """Return the throughput of the service beside that of its earlier sources."""
    measured = record["results"]["against"]
    models = ("linear", "boosting", "forest")
    rows = [
        [load, *(f"{measured[model][load]['throughput of other']:.2f}" for model in models)]
        for load in measured[models[0]]
    ]
    return "\n\n".join(
        [
            "### Any model by its own methods",
            "The tables above are of an earlier service, which did the arithmetic of linear models "
            "by itself. Since then every model is decided by its own methods. Throughput, new over "
            "old, in turns:",
            markdown_table(["requests", *models], rows),
            "Again with `python -m benchmarks.serving against FOLDER`, the earlier sources.",
        ]
    )


def serving_text(record: dict[str, Any]) -> str:
    """Return what `condrisk serve` does under load."""
    found = record["results"]
    parts = [
        "## `condrisk serve`",
        f"Requests of one row from another process on the same {record['machine']} machine; rounds "
        f"of what is compared take turns. Again with `python -m benchmarks.serving`.",
    ]
    if "forest" in found:
        parts.append(_forest(found["forest"]))
    if "ridge" in found:
        parts.append(_ridge(found["ridge"]))
    parts += [_rest(found)] if _rest(found) else []
    return "\n\n".join(parts)


def _forest(found: dict[str, Any]) -> str:
    rows = [
        [
            f"batching {name}",
            f"{part['per_second']:,.0f}",
            f"{part['p50_ms']:.1f} ms",
            f"{part['p99_ms']:.1f} ms",
        ]
        for name, part in found["batching"].items()
    ]
    table = markdown_table(["a forest", "requests a second", "p50", "p99"], rows)
    return (
        f"{table}\n\n{found['connections']} connections: batching gives "
        f"{found['throughput_ratio']:.1f} times the throughput ({found['limit']}). Load of the "
        f"machine meanwhile: {found['load_average']:.1f}."
    )


def _ridge(found: dict[str, Any]) -> str:
    rows = [
        [
            name,
            *(f"{part[path]['per_second']:,.0f}" for path in ("/decide", "/empty", "/bare")),
            f"{part['throughput_of_empty']:.2f}",
            f"{part['throughput_of_bare']:.2f}",
            f"{part['/decide']['p50_ms']:.1f} ms",
            f"{part['/decide']['p99_ms']:.1f} ms",
        ]
        for name, part in found.items()
        if isinstance(part, dict)
    ]
    header = ["ridge", "decide", "empty", "bare", "of empty", "of bare", "p50", "p99"]
    return (
        f"{markdown_table(header, rows)}\n\nRequests a second. empty: an endpoint of the framework "
        f"that answers nothing ({found['limit']}); bare: the same without the framework, which "
        f"`/decide` does without, too. Load of the machine meanwhile: "
        f"{found['load_average']:.1f}."
    )


def _rest(found: dict[str, Any]) -> str:
    lines = []
    if "stop" in found:
        part = found["stop"]
        lines.append(
            f"- Told to stop under load, {len(part['exit_codes'])} times: {part['answered']:,} "
            f"requests answered, {part['failed']} failed."
        )
    if "malformed" in found:
        part = found["malformed"]
        statuses = ", ".join(f"{n:,} × {status}" for status, n in part["statuses"].items())
        lines.append(
            f"- Broken bodies until {part['refused']:,} were refused: {statuses} (200 where the "
            f"change did no harm); {part['server_errors']} errors of the server, which "
            f"{'answers' if part['answers_afterwards'] else 'does not answer'} afterwards."
        )
    if "schemathesis" in found:
        part = found["schemathesis"]
        lines.append(f"- schemathesis: {part['cases']} cases, {part['issues']} issues.")
    return "\n".join(lines)


def pressure_text(found: dict[str, Any]) -> str:
    """Return what becomes of one client while others press."""
    whats = {
        "slow": "{connections:,} connections that send a byte of a head each second",
        "bodies": "{connections} clients that each send {mib:.0f} MiB of `[],[],…` again and again",
    }
    rows, lines = [], []
    for name, what in whats.items():
        if name not in found:
            continue
        part = found[name]
        text = what.format(connections=part["connections"], mib=part.get("bytes", 0) / 2**20)
        for label, figures in (("alone", part["alone"]), (text, part["pressed"])):
            rows.append(
                [
                    f"beside {label}" if label != "alone" else "alone",
                    f"{figures['requests']:,}",
                    *(f"{figures[f'{key}_ms']:.1f} ms" for key in ("p50", "p99", "max")),
                    ", ".join(f"{n} × {status}" for status, n in figures["health"].items()),
                ]
            )
        lines.append(_kept_or_missed(name, part))
    header = ["one client, one row at a time", "requests", "p50", "p99", "longest", "`/health`"]
    parts = [
        "### Under pressure",
        "A client asks on a connection of its own, and somebody new asks for `/health` five times "
        "a second, alone and beside others in turns, from other processes of one machine.",
        *([markdown_table(header, rows), "\n".join(lines)] if rows else []),
        *([_soak(found["soak"])] if "soak" in found else []),
        "Again with `python -m benchmarks.pressure slow bodies` and `… soak MINUTES`.",
    ]
    return "\n\n".join(parts)


def _kept_or_missed(name: str, part: dict[str, Any]) -> str:
    if name == "slow":
        kept = part["p99_ratio"] <= 2 and set(part["pressed"]["health"]) == {"200"}
        figure = (
            f"the 99th percentile is {part['p99_ratio']:.2f} times that alone; the service had "
            f"{part['connections_at_the_end']:,} connections at the end, and the others waited to "
            f"be let in"
        )
    else:
        kept = part["longest_answer_longer_by_s"] <= 1
        figure = f"the longest answer took {part['longest_answer_longer_by_s']:.2f} s longer"
    return (
        f"- {name}: {figure}. Limit, set beforehand: {part['limit']}; "
        f"{'kept' if kept else 'missed'}. Load of the machine at the end: "
        f"{part['load_average']:.1f} on {part['machine']}."
    )


def _soak(part: dict[str, Any]) -> str:
    requests = ", ".join(f"{n:,} × {kind}" for kind, n in part["requests"].items())
    memory = part["memory_mib"]
    per_second = sum(part["requests"].values()) / part["minutes"] / 60
    return (
        f"For {part['minutes']:.0f} minutes ({per_second:.1f} requests a second of the twenty that "
        f"it may be at most): {requests}, and {part['left_in_the_middle']:,} "
        f"clients that left in the middle, with heads that never ended. {part['lost']} requests "
        f"lost, {part['wrong']} wrong answers. Memory of the service: "
        f"{memory['second tenth']:.1f} MiB in the second tenth of the time, "
        f"{memory['last tenth']:.1f} MiB in the last, {memory['most']:.1f} MiB at most. Limit, set "
        f"beforehand: {part['limit']}. Load of the machine at the end: {part['load_average']:.1f}."
    )


def benchmarks_text() -> str:
    """Return the ratios of `make bench` beside their limits."""
    record = json.loads((RESULTS / "benchmarks.json").read_text(encoding="utf-8"))
    rows = [
        [line["name"], f"{line['n']:,}", f"{line['ratio']:.2f}", f"{line['limit']:g}"]
        for lines in record["results"].values()
        for line in lines
    ]
    versions, table = record["versions"], markdown_table(["what", "rows", "ratio", "limit"], rows)
    return (
        "## Everything else\n\nRatios within one run, one thread, against: "
        "`import sklearn.ensemble`; one `einsum` over the same 1,000,000 × 100 arrays; the "
        "responses of the models; one `argsort`; for rwr, two cores against fitting each pair anew "
        f"for each price in one process.\n\n{table}\n\n"
        f"Measured by `make bench` on {record['machine']}, Python {versions['python']}, numpy "
        f"{versions['numpy']}, scikit-learn {versions['scikit-learn']}."
    )
