"""Risks and rules in a graph: against formulas in numpy, and against Python row by row."""

import numpy as np
import polars as pl
import pytest
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
)
from sklearn.frozen import FrozenEstimator
from sklearn.impute import SimpleImputer
from sklearn.linear_model import BayesianRidge, LinearRegression, LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from condrisk import (
    AutoRisk,
    BudgetRule,
    CostRule,
    Deferral,
    ExpertRule,
    HybridRisk,
    PlugInRisk,
    RegressionRisk,
)
from condrisk.app.export import ExportError, check_onnx, to_onnx
from condrisk.deferral import (
    ExpertRisk,
    ExploringRule,
    RateControlRule,
    RiskControlRule,
    SupportRule,
)
from condrisk.learners import DistributionRegressor
from condrisk.losses import get_loss, huber, pinball
from condrisk.shift import ForestSupport

LABELS = np.array(["no", "yes", "maybe"])


def rows(seed=0, n=300, *, gaps=False):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    X[:, 1] = rng.integers(0, 5, n)
    y = X[:, 0] + X[:, 1] * X[:, 2] / 3 + np.exp(X[:, 0] / 2) * rng.normal(size=n)
    if gaps:
        X[rng.random(X.shape) < 0.08] = np.nan
    return X, y


def words(y, n_classes):
    return LABELS[np.digitize(y, [0.0] if n_classes == 2 else [-1.0, 1.0])]


def as_frame(X):
    return pl.DataFrame({f"x{k}": column for k, column in enumerate(X.T)}).fill_nan(None)


def boosting(**more):
    return HistGradientBoostingClassifier(max_iter=15, **more)


def logistic():
    return make_pipeline(SimpleImputer(), StandardScaler(), LogisticRegression())


# -- plug-in risks --------------------------------------------------------------------------------

C = np.array([[0.0, 1.0, 2.0], [5.0, 0.0, 1.0], [1.0, 3.0, 0.5]])


def expected_loss(name, label, own, proba):
    """Return Σₖ ℓ(f(x), k) pₖ(x) by its definition, a sum over classes."""
    total = np.zeros(len(proba))
    for k in range(proba.shape[1]):
        truth = np.eye(proba.shape[1])[k]
        value = {
            "zero_one": label != k,
            "cost": C[k, label],
            "brier": ((own - truth) ** 2).sum(axis=1),
            "log_loss": -np.log(np.maximum(own[:, k], np.finfo(float).eps)),
        }[name]
        total += value * proba[:, k]
    return total


@pytest.mark.parametrize("name", ["zero_one", "cost", "brier", "log_loss"])
def test_plug_in_risks_are_expected_losses(name, run_graph):
    X, y = rows()
    labels = words(y, 3)
    # Overgrown, so that some of its probabilities are zero or one.
    predictor = RandomForestClassifier(5, random_state=0).fit(X, labels)
    probability = logistic().fit(X, labels)
    risk = PlugInRisk(
        FrozenEstimator(predictor),
        loss=C if name == "cost" else name,
        probability=FrozenEstimator(probability),
        calibration=None,
    )
    model = Deferral(risk, cost=0.4).fit(X, labels)
    new = rows(1, 1000)[0]
    found = run_graph(to_onnx(model, schema=X), as_frame(new))
    own = predictor.predict_proba(new)
    top = np.sort(own, axis=1)
    clear = top[:, -1] > top[:, -2]
    expected = expected_loss(name, own.argmax(axis=1), own, probability.predict_proba(new))
    np.testing.assert_allclose(found["risk"][clear], expected[clear], atol=1e-12)
    assert (own == 0).any()
    assert found["prediction"][clear].tolist() == predictor.predict(new)[clear].tolist()
    assert found["defer"].tolist() == (found["risk"] > 0.4).tolist()


def test_classes_that_only_one_of_the_models_knows_are_matched_by_label(run_graph):
    X, y = rows()
    labels = words(y, 3)
    two = labels != "maybe"
    predictor = logistic().fit(X[two], labels[two])
    probability = boosting().fit(X, labels)
    risk = PlugInRisk(
        FrozenEstimator(predictor),
        loss="log_loss",
        probability=FrozenEstimator(probability),
        calibration=None,
    )
    model = Deferral(risk, cost=1.0).fit(X[two], labels[two])
    new = rows(1, 500)[0]
    found = run_graph(to_onnx(model, schema=X), as_frame(new))["risk"]
    maybe, no, yes = probability.predict_proba(new).T  # in sorted order
    own = predictor.predict_proba(new)
    expected = -no * np.log(own[:, 0]) - yes * np.log(own[:, 1]) + maybe * np.log(2**52)
    np.testing.assert_allclose(found, expected, rtol=1e-10)


