"""Whether a predictor is worse than the best constant answer, on rows it was not fitted on."""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from condrisk._crossfit import rows_of
from condrisk.losses import AveragedLoss, ClassLoss, Loss, encode
from condrisk.risk._held_out import HeldOut

Floats = NDArray[np.float64]

# A predictor is called worse at this level, one-sided, and from so many rows or groups on.
LEVEL = 0.001
LEAST_ROWS = 20
# A constant for numbers is chosen by its loss on at most so many rows, of these quantiles.
MOST_ROWS = 2_000
QUANTILES = (0.005, 0.01, *(k / 40 for k in range(1, 40)), 0.99, 0.995)


class Constant(NamedTuple):
    """An answer that is the same for all rows: how it reads, and what it costs each row."""

    text: str
    losses: Floats


class Comparison(NamedTuple):
    """Mean losses of predictor and constant on held-out rows, and p of the first being higher."""

    predictor: float
    constant: float
    text: str
    p: float


def warn_if_worse_than_constant(
    risk: Any, X: Any, y: NDArray[Any], weight: NDArray[Any] | None
) -> None:
    """Warn where a constant answer would have had a lower loss than the predictor.

    Parameters
    ----------
    risk : BaseRisk
        A risk estimator that has just been fitted.
    X, y, weight
        The rows, targets and weights that it was fitted on.
    """
    held_out = risk._held_out
    if held_out is None and risk._pairs is not None:
        held_out = risk._pairs.with_risks(risk._pairs.losses)
    if held_out is None:
        return
    found = compare_with_constant(risk.loss_, y, held_out, risk._known_classes())
    if found is None or found.p >= LEVEL or _fits_own_rows(risk, X, y, weight, held_out):
        return
    warnings.warn(
        f"the predictor is worse than a constant: its mean {risk.loss_.name} on held-out rows is "
        f"{found.predictor:.3g}, that of {found.text} {found.constant:.3g}. It may not be made "
        f"for this loss. The losses of a poor predictor can be easy to estimate: compare "
        f"predictors by Deferral.score or by their mean loss, not by the score of the risk.",
        UserWarning,
        stacklevel=3,
    )


def _fits_own_rows(
    risk: Any, X: Any, y: NDArray[Any], weight: NDArray[Any] | None, held_out: HeldOut
) -> bool:
    """Tell whether a predictor fitted here is no worse than a constant on its own rows.

    Then it has overfitted noise, which says little against the choice of the predictor. It costs
    a prediction, and only where the held-out losses speak against the predictor.
    """
    if not risk._has_to_fit_predictor():
        return False
    rows = np.arange(len(y))
    if not risk.refit:
        rows = np.setdiff1d(rows, held_out.rows)
    y, weight = y[rows], np.ones(len(rows)) if weight is None else weight[rows]
    constant = best_constant(risk.loss_, y, weight, y, risk._known_classes())
    response = risk._responses_to(rows_of(X, rows), None).get(risk.loss_.response)
    own = risk._losses(y, response)
    return constant is None or p_of_higher(own - constant.losses, weight) >= LEVEL


def compare_with_constant(
    loss: Loss, y: NDArray[Any], held_out: HeldOut, classes: NDArray[Any] | None
) -> Comparison | None:
    """Compare held-out losses with those of the best constant answer, row by row.

    The constant is chosen on one half of the rows and judged on the other, both ways, so that
    neither side has seen the targets it is judged on.

    Parameters
    ----------
    loss : Loss
        The loss.
    y : ndarray of shape (n_samples,)
        All targets given to `fit`.
    held_out : HeldOut
        Held-out rows and their losses.
    classes : ndarray or None
        The labels, for a classifier.

    Returns
    -------
    Comparison or None
        None where there are too few rows, or no constant that the loss can judge.
    """
    weight = held_out.weights if held_out.weights is not None else np.ones(len(held_out.rows))
    kept = weight > 0
    y, weight, losses = y[held_out.rows][kept], weight[kept], held_out.losses[kept]
    if len(y) < LEAST_ROWS:
        return None
    halves = np.random.RandomState(0).permutation(len(y)) % 2  # targets may come in an order
    constant = np.empty(len(y))
    for half in (0, 1):
        other, own = halves != half, halves == half
        found = best_constant(loss, y[other], weight[other], y[own], classes)
        if found is None:
            return None
        constant[own] = found.losses
    whole = best_constant(loss, y, weight, y[:1], classes)
    assert whole is not None
    groups = None if held_out.groups is None else np.asarray(held_out.groups)[kept]
    return Comparison(
        float(np.average(losses, weights=weight)),
        float(np.average(constant, weights=weight)),
        whole.text,
        p_of_higher(losses - constant, weight, groups),
    )


