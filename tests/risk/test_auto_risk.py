"""AutoRisk: what it builds, what it chooses by, and what it never sees."""

import itertools
import pickle
import time

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import RepeatedKFold, TimeSeriesSplit
from sklearn.tree import DecisionTreeClassifier

from condrisk import AutoRisk, Deferral
from condrisk.datasets import make_gaussian_mixture, make_heteroscedastic
from condrisk.metrics import deferral_loss

MEMBERS = ["extra-trees", "forest on roots", "extra-trees on roots"]


class Counting(RegressorMixin, BaseEstimator):
    """Counts its fits."""

    n_fits = 0

    def fit(self, X, y):
        type(self).n_fits += 1
        self.mean_ = np.mean(y)
        return self

    def predict(self, X):
        return np.full(len(X), self.mean_)


@pytest.fixture(scope="module")
def world():
    return make_heteroscedastic(400, random_state=0)


@pytest.fixture(scope="module")
def fitted(world):
    return AutoRisk(LinearRegression(), random_state=0).fit(world.X, world.y)


def test_risk_is_near_the_truth():
    explained = []
    for seed in range(2):
        world = make_heteroscedastic(2000, random_state=seed)
        risk = AutoRisk(LinearRegression(), random_state=0).fit(world.X, world.y)
        fresh = world.sample(2000, random_state=100 + seed)
        truth = np.exp(fresh.X[:, 0])
        error = np.mean((risk.predict_risk(fresh.X) - truth) ** 2)
        explained.append(1 - error / truth.var())
    assert np.mean(explained) > 0.7


def test_the_predictor_is_fitted_once_a_fold_and_once_more(world):
    Counting.n_fits = 0
    AutoRisk(Counting(), cv=3, random_state=0).fit(world.X, world.y)
    assert Counting.n_fits == 4
    frozen = FrozenEstimator(Counting().fit(world.X, world.y))
    Counting.n_fits = 0
    AutoRisk(frozen, random_state=0).fit(world.X, world.y)
    assert Counting.n_fits == 0


def test_the_leaderboard_says_what_was_chosen_and_why(fitted, world):
    board = {row["candidate"]: row for row in fitted.leaderboard_}
    regressions = {"regression", "regression on distribution"}
    assert set(board) == {"plug-in", "hybrid", *regressions, "mean", "mixture"}
    scores = [row["score"] for row in fitted.leaderboard_]
    assert scores == sorted(scores)
    assert_allclose(sum(row["share"] for name, row in board.items() if name != "mixture"), 1)
    loss, risk = fitted.held_out_.losses, fitted.held_out_.risks
    assert_allclose(board["mixture"]["score"], np.mean((loss - risk) ** 2) / loss.var())
    assert board["mean"]["score"] == pytest.approx(1)


def test_with_a_price_the_candidate_of_least_deferral_loss_is_chosen(world):
    model = AutoRisk(LinearRegression(), cost=1.0, random_state=0).fit(world.X, world.y)
    best = model.leaderboard_[0]
    assert best["deferral_loss"] == min(row["deferral_loss"] for row in model.leaderboard_)
    assert_allclose(
        deferral_loss(model.held_out_.losses, model.held_out_.risks, 1.0), best["deferral_loss"]
    )
    assert model.mixture_.shares[best["candidate"]] == 1.0


def test_what_comes_after_fit_changes_nothing(world, fitted):
    """Labels of test rows, permuted or corrupted, have no way into the model."""
    fresh = world.sample(100, random_state=1)
    before = fitted.predict_risk(fresh.X)
    state = pickle.dumps(fitted)
    for labels in (np.random.default_rng(0).permutation(fresh.y), 1e6 * fresh.y):
        fitted.score(fresh.X, labels)
        fitted.loss_values(fresh.X, labels)
    assert pickle.dumps(fitted) == state
    assert_array_equal(fitted.predict_risk(fresh.X), before)


def test_the_unit_of_the_target_does_not_matter(world, fitted):
    other = AutoRisk(LinearRegression(), random_state=0).fit(world.X, 10 * world.y)
    fresh = world.sample(100, random_state=1).X
    assert_allclose(other.predict_risk(fresh), 100 * fitted.predict_risk(fresh), rtol=1e-6)


@pytest.fixture(scope="module")
def built(world):
    return AutoRisk(random_state=0).fit(world.X, world.y)


