"""Targets of several columns: worlds of known risk, each output by itself, bad input."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.dummy import DummyRegressor
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.exceptions import DataConversionWarning
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import (
    LinearRegression,
    LogisticRegression,
    PoissonRegressor,
    Ridge,
    RidgeClassifier,
)
from sklearn.metrics import hamming_loss
from sklearn.model_selection import cross_val_score
from sklearn.multiclass import OneVsRestClassifier
from sklearn.multioutput import ClassifierChain, MultiOutputClassifier, MultiOutputRegressor
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.neural_network import MLPClassifier
from sklearn.tree import DecisionTreeRegressor
from sklearn.utils import get_tags

from condrisk import AutoRisk, Deferral, HybridRisk, PlugInRisk, RegressionRisk
from condrisk.learners import DistributionRegressor
from condrisk.losses import averaged, hamming, make_loss, squared_error

SLOPES = np.array([0.8, -0.8, 0.3])
LINES = np.array([[1.0, 0.0, 2.0], [0.5, -1.0, 0.0], [0.0, 1.0, 1.0]])
TREE = DecisionTreeRegressor(min_samples_leaf=100, random_state=0)
# The world's own form: a line, and the logarithm of a variance that is one.
LAW = DistributionRegressor(LinearRegression(), PoissonRegressor(alpha=0))


class Numbers:
    """Three outputs, each with a noise of its own size, which may depend on each other."""

    def __init__(self, n, seed=0, dependence=0.0):
        rng = np.random.default_rng(seed)
        self.X = rng.uniform(-1.5, 1.5, size=(n, 3))
        common = rng.normal(size=(n, 1))
        noise = rng.normal(size=(n, 3)) * np.sqrt(1 - dependence) + common * np.sqrt(dependence)
        self.variances = np.exp(2 * self.X[:, [0]] * SLOPES)
        self.Y = self.X @ LINES + noise * np.sqrt(self.variances)


class Lines(RegressorMixin, BaseEstimator):
    """The true means, or some of them."""

    def __init__(self, outputs=(0, 1, 2)):
        self.outputs = outputs

    def fit(self, X, y):
        return self

    def predict(self, X):
        return np.squeeze(np.asarray(X) @ LINES[:, list(self.outputs)])

    def __sklearn_is_fitted__(self):
        return True


class Labels:
    """Four labels of known chances."""

    SLOPES = np.array([[2.0, -2.0, 0.5, 0.0], [0.0, 1.0, -2.0, 3.0]])
    SHIFTS = np.array([0.0, -0.5, 0.5, -1.0])

    def __init__(self, n, seed=0):
        rng = np.random.default_rng(seed)
        self.X = rng.normal(size=(n, 2))
        self.chances = 1 / (1 + np.exp(-self.X @ self.SLOPES - self.SHIFTS))
        self.Y = (rng.random((n, 4)) < self.chances).astype(int)


class Signs(ClassifierMixin, BaseEstimator):
    """A classifier of labels, not the best one, that has no probabilities."""

    def fit(self, X, y):
        return self

    def predict(self, X):
        return (np.asarray(X)[:, [0, 0, 1, 1]] * [1, -1, -1, 1] > 0).astype(int)

    def __sklearn_is_fitted__(self):
        return True


LOGISTIC = MultiOutputClassifier(LogisticRegression())
CLASSIFIERS = {
    "forest": RandomForestClassifier(10, random_state=0),
    "neighbours": KNeighborsClassifier(15),
    "each": LOGISTIC,
    "chain": ClassifierChain(LogisticRegression()),
    "rest": OneVsRestClassifier(LogisticRegression()),
    "network": MLPClassifier((8,), max_iter=40, random_state=0),
}
FOREST = RandomForestRegressor(20, min_samples_leaf=5)
REGRESSORS = {
    "line": LinearRegression(),
    "forest": RandomForestRegressor(10, random_state=0),
    "each": MultiOutputRegressor(Ridge()),
    "neighbours": KNeighborsRegressor(),
}


def error(estimate, truth):
    """Return the squared error of a risk as a share of that of the best constant."""
    return np.mean((estimate - truth) ** 2) / truth.var()


# -- numbers --------------------------------------------------------------------------------------


@pytest.mark.parametrize("dependence", [0.0, 0.9])
@pytest.mark.parametrize(
    ("risk", "most"),
    [
        (RegressionRisk(FrozenEstimator(Lines()), regressor=TREE), 0.4),
        (PlugInRisk(FrozenEstimator(Lines()), distribution=LAW), 0.15),
        (HybridRisk(FrozenEstimator(Lines()), distribution=LAW, regressor=Ridge()), 0.3),
        (AutoRisk(FrozenEstimator(Lines()), time_budget=0, random_state=0), 0.4),
    ],
    ids=["regression", "plug-in", "hybrid", "auto"],
)
def test_risk_of_numbers_is_near_the_truth_whether_they_depend_or_not(risk, most, dependence, seed):
    train, new = (Numbers(4000, s, dependence) for s in (seed, 100 + seed))
    found = risk.fit(train.X, train.Y).predict_risk(new.X)
    truth = new.variances.mean(axis=1)
    assert error(found, truth) < most
    assert found.mean() == pytest.approx(truth.mean(), rel=0.15)
    assert risk.n_outputs_ == 3
    assert risk.loss_ == averaged("squared_error")


def test_losses_correct_distributions_that_are_wrong(seed):
    train, new = Numbers(1500, seed), Numbers(1500, 100 + seed)
    law = DistributionRegressor(DummyRegressor(), Ridge())  # it knows nothing of the mean
    plug_in, hybrid = (
        kind(FrozenEstimator(Lines()), distribution=law, random_state=0).fit(train.X, train.Y)
        for kind in (PlugInRisk, HybridRisk)
    )
    truth = new.variances.mean(axis=1)
    assert plug_in.predict_risk(new.X).mean() > 2 * truth.mean()
    assert hybrid.predict_risk(new.X).mean() == pytest.approx(truth.mean(), rel=0.1)
    assert error(hybrid.predict_risk(new.X), truth) < 0.5


def test_weights_choose_what_the_risk_is_of(seed):
    train, new = Numbers(4000, seed), Numbers(4000, 100 + seed)
    for k in range(3):
        loss = averaged("squared_error", weights=np.eye(3)[k])
        risk = PlugInRisk(FrozenEstimator(Lines()), loss=loss, distribution=LAW)
        found = risk.fit(train.X, train.Y).predict_risk(new.X)
        assert error(found, new.variances[:, k]) < 0.2


@pytest.mark.parametrize("weights", [None, [1, 2, 5]])
def test_regression_is_that_of_the_losses_averaged_by_hand(weights):
    world = Numbers(300)
    losses = np.average((world.Y - Lines().predict(world.X)) ** 2, axis=1, weights=weights)
    loss = averaged("squared_error", weights)
    found = RegressionRisk(FrozenEstimator(Lines()), loss=loss, regressor=TREE)
    found.fit(world.X, world.Y)
    by_hand = RegressionRisk("precomputed", regressor=TREE).fit(world.X, loss=losses)
    assert_allclose(found.loss_values(world.X, world.Y), losses)
    assert_allclose(found.predict_risk(world.X), by_hand.predict_risk(world.X))
    assert_allclose(found.held_out_.risks, by_hand.held_out_.risks)


@pytest.mark.parametrize("loss", ["squared_error", "absolute_error"])
def test_plug_in_is_the_mean_of_the_plug_ins_of_each_output(loss):
    world, each, held_out = Numbers(400), [], []
    for k in range(3):
        risk = PlugInRisk(FrozenEstimator(Lines((k,))), loss=loss, distribution=LAW, random_state=0)
        risk.fit(world.X, world.Y[:, k])
        each.append([*risk.decompose_risk(world.X), risk.predict_risk(world.X)])
        held_out.append(risk.held_out_.risks)
    both = PlugInRisk(FrozenEstimator(Lines()), loss=loss, distribution=LAW, random_state=0)
    both.fit(world.X, world.Y)
    found = [*both.decompose_risk(world.X), both.predict_risk(world.X)]
    assert_allclose(found, np.mean(each, axis=0), rtol=1e-9, atol=1e-9)
    assert_allclose(both.held_out_.risks, np.mean(held_out, axis=0), rtol=1e-9)
    assert len(both.distribution_) == 3


@pytest.mark.parametrize(
    "make",
    [
        lambda loss: RegressionRisk(LinearRegression(), loss=loss, regressor=TREE, random_state=0),
        lambda loss: PlugInRisk(LinearRegression(), loss=loss, distribution=LAW, random_state=0),
        lambda loss: AutoRisk(LinearRegression(), loss=loss, time_budget=0, random_state=0),
    ],
    ids=["regression", "plug-in", "auto"],
)
def test_the_order_of_the_outputs_does_not_matter(make):
    world, weights, order = Numbers(300), np.array([1.0, 2.0, 4.0]), [2, 0, 1]
    risk = make(averaged("squared_error", weights)).fit(world.X, world.Y)
    other = make(averaged("squared_error", weights[order])).fit(world.X, world.Y[:, order])
    assert_allclose(other.predict(world.X), risk.predict(world.X)[:, order])
    assert_allclose(other.predict_risk(world.X), risk.predict_risk(world.X), rtol=1e-6)


@pytest.mark.parametrize("name", REGRESSORS)
def test_regressors_of_several_outputs(name):
    world = Numbers(200)
    risk = RegressionRisk(REGRESSORS[name], regressor=TREE, random_state=0).fit(world.X, world.Y)
    assert_array_equal(risk.predict(world.X), risk.predictor_.predict(world.X))
    expected = ((world.Y - risk.predict(world.X)) ** 2).mean(axis=1)
    assert_allclose(risk.loss_values(world.X, world.Y), expected)
    found = risk.assess(world.X, world.Y)
    assert_allclose(found.loss, expected)
    score = -np.mean((expected - found.risk) ** 2)
    assert risk.score(world.X, world.Y) == pytest.approx(score)
    assert not hasattr(risk, "classes_")


def test_any_function_of_2d_arrays():
    def farthest(y, f):
        assert y.ndim == f.ndim == 2
        return np.abs(y - f).max(axis=1)

    world = Numbers(800)
    for risk in (
        RegressionRisk(FrozenEstimator(Lines()), loss=farthest, regressor=TREE),
        AutoRisk(FrozenEstimator(Lines()), loss=make_loss(farthest), time_budget=0),
    ):
        risk.fit(world.X, world.Y)
        losses = farthest(world.Y, Lines().predict(world.X))
        assert_allclose(risk.loss_values(world.X, world.Y), losses)
        assert (
            np.corrcoef(risk.predict_risk(world.X), np.sqrt(world.variances).max(axis=1))[0, 1]
            > 0.5
        )


# -- labels ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("risk", "most"),
    [
        (RegressionRisk(FrozenEstimator(Signs()), regressor=TREE), 0.45),
        (PlugInRisk(FrozenEstimator(Signs()), probability=LOGISTIC, random_state=0), 0.05),
        (AutoRisk(FrozenEstimator(Signs()), time_budget=0, random_state=0), 0.45),
    ],
    ids=["regression", "plug-in", "auto"],
)
def test_risk_of_labels_is_near_the_truth(risk, most, seed):
    train, new = Labels(1500, seed), Labels(1500, 100 + seed)
    found = risk.fit(train.X, train.Y).predict_risk(new.X)
    answers = Signs().predict(new.X)
    truth = np.where(answers == 1, 1 - new.chances, new.chances).mean(axis=1)
    assert error(found, truth) < most
    assert found.mean() == pytest.approx(truth.mean(), rel=0.1)
    assert risk.loss_ == hamming


@pytest.mark.parametrize("name", CLASSIFIERS)
@pytest.mark.parametrize("kind", [RegressionRisk, PlugInRisk, AutoRisk])
@pytest.mark.filterwarnings("ignore:Stochastic Optimizer")
def test_classifiers_of_several_labels(kind, name):
    world, own = Labels(200), {"time_budget": 0} if kind is AutoRisk else {}
    own |= {"regressor": FOREST} if kind is RegressionRisk else {}
    risk = kind(CLASSIFIERS[name], cv=3, random_state=0, **own).fit(world.X, world.Y)
    answers = risk.predict(world.X)
    assert_array_equal(answers, risk.predictor_.predict(world.X))
    expected = [
        hamming_loss(y[None], f[None]) for y, f in zip(world.Y, answers.astype(int), strict=True)
    ]
    assert_allclose(risk.loss_values(world.X, world.Y), expected)
    assert_array_equal(risk.predict_proba(world.X), risk.predictor_.predict_proba(world.X))
    assert_array_equal(risk.classes_, risk.predictor_.classes_)
    found = risk.predict_risk(world.X)
    assert 0 <= found.min() < found.max() <= 1
    assert np.corrcoef(risk.held_out_.risks, risk.held_out_.losses)[0, 1] > 0.15


def test_lists_and_matrices_of_chances_are_the_same():
    world, new = Labels(300), Labels(100, 1)
    each, rest = (
        PlugInRisk(CLASSIFIERS[name], random_state=0).fit(world.X, world.Y)
        for name in ("each", "rest")
    )
    assert_allclose(each.predict_risk(new.X), rest.predict_risk(new.X), rtol=1e-6)


def test_plug_in_of_labels_is_the_mean_of_those_of_each_label():
    world, each = Labels(400), []
    for k in range(4):
        single = PlugInRisk(LogisticRegression(), cv=FOLDS, random_state=0)
        # Probabilities too, as several labels are calibrated by these.
        single.set_params(predictor=OnlyProbabilities(), cv=FOLDS).fit(world.X, world.Y[:, k])
        each.append([*single.decompose_risk(world.X), single.predict_risk(world.X)])
    risk = PlugInRisk(LOGISTIC, cv=FOLDS, random_state=0).fit(world.X, world.Y)
    found = [*risk.decompose_risk(world.X), risk.predict_risk(world.X)]
    assert_allclose(found, np.mean(each, axis=0), rtol=1e-4, atol=1e-6)


class OnlyProbabilities(ClassifierMixin, BaseEstimator):
    """A logistic regression without decision function."""

    def fit(self, X, y):
        self.model_ = LogisticRegression().fit(X, y)
        self.classes_ = self.model_.classes_
        return self

    def predict(self, X):
        return self.model_.predict(X)

    def predict_proba(self, X):
        return self.model_.predict_proba(X)


FOLDS = [(np.arange(200), np.arange(200, 400)), (np.arange(200, 400), np.arange(200))]


def test_costs_of_labels_by_matrix_and_weight():
    world = Labels(1500)
    loss = averaged([[0, 1], [5, 0]], weights=[1, 0, 0, 3])
    risk = PlugInRisk(FrozenEstimator(Signs()), loss=loss, probability=LOGISTIC)
    found = risk.fit(world.X, world.Y).predict_risk(world.X)
    answers, chances = Signs().predict(world.X), world.chances
    costs = np.where(answers == 1, 1 - chances, 5 * chances)
    assert error(found, (costs[:, 0] + 3 * costs[:, 3]) / 4) < 0.05


def test_zero_one_of_labels_is_one_unless_all_are_right():
    world = Labels(200)
    risk = RegressionRisk(LOGISTIC, loss="zero_one", regressor=TREE).fit(world.X, world.Y)
    wrong = (risk.predict(world.X) != world.Y).any(axis=1)
    assert_array_equal(risk.loss_values(world.X, world.Y), wrong)
    AutoRisk(LOGISTIC, loss="zero_one", time_budget=0).fit(world.X, world.Y)


def test_a_label_that_a_fold_lacks():
    world = Labels(200)
    Y = world.Y.copy()
    Y[:, 3] = np.arange(200) < 1
    for kind in (RegressionRisk, PlugInRisk):
        risk = kind(RandomForestClassifier(5, random_state=0), random_state=0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that the calibration shifts the rare label
            assert np.isfinite(risk.fit(world.X, Y).predict_risk(world.X)).all()


def test_a_rare_label_that_calibration_makes_frequent_is_named():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 2))
    Y = np.column_stack([X[:, 0] > 0, rng.random(600) < 0.02]).astype(int)

    class Sure(OnlyProbabilities):
        def fit(self, X, y):
            self.classes_ = [np.arange(2)] * 2
            return self

        def predict(self, X):
            return np.column_stack([X[:, 0] > 0, np.zeros(len(X))]).astype(int)

        def predict_proba(self, X):
            rare = np.where(X[:, 0] > 1, 1 - 1e-9, 1e-9)  # sure, and wrong
            chances = (np.where(X[:, 0] > 0, 0.9, 0.1), rare)
            return [np.column_stack([1 - p, p]) for p in chances]

    risk = PlugInRisk(
        FrozenEstimator(Sure().fit(X, Y)), probability=FrozenEstimator(Sure().fit(X, Y))
    )
    with pytest.warns(UserWarning, match=r"class 'label 1' is .*% of the rows"):
        risk.fit(X, Y)


# -- around it ------------------------------------------------------------------------------------


@pytest.mark.parametrize("task", ["numbers", "labels"])
def test_deferral_beats_always_and_never(task, seed):
    make = Numbers if task == "numbers" else Labels
    train, new = make(1200, seed), make(3000, 100 + seed)
    f = Lines() if task == "numbers" else Signs()
    model = Deferral(RegressionRisk(FrozenEstimator(f), regressor=TREE))
    model.fit(train.X, train.Y)
    never = model.loss_values(new.X, new.Y).mean()
    assert -model.score(new.X, new.Y, cost=never) < 0.95 * never


def test_rows_without_weight_do_not_matter():
    world, weight = Numbers(300), np.ones(300)
    Y = world.Y.copy()
    Y[:50], weight[:50] = 1e3, 0
    rows = np.arange(300)
    halves = [(rows[k::2], rows[1 - k :: 2]) for k in (0, 1)]
    short = [(a[a >= 50] - 50, b[b >= 50] - 50) for a, b in halves]
    risk, fewer = (RegressionRisk(Ridge(), regressor=Ridge(), cv=cv) for cv in (halves, short))
    risk.fit(world.X, Y, sample_weight=weight)
    fewer.fit(world.X[50:], Y[50:])
    assert_allclose(risk.predict_risk(world.X), fewer.predict_risk(world.X))


def test_groups_are_held_out_together():
    world, groups = Numbers(300), np.arange(300) // 10
    risk = RegressionRisk(KNeighborsRegressor(1), regressor=Ridge(), random_state=0)
    copies = world.X[groups * 10], world.Y[groups * 10]  # ten of each row
    risk.fit(*copies, groups=groups)
    assert risk.held_out_.losses.min() > 0
    assert_array_equal(risk.held_out_.groups, groups)


@pytest.mark.parametrize("task", ["numbers", "labels"])
def test_containers_of_targets(task):
    world = (Numbers if task == "numbers" else Labels)(120)
    f = LinearRegression() if task == "numbers" else RandomForestClassifier(5, random_state=0)
    names = [f"t{k}" for k in range(world.Y.shape[1])]
    forms = [
        pd.DataFrame(world.Y, columns=names),
        pl.DataFrame(world.Y, schema=names),
        world.Y.tolist(),
    ]
    if task == "labels":
        forms += [world.Y.astype(bool), world.Y.astype(float), sparse.csr_array(world.Y)]
    expected = RegressionRisk(f, regressor=Ridge(), random_state=0).fit(world.X, world.Y)
    for Y in forms:
        risk = RegressionRisk(f, regressor=Ridge(), random_state=0).fit(world.X, Y)
        assert_allclose(risk.predict_risk(world.X), expected.predict_risk(world.X))
        assert_allclose(risk.loss_values(world.X, Y), expected.loss_values(world.X, world.Y))
    frame = pd.DataFrame(world.X, columns=list("abc")[: world.X.shape[1]])
    risk = RegressionRisk(f, regressor=Ridge(), features="x+response", random_state=0)
    assert np.isfinite(risk.fit(frame, world.Y).predict_risk(frame)).all()


def test_a_single_column_is_no_several_outputs():
    world = Numbers(100)
    risk = RegressionRisk(LinearRegression(), regressor=Ridge(), random_state=0)
    expected = risk.fit(world.X, world.Y[:, 0]).predict_risk(world.X)
    with pytest.warns(DataConversionWarning):
        found = risk.fit(world.X, world.Y[:, :1]).predict_risk(world.X)
    assert_array_equal(found, expected)
    assert risk.n_outputs_ == 1
    one = RegressionRisk(LinearRegression(), loss=averaged("squared_error"), regressor=Ridge())
    assert one.fit(world.X, world.Y[:, 0]).loss_ is squared_error


def test_external_predictors_of_several_outputs():
    world = Numbers(200)
    P = Lines().predict(world.X)
    inside = RegressionRisk(FrozenEstimator(Lines()), regressor=TREE).fit(world.X, world.Y)
    outside = RegressionRisk("precomputed", regressor=TREE)
    outside.fit(world.X, world.Y, prediction=P)  # fractions: numbers, so the squared error
    assert_array_equal(outside.predict_risk(world.X), inside.predict_risk(world.X))
    assert_array_equal(outside.predict(world.X, prediction=P), P)
    with pytest.raises(ValueError, match=r"prediction must have the shape \(200, 3\).*\(200, 2\)"):
        outside.fit(world.X, world.Y, prediction=P[:, :2])
    with pytest.raises(ValueError, match=r"prediction must have the shape \(5, 3\).*\(5,\)"):
        outside.predict(world.X[:5], prediction=P[:5, 0])


def test_external_labels_may_be_chances():
    world = Labels(300)
    risk = PlugInRisk("precomputed", probability=LOGISTIC, random_state=0)
    risk.fit(world.X, world.Y, prediction=world.chances)
    answers = (world.chances > 0.5).astype(int)
    assert_array_equal(risk.predict(world.X, prediction=world.chances), answers)
    given = {"prediction": world.chances}, {"prediction": answers}
    first, second = (risk.predict_risk(world.X, **own) for own in given)
    assert_array_equal(first, second)
    with pytest.raises(ValueError, match="the chance of each label, from 0 to 1"):
        risk.predict(world.X, prediction=world.chances + 1)


def test_a_predictor_worse_than_a_constant_is_named():
    world = Numbers(300)

    class Far(Lines):
        def predict(self, X):
            return 5 - 3 * (np.asarray(X) @ LINES)

    risk = RegressionRisk(FrozenEstimator(Far()), regressor=TREE)
    with pytest.warns(UserWarning, match=r"worse than a constant.*always answering \(.*, .*, .*\)"):
        risk.fit(world.X, world.Y)


def test_copies_of_rows_with_several_targets_are_found():
    world, rng = Numbers(150), np.random.default_rng(0)
    X, Y = (np.repeat(part, 2, axis=0) for part in (world.X, world.Y))
    X = X + 1e-6 * rng.normal(size=X.shape)
    risk = RegressionRisk(KNeighborsRegressor(1), regressor=TREE, random_state=0)
    with pytest.warns(UserWarning, match="have copies or near copies"):
        risk.fit(X, Y)


def test_scikit_learn_knows_of_it():
    for risk in (RegressionRisk(LinearRegression()), HybridRisk(LinearRegression())):
        assert get_tags(risk).target_tags.multi_output
    assert get_tags(RegressionRisk(RandomForestClassifier())).classifier_tags.multi_label
    assert not get_tags(HybridRisk(RandomForestClassifier())).classifier_tags.multi_label
    assert not get_tags(AutoRisk(task="regression")).target_tags.multi_output
    world = Numbers(120)
    model = Deferral(RegressionRisk(LinearRegression(), regressor=TREE), cost=1.0)
    assert (cross_val_score(model, world.X, world.Y, cv=2) < 0).all()


# -- what is refused ------------------------------------------------------------------------------


def test_shapes_that_do_not_fit():
    world = Numbers(60)
    risk = RegressionRisk(LinearRegression(), regressor=Ridge())
    with pytest.raises(ValueError, match=r"y must have a row for each.*\(50, 3\).*\(60, 3\)"):
        risk.fit(world.X, world.Y[:50])
    risk.fit(world.X, world.Y)
    with pytest.raises(
        ValueError, match=r"y must have the shape \(60, 3\).*got the shape \(60, 2\)"
    ):
        risk.score(world.X, world.Y[:, :2])
    with pytest.raises(ValueError, match=r"y must have the shape \(60, 3\).*got the shape \(60,\)"):
        risk.loss_values(world.X, world.Y[:, 0])
    with pytest.raises(ValueError, match=r"y must have the shape \(60,\).*got the shape \(60, 3\)"):
        RegressionRisk(LinearRegression(), regressor=Ridge()).fit(
            world.X, world.Y[:, 0]
        ).loss_values(world.X, world.Y)
    with pytest.raises(ValueError, match="2 weights, but y has 3 columns"):
        RegressionRisk(LinearRegression(), loss=averaged("squared_error", [1, 2])).fit(
            world.X, world.Y
        )
    with pytest.raises(ValueError, match=r"same shape, got \(60, 2\) and \(60, 3\)"):
        RegressionRisk(FrozenEstimator(Lines()), regressor=Ridge()).fit(world.X, world.Y[:, :2])
    with pytest.raises(ValueError, match="NaN"):
        risk.fit(world.X, np.where(world.Y > 2, np.nan, world.Y))
    with pytest.raises(ValueError, match="dim 3"):
        risk.fit(world.X, world.Y[:, :, None])


@pytest.mark.parametrize(
    ("risk", "message"),
    [
        (
            AutoRisk(task="regression"),
            "use RegressionRisk, PlugInRisk or AutoRisk with a predictor",
        ),
        (
            PlugInRisk(LinearRegression(), loss=lambda y, f: np.abs(y - f).max(axis=1)),
            "PlugInRisk knows each by itself: use RegressionRisk or AutoRisk",
        ),
        (
            HybridRisk(LinearRegression(), loss=lambda y, f: np.abs(y - f).max(axis=1)),
            "HybridRisk knows each by itself",
        ),
        (
            PlugInRisk(LinearRegression(), distribution=FrozenEstimator(LAW)),
            "distribution must not be frozen where y has several columns",
        ),
    ],
)
def test_estimates_that_do_not_take_several_numbers_say_what_does(risk, message):
    world = Numbers(60)
    with pytest.raises(ValueError, match=message):
        risk.fit(world.X, world.Y)


@pytest.mark.parametrize(
    ("risk", "message"),
    [
        (HybridRisk(LOGISTIC), "y must have one column for HybridRisk"),
        (AutoRisk(), "y must have one column for AutoRisk"),
        (RegressionRisk(LOGISTIC, loss="log_loss"), "'log_loss' is for one output"),
        (RegressionRisk(LOGISTIC, loss=[[0, 1], [1, 0]]), "'cost_matrix' is for one output"),
        (PlugInRisk(LOGISTIC, loss="zero_one"), "PlugInRisk knows each by itself"),
        (
            PlugInRisk(MultiOutputClassifier(RidgeClassifier())),
            "probability must have predict_proba",
        ),
    ],
)
def test_estimates_that_do_not_take_several_labels_say_what_does(risk, message):
    world = Labels(60)
    with pytest.raises(ValueError, match=message):
        risk.fit(world.X, world.Y)


def test_classes_that_are_no_labels_are_refused():
    world = Labels(60)
    for Y in (world.Y + world.Y[:, ::-1], world.Y + 1, world.Y.astype(str)):
        with pytest.raises(ValueError, match="must hold 0 and 1 alone"):
            RegressionRisk(RandomForestClassifier()).fit(world.X, Y)


def test_only_the_mean_of_the_loss_is_known():
    world = Numbers(200)
    risk = PlugInRisk(LinearRegression(), distribution=LAW, random_state=0).fit(world.X, world.Y)
    for ask in (risk.predict_exceedance, risk.predict_loss_quantiles):
        with pytest.raises(ValueError, match=r"y had several columns.*only the mean"):
            ask(world.X, 0.5)
