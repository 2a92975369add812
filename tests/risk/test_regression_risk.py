"""`RegressionRisk`: what is fitted on what, and what comes out."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import RandomForestRegressor
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.model_selection import (
    GroupKFold,
    KFold,
    LeaveOneOut,
    RepeatedKFold,
    ShuffleSplit,
    TimeSeriesSplit,
    train_test_split,
)
from sklearn.neighbors import KNeighborsRegressor

from condrisk import HybridRisk, RegressionRisk, make_loss, pinball
from condrisk.datasets import load_uci, make_gaussian_mixture, make_heteroscedastic
from condrisk.learners import LossRegressor


class Recorder(RegressorMixin, BaseEstimator):
    """A regressor that writes down the rows of each fit (their first feature is their number)."""

    fits: list = []  # noqa: RUF012 - shared on purpose: clones must write to the same list

    def fit(self, X, y, sample_weight=None):
        Recorder.fits.append(np.asarray(X)[:, 0].astype(int))
        self.mean_ = np.average(y, weights=sample_weight)
        self.n_features_in_ = np.shape(X)[1]
        return self

    def predict(self, X):
        return np.full(len(X), self.mean_)


@pytest.fixture
def fits():
    Recorder.fits = []
    return Recorder.fits


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    X = np.column_stack([np.arange(60), rng.normal(size=60)])
    return X, rng.normal(size=60)


def test_cross_fitting_fits_each_fold_once_and_the_predictor_once_more(fits, rows):
    X, y = rows
    folds = list(KFold(4, shuffle=True, random_state=0).split(X))
    RegressionRisk(Recorder(), regressor=Ridge(), cv=folds).fit(X, y)
    assert len(fits) == 5
    assert sorted(len(rows) for rows in fits) == [45, 45, 45, 45, 60]


def test_out_of_fold_losses_come_from_models_that_have_not_seen_the_row(rows):
    X, y = rows
    folds = list(KFold(4, shuffle=True, random_state=0).split(X))
    risk = RegressionRisk(LinearRegression(), regressor=Ridge(), cv=folds).fit(X, y)
    expected = np.empty(60)
    for train, test in folds:
        model = LinearRegression().fit(X[train], y[train])
        expected[test] = (y[test] - model.predict(X[test])) ** 2
    assert_allclose(risk.held_out_.losses, expected)
    assert_allclose(risk.regressor_.coef_, Ridge().fit(X, expected).coef_)
    assert_allclose(risk.predictor_.coef_, LinearRegression().fit(X, y).coef_)


def test_out_of_fold_risk_comes_from_the_losses_of_the_other_folds(rows):
    X, y = rows
    folds = list(KFold(4, shuffle=True, random_state=0).split(X))
    risk = RegressionRisk(LinearRegression(), regressor=Ridge(), cv=folds, clip=False).fit(X, y)
    expected = np.empty(60)
    for train, test in folds:
        expected[test] = Ridge().fit(X[train], risk.held_out_.losses[train]).predict(X[test])
    assert_allclose(risk.held_out_.risks, expected)


def test_a_frozen_predictor_is_not_fitted_and_all_rows_go_into_the_risk(fits, rows):
    X, y = rows
    model = LinearRegression().fit(X[:30], y[:30])
    risk = RegressionRisk(FrozenEstimator(model), regressor=Recorder()).fit(X[30:], y[30:])
    assert_array_equal(fits, [np.arange(30, 60)])
    assert_allclose(risk.predict_risk(X)[0], np.mean((y[30:] - model.predict(X[30:])) ** 2))


def test_one_split_without_refit_keeps_the_predictor_of_that_split(fits, rows):
    """The paper's protocol: f on 50 % of the rows, g on the other 40 %."""
    X, y = rows
    cv = ShuffleSplit(n_splits=1, test_size=4 / 9, random_state=42)
    risk = RegressionRisk(Recorder(), regressor=Recorder(), cv=cv, refit=False).fit(X, y)
    train, test = next(cv.split(X))
    assert_array_equal(fits[0], train)
    assert_array_equal(fits[1], test)
    assert len(fits) == 2
    assert_allclose(risk.predictor_.mean_, y[train].mean())
    assert_array_equal(risk.held_out_.rows, np.sort(test))


def test_refit_false_with_several_splits_is_refused(rows):
    with pytest.raises(ValueError, match=r"refit=False.*cv gives 5"):
        RegressionRisk(LinearRegression(), refit=False).fit(*rows)


