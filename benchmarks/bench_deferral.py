"""`Deferral.decide` on 100,000 rows against the bare responses that it uses."""

from __future__ import annotations

from typing import Any

from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.linear_model import LogisticRegression

from benchmarks.timing import interleaved, record
from condrisk import Deferral, PlugInRisk, RegressionRisk
from condrisk.datasets import make_gaussian_mixture, make_heteroscedastic

LIMIT = 1.1


def run(n_rows: int = 100_000, repeats: int = 9) -> list[dict[str, Any]]:
    return [_regression(n_rows, repeats), _classification(n_rows, repeats)]


def _regression(n_rows: int, repeats: int) -> dict[str, Any]:
    world = make_heteroscedastic(2000, random_state=0)
    risk = RegressionRisk(
        HistGradientBoostingRegressor(random_state=0),
        regressor=HistGradientBoostingRegressor(random_state=0),
        random_state=0,
    )
    model = Deferral(risk, cost=1.0).fit(world.X, world.y)
    X = world.sample(n_rows, random_state=1).X

    def responses() -> None:
        model.risk_.predictor_.predict(X)
        model.risk_.regressor_.predict(X)

    return _compare("Deferral.decide, regression", model, X, responses, repeats)


def _classification(n_rows: int, repeats: int) -> dict[str, Any]:
    world = make_gaussian_mixture(2000, n_features=5, random_state=0)
    risk = PlugInRisk(
        HistGradientBoostingClassifier(random_state=0),
        loss="log_loss",
        probability=LogisticRegression(),
        calibration=None,
        random_state=0,
    )
    model = Deferral(risk, cost=0.5).fit(world.X, world.y)
    X = world.sample(n_rows, random_state=1).X

    def responses() -> None:
        model.risk_.predictor_.predict(X)
        model.risk_.predictor_.predict_proba(X)
        model.risk_.probability_.predict_proba(X)

    return _compare("Deferral.decide, plug-in", model, X, responses, repeats)


def _compare(name: str, model: Any, X: Any, responses: Any, repeats: int) -> dict[str, Any]:
    seconds = interleaved({"ours": lambda: model.decide(X), "bare": responses}, repeats)
    return record(name, seconds["ours"], seconds["bare"], LIMIT, n=len(X))
