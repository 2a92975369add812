"""The pages of docs/rwr, from the records under results/rwr."""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path
from typing import Any

from condrisk.paper import read_records
from condrisk.paper._page import markdown_table
from condrisk.paper._render import to_markdown
from condrisk.paper._summary import LEVEL
from condrisk.paper.rwr._claims import claims_page
from condrisk.paper.rwr._paper import BENCHMARKS
from condrisk.paper.rwr._plug_in._page import plug_in_page
from condrisk.paper.rwr._results import agreement, compare, two_errors
from condrisk.paper.rwr._tables import all_tables
from condrisk.paper.rwr.report import REPORTS

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "results" / "rwr"
RUNS = {
    "paper-sklearn": "The paper's folds, scikit-learn's networks",
    "paper-fast": "The paper's folds, networks trained at once",
    "embedded-fast": "The embedded folds, networks trained at once",
}


def load() -> dict[str, list[Any]]:
    """Return the records of each run."""
    return {name: read_records(RESULTS / name / "records.jsonl") for name in RUNS}


def pages() -> dict[str, str]:
    """Return the text of every page by its name."""
    runs = load()
    texts = {"README.md": overview(runs)}
    texts["claims.md"] = claims_page(runs["paper-sklearn"], runs["embedded-fast"])
    for name in ("paper-sklearn", "embedded-fast"):
        texts[f"{name}.md"] = tables_page(RUNS[name], runs[name])
    plug_in = read_records(RESULTS / "plug-in" / "records.jsonl")
    texts["plug-in.md"] = plug_in_page(plug_in)
    texts["plug-in-tables.md"] = plug_in_tables_page(plug_in, runs)
    return texts


def plug_in_tables_page(plug_in: list[Any], runs: dict[str, list[Any]]) -> str:
    """Return the paper's tables with plug-in risks in them."""
    there = {record["method"] for record in plug_in}
    pairs = [record for record in runs["paper-fast"] if record["method"] not in there]
    benchmarks = [record for record in runs["paper-sklearn"] if record["method"] in BENCHMARKS]
    tables = {table.name: table for table in all_tables([*plug_in, *pairs, *benchmarks])}
    introduction = (
        "Tables 3, 4, 5 and 7 of the paper with four estimates that are ours and not the paper's: "
        "PlugIn, Hybrid, RF plug-in and RF on x, f, m. [What they are, and what follows]"
        "(plug-in.md). They have no published figures, so those columns are empty. The networks "
        "are trained at once, on the paper's folds."
    )
    chosen = [to_markdown(tables[name]) + "\n" for name in ("table3", "table4", "table5", "table7")]
    return "\n".join(["# The paper's tables with plug-in risks", "", introduction, "", *chosen])


def tables_page(title: str, records: list[Any]) -> str:
    """Return every table of a run."""
    return "\n".join([f"# {title}", "", *(to_markdown(t) + "\n" for t in all_tables(records))])


def overview(runs: dict[str, list[Any]]) -> str:
    """Return the first page: what was run, how well it agrees, what it took."""
    return "\n".join(
        [
            "# Regression with rejection",
            "",
            "The study of the paper's section on regression with rejection, run by "
            "`condrisk reproduce rwr`: 16 pairs of predictor and calibrator, the two benchmarks "
            "and a sound version of one of them, and [our default](../auto/README.md), on eight "
            "UCI sets with ten folds each, at four costs of deferring.",
            "",
            "- [What the paper claims, and what we find](claims.md)",
            "- [Does calibration-based beat regression-based in regression?](plug-in.md) Plug-in "
            "risks beside the paper's calibrators, and [in its tables](plug-in-tables.md)",
            "- [All tables, on the paper's folds](paper-sklearn.md)",
            "- [All tables, on the folds embedded in the package](embedded-fast.md)",
            "",
            "## How well it agrees with the paper",
            "",
            agreement_table(runs),
            "",
            comparison_text(runs),
            "",
            "## The figure",
            "",
            "Targets of the energy test rows of one fold, an MLP's predictions, and the root of "
            "the risk that a forest estimates for them.",
            "",
            "![Targets, predictions and the root of the risk](profile.png)",
            "",
            "Error of the calibrator against deferral loss, for the 16 pairs on each set:",
            "",
            "![Calibrator error against deferral loss](calibration-against-deferral.png)",
            "",
            "## What it takes",
            "",
            times_table(runs),
            "",
            machine_text(),
            "",
            speed_text(),
            "",
            "Every figure here is written from the records under `results/` by `make docs`.",
            "",
        ]
    )


def agreement_table(runs: dict[str, list[Any]]) -> str:
    """Return in how many cells each run agrees with the paper."""
    counts = {name: agreement(records) for name, records in runs.items()}
    rows = []
    for what in counts["paper-sklearn"]:
        cells = [counts[name][what] for name in runs]
        rows.append([what, *(f"{c['agree']} of {c['cells']}" if c["cells"] else "" for c in cells)])
    share = two_errors(runs["paper-sklearn"])
    note = (
        f"The strict counts come first: two standard errors are {share:.0%} of the RwR loss in the "
        "median cell. Standard errors are ours, over ten folds; half a unit of the last printed "
        "digit is allowed for rounding. The embedded folds are other splits of the same rows, and "
        "embedded parkinsons lacks the patient number, so there agreement says how far the paper's "
        "figures carry."
    )
    return (
        markdown_table(["cells that agree", *(RUNS[name] for name in runs)], rows) + "\n\n" + note
    )