@pytest.mark.parametrize(
    "cv",
    [
        3,
        KFold(4),
        RepeatedKFold(n_splits=3, n_repeats=2, random_state=0),
        ShuffleSplit(n_splits=3, test_size=0.5, random_state=0),
        TimeSeriesSplit(3),
        LeaveOneOut(),
    ],
    ids=str,
)
def test_every_kind_of_split_yields_pairs_of_row_and_loss(cv, rows):
    X, y = rows
    risk = RegressionRisk(LinearRegression(), regressor=Ridge(), cv=cv, random_state=0)
    risk.fit(X, y)
    splits = [test for _, test in (KFold(3).split(X) if cv == 3 else cv.split(X))]
    held_out = np.unique(np.concatenate(splits))
    assert_array_equal(risk.held_out_.rows, held_out)
    assert np.isfinite(risk.held_out_.losses).all()
    assert np.isfinite(risk.predict_risk(X)).all()


def test_repeated_splits_count_every_pair(fits, rows):
    X, y = rows
    cv = RepeatedKFold(n_splits=3, n_repeats=2, random_state=0)
    risk = RegressionRisk(LinearRegression(), regressor=Recorder(), cv=cv).fit(X, y)
    assert_array_equal(np.bincount(fits[0]), np.full(60, 2))
    assert len(risk.held_out_.rows) == 60
    # A fold's own risk is learnt without any pair of its rows, whichever repeat they come from.
    for train, (_, test) in zip(fits[1:], cv.split(X), strict=True):
        assert not np.intersect1d(train, test).size


@pytest.mark.parametrize(("cv", "n_fits"), [(4, 6), (GroupKFold(4), 4)], ids=str)
def test_groups_stay_together(cv, n_fits, fits, rows):
    X, y = rows
    groups = np.arange(60) // 5
    RegressionRisk(Recorder(), regressor=Ridge(), cv=cv, random_state=0).fit(X, y, groups=groups)
    folds = [rows for rows in fits if len(rows) < 60]
    assert len(folds) == n_fits  # a number of folds comes with halves, for the learning curve
    for train in folds:
        held_out = np.setdiff1d(np.arange(60), train)
        assert not np.intersect1d(groups[train], groups[held_out]).size


def test_the_default_regressor_is_judged_on_folds_of_the_predictor():
    """Losses of one fold are those of one fitted predictor: what it lacks they share."""
    world = make_heteroscedastic(200, random_state=0)
    risk = RegressionRisk(LinearRegression(), random_state=0).fit(world.X, world.y)
    fold = np.empty(200, dtype=int)
    for k, (_, test) in enumerate(KFold(5, shuffle=True, random_state=0).split(world.X)):
        fold[test] = k
    regressor = LossRegressor(random_state=risk.regressor_.random_state)
    regressor.fit(world.X, risk.held_out_.losses, groups=fold)
    expected = risk.refit_factor_ * regressor.predict(world.X)
    assert_allclose(risk.predict_risk(world.X), expected)


def test_a_number_of_folds_means_shuffled_folds(fits, rows):
    X, y = rows
    RegressionRisk(Recorder(), regressor=Ridge(), cv=3, random_state=0).fit(X, y)
    held_out = [np.setdiff1d(np.arange(60), train) for train in fits if len(train) < 60]
    assert all(np.diff(rows).max() > 1 for rows in held_out)  # not a block of neighbours


def test_a_seed_reaches_parts_that_have_none(rows):
    X, y = rows
    unseeded = RegressionRisk(RandomForestRegressor(5), regressor=RandomForestRegressor(5))
    first, second = (
        clone(unseeded).set_params(random_state=7).fit(X, y).predict_risk(X) for _ in range(2)
    )
    assert_array_equal(first, second)
    seeded = clone(unseeded).set_params(random_state=7, predictor__random_state=3).fit(X, y)
    assert seeded.predictor_.random_state == 3


def test_clip_lifts_the_estimate_to_the_least_loss(rows):
    X, y = rows
    steep = LinearRegression()
    far = X * 1e3
    clipped = RegressionRisk(LinearRegression(), regressor=steep, random_state=0).fit(X, y)
    raw = clone(clipped).set_params(clip=False).fit(X, y)
    assert raw.predict_risk(-far).min() < 0 or raw.predict_risk(far).min() < 0
    assert_allclose(clipped.predict_risk(far), np.maximum(raw.predict_risk(far), 0))
    signed = make_loss(lambda y_true, y_pred: y_true - y_pred, minimum=-np.inf)
    free = clone(clipped).set_params(loss=signed).fit(X, y)
    assert free.predict_risk(np.vstack([far, -far])).min() < 0


class Ramp(RegressorMixin, BaseEstimator):
    """A regressor that leaves what any bounded loss can be, on either side."""

    def fit(self, X, y):
        self.n_features_in_ = np.shape(X)[1]
        return self

    def predict(self, X):
        return np.linspace(-9, 9, len(X))


