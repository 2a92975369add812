"""`Cascade`: a cheap model, a dear one, then a human."""

import pickle
from dataclasses import FrozenInstanceError

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.compose import ColumnTransformer
from sklearn.dummy import DummyClassifier
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from sklearn.utils.estimator_checks import parametrize_with_checks

from condrisk import Deferral, RegressionRisk
from condrisk.datasets import make_gaussian_mixture
from condrisk.deferral import Cascade, ExpertRisk

TREE = DecisionTreeRegressor(random_state=0)  # on few distinct rows: the mean of each
FEES = [0.05, 0.1]


class Table(RegressorMixin, BaseEstimator):
    """A regressor that knows its answers: a value for each pair of the first two columns."""

    def __init__(self, values=None):
        self.values = values

    def fit(self, X, y, sample_weight=None):
        self.n_features_in_ = X.shape[1]
        return self

    def predict(self, X):
        assert np.isfinite(X[:, :2]).all()
        return np.asarray(self.values)[X[:, 0].astype(int), X[:, 1].astype(int)]


class Spy(Ridge):
    """A regressor that remembers what it was fitted to."""

    seen = None

    def fit(self, X, y, sample_weight=None):
        Spy.seen = (np.array(X), np.array(y), sample_weight)
        return super().fit(X, y, sample_weight=sample_weight)


def rows(n_rows=3000, seed=0):
    """A cheap column of three values, and a dear one of two, not equally likely."""
    rng = np.random.default_rng(seed)
    return np.column_stack([rng.integers(0, 3, n_rows), rng.random(n_rows) < 0.3]).astype(float)


def known(values, answer=0):
    """A frozen stage whose risk is a table, and whose predictor always says the same."""
    X, y = rows(50), np.arange(50) % 2
    dummy = FrozenEstimator(DummyClassifier(strategy="constant", constant=answer).fit(X, y))
    return FrozenEstimator(RegressionRisk(dummy, regressor=Table(values)).fit(X, y))


G1 = [[0.2, 0.2], [0.24, 0.24], [0.5, 0.5]]
G2 = [[0.05, 0.6], [0.2, 0.6], [0.4, 0.3]]
HUMAN = [[0.1, 0.1], [0.1, 0.1], [0.4, 0.4]]


def by_hand(X, first=G1, second=G2, human=HUMAN, fees=FEES):
    """The stage that answers each row, from the definition of the backward rule."""
    a, b = X[:, 0].astype(int), X[:, 1].astype(int)
    g1, g2, h = (np.asarray(t)[a, b] for t in (first, second, human))
    value = np.minimum(g2, fees[1] + h)
    behind = np.array([value[a == k].mean() for k in range(3)])[a]
    return np.where(g1 <= fees[0] + behind, 0, np.where(g2 <= fees[1] + h, 1, 2))


def cascade(**options):
    settings = {"fee": FEES, "expert": known(HUMAN), "columns": [[0]], "regressor": TREE}
    return Cascade([known(G1, 0), known(G2, 1)], **settings | options)


def test_the_backward_rule_is_that_of_the_theory(seed):
    X = rows(seed=seed)
    model = cascade().fit(X)  # no labels: nothing is left to fit but what comes next
    decision = model.decide(X)
    assert_array_equal(decision.stage, by_hand(X))
    assert len(np.unique(decision.stage)) == 3
    assert_array_equal(decision.deferred, decision.stage == 2)
    assert_allclose(decision.spent, np.array([0.0, 0.05, 0.15])[decision.stage])
    assert_array_equal(decision.prediction, np.where(decision.stage == 0, 0, 1))
    assert_array_equal(model.predict(X), decision.prediction)
    a, b = X.astype(int).T
    risks = np.stack([np.asarray(t)[a, b] for t in (G1, G2, HUMAN)])
    assert_allclose(decision.risk, risks[decision.stage, np.arange(len(X))])


class Memory(RegressorMixin, BaseEstimator):
    """Knows the value of every row that it has seen; of others it expects the worst."""

    def fit(self, X, y):
        self.values_ = dict(zip(map(bytes, np.asarray(X)), y, strict=True))
        return self

    def predict(self, X):
        return np.array([self.values_.get(bytes(row), 9.0) for row in np.asarray(X)])


