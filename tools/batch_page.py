"""The page of `BatchControlRule` in docs/risk_control."""

from __future__ import annotations

from typing import Any

from condrisk.paper._page import markdown_table
from tools.guarantee_parts import LEVEL_OF_TEST, joined, kept, made_by

BATCH_NAMES = {
    "fixed": '`BatchControlRule`, `test="hypergeometric"`',
    "betting": "`BatchControlRule`, betting",
    "betting, by risk": '`BatchControlRule`, betting, `sampling="risk"`',
}


def batch_page(record: dict[str, Any] | None) -> str:
    """Return the page of `BatchControlRule`."""
    if record is None:
        return ""
    return joined(
        [
            "# A guarantee for this batch",
            "`BatchControlRule(target)` accepts as many rows of *one finite batch* as it can such "
            "that, with probability `confidence`, the losses of the rows kept without a label add "
            "up to at most `target` times the number of rows. The probability is over the draw of "
            "the rows to label and nothing else ([guide](../how-to/batch.md)).",
            batch_verdict(record),
            prompts_text(record.get("prompts"), record.get("bargain"), record.get("ceilings")),
            stopping_text(record.get("stopping")),
            batch_worlds_text(record.get("worlds"), record["config"]),
            "## What it assumes, and what breaks it\n\n"
            "- **The rows to label are those that the rule has drawn**, all of them. Leaving out "
            "the hard ones, or labelling others, breaks it. `update` refuses other rows.\n"
            "- **Labels are right.** A wrong label is a wrong loss.\n"
            "- **No loss exceeds `cap`.** One among the labels is an error; one without a label "
            "breaks it.\n"
            "- **One draw.** Trying several seeds and keeping the best breaks it.\n"
            "- *Not* needed: rows that are independent or like any others, a risk that is right."
            "\n\n"
            "For losses of any size there is no exact test of a fixed number of labels as there is "
            "for losses of two values: a count of losses has a law that one number settles, a sum "
            "of losses has none. They are tested by betting, however many labels are planned; on "
            "0/1 losses that keeps less by what the verdict says of *anytime*.",
            made_by(record, "python -m benchmarks.batch_control"),
        ]
    )


def batch_verdict(record: dict[str, Any]) -> str:
    """Return the verdict: aims, and what was reached."""
    lines = []
    prompts = record.get("prompts")

    def reached(found: float, aim: float) -> str:
        return "reached" if found >= aim else "**missed**"

    if prompts is not None:
        aims = {0.1: 0.44, 0.2: 0.73}
        for line in prompts["targets"]:
            own = line["methods"]
            fixed, bets, aim = own["fixed"], own["betting"], aims[line["target"]]
            lines.append(
                f"- Accuracy {1 - line['target']:g} on the prompts: {fixed['threshold']:.1%} of "
                f"the rows up to the threshold, {fixed['kept']:.1%} kept net of labels (ceiling "
                f"{line['ceiling']:.1%}). The aim of {aim:.0%} is "
                f"{reached(fixed['threshold'], aim)} by the first count, by which "
                f"Clopper-Pearson on the grid of 20 had set the aim, and "
                f"{reached(fixed['kept'], aim)} net of labels. "
                f"Anytime: {bets['kept']:.1%}, {100 * (fixed['kept'] - bets['kept']):.1f} points "
                f"less (aim: at most 2)."
            )
        lines.append(limit_text(prompts, record.get("ceilings")))
    runs = [
        (own["violations"], own["repetitions"])
        for line in [*(record.get("worlds") or []), *((prompts or {}).get("targets") or [])]
        for name, own in line["methods"].items()
        if name in BATCH_NAMES
    ]
    good = sum(kept(v, n, record["config"]["level"]) for v, n in runs)
    lines.append(
        f"- The guarantee holds in {good} of {len(runs)} settings (binomial test of the violations "
        f"against the allowance of {record['config']['level']:.0%}, level {LEVEL_OF_TEST:g} in "
        f"each); at most {max(v / n for v, n in runs):.1%} of the draws broke it."
    )
    return "## Verdict\n\n" + "\n".join(line for line in lines if line)


def limit_text(prompts: dict[str, Any], ceilings: list[dict[str, Any]] | None) -> str:
    """Return how far the net count is from what so many labels can reach, and what was tried."""
    if not ceilings or "limit, best" not in ceilings[0]:
        return ""
    limits = " and ".join(
        f"{own['limit, best']:.1%} at {1 - own['target']:g} (drawn uniformly "
        f"{own['limit, uniform']:.1%})"
        for own in reversed(ceilings)
    )
    return (
        f"- Net of labels, {prompts['n_labels']} labels cannot keep much more: with the law of the "
        f"losses known, the best chances for each row to be labelled, and normal errors, about "
        f"{limits}. Tried on other splits to get closer at 0.8, without gain: fewer labels (200 to "
        f"400), which cost fewer rows, a narrower frame to draw them from, and chances that follow "
        f"the risk, with the risk as a control variate (*betting, by risk* below)."
    )


