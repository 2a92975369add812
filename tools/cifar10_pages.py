"""The pages of docs/cifar10, from the records under results/cifar10."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from condrisk.paper import read_records
from condrisk.paper._page import markdown_table
from condrisk.paper._render import to_markdown
from condrisk.paper.cifar10._claims import claims_page
from condrisk.paper.cifar10._tables import all_tables
from condrisk.paper.cifar10.report import REPORT
from tools import cifar10_losses_page

RESULTS = Path(__file__).resolve().parents[1] / "results" / "cifar10"


def load() -> list[Any]:
    """Return the records."""
    return read_records(RESULTS / "records.jsonl")


def pages() -> dict[str, str]:
    """Return the text of every page by its name."""
    records = load()
    return {
        "README.md": overview(records),
        "claims.md": claims_page(records) + cifar10_losses_page.claims_section(),
        "tables.md": tables_page(records),
        "losses.md": cifar10_losses_page.page(),
    }


def tables_page(records: list[Any]) -> str:
    """Return every table."""
    return "\n".join(["# Tables", "", *(to_markdown(t) + "\n" for t in all_tables(records))])


def overview(records: list[Any]) -> str:
    """Return the first page: what was run, what came out, what it took."""
    tables = {table.name: table for table in all_tables(records)}
    return "\n".join(
        [
            "# Classification on CIFAR-10",
            "",
            "The study of the paper's section on classification, run by `condrisk reproduce "
            "cifar10`: the conditional risk of a CNN and of a ResNet-8 under the log loss, by "
            "class probabilities and by regression, and learning to defer on it. Each seed splits "
            "all 60,000 images anew (50 % for the predictors, 40 % for the calibrators, 10 % to "
            "test on) and trains every network again. Of the calibrators' images a sixth is kept "
            "from the networks that give probabilities: temperatures and `HybridRisk` learn on it.",
            "",
            "- [What the paper claims, and what we find](claims.md)",
            "- [All tables](tables.md): the paper's Tables 1, 2 and 6, accuracies, temperature "
            "scaling, and `HybridRisk` against every method",
            "- [Other losses, and Platt scaling](losses.md)",
            "",
            "## The networks",
            "",
            to_markdown(tables["networks"]),
            "",
            recipe_text(),
            "",
            "## Error of the risk and loss of learning to defer",
            "",
            "![Error of the risk against deferral loss](error-against-deferral.png)",
            "",
            "![What temperature scaling does](temperature-scaling.png)",
            "",
            "## What it takes",
            "",
            speed_text(records),
            "",
            machine_text(records),
            "",
            "Every figure here is written from the records under `results/cifar10` by `make docs`.",
            "",
        ]
    )


def recipe_text() -> str:
    """Return how the networks were trained, where that is not the paper's way, and why."""
    rows = []
    for trial in trials():
        if trial.get("shown"):
            figures = trial["figures"]
            rows.append(
                [
                    trial["shown"],
                    str(figures["epochs"]),
                    f"{figures['acc0']:.1%}",
                    f"{figures['acc1']:.1%}",
                    f"{figures['nll1']:.3f}",
                ]
            )
    rows.sort(key=lambda row: (row[0].split(",")[0], row[2]))
    head = [
        "trial, on images held out of the predictors' part",
        "epochs",
        "accuracy",
        "with mirror images",
        "log loss",
    ]
    return "\n".join(
        [
            "The paper says AdamW with rate 1e-3 and weight decay 1e-4, and patience 5; it leaves "
            "batch size, schedule and input size open. That very recipe, at a constant rate, stays "
            "below the accuracies that the paper gives. We train with one cycle of the rate, up "
            "to 1e-2 for the two small networks, and without early stopping: it ends a cycle "
            "before the rate has come down, and takes images away for validation. For regressing "
            "losses the rate is the paper's; there too patience did not help on images held out. "
            "All trials are in `results/cifar10/tuning.jsonl`; no test image was used.",
            "",
            markdown_table(head, rows),
        ]
    )


