"""One meaning of `predictor` in every class: fitted here, frozen, precomputed, or built."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.ensemble import ExtraTreesRegressor
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge, RidgeClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import LinearSVC

from condrisk import AutoRisk, BudgetRule, Deferral, HybridRisk, PlugInRisk, RegressionRisk
from condrisk.datasets import make_gaussian_mixture, make_heteroscedastic
from condrisk.learners import LossRegressor, StackedClassifier, StackedRegressor
from condrisk.losses import make_loss
from condrisk.shift import refit_risk

WORLD = make_heteroscedastic(200, random_state=0)
X, Y = WORLD.X, WORLD.y
CLASSES = make_gaussian_mixture(200, random_state=0)
C, K = CLASSES.X, CLASSES.y
QUICK = {"time_budget": 0, "cv": 3, "random_state": 0}


# -- none at all -----------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [RegressionRisk, PlugInRisk, HybridRisk])
def test_only_the_automatic_one_builds_a_predictor(kind):
    with pytest.raises(ValueError, match=r"'predictor' parameter of .* must be .*precomputed"):
        kind(None).fit(C, K)


@pytest.mark.parametrize(
    ("y", "task"),
    [
        (np.where(K > 0, "ill", "well"), "classification"),
        (K > 0, "classification"),
        (pd.Series(np.where(K > 0, 1, 7), dtype="category"), "classification"),
        (np.where(K > 0, 1, 7), "classification"),
        (np.where(K > 0, 1.0, 0.0), "classification"),
        (Y, "regression"),
    ],
    ids=["text", "booleans", "categories", "two integers", "two floats", "fractions"],
)
def test_the_target_tells_the_task(y, task):
    risk = AutoRisk(**QUICK).fit(C, y)
    assert risk.task_ == task
    assert isinstance(risk.predictor_, StackedClassifier) == (task == "classification")


@pytest.mark.parametrize("y", [np.arange(200) % 3, (np.arange(200) % 5).astype(float)])
def test_whole_numbers_may_be_either_so_the_task_must_be_named(y):
    with pytest.raises(ValueError, match="task must be given"):
        AutoRisk(**QUICK).fit(C, y)
    assert isinstance(AutoRisk(task="regression", **QUICK).fit(C, y).predictor_, StackedRegressor)
    assert AutoRisk(task="classification", **QUICK).fit(C, y).loss_.name == "zero_one"
    assert AutoRisk(loss="absolute_error", **QUICK).fit(C, y).task_ == "regression"
    assert AutoRisk(loss="brier", **QUICK).fit(C, y).task_ == "classification"


def test_the_task_of_a_given_predictor_is_not_up_for_choice():
    with pytest.raises(ValueError, match="task is for a predictor that is built here"):
        AutoRisk(LinearRegression(), task="regression").fit(X, Y)


def test_no_stack_is_made_to_estimate(monkeypatch):
    risk = AutoRisk(**QUICK).fit(X, Y)
    for stack in (StackedRegressor, StackedClassifier):
        monkeypatch.setattr(stack, "__init__", None)
    assert len(risk.predict_risk(X)) == 200


# -- precomputed -----------------------------------------------------------------------------------


class Given(ClassifierMixin, BaseEstimator):
    """Class probabilities by a fixed formula: what an external predictor may be."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict_proba(self, X):
        p = 1 / (1 + np.exp(-X[:, 0]))
        rest = np.full((len(X), len(self.classes_) - 1), 1 / (len(self.classes_) - 1))
        return np.column_stack([p, (1 - p)[:, None] * rest])

    def predict(self, X):
        return self.classes_[self.predict_proba(X).argmax(axis=1)]


@pytest.mark.parametrize(
    "make",
    [
        lambda f: RegressionRisk(f, loss="log_loss", regressor=Ridge(), features="x+response"),
        lambda f: PlugInRisk(f, loss="log_loss", probability=GaussianNB()),
        lambda f: HybridRisk(f, loss="log_loss", probability=GaussianNB()),
        lambda f: AutoRisk(f, loss="log_loss", cv=3),
    ],
    ids=["regression", "plug-in", "hybrid", "auto"],
)
def test_precomputed_is_the_same_as_frozen(make):
    external = Given().fit(C, K)
    proba = external.predict_proba(C)
    frozen = make(FrozenEstimator(external)).set_params(random_state=0).fit(C, K)
    given = make("precomputed").set_params(random_state=0).fit(C, K, prediction=proba)
    assert_allclose(given.predict_risk(C, prediction=proba), frozen.predict_risk(C))
    assert_array_equal(given.predict(C, prediction=proba), frozen.predict(C))
    assert_allclose(given.held_out_.risks, frozen.held_out_.risks)
    mine = given.assess(C, K, prediction=proba)
    assert_allclose(mine.loss, frozen.loss_values(C, K))
    with pytest.raises(ValueError, match="prediction must be given"):
        given.predict_risk(C)