def stopping_text(lines: list[dict[str, Any]] | None) -> str:
    """Return what stopping early saves."""
    if not lines:
        return ""
    rows = [
        [
            f"{1 - line['target']:g}",
            f"{goal['kept']:.0%}",
            f"{goal['labels']:.0f}",
            f"{1 - goal['labels'] / line['labels'][-1]:.0%}",
            f"{goal['reached']:.1%}",
            f"{goal['violations'] / line['repetitions']:.1%}",
        ]
        for line in lines
        for goal in line["goals"]
    ]
    head = ["accuracy", "stop at rows kept", "labels", "saved", "reached", "violations"]
    worst = max(line["violations_at_any"] / line["repetitions"] for line in lines)
    step, most = lines[0]["labels"][0], lines[0]["labels"][-1]
    return (
        "## Stopping early\n\n"
        f"The anytime version in the same draws, looked at after every {step} labels: it stops "
        f"when enough is kept, or at {most} labels. *Labels*: on average; *saved*: of {most}; "
        f"*reached*: how often enough was kept. Where one stops does not matter: the guarantee "
        f"was broken at *any* look in {worst:.1%} of the draws at most.\n\n"
        + markdown_table(head, rows)
    )


def prompts_text(
    record: dict[str, Any] | None,
    bargain: list[dict[str, Any]] | None,
    ceilings: list[dict[str, Any]] | None,
) -> str:
    """Return the comparison on the prompts of two language models."""
    if record is None or not bargain:
        return ""
    rows = []
    for line, theirs in zip(record["targets"], bargain, strict=True):
        for name, own in {**line["methods"], **theirs["methods"]}.items():
            rows.append(
                [
                    f"{1 - line['target']:g}",
                    BATCH_NAMES.get(name, name),
                    f"{own['kept']:.1%}",
                    f"{own['threshold']:.1%}",
                    f"{own.get('labels', record['n_labels']):.0f}",
                    f"{own['violations'] / own['repetitions']:.1%} of {own['repetitions']:,}",
                ]
            )
    head = ["accuracy", "method", "kept, net", "up to threshold", "labels", "violations"]
    used = max(
        own["labels"]
        for line in bargain
        for name, own in line["methods"].items()
        if "never" not in name
    )
    weaker = ""
    if ceilings:
        both = [f"{own['generalized']:.1%} against {own['selective']:.1%}" for own in ceilings]
        weaker = (
            f"\n\nThis is the *generalized* criterion, a weaker statement than one on the rows "
            f"kept: knowing all losses, up to {both[0]} of the prompts may be kept at accuracy 0.9 "
            f"of all rows or of the rows kept, and {both[1]} at 0.8."
        )
    return (
        "## Two language models\n\n"
        f"The answers of a cheap language model to prompts of MMLU are kept, or replaced by those "
        f"of a large one, which are taken as right. g is a logistic regression on words, fitted on "
        f"{record['n_fit']:,} prompts; the batch are the other {record['n_rows']:,}, of which "
        f"{record['n_labels']} get a label; allowance 10 %; {record['splits']} splits with "
        f"{record['draws']} draws each. *Kept, net*: rows kept without a label. *Up to threshold*: "
        f"all rows up to it. BARGAIN is the procedure of its package 0.1.3 (BARGAIN_A) with a "
        f"limit on labels. Its own rule stops it at about {used:.0f} of {record['n_labels']} "
        f"labels: it gives up on a threshold whose first 50 labels are not clear. *Never giving "
        f"up* is the same without that rule.\n\n" + markdown_table(head, rows, n_text=2) + weaker
    )


def batch_worlds_text(lines: list[dict[str, Any]] | None, config: dict[str, Any]) -> str:
    """Return the table of fixed batches."""
    if not lines:
        return ""
    rows = []
    for line in lines:
        cells = [line["world"], line["text"], f"{line['ceiling']:.1%}"]
        for name in BATCH_NAMES:
            own = line["methods"].get(name)
            cells.append(
                "–"
                if own is None
                else f"{own['kept']:.1%} ({own['violations'] / own['repetitions']:.1%})"
            )
        rows.append(cells)
    head = ["batch", "rows", "ceiling", "fixed number of labels", "betting", "betting, by risk"]
    return (
        "## Batches that no law has made\n\n"
        f"{config['n_rows']:,} rows with fixed losses, {config['n_labels']} labels, target "
        f"{config['target']:g}, {config['repetitions']} draws of the labels. Share of rows kept "
        f"net of labels, and in brackets how often the guarantee was broken (allowed: "
        f"{config['level']:.0%}). *Ceiling*: the largest share up to a threshold that keeps the "
        f"target without a label.\n\n" + markdown_table(head, rows, n_text=2)
    )