def test_without_a_predictor_a_stack_is_built(world, built):
    model = built
    assert_array_equal(
        model.held_out_.losses, (model.predictor_.held_out_.responses["predict"] - world.y) ** 2
    )
    assert_array_equal(model.predict(world.X), model.predictor_.predict(world.X))
    copy = pickle.loads(pickle.dumps(model))
    assert_array_equal(copy.predict_risk(world.X), model.predict_risk(world.X))
    assert Deferral(FrozenEstimator(model), cost=1.0).fit(world.X, world.y).defer(world.X).any()


@pytest.mark.parametrize("predictor", [None, LogisticRegression()])
@pytest.mark.parametrize("loss", ["zero_one", "log_loss"])
def test_classes(predictor, loss):
    world = make_gaussian_mixture(600, random_state=0)
    model = AutoRisk(predictor, loss=loss, random_state=0).fit(world.X, world.y)
    board = {row["candidate"]: row for row in model.leaderboard_}
    assert "plug-in" in board
    assert ("hybrid" in board) == (predictor is not None)  # a stack is a pool already
    assert board["mixture"]["score"] < 1
    fresh = world.sample(3000, random_state=1)
    realised = model.loss_values(fresh.X, fresh.y)
    risk = model.predict_risk(fresh.X)
    assert np.mean((realised - risk) ** 2) < realised.var()
    assert_allclose(risk.mean(), realised.mean(), rtol=0.15)


def test_weights(world):
    """A row without weight does not count for the risk."""
    rng = np.random.default_rng(0)
    heavy = rng.random(len(world.y)) < 0.5
    y = np.where(heavy, world.y, world.y + 50)
    model = AutoRisk(FrozenEstimator(LinearRegression().fit(world.X, world.y)), random_state=0)
    model.fit(world.X, y, sample_weight=heavy.astype(float))
    assert model.predict_risk(world.X).max() < 100
    # Nor for the shares: by the rows that count, the mixture is about the best there is.
    scores = {row["candidate"]: row["score"] for row in model.leaderboard_}
    assert scores.pop("mixture") < 1.01 * min(scores.values())


def test_a_row_held_out_twice_is_refused(world):
    with pytest.raises(ValueError, match="cv must hold out no row twice"):
        AutoRisk(LinearRegression(), cv=RepeatedKFold(n_splits=2, n_repeats=2)).fit(
            world.X, world.y
        )


def test_a_budget_is_obeyed(world):
    model = AutoRisk(time_budget=0.0, random_state=0).fit(world.X, world.y)
    assert [name for name, took in model.predictor_.seconds_.items() if took] == ["ridge"]
    assert [row["candidate"] for row in model.leaderboard_ if row["seconds"]] == ["extra-trees"]
    # What there was no time for is listed, and took none.
    assert {name for name, took in model.seconds_.items() if took} == {
        "predictor, ridge",
        "extra-trees",
    }
    assert set(model.seconds_) > {"predictor, boosting", "forest on roots", "distribution"}


@pytest.mark.parametrize("predictor", [None, LinearRegression()])
def test_without_time_fewer_rows_are_used(predictor):
    """Of more than a thousand rows those few on which its time is tried."""
    world = make_heteroscedastic(1500, random_state=0)
    model = AutoRisk(predictor, loss="squared_error", time_budget=0.0, random_state=0).fit(
        world.X, world.y
    )
    rows = model.held_out_.rows
    assert len(rows) == 1000
    assert rows.max() > 1000  # drawn from all of them
    fresh = world.sample(2000, random_state=1)
    truth, risk = world.risk(model, fresh.X), model.predict_risk(fresh.X)
    assert np.corrcoef(truth, risk)[0, 1] > 0.7


def test_one_row_a_candidate_and_few_rows():
    world = make_heteroscedastic(15, random_state=0)
    model = AutoRisk(LinearRegression(), random_state=0).fit(world.X, world.y)
    assert_allclose(model.predict_risk(world.X), model.held_out_.losses.mean())


def test_a_second_opinion_helps_a_predictor_with_poor_probabilities():
    """As in `HybridRisk`: what the pool knows of the classes is better than the predictor alone."""
    world = make_gaussian_mixture(1000, random_state=0)
    poor = DecisionTreeClassifier(max_depth=2, random_state=0)
    model = AutoRisk(poor, loss="log_loss", random_state=0).fit(world.X, world.y)
    board = {row["candidate"]: row for row in model.leaderboard_}
    assert board["hybrid"]["score"] < board["plug-in"]["score"]
    assert model.seconds_["hybrid"] == board["hybrid"]["seconds"] > 0


