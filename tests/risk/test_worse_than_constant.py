"""The warning about a predictor that a constant answer would beat."""

import warnings

import numpy as np
import pytest
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from condrisk import AutoRisk, Deferral, HybridRisk, PlugInRisk, RegressionRisk, make_loss
from condrisk.losses import averaged, huber, pinball
from condrisk.metrics import risk_scorer

WARNING = "the predictor is worse than a constant"
MEAN = DummyRegressor()  # regresses losses, quickly


def rare_classes(n=600, seed=0):
    """Return rows of two classes that can be told apart, and of a third, rare one."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    y = np.where(X[:, 0] + 0.6 * rng.normal(size=n) > 0, "a", "b")
    return X, np.where(rng.random(n) < 0.02, "rare", y)


def is_warned(predictor, X, y, *, loss=None, params=None, **more):
    risk = RegressionRisk(predictor, loss=loss, regressor=MEAN, random_state=0, **more)
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        risk.fit(X, y, **(params or {}))
    return any(str(warning.message).startswith(WARNING) for warning in found)


def test_the_score_of_the_risk_picks_a_constant_and_what_deferring_costs_does_not():
    X, y = rare_classes()
    constant = DummyClassifier(strategy="constant", constant="rare")
    risk = RegressionRisk(LogisticRegression(), regressor=Ridge(), random_state=0)
    predictors = [LogisticRegression(), constant]
    with pytest.warns(UserWarning, match=rf"{WARNING}.* that of always answering [ab] 0\.4"):
        trap = GridSearchCV(risk, {"predictor": predictors}, cv=2).fit(X, y)
    assert trap.best_params_["predictor"] is constant
    grid = {"risk__predictor": predictors}
    with pytest.warns(UserWarning, match=WARNING):
        search = GridSearchCV(Deferral(risk, cost=0.3), grid, cv=2).fit(X, y)
    assert search.best_params_["risk__predictor"] is predictors[0]
    scorer = risk_scorer("deferral_loss", cost=0.3)
    with pytest.warns(UserWarning, match=WARNING):
        search = GridSearchCV(risk, {"predictor": predictors}, cv=2, scoring=scorer).fit(X, y)
    assert search.best_params_["predictor"] is predictors[0]


def always(label):
    return DummyClassifier(strategy="constant", constant=label)


@pytest.mark.parametrize(
    ("loss", "bad", "good"),
    [
        (None, always("rare"), always("a")),
        ("log_loss", DummyClassifier(strategy="uniform"), DummyClassifier(strategy="prior")),
        ("brier", DummyClassifier(strategy="uniform"), DummyClassifier(strategy="prior")),
        ([[0, 1, 1], [5, 0, 1], [1, 1, 0]], always("a"), always("b")),
    ],
)
def test_classes(loss, bad, good):
    X, y = rare_classes()
    kept = (y != "b") | (np.arange(len(y)) % 3 == 0)  # "a" is the most frequent by far
    assert is_warned(bad, X[kept], y[kept], loss=loss)
    assert not is_warned(good, X[kept], y[kept], loss=loss)
    assert not is_warned(LogisticRegression(), X[kept], y[kept], loss=loss)


@pytest.mark.parametrize(
    "loss", [None, "absolute_error", pinball(0.9), huber(0.5), make_loss(lambda y, p: (y - p) ** 4)]
)
def test_numbers(loss):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2))
    y = 0.2 * X[:, 0] + rng.normal(size=300)
    assert is_warned(DummyRegressor(strategy="constant", constant=4.0), X, y, loss=loss)
    assert not is_warned(LinearRegression(), X, y, loss=None if loss == pinball(0.9) else loss)


def test_a_predictor_that_ignores_its_loss_is_named():
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(400, 2)), rng.normal(size=400)
    assert is_warned(DummyRegressor(), X, y, loss=pinball(0.95))
    quantile = DummyRegressor(strategy="quantile", quantile=0.95)
    assert not is_warned(quantile, X, y, loss=pinball(0.95))


def test_the_best_answer_to_several_labels_is_known_by_their_costs():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(200, 2)), (rng.random((200, 2)) < [0.7, 0.5]).astype(int)
    for loss in ("hamming", averaged([[0, 1], [5, 0]])):
        assert is_warned(DummyClassifier(strategy="constant", constant=[0, 0]), X, y, loss=loss)
        assert not is_warned(DummyClassifier(strategy="constant", constant=[1, 1]), X, y, loss=loss)


def test_noise_is_not_blamed_on_the_predictor():
    """A full tree learns noise: twice the loss of the mean on new rows, none on its own."""
    fired = 0
    for seed in range(200):
        rng = np.random.default_rng(seed)
        X, y = rng.normal(size=(80, 3)), rng.normal(size=80)
        if seed % 2:
            fired += is_warned(DecisionTreeRegressor(random_state=0), X, y, cv=2)
        else:
            fired += is_warned(DecisionTreeClassifier(random_state=0), X, (y > 0.8) * 1, cv=2)
    assert fired == 0


def test_an_external_predictor_is_judged_where_there_are_targets():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(100, 2)), rng.normal(size=100)
    far = {"prediction": np.full(100, 3.0)}
    assert is_warned("precomputed", X, y, loss="squared_error", params=far)
    assert not is_warned("precomputed", X, None, params={"loss": (y - 3.0) ** 2})


def test_weights_and_groups_decide_what_counts():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(300, 2)), rng.normal(size=300)
    good = np.arange(300) < 150
    prediction = np.where(good, 0.9 * y, y + 3.0)
    how = {"loss": "squared_error"}
    assert is_warned("precomputed", X, y, **how, params={"prediction": prediction})
    weights = {"prediction": prediction, "sample_weight": 1.0 * good}
    assert not is_warned("precomputed", X, y, **how, params=weights)
    # One group of 25 is predicted badly: that may be chance, however many rows it has.
    groups = np.arange(300) % 25
    bad = {"prediction": np.where(groups == 0, y + 9.0, y), "groups": groups}
    assert not is_warned("precomputed", X, y, **how, params=bad)
    all_bad = {"prediction": y + 3.0, "groups": groups}
    assert is_warned("precomputed", X, y, **how, params=all_bad)


@pytest.mark.parametrize("kind", [PlugInRisk, HybridRisk, AutoRisk])
def test_every_kind_of_risk_warns(kind):
    X, y = rare_classes(200)
    more = {} if kind is AutoRisk else {"probability": GaussianNB()}
    with pytest.warns(UserWarning, match=WARNING):
        kind(always("rare"), cv=2, random_state=0, **more).fit(X, y)
    kind(LogisticRegression(), cv=2, random_state=0, **more).fit(X, y)
