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
from condrisk.inference._constant_bets import constant_bets_interval
from condrisk.inference._mean import (
    Floats,
    MeanInterval,
    check_rows,
    empirical_bernstein_interval,
)

Method = Literal["betting", "bernstein"] | Callable[..., MeanInterval]
Over = Literal["rows", "population"]
Reference = float | ArrayLike | Mapping[str, float | ArrayLike]


@dataclass(frozen=True)
class RiskErrorInterval:
    """What `risk_error_interval` has found; all of it is true at once with the confidence given.

    E is the mean over the inputs of the rows given, or over the population, as was asked for.

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
    over: Over = "rows",
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
    over : {"rows", "population"}, default="rows"
        What the means are taken over: the inputs of these rows, as they are, or the population
        that the rows were drawn from. Only over rows are two close estimates told apart by few
        rows; the Notes say why.
    method : {"betting", "bernstein"} or callable, default="betting"
        How to find the limits; betting gives the narrower ones, the more so the rarer large
        losses are. A function is called as `betting_interval` is, with the keywords
        ``confidence``, ``lower`` and ``upper``; over rows, it must hold for independent rows of
        different expectations.
    random_state : None, int or numpy.random.Generator, default=0
        Over the population, betting takes the rows in random order, so that a sorted table does
        no harm.

    Returns
    -------
    RiskErrorInterval
        E(ĝ − z)², the differences to the references, and limits for E(ĝ − g)².

    Notes
    -----
    E(ĝ − g)² is not identified from pairs of risk and loss: with ĝ = ½, a constant g = ½ and a g
    that is a hash of x in {0, 1} give the same pairs, and errors of 0 and ¼. What can be
    estimated are the means of U = (ĝ − z)² in [0, M²] and D = U − (h − z)². As
    E[z | x] = g(x), E U = E(ĝ − g)² + E Var(z | x) ≥ E(ĝ − g)² and
    E D = E(ĝ − g)² − E(h − g)² ≤ E(ĝ − g)². Hence E(ĝ − g)² lies between the largest of 0 and the
    lower limits of E D, and the upper limit of E U.

    *Over rows.* Given the inputs of the rows, and so ĝ and h on them, let the losses be
    independent and in [0, M]. Then everything holds for the means over these inputs, at every
    number of rows. D = (ĝ − h)(ĝ + h − 2z) lies between its values for z = 0 and z = M, which
    are 2M |ĝ − h| apart, a range that is known: the limits shrink in proportion as h comes near
    to ĝ. They hold for the population as well if no input in it gives D a value outside of the
    range that it has on these rows, which the rows cannot show. Rows have different expectations,
    so bets may not follow the rows before: where ĝ and h are far apart, limits are up to 1.6 times
    as wide as over the population.

    *Over the population.* Let the rows be drawn from it independently. D lies in [−M², M²], and
    the range is all that is known of inputs that were not met: one in n with a difference of M
    would change E D by M² / n. Limits for E D are never much narrower than that, however close ĝ
    and h are.

    Examples
    --------
    >>> import numpy as np
    >>> from condrisk.inference import risk_error_interval
    >>> rng = np.random.default_rng(0)
    >>> g = rng.uniform(0, 0.5, size=5000)
    >>> z = (rng.uniform(size=5000) < g).astype(float)
    >>> found = risk_error_interval(1 - g, z, reference={"constant": 0.25, "g": g}, upper=1.0)
    >>> found.lower, found.upper  # the truth is E(1 − 2g)² = 1/3
    (0.30..., 0.51...)
    >>> found.differences["constant"].lower > 0  # worse than a constant
    True
    """
    interval = _find_method(method, over, random_state)
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
    differences = {}
    for name, h in references.items():
        difference = squared - (h - losses) ** 2
        if over == "population":
            found = interval(difference, confidence=each, lower=-bound, upper=bound)
        else:
            found = _in_range(interval, difference, _ends(risks, h, most), each)
        differences[name] = found
    lower: Any = np.max([0 * realised.upper, *(d.lower for d in differences.values())], axis=0)
    # Of two limits that contradict each other one is in error: nothing is left to say but where.
    low, high = np.minimum(lower, realised.upper), np.maximum(lower, realised.upper)
    if risks.ndim == 1:
        low, high = float(low), float(high)
    return RiskErrorInterval(
        realised, differences, low, high, confidence, method, n_rows=risks.shape[-1]
    )


def _ends(risk: Floats, reference: Floats, most: float) -> tuple[Floats, Floats]:
    """Return the least and the greatest D = (ĝ − h)(ĝ + h − 2z) of each row, for z in [0, M]."""
    apart, total = risk - reference, risk + reference
    at_no_loss, at_most = apart * total, apart * (total - 2 * most)
    return np.minimum(at_no_loss, at_most), np.maximum(at_no_loss, at_most)


def _in_range(
    interval: Callable[..., MeanInterval],
    rows: Floats,
    ends: tuple[Floats, Floats],
    confidence: float,
) -> MeanInterval:
    """Return limits for the mean of rows, scaled by the range of all rows of their sample."""
    low, high = ends[0].min(axis=-1, keepdims=True), ends[1].max(axis=-1, keepdims=True)
    scale = high - low
    # Rows without a range, of an estimate that is its own reference, are all zero.
    unit = np.clip((rows - low) / np.where(scale > 0, scale, 1.0), 0.0, 1.0)
    found = interval(unit, confidence=confidence, lower=0.0, upper=1.0)
    parts = [low[..., 0] + scale[..., 0] * part for part in found]
    return MeanInterval(*(float(part) for part in parts) if rows.ndim == 1 else parts)


def _find_method(method: Method, over: str, random_state: Any) -> Callable[..., MeanInterval]:
    bets: dict[str, Callable[..., MeanInterval]] = {
        "rows": constant_bets_interval,
        "population": partial(betting_interval, random_state=random_state),
    }
    if over not in bets:
        raise ValueError(f"over must be one of {', '.join(bets)}, got {over!r}")
    if callable(method):
        return method
    methods = {"betting": bets[over], "bernstein": empirical_bernstein_interval}
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
