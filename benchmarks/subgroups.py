"""The study behind guarantees for every group: `RiskControlRule(subgroups=…)`.

    python -m benchmarks.subgroups                  # worlds, into results/subgroups.json
    python -m benchmarks.subgroups mapie            # beside it, with mapie==1.6.0 installed
    python -m benchmarks.subgroups employment FOLDER   # the real case; FOLDER has the files

*Worlds.* A row has one or two columns of groups and a score u, uniform between 0 and 1; its 0/1
loss has the mean min(a u², 1), where a depends on its groups. A repetition draws 1,500 rows to
choose thresholds on and 2,000 to test on, at target 0.1 and confidence 0.9. The guarantee is broken
if the mean loss of the accepted rows of *any* group exceeds the target in the population (100,000
fixed rows whose means are known, weighted by the true chance of loss). 2,000 repetitions.
*One at a time*: the same rule without groups, broken in the same sense.

*MAPIE.* One `BinaryClassificationController` (1.6.0) for each group, at confidence 1 - 0.1 / G,
with its default number of 100 thresholds and its default "bonferroni_holm"; a row of several groups
is accepted if all of its controllers accept it. That says nothing of what the groups keep then: its
tests are for thresholds of one group. The first 60 repetitions of each world.

*Employment.* `employment_MA` of NannyML's wheel (0.13.1, Apache-2.0; taken out of it by ``pip
download nannyml``, not committed here): the predictions of a classifier of who is employed. Risk:
1 - the predicted probability of the predicted class. The reference year 2015 is divided at random:
30 % choose thresholds, 35 % are for the tests, 35 % show what is kept. SEX and RAC1P, target 0.1,
50 divisions; and the years 2016 to 2018, for which nothing is guaranteed.

Written down before the first full run: worlds, sizes, levels, repetitions and divisions. The choice
between one path for all groups and one for each, of a single column, was made in a trial on four
other worlds with 60 repetitions.
"""

from __future__ import annotations

import json
import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from condrisk._files import write_whole
from condrisk.deferral import RiskControlRule
from condrisk.paper._records import describe_machine, installed_versions

RECORD = Path(__file__).resolve().parents[1] / "results" / "subgroups.json"
Floats = NDArray[np.float64]

SEED = 11
TARGET, CONFIDENCE = 0.1, 0.9
N_FIT, N_TEST, N_POPULATION, N_THRESHOLDS = 1500, 2000, 100_000, 50
REPETITIONS, MAPIE_REPETITIONS = 2000, 60
LEVEL_OF_TEST = 0.01


@dataclass(frozen=True)
class World:
    """Shares and factors of the groups of each column."""

    text: str
    columns: tuple[tuple[tuple[float, ...], tuple[float, ...]], ...]

    def sample(self, rng: np.random.Generator, n: int) -> tuple[Any, Floats, Floats, Floats]:
        """Return groups, scores, losses and chances of loss."""
        X = np.column_stack([rng.choice(len(s), n, p=s) for s, _ in self.columns])
        factor = np.prod([np.asarray(f)[X[:, k]] for k, (_, f) in enumerate(self.columns)], axis=0)
        u = rng.random(n)
        chance = np.minimum(factor * u**2, 1.0)
        return X, u, (rng.random(n) < chance).astype(float), chance


WORLDS = {
    "equal": World("five groups of equal size and difficulty", (((0.2,) * 5, (1.0,) * 5),)),
    "uneven": World(
        "sizes from 60 to 4 %, difficulties from 0.7 to 1.6",
        (((0.6, 0.2, 0.1, 0.06, 0.04), (1.0, 0.7, 1.3, 1.0, 1.6)),),
    ),
    "easy": World(
        "one hard group, three easy ones", (((0.4, 0.2, 0.2, 0.2), (1.5, 0.2, 0.2, 0.2)),)
    ),
    "overlap": World(
        "two columns", (((0.5, 0.5), (0.9, 1.1)), ((0.6, 0.3, 0.1), (1.0, 1.3, 0.8)))
    ),
    "three": World(
        "three columns",
        (((0.5, 0.5), (0.9, 1.1)), ((0.7, 0.3), (1.0, 1.2)), ((0.8, 0.2), (0.9, 1.2))),
    ),
}  # fmt: skip


def judged(X: Any, chance: Floats, accepted: NDArray[np.bool_]) -> tuple[float, float, int]:
    """Return acceptance, the worst mean of a group, and how many groups are above the target."""
    means = []
    for column in X.T:
        size = np.bincount(column, accepted, minlength=column.max() + 1)
        lost = np.bincount(column, accepted * chance, minlength=column.max() + 1)
        means.append(np.divide(lost, size, out=np.zeros_like(lost), where=size > 0))
    worst = np.concatenate(means)
    return float(accepted.mean()), float(worst.max()), int((worst > TARGET).sum())


