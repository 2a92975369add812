"""`RiskControlRule` beside MAPIE's risk control on a binary task, the same promise for both.

    pip install mapie==1.6.0                     # in an environment of its own: no dependency
    python -m benchmarks.risk_control_mapie      # writes results/risk_control_mapie.json

A logistic regression of two overlapping normal clouds is fitted on 1,000 rows; 1,000 further rows
are for the tests of every method. Two promises, each at confidence 0.9:

accuracy   the classifier abstains where it is not sure; at most 5 % of the others are wrong.
           For MAPIE: thresholds on the larger probability, a risk that counts accepted rows only,
           and the least abstention among the thresholds that are valid.
precision  at least 90 % of those predicted positive are. Here a "row accepted" is one that is
           predicted positive; for MAPIE it is the risk "precision" with recall to be maximised.

Our rule chooses its thresholds on the out-of-fold probabilities of the training rows. MAPIE's
methods: "bonferroni_holm" (its default), "fixed_sequence" where it may be used, and
"split_fixed_sequence", which learns an order from further rows and gets the same out-of-fold
probabilities. MAPIE has its default number of 100 thresholds.

Written down before the first full run: worlds, sizes, levels and methods. A trial of ten
repetitions came before it, after which their number was lowered from 1,000 to 500, and from 200 to
60 for "split_fixed_sequence", whose learning takes over a second.
"""

from __future__ import annotations

import json
import time
import warnings
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from mapie.risk_control import BinaryClassificationController, BinaryRisk, abstention_rate
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_predict

from condrisk._files import write_whole
from condrisk.datasets import make_gaussian_mixture
from condrisk.deferral import RiskControlRule
from condrisk.paper._records import describe_machine, installed_versions

RECORD = Path(__file__).resolve().parents[1] / "results" / "risk_control_mapie.json"
Floats = NDArray[np.float64]

REPETITIONS, SLOW_REPETITIONS = 500, 60
SLOW = "split_fixed_sequence"
N_FIT = N_CALIBRATION = 1000
N_EVAL = 20_000
CONFIDENCE = 0.9
TARGETS = {"accuracy": 0.05, "precision": 0.1}
METHODS = {
    "accuracy": ("bonferroni_holm", "split_fixed_sequence"),
    "precision": ("bonferroni_holm", "fixed_sequence", "split_fixed_sequence"),
}
SURE = np.linspace(0.5, 0.995, 100)[:, None]

accuracy_of_accepted = BinaryRisk(
    risk_occurrence=lambda y_true, y_pred: y_pred == y_true,
    risk_condition=lambda y_true, y_pred: ~np.isnan(y_pred),
    higher_is_better=True,
)


def both(positive: Floats) -> Floats:
    """Return a matrix of probabilities; probabilities stand for the rows here."""
    return np.column_stack([1 - positive, positive])


def sure_label(positive: Floats, threshold: float) -> Floats:
    """Return the likelier label, NaN where its probability is below the threshold."""
    label = (positive >= 0.5).astype(float)
    return np.where(np.maximum(positive, 1 - positive) >= threshold, label, np.nan)


def controller(promise: str, method: str) -> BinaryClassificationController:
    if promise == "precision":
        return BinaryClassificationController(
            both, "precision", 1 - TARGETS[promise], CONFIDENCE, fwer_method=method
        )
    return BinaryClassificationController(
        sure_label,
        accuracy_of_accepted,
        1 - TARGETS[promise],
        CONFIDENCE,
        best_predict_param_choice=abstention_rate,
        list_predict_params=SURE,
        fwer_method=method,
    )


def mapie_accepts(promise: str, method: str, fit: Any, calibration: Any, p: Floats) -> Any:
    """Return which rows MAPIE accepts; none where it finds no valid threshold."""
    control = controller(promise, method)
    if method == SLOW:
        control.learn_fixed_sequence_order(*fit, binary=True)
    control.calibrate(*calibration)
    if control.best_predict_param is None:
        return np.zeros(len(p), dtype=bool)
    answer = control.predict(p)
    return answer == 1 if promise == "precision" else ~np.isnan(answer.astype(float))


