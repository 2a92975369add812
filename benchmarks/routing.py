"""Routing between models: two language models on MMLU, a world of known risk, time.

    python -m benchmarks.routing                   # run it, write results/routing.json
    python -m benchmarks.routing --table FILE      # the MMLU table, where there is no network
    python -m benchmarks.routing --keep FILE       # draws that are done are kept there, one a line
    python -m benchmarks.routing --draws N --transfers N   # fewer of them
    python -m benchmarks.routing --keep FILE --stop        # the record of what is kept, no more

MMLU: 20 draws of 1,500 labelled prompts; all other prompts are for testing. Whatever is learnt of
the text, vocabulary and components included, is learnt on the 1,500. Quality is the APGR: the share
of the gap between the two models that routing closes, averaged over all shares of calls to the
better one; 0.5 is random. Compared are, on the same draws,

    ridge              TF-IDF of words, 64 components, RidgeCV on the difference of the losses
    ridge, log counts  the same with log counts of words
    neighbours         50 nearest, by cosine, of the 64 components
    router             ModelRouter on the prompts, as it comes
    subject            the mean difference of the subject in the 1,500, shrunk by 10 prompts: what a
                       router would know that is told the subject, which stands in no prompt

Intervals over draws are by Student's t. Draws share nine tenths of their test prompts, so that they
say how far the gain depends on which prompts are labelled; how far it depends on the prompts tested
on is said by a bootstrap over prompts of the gain averaged over draws (200 resamples, the same
resample for all draws).

Calibration: `risk_calibration_error` with ten bins of equal size on the test prompts. Guarantee:
`RiskControlRule(0.25, confidence=0.95)` on the small model, tested on 500 further labelled prompts;
the small model's error on those of the remaining prompts that are left with it is compared with
0.25.

Transfer: 8 draws of five subjects; 1,500 prompts of the other 52 to learn from, all prompts of the
five to test on.

World: `make_routing` with 1,000 and 4,000 rows, 3 models, with all answers and with 70 % of
them; the expected loss + price × cost of routing by learnt risks over that of routing by the true
ones, on 20,000 fresh rows, three seeds. Time: 7 models on 6,000 × 96.

Counts of words and of their pieces do not depend on the draw, and are made once for all of them.

Limits, set before the run: gain of the router over ridge at least 0.01 with an interval above 0;
calibration error at most 0.03 for both models on average over draws; 7 models in under 20 s.

How it was made: text features, shrinkage and calibration were chosen by looking at held-out
APGR and calibration on the test prompts of draws 0 to 7 of these same seeds, which flatters the
router; draws 8 to 19 were not looked at before, and the record has the gain on these apart.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import CountVectorizer, TfidfTransformer
from sklearn.linear_model import RidgeCV
from sklearn.neighbors import KNeighborsRegressor
from sklearn.preprocessing import normalize

from condrisk._files import write_whole
from condrisk.datasets import load_mmlu_routing, make_routing
from condrisk.deferral import RiskControlRule
from condrisk.learners._column_encoders import Components
from condrisk.metrics import risk_calibration_error
from condrisk.paper._records import describe_machine, installed_versions
from condrisk.routing import ModelRouter, routing_curve

ROOT = Path(__file__).resolve().parents[1]
RECORD = ROOT / "results" / "routing.json"
SHARED = ROOT.parent / "shared" / "data" / "routing" / "mmlu_two_models.csv.gz"
Floats = NDArray[np.float64]

DRAWS, LABELS, SEEN_BEFORE, TRANSFERS = 20, 1500, 8, 8
# The draws that were not looked at before come first, for a run that has no time for all.
ORDER = (*range(SEEN_BEFORE, DRAWS), *range(SEEN_BEFORE))
RESAMPLES, CALIBRATION_ROWS = 200, 500
SIZES = (1_000, 4_000)  # of the world
COSTS = {"small": 0.0, "large": 1.0}
TARGET, CONFIDENCE = 0.25, 0.95
GAIN, CALIBRATION, SECONDS = 0.01, 0.03, 20.0


def remember_counts(texts: Any) -> None:
    """Count words and pieces of all prompts once: hashing, which no draw has a part in."""
    place = {text: k for k, text in enumerate(texts)}
    count = Components._counts
    known = {unit: count(Components(unit), texts) for unit in ("word", "piece")}

    def counts(self: Any, rows: Any) -> Any:
        return known[self.unit][[place[text] for text in rows]]

    Components._counts = counts  # type: ignore[method-assign]


class Prompts:
    """The table, and what every method does with a draw of it."""

    def __init__(self, path: Path | None) -> None:
        data = load_mmlu_routing(path=path)
        self.texts = np.array(data.prompts, dtype=object)
        self.subjects = np.unique(data.subjects, return_inverse=True)[1]
        self.losses = np.column_stack(list(data.losses.values()))
        self.gain = self.losses[:, 0] - self.losses[:, 1]

    @cached_property
    def words(self) -> Any:
        """The count of each word in each prompt; pieces of words are counted once, too."""
        remember_counts(self.texts)
        return CountVectorizer(dtype=np.float64).fit_transform(self.texts)

    def components(self, train: Any, test: Any, *, log: bool) -> tuple[Floats, Floats]:
        """Return 64 components of the TF-IDF of known and new prompts, of words in known ones."""
        known = self.words[train]
        vocabulary = np.flatnonzero(known.getnnz(axis=0))
        weigh = TfidfTransformer(sublinear_tf=log)
        rows = weigh.fit_transform(known[:, vocabulary])
        axes = TruncatedSVD(64, random_state=0).fit(rows)
        return axes.transform(rows), axes.transform(
            weigh.transform(self.words[test][:, vocabulary])
        )

    def scores(self, train: Any, test: Any, *, more: bool = True) -> Any:
        """Return how much better the large model is thought to be, by each baseline."""
        target = self.gain[train]
        found: dict[str, Floats] = {}
        for name, log in (("ridge", False), ("ridge, log counts", True)):
            known, new = self.components(train, test, log=log)
            found[name] = RidgeCV(np.logspace(-2, 3, 11)).fit(known, target).predict(new)
            if not log:
                plain = known, new
        known, new = plain
        if more:
            nearest = KNeighborsRegressor(50).fit(normalize(known), target)
            found["neighbours"] = nearest.predict(normalize(new))
            n = np.bincount(self.subjects[train], minlength=57)
            total = np.bincount(self.subjects[train], target, minlength=57)
            found["subject"] = ((total + 10 * target.mean()) / (n + 10))[self.subjects[test]]
        return found

    def route(self, train: Any, test: Any, seed: int) -> tuple[Any, Floats]:
        """Return a router fitted on some prompts, and its risks of others."""
        router = ModelRouter(COSTS, random_state=seed)
        router.fit(list(self.texts[train]), self.losses[train])
        return router, router.predict_risk(list(self.texts[test]))

    def apgr(self, test: Any, score: Floats) -> float:
        """Return the APGR of sending prompts of the highest scores to the large model first."""
        risks = np.column_stack([score, np.zeros(len(score))])
        return routing_curve(self.losses[test], risks, COSTS).apgr


def split(n: int, seed: int, size: int = LABELS) -> tuple[Any, Any]:
    order = np.random.default_rng(seed).permutation(n)
    return order[:size], order[size:]


def draw(prompts: Prompts, seed: int) -> dict[str, Any]:
    """Return the figures of one draw."""
    train, test = split(len(prompts.texts), seed)
    scores = prompts.scores(train, test)
    began, cpu = time.perf_counter(), time.process_time()
    router, risks = prompts.route(train, test, seed)
    seconds, cpu = time.perf_counter() - began, time.process_time() - cpu
    scores["router"] = risks[:, 0] - risks[:, 1]
    losses = prompts.losses[test]
    curve = routing_curve(losses, risks, COSTS)
    held, new = slice(0, CALIBRATION_ROWS), slice(CALIBRATION_ROWS, None)
    known = router.held_out_
    rule = RiskControlRule(TARGET, confidence=CONFIDENCE, cap=1.0, random_state=seed)
    rule.fit(known.risks[:, 0], known.losses[:, 0], calibration=(risks[held, 0], losses[held, 0]))
    kept = ~rule.defer(risks[new, 0])
    return {
        "seed": seed,
        "apgr": {name: prompts.apgr(test, score) for name, score in scores.items()},
        "cpt": {"50": curve.cpt(50), "80": curve.cpt(80)},
        "difference_share": router.difference_share_,
        "calibration_error": [risk_calibration_error(losses[:, k], risks[:, k]) for k in range(2)],
        "guarantee": {
            "kept": float(kept.mean()),
            "error": float(losses[new][kept, 0].mean()) if kept.any() else None,
        },
        "resampled_gain": (
            resampled(prompts, test, scores["router"]) - resampled(prompts, test, scores["ridge"])
        ).tolist(),
        "seconds": seconds,
        "cpu_seconds": cpu,
    }


def resampled(prompts: Prompts, test: Any, score: Floats) -> Floats:
    """Return the APGR on resamples of the prompts, the same for all draws and methods."""
    rng = np.random.default_rng(0)
    n = len(prompts.texts)
    order = test[np.argsort(-score, kind="stable")]
    found = []
    for _ in range(RESAMPLES):
        mass = rng.multinomial(n, np.full(n, 1 / n))[order]
        steps = mass * prompts.gain[order]
        closed = np.cumsum(steps) - steps / 2
        found.append(closed @ mass / steps.sum() / mass.sum())
    return np.array(found)


def over_draws(values: Any) -> dict[str, float] | None:
    """Return the mean over draws with its interval by Student's t; None of fewer than two."""
    found = np.asarray(values, dtype=float)
    if len(found) < 2:
        return None
    half = stats.t.ppf(0.975, len(found) - 1) * found.std(ddof=1) / np.sqrt(len(found))
    mean = float(found.mean())
    return {"mean": mean, "low": mean - half, "high": mean + half, "draws": len(found)}


