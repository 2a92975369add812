"""HybridRisk: what its regressor sees, what is fitted how often, and what it mends."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy.special import log_softmax, softmax
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import KFold, ShuffleSplit
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from condrisk import Deferral, HybridRisk, PlugInRisk
from condrisk.datasets import make_gaussian_mixture
from condrisk.metrics import risk_error


class Spy(RegressorMixin, BaseEstimator):
    """A linear regressor that keeps what it was fitted on."""

    def fit(self, X, y):
        self.X_, self.y_ = X, y
        self.model_ = LinearRegression().fit(X, y)
        return self

    def predict(self, X):
        return self.model_.predict(X)


class Sure(ClassifierMixin, BaseEstimator):
    """The true probabilities of a world, made overconfident by a power."""

    def __init__(self, world=None, power=3.0):
        self.world = world
        self.power = power

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict_proba(self, X):
        proba = self.world.proba(X) ** self.power
        return proba / proba.sum(axis=1, keepdims=True)

    def predict(self, X):
        return self.classes_[self.predict_proba(X).argmax(axis=1)]


@pytest.fixture
def world(seed):
    return make_gaussian_mixture(1500, random_state=seed)


@pytest.fixture
def parts(world):
    return (world.X[:600], world.y[:600]), (world.X[600:], world.y[600:])


@pytest.mark.parametrize("loss", ["log_loss", "zero_one", "brier"])
def test_what_the_regressor_sees(parts, loss):
    (X, y), (X_new, y_new) = parts
    f, p, q = (
        FrozenEstimator(model.fit(X, y))
        for model in (LogisticRegression(), GaussianNB(), RandomForestClassifier(5, random_state=0))
    )
    hybrid = HybridRisk(f, loss=loss, probability=[p, q], regressor=Spy()).fit(X_new, y_new)
    seen = hybrid.regressor_.X_
    n_classes = len(np.unique(y))
    assert seen.shape == (len(X_new), 1 + 2 * (1 + n_classes) + n_classes)
    for column, model in ((1, p), (2 + n_classes, q)):
        plug_in = PlugInRisk(f, loss=loss, probability=model, calibration=None)
        plug_in.fit(X_new, y_new)
        np.testing.assert_allclose(seen[:, column], plug_in.predict_risk(X_new))
        logs = seen[:, column + 1 : column + 1 + n_classes]
        np.testing.assert_allclose(np.exp(logs), np.maximum(model.predict_proba(X_new), 2**-52))
    np.testing.assert_allclose(np.exp(seen[:, -n_classes:]), f.predict_proba(X_new))
    np.testing.assert_allclose(hybrid.regressor_.y_, hybrid.loss_values(X_new, y_new))
    with_x = HybridRisk(f, loss=loss, probability=p, regressor=Spy(), features="plug-in+x")
    np.testing.assert_array_equal(with_x.fit(X_new, y_new).regressor_.X_[:, : X.shape[1]], X_new)


def test_a_predictor_without_probabilities_shows_its_label(parts):
    (X, y), (X_new, y_new) = parts
    f = FrozenEstimator(LinearSVC().fit(X, y))
    hybrid = HybridRisk(f, probability=GaussianNB(), regressor=Spy(), random_state=0)
    labels = hybrid.fit(X_new, y_new).regressor_.X_[:, -len(np.unique(y)) :]
    np.testing.assert_array_equal(hybrid.classes_[labels.argmax(axis=1)], f.predict(X_new))
    assert set(labels.ravel()) == {0.0, 1.0}


class Counting(GaussianNB):
    """Counts its fits, and the rows of each."""

    sizes = ()

    def fit(self, X, y, sample_weight=None):
        type(self).sizes += (len(X),)
        return super().fit(X, y, sample_weight)


@pytest.mark.parametrize(
    ("how", "sizes"),
    [
        ({"cv": 3}, [400, 400, 400, 600]),
        ({"cv": ShuffleSplit(1, test_size=0.25, random_state=0), "refit": False}, [450]),
    ],
)
def test_each_model_is_fitted_once_for_each_split_and_once_on_all(parts, how, sizes):
    (X, y), _ = parts
    for frozen in (False, True):
        if frozen and not how.get("refit", True):
            continue
        Counting.sizes = ()
        predictor = LogisticRegression()
        predictor = FrozenEstimator(predictor.fit(X, y)) if frozen else predictor
        HybridRisk(predictor, probability=Counting(), regressor=Spy(), **how).fit(X, y)
        assert sorted(Counting.sizes) == sizes


def test_out_of_fold_probabilities_are_those_of_models_that_did_not_see_the_row(parts):
    """A model that knows its training rows by heart would be sure of all of them."""
    (X, y), _ = parts
    forest = RandomForestClassifier(20, random_state=0)
    hybrid = HybridRisk(LogisticRegression(), probability=forest, regressor=Spy(), random_state=0)
    hybrid.fit(X, y)
    n_classes = len(hybrid.classes_)
    own = np.exp(hybrid.regressor_.X_[:, 2 : 2 + n_classes])
    by_heart = hybrid.probabilities_[0].predict_proba(X)
    right = np.arange(len(y)), np.searchsorted(hybrid.classes_, y)
    assert own[right].mean() < by_heart[right].mean() - 0.05


def pool_of(models, X, y, weight=None):
    """Return the pool of frozen models, of a predictor that has no probabilities of its own."""
    predictor = FrozenEstimator(LinearSVC().fit(X, y))
    frozen = [FrozenEstimator(model) for model in models]
    risk = HybridRisk(predictor, probability=frozen, random_state=0)
    return risk.fit(X, y, sample_weight=weight).pool_


def test_one_pooled_model_is_a_temperature(world):
    """Of one model that is too sure by a power of three, the pool takes the cube root."""
    held = world.sample(6000, random_state=7)
    pool = pool_of([Sure(world).fit(world.X, world.y)], held.X, held.y)
    assert pool.weights == pytest.approx([1 / 3], rel=0.15)
    np.testing.assert_allclose(pool.shifts, 0, atol=0.2)


def test_the_pool_has_the_least_log_loss(parts, seed):
    """Of all pools near by, with any weights of the rows; and weights are repeats."""
    (X, y), (X_new, y_new) = parts
    models = [GaussianNB().fit(X, y), RandomForestClassifier(5, random_state=0).fit(X, y)]
    codes = np.searchsorted(np.unique(y), y_new)
    rng = np.random.default_rng(seed)
    weight = rng.integers(0, 4, len(codes))
    pool = pool_of(models, X_new, y_new, weight)
    again = pool_of(models, np.repeat(X_new, weight, axis=0), np.repeat(y_new, weight))
    np.testing.assert_allclose(pool.weights, again.weights, atol=1e-3)
    # A forest's zeros count as one in a million.
    logs = [np.log(np.maximum(model.predict_proba(X_new), 1e-6)) for model in models]

    def score(weights, shifts):
        chosen = log_softmax(np.tensordot(weights, logs, 1) + shifts, axis=1)
        realised = -chosen[np.arange(len(codes)), codes]
        return np.average(realised, weights=weight) + 0.1 * shifts @ shifts

    best = score(*pool)
    for _ in range(50):
        other = [part + rng.normal(scale=0.05, size=part.shape) for part in pool]
        assert score(*other) > best - 1e-7


def test_the_risk_is_the_scaled_plug_in_risk_of_the_pool(parts):
    (X, y), (X_new, y_new) = parts
    predictor = FrozenEstimator(LinearSVC().fit(X, y))
    models = [GaussianNB().fit(X, y), RandomForestClassifier(5, random_state=0).fit(X, y)]
    weight = np.where(predictor.predict(X_new) == y_new, 1.0, 3.0)
    risk = HybridRisk(predictor, probability=[FrozenEstimator(m) for m in models], random_state=0)
    risk.fit(X_new, y_new, sample_weight=weight)
    weights, shifts = risk.pool_
    logs = [np.log(np.maximum(model.predict_proba(X_new), 1e-6)) for model in models]
    proba = softmax(np.tensordot(weights, logs, 1) + shifts, axis=1)
    label = np.searchsorted(risk.classes_, predictor.predict(X_new))
    wrong = 1 - proba[np.arange(len(label)), label]
    np.testing.assert_allclose(risk.predict_risk(X_new), risk.scale_ * wrong)
    # The scale makes the weighted mean right, up to the pools of the folds.
    realised = np.average(risk.loss_values(X_new, y_new), weights=weight)
    assert risk.scale_ * np.average(wrong, weights=weight) == pytest.approx(realised, rel=0.02)
    assert abs(risk.scale_ - 1) > 1e-4


def test_a_held_out_risk_is_not_scaled_by_its_own_loss(parts):
    """All errors are in one fold: by the other folds there are none."""
    (X, y), (X_new, _) = parts
    predictor = FrozenEstimator(LinearSVC().fit(X, y))
    _, fold = next(KFold(5, shuffle=True, random_state=0).split(X_new))
    labels = predictor.predict(X_new)
    labels[fold] = (labels[fold] + 1) % 3
    model = FrozenEstimator(GaussianNB().fit(X, y))
    risk = HybridRisk(predictor, probability=model, random_state=0).fit(X_new, labels)
    assert_array_equal(risk.held_out_.losses[fold], 1.0)
    assert_array_equal(risk.held_out_.risks[fold], 0.0)
    assert (np.delete(risk.held_out_.risks, fold) > 0).all()


def test_the_risk_is_right_on_average_over_the_rows_it_was_fitted_on(parts):
    (X, y), (X_new, y_new) = parts
    f = FrozenEstimator(LogisticRegression(C=1e-3).fit(X, y))
    for loss in ("log_loss", "zero_one", "brier"):
        hybrid = HybridRisk(f, loss=loss, probability=GaussianNB(), random_state=0)
        hybrid.fit(X_new, y_new)
        assert hybrid.held_out_.risks.mean() == pytest.approx(
            hybrid.held_out_.losses.mean(), rel=0.02
        )


def test_it_mends_probabilities_that_are_too_sure(world):
    """The plug-in is far off and biased; the hybrid, with the same probabilities, is neither."""
    predictor = FrozenEstimator(LogisticRegression().fit(world.X[:700], world.y[:700]))
    sure = FrozenEstimator(Sure(world).fit(world.X, world.y))
    held = world.sample(4000, random_state=7)
    fresh = world.sample(6000, random_state=8)
    truth = world.risk(predictor, fresh.X, loss="log_loss")
    settings = {"loss": "log_loss", "probability": sure}
    hybrid = HybridRisk(predictor, **settings, random_state=0).fit(held.X, held.y)
    plug_in = PlugInRisk(predictor, calibration=None, **settings).fit(held.X, held.y)
    ours, theirs = (model.predict_risk(fresh.X) for model in (hybrid, plug_in))
    assert risk_error(truth, ours) < 0.5 * risk_error(truth, theirs)
    assert abs(ours.mean() / truth.mean() - 1) < 0.06
    assert abs(theirs.mean() / truth.mean() - 1) > 0.1


def test_several_models_are_no_worse_than_the_best_of_them(world):
    predictor = FrozenEstimator(LogisticRegression().fit(world.X[:700], world.y[:700]))
    good = FrozenEstimator(Sure(world, power=1.0).fit(world.X, world.y))
    bad = FrozenEstimator(Sure(world, power=0.2).fit(world.X, world.y))
    held, fresh = world.sample(4000, random_state=7), world.sample(6000, random_state=8)
    truth = world.risk(predictor, fresh.X, loss="log_loss")
    errors = [
        risk_error(
            truth,
            HybridRisk(predictor, loss="log_loss", probability=models, random_state=0)
            .fit(held.X, held.y)
            .predict_risk(fresh.X),
        )
        for models in ([good, bad], [bad])
    ]
    assert errors[0] < 1.2 * errors[1]
    assert errors[0] < 0.05 * truth.var()


def test_a_rule_is_fitted_on_out_of_fold_risks(parts):
    (X, y), (X_new, y_new) = parts
    frozen = FrozenEstimator(LogisticRegression().fit(X, y))
    hybrid = HybridRisk(frozen, probability=GaussianNB(), regressor=Spy(), random_state=0)
    model = Deferral(hybrid, cost=0.2).fit(X_new, y_new)
    assert np.isfinite(model.risk_.held_out_.risks).all()
    np.testing.assert_allclose(model.risk_.held_out_.losses, model.loss_values(X_new, y_new))
    assert -model.score(X_new, y_new) <= 0.2


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: HybridRisk(LinearRegression(), probability=LogisticRegression()),
            "probability must not be given for regressors",
        ),
        (
            lambda: HybridRisk(LogisticRegression(), distribution=LinearRegression()),
            "distribution must not be given for classifiers",
        ),
        (
            lambda: HybridRisk(LinearRegression(), distribution=LinearRegression()),
            "distribution must answer a distribution",
        ),
        (lambda: HybridRisk(LogisticRegression(), probability=[]), "probability must be given"),
        (
            lambda: HybridRisk("precomputed", loss="log_loss"),
            "probability must be given",
        ),
        (
            lambda: HybridRisk(LogisticRegression(), probability=[LinearSVC()]),
            "LinearSVC has not",
        ),
        (
            lambda: HybridRisk(LogisticRegression(), regressor=LogisticRegression()),
            "regressor must be a regressor",
        ),
        (lambda: HybridRisk(LogisticRegression(), features="x"), "'features' parameter"),
    ],
)
def test_bad_parts_are_named(parts, make, message):
    (X, y), _ = parts
    with pytest.raises(ValueError, match=message):
        make().fit(X, y)


def test_gaps_are_taken_where_a_pipeline_fills_them():
    """A Pipeline does not say that it takes gaps; its first step does."""
    world = make_gaussian_mixture(200, random_state=0)
    X = world.X.copy()
    X[::7, 0] = np.nan
    boosting = HistGradientBoostingClassifier(max_iter=5)
    filled = make_pipeline(SimpleImputer(), LogisticRegression())
    risk = HybridRisk(boosting, probability=filled, cv=2).fit(X, world.y)
    assert np.isfinite(risk.predict_risk(X)).all()
    bare = HybridRisk(boosting, probability=make_pipeline(StandardScaler(), GaussianNB()), cv=2)
    with pytest.raises(ValueError, match="NaN"):
        bare.fit(X, world.y)
