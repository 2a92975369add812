"""`RiskControlRule(criterion="generalized")`: its level, how many labels it saves, and the prompts.

    python -m benchmarks.generalized                  # all of it, into results/generalized.json
    python -m benchmarks.generalized worlds           # or a part: worlds, labels, prompts

The generalized criterion is the mean over *all* rows of loss × accepted; the selective one is the
mean over accepted rows.

*Worlds.* Five worlds of `benchmarks.risk_control` at confidence 0.95. The guarantee is broken if
the mean of loss × accepted *in the population* exceeds the target; 2,000 repetitions, in which
5,000 rows choose thresholds.

*Labels.* The worlds "line" and "steep" again, both criteria at the same target and confidence 0.9,
with 100 to 6,400 calibration rows and 1,000 to choose thresholds on: how much is accepted, on
average over 1,000 repetitions, as a share of all rows and of what each criterion could accept with
the truth known.

*Prompts.* Those of `benchmarks.batch_control`, with its g: the 1,500 prompts that g is fitted on
choose thresholds, by out-of-fold estimates, 500 of the others are the calibration rows, and what is
left shows what is accepted. 10 splits with 20 draws each, targets 0.1 and 0.2, confidence 0.9.

Written down before the first full run: worlds, sizes, levels and repetitions.
"""

from __future__ import annotations

import json
import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.model_selection import StratifiedKFold, cross_val_predict

from benchmarks import batch_control as batch
from benchmarks.risk_control import WORLDS, Floats, Truth, World
from condrisk._files import write_whole
from condrisk.deferral import RiskControlRule
from condrisk.paper._records import describe_machine, installed_versions

RECORD = Path(__file__).resolve().parents[1] / "results" / "generalized.json"
SEED = 23
NAMES = ("line", "few", "misled", "leaves", "exponential")
CONFIDENCE, REPETITIONS, N_FIT = 0.95, 2000, 5000
LABELS, LABEL_WORLDS = (100, 200, 400, 800, 1600, 3200, 6400), ("line", "steep")
LABEL_REPETITIONS = 1000
CRITERIA = ("selective", "generalized")
PROMPT_DRAWS, N_CALIBRATION = 20, 500


def threshold_of(
    world: World, criterion: str, n_fit: int, rng: np.random.Generator, seed: int
) -> float:
    """Return the threshold that the rule chooses from fresh rows."""
    fit, calibration = world.sample(n_fit, rng), world.sample(world.n_calibration, rng)
    rule = RiskControlRule(
        world.target,
        criterion=criterion,
        confidence=world.confidence,
        cap=world.cap,
        random_state=seed,
    )
    return float(rule.fit(*fit, calibration=calibration).threshold_)


def optimum(truth: Truth, target: float, criterion: str) -> float:
    """Return the largest share that keeps the target with the truth known."""
    mean = truth.mean * (truth.coverage if criterion == "generalized" else 1.0)
    return float(truth.coverage[np.flatnonzero(truth.ends & (mean <= target))].max(initial=0.0))


def run_worlds() -> list[dict[str, Any]]:
    lines = []
    for number, name in enumerate(NAMES):
        world, started = replace(WORLDS[name], confidence=CONFIDENCE), time.perf_counter()
        truth, found = Truth(world), []
        for k in range(REPETITIONS):
            rng = np.random.default_rng([SEED, number, k])
            found.append(truth.at(threshold_of(world, "generalized", N_FIT, rng, k)))
        coverage, mean = np.array(found).T
        lines.append(
            {
                "world": name,
                "text": world.text,
                "target": world.target,
                "n_calibration": world.n_calibration,
                "repetitions": REPETITIONS,
                "violations": int(np.sum(coverage * mean > world.target)),
                "acceptance": float(coverage.mean()),
                "optimum": optimum(truth, world.target, "generalized"),
                "optimum_selective": optimum(truth, world.target, "selective"),
                "seconds": time.perf_counter() - started,
            }
        )
        print(lines[-1], flush=True)
    return lines


def run_labels() -> list[dict[str, Any]]:
    lines = []
    for number, name in enumerate(LABEL_WORLDS):
        truth = Truth(WORLDS[name])
        for n in LABELS:
            world = replace(WORLDS[name], n_calibration=n)
            line: dict[str, Any] = {"world": name, "target": world.target, "labels": n}
            for criterion in CRITERIA:
                shares = []
                for k in range(LABEL_REPETITIONS):
                    rng = np.random.default_rng([SEED, 50 + number, n, k])
                    shares.append(truth.at(threshold_of(world, criterion, 1000, rng, k))[0])
                best = optimum(truth, world.target, criterion)
                line[criterion] = {"acceptance": float(np.mean(shares)), "optimum": best}
            lines.append(line)
            print(line, flush=True)
    return lines


def run_prompts() -> list[dict[str, Any]]:
    text, wrong = batch.read_prompts()
    lines: dict[float, dict[str, Any]] = {
        target: {criterion: [] for criterion in CRITERIA} for target in batch.TARGETS
    }
    for k in range(batch.SPLITS):
        order = np.random.default_rng([batch.SEED, k]).permutation(len(wrong))
        fit, rest = order[: batch.N_FIT], order[batch.N_FIT :]
        folds = StratifiedKFold(5, shuffle=True, random_state=k)
        design = cross_val_predict(
            batch.learner(), text[fit], wrong[fit], cv=folds, method="predict_proba"
        )[:, 1]
        model = batch.learner().fit(text[fit], wrong[fit])
        g, loss = model.predict_proba(text[rest])[:, 1], wrong[rest]
        for d in range(PROMPT_DRAWS):
            held = np.zeros(len(g), dtype=bool)
            draw = np.random.default_rng([SEED, 99, k, d])
            held[draw.choice(len(g), N_CALIBRATION, replace=False)] = True
            for target, found in lines.items():
                for criterion in CRITERIA:
                    rule = RiskControlRule(target, criterion=criterion, cap=1.0, random_state=d)
                    rule.fit(design, wrong[fit], calibration=(g[held], loss[held]))
                    found[criterion].append(shares(g[~held], loss[~held], rule.threshold_))
    return [
        {
            "target": target,
            "repetitions": batch.SPLITS * PROMPT_DRAWS,
            "n_calibration": N_CALIBRATION,
            **{
                criterion: dict(zip(("accepted", "mean"), np.mean(runs, axis=0), strict=True))
                for criterion, runs in found.items()
            },
        }
        for target, found in lines.items()
    ]


def shares(g: Floats, loss: Floats, threshold: float) -> tuple[float, float]:
    """Return the share accepted, and the mean of loss × accepted."""
    accepted = g <= threshold
    return float(accepted.mean()), float((loss * accepted).mean())


def main() -> None:
    warnings.filterwarnings("ignore", message=".*everything is deferred")
    runs: dict[str, Callable[[], Any]] = {
        "worlds": run_worlds,
        "labels": run_labels,
        "prompts": run_prompts,
    }
    record = json.loads(RECORD.read_text(encoding="utf-8")) if RECORD.exists() else {}
    record["config"] = {"confidence": CONFIDENCE, "n_fit": N_FIT, "seed": SEED}
    for part in sys.argv[1:] or list(runs):
        record[part] = runs[part]()
        record["machine"], record["versions"] = describe_machine(), installed_versions()
        write_whole(RECORD, json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    main()
