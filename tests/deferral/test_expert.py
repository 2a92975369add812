"""`ExpertRisk`, `ExpertRule` and the assignment of batches."""

import itertools
import pickle

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import linear_sum_assignment
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import KBinsDiscretizer
from sklearn.tree import DecisionTreeRegressor

from condrisk import CostRule, Deferral, RegressionRisk
from condrisk.datasets import make_gaussian_mixture
from condrisk.deferral import ExpertRisk, ExpertRule, denoised_risk

# -- the assignment --------------------------------------------------------------------------

# Few distinct values, so that ties are common, or any at all.
entries = st.one_of(st.integers(-4, 6).map(lambda k: k / 8), st.floats(-1, 1, width=32))
batches = st.tuples(st.integers(1, 5), st.integers(1, 3)).flatmap(
    lambda shape: st.tuples(
        arrays(float, shape, elements=entries),
        arrays(np.intp, shape[1], elements=st.integers(0, 4)),
    )
)


class Column(BaseEstimator):
    """An expert whose risk is a column of the rows."""

    def __init__(self, column=0):
        self.column = column

    def fit(self, X, y):
        return self

    def predict_risk(self, X):
        return X[:, self.column]


def rule_of(capacity):
    """Return a rule whose gains at a risk of zero are minus the rows themselves."""
    return ExpertRule([Column(k) for k in range(len(capacity))], capacity=capacity.tolist())


def assigned(gain, capacity):
    return rule_of(capacity).assign(np.zeros(len(gain)), X=-gain)


def best_total(gain, capacity):
    """The greatest total gain, by looking at every assignment there is."""
    n_rows, n_experts = gain.shape
    totals = [0.0]
    for choice in itertools.product(range(-1, n_experts), repeat=n_rows):
        if all(choice.count(e) <= capacity[e] for e in range(n_experts)):
            totals.append(sum(gain[row, e] for row, e in enumerate(choice) if e >= 0))
    return max(totals)


def total(gain, chosen):
    rows = np.flatnonzero(chosen >= 0)
    return gain[rows, chosen[rows]].sum()


@given(batches)
def test_a_batch_is_assigned_as_an_exhaustive_search_would(batch):
    gain, capacity = batch
    chosen = assigned(gain, capacity)
    assert (np.bincount(chosen[chosen >= 0], minlength=len(capacity)) <= capacity).all()
    assert total(gain, chosen) == pytest.approx(best_total(gain, capacity), abs=1e-9)
    rows = np.flatnonzero(chosen >= 0)
    assert (gain[rows, chosen[rows]] > 0).all()  # nobody is asked for nothing


@pytest.mark.parametrize("ties", [False, True])
def test_a_large_batch_has_the_greatest_total_too(ties):
    """More rows and places than fit into one matrix: solved as a programme in the package."""
    gain = np.random.default_rng(0).normal(size=(1500, 3))
    gain = np.round(gain) if ties else gain
    capacity = np.array([150, 250, 20])
    places = np.repeat(np.arange(3), capacity)
    matrix = np.maximum(gain, 0)[:, places]
    best = matrix[linear_sum_assignment(matrix, maximize=True)].sum()
    chosen = assigned(gain, capacity)
    assert_array_equal(np.bincount(chosen[chosen >= 0]), capacity)
    assert total(gain, chosen) == pytest.approx(best)
    # One whose places never run out takes what is worth it, and leaves the limited ones their best.
    with_free = assigned(
        np.column_stack([gain, np.full(1500, 0.3)]), np.array([150, 250, 20, 1500])
    )
    assert (with_free >= 0).all()
    assert (gain[with_free == 0, 0] > 0.3).all()


# -- the rule --------------------------------------------------------------------------------

risks = arrays(float, st.integers(1, 20), elements=st.integers(0, 8).map(lambda k: k / 4))


@given(risks, st.integers(0, 4), st.integers(0, 4))
def test_one_expert_is_asked_iff_the_risk_exceeds_price_and_risk(risk, fee, expert):
    rule = ExpertRule(expert / 4, fee=fee / 4)
    assert_array_equal(rule.defer(risk), risk > (expert + fee) / 4)
    assert_array_equal(rule.defer(risk, cost=0.5), risk > (expert + fee) / 4 + 0.5)


