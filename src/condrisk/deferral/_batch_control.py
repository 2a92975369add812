"""A rule with a guarantee for the rows of one batch, by labels that are drawn from it."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Integral, Interval, Real, StrOptions
from sklearn.utils.validation import check_is_fitted

from condrisk._validation import check_vector, check_vectors, validated
from condrisk.deferral._batch_tests import BettingTest, HypergeometricTest

# Labels are drawn among the rows of least risk whose risks add up to so many times what the target
# allows. Others have no chance to be accepted if the risk is right.
FRAME = 1.3
# Rows to label between two looks at the test, where nobody says how many.
AT_ONCE = 20


class BatchControlRule(BaseEstimator):
    """Accept as many rows of this batch as possible, with a guarantee for this batch.

    Some rows are drawn and labelled. Then with probability `confidence` the losses of the rows
    that are accepted without a label add up to at most `target` times the number of rows in the
    batch: labelled and deferred rows count as resolved, with a loss of 0. The probability is over
    the draw of the rows to label and nothing else. The losses of the batch are fixed numbers: the
    rows need not be independent, nor like any others, and the risk may be as wrong as it likes
    (then less is accepted).

    Parameters
    ----------
    target : float
        The greatest mean over all rows of the batch of loss × accepted.
    confidence : float, default=0.9
        The probability, at least, with which the guarantee holds.
    n_labels : int, default=500
        How many labels are planned. With ``test="betting"`` it is what the bets aim at: stopping
        earlier or going on is allowed, and the guarantee holds all the same.
    cap : float, default=1.0
        The greatest loss that a row can have; right for the 0/1 loss as it is. A larger one among
        the labels is an error.
    test : {"betting", "hypergeometric"}, default="betting"
        "betting" takes any losses and holds whenever labelling stops. "hypergeometric" is exact
        and accepts more, for losses of 0 or `cap` (those between count as `cap`) and exactly
        `n_labels` labels.
    sampling : {"uniform", "risk"}, default="uniform"
        Whether all rows that could be accepted have the same chance to be labelled, or one in
        proportion to the root of their risk, which is worth it for losses whose size the risk
        tells. For betting only.
    random_state : int, RandomState instance or None, default=None
        Seeds the draw. The guarantee is about this draw: do not try several seeds.

    Attributes
    ----------
    threshold_ : float
        Unlabelled rows with a risk up to it are accepted; -inf if there are none.
    kept_ : ndarray of bool, shape (n_rows,)
        The rows accepted without a label.
    labelled_ : ndarray of bool, shape (n_rows,)
        The rows with a label. All others that are not kept are deferred.
    n_kept_, labels_used_ : int
        How many these are: rows kept are net of labels.
    feasible_ : bool
        Whether anything can be accepted.
    guarantee_ : str
        What is guaranteed.

    See Also
    --------
    RiskControlRule : A guarantee for the population, from rows labelled before.

    Notes
    -----
    Let ℓᵢ be the losses, L the labelled rows and U(t) = Σ ℓᵢ over the unlabelled rows with a risk
    up to t. U grows with t, so there is a first threshold t° with U(t°) > u = target · n_rows, and
    the guarantee is broken only if t° or a later threshold passes. Labels resolve losses: t°
    depends on the draw. A test that is valid for every fixed t is not enough, and neither proof
    below needs more than the draw.

    *Hypergeometric.* Losses are 0 or `cap`, m = ⌊u / cap⌋, and n of the F rows that could be
    accepted are labelled. The threshold is the last one up to which at most c labels show a loss.
    Suppose that it accepts more than m unlabelled losses, and j ≤ c labelled ones. Then of the
    first m + j + 1 losses in order of risk at most j have a label, hence of the first m + c + 1
    at most c: one fixed event. Its probability is P(H ≤ c) for a hypergeometric H of n draws from
    F rows with m + c + 1 losses, and c is the largest number for which that is at most
    1 − confidence. Losses of any size have no such law at a fixed number of labels: they are
    tested by betting, which on losses of 0 or `cap` accepts a little less.

    *Betting.* Rows are drawn one after the other, row i with a known chance qᵢ among those left.
    X(t) = ℓ / q if the row drawn has a risk up to t and 0 otherwise, minus a control variate ξ
    that the risk gives and that has mean zero, the same for all t: its expectation is U(t) at
    that time. For each t there is a capital that begins at 1 and is multiplied by
    1 + ν (u − X(t)), with bets ν ≥ 0 that know earlier draws only, and then by the least such
    factor of all thresholds up to t, so that the factors fall in t. Let t° be the first threshold
    with U(t°) > u *at that time*: it never falls, as labels only resolve losses. The capital that
    takes the factor of the t° of each time is a nonnegative supermartingale, and no less than
    the capital of the final t° or of any later threshold, whose factors were never greater. By
    Ville's inequality it ever reaches 1 / (1 − confidence) with probability 1 − confidence at
    most. A threshold passes if its capital has ever reached that (Waudby-Smith and Ramdas, 2024;
    weighted draws with a control variate: Shekhar, Xu, Lipton, Liang and Ramdas, 2023).

    Thresholds beyond the rows that labels are drawn from are never accepted: those are the rows
    of least risk whose risks add up to 1.3 times what the target allows. A risk that is too high
    on all rows accepts less than it could.

    Examples
    --------
    >>> import numpy as np
    >>> from condrisk.deferral import BatchControlRule
    >>> rng = np.random.default_rng(0)
    >>> risk = rng.uniform(size=10_000)
    >>> loss = (rng.uniform(size=10_000) < risk).astype(float)  # known to the reviewer only
    >>> rule = BatchControlRule(0.1, n_labels=300, random_state=0)
    >>> rule = rule.fit(risk, lambda rows: loss[rows])
    >>> bool(loss[rule.kept_].sum() <= 0.1 * 10_000)
    True
    >>> rule.labels_used_, bool(3700 < rule.n_kept_ < 4500)  # knowing all losses, 4470
    (300, True)

    Or one lot of labels after the other, stopping when enough is kept:

    >>> rule = BatchControlRule(0.1, n_labels=300, random_state=0).start(risk)
    >>> while rule.n_kept_ < 3000:
    ...     rows = rule.next_rows(50)
    ...     rule = rule.update(rows, loss[rows])
    >>> rule.labels_used_ <= 300
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "target": [Interval(Real, 0, None, closed="left")],
        "confidence": [Interval(Real, 0, 1, closed="neither")],
        "n_labels": [Interval(Integral, 1, None, closed="left")],
        "cap": [Interval(Real, 0, None, closed="neither")],
        "test": [StrOptions({"betting", "hypergeometric"})],
        "sampling": [StrOptions({"uniform", "risk"})],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        target: float,
        *,
        confidence: float = 0.9,
        n_labels: int = 500,
        cap: float = 1.0,
        test: Literal["betting", "hypergeometric"] = "betting",
        sampling: Literal["uniform", "risk"] = "uniform",
        random_state: Any = None,
    ) -> None:
        self.target = target
        self.confidence = confidence
        self.n_labels = n_labels
        self.cap = cap
        self.test = test
        self.sampling = sampling
        self.random_state = random_state

    def fit(self, risk: ArrayLike, label: Callable[[NDArray[np.intp]], ArrayLike]) -> Self:
        """Draw rows, have them labelled, and find what can be accepted.

        Parameters
        ----------
        risk : array-like of shape (n_rows,)
            The estimated risk of every row of the batch.
        label : callable
            Called with the positions of rows; returns the losses of their predictions.

        Returns
        -------
        self : object
            The fitted rule.
        """
        if not callable(label):
            raise TypeError(
                f"label must be a function that is given positions of rows and returns their "
                f"losses, got {type(label).__name__}. If all losses are in an array, give "
                f"label=lambda rows: loss[rows]."
            )
        self.start(risk)
        while self.labels_used_ < self.n_labels:
            rows = self.next_rows(min(AT_ONCE, self.n_labels - self.labels_used_))
            if not len(rows):
                break
            self.update(rows, label(rows))
        if not self.feasible_:
            warnings.warn(
                f"no row of the batch can be accepted with target={self.target:g} and confidence "
                f"{self.confidence:g} from {self.labels_used_} labels: everything is deferred. "
                f"More labels, a greater target, a lower confidence or a better risk may help.",
                UserWarning,
                stacklevel=2,
            )
        return self

    @validated(nested=False)
    def start(self, risk: ArrayLike) -> Self:
        """Begin a batch, in which no row is labelled yet.

        Parameters
        ----------
        risk : array-like of shape (n_rows,)
            The estimated risk of every row of the batch, in units of the loss.

        Returns
        -------
        self : object
            The rule, to be asked for `next_rows`.
        """
        if self.test == "hypergeometric" and self.sampling != "uniform":
            raise ValueError(
                'sampling must be "uniform" with test="hypergeometric"; use test="betting" for '
                "chances that follow the risk."
            )
        risk = check_vector(risk, "risk")
        self._risk, self._allowed = risk, self.target * len(risk) / self.cap
        self._order = np.argsort(risk, kind="stable")
        unit = np.clip(risk[self._order] / self.cap, 0.0, 1.0)
        n_frame = self._size_of_frame(unit)
        self.labelled_ = np.zeros(len(risk), dtype=bool)
        ends = np.flatnonzero(np.append(np.diff(risk[self._order[:n_frame]]) > 0, True)) + 1
        draws = np.random.default_rng(check_random_state(self.random_state).randint(2**31 - 1))
        kinds: dict[str, type[HypergeometricTest] | type[BettingTest]] = {
            "hypergeometric": HypergeometricTest,
            "betting": BettingTest,
        }
        chance = np.ones(n_frame)
        if self.sampling == "risk":
            chance = np.sqrt(unit[:n_frame])
            chance = np.maximum(chance, 0.2 * chance.max()) if chance.max() > 0 else chance + 1.0
        # Taken in this order, each row has the chance qᵢ ∝ chanceᵢ among those that are left.
        self._queue = np.argsort(draws.exponential(size=n_frame) / chance)
        self._test = kinds[self.test](
            unit[:n_frame], ends, chance, self._allowed, 1 - self.confidence, self.n_labels
        )
        self._pending: NDArray[np.intp] = np.empty(0, dtype=np.intp)
        self._settle()
        return self

    def next_rows(self, n: int | None = None) -> NDArray[np.intp]:
        """Return the rows to label next.

        Parameters
        ----------
        n : int, optional
            How many; what is left of `n_labels` if not given. Rows that were returned before and
            have no label yet are returned again, and no others.

        Returns
        -------
        ndarray of int
            Positions in the batch; none if every row that could be accepted has a label.
        """
        check_is_fitted(self, "labelled_")
        if n is not None and (not isinstance(n, Integral) or isinstance(n, bool) or n < 0):
            raise ValueError(f"n must be a whole number of rows, 0 or more, got {n!r}.")
        if not len(self._pending):
            used = self.labels_used_
            n = max(self.n_labels - used, 0) if n is None else n
            if self.test == "hypergeometric":
                n = min(n, self.n_labels - used)
            self._pending = self._queue[used : used + n]
        return self._order[self._pending]

    def update(self, rows: ArrayLike, loss: ArrayLike) -> Self:
        """Take the labels of the rows that `next_rows` has returned.

        Parameters
        ----------
        rows : array-like of int
            The rows, in any order; all of them, as leaving out some would change the chances.
        loss : array-like of the same shape
            The losses of their predictions.

        Returns
        -------
        self : object
            The rule, with what can be accepted now.
        """
        check_is_fitted(self, "labelled_")
        due = self._order[self._pending]
        positions = np.asarray(rows)
        if not np.array_equal(np.sort(positions), np.sort(due)):
            raise ValueError(
                f"rows must be the {len(due)} rows that next_rows() has returned, all of them: "
                f"the guarantee rests on which rows were drawn."
            )
        if not len(due):
            return self
        _, losses = check_vectors(rows=positions, loss=loss)
        if losses.min() < 0:
            raise ValueError(f"loss must not be negative, got {losses.min():g}.")
        if losses.max() > self.cap:
            raise ValueError(
                f"loss must not exceed cap={self.cap:g}, got {losses.max():g}: the guarantee is "
                f"for losses up to the cap. Start again with cap= the greatest loss that a row can "
                f"have."
            )
        by_row = dict(zip(positions.tolist(), losses.tolist(), strict=True))
        in_order = np.array([by_row[row] for row in due.tolist()])
        self._test.add(self._pending, in_order / self.cap)
        self.labelled_[due] = True
        self._pending = np.empty(0, dtype=np.intp)
        self._settle()
        return self

    def _size_of_frame(self, unit: NDArray[np.float64]) -> int:
        """Return how many rows, of the least risk, labels are drawn from; ties are together."""
        n = int(np.searchsorted(np.cumsum(unit), FRAME * self._allowed)) + 1
        n = min(max(n, self.n_labels), len(unit))
        return int(np.searchsorted(unit, unit[n - 1], side="right"))

    def _settle(self) -> None:
        n_accepted = self._test.accepted()
        self.feasible_ = n_accepted > 0
        self.threshold_ = float(self._risk[self._order[n_accepted - 1]]) if n_accepted else -np.inf
        self.kept_ = (self._risk <= self.threshold_) & ~self.labelled_
        self.n_kept_ = int(self.kept_.sum())
        self.labels_used_ = int(self.labelled_.sum())
        self.guarantee_ = (
            f"mean loss × kept over the {len(self._risk)} rows of this batch <= {self.target:g} "
            f"with probability >= {self.confidence:g} over the draw of the labels, if no loss "
            f"exceeds {self.cap:g}"
        )
