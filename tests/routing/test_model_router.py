"""The router: what it learns of worlds that are known, and what it decides."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone

from condrisk.datasets import make_routing
from condrisk.deferral import BatchControlRule, CostRule, RiskControlRule
from condrisk.routing import ModelRouter, routing_curve


@pytest.fixture(scope="module")
def world():
    return make_routing(800, random_state=0)


@pytest.fixture(scope="module")
def new(world):
    return world.sample(5000, random_state=1)


@pytest.fixture(scope="module")
def router(world):
    return ModelRouter(world.costs, random_state=0).fit(world.X, world.losses)


def explained(router, new):
    true = new.risk(new.X)
    return 1 - ((router.predict_risk(new.X) - true) ** 2).mean(axis=0) / true.var(axis=0)


def test_it_learns_the_true_risks_and_routes_nearly_as_well_as_they_do(router, new):
    assert (explained(router, new) > 0.7).all()
    learnt = routing_curve(new.losses, router.predict_risk(new.X), new.costs)
    true = routing_curve(new.losses, new.risk(new.X), new.costs)
    assert learnt.apgr > true.apgr - 0.03


def test_its_risks_are_right_on_average(router, new):
    risks = router.predict_risk(new.X)
    np.testing.assert_allclose(risks.mean(axis=0), new.risk(new.X).mean(axis=0), atol=0.05)
    held_out = router.held_out_
    np.testing.assert_allclose(held_out.risks.mean(axis=0), held_out.losses.mean(axis=0), atol=0.02)


def test_differences_are_learnt_directly_where_models_fail_together(router):
    """Losses of one row share their luck, which the difference is free of."""
    assert router.difference_share_ > 0.5


def test_gaps_cost_little(world, new):
    """A model that has answered two rows of three is learnt from those, and from the others."""
    gappy = make_routing(1200, answered=0.67, random_state=0)
    assert np.isnan(gappy.losses["small"]).mean() == pytest.approx(0.33, abs=0.05)
    found = ModelRouter(gappy.costs, random_state=0).fit(gappy.X, gappy.losses)
    assert (explained(found, new) > 0.6).all()


def test_a_gap_says_nothing_whatever_stands_in_other_columns(world):
    """The estimate of a model that answered few rows is about the mean of its own answers."""
    few = {name: values.copy() for name, values in world.losses.items()}
    few["medium"][60:] = np.nan
    found = ModelRouter(world.costs, random_state=0).fit(world.X, few)
    assert found.predict_risk(world.X)[:, 1].mean() == pytest.approx(0.4, abs=0.15)


def test_price_is_the_least_risk_and_cost(router, new):
    decision = router.route(new.X, price=0.1)
    paid = router.predict_risk(new.X) + 0.1 * router.costs_
    best = np.array(router.models_, dtype=object)[np.argmin(paid, axis=1)]
    np.testing.assert_array_equal(decision.model, best)
    np.testing.assert_allclose(decision.risk + 0.1 * decision.cost, paid.min(axis=1))
    assert (router.route(new.X, price=1e6).model == "small").all()


def test_target_is_met_by_the_cheapest_that_can(router, new):
    risks, decision = router.predict_risk(new.X), router.route(new.X, target=0.2)
    for row, name, risk in zip(risks, decision.model, decision.risk, strict=True):
        able = [k for k in range(3) if row[k] <= 0.2]
        expected = able[0] if able else int(np.argmin(row))  # costs rise with the position
        assert (name, risk) == (router.models_[expected], row[expected])


@pytest.mark.parametrize("budget", [0.25, 0.6, 1.2])
def test_budget_is_kept_on_average_and_spent(router, new, budget):
    cost = router.route(new.X, budget=budget).cost.mean()
    assert cost == pytest.approx(budget, rel=0.15)
    known = router.held_out_.risks
    paid = known + router.route(new.X, budget=budget).price * router.costs_
    assert router.costs_[np.argmin(paid, axis=1)].mean() <= budget + 1e-9


def test_a_budget_below_the_cheapest_model_is_refused(router, new):
    with pytest.raises(ValueError, match=r"less than rows cost at the least, 0\.2"):
        router.route(new.X, budget=0.1)


def test_capacities_are_kept_at_the_least_total(router, new):
    X = new.X[:6]
    decision = router.route(X, price=0.01, capacity={"large": 2, "medium": 1})
    paid = router.predict_risk(X) + 0.01 * router.costs_
    names = decision.model.tolist()
    assert names.count("large") <= 2
    assert names.count("medium") <= 1
    totals = []
    for choice in np.ndindex(*([3] * 6)):
        if choice.count(2) <= 2 and choice.count(1) <= 1:
            totals.append(sum(paid[i, k] for i, k in enumerate(choice)))
    chosen = [router.models_.index(name) for name in names]
    assert sum(paid[i, k] for i, k in enumerate(chosen)) == pytest.approx(min(totals))


def test_one_model_must_be_without_limit(router, new):
    with pytest.raises(ValueError, match="one model without a limit"):
        router.route(new.X, price=0.1, capacity={"small": 1, "medium": 1, "large": 1})
    with pytest.raises(ValueError, match="none of the models"):
        router.route(new.X, price=0.1, capacity={"huge": 1})


WISHES = {
    "one of price, budget and target; got none": {},
    "got price and budget": {"price": 1, "budget": 1},
    "price must be finite and not negative": {"price": -1},
    "budget must be a number": {"budget": "much"},
    "capacity needs price": {"target": 0.1, "capacity": {"large": 1}},
    "capacity must be a mapping": {"price": 0.1, "capacity": {"large": 1.5}},
}


@pytest.mark.parametrize("message", WISHES)
def test_wishes_that_make_no_sense(router, new, message):
    with pytest.raises((ValueError, TypeError), match=message):
        router.route(new.X, **WISHES[message])


@pytest.mark.filterwarnings("ignore:no threshold could be shown")
def test_a_rule_keeps_its_guarantee_over_many_fits():
    """At 80 % confidence the error of rows left with the small model exceeds the target seldom."""
    broken = kept = 0
    for seed in range(10):
        world = make_routing(600, n_models=2, random_state=seed)
        rule = RiskControlRule(0.3, confidence=0.8, cap=1)
        router = ModelRouter(world.costs, rule=rule, cv=2, random_state=seed)
        router.fit(world.X, world.losses)
        new = world.sample(5000, random_state=100 + seed)
        small = router.route(new.X, price=0).model == "small"
        kept += small.any()
        broken += small.any() and new.risk(new.X)[small, 0].mean() > 0.3
    assert kept >= 5
    assert broken <= 5  # a binomial of 10 and 0.2 is above it with a chance of 0.6 %


def test_a_rule_for_one_batch_is_refused_with_what_to_do(world):
    router = ModelRouter(world.costs, rule=BatchControlRule(0.1))
    with pytest.raises(TypeError, match=r"rule: BatchControlRule .* one batch.*by itself"):
        router.fit(world.X, world.losses)


def test_with_a_rule_the_others_are_chosen_among_themselves(world, new):
    rule = RiskControlRule(0.35, confidence=0.8, cap=1)
    router = ModelRouter(world.costs, rule=rule, random_state=0).fit(world.X, world.losses)
    decision = router.route(new.X, price=0.1)
    small = decision.model == "small"
    np.testing.assert_array_equal(small, ~router.rule_.defer(router.predict_risk(new.X)[:, 0]))
    assert "with probability >= 0.8" in decision.guarantee
    assert router.n_features_in_ == 6
    assert len(router.held_out_.rows) == 560  # 30 % are held back


def test_rows_that_a_rule_for_the_batch_keeps_stay_with_the_cheapest(router, new):
    keep = np.arange(len(new.X)) % 3 == 0
    decision = router.route(new.X, price=0.1, keep=keep)
    np.testing.assert_array_equal(decision.model == "small", keep)
    assert decision.guarantee is None
    assert router.route(new.X, budget=1.0, keep=keep).cost.mean() == pytest.approx(1.0, rel=0.1)
    with pytest.raises(ValueError, match="keep must be true or false for each of the 5000"):
        router.route(new.X, price=0.1, keep=[True])


def test_a_rule_for_the_batch_keeps_its_guarantee(router, new):
    loss, risk = new.losses["small"], router.predict_risk(new.X)[:, 0]
    rule = BatchControlRule(0.05, n_labels=300, random_state=0).fit(risk, lambda rows: loss[rows])
    decision = router.route(new.X, price=0.1, keep=rule)
    kept = decision.model == "small"
    assert kept.any()
    assert loss[kept].sum() <= 0.05 * len(loss)
    np.testing.assert_array_equal(
        router.route(new.X, price=0.1, keep=rule.kept_).model == "small", kept
    )
    assert decision.guarantee == rule.guarantee_


def test_a_rule_for_the_batch_is_no_rule_to_fit(world):
    """It learns from labels of a batch that is not there yet."""
    with pytest.raises(TypeError, match=r"BatchControlRule is about one batch.*keep=rule"):
        ModelRouter(world.costs, rule=BatchControlRule(0.1)).fit(world.X, world.losses)
    with pytest.raises(TypeError, match="rule must be a rule with a guarantee"):
        ModelRouter(world.costs, rule=CostRule()).fit(world.X, world.losses)


def test_losses_seen_do_not_bound_those_to_come(world):
    """Errors of 0 and 1 so far may be grades that go further: the bound is the caller's."""
    with pytest.raises(ValueError, match="cap must be given"):
        ModelRouter(world.costs, rule=RiskControlRule(0.35)).fit(world.X, world.losses)


