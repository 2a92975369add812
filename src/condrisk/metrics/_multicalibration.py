"""Whether rows of a given risk lose what the risk says, in every segment of the rows."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from condrisk._blocks import tied_blocks
from condrisk._groups import Group, column_of, groups_of_bins, groups_of_values, masks
from condrisk._validation import Vector, check_vectors, check_weight

Segments = Mapping[str, ArrayLike] | ArrayLike
EVERYTHING = "all rows"
# Numbers with more values are thirds of their rows; labels with more would be too small segments.
MOST_VALUES, N_BINS = 50, 3


class SegmentCalibration(NamedTuple):
    """How far a risk is off in each segment, the worst first.

    Attributes
    ----------
    name : list of str
        The segments; "all rows" is one of them.
    n_rows : ndarray of shape (n_segments,)
        The rows in each, or the sum of their weights.
    mean_loss, mean_risk : ndarray of shape (n_segments,)
        Mean realised loss and mean estimated risk.
    error : ndarray of shape (n_segments,)
        The cumulative calibration error, in units of the loss.
    sigma : ndarray of shape (n_segments,)
        The same in standard deviations of what a calibrated risk would have.
    """

    name: list[str]
    n_rows: Vector
    mean_loss: Vector
    mean_risk: Vector
    error: Vector
    sigma: Vector


def segment_calibration(
    loss: ArrayLike, risk: ArrayLike, segments: Segments, *, sample_weight: ArrayLike | None = None
) -> SegmentCalibration:
    r"""Calibration error of the risk within each segment, which may overlap.

    Parameters
    ----------
    loss : array-like of shape (n_samples,)
        Realised loss of the prediction for each row.
    risk : array-like of shape (n_samples,)
        Estimated loss of the prediction for each row.
    segments : mapping of str to array-like, or array-like
        A mapping of names to flags of shape (n_samples,), true for the rows of the segment; or
        labels, a frame or an array of shape (n_samples,) or (n_samples, n_columns), of which each
        value of each column is a segment. Of numbers with more than 50 values each third of the
        rows is one; other columns with more are refused.
    sample_weight : array-like of shape (n_samples,), default=None
        How often each row counts, as if it were given so many times.

    Returns
    -------
    SegmentCalibration
        A line for each segment of at least two rows and for all rows, the largest `sigma` first.

    See Also
    --------
    multicalibration_error : The largest of them.

    Notes
    -----
    With the rows of a segment in order of risk, :math:`D_k = \frac1n \sum_{i \le k} (\ell_i -
    \hat g_i)`, taken where the risk changes, is the gap that calibration closes up to each risk.
    The error is :math:`\max_k D_k - \min_k D_k`, with :math:`D_0 = 0`: the largest gap over any
    interval of risks, as a share of all rows of the segment; no bins have to be chosen. Its scale
    is :math:`\sigma^2 = \sum_i (r_{i+1} - r_i)^2 / (2 n (n - 1))` with the residuals
    :math:`r = \ell - \hat g` in order of risk: neighbours have nearly the same expected
    loss, so that their differences show the noise alone (Guy et al., 2025, equation 6). Among rows
    of equal risk the mean over their orders is taken. For a calibrated risk the error in σ
    is about the range of a Brownian motion: 1.6 on average, above 2.5 in 5 % of the segments. For
    one that is not it grows with √n: compare values at the same number of rows.

    Examples
    --------
    >>> import numpy as np
    >>> from condrisk.metrics import segment_calibration
    >>> rng = np.random.default_rng(0)
    >>> city = np.repeat(["Oslo", "Rome"], 500)
    >>> risk = rng.uniform(0.1, 0.3, size=1000)
    >>> loss = (rng.uniform(size=1000) < risk + 0.2 * (city == "Rome")).astype(float)
    >>> found = segment_calibration(loss, risk, city)
    >>> found.name[0], bool(found.sigma[0] > 5)
    ('Rome', True)
    """
    losses, risks = check_vectors(loss=loss, risk=risk)
    weight = check_weight(sample_weight, losses, "loss")
    count = np.ones_like(losses) if weight is None else weight
    lines = []
    for name, rows in {
        EVERYTHING: np.ones(len(losses), dtype=bool),
        **_masks(segments, len(losses)),
    }.items():
        rows = rows & (count > 0)
        if count[rows].sum() > 1 and (rows.sum() > 1 or name == EVERYTHING):
            lines.append((name, *_measured(losses[rows], risks[rows], count[rows])))
    lines.sort(key=lambda line: -line[-1])
    names, *columns = zip(*lines, strict=True)
    return SegmentCalibration(list(names), *map(np.array, columns))


def multicalibration_error(
    loss: ArrayLike,
    risk: ArrayLike,
    segments: Segments,
    *,
    scale: Literal["sigma", "relative"] = "sigma",
    sample_weight: ArrayLike | None = None,
) -> float:
    """Calibration error of the risk in the segment where it is worst.

    Parameters
    ----------
    loss : array-like of shape (n_samples,)
        Realised loss of the prediction for each row.
    risk : array-like of shape (n_samples,)
        Estimated loss of the prediction for each row.
    segments : mapping of str to array-like, or array-like
        As in :func:`segment_calibration`. All rows together are a segment, too.
    scale : {"sigma", "relative"}, default="sigma"
        "sigma": in standard deviations of the error of a calibrated risk. "relative": that times
        the standard deviation of all rows, as a share of the mean loss; it hardly depends on the
        number of rows where the risk is far off.
    sample_weight : array-like of shape (n_samples,), default=None
        How often each row counts, as if it were given so many times.

    Returns
    -------
    float
        The error. Noise keeps it above zero even for the true risk, the more so the more
        segments there are, and σ grows with the number of rows: compare estimates on the same
        rows and segments.

    Notes
    -----
    Both are those of MCGrad's ``MulticalibrationError`` for regression (``mce_sigma``, and ``mce``
    over the mean loss), given the same segments and no ties.

    Examples
    --------
    >>> from condrisk.metrics import multicalibration_error
    >>> loss, risk = [0.0, 1.0, 0.0, 2.0], [0.1, 0.2, 0.3, 0.4]
    >>> multicalibration_error(loss, risk, ["a", "a", "b", "b"])
    1.08...
    """
    if scale not in ("sigma", "relative"):
        raise ValueError(f'scale must be "sigma" or "relative", got {scale!r}')
    found = segment_calibration(loss, risk, segments, sample_weight=sample_weight)
    worst = float(found.sigma[0])
    if scale == "sigma":
        return worst
    whole = found.name.index(EVERYTHING)
    if found.mean_loss[whole] <= 0:
        raise ValueError('loss must have a positive mean with scale="relative"')
    if not found.sigma[whole]:
        return 0.0 if not worst else np.inf
    of_all = found.error[whole] / found.sigma[whole]
    return float(worst * of_all / found.mean_loss[whole])


def _masks(segments: Segments, n: int) -> dict[str, NDArray[np.bool_]]:
    if isinstance(segments, Mapping):
        given = {str(name): np.asarray(rows) for name, rows in segments.items()}
        for name, rows in given.items():
            if rows.dtype != bool or rows.shape != (n,):
                raise ValueError(
                    f"segments[{name!r}] must be one truth value for each of the {n} rows, got "
                    f"{rows.dtype} of shape {rows.shape}"
                )
        return given
    if hasattr(segments, "columns"):
        columns: list[str | int] = list(range(len(segments.columns)))
        names = [str(name) for name in segments.columns]
        labels: Any = segments
    else:
        labels = np.asarray(segments)
        columns, names = list(range(labels.shape[1] if labels.ndim == 2 else 1)), []
        if labels.ndim == 1:
            labels = labels[:, None]
    if len(labels.shape) != 2 or len(labels) != n:
        raise ValueError(
            f"segments must have a label for each of the {n} rows, got shape {labels.shape}"
        )
    groups = [group for column in columns for group in _groups(labels, column)]
    flags = masks(groups, labels, what="segments")
    called = (_name(group, names, alone=len(columns) == 1) for group in groups)
    return dict(zip(called, flags, strict=True))


def _groups(labels: Any, column: str | int) -> list[Group]:
    """Return a group for each value of a column, or of numbers with many for each third."""
    values = column_of(labels, column, "segments")
    if values.dtype.kind in "iuf" and len(np.unique(values)) > MOST_VALUES:
        return groups_of_bins(
            labels, [column], n_bins=N_BINS, most_values=MOST_VALUES, what="segments"
        )
    return groups_of_values(labels, [column], most=MOST_VALUES, what="segments")


def _name(group: Group, names: list[str], *, alone: bool) -> str:
    if names:
        return replace(group, column=names[int(group.column)]).name
    if alone:
        return group.value if group.value is not None else replace(group, column="value").name
    return group.name


def _measured(
    loss: Vector, risk: Vector, weight: Vector
) -> tuple[float, float, float, float, float]:
    """Return number of rows, mean loss, mean risk, error and error in σ of a segment."""
    residual = loss - risk
    own = tied_blocks(residual, risk, weight)
    squares = tied_blocks(residual**2, risk, weight).loss
    n = float(own.weight.sum())
    steps = np.append(0.0, np.cumsum(own.loss)) / n
    error = float(np.ptp(steps))
    mean = own.loss / own.weight
    variance = np.maximum(squares / own.weight - mean**2, 0.0)
    # Half the squared differences of neighbours: within blocks of equal risk, and between them.
    within = float(own.weight @ variance)
    between = 0.5 * float(np.sum(np.diff(mean) ** 2 + variance[1:] + variance[:-1]))
    noise = np.sqrt((within + between) / (n * (n - 1)))
    sigma = error / noise if noise > 0 else (np.inf if error > 1e-12 else 0.0)
    return (
        n,
        float(np.average(loss, weights=weight)),
        float(np.average(risk, weights=weight)),
        error,
        float(sigma),
    )
