"""Curves and figures of routing, against brute force and closed forms."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from condrisk.datasets import make_routing
from condrisk.routing import routing_curve, routing_figures


def brute_force(losses, risks, costs, price):
    """Return mean cost and loss where each row goes to the model of least risk + price * cost."""
    chosen = []
    for row in risks:
        paid = [(risk + price * cost, cost) for risk, cost in zip(row, costs, strict=True)]
        chosen.append(paid.index(min(paid)))
    rows = range(len(losses))
    return (
        np.mean([costs[k] for k in chosen]),
        np.mean([losses[i][k] for i, k in zip(rows, chosen, strict=True)]),
    )


SEEDS = pytest.mark.parametrize("seed", [0, 1, 2])


@SEEDS
@pytest.mark.parametrize("n_models", [2, 3, 5])
def test_every_point_is_routing_at_a_price(n_models, seed):
    rng = np.random.default_rng(seed)
    losses = rng.uniform(size=(30, n_models))
    risks = rng.normal(size=(30, n_models))
    costs = rng.uniform(size=n_models)
    curve = routing_curve(losses, risks, costs)
    prices = np.append(curve.price[1:], curve.price[-1] - 1)
    between = np.append(curve.price[1] + 1, (prices[:-1] + prices[1:]) / 2)
    for at, price in enumerate(between):
        cost, loss = brute_force(losses, risks, costs, price)
        np.testing.assert_allclose([curve.cost[at], curve.loss[at]], [cost, loss], atol=1e-12)


def test_apgr_and_cpt_of_few_rows_by_hand():
    # The large model gains on rows 0 and 1, and is asked about row 2 before row 1.
    losses = np.array([[1, 0], [1, 0], [0, 0], [0, 0]], dtype=float)
    risks = np.array([[0.9, 0], [0.5, 0], [0.6, 0], [0.1, 0]])
    curve = routing_curve(losses, risks, [0.0, 1.0])
    np.testing.assert_allclose(curve.loss, [0.5, 0.25, 0.25, 0, 0])
    assert curve.apgr == pytest.approx((0.25 + 0.5 + 0.75 + 1) / 4)
    assert curve.cpt(50) == pytest.approx(0.25)
    assert curve.cpt(80) == pytest.approx(0.5 + 0.25 * 0.6)
    assert curve.loss_at(0.125) == pytest.approx(0.375)
    assert curve.cost_at(0.25) == pytest.approx(0.25)
    assert np.isnan(curve.cost_at(-0.1))


@SEEDS
def test_random_scores_recover_half_and_the_oracle_is_the_best(seed):
    world = make_routing(20_000, n_models=2, random_state=seed)
    noise = np.random.default_rng(seed).normal(size=(20_000, 2))
    true = world.risk(world.X)
    curves = [routing_curve(world.losses, r, world.costs) for r in (noise, true)]
    assert curves[0].apgr == pytest.approx(0.5, abs=0.03)
    assert curves[1].apgr > 0.6
    for curve in curves:
        below = np.interp(curve.cost, curve.oracle_cost, curve.oracle_loss)
        assert (curve.loss >= below - 1e-12).all()


@SEEDS
def test_rows_of_equal_risk_move_together_whatever_their_order(seed):
    rng = np.random.default_rng(seed)
    losses, risks = rng.uniform(size=(40, 3)), rng.integers(3, size=(40, 3)).astype(float)
    order = rng.permutation(40)
    first = routing_curve(losses, risks, [0, 1, 2])
    second = routing_curve(losses[order], risks[order], [0, 1, 2])
    for one, two in zip(first, second, strict=True):
        np.testing.assert_allclose(one, two, atol=1e-12)


@settings(max_examples=30, deadline=None)
@given(st.lists(st.integers(0, 3), min_size=6, max_size=12), st.integers(0, 10_000))
def test_weights_are_repeated_rows(weights, seed):
    weights = np.array([*weights, 1])
    rng = np.random.default_rng(seed)
    losses, risks = rng.uniform(size=(len(weights), 3)), rng.normal(size=(len(weights), 3))
    one = routing_curve(losses, risks, [0.1, 0.5, 2.0], sample_weight=weights)
    again = np.repeat(np.arange(len(weights)), weights)
    two = routing_curve(losses[again], risks[again], [0.1, 0.5, 2.0])
    for cost in np.linspace(0.1, 2.0, 7):
        assert one.loss_at(cost) == pytest.approx(two.loss_at(cost), abs=1e-9)
    assert one.apgr == pytest.approx(two.apgr, nan_ok=True, abs=1e-9)


def test_without_a_gap_there_is_nothing_to_recover():
    losses = np.array([[0.0, 1.0], [0.0, 1.0]])
    curve = routing_curve(losses, losses, [0.0, 1.0])
    assert np.isnan(curve.apgr)
    assert np.isnan(curve.cpt(50))


def test_intervals_cover_the_truth_of_the_law():
    """Of 60 samples the 80 % interval of the APGR holds the value on a large one about as often."""
    large = make_routing(200_000, n_models=2, random_state=0)
    truth = routing_curve(large.losses, large.risk(large.X), large.costs).apgr
    hits = 0
    for seed in range(60):
        world = large.sample(400, random_state=seed + 1)
        found = routing_figures(
            world.losses, world.risk(world.X), world.costs, confidence=0.8, n_resamples=200
        ).apgr
        hits += found.lower <= truth <= found.upper
    assert 38 <= hits <= 57  # a binomial of 0.8 is out with a chance of 1 %


def test_figures_are_those_of_the_curve_at_whatever_is_asked():
    world = make_routing(300, random_state=3)
    risks = world.risk(world.X)
    found = routing_figures(
        world.losses, risks, world.costs, cpt=[20], at_costs=[0.5, 1.0], at_losses=[0.3],
        n_resamples=50,
    )  # fmt: skip
    curve = found.curve
    assert found.apgr.estimate == pytest.approx(curve.apgr)
    assert found.cpt[20].estimate == pytest.approx(curve.cpt(20))
    assert found.loss_at[1.0].estimate == pytest.approx(curve.loss_at(1.0))
    assert found.cost_at[0.3].estimate == pytest.approx(curve.cost_at(0.3))
    plain = found.to_dict()
    assert plain["cpt"][0]["at"] == 20
    assert plain["rows"] == 300


def test_figures_need_a_resample():
    world = make_routing(50, random_state=3)
    with pytest.raises(ValueError, match="n_resamples must be at least 1, got 0"):
        routing_figures(world.losses, world.risk(world.X), world.costs, n_resamples=0)


WRONG = {
    "costs must have a cost for each of two": ([[0, 1]], [[0, 1]], [1.0]),
    "costs must be finite and not negative": ([[0, 1]], [[0, 1]], [1.0, -1.0]),
    "losses must not have gaps": ([[0, np.nan]], [[0, 1]], [0.0, 1.0]),
    "risks must be finite": ([[0, 1]], [[0, np.inf]], [0.0, 1.0]),
    "risks must have a row": ([[0, 1]], [[0, 1], [0, 1]], [0.0, 1.0]),
    "losses must have a column for each of the 3": ([[0, 1]], [[0, 1]], [0.0, 1.0, 2.0]),
    "losses must have a column for each model": ({"a": [1], "c": [1]}, [[0, 1]], {"a": 0, "b": 1}),
}


@pytest.mark.parametrize("message", WRONG)
def test_bad_input_is_named(message):
    with pytest.raises((ValueError, TypeError), match=message):
        routing_curve(*WRONG[message])


def test_names_bring_columns_into_the_order_of_the_costs():
    losses = {"b": [1.0, 0.0], "a": [0.0, 1.0]}
    curve = routing_curve(losses, losses, {"a": 0.0, "b": 1.0})
    other = routing_curve([[0, 1], [1, 0]], [[0, 1], [1, 0]], [0.0, 1.0])
    for one, two in itertools.zip_longest(curve, other):
        np.testing.assert_array_equal(one, two)