@pytest.mark.parametrize(("loss", "greatest"), [("zero_one", 1), ([[0, 5], [1, 0]], 5)])
@pytest.mark.parametrize("kind", [RegressionRisk, HybridRisk])
def test_clip_lowers_the_estimate_to_the_greatest_loss(rows, kind, loss, greatest):
    X, y = rows
    clipped = kind(LogisticRegression(), loss=loss, regressor=Ramp(), random_state=0).fit(X, y > 0)
    raw = clone(clipped).set_params(clip=False).fit(X, y > 0)
    assert raw.predict_risk(X).max() > greatest
    assert_allclose(clipped.predict_risk(X), np.clip(raw.predict_risk(X), 0, greatest))
    assert clipped.held_out_.risks.max() <= greatest


@pytest.mark.filterwarnings("ignore:the predictor is worse")  # a mean is no quantile
def test_losses_of_every_kind(rows):
    X, y = rows
    prediction = LinearRegression().fit(X, y)
    frozen = FrozenEstimator(prediction)
    error = y - prediction.predict(X)
    expected = {
        None: error**2,
        "absolute_error": np.abs(error),
        pinball(0.9): np.maximum(0.9 * error, -0.1 * error),
        (lambda y_true, y_pred: np.abs(y_true - y_pred) ** 3): np.abs(error) ** 3,
    }
    for loss, values in expected.items():
        risk = RegressionRisk(frozen, loss=loss, regressor=Ridge()).fit(X, y)
        assert_allclose(risk.loss_values(X, y), values)
        assert_allclose(risk.regressor_.coef_, Ridge().fit(X, values).coef_)


@pytest.mark.filterwarnings("ignore:the predictor is worse")  # its answers ignore the costs
def test_a_cost_matrix_prices_errors_in_the_order_of_classes():
    world = make_gaussian_mixture(200, random_state=0)
    y = np.array(["c", "a", "b"])[world.y]
    model = LogisticRegression().fit(world.X, y)
    matrix = np.arange(9.0).reshape(3, 3)
    risk = RegressionRisk(FrozenEstimator(model), loss=matrix, regressor=Ridge())
    risk.fit(world.X, y)
    codes = (
        np.searchsorted(["a", "b", "c"], y),
        np.searchsorted(["a", "b", "c"], risk.predict(world.X)),
    )
    assert_array_equal(risk.loss_values(world.X, y), matrix[codes])


def test_response_among_the_features_is_out_of_fold_when_fitting():
    world = make_gaussian_mixture(90, random_state=0)
    folds = list(KFold(3, shuffle=True, random_state=0).split(world.X))
    risk = RegressionRisk(
        LogisticRegression(), loss="log_loss", regressor=Ridge(), features="x+response", cv=folds
    ).fit(world.X, world.y)
    response = np.empty((90, 3))
    for train, test in folds:
        model = LogisticRegression().fit(world.X[train], world.y[train])
        response[test] = model.predict_proba(world.X[test])
    expected = Ridge().fit(np.column_stack([world.X, response]), risk.held_out_.losses)
    assert_allclose(risk.regressor_.coef_, expected.coef_)
    proba = risk.predict_proba(world.X)
    answer = np.maximum(expected.predict(np.column_stack([world.X, proba])), 0)
    assert_allclose(risk.predict_risk(world.X), answer)


