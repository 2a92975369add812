"""The page of guarantees for every group in docs/risk_control."""

from __future__ import annotations

from typing import Any

from condrisk.paper._page import markdown_table
from tools.guarantee_parts import joined, kept, made_by


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
            mapie_groups_text(record.get("mapie")),
            columns_text(record),
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
        more = sum(best_of_mapie(line)[1]["difference"] >= 0 for line in mapie)
        text += (
            f"\n- It accepts at least as much as one MAPIE controller per group at level δ/G, by "
            f"whichever of four procedures accepts most there, in {more} of {len(mapie)} worlds."
        )
    alone = record.get("columns") or []
    if alone:
        own = [line["methods"]["by itself"] for line in alone]
        most = max(max(one["by_group"]) / one["repetitions"] for one in own)
        text += (
            f"\n- `simultaneous=False`: each single group is above the target in at most "
            f"{most:.1%} of the draws (allowed {allowance:.0%})."
        )
    return text


def best_of_mapie(line: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """Return the procedure that accepts most in a world, and its figures."""
    return max(line["methods"].items(), key=lambda item: -item[1]["difference"])


def groups_worlds_text(record: dict[str, Any]) -> str:
    """Return the table of worlds."""
    mapie = {line["world"]: line for line in record.get("mapie") or []}
    rows = []
    for line in record["worlds"]:
        own, plain = line["groups"], line["one at a time"]
        n = own["repetitions"]
        theirs = None
        if line["world"] in mapie:
            theirs = best_of_mapie(mapie[line["world"]])[1]
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
        f"group at level δ/G, by its best procedure in that world (below); differences are paired, "
        f"with standard errors.\n\n" + markdown_table(head, rows, n_text=2)
    )


MAPIE_NAMES = {
    "bonferroni_holm": "Bonferroni–Holm (default)",
    "fixed_sequence": "fixed sequence",
    "fixed_sequence, ten starts": "fixed sequence, ten starts",
    "split_fixed_sequence": "split fixed sequence",
}


def mapie_groups_text(lines: list[dict[str, Any]] | None) -> str:
    """Return MAPIE's procedures in every world."""
    if not lines:
        return ""
    rows = []
    for name, text in MAPIE_NAMES.items():
        own = [line["methods"][name] for line in lines]
        cells = [f"{one['acceptance']:.3f}" for one in own]
        violations = max(one["violations"] / one["repetitions"] for one in own)
        rows.append([text, f"{own[0]['repetitions']}", *cells, f"{violations:.1%}"])
    head = ["MAPIE per group", "runs", *(line["world"] for line in lines), "violations, at most"]
    return (
        "## MAPIE's procedures\n\n"
        f"Shares accepted by controllers of MAPIE {lines[0]['version']} for each group at level "
        f"δ/G. The fixed sequence begins at its strictest threshold, which has too few rows in a "
        f"group to show anything; the split one learns its order from the rows that our rule "
        f"chooses thresholds on.\n\n" + markdown_table(head, rows)
    )


def columns_text(record: dict[str, Any]) -> str:
    """Return why groups of one column are not tested together, and what each by itself gets."""
    lines = record.get("columns")
    if not lines:
        return ""
    worlds = {line["world"]: line["groups"] for line in record["worlds"]}
    rows = []
    for line in lines:
        apart, own = worlds[line["world"]], line["methods"]
        together, alone = own["together"], own["by itself"]
        rows.append(
            [
                line["world"],
                f"{apart['acceptance']:.3f}",
                f"{apart['violations'] / apart['repetitions']:.1%}",
                f"{together['acceptance']:.3f}",
                f"{together['violations'] / together['repetitions']:.1%}",
                f"{alone['acceptance']:.3f}",
                f"{alone['violations'] / alone['repetitions']:.1%}",
                f"{max(alone['by_group']) / alone['repetitions']:.1%}",
            ]
        )
    head = [
        "world",
        "apart",
        "violations",
        "together",
        "violations",
        "by itself",
        "any group",
        "worst group",
    ]
    more = sum(
        worlds[line["world"]]["acceptance"] > line["methods"]["together"]["acceptance"]
        for line in lines
    )
    return (
        "## One column\n\n"
        f"Groups of one column do not overlap. *Apart*, each with a threshold and a level of its "
        f"own, accepts more than all of them *together* in one intersection-union test in {more} "
        f"of {len(lines)} worlds: together, groups at the target must all pass the same step, "
        f"which happens far less often than it may (its violations), and the first to fail stops "
        f"all. So a single column is tested apart and several, whose groups overlap, together. *By "
        f"itself* is `simultaneous=False`: each group keeps the target with the stated confidence "
        f"(*worst group*), and *any* of them breaks it more often. It is for one column: what is "
        f"accepted of a group that overlaps others depends on their thresholds. "
        f"{lines[0]['methods']['by itself']['repetitions']:,} repetitions of *by itself*, "
        f"{lines[0]['methods']['together']['repetitions']:,} of *together*.\n\n"
        + markdown_table(head, rows)
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
