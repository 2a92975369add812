"""The study behind the guarantee of `BatchControlRule`: batches, and two language models.

    python -m benchmarks.batch_control            # all of it, into results/batch_control.json
    python -m benchmarks.batch_control worlds     # or a part: worlds, prompts, bargain, stopping,
                                                  # ceilings
    python -m benchmarks.batch_control ceilings bargain=FOLDER   # compares the bounds of BARGAIN
                                                  # with its wheel, unpacked in FOLDER

*Worlds.* Batches of 4,000 rows whose losses are drawn once and then fixed; 300 labels, target 0.1,
confidence 0.9. In each of 200 repetitions only the draw of the labels is new. The guarantee is
broken if the losses of the rows kept add up to more than 0.1 · 4,000.

*Prompts.* 14,042 prompts of MMLU that two language models have answered
(`../shared/data/routing`, see `condrisk.paper` on where files are looked for; the original is in
the repository of RouteLLM). The answer of the cheap model is kept or replaced by that of the large
one, which is taken as the reference: a row that is kept loses 1 if the cheap model is wrong. In
each of 10 splits, 1,500 prompts fit g (a logistic regression on TF-IDF of subject and prompt), the
other 12,542 are the batch. 500 labels, allowance (1 - confidence) 10 %, targets 0.1 and 0.2 for the
mean loss over the batch; 100 draws of labels in each split, 1,000 in all. Rivals, with the same
labels:

Clopper-Pearson   500 rows drawn uniformly, the exact binomial test of the generalized criterion;
                  on a grid of 20 thresholds and on one of 400
BARGAIN           the procedure of BARGAIN_A (Zeighami et al., 2026; the package "bargain" 0.1.3 on
                  PyPI has no label budget, so its loop is written again here, stopped at 500
                  labels; its bounds give what those of the package give), with
                  its default grid of 20 thresholds and with 100; and without the rule by which it
                  gives up on a threshold whose first 50 labels are not clear, so that it goes on
                  until its bets decide or its labels are used

*Kept* is net of labels, as BARGAIN reports it; *threshold* counts all rows up to the threshold. The
ceiling is the largest share up to a threshold whose losses keep the target, without a label.

*Stopping.* The anytime version in the same draws, looked at after every 25 labels: how many it has
needed when it keeps a given share, how often the guarantee is broken where one stops there, and how
often at *any* look. The limit of 500 labels is where the others stop.

*Limits.* What no fixed number of labels can do much better than, for the net count: with the share
of losses known at every rank (an isotonic regression on all losses of the batch), the last rank at
which the loss left, plus 1.28 standard errors of its best linear estimate, keeps the target; labels
drawn uniformly, or each row with the best chance, in proportion to the standard deviation of its
loss, from a frame that ends just where the target is reached.

Written down before the first full run: worlds, sizes, levels, splits and repetitions. Chosen before
on other splits and seeds: the width of the frame that labels are drawn from (1.3), and the number
of thresholds that bets are made on (400). Tried later on other splits, to keep more net of labels
at accuracy 0.8, and left: 200 to 400 labels in place of 500, and a frame of 1.15. Added later:
1,000 draws of BARGAIN in place of 200, its variant that does not give up, stopping and limits.
"""

from __future__ import annotations

import csv
import gzip
import itertools
import json
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binom, norm
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from condrisk._files import write_whole
from condrisk.deferral import BatchControlRule
from condrisk.paper._records import describe_machine, installed_versions

ROOT = Path(__file__).resolve().parents[1]
RECORD = ROOT / "results" / "batch_control.json"
PROMPTS = ROOT.parent / "shared" / "data" / "routing" / "mmlu_two_models.csv.gz"
Floats = NDArray[np.float64]

SEED = 7
LEVEL = 0.1
WORLD = {"n_rows": 4000, "n_labels": 300, "target": 0.1, "repetitions": 200}
SPLITS, DRAWS = 10, 100
LOOK, GOALS = 25, {0.1: (0.3, 0.35, 0.4), 0.2: (0.55, 0.6, 0.65)}
N_FIT, N_LABELS, TARGETS = 1500, 500, (0.1, 0.2)
OURS: dict[str, dict[str, Any]] = {
    "fixed": {"test": "hypergeometric"},
    "betting": {"test": "betting"},
    "betting, by risk": {"test": "betting", "sampling": "risk"},
}

