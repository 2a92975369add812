"""The risk that `condrisk fit` gives its predictors, beside two simpler ones.

    python -m benchmarks.fit_risk             # write results/fit_risk.json
    python -m benchmarks.fit_risk --splits 1  # a small try, written nowhere

Of each set a fifth of the rows is held out, five times. On it three estimates of the risk are
measured by the area under their risk-coverage curve (AURC) and, for numbers, by their squared error
against the realised loss, relative to that of the mean loss:

- fit: what `condrisk.app.models.fit_table` fits, with boosting as predictor;
- losses: boosting of the losses, on the row and for classes on the probabilities, of the same
  predictor: what the command did before;
- calibrated: for classes, 1 − max p of ``CalibratedClassifierCV(boosting, cv=5)``, with its own
  predictions.

Limit, set before the first run: the mean AURC of fit is at most that of either other one.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.model_selection import train_test_split

from condrisk import RegressionRisk
from condrisk._files import write_whole
from condrisk.app.models import fit_table
from condrisk.datasets import load_uci
from condrisk.metrics import aurc
from condrisk.paper._records import describe_machine, installed_versions

RECORD = Path(__file__).resolve().parents[1] / "results" / "fit_risk.json"
SETS = ("breast cancer", "digits", "concrete", "energy", "housing")
Scored = tuple[Any, Any]  # losses and risks


def load(name: str) -> tuple[Any, Any, str]:
    """Return rows, targets and the task of a set."""
    if name in ("breast cancer", "digits"):
        X, y = {"breast cancer": load_breast_cancer, "digits": load_digits}[name](return_X_y=True)
        return X, y, "classification"
    found = load_uci(name)
    return found.data, found.target, "regression"


def estimates(train: tuple[Any, Any], test: tuple[Any, Any], task: str) -> Iterator[Any]:
    """Yield the name of each estimate with its losses and risks of the test rows."""
    (X, y), (new, truth) = train, test
    frame = pl.DataFrame(X, schema=[f"x{k}" for k in range(X.shape[1])]).with_columns(y=y)
    ours = fit_table(frame, target="y", task=task, cost=1.0, holdout=0.0).model  # type: ignore[arg-type]
    yield "fit", (ours.loss_values(new, truth), ours.predict_risk(new))
    classes = task == "classification"
    kind = HistGradientBoostingClassifier if classes else HistGradientBoostingRegressor
    losses = HistGradientBoostingRegressor(
        learning_rate=0.05, max_leaf_nodes=15, max_iter=80, early_stopping=False
    )
    before = RegressionRisk(
        kind(random_state=0),
        regressor=losses,
        features="x+response" if classes else "x",
        random_state=0,
    ).fit(X, y)
    yield "losses", (before.loss_values(new, truth), before.predict_risk(new))
    if classes:
        calibrated = CalibratedClassifierCV(clone(before.predictor), cv=5).fit(X, y)
        proba = calibrated.predict_proba(new)
        wrong = calibrated.classes_[proba.argmax(axis=1)] != truth
        yield "calibrated", (wrong.astype(float), 1 - proba.max(axis=1))


def measure(name: str, n_splits: int) -> dict[str, Any]:
    """Return the figures of a set, one for each split."""
    X, y, task = load(name)
    found: dict[str, Any] = {}
    for seed in range(n_splits):
        strata = y if task == "classification" else None
        X_fit, X_new, y_fit, y_new = train_test_split(
            X, y, test_size=0.2, stratify=strata, random_state=seed
        )
        for estimate, (loss, risk) in estimates((X_fit, y_fit), (X_new, y_new), task):
            figures = found.setdefault(estimate, {"aurc": [], "squared_error": []})
            figures["aurc"].append(aurc(loss, risk))
            error = ((loss - risk) ** 2).mean() / np.var(loss) if np.var(loss) else None
            figures["squared_error"].append(None if error is None else float(error))
    return found


def main() -> None:
    """Measure all sets, print means, and write the record."""
    parser = argparse.ArgumentParser(description="The risk that condrisk fit gives.")
    parser.add_argument("--splits", type=int, default=5)
    splits = parser.parse_args().splits
    record: dict[str, Any] = {
        "machine": describe_machine(),
        "versions": installed_versions(),
        "sets": {},
    }
    for name in SETS:
        record["sets"][name] = measure(name, splits)
        for estimate, figures in record["sets"][name].items():
            means = {key: np.mean(values) for key, values in figures.items()}
            print(
                f"{name:14} {estimate:11} AURC {means['aurc']:.5f} "
                f"squared error {means['squared_error']:.3f}",
                flush=True,
            )
    if splits == 5:
        write_whole(RECORD, json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    main()
