"""From what a user writes to a loss, and the errors on the way."""

import functools
import re

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import metrics

from condrisk.losses import (
    LOSSES,
    CostMatrix,
    Loss,
    absolute_error,
    brier,
    encode,
    get_loss,
    hamming,
    huber,
    log_loss,
    make_loss,
    pinball,
    squared_error,
    zero_one,
)

# A busy machine is no failure.
unhurried = settings(deadline=None, max_examples=60)


def gap(y_true, y_pred):
    return np.abs(y_true - y_pred)


class Gap:
    def __call__(self, y_true, y_pred):
        return gap(y_true, y_pred)


def test_names_and_losses():
    names = ["absolute_error", "brier", "hamming", "log_loss", "squared_error", "zero_one"]
    assert sorted(LOSSES) == names
    for name, loss in LOSSES.items():
        assert get_loss(name) is loss
        assert get_loss(loss) is loss
        assert get_loss(name, task=loss.task) is loss
    for loss in (pinball(0.5), huber(2.0), CostMatrix(np.eye(2)), make_loss(gap)):
        assert get_loss(loss) is loss


def test_defaults_of_the_tasks():
    assert get_loss(None, task="regression") is squared_error
    assert get_loss(None, task="classification") is zero_one


@pytest.mark.parametrize("kind", [list, tuple, np.array, pd.DataFrame])
def test_cost_matrices(kind):
    loss = get_loss(kind([[0, 1], [5, 0]]), task="classification")
    assert isinstance(loss, CostMatrix)
    np.testing.assert_array_equal(loss([0, 1, 1], [1, 0, 1]), [1.0, 5.0, 0.0])


@pytest.mark.parametrize(
    ("function", "name"),
    [
        (gap, "gap"),
        (Gap(), "Gap"),
        (functools.partial(gap), "partial"),
        (lambda y, f: abs(y - f), "<lambda>"),
    ],
)
@pytest.mark.parametrize("task", ["regression", "classification", None])
def test_functions_serve_both_tasks(function, name, task):
    loss = get_loss(function, task=task)
    assert (loss.name, loss.task, loss.response, loss.minimum) == (name, None, "predict", 0.0)
    np.testing.assert_array_equal(loss([1, 2], [3, 3]), [2.0, 1.0])
    assert repr(loss) == f"make_loss({name}, response='predict', minimum=0.0)"


def test_make_loss_options():
    loss = make_loss(lambda y, f: -f[:, 0], response="predict_proba", minimum=-1)
    assert (loss.response, loss.minimum) == ("predict_proba", -1.0)
    assert isinstance(loss, Loss)
    np.testing.assert_array_equal(loss([0, 1], [[0.25, 0.75], [1.0, 0.0]]), [-0.25, -1.0])
    unbounded = make_loss(lambda y, f: y - f, minimum=-np.inf)
    np.testing.assert_array_equal(unbounded([0, 1], [1e9, 0]), [-1e9, 1.0])
    integers = make_loss(lambda y, f: (y != f).astype(int))
    assert integers([1], [2]).dtype == np.float64


@pytest.mark.parametrize(
    ("spec", "options", "error", "message"),
    [
        ("nope", {}, ValueError, r"loss must be one of \['absolute_error', .*\], got 'nope'"),
        (None, {}, ValueError, "loss must be given"),
        (3, {}, TypeError, "loss must be a name, a Loss, a cost matrix or a function, got int"),
        ({"a": 1}, {}, TypeError, "loss must be a name, .* got dict"),
        (
            "squared_error",
            {"task": "classification"},
            ValueError,
            "is for regression, but .*zero_one",
        ),
        (pinball(0.5), {"task": "classification"}, ValueError, "'pinball' is for regression"),
        (
            "log_loss",
            {"task": "regression"},
            ValueError,
            "is for classification, but .*squared_error",
        ),
        (
            [[0, 1], [1, 0]],
            {"task": "regression"},
            ValueError,
            "'cost_matrix' is for classification",
        ),
        ([[0, 1]], {}, ValueError, r"loss must be a square cost matrix .* \(1, 2\)"),
        ([0, 1], {}, ValueError, r"loss must be a square cost matrix .* \(2,\)"),
        (np.zeros((2, 2, 2)), {}, ValueError, "loss must be a square cost matrix"),
        (np.zeros((0, 0)), {}, ValueError, "loss must be a square cost matrix"),
        (np.float64(1), {}, ValueError, "loss must be a square cost matrix"),
        ([[0, np.nan], [1, 0]], {}, ValueError, "loss must be a cost matrix of finite numbers"),
        ([[0, np.inf], [1, 0]], {}, ValueError, "loss must be a cost matrix of finite numbers"),
        (["log_loss"], {}, ValueError, "loss must be a cost matrix of numbers"),
        ([[0, 1], [1]], {}, ValueError, "loss must be a cost matrix of numbers"),
    ],
)
def test_bad_specs(spec, options, error, message):
    with pytest.raises(error, match=message):
        get_loss(spec, **options)


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("mae", '"absolute_error"'),
        ("MSE", '"squared_error"'),
        ("squared", '"squared_error"'),
        ("sqared_error", '"squared_error"'),
        ("pinball", "condrisk.losses.pinball(0.9), with your quantile"),
        ("pinball_loss", "condrisk.losses.pinball(0.9), with your quantile"),
        ("huber", "condrisk.losses.huber(1.0), with your delta"),
        ("0-1", '"zero_one"'),
        ("accuracy", '"zero_one"'),
        ("cross entropy", '"log_loss"'),
        ("logloss", '"log_loss"'),
        ("brier_score", '"brier"'),
    ],
)
def test_the_nearest_name_is_suggested(name, meant):
    with pytest.raises(ValueError, match=re.escape(f"got {name!r}. Did you mean {meant}?")):
        get_loss(name)