# -- worlds ----------------------------------------------------------------------------------------


def worlds() -> dict[str, tuple[str, Floats, Floats]]:
    """Return what is said of each batch, its risks and its losses."""
    rng = np.random.default_rng(SEED)
    n = WORLD["n_rows"]
    u = (np.arange(n) + 0.5) / n
    fair = (rng.random(n) < u).astype(float)
    drift = (rng.random(n) < np.where(np.arange(n) % 2, u**2, np.minimum(2 * u, 1))).astype(float)
    misled = np.where(u < 0.05, 1.0, (rng.random(n) < 0.05).astype(float))
    return {
        "right": ("0/1, the risk is right", u, fair),
        "overconfident": ("0/1, the risk is a third of the truth", u / 3, fair),
        "misled": ("0/1, all lose where the risk is lowest", u, misled),
        "mixed": ("0/1, two halves with different laws, not exchangeable", u, drift),
        "steps": ("0/1, a risk of eight values", np.floor(8 * u) / 8, fair),
        "wall": ("0/1, no loss up to u = 0.3, only losses beyond", u, (u > 0.3).astype(float)),
        "sizes": ("losses of any size, the risk is their mean", u**2, u**2 * rng.beta(8, 8, n) * 2),
        "exact": ("losses of any size, the risk is the loss", u**3, u**3),
    }  # fmt: skip


def run_worlds() -> list[dict[str, Any]]:
    lines = []
    for number, (name, (text, risk, loss)) in enumerate(worlds().items()):
        loss = np.minimum(loss, 1.0)
        left = np.cumsum(loss[np.argsort(risk, kind="stable")])
        ends = np.append(np.diff(np.sort(risk)) > 0, True)
        best = int(np.flatnonzero((left <= WORLD["target"] * len(loss)) & ends)[-1:].sum()) + 1
        two_values = bool(np.isin(loss, [0, 1]).all())
        found = {}
        for method, options in OURS.items():
            if method == "fixed" and not two_values:
                continue
            runs = [
                draw(risk, loss, WORLD["target"], WORLD["n_labels"], options, [number, k])
                for k in range(WORLD["repetitions"])
            ]
            found[method] = summary(runs)
        lines.append({"world": name, "text": text, "ceiling": best / len(loss), "methods": found})
        print(name, found, flush=True)
    return lines


def draw(
    risk: Floats, loss: Floats, target: float, n_labels: int, options: dict[str, Any], seed: list
) -> tuple[float, float, bool]:
    """Return the shares kept and up to the threshold, and whether the target is broken."""
    rule = rule_of(target, n_labels, options, seed).start(risk)
    rows = rule.next_rows()
    rule.update(rows, loss[rows])
    return outcome(rule.kept_, risk <= rule.threshold_, loss, target)


def rule_of(target: float, n_labels: int, options: dict[str, Any], seed: list) -> BatchControlRule:
    state = int(np.random.default_rng([SEED, *seed]).integers(2**31 - 1))
    return BatchControlRule(
        target, n_labels=n_labels, confidence=1 - LEVEL, random_state=state, **options
    )


def outcome(
    kept: NDArray[np.bool_], below: NDArray[np.bool_], loss: Floats, target: float
) -> tuple[float, float, bool]:
    broken = bool(loss[kept].sum() > target * len(loss) * (1 + 1e-12))
    return float(kept.mean()), float(below.mean()), broken


def summary(runs: list[tuple[float, float, bool]]) -> dict[str, Any]:
    kept, below, broken = np.array(runs, dtype=float).T
    return {
        "repetitions": len(runs),
        "kept": float(kept.mean()),
        "kept_sd": float(kept.std(ddof=1)),
        "threshold": float(below.mean()),
        "violations": int(broken.sum()),
    }


# -- prompts ---------------------------------------------------------------------------------------


def splits() -> list[tuple[Floats, Floats]]:
    """Return g and loss of the batch of each split."""
    text, wrong = read_prompts()
    found = []
    for k in range(SPLITS):
        order = np.random.default_rng([SEED, k]).permutation(len(wrong))
        fit, batch = order[:N_FIT], order[N_FIT:]
        model = learner().fit(text[fit], wrong[fit])
        found.append((model.predict_proba(text[batch])[:, 1], wrong[batch]))
    return found