def pairs(promise: str, p: Floats, y: NDArray[Any]) -> tuple[Floats, Floats]:
    """Return the risk and the loss that the promise is about."""
    if promise == "precision":
        return 1 - p, (y != 1).astype(float)
    return 1 - np.maximum(p, 1 - p), ((p >= 0.5) != (y == 1)).astype(float)


def repeat(promise: str, world: Any, fresh: Floats, repetition: int) -> dict[str, tuple]:
    rows = world.sample(N_FIT + N_CALIBRATION, random_state=repetition)
    X, y = rows.X[:N_FIT], rows.y[:N_FIT]
    model = LogisticRegression().fit(X, y)
    folds = StratifiedKFold(5, shuffle=True, random_state=repetition)
    fit = (cross_val_predict(model, X, y, cv=folds, method="predict_proba")[:, 1], y)
    calibration = (model.predict_proba(rows.X[N_FIT:])[:, 1], rows.y[N_FIT:])
    p = model.predict_proba(fresh)[:, 1]
    true = world.proba(fresh)[:, 1]
    g = 1 - true if promise == "precision" else np.where(p >= 0.5, 1 - true, true)

    rule = RiskControlRule(TARGETS[promise], confidence=CONFIDENCE, cap=1, random_state=repetition)
    rule.fit(*pairs(promise, *fit), calibration=pairs(promise, *calibration))
    accepted = {"condrisk": ~rule.defer(pairs(promise, p, np.zeros(len(p)))[0])}
    for method in METHODS[promise]:
        if method == SLOW and repetition >= SLOW_REPETITIONS:
            continue
        accepted[method] = mapie_accepts(promise, method, fit, calibration, p)
    return {
        name: (float(rows.mean()), float(g[rows].mean()) if rows.any() else 0.0)
        for name, rows in accepted.items()
    }


def run(promise: str) -> dict[str, Any]:
    world = make_gaussian_mixture(10, n_classes=2, random_state=0)
    fresh, started = world.sample(N_EVAL, random_state=54321).X, time.perf_counter()
    found = [repeat(promise, world, fresh, repetition) for repetition in range(REPETITIONS)]
    methods = {}
    for name in found[0]:
        lines = [line for line in found if name in line]
        ours = np.array([line["condrisk"][0] for line in lines])
        coverage, mean = np.array([line[name] for line in lines]).T
        methods[name] = {
            "repetitions": len(lines),
            "violations": int(np.sum((coverage > 0) & (mean > TARGETS[promise]))),
            "infeasible": int(np.sum(coverage == 0)),
            "acceptance": float(coverage.mean()),
            "acceptance_sd": float(coverage.std(ddof=1)),
            "ours_minus_this": float(np.mean(ours - coverage)),
            "ours_minus_this_se": float(np.std(ours - coverage, ddof=1) / np.sqrt(len(ours))),
        }
    return {
        "promise": promise,
        "target": TARGETS[promise],
        "methods": methods,
        "seconds": time.perf_counter() - started,
    }


def main() -> None:
    record = {
        "versions": installed_versions() | {"mapie": version("mapie")},
        "machine": describe_machine(),
        "config": {
            "repetitions": REPETITIONS,
            "n_fit": N_FIT,
            "n_calibration": N_CALIBRATION,
            "confidence": CONFIDENCE,
        },
        "promises": [run(promise) for promise in TARGETS],
    }
    write_whole(RECORD, json.dumps(record, indent=1) + "\n")
    print(json.dumps(record["promises"], indent=1))


if __name__ == "__main__":
    warnings.simplefilter("ignore")  # repetitions without a valid threshold are counted instead
    main()