def test_a_guarantee_for_every_group(world, new):
    """The rule sees the rows: groups have thresholds of their own, in budgets too."""
    rng = np.random.default_rng(0)
    rows = pd.DataFrame(world.X).assign(kind=rng.choice(["a", "b"], len(world.X)))
    rows.columns = rows.columns.astype(str)
    losses = {n: np.maximum(v, 1.0 * (rows["kind"] == "b")) for n, v in world.losses.items()}
    losses["large"] = world.losses["large"]
    rule = RiskControlRule(0.5, confidence=0.8, cap=1, subgroups=["kind"])
    router = ModelRouter(world.costs, rule=rule, random_state=0).fit(rows, losses)
    decision = router.route(rows, price=0.1)
    small = decision.model == "small"
    assert small[rows["kind"] == "a"].any()
    assert not small[rows["kind"] == "b"].any()  # where the small model is always wrong
    assert "each of the 2 groups by kind" in decision.guarantee
    assert router.route(rows, budget=1.0).cost.mean() == pytest.approx(1.0, rel=0.15)


def test_a_target_out_of_reach_leaves_nothing_and_says_so(world, new):
    rule = RiskControlRule(0.001, confidence=0.99, cap=1)
    router = ModelRouter(world.costs, rule=rule, random_state=0)
    with pytest.warns(UserWarning, match="no threshold could be shown"):
        router.fit(world.X, world.losses)
    decision = router.route(new.X, price=0.1)
    assert "small" not in decision.model
    assert decision.guarantee.startswith("no row is left with small")