def agrees(model, X, *, gaps=False):
    """Assert that a graph agrees with Python on random rows, new rows and the rows fitted on."""
    graph = to_onnx(model, schema=X)  # which looks at random rows
    for frame in (as_frame(rows(5, 500, gaps=gaps)[0]), as_frame(X)):
        found = check_onnx(graph, model, frame, schema=X)
        assert found.wrong == ()
        assert found.largest <= 1
    return graph


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("calibration", ["temperature", "sigmoid", "isotonic"])
def test_calibrated_probabilities(calibration, n_classes):
    """Calibrated are decision functions (boosting), probabilities (forests), and margins alone."""
    X, y = rows()
    labels = words(y, n_classes)
    forest = RandomForestClassifier(15, random_state=0)
    margins = make_pipeline(StandardScaler(), LinearSVC())
    for probability in (boosting(random_state=0), forest, margins):
        risk = PlugInRisk(
            boosting(random_state=1), probability=probability, calibration=calibration, cv=3
        )
        agrees(Deferral(risk, cost=0.3).fit(X, labels), X)


def test_a_predictor_that_has_margins_alone():
    X, y = rows()
    predictor = make_pipeline(StandardScaler(), LinearSVC())
    for n_classes in (2, 3):
        risk = PlugInRisk(predictor, probability=logistic(), cv=3)
        agrees(Deferral(risk, cost=0.3).fit(X, words(y, n_classes)), X)


# -- hybrid and automatic risks -------------------------------------------------------------------


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize(
    "options",
    [
        {"loss": "log_loss"},
        {"regressor": Ridge()},
        {"regressor": HistGradientBoostingRegressor(max_iter=9), "features": "plug-in+x"},
    ],
    ids=["scaled", "regressed", "regressed on the row too"],
)
def test_hybrid_risks(options, n_classes):
    X, y = rows()
    models = [logistic(), RandomForestClassifier(9, random_state=0)]
    risk = HybridRisk(boosting(random_state=0), probability=models, cv=3, **options)
    agrees(Deferral(risk, cost=0.3).fit(X, words(y, n_classes)), X)


def test_the_pool_of_a_hybrid_risk_by_its_definition(run_graph):
    X, y = rows()
    labels = words(y, 3)
    predictor, other = logistic().fit(X, labels), boosting().fit(X, labels)
    risk = HybridRisk(FrozenEstimator(predictor), probability=FrozenEstimator(other))
    model = Deferral(risk, cost=0.3).fit(X, labels)
    new = rows(1, 500)[0]
    found = run_graph(to_onnx(model, schema=X), as_frame(new))["risk"]
    fitted = model.risk_
    own, theirs = predictor.predict_proba(new), other.predict_proba(new)
    logs = fitted.pool_.weights[0] * np.log(np.maximum(theirs, 1e-6))
    logs += fitted.pool_.weights[1] * np.log(np.maximum(own, 1e-6)) + fitted.pool_.shifts
    pooled = np.exp(logs) / np.exp(logs).sum(axis=1, keepdims=True)
    label = own.argmax(axis=1)
    expected = fitted.scale_ * (1 - pooled[np.arange(500), label])
    assert expected.max() > 1  # more than any loss can be
    np.testing.assert_allclose(found, np.minimum(expected, 1.0), rtol=1e-10)


@pytest.mark.parametrize(
    ("predictor", "loss", "n_classes"),
    [
        (None, None, 0),
        (None, pinball(0.8), 0),
        (LinearRegression(), None, 0),
        (None, None, 2),
        (None, [[0, 1], [5, 0]], 2),
        (boosting(random_state=0), "brier", 3),
        (make_pipeline(SimpleImputer(), LinearSVC()), None, 2),
    ],
    ids=[
        "stack of regressors",
        "a quantile of a stack's distribution",
        "linear",
        "stack of classifiers",
        "the cheapest label by a stack",
        "boosting",
        "margins",
    ],
)
def test_automatic_risks(predictor, loss, n_classes):
    """Stacks with Gaussian processes, pools, forests on roots: with gaps where the model may."""
    gaps = not isinstance(predictor, LinearRegression)
    X, y = rows(n=180, gaps=gaps)
    y = words(y, n_classes) if n_classes else y
    risk = AutoRisk(predictor, loss=loss, cv=3, random_state=0)
    model = Deferral(risk, cost=0.5).fit(X, y)
    mixed = model.risk_.mixture_ or model.risk_.committee_
    assert mixed.shares["mean"] < 1
    agrees(model, X, gaps=gaps)


