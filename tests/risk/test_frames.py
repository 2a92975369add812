"""Frames, texts and sparse rows as they are: the predictor gets them untouched."""

from datetime import datetime, timedelta

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.compose import make_column_transformer
from sklearn.dummy import DummyRegressor
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LinearRegression, LogisticRegression, SGDClassifier
from sklearn.pipeline import make_pipeline

from condrisk import AutoRisk, Deferral, HybridRisk, PlugInRisk, RegressionRisk
from condrisk.learners import BayesDecision, DistributionRegressor, StackedRegressor
from condrisk.persistence import load_model, save_model

START = datetime(2024, 1, 1)


def mixed(n_rows=120, seed=0):
    """Return a frame whose noise depends on a category, and targets of mean `a`."""
    rng = np.random.default_rng(seed)
    kind = rng.choice(["calm", "noisy"], n_rows)
    columns = {
        "a": rng.normal(size=n_rows),
        "kind": kind.tolist(),
        "count": [k if k % 5 else None for k in range(n_rows)],
        "ok": [bool(k % 2) if k % 7 else None for k in range(n_rows)],
        "when": [START + timedelta(hours=int(h)) for h in rng.integers(5000, size=n_rows)],
        "note": [f"seen by {'abcdefg'[k % 7]} on day {k}" for k in range(n_rows)],
    }
    y = columns["a"] + np.where(kind == "noisy", 3.0, 0.1) * rng.normal(size=n_rows)
    return columns, kind, y


def as_pandas(columns):
    types = {"kind": "category", "count": "Int64", "ok": "boolean"}
    return pd.DataFrame(columns).astype(types)


def as_polars(columns):
    return pl.DataFrame(columns).cast({"kind": pl.Categorical})


def of_a():
    """Return a predictor that looks at one column."""
    return make_pipeline(make_column_transformer(("passthrough", ["a"])), LinearRegression())


# Without time there are few models: what is checked here is the same for more.
QUICK = {"time_budget": 0, "cv": 3, "random_state": 0}
RISKS = {
    "regression": RegressionRisk(of_a(), cv=3, random_state=0),
    "plug-in": PlugInRisk(of_a(), distribution=DistributionRegressor(of_a()), random_state=0),
    "hybrid": HybridRisk(of_a(), distribution=DistributionRegressor(of_a()), random_state=0),
    "auto": AutoRisk(of_a(), **QUICK),
    "auto, built": AutoRisk(**QUICK),
    "auto, built for a loss": AutoRisk(loss="absolute_error", task="regression", **QUICK),
}