def test_nothing_is_suggested_for_a_name_like_none():
    with pytest.raises(ValueError, match=r"got 'profit'\.$"):
        get_loss("profit")


@pytest.mark.parametrize(
    ("metric", "instead"),
    [
        (metrics.mean_squared_error, 'Use "squared_error".'),
        (metrics.root_mean_squared_error, 'Use "squared_error".'),
        (metrics.mean_absolute_error, 'Use "absolute_error".'),
        (functools.partial(metrics.mean_pinball_loss, alpha=0.9), "Use condrisk.losses.pinball"),
        (metrics.accuracy_score, 'Use "zero_one".'),
        (metrics.log_loss, 'Use "log_loss".'),
        (metrics.brier_score_loss, 'Use "brier".'),
        (metrics.mean_poisson_deviance, "returns one value per example."),
        (metrics.get_scorer("neg_mean_squared_error"), "returns one value per example."),
    ],
)
def test_a_metric_is_no_loss(metric, instead):
    for resolve in (get_loss, make_loss):
        with pytest.raises(ValueError, match=f"one number for all examples, .*{instead}"):
            resolve(metric)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"fn": "log_loss"}, TypeError, "fn must be callable"),
        ({"response": "decision_function"}, ValueError, "response must be .* 'decision_function'"),
        ({"minimum": np.nan}, ValueError, "minimum must be a number below infinity"),
        ({"minimum": np.inf}, ValueError, "minimum must be a number below infinity"),
    ],
)
def test_bad_arguments_of_make_loss(arguments, error, message):
    with pytest.raises(error, match=message):
        make_loss(**{"fn": gap, **arguments})


@pytest.mark.parametrize("quantile", [0.0, 1.0, -0.1, 1.1, np.nan])
def test_bad_quantiles(quantile):
    with pytest.raises(ValueError, match="quantile must lie between 0 and 1, got"):
        pinball(quantile)


@pytest.mark.parametrize("delta", [0.0, -1.0, np.inf, np.nan])
def test_bad_deltas(delta):
    with pytest.raises(ValueError, match="delta must be a positive number, got"):
        huber(delta)


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda y, f: 1.0, r"'<lambda>' must return one value per example, shape \(2,\)"),
        (lambda y, f: (y != f)[:, None], r"one value per example, .* returned shape \(2, 1\)"),
        (lambda y, f: (y != f)[:1], r"one value per example, .* returned shape \(1,\)"),
        (lambda y, f: np.array(["a", "b"]), "must return numbers"),
        (lambda y, f: np.array([0.0, np.nan]), "returned NaN or infinity"),
        (lambda y, f: np.array([0.0, np.inf]), "returned NaN or infinity"),
        (lambda y, f: np.array([0.0, -2.0]), "returned -2, below its minimum 0"),
    ],
)
def test_functions_that_return_the_wrong_thing(function, message):
    loss = make_loss(function)
    with pytest.raises(ValueError, match=message):
        loss([0, 1], [1, 1])
    with pytest.raises(ValueError, match=message):
        loss.rows([1, 1], classes=[0, 1])
    with pytest.raises(ValueError, match=message):
        loss.expected([1, 1], [[0.5, 0.5], [0.5, 0.5]], classes=[0, 1])


