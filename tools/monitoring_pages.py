"""The page of docs/monitoring: accuracy, level, power and cost, each from its record."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from scipy import stats

from condrisk.paper._page import markdown_table
from condrisk.paper._summary import holm, worse_p

RESULTS = Path(__file__).resolve().parents[1] / "results"
_RECORDS = ("monitoring", "monitoring_drift", "alarm_level", "alarm_power", "monitor_cost")
OURS, CONSTANT = "condrisk", "mean of the reference"
LEVEL = 0.05
COVERAGE = (0.93, 0.97)
POWER = 0.8
COST = 1.3
# Worlds of `benchmarks.alarm`, for the power.
N_WORLDS = 6


def pages() -> dict[str, str]:
    """Return the text of the page by its name."""
    known = {
        name: json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))
        for name in _RECORDS
    }
    record = known["monitoring"]
    parts = [
        "# Monitoring: the alarm and the expected loss, beside others",
        "",
        *_verdicts(known),
        "",
        "## False alarms",
        "",
        *_level(known["alarm_level"]),
        "",
        "## Real alarms",
        "",
        *_power(known["alarm_power"]),
        "",
        "## The expected loss of unlabelled rows",
        "",
        *_accuracy(record),
        "",
        "### By strength of the shift",
        "",
        _by_strength(record),
        "",
        "### Real drift",
        "",
        *_drift(known["monitoring_drift"]),
        "",
        "## What it costs",
        "",
        *_cost(known["monitor_cost"]),
        "",
        "## How it was measured",
        "",
        _machine(known),
        "",
    ]
    return {"README.md": "\n".join(parts)}


def draw(folder: Path) -> None:
    """Draw nothing: the tables say it."""


# -- the verdict ----------------------------------------------------------------------------------


def _verdicts(known: dict[str, Any]) -> list[str]:
    record, lines = known["monitoring"], known["alarm_power"]["lines"]
    mean, low, high = pooled(record)
    ratio, lowest, highest = (100 * (np.exp(value) - 1) for value in (mean, low, high))
    p, found = p_values(record), log_ratios(record)
    told = {name: found[name].mean() for name in found if p[name] < LEVEL}
    worse = [name for name, value in told.items() if value > 0]
    counts = [len(rows) for rows in found.values()]
    asked = record["config"]["seeds"]
    splits = f"{min(counts)} splits" + ("" if min(counts) == asked else f" (of {asked} planned)")
    clear = "excludes 0" if high < 0 or low > 0 else "does not exclude 0"
    level = known["alarm_level"]["lines"]
    worst = max(level, key=lambda line: line["alarms"] / line["runs"])
    ratios = [line["ratio"] for line in lines]
    reached = "reached in all" if min(ratios) >= POWER else f"missed in {_below(ratios)}"
    planned = "" if len(ratios) == N_WORLDS else f" ({N_WORLDS} planned)"
    cover = [coverage(rows) for rows in sets(record).values()]
    inside = sum(COVERAGE[0] <= value <= COVERAGE[1] for value in cover)
    ratio_cost = max(line["ratio"] for line in known["monitor_cost"]["lines"])
    return [
        f"- **Level**: of {sum(line['runs'] for line in level):,} runs in which nothing changed, "
        f"{sum(line['alarms'] for line in level)} had an alarm; at worst {_rate(worst)} "
        f"({worst['world']}), where at most 5 % are promised.",
        f"- **Power**: between {min(ratios):.2f} and {max(ratios):.2f} of that of a test which "
        f"looks once, after the last row. The aim was {POWER:g}: {reached} of {len(ratios)} "
        f"worlds{planned}.",
        f"- **Accuracy**: the error is {abs(ratio):.0f} % {'smaller' if ratio < 0 else 'larger'} "
        f"than NannyML's on average over {len(found)} sets (95 % interval {lowest:+.0f} to "
        f"{highest:+.0f} %, which {clear}; {splits}). Significantly nearer on "
        f"{sum(value < 0 for value in told.values()) or 'none'}, significantly farther on "
        f"{', '.join(worse) or 'none'}.",
        f"- **Bands** of 95 % cover {np.mean(cover):.0%} of the chunks on average over sets, "
        f"between {min(cover):.0%} and {max(cover):.0%}; {inside} of {len(cover)} sets lie within "
        f"the aim, {COVERAGE[0]:.0%} to {COVERAGE[1]:.0%}.",
        f"- **Cost**: at most {ratio_cost:.2f} times the processor time of `score` (the aim was "
        f"{COST:g}: {'reached' if ratio_cost <= COST else 'missed'}).",
    ]


def _below(ratios: list[float]) -> str:
    return f"{sum(ratio < POWER for ratio in ratios)}"


def _rate(line: dict[str, Any]) -> str:
    return f"{100 * line['alarms'] / line['runs']:.1f} %"


# -- the alarm ------------------------------------------------------------------------------------


def _level(record: dict[str, Any]) -> list[str]:
    c = record["config"]
    rows = [
        [
            line["world"],
            f"{line['runs']:,}",
            f"{line['alarms']}",
            _rate(line),
            f"{100 * line['low']:.1f} to {100 * line['high']:.1f} %",
        ]
        for line in record["lines"]
    ]
    fewest = min(line["runs"] for line in record["lines"] if line["world"] != "the command")
    planned = f" of {c['runs']:,} planned" if fewest < c["runs"] else ""
    return [
        f"From fit to monitor: a model is fitted on {c['fit_rows']} rows, {c['held_rows']} are "
        f"kept back as its reference, and {c['new_rows']:,} new rows of the same world are "
        f"monitored in {c['new_rows'] // c['chunk_rows']} chunks. All is drawn anew in each run "
        f"({fewest:,} runs{planned} in each world). *the command* is `fit` with a linear predictor "
        f"on 500 rows with 1 % outliers. Without a cap, squared errors have the test of "
        f"exchangeability; wrong answers, Brier scores and capped losses the test of the mean.",
        "",
        markdown_table(["world", "runs", "with an alarm", "rate", "95 % interval"], rows),
    ]


def _power(record: dict[str, Any]) -> list[str]:
    c, rows = record["config"], []
    for line in record["lines"]:
        theirs = line.get("mapie")
        rows.append(
            [
                f"{line['kind']}, × {line['factor']:g}",
                f"{line['reference']}",
                f"{line['power']:.0%}",
                "–" if line["median_rows"] is None else f"{line['median_rows']:,.0f}",
                f"{line['power_of_one_look']:.0%}",
                f"{line['ratio']:.2f}",
                "–" if theirs is None else f"{theirs['power']:.0%}",
                f"{line['alarms_without_change']} of {line['runs']}",
            ]
        )
    head = ["world", "reference rows", "alarm", "median rows", "one look", "ratio", "MAPIE"]
    return [
        f"Losses grow by a factor from the first of {c['new_rows']:,} new rows on; there is a look "
        f"after each {c['chunk_rows']} rows. *one look* is the test of two samples on the same "
        f"reference and all new rows, with the critical value that gives it a level of exactly 5 % "
        f"in this world: it knows when to look, the alarm does not. MAPIE's risk monitoring "
        f"({c['mapie_runs']} runs, tolerance 0, same rows) is for 0/1 losses. The last column has "
        f"the runs with an alarm where nothing changed.",
        "",
        markdown_table([*head, "false ones"], rows),
    ]


# -- the expected loss ----------------------------------------------------------------------------


def sets(record: dict[str, Any]) -> dict[str, list[Any]]:
    """Return the records by set."""
    names = dict.fromkeys(line["set"] for line in record["records"])
    return {name: [r for r in record["records"] if r["set"] == name] for name in names}


def theirs(lines: list[Any]) -> str:
    """Return the name of NannyML's method."""
    (name,) = set(lines[0]["estimated"]) - {OURS, CONSTANT}
    return name


