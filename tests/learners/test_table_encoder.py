"""Tables as numbers: every type of column, in every container."""

import pickle
from datetime import date, datetime, timedelta, timezone

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.decomposition import TruncatedSVD
from sklearn.linear_model import LogisticRegression
from sklearn.utils.estimator_checks import parametrize_with_checks

from condrisk.learners import LossRegressor, StackedClassifier, TableEncoder


@parametrize_with_checks([TableEncoder()])
def test_estimator_passes_the_checks_of_scikit_learn(estimator, check):
    check(estimator)


COLUMNS = {
    "size": [1.5, None, 3.0],
    "count": [1, 2, None],
    "old": [True, None, False],
    "colour": ["red", None, "red"],
    "when": [datetime(2024, 2, 29, 5, 30), None, datetime(1969, 12, 31)],
    "day": [date(2024, 2, 29), date(2024, 3, 3), None],
    "took": [timedelta(minutes=2), None, timedelta(0)],
    "nothing": [None, None, None],
}
NAMES = ["size", "count", "old", "colour_red", "colour_missing"]
NAMES += ["when_days", "when_month", "when_weekday", "when_hour"]
NAMES += ["day_days", "day_month", "day_weekday", "took", "nothing"]
NAN = np.nan
NUMBERS = [
    # 29 February 2024 was a Thursday and day 19,782; day 0 was a Thursday too.
    [1.5, 1, 1, 1, 0, 19782 + 5.5 / 24, 2, 3, 5, 19782, 2, 3, 120, NAN],
    [NAN, 2, NAN, 0, 1, NAN, NAN, NAN, NAN, 19785, 3, 6, NAN, NAN],
    [3.0, NAN, 0, 1, 0, -1, 12, 2, 0, NAN, NAN, NAN, 0, NAN],
]


def polars_frame():
    frame = pl.DataFrame(COLUMNS)
    return frame.with_columns(frame["when"].dt.replace_time_zone("UTC"))


CONTAINERS = {
    "pandas": lambda: pd.DataFrame(COLUMNS),
    "pandas, nullable": lambda: pd.DataFrame(COLUMNS).convert_dtypes(),
    "pandas, categories": lambda: pd.DataFrame(COLUMNS).astype({"colour": "category"}),
    "pandas, objects": lambda: pd.DataFrame(COLUMNS, dtype=object),
    "polars": polars_frame,
    "polars, categories": lambda: polars_frame().cast({"colour": pl.Categorical}),
    "polars, enum": lambda: polars_frame().cast({"colour": pl.Enum(["blue", "red"])}),
}


@pytest.mark.parametrize("container", CONTAINERS)
def test_columns_of_every_type_become_numbers(container):
    frame = CONTAINERS[container]()
    encoder = TableEncoder().fit(frame)
    assert encoder.get_feature_names_out().tolist() == NAMES
    assert_allclose(encoder.transform(frame), NUMBERS, rtol=0, atol=0)
    assert encoder.n_features_out_ == len(NAMES)


def test_objects_of_numpy_become_the_same_numbers():
    rows = np.array([*COLUMNS.values()], dtype=object).T
    assert_array_equal(TableEncoder().fit_transform(rows), NUMBERS)


def test_moments_are_told_by_universal_time():
    east = timezone(timedelta(hours=9))
    rows = np.array([[datetime(2024, 3, 1, 2, tzinfo=east)]], dtype=object)
    frame = pd.DataFrame({"t": pd.to_datetime(["2024-03-01T02:00+09:00"])})
    for X in (rows, frame, pl.from_pandas(frame)):
        assert TableEncoder().fit_transform(X)[0].tolist() == [19782 + 17 / 24, 2, 3, 17]


def test_numbers_pass_unchanged_and_without_a_copy():
    X = np.array([[1.0, np.nan], [2.0, 3.0]])
    encoder = TableEncoder().fit(X)
    assert encoder.is_identity_
    assert np.shares_memory(encoder.transform(X), X)
    frame = pd.DataFrame({"a": pd.array([1, None], dtype="Int64"), "b": [True, False]})
    assert_array_equal(TableEncoder().fit_transform(frame), [[1, 1], [np.nan, 0]])


def test_what_was_not_seen_in_fit():
    frame = pd.DataFrame(COLUMNS)
    encoder = TableEncoder().fit(frame)
    new = frame.assign(colour=["blue", "", "red"], nothing=["a", 1, None], count=[5, 6, 7])
    found = dict(zip(NAMES, encoder.transform(new).T, strict=True))
    assert_array_equal(found["colour_red"], [0, 0, 1])
    assert_array_equal(found["colour_missing"], [0, 1, 0])  # an empty text is a gap
    assert_array_equal(found["nothing"], [np.nan] * 3)
    assert_array_equal(found["count"], [5, 6, 7])
    moments = frame.assign(colour=frame["when"])
    found = dict(zip(NAMES, encoder.transform(moments).T, strict=True))
    assert_array_equal(found["colour_missing"], [0, 1, 0])
    # A batch without any value has no type of its own.
    gaps = frame.assign(colour=np.nan, when=np.nan, took=None)
    found = dict(zip(NAMES, encoder.transform(gaps).T, strict=True))
    assert_array_equal(found["colour_missing"], [1, 1, 1])
    assert_array_equal(found["when_month"], [np.nan] * 3)


