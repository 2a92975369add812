"""Risk that labels reduce, and risk that they do not: what a model says about the two."""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from condrisk._validation import check_vector, check_vectors

Floats = NDArray[np.float64]


class RiskParts(NamedTuple):
    """A risk in two parts, whose sum it is.

    Attributes
    ----------
    reducible : ndarray of shape (n_samples,)
        What more labels would take away.
    irreducible : ndarray of shape (n_samples,)
        What is left with any number of labels.
    """

    reducible: Floats
    irreducible: Floats


def split_risk(
    risk: ArrayLike,
    variance: ArrayLike,
    *,
    noise: ArrayLike | None = None,
    how: Literal["excess", "share"] = "excess",
) -> RiskParts:
    """Split an estimated risk under squared error into what labels reduce and what they do not.

    Losses alone do not identify the two: a label that comes up by chance, and one that a finer
    model would foresee, give the same losses. What separates them is an assumption about the
    model, and there is a choice of two:

    - "excess": the model knows how little it knows. Its variance at a row is the reducible part,
      and whatever the risk has beyond that is noise. Wrong where the model is too sure of
      itself: its ignorance then counts as noise.
    - "share": the model knows which *share* of the risk is its ignorance, variance against
      variance plus noise, and the estimate knows how large the risk is. Wrong where noise differs
      between rows and the model does not know.

    With several labels of the same row no assumption is needed: their variance is the noise.

    Parameters
    ----------
    risk : array-like of shape (n_samples,)
        Estimated risks under squared error.
    variance : array-like of shape (n_samples,)
        The model's variance of what it would predict: of a posterior, or between the members of
        an ensemble.
    noise : float or array-like of shape (n_samples,), optional
        With ``how="share"``, the variance of labels as the model sees it.
    how : {"excess", "share"}, default="excess"
        The assumption.

    Returns
    -------
    RiskParts
        ``reducible`` and ``irreducible``.

    Examples
    --------
    >>> from condrisk.active import split_risk
    >>> parts = split_risk([1.0, 1.0, 0.2], [0.1, 0.9, 0.5])
    >>> parts.reducible, parts.irreducible
    (array([0.1, 0.9, 0.2]), array([0.9, 0.1, 0. ]))
    >>> split_risk([1.0, 2.0], [0.1, 0.3], noise=0.1, how="share").reducible
    array([0.5, 1.5])
    """
    total, spread = check_vectors(risk=risk, variance=variance)
    for values, name in ((total, "risk"), (spread, "variance")):
        if values.min() < 0:
            raise ValueError(f"{name} must not be negative, got {values.min()}.")
    if how == "excess":
        reducible = np.minimum(total, spread)
    elif how == "share":
        if noise is None:
            raise ValueError('noise must be given with how="share".')
        both = spread + check_noise(noise, len(total))
        share = np.divide(spread, both, out=np.zeros_like(both), where=both > 0)
        reducible = total * share
    else:
        raise ValueError(f'how must be "excess" or "share", got {how!r}.')
    return RiskParts(reducible, total - reducible)


def check_noise(noise: ArrayLike, n_rows: int) -> Floats:
    """Return the variance of the labels of each row."""
    values = np.asarray(noise, dtype=np.float64)
    if values.ndim == 0:
        values = np.full(n_rows, values)
    values = check_vector(values, "noise")
    if len(values) != n_rows:
        raise ValueError(f"noise must have one value for each of {n_rows} rows, got {len(values)}.")
    if values.min() < 0:
        raise ValueError(f"noise is a variance and must not be negative, got {values.min()}.")
    return values