def test_a_forest_that_sees_the_row_alone():
    rng = np.random.default_rng(0)
    X = rng.integers(5, size=(150, 3)).astype(float)
    spread = np.array([0.2, 2.0, 0.3, 1.5, 0.1])[X[:, 2].astype(int)]
    y = X[:, 0] + spread * rng.normal(size=150)
    model = Deferral(AutoRisk(cv=3, random_state=0), cost=0.5).fit(X, y)
    model.risk_.committee_.keep("forest on the row")
    agrees(model, X)


def test_a_prediction_that_is_searched_for_is_refused():
    X, y = rows(n=60)
    model = Deferral(AutoRisk(loss=huber(0.5), cv=2, random_state=0), cost=0.5).fit(X, y)
    with pytest.raises(ExportError, match="huber is searched for"):
        to_onnx(model, schema=X)


def light(**options):
    few = HistGradientBoostingRegressor(max_iter=15, random_state=0)
    return DistributionRegressor(few, few, **options)


@pytest.mark.filterwarnings("ignore:the predictor is worse")  # a mean is no quantile
@pytest.mark.parametrize(
    "loss", ["squared_error", "absolute_error", pinball(0.9), huber(0.7)], ids=str
)
def test_plug_in_risks_of_numbers_are_expected_losses(loss, run_graph):
    """The same integral as a plain sum over the residuals, for every row."""
    X, y = rows(gaps=True)
    predictor = make_pipeline(SimpleImputer(), Ridge())
    risk = PlugInRisk(predictor, loss=loss, distribution=light(), cv=3, random_state=0)
    model = Deferral(risk, cost=1.0).fit(X, y)
    graph = agrees(model, X, gaps=True)
    new = rows(1, 200, gaps=True)[0]
    law, f = model.risk_.distribution_, model.predict(new)
    mean, std = law.predict(new), law.predict_std(new)
    total = np.zeros(len(new))
    for e, weight in zip(law.residuals_, law.residual_weights_, strict=True):
        total += weight * get_loss(loss)(mean + std * e, f)
    np.testing.assert_allclose(run_graph(graph, as_frame(new))["risk"], total, rtol=1e-6)


@pytest.mark.parametrize(
    "options",
    [{}, {"regressor": Ridge()}, {"regressor": Ridge(), "features": "plug-in+x"}],
    ids=["corrected", "regressed", "regressed on the row too"],
)
def test_hybrid_risks_of_numbers(options):
    X, y = rows()
    risk = HybridRisk(Ridge(), distribution=light(), cv=3, random_state=0, **options)
    model = Deferral(risk, cost=1.0).fit(X, y)
    agrees(model, X)
    if not options:
        assert model.risk_.correction_.shares.any()


def test_the_default_distribution_around_a_frozen_predictor():
    X, y = rows(n=150)
    frozen = PlugInRisk(FrozenEstimator(Ridge().fit(X, y)), cv=3, random_state=0)
    agrees(Deferral(frozen, cost=1.0).fit(X, y), X)


def test_the_response_may_be_among_the_inputs_of_the_risk():
    X, y = rows()
    agrees(Deferral(RegressionRisk(Ridge(), features="x+response", cv=3), cost=1.0).fit(X, y), X)
    classes = RegressionRisk(logistic(), regressor=Ridge(), cv=3)
    agrees(Deferral(classes, cost=0.2).fit(X, words(y, 3)), X)


def test_steps_before_the_risk():
    X, y = rows(gaps=True)
    risk = RegressionRisk(Ridge(), regressor=Ridge(), cv=3)
    model = Deferral(make_pipeline(SimpleImputer(), risk), cost=1.0).fit(X, y)
    agrees(model, X, gaps=True)


# -- rules ----------------------------------------------------------------------------------------


def expert():
    X, y = rows(11)
    risk = ExpertRisk("squared_error", regressor=Ridge(), random_state=0)
    return FrozenEstimator(risk.fit(X, y, prediction=y + 0.4 * X[:, 0]))


def noisy_expert():
    X, y = rows(11)
    said = np.where(X[:, 0] > 0, "yes", "no")
    risk = ExpertRisk("zero_one", regressor=Ridge(), noise=0.1, random_state=0)
    return FrozenEstimator(risk.fit(X, words(y, 2), prediction=said))


