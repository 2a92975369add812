"""Copies of rows across folds: warned about by what they do, and told from replicates.

Warnings are errors here, so that a `fit` without `pytest.warns` is one that does not warn.
"""

import re

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.sparse import csr_array
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import KFold, PredefinedSplit
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from condrisk import AutoRisk, PlugInRisk, RegressionRisk
from condrisk.app.models import fit_table

N = 400


def rows(seed, n=N, d=3):
    """Return rows and their mean targets."""
    X = np.random.default_rng(seed).normal(size=(n, d))
    return X, np.sin(2 * X[:, 0]) + X[:, 1]


def with_copies(seed, *, jitter, times=2):
    """Return each row several times, with the same noise; and which rows belong together."""
    rng = np.random.default_rng([seed, 1])
    X, mean = rows(seed, N // times)
    label = rng.permutation(np.arange(N) % (N // times))
    y = mean + rng.normal(size=len(X))
    return X[label] + jitter * rng.normal(size=(N, 3)), y[label], label


def risk_of(predictor, **params):
    return RegressionRisk(predictor, regressor=LinearRegression(), random_state=0, **params)


@pytest.mark.parametrize("jitter", [0.0, 0.002])
def test_copies_that_share_their_noise_are_named_with_what_they_do(seed, jitter):
    X, y, label = with_copies(seed, jitter=jitter, times=5)
    with pytest.warns(UserWarning, match="copies or near copies.*groups=") as warned:
        apart = risk_of(KNeighborsRegressor(5)).fit(X, y)
    together = risk_of(KNeighborsRegressor(5)).fit(X, y, groups=label)
    share, said = re.search(
        r"^(\d+)% of the rows.* are about (\d+)% too low", str(warned[0].message)
    ).groups()
    assert int(share) >= 95
    truth = 1 - apart.held_out_.losses.mean() / together.held_out_.losses.mean()
    assert int(said) / 100 == pytest.approx(truth, abs=0.2)


def test_the_trial_is_of_rows_whose_copies_were_learnt_and_not_they_themselves():
    """Near copies with a little noise of their own: the nearest neighbour adds its own to it."""
    X, y, _ = with_copies(0, jitter=0.002)
    y = y + 0.05 * np.random.default_rng(2).normal(size=N)
    with pytest.warns(UserWarning, match="groups=") as warned:
        risk_of(KNeighborsRegressor(1)).fit(X, y)
    said = re.search(r"mean loss was (\S+) where a copy", str(warned[0].message))
    assert float(said.group(1)) == pytest.approx(2 * 0.05**2, rel=0.5)


def test_classes_whose_wrong_labels_are_copied():
    rng = np.random.default_rng(0)
    X, mean = rows(0, N // 2)
    y = np.where((mean > 0) ^ (rng.random(N // 2) < 0.2), "yes", "no")
    twice = np.tile(np.arange(N // 2), 2)
    with pytest.warns(UserWarning, match="groups="):
        PlugInRisk(KNeighborsClassifier(1), random_state=0).fit(X[twice], y[twice])


def test_columns_of_text_and_gaps():
    X, y, _ = with_copies(0, jitter=0.0)
    frame = pd.DataFrame({"a": np.where(X[:, 0] > 1, np.nan, X[:, 0].round(2)), "b": X[:, 1]})
    frame["c"] = pd.Categorical(np.where(X[:, 2] > 0, "x", "y"))
    model = make_pipeline(OneHotEncoder(handle_unknown="ignore"), KNeighborsRegressor(1))
    risk = RegressionRisk(model, regressor=make_pipeline(OneHotEncoder(), LinearRegression()))
    with pytest.warns(UserWarning, match="groups="):
        risk.fit(frame, y)


def test_a_built_predictor_is_tried_out_by_another():
    X, y, _ = with_copies(0, jitter=0.0)
    with pytest.warns(UserWarning, match="groups="):
        AutoRisk(loss="absolute_error", time_budget=0.01, cv=2, random_state=0).fit(X, y)


def replicates(rng, noise):
    X, mean = rows(0, N // 5)
    which = np.arange(N) % (N // 5)
    return X[which], mean[which] + noise * rng.normal(size=N)


def grid(rng):
    X = np.stack(np.meshgrid(np.linspace(-2, 2, 20), np.linspace(-2, 2, 20)), -1).reshape(-1, 2)
    return X, np.sin(X[:, 0]) + X[:, 1]


def few_values(rng):
    X = rng.integers(0, 3, size=(N, 4))
    return X, X @ [1.0, 2.0, 0.5, -1.0]


WORLDS = {
    "replicates": lambda rng: replicates(rng, 1.0),
    "replicates with little noise": lambda rng: replicates(rng, 0.2),
    "no copies": lambda rng: rows(0),
    "on a line": lambda rng: (np.linspace(0, 1, N)[:, None] ** 2, np.linspace(0, 1, N)),
    "a grid without noise": grid,
    "few values without noise": few_values,
}


@pytest.mark.parametrize("world", WORLDS)
def test_what_is_no_copy_is_not_warned_about(world, seed):
    X, y = WORLDS[world](np.random.default_rng(seed))
    risk_of(KNeighborsRegressor(1)).fit(X, y)


def test_nobody_is_warned_where_copies_do_no_harm():
    X, y, label = with_copies(0, jitter=0.0)
    nearest = KNeighborsRegressor(1)
    risk_of(LinearRegression()).fit(X, y)  # learns no single row
    risk_of(nearest).fit(X, y, groups=label)
    risk_of(nearest, cv=PredefinedSplit(label % 5)).fit(X, y)  # who splits by hand knows why
    risk_of(FrozenEstimator(nearest.fit(X[:200], y[:200]))).fit(X[200:], y[200:])
    risk_of(LinearRegression()).fit(csr_array(X), y)
    with pytest.warns(UserWarning, match="groups="):
        risk_of(nearest, cv=KFold(5, shuffle=True, random_state=0)).fit(X, y)


def test_condrisk_fit_prints_it():
    X, y, _ = with_copies(0, jitter=0.0, times=5)
    frame = pl.DataFrame(X, schema=["a", "b", "c"]).with_columns(y=y)
    notes = []
    nearest = {"predictor": "sklearn.neighbors:KNeighborsRegressor", "trust": True}
    fit_table(frame, target="y", cost=1.0, **nearest, note=notes.append)
    assert len([text for text in notes if "copies or near copies" in text]) == 1
