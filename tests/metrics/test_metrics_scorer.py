"""Metrics as scorers, in searches, cross-validation and metadata routing."""

import pickle
from functools import partial

import numpy as np
import pytest
from sklearn import config_context
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.exceptions import UnsetMetadataPassedError
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from condrisk.metrics import (
    aurc,
    coverage_at_risk,
    deferral_loss,
    deferral_rate,
    risk_coverage_curve,
    risk_error,
    risk_scorer,
)


class MeanWithRisk(RegressorMixin, BaseEstimator):
    """Predicts the mean; its risk is `scale` times the square of the first feature."""

    def __init__(self, scale=1.0):
        self.scale = scale

    def fit(self, X, y, sample_weight=None):
        self.mean_ = np.average(y, weights=sample_weight)
        return self

    def predict(self, X):
        return np.full(len(X), self.mean_)

    def predict_risk(self, X):
        return self.scale * np.asarray(X)[:, 0] ** 2

    def loss_values(self, X, y):
        return (self.predict(X) - y) ** 2


@pytest.fixture
def data(seed):
    """The target is x or -x by the toss of a coin, so the risk of predicting zero is x²."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(300, 2))
    return X, X[:, 0] * rng.choice([-1, 1], size=300), rng.uniform(0.1, 2.0, 300)


def by_hand(metric, model, X, y, **options):
    return metric(model.loss_values(X, y), model.predict_risk(X), **options)


def test_sign(data):
    X, y, weight = data
    model = MeanWithRisk().fit(X, y)
    value = by_hand(aurc, model, X, y)
    assert risk_scorer(aurc)(model, X, y) == -value
    assert risk_scorer("aurc")(model, X, y) == -value
    assert risk_scorer("aurc", greater_is_better=True)(model, X, y) == value
    weighted = by_hand(aurc, model, X, y, sample_weight=weight)
    assert risk_scorer("aurc")(model, X, y, sample_weight=weight) == -weighted


def test_more_coverage_is_better(data):
    X, y, _ = data
    model = MeanWithRisk().fit(X, y)
    value = by_hand(coverage_at_risk, model, X, y, target=0.5)
    assert 0 < value < 1
    assert risk_scorer("coverage_at_risk", target=0.5)(model, X, y) == value
    assert risk_scorer(coverage_at_risk, target=0.5)(model, X, y) == value
    turned = risk_scorer("coverage_at_risk", target=0.5, greater_is_better=False)
    assert turned(model, X, y) == -value
    assert repr(turned) == "risk_scorer(coverage_at_risk, greater_is_better=False, target=0.5)"
    for name, options in {"augrc": {}, "risk_at_coverage": {"coverage": 0.5}}.items():
        assert risk_scorer(name, **options)(model, X, y) < 0


def test_a_search_takes_the_ranking_that_covers_most(data):
    X, y, _ = data
    scorer = risk_scorer("coverage_at_risk", target=0.5)
    search = GridSearchCV(MeanWithRisk(), {"scale": [-1.0, 1.0]}, scoring=scorer).fit(X, y)
    assert search.best_params_ == {"scale": 1.0}


@pytest.mark.parametrize("name", ["risk_error", "excess_aurc", "risk_calibration_error"])
def test_every_metric_of_one_number_has_its_name(name, data):
    X, y, _ = data
    assert risk_scorer(name)(MeanWithRisk().fit(X, y), X, y) < 0


def test_metrics_with_a_cost(data):
    X, y, _ = data
    model = MeanWithRisk().fit(X, y)
    expected = by_hand(partial(deferral_loss, cost=0.5), model, X, y)
    assert risk_scorer("deferral_loss", cost=0.5)(model, X, y) == -expected
    rate = deferral_rate(model.predict_risk(X), 0.5)
    assert risk_scorer(deferral_rate, cost=0.5)(model, X, y) == -rate


def test_functions_of_the_user(data):
    X, y, weight = data
    model = MeanWithRisk().fit(X, y)

    def bias(z, g):
        return abs(np.mean(z) - np.mean(g))

    assert risk_scorer(bias)(model, X, y) == -by_hand(bias, model, X, y)
    absolute = risk_scorer(partial(risk_error, norm=1))
    assert absolute(model, X, y) == -by_hand(risk_error, model, X, y, norm=1)
    with pytest.raises(TypeError, match="sample_weight"):
        risk_scorer(bias)(model, X, y, sample_weight=weight)


@pytest.mark.parametrize(
    "wrap", [lambda model: model, lambda m: make_pipeline(StandardScaler(), m)]
)
def test_cross_validation(data, wrap):
    X, y, _ = data
    model, splits = wrap(MeanWithRisk()), KFold(4)
    scores = cross_val_score(model, X, y, cv=splits, scoring=risk_scorer("aurc"))
    for score, (train, test) in zip(scores, splits.split(X), strict=True):
        fitted = clone(model).fit(X[train], y[train])
        seen = fitted[:-1].transform(X[test]) if hasattr(fitted, "steps") else X[test]
        last = fitted[-1] if hasattr(fitted, "steps") else fitted
        assert score == pytest.approx(-by_hand(aurc, last, seen, y[test]))


def test_search_finds_the_scale_of_the_true_risk(data):
    X, y, weight = data
    search = GridSearchCV(
        MeanWithRisk(), {"scale": [0.01, 1.0, 100.0]}, scoring=risk_scorer("risk_error")
    )
    search.fit(X, y)
    assert search.best_params_ == {"scale": 1.0}
    assert risk_scorer("aurc")(search, X, y) == risk_scorer("aurc")(search.best_estimator_, X, y)
    weighted = clone(search).fit(X, y, sample_weight=weight)
    assert not np.allclose(
        search.cv_results_["mean_test_score"], weighted.cv_results_["mean_test_score"]
    )


def test_several_scorers_at_once(data):
    X, y, weight = data
    scoring = {"area": risk_scorer("aurc"), "paid": risk_scorer("deferral_loss", cost=0.5)}
    results = cross_validate(MeanWithRisk(), X, y, scoring=scoring)
    alone = cross_val_score(MeanWithRisk(), X, y, scoring=scoring["paid"])
    assert np.array_equal(results["test_paid"], alone)
    together = GridSearchCV(MeanWithRisk(), {"scale": [1.0]}, scoring=scoring, refit="paid")
    together.fit(X, y, sample_weight=weight)
    single = GridSearchCV(MeanWithRisk(), {"scale": [1.0]}, scoring=scoring["area"])
    single.fit(X, y, sample_weight=weight)
    assert together.cv_results_["mean_test_area"] == single.cv_results_["mean_test_score"]


def test_metadata_routing(data):
    X, y, weight = data
    with config_context(enable_metadata_routing=True):
        model = MeanWithRisk().set_fit_request(sample_weight=False)
        scorer = risk_scorer("aurc")
        options = {"params": {"sample_weight": weight}, "cv": KFold(3)}
        with pytest.raises(UnsetMetadataPassedError, match="sample_weight"):
            cross_val_score(model, X, y, scoring=scorer, **options)
        assert scorer.set_score_request(sample_weight=True) is scorer
        scores = cross_val_score(model, X, y, scoring=scorer, **options)
    for score, (train, test) in zip(scores, KFold(3).split(X), strict=True):
        fitted = clone(model).fit(X[train], y[train])
        expected = by_hand(aurc, fitted, X[test], y[test], sample_weight=weight[test])
        assert score == pytest.approx(-expected)


def test_metadata_routing_under_another_name_through_a_search(data):
    X, y, weight = data
    with config_context(enable_metadata_routing=True):
        scorer = risk_scorer("risk_error").set_score_request(sample_weight="importance")
        search = GridSearchCV(
            MeanWithRisk().set_fit_request(sample_weight=False),
            {"scale": [1.0]},
            scoring={"error": scorer},
            refit=False,
            cv=KFold(3),
        )
        search.fit(X, y, importance=weight)
    expected = []
    for train, test in KFold(3).split(X):
        fitted = MeanWithRisk().fit(X[train], y[train])
        expected.append(-by_hand(risk_error, fitted, X[test], y[test], sample_weight=weight[test]))
    assert search.cv_results_["mean_test_error"] == pytest.approx([np.mean(expected)])


def test_requests_need_routing_and_a_metric_with_weights():
    with pytest.raises(RuntimeError, match="enable_metadata_routing=True"):
        risk_scorer("aurc").set_score_request(sample_weight=True)
    with (
        config_context(enable_metadata_routing=True),
        pytest.raises(TypeError, match="takes no sample_weight"),
    ):
        risk_scorer(lambda z, g: 0.0).set_score_request(sample_weight=True)


def test_pickle_and_clone(data):
    X, y, weight = data
    model = MeanWithRisk().fit(X, y)
    with config_context(enable_metadata_routing=True):
        scorer = risk_scorer("deferral_loss", cost=0.5).set_score_request(sample_weight="w")
        for copy in (pickle.loads(pickle.dumps(scorer)), clone(scorer, safe=False)):
            assert copy(model, X, y, sample_weight=weight) == scorer(
                model, X, y, sample_weight=weight
            )
            assert copy.get_metadata_routing().score.requests == {"sample_weight": "w"}


def test_repr():
    assert repr(risk_scorer("deferral_loss", cost=0.5)) == "risk_scorer(deferral_loss, cost=0.5)"
    assert repr(risk_scorer(aurc, greater_is_better=True)) == (
        "risk_scorer(aurc, greater_is_better=True)"
    )


@pytest.mark.parametrize(
    ("metric", "options", "error", "message"),
    [
        ("accuracy", {}, ValueError, "metric must be one of .*'aurc'.*'accuracy'"),
        (3, {}, TypeError, "metric must be a name or a function, got 3"),
        ("deferral_loss", {}, TypeError, "deferral_loss .* missing a required argument: 'cost'"),
        ("deferral_rate", {}, TypeError, "deferral_rate .* missing a required argument: 'cost'"),
        ("aurc", {"cost": 0.5}, TypeError, "aurc .* unexpected keyword argument 'cost'"),
    ],
)
def test_bad_metric(metric, options, error, message):
    with pytest.raises(error, match=message):
        risk_scorer(metric, **options)


def test_curves_are_no_scorers(data):
    X, y, _ = data
    with pytest.raises(TypeError, match=r"metric must give one number.*risk_coverage_curve"):
        risk_scorer(risk_coverage_curve)(MeanWithRisk().fit(X, y), X, y)


def test_estimator_without_a_risk(data):
    X, y, _ = data
    with pytest.raises(AttributeError, match="predict_risk"):
        risk_scorer("aurc")(StandardScaler().fit(X), X, y)
