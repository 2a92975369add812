"""The stacks: what they mix, what they hold out, and what they refuse."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.model_selection import GroupKFold, ShuffleSplit
from sklearn.utils.estimator_checks import parametrize_with_checks

from condrisk._state import without_training_rows
from condrisk.datasets import make_gaussian_mixture, make_heteroscedastic
from condrisk.learners import StackedClassifier, StackedRegressor

REGRESSORS = ["ridge", "trees", "boosting", "process", "rough process"]


def regression(n_rows=150, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 3))
    return X, np.sin(2 * X[:, 0]) + X[:, 1] + 0.2 * rng.normal(size=n_rows)


@pytest.fixture(scope="module")
def fitted():
    X, y = regression()
    return StackedRegressor(random_state=0).fit(X, y), X, y


def held_out_members(stack, X, y, groups=None):
    """Return the held-out answers of each member, as the stack finds them."""
    seen = {}
    original = stack._mix
    stack._mix = lambda held_out, *rest: (seen.update(held_out), original(held_out, *rest))
    stack.fit(X, y, groups=groups)
    del stack._mix
    return {name: answer for name, (answer, _) in seen.items()}


def test_shares_are_convex_and_no_model_alone_does_better(fitted):
    stack, X, y = fitted
    shares = np.array(list(stack.shares_.values()))
    assert list(stack.shares_) == [*REGRESSORS, "mean"]
    assert shares.min() >= 0
    assert_allclose(shares.sum(), 1)
    alone = held_out_members(StackedRegressor(random_state=0), X, y)
    stacked = np.mean((stack.held_out_.responses["predict"] - y) ** 2)
    assert stacked <= min(np.mean((answer - y) ** 2) for answer in alone.values()) * (1 + 1e-6)


@pytest.mark.parametrize("together", [False, True])
def test_a_held_out_answer_has_not_seen_its_row(together):
    """With groups it has not seen the fold either; without, a process leaves out the row alone."""
    X, y = regression(80)
    groups = np.arange(80) if together else None
    stack = StackedRegressor(cv=4, random_state=0)
    before = held_out_members(stack, X, y, groups)
    first = stack.held_out_.fold == 0
    if not together:
        first &= np.cumsum(first) == 5  # one row
    changed = np.where(first, y + 100 * np.arange(len(y)), y)
    after = held_out_members(StackedRegressor(cv=4, random_state=0), X, changed, groups)
    for name in REGRESSORS:
        assert_allclose(after[name][first], before[name][first], atol=1e-5)
        assert not np.allclose(after[name][~first], before[name][~first])


def test_responses_to_new_rows(fitted):
    stack, X, _ = fitted
    responses = stack.responses(X)
    assert_allclose(responses["predict"], stack.predict(X))
    near = responses["uncertainty"]
    assert near.shape == stack.held_out_.responses["uncertainty"].shape == (len(X), 3)
    assert (near >= 0).all()
    # Far away the processes know that they do not know.
    far = stack.responses(X + 100)["uncertainty"]
    assert (far[:, 1:].min(0) > near[:, 1:].max(0)).all()


def test_noise_is_answered_by_its_mean():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(300, 3)), rng.normal(size=300) + 5
    stack = StackedRegressor(random_state=0).fit(X, y)
    assert np.abs(stack.predict(X) - 5).max() < 1
    assert stack.shares_["mean"] > 0.5


def test_groups_are_held_out_together():
    X, y = regression(60)
    groups = np.repeat(np.arange(12), 5)
    stack = StackedRegressor(time_budget=0, random_state=0).fit(X, y, groups=groups)
    for group in range(12):
        assert len(set(stack.held_out_.fold[groups == group])) == 1
    again = StackedRegressor(cv=GroupKFold(3), time_budget=0).fit(X, y, groups=groups)
    assert again.held_out_.fold.max() == 2


def test_a_splitter_that_leaves_rows_out_is_refused():
    X, y = regression(40)
    with pytest.raises(ValueError, match="cv must hold out each row exactly once"):
        StackedRegressor(cv=ShuffleSplit(2)).fit(X, y)


def test_without_time_one_model_is_left():
    X, y = regression(60)
    stack = StackedRegressor(time_budget=0).fit(X, y)
    assert list(stack.shares_) == ["ridge", "mean"]


def test_missing_values_and_a_model_file(fitted):
    stack, X, y = fitted
    holes = X.copy()
    holes[::7, 0] = np.nan
    assert np.isfinite(StackedRegressor(random_state=0).fit(holes, y).predict(holes)).all()
    copy = pickle.loads(pickle.dumps(stack))
    assert_array_equal(copy.held_out_.fold, stack.held_out_.fold)
    with without_training_rows():
        copy = pickle.loads(pickle.dumps(stack))
    assert not hasattr(copy, "held_out_")
    assert_array_equal(copy.predict(X), stack.predict(X))


def test_classes():
    world = make_gaussian_mixture(300, random_state=0)
    labels = np.array(["no", "yes", "perhaps", "other"])[world.y]
    stack = StackedClassifier(random_state=0).fit(world.X, labels)
    assert list(stack.weights_) == ["logistic", "trees", "boosting"]
    proba = stack.predict_proba(world.X)
    assert_allclose(proba.sum(axis=1), 1)
    assert_array_equal(stack.classes_[proba.argmax(axis=1)], stack.predict(world.X))
    held_out = stack.held_out_.responses["predict_proba"]
    codes = np.searchsorted(stack.classes_, labels)
    loss = -np.log(held_out[np.arange(len(codes)), codes]).mean()
    shares = np.bincount(codes) / len(codes)
    assert loss < -(shares * np.log(shares)).sum()  # better than knowing the classes' shares
    with pytest.raises(ValueError, match="two classes or more"):
        StackedClassifier().fit(world.X, np.zeros(len(codes), dtype=int))


def test_weights_reach_the_models():
    world = make_heteroscedastic(200, random_state=0)
    weight = np.where(world.X[:, 0] > 0, 1.0, 1e-9)
    stack = StackedRegressor(time_budget=0, random_state=0)
    weighted = stack.fit(world.X, world.y, weight).predict(world.X)
    assert not np.allclose(weighted, stack.fit(world.X, world.y).predict(world.X))


FOLDS = "folds are drawn by rows, so weights and repeats differ, as in scikit-learn's searches"


# Without time there is one model: what is checked here is the same for more.
@parametrize_with_checks(
    [StackedRegressor(time_budget=0), StackedClassifier(time_budget=0)],
    expected_failed_checks=lambda _: {
        f"check_sample_weight_equivalence_on_{kind}_data": FOLDS for kind in ("dense", "sparse")
    },
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)