def test_parts_and_their_seconds(built):
    model = built
    predictor = [f"predictor, {name}" for name in model.predictor_.seconds_]
    assert list(model.seconds_) == [*predictor, *MEMBERS, "distribution"]
    assert min(model.seconds_.values()) > 0


def test_groups_reach_the_folds_of_predictor_and_pool():
    world = make_gaussian_mixture(300, random_state=0)
    groups = np.repeat(np.arange(30), 10)
    for predictor in (None, LogisticRegression(), FrozenEstimator(_logistic(world))):
        model = AutoRisk(predictor, loss="zero_one", time_budget=0, random_state=0)
        model.fit(world.X, world.y, groups=groups)
        assert np.isfinite(model.predict_risk(world.X)).all()


def test_the_second_model_of_a_frozen_classifier_keeps_groups_together():
    world = make_gaussian_mixture(120, random_state=0)
    groups = np.repeat(np.arange(24), 5)
    risk = AutoRisk(FrozenEstimator(_logistic(world)), loss="zero_one", cv=3, random_state=0)
    fold = risk.fit(world.X, world.y, groups=groups).second_model_.held_out_.fold
    assert all(len(set(fold[groups == group])) == 1 for group in range(24))
    assert len(set(fold)) == 3


def _logistic(world):
    return LogisticRegression().fit(world.X, world.y)


def test_on_few_coded_rows_a_forest_on_the_row_alone_is_tried():
    rng = np.random.default_rng(0)
    codes = rng.integers(5, size=(900, 4)).astype(float)
    spread = np.array([0.2, 2.0, 0.3, 1.5, 0.1])[codes[:, 3].astype(int)]  # codes have no order
    y = codes[:, 0] + spread * rng.normal(size=900)
    few = AutoRisk(random_state=0).fit(codes[:150], y[:150])
    names = {row["candidate"] for row in few.leaderboard_}
    assert "forest on the row" in names
    # It judges rows that it has not seen: on its own training rows a forest has a lower error.
    [score] = [r["score"] for r in few.leaderboard_ if r["candidate"] == "forest on the row"]
    few.committee_.keep("forest on the row")
    new = few.predict_risk(codes[150:])
    loss = few.loss_values(codes[150:], y[150:])
    assert score == pytest.approx(((loss - new) ** 2).mean() / loss.var(), abs=0.25)


def test_time_series_need_a_given_predictor(world):
    with pytest.raises(ValueError, match=r"holds out 300 of 400 rows\. .*AutoRisk\(pred"):
        AutoRisk(cv=TimeSeriesSplit(3)).fit(world.X, world.y)
    with pytest.raises(ValueError, match="holds out some rows twice"):
        AutoRisk(cv=RepeatedKFold(n_splits=2, n_repeats=2)).fit(world.X, world.y)
    classes = make_gaussian_mixture(200, random_state=0)
    risk = AutoRisk(LogisticRegression(), cv=TimeSeriesSplit(3), time_budget=0, random_state=0)
    risk.fit(classes.X, classes.y)
    assert_array_equal(risk.held_out_.rows, np.arange(50, 200))
    assert len(risk.predict_risk(classes.X)) == 200


def two_levels(n=200):
    """Return rows and losses that they tell exactly: of two kinds one loses 400 times as much."""
    X = np.random.default_rng(0).integers(2, size=(n, 1)).astype(float)
    return X, np.where(X[:, 0] > 0, 4.0, 0.01)


def test_a_forest_on_roots_is_judged_by_what_it_says_of_losses():
    """Squared again: roots themselves are far from such losses."""
    X, loss = two_levels()
    model = AutoRisk("precomputed", random_state=0).fit(X, loss=loss)
    scores = {row["candidate"]: row["score"] for row in model.leaderboard_}
    assert max(scores["forest on roots"], scores["extra-trees on roots"]) < 1e-6


def test_what_would_take_longer_than_what_is_left_is_not_begun(monkeypatch):
    """Each look at the clock is a second: a fit takes one, and two forests on roots up to eight."""
    X, loss = two_levels()
    model = AutoRisk("precomputed", time_budget=17, random_state=0)
    with monkeypatch.context() as patched:
        patched.setattr(time, "perf_counter", map(float, itertools.count()).__next__)
        model.fit(X, loss=loss)
    taken = [name for name, seconds in model.seconds_.items() if seconds and name != "predictor"]
    assert taken == ["extra-trees", "extra-trees on roots", "forest on the row"]