def rule_accepts(options: dict[str, Any], seed: int, fit: Any, test: Any, new: Any) -> Any:
    rule = RiskControlRule(
        TARGET,
        confidence=CONFIDENCE,
        cap=1.0,
        n_thresholds=N_THRESHOLDS,
        random_state=seed,
        **options,
    )
    rule.fit(fit[1], fit[2], X=fit[0], calibration=test[1:3], X_calibration=test[0])
    return ~rule.defer(new[1], X=new[0])


def run_worlds() -> list[dict[str, Any]]:
    return [run_world(name) for name in WORLDS]


def run_world(name: str) -> dict[str, Any]:
    world, started = WORLDS[name], time.perf_counter()
    number = list(WORLDS).index(name)
    new = world.sample(np.random.default_rng([SEED, number]), N_POPULATION)
    best = judged(new[0], new[3], oracle(new))
    methods = {"groups": {"subgroups": list(range(len(world.columns)))}, "one at a time": {}}
    found: dict[str, list[tuple[float, float, int]]] = {method: [] for method in methods}
    for k in range(REPETITIONS):
        rng = np.random.default_rng([SEED, number, k])
        fit, test = world.sample(rng, N_FIT), world.sample(rng, N_TEST)
        for method, options in methods.items():
            found[method].append(judged(new[0], new[3], rule_accepts(options, k, fit, test, new)))
    line = {
        "world": name,
        "text": world.text,
        "n_groups": sum(len(shares) for shares, _ in world.columns),
        "optimum": best[0],
        **{method: summary(runs) for method, runs in found.items()},
        "first": [run[0] for run in found["groups"][:MAPIE_REPETITIONS]],
        "seconds": time.perf_counter() - started,
    }
    print(name, {k: v for k, v in line.items() if k != "first"}, flush=True)
    return line


def oracle(new: Any) -> NDArray[np.bool_]:
    """Accept as much as possible by thresholds of the cells of all columns: an upper limit."""
    X, u, _, chance = new
    accepted = np.zeros(len(u), dtype=bool)
    for cell in np.unique(X, axis=0):
        own = np.flatnonzero((cell == X).all(axis=1))
        order = own[np.argsort(u[own])]
        mean = np.cumsum(chance[order]) / np.arange(1, len(order) + 1)
        accepted[order[mean <= TARGET]] = True
    return accepted


def summary(runs: list[tuple[float, float, int]]) -> dict[str, Any]:
    acceptance, worst, above = np.array(runs).T
    return {
        "repetitions": len(runs),
        "violations": int((above > 0).sum()),
        "acceptance": float(acceptance.mean()),
        "worst": float(worst.mean()),
        "infeasible": int((acceptance == 0).sum()),
    }


# -- MAPIE -----------------------------------------------------------------------------------------


def run_mapie(record: dict[str, Any]) -> list[dict[str, Any]]:
    from importlib.metadata import PackageNotFoundError, version

    lines = []
    for number, (name, world) in enumerate(WORLDS.items()):
        started = time.perf_counter()
        new = world.sample(np.random.default_rng([SEED, number]), N_POPULATION)
        runs = []
        for k in range(MAPIE_REPETITIONS):
            rng = np.random.default_rng([SEED, number, k])
            world.sample(rng, N_FIT)
            test = world.sample(rng, N_TEST)
            runs.append(judged(new[0], new[3], mapie_accepts(test, new)))
        ours = np.array(next(line["first"] for line in record["worlds"] if line["world"] == name))
        difference = ours - np.array([run[0] for run in runs])
        try:
            number_of = version("mapie")
        except PackageNotFoundError:
            number_of = "1.6.0"
        lines.append(
            {
                "world": name,
                "version": number_of,
                **summary(runs),
                "ours": float(ours.mean()),
                "difference": float(difference.mean()),
                "difference_se": float(difference.std(ddof=1) / np.sqrt(len(difference))),
                "seconds": time.perf_counter() - started,
            }
        )
        print(lines[-1], flush=True)
    return lines