def test_a_cascade_decides_with_the_first_answer_among_its_inputs():
    """The small model's confidence tells what the prompt does not; its cost is always spent."""
    rng = np.random.default_rng(0)
    n = 1500
    hard = rng.uniform(size=n)
    X = np.column_stack([rng.normal(size=n), 1 - hard + 0.05 * rng.normal(size=n)])
    losses = {"small": (rng.uniform(size=n) < hard) * 1.0, "large": np.full(n, 0.1)}
    costs = {"small": 0.2, "large": 1.0}
    router = ModelRouter(costs, first="small", random_state=0).fit(X, losses)
    decision = router.route(X, price=0.3)
    assert set(decision.cost) == {0.2, 1.2}
    stays = decision.model == "small"  # where 0.1 + 0.3 is more than its risk
    assert np.corrcoef(stays, hard < 0.4)[0, 1] > 0.8
    blind = ModelRouter(costs, random_state=0).fit(X[:, :1], losses)
    curves = [
        routing_curve(losses, r.predict_risk(x), costs) for r, x in [(router, X), (blind, X[:, :1])]
    ]
    assert curves[0].apgr > curves[1].apgr + 0.1


def text_rows(n=400, seed=0):
    rng = np.random.default_rng(seed)
    words = ["sum", "proof", "poem", "song"]
    kind = rng.integers(4, size=n)
    texts = [f"{words[k]} " + " ".join(f"w{j}" for j in rng.integers(300, size=8)) for k in kind]
    losses = {"small": np.isin(kind, [0, 1]) * 1.0, "large": (rng.uniform(size=n) < 0.1) * 1.0}
    return texts, losses, kind


def test_texts_frames_and_lists_are_rows():
    texts, losses, kind = text_rows()
    costs = {"small": 0.1, "large": 1.0}
    router = ModelRouter(costs, random_state=0).fit(texts, losses)
    hard = np.isin(kind, [0, 1])
    risks = router.predict_risk(texts)
    assert risks[hard, 0].mean() > 0.8
    assert risks[~hard, 0].mean() < 0.2
    for same in (np.array(texts), pd.Series(texts), pl.Series(texts), tuple(texts)):
        np.testing.assert_allclose(router.predict_risk(same), risks)
    frame = pd.DataFrame({"text": texts, "length": [len(text) for text in texts]})
    decision = (
        ModelRouter(costs, random_state=0).fit(frame, pd.DataFrame(losses)).route(frame, price=0.2)
    )
    assert decision.to_frame().columns.tolist() == ["model", "risk", "cost"]
    assert (decision.model[hard] == "large").mean() > 0.9
    polars = pl.DataFrame(frame)
    again = ModelRouter(costs, random_state=0).fit(polars, pl.DataFrame(losses))
    assert again.route(polars, price=0.2).to_frame().height == 400