def read_prompts() -> tuple[NDArray[Any], Floats]:
    """Return the prompts, and whether the cheap model's answer is wrong."""
    with gzip.open(PROMPTS, "rt", encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    text = np.array([f"{row['subject']} {row['prompt']}" for row in rows], dtype=object)
    return text, np.array([row["mixtral_correct"] != "True" for row in rows], dtype=float)


def learner() -> Any:
    """Return what learns g."""
    return make_pipeline(TfidfVectorizer(sublinear_tf=True, min_df=2), LogisticRegression())


def clopper_pearson(g: Floats, loss: Floats, target: float, n_grid: int, seed: list) -> Any:
    """Return what the exact binomial test of all rows accepts, from a uniform sample."""
    n, order = len(loss), np.argsort(g, kind="stable")
    labelled = np.random.default_rng([SEED, *seed]).choice(n, N_LABELS, replace=False)
    rank = np.empty(n, dtype=int)
    rank[order] = np.arange(n)
    ends = np.arange(1, n_grid + 1) * (n // n_grid)
    wrong = np.sort(rank[labelled][loss[labelled] > 0])
    fine = binom.cdf(np.searchsorted(wrong, ends), N_LABELS, target) <= LEVEL
    stop = int(ends[np.argmin(fine) - 1]) if fine[0] and not fine.all() else int(fine.all()) * n
    below = rank < stop
    kept = below.copy()
    kept[labelled] = False
    return outcome(kept, below, loss, target)


class BargainSampler:
    """Rows of the batch, by rank of the risk, in one random order for all thresholds."""

    def __init__(self, n: int, rng: np.random.Generator) -> None:
        self.order, self.labelled = rng.permutation(n), set[int]()

    def upto(self, end: int) -> NDArray[np.intp]:
        """Return the rows up to a rank, in the order in which they are labelled."""
        return self.order[self.order <= end]


def bargain(
    g: Floats, loss: Floats, target: float, n_grid: int, seed: list, *, gives_up: bool = True
) -> Any:
    """BARGAIN_A with a budget of labels: thresholds upwards, each until bets have decided."""
    n, order = len(loss), np.argsort(g, kind="stable")
    correct = 1 - loss[order]
    sampler = BargainSampler(n, np.random.default_rng([SEED, *seed]))
    best, step = 0, max(n // n_grid, 1)
    for end in range(step - 1, n, step):
        wanted = 1 - target if end == n - 1 else (end + 1 - target * n) / (end + 1)
        if wanted <= 0:
            continue
        if not _bargain_passes(correct, sampler, end, wanted, gives_up=gives_up):
            break
        best = end
    labelled = np.zeros(n, dtype=bool)
    labelled[list(sampler.labelled)] = True
    below = np.arange(n) < best
    in_rank_order = loss[order]
    return (*outcome(below & ~labelled, below, in_rank_order, target), len(sampler.labelled))


def _bargain_passes(
    correct: Floats, sampler: BargainSampler, end: int, wanted: float, *, gives_up: bool
) -> bool:
    rows = sampler.upto(end)
    for taken in range(10, len(rows) + 10, 10):
        seen = rows[:taken]
        if len(sampler.labelled.union(seen.tolist())) > N_LABELS:
            return False
        sampler.labelled.update(seen.tolist())
        x = correct[seen]
        if len(seen) == len(rows):
            return bool(x.mean() >= wanted)
        above = bool(x.mean() >= wanted)
        if bargain_decides(x, wanted, end + 1, above=above):
            return above
        if gives_up and len(x) >= 50 and x.mean() - x.std() < wanted:
            return False
    return False


def bargain_decides(x: Floats, mean: float, n: int, *, above: bool) -> bool:
    """Tell whether its bets decide that the mean of n rows is above, or below, this one."""
    i = np.arange(1, len(x) + 1)
    before = np.append(0.0, np.cumsum(x)[:-1])
    squares = np.append(0.0, np.cumsum(x**2)[:-1])
    centre = (0.5 + before) / i
    variance = (0.25 + squares - 2 * centre * before + (i - 1) * centre**2) / i
    rest = (n * mean - before) / (n - (i - 1))
    bet = np.sqrt(2 * np.log(2 / LEVEL) / (i * np.log(i + 1) * variance))
    if above:
        factors = 1 + np.minimum(bet, 0.75 / rest) * (x - rest)
    else:
        factors = 1 - np.minimum(bet, 0.75 / (1 - rest[-1])) * (x - rest)
    return bool((np.cumprod(factors) >= 1 / LEVEL).any())


def check_bargain(folder: str | None) -> str | None:
    """Compare the bounds with those of the package's own file, unpacked in a folder."""
    if folder is None:
        return None
    from importlib.util import module_from_spec, spec_from_file_location

    path = Path(folder) / "BARGAIN" / "bounds" / "betting_bounds.py"
    spec = spec_from_file_location("betting_bounds", path)
    assert spec is not None
    assert spec.loader is not None
    bounds = module_from_spec(spec)
    spec.loader.exec_module(bounds)
    rng = np.random.default_rng(0)
    for _ in range(200):
        x, mean = (rng.random(60) < rng.random()).astype(float), float(rng.uniform(0.2, 0.9))
        for above, theirs in (
            (True, bounds.test_if_true_mean_is_above_m),
            (False, bounds.test_if_true_mean_is_below_m),
        ):
            undecided = theirs(
                x, mean, LEVEL, fixed_sample_size=False, without_replacement=True, N=600
            )
            if bargain_decides(x, mean, 600, above=above) == undecided:
                raise AssertionError("the bounds differ from those of the package")
    return "0.1.3"


def selective_ceiling(g: Floats, loss: Floats, target: float) -> float:
    """Return the largest share up to a threshold whose own mean loss keeps the target."""
    order = np.argsort(g, kind="stable")
    mean = np.cumsum(loss[order]) / np.arange(1, len(loss) + 1)
    return float(np.flatnonzero(mean <= target)[-1:].sum() + (mean <= target).any()) / len(loss)


def limit(g: Floats, loss: Floats, target: float, *, best: bool) -> float:
    """Return the share kept net of labels with the law of the losses known; see above."""
    n, lost = len(loss), loss[np.argsort(g, kind="stable")]
    chance = IsotonicRegression().fit_transform(np.arange(n), lost)
    frame = int(np.searchsorted(np.cumsum(chance), target * n)) + 1
    chance, lost = chance[:frame], lost[:frame]
    spread = np.sqrt(chance * (1 - chance))
    labelled = np.minimum(N_LABELS * (spread / spread.sum() if best else np.ones(frame) / frame), 1)
    if best:
        terms = spread**2 * (1 - labelled) / np.maximum(labelled, 1e-12)
        variance = np.cumsum(terms)
    else:
        share = np.cumsum(lost) / frame
        variance = frame**2 * share * (1 - share) / N_LABELS * (1 - N_LABELS / frame)
    left = np.cumsum(lost * (1 - labelled)) + norm.ppf(1 - LEVEL) * np.sqrt(variance)
    last = int(np.flatnonzero(left <= target * n)[-1]) + 1
    return float(last - labelled[:last].sum()) / n


def run_stopping() -> list[dict[str, Any]]:
    """Return what the anytime version has kept after so many labels, and where one may stop."""
    found, lines = splits(), []
    for target in TARGETS:
        paths = [path(g, z, target, [k, d]) for k, (g, z) in enumerate(found) for d in range(DRAWS)]
        kept, broken = (np.array([one[i] for one in paths]) for i in (0, 1))
        goals = []
        for goal in GOALS[target]:
            there = kept >= goal
            reached = there.any(axis=1)
            stop = np.where(reached, there.argmax(axis=1), kept.shape[1] - 1)
            rows = np.arange(len(kept))
            goals.append(
                {
                    "kept": goal,
                    "reached": float(reached.mean()),
                    "labels": float(LOOK * (stop + 1).mean()),
                    "violations": int(broken[rows, stop].sum()),
                }
            )
        lines.append(
            {
                "target": target,
                "repetitions": len(kept),
                "labels": [LOOK * (k + 1) for k in range(kept.shape[1])],
                "kept": kept.mean(axis=0).tolist(),
                "violations": broken.sum(axis=0).tolist(),
                "violations_at_any": int(broken.any(axis=1).sum()),
                "goals": goals,
            }
        )
        print(lines[-1], flush=True)
    return lines


def path(g: Floats, loss: Floats, target: float, seed: list) -> tuple[list[float], list[bool]]:
    """Return the share kept, and whether the target is broken, after every few labels."""
    rule = rule_of(target, N_LABELS, OURS["betting"], seed).start(g)
    kept, broken = [], []
    while rule.labels_used_ < N_LABELS:
        rows = rule.next_rows(LOOK)
        rule.update(rows, loss[rows])
        share, _, wrong = outcome(rule.kept_, rule.kept_, loss, target)
        kept.append(share)
        broken.append(wrong)
    return kept, broken


def run_ceilings() -> list[dict[str, float]]:
    """Return the ceilings of both criteria: what deferring the rest is allowed to hide."""
    found = splits()
    return [
        {
            "target": target,
            "generalized": float(
                np.mean(
                    [
                        np.mean(np.cumsum(z[np.argsort(g, kind="stable")]) <= target * len(z))
                        for g, z in found
                    ]
                )
            ),
            "selective": float(np.mean([selective_ceiling(g, z, target) for g, z in found])),
            "limit, uniform": float(np.mean([limit(g, z, target, best=False) for g, z in found])),
            "limit, best": float(np.mean([limit(g, z, target, best=True) for g, z in found])),
        }
        for target in TARGETS
    ]


def run_prompts() -> dict[str, Any]:
    started, found = time.perf_counter(), splits()
    lines = []
    for target in TARGETS:
        ceilings = [
            float(np.mean(np.cumsum(z[np.argsort(g, kind="stable")]) <= target * len(z)))
            for g, z in found
        ]
        methods: dict[str, Any] = {}
        for method, options in OURS.items():
            methods[method] = summary(
                [
                    draw(g, z, target, N_LABELS, options, [k, d])
                    for k, (g, z) in enumerate(found)
                    for d in range(DRAWS)
                ]
            )
            print(target, method, methods[method], flush=True)
        for n_grid in (20, 400):
            methods[f"Clopper-Pearson, grid of {n_grid}"] = summary(
                [
                    clopper_pearson(g, z, target, n_grid, [k, d])
                    for k, (g, z) in enumerate(found)
                    for d in range(DRAWS)
                ]
            )
        lines.append({"target": target, "ceiling": float(np.mean(ceilings)), "methods": methods})
    return {
        "n_rows": len(found[0][1]),
        "n_fit": N_FIT,
        "n_labels": N_LABELS,
        "splits": SPLITS,
        "draws": DRAWS,
        "targets": lines,
        "seconds": time.perf_counter() - started,
    }


def run_bargain() -> list[dict[str, Any]]:
    """Return how BARGAIN does on the prompts."""
    found, lines = splits(), []
    for target in TARGETS:
        methods: dict[str, Any] = {}
        for n_grid, gives_up in itertools.product((20, 100), (True, False)):
            name = f"BARGAIN, grid of {n_grid}" + ("" if gives_up else ", never giving up")
            runs = [
                bargain(g, z, target, n_grid, [k, d], gives_up=gives_up)
                for k, (g, z) in enumerate(found)
                for d in range(DRAWS)
            ]
            methods[name] = summary([run[:3] for run in runs]) | {
                "labels": float(np.mean([run[3] for run in runs]))
            }
            print(target, name, methods[name], flush=True)
        lines.append({"target": target, "methods": methods})
    return lines


def main() -> None:
    runs = {
        "worlds": run_worlds,
        "prompts": run_prompts,
        "bargain": run_bargain,
        "stopping": run_stopping,
        "ceilings": run_ceilings,
    }
    parts = [part for part in sys.argv[1:] if "=" not in part] or list(runs)
    folders = [part.split("=")[1] for part in sys.argv[1:] if part.startswith("bargain=")]
    checked = check_bargain(folders[0] if folders else None)
    record = json.loads(RECORD.read_text(encoding="utf-8")) if RECORD.exists() else {}
    record["config"] = {"level": LEVEL, "seed": SEED, **WORLD}
    if checked is not None:
        record["bargain_checked"] = checked
    for part, run in runs.items():
        if part in parts:
            record[part] = run()
            record["machine"], record["versions"] = describe_machine(), installed_versions()
            write_whole(RECORD, json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    main()
