"""Fixtures that every test may use."""

import os
from functools import partial

import pytest
from hypothesis import settings

# Two at every run, three more with the slow tests: these find what is rare, not what is broken.
SEEDS = [0, 1, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (2, 3, 4))]

# Busy machines are slow, not wrong. New examples are tried at every run, but not in CI, where a
# failure must come from the change.
settings.register_profile("local", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "local")


@pytest.fixture(params=SEEDS)
def seed(request):
    """Each of several seeds: a test that holds for one lucky seed does not hold."""
    return request.param


@pytest.fixture(scope="module")
def quick_fits():
    """Fit tables with few trees: as many kinds of parts, files a tenth as large."""
    from sklearn.ensemble import ExtraTreesClassifier, HistGradientBoostingRegressor

    from condrisk.app.models import _predictors
    from condrisk.learners import DistributionRegressor

    def distribution(plan):
        mean = _predictors._boosted(plan, max_iter=10, learning_rate=0.4)
        variance = HistGradientBoostingRegressor(max_iter=10, learning_rate=0.4)
        return {"distribution": DistributionRegressor(mean, variance)}

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_predictors, "_distribution", distribution)
        patch.setattr(_predictors, "ExtraTreesClassifier", partial(ExtraTreesClassifier, 10))
        patch.setattr("condrisk.risk._correction.N_TREES", 5)
        yield


@pytest.fixture
def quick_boosting(monkeypatch):
    """Fit on a cluster with few trees, in larger steps."""
    from condrisk.app.models._cluster import _fit

    for name in ("PREDICTOR", "RISK"):
        few = {"n_estimators": 15, "learning_rate": 0.3}
        monkeypatch.setattr(_fit, name, getattr(_fit, name) | few)


@pytest.fixture
def impatient_boosting(monkeypatch):
    """Give up a fit on a cluster that has no new tree for ten seconds."""
    from condrisk.app.models._cluster import _crew

    monkeypatch.setattr(_crew, "STALL_SECONDS", 10.0)


@pytest.fixture
def watched_boosting(monkeypatch):
    """Look at a fit on a cluster so often that no tree of it is missed."""
    from condrisk.app.models._cluster import _crew

    monkeypatch.setattr(_crew, "_LOOK_SECONDS", 0.02)


@pytest.fixture(scope="module")
def cluster():
    """Two workers of Dask, each a process with one thread."""
    distributed = pytest.importorskip("distributed", reason="needs condrisk[dask]")
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address="127.0.0.1:0"
    ) as started:
        yield started
