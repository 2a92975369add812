"""A risk estimator that inherits from nothing of ours works wherever ours do."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from condrisk import BudgetRule, CostRule, Deferral, ExpertRule, RiskControlRule
from condrisk.datasets import make_heteroscedastic
from condrisk.deferral import Cascade, ExploringRule, RateControlRule, SupportRule
from condrisk.metrics import risk_scorer
from condrisk.plots import (
    CostCurveDisplay,
    RiskCalibrationDisplay,
    RiskCoverageDisplay,
    RiskProfileDisplay,
)

WORLD = make_heteroscedastic(600, random_state=0)
X, Y = WORLD.X, WORLD.y
FRESH = WORLD.sample(400, random_state=1)


class HandMadeRisk(RegressorMixin, BaseEstimator):
    """A line, and the squared distance from it by the first feature: thirty lines, no condrisk."""

    def __init__(self, degree=1):
        self.degree = degree

    def fit(self, X, y, *, sample_weight=None, prediction=None, **params):
        X, y = np.asarray(X, dtype=float), np.asarray(y, dtype=float)
        half = len(X) // 2
        self.line_ = LinearRegression().fit(X[:half], y[:half])
        loss = (self.line_.predict(X[half:]) - y[half:]) ** 2
        self.coefficients_ = np.polyfit(X[half:, 0], np.log(loss + 1e-3), self.degree)
        return self

    def predict(self, X, *, prediction=None):
        return self.line_.predict(np.asarray(X, dtype=float))

    def predict_risk(self, X, *, prediction=None):
        return np.exp(np.polyval(self.coefficients_, np.asarray(X, dtype=float)[:, 0]))

    def loss_values(self, X, y, *, prediction=None):
        return (self.predict(X) - np.asarray(y)) ** 2


class HandMadeHeldOut:
    """What rules are fitted on."""

    def __init__(self, rows, losses, risks):
        self.rows, self.losses, self.risks = rows, losses, risks


class HandMadeRiskWithHeldOut(HandMadeRisk):
    """The same, with risks of rows that it has not seen."""

    def fit(self, X, y, *, sample_weight=None, prediction=None, **params):
        rows = np.arange(len(X) // 2, len(X))
        others = clone(self).set_params(degree=self.degree)
        HandMadeRisk.fit(others, X[: rows[0]], y[: rows[0]])
        losses, risks = others.loss_values(X[rows], y[rows]), others.predict_risk(X[rows])
        super().fit(X, y)
        self.held_out_ = HandMadeHeldOut(rows, losses, risks)
        return self


FITTED_RULES = {
    "budget": BudgetRule(0.2),
    "risk control": RiskControlRule(1.2, cap=9.0, random_state=0),
    "rate control": RateControlRule(0.3, cap=9.0, random_state=0),
    "support": SupportRule(BudgetRule(0.2)),
    "exploring": ExploringRule(BudgetRule(0.2), random_state=0),
}
FREE_RULES = {"cost": CostRule(), "expert": ExpertRule(0.2, fee=0.3)}


@pytest.mark.parametrize("rule", FITTED_RULES | FREE_RULES)
def test_every_rule_takes_it(rule):
    chosen = (FITTED_RULES | FREE_RULES)[rule]
    model = Deferral(HandMadeRiskWithHeldOut(), cost=0.7, rule=chosen).fit(X, Y)
    decision = model.decide(FRESH.X)
    assert_array_equal(decision.prediction, model.risk_.predict(FRESH.X))
    assert_array_equal(decision.risk, model.risk_.predict_risk(FRESH.X))
    assert 0 < decision.deferred.mean() < 1
    expert = {"expert_loss": np.full(400, 0.2)} if rule == "expert" else {}
    assert model.score(FRESH.X, FRESH.y, **expert) < 0


@pytest.mark.parametrize("rule", FITTED_RULES)
def test_without_held_out_rows_rules_need_calibration_rows(rule):
    model = Deferral(HandMadeRisk(), cost=0.7, rule=FITTED_RULES[rule])
    more = WORLD.sample(600, random_state=2)
    fitted = clone(model).fit(X, Y, calibration=(more.X, more.y))
    assert 0 < fitted.decide(FRESH.X).deferred.mean() < 1
    # Thresholds are not chosen on the rows that they are tested on.
    assert getattr(fitted.rule_, "n_calibration_", 0) < 600
    if not hasattr(FITTED_RULES[rule], "hold_back"):  # which keeps such rows by itself
        with pytest.raises(ValueError, match="has no held_out_: give calibration= rows"):
            model.fit(X, Y)


class Recording(BaseEstimator):
    """A rule of somebody's own, which keeps what it was fitted on."""

    def fit(self, risk, loss, *, X=None, sample_weight=None):
        self.seen_ = (risk, loss, X, sample_weight)
        return self

    def defer(self, risk, *, X=None, cost=None):
        return np.zeros(len(risk), dtype=bool)


