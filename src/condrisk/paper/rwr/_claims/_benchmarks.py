"""How the pairs fare against the benchmarks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from condrisk.paper._page import HALF, Part, markdown_table, section, verdict_sentence
from condrisk.paper._render import escape_markdown
from condrisk.paper._summary import paired_difference
from condrisk.paper.rwr._claims._common import Run
from condrisk.paper.rwr._paper import COSTS, SETS, source_value
from condrisk.paper.rwr._results import Results

# (method, rival): in how many of 32 settings the paper says that it matches or surpasses it.
CLAIMED = {
    ("MLP+RF", "NN+kNNRej"): 30,
    ("MLP+RF", "SelNet"): 27,
    ("RF+RF", "NN+kNNRej"): 24,
    ("RF+RF", "SelNet"): 25,
}
RIVALS = ("NN+kNNRej", "SelNet", "NN+kernel")


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
        header += [f"{label}: matches or beats", "better / even / worse by two SE"]
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
        "against NN+kNNRej and SelNet; better and worse mean by more than two standard errors, as "
        "in the table above.",
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
    matches = better = between = worse = 0
    for name in sets:
        for cost in COSTS:
            ours = results.values("loss", name, method, cost)
            other = results.values("loss", name, rival, cost)
            difference = paired_difference(ours, other)
            if difference is None:
                continue
            shared = ours.keys() & other.keys()
            means = [np.mean([side[fold] for fold in shared]) for side in (ours, other)]
            matches += round(float(means[0]), 2) <= round(float(means[1]), 2)
            two_se = np.inf if difference.se is None else 2 * difference.se + 1e-12
            better += difference.mean > two_se
            worse += difference.mean < -two_se
            between += abs(difference.mean) <= two_se
    return Tally(matches, better, between, worse)


def _printed_matches(method: str, rival: str) -> int:
    count = 0
    for name in SETS:
        for cost in COSTS:
            ours, other = (source_value("printed", "loss", name, m, cost) for m in (method, rival))
            count += ours is not None and other is not None and ours.mean <= other.mean
    return count