def over_prompts(draws: list[dict[str, Any]]) -> dict[str, float]:
    """Return the interval of the mean gain over resamples of the prompts."""
    gains = np.mean([d["resampled_gain"] for d in draws], axis=0)
    low, high = np.quantile(gains, [0.025, 0.975])
    return {"mean": float(gains.mean()), "low": float(low), "high": float(high)}


class Kept:
    """What is done already, one line for each draw."""

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self.known: dict[str, Any] = {}
        self.stop = False
        if path is not None and path.exists():
            for line in path.read_text().splitlines():
                self.known |= json.loads(line)

    def __call__(self, name: str, make: Any) -> Any:
        """Return what is kept under the name, or make it and keep it."""
        if name not in self.known:
            self.known[name] = make()
            if self.path is not None:
                with open(self.path, "a") as file:
                    file.write(json.dumps({name: self.known[name]}) + "\n")
            say(name)
        return self.known[name]


def mmlu(prompts: Prompts, kept: Kept, n_draws: int) -> dict[str, Any]:
    wanted = [seed for seed in ORDER[:n_draws] if not kept.stop or f"draw {seed}" in kept.known]
    known = [seed for seed in ORDER if f"draw {seed}" in kept.known and seed not in wanted]
    draws = [kept(f"draw {seed}", partial(draw, prompts, seed)) for seed in (*wanted, *known)]
    gains = {
        name: [d["apgr"]["router"] - d["apgr"][name] for d in draws]
        for name in draws[-1]["apgr"]
        if name != "router"
    }
    errors = [d["guarantee"]["error"] for d in draws]
    known = np.bincount(prompts.subjects, prompts.gain) / np.bincount(prompts.subjects)
    everything = np.arange(len(prompts.texts))
    return {
        "draws": [{k: v for k, v in d.items() if k != "resampled_gain"} for d in draws],
        "apgr": {
            k: over_draws([d["apgr"][k] for d in draws if k in d["apgr"]]) for k in draws[0]["apgr"]
        },
        "gain": {name: over_draws(values) for name, values in gains.items()},
        "gain_unseen": over_draws(
            [
                gain
                for gain, d in zip(gains["ridge"], draws, strict=True)
                if d["seed"] >= SEEN_BEFORE
            ]
        ),
        "gain_over_prompts": over_prompts(draws),
        "cpt": {p: over_draws([d["cpt"][p] for d in draws]) for p in ("50", "80")},
        "calibration_error": [
            over_draws([d["calibration_error"][k] for d in draws]) for k in range(2)
        ],
        "guarantee": {
            "target": TARGET,
            "confidence": CONFIDENCE,
            "broken": sum(error is not None and error > TARGET for error in errors),
            "kept": over_draws([d["guarantee"]["kept"] for d in draws]),
            "error": over_draws([e for e in errors if e is not None]),
        },
        "subject_in_hindsight": prompts.apgr(everything, known[prompts.subjects]),
        "model_loss": prompts.losses.mean(axis=0).tolist(),
    }