def errors(lines: list[Any], method: str, strength: float | None = None) -> np.ndarray:
    """Return the mean |estimated − realised| over chunks, for each split."""
    found = []
    for line in lines:
        off = np.abs(np.array(line["estimated"][method]) - line["realised"])
        if strength is not None:
            off = off[np.abs(line["strength"]) == strength]
        found.append(off.mean())
    return np.array(found)


def log_ratios(record: dict[str, Any]) -> dict[str, np.ndarray]:
    """Return the logarithm of our error over NannyML's for each split, by set."""
    return {
        name: np.log(errors(lines, OURS) / errors(lines, theirs(lines)))
        for name, lines in sets(record).items()
    }


def pooled(record: dict[str, Any]) -> tuple[float, float, float]:
    """Return the mean over sets of the mean logarithm, and its interval over sets."""
    means = np.array([values.mean() for values in log_ratios(record).values()])
    error = means.std(ddof=1) / np.sqrt(len(means))
    half = stats.t.ppf(0.975, len(means) - 1) * error
    return float(means.mean()), float(means.mean() - half), float(means.mean() + half)


def p_values(record: dict[str, Any]) -> dict[str, float]:
    """Return p of each set, two-sided, corrected for shared rows and the number of sets."""
    share, found = record["config"]["shares"][-1], log_ratios(record)
    if min(len(values) for values in found.values()) < 2:
        return dict.fromkeys(found, 1.0)
    sides = [
        [worse_p(list(sign * d), test_share=share) for d in found.values()] for sign in (1, -1)
    ]
    corrected = holm([min(1.0, 2 * min(pair)) for pair in zip(*sides, strict=True)])
    return dict(zip(found, corrected, strict=True))


def coverage(lines: list[Any]) -> float:
    """Return the share of chunks whose realised loss lies in its band."""
    parts = (np.array([line["low"], line["realised"], line["high"]]) for line in lines)
    return float(np.mean([(low <= z) & (z <= high) for low, z, high in parts]))


