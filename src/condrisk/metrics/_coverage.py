"""How well a risk ranks: the mean loss of the least risky rows, at every coverage."""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from condrisk._blocks import iter_blocks, running_sum, tied_blocks
from condrisk._validation import Vector, check_vectors, check_weight


class RiskCoverageCurve(NamedTuple):
    """Mean loss of the accepted rows as more and more rows are accepted."""

    coverage: Vector
    selective_loss: Vector
    threshold: Vector


def risk_coverage_curve(
    loss: ArrayLike, risk: ArrayLike, *, sample_weight: ArrayLike | None = None
) -> RiskCoverageCurve:
    """Mean loss of the accepted rows when rows are accepted in order of increasing risk.

    Rows of equal risk are accepted together, so there is one point for each distinct risk and
    the order of the rows does not matter.

    Parameters
    ----------
    loss : array-like of shape (n_samples,)
        Realised loss of the prediction for each row.
    risk : array-like of shape (n_samples,)
        Estimated loss of the prediction for each row.
    sample_weight : array-like of shape (n_samples,), default=None
        Weight of each row. None: all rows count the same. Rows of weight zero have no point.

    Returns
    -------
    RiskCoverageCurve
        A named tuple of arrays of shape (n_distinct_risks,):

        - ``coverage``: the share of the weight that is accepted, increasing to 1;
        - ``selective_loss``: the mean loss of the accepted rows; the last is the mean loss;
        - ``threshold``: the risk up to which rows are accepted.

    Examples
    --------
    >>> from condrisk.metrics import risk_coverage_curve
    >>> curve = risk_coverage_curve([0.0, 1.0, 2.0, 5.0], [0.1, 0.3, 0.3, 0.7])
    >>> curve.coverage
    array([0.25, 0.75, 1.  ])
    >>> curve.selective_loss
    array([0., 1., 2.])
    >>> curve.threshold
    array([0.1, 0.3, 0.7])
    """
    losses, risks = check_vectors(loss=loss, risk=risk)
    weight = check_weight(sample_weight, losses, "loss")
    blocks = tied_blocks(losses, risks, weight)
    accepted = running_sum(blocks.weight)
    selective_loss = running_sum(blocks.loss) / accepted
    return RiskCoverageCurve(accepted / accepted[-1], selective_loss, blocks.risk)


def aurc(loss: ArrayLike, risk: ArrayLike, *, sample_weight: ArrayLike | None = None) -> float:
    r"""Area under the risk-coverage curve: how well the risk ranks the losses.

    Lower is better. A risk that says nothing has the mean loss in expectation, and a constant
    one has exactly that.

    Parameters
    ----------
    loss : array-like of shape (n_samples,)
        Realised loss of the prediction for each row.
    risk : array-like of shape (n_samples,)
        Estimated loss of the prediction for each row.
    sample_weight : array-like of shape (n_samples,), default=None
        Weight of each row, of which only the proportions matter. None: all rows count the same.

    Returns
    -------
    float
        The mean, over all coverages between 0 and 1, of the mean loss of the accepted rows.

    See Also
    --------
    excess_aurc : The same, minus what the best possible ranking would have.
    risk_coverage_curve : The curve.

    Notes
    -----
    Lay the rows in order of increasing risk on the interval from 0 to 1, each as long as its
    share of the weight, and spread the loss of rows with equal risk evenly over the part that
    they occupy together. With :math:`\ell(s)` the loss at position :math:`s`,

    .. math::

        A = \int_0^1 \frac{1}{t} \int_0^t \ell(s)\, ds\, dt = \int_0^1 \ell(s) (-\log s)\, ds
          = \sum_b \bar\ell_b \left[ H(c_b) - H(c_{b-1}) \right], \qquad H(c) = c - c \log c,

    where :math:`\bar\ell_b` is the mean loss of the rows with the :math:`b`-th distinct risk and
    :math:`c_b` the coverage up to them (:math:`c_0 = 0`, :math:`H(0) = 0`).

    The usual figure is a sum, :math:`\frac1n \sum_k` of the mean of the `k` least risky losses.
    It cannot be kept if a row of weight two is to be a row given twice and only the proportions
    of the weights are to matter, since giving *every* row twice changes it. Repeating every row
    `m` times, in random order, and letting `m` grow leads to the integral, which has both
    properties; without ties or weights the two differ by less than
    ``(max(loss) - min(loss)) / (2 * n_samples)``, and the sum is the plain mean of
    ``risk_coverage_curve(loss, risk).selective_loss``.

    Examples
    --------
    >>> from condrisk.metrics import aurc
    >>> loss = [0.0, 0.5, 1.0, 4.0]
    >>> aurc(loss, [1, 2, 3, 4])
    0.381
    >>> aurc(loss, [1, 1, 1, 1])
    1.375
    """
    losses, risks = check_vectors(loss=loss, risk=risk)
    weight = check_weight(sample_weight, losses, "loss")
    return _area(losses, risks, weight)


def excess_aurc(
    loss: ArrayLike, risk: ArrayLike, *, sample_weight: ArrayLike | None = None
) -> float:
    """Area under the risk-coverage curve above that of the best possible ranking.

    Parameters
    ----------
    loss : array-like of shape (n_samples,)
        Realised loss of the prediction for each row.
    risk : array-like of shape (n_samples,)
        Estimated loss of the prediction for each row.
    sample_weight : array-like of shape (n_samples,), default=None
        Weight of each row. None: all rows count the same.

    Returns
    -------
    float
        ``aurc(loss, risk) - aurc(loss, loss)``. Zero, up to rounding, when the risk orders the
        rows as their losses do, and never less.

    See Also
    --------
    aurc : The area itself, and its definition.

    Notes
    -----
    For the zero-one loss with error rate `e` the best possible area, which is taken off, is
    ``e + (1 - e) * log(1 - e)``.

    Examples
    --------
    >>> from condrisk.metrics import excess_aurc
    >>> excess_aurc([0.0, 0.5, 1.0, 4.0], [10, 20, 30, 40])
    0.0
    >>> excess_aurc([0.0, 0.5, 1.0, 4.0], [10, 10, 10, 10])
    1.0
    """
    losses, risks = check_vectors(loss=loss, risk=risk)
    weight = check_weight(sample_weight, losses, "loss")
    return _area(losses, risks, weight) - _area(losses, losses, weight)


def _area(loss: Vector, risk: Vector, weight: Vector | None) -> float:
    """Sum over blocks of tied rows: their loss times the mean of -log(s) over their place.

    From a to b that mean is 1 - log(b) - a / (b - a) · log(b / a): with log1p it is accurate
    to the last digits for narrow blocks, of which there may be millions.
    """
    total = len(loss) if weight is None else weight.sum()
    area = accepted = 0.0
    for _, block_loss, block_weight in iter_blocks(loss, risk, weight):
        ends = accepted + np.append(0.0, np.cumsum(block_weight))
        # The bounds stand for the limits at zero, where the first block begins, and at infinity.
        ratio = np.clip(ends[:-1] / block_weight, 1e-300, 1e300)
        mean_log = 1.0 - np.log(ends[1:] / total) - ratio * np.log1p(1.0 / ratio)
        area += float(block_loss @ mean_log)
        accepted = float(ends[-1])
    return float(area / total)
