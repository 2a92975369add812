"""What held-out rows say about the error of a risk: no more than is identified."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from condrisk._validation import check_vectors
from condrisk.inference._betting import (
    Floats,
    MeanInterval,
    bernstein_limits,
    betting_limits,
    check_confidence,
    check_range,
)

Method = Literal["betting", "bernstein"]
Limits = Callable[..., tuple[Floats, Floats]]
Reference = float | ArrayLike | Mapping[str, float | ArrayLike]

_LIMITS: dict[str, Limits] = {"betting": betting_limits, "bernstein": bernstein_limits}


@dataclass(frozen=True)
class RiskErrorInterval:
    """What `risk_error_interval` has found; all of it is true at once with the confidence given.

    Attributes
    ----------
    realised : MeanInterval
        E(ĝ − z)², the squared error against the loss z: it has the noise of z in it.
    differences : dict of str to MeanInterval
        For each reference h, E(ĝ − z)² − E(h − z)², which is E(ĝ − g)² − E(h − g)². Below zero, ĝ
        is nearer to the conditional risk than h is.
    lower, upper : float
        Limits of E(ĝ − g)², the error against the conditional risk itself. They do not close with
        more rows: what is between them is not identified.
    confidence : float
        How often, at least, all of this is true.
    method : {"betting", "bernstein"}
        How the limits were found.
    n_rows : int
        From how many rows.
    """

    realised: MeanInterval
    differences: dict[str, MeanInterval]
    lower: float
    upper: float
    confidence: float
    method: Method
    n_rows: int

    @property
    def width(self) -> float:
        """How far the limits of E(ĝ − g)² are apart."""
        return self.upper - self.lower


def risk_error_interval(
    risk: ArrayLike,
    loss: ArrayLike,
    *,
    reference: Reference | None = None,
    confidence: float = 0.95,
    upper: float,
    method: Method = "betting",
    random_state: Any = 0,
) -> RiskErrorInterval:
    """Return limits for the squared error of an estimated risk, from held-out rows.

    Parameters
    ----------
    risk : array-like of shape (n_rows,)
        The estimate ĝ(x) on rows that it has not been fitted to.
    loss : array-like of shape (n_rows,)
        The losses z on the same rows.
    reference : number, array-like of shape (n_rows,), dict of these, or None, default=None
        One or more other estimates h(x) to compare with, such as the mean loss of the *training*
        rows. They must not have seen these rows: the mean of `loss` itself has, and would make
        the limits wrong.
    confidence : float, default=0.95
        How often, at least, everything that is returned is true at once. The probability of error
        is divided equally between E(ĝ − z)² and the references.
    upper : float
        The largest loss M that there can be, not the largest seen. For a clipped log loss it is
        −ln of the clip. Risks and references must lie in [0, M] too.
    method : {"betting", "bernstein"}, default="betting"
        How to find the limits; betting gives the narrower ones.
    random_state : None, int or numpy.random.Generator, default=0
        The rows are taken in random order, so that a sorted table does no harm.

    Returns
    -------
    RiskErrorInterval
        E(ĝ − z)², the differences to the references, and limits for E(ĝ − g)².

    Notes
    -----
    E(ĝ − g)² is not identified from pairs of risk and loss: with ĝ = ½, a constant g = ½ and a g
    that is a hash of x in {0, 1} give the same pairs, and errors of 0 and ¼. What can be
    estimated are the means of U = (ĝ − z)² in [0, M²] and D = U − (h − z)² in [−M², M²]. As
    E[z | x] = g(x), E U = E(ĝ − g)² + E Var(z | x) ≥ E(ĝ − g)² and
    E D = E(ĝ − g)² − E(h − g)² ≤ E(ĝ − g)². Hence E(ĝ − g)² lies between the largest of 0 and the
    lower limits of E D, and the upper limit of E U.

    Examples
    --------
    >>> import numpy as np
    >>> from condrisk.inference import risk_error_interval
    >>> rng = np.random.default_rng(0)
    >>> g = rng.uniform(0, 0.5, size=5000)
    >>> z = (rng.uniform(size=5000) < g).astype(float)
    >>> found = risk_error_interval(1 - g, z, reference={"constant": 0.25, "g": g}, upper=1.0)
    >>> found.lower, found.upper  # the truth is E(1 − 2g)² = 1/3
    (0.319..., 0.513...)
    >>> found.differences["constant"].lower > 0  # worse than a constant
    True
    """
    if method not in _LIMITS:
        raise ValueError(f"method must be one of {', '.join(_LIMITS)}, got {method!r}")
    check_confidence(confidence)
    if not isinstance(upper, int | float | np.number) or not 0 < upper < np.inf:
        raise ValueError(f"upper must be a positive, finite number, got {upper!r}")
    values, losses = check_vectors(risk=risk, loss=loss)
    references = _check_references(reference, values)
    for name, rows in {"risk": values, "loss": losses, **references}.items():
        check_range(rows, name, 0.0, float(upper))
    order = np.random.default_rng(random_state).permutation(len(losses))
    found = risk_error_limits(
        values[None, order] / upper,
        losses[None, order] / upper,
        references={name: rows[None, order] / upper for name, rows in references.items()},
        confidence=confidence,
        limits=_LIMITS[method],
    )
    return _describe(found, upper=float(upper), confidence=confidence, method=method)


# -- many samples at once, scaled to [0, 1] --------------------------------------------------------


class ErrorLimits(NamedTuple):
    """Means of U and of each D over the rows of each sample, with limits, in units of M²."""

    realised: tuple[Floats, Floats, Floats]
    differences: dict[str, tuple[Floats, Floats, Floats]]
    lower: Floats
    upper: Floats
    n_rows: int


def risk_error_limits(
    risk: Floats,
    loss: Floats,
    *,
    references: Mapping[str, Floats],
    confidence: float,
    limits: Limits,
) -> ErrorLimits:
    """Return the limits for each row of arrays of shape (n_samples, n_rows) in [0, 1]."""
    each = 1 - (1 - confidence) / (1 + len(references))
    squared = (risk - loss) ** 2
    realised = (squared.mean(axis=1), *limits(squared, confidence=each))
    differences = {}
    for name, rows in references.items():
        difference = squared - (rows - loss) ** 2
        low, high = limits((1 + difference) / 2, confidence=each)
        differences[name] = (difference.mean(axis=1), 2 * low - 1, 2 * high - 1)
    floor = [np.zeros(len(loss)), *(low for _, low, _ in differences.values())]
    lower, upper = np.max(floor, axis=0), realised[2]
    # Of two limits that contradict each other one is in error: nothing is left to say but where.
    lower, upper = np.minimum(lower, upper), np.maximum(lower, upper)
    return ErrorLimits(realised, differences, lower, upper, loss.shape[1])


def _describe(
    limits: ErrorLimits, *, upper: float, confidence: float, method: Method
) -> RiskErrorInterval:
    def interval(parts: tuple[Floats, Floats, Floats]) -> MeanInterval:
        return MeanInterval(*(float(part[0]) * upper**2 for part in parts))

    return RiskErrorInterval(
        realised=interval(limits.realised),
        differences={name: interval(parts) for name, parts in limits.differences.items()},
        lower=float(limits.lower[0]) * upper**2,
        upper=float(limits.upper[0]) * upper**2,
        confidence=confidence,
        method=method,
        n_rows=limits.n_rows,
    )


def _check_references(reference: Reference | None, like: Floats) -> dict[str, Floats]:
    """Return each reference by its name in messages and results, a value for each row."""
    if reference is None:
        return {}
    given = reference if isinstance(reference, Mapping) else {"reference": reference}
    if not given:
        raise ValueError("reference is an empty dict: give None for no reference")
    found = {}
    for name, values in given.items():
        rows = np.full(len(like), values) if np.ndim(values) == 0 else values
        found[str(name)] = check_vectors(risk=like, **{str(name): rows})[1]
    return found
