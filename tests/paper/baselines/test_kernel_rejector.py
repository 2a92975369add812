"""KernelRejector: the smoother against its formula, which rows are used, and what is decided."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import is_regressor
from sklearn.dummy import DummyRegressor
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestRegressor
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import GroupKFold, KFold, ShuffleSplit, train_test_split

import condrisk
from condrisk.datasets import make_heteroscedastic
from condrisk.deferral import Decision
from condrisk.losses import pinball
from condrisk.paper.baselines import KernelRejector
from condrisk.paper.baselines._kernel import smooth

COSTS = (0.0, 0.1, 0.5, 1.0, 2.0, 1e6)
BANDWIDTHS = (1e-3, 0.1, 1.0, 3.0, 1e3)


@pytest.fixture
def world(seed):
    return make_heteroscedastic(200, random_state=seed)


@pytest.fixture
def frozen(world):
    fresh = world.sample(100, random_state=99)
    return FrozenEstimator(LinearRegression().fit(fresh.X, fresh.y))


def brute_force(X, centres, loss, bandwidth):
    """Return total weight and weighted loss, all differences of all rows at once."""
    k = np.exp(-np.sum((X[:, None] - centres) ** 2, axis=2) / bandwidth**2)
    return k.sum(axis=1), (k * loss).sum(axis=1)


def test_smoother_is_its_formula(world):
    X, centres, loss = world.X[:20], world.X[20:60], world.y[20:60] ** 2
    found = smooth(X, centres, loss, np.array(BANDWIDTHS))
    for k, bandwidth in enumerate(BANDWIDTHS):
        weight, weighted = brute_force(X, centres, loss, bandwidth)
        assert_allclose(found.weight[k], weight, rtol=1e-10)
        assert_allclose(found.weighted_loss[k], weighted, rtol=1e-10)


@pytest.mark.parametrize("block", [1, 40, 100, 170])
def test_blocks_change_nothing(world, block):
    X, centres, loss = world.X[:25], world.X[25:65], world.y[25:65] ** 2
    whole = smooth(X, centres, loss, np.array(BANDWIDTHS))
    cut = smooth(X, centres, loss, np.array(BANDWIDTHS), block=block)
    assert_allclose(cut.weight, whole.weight, rtol=1e-13)
    assert_allclose(cut.weighted_loss, whole.weighted_loss, rtol=1e-13)


def test_small_distances_between_large_numbers_survive():
    centres = np.array([[1e8, 0.0], [1e8 + 1e-3, 0.0]])
    found = smooth(centres[:1], centres, np.array([0.0, 1.0]), np.array([1e-3]))
    step = centres[1, 0] - centres[0, 0]
    assert_allclose(found.weight[0], 1 + np.exp(-(step**2) / 1e-6), rtol=1e-12)


def test_huge_distances_are_no_warning():
    found = smooth(np.array([[1e300]]), np.zeros((1, 1)), np.ones(1), np.array([1e-150, 1.0]))
    assert_array_equal(found.weight, 0)
    assert not found.known.any()


@pytest.mark.parametrize("no_data", ["defer", "accept"])
def test_risk_and_decision_are_those_of_the_formula(world, frozen, seed, no_data):
    """All of it computed again: split, bandwidth for the price, smoother, rule."""
    model = KernelRejector(frozen, bandwidths=BANDWIDTHS, no_data=no_data, random_state=seed)
    model.fit(world.X, world.y)
    loss = (frozen.predict(world.X) - world.y) ** 2
    kept, held = train_test_split(np.arange(200), test_size=0.2, random_state=seed)
    fresh = world.sample(30, random_state=seed + 1)

    def risk_and_defer(X, bandwidth, cost):
        weight, weighted = brute_force(X, world.X[kept], loss[kept], bandwidth)
        if no_data == "accept":
            risk = weighted / np.maximum(weight, 1e-8)
            return risk, risk > cost
        known = weight >= 1e-8
        risk = np.where(known, weighted / np.where(known, weight, 1), loss[kept].max())
        return risk, ~known | (risk > cost)

    for cost in COSTS:
        validation = [
            np.where(risk_and_defer(world.X[held], w, cost)[1], cost, loss[held]).mean()
            for w in BANDWIDTHS
        ]
        bandwidth = BANDWIDTHS[int(np.argmin(validation))]
        assert model.bandwidth_for(cost) == bandwidth
        risk, deferred = risk_and_defer(fresh.X, bandwidth, cost)
        assert_allclose(model.predict_risk(fresh.X, cost=cost), risk, rtol=1e-10)
        assert_array_equal(model.defer(fresh.X, cost=cost), deferred)


def test_a_risk_that_is_the_price_is_accepted(world):
    """All losses are exactly four, so every risk is."""
    frozen = FrozenEstimator(DummyRegressor(strategy="constant", constant=0.0).fit([[0]], [0]))
    y = np.where(world.y > 0, 2.0, -2.0)
    model = KernelRejector(frozen, bandwidths=[100.0], random_state=0).fit(world.X, y)
    assert_array_equal(model.predict_risk(world.X, cost=4.0), 4.0)
    assert not model.defer(world.X, cost=4.0).any()
    assert model.defer(world.X, cost=np.nextafter(4.0, 0)).all()


def test_far_from_the_data(world, frozen):
    far = world.X[:3] + 1e6
    defers, accepts = (
        KernelRejector(frozen, no_data=no_data, bandwidths=[1.0], random_state=0).fit(
            world.X, world.y
        )
        for no_data in ("defer", "accept")
    )
    for cost in COSTS:
        assert defers.defer(far, cost=cost).all()
        assert not accepts.defer(far, cost=cost).any()
    assert_array_equal(defers.predict_risk(far, cost=1.0), defers.centre_loss_.max())
    assert_array_equal(accepts.predict_risk(far, cost=1.0), 0)


def test_validation_defers_where_nothing_is_known(world, frozen):
    """A bandwidth that knows no validation row is worth the price, not a loss of zero."""
    model = KernelRejector(frozen, bandwidths=[1e-9], random_state=0).fit(world.X, world.y)
    assert np.isinf(model.validation_risk_).all()
    accepting = model.set_params(no_data="accept").fit(world.X, world.y)
    assert_array_equal(accepting.validation_risk_, 0)


def test_ties_go_to_the_first_bandwidth(world, frozen):
    model = KernelRejector(frozen, bandwidths=[5.0, 5.0, 1e3, 2e3], random_state=0)
    assert model.fit(world.X, world.y).bandwidth_for(1e9) == 5.0


def test_a_predictor_that_is_not_frozen_sees_five_ninths(world, seed):
    model = KernelRejector(LinearRegression(), random_state=seed).fit(world.X, world.y)
    first, second = train_test_split(np.arange(200), test_size=4 / 9, random_state=seed)
    predictor = LinearRegression().fit(world.X[first], world.y[first])
    assert_allclose(model.predict(world.X), predictor.predict(world.X))
    same = KernelRejector(FrozenEstimator(predictor), random_state=seed)
    same.fit(world.X[second], world.y[second])
    assert_array_equal(same.centres_, model.centres_)
    assert_allclose(same.centre_loss_, model.centre_loss_)
    for cost in COSTS:
        assert_array_equal(model.defer(world.X, cost=cost), same.defer(world.X, cost=cost))


def test_a_split_of_ones_own(world):
    train, test = np.arange(50), np.arange(50, 200)
    model = KernelRejector(LinearRegression(), cv=[(train, test)], random_state=0)
    model.fit(world.X, world.y)
    expected = LinearRegression().fit(world.X[train], world.y[train])
    assert_allclose(model.predict(world.X), expected.predict(world.X))
    assert len(model.centres_) == 120
    assert len(model.validation_loss_) == 30


def test_at_most_so_many_validation_rows(world, frozen):
    model = KernelRejector(frozen, max_validation_rows=7, random_state=0).fit(world.X, world.y)
    assert model.validation_risk_.shape == (7, 7)
    assert len(model.centres_) == 160


def test_groups_are_not_torn_apart(world, seed):
    groups = np.repeat(np.arange(40), 5)
    X = np.column_stack([world.X, 1000 * groups])
    fitted_on = []

    class Recorder(LinearRegression):
        def fit(self, X, y):
            fitted_on.append(np.unique(X[:, -1]))
            return super().fit(X, y)

    model = KernelRejector(Recorder(), random_state=seed).fit(X, world.y, groups=groups)
    centres, counts = np.unique(model.centres_[:, -1], return_counts=True)
    assert (counts == 5).all()
    assert len(model.validation_loss_) % 5 == 0
    assert not np.intersect1d(centres, fitted_on[0]).size
    one = next(GroupKFold(2).split(X, groups=groups))
    KernelRejector(Recorder(), cv=[one], random_state=0).fit(X, world.y, groups=groups)


def test_a_price_a_row(world, frozen):
    model = KernelRejector(frozen, random_state=0).fit(world.X, world.y)
    prices = np.resize(COSTS, 200)
    together = model.decide(world.X, cost=prices)
    for cost in COSTS:
        one = model.decide(world.X[prices == cost], cost=cost)
        assert_allclose(together.risk[prices == cost], one.risk, rtol=1e-12)
        assert_array_equal(together.deferred[prices == cost], one.deferred)
    assert_array_equal(model.bandwidth_for(COSTS), [model.bandwidth_for(c) for c in COSTS])


def test_decision_and_score(world, frozen):
    model = KernelRejector(frozen, cost=0.7, random_state=0).fit(world.X, world.y)
    decision = model.decide(world.X)
    assert isinstance(decision, Decision)
    assert_array_equal(decision.prediction, frozen.predict(world.X))
    assert_array_equal(decision.risk, model.predict_risk(world.X))
    assert_array_equal(decision.deferred, model.defer(world.X))
    squared = (frozen.predict(world.X) - world.y) ** 2
    assert_allclose(model.loss_values(world.X, world.y), squared)
    loss = np.where(decision.deferred, 0.7, squared)
    assert model.score(world.X, world.y) == pytest.approx(-loss.mean())
    weight = np.arange(200.0)
    weighted = model.score(world.X, world.y, sample_weight=weight)
    assert weighted == pytest.approx(-np.average(loss, weights=weight))


def test_other_losses(world, frozen):
    model = KernelRejector(frozen, loss=pinball(0.9), random_state=0).fit(world.X, world.y)
    kept, _ = train_test_split(np.arange(200), test_size=0.2, random_state=0)
    assert_allclose(model.centre_loss_, pinball(0.9)(world.y, frozen.predict(world.X))[kept])


def test_it_learns_where_the_noise_is(seed):
    """On the world with σ²(x) = exp(x₁), better than always and never asking."""
    world = make_heteroscedastic(2000, random_state=seed)
    model = KernelRejector(LinearRegression(), cost=1.0, random_state=seed)
    model.fit(world.X, world.y)
    fresh = world.sample(2000, random_state=seed + 1)
    never = model.loss_values(fresh.X, fresh.y).mean()
    assert -model.score(fresh.X, fresh.y) < min(1.0, never) - 0.05


def test_it_is_a_risk_estimator_to_the_rest_of_the_library(world, frozen):
    model = KernelRejector(frozen, random_state=0).fit(world.X, world.y)
    assert is_regressor(model)
    assert_array_equal(
        condrisk.predict_risk(model, world.X, cost=0.5), model.predict_risk(world.X, cost=0.5)
    )


def test_frames_keep_their_names_and_index(world):
    frame = pd.DataFrame(world.X, columns=list("abcde"), index=np.arange(200) + 7)
    predictor = FrozenEstimator(LinearRegression().fit(frame, world.y))
    model = KernelRejector(predictor, cost=0.5, random_state=0).fit(frame, world.y)
    assert list(model.feature_names_in_) == list("abcde")
    assert_array_equal(model.decide(frame).to_frame().index, frame.index)


def test_seed_reaches_the_predictor(world):
    predictions = [
        KernelRejector(RandomForestRegressor(n_estimators=3), random_state=0)
        .fit(world.X, world.y)
        .predict(world.X)
        for _ in range(2)
    ]
    assert_array_equal(*predictions)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"predictor": LogisticRegression()}, "predictor must be a regressor"),
        ({"cost": -1.0}, "cost is a price"),
        ({"cost": [1.0, 2.0]}, "cost must be one number"),
        ({"loss": "log_loss"}, "loss 'log_loss' is for classification"),
        ({"bandwidths": ()}, "bandwidths"),
        ({"bandwidths": (1.0, 0.0)}, "bandwidths must be positive"),
        ({"bandwidths": (np.nan,)}, "bandwidths must be positive"),
        ({"bandwidths": ("wide",)}, "bandwidths"),
        ({"validation_size": 0.0}, "validation_size"),
        ({"max_validation_rows": 0}, "max_validation_rows"),
        ({"no_data": "guess"}, "no_data"),
        ({"cv": KFold(3)}, "cv must give exactly one split, but it gives 3"),
        ({"cv": ShuffleSplit(2)}, "cv must give exactly one split, but it gives 2"),
    ],
)
def test_bad_parameters_are_named(parameters, message):
    world = make_heteroscedastic(60, random_state=0)
    with pytest.raises(ValueError, match=message):
        KernelRejector(**{"predictor": DummyRegressor()} | parameters).fit(world.X, world.y)


@pytest.mark.parametrize("method", ["predict_risk", "defer", "decide"])
def test_without_a_price_there_is_no_risk(frozen, world, method):
    model = KernelRejector(frozen, random_state=0).fit(world.X, world.y)
    with pytest.raises(ValueError, match="cost must be given"):
        getattr(model, method)(world.X)
    with pytest.raises(ValueError, match="cost must be given"):
        model.score(world.X, world.y)


def test_bad_calls_are_named(frozen, world):
    model = KernelRejector(frozen, random_state=0).fit(world.X, world.y)
    with pytest.raises(ValueError, match="cost and X must have the same length"):
        model.defer(world.X, cost=[1.0, 2.0])
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        KernelRejector(frozen).fit(world.X, world.y, groups=[1, 2])
    with pytest.raises(ValueError, match="contains NaN"):
        model.predict_risk(np.full((2, 5), np.nan), cost=1.0)


def test_missing_values_are_refused_though_the_predictor_takes_them(world):
    X = world.X.copy()
    X[0, 0] = np.nan
    with pytest.raises(ValueError, match="contains NaN"):
        KernelRejector(HistGradientBoostingRegressor()).fit(X, world.y)