def comparison_text(runs: dict[str, list[Any]]) -> str:
    """Return how the networks trained at once differ from scikit-learn's."""
    found = compare(runs["paper-sklearn"], runs["paper-fast"])
    lines = [
        "The networks trained at once (`condrisk.paper.rwr.LockstepMLPRegressor`, in float32) "
        "against scikit-learn's, on the paper's folds, over the cells of pairs that have a "
        "network:",
        "",
    ]
    rows = [
        [
            {"risk_l1": "calibrator absolute error", "loss": "deferral loss"}[quantity],
            f"{counts['within_one_se']} of {counts['cells']} ({counts['share']:.1%})",
            f"{counts['larger']} / {counts['smaller']} / {counts['ties']}",
            f"{counts['significant']}",
        ]
        for quantity, counts in found.items()
    ]
    head = ["", "within one standard error", "larger / smaller / equal", "significantly"]
    note = (
        "*Significantly* larger or smaller: one-sided t-tests over folds with Nadeau and Bengio's "
        f"correction, Holm's over the cells of a line, at {LEVEL:.0%}."
    )
    return "\n".join([*lines, markdown_table(head, rows), "", note])


def times_table(runs: dict[str, list[Any]]) -> str:
    """Return the processor time of each kind of model, each distinct model counted once."""
    seconds: dict[str, dict[str, float]] = {name: defaultdict(float) for name in runs}
    for name, records in runs.items():
        for record in records:
            for part, value in model_seconds(record).items():
                seconds[name][part] += value
    parts = sorted({part for times in seconds.values() for part in times})
    rows = [[part, *(_minutes(seconds[name].get(part)) for name in runs)] for part in parts]
    rows.append(["all", *(_minutes(sum(seconds[name].values())) for name in runs)])
    title = (
        "Minutes of work, all ten sets (the two variants of wine and parkinsons too). The machine "
        "was busy with other things as well, so that these are upper bounds, and only shares "
        "within a column can be compared:"
    )
    return title + "\n\n" + markdown_table(["model", *(RUNS[name] for name in runs)], rows)


def model_seconds(record: dict[str, Any]) -> dict[str, float]:
    """Return what a record's models took; a predictor counts where its first calibrator is."""
    times, method = record["seconds"], record["method"]
    predictor, _, calibrator = method.partition("+")
    if not calibrator:  # one whole
        return {method: times["risk"], "predicting": times["predict"]}
    found = {"predicting": times["predict"]}
    found[f"{calibrator} calibrators"] = times["risk"]
    if calibrator in ("LR", "kNNRej"):
        found[f"{predictor} predictors"] = times["predictor"]
    return found


def _minutes(seconds: float | None) -> str:
    return "" if seconds is None else f"{seconds / 60:.1f}"


def machine_text() -> str:
    """Return on what the records were made."""
    lines = []
    for name in RUNS:
        with open(RESULTS / name / "records.jsonl", encoding="utf-8") as file:
            head = json.loads(file.readline())
        versions = ", ".join(
            f"{package} {version}" for package, version in head["versions"].items()
        )
        lines.append(f"- {RUNS[name]}: {head['machine']}; {versions}.")
    return "\n".join(lines)


def speed_text() -> str:
    """Return the benchmark against the public code's way, and what is left."""
    record = json.loads((ROOT / "results" / "benchmarks.json").read_text(encoding="utf-8"))
    [line] = record["results"]["rwr"]
    profile = sorted(line["profile"].items(), key=lambda item: -item[1])
    floor = line["floor"]
    rows = [[name, f"{share:.0%}"] for name, share in profile]
    nets, products, forest = (floor[name] for name in floor)
    networks = sum(share for name, share in line["profile"].items() if "MLP" in name)
    at_most = line["faster"] / (1 - networks * (1 - products / nets))
    return "\n".join(
        [
            f"On energy and housing the 16 pairs at four costs take {line['ours_s']:.0f} s on two "
            f"cores, {line['faster']:.0f} times less than fitting each pair anew for each cost "
            f"with scikit-learn in one process, which is what the public code does "
            f"({line['baseline_s']:.0f} s; `python -m benchmarks rwr`, "
            f"`results/benchmarks.json`). Where the time goes:",
            "",
            markdown_table(["part", "share"], rows),
            "",
            f"What is the floor? Four networks (64, 64) for 800 epochs on 307 rows take "
            f"{nets:.2f} s, of which the products of matrices alone are {products:.2f} s; a forest "
            f"takes {forest:.2f} s, all of it in scikit-learn (processor time, medians of runs in "
            f"turns). So with the same models and the same steps no more than "
            f"{nets / products:.1f} times is left in the networks, and nothing of ours in the "
            f"forests: with networks that took those products alone, {line['faster']:.0f} times "
            f"would be {at_most:.0f} times.",
        ]
    )


def draw(folder: Path) -> None:
    """Draw the two figures of the overview."""
    REPORTS["paper"].draw(read_records(RESULTS / "paper-sklearn" / "records.jsonl"), folder)
