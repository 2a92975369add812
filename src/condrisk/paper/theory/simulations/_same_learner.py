"""Plug-in risk of a regressor against a regression of its losses, with one learner for both."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.ensemble import GradientBoostingRegressor, RandomForestRegressor
from sklearn.linear_model import RidgeCV
from sklearn.model_selection import KFold, cross_val_predict
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import SplineTransformer, StandardScaler

from condrisk.datasets import RegressionWorld, make_heteroscedastic
from condrisk.paper._records import Record
from condrisk.paper.theory import plug_in_mean_variance_bound
from condrisk.paper.theory.simulations._cells import Floats
from condrisk.paper.theory.simulations._settings import Part, TheoryConfig

# Repetitions by number of rows: where they are few, the errors vary more and cost less.
REPETITIONS = {200: 16, 800: 8, 3200: 4}
NOISES = ("homoscedastic", "heteroscedastic")
LEVELS = (0.5, 1.0)
N_FEATURES, N_PREDICTOR_ROWS, N_FRESH, N_TREES = 4, 200, 2000, 20

Predict = Callable[[Floats], Floats]


class Rows(NamedTuple):
    """Inputs, targets, and the mean and variance that the targets were drawn with."""

    X: Floats
    y: Floats
    mean: Floats
    variance: Floats


class Moments(NamedTuple):
    """Estimates of mean and variance: held out on the rows of the fit, and for fresh rows."""

    mean: Floats
    variance: Floats
    fresh_mean: Floats
    fresh_variance: Floats


def simulate(
    setting: dict[str, Any], config: TheoryConfig, rng: np.random.Generator
) -> list[Record]:
    """Return a record for each predictor, with E(ĝ − g)² of every estimate and repetition."""
    repetitions = 2 if config.quick else REPETITIONS[setting["n"]]
    found: dict[str, list[dict[str, float]]] = {}
    for _ in range(repetitions):
        world = make_heteroscedastic(setting["n"], n_features=N_FEATURES, random_state=rng)
        rows, own, fresh = (
            _rows(sample, setting)
            for sample in (
                world,
                world.sample(N_PREDICTOR_ROWS, random_state=rng),
                world.sample(N_FRESH, random_state=rng),
            )
        )
        seed = int(rng.integers(2**31))
        learner = make_learner(setting["learner"], seed, n_trees=3 if config.quick else N_TREES)
        moments = fit_moments(learner, rows, fresh.X, seed)
        for name, predict in _predictors(world, own, seed).items():
            errors = _errors(learner, rows, fresh, predict, moments)
            found.setdefault(name, []).append(errors)
    return [
        {"method": name, **setting, "repetitions": repetitions} | _columns(errors)
        for name, errors in found.items()
    ]


def _rows(world: RegressionWorld, setting: dict[str, Any]) -> Rows:
    """Return the rows of a world with the noise of the setting in place of its own.

    The variance is level² on average: E exp(x₁) = √e.
    """
    mean, variance = world.mean(world.X), world.variance(world.X)
    noise = (world.y - mean) / np.sqrt(variance)
    shape = variance / math.sqrt(math.e) if setting["noise"] == "heteroscedastic" else 1.0
    new = setting["level"] ** 2 * shape * np.ones(len(mean))
    return Rows(world.X, mean + np.sqrt(new) * noise, mean, new)


def make_learner(name: str, seed: int, *, n_trees: int) -> RegressorMixin:
    """Return the learner of everything: a forest, or a ridge on splines of each input."""
    if name == "forest":
        return RandomForestRegressor(n_trees, min_samples_leaf=5, random_state=seed)
    splines = SplineTransformer(n_knots=6, knots="quantile", extrapolation="constant")
    return make_pipeline(splines, StandardScaler(), RidgeCV(np.logspace(-2, 4, 13)))


def _predictors(world: RegressionWorld, own: Rows, seed: int) -> dict[str, Predict]:
    """Return predictors from perfect to poor; some err simply in x, some roughly."""
    boosting = GradientBoostingRegressor(random_state=seed).fit(own.X, own.y)
    neighbour = KNeighborsRegressor(1).fit(own.X, own.y)
    return {
        "the mean": world.mean,
        "coefficient off by 0.5": lambda X: world.mean(X) + 0.5 * X[:, 1],
        "coefficient off by 1.5": lambda X: world.mean(X) + 1.5 * X[:, 1],
        "boosting": boosting.predict,
        "nearest neighbour": neighbour.predict,
    }


def fit_moments(learner: Any, rows: Rows, fresh: Floats, seed: int) -> Moments:
    """Return m, and v fitted to the squares of held-out residuals."""
    folds = KFold(5, shuffle=True, random_state=seed)
    mean = cross_val_predict(learner, rows.X, rows.y, cv=folds)
    squares = (rows.y - mean) ** 2
    variance = cross_val_predict(learner, rows.X, squares, cv=folds)
    return Moments(
        mean,
        np.maximum(variance, 0.0),
        learner.fit(rows.X, rows.y).predict(fresh),
        np.maximum(learner.fit(rows.X, squares).predict(fresh), 0.0),
    )


def _errors(
    learner: Any, rows: Rows, fresh: Rows, predict: Predict, moments: Moments
) -> dict[str, float]:
    """Return E(ĝ − g)² of each estimate, and what the bound of the plug-in risk is made of."""
    f = predict(fresh.X)
    risk = (f - fresh.mean) ** 2 + fresh.variance
    estimates = estimate_risks(learner, rows, predict(rows.X), fresh.X, f, moments)
    errors = {name: float(((g - risk) ** 2).mean()) for name, g in estimates.items()}
    parts = {
        "variance_error": float(np.abs(moments.fresh_variance - fresh.variance).mean()),
        "mean_error": float(np.sqrt(((moments.fresh_mean - fresh.mean) ** 2).mean())),
        "predictor_error": float(np.sqrt(((f - fresh.mean) ** 2).mean())),
    }
    absolute = float(np.abs(estimates["plug-in"] - risk).mean())
    bound = plug_in_mean_variance_bound(**parts).value
    return errors | parts | {"absolute": absolute, "bound": bound}


def estimate_risks(
    learner: Any, rows: Rows, f: Floats, fresh: Floats, fresh_f: Floats, moments: Moments
) -> dict[str, Floats]:
    """Return every estimate of the risk on fresh rows, none of them negative.

    The corrected one adds to the plug-in risk a regression of what it misses on held-out rows.
    """
    losses = (rows.y - f) ** 2
    gap, fresh_gap = (f - moments.mean) ** 2, (fresh_f - moments.fresh_mean) ** 2
    inputs = np.column_stack([rows.X, f, moments.mean, gap])
    fresh_inputs = np.column_stack([fresh, fresh_f, moments.fresh_mean, fresh_gap])
    plug_in = fresh_gap + moments.fresh_variance
    missed = losses - gap - moments.variance
    found = {
        "constant": np.full(len(fresh), losses.mean()),
        "losses on x": learner.fit(rows.X, losses).predict(fresh),
        "losses on x, f, m": learner.fit(inputs, losses).predict(fresh_inputs),
        "plug-in": plug_in,
        "corrected": plug_in + learner.fit(inputs, missed).predict(fresh_inputs),
    }
    return {name: np.maximum(risk, 0.0) for name, risk in found.items()}


def _columns(found: list[dict[str, float]]) -> dict[str, list[float]]:
    """Return the values of every repetition by name, in six digits."""
    return {name: [float(f"{values[name]:.6g}") for values in found] for name in found[0]}


def _seconds(setting: dict[str, Any]) -> float:
    trees = setting["n"] / 800 + 0.2 if setting["learner"] == "forest" else 0.0
    return REPETITIONS[setting["n"]] * (0.2 + setting["n"] / 8000 + trees)


PART = Part(
    name="same-learner",
    title="plug-in against regression of losses",
    settings=[
        {"learner": learner, "noise": noise, "level": level, "n": n}
        for learner in ("splines", "forest")
        for noise in NOISES
        for level in LEVELS
        for n in REPETITIONS
    ],
    simulate=simulate,
    in_quick=lambda setting: (
        (setting["noise"], setting["level"], setting["n"]) == ("homoscedastic", 0.5, 200)
    ),
    work=_seconds,
)
