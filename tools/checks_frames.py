"""The third page of docs/checks, from results/frames.json."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.frames import FEW_LEVELS, N_SPLITS, QUANTILES, TEST_SHARE

from condrisk.paper._page import markdown_table
from condrisk.paper._summary import Outcome, paired_tests

RECORD = Path(__file__).resolve().parents[1] / "results" / "frames.json"
BY_HAND, OURS = "by hand", ("AutoRisk()", "RegressionRisk(boosting)")
OTHERS = (*OURS, "skrub")
Cell = tuple[str, int]


def frames_page() -> str:
    """Return the text of the page."""
    record = json.loads(RECORD.read_text(encoding="utf-8"))
    frames = by_frame(record["records"])
    return "\n".join(
        [
            "# Real frames as they are",
            "",
            "Six real tables with numbers, categories, text, dates and gaps, given as they are, "
            "beside pipelines that are written by hand.",
            "",
            *(f"- {verdict(name, frames)}" for name in OTHERS),
            f"- {worth(frames)}",
            f"- {predictors(frames)}",
            "",
            table(frames),
            "",
            method(record),
            "",
        ]
    )


def by_frame(records: list[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    """Return the records of each frame."""
    found: dict[str, list[dict[str, Any]]] = {}
    for line in records:
        found.setdefault(line["frame"], []).append(line)
    return found


def losses(frames: dict[str, list[dict[str, Any]]], name: str, cell: Cell) -> list[float]:
    """Return the deferral losses of a contender, split by split."""
    frame, k = cell
    return [line["figures"][name]["deferral"][k] for line in frames[frame]]


def cells_of(frames: dict[str, list[dict[str, Any]]]) -> list[Cell]:
    """Return frames and costs."""
    return [(frame, k) for frame in frames for k in range(len(QUANTILES))]


def compare(frames: dict[str, list[dict[str, Any]]], name: str) -> Outcome[Cell]:
    """Test a contender against the pipelines made by hand."""
    pairs = {c: (losses(frames, name, c), losses(frames, BY_HAND, c)) for c in cells_of(frames)}
    return paired_tests(pairs, test_share=TEST_SHARE)


def ratio(frames: dict[str, list[dict[str, Any]]], name: str, cell: Cell) -> float:
    """Return the mean deferral loss of a contender as a share of that by hand."""
    return float(np.mean(losses(frames, name, cell)) / np.mean(losses(frames, BY_HAND, cell)))


def verdict(name: str, frames: dict[str, list[dict[str, Any]]]) -> str:
    """Return how a contender does, in a sentence."""
    ratios = {cell: ratio(frames, name, cell) for cell in cells_of(frames)}
    missed = [
        f"{frame} at {QUANTILES[k]:g}: {value:.3f}"
        for (frame, k), value in ratios.items()
        if value > 1
    ]
    found = compare(frames, name)
    mean = np.exp(np.mean(np.log(list(ratios.values()))))
    return (
        f"`{name}` has a deferral loss of at most that by hand in {found.n - len(missed)} of "
        f"{found.n} cells, {mean:.2f} of it in the geometric mean; significantly lower in "
        f"{len(found.better)}, higher in {len(found.worse)}"
        + (f" (above it: {'; '.join(missed)})." if missed else ".")
    )


def worth(frames: dict[str, list[dict[str, Any]]]) -> str:
    """Return where deferring by the risk is better than always or never doing it."""
    counts = {}
    for name in (*OURS, BY_HAND):
        counts[name] = 0
        for frame, k in cells_of(frames):
            lines = frames[frame]
            always = np.mean([line["costs"][k] for line in lines])
            never = np.mean([line["figures"][name]["never"] for line in lines])
            own = np.mean(losses(frames, name, (frame, k)))
            counts[name] += bool(own < 0.99 * min(always, never))
    found = ", ".join(f"{name} in {count}" for name, count in counts.items())
    return (
        f"Of the {len(cells_of(frames))} cells, the risk saves one per cent or more of the better "
        f"of always and never deferring: {found}. In the others there is little to gain, and what "
        f"matters is not to lose."
    )


def predictors(frames: dict[str, list[dict[str, Any]]]) -> str:
    """Return what the predictors alone lose."""
    shares = {}
    for name in OTHERS:
        own, base = (
            [np.mean([line["figures"][n]["never"] for line in lines]) for lines in frames.values()]
            for n in (name, BY_HAND)
        )
        shares[name] = np.exp(np.mean(np.log(own) - np.log(base)))
    found = ", ".join(f"{name} {share:.2f}" for name, share in shares.items())
    return (
        f"The predictors alone, never deferring, as a share of the loss of that made by hand "
        f"(geometric mean over frames): {found}. What goes beyond that is the estimate of the risk."
    )


def table(frames: dict[str, list[dict[str, Any]]]) -> str:
    """Return deferral losses, as shares of that by hand."""
    tests = {name: compare(frames, name) for name in OTHERS}
    rows = []
    for cell in cells_of(frames):
        frame, k = cell
        lines = frames[frame]
        base = float(np.mean(losses(frames, BY_HAND, cell)))
        own = [line["figures"][BY_HAND] for line in lines]
        known = {
            "always": np.mean([line["costs"][k] for line in lines]),
            "never": np.mean([figures["never"] for figures in own]),
            "oracle": np.mean([figures["oracle"][k] for figures in own]),
        }
        shares = [marked(ratio(frames, name, cell), cell, tests[name]) for name in OTHERS]
        rows.append(
            [
                frame,
                f"{QUANTILES[k]:g}",
                f"{base:.4g}",
                *shares,
                *(f"{value / base:.2f}" for value in known.values()),
            ]
        )
    header = ["frame", "cost", BY_HAND, *(f"`{n}`" if n in OURS else n for n in OTHERS)]
    return markdown_table([*header, "always defer", "never defer", "oracle"], rows)


def marked(value: float, cell: Cell, found: Outcome[Cell]) -> str:
    """Return a ratio, in bold where it is significantly lower, with a mark where it is higher."""
    text = f"{value:.2f}"
    return f"**{text}**" if cell in found.better else f"{text} †" if cell in found.worse else text


def method(record: dict[str, Any]) -> str:
    """Return how it was measured."""
    sizes = ", ".join(
        f"{frame} {lines[0]['rows']:,} × {lines[0]['columns']}"
        for frame, lines in by_frame(record["records"]).items()
    )
    return (
        f"Deferral losses on the test rows, in units of that by hand, whose mean is in the third "
        f"column. “never defer” and “oracle” are those of the predictor made by hand; each "
        f"contender has its own. Rows and columns: {sizes}. {N_SPLITS} splits with a quarter of "
        f"the rows to test on. Costs are the quantiles shown of the out-of-fold losses of the "
        f"predictor made by hand; of churn and birds, which are classes, of 1 − max p. Text of up "
        f"to {FEW_LEVELS} values is a category. By hand: one-hot and ordinal codes before "
        f"scikit-learn's boosting, and a second such pipeline on its losses by "
        f"`cross_val_predict`; skrub: the same with its `tabular_pipeline`. Boosting takes numbers "
        f"and categories itself; for hotel rates, flights, tate and birds, which have text or "
        f"dates, the predictor of `RegressionRisk` is `make_pipeline(TableEncoder(), "
        f"HistGradientBoosting…())`. Bold is significantly lower than by hand, † higher: t-tests "
        f"over splits with Nadeau and Bengio's correction, Holm's over all cells, at 5 %. Frames, "
        f"targets and costs were written down before the first run: `benchmarks/frames.py`; again "
        f"with `python -m benchmarks.frames`."
    )
