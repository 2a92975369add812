"""The page of docs/experts, from results/experts.json."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from condrisk.paper._page import markdown_table

RECORD = Path(__file__).resolve().parents[1] / "results" / "experts.json"

USE = """```python
from sklearn.frozen import FrozenEstimator
from condrisk import Deferral, RegressionRisk
from condrisk.deferral import ExpertRisk, ExpertRule

# Rows that might have gone to the doctor, and which of them did: overlap is checked.
doctor = ExpertRisk("zero_one").fit(X, y, prediction=said, deferred=asked)
doctor.overlap_, doctor.assumptions_

rule = ExpertRule([FrozenEstimator(doctor), 0.12], fee=[0.05, 0.02], capacity=[40, None])
model = Deferral(RegressionRisk(classifier), rule=rule).fit(X, y)
model.defer(batch)
rule.assign(model.predict_risk(batch), X=batch)  # which expert, or -1: at most 40 rows a batch
rule.stream()  # the same for rows that come one after the other
```"""

CASCADE = """```python
from condrisk.deferral import Cascade

cascade = Cascade([small, large], fee=[0.01, 0.05], expert=FrozenEstimator(doctor)).fit(X, y)
cascade.decide(batch).stage  # 0: small, 1: large, 2: the doctor
```"""


def pages() -> dict[str, str]:
    """Return the text of the page."""
    record = json.loads(RECORD.read_text(encoding="utf-8"))
    return {"README.md": page(record)}


def draw(folder: Path) -> None:
    """Draw nothing: the page has tables only."""


CONDITIONS = (
    "- **Rows were deferred everywhere**, with a positive probability. Checked where "
    "`fit` is told which rows were deferred, or with what probability; rows that were "
    "hardly ever deferred are reported, and refused beyond a share. The check "
    "finds regions, not single rows; that it finds none is no proof.",
    "- **Deferring depended on x alone.** Data of this kind cannot show it. If rows were "
    "sent to the expert because of something that is not in x, the estimate is biased.",
    "- **The truth is known of the deferred rows.** Without it only the "
    "disagreement of the two is known; `fit` refuses to call that a risk, and "
    "warns if the truth and the expert's answers are the same everywhere.",
    "- Labels of two classes that are flipped with a known probability ρ, whatever the "
    "expert says, are corrected for: g = (g̃ − ρ)/(1 − 2ρ), for the experts and for the "
    "model.",
)


def page(record: dict[str, Any]) -> str:
    """Return the page."""
    config = record["config"]
    return "\n".join(
        [
            "# Experts who err",
            "",
            "An expert may be wrong too. `ExpertRisk` learns how wrong, at each x, "
            "from rows that the expert answered; `ExpertRule` defers to the expert e with the "
            "least fee_e + g_e(x) iff that is less than the risk g(x) of the model's own answer, "
            "and keeps capacities where there are any; `Cascade` goes from a cheap model to an "
            "expensive one to a human.",
            "",
            USE,
            "",
            "## What has to be true",
            "",
            *CONDITIONS,
            "",
            "## How close to the rule that knows every risk",
            "",
            f"Worlds in which every risk is known, {len(config['seeds'])} seeds. The predictor "
            f"is fitted on {config['predictor']:,} other rows. Of n rows the truth is known"
            f" (flipped with probability {config['flips']:g} in the second world), and the answers "
            f"of two experts on the rows deferred to them: to the first with a probability that "
            f"depends on x and is estimated, to the second with probability 0.3. Costs are "
            f"expected ones, computed from the true risks at {config['fresh']:,} fresh rows, and "
            f"relative to the Bayes rule, which knows all risks: mean over the seeds, and the "
            f"worst seed in brackets.",
            "",
            worlds_table(record),
            "",
            *verdicts(record),
            "",
            'The rows "experts never err" and "experts err alike everywhere" use the same '
            "estimate of the model's risk, with expert risks of zero, or of their mean.",
            "",
            "## Capacities",
            "",
            capacities_text(record),
            "",
            "## Cascades",
            "",
            "To compare the cheap model with the expensive one is not enough: behind the "
            "expensive one there is still the human. The first model's answer is left iff g₁(x) > "
            "fee₂ + E[min(g₂(X), fee₃ + g_h(X)) | X = x], the expectation learnt by regression on "
            "rows that the risks were not fitted on.",
            "",
            CASCADE,
            "",
            cascade_text(record),
            "",
            machine_text(record),
            "",
        ]
    )


def ratios(lines: list[dict[str, Any]], way: str) -> np.ndarray:
    """Return the cost of one way to decide, relative to the Bayes rule, for each seed."""
    return np.array([line["costs"][way] / line["costs"]["Bayes"] for line in lines])


def of_world(record: dict[str, Any], world: str, size: int) -> list[dict[str, Any]]:
    """Return the lines of one world and size."""
    return [line for line in record["worlds"] if (line["world"], line["n"]) == (world, size)]


def cell(values: np.ndarray) -> str:
    """Return mean and worst."""
    return f"{values.mean():.3f} ({values.max():.3f})"


def names(record: dict[str, Any]) -> list[str]:
    """Return the worlds, in their order."""
    return list(dict.fromkeys(line["world"] for line in record["worlds"]))


def worlds_table(record: dict[str, Any]) -> str:
    """Return the relative costs of every way to decide."""
    sizes, worlds = sorted(record["config"]["sizes"]), names(record)
    ways = list(dict.fromkeys(w for line in record["worlds"] for w in line["costs"]))
    rows = []
    for way in ways:
        if way == "Bayes":
            continue
        # Only what learns depends much on the number of rows.
        for size in sizes if way == "ExpertRule" or "flips" in way else sizes[-1:]:
            cells = []
            for world in worlds:
                lines = of_world(record, world, size)
                cells.append(cell(ratios(lines, way)) if way in lines[0]["costs"] else "–")
            rows.append([f"{way}, n = {size:,}", *cells])
    return markdown_table(["relative expected cost", *worlds], rows)


def verdicts(record: dict[str, Any]) -> list[str]:
    """Return for each world whether the limit holds at the larger size."""
    config = record["config"]
    limit, size = config["limit"], max(config["sizes"])
    texts = [
        f"The limit, set beforehand: {limit - 1:.0%} above the Bayes rule at n = {size:,}. This is "
        f"a second run on the same seeds: after the first, extra-trees gave way to boosting in the "
        f"check of overlap, because they missed regions in which no row was ever deferred; nothing "
        f"else was changed, and the ratios stayed as they were.",
        "",
    ]
    for world in names(record):
        values = ratios(of_world(record, world, size), "ExpertRule")
        within = int((values <= limit).sum())
        mean = "holds" if values.mean() <= limit else "does not hold"
        texts.append(
            f"- {world}: **{mean}** for the mean ({values.mean() - 1:.1%} above); within the limit "
            f"in {within} of {len(values)} seeds, the worst is {values.max() - 1:.1%} above."
        )
    return texts


def capacities_text(record: dict[str, Any]) -> str:
    """Return what was found about batches and streams."""
    small, large, stream = record["small"], record["large"], record["stream"]
    worst = max(small["worst"].values())
    exact = "Equal" if worst <= 1e-9 else "Not equal"
    won = stream["won"]
    return (
        f"{exact} to an exhaustive search in {small['batches']} random batches of up to six rows "
        f"and three experts: the totals differ by {worst:.1g} at most, whichever way they are "
        f"solved (sorting, matching, linear programme). A batch of {large['rows']:,} rows, three "
        f"experts with {large['capacity'][0]:,} places each, takes {large['seconds']:.1f} s. Where "
        f"rows come one at a time, each goes to the best expert with a place left: in "
        f"{stream['batches']} days of {stream['rows']} rows in the world of three classes, with "
        f"{stream['capacity'][0]} and {stream['capacity'][1]} places a day, that wins "
        f"{won['greedy'] / won['exact']:.0%} of what the assignment of the whole day wins, which "
        f"is {won['exact'] / won['no limits']:.0%} of what there is to win without limits. So "
        f"collect rows into batches where places are few."
    )


def cascade_text(record: dict[str, Any]) -> str:
    """Return the table of the cascade and the verdict."""
    lines, config = record["cascades"], record["config"]
    ways = [way for way in lines[0]["costs"] if way != "Bayes"]
    rows = [[way, cell(ratios(lines, way))] for way in ways]
    # Who may go to the human at once saves the fee of the second model.
    way, fee = "always the human", config["cascade_fees"][0]
    at_once = [(line["costs"][way] - fee) / line["costs"]["Bayes"] for line in lines]
    rows.append(["the human at once, past the models", cell(np.array(at_once))])
    values = ratios(lines, "Cascade")
    limit = config["limit"]
    size = lines[0]["n"]
    return "\n".join(
        [
            f"A world with two cheap features and an expensive one, which the second model needs "
            f"and the decision to run it may not look at; fees {config['cascade_fees'][0]:g} and "
            f"{config['cascade_fees'][1]:g}. n = {size:,} rows: half of them for the risks, half, "
            f"without labels, to learn what comes after the first model.",
            "",
            markdown_table(["relative expected cost", "mean (worst seed)"], rows),
            "",
            f"`Cascade` is within {limit - 1:.0%} of the Bayes rule in "
            f'{int((values <= limit).sum())} of {len(values)} seeds. The row "without looking '
            f'past the second model" knows the true risks, but compares the first model with the '
            f"second alone. Every row but the last pays the fees of all stages on its way: in a "
            f"cascade the human comes after the second model. Where rows can go to the human at "
            f"once, `ExpertRule` decides between the two.",
        ]
    )


def machine_text(record: dict[str, Any]) -> str:
    """Return where the figures come from."""
    versions = ", ".join(f"{package} {version}" for package, version in record["versions"].items())
    size = max(record["config"]["sizes"])
    seconds = [line["seconds"] for line in record["worlds"] if line["n"] == size]
    return (
        f"Everything here is computed from `results/experts.json`, which `python -m "
        f"benchmarks.experts` writes ({record['machine']}; {versions}). Learning the risk of the "
        f"model and of both experts and deciding takes {np.median(seconds):.0f} s at n = {size:,} "
        f"(median, on one busy core)."
    )
