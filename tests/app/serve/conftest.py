"""Models small enough to be fitted on the fly, and a service that really listens."""

import datetime
import math
import threading
from contextlib import contextmanager

import httpx
import numpy as np
import polars as pl
import pytest
from sklearn.base import BaseEstimator
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestRegressor,
)

from condrisk import BudgetRule, Deferral, RegressionRisk
from condrisk.app.models import fit_table, open_model
from condrisk.app.serve import _connection, _decider, _json, create_app, listen
from condrisk.app.serve._server import Server
from condrisk.app.tables import check_rows
from condrisk.persistence import Schema

N_ROWS = 160


class Stranger(BaseEstimator):
    """A risk estimator that is none of ours: the mean of the target, and |x| for the risk."""

    def fit(self, X, y, *, sample_weight=None, prediction=None):
        self.mean_ = float(np.mean(y))
        return self

    def predict(self, X, *, prediction=None):
        return np.full(len(X), self.mean_)

    def predict_risk(self, X, *, prediction=None):
        return np.abs(np.nan_to_num(np.asarray(X)[:, 0]))

    def loss_values(self, X, y, *, prediction=None):
        return (np.asarray(y) - self.mean_) ** 2


def table(n_rows=N_ROWS, seed=0):
    """Columns of every kind, one with gaps."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n_rows)
    city = rng.choice(["Bern", "Oslo", "Rome"], n_rows)
    days = [
        datetime.date(2024, 1, 1) + datetime.timedelta(int(d)) for d in rng.integers(0, 300, n_rows)
    ]
    gaps = [None if i % 11 == 0 else float(v) for i, v in enumerate(rng.normal(size=n_rows))]
    y = 2 * x + (city == "Rome") + np.exp(x) * rng.normal(size=n_rows)
    return pl.DataFrame(
        {
            "x": x,
            "gaps": gaps,
            "city": city,
            "smokes": rng.random(n_rows) < 0.3,
            "seen": days,
            "y": y,
            "ill": np.where(y > 0.5, "ill", "well"),
        }
    )


def _fitted(schema, estimator, X, *, target="y", rule=None, cost=1.0):
    """A model of the same columns, fitted at once instead of by `fit_table`."""
    rows = table()
    risk = RegressionRisk(
        estimator, regressor=HistGradientBoostingRegressor(max_iter=20), cv=2, random_state=0
    )
    fitted = Deferral(risk, cost=cost, rule=rule).fit(X, rows[target].to_numpy())
    return open_model(fitted, schema=schema, target=target)


def _pandas_model():
    """A model that was fitted on a pandas frame, with its types."""
    frame = table().select("x", "gaps", "city", "smokes").to_pandas()
    frame["city"] = frame["city"].astype("category")
    schema = Schema.infer(frame)
    return _fitted(schema, HistGradientBoostingRegressor(max_iter=20), frame)


class Models(dict):
    """Models by name, each fitted when a test first asks for it."""

    def __missing__(self, name):
        self[name] = MAKERS[name]()
        return self[name]


MODELS = Models()


def _on_schema(estimator, **options):
    """Return a model fitted at once on the columns of the linear one."""
    schema = MODELS["linear"].schema
    X = MODELS["linear"].encode(check_rows(schema, table()).good)
    return _fitted(schema, estimator, X, **options)


def _stranger():
    schema = MODELS["linear"].schema
    X = MODELS["linear"].encode(check_rows(schema, table()).good)
    deferral = Deferral(Stranger(), cost=0.5).fit(X, table()["y"].to_numpy())
    return open_model(deferral, schema=schema, target="y")


def _numbers_elsewhere():
    frame = table().drop("ill").with_columns(guess=2 * pl.col("x"))
    return fit_table(frame, target="y", cost=8.0, predictions="guess", predictor="linear")


def _labels_elsewhere():
    guess = pl.when(pl.col("x") > 0).then(pl.lit("ill")).otherwise(pl.lit("well"))
    frame = table().drop("y").with_columns(guess=guess)
    return fit_table(frame, target="ill", cost=0.2, predictions="guess")


MAKERS = {
    "linear": lambda: fit_table(table().drop("ill"), target="y", cost=2.0, predictor="linear"),
    "stranger": _stranger,
    "pandas": _pandas_model,
    "logistic": lambda: fit_table(table().drop("y"), target="ill", cost=0.2, predictor="linear"),
    "boosting": lambda: _on_schema(HistGradientBoostingRegressor(max_iter=20)),
    "forest": lambda: _on_schema(RandomForestRegressor(20)),
    "budget": lambda: _on_schema(
        HistGradientBoostingRegressor(max_iter=20), rule=BudgetRule(0.2), cost=None
    ),
    "classes": lambda: _on_schema(
        HistGradientBoostingClassifier(max_iter=20), target="ill", cost=0.2
    ),
    "numbers elsewhere": _numbers_elsewhere,
    "labels elsewhere": _labels_elsewhere,
}


@pytest.fixture(scope="session")
def models():
    """Models by name."""
    return MODELS


@contextmanager
def serving(app, *, grace_seconds=10.0, **limits):
    """Run an app on a free port of this machine; gives a client and the server."""
    started = threading.Event()
    server = Server(app, grace_seconds=grace_seconds, on_start=started.set, **limits)
    with listen("127.0.0.1", 0) as listener:
        port = listener.getsockname()[1]
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        try:
            assert started.wait(30)
            url = f"http://127.0.0.1:{port}"
            with httpx.Client(base_url=url, trust_env=False, timeout=30) as client:
                yield client, server
        finally:
            server.should_exit = True
            thread.join(30)
    assert not thread.is_alive()


@pytest.fixture(scope="session")
def client(models):
    """A client of a service for the linear model."""
    with serving(create_app(models["linear"])) as (client, _):
        yield client


@pytest.fixture(scope="session")
def threaded(models):
    """A client of a service for a forest, which decides in a thread."""
    with serving(create_app(models["forest"])) as (client, _):
        yield client


@pytest.fixture(scope="session")
def serve():
    """What runs an app: a fixture, because tests cannot import from here."""
    return serving


@pytest.fixture(scope="session")
def new_rows():
    """Rows as JSON has them, some with gaps, one with an unseen category."""
    frame = table(40, seed=1).drop("y", "ill").with_columns(pl.col("seen").cast(pl.String))
    rows = frame.to_dicts()
    rows[3]["city"] = "Atlantis"
    rows[4]["city"] = rows[5]["smokes"] = rows[6]["seen"] = rows[7]["x"] = None
    return rows


@pytest.fixture
def short_linger(monkeypatch):
    """Have those who do not read their answers waited for but for a moment."""
    monkeypatch.setattr(_connection, "LINGER_SECONDS", 0.2)


@pytest.fixture
def quick_decisions(monkeypatch):
    """Have every decision taken for a quick one, however busy the machine is."""
    monkeypatch.setattr(_decider, "AT_ONCE_SECONDS", math.inf)


@pytest.fixture
def decode_in_pieces(monkeypatch):
    """Return what reads long bodies, for which short ones are long already."""
    for name, value in {"WHOLE_BYTES": 0, "_PIECE_BYTES": 9, "_MOST_ROW_BYTES": 10_000}.items():
        monkeypatch.setattr(_json, name, value)
    return _json.decode_request