def test_other_columns_are_refused_by_name():
    frame = pd.DataFrame(COLUMNS)
    encoder = TableEncoder().fit(frame)
    with pytest.raises(ValueError, match="column 'size' held numbers in fit, and holds labels"):
        encoder.transform(frame.assign(size="large"))
    with pytest.raises(ValueError, match="column 'when' held dates in fit, and holds numbers"):
        encoder.transform(frame.assign(when=1.0))
    with pytest.raises(ValueError, match=r"missing(.|\n)*size"):
        encoder.transform(frame.drop(columns="size"))
    with pytest.raises(ValueError, match="order"):
        encoder.transform(frame[frame.columns[::-1]])
    with pytest.raises(TypeError, match="sparse now, and was not in fit"):
        TableEncoder().fit(np.array([["a", 1]], dtype=object)).transform(sparse.csr_array((2, 2)))
    with pytest.raises(TypeError, match="column 'colour' has a cell of type list"):
        TableEncoder().fit(frame.assign(colour=[["red"], None, ["blue", "red"]]))
    with pytest.raises(ValueError, match="infinity"):
        encoder.transform(frame.assign(size=np.inf))


def test_categories_with_an_order_keep_it():
    levels = ["low", "middle", "high"]
    size = pd.Categorical(["high", "low", None], categories=levels, ordered=True)
    encoder = TableEncoder().fit(pd.DataFrame({"size": size}))
    assert_array_equal(encoder.transform(pd.DataFrame({"size": size})), [[2], [0], [np.nan]])
    new = pd.DataFrame({"size": ["middle", "huge"]})
    assert_array_equal(encoder.transform(new), [[1], [np.nan]])


def test_many_categories_have_a_rank_by_frequency():
    codes = [f"c{k:02}" for k in range(40) for _ in range(40 - k)]
    encoder = TableEncoder().fit(pd.DataFrame({"code": codes}))
    new = pd.DataFrame({"code": ["c00", "c19", "c20", "c38", "c39", "other"]})
    found = encoder.transform(new)
    assert found.shape == (6, 21)
    # The last of them was seen once, which is as good as not at all.
    assert_array_equal(found[:, -1], [0, 19, 20, 38, 39, 39])
    assert_array_equal(found[:, :20].sum(axis=1), [1, 1, 0, 0, 0, 0])
    assert found[1, 19] == 1


def texts(n_rows, seed):
    """Return texts about one of two topics, and which."""
    rng = np.random.default_rng(seed)
    topics = [[f"{kind}{k}" for k in range(50)] for kind in ("north", "south")]
    topic = rng.integers(2, size=n_rows)
    common = ["and", "of", "the"]
    return [" ".join([*rng.choice(topics[t], 4), *common]) for t in topic], topic


def test_texts_become_their_leading_components():
    known, topic = texts(300, 0)
    new, expected = texts(100, 1)
    frame = pd.DataFrame({"note": known})
    encoder = TableEncoder().fit(frame)
    Z = encoder.transform(frame)
    assert Z.shape == (300, 20)
    model = LogisticRegression().fit(Z, topic)
    assert model.score(encoder.transform(pd.DataFrame({"note": new})), expected) > 0.95
    assert_array_equal(TableEncoder().fit_transform(pl.DataFrame({"note": known})), Z)
    assert_array_equal(TableEncoder().fit_transform(known), Z)  # a list of texts
    gap = encoder.transform(pd.DataFrame({"note": [None, "entirely unheard"]}))
    assert np.isfinite(gap).all()
    assert_array_equal(gap[0], np.zeros(20))
    assert b"north" not in pickle.dumps(encoder)  # a model file holds none of the words


def test_sparse_rows_become_their_leading_components():
    X = sparse.random_array((200, 20_000), density=0.001, format="csr", rng=0)
    encoder = TableEncoder().fit(X)
    expected = TruncatedSVD(50, random_state=0).fit(X).transform(X)
    assert_allclose(encoder.transform(X), expected, rtol=0, atol=1e-9)
    assert_allclose(encoder.transform(X[:5].toarray()), expected[:5], rtol=0, atol=1e-9)
    few = sparse.random_array((20, 50), density=0.2, format="coo", rng=0)
    assert_array_equal(TableEncoder().fit_transform(few), few.toarray())


@pytest.mark.parametrize("learner", [LossRegressor(), StackedClassifier(time_budget=0)])
def test_learners_are_fitted_on_the_encoded_rows(learner):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.normal(size=60), "b": rng.choice(["x", "y", "z"], 60)})
    y = (frame["b"] == "x").to_numpy(dtype=int)
    learner.set_params(random_state=0)
    found = learner.fit(frame, y).predict(frame)
    assert learner.n_features_in_ == 2
    encoded = TableEncoder().fit_transform(frame)
    assert_array_equal(found, learner.fit(encoded, y).predict(encoded))
    assert learner.encoder_ is None