def test_a_rule_gets_the_held_out_rows_with_their_features_and_weights():
    weight = np.arange(1.0, 601.0)
    model = Deferral(HandMadeRiskWithHeldOut(), rule=Recording()).fit(X, Y, sample_weight=weight)
    held_out = model.risk_.held_out_
    risk, loss, rows, weights = model.rule_.seen_
    assert_array_equal(risk, held_out.risks)
    assert_array_equal(loss, held_out.losses)
    assert_array_equal(rows, X[300:])
    assert_array_equal(weights, weight[300:])


class External(HandMadeRisk):
    """Its predictor is elsewhere: a risk of each response that is given."""

    def fit(self, X, y, *, sample_weight=None, prediction=None, **params):
        return self

    def predict(self, X, *, prediction=None):
        return prediction

    def predict_risk(self, X, *, prediction=None):
        return np.abs(prediction)

    def loss_values(self, X, y, *, prediction=None):
        return np.abs(prediction - y)


def test_given_responses_reach_every_method_where_there_is_no_assess():
    said = np.linspace(-1, 1, 600)
    model = Deferral(External(), cost=0.5).fit(X, Y, prediction=said)
    decision = model.decide(X, prediction=said)
    assert_array_equal(decision.prediction, said)
    assert_array_equal(decision.risk, np.abs(said))
    paid = np.where(np.abs(said) > 0.5, 0.5, np.abs(said - Y))
    assert model.score(X, Y, prediction=said) == pytest.approx(-paid.mean())


def test_budget_is_found_on_the_held_out_risks():
    model = Deferral(HandMadeRiskWithHeldOut(), rule=BudgetRule(0.1)).fit(X, Y)
    held_out = model.risk_.held_out_
    assert np.mean(held_out.risks > model.rule_.threshold_) == pytest.approx(0.1, abs=0.005)


def test_frozen_in_a_pipeline_and_in_a_search():
    piped = make_pipeline(StandardScaler(), HandMadeRisk())
    frozen = FrozenEstimator(clone(piped).fit(X, Y))
    model = Deferral(frozen, rule=BudgetRule(0.2)).fit(FRESH.X, FRESH.y)
    assert model.defer(FRESH.X).mean() == pytest.approx(0.2, abs=0.005)
    search = GridSearchCV(
        HandMadeRisk(), {"degree": [0, 1]}, scoring=risk_scorer("deferral_loss", cost=0.7)
    )
    assert search.fit(X, Y).best_params_ == {"degree": 1}


def test_cascade_of_frozen_ones():
    first, second = HandMadeRisk(degree=0).fit(X, Y), HandMadeRisk().fit(X, Y)
    cascade = Cascade(
        [FrozenEstimator(first), FrozenEstimator(second)], fee=[0.02, 0.1], expert=0.05
    )
    decision = cascade.fit(FRESH.X, FRESH.y).decide(X)
    assert decision.deferred.any()
    assert_allclose(decision.risk[decision.deferred], 0.05)


@pytest.mark.parametrize(
    "display",
    [CostCurveDisplay, RiskCalibrationDisplay, RiskCoverageDisplay, RiskProfileDisplay],
)
def test_displays_draw_it(display):
    drawn = display.from_estimator(HandMadeRisk().fit(X, Y), FRESH.X, FRESH.y)
    assert drawn.ax_.get_legend_handles_labels()[1]
    assert "HandMadeRisk" in " ".join(drawn.ax_.get_legend_handles_labels()[1])


def test_scorers_score_it():
    found = cross_val_score(HandMadeRisk(), X, Y, scoring=risk_scorer("aurc"), cv=3)
    assert np.isfinite(found).all()


def test_responses_are_computed_once_by_those_that_assess():
    calls = []

    class Counted(HandMadeRisk):
        def predict(self, X, *, prediction=None):
            calls.append("predict")
            return super().predict(X)

        def assess(self, X, y=None, *, prediction=None):
            said = self.predict(X)
            return said, self.predict_risk(X), None if y is None else (said - y) ** 2

    model = Deferral(FrozenEstimator(Counted().fit(X, Y)), cost=0.7).fit(FRESH.X, FRESH.y)
    calls.clear()
    model.decide(FRESH.X)
    model.score(FRESH.X, FRESH.y)
    assert calls == ["predict", "predict"]