def mapie_accepts(test: Any, new: Any) -> NDArray[np.bool_]:
    """Return which rows all of the controllers of their groups accept."""
    from mapie.risk_control import BinaryClassificationController, BinaryRisk, abstention_rate

    accuracy = BinaryRisk(
        risk_occurrence=lambda y_true, y_pred: y_pred == y_true,
        risk_condition=lambda y_true, y_pred: ~np.isnan(y_pred),
        higher_is_better=True,
    )

    def sure(score: Floats, threshold: float) -> Floats:
        return np.where(np.ravel(score) <= threshold, 1.0, np.nan)

    X, u, loss, _ = test
    groups = [(c, value) for c in range(X.shape[1]) for value in np.unique(X[:, c])]
    accepted = np.ones(len(new[1]), dtype=bool)
    for column, value in groups:
        own, there = X[:, column] == value, new[0][:, column] == value
        control = BinaryClassificationController(
            sure,
            accuracy,
            1 - TARGET,
            1 - (1 - CONFIDENCE) / len(groups),
            best_predict_param_choice=abstention_rate,
            list_predict_params=np.linspace(0.01, 1.0, 100)[:, None],
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            control.calibrate(u[own][:, None], (1 - loss[own]).astype(int))
        limit = control.best_predict_param
        accepted[there] &= False if limit is None else new[1][there] <= float(np.ravel(limit)[0])
    return accepted


# -- the real case ---------------------------------------------------------------------------------

COLUMNS = ("SEX", "RAC1P")
DIVISIONS, EMPLOYMENT_TARGET = 50, 0.1


def run_employment(folder: Path) -> dict[str, Any]:
    import polars as pl

    reference = pl.read_parquet(folder / "employment_MA_reference.pq")
    later = pl.read_parquet(folder / "employment_MA_analysis.pq").join(
        pl.read_parquet(folder / "employment_MA_analysis_target.pq"), on="id"
    )
    years = {
        2015: reference,
        **{int(y): later.filter(pl.col("year") == y) for y in (2016, 2017, 2018)},
    }
    rows = {year: _employment_rows(frame) for year, frame in years.items()}
    X, risk, loss = rows[2015]
    methods: dict[str, dict[str, Any]] = {
        "each group of SEX and RAC1P": {"subgroups": [0, 1]},
        "each group of RAC1P": {"subgroups": [1]},
        "on average": {},
    }
    found: dict[str, list[dict[str, Any]]] = {method: [] for method in methods}
    for k in range(DIVISIONS):
        order = np.random.default_rng([SEED, 99, k]).permutation(len(risk))
        fit, test, fresh = np.split(order, [int(0.3 * len(order)), int(0.65 * len(order))])
        for method, options in methods.items():
            rule = RiskControlRule(
                EMPLOYMENT_TARGET, cap=1.0, n_thresholds=N_THRESHOLDS, random_state=k, **options
            )
            rule.fit(
                risk[fit],
                loss[fit],
                X=X[fit],
                calibration=(risk[test], loss[test]),
                X_calibration=X[test],
            )
            line = {"2015": _by_group(rule, X[fresh], risk[fresh], loss[fresh])}
            line |= {str(y): _by_group(rule, *rows[y]) for y in (2016, 2017, 2018) if k < 10}
            found[method].append(line)
    result = {
        "n_rows": {str(year): len(own[1]) for year, own in rows.items()},
        "target": EMPLOYMENT_TARGET,
        "divisions": DIVISIONS,
        "methods": {
            method: {
                year: _mean_over([line[year] for line in lines if year in line])
                for year in ("2015", "2016", "2017", "2018")
            }
            for method, lines in found.items()
        },
    }
    print(json.dumps(result, indent=1), flush=True)
    return result


def _employment_rows(frame: Any) -> tuple[Any, Floats, Floats]:
    chance = frame["predicted_probability"].to_numpy()
    predicted, true = frame["prediction"].to_numpy(), frame["employed"].to_numpy()
    X = np.column_stack([frame[name].cast(str).to_numpy().astype(object) for name in COLUMNS])
    risk = np.where(predicted == 1, 1 - chance, chance)
    return X, risk, (predicted != true).astype(float)


def _by_group(rule: RiskControlRule, X: Any, risk: Floats, loss: Floats) -> dict[str, Any]:
    accepted = ~rule.defer(risk, X=X)
    groups = {}
    for column, name in enumerate(COLUMNS):
        for value in sorted(set(X[:, column])):
            own = X[:, column] == value
            part = own & accepted
            groups[f"{name} = {value}"] = {
                "rows": int(own.sum()),
                "accepted": int(part.sum()),
                "lost": float(loss[part].sum()),
            }
    return {
        "accepted": float(accepted.mean()),
        "loss": float(loss[accepted].mean()) if accepted.any() else 0.0,
        "groups": groups,
    }


def _mean_over(lines: list[dict[str, Any]]) -> dict[str, Any]:
    groups = {}
    for name in lines[0]["groups"]:
        own = [line["groups"][name] for line in lines if name in line["groups"]]
        accepted, lost = (sum(g[k] for g in own) for k in ("accepted", "lost"))
        groups[name] = {
            "rows": float(np.mean([g["rows"] for g in own])),
            "accepted": accepted / max(sum(g["rows"] for g in own), 1),
            "loss": lost / accepted if accepted else None,
        }
    return {
        "accepted": float(np.mean([line["accepted"] for line in lines])),
        "loss": float(np.mean([line["loss"] for line in lines])),
        "groups": groups,
    }


def main() -> None:
    part = sys.argv[1] if len(sys.argv) > 1 else "worlds"
    record = json.loads(RECORD.read_text(encoding="utf-8")) if RECORD.exists() else {}
    record["config"] = {
        "target": TARGET,
        "confidence": CONFIDENCE,
        "n_fit": N_FIT,
        "n_test": N_TEST,
        "level_of_test": LEVEL_OF_TEST,
        "seed": SEED,
    }
    warnings.filterwarnings("ignore", message=".*everything is deferred")
    runs: dict[str, Callable[[], Any]] = {
        "worlds": run_worlds,
        "mapie": lambda: run_mapie(record),
        "employment": lambda: run_employment(Path(sys.argv[2])),
    }
    record[part] = runs[part]()
    record["machine"], record["versions"] = describe_machine(), installed_versions()
    write_whole(RECORD, json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    main()
