"""The main job: fit a predictor, estimate its risk, defer at several prices, and measure it all."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.model_selection import train_test_split
from threadpoolctl import threadpool_limits

from condrisk import PlugInRisk, RegressionRisk
from condrisk.app.cli._table import Table
from condrisk.losses import get_loss
from condrisk.metrics import aurc, deferral_loss, deferral_rate, risk_error

SEED = 0
TEST_SHARE = 0.25


@dataclass(frozen=True)
class Estimate:
    """One estimate of the risk of the test rows."""

    name: str
    model: Any
    loss: NDArray[np.float64]
    risk: NDArray[np.float64]


@dataclass(frozen=True)
class Result:
    """Everything that the job found."""

    table: Table
    loss: str
    costs: list[float]
    estimates: list[Estimate]
    X_test: NDArray[np.float64]
    y_test: NDArray[Any]
    n_train: int

    @property
    def realised(self) -> NDArray[np.float64]:
        """The losses of the predictor on the test rows."""
        return self.estimates[0].loss

    def deferral_rows(self) -> list[dict[str, float]]:
        """Return the deferral loss at each price, beside what any method must be held against."""
        rows = []
        for cost in self.costs:
            row = {
                "cost": cost,
                "always_defer": cost,
                "never_defer": float(self.realised.mean()),
                "oracle": float(np.minimum(self.realised, cost).mean()),
            }
            for e in self.estimates:
                row[f"{e.name}_loss"] = deferral_loss(e.loss, e.risk, cost)
                row[f"{e.name}_coverage"] = 1 - deferral_rate(e.risk, cost)
            rows.append(row)
        return rows

    def error_rows(self) -> list[dict[str, Any]]:
        """Return how far the estimates are from the realised losses; a constant for comparison."""
        constant = np.full_like(self.realised, self._train_mean())
        candidates = [(e.name, e.risk) for e in self.estimates] + [("constant", constant)]
        return [
            {
                "estimate": name,
                "mean": float(risk.mean()),
                "L1": risk_error(self.realised, risk, norm=1),
                "L2": risk_error(self.realised, risk, norm=2),
                "aurc": aurc(self.realised, risk),
            }
            for name, risk in candidates
        ]

    def code(self) -> str:
        """Return the Python that does the same, with the names and prices of this job."""
        table, estimate, cost = self.table, self.estimates[-1], self.costs[len(self.costs) // 2]
        kind = "Classifier" if table.task == "classification" else "Regressor"
        stratify = ", stratify=y" if table.task == "classification" else ""
        split = f"test_size={TEST_SHARE}, random_state={SEED}{stratify}"
        calibration = ', calibration="temperature"' if estimate.name == "PlugInRisk" else ""
        options = f'loss="{self.loss}"{calibration}, random_state={SEED}'
        lines = [
            *table.imports,
            f"from sklearn.ensemble import HistGradientBoosting{kind}",
            "from sklearn.model_selection import train_test_split",
            f"from condrisk import Deferral, {estimate.name}",
            *table.code,
            f"split = train_test_split(X, y, {split})",
            "X_train, X_test, y_train, y_test = split",
            f"predictor = HistGradientBoosting{kind}(random_state={SEED})",
            f"risk = {estimate.name}(predictor, {options})",
            f"model = Deferral(risk, cost={cost}).fit(X_train, y_train)",
            "print(model.decide(X_test).to_frame(), -model.score(X_test, y_test))",
        ]
        return "\n".join(lines) + "\n"

    def _train_mean(self) -> float:
        return float(self.estimates[0].model.held_out_.losses.mean())


def predictor_for(task: str) -> Any:
    """Return the predictor of the quickstart: fast, strong, and at ease with missing values."""
    if task == "classification":
        return HistGradientBoostingClassifier(random_state=SEED)
    return HistGradientBoostingRegressor(random_state=SEED)


def run(
    table: Table, *, loss: str | None, costs: list[float] | None, progress: Callable[[str], Any]
) -> Result:
    """Do the job; `progress` gets a sentence about each step."""
    loss = get_loss(loss, task=table.task).name
    stratify = table.y if table.task == "classification" else None
    X, X_test, y, y_test = train_test_split(
        table.X, table.y, test_size=TEST_SHARE, random_state=SEED, stratify=stratify
    )
    estimators = {"RegressionRisk": RegressionRisk(predictor_for(table.task), loss=loss)}
    if table.task == "classification":
        estimators["PlugInRisk"] = PlugInRisk(
            predictor_for(table.task), loss=loss, calibration="temperature"
        )
    estimates = []
    for name, estimator in estimators.items():
        progress(f"fitting the predictor and its risk by {name}, five folds")
        # One thread: on so few rows more of them wait for each other, badly so on a busy machine.
        with threadpool_limits(1):
            model = estimator.set_params(random_state=SEED).fit(X, y)
        estimates.append(
            Estimate(name, model, model.loss_values(X_test, y_test), model.predict_risk(X_test))
        )
    costs = costs or interesting_costs(estimates[0].model.held_out_.risks)
    return Result(table, loss, costs, estimates, X_test, y_test, len(y))


def interesting_costs(risk: NDArray[np.float64]) -> list[float]:
    """Return prices at which some rows are deferred and some not, from training rows alone."""
    quantiles = np.quantile(risk, [0.1, 0.35, 0.65, 0.9])
    rounded = [float(f"{value:.2g}") for value in quantiles if value > 0]
    return sorted(set(rounded)) or [1.0]