def test_the_value_of_going_on_has_not_seen_the_row():
    """Three models: by what other rows tell, going on from the second never pays."""
    X = rows(200) + np.arange(200)[:, None] / 1000  # no two rows are the same
    flat = [known([[risk, risk]] * 3) for risk in (0.9, 0.5, 0.1)]
    model = Cascade(flat, fee=[0.0, 0.1], regressor=Memory()).fit(X)
    first, second = model.continuations_
    assert set(second.values_.values()) == {0.1}
    assert set(first.values_.values()) == {0.5}  # its own value would have been 0.1 + 0.1


def test_it_looks_past_the_dear_model():
    """The dear model alone is not worth its fee; with the human behind it, it is."""
    X = rows()
    g2 = [[0.0, 1.0]] * 3
    model = Cascade(
        [known([[0.25, 0.25]] * 3), known(g2)],
        fee=[0.05, 0.1],
        expert=0.0,
        columns=[[0]],
        regressor=TREE,
    ).fit(X)
    # E g₂ = 0.3: 0.05 + 0.3 > 0.25; but 0.05 + 0.3 · 0.1 is less.
    assert_array_equal(model.decide(X).stage, np.where(X[:, 1] == 1, 2, 1))
    alone = model.set_params(expert=None, fee=0.05).fit(X)
    assert (alone.decide(X).stage == 0).all()


def test_what_is_not_known_yet_is_not_looked_at():
    X = rows()
    told = cascade(columns=None).fit(X).decide(X)
    blind = cascade().fit(X).decide(X)
    assert (told.stage != blind.stage).any()
    hidden = X.copy()
    hidden[blind.stage == 0, 1] = np.nan  # never bought
    select = ColumnTransformer([("cheap", "passthrough", [0])])
    labels = np.arange(len(X)) % 2
    first = make_pipeline(
        select, RegressionRisk(LogisticRegression(), regressor=TREE, random_state=0)
    ).fit(X, labels)
    model = cascade().set_params(stages=[FrozenEstimator(first), known(G2, 1)]).fit(X)
    stage = model.decide(X).stage
    hidden = X.copy()
    hidden[stage == 0, 1] = np.nan
    assert_array_equal(model.decide(hidden).stage, stage)


def test_three_models_from_the_back(seed):
    X = rows(4000, seed=seed)
    flat = [[0.3, 0.3]] * 3
    middle = [[0.1, 0.1], [0.3, 0.3], [0.25, 0.25]]
    last = [[0.5, 0.5], [0.0, 0.2], [0.28, 0.28]]
    fees = [0.02, 0.03, 0.05]
    model = Cascade(
        [known(flat), known(middle), known(last)],
        fee=fees,
        expert=0.0,
        columns=[[0], [0]],
        regressor=TREE,
        random_state=0,
    ).fit(X)
    # Behind the third model lies 0.05; behind the second 0.03 + E min(g₃, 0.05).
    a = X[:, 0]
    share = np.array([X[a == k, 1].mean() for k in range(3)])
    c2 = 0.03 + np.array([0.05, 0.05 * share[1], 0.05])
    c1 = 0.02 + np.minimum([0.1, 0.3, 0.25], c2)
    cells = [np.array([[k, 0.0]]) for k in range(3)]
    got = [model._going_on(cell, stage, 1)[0][0] for stage in (0, 1) for cell in cells]
    assert_allclose(got, [*c1, *c2], atol=1e-3)
    expected = np.where(X[:, 1] * (a == 1) == 1, 3, np.where(a == 1, 2, 3))
    assert_array_equal(model.decide(X).stage, expected)


def test_one_model_and_an_expert_are_a_deferral():
    world = make_gaussian_mixture(300, separation=1.0, random_state=0)
    risk = RegressionRisk(LogisticRegression(), regressor=Ridge(), random_state=0)
    model = Cascade([risk], fee=0.2, expert=0.1).fit(world.X, world.y)
    plain = Deferral(risk, cost=0.2 + 0.1).fit(world.X, world.y)
    decision = model.decide(world.X)
    assert_array_equal(decision.deferred, plain.defer(world.X))
    assert_array_equal(decision.prediction, plain.predict(world.X))
    assert_allclose(model.score(world.X, world.y), plain.score(world.X, world.y))