@pytest.mark.parametrize("name", RISKS)
def test_frames_of_any_type_give_risks(name):
    columns, kind, y = mixed()
    risk, frame = RISKS[name], as_pandas(columns)
    estimate = risk.fit(frame, y).predict_risk(frame)
    assert estimate[kind == "noisy"].mean() > 1.5 * estimate[kind == "calm"].mean()
    unheard = {"kind": ["unheard of", None] * (len(y) // 2), "ok": [None] * len(y)}
    assert np.isfinite(risk.predict_risk(as_pandas(columns | unheard))).all()
    if getattr(risk, "distribution_", None) is not None:
        floor, gap, correction = risk.decompose_risk(frame)
        assert_allclose(floor + gap + correction, estimate)
        assert risk.predict_exceedance(frame, 1.0).shape == y.shape


@pytest.mark.parametrize("name", ["regression", "auto", "auto, built"])
def test_pandas_and_polars_give_the_same_risks(name):
    columns, _, y = mixed(60)
    frames = as_pandas(columns), as_polars(columns)
    one, other = (clone(RISKS[name]).fit(frame, y).predict_risk(frame) for frame in frames)
    assert_array_equal(one, other)


def test_classifiers_have_a_second_model_on_the_encoded_rows():
    columns, kind, y = mixed()
    model = make_pipeline(make_column_transformer(("passthrough", ["a"])), LogisticRegression())
    label = np.where(y > 0, "up", "down")
    frame = as_pandas(columns)
    for risk in (AutoRisk(model, **QUICK), RegressionRisk(model, cv=3, random_state=0)):
        estimate = risk.fit(frame, label).predict_risk(frame)
        assert estimate[kind == "noisy"].mean() > 1.5 * estimate[kind == "calm"].mean()


class Recorder(RegressorMixin, BaseEstimator):
    """A predictor, or a regressor of losses, that keeps what it is given."""

    seen = ()

    def fit(self, X, y):
        Recorder.seen = (*Recorder.seen, X)
        return self

    def predict(self, X):
        Recorder.seen = (*Recorder.seen, X)
        return np.zeros(len(X))


@pytest.mark.filterwarnings("ignore:the predictor is worse than a constant")
@pytest.mark.parametrize(
    "make",
    [
        lambda: RegressionRisk(Recorder(), cv=2),
        lambda: RegressionRisk(DummyRegressor(), regressor=Recorder(), cv=2),
        lambda: AutoRisk(Recorder(), **QUICK),
        lambda: HybridRisk(DummyRegressor(), distribution=DistributionRegressor(Recorder())),
    ],
)
@pytest.mark.parametrize("as_frame", [as_pandas, as_polars])
def test_what_a_user_gives_gets_the_frame_untouched(make, as_frame, monkeypatch):
    monkeypatch.setattr(Recorder, "seen", ())
    columns, _, y = mixed(60)
    frame = as_frame(columns)
    make().fit(frame, y).predict_risk(frame)
    assert len(Recorder.seen) >= 2
    for X in Recorder.seen:
        assert type(X) is type(frame)
        assert list(X.dtypes) == list(frame.dtypes)


@pytest.mark.parametrize("risk", [RegressionRisk(Recorder()), AutoRisk(Recorder())])
def test_rows_without_an_encoding_are_refused_before_anything_is_fitted(risk, monkeypatch):
    monkeypatch.setattr(Recorder, "seen", ())
    frame = pd.DataFrame({"a": [1.0, 2.0] * 20, "b": [{"c": 1}, {"d": 2}] * 20})
    with pytest.raises(TypeError, match="column 'b' has a cell of type dict"):
        risk.fit(frame, np.arange(40.0))
    assert Recorder.seen == ()


def test_columns_are_checked_by_name():
    columns, _, y = mixed(60)
    frame = as_pandas(columns)
    risk = RegressionRisk(of_a(), cv=2, random_state=0).fit(frame, y)
    with pytest.raises(ValueError, match="order"):
        risk.predict_risk(frame[frame.columns[::-1]])
    with pytest.raises(ValueError, match="kind"):
        risk.predict_risk(frame.drop(columns="kind"))


def test_boosting_takes_the_categories_of_the_frame():
    columns, kind, y = mixed(300)
    frame = as_pandas(columns).drop(columns=["when", "note"])
    boosting = HistGradientBoostingRegressor(max_iter=20, categorical_features="from_dtype")
    risk = RegressionRisk(boosting, cv=3, random_state=0).fit(frame, y)
    assert risk.predictor_.is_categorical_.tolist() == [False, True, False, False]
    estimate = risk.predict_risk(frame)
    assert estimate[kind == "noisy"].mean() > 3 * estimate[kind == "calm"].mean()


def test_numbers_have_no_encoder():
    columns, _, y = mixed(60)
    X = np.column_stack([columns["a"], np.arange(60.0)])
    frame = pd.DataFrame({"a": X[:, 0], "b": np.arange(60)})
    for risk in (RegressionRisk(LinearRegression(), cv=2), AutoRisk(LinearRegression(), **QUICK)):
        risk.set_params(random_state=0)
        found = risk.fit(X, y).predict_risk(X)
        assert risk.encoder_ is None
        assert_allclose(risk.fit(frame, y).predict_risk(frame), found)
        assert risk.encoder_ is None


def test_model_files_hold_the_encoder(tmp_path):
    columns, _, y = mixed(60)
    frame = as_pandas(columns)
    model = Deferral(RISKS["auto, built"], cost=1.0).fit(frame, y)
    save_model(model, tmp_path / "m.skops", schema=frame)
    loaded = load_model(tmp_path / "m.skops")
    assert_array_equal(loaded.risk_.predict_risk(frame), model.risk_.predict_risk(frame))


def test_an_encoder_has_no_form_in_onnx():
    pytest.importorskip("onnx")
    from condrisk.app.export import ExportError, to_onnx

    columns, _, y = mixed(60)
    frame = as_pandas(columns)[["a", "kind"]]
    for risk in (RegressionRisk(DummyRegressor(), cv=2), AutoRisk(**QUICK)):
        model = Deferral(risk, cost=1.0).fit(frame, y)
        with pytest.raises(ExportError, match="TableEncoder, which cannot be converted to ONNX"):
            to_onnx(model, schema=frame)


def test_distributions_and_decisions_take_frames():
    columns, kind, y = mixed()
    frame = as_pandas(columns)
    model = DistributionRegressor(StackedRegressor(**QUICK), cv=2, random_state=0)
    std = model.fit(frame, y).predict_std(frame)
    assert std[kind == "noisy"].mean() > 1.5 * std[kind == "calm"].mean()
    decision = BayesDecision(model, loss="absolute_error").fit(frame, y)
    assert np.isfinite(decision.predict(frame)).all()


# -- texts and sparse rows ------------------------------------------------------------------------


def reviews(n_rows=200, seed=0):
    """Return texts, labels, and which labels are a coin's: those of a text about the weather."""
    rng = np.random.default_rng(seed)
    words = {"good": ["fine", "great"], "bad": ["awful", "poor"], "weather": ["rain", "sun"]}
    topic = rng.choice(list(words), n_rows)
    filler = [f"w{k}" for k in range(500)]
    texts = [" ".join([*rng.choice(words[t], 3), *rng.choice(filler, 5)]) for t in topic]
    coin = rng.choice(["good", "bad"], n_rows)
    return texts, np.where(topic == "weather", coin, topic), topic == "weather"


@pytest.mark.parametrize("model", [LogisticRegression(), SGDClassifier(random_state=0)])
def test_sparse_rows_reach_the_predictor_untouched(model):
    texts, label, coin = reviews()
    X = TfidfVectorizer().fit_transform(texts)
    assert X.shape[1] > 400
    risk = RegressionRisk(model, cv=3, random_state=0).fit(X, label)
    assert risk.predictor_.n_features_in_ == X.shape[1]
    estimate = risk.predict_risk(X)
    assert estimate[coin].mean() > 2 * estimate[~coin].mean()


def test_automatic_risks_take_sparse_rows():
    texts, label, coin = reviews()
    X = TfidfVectorizer().fit_transform(texts)
    for risk in (AutoRisk(LogisticRegression(), **QUICK), AutoRisk(**QUICK)):
        estimate = risk.fit(X, label).predict_risk(X)
        assert estimate[coin].mean() > 1.5 * estimate[~coin].mean()


def test_lists_of_texts_reach_the_predictor_untouched():
    texts, label, coin = reviews()
    model = make_pipeline(TfidfVectorizer(), LogisticRegression())
    for risk in (RegressionRisk(model, cv=3, random_state=0), AutoRisk(model, **QUICK)):
        estimate = risk.fit(texts, label).predict_risk(texts)
        assert estimate[coin].mean() > 1.5 * estimate[~coin].mean()