def test_labels_of_an_external_predictor_will_do_for_the_automatic_risk():
    labels = Given().fit(C, K).predict(C)
    risk = AutoRisk("precomputed", loss="zero_one", cv=3, random_state=0)
    risk.fit(C, K, prediction=labels)
    assert risk.predict_risk(C, prediction=labels).max() <= 1
    assert {row["candidate"] for row in risk.leaderboard_} >= {"hybrid", "mean"}


def test_a_prediction_for_a_predictor_that_is_here_is_refused():
    for risk in (AutoRisk(**QUICK), AutoRisk(LinearRegression(), **QUICK)):
        with pytest.raises(ValueError, match="only for an external predictor"):
            risk.fit(X, Y, prediction=Y)


def test_an_answer_that_is_no_class_is_wrong_on_any_number_of_rows():
    labels = K.copy()
    labels[0] = 99
    risk = RegressionRisk("precomputed", loss="zero_one", regressor=Ridge())
    risk.fit(C, K, prediction=labels)
    many = risk.loss_values(C[:2], K[:2], prediction=labels[:2])
    one = risk.loss_values(C[:1], K[:1], prediction=labels[:1])
    assert one[0] == many[0] == 1
    with pytest.raises(ValueError, match="holds none of the classes"):
        risk.fit(C, K, prediction=np.full(200, 99))


# -- losses that are computed already --------------------------------------------------------------


def test_losses_take_the_place_of_targets():
    predictor = LinearRegression().fit(X, Y)
    loss = (predictor.predict(X) - Y) ** 2
    options = {"random_state": 0, "regressor": Ridge()}
    by_targets = RegressionRisk(FrozenEstimator(predictor), **options).fit(X, Y)
    by_losses = RegressionRisk(FrozenEstimator(predictor), **options).fit(X, loss=loss)
    assert_allclose(by_losses.predict_risk(X), by_targets.predict_risk(X))
    assert_allclose(by_losses.held_out_.risks, by_targets.held_out_.risks)
    for kind in (RegressionRisk, AutoRisk):
        options = QUICK if kind is AutoRisk else {"random_state": 0, "regressor": Ridge()}
        alone = kind("precomputed", **options).fit(X, loss=loss)
        assert alone.predict_risk(X).min() >= 0
    model = Deferral(kind("precomputed", **options), rule=BudgetRule(0.2)).fit(X, loss=loss)
    assert np.mean(model.risk_.held_out_.risks > model.rule_.threshold_) <= 0.2
    with pytest.raises(ValueError, match="losses were given to fit"):
        alone.loss_values(X, Y, prediction=Y)


def test_losses_in_the_wrong_place_are_refused():
    loss = Y**2
    with pytest.raises(ValueError, match="loss is for a predictor that is fitted already"):
        RegressionRisk(LinearRegression()).fit(X, loss=loss)
    with pytest.raises(ValueError, match="loss must not be given together with y"):
        RegressionRisk("precomputed").fit(X, Y, loss=loss)
    with pytest.raises(ValueError, match="PlugInRisk needs the classes themselves"):
        PlugInRisk("precomputed", probability=GaussianNB()).fit(X, loss=loss)
    with pytest.raises(ValueError, match="y to be passed"):
        RegressionRisk("precomputed", loss="squared_error").fit(X)


def test_negative_losses_have_no_floor():
    risk = RegressionRisk("precomputed", regressor=Ridge()).fit(X, loss=X[:, 0])
    assert risk.predict_risk(X).min() < 0


