"""Pages of docs/risk_control beside the first: this batch, every group, every segment."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import binom

from condrisk.paper._page import markdown_table

RESULTS = Path(__file__).resolve().parents[1] / "results"
LEVEL_OF_TEST = 0.01


def pages() -> dict[str, str]:
    """Return the text of every page by its name."""
    made = {
        "batch.md": batch_page(load("batch_control.json")),
        "groups.md": groups_page(load("subgroups.json")),
        "segments.md": segments_page(load("multicalibration.json")),
    }
    return {name: text for name, text in made.items() if text}


def load(name: str) -> dict[str, Any] | None:
    """Return a record, None if it has not been made."""
    path = RESULTS / name
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else None


def kept(violations: int, n: int, chance: float) -> bool:
    """Tell whether so many violations are compatible with at most that chance."""
    return bool(binom.sf(violations - 1, n, chance) >= LEVEL_OF_TEST)


def joined(parts: list[str]) -> str:
    """Return a page of these parts."""
    return "\n\n".join(part for part in parts if part) + "\n"


def made_by(record: dict[str, Any], command: str) -> str:
    """Return on what a record was made."""
    versions = ", ".join(f"{package} {number}" for package, number in record["versions"].items())
    return f"Made by `{command}` on one core of {record['machine']}; {versions}."


# -- this batch ------------------------------------------------------------------------------------

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
            prompts_text(record.get("prompts"), record.get("ceilings")),
            batch_worlds_text(record.get("worlds"), record["config"]),
            "## What it assumes, and what breaks it\n\n"
            "- **The rows to label are those that the rule has drawn**, all of them. Leaving out "
            "the hard ones, or labelling others, breaks it. `update` refuses other rows.\n"
            "- **Labels are right.** A wrong label is a wrong loss.\n"
            "- **No loss exceeds `cap`**; larger ones count as `cap`.\n"
            "- **One draw.** Trying several seeds and keeping the best breaks it.\n"
            "- *Not* needed: rows that are independent or like any others, a risk that is right.",
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
    return "## Verdict\n\n" + "\n".join(lines)


def prompts_text(record: dict[str, Any] | None, ceilings: list[dict[str, Any]] | None) -> str:
    """Return the comparison on the prompts of two language models."""
    if record is None:
        return ""
    rows = []
    for line in record["targets"]:
        for name, own in line["methods"].items():
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
        f"limit on labels, of which it stops far short: it gives up on a threshold whose first 50 "
        f"labels are not clear.\n\n" + markdown_table(head, rows, n_text=2) + weaker
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


# -- every group -----------------------------------------------------------------------------------


def groups_page(record: dict[str, Any] | None) -> str:
    """Return the page of guarantees for groups."""
    if record is None or "worlds" not in record:
        return ""
    return joined(
        [
            "# A guarantee for every group",
            "`RiskControlRule(target, subgroups=[columns])` keeps the target in every group of "
            "rows, for all groups at once ([guide](../how-to/groups.md)). Groups of one column go "
            "down their own thresholds at a level of (1 − confidence) / G, which groups that pass "
            "all of them hand on; groups of several columns overlap and go down one path together, "
            "each step of which passes if every group does (an intersection-union test).",
            groups_verdict(record),
            groups_worlds_text(record),
            employment_text(record.get("employment")),
            "## What it assumes, and what breaks it\n\n"
            "- **Calibration rows like those to come**, independent of each other. In the years "
            "after the calibration nothing is guaranteed.\n"
            "- **Columns that are known when the rule is fitted.** Groups that were found by "
            "looking at the losses of the calibration rows are not covered.\n"
            "- **Groups that are large enough.** Others are deferred as a whole, and so are rows "
            "of values that were not seen.\n"
            "- With overlapping groups, the first group to fail a step stops all: a column with "
            "one hard group costs acceptance everywhere.",
            made_by(record, "python -m benchmarks.subgroups"),
        ]
    )


def groups_verdict(record: dict[str, Any]) -> str:
    """Return how often a group was above the target, and the comparison with MAPIE."""
    allowance = 1 - record["config"]["confidence"]
    worlds = record["worlds"]
    own = [(line["groups"]["violations"], line["groups"]["repetitions"]) for line in worlds]
    good = sum(kept(v, n, allowance) for v, n in own)
    text = (
        f"## Verdict\n\n- In {good} of {len(own)} worlds the target is kept in every group "
        f"(violation of *any* group at most {max(v / n for v, n in own):.1%}, allowed "
        f"{allowance:.0%})."
    )
    mapie = record.get("mapie") or []
    if mapie:
        more = sum(line["difference"] >= 0 for line in mapie)
        text += (
            f"\n- It accepts at least as much as one MAPIE controller per group at level δ/G in "
            f"{more} of {len(mapie)} worlds."
        )
    return text


def groups_worlds_text(record: dict[str, Any]) -> str:
    """Return the table of worlds."""
    mapie = {line["world"]: line for line in record.get("mapie") or []}
    rows = []
    for line in record["worlds"]:
        own, plain, theirs = line["groups"], line["one at a time"], mapie.get(line["world"])
        n = own["repetitions"]
        rows.append(
            [
                line["world"],
                line["text"],
                str(line["n_groups"]),
                f"{own['violations'] / n:.1%}",
                f"{own['acceptance']:.3f}",
                f"{own['infeasible'] / n:.1%}",
                f"{line['optimum']:.3f}",
                f"{plain['violations'] / plain['repetitions']:.1%}",
                "–" if theirs is None else f"{theirs['acceptance']:.3f}",
                "–"
                if theirs is None
                else f"{theirs['difference']:+.3f} ± {theirs['difference_se']:.3f}",
            ]
        )
    head = [
        "world",
        "groups",
        "G",
        "violations",
        "accepted",
        "none",
        "optimum",
        "violations without groups",
        "MAPIE per group",
        "ours − MAPIE",
    ]
    config = record["config"]
    return (
        "## Worlds in which the truth is known\n\n"
        f"{record['worlds'][0]['groups']['repetitions']:,} repetitions in each world: "
        f"{config['n_fit']:,} rows to choose thresholds on and {config['n_test']:,} to test on, "
        f"target {config['target']:g}, confidence {config['confidence']:g}. *Violations*: how "
        f"often *any* group had a mean loss above the target. *None*: how often nothing could be "
        f"accepted. *Optimum*: the share that thresholds for each cell of all columns could accept "
        f"with the truth known. *MAPIE per group*: one `BinaryClassificationController` for each "
        f"group at level δ/G, 60 repetitions; differences are paired, with standard errors.\n\n"
        + markdown_table(head, rows, n_text=2)
    )


def employment_text(record: dict[str, Any] | None) -> str:
    """Return the real case."""
    if record is None:
        return ""
    by_all = record["methods"]["each group of SEX and RAC1P"]
    plain = record["methods"]["on average"]
    rows = []
    for name, group in by_all["2015"]["groups"].items():
        other = plain["2015"]["groups"][name]
        rows.append(
            [
                name,
                f"{group['rows']:,.0f}",
                f"{group['accepted']:.1%}",
                "–" if group["loss"] is None else f"{group['loss']:.1%}",
                f"{other['accepted']:.1%}",
                "–" if other["loss"] is None else f"{other['loss']:.1%}",
            ]
        )
    head = ["group", "rows", "accepted", "loss", "accepted, on average", "loss, on average"]
    years = ", ".join(
        f"{year}: {own['accepted']:.1%} accepted, {own['loss']:.1%} wrong"
        for year, own in by_all.items()
        if year != "2015"
    )
    above = sum(
        (group["loss"] or 0) > record["target"] for group in plain["2015"]["groups"].values()
    )
    return (
        "## Employment in Massachusetts\n\n"
        f"The classifier of NannyML's `employment_MA`, whose predictions come with the data; "
        f"target: at most {record['target']:.0%} of the accepted rows wrong in every group of SEX "
        f"and RAC1P. {record['divisions']} random divisions of 2015, of which 35 % are judged. A "
        f"guarantee *on average* leaves {above} of {len(rows)} groups above the target.\n\n"
        + markdown_table(head, rows)
        + f"\n\nAccepted in all: {by_all['2015']['accepted']:.1%}, on average alone "
        f"{plain['2015']['accepted']:.1%}. With groups of RAC1P only: "
        f"{record['methods']['each group of RAC1P']['2015']['accepted']:.1%}. Later years, for "
        f"which nothing is guaranteed: {years}."
    )


# -- every segment ---------------------------------------------------------------------------------


def segments_page(record: dict[str, Any] | None) -> str:
    """Return the page of calibration in segments."""
    if record is None:
        return ""
    head = [
        "set",
        "risk",
        "error, σ",
        "floor",
        "relative",
        "squared error",
        "− g",
        "AURC",
        "deferral loss",
        "monitoring error",
    ]
    rows, below, halved, worse = [], 0, 0, 0
    help_defer, help_monitor = [], []
    for line in record["sets"]:
        means = {
            name: {figure: float(np.mean(values)) for figure, values in own.items()}
            for name, own in line["methods"].items()
        }
        g = means["g"]
        for name, own in means.items():
            # Divisions share rows: the mean of their standard errors, and not less.
            rows.append(
                [
                    line["set"],
                    name,
                    f"{own['sigma']:.2f}",
                    f"{np.mean(line['floor']):.2f}" if name == "found" else "",
                    f"{own['relative']:.1%}",
                    f"{own['squared']:.4g}",
                    "–"
                    if name == "g"
                    else f"{own['difference']:+.2g} ± {own['difference_se']:.2g}",
                    f"{own['aurc']:.4g}",
                    f"{own['deferral']:.4g}",
                    f"{own['monitoring']:.1%}",
                ]
            )
        best = means["found"]
        below += best["sigma"] < 3
        halved += best["relative"] <= g["relative"] / 2
        worse += best["difference"] > 2 * best["difference_se"]
        help_defer.append(best["deferral"] / g["deferral"] - 1)
        help_monitor.append(best["monitoring"] / g["monitoring"] - 1)
    n_sets = len(record["sets"])
    trial = "; ".join(
        f"{line['set']} {line['trial'][0]:g} and {line['trial'][1]:g}" for line in record["sets"]
    )
    reached = [
        f"below 3 σ on {below} of {n_sets} sets",
        f"relative error halved on {halved} of {n_sets}",
        f"squared error significantly worse on {worse} of {n_sets}",
    ]
    missed = "" if below == halved == n_sets and not worse else " **The aims are not all reached.**"
    return joined(
        [
            "# Right in every segment",
            "`condrisk.metrics.multicalibration_error(loss, risk, segments)` measures whether the "
            "risk is right in every segment of the rows; `condrisk.risk.MulticalibratedRisk` "
            "corrects a risk on held-out rows, within segments given or found.",
            f"## Verdict\n\n- Aims for the correction in segments found: below 3 σ, the relative "
            f"error halved, the squared error not significantly worse. Reached: "
            f"{', '.join(reached)}.{missed}\n"
            f"- Deferral: the loss at a cost of the mean loss changes by "
            f"{', '.join(f'{x:+.1%}' for x in help_defer)} "
            f"({', '.join(line['set'] for line in record['sets'])}).\n"
            f"- Monitoring: the error of the estimated mean loss of a segment as a batch changes "
            f"by {', '.join(f'{x:+.0%}' for x in help_monitor)}.",
            "## Three sets\n\n"
            f"The absolute-error risk of a forest, {record['config']['repetitions']} random "
            f"divisions: 40 % of the rows fit forest and g, 30 % correct g, 30 % are judged. "
            f"*Error, σ*: the largest calibration error over thirds of every column, in standard "
            f"deviations of that of a right risk. *Floor*: what a right risk would show on "
            f"average with such noise and segments (the signs of the residuals of “found” drawn "
            f"anew). *Monitoring error*: of the mean loss of such thirds as batches, relative to "
            f"the mean loss. *constant*: the mean loss of the 30 %.\n\n"
            + markdown_table(head, rows, n_text=2),
            f"Figures of MCGrad 0.1.5 on other divisions of these sets (error in σ of our g, and "
            f"of a constant that MCGrad has corrected): {trial}. They are not paired with those "
            f"above. Its metric is ours, given the same segments.",
            "## What it assumes, and what breaks it\n\n"
            "- **Held-out rows that neither predictor nor g has seen.** Losses of cross-fitted "
            "predictors are too high for the one that is kept: corrected by those, g gets worse.\n"
            "- **Rows like those to come.**\n"
            "- **Enough of them**: a correction from few rows has an error of its own that is as "
            "large as what it corrects. What is not clear is left as it is.\n"
            "- σ grows with the number of rows judged: compare estimates on the same rows.",
            made_by(record, "python -m benchmarks.multicalibration"),
        ]
    )