def compared(prompts: Prompts, train: Any, test: Any, seed: int) -> dict[str, Any]:
    scores = prompts.scores(train, test, more=False)
    risks = prompts.route(train, test, seed)[1]
    scores["router"] = risks[:, 0] - risks[:, 1]
    errors = [risk_calibration_error(prompts.losses[test, k], risks[:, k]) for k in range(2)]
    return {
        "prompts": len(test),
        "apgr": {name: prompts.apgr(test, score) for name, score in scores.items()},
        "calibration_error": errors,
    }


def transfer(prompts: Prompts, kept: Kept, n_draws: int) -> dict[str, Any] | None:
    def one(seed: int) -> dict[str, Any]:
        rng = np.random.default_rng(seed)
        away = np.isin(prompts.subjects, rng.permutation(57)[:5])
        train = rng.permutation(np.flatnonzero(~away))[:LABELS]
        return {"seed": seed} | compared(prompts, train, np.flatnonzero(away), seed)

    wanted = [s for s in range(n_draws) if not kept.stop or f"transfer {s}" in kept.known]
    draws = [kept(f"transfer {seed}", partial(one, seed)) for seed in wanted]
    if len(draws) < 2:
        return None
    gains = [d["apgr"]["router"] - d["apgr"]["ridge"] for d in draws]
    return {
        "draws": draws,
        "apgr": {k: over_draws([d["apgr"][k] for d in draws]) for k in draws[0]["apgr"]},
        "gain": over_draws(gains),
        "calibration_error": [
            over_draws([d["calibration_error"][k] for d in draws]) for k in range(2)
        ],
    }


