"""What held-out rows say about the error of a risk: no more than is identified."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from condrisk._validation import check_confidence
from condrisk.inference._betting import betting_interval
from condrisk.inference._mean import (
    Floats,
    MeanInterval,
    check_rows,
    empirical_bernstein_interval,
)

Method = Literal["betting", "bernstein"] | Callable[..., MeanInterval]
Reference = float | ArrayLike | Mapping[str, float | ArrayLike]


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
    method : {"betting", "bernstein"} or callable
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
    risk : array-like of shape (n_rows,) or (n_samples, n_rows)
        The estimate ĝ(x) on rows that it has not been fitted to. With several samples, what is
        returned has arrays instead of numbers.
    loss : array-like of the same shape
        The losses z on the same rows.
    reference : number, array-like like `risk`, dict of these, or None, default=None
        One or more other estimates h(x) to compare with, such as the mean loss of the *training*
        rows. They must not have seen these rows: the mean of `loss` itself has, and would make
        the limits wrong.
    confidence : float, default=0.95
        How often, at least, everything that is returned is true at once. The probability of error
        is divided equally between E(ĝ − z)² and the references.
    upper : float
        The largest loss M that there can be, not the largest seen. For a clipped log loss it is
        −ln of the clip. Risks and references must lie in [0, M] too.
    method : {"betting", "bernstein"} or callable, default="betting"
        How to find the limits; betting gives the narrower ones. A function is called as
        `betting_interval` is, with the keywords ``confidence``, ``lower`` and ``upper``.
    random_state : None, int or numpy.random.Generator, default=0
        Betting takes the rows in random order, so that a sorted table does no harm.

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
    (0.316..., 0.511...)
    >>> found.differences["constant"].lower > 0  # worse than a constant
    True
    """
    interval = _find_method(method, random_state)
    check_confidence(confidence)
    if not isinstance(upper, int | float | np.number) or not 0 < upper < np.inf:
        raise ValueError(f"upper must be a positive, finite number, got {upper!r}")
    most = float(upper)
    risks, losses = check_rows(risk, "risk", 0.0, most), check_rows(loss, "loss", 0.0, most)
    _check_shape(losses, "loss", risks)
    references = _check_references(reference, risks, most)
    each = 1 - (1 - confidence) / (1 + len(references))
    squared, bound = (risks - losses) ** 2, most * most
    realised = interval(squared, confidence=each, lower=0.0, upper=bound)
    differences = {
        name: interval(squared - (h - losses) ** 2, confidence=each, lower=-bound, upper=bound)
        for name, h in references.items()
    }
    lower: Any = np.max([0 * realised.upper, *(d.lower for d in differences.values())], axis=0)
    # Of two limits that contradict each other one is in error: nothing is left to say but where.
    low, high = np.minimum(lower, realised.upper), np.maximum(lower, realised.upper)
    if risks.ndim == 1:
        low, high = float(low), float(high)
    return RiskErrorInterval(
        realised, differences, low, high, confidence, method, n_rows=risks.shape[-1]
    )


def _find_method(method: Method, random_state: Any) -> Callable[..., MeanInterval]:
    if callable(method):
        return method
    methods: dict[str, Callable[..., MeanInterval]] = {
        "betting": partial(betting_interval, random_state=random_state),
        "bernstein": empirical_bernstein_interval,
    }
    if method not in methods:
        raise ValueError(
            f"method must be one of {', '.join(methods)}, or a function, got {method!r}"
        )
    return methods[method]


def _check_references(reference: Reference | None, like: Floats, most: float) -> dict[str, Floats]:
    """Return each reference by its name in messages and results, a value for each row."""
    if reference is None:
        return {}
    given = reference if isinstance(reference, Mapping) else {"reference": reference}
    if not given:
        raise ValueError("reference is an empty dict: give None for no reference")
    found = {}
    for name, values in given.items():
        rows = np.full(like.shape, values) if np.ndim(values) == 0 else values
        found[str(name)] = check_rows(rows, str(name), 0.0, most)
        _check_shape(found[str(name)], str(name), like)
    return found


def _check_shape(rows: Floats, name: str, like: Floats) -> None:
    if rows.shape != like.shape:
        raise ValueError(
            f"{name} and risk must have the same length, got {rows.shape} and {like.shape}"
        )
