"""The page docs/cifar10/losses.md, from results/cifar10/losses.json and results/class_losses.json.

The first is left out while it is not there: it takes a GPU.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from condrisk.paper._page import FAILS, HOLDS, grade, markdown_table, section
from condrisk.paper._summary import holm, worse_p

RESULTS = Path(__file__).resolve().parents[1] / "results"
CIFAR10, SMALL = RESULTS / "cifar10" / "losses.json", RESULTS / "class_losses.json"
LEVEL, TEST_SHARE = 0.05, 0.1
TEMPERATURE, PLATT, LOG_ODDS = "temperature", "Platt", "Platt of log-odds"
SCALINGS = {
    TEMPERATURE: "temperature scaling",
    PLATT: "Platt scaling",
    LOG_ODDS: "Platt scaling of log-odds",
}
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
        self.models = [m for m in self.methods if f"{m}, {PLATT}" in self.methods]

    @property
    def n_seeds(self) -> int:
        """The number of seeds."""
        return len({line["seed"] for line in self.record["records"]})

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


def load(path: Path) -> Study:
    """Return the study of a record."""
    return Study(json.loads(path.read_text(encoding="utf-8")))


def page() -> str:
    """Return the page."""
    large, small = load(CIFAR10), load(SMALL)
    methods = [
        _cifar10_method(large),
        _small_method(small),
        f"Tests over seeds with Nadeau and Bengio's correction, Holm's over the cells of a "
        f"sentence, {LEVEL:.0%} on both sides together.",
    ]
    lines = [
        "# Other losses, and Platt scaling",
        "",
        "The study of CIFAR-10 has the log loss and temperatures. The paper speaks of other losses "
        "too, and calls its temperature Platt scaling. Here are three losses, and Platt's sigmoids "
        "beside the temperature.",
        "",
    ]
    for title, study in (("CIFAR-10", large), ("Digits and a Gaussian mixture", small)):
        lines += [f"## {title}", "", *verdicts(study), "", _table(study), ""]
    lines += ["## How it was measured", "", *(f"{text}\n" for text in methods)]
    return "\n".join(lines)


def claims_section() -> str:
    """Return the verdicts of CIFAR-10 for the page of claims."""
    study = load(CIFAR10)
    found = [*loss_verdicts(study), regression_verdict(study), *scaling_verdicts(study)]
    return section(
        "Other losses ℓ, and Platt's own scaling",
        "“[T]he choice of loss functions ℓ and L also affects the estimation process”, and "
        "“Platt scaling worsens calibration performance” (experiments), under three losses and "
        "with Platt's sigmoids; the figures are in `docs/cifar10/losses.md`.",
        "\n".join(found),
    )


def verdicts(study: Study) -> list[str]:
    """Return every verdict on a study, a line each."""
    found = study.compare([(SQUARED, CONSTANT)], "L2")
    return [
        *loss_verdicts(study),
        regression_verdict(study),
        *scaling_verdicts(study),
        f"- “The regression-based method is also effective”, against a constant by L²: "
        f"**{grade(found.below / found.n)}** ({found} not told from chance).",
    ]


def loss_verdicts(study: Study) -> list[str]:
    """Return whether ℓ matters, for each set."""
    lines = []
    for name in study.sets:
        differ, pairs = sizes(study, name)
        opposite, told = turned(study, name)
        lines.append(
            f"- The choice of ℓ affects the estimation, {name}: **{HOLDS if differ else FAILS}** "
            f"for the size of the error beside a constant's ({differ} of {pairs} differences "
            f"between two losses are significant), **{HOLDS if opposite else FAILS}** for the "
            f"order of methods (opposite in {opposite} of {told} pairs that two losses tell apart)."
        )
    return lines


def regression_verdict(study: Study) -> str:
    """Return whether it matters which L a regression of the loss minimises."""
    found = study.compare([(SQUARED, ABSOLUTE)], "L2")
    biases = {m: [100 * study.bias(cell, m) for cell in study.cells] for m in (SQUARED, ABSOLUTE)}
    mean, median = (f"{min(b):+.0f} % to {max(b):+.0f} %" for b in biases.values())
    return (
        f"- The choice of L affects the estimation, where the loss is regressed: "
        f"**{HOLDS if found.below + found.above else FAILS}** (by L², minimising L² is better "
        f"than L¹ in {found.below} of {found.n} cells and worse in {found.above}; L¹ leads to a "
        f"median, with a bias of {median} of the mean loss, against {mean})."
    )


def scaling_verdicts(study: Study) -> list[str]:
    """Return whether scaling worsens the risk, and whether a temperature beats Platt's sigmoids."""
    lines = []
    for scaling, words in SCALINGS.items():
        pairs = [(m, f"{m}, {scaling}") for m in study.models]
        for label, measure in (("L¹", "L1"), ("L²", "L2")):
            found = study.compare(pairs, measure)
            lines.append(
                f"- “Applying {words} worsens” the risk, by {label}: "
                f"**{grade(found.below / found.n)}** ({found} not told from chance)."
            )
    for scaling, words in ((PLATT, "Platt's sigmoids"), (LOG_ODDS, "Platt's sigmoids of log-odds")):
        rivals = [(f"{m}, {TEMPERATURE}", f"{m}, {scaling}") for m in study.models]
        found = study.compare(rivals, "L2")
        lines.append(
            f"- A temperature is better than {words}, by L²: "
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
    first = "squared error over a constant's (bias, of the mean loss)"
    return markdown_table([first, *(f"{s}, {loss}" for s, loss in study.cells)], rows)


def _small_method(study: Study) -> str:
    return (
        f"scikit-learn's digits with noise on every pixel, and a Gaussian mixture of five classes: "
        f"{study.n_seeds} seeds, split as the paper splits CIFAR-10. The predictor is a small "
        f"network; p are the probabilities of another network, a forest and a logistic regression, "
        f"as they are, with a temperature, and with Platt's sigmoid for each class against the "
        f"rest, all learnt on held-out rows. scikit-learn's sigmoid is one of the decision "
        f"function (logistic regression) or of the probability; the last is one of the log-odds. "
        f"g are boosted trees. `python -m benchmarks.class_losses` ({_versions(study)}) has the "
        f"details and writes `results/class_losses.json`."
    )


def _cifar10_method(study: Study) -> str:
    return (
        f"CIFAR-10: {study.n_seeds} seeds, split as the paper splits, with networks trained as in "
        f"the [study](README.md): a CNN and a ResNet-8 as predictors; p are the probabilities of "
        f"four networks (EffNet is EfficientNet-Lite0), as they are and scaled on held-out images; "
        f"g are CNNs on the image alone. `python -m benchmarks.cifar10_losses` (on one "
        f"{study.record['device']}; {_versions(study)}) writes `results/cifar10/losses.json`."
    )


def _versions(study: Study) -> str:
    return ", ".join(f"{name} {number}" for name, number in study.record["versions"].items())
