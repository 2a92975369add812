"""Which models are strong, and which are weak."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.stats import rankdata

from condrisk.paper._page import Part, markdown_table, number, section, verdict_sentence
from condrisk.paper.rwr._claims._common import Run
from condrisk.paper.rwr._paper import MODELS, SETS
from condrisk.paper.rwr._results import Results

# Where, the paper says, one value of the target dominates and LR does well.
EXCEPTIONS = ("solar", "forest")
Ranks = dict[str, list[float]]


def strong_and_weak(runs: Sequence[Run]) -> str:
    kinds = {
        "calibrators, by absolute error (the paper's measure)": ("calibrator", "risk_l1"),
        "calibrators, by squared error (the proper measure)": ("calibrator", "risk_l2"),
        "predictors, by squared loss": ("predictor", "predictor_loss"),
    }
    body = []
    for kind, (role, quantity) in kinds.items():
        found = [(run, _ranks(run.results, role, quantity)) for run in runs]
        found = [(run, ranks) for run, ranks in found if ranks]
        if found:
            body += [f"Mean ranks of the {kind}; 1 is best:", _rank_table(found)]
            body += [_role_verdict(f"the {run.label}", role, ranks) for run, ranks in found]
    return section(
        "Strong and weak models",
        "“LR generally performs relatively poorly as both a predictor and a calibrator, whereas "
        "RF and MLP2 exhibit comparatively better performance in both roles. The only exceptions "
        "are the Solar and Forest datasets, where LR demonstrates strong performance” (with "
        "Table 3), and “the RF calibrator outperforms other calibrators on the vast majority of "
        "the considered datasets” (with Table 4).",
        *body,
    )


def _ranks(results: Results, role: str, quantity: str) -> Ranks:
    """Return, for each set, the rank of each model, the mean over predictors for calibrators."""
    ranks: Ranks = {}
    for name in results.paper_sets:
        if role == "predictor":
            groups = [[results.mean(quantity, name, model) for model in MODELS]]
        else:
            groups = [[results.mean(quantity, name, f"{p}+{m}") for m in MODELS] for p in MODELS]
        whole = [rankdata(np.array(g, dtype=float)) for g in groups if None not in g]
        if whole:
            ranks[name] = np.mean(whole, axis=0).tolist()
    return ranks


def _rank_table(found: Sequence[tuple[Run, Ranks]]) -> str:
    header = ["set"] + [_column(run, model, found) for run, _ in found for model in MODELS]
    rows = []
    for name in SETS:
        if any(name in ranks for _, ranks in found):
            rows.append([name, *(text for _, ranks in found for text in _four(ranks.get(name)))])
    label = f"all but {' and '.join(EXCEPTIONS)}"
    rows.append([label, *(text for _, ranks in found for text in _four(_mean_ranks(ranks)))])
    return markdown_table(header, rows)


def _four(ranks: Sequence[float] | None) -> list[str]:
    return ["–"] * len(MODELS) if ranks is None else [number(rank, 1) for rank in ranks]


def _mean_ranks(ranks: Ranks) -> list[float] | None:
    general = [rank for name, rank in ranks.items() if name not in EXCEPTIONS]
    return np.mean(general, axis=0).tolist() if general else None


def _role_verdict(label: str, role: str, ranks: Ranks) -> str:
    parts = []
    general = _mean_ranks(ranks)
    if general is not None:
        of = dict(zip(MODELS, general, strict=True))
        others = f"without {' and '.join(EXCEPTIONS)}"
        parts.append(Part(f"LR has the worst mean rank {others}", of["LR"] == max(general)))
        strong = max(of["RF"], of["MLP2"]) < min(of["LR"], of["MLP"])
        parts.append(Part(f"RF and MLP2 have the two best mean ranks {others}", strong))
    for name in EXCEPTIONS:
        if name in ranks:
            better = ranks[name][MODELS.index("LR")] < (len(MODELS) + 1) / 2
            parts.append(Part(f"LR is better than the average on {name}", better))
    if role == "calibrator":
        first = sum(rank[MODELS.index("RF")] == min(rank) for rank in ranks.values())
        text = f"RF has the best mean rank on at least three sets in four ({first} of {len(ranks)})"
        parts.append(Part(text, first >= 0.75 * len(ranks)))
    return verdict_sentence(label, parts)


def _column(run: Run, name: str, found: Sequence[tuple[Run, Ranks]]) -> str:
    return name if len(found) == 1 else f"{run.label}: {name}"