def test_response_of_a_regressor_helps_where_the_risk_depends_on_it():
    """g depends on |f(x)| alone, which a shallow neighbour search finds at once in f(x)."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 10))
    mean = X.sum(axis=1)
    y = mean + rng.normal(size=3000) * np.abs(mean)
    scores = {
        features: RegressionRisk(
            LinearRegression(),
            regressor=KNeighborsRegressor(100, metric="chebyshev"),
            features=features,
            random_state=0,
        )
        .fit(X[:2000], y[:2000])
        .score(X[2000:], y[2000:])
        for features in ("x", "x+response")
    }
    assert scores["x+response"] > scores["x"]


def test_a_predictor_that_lives_elsewhere_gives_the_same_as_a_frozen_one():
    world = make_gaussian_mixture(200, random_state=0)
    model = LogisticRegression().fit(world.X[:100], world.y[:100])
    X, y = world.X[100:], world.y[100:]
    proba = model.predict_proba(X)
    for features in ("x", "x+response"):
        options = {"loss": "log_loss", "regressor": Ridge(), "features": features}
        frozen = RegressionRisk(FrozenEstimator(model), **options).fit(X, y)
        elsewhere = RegressionRisk("precomputed", **options).fit(X, y, prediction=proba)
        assert_allclose(elsewhere.predict_risk(X, prediction=proba), frozen.predict_risk(X))
        assert_allclose(elsewhere.score(X, y, prediction=proba), frozen.score(X, y))
        assert_array_equal(elsewhere.predict(X, prediction=proba), frozen.predict(X))
        assert_array_equal(elsewhere.classes_, frozen.classes_)


def test_a_regressor_that_lives_elsewhere_needs_no_prediction_for_the_risk(rows):
    X, y = rows
    risk = RegressionRisk("precomputed", loss="squared_error", regressor=Ridge())
    risk.fit(X, y, prediction=np.zeros(60))
    assert_allclose(risk.regressor_.coef_, Ridge().fit(X, y**2).coef_)
    assert risk.predict_risk(X).shape == (60,)
    with pytest.raises(ValueError, match="prediction must be given"):
        risk.predict(X)


def test_a_class_that_the_predictor_has_never_seen_has_its_documented_loss():
    world = make_gaussian_mixture(300, random_state=0)
    model = LogisticRegression().fit(world.X[world.y < 2], world.y[world.y < 2])
    unseen = world.y == 2
    expected = {
        "zero_one": 1.0,
        "log_loss": -np.log(np.finfo(float).eps),
        "brier": 1 + (model.predict_proba(world.X[unseen]) ** 2).sum(axis=1),
    }
    for loss, values in expected.items():
        risk = RegressionRisk(FrozenEstimator(model), loss=loss, regressor=Ridge())
        risk.fit(world.X, world.y)
        assert_allclose(risk.loss_values(world.X, world.y)[unseen], values)


def test_a_rare_class_missing_from_a_fold_gets_probability_zero():
    world = make_gaussian_mixture(60, random_state=0)
    y = np.where(np.arange(60) == 0, 9, np.minimum(world.y, 1))
    folds = list(KFold(3).split(world.X))
    risk = RegressionRisk(LogisticRegression(), loss="log_loss", regressor=Ridge(), cv=folds)
    risk.fit(world.X, y)
    assert_allclose(risk.held_out_.losses[0], -np.log(np.finfo(float).eps))


def test_a_constant_predictor_of_constant_targets_has_no_risk():
    X = np.arange(20.0)[:, None]
    risk = RegressionRisk(DummyClassifier(), random_state=0, cv=2)
    risk.fit(X, np.repeat(["a", "b"], 10)).predict_risk(X)
    sure = RegressionRisk(LinearRegression(), random_state=0).fit(X, np.zeros(20))
    assert_array_equal(sure.predict_risk(X), np.zeros(20))


def test_a_part_that_cannot_take_weights_is_named_in_a_warning():
    world = make_heteroscedastic(60, random_state=0)
    risk = RegressionRisk(KNeighborsRegressor(), regressor=KNeighborsRegressor(), random_state=0)
    with pytest.warns(UserWarning, match="not used by the (predictor|regressor)") as caught:
        risk.fit(world.X, world.y, sample_weight=np.ones(60))
    named = {"predictor" in str(w.message) for w in caught}
    assert named == {True, False}


class Says(BaseEstimator, RegressorMixin):
    """Says the same of every row."""

    def __init__(self, what=0.0):
        self.what = what

    def fit(self, X, y):
        self.fitted_ = True
        return self

    def predict(self, X):
        return np.full(len(X), self.what)


def test_a_risk_beyond_all_numbers_is_the_largest_and_none_is_an_error():
    X, y = np.arange(20.0)[:, None], np.arange(20.0)
    large = RegressionRisk(LinearRegression(), regressor=Says(np.inf)).fit(X, y)
    assert_array_equal(large.predict_risk(X), 1e300)
    with pytest.raises(ValueError, match="NaN or -inf on some rows"):
        RegressionRisk(LinearRegression(), regressor=Says(np.nan)).fit(X, y).predict_risk(X)


def test_a_cluster_that_one_fold_lacks_does_not_set_the_risk():
    """Rows whose like are all in their fold have huge losses out of fold, and none after refit."""
    data = load_uci("energy")
    y = (data.target - data.target.mean()) / data.target.std()
    X, X_new, y, y_new = train_test_split(data.data, y, test_size=0.25, random_state=1)
    risk = RegressionRisk(RandomForestRegressor(50, random_state=0), random_state=0).fit(X, y)
    loss = risk.loss_values(X_new, y_new)
    error = np.mean((loss - risk.predict_risk(X_new)) ** 2)
    assert error < 12 * loss.var()  # without folds and cap: about 70 times


def test_losses_of_a_predictor_that_is_given_are_not_all_of_one_group():
    """Those of a fold are, by what its predictor lacks; of one group alone nothing is learnt."""
    world = make_heteroscedastic(300, random_state=0)
    line = LinearRegression().fit(world.X, world.y)
    risk = RegressionRisk(FrozenEstimator(line), random_state=0).fit(world.X, world.y)
    truth = np.exp(world.X[:, 0])
    assert np.corrcoef(risk.predict_risk(world.X), truth)[0, 1] > 0.5
