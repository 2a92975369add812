"""`Deferral`: the model that carries a rule."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.ensemble import RandomForestRegressor
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV, GroupKFold, ShuffleSplit, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from condrisk import BudgetRule, Deferral, PlugInRisk, RegressionRisk, predict_risk
from condrisk.datasets import make_gaussian_mixture, make_heteroscedastic
from condrisk.deferral import BatchControlRule
from condrisk.metrics import deferral_loss


@pytest.fixture
def world():
    return make_heteroscedastic(500, random_state=0)


@pytest.fixture
def risk():
    return RegressionRisk(LinearRegression(), regressor=Ridge(), random_state=0)


def test_score_is_minus_the_deferral_loss(world, risk):
    fresh = world.sample(500, random_state=1)
    model = Deferral(risk, cost=1.5).fit(world.X, world.y)
    loss, estimate = model.loss_values(fresh.X, fresh.y), model.predict_risk(fresh.X)
    assert_allclose(model.score(fresh.X, fresh.y), -deferral_loss(loss, estimate, 1.5))
    weight = np.random.default_rng(0).random(500)
    prices = np.random.default_rng(1).random(500) * 3
    assert_allclose(
        model.score(fresh.X, fresh.y, cost=prices, sample_weight=weight),
        -deferral_loss(loss, estimate, prices, sample_weight=weight),
    )


def test_one_price_a_row(world, risk):
    model = Deferral(risk).fit(world.X, world.y)
    prices = np.linspace(0, 3, 500)
    estimate = model.predict_risk(world.X)
    assert_array_equal(model.defer(world.X, cost=prices), estimate > prices)
    assert_array_equal(model.decide(world.X, cost=prices).deferred, estimate > prices)


def test_score_without_a_price_names_the_cost(world, risk):
    for rule in (None, BudgetRule(0.2)):
        model = Deferral(risk, rule=rule).fit(world.X, world.y)
        with pytest.raises(ValueError, match="cost must be given"):
            model.score(world.X, world.y)


def test_a_budget_needs_no_price_to_decide_and_pays_it_in_the_score(world, risk):
    model = Deferral(risk, rule=BudgetRule(0.25)).fit(world.X, world.y)
    deferred = model.defer(world.X)
    assert 0.1 < deferred.mean() < 0.4
    loss = model.loss_values(world.X, world.y)
    expected = -np.where(deferred, 0.7, loss).mean()
    assert_allclose(model.score(world.X, world.y, cost=0.7), expected)


def test_budget_is_met_on_out_of_fold_risks(world, risk):
    model = Deferral(risk, rule=BudgetRule(0.25)).fit(world.X, world.y)
    assert (model.risk_.held_out_.risks > model.rule_.threshold_).mean() == 0.25


def test_the_rule_gets_the_weights_of_the_rows_it_is_fitted_on(world, risk):
    weight = np.random.default_rng(0).integers(0, 3, 500)
    model = Deferral(risk, rule=BudgetRule(0.25)).fit(world.X, world.y, sample_weight=weight)
    deferred = model.risk_.held_out_.risks > model.rule_.threshold_
    share = np.average(deferred, weights=weight)
    assert 0.24 < share <= 0.25
    held_out = ShuffleSplit(1, test_size=0.4, random_state=0)
    one_split = clone(risk).set_params(cv=held_out, refit=False)
    model = Deferral(one_split, rule=BudgetRule(0.25)).fit(world.X, world.y, sample_weight=weight)
    _, rows = next(held_out.split(world.X))
    found = model.risk_.held_out_
    assert_array_equal(found.rows, np.sort(rows))
    share = np.average(found.risks > model.rule_.threshold_, weights=weight[found.rows])
    assert 0.23 < share <= 0.25


def test_budget_of_a_frozen_predictor_is_met_on_the_held_out_risks(world):
    frozen = FrozenEstimator(LinearRegression().fit(world.X[:250], world.y[:250]))
    model = Deferral(RegressionRisk(frozen, regressor=Ridge()), rule=BudgetRule(0.2))
    model.fit(world.X[250:], world.y[250:])
    assert (model.risk_.held_out_.risks > model.rule_.threshold_).mean() == 0.2
    one_split = RegressionRisk(
        LinearRegression(),
        regressor=Ridge(),
        cv=ShuffleSplit(1, test_size=0.4, random_state=0),
        refit=False,
    )
    model = Deferral(one_split, rule=BudgetRule(0.2)).fit(world.X, world.y)
    assert (model.risk_.held_out_.risks > model.rule_.threshold_).mean() == 0.2


def test_a_model_that_decides_by_itself_is_refused(world, risk):
    for inner in (Deferral(risk, cost=1.0), FrozenEstimator(Deferral(risk, cost=1.0))):
        with pytest.raises(ValueError, match="decides by itself"):
            Deferral(inner, cost=1.0).fit(world.X, world.y)


def test_a_frozen_risk_is_used_as_it_is(world, risk):
    fitted = risk.fit(world.X, world.y)
    fresh = world.sample(200, random_state=1)
    model = Deferral(FrozenEstimator(fitted), cost=1.0, rule=BudgetRule(0.1))
    model.fit(fresh.X, fresh.y)
    assert model.risk_.estimator is fitted
    assert model.defer(fresh.X).mean() == 0.1


def test_predict_stays_pure_and_decide_agrees_with_the_parts():
    world = make_gaussian_mixture(300, random_state=0)
    y = np.array(["no", "perhaps", "yes"])[world.y]
    model = Deferral(PlugInRisk(LogisticRegression(), loss="log_loss", random_state=0), cost=0.2)
    decision = model.fit(world.X, y).decide(world.X)
    assert decision.deferred.any()
    assert not decision.deferred.all()
    assert_array_equal(decision.prediction, model.predict(world.X))
    assert_array_equal(decision.prediction, LogisticRegression().fit(world.X, y).predict(world.X))
    assert_array_equal(decision.risk, model.predict_risk(world.X))
    assert_array_equal(decision.deferred, model.defer(world.X))


def test_each_response_is_computed_once():
    calls = []

    class Counting(LogisticRegression):
        def predict_proba(self, X):
            calls.append("predict_proba")
            return super().predict_proba(X)

        def predict(self, X):
            calls.append("predict")
            return super().predict(X)

    world = make_gaussian_mixture(100, random_state=0)
    model = Deferral(PlugInRisk(Counting(), loss="log_loss", random_state=0), cost=0.2)
    model.fit(world.X, world.y)
    calls.clear()
    model.decide(world.X)
    assert sorted(calls) == ["predict", "predict_proba"]
    calls.clear()
    model.score(world.X, world.y)
    assert sorted(calls) == ["predict", "predict_proba"]


def test_frames_come_back_as_they_came(world, risk):
    columns = dict(zip("abcde", world.X.T, strict=True))
    index = pd.Index(np.arange(500)[::-1], name="patient")
    in_pandas = pd.DataFrame(columns, index=index)
    model = Deferral(risk, cost=1.0).fit(in_pandas, world.y)
    frame = model.decide(in_pandas).to_frame()
    assert isinstance(frame, pd.DataFrame)
    assert frame.index.equals(index)
    assert list(frame) == ["prediction", "risk", "deferred"]
    in_polars = pl.DataFrame(columns)
    frame = Deferral(risk, cost=1.0).fit(in_polars, world.y).decide(in_polars).to_frame()
    assert isinstance(frame, pl.DataFrame)
    assert frame.columns == ["prediction", "risk", "deferred"]
    assert_array_equal(frame["risk"].to_numpy(), model.predict_risk(in_pandas))


def test_search_picks_what_lowers_the_deferral_loss(seed):
    world = make_heteroscedastic(600, random_state=seed)
    forest = RandomForestRegressor(20, random_state=0)
    model = Deferral(RegressionRisk(LinearRegression(), regressor=forest, random_state=0), cost=1)
    search = GridSearchCV(model, {"risk__regressor__min_samples_leaf": [1, 40]}, cv=3)
    search.fit(world.X, world.y)
    assert search.best_params_ == {"risk__regressor__min_samples_leaf": 40}
    assert_allclose(predict_risk(search, world.X), search.best_estimator_.predict_risk(world.X))


def test_search_over_the_budget_at_a_fixed_price(seed):
    """At a price below every risk asking always pays, above every risk never."""
    world = make_gaussian_mixture(300, separation=0.1, random_state=seed)
    model = Deferral(
        PlugInRisk(LogisticRegression(), random_state=0), cost=0.0, rule=BudgetRule(0.5)
    )
    cheap = GridSearchCV(model, {"rule__rate": [0.0, 0.5, 1.0]}, cv=3).fit(world.X, world.y)
    assert cheap.best_params_ == {"rule__rate": 1.0}
    dear = GridSearchCV(
        clone(model).set_params(cost=2.0), {"rule__rate": [0.0, 0.5, 1.0]}, cv=3
    ).fit(world.X, world.y)
    assert dear.best_params_ == {"rule__rate": 0.0}
    assert cross_val_score(model, world.X, world.y).shape == (5,)


def test_a_pipeline_may_stand_around_the_risk(world, risk):
    model = Deferral(make_pipeline(StandardScaler(), risk), cost=1.0, rule=BudgetRule(0.2))
    model.fit(world.X, world.y, sample_weight=np.ones(500))
    scaled = StandardScaler().fit_transform(world.X)
    expected = Deferral(risk, cost=1.0, rule=BudgetRule(0.2)).fit(scaled, world.y)
    assert_allclose(model.predict_risk(world.X), expected.predict_risk(scaled))
    assert_array_equal(model.defer(world.X), expected.defer(scaled))
    assert_allclose(model.score(world.X, world.y), expected.score(scaled, world.y))


def test_a_frozen_pipeline_may_stand_around_the_risk(world, risk):
    pipeline = make_pipeline(StandardScaler(), risk).fit(world.X, world.y)
    model = Deferral(FrozenEstimator(pipeline), cost=1.0).fit(world.X, world.y)
    assert_array_equal(model.predict_risk(world.X), predict_risk(pipeline, world.X))
    assert_array_equal(predict_risk(model.risk, world.X), predict_risk(pipeline, world.X))


def test_a_predictor_that_lives_elsewhere():
    world = make_gaussian_mixture(300, random_state=0)
    tree = DecisionTreeClassifier(max_depth=2).fit(world.X[:100], world.y[:100])
    X, y = world.X[100:], world.y[100:]
    proba = tree.predict_proba(X)
    for rule in (None, BudgetRule(0.3)):
        options = {"cost": 0.3, "rule": rule}
        plug_in = {"probability": LogisticRegression(), "loss": "brier", "random_state": 0}
        frozen = Deferral(PlugInRisk(FrozenEstimator(tree), **plug_in), **options).fit(X, y)
        elsewhere = Deferral(PlugInRisk("precomputed", **plug_in), **options)
        elsewhere.fit(X, y, prediction=proba)
        decision = elsewhere.decide(X, prediction=proba)
        assert_array_equal(decision.deferred, frozen.defer(X))
        assert_array_equal(decision.prediction, frozen.predict(X))
        assert_allclose(elsewhere.score(X, y, prediction=proba), frozen.score(X, y))


def test_groups_and_weights_with_metadata_routing(world):
    groups = np.arange(500) // 10
    weight = np.random.default_rng(0).integers(1, 4, 500).astype(float)

    def build(request):
        predictor, regressor = Ridge(), Ridge()
        if request:
            predictor.set_fit_request(sample_weight=True)
            regressor.set_fit_request(sample_weight=True)
        risk = RegressionRisk(predictor, regressor=regressor, cv=GroupKFold(4))
        if request:
            risk.set_fit_request(sample_weight=True, prediction=False)
        return Deferral(risk, cost=1.0, rule=BudgetRule(0.2))

    plain = build(False).fit(world.X, world.y, sample_weight=weight, groups=groups)
    with sklearn.config_context(enable_metadata_routing=True):
        routed = build(True).fit(world.X, world.y, sample_weight=weight, groups=groups)
        assert_allclose(routed.predict_risk(world.X), plain.predict_risk(world.X))
        assert routed.rule_.threshold_ == pytest.approx(plain.rule_.threshold_)
        # A number of folds takes groups too, and the default regressor wants weights by itself.
        risk = RegressionRisk(Ridge().set_fit_request(sample_weight=True), cv=4, random_state=0)
        risk.fit(world.X[:100], world.y[:100], sample_weight=weight[:100], groups=groups[:100])
        assert np.isfinite(risk.predict_risk(world.X)).all()


def test_a_rule_for_one_batch_is_refused_with_what_to_do(world, risk):
    with pytest.raises(TypeError, match=r"rule: BatchControlRule .* one batch.*by itself"):
        Deferral(risk, rule=BatchControlRule(0.1)).fit(world.X, world.y)


def test_weights_that_a_part_has_not_asked_for_are_an_error_with_routing(world, risk):
    with (
        sklearn.config_context(enable_metadata_routing=True),
        pytest.raises(sklearn.exceptions.UnsetMetadataPassedError, match="sample_weight"),
    ):
        risk.fit(world.X, world.y, sample_weight=np.ones(500))