@pytest.mark.parametrize(
    ("loss", "y_true", "response", "message"),
    [
        (squared_error, ["a", "b"], [1, 2], "y_true must be numbers"),
        (squared_error, [1, 2], ["a", "b"], "response must be numbers"),
        (absolute_error, [1, 2], [1, 2, 3], "same length, got 2 and 3"),
        (huber(1.0), [[1, 2]], [1, 2], r"the same shape, got \(1, 2\) and \(2,\)"),
        (pinball(0.5), np.ones((2, 2)), np.ones((2, 3)), r"shape, got \(2, 2\) and \(2, 3\)"),
        (pinball(0.5), [1, 2], np.ones((2, 2, 1)), "response must have one value per row, or one"),
        (zero_one, [1, 2], [1], "same length, got 2 and 1"),
        (zero_one, ["a", "b"], [0, 1], "must be both text or both numbers"),
        (zero_one, np.array(["a", "b"], dtype=object), [0, 1], "must be both text or both numbers"),
        (zero_one, [0, 1], np.eye(2), r"the same shape, got \(2,\) and \(2, 2\)"),
        (hamming, np.eye(2), np.eye(3), r"the same shape, got \(2, 2\) and \(3, 3\)"),
        (log_loss, [0, 1], [0.5, 0.5], "response must be a matrix of probabilities"),
        (log_loss, [0, 1], [[0.5, 0.5]], "same length, got 2 and 1"),
        (log_loss, ["a", "b"], np.eye(2), "must be both text or both numbers"),
        (brier, [0, 1], [0.5, 0.5], "response must be a matrix of probabilities"),
        (brier, np.eye(2), np.eye(2), "y_true must have one value per row"),
        (CostMatrix(np.eye(2)), [0, 1], [0], "same length, got 2 and 1"),
        (CostMatrix(np.eye(2)), [0, 2], [0, 0], "no cost for the label .*2"),
        (CostMatrix(np.eye(2)), [0, 1], [0, 5], "no cost for the label .*5"),
    ],
)
def test_bad_examples(loss, y_true, response, message):
    with pytest.raises(ValueError, match=message):
        loss(y_true, response)


def test_classes_that_do_not_fit():
    for loss in (log_loss, brier):
        with pytest.raises(ValueError, match="2 columns of probabilities, but there are 3 classes"):
            loss([0], [[0.5, 0.5]], classes=[0, 1, 2])
        with pytest.raises(ValueError, match="2 columns of probabilities, but there are 3 classes"):
            loss.rows([[0.5, 0.5]], classes=[0, 1, 2])
    with pytest.raises(ValueError, match="2 × 2 cost matrix, but there are 3 classes"):
        CostMatrix(np.eye(2))([0], [1], classes=[0, 1, 2])
    with pytest.raises(ValueError, match="2 × 2 cost matrix, but there are 3 classes"):
        CostMatrix(np.eye(2)).rows([0], classes=[0, 1, 2])
    with pytest.raises(ValueError, match="2 × 2 cost matrix, but there are 3 classes"):
        CostMatrix(np.eye(2)).check_classes([0, 1, 2])


# The position of a label


LABELS = st.one_of(
    st.lists(st.integers(-5, 5), min_size=1, max_size=12),
    st.lists(st.integers(0, 4), min_size=1, max_size=12),
    st.lists(st.booleans(), min_size=1, max_size=12),
    st.lists(st.sampled_from(["", "a", "b", "ab", "abc", "é"]), min_size=1, max_size=12),
    st.lists(st.sampled_from([-1.5, 0.0, 1.0, 2.25, 1e300]), min_size=1, max_size=12),
)


@unhurried
@given(data=st.data(), labels=LABELS)
def test_encode_is_the_index_in_a_list(data, labels):
    known = data.draw(st.permutations(sorted(set(labels))))
    classes = known[: data.draw(st.integers(1, len(known)))]
    expected = [classes.index(label) if label in classes else -1 for label in labels]
    codes = encode(labels, classes)
    assert codes.dtype == np.intp
    assert codes.tolist() == expected
    if isinstance(labels[0], str):
        objects = np.array(labels, dtype=object)
        for these in (labels, objects, np.array(labels, dtype=np.dtypes.StringDType())):
            for those in (classes, np.array(classes, dtype=object)):
                assert encode(these, those).tolist() == expected


def test_encode_across_number_types():
    assert encode([1.0, 0.5, np.nan], [0, 1]).tolist() == [1, -1, -1]
    assert encode([True, False], [0, 1]).tolist() == [1, 0]
    assert encode(np.array([2**63 + 1, 1], dtype=np.uint64), [0, 1]).tolist() == [-1, 1]
    assert encode(np.array([-1, 5]), [0, 1]).tolist() == [-1, -1]
    assert encode([], [3, 1]).tolist() == []


def test_encode_of_objects_that_have_no_order():
    labels = np.array(["a", None, "b"], dtype=object)
    assert encode(labels, ["b", "a"]).tolist() == [1, -1, 0]


@pytest.mark.parametrize(
    ("labels", "classes"), [(["a"], [1]), ([1], ["a"]), ([True], np.array(["True"], dtype=object))]
)
def test_encode_refuses_text_against_numbers(labels, classes):
    with pytest.raises(ValueError, match="labels and classes must be both text or both numbers"):
        encode(labels, classes)