def trials() -> list[dict[str, Any]]:
    """Return the trials in which the settings were chosen."""
    lines = (RESULTS / "tuning.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def speed_text(records: list[Any]) -> str:
    """Return seconds, the share in which the GPU computes, a plain loop, and the floor."""
    record = json.loads((RESULTS / "speed.json").read_text(encoding="utf-8"))
    cold, warm = record["whole_seeds"]
    before = record["one_after_another"]
    others = " or ".join(str(line["at_once"]) for line in record["other_numbers_at_once"])
    total = record["seed_s"]
    seeds = sorted({r["fold"] for r in records})
    work = [sum(sum(r["seconds"].values()) for r in records if r["fold"] == seed) for seed in seeds]
    rows = [
        [
            line["network"],
            {"losses": "regressing losses, twice"}.get(line["role"], line["role"]),
            f"{1e3 * line['ours_s']:.0f}",
            f"{1e3 * line['plain_s']:.0f}",
            f"{line['plain_s'] / line['ours_s']:.1f}",
            f"{line['busy']:.0%}",
            f"{1e3 * line['floor_s']:.2f}",
        ]
        for line in record["networks"]
    ]
    head = ["network", "role", "ours, ms", "plain loop, ms", "ratio", "GPU busy", "floor, ms"]
    return "\n".join(
        [
            f"One seed, all networks and all rows of the three tables, takes {warm['seconds']:.0f} "
            f"s on one {record['device']} (the aim, 60, is missed), with the GPU busy in "
            f"{warm['utilisation']:.0%} of it (nvidia-smi) and {warm['at_once']} networks trained "
            f"at once; {before[1]['seconds']:.0f} s one after another. With {others} it was no "
            f"faster. The first seed of a process takes {cold['seconds']:.0f} s (the aim was 90, "
            f"before {before[0]['seconds']:.0f}), since libraries compile for shapes they have "
            f"not seen; the GPU waits then "
            f"({cold['utilisation']:.0%} busy). In the run of {len(seeds)} seeds, five in a "
            f"process and one network at a time, training and estimating took {min(work):.0f} to "
            f"{max(work):.0f} s a seed, {np.mean(work):.0f} in the mean. An epoch of each network, "
            f"as we train it and in the loop that most people write (batches of 128 from the "
            f"host, single precision, one kernel at a time):",
            "",
            markdown_table(head, rows, n_text=2),
            "",
            f"In all {total['plain']:.0f} s of training by the plain loop against "
            f"{total['ours']:.0f} s, {total['plain'] / total['ours']:.1f} times as long for the "
            f"same epochs. The floor counts the arithmetic alone at "
            f"{record['peak'] / 1e12:.0f} Tflop/s, in all {total['floor']:.1f} s: small networks "
            f"on small images are limited by memory and by the number of kernels, not by "
            f"arithmetic, and that is what is left (`python -m benchmarks.gpu_cifar10`, "
            f"`results/cifar10/speed.json`).",
        ]
    )


def machine_text(records: list[Any]) -> str:
    """Return on what the records were made."""
    with open(RESULTS / "records.jsonl", encoding="utf-8") as file:
        head = json.loads(file.readline())
    device = json.loads((RESULTS / "speed.json").read_text(encoding="utf-8"))["device"]
    versions = ", ".join(f"{package} {version}" for package, version in head["versions"].items())
    seeds = [record["fold"] for record in records]
    return (
        f"Measured on one {device} in a machine with {head['machine'].split(', ')[-1]}; "
        f"{versions}. Seeds {min(seeds)} to {max(seeds)}: seeds 0 to 2 were used to choose "
        f"settings and to design `HybridRisk`, on images held out of the parts to train on. Seeds "
        f"draw from the same 60,000 images, so that some of those images are test images here."
    )


def draw(folder: Path) -> None:
    """Draw the figures of the overview."""
    REPORT.draw(load(), folder)