def test_estimates_of_training_texts_are_as_good_as_those_of_new_ones():
    """Components that have seen a text describe it too well: held-out rows would not notice."""
    texts, losses, _ = text_rows(300)
    rng = np.random.default_rng(1)
    noise = {name: rng.permutation(values) for name, values in losses.items()}
    router = ModelRouter({"small": 0.1, "large": 1.0}, random_state=0).fit(texts, noise)
    fresh, _, _ = text_rows(600, seed=2)
    np.testing.assert_allclose(
        router.predict_risk(fresh).mean(axis=0), router.held_out_.losses.mean(axis=0), atol=0.06
    )


def test_same_seed_same_router_whatever_the_jobs(world, router, new):
    other = clone(router).set_params(n_jobs=2).fit(world.X, world.losses)
    np.testing.assert_allclose(other.predict_risk(new.X), router.predict_risk(new.X))


def test_names_of_models_do_not_matter(world, router, new):
    costs = {f"m{k}": cost for k, cost in enumerate(world.costs.values())}
    losses = np.column_stack(list(world.losses.values()))
    other = ModelRouter(costs, random_state=0).fit(world.X, losses)
    np.testing.assert_allclose(other.predict_risk(new.X), router.predict_risk(new.X))


def test_losses_in_other_units_give_risks_in_those(world, router, new):
    cents = {name: 100 * values for name, values in world.losses.items()}
    other = ModelRouter(world.costs, random_state=0).fit(world.X, cents)
    np.testing.assert_allclose(
        other.predict_risk(new.X) / 100, router.predict_risk(new.X), rtol=1e-6, atol=1e-9
    )


def test_groups_are_held_out_together_and_weights_of_zero_are_no_rows(world):
    groups = np.repeat(np.arange(80), 10)
    found = ModelRouter(world.costs, random_state=0).fit(world.X, world.losses, groups=groups)
    assert np.isfinite(found.held_out_.risks).all()
    weight = np.ones(800)
    weight[500:] = 0
    spoilt = {name: np.where(weight > 0, v, 1 - v) for name, v in world.losses.items()}
    first = ModelRouter(world.costs, random_state=0).fit(world.X, spoilt, sample_weight=weight)
    assert first.held_out_.rows.max() < 500
    part = {name: v[:500] for name, v in world.losses.items()}
    second = ModelRouter(world.costs, random_state=0).fit(world.X[:500], part)
    np.testing.assert_allclose(first.predict_risk(world.X), second.predict_risk(world.X))


BAD = {
    "costs must be a mapping": ([1.0, 2.0], {}),
    "first must be one of the models": ({"small": 1, "medium": 2, "large": 3}, {"first": "tiny"}),
    "got \\['small', 'medium', 'large'\\]": ({"small": 1, "large": 2}, {}),
}


@pytest.mark.parametrize("message", BAD)
def test_bad_parameters_are_named(world, message):
    costs, params = BAD[message]
    with pytest.raises((ValueError, TypeError), match=message):
        ModelRouter(costs, **params).fit(world.X, world.losses)


def test_a_model_without_answers_is_refused(world):
    few = dict(world.losses) | {"medium": np.full(800, np.nan)}
    with pytest.raises(ValueError, match="'medium' has 0 answers to learn from; at least 20"):
        ModelRouter(world.costs).fit(world.X, few)
    with pytest.raises(ValueError, match="a row for each of the 800 rows of X"):
        ModelRouter(world.costs).fit(world.X, {k: v[:10] for k, v in few.items()})


def test_missing_and_constant_columns_are_no_trouble(world):
    X = np.column_stack([world.X, np.full(800, np.nan), np.ones(800)])
    X[::7, 0] = np.nan
    found = ModelRouter(world.costs, random_state=0).fit(X, world.losses)
    assert np.isfinite(found.predict_risk(X)).all()


def test_constant_losses_are_what_is_expected(world):
    losses = {"small": np.ones(800), "medium": np.zeros(800), "large": np.zeros(800)}
    found = ModelRouter(world.costs, random_state=0).fit(world.X, losses)
    np.testing.assert_allclose(found.predict_risk(world.X), [[1.0, 0.0, 0.0]] * 800)
    assert (found.route(world.X, price=0.1).model == "medium").all()


def test_wide_rows_are_reduced_first():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 600))
    X[:, :300] += 2 * rng.normal(size=(300, 1))
    wrong = (X[:, 0] > 0).astype(float)
    found = ModelRouter({"a": 1, "b": 2}, random_state=0).fit(X, {"a": wrong, "b": 1 - wrong})
    risk = found.predict_risk(X)[:, 0]
    assert risk[wrong == 1].mean() > risk[wrong == 0].mean() + 0.2
