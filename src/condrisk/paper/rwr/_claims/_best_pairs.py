"""Which two of the sixteen pairs are best."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from condrisk.paper._page import Part, markdown_table, section, verdict_sentence
from condrisk.paper.rwr._claims._common import Losses, Run, losses_of, printed_losses
from condrisk.paper.rwr._paper import COSTS, PAIRS, SETS

CLAIMED = ("RF+RF", "MLP+RF")
TABLE_4 = "energy"


def two_best(runs: Sequence[Run]) -> str:
    sources = {f"the {run.label}": losses_of(run.results) for run in runs}
    found = {label: _mean_ranks(losses) for label, losses in sources.items()}
    found = {label: ranks for label, ranks in found.items() if TABLE_4 in ranks}
    if not found:
        return ""
    found = {"the paper's own tables": _mean_ranks(printed_losses), **found}
    rows = []
    for label, ranks in found.items():
        overall = np.mean(list(ranks.values()), axis=0)
        for scope, mean in ((TABLE_4, ranks[TABLE_4]), (f"{len(ranks)} sets", overall)):
            order = [PAIRS[k] for k in np.argsort(mean, kind="stable")]
            places = [f"{_place(mean, pair)} of {len(PAIRS)}" for pair in CLAIMED]
            rows.append([label.removeprefix("the "), scope, *places, ", ".join(order[:4])])
    header = ["losses", "on", *CLAIMED, "the four best"]
    return section(
        "The two best pairs",
        "“According to Table 4, the two methods that exhibit the best overall performance in our "
        "analysis are MLP+RF and RF+RF” (before Table 5). Table 4 is of energy alone. Places among "
        "the sixteen pairs by RwR loss: its rank at two decimals, the mean over costs (and sets).",
        markdown_table(header, rows, n_text=2),
        *(_verdict(label, ranks) for label, ranks in found.items()),
    )


def _mean_ranks(losses: Losses) -> dict[str, NDArray[np.float64]]:
    """Return, for each set with all pairs, the mean rank of each pair over costs."""
    ranks = {}
    for name in SETS:
        table = [[losses(name, pair, cost) for pair in PAIRS] for cost in COSTS]
        if not any(None in line for line in table):
            ranks[name] = rankdata(np.round(np.array(table, dtype=float), 2), axis=1).mean(axis=0)
    return ranks


def _place(mean: NDArray[np.float64], pair: str) -> int:
    return int(rankdata(mean, method="min")[PAIRS.index(pair)])


def _verdict(label: str, ranks: dict[str, NDArray[np.float64]]) -> str:
    parts = []
    for pair in CLAIMED:
        place = _place(ranks[TABLE_4], pair)
        text = f"{pair} is one of the two best on {TABLE_4} (place {place})"
        parts.append(Part(text, place <= len(CLAIMED)))
    overall = np.mean(list(ranks.values()), axis=0)
    both = all(_place(overall, pair) <= len(CLAIMED) for pair in CLAIMED)
    parts.append(Part(f"they are the two best in the mean over {len(ranks)} sets", both))
    return verdict_sentence(label, parts)