# -- classes ---------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:The least populated class")
@pytest.mark.parametrize(
    "risk",
    [
        AutoRisk(LogisticRegression(), cv=3),
        PlugInRisk(LogisticRegression(), calibration="temperature"),
        HybridRisk(LogisticRegression()),
        AutoRisk(task="classification", **QUICK),
    ],
    ids=["auto", "plug-in", "hybrid", "built"],
)
def test_a_class_may_have_one_member(risk):
    y = np.where(K > 0, "b", "a").astype(object)
    y[7] = "c"
    risk.fit(C, y)
    assert_array_equal(risk.classes_, ["a", "b", "c"])
    assert np.isfinite(risk.predict_risk(C)).all()
    assert np.isfinite(risk.held_out_.risks).all()


@pytest.mark.filterwarnings("ignore:the predictor is worse")  # it expects three classes
@pytest.mark.filterwarnings("ignore:class 1 is")  # since class 2 has none of the rows
def test_a_class_without_rows_has_no_part_in_the_temperature():
    model = LogisticRegression().fit(C, np.arange(200) % 3)
    rows = np.flatnonzero(np.arange(200) % 3 < 2)
    y = np.random.default_rng(0).integers(0, 2, len(rows))
    risk = PlugInRisk(
        FrozenEstimator(model),
        loss="log_loss",
        probability=FrozenEstimator(model),
        calibration="temperature",
    ).fit(C[rows], y)
    scores = model.decision_function(C[rows])

    def log_loss(beta):
        logs = log_softmax(beta * scores, axis=1)
        return -logs[np.arange(len(y)), y].mean()

    best = minimize_scalar(log_loss, bounds=(0, 50), method="bounded", options={"xatol": 1e-9})
    [found] = risk.calibrator_.calibrated_classifiers_[0].calibrators
    assert found.beta_ == pytest.approx(best.x, rel=1e-3, abs=1e-4)


@pytest.mark.filterwarnings("ignore:The least populated class")
def test_where_a_class_with_one_member_cannot_work_the_advice_can():
    y = K.copy()
    y[7] = 50
    risk = PlugInRisk(RidgeClassifier(), probability=LinearSVC(), calibration="temperature")
    with pytest.raises(ValueError, match="lack class 50, which has too few rows"):
        risk.fit(C, y)


def test_a_classifier_without_probabilities():
    risk = AutoRisk(RidgeClassifier(), cv=3, random_state=0).fit(C, K)
    assert 0 <= risk.predict_risk(C).min() <= risk.predict_risk(C).max() <= 1
    # It has no probabilities to plug in; those of a second model say more than the mean.
    assert {"hybrid"} == {row["candidate"] for row in risk.leaderboard_} & {"plug-in", "hybrid"}
    fresh = make_gaussian_mixture(600, random_state=1)
    loss, estimate = risk.loss_values(fresh.X, fresh.y), risk.predict_risk(fresh.X)
    assert np.mean((loss - estimate) ** 2) < 0.95 * loss.var()


COSTS = pd.DataFrame(
    [[0.0, 1.0, 2.0], [10.0, 0.0, 3.0], [20.0, 4.0, 0.0]],
    index=["cat", "dog", "emu"],
    columns=["cat", "dog", "emu"],
)


@pytest.mark.parametrize("order", [["cat", "dog", "emu"], ["emu", "cat", "dog"]])
def test_a_labelled_cost_matrix_is_read_by_its_labels(order):
    rng = np.random.default_rng(0)
    y = np.array(["cat", "dog", "emu"])[rng.integers(0, 3, 200)]
    by_position = PlugInRisk(GaussianNB(), loss=COSTS.to_numpy(), random_state=0).fit(C, y)
    shuffled = COSTS.loc[order, order[::-1]]
    by_label = PlugInRisk(GaussianNB(), loss=shuffled, random_state=0).fit(C, y)
    assert_allclose(by_label.predict_risk(C), by_position.predict_risk(C))
    assert_allclose(by_label.loss_values(C, y), by_position.loss_values(C, y))
    model = Deferral(RegressionRisk(GaussianNB(), loss=shuffled, regressor=Ridge()), cost=1.0)
    assert_allclose(model.fit(C, y).loss_values(C, y), by_position.loss_values(C, y))


@pytest.mark.parametrize(
    ("costs", "message"),
    [
        (COSTS.rename(index={"emu": "gnu"}, columns={"emu": "gnu"}), "'gnu' is no class"),
        (COSTS.iloc[:2, :2], "'emu' has no costs"),
        (COSTS.rename(index={"emu": "gnu"}), "the same labels for rows"),
    ],
)
def test_labels_that_are_no_classes_are_refused(costs, message):
    y = np.array(["cat", "dog", "emu"])[np.arange(200) % 3]
    with pytest.raises(ValueError, match=message):
        RegressionRisk(GaussianNB(), loss=costs, regressor=Ridge()).fit(C, y)


