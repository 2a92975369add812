"""SelectiveNet: which net answers at which price, what is held out, and what it decides."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.model_selection import train_test_split

from condrisk.datasets import make_heteroscedastic
from condrisk.deferral import Decision
from condrisk.paper.baselines import SelectiveNet
from condrisk.paper.baselines import _selective_net as module
from condrisk.paper.baselines._forward import predictions_and_selection

pytest.importorskip("torch")

BUDGETS = (0.7, 0.1, 0.4)
QUICK = {"budgets": BUDGETS, "max_epochs": 20, "learning_rate": 0.01, "batch_size": 64}


@pytest.fixture(scope="module")
def world():
    return make_heteroscedastic(400, random_state=0)


@pytest.fixture(scope="module")
def model(world):
    return SelectiveNet(random_state=0, **QUICK).fit(world.X, world.y)


@pytest.fixture
def trainings(monkeypatch):
    """Record the rows, targets and weights of each training of a stack."""
    calls = []

    def recorded(X, y, head, **options):
        weights = train(X, y, head, **options)
        calls.append((X, y, weights))
        return weights

    train = module.train
    monkeypatch.setattr(module, "train", recorded)
    return calls


def test_candidates_see_what_one_split_leaves_and_final_nets_what_two_leave(world, trainings):
    SelectiveNet(random_state=3, **QUICK).fit(world.X, world.y)
    first, _ = train_test_split(np.arange(400), test_size=0.2, random_state=3)
    second, _ = train_test_split(first, test_size=0.2, random_state=3)
    assert len(trainings) == 2
    for (X, y, _), rows in zip(trainings, (first, second), strict=True):
        assert_array_equal(X, world.X[rows])
        assert_array_equal(y, world.y[rows])
    assert len(second) == 256


def test_the_budget_is_the_best_candidates_on_the_rows_held_out(world, trainings, seed):
    model = SelectiveNet(random_state=seed, **QUICK).fit(world.X, world.y)
    _, held_out = train_test_split(np.arange(400), test_size=0.2, random_state=seed)
    X, y, candidates = world.X[held_out], world.y[held_out], trainings[0][2]
    for cost in (0.0, 0.1, 0.5, 1.0, 3.0, 100.0):
        losses = []
        for net in range(len(BUDGETS)):
            prediction, selection = predictions_and_selection(candidates, X, net)
            losses.append(np.where(selection > 0.5, (prediction - y) ** 2, cost).mean())
        assert losses[BUDGETS.index(model.budget_for(cost))] == pytest.approx(min(losses))


def test_the_final_net_of_the_budget_answers(world, trainings):
    model = SelectiveNet(random_state=0, **QUICK).fit(world.X, world.y)
    final = trainings[1][2]
    for cost in (0.05, 1.0, 100.0):
        net = BUDGETS.index(model.budget_for(cost))
        prediction, selection = predictions_and_selection(final, world.X, net)
        assert_array_equal(model.predict(world.X, cost=cost), prediction)
        assert_array_equal(model.selection(world.X, cost=cost), selection)
        assert_array_equal(model.defer(world.X, cost=cost), selection <= 0.5)


def test_nets_do_not_depend_on_the_price(world, model):
    for cost in (0.1, 50.0):
        priced = clone(model).set_params(cost=cost).fit(world.X, world.y)
        for name, value in model.weights_.items():
            assert_array_equal(priced.weights_[name], value)
        assert_array_equal(priced.validation_loss_, model.validation_loss_)
        assert_array_equal(priced.validation_rate_, model.validation_rate_)
        assert_array_equal(priced.defer(world.X), model.defer(world.X, cost=cost))


def test_another_seed_gives_other_nets(world, model):
    other = clone(model).set_params(random_state=1).fit(world.X, world.y)
    assert np.abs(other.predict(world.X) - model.predict(world.X)).max() > 1e-3


def test_a_price_a_row(world, model):
    prices = np.resize([0.05, 1.0, 100.0], 400)
    together = model.decide(world.X, cost=prices)
    for cost in np.unique(prices):
        rows = prices == cost
        one = model.decide(world.X[rows], cost=cost)
        assert_allclose(together.prediction[rows], one.prediction, rtol=1e-12)
        assert_array_equal(together.deferred[rows], one.deferred)
    assert_array_equal(model.budget_for(prices)[:3], [model.budget_for(c) for c in prices[:3]])


def test_decision_and_score(world, model):
    decision = model.decide(world.X, cost=0.7)
    assert isinstance(decision, Decision)
    assert np.isnan(decision.risk).all()
    loss = np.where(decision.deferred, 0.7, (decision.prediction - world.y) ** 2)
    assert model.score(world.X, world.y, cost=0.7) == pytest.approx(-loss.mean())
    weight = np.arange(400.0)
    weighted = model.score(world.X, world.y, cost=0.7, sample_weight=weight)
    assert weighted == pytest.approx(-np.average(loss, weights=weight))


def test_without_a_price_the_smallest_budget_predicts(world, model):
    prediction, _ = predictions_and_selection(model.weights_, world.X, BUDGETS.index(0.1))
    assert_array_equal(model.predict(world.X), prediction)


def test_the_mean_selection_follows_the_budget(seed):
    """With a great penalty for selecting less than 1 − budget, and none for selecting more."""
    world = make_heteroscedastic(600, random_state=seed)
    model = SelectiveNet(
        budgets=(0.1, 0.5, 0.9),
        penalty=1e4,
        max_epochs=150,
        learning_rate=0.01,
        batch_size=128,
        random_state=seed,
    ).fit(world.X, world.y)
    means = [predictions_and_selection(model.weights_, world.X, net)[1].mean() for net in range(3)]
    assert (np.array(means) > np.array([0.9, 0.5, 0.1]) - 0.05).all()
    assert means[0] > means[1] + 0.1
    assert means[1] > means[2] + 0.1


def test_groups_are_not_torn_apart(world, trainings):
    groups = np.repeat(np.arange(40), 10)
    X = np.column_stack([world.X, groups])
    SelectiveNet(random_state=0, **QUICK).fit(X, world.y, groups=groups)
    sizes = []
    for X_seen, _, _ in trainings:
        _, counts = np.unique(X_seen[:, -1], return_counts=True)
        assert (counts == 10).all()
        sizes.append(len(counts))
    assert sizes == [32, 25]


@pytest.mark.parametrize("method", ["defer", "decide", "selection"])
def test_without_a_price_there_is_no_decision(world, model, method):
    with pytest.raises(ValueError, match="cost must be given"):
        getattr(model, method)(world.X)


def test_without_a_price_there_is_no_score(world, model):
    with pytest.raises(ValueError, match="cost must be given"):
        model.score(world.X, world.y)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"cost": -1.0}, "cost is a price"),
        ({"cost": [1.0, 2.0]}, "cost must be one number"),
        ({"budgets": ()}, "budgets"),
        ({"budgets": (0.2, 1.5)}, "budgets must be shares"),
        ({"budgets": ("few",)}, "budgets"),
        ({"alpha": 1.5}, "alpha"),
        ({"penalty": -1.0}, "penalty"),
        ({"validation_size": 1.0}, "validation_size"),
    ],
)
def test_bad_parameters_are_named(world, parameters, message):
    with pytest.raises(ValueError, match=message):
        SelectiveNet(**parameters).fit(world.X, world.y)


def test_bad_calls_are_named(world, model):
    with pytest.raises(ValueError, match="cost and X must have the same length"):
        model.defer(world.X, cost=[1.0, 2.0])
    with pytest.raises(ValueError, match="cost is a price"):
        model.budget_for(-1.0)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        SelectiveNet().fit(world.X, world.y, groups=[1, 2])
    with pytest.raises(ValueError, match="too few rows"):
        SelectiveNet().fit(world.X[:3], world.y[:3])
