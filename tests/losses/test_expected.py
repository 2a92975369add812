"""The row ℓ(f(x), ·) and its expectation, against sums written out, whatever the layout."""

import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from condrisk.losses import (
    ClassLoss,
    CostMatrix,
    _base,
    brier,
    encode,
    get_loss,
    log_loss,
    make_loss,
    zero_one,
)

POOLS = {
    "text": ["b", "a", "zebra", "äpfel", ""],
    "integers": [7, -2, 3, 100, 0],
    "floats": [0.5, -1.0, 3.0, 2.0, 1e9],
    "objects": ["yes", "n", "maybe", "b", "x"],
    "booleans": [True, False],
}
DTYPES = {"objects": object}
LOSS_NAMES = ["zero_one", "log_loss", "brier", "cost_matrix", "labels", "probabilities", "plain"]
each_loss = pytest.mark.parametrize("name", LOSS_NAMES)
# A busy machine is no failure.
unhurried = settings(deadline=None, max_examples=60)


class Plain(ClassLoss):
    """A loss that knows nothing but its rows, to see the expectation that every loss inherits."""

    name = "plain"
    response = "predict_proba"
    minimum = 0.0

    def __call__(self, y_true, response, *, classes=None):
        codes = encode(y_true, classes)
        return np.take_along_axis(self.rows(response, classes=classes), codes[:, None], 1)[:, 0]

    def rows(self, response, *, classes):
        return np.sqrt(1.0 - np.asarray(response, dtype=np.float64).clip(0, 1))


def build(name, classes):
    """Return the loss of that name for these classes."""

    def of_labels(y_true, f):
        return np.where(y_true == f, 0.25, 1.0) + 2.0 * (y_true == classes[0])

    def of_proba(y_true, f):
        return f.max(axis=1) - f[np.arange(len(f)), encode(y_true, classes)].astype(float)

    steps = np.arange(len(classes))
    return {
        "zero_one": zero_one,
        "log_loss": log_loss,
        "brier": brier,
        "cost_matrix": CostMatrix(np.subtract.outer(steps, 2.0 * steps) ** 2 - 1.0),
        "labels": make_loss(of_labels),
        "probabilities": make_loss(of_proba, response="predict_proba"),
        "plain": Plain(),
    }[name]


def normalised(weights):
    return (weights + 1e-300) / (weights + 1e-300).sum(axis=1, keepdims=True)


@st.composite
def problems(draw):
    """Classes in any order, a predictor's labels and probabilities, and true probabilities."""
    kind = draw(st.sampled_from(sorted(POOLS)))
    pool = draw(st.permutations(POOLS[kind]))
    classes = np.array(pool[: draw(st.integers(2, len(pool)))], dtype=DTYPES.get(kind))
    n, n_classes = draw(st.integers(1, 6)), len(classes)
    cells = st.sampled_from([0.0, 1e-200, 1e-20, 1e-3]) | st.floats(0, 1)
    weights = draw(arrays(np.float64, (2, n, n_classes), elements=cells))
    response = normalised(weights[0]).astype(draw(st.sampled_from([np.float32, np.float64])))
    labels = classes[draw(arrays(np.intp, n, elements=st.integers(0, n_classes - 1)))]
    return classes, labels, response, normalised(weights[1])


def drawn(seed, n, n_classes):
    """Return a larger problem, of integer classes out of order."""
    rng = np.random.default_rng(seed)
    classes = rng.permutation(np.arange(n_classes) * 3 - 5)
    response, proba = rng.dirichlet(np.full(n_classes, 0.5), size=(2, n))
    return classes, classes[rng.integers(n_classes, size=n)], response, proba


def answer(loss, labels, response):
    return response if loss.response == "predict_proba" else labels


@each_loss
@unhurried
@given(problem=problems())
def test_rows_are_the_loss_of_every_class(name, problem):
    classes, labels, proba, _ = problem
    loss = build(name, classes)
    response = answer(loss, labels, proba)
    rows = loss.rows(response, classes=classes)
    assert rows.shape == (len(labels), len(classes))
    assert rows.dtype == np.float64
    for k, label in enumerate(classes):
        y_true = np.full(len(labels), label, dtype=classes.dtype)
        values = loss(y_true, response, classes=classes)
        np.testing.assert_allclose(rows[:, k], values, rtol=1e-12, atol=1e-15)


