"""The study behind guarantees for every group: `RiskControlRule(subgroups=…)`.

    python -m benchmarks.subgroups                  # worlds, into results/subgroups.json
    python -m benchmarks.subgroups columns          # one column: apart, together, by itself
    python -m benchmarks.subgroups mapie            # beside it, with mapie==1.6.0 installed
    python -m benchmarks.subgroups employment FOLDER   # the real case; FOLDER has the files

*Worlds.* A row has one or two columns of groups and a score u, uniform between 0 and 1; its 0/1
loss has the mean min(a u², 1), where a depends on its groups. A repetition draws 1,500 rows to
choose thresholds on and 2,000 to test on, at target 0.1 and confidence 0.9. The guarantee is broken
if the mean loss of the accepted rows of *any* group exceeds the target in the population (100,000
fixed rows whose means are known, weighted by the true chance of loss). 2,000 repetitions.
*One at a time*: the same rule without groups, broken in the same sense.

*Columns.* The three worlds of one column again, the same draws. *By itself*:
``simultaneous=False``; it is counted how often *each* group is above the target, 1,000 repetitions.
*Together*: the intersection-union test that several columns get, in place of thresholds for each
group at a level of 0.1 / G; the column is given twice, which changes nothing else, 300 repetitions.

*MAPIE.* One `BinaryClassificationController` (1.6.0) for each group, at confidence 1 - 0.1 / G: a
row is "positive" where it is accepted, so that its risk "precision" is the share of accepted rows
that are right. 100 thresholds, its default number. A row of several groups is accepted if all of
its controllers accept it. That says nothing of what the groups keep then: its tests are for
thresholds of one group. Four of its procedures: "bonferroni_holm" (its default), "fixed_sequence",
the same with ten starts, and "split_fixed_sequence", which learns the order of its tests from the
rows that our rule chooses thresholds on. The first 200 repetitions of each world; of the last,
whose learning takes a quarter of a second for each group, the first 60.

*Employment.* `employment_MA` of NannyML's wheel (0.13.1, Apache-2.0; taken out of it by ``pip
download nannyml``, not committed here): the predictions of a classifier of who is employed. Risk:
1 - the predicted probability of the predicted class. The reference year 2015 is divided at random:
30 % choose thresholds, 35 % are for the tests, 35 % show what is kept. SEX and RAC1P, target 0.1,
50 divisions; and the years 2016 to 2018, for which nothing is guaranteed.

Written down before the first full run: worlds, sizes, levels, repetitions and divisions. The choice
between one path for all groups and one for each, of a single column, was made in a trial on four
other worlds with 60 repetitions. At first MAPIE had 60 repetitions and its default procedure only.
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
REPETITIONS, MAPIE_REPETITIONS, SLOW_REPETITIONS = 2000, 200, 60
COLUMN_REPETITIONS = 1000
SLOW = "split_fixed_sequence"
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
    worst = group_means(X, chance, accepted)
    return float(accepted.mean()), float(worst.max()), int((worst > TARGET).sum())


def group_means(X: Any, chance: Floats, accepted: NDArray[np.bool_]) -> Floats:
    """Return the mean loss of the accepted rows of each group, 0 where there are none."""
    means = []
    for column in X.T:
        size = np.bincount(column, accepted, minlength=column.max() + 1)
        lost = np.bincount(column, accepted * chance, minlength=column.max() + 1)
        means.append(np.divide(lost, size, out=np.zeros_like(lost), where=size > 0))
    return np.concatenate(means)


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
        "seconds": time.perf_counter() - started,
    }
    print(line, flush=True)
    return line


# -- one column ------------------------------------------------------------------------------------

# Options and repetitions. Two columns of the same values: their groups overlap, so that the rule
# tests them together.
ONE_COLUMN: dict[str, tuple[dict[str, Any], int]] = {
    "by itself": ({"subgroups": [0], "simultaneous": False}, COLUMN_REPETITIONS),
    "together": ({"subgroups": {"once": 0, "again": 0}}, 300),
}


def run_columns() -> list[dict[str, Any]]:
    """Return what becomes of groups of one column that are tested in other ways."""
    lines = []
    for number, (name, world) in enumerate(WORLDS.items()):
        if len(world.columns) > 1:
            continue
        started = time.perf_counter()
        new = world.sample(np.random.default_rng([SEED, number]), N_POPULATION)
        found: dict[str, list[tuple[float, float, int]]] = {method: [] for method in ONE_COLUMN}
        above: dict[str, list[NDArray[np.bool_]]] = {method: [] for method in ONE_COLUMN}
        for k in range(COLUMN_REPETITIONS):
            rng = np.random.default_rng([SEED, number, k])
            fit, test = world.sample(rng, N_FIT), world.sample(rng, N_TEST)
            for method, (options, repetitions) in ONE_COLUMN.items():
                if k >= repetitions:
                    continue
                accepted = rule_accepts(options, k, fit, test, new)
                found[method].append(judged(new[0], new[3], accepted))
                above[method].append(group_means(new[0], new[3], accepted) > TARGET)
        methods = {
            method: summary(runs) | {"by_group": np.sum(above[method], axis=0).tolist()}
            for method, runs in found.items()
        }
        seconds = time.perf_counter() - started
        lines.append({"world": name, "methods": methods, "seconds": seconds})
        print(lines[-1], flush=True)
    return lines


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


def run_mapie() -> list[dict[str, Any]]:
    from importlib.metadata import version

    lines = []
    for number, (name, world) in enumerate(WORLDS.items()):
        started = time.perf_counter()
        new = world.sample(np.random.default_rng([SEED, number]), N_POPULATION)
        own = {"subgroups": list(range(len(world.columns)))}
        ours, theirs = [], {method: [] for method in mapie_methods()}
        for k in range(MAPIE_REPETITIONS):
            rng = np.random.default_rng([SEED, number, k])
            fit, test = world.sample(rng, N_FIT), world.sample(rng, N_TEST)
            ours.append(judged(new[0], new[3], rule_accepts(own, k, fit, test, new))[0])
            for method, runs in theirs.items():
                if method != SLOW or k < SLOW_REPETITIONS:
                    runs.append(judged(new[0], new[3], mapie_accepts(method, fit, test, new)))
        methods = {}
        for method, runs in theirs.items():
            difference = np.array(ours[: len(runs)]) - np.array([run[0] for run in runs])
            methods[method] = summary(runs) | {
                "difference": float(difference.mean()),
                "difference_se": float(difference.std(ddof=1) / np.sqrt(len(difference))),
            }
        lines.append(
            {
                "world": name,
                "version": version("mapie"),
                "ours": float(np.mean(ours)),
                "methods": methods,
                "seconds": time.perf_counter() - started,
            }
        )
        print(lines[-1], flush=True)
    return lines


def mapie_methods() -> dict[str, Any]:
    """Return MAPIE's procedures by name."""
    from mapie.risk_control.fwer_control import FWERFixedSequenceTesting

    names = ("bonferroni_holm", "fixed_sequence", SLOW)
    return {name: name for name in names} | {
        "fixed_sequence, ten starts": FWERFixedSequenceTesting(n_starts=10)
    }