def best_constant(
    loss: Loss,
    y: NDArray[Any],
    weight: Floats,
    judged: NDArray[Any],
    classes: NDArray[Any] | None,
) -> Constant | None:
    """Return the constant with the least mean loss on `y`, and its losses on `judged`.

    Examples
    --------
    >>> import numpy as np
    >>> from condrisk.losses import CostMatrix, pinball
    >>> from condrisk.risk._constant import best_constant
    >>> y = np.array([0, 0, 0, 1])
    >>> best_constant(CostMatrix([[0, 1], [5, 0]]), y, np.ones(4), y, np.array([0, 1])).text
    'always answering 1'
    >>> best_constant(pinball(0.9), np.arange(101.0), np.ones(101), y, None).text
    'always answering 90'
    """
    try:
        if y.ndim == 2:
            return _best_of_each_output(loss, y, weight, judged)
        if classes is None:
            return _best_number(loss, y, weight, judged)
        return _best_class(loss, y, weight, judged, classes)
    except Exception:  # a loss of the user's may refuse answers that no predictor gives
        return None


def _best_of_each_output(
    loss: Loss, y: NDArray[Any], weight: Floats, judged: NDArray[Any]
) -> Constant | None:
    if not isinstance(loss, AveragedLoss):
        return None
    labels = np.arange(2) if loss.task == "classification" else None
    columns = zip(y.T, judged.T, strict=True)
    found = [best_constant(loss.loss, own, weight, seen, labels) for own, seen in columns]
    known = [constant for constant in found if constant is not None]
    if len(known) < len(found):
        return None
    answers = ", ".join(constant.text.rsplit(maxsplit=1)[-1] for constant in known)
    return Constant(
        f"always answering ({answers})", loss.mean([constant.losses for constant in known])
    )


def _best_class(
    loss: Loss, y: NDArray[Any], weight: Floats, judged: NDArray[Any], classes: NDArray[Any]
) -> Constant | None:
    codes, place = encode(y, classes), encode(judged, classes)
    if not isinstance(loss, ClassLoss) or codes.min() < 0 or place.min() < 0:
        return None
    shares = np.bincount(codes, weight, minlength=len(classes)) / weight.sum()
    if loss.response == "predict_proba":
        # No class is impossible because a half of the rows has none of it.
        n = len(y)
        shares = (n * shares + 0.5) / (n + 0.5 * len(classes))
        return Constant(
            "the shares of the classes", loss.rows(shares[None], classes=classes)[0][place]
        )
    costs = loss.rows(classes, classes=classes)  # of each answer, by true class
    best = int(np.argmin(costs @ shares))
    return Constant(f"always answering {classes[best]}", costs[best][place])


def _best_number(
    loss: Loss, y: NDArray[Any], weight: Floats, judged: NDArray[Any]
) -> Constant | None:
    # Without a least loss there is no best constant: y − f(x) is the lower the larger f(x) is.
    if y.dtype.kind not in "iuf" or loss.response != "predict" or np.isinf(loss.minimum):
        return None
    step = -(-len(y) // MOST_ROWS)
    some, share = y[::step], weight[::step]
    answers = np.quantile(some, QUANTILES, method="inverted_cdf").astype(np.float64)
    answers = np.append(np.unique(answers), np.average(y, weights=weight))
    # One call for all answers: it takes a hundredth of the time of one for each.
    losses = loss(np.tile(some, len(answers)), np.repeat(answers, len(some)))
    best = float(answers[int(np.argmin(losses.reshape(len(answers), -1) @ share))])
    return Constant(f"always answering {best:.4g}", loss(judged, np.full(len(judged), best)))


def p_of_higher(difference: Floats, weight: Floats, groups: NDArray[Any] | None = None) -> float:
    """Return p of the one-sided t-test that the mean is above zero, over rows or groups."""
    total = weight * difference
    if groups is not None:
        _, place = np.unique(groups, return_inverse=True)
        total = np.bincount(place, total).astype(np.float64)
        weight = np.bincount(place, weight).astype(np.float64)
    n = len(total)
    if n < LEAST_ROWS:
        return 1.0
    mean = total.sum() / weight.sum()
    error = np.sqrt(np.sum((total - mean * weight) ** 2) * n / (n - 1))
    if error <= 1e-12 * np.abs(total).sum():
        return 0.0 if mean > 0 else 1.0
    return float(stats.t.sf(total.sum() / error, n - 1))
