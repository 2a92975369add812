"""Each loss, example by example, against scikit-learn's metrics and formulas written out."""

import functools
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn import metrics

from condrisk import losses
from condrisk.losses import (
    LOG_LOSS_FLOOR,
    LOSSES,
    CostMatrix,
    absolute_error,
    brier,
    huber,
    log_loss,
    make_loss,
    pinball,
    squared_error,
    zero_one,
)

LABELS = {
    "text": np.array(["no", "maybe", "certainly"]),
    "integers": np.array([7, -2, 3]),
    "objects": np.array(["z", "yy", "a"], dtype=object),
    "floats": np.array([2.0, 0.0, -1.0]),
    "booleans": np.array([True, False]),
}
each_label_type = pytest.mark.parametrize("classes", LABELS.values(), ids=list(LABELS))
# A busy machine is no failure.
unhurried = settings(deadline=None, max_examples=60)
numbers = st.floats(-1e6, 1e6)
pairs = arrays(np.float64, st.tuples(st.just(2), st.integers(1, 20)), elements=numbers)


def draw_proba(rng, n, n_classes):
    """Probabilities of all sizes, zeros and ones among them."""
    proba = rng.dirichlet(np.full(n_classes, 0.3), size=n)
    proba[0] = np.eye(n_classes)[0]
    proba[1] = np.eye(n_classes)[-1]
    return proba


# Numbers


@pytest.mark.parametrize(
    ("loss", "metric"),
    [
        (squared_error, metrics.mean_squared_error),
        (absolute_error, metrics.mean_absolute_error),
        (pinball(0.9), lambda *a, **k: metrics.mean_pinball_loss(*a, alpha=0.9, **k)),
        (pinball(0.05), lambda *a, **k: metrics.mean_pinball_loss(*a, alpha=0.05, **k)),
    ],
    ids=["squared_error", "absolute_error", "pinball(0.9)", "pinball(0.05)"],
)
@unhurried
@given(pair=pairs)
def test_numeric_losses_against_sklearn(loss, metric, pair):
    y_true, response = pair
    # One sample with n outputs: the raw values are the losses of n examples.
    expected = metric(pair[:1], pair[1:], multioutput="raw_values")
    np.testing.assert_allclose(loss(y_true, response), expected, rtol=1e-12, atol=1e-12)


@unhurried
@given(
    y=numbers,
    ratios=st.lists(st.floats(-4, 4) | st.floats(-1e4, 1e4), min_size=1),
    delta=st.floats(1e-3, 1e3),
)
def test_huber_against_its_formula(y, ratios, delta):
    response = y + delta * np.array(ratios)
    expected = []
    for f in response:
        size = abs(y - f)
        expected.append(size * size / 2 if size < delta else delta * size - delta**2 / 2)
    values = huber(delta)(np.full(len(response), y), response)
    np.testing.assert_allclose(values, expected, rtol=1e-9, atol=1e-9)


@unhurried
@given(pair=pairs)
def test_numeric_losses_and_each_other(pair):
    same = functools.partial(np.testing.assert_allclose, rtol=1e-12, atol=1e-12)
    absolute = absolute_error(*pair)
    same(2 * pinball(0.5)(*pair), absolute)
    same(pinball(0.2)(*pair) + pinball(0.8)(*pair), absolute)
    same(2 * huber(1e7)(*pair), squared_error(*pair))
    for loss in (squared_error, absolute_error, pinball(0.2), huber(0.3)):
        assert (loss(*pair) >= loss.minimum).all()


@pytest.mark.parametrize("loss", [squared_error, absolute_error, pinball(0.3), huber(0.5)])
def test_numeric_input_of_all_kinds(loss):
    expected = loss([1.0, 2.0, 0.0], [3.0, 1.0, 0.0])
    assert expected.dtype == np.float64
    integers = loss(np.array([1, 2, 0], dtype=np.uint8), np.array([3, 1, 0], dtype=np.uint8))
    np.testing.assert_array_equal(integers, expected)
    single = loss(np.array([1, 2, 0], dtype=np.float32), np.array([3, 1, 0], dtype=np.float32))
    np.testing.assert_array_equal(single, expected)
    np.testing.assert_array_equal(loss([[1.0], [2.0], [0.0]], [[3.0], [1.0], [0.0]]), expected)
    np.testing.assert_array_equal(loss([], []), [])


# Classes


@each_label_type
def test_log_loss_against_sklearn(classes, seed):
    # scikit-learn takes columns in sorted order only.
    classes = np.sort(classes)
    rng = np.random.default_rng(seed)
    proba = draw_proba(rng, 40, len(classes))
    y = classes[rng.integers(len(classes), size=40)]
    labels = classes.astype(str) if classes.dtype == object else classes
    truth = y.astype(str) if classes.dtype == object else y
    expected = [metrics.log_loss(truth[[i]], proba[[i]], labels=labels) for i in range(40)]
    # scikit-learn also keeps probabilities an eps below one.
    np.testing.assert_allclose(
        log_loss(y, proba, classes=classes), expected, rtol=1e-10, atol=1e-15
    )