def test_a_tie_is_accepted():
    X = rows()
    half = known([[0.5, 0.5]] * 3)
    last = Cascade([half], fee=0.25, expert=0.25).fit(X)
    assert (last.decide(X).stage == 0).all()
    first = Cascade([half, half], fee=[0.25, 0.125], expert=0.125, regressor=TREE).fit(X)
    assert (first.decide(X).stage == 0).all()


def test_without_an_expert_the_last_model_answers():
    X = rows()
    model = cascade(expert=None, fee=[0.05]).fit(X)
    decision = model.decide(X)
    assert not decision.deferred.any()
    assert set(decision.stage) == {0, 1}


def test_a_stage_sees_only_the_rows_that_reach_it():
    X = rows()
    seen = []

    class Counting(Table):
        def predict(self, X):
            seen.append(len(X))
            return super().predict(X)

    base = known(G2, 1).estimator
    base.regressor_ = Counting(G2)
    model = cascade().set_params(stages=[known(G1), FrozenEstimator(base)]).fit(X)
    seen.clear()
    decision = model.decide(X)
    assert seen == [(decision.stage > 0).sum()]


# -- what is learnt without the row itself ----------------------------------------------------


def test_the_look_ahead_learns_from_risks_out_of_fold():
    world = make_gaussian_mixture(300, n_classes=2, separation=1.0, random_state=0)
    dear = RegressionRisk(LogisticRegression(), regressor=Ridge(), random_state=0)
    cheap = RegressionRisk(DummyClassifier(), regressor=Ridge(), random_state=0)
    model = Cascade([cheap, dear], fee=FEES, expert=0.22, regressor=Spy()).fit(world.X, world.y)
    expected = np.minimum(model.stages_[1].held_out_.risks, 0.1 + 0.22)
    assert_allclose(Spy.seen[1], expected)
    assert not np.allclose(expected, np.minimum(model.stages_[1].predict_risk(world.X), 0.32))


def test_the_risk_of_a_frozen_predictor_is_learnt_again_without_the_row():
    world = make_gaussian_mixture(300, n_classes=2, separation=0.5, random_state=0)
    frozen = FrozenEstimator(LogisticRegression().fit(world.X[:100], world.y[:100]))
    X, y = world.X[100:], world.y[100:]
    stage = RegressionRisk(frozen, regressor=DecisionTreeRegressor(random_state=0))
    model = Cascade([stage, stage], fee=[0.1, 0.3], expert=0.3, regressor=Spy(), random_state=0)
    model.fit(X, y)
    memorised = model.stages_[1].predict_risk(X)
    assert_array_equal(memorised, model.stages_[1].loss_values(X, y))
    # A tree without limits knows each row that it has seen: as learnt, the risks are not those.
    loss = model.stages_[1].loss_values(X, y)
    assert 0.2 < np.mean((Spy.seen[1] > 0.3) != (loss > 0.3)) < 0.8


def test_weights_reach_stages_and_look_ahead():
    world = make_gaussian_mixture(200, n_classes=2, separation=1.0, random_state=0)
    weight = np.random.default_rng(0).integers(1, 3, 200).astype(float)
    stage = RegressionRisk(LogisticRegression(), regressor=Ridge(), random_state=0)
    model = Cascade([stage, stage], fee=FEES, expert=0.1, regressor=Spy())
    model.fit(world.X, world.y, sample_weight=weight)
    assert_array_equal(Spy.seen[2], weight)
    alone = clone(stage).fit(world.X, world.y, sample_weight=weight)
    assert_allclose(model.stages_[0].predict_risk(world.X), alone.predict_risk(world.X))


# -- what it costs ---------------------------------------------------------------------------


def test_a_decision_is_what_it_was():
    decision = cascade().fit(rows()).decide(rows())
    with pytest.raises(FrozenInstanceError):
        decision.stage = np.zeros_like(decision.stage)


class Doubled(BaseEstimator):
    """Changes which rows there are, as imbalanced-learn's samplers do."""

    def fit(self, X, y=None):
        return self

    def fit_resample(self, X, y):
        return np.repeat(X, 2, axis=0), np.repeat(y, 2)

    def transform(self, X):
        return X


