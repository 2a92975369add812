"""Complexities of finite classes over every vector of signs, and the class of all stumps."""

import itertools
import math

import numpy as np


def by_enumeration(members):
    """The mean over all signs of the greatest correlation, from members by rows."""
    members = np.asarray(members, dtype=float)
    n = members.shape[1]
    signs = np.array(list(itertools.product((-1, 1), repeat=n)))
    return float((signs @ members.T).max(axis=1).mean() / n)


def all_stumps(X, low, high):
    """The values of every stump on the rows, written down one by one."""
    thresholds = [(j, t) for j in range(X.shape[1]) for t in [-math.inf, *X[:, j]]]
    return [
        [a if row[j] <= t else b for row in X]
        for j, t in thresholds
        for a in (low, high)
        for b in (low, high)
    ]