def _accuracy(record: dict[str, Any]) -> list[str]:
    found, p = log_ratios(record), p_values(record)
    rows = []
    for name, lines in sets(record).items():
        rows.append(
            [
                name,
                f"{np.mean([np.mean(line['realised']) for line in lines]):.3g}",
                f"{errors(lines, OURS).mean():.3g}",
                f"{errors(lines, theirs(lines)).mean():.3g} ({theirs(lines)})",
                f"{errors(lines, CONSTANT).mean():.3g}",
                f"{100 * (np.exp(found[name].mean()) - 1):+.0f} %",
                f"{p[name]:.2f}",
                f"{coverage(lines):.0%}",
            ]
        )
    c = record["config"]
    strengths = ", ".join(f"{a:g}" for a in c["strengths"])
    head = ["set", "mean loss", OURS, "NannyML", CONSTANT, "difference", "p", "covered"]
    return [
        f"Judged is what the commands run: `condrisk fit` with its defaults on "
        f"{c['shares'][0]:.0%} of the rows of each set, then `condrisk monitor` on chunks of "
        f"{c['chunk_rows']} different rows, or of a third of those that were not fitted on where "
        f"there are fewer than {3 * c['chunk_rows']}, without labels. NannyML gets the "
        f"predictor of that model, and as its reference the rows that `fit` kept back; "
        f"DLE's LightGBM is tuned on them. Chunks are drawn from the other rows with weights "
        f"exp(a·s), s the first principal score, "
        f"a = {strengths}, {c['chunks_per_strength']} chunks each: covariate shift, in which y "
        f"given x stays as it was. In the table: mean |estimated − realised| over chunks and "
        f"splits; the difference of the geometric means over splits; p of the two-sided t-test "
        f"over splits, with Nadeau and Bengio's correction and Holm's for the number of sets; how "
        f"many chunks the 95 % band covers. The error cannot be zero: the realised mean of "
        f"{c['chunk_rows']} rows is itself a draw.",
        "",
        markdown_table(head, rows),
    ]


def _by_strength(record: dict[str, Any]) -> str:
    sizes = sorted({abs(a) for a in record["config"]["strengths"]})
    rows = []
    for name, lines in sets(record).items():
        for method in (OURS, theirs(lines), CONSTANT):
            cells = [f"{errors(lines, method, a).mean():.3g}" for a in sizes]
            rows.append([name if method == OURS else "", method, *cells])
    return markdown_table(["set", "method", *(f"\\|a\\| = {a:g}" for a in sizes)], rows, n_text=2)


def _drift(record: dict[str, Any]) -> list[str]:
    rows = []
    for line in record["records"]:
        rows.append(
            [
                line["set"],
                f"{len(line['realised'])}",
                *(f"{errors([line], m).item():.4f}" for m in (OURS, theirs([line]), CONSTANT)),
                f"{line['noise_floor']:.4f}",
                f"{coverage([line]):.0%}",
            ]
        )
    head = ["set", "chunks", OURS, "CBPE", CONSTANT, "noise", "covered"]
    return [
        "Rows in the order of time, with predictions from elsewhere (`fit --predictions`): sets of "
        "NannyML's wheel. y given x may have moved here, which no method can see without labels. "
        "*noise* is how far the realised mean of a chunk is from its expectation on average: "
        "nothing can be nearer.",
        "",
        markdown_table(head, rows),
    ]


# -- cost -----------------------------------------------------------------------------------------


def _cost(record: dict[str, Any]) -> list[str]:
    rows = [
        [
            f"{line['rows']:,}",
            f"{line['score']['cpu_seconds']:.1f} s",
            f"{line['monitor']['cpu_seconds']:.1f} s",
            f"{line['ratio']:.2f}",
            f"{line['score']['peak_bytes'] / 2**20:,.0f} MiB",
            f"{line['monitor']['peak_bytes'] / 2**20:,.0f} MiB",
        ]
        for line in record["lines"]
    ]
    head = ["rows", "`score`", "`monitor`", "ratio", "peak of `score`", "peak of `monitor`"]
    return [
        f"Processor time and memory at the peak of both commands on the same Parquet file of "
        f"{record['columns']} columns with labels, start and loading of the model included.",
        "",
        markdown_table(head, rows, n_text=0),
    ]


def _machine(known: dict[str, Any]) -> str:
    record = known["monitoring"]
    versions = ", ".join(f"{name} {version}" for name, version in record["versions"].items())
    mapie = known["alarm_power"]["versions"]["mapie"]
    return (
        f"`python -m benchmarks.monitoring`, `.monitoring drift`, `.alarm level`, `.alarm power` "
        f"and `.monitor_cost` on {record['machine']} that had other work ({versions}, "
        f"mapie {mapie}). "
        f"Sets, shifts, worlds and settings were written down in their docstrings before the first "
        f"run. Every figure and verdict here is computed from the records "
        f"{', '.join(f'`results/{name}.json`' for name in _RECORDS)}."
    )
