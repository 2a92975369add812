"""Complexities of finite classes, over every vector of signs."""

import itertools

import numpy as np


def by_enumeration(members):
    """The mean over all signs of the greatest correlation, from members by rows."""
    members = np.asarray(members, dtype=float)
    n = members.shape[1]
    signs = np.array(list(itertools.product((-1, 1), repeat=n)))
    return float((signs @ members.T).max(axis=1).mean() / n)