def mapie_accepts(method: str, fit: Any, test: Any, new: Any) -> NDArray[np.bool_]:
    """Return which rows all of the controllers of their groups accept."""
    from mapie.risk_control import BinaryClassificationController

    def right(score: Floats) -> Floats:
        return np.column_stack([np.ravel(score), 1 - np.ravel(score)])

    X, u, loss, _ = test
    groups = [(c, value) for c in range(X.shape[1]) for value in np.unique(X[:, c])]
    accepted = np.ones(len(new[1]), dtype=bool)
    for column, value in groups:
        control = BinaryClassificationController(
            right,
            "precision",
            1 - TARGET,
            1 - (1 - CONFIDENCE) / len(groups),
            fwer_method=mapie_methods()[method],
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if method == SLOW:
                own = fit[0][:, column] == value
                control.learn_fixed_sequence_order(
                    fit[1][own][:, None], (1 - fit[2][own]).astype(int), binary=True
                )
            own = X[:, column] == value
            control.calibrate(u[own][:, None], (1 - loss[own]).astype(int))
        limit, there = control.best_predict_param, new[0][:, column] == value
        accepted[there] &= False if limit is None else 1 - new[1][there] >= limit
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
        "columns": run_columns,
        "mapie": run_mapie,
        "employment": lambda: run_employment(Path(sys.argv[2])),
    }
    record[part] = runs[part]()
    if part != "mapie":  # it runs in an environment of its own; its lines have MAPIE's version
        record["machine"], record["versions"] = describe_machine(), installed_versions()
    write_whole(RECORD, json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    main()