def test_a_polars_frame_of_costs_is_refused():
    import polars as pl

    with pytest.raises(ValueError, match="polars frame has no labels for its rows"):
        RegressionRisk(GaussianNB(), loss=pl.DataFrame({"a": [0, 1], "b": [1, 0]})).fit(C, K)


# -- groups ----------------------------------------------------------------------------------------


def grouped_noise(seed, n_groups=60, size=10):
    """Rows of a group share their features but for jitter, and the size of their losses."""
    rng = np.random.default_rng(seed)
    groups = np.repeat(np.arange(n_groups), size)
    rows = rng.normal(size=(n_groups, 3))[groups] + 0.01 * rng.normal(size=(len(groups), 3))
    hidden = rng.exponential(size=n_groups)[groups]
    return rows, hidden, groups


def agreement(a, b):
    return abs(np.corrcoef(a, b)[0, 1]) if np.ptp(a) > 0 else 0.0


def test_groups_do_not_leak_into_the_automatic_risk(seed):
    rows, hidden, groups = grouped_noise(seed)
    y = np.sqrt(hidden) * np.random.default_rng(seed + 50).normal(size=len(groups))
    frozen = FrozenEstimator(LinearRegression().fit(rows, np.zeros(len(rows))))
    for predictor in (LinearRegression(), frozen, None):
        risk = AutoRisk(predictor, cv=3, random_state=0).fit(rows, y, groups=groups)
        # What is hidden cannot be known of a group that was held out.
        assert agreement(risk.held_out_.risks, hidden) < 0.45
        best = min(row["score"] for row in risk.leaderboard_ if row["candidate"] != "mixture")
        assert best > 0.9


def test_groups_do_not_leak_into_the_mixture_of_losses(seed):
    rows, hidden, groups = grouped_noise(seed)
    z = hidden * np.random.default_rng(seed + 50).exponential(size=len(groups))
    by_groups = LossRegressor(random_state=0).fit(rows, z, groups=groups)
    by_rows = LossRegressor(random_state=0).fit(rows, z)
    assert by_groups.shares_["mean"] > by_rows.shares_["mean"]
    new = np.random.default_rng(seed + 99).normal(size=(2000, 3))
    spread = [np.std(model.predict(new)) for model in (by_groups, by_rows)]
    assert spread[0] < spread[1]  # of new groups nothing is known: the mean is best


def test_the_risk_passes_groups_on_to_what_holds_out_rows_by_itself():
    rows, hidden, groups = grouped_noise(0)
    risk = RegressionRisk(FrozenEstimator(LinearRegression().fit(rows, hidden)), random_state=0)
    risk.fit(rows, hidden, groups=groups)
    loss = risk.loss_values(rows, hidden)
    seed = risk.regressor_.random_state
    expected = LossRegressor(random_state=seed).fit(rows, loss, groups=groups)
    assert risk.regressor_.shares_ == expected.shares_


# -- what stands around it -------------------------------------------------------------------------


def test_refitting_an_automatic_risk_keeps_its_predictor():
    risk = AutoRisk(**QUICK).fit(X, Y)
    fresh = WORLD.sample(150, random_state=5)
    again = refit_risk(risk, fresh.X, fresh.y)
    assert_array_equal(again.predict(X), risk.predict(X))
    assert again.predictor.estimator is risk.predictor_


def test_a_budget_for_an_automatic_risk_of_a_frozen_predictor():
    frozen = FrozenEstimator(LinearRegression().fit(X, Y))
    fresh = WORLD.sample(300, random_state=5)
    model = Deferral(AutoRisk(frozen, cv=3, random_state=0), rule=BudgetRule(0.2))
    assert 0 < model.fit(fresh.X, fresh.y).defer(WORLD.sample(500, random_state=6).X).mean() < 0.4


def test_a_loss_for_both_tasks_needs_no_task_of_a_given_predictor():
    loss = make_loss(lambda y, p: (y != p).astype(float))
    risk = RegressionRisk(LogisticRegression(), loss=loss, regressor=ExtraTreesRegressor(5))
    assert risk.fit(C, K).classes_.tolist() == np.unique(K).tolist()
