"""The page docs/cifar10/losses.md, from results/class_losses.json."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from condrisk.paper._page import FAILS, HOLDS, grade, markdown_table
from condrisk.paper._summary import holm, worse_p

RECORD = Path(__file__).resolve().parents[1] / "results" / "class_losses.json"
LEVEL, TEST_SHARE = 0.05, 0.1
MODELS, SCALINGS = ("p network", "p forest", "p logistic"), ("temperature", "Platt")
SQUARED, ABSOLUTE, CONSTANT = "g, L²", "g, L¹", "constant"
Floats = NDArray[np.float64]


class Counts(NamedTuple):
    """How many differences are significantly below zero, and above, of how many."""

    below: int
    above: int
    n: int

    def __str__(self) -> str:
        return f"{self.below} for it, {self.above} against it, {self.n - self.below - self.above}"


class Study:
    """The record, found by set, loss and method."""

    def __init__(self, record: dict[str, Any]) -> None:
        self.record = record
        self.measures: list[str] = record["errors"]
        self.sets = list(dict.fromkeys(line["set"] for line in record["records"]))
        self.losses = list(dict.fromkeys(line["loss"] for line in record["records"]))
        self.cells = [(name, loss) for name in self.sets for loss in self.losses]
        self.methods: list[str] = list(record["records"][0]["errors"])

    def values(self, cell: tuple[str, str], method: str, measure: str) -> Floats:
        """Return a figure of a method by seed."""
        place = self.measures.index(measure)
        lines = [r for r in self.record["records"] if (r["set"], r["loss"]) == cell]
        return np.array([line["errors"][method][place] for line in lines])

    def mean_loss(self, cell: tuple[str, str]) -> float:
        """Return the mean loss of the predictor."""
        lines = [r for r in self.record["records"] if (r["set"], r["loss"]) == cell]
        return float(np.mean([line["mean_loss"] for line in lines]))

    def skill(self, cell: tuple[str, str], method: str) -> Floats:
        """Return the L² of a method over that of the constant, by seed."""
        return self.values(cell, method, "L2") / self.values(cell, CONSTANT, "L2")

    def bias(self, cell: tuple[str, str], method: str) -> float:
        """Return the mean bias over the mean loss."""
        return float(self.values(cell, method, "bias").mean()) / self.mean_loss(cell)

    def compare(self, pairs: Sequence[tuple[str, str]], measure: str) -> Counts:
        """Count where the first of two methods is lower or higher than the second."""
        return count(
            [
                self.values(cell, a, measure) - self.values(cell, b, measure)
                for cell in self.cells
                for a, b in pairs
            ]
        )


def signs(differences: Sequence[Floats]) -> list[int]:
    """Return -1, 0 or 1 for each difference over seeds: one-sided tests, Holm over all."""
    found = np.zeros(len(differences), dtype=int)
    for sign in (1, -1):
        p_values = [worse_p(list(sign * d), test_share=TEST_SHARE) for d in differences]
        found[np.array(holm(p_values)) < LEVEL / 2] = sign
    return found.tolist()


def count(differences: Sequence[Floats]) -> Counts:
    """Count what is significant.

    Examples
    --------
    >>> import numpy as np
    >>> from tools.cifar10_losses_page import count
    >>> count([np.array([-1.0, -1.1, -0.9]), np.array([-1.0, 1.0, 0.1])])
    Counts(below=1, above=0, n=2)
    """
    found = signs(differences)
    return Counts(found.count(-1), found.count(1), len(found))


def turned(study: Study, name: str) -> tuple[int, int]:
    """Return how many pairs of methods two losses put into opposite order, and tell apart."""
    methods = [m for m in study.methods if m != CONSTANT]
    differences = [
        study.skill((name, loss), a) - study.skill((name, loss), b)
        for loss in study.losses
        for a, b in combinations(methods, 2)
    ]
    by_loss = np.array(signs(differences)).reshape(len(study.losses), -1)
    told = opposite = 0
    for a, b in combinations(by_loss, 2):
        told += int(((a != 0) & (b != 0)).sum())
        opposite += int((a * b < 0).sum())
    return opposite, told


def sizes(study: Study, name: str) -> tuple[int, int]:
    """Return in how many cases the relative error of a method differs between two losses."""
    found = count(
        [
            study.skill((name, a), method) - study.skill((name, b), method)
            for a, b in combinations(study.losses, 2)
            for method in study.methods
            if method != CONSTANT
        ]
    )
    return found.below + found.above, found.n


def page() -> str:
    """Return the page."""
    study = Study(json.loads(RECORD.read_text(encoding="utf-8")))
    return "\n".join(
        [
            "# Other losses, and Platt scaling",
            "",
            "The records of CIFAR-10 hold the log loss and temperatures. The paper speaks of other "
            "losses too, and calls its temperature Platt scaling. Both are measured here on "
            "smaller sets: what is so on CIFAR-10, this page does not say.",
            "",
            *_verdicts(study),
            "",
            "## Squared error of the risk, over that of a constant",
            "",
            _table(study),
            "",
            "## How it was measured",
            "",
            _method(study),
            "",
        ]
    )


def _verdicts(study: Study) -> list[str]:
    lines = []
    for scaling in SCALINGS:
        pairs = [(m, f"{m}, {scaling}") for m in MODELS]
        for label, measure in (("L¹", "L1"), ("L²", "L2")):
            found = study.compare(pairs, measure)
            lines.append(
                f"- “Applying {scaling} scaling worsens” the risk, by {label}: "
                f"**{grade(found.below / found.n)}** ({found} not told from chance)."
            )
    rivals = [(f"{m}, temperature", f"{m}, Platt") for m in MODELS]
    found = study.compare(rivals, "L2")
    lines.append(
        f"- A temperature is better than Platt's sigmoids, by L²: "
        f"**{grade(found.below / found.n)}** ({found} not told from chance)."
    )
    for name in study.sets:
        differ, pairs = sizes(study, name)
        opposite, told = turned(study, name)
        lines.append(
            f"- The choice of ℓ affects the estimation, {name}: **{HOLDS if differ else FAILS}** "
            f"for the size of the error beside a constant's ({differ} of {pairs} differences "
            f"between two losses are significant), **{HOLDS if opposite else FAILS}** for the "
            f"order of methods (opposite in {opposite} of {told} pairs that two losses tell apart)."
        )
    found = study.compare([(SQUARED, ABSOLUTE)], "L2")
    biases = [study.bias(cell, ABSOLUTE) for cell in study.cells]
    lines.append(
        f"- The choice of L does, where the loss is regressed: minimising L² is better than L¹ by "
        f"L² in {found.below} of {found.n} cells; the risk by L¹ is {-max(biases):.0%} to "
        f"{-min(biases):.0%} too low, since it is a median."
    )
    found = study.compare([(SQUARED, CONSTANT)], "L2")
    lines.append(
        f"- “The regression-based method is also effective”, against a constant by L²: "
        f"**{grade(found.below / found.n)}** ({found} not told from chance)."
    )
    return lines


def _table(study: Study) -> str:
    rows = []
    for method in study.methods:
        cells = [
            f"{study.skill(cell, method).mean():.2f} ({100 * study.bias(cell, method):+.0f} %)"
            for cell in study.cells
        ]
        rows.append([method, *cells])
    header = ["in brackets: bias, of the mean loss", *(f"{s}, {loss}" for s, loss in study.cells)]
    return markdown_table(header, rows)


def _method(study: Study) -> str:
    versions = ", ".join(f"{name} {number}" for name, number in study.record["versions"].items())
    seeds = len({line["seed"] for line in study.record["records"]})
    return (
        f"scikit-learn's digits with noise on every pixel, and a Gaussian mixture of five classes; "
        f"{seeds} seeds, split as the paper splits CIFAR-10. The predictor is a small network; p "
        f"are the probabilities of another network, a forest and a logistic regression, as they "
        f"are, with a temperature, and with Platt's sigmoid for each class against the rest, all "
        f"learnt on held-out rows; g are boosted trees. Tests over seeds with Nadeau and Bengio's "
        f"correction, Holm's over the cells of a sentence, {LEVEL:.0%} on both sides together. "
        f"`python -m benchmarks.class_losses` ({versions}) has the details and writes "
        f"`results/class_losses.json`; all figures here are computed from it."
    )
