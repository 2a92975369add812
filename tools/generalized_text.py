"""What the page of `RiskControlRule` says of its generalized criterion."""

from __future__ import annotations

from typing import Any

from condrisk.paper._page import markdown_table
from tools.guarantee_parts import passes


def generalized_text(record: dict[str, Any] | None, batch: dict[str, Any] | None) -> str:
    """Return how the weaker criterion does: level, labels, and two language models."""
    if record is None:
        return ""
    allowance = 1 - record["config"]["confidence"]
    worlds, n = record["worlds"], record["worlds"][0]["repetitions"]
    held = [passes(line["violations"], n, allowance, 0.01) for line in worlds]
    rows = [
        [
            line["world"],
            line["text"],
            f"{line['target']:g}",
            f"{line['violations'] / n:.1%}",
            f"{line['acceptance']:.3f}",
            f"{line['optimum']:.3f}",
            f"{line['optimum_selective']:.3f}",
        ]
        for line in worlds
    ]
    head = ["world", "loss", "target", "violations", "accepted", "optimum", "optimum, selective"]
    return "\n\n".join(
        [
            "## The generalized criterion",
            f'`criterion="generalized"` controls the mean over *all* rows of loss × accepted.\n\n'
            f"- The guarantee holds in {sum(held)} of {len(held)} worlds: at most "
            f"{max(line['violations'] for line in worlds) / n:.1%} of {n:,} draws broke it "
            f"(allowed {allowance:.0%}).\n"
            + labels_verdict(record["labels"])
            + prompts_verdict(record["prompts"], (batch or {}).get("ceilings")),
            markdown_table(head, rows, n_text=2),
            labels_table(record["labels"]),
        ]
    )


CRITERIA = ("generalized", "selective")
# Shares of all rows whose price in labels is told, by world.
SHARES = {"line": 0.15, "steep": 0.5}
OF_OPTIMUM = 0.9


def labels_needed(lines: list[dict[str, Any]], criterion: str, share: float | None) -> str:
    """Return the least number of labels that accepts a share of all rows, or of the optimum."""
    for line in lines:
        own = line[criterion]
        if own["acceptance"] >= (OF_OPTIMUM * own["optimum"] if share is None else share):
            return f"{line['labels']:,}"
    return f"more than {lines[-1]['labels']:,}"


def labels_verdict(lines: list[dict[str, Any]]) -> str:
    """Return how many labels each criterion needs."""
    parts = []
    for name, share in SHARES.items():
        own = [line for line in lines if line["world"] == name]
        weak, strong = (labels_needed(own, criterion, share) for criterion in CRITERIA)
        relative = [labels_needed(own, criterion, None) for criterion in CRITERIA]
        parts.append(
            f"“{name}”: {weak} against {strong} to accept {share:.0%} of the rows, "
            f"{relative[0]} against {relative[1]} to accept {OF_OPTIMUM:.0%} of what each "
            f"criterion allows"
        )
    return (
        "- It takes fewer labels than the selective criterion at the same target. "
        + "; ".join(parts)
        + ".\n"
    )


def prompts_verdict(lines: list[dict[str, Any]], ceilings: list[dict[str, float]] | None) -> str:
    """Return how much weaker it is on the prompts of two language models."""

    def shown(figures: list[float]) -> str:
        return " / ".join(f"{100 * x:.1f}" for x in figures) + " %"

    accuracy = " / ".join(f"{1 - line['target']:g}" for line in lines)
    accepted = {c: shown([line[c]["accepted"] for line in lines]) for c in CRITERIA}
    text = (
        f"- It is a **weaker statement**: an accepted row may be as bad as ever, as long as few "
        f"are accepted. On [the prompts of two language models](batch.md), accuracy {accuracy}: "
        f"from {lines[0]['n_calibration']} calibration rows it accepts {accepted['generalized']}, "
        f"the selective criterion {accepted['selective']}"
    )
    if ceilings:
        best = {c: shown([own[c] for own in ceilings]) for c in CRITERIA}
        text += (
            f"; knowing all losses, {best['generalized']} against {best['selective']} could be "
            f"accepted"
        )
    return text + "."


def labels_table(lines: list[dict[str, Any]]) -> str:
    """Return what is accepted from so many labels."""
    head = ["world", "calibration rows"]
    head += [f"{c}{of}" for c in CRITERIA for of in ("", ", of its optimum")]
    rows = []
    for line in lines:
        cells = [line["world"], f"{line['labels']:,}"]
        for criterion in CRITERIA:
            own = line[criterion]
            share = own["acceptance"] / own["optimum"]
            cells += [f"{own['acceptance']:.3f}", f"{share:.0%}"]
        rows.append(cells)
    return (
        f"Shares accepted at target {lines[0]['target']:g} and confidence 0.9, by the number of "
        f"calibration rows (`python -m benchmarks.generalized`).\n\n" + markdown_table(head, rows)
    )