@given(risks, st.integers(0, 8))
def test_an_expert_without_errors_gives_the_cost_rule(risk, price):
    expected = CostRule().defer(risk, cost=price / 4)
    assert_array_equal(ExpertRule(0.0).defer(risk, cost=price / 4), expected)
    assert_array_equal(ExpertRule(0.0, fee=price / 4).defer(risk), expected)


def test_prices_a_row():
    rule = ExpertRule([0.1, 0.3], fee=[0.2, 0.1])
    assert_allclose(rule.expected_costs([1.0, 1.0], cost=[0.0, 1.0]), [[0.3, 0.4], [1.3, 1.4]])
    assert_array_equal(rule.assign([1.0, 1.0], cost=[0.0, 1.0]), [0, -1])


def test_a_capacity_holds_for_each_call():
    rule = ExpertRule(0.1, capacity=2)
    assert_array_equal(rule.assign([0.5, 0.9, 0.05, 0.7]), [-1, 0, -1, 0])
    assert_array_equal(rule.assign([0.5]), [0])
    assert_array_equal(ExpertRule(0.1, capacity=0).assign([0.5]), [-1])


def test_a_stream_counts_down_and_takes_the_best_who_is_left():
    rule = ExpertRule([0.1, 0.2], capacity=[2, 1])
    stream = rule.stream()
    assert_array_equal(stream.assign([0.5, 0.05]), [0, -1])
    assert_array_equal(stream.assign([0.5, 0.15, 0.5, 0.9]), [0, -1, 1, -1])
    assert_array_equal(stream.left, [0, 0])
    assert_array_equal(rule.stream().assign([0.5]), [0])  # a new stream starts afresh


@given(batches)
def test_no_stream_beats_the_batch(batch):
    gain, capacity = batch
    greedy = rule_of(capacity).stream().assign(np.zeros(len(gain)), X=-gain)
    assert (np.bincount(greedy[greedy >= 0], minlength=len(capacity)) <= capacity).all()
    assert total(gain, greedy) <= total(gain, assigned(gain, capacity)) + 1e-9


def test_cost_values_charge_whoever_answered():
    rule = ExpertRule([0.1, 0.3], fee=[0.2, 0.1])
    theirs = [[np.nan, np.nan], [1.0, np.nan], [np.nan, 0.0]]
    paid = rule.cost_values([0.7, 0.0, 0.0], theirs, [-1, 0, 1], cost=[9.0, 0.0, 0.5])
    assert_allclose(paid, [0.7, 1.2, 0.6])
    with pytest.raises(ValueError, match="expert_loss"):
        rule.cost_values([0.7, 0.0, 0.0], theirs, [-1, 1, 1])


def test_the_noise_of_the_labels_is_taken_out_of_the_models_risk():
    g, g_e, noise, fee = 0.3, 0.15, 0.2, 0.1
    seen = g * (1 - noise) + (1 - g) * noise
    assert_allclose(denoised_risk([seen], noise), [g])
    assert ExpertRule(g_e, fee=fee, noise=noise).defer([seen]).all()
    assert not ExpertRule(g_e, fee=0.16, noise=noise).defer([seen]).any()
    assert ExpertRule(g_e, fee=0.16).defer([seen]).all()  # 0.38 would be too much


def test_rules_clone_pickle_and_show_their_parameters():
    rule = ExpertRule([0.1, 0.2], fee=[0.1, 0.2], capacity=[1, None])
    copy = pickle.loads(pickle.dumps(clone(rule)))
    assert copy.get_params() == rule.get_params()
    assert repr(ExpertRule(0.1, fee=0.2)) == "ExpertRule(experts=0.1, fee=0.2)"


# -- the expert's risk -----------------------------------------------------------------------


def binned():
    """A regression whose closed form is the mean of each bin."""
    bins = KBinsDiscretizer(4, encode="onehot-dense", quantile_method="averaged_inverted_cdf")
    return make_pipeline(bins, LinearRegression(fit_intercept=False))