def test_a_stage_that_changes_its_rows_is_refused():
    X = rows()
    risk = RegressionRisk(DummyClassifier(), regressor=Ridge(), random_state=0)
    stages = [risk, make_pipeline(Doubled(), risk)]
    with pytest.raises(ValueError, match="must keep held_out_"):
        Cascade(stages, fee=0.1, expert=0.2, regressor=Ridge()).fit(X, np.arange(len(X)) % 2)


def test_costs_are_those_of_whoever_answered():
    X = rows()
    y = np.random.default_rng(1).integers(0, 2, len(X))
    model = cascade().fit(X)
    stage = by_hand(X)
    theirs = np.where(stage == 2, 0.25, np.nan)
    paid = model.cost_values(X, y, expert_loss=theirs)
    own = np.where(stage == 0, y != 0, y != 1)
    assert_allclose(paid, np.where(stage == 2, 0.15 + 0.25, own + 0.05 * stage))
    weight = np.random.default_rng(2).random(len(X))
    score = model.score(X, y, expert_loss=theirs, sample_weight=weight)
    assert_allclose(score, -np.average(paid, weights=weight))
    with pytest.raises(ValueError, match="expert_loss must be given"):
        model.score(X, y)
    with pytest.raises(ValueError, match="expert_loss"):
        model.score(X, y, expert_loss=np.full(len(X), np.nan))


def test_an_expert_learnt_from_answers_stands_at_the_end():
    world = make_gaussian_mixture(400, n_classes=2, separation=1.0, random_state=0)
    rng = np.random.default_rng(0)
    answer = np.where(rng.random(400) < 0.1, 1 - world.y, world.y)
    human = ExpertRisk("zero_one", regressor=Ridge()).fit(world.X, world.y, prediction=answer)
    stage = RegressionRisk(LogisticRegression(), regressor=Ridge(), random_state=0)
    model = Cascade(
        [stage, stage], fee=[1.0, 0.05], expert=FrozenEstimator(human), regressor=Ridge()
    ).fit(world.X, world.y)
    assert (model.decide(world.X).stage == 0).all()  # nobody pays a fee of one
    cheap = clone(model).set_params(fee=[0.0, 0.05]).fit(world.X, world.y)
    decision = cheap.decide(world.X)
    at_end = human.predict_risk(world.X)[decision.deferred]
    assert decision.deferred.any()
    assert_array_equal(decision.risk[decision.deferred], at_end)


# -- as an estimator -------------------------------------------------------------------------


def test_frames_come_back_as_they_came():
    world = make_gaussian_mixture(200, n_classes=2, random_state=0)
    columns = dict(zip("ab", world.X.T, strict=True))
    index = pd.Index(np.arange(200)[::-1], name="patient")
    stage = RegressionRisk(LogisticRegression(), regressor=Ridge(), random_state=0)
    model = Cascade([stage, stage], fee=0.01, expert=0.0, columns=[["a"]], regressor=Ridge())
    names = ["prediction", "risk", "stage", "deferred", "spent"]
    in_pandas = pd.DataFrame(columns, index=index)
    frame = model.fit(in_pandas, world.y).decide(in_pandas).to_frame()
    assert frame.index.equals(index)
    assert list(frame) == names
    in_polars = pl.DataFrame(columns)
    other = model.fit(in_polars, world.y).decide(in_polars).to_frame()
    assert isinstance(other, pl.DataFrame)
    assert other.columns == names
    assert_array_equal(other["risk"].to_numpy(), frame["risk"].to_numpy())


def test_words_of_different_length_are_kept_whole():
    world = make_gaussian_mixture(200, n_classes=2, separation=0.5, random_state=0)
    X, words = world.X, np.array(["no", "certainly"])[world.y]
    short = RegressionRisk(
        FrozenEstimator(DummyClassifier(strategy="constant", constant="no").fit(X, words)),
        regressor=Ridge(),
    )
    tree = RegressionRisk(DecisionTreeClassifier(max_depth=2), regressor=Ridge(), random_state=0)
    model = Cascade([short, tree], fee=0.0, expert=None, regressor=Ridge()).fit(X, words)
    assert set(model.predict(X)) == {"no", "certainly"}
    assert_array_equal(model.classes_, ["certainly", "no"])


