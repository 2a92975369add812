"""The parts of the page about noise and about images."""

from __future__ import annotations

import numpy as np

from condrisk.paper._records import Record
from condrisk.paper.active._phrases import body, capitalised
from condrisk.paper.active._results import Comparison, labels_needed, labels_of
from condrisk.paper.active._settings import CIFAR10, MAIN_METHOD, METHODS, TRAP
from condrisk.paper.active._tables import noise_table


def noise_section(records: list[Record], found: dict[str, dict[str, Comparison]]) -> str:
    """Return what happens where half of the labels are noise."""
    table = noise_table(records)
    if not table.rows:
        return ""
    share = {method: share_of_noise(records, method) for method in METHODS}
    verdicts = {method: found[method][TRAP] for method in found if TRAP in found[method]}
    parts = [
        "## The trap: noise",
        "A world made to show it: in one half of a square the class can be learnt, in the other "
        "labels are coins. There the risk is ½ and stays ½. The error is that on the half which "
        "can be learnt; a choice that knew would spend no label on the other.",
        body(table),
    ]
    if verdicts:
        risk, gain = verdicts["risk-k-center"], verdicts[MAIN_METHOD]
        parts.append(
            f"By the size of the risk {share['risk-k-center']:.0%} of the labels are spent on "
            f"coins, and the area is {risk.ratio:.2f} times that of random choice "
            f"({risk.verdict}). By the reduction of risk it is {share[MAIN_METHOD]:.0%} and "
            f"{gain.ratio:.2f} times ({gain.verdict}); excess, which takes for noise whatever the "
            f"model does not call its own ignorance, spends the fewest of the three reductions on "
            f"coins, {share['gain-excess']:.0%}, and has {verdicts['gain-excess'].ratio:.2f} times "
            f"the area ({verdicts['gain-excess'].verdict}): the risk at the boundary "
            f"between classes probably counts as noise with it, too."
            if share["gain-excess"] <= min(share["gain"], share["gain-share"])
            else f"By the size of the risk {share['risk-k-center']:.0%} of the labels are spent on "
            f"coins, and the area is {risk.ratio:.2f} times that of random choice "
            f"({risk.verdict}); by the reduction of risk {share[MAIN_METHOD]:.0%}, and "
            f"{gain.ratio:.2f} times ({gain.verdict})."
        )
    parts.append(
        "**The assumption.** Losses do not identify which part of a risk labels would reduce: a "
        "coin, and a pattern that is too fine for the model, give the same losses. It takes "
        "replicates, several labels of the same row, whose variance is the noise; or a model. "
        "`GainSampler` takes a model: that the covariance of its posterior, or between the members "
        "of an ensemble, is what it does not know. Where that is wrong, as with a model that is "
        "too sure of itself, so is the choice. `split_risk` has the two ways to join it with an "
        "estimated risk, each with the case in which it errs."
    )
    return "\n\n".join(parts)


def share_of_noise(records: list[Record], method: str) -> float:
    """Return which share of the labels a way to choose spends on coins."""
    here = [r for r in records if r["set"] == TRAP and r["method"] == method]
    return float(np.mean([r["share_of_noise"] for r in here]))


def images_section(records: list[Record], found: dict[str, dict[str, Comparison]]) -> str:
    """Return what happens on CIFAR-10, and what its rows are."""
    here = {m: by_set[CIFAR10] for m, by_set in found.items() if CIFAR10 in by_set}
    if not here:
        return ""
    best = min(here.values(), key=lambda c: c.ratio)
    needed = labels_needed(records, CIFAR10, best.method)
    last = labels_of(records, CIFAR10)[-1]
    saved = (
        ""
        if needed is None
        else (f" It is as good with {needed:.0f} labels as random choice with {last}.")
    )
    lines = ", ".join(
        f"{METHODS[m]} {c.ratio:.3f} ({c.verdict})" for m, c in here.items() if m != best.method
    )
    checks = {r["embeddings"] for r in records if r["set"] == CIFAR10 and "embeddings" in r}
    return "\n\n".join(
        [
            "## CIFAR-10",
            f"{capitalised(METHODS[best.method])} has the smallest area, "
            f"{best.ratio:.3f} times that of random choice ({best.verdict}).{saved} The others: "
            f"{lines}.",
            "The rows are embeddings: what an EfficientNet-Lite0 with ImageNet weights sees "
            "in each image at 144 × 144 pixels. Its 1,280 features are reduced to the 64 principal "
            "components of all 60,000 images, in which no label of CIFAR-10 has a part, and kept "
            "in half precision. `python -m tools.make_cifar10_embeddings` writes the file, which "
            "is not part of the package; its SHA-256 was "
            f"{', '.join(f'`{c}`' for c in sorted(checks))}.",
        ]
    )
