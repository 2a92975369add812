"""Fingerprints: of what a method does, not of how its class is written."""

import subprocess
import sys
from functools import partial

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, clone
from sklearn.ensemble import BaggingRegressor, RandomForestRegressor
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.pipeline import make_pipeline

from condrisk import RegressionRisk
from condrisk.losses import make_loss
from condrisk.paper.rwr._fingerprint import describe, fingerprint
from condrisk.paper.rwr._methods import make_pair, pair_names


def test_a_new_parameter_with_a_default_changes_nothing():
    class Model(BaseEstimator):
        def __init__(self, *, depth=3):
            self.depth = depth

    old = [fingerprint(Model()), fingerprint(Model(depth=5))]

    class Model(BaseEstimator):
        def __init__(self, *, depth=3, width=None, weights=np.nan, inner=Ridge()):  # noqa: B008
            self.depth = depth
            self.width = width
            self.weights = weights
            self.inner = inner

    assert [fingerprint(Model()), fingerprint(Model(depth=5))] == old
    assert fingerprint(Model(weights=float("nan"), inner=Ridge())) == old[0]
    for changed in ({"width": 0}, {"weights": 0.5}, {"inner": Ridge(2.0)}, {"inner": None}):
        assert fingerprint(Model(**changed)) != old[0]


def test_pairs_are_told_apart():
    assert len({fingerprint(make_pair(name, mlp="fast")) for name in pair_names()}) == 16
    fast, again, other = (make_pair("MLP+RF", mlp=mlp) for mlp in ("fast", "fast", "sklearn"))
    assert fingerprint(fast) == fingerprint(again) == fingerprint(clone(fast))
    assert fingerprint(fast) != fingerprint(other)
    deep = clone(fast).set_params(predictor__lockstepmlpregressor__max_iter=801)
    assert fingerprint(deep) != fingerprint(fast)


def scaled(factor):
    return lambda y, prediction: factor * np.abs(y - prediction)


class Plain:
    """Shows where it lies in memory."""

    def __init__(self, value):
        self.value = value

    def loss(self, y, prediction):
        return self.value * np.abs(y - prediction)


frame = pd.DataFrame([[0.0, 1.0], [2.0, 0.0]], index=["a", "b"], columns=["a", "b"])
large = np.arange(5000.0)
nearly = large + (np.arange(5000) == 2500) * 1e-9
RISK = partial(RegressionRisk, LinearRegression())
# Two that differ, where scikit-learn's own text of an estimator is the same for both.
DIFFERENT = {
    "entries of a large array": lambda: [Ridge(alpha=large), Ridge(alpha=nearly)],
    "digits of a small array": lambda: [Ridge(alpha=np.array([v])) for v in (0.1, 0.1 + 1e-12)],
    "entries of an array of objects": lambda: [
        Ridge(alpha=np.array([None, v], dtype=object)) for v in ("a", "b")
    ],
    "a long list": lambda: [Ridge(alpha=[*range(99), last]) for last in (0, 1)],
    "a long dict": lambda: [Ridge(alpha=dict.fromkeys(range(99), v)) for v in (0, 1)],
    "a step of a pipeline": lambda: [make_pipeline(Ridge(alpha=a)) for a in (1.0, 2.0)],
    "an estimator in an estimator": lambda: [BaggingRegressor(Ridge(alpha=a)) for a in (1.0, 2.0)],
    "bodies of functions": lambda: [RISK(loss=lambda y, p: y), RISK(loss=lambda y, p: p)],
    "constants of functions": lambda: [
        RISK(loss=lambda y, p: 1 * y),
        RISK(loss=lambda y, p: 2 * y),
    ],
    "what a function was made with": lambda: [RISK(loss=scaled(1)), RISK(loss=scaled(2))],
    "defaults of a function": lambda: [
        RISK(loss=lambda y, p, k=1: k * y),
        RISK(loss=lambda y, p, k=2: k * y),
    ],
    "a partial": lambda: [RISK(loss=partial(np.power, k)) for k in (1, 2)],
    "a method of an object": lambda: [RISK(loss=Plain(k).loss) for k in (1, 2)],
    "an object without a text": lambda: [RISK(loss=Plain(k)) for k in (1, 2)],
    "a loss": lambda: [RISK(loss=make_loss(scaled(k))) for k in (1, 2)],
    "labels of a frame": lambda: [RISK(loss=f) for f in (frame, frame.rename(columns={"a": "c"}))],
    "values of a frame": lambda: [RISK(loss=f) for f in (frame, frame + 1)],
}


@pytest.mark.parametrize("case", DIFFERENT)
def test_values_count_in_full_and_objects_do_not(case):
    one, other = (fingerprint(method) for method in DIFFERENT[case]())
    assert one != other
    # Made again, and so at other places in memory: the same.
    assert [one, other] == [fingerprint(method) for method in DIFFERENT[case]()]


def test_numbers_of_numpy_are_numbers():
    assert fingerprint(Ridge(alpha=np.float64(2))) == fingerprint(Ridge(alpha=2.0))
    assert fingerprint(Ridge(alpha=np.float64(1))) == fingerprint(Ridge())
    assert fingerprint(Ridge(alpha={3, 1, 2})) == fingerprint(Ridge(alpha={2, 3, 1}))
    assert fingerprint(Ridge(alpha=True)) != fingerprint(Ridge(alpha=1.0))


def test_no_address_is_left():
    state = np.random.RandomState(0)
    text = describe(RandomForestRegressor(random_state=state, criterion=object()))
    assert "0x" not in text


PRINT = """
from sklearn.linear_model import LinearRegression
from condrisk import RegressionRisk
from condrisk.paper.rwr._fingerprint import fingerprint
def loss(y, prediction, names=frozenset(["a", "b", "c"])):
    return abs(y - prediction)
print(fingerprint(RegressionRisk(LinearRegression(), loss=loss)))
"""


def test_every_process_has_the_same():
    found = {
        subprocess.run(
            [sys.executable, "-c", PRINT],
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": ":".join(sys.path)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("0", "1")
    }
    assert len(found) == 1
