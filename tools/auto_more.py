"""Two sections of the page of docs/auto: the further sets, and what it takes."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from condrisk.paper._page import markdown_table
from condrisk.paper._summary import Outcome, paired_tests
from condrisk.paper.rwr._paper import TEST_SHARE
from tools.auto_settings import LARGE

OURS = "AutoRisk"
# A rival that only sets with classes have.
PLUG_IN = "plug-in"


class Further(NamedTuple):
    """One of the further sets at one price: losses by fold."""

    set: str
    cost: float
    losses: dict[str, list[float]]
    accepted: list[float]

    @property
    def ours(self) -> float:
        """Our mean deferral loss."""
        return float(np.mean(self.losses[OURS]))

    @property
    def never(self) -> float:
        """The mean loss of our predictor."""
        return float(np.mean(self.accepted))

    @property
    def best(self) -> tuple[float, str]:
        """The least mean loss of a rival, and whose it is."""
        means = {m: float(np.mean(v)) for m, v in self.losses.items() if m != OURS}
        which = min(means, key=lambda method: means[method])
        return means[which], which

    @property
    def good(self) -> bool:
        """Whether ours is at most that of the best rival."""
        return self.ours <= self.best[0] * (1 + 1e-9)

    @property
    def to_trivial(self) -> float:
        """The ratio of ours to the better of always and never with our predictor."""
        return self.ours / min(self.cost, self.never)


def further_cells(records: list[dict[str, Any]]) -> list[Further]:
    """Return the losses of each set at each price."""
    cells: dict[tuple[str, float], Further] = {}
    for r in sorted(records, key=lambda r: r["fold"]):
        key = r["set"], r["cost"]
        cell = cells.setdefault(key, Further(*key, {}, []))
        cell.losses.setdefault(r["method"], []).append(r["loss"])
        if r["method"] == OURS:
            cell.accepted.append(r["never"])
    return [cells[key] for key in dict.fromkeys((r["set"], r["cost"]) for r in records)]


def trivial_tests(cells: list[Further]) -> Outcome[str]:
    """Compare ours with always and with never deferring, over folds."""
    pairs = {}
    for cell in cells:
        always = [cell.cost] * len(cell.accepted)
        for what, other in (("always", always), ("never", cell.accepted)):
            pairs[f"{cell.set} at {cell.cost:g} against {what}"] = (cell.losses[OURS], other)
    return paired_tests(pairs, test_share=TEST_SHARE)


def further_verdict(records: list[dict[str, Any]]) -> str:
    """Return what the further sets say."""
    cells = further_cells(records)
    tests, good = trivial_tests(cells), sum(cell.good for cell in cells)
    ratios = np.array([cell.to_trivial for cell in cells])
    classes = np.array([PLUG_IN in cell.losses for cell in cells])
    text = (
        f"On {len({cell.set for cell in cells})} sets that played no part in the design, where "
        f"every method learns from the same rows, AutoRisk is at least as good as the best rival, "
        f"known only afterwards, in **{good} of {len(cells)}** settings ({good / len(cells):.0%}). "
        f"Beside the better of always and never with its own predictor, its mean ratio is "
        f"{ratios[~classes].mean():.3f} with numbers and {ratios[classes].mean():.3f} with "
        f"classes: the risk saves {LARGE:.0%} or more in {np.sum(ratios <= 1 - LARGE)} settings "
        f"and loses as much in {np.sum(ratios >= 1 + LARGE)}; significantly worse than always or "
        f"never deferring in **{len(tests.worse)}** of {tests.n} comparisons."
    )
    return text + (f" Worse: {'; '.join(tests.worse)}." if tests.worse else "")


def further_text(records: list[dict[str, Any]]) -> str:
    """Return the sets that played no part in the design."""
    rows = []
    for cell in further_cells(records):
        figure = f"**{cell.ours:.4f}**" if cell.good else f"{cell.ours:.4f}"
        best, which = cell.best
        row = [cell.set, f"{cell.cost:g}", figure, f"{best:.4f}", which, f"{cell.never:.4f}"]
        rows.append([*row, f"{cell.to_trivial:.2f}"])
    text = (
        "Sets, costs and rivals were written down in `benchmarks/further_sets.py` before the "
        "first run on any of them: RF+RF, MLP+RF and a constant risk, cross-fitted on the same "
        "rows; for classes also the plug-in risk of a forest calibrated by temperature, and its "
        "entropy, with a threshold chosen out of fold. Always deferring loses that cost on every "
        "row; never is with AutoRisk's own predictor, and the last column is the ratio of "
        "AutoRisk to the better of these two."
    )
    header = ["set", "cost", "AutoRisk", "best rival", "which", "never", "to the better of two"]
    table = markdown_table(header, rows)
    return "\n\n".join(["## Sets that played no part in the design", text, table])


def times_text(record: dict[str, Any]) -> str:
    """Return what fitting takes, in forests."""
    parts = list(record["sets"][0]["parts"])
    rows = []
    for found in record["sets"]:
        forest = found["forest"]
        shares = [f"{found['parts'][part] / forest:.1f}" for part in parts]
        rows.append(
            [
                found["set"],
                f"{found['rows']:,} × {found['features']}",
                f"{forest:.2f} s",
                f"**{found['AutoRisk'] / forest:.1f}**",
                *shares,
            ]
        )
    most = max(found["AutoRisk"] / found["forest"] for found in record["sets"])
    text = (
        f"In times of one random forest (100 trees, scikit-learn's defaults) on the same rows, one "
        f"thread, seconds of the processor: at most {most:.1f} forests. Measured on "
        f"{record['machine']} by `python -m benchmarks.auto_risk_time`."
    )
    header = ["set", "rows", "forest", "AutoRisk", *parts]
    return "\n\n".join(["## What it takes", text, markdown_table(header, rows, n_text=2)])
