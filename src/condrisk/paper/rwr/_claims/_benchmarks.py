"""How the pairs fare against the benchmarks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import NamedTuple

import numpy as np

from condrisk.paper._page import HALF, Part, grade, markdown_table, section, verdict_sentence
from condrisk.paper._render import escape_markdown
from condrisk.paper._summary import paired_tests
from condrisk.paper.rwr._claims._common import Losses, Run, losses_of, printed_losses
from condrisk.paper.rwr._paper import BENCHMARKS, COSTS, SETS, TEST_SHARE
from condrisk.paper.rwr._results import Results

# (method, rival): in how many of 32 settings the paper says that it matches or surpasses it.
CLAIMED = {
    ("MLP+RF", "NN+kNNRej"): 30,
    ("MLP+RF", "SelNet"): 27,
    ("RF+RF", "NN+kNNRej"): 24,
    ("RF+RF", "SelNet"): 25,
}
RIVALS = ("NN+kNNRej", "SelNet", "NN+kernel")
# From which share of the rival's loss on a lost cell is not a small loss.
SMALL = 0.1


class Tally(NamedTuple):
    """How a method fares against a rival, over sets and costs."""

    matches: int
    better: int
    between: int
    worse: int

    @property
    def settings(self) -> int:
        """In how many settings both were run."""
        return self.better + self.between + self.worse


def counts(runs: Sequence[Run]) -> str:
    found = {run.label: _tallies(run.results) for run in runs}
    rows = _count_rows(found)
    if not rows:
        return ""
    header = ["method", "against", "claimed", "paper's table"]
    for label in found:
        header += [f"{label}: matches or beats", "significantly better / even / worse"]
    printed = [
        Part(f"{m} against {r} {n}", _printed_matches(m, r) == n) for (m, r), n in CLAIMED.items()
    ]
    sentences = [verdict_sentence("the paper's own Table 7", printed)]
    for label, tallies in found.items():
        parts = [
            Part(f"{m} against {r} at least {n} of 32", t.matches / t.settings >= n / 32)
            for (m, r), n in CLAIMED.items()
            if (t := tallies.get((m, r)))
        ]
        sentences += [verdict_sentence(f"the {label}", parts)] if parts else []
    return section(
        "In how many settings the pairs match or surpass the benchmarks",
        "“MLP+RF matches or surpasses NN+kNNRej in 30 out of 32 RwR settings, and in 27 out of 32 "
        "settings when compared to SelectiveNet”; “RF+RF matches or surpasses NN+kNNRej in 24 out "
        "of 32 settings, and in 25 out of 32 settings when compared to SelectiveNet” (with "
        "Table 5). Matching is at the two printed decimals, as in the paper. NN+kernel is "
        "NN+kNNRej without its fault of accepting where it knows nothing.",
        markdown_table(header, rows, n_text=2),
        *sentences,
    )


def _count_rows(found: Mapping[str, Mapping[tuple[str, str], Tally]]) -> list[list[str]]:
    rows = []
    for method, rival in dict.fromkeys(key for tallies in found.values() for key in tallies):
        row = [escape_markdown(method), rival, "", ""]
        claimed = CLAIMED.get((method, rival))
        if claimed is not None:
            row[2:] = [f"{claimed} of 32", f"{_printed_matches(method, rival)} of 32"]
        for tallies in found.values():
            if (method, rival) in tallies:
                matches, better, between, worse = tallies[method, rival]
                settings = tallies[method, rival].settings
                row += [f"{matches} of {settings}", f"{better} / {between} / {worse}"]
            else:
                row += ["", ""]
        rows.append(row)
    return rows


def outperforms(runs: Sequence[Run]) -> str:
    sentences = []
    for run in runs:
        tallies = [tally for key, tally in _tallies(run.results).items() if key in CLAIMED]
        if tallies:
            mostly = all(t.better > t.worse for t in tallies)
            parts = [
                Part("each is better more often than worse", mostly),
                Part("each is better in most", all(t.better > HALF * t.settings for t in tallies)),
                Part("none is ever worse", not any(t.worse for t in tallies)),
            ]
            sentences.append(verdict_sentence(f"the {run.label}", parts))
    return section(
        "Consistently better than the benchmarks",
        "“By adopting a stronger conditional risk calibrator, our method consistently outperforms "
        "existing benchmarks on the RwR task” (conclusion of the section). MLP+RF and RF+RF "
        "against NN+kNNRej and SelNet; better and worse mean significantly so, as in the table "
        "above.",
        *sentences,
    )


def _tallies(results: Results) -> dict[tuple[str, str], Tally]:
    """Return the tally of each method of interest against each rival that was run."""
    methods = ("MLP+RF", "RF+RF", *results.new_methods)
    tallies = {
        (method, rival): tally(results, method, rival, results.paper_sets)
        for method in methods
        for rival in RIVALS
    }
    return {key: found for key, found in tallies.items() if found.settings}


def tally(results: Results, method: str, rival: str, sets: Iterable[str]) -> Tally:
    """Count the settings in which a method matches a rival, is better, and is worse."""
    cells = {}
    for name in sets:
        for cost in COSTS:
            ours, other = results.paired("loss", name, method, rival, cost)
            if ours:
                cells[name, cost] = (ours, other)
    tests = paired_tests(cells, test_share=TEST_SHARE)
    means = [[round(float(np.mean(side)), 2) for side in pair] for pair in cells.values()]
    matches = sum(ours <= other for ours, other in means)
    return Tally(matches, len(tests.better), len(tests.even), len(tests.worse))


def _printed_matches(method: str, rival: str) -> int:
    cells = [
        (printed_losses(s, method, c), printed_losses(s, rival, c)) for s in SETS for c in COSTS
    ]
    return sum(ours is not None and other is not None and ours <= other for ours, other in cells)


def remaining(runs: Sequence[Run]) -> str:
    """Return how much is lost where a pair does not match a benchmark."""
    sources = {f"On the {run.label}": losses_of(run.results) for run in runs}
    found = {label: _lost_by_method(losses) for label, losses in sources.items()}
    found = {label: lost for label, lost in found.items() if lost}
    if not found:
        return ""
    found = {"As published": _lost_by_method(printed_losses), **found}
    rows = [
        [label, method, *_lost_row(lost)]
        for label, by_method in found.items()
        for method, lost in by_method.items()
    ]
    header = ["losses", "method", "lost cells", f"by {SMALL:.0%} or more", "median", "largest"]
    return section(
        "Small differences in the remaining cases",
        "“In the remaining cases, the differences in RwR losses are generally small” (of MLP+RF, "
        "with Table 5; “similarly” of RF+RF). Cells in which a pair has a higher loss than "
        "NN+kNNRej or SelNet at two decimals, and by which share of the benchmark's loss.",
        markdown_table(header, rows, n_text=2),
        *(_lost_verdict(label, list(chain(*lost.values()))) for label, lost in found.items()),
    )


def _lost_by_method(losses: Losses) -> dict[str, list[float]]:
    """Return, for each pair that was compared, the shares of `_gaps` above zero."""
    found = {method: _gaps(losses, method) for method in ("MLP+RF", "RF+RF")}
    return {method: [gap for gap in gaps if gap > 0] for method, gaps in found.items() if gaps}


def _gaps(losses: Losses, method: str) -> list[float]:
    """Return by which share of a benchmark's loss a method is above it, at two decimals."""
    cells = [
        (losses(name, method, cost), losses(name, rival, cost))
        for rival in BENCHMARKS
        for name in SETS
        for cost in COSTS
    ]
    return [round(a, 2) / round(b, 2) - 1 for a, b in cells if a is not None and b is not None]


def _lost_row(lost: Sequence[float]) -> list[str]:
    if not lost:
        return ["0", "0", "–", "–"]
    large = sum(share >= SMALL for share in lost)
    return [str(len(lost)), str(large), f"{np.median(lost):.0%}", f"{max(lost):.0%}"]


def _lost_verdict(label: str, lost: Sequence[float]) -> str:
    large = sum(share >= SMALL for share in lost)
    verdict = grade(1 - large / max(len(lost), 1))
    text = f"{label} the claim **{verdict}**: of {len(lost)} lost cells {large} lose {SMALL:.0%}"
    return f"{text} or more{f', up to {max(lost):.0%}' if lost else ''}."