def test_clones_pickles_and_repeats():
    world = make_gaussian_mixture(200, n_classes=2, random_state=0)
    stage = RegressionRisk(LogisticRegression(), regressor=Ridge())
    model = Cascade([stage, stage, stage], fee=[*FEES, 0.1], expert=0.1, random_state=0)
    model.set_params(regressor=TREE)
    assert clone(model).get_params(deep=False)["fee"] == [*FEES, 0.1]
    model.set_params(stages=[clone(stage).set_params(random_state=0)] * 3).fit(world.X, world.y)
    again = clone(model).fit(world.X, world.y)
    copy = pickle.loads(pickle.dumps(model))
    for other in (again, copy):
        assert_array_equal(other.decide(world.X).stage, model.decide(world.X).stage)


_STAGE = RegressionRisk(LinearRegression(), regressor=Ridge(), cv=3, random_state=0)
_CLASSES = RegressionRisk(LogisticRegression(), regressor=Ridge(), cv=3, random_state=0)


@pytest.mark.filterwarnings("ignore::UserWarning")
@parametrize_with_checks(
    [
        Cascade([s, s], fee=[0.1, 0.5], expert=0.5, regressor=Ridge(), random_state=0)
        for s in (_STAGE, _CLASSES)
    ]
)
def test_the_cascade_passes_the_checks_of_scikit_learn(estimator, check):
    check(estimator)


# -- bad input -------------------------------------------------------------------------------

X = rows(60)
Y = np.arange(60) % 2
RISK = RegressionRisk(LogisticRegression(), regressor=Ridge(), random_state=0)
OTHER = RegressionRisk(LogisticRegression(), loss="brier", regressor=Ridge(), random_state=0)


def fit(stages=(RISK, RISK), y=Y, **options):
    return Cascade(list(stages), **{"fee": 0.1, "expert": 0.1, "regressor": Ridge()} | options).fit(
        X, y
    )


BAD = {
    "no stages": (lambda: fit(stages=[]), ValueError, "stages is empty"),
    "a stage without risk": (
        lambda: fit(stages=[RISK, Ridge()]),
        ValueError,
        r"stages\[1\] must be a risk",
    ),
    "a stage that decides": (
        lambda: fit(stages=[Deferral(RISK)]),
        ValueError,
        r"stages\[0\] must be a risk",
    ),
    "stages of two losses": (
        lambda: fit(stages=[RISK, OTHER]),
        ValueError,
        "stages must be of one loss",
    ),
    "no labels": (lambda: fit(y=None), ValueError, r"y is None: stages\[0\] is not frozen"),
    "too few fees": (lambda: fit(fee=[0.1]), ValueError, "fee must be one number"),
    "a fee too many": (lambda: fit(fee=[0.1, 0.1], expert=None), ValueError, "fee must be"),
    "a fee below zero": (lambda: fit(fee=[0.1, -0.1]), ValueError, "fee must be"),
    "no expert's risk": (lambda: fit(expert=Ridge()), ValueError, "expert must be an estimator"),
    "an expert not fitted": (
        lambda: fit(expert=ExpertRisk("zero_one")),
        NotFittedError,
        "expert is not fitted",
    ),
    "columns too many": (lambda: fit(columns=[[0], [0]]), ValueError, "columns must have"),
    "weights negative": (
        lambda: Cascade([RISK], fee=0.1, expert=0.1).fit(X, Y, sample_weight=-np.ones(60)),
        ValueError,
        "sample_weight",
    ),
    "not fitted": (
        lambda: Cascade([RISK], fee=0.1, expert=0.1).decide(X),
        NotFittedError,
        "not fitted",
    ),
    "y too short": (lambda: fit().score(X, Y[:3]), ValueError, "y must have one value"),
    "expert_loss too short": (
        lambda: fit(fee=0.0, expert=0.0).score(X, Y, expert_loss=[0.1]),
        ValueError,
        "expert_loss must have one value",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_cascade_gets_an_error_that_names_the_argument(name):
    act, error, message = BAD[name]
    with pytest.raises(error, match=message):
        act()
