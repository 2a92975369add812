"""Losses of several outputs, against scikit-learn's metrics row by row."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn import metrics

from condrisk.losses import (
    CostMatrix,
    averaged,
    get_loss,
    hamming,
    huber,
    make_loss,
    pinball,
    squared_error,
)

shapes = st.tuples(st.just(2), st.integers(1, 8), st.integers(2, 5))
pairs = arrays(np.float64, shapes, elements=st.floats(-1e3, 1e3))
labels = arrays(np.int64, shapes, elements=st.integers(0, 1))
METRICS = {
    "squared_error": metrics.mean_squared_error,
    "absolute_error": metrics.mean_absolute_error,
    pinball(0.9): lambda *a, **k: metrics.mean_pinball_loss(*a, alpha=0.9, **k),
}


@pytest.mark.parametrize("loss", METRICS, ids=repr)
@given(pair=pairs, seed=st.integers(0, 99))
def test_numeric_losses_are_sklearns_averages_of_each_row(loss, pair, seed):
    weights = np.random.default_rng(seed).uniform(0.1, 3, pair.shape[2])
    y, response = pair
    # The outputs of a row in the place of examples.
    raw = {"multioutput": "raw_values"}
    plain = METRICS[loss](y.T, response.T, **raw)
    weighted = METRICS[loss](y.T, response.T, sample_weight=weights, **raw)
    same = {"rtol": 1e-10, "atol": 1e-9}
    np.testing.assert_allclose(get_loss(loss)(y, response), plain, **same)
    np.testing.assert_allclose(averaged(loss)(y, response), plain, **same)
    np.testing.assert_allclose(averaged(loss, weights)(y, response), weighted, **same)
    order = np.random.default_rng(seed).permutation(len(weights))
    permuted = averaged(loss, weights[order])(y[:, order], response[:, order])
    np.testing.assert_allclose(permuted, weighted, **same)


@given(pair=labels)
def test_hamming_is_sklearns_row_by_row(pair):
    y, response = pair
    expected = [metrics.hamming_loss(y[[i]], response[[i]]) for i in range(len(y))]
    np.testing.assert_allclose(hamming(y, response), expected, rtol=1e-12)
    assert hamming(y, response).max() <= hamming.maximum
    subset = [metrics.zero_one_loss(y[[i]], response[[i]]) for i in range(len(y))]
    np.testing.assert_array_equal(get_loss("zero_one")(y, response), subset)


def test_what_is_averaged_may_be_any_loss_of_predictions():
    y, response = np.array([[0, 1], [1, 1]]), np.array([[1, 1], [0, 0]])
    costs = averaged([[0, 1], [5, 0]], weights=[1, 3])
    np.testing.assert_allclose(costs(y, response), [1 / 4, 5 / 4 + 15 / 4])
    assert (costs.minimum, costs.maximum) == (0.0, 5.0)
    late = averaged(lambda y, f: np.maximum(y - f, 0.0), weights=[0, 1])
    np.testing.assert_allclose(late([[9.0, 3.0]], [[0.0, 1.0]]), [2.0])
    assert repr(averaged("zero_one")) == "hamming"
    assert averaged("zero_one") == hamming != averaged("zero_one", weights=[1, 2])
    assert repr(averaged(huber(2.0), [1, 2])) == "averaged(huber(2.0), weights=[1.0, 2.0])"
    assert hamming(np.empty((0, 3)), np.empty((0, 3))).shape == (0,)


def test_of_one_output_it_is_the_loss_itself():
    assert averaged("absolute_error").for_outputs(1) == get_loss("absolute_error")
    assert hamming.for_outputs(1) == get_loss("zero_one")
    assert squared_error.for_outputs(1) is squared_error
    assert squared_error.for_outputs(3) == averaged("squared_error")
    np.testing.assert_array_equal(hamming([0, 1], [1, 1]), [1.0, 0.0])


@pytest.mark.parametrize("weights", [[1, -1], [0, 0], [1, np.nan], [[1, 2]], [], "ab", 3])
def test_bad_weights(weights):
    with pytest.raises(ValueError, match="weights must be a number for each output"):
        averaged("squared_error", weights)


def test_losses_that_several_outputs_do_not_have():
    for name in ("log_loss", "brier"):
        with pytest.raises(ValueError, match="class probabilities: use 'hamming'"):
            averaged(name)
        with pytest.raises(ValueError, match="is for one output, but y has 3 columns"):
            get_loss(name).for_outputs(3)
    with pytest.raises(ValueError, match="is for one output"):
        CostMatrix(np.eye(2)).for_outputs(2)
    weighted = averaged("squared_error", weights=[1, 2])
    for columns in (1, 3):
        with pytest.raises(ValueError, match=f"2 weights, but y has {columns} column"):
            weighted(np.ones((4, columns)), np.ones((4, columns)))
        with pytest.raises(ValueError, match=f"2 weights, but y has {columns} column"):
            weighted.for_outputs(columns)
    with pytest.raises(ValueError, match=r"same shape, got \(4, 2\) and \(4, 3\)"):
        weighted(np.ones((4, 2)), np.ones((4, 3)))
    with pytest.raises(ValueError, match=r"one value per example, shape \(4,\)"):
        make_loss(lambda y, f: (y - f) ** 2)(np.ones((4, 2)), np.zeros((4, 2)))
    with pytest.raises(ValueError, match='Use "hamming"'):
        get_loss(metrics.hamming_loss)
    with pytest.raises(ValueError, match='Did you mean "hamming"'):
        get_loss("hamming_loss")