@each_label_type
def test_brier_against_sklearn(classes, seed):
    classes = np.sort(classes)
    rng = np.random.default_rng(seed)
    proba = draw_proba(rng, 40, len(classes))
    y = classes[rng.integers(len(classes), size=40)]
    labels = classes.astype(str) if classes.dtype == object else classes
    truth = y.astype(str) if classes.dtype == object else y
    expected = [
        metrics.brier_score_loss(truth[[i]], proba[[i]], labels=labels, scale_by_half=False)
        for i in range(40)
    ]
    np.testing.assert_allclose(brier(y, proba, classes=classes), expected, rtol=1e-12, atol=1e-15)


@each_label_type
def test_zero_one_against_sklearn(classes, seed):
    rng = np.random.default_rng(seed)
    y, f = classes[rng.integers(len(classes), size=(2, 40))]
    expected = [metrics.zero_one_loss(y[[i]].tolist(), f[[i]].tolist()) for i in range(40)]
    np.testing.assert_array_equal(zero_one(y, f), expected)
    assert zero_one(y, f).dtype == np.float64


@each_label_type
def test_cost_matrix_against_a_loop(classes, seed):
    rng = np.random.default_rng(seed)
    n_classes = len(classes)
    matrix = rng.normal(size=(n_classes, n_classes))
    y, f = classes[rng.integers(n_classes, size=(2, 40))]
    order = classes.tolist()
    expected = [matrix[order.index(a), order.index(b)] for a, b in zip(y, f, strict=True)]
    loss = CostMatrix(matrix)
    np.testing.assert_array_equal(loss(y, f, classes=classes), expected)
    assert loss.minimum == matrix.min()


def test_cost_matrix_of_ones_is_zero_one(seed):
    y, f = np.random.default_rng(seed).integers(4, size=(2, 50))
    np.testing.assert_array_equal(CostMatrix(1 - np.eye(4))(y, f), zero_one(y, f))


def test_cost_matrix_keeps_its_own_copy():
    matrix = np.array([[0.0, 1.0], [2.0, 0.0]])
    loss = CostMatrix(matrix)
    matrix[:] = 9
    np.testing.assert_array_equal(loss([0, 1], [1, 0]), [1.0, 2.0])


def test_binary_brier_is_twice_the_squared_error(seed):
    rng = np.random.default_rng(seed)
    y, p = rng.integers(2, size=30), rng.random(30)
    expected = 2 * metrics.mean_squared_error(y[None], p[None], multioutput="raw_values")
    np.testing.assert_allclose(brier(y, np.column_stack([1 - p, p])), expected)


@unhurried
@given(near=st.floats(0, 1e-3), n_classes=st.integers(2, 5), label=st.integers(0, 4))
def test_brier_is_never_below_zero(near, n_classes, label):
    proba = np.full((1, n_classes), near / (n_classes - 1))
    proba[:, label % n_classes] = 1 - near
    assert brier([label % n_classes], proba)[0] >= 0


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_log_loss_has_one_floor_for_all_types(dtype):
    proba = np.array([[0, 1], [1, 0], [0.5, 0.5], [0.25, 0.75]], dtype=dtype)
    worst = -np.log(LOG_LOSS_FLOOR)
    expected = [worst, 0.0, np.log(2), np.log(4)]
    values = log_loss([0, 0, 0, 0], proba)
    assert values.dtype == np.float64
    np.testing.assert_allclose(values, expected, rtol=1e-14)
    assert not np.signbit(values).any()
    rows = log_loss.rows(proba, classes=[0, 1])
    np.testing.assert_allclose(rows[:, 0], expected, rtol=1e-14)
    np.testing.assert_allclose(rows[1], [0.0, worst])
    certain = np.eye(2)[[1, 0, 0, 0]]
    means = log_loss.expected(proba, certain, classes=[0, 1])
    np.testing.assert_allclose(means, [0.0, 0.0, np.log(2), np.log(4)], rtol=1e-14)
    wrong = log_loss.expected(proba, 1 - certain, classes=[0, 1])
    np.testing.assert_allclose(wrong, [worst, worst, np.log(2), -np.log(0.75)], rtol=1e-14)


def test_log_loss_floor_is_the_documented_number():
    assert LOG_LOSS_FLOOR == 2.0**-52
    assert log_loss([0], [[0.0, 1.0]])[0] < 36.05
    tiny = np.array([[2.0**-53, 1.0]])
    np.testing.assert_allclose(log_loss([0], tiny), 52 * np.log(2))
    np.testing.assert_allclose(log_loss([0], tiny.astype(np.float32)), 52 * np.log(2))