@each_loss
@unhurried
@given(problem=problems())
def test_expected_is_the_sum_written_out(name, problem):
    classes, labels, f, proba = problem
    loss = build(name, classes)
    response = answer(loss, labels, f)
    expected = [
        sum(
            p * loss(classes[[k]], response[[i]], classes=classes)[0]
            for k, p in enumerate(proba[i])
        )
        for i in range(len(proba))
    ]
    values = loss.expected(response, proba, classes=classes)
    assert values.shape == (len(proba),)
    assert values.dtype == np.float64
    np.testing.assert_allclose(values, expected, rtol=1e-9, atol=1e-12)
    assert (values >= loss.minimum - 1e-12).all()


@pytest.mark.parametrize("name", ["zero_one", "log_loss", "brier", "probabilities", "plain"])
@unhurried
@given(problem=problems(), order=st.randoms(use_true_random=False))
def test_expected_does_not_depend_on_the_order_of_classes(name, problem, order):
    classes, labels, f, proba = problem
    loss = build(name, classes)
    moved = np.array(order.sample(range(len(classes)), len(classes)))
    np.testing.assert_allclose(
        loss.expected(answer(loss, labels, f), proba, classes=classes),
        build(name, classes[moved]).expected(
            answer(loss, labels, f[:, moved]), proba[:, moved], classes=classes[moved]
        ),
        rtol=1e-9,
        atol=1e-12,
    )