def world() -> list[dict[str, Any]]:
    found = []
    for size in SIZES:
        for answered in (1.0, 0.7):
            for seed in range(3):
                rows = make_routing(size, answered=answered, random_state=seed)
                router = ModelRouter(rows.costs, random_state=seed).fit(rows.X, rows.losses)
                new = make_routing(20_000, random_state=1000 + seed)
                true, learnt = new.risk(new.X), router.predict_risk(new.X)
                excess = {}
                for price in (0.02, 0.1, 0.5):
                    paid = true + price * router.costs_
                    chosen = np.argmin(learnt + price * router.costs_, axis=1)
                    at = paid[np.arange(len(paid)), chosen].mean()
                    excess[str(price)] = float(at / paid.min(axis=1).mean() - 1)
                explained = 1 - ((learnt - true) ** 2).mean(axis=0) / true.var(axis=0)
                found.append(
                    {
                        "rows": size,
                        "answered": answered,
                        "seed": seed,
                        "excess": excess,
                        "explained": explained.tolist(),
                        "difference_share": router.difference_share_,
                    }
                )
        say(f"world, {size} rows: {found[-1]}")
    return found


def timed() -> dict[str, Any]:
    """Seven models whose errors depend on 96 numbers, half of it the same for all."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((6000, 96))
    own = X @ rng.standard_normal((96, 7)) / 10 + X[:, :1] - 0.5 * np.arange(7)
    losses = (rng.uniform(size=(6000, 1)) < 1 / (1 + np.exp(-own))).astype(float)
    costs = {f"model{k}": float(k + 1) for k in range(7)}
    began, cpu = time.perf_counter(), time.process_time()
    ModelRouter(costs, random_state=0).fit(X, losses)
    return {
        "models": 7,
        "rows": 6000,
        "columns": 96,
        "seconds": time.perf_counter() - began,
        "cpu_seconds": time.process_time() - cpu,
    }


def say(text: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {text}", flush=True)


def main(arguments: list[str]) -> int:
    """Run everything and write the record."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--table", type=Path, default=SHARED if SHARED.exists() else None)
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--stop", action="store_true")
    parser.add_argument("--draws", type=int, default=DRAWS)
    parser.add_argument("--transfers", type=int, default=TRANSFERS)
    options = parser.parse_args(arguments)
    kept = Kept(options.keep)
    kept.stop = options.stop
    prompts = Prompts(options.table)
    record: dict[str, Any] = {
        "machine": describe_machine(),
        "versions": installed_versions(),
        "limits": {"gain": GAIN, "calibration": CALIBRATION, "seconds": SECONDS},
        "time": kept("time", timed),
        "mmlu": mmlu(prompts, kept, options.draws),
        "transfer": transfer(prompts, kept, options.transfers),
        "world": kept.known.get("world") if kept.stop else kept("world", world),
    }
    write_whole(RECORD, json.dumps(record, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
