"""Classification worlds: closed forms against Monte Carlo, Bayes' rule and brute force."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal, norm
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.tree import DecisionTreeClassifier
from world_checks import (
    CLASS_LOSSES,
    Constant,
    as_loss,
    assert_loss_matches_proba,
    assert_mean_zero,
    each_class_world,
    each_mixture,
    functions_of,
    response_of,
)

from condrisk.datasets import (
    make_gaussian_mixture,
    make_separable,
)
from condrisk.losses import get_loss, huber, make_loss, pinball


def centres_of(n_classes, n_features, separation):
    """Return points on a line or, in the plane of the first two features, on a circle."""
    centres = np.zeros((n_classes, n_features))
    if n_features == 1:
        centres[:, 0] = separation * np.arange(n_classes)
        return centres - centres.mean()
    around = np.exp(2j * np.pi * np.arange(n_classes) / n_classes)
    around *= separation / abs(around[1] - around[0])
    centres[:, 0], centres[:, 1] = around.real, around.imag
    return centres


@each_mixture
def test_mixture_proba_is_bayes_rule(make, seed):
    world = make(300, random_state=seed)
    law = world.law
    centres = centres_of(law.n_classes, law.n_features, law.separation)
    joint = np.column_stack(
        [p * multivariate_normal(c).pdf(world.X) for p, c in zip(law.priors, centres, strict=True)]
    )
    expected = joint / joint.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(world.proba(world.X), expected, rtol=1e-9, atol=1e-14)


@each_mixture
def test_mixture_rows_are_normal_around_their_centre(make, seed):
    world = make(40_000, random_state=seed)
    law = world.law
    assert_mean_zero((world.y[:, None] == world.classes) - np.array(law.priors))
    offset = world.X - centres_of(law.n_classes, law.n_features, law.separation)[world.y]
    for k in world.classes:
        own = offset[world.y == k]
        assert_mean_zero(own)
        assert_mean_zero(own**2 - 1)
        assert_mean_zero((np.abs(own) < 1) - (norm.cdf(1) - norm.cdf(-1)))


@each_class_world
def test_proba_are_the_frequencies_of_y(make, seed):
    world = make(40_000, random_state=seed)
    proba = world.proba(world.X)
    truth = world.y[:, None] == world.classes
    for k in world.classes:
        deciles = np.zeros((len(proba), 10))
        order = np.argsort(proba[:, k], kind="stable")
        deciles[order, np.arange(len(order)) * 10 // len(order)] = 1
        weights = np.column_stack([deciles, functions_of(world.X)])
        indicators = np.tile(world.classes == k, (len(proba), 1))
        assert_loss_matches_proba(truth[:, k], indicators, proba, weights)


@each_class_world
def test_proba_is_float64_between_zero_and_one_and_sums_to_one(make, seed):
    world = make(500, random_state=seed)
    X = np.vstack([world.X, 1e6 * world.X, np.zeros_like(world.X[:1])])
    proba = world.proba(X)
    assert proba.dtype == np.float64
    assert proba.shape == (len(X), len(world.classes))
    assert ((proba >= 0) & (proba <= 1)).all()
    np.testing.assert_allclose(proba.sum(axis=1), 1.0, rtol=0, atol=1e-14)


@each_class_world
@pytest.mark.parametrize("loss", CLASS_LOSSES)
@pytest.mark.parametrize(
    "predictor", [LogisticRegression(), DecisionTreeClassifier(max_depth=4, random_state=0)]
)
def test_class_risk_is_the_mean_loss_of_fresh_rows(make, loss, predictor, seed):
    world = make(200, random_state=seed)
    predictor = predictor.fit(world.X, world.y)
    found = get_loss(as_loss(loss, len(world.classes)))
    fresh = world.sample(20_000, random_state=seed + 100)
    response = response_of(predictor, fresh.X, found)
    realised = found(fresh.y, response, classes=world.classes)
    losses, proba = found.rows(response, classes=world.classes), world.proba(fresh.X)
    assert_loss_matches_proba(realised, losses, proba, functions_of(fresh.X))
    risk = world.risk(predictor, fresh.X, loss=found)
    np.testing.assert_allclose(risk, (losses * proba).sum(axis=1), rtol=1e-10, atol=1e-10)


@each_class_world
@pytest.mark.parametrize("loss", CLASS_LOSSES)
def test_class_risk_is_a_sum_over_classes(make, loss, seed):
    world = make(200, random_state=seed)
    predictor = LogisticRegression().fit(world.X, world.y)
    found = get_loss(as_loss(loss, len(world.classes)))
    rows = world.sample(20, random_state=seed + 100).X
    response, proba = response_of(predictor, rows, found), world.proba(rows)
    expected = [
        sum(
            proba[i, k] * found([k], response[[i]], classes=world.classes)[0] for k in world.classes
        )
        for i in range(len(rows))
    ]
    risk = world.risk(predictor, rows, loss=as_loss(loss, len(world.classes)))
    np.testing.assert_allclose(risk, expected, rtol=1e-12, atol=1e-12)


def test_class_risk_takes_functions_and_defaults_to_zero_one(seed):
    world = make_gaussian_mixture(300, random_state=seed)
    predictor = LogisticRegression().fit(world.X, world.y)
    default = world.risk(predictor, world.X)
    wrong = world.risk(predictor, world.X, loss=lambda y, f: y != f)
    proba = make_loss(
        lambda y, f: 1 - f[np.arange(len(y)), y], response="predict_proba", minimum=0.0
    )
    np.testing.assert_allclose(default, wrong, atol=1e-14)
    chosen = world.proba(world.X)[np.arange(300), predictor.predict(world.X)]
    np.testing.assert_allclose(default, 1 - chosen, atol=1e-14)
    expected = 1 - (predictor.predict_proba(world.X) * world.proba(world.X)).sum(axis=1)
    np.testing.assert_allclose(world.risk(predictor, world.X, loss=proba), expected, atol=1e-12)


@pytest.mark.parametrize("seen", [[0], [1, 3], [0, 2, 3]])
@pytest.mark.parametrize("loss", CLASS_LOSSES)
def test_a_predictor_that_knows_some_classes_only(seen, loss, seed):
    world = make_gaussian_mixture(400, n_classes=4, random_state=seed)
    rows = np.isin(world.y, seen)
    predictor = DecisionTreeClassifier(max_depth=2).fit(world.X[rows], world.y[rows])
    found = get_loss(as_loss(loss, 4))
    if found.response == "predict":
        response = predictor.predict(world.X)
    else:
        response = np.zeros((400, 4))
        for column, label in enumerate(seen):
            response[:, label] = predictor.predict_proba(world.X)[:, column]
    cost = np.column_stack([found(np.full(400, k), response) for k in range(4)])
    expected = (cost * world.proba(world.X)).sum(axis=1)
    risk = world.risk(predictor, world.X, loss=found)
    np.testing.assert_allclose(risk, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("loss", CLASS_LOSSES)
def test_columns_are_aligned_by_label_not_by_position(loss, seed):
    world = make_gaussian_mixture(200, random_state=seed)
    predictor = LogisticRegression().fit(world.X, world.y)

    class Reversed:
        classes_ = predictor.classes_[::-1]
        predict = staticmethod(predictor.predict)

        @staticmethod
        def predict_proba(X):
            return predictor.predict_proba(X)[:, ::-1]

    loss = as_loss(loss, 3)
    np.testing.assert_array_equal(
        world.risk(Reversed(), world.X, loss=loss), world.risk(predictor, world.X, loss=loss)
    )


@pytest.mark.parametrize("loss", CLASS_LOSSES)
def test_no_predictor_beats_the_true_probabilities(loss, seed):
    """The losses are proper (and for a cost matrix the cheapest label is best): so is the truth."""
    world = make_gaussian_mixture(500, random_state=seed)
    loss = as_loss(loss, 3)

    class Truth:
        classes_ = world.classes

        def predict_proba(self, X):
            return world.proba(X)

        def predict(self, X):
            costs = 1 - np.eye(3) if isinstance(loss, str) else loss
            return np.argmin(world.proba(X) @ costs, axis=1)

    best = world.risk(Truth(), world.X, loss=loss)
    for other in (LogisticRegression(C=0.01), DummyClassifier(), RandomForestClassifier(5)):
        other.fit(world.X, world.y)
        assert (world.risk(other, world.X, loss=loss) >= best - 1e-12).all()


@pytest.mark.parametrize("n_classes", [2, 3, 5])
@pytest.mark.parametrize("n_features", [2, 4])
@pytest.mark.parametrize("make", [make_gaussian_mixture, make_separable])
def test_a_rotation_permutes_the_classes(make, n_classes, n_features, seed):
    world = make(200, n_classes=n_classes, n_features=n_features, random_state=seed)
    angle = 2 * np.pi / n_classes
    rotated = world.X.copy()
    rotated[:, :2] @= np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])
    rotated[:, 2:] = 9.0  # the features beyond the plane say nothing
    np.testing.assert_allclose(
        world.proba(rotated), np.roll(world.proba(world.X), 1, axis=1), atol=1e-12
    )


@pytest.mark.parametrize("make", [make_gaussian_mixture, make_separable])
def test_a_reflection_reverses_the_classes_on_a_line(make, seed):
    world = make(200, n_classes=4, n_features=1, random_state=seed)
    np.testing.assert_allclose(world.proba(-world.X), world.proba(world.X)[:, ::-1], atol=1e-12)


@pytest.mark.parametrize("n_classes", [2, 3, 6])
@pytest.mark.parametrize("n_features", [1, 2, 5])
def test_neighbouring_centres_are_as_far_apart_as_asked(n_classes, n_features):
    centres = centres_of(n_classes, n_features, 1.7)
    gaps = np.linalg.norm(centres[:, None] - centres[None], axis=2)
    np.testing.assert_allclose(np.diag(gaps, 1), 1.7)
    world = make_gaussian_mixture(
        20_000, n_classes=n_classes, n_features=n_features, separation=1.7, random_state=0
    )
    for k, centre in enumerate(centres):
        assert_mean_zero(world.X[world.y == k] - centre)


def test_mixture_at_separation_zero_and_beyond_overlap(seed):
    priors = [0.2, 0.3, 0.5]
    together = make_gaussian_mixture(50, separation=0, priors=priors, random_state=seed)
    np.testing.assert_allclose(together.proba(together.X), np.tile(priors, (50, 1)))
    apart = make_gaussian_mixture(50, separation=1e4, priors=priors, random_state=seed)
    np.testing.assert_array_equal(apart.proba(apart.X), np.eye(3)[apart.y])


def test_logistic_regression_is_well_specified_for_the_mixture(seed):
    world = make_gaussian_mixture(20_000, priors=[0.5, 0.3, 0.2], random_state=seed)
    test = world.sample(2000, random_state=seed + 100).X

    def distance(n):
        fitted = LogisticRegression(C=np.inf).fit(world.X[:n], world.y[:n])
        return np.sqrt(np.mean((fitted.predict_proba(test) - world.proba(test)) ** 2))

    assert distance(20_000) < 0.015
    assert distance(20_000) < distance(200) / 2


@pytest.mark.parametrize("n_features", [1, 2, 3])
@pytest.mark.parametrize("n_classes", [2, 3, 7])
def test_separable_is_the_nearest_centre_and_every_class_has_its_share(n_features, n_classes, seed):
    world = make_separable(5000, n_classes=n_classes, n_features=n_features, random_state=seed)
    centres = centres_of(n_classes, n_features, 4 / n_classes)
    distance = np.linalg.norm(world.X[:, None] - centres[None], axis=2)
    np.testing.assert_array_equal(world.y, distance.argmin(axis=1))
    np.testing.assert_array_equal(world.proba(world.X), np.eye(n_classes)[world.y])
    assert np.bincount(world.y, minlength=n_classes).min() > 5000 / n_classes / 4


@pytest.mark.parametrize("loss", CLASS_LOSSES)
def test_without_noise_the_risk_is_the_loss(loss, seed):
    world = make_separable(400, n_classes=4, random_state=seed)
    predictor = LogisticRegression().fit(world.X[:100], world.y[:100])
    found = get_loss(as_loss(loss, 4))
    realised = found(world.y, response_of(predictor, world.X, found))
    np.testing.assert_allclose(world.risk(predictor, world.X, loss=found), realised, atol=1e-12)


@pytest.mark.parametrize("loss", ["squared_error", "absolute_error", pinball(0.5), huber(1)])
def test_class_risk_with_a_loss_on_numbers(loss):
    world = make_separable(20, random_state=0)
    with pytest.raises(ValueError, match=r"is for regression.*zero_one.*log_loss.*brier"):
        world.risk(DummyClassifier().fit(world.X, world.y), world.X, loss=loss)


def test_class_risk_of_a_bad_predictor():
    world = make_gaussian_mixture(50, random_state=0)
    X = world.X
    with pytest.raises(TypeError, match="predictor must have predict_proba for this loss"):
        world.risk(RidgeClassifier().fit(X, world.y), X, loss="log_loss")
    with pytest.raises(TypeError, match="predictor must have classes_ for this loss"):
        world.risk(Constant(0), X, loss="log_loss")
    stranger = DummyClassifier().fit(X, world.y + 1)
    with pytest.raises(ValueError, match=r"no classes but \[0, 1, 2\], its classes_ are \[1, 2, 3"):
        world.risk(stranger, X, loss="brier")
    text = DummyClassifier().fit(X, world.y.astype(str))
    for loss in ("zero_one", "log_loss"):
        with pytest.raises(ValueError, match="must be both text or both numbers"):
            world.risk(text, X, loss=loss)
    with pytest.raises(ValueError, match="2 × 2 cost matrix, but there are 3 classes"):
        world.risk(DummyClassifier().fit(X, world.y), X, loss=np.eye(2))

    class Short:
        classes_ = world.classes

        def predict_proba(self, X):
            return np.full((len(X), 2), 0.5)

    with pytest.raises(ValueError, match=r"predictor must give .* shape \(50, 3\), got \(50, 2\)"):
        world.risk(Short(), X, loss="brier")