@each_loss
@pytest.mark.parametrize("block", [1, 7, 64])
def test_blocks_of_any_size_give_the_same(name, block, seed, monkeypatch):
    classes, labels, f, proba = drawn(seed, 101, 5)
    f[::10] = np.eye(5)[0]  # so that some blocks meet the floor of log loss, and some do not
    loss = build(name, classes)
    response = answer(loss, labels, f)
    whole = loss.expected(response, proba, classes=classes)
    monkeypatch.setattr(_base, "_BLOCK", block)
    assert len(list(_base.blocks(101, 5))) == -(-101 // max(1, block // 5))
    in_blocks = loss.expected(response, proba, classes=classes)
    np.testing.assert_allclose(in_blocks, whole, rtol=1e-14, atol=1e-14)


@pytest.mark.parametrize("n_rows", [0, 1, 9, 10, 11])
@pytest.mark.parametrize("n_columns", [0, 1, 3, 100])
def test_blocks_cover_each_row_once(n_rows, n_columns, monkeypatch):
    monkeypatch.setattr(_base, "_BLOCK", 10)
    rows = [i for block in _base.blocks(n_rows, n_columns) for i in range(n_rows)[block]]
    assert rows == list(range(n_rows))


LAYOUTS = {
    "every second row": lambda a: np.repeat(a, 2, axis=0)[::2],
    "every second column": lambda a: np.repeat(a, 2, axis=1)[:, ::2] if a.ndim == 2 else a,
    "backwards": lambda a: a[::-1].copy()[::-1],
    "fortran": np.asfortranarray,
    "read-only": lambda a: np.frombuffer(a.tobytes(), a.dtype).reshape(a.shape),
    "lists": lambda a: a.tolist(),
}


@each_loss
def test_memory_layout_does_not_matter(name, seed):
    classes, labels, f, proba = drawn(seed, 30, 4)
    loss = build(name, classes)
    response = answer(loss, labels, f)
    expected = loss.expected(response, proba, classes=classes)
    rows = loss.rows(response, classes=classes)
    for how, layout in LAYOUTS.items():
        found = loss.expected(layout(response), layout(proba), classes=layout(classes))
        np.testing.assert_allclose(found, expected, rtol=1e-14, atol=1e-14, err_msg=how)
        again = loss.rows(layout(response), classes=layout(classes))
        np.testing.assert_allclose(again, rows, err_msg=how)


@each_loss
def test_the_input_is_left_alone(name, seed):
    classes, labels, f, proba = drawn(seed, 30, 4)
    f[0] = [0, 0, 0, 1]
    loss = build(name, classes)
    before = [a.copy() for a in (classes, labels, f, proba)]
    loss.expected(answer(loss, labels, f), proba, classes=classes)
    loss.rows(answer(loss, labels, f), classes=classes)
    for array, copy in zip((classes, labels, f, proba), before, strict=True):
        np.testing.assert_array_equal(array, copy)


def peak_memory(name, n, n_classes, dtype):
    """Return the most bytes that `expected` holds at a time, its input aside."""
    classes = np.arange(n_classes)[::-1]
    labels = np.resize(classes, n)
    f = np.resize(np.linspace(0, 2 / n_classes, 1009, dtype=dtype), (n, n_classes))
    proba = np.full((n, n_classes), 1 / n_classes, dtype=dtype)
    loss = build(name, classes)
    response = answer(loss, labels, f)
    tracemalloc.start()
    try:
        loss.expected(response, proba, classes=classes)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@each_loss
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_expected_makes_no_matrix_of_losses(name, dtype):
    n, n_classes = 20_000, 50
    small, large = (peak_memory(name, rows, n_classes, dtype) for rows in (n, 4 * n))
    # Between them lie no more than eight vectors; a block has the same size in both.
    assert large - small < 8 * 3 * n * 8
    if name != "plain":  # which makes three temporaries of a block in its own rows
        assert small < 0.6 * n * n_classes * 8


@each_loss
def test_no_rows_give_no_values(name):
    classes = np.array(["a", "b"])
    loss = build(name, classes)
    response = answer(loss, classes[:0], np.empty((0, 2)))
    assert loss.expected(response, np.empty((0, 2)), classes=classes).shape == (0,)


def test_a_column_of_labels_is_flattened(seed):
    classes, labels, _, proba = drawn(seed, 20, 4)
    for loss in (zero_one, build("cost_matrix", classes)):
        column = labels[:, None]
        np.testing.assert_array_equal(
            loss.expected(column, proba, classes=classes),
            loss.expected(labels, proba, classes=classes),
        )
        np.testing.assert_array_equal(
            loss.rows(column, classes=classes), loss.rows(labels, classes=classes)
        )


def test_nan_in_one_row_does_not_spread():
    f = np.array([[0.0, 1.0], [np.nan, 1.0]])
    values = log_loss.expected(f, np.full((2, 2), 0.5), classes=[0, 1])
    np.testing.assert_allclose(values, [26 * np.log(2), np.nan])


@each_loss
@pytest.mark.parametrize("n", [1, 3, 7])
def test_expected_of_the_wrong_length(name, n):
    classes = np.array([0, 1])
    loss = build(name, classes)
    response = answer(loss, np.zeros(n, dtype=int), np.full((n, 2), 0.5))
    with pytest.raises(ValueError, match=f"response and proba must .* same length, got {n} and 5"):
        loss.expected(response, np.full((5, 2), 0.5), classes=classes)


@each_loss
def test_expected_of_the_wrong_width(name):
    classes = np.array([0, 1])
    loss = build(name, classes)
    labels, proba = np.array([0, 1]), np.full((2, 2), 0.5)
    response = answer(loss, labels, proba)
    with pytest.raises(ValueError, match=r"proba has 3 columns .* there are 2 classes"):
        loss.expected(response, np.full((2, 3), 1 / 3), classes=classes)
    with pytest.raises(ValueError, match="proba must be a matrix of probabilities"):
        loss.expected(response, [0.5, 0.5], classes=classes)
    if loss.response == "predict_proba":
        with pytest.raises(ValueError, match=r"response has 3 columns .* there are 2 classes"):
            loss.expected(np.full((2, 3), 1 / 3), proba, classes=classes)
    else:
        with pytest.raises(ValueError, match=r"response must have one value per row.*\(2, 2\)"):
            loss.expected(proba, proba, classes=classes)


def test_a_bare_function_and_a_bare_matrix_have_expectations_too(seed):
    classes, labels, _, proba = drawn(seed, 50, 4)
    wrong = get_loss(lambda y, f: y != f)
    matrix = get_loss((1 - np.eye(4)).tolist())
    expected = zero_one.expected(labels, proba, classes=classes)
    for loss in (wrong, matrix):
        np.testing.assert_allclose(loss.expected(labels, proba, classes=classes), expected)