def answered(n_rows=4000, *, seed=0, rate=0.5):
    """Rows, truth and an expert who is wrong more often where x₁ is positive."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 2))
    y = rng.integers(0, 2, n_rows)
    wrong = rng.random(n_rows) < np.where(X[:, 0] > 0, 0.4, 0.1)
    return X, y, np.where(wrong, 1 - y, y), rng.random(n_rows) < rate


STUMP = DecisionTreeRegressor(max_depth=1)


def test_the_risk_is_that_of_the_rows_asked():
    X, y, answer, asked = answered()
    expert = ExpertRisk("zero_one", regressor=STUMP, random_state=0)
    expert.fit(X, y, prediction=answer, deferred=asked)
    loss = (y != answer).astype(float)[asked]
    expected = clone(STUMP).fit(X[asked], loss).predict(X)
    assert_allclose(expert.predict_risk(X), expected)
    good, bad = expert.predict_risk([[-1, 0], [1, 0]])
    assert abs(good - 0.1) < 0.03
    assert abs(bad - 0.4) < 0.05


def test_what_stands_at_rows_not_asked_is_never_looked_at():
    X, y, answer, asked = answered(500)
    expert = ExpertRisk("zero_one", regressor=STUMP, random_state=0)
    expected = expert.fit(X, y, prediction=answer, deferred=asked).predict_risk(X)
    truth, said = np.where(asked, y, np.nan), np.where(asked, answer, np.nan)
    assert_array_equal(
        expert.fit(X, truth, prediction=said, deferred=asked).predict_risk(X), expected
    )


def test_asking_by_x_does_not_bias_the_risk(seed):
    """Where asking depends on x alone, the losses of the rows asked tell g_e at each x."""
    X, y, answer, _ = answered(8000, seed=seed)
    rng = np.random.default_rng(100 + seed)
    asked = rng.random(8000) < np.where(X[:, 0] > 0, 0.8, 0.1)
    naive = (y != answer)[asked].mean()
    expert = ExpertRisk("zero_one", regressor=STUMP, random_state=0)
    expert.fit(X, y, prediction=answer, deferred=asked)
    assert abs(expert.predict_risk(X).mean() - 0.25) < 0.03
    assert naive > 0.34


def test_flipped_labels_are_corrected(seed):
    X, y, answer, asked = answered(8000, seed=seed)
    rng = np.random.default_rng(200 + seed)
    seen = np.where(rng.random(8000) < 0.2, 1 - y, y)
    expert = ExpertRisk("zero_one", regressor=STUMP, noise=0.2, random_state=0)
    good, bad = expert.fit(X, seen, prediction=answer, deferred=asked).predict_risk(
        [[-1, 0], [1, 0]]
    )
    assert abs(good - 0.1) < 0.06
    assert abs(bad - 0.4) < 0.06
    assert expert.set_params(noise=0.0).predict_risk([[-1, 0]])[0] > 0.2


@given(st.floats(0, 1), st.floats(0, 0.45))
def test_the_correction_inverts_the_flips(g, noise):
    seen = g * (1 - noise) + (1 - g) * noise
    assert_allclose(denoised_risk([seen], noise), [g], atol=1e-12)


def test_weights_equal_repeats():
    X, y, answer, _ = answered(300)
    weight = np.random.default_rng(1).integers(0, 3, 300)
    weighted = ExpertRisk("zero_one", regressor=STUMP)
    weighted.fit(X, y, prediction=answer, sample_weight=weight)
    again = np.repeat(np.arange(300), weight)
    repeated = ExpertRisk("zero_one", regressor=STUMP).fit(
        X[again], y[again], prediction=answer[again]
    )
    assert_allclose(weighted.predict_risk(X), repeated.predict_risk(X))


def test_numbers_and_probabilities_are_answers_too():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(200, 2)), rng.normal(size=200)
    expert = ExpertRisk("squared_error", regressor=binned()).fit(X, y, prediction=y + 2)
    assert_allclose(expert.predict_risk(X), 4.0)
    k = rng.integers(0, 2, 200)
    proba = np.full((200, 2), 0.5)
    expert = ExpertRisk("log_loss", regressor=binned()).fit(X, k, prediction=proba)
    assert_allclose(expert.predict_risk(X), np.log(2))


# -- where rows were deferred ---------------------------------------------------------------


def test_overlap_is_found_where_asking_is_by_chance(seed):
    X, y, answer, _ = answered(2000, seed=seed)
    for rate in (0.02, 0.3):
        asked = np.random.default_rng(seed).random(2000) < rate
        expert = ExpertRisk("zero_one", regressor=STUMP, random_state=0)
        expert.fit(X, y, prediction=answer, deferred=asked)
        assert expert.overlap_.source == "estimated"
        assert expert.overlap_.outside < 0.01
        assert expert.overlap_.rate == pytest.approx(rate, abs=0.02)


def test_a_region_that_was_never_asked_is_refused_and_named(seed):
    X, y, answer, asked = answered(2000, seed=seed)
    asked &= X[:, 1] < 0.5  # about 31 % of the rows are beyond
    expert = ExpertRisk("zero_one", regressor=STUMP, random_state=0)
    with pytest.raises(
        ValueError, match=r"deferred: hardly any row was deferred in a region of .*%"
    ):
        expert.fit(X, y, prediction=answer, deferred=asked)
    expert.set_params(max_outside=1.0).fit(X, y, prediction=answer, deferred=asked)
    assert 0.15 < expert.overlap_.outside < 0.35
    assert (X[expert.overlap_.rows, 1] > 0.3).all()
    assert_array_equal(expert.supported([[0.0, -1.0], [0.0, 1.5]]), [True, False])


def test_known_propensities_are_believed():
    X, y, answer, asked = answered(500)
    known = np.where(X[:, 1] > 1, 0.0, 0.5)
    asked &= known > 0
    expert = ExpertRisk("zero_one", regressor=STUMP, max_outside=1.0)
    expert.fit(X, y, prediction=answer, deferred=asked, propensity=known)
    assert expert.overlap_.source == "given"
    assert_array_equal(expert.overlap_.rows, np.flatnonzero(X[:, 1] > 1))
    assert expert.overlap_.outside == (X[:, 1] > 1).mean()
    with pytest.raises(ValueError, match="max_outside"):
        clone(expert).set_params(max_outside=0.01).fit(
            X, y, prediction=answer, deferred=asked, propensity=known
        )
    # Only the rows asked: each stands for 1/p rows.
    rare = np.where(np.arange(500) < 5, 0.001, 0.5)
    expert.fit(X, y, prediction=answer, propensity=rare)
    assert expert.overlap_.outside == pytest.approx(5000 / (5000 + 495 * 2))


def test_what_cannot_be_checked_is_stated():
    X, y, answer, asked = answered(500)
    expert = ExpertRisk("zero_one", regressor=STUMP, random_state=0)
    expert.fit(X[asked], y[asked], prediction=answer[asked])
    assert expert.overlap_.source == "not checked"
    assert any("positive probability" in text for text in expert.assumptions_)
    assert any("x alone" in text for text in expert.assumptions_)
    with pytest.raises(ValueError, match="deferred was not given"):
        expert.supported(X)
    expert.fit(X, y, prediction=answer, deferred=np.ones(500))
    assert expert.overlap_.source == "all deferred"
    assert not any("x alone" in text for text in expert.assumptions_)


def test_too_few_rows_tell_nothing_of_where():
    X, y, answer, _ = answered(200)
    for asked in (np.arange(200) < 19, np.arange(200) >= 19):
        expert = ExpertRisk("zero_one", regressor=STUMP)
        expert.fit(X, y, prediction=answer, deferred=asked)
        assert expert.overlap_.source == "not checked"


def test_labels_that_the_expert_made_are_noticed():
    X, y, _, _ = answered(100)
    with pytest.warns(UserWarning, match="y equals prediction on every row"):
        ExpertRisk("zero_one", regressor=STUMP).fit(X, y, prediction=y)


def test_an_expert_clones_pickles_and_shows_its_parameters():
    X, y, answer, _ = answered(200)
    expert = ExpertRisk("zero_one", regressor=STUMP, noise=0.1, floor=0.2)
    assert clone(expert).get_params(deep=False).keys() == expert.get_params(deep=False).keys()
    expert.fit(X, y, prediction=answer)
    again = pickle.loads(pickle.dumps(expert))
    assert_array_equal(again.predict_risk(X), expert.predict_risk(X))
    assert not hasattr(clone(expert), "risk_")


def test_words_and_frames_will_do():
    X, y, answer, asked = answered(300)
    names = np.array(["no", "yes"])
    frame = pd.DataFrame(X, columns=["a", "b"])
    expert = ExpertRisk("zero_one", regressor=STUMP, random_state=0)
    expert.fit(frame, names[y], prediction=names[answer], deferred=asked)
    plain = clone(expert).fit(X, y, prediction=answer, deferred=asked)
    assert_array_equal(expert.predict_risk(frame), plain.predict_risk(X))


# -- together with Deferral ------------------------------------------------------------------


@pytest.fixture(scope="module")
def world():
    return make_gaussian_mixture(400, n_classes=2, separation=1.0, random_state=0)


def test_a_deferral_carries_the_rule(world):
    rng = np.random.default_rng(0)
    answer = np.where(rng.random(400) < 0.2, 1 - world.y, world.y)
    expert = ExpertRisk("zero_one", regressor=STUMP).fit(world.X, world.y, prediction=answer)
    risk = RegressionRisk(LogisticRegression(), regressor=STUMP, random_state=0)
    rule = ExpertRule(FrozenEstimator(expert), fee=0.02)
    model = Deferral(risk, cost=0.03, rule=rule).fit(world.X, world.y)
    price = expert.predict_risk(world.X) + 0.02 + 0.03
    assert_array_equal(model.defer(world.X), model.predict_risk(world.X) > price)
    assert model.defer(world.X).any()
    assert_array_equal(model.decide(world.X).deferred, model.defer(world.X))
    few = clone(model).set_params(rule__capacity=7).fit(world.X, world.y)
    assert few.defer(world.X).sum() == 7


def test_a_deferral_charges_loss_fee_and_price_of_whoever_answers(world):
    rule = ExpertRule([0.1, 0.3], fee=[0.2, 0.05])
    model = Deferral(RegressionRisk(LogisticRegression(), random_state=0), rule=rule)
    model.fit(world.X, world.y)
    theirs = np.random.default_rng(0).random((len(world.y), 2))
    who = rule.assign(model.predict_risk(world.X), X=world.X, cost=0.01)
    own = (model.predict(world.X) != world.y).astype(float)
    asked = np.choose(np.maximum(who, 0), [theirs[:, 0] + 0.21, theirs[:, 1] + 0.06])
    expected = -np.where(who < 0, own, asked).mean()
    score = model.score(world.X, world.y, cost=0.01, expert_loss=theirs)
    assert_allclose(score, expected)
    with pytest.raises(ValueError, match="expert_loss must be given"):
        model.score(world.X, world.y, cost=0.01)
    with pytest.raises(ValueError, match="expert_loss is only for"):
        Deferral(FrozenEstimator(model.risk_), cost=0.5).fit(world.X, world.y).score(
            world.X, world.y, expert_loss=theirs
        )


def test_an_expert_that_is_not_frozen_is_lost_in_a_clone_and_the_error_says_so(world):
    expert = ExpertRisk("zero_one", regressor=STUMP)
    expert.fit(world.X, world.y, prediction=1 - world.y)
    risk = RegressionRisk(LogisticRegression(), regressor=STUMP, random_state=0)
    model = Deferral(risk, rule=ExpertRule(expert)).fit(world.X, world.y)
    with pytest.raises(NotFittedError, match=r"experts\[0\] is not fitted.*FrozenEstimator"):
        model.defer(world.X)


# -- bad input -------------------------------------------------------------------------------

X, y, ANSWER, ASKED = answered(60)


def fit(*, truth=y, options=None, **given):
    expert = ExpertRisk(**{"loss": "zero_one", "regressor": STUMP} | (options or {}))
    return expert.fit(X, truth, **{"prediction": ANSWER} | given)


BAD = {
    "no truth": (lambda: fit(truth=None), "y must be the truth.*disagreement"),
    "truth missing": (lambda: fit(truth=np.where(X[:, 0] > 0, np.nan, y)), "y is missing on"),
    "truth too short": (lambda: fit(truth=y[:5]), "y must have one entry"),
    "no answer": (lambda: fit(prediction=None), "prediction must be given"),
    "answer missing": (lambda: fit(prediction=np.where(ASKED, None, 1)), "prediction is missing"),
    "asked too short": (lambda: fit(deferred=[True]), "deferred must be"),
    "asked of numbers": (lambda: fit(deferred=np.arange(60)), "deferred must be"),
    "asked never": (lambda: fit(deferred=np.zeros(60)), "deferred is False everywhere"),
    "propensity of zero": (lambda: fit(propensity=np.zeros(60)), "propensity must be positive"),
    "propensity above one": (lambda: fit(propensity=np.full(60, 2)), "propensity must hold"),
    "propensity too short": (lambda: fit(propensity=[0.5]), "propensity must have"),
    "noise of one half": (lambda: fit(options={"noise": 0.5}), "'noise'"),
    "noise of three classes": (
        lambda: fit(truth=np.arange(60) % 3, options={"noise": 0.1}),
        "noise can be corrected",
    ),
    "noise of another loss": (
        lambda: fit(options={"noise": 0.1, "loss": "squared_error"}),
        "noise can be corrected",
    ),
    "noise negative": (lambda: denoised_risk([0.1], -0.1), "noise must be"),
    "loss unknown": (lambda: fit(options={"loss": "mse"}), "loss must be one of"),
    "weights negative": (lambda: fit(sample_weight=-np.ones(60)), "sample_weight"),
    "no experts": (lambda: ExpertRule([]).fit(), "experts is empty"),
    "an expert without risk": (lambda: ExpertRule([0.1, STUMP]).fit(), r"experts\[1\] must be"),
    "an expert of NaN": (lambda: ExpertRule(np.nan).defer([0.1]), "experts must be"),
    "fee negative": (lambda: ExpertRule(0.1, fee=-1).defer([0.1]), "fee must be"),
    "fees too many": (lambda: ExpertRule(0.1, fee=[1, 2]).fit(), "fee must be"),
    "fee of text": (lambda: ExpertRule(0.1, fee="1").fit(), "fee must be"),
    "capacity of a half": (lambda: ExpertRule(0.1, capacity=0.5).fit(), "capacity must be"),
    "capacity negative": (lambda: ExpertRule([0.1], capacity=[-1]).fit(), "capacity must be"),
    "capacity of one for two": (lambda: ExpertRule([0.1, 0.2], capacity=3).fit(), "capacity must"),
    "capacities too many": (lambda: ExpertRule(0.1, capacity=[1, 2]).fit(), "capacity must have"),
    "rule's noise": (lambda: ExpertRule(0.1, noise=0.7).fit(), "'noise'"),
    "risk of NaN": (lambda: ExpertRule(0.1).defer([np.nan]), "risk must be finite"),
    "cost negative": (lambda: ExpertRule(0.1).defer([0.1], cost=-1), "cost is a price"),
    "X missing": (lambda: ExpertRule(FrozenEstimator(fit())).defer([0.1]), "X must be given"),
    "X of another length": (
        lambda: ExpertRule(FrozenEstimator(fit())).defer([0.1], X=X),
        "X must have one row for each",
    ),
    "assigned to nobody known": (
        lambda: ExpertRule(0.1).cost_values([0.1], [0.1], [3]),
        "assigned must be",
    ),
    "losses of too few experts": (
        lambda: ExpertRule([0.1, 0.1]).cost_values([0.1], [0.1], [0]),
        "expert_loss must have a column",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_names_the_argument(name):
    act, message = BAD[name]
    with pytest.raises(ValueError, match=message):
        act()