RULES = {
    "budget": BudgetRule(0.3),
    "risk control": RiskControlRule(1.3, cap=6.0, confidence=0.7, random_state=0),
    "rate control": RateControlRule(0.4, cap=9.0, random_state=0),
    "experts with known risks": ExpertRule([0.5, 0.8], fee=[0.6, 0.1], noise=0.0),
    "an expert with an estimated risk": ExpertRule([expert(), 3.0], fee=0.4),
    "support": SupportRule(rate=0.2),
    "support and a budget": SupportRule(BudgetRule(0.1), rate=0.1),
}


@pytest.mark.parametrize("name", RULES)
def test_rules(name, run_graph):
    X, y = rows()
    regressor = HistGradientBoostingRegressor(max_iter=15, random_state=0)
    risk = RegressionRisk(Ridge(), regressor=regressor, cv=3, random_state=0)
    model = Deferral(risk, cost=1.0, rule=RULES[name]).fit(X, y)
    graph = agrees(model, X)
    new = rows(6, 1000)[0] * 1.5
    deferred = model.decide(new).deferred
    assert run_graph(graph, as_frame(new))["defer"].tolist() == deferred.tolist()
    assert 0 < deferred.mean() < 1


def test_labels_that_may_be_flipped(run_graph):
    X, y = rows()
    theirs = noisy_expert()
    rule = ExpertRule(theirs, fee=0.02, noise=0.2)
    model = Deferral(PlugInRisk(logistic(), cv=3), cost=0.0, rule=rule).fit(X, words(y, 2))
    new = rows(6, 1000)[0]
    found = run_graph(agrees(model, X), as_frame(new))
    corrected = np.clip((found["risk"] - 0.2) / 0.6, 0, 1)
    expected = corrected > theirs.estimator.predict_risk(new) + 0.02
    assert found["defer"].tolist() == expected.tolist()
    assert 0 < expected.mean() < 1


def test_a_threshold_of_minus_infinity_defers_everything(run_graph):
    X, y = rows()
    model = Deferral(RegressionRisk(Ridge(), regressor=Ridge(), cv=3), rule=BudgetRule(1.0))
    graph = agrees(model.fit(X, y), X)
    assert run_graph(graph, as_frame(rows(3)[0]))["defer"].all()


# -- what is refused ------------------------------------------------------------------------------


class TheirRisk(RegressionRisk):
    """A stranger's risk estimator, which may compute anything."""


class TheirRule(CostRule):
    """A stranger's rule."""


class TheirModel(Ridge):
    """A stranger's predictor."""


def double(y_true, y_pred):
    return 2.0 * (y_true != y_pred)


@pytest.mark.parametrize(
    ("risk", "rule", "message"),
    [
        (TheirRisk(Ridge()), None, "risk estimator TheirRisk cannot be .* RegressionRisk, Plug"),
        (RegressionRisk(TheirModel()), None, "regressor TheirModel cannot be .* linear models"),
        (RegressionRisk(Ridge()), TheirRule(), "rule TheirRule cannot be .* CostRule, Budget"),
        (RegressionRisk(Ridge()), ExploringRule(), "ExploringRule draws at random"),
        (RegressionRisk(Ridge()), ExpertRule(0.1, capacity=3), "with capacities decides about a"),
        (
            RegressionRisk(Ridge()),
            SupportRule(support=ForestSupport(), minimum=1.0),
            "support ForestSupport cannot be .* DistanceSupport can",
        ),
        (PlugInRisk(logistic(), loss=double), None, "loss CustomLoss cannot be .*zero_one"),
        (
            HybridRisk(Ridge(), distribution=BayesianRidge()),
            None,
            "distribution BayesianRidge cannot be .* DistributionRegressor can",
        ),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_cannot_be_converted_is_refused_with_the_reason(risk, rule, message):
    X, y = rows()
    y = words(y, 2) if isinstance(risk, PlugInRisk) else y
    if not isinstance(risk, PlugInRisk):
        risk.set_params(regressor=Ridge(), cv=2)
    model = Deferral(risk, cost=0.5, rule=rule).fit(X, y)
    with pytest.raises(ExportError, match=message):
        to_onnx(model, schema=X)


def test_a_risk_estimator_alone_has_nothing_to_decide():
    X, y = rows()
    risk = RegressionRisk(Ridge(), regressor=Ridge(), cv=3).fit(X, y)
    with pytest.raises(ExportError, match="no cost of deferring"):
        to_onnx(risk, schema=X)