@pytest.mark.parametrize("loss", [log_loss, brier, zero_one])
@pytest.mark.parametrize("dtype", [np.float16, np.float32])
def test_all_arithmetic_is_float64(loss, dtype, seed):
    rng = np.random.default_rng(seed)
    proba = rng.dirichlet([1, 1, 1], size=50).astype(dtype)
    response = proba if loss.response == "predict_proba" else proba.argmax(axis=1)
    double = proba.astype(np.float64)
    same = double if loss.response == "predict_proba" else response
    y = rng.integers(3, size=50)
    options = {"classes": [0, 1, 2]}
    np.testing.assert_allclose(loss(y, response), loss(y, same), rtol=1e-14)
    np.testing.assert_allclose(loss.rows(response, **options), loss.rows(same, **options))
    np.testing.assert_allclose(
        loss.expected(response, proba, **options),
        loss.expected(same, double, **options),
        rtol=1e-13,
    )


def test_a_probability_above_one_by_rounding_costs_nothing():
    above = [[1.0 + 2.0**-52, 0.0]]
    for loss, response in [(log_loss, above), (brier, above), (zero_one, [0])]:
        assert loss.expected(response, above, classes=[0, 1])[0] == 0.0
        assert loss.expected(response, [[1.0, 0.0]], classes=[0, 1])[0] >= 0.0
    assert log_loss([0], above)[0] == 0.0


@each_label_type
def test_classes_never_seen_have_their_documented_cost(classes):
    stranger, seen = classes[-1:], classes[:-1]
    proba = np.full((1, len(seen)), 1 / len(seen))
    worst = -np.log(LOG_LOSS_FLOOR)
    np.testing.assert_allclose(log_loss(stranger, proba, classes=seen), worst)
    np.testing.assert_allclose(brier(stranger, proba, classes=seen), 1 + (proba**2).sum())
    np.testing.assert_array_equal(zero_one.rows(stranger, classes=seen), np.ones((1, len(seen))))
    np.testing.assert_array_equal(zero_one.expected(stranger, proba, classes=seen), [1.0])
    with pytest.raises(ValueError, match="cost matrix has no cost for the label"):
        CostMatrix(np.eye(len(seen)))(stranger, seen[:1], classes=seen)
    with pytest.raises(ValueError, match="cost matrix has no cost for the label"):
        CostMatrix(np.eye(len(seen))).expected(stranger, proba, classes=seen)


# What all have in common


def double_log(y_true, response):
    return 2 * log_loss(y_true, response)


@pytest.mark.parametrize(
    "loss",
    [*LOSSES.values(), pinball(0.9), huber(1.5), CostMatrix(np.eye(2)), make_loss(double_log)],
    ids=repr,
)
def test_losses_pickle(loss):
    loaded = pickle.loads(pickle.dumps(loss))
    assert repr(loaded) == repr(loss)
    for attribute in ("name", "task", "response", "minimum"):
        assert getattr(loaded, attribute) == getattr(loss, attribute)
    response = [[0.3, 0.7], [0.8, 0.2]] if loss.response == "predict_proba" else [1, 0]
    if not isinstance(loss, type(make_loss(double_log))):
        np.testing.assert_array_equal(loaded([0, 0], response), loss([0, 0], response))


def test_equality_and_hash():
    for name, loss in LOSSES.items():
        assert pickle.loads(pickle.dumps(loss)) == loss
        assert [other for other in LOSSES.values() if other == loss] == [loss]
        assert repr(loss) == name
    assert pinball(0.9) == pinball(0.9) != pinball(0.8)
    assert huber(1.0) == huber(1.0) != huber(2.0)
    assert pinball(0.5) != huber(0.5)
    assert len({pinball(0.9), pinball(0.9), huber(0.9), *LOSSES.values()}) == 2 + len(LOSSES)
    assert repr(pinball(0.9)) == "pinball(0.9)"
    assert repr(huber(1.5)) == "huber(1.5)"


def test_what_each_loss_says_of_itself():
    said = {name: (loss.task, loss.response, loss.minimum) for name, loss in LOSSES.items()}
    assert said == {
        "squared_error": ("regression", "predict", 0.0),
        "absolute_error": ("regression", "predict", 0.0),
        "zero_one": ("classification", "predict", 0.0),
        "hamming": ("classification", "predict", 0.0),
        "log_loss": ("classification", "predict_proba", 0.0),
        "brier": ("classification", "predict_proba", 0.0),
    }
    for loss in (pinball(0.1), huber(2.0)):
        assert (loss.task, loss.response, loss.minimum) == ("regression", "predict", 0.0)
    costs = CostMatrix([[-1, 2], [3, 4]])
    assert (costs.task, costs.response, costs.minimum) == ("classification", "predict", -1.0)


def test_exported_names_exist():
    assert sorted(losses.__all__) == sorted(set(losses.__all__))
    assert all(hasattr(losses, name) for name in losses.__all__)
