"""`k_center`: against its promise and against a search by hand."""

from itertools import combinations

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from condrisk.active import k_center


def largest_gap(X, centres, labelled):
    return cdist(X, np.vstack([X[list(centres)], labelled])).min(axis=1).max()


@pytest.mark.parametrize("seed", range(10))
def test_at_most_twice_the_best(seed):
    rng = np.random.default_rng(seed)
    X, labelled = rng.normal(size=(14, 2)), rng.normal(size=(2, 2))
    chosen = k_center(X, 3, labelled=labelled)
    best = min(largest_gap(X, c, labelled) for c in combinations(range(14), 3))
    assert best <= largest_gap(X, chosen, labelled) <= 2 * best


def test_each_choice_is_the_farthest():
    rng = np.random.default_rng(0)
    X, labelled = rng.normal(size=(60, 3)), rng.normal(size=(4, 3))
    known = labelled
    for k in k_center(X, 10, labelled=labelled):
        distance = cdist(X, known).min(axis=1)
        assert distance[k] == pytest.approx(distance.max())
        known = np.vstack([known, X[k]])


def test_without_labels_it_starts_in_the_middle():
    X = np.array([[0.0], [4.0], [5.0], [11.0]])
    assert k_center(X, 3).tolist() == [2, 3, 0]


def test_no_row_twice_even_if_all_are_alike():
    assert sorted(k_center(np.ones((5, 2)), 5)) == [0, 1, 2, 3, 4]
    assert sorted(k_center(np.ones((5, 2)), 5, labelled=np.ones((1, 2)))) == [0, 1, 2, 3, 4]


def test_more_distances_than_are_held_at_once():
    rng = np.random.default_rng(0)
    X, labelled = rng.normal(size=(1500, 1)), rng.normal(size=(5000, 1))
    X[[3, 1400]] = [[40.0], [-50.0]]  # one row in the first block of distances, one in the last
    assert k_center(X, 2, labelled=labelled).tolist() == [1400, 3]


@pytest.mark.parametrize(
    ("X", "n_rows", "labelled", "words"),
    [
        ([[1.0]], 0, None, "n_rows must be a whole number"),
        ([[1.0]], 1.5, None, "n_rows must be a whole number"),
        ([[1.0]], 2, None, "n_rows must be at most"),
        ([1.0], 1, None, "X must have rows and columns"),
        ([[np.nan]], 1, None, "X must be finite"),
        ([[1.0]], 1, [[1.0, 2.0]], "labelled must have as many columns"),
        ([[1.0]], 1, [[np.inf]], "labelled must be finite"),
    ],
)
def test_bad_input_is_named(X, n_rows, labelled, words):
    with pytest.raises(ValueError, match=words):
        k_center(X, n_rows, labelled=labelled)
