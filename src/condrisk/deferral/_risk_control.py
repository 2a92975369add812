"""A rule that keeps the mean loss of what it accepts below a target."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils._param_validation import Integral, Interval, Real, StrOptions
from sklearn.utils.validation import check_is_fitted

from condrisk._groups import Group, groups_of_values, masks
from condrisk.deferral._controlled import NO_GUARANTEE, ControlledRule, Floats, Pairs, two_values
from condrisk.deferral._power import mean_squares, to_try, until_failure, z_scores
from condrisk.deferral._subgroups import (
    Paths,
    passed_apart,
    passed_together,
    path_of_groups,
    paths_apart,
    row_thresholds,
)
from condrisk.inference import betting_p_values, binomial_p_values

# How many tests are computed at once: those after a failure are computed for nothing.
_TOGETHER = 32
# What becomes of a group that has shown nothing.
ALL_DEFERRED = "all rows are deferred"
# A column with more values is no column of groups.
_MOST_GROUPS = 50


class RiskControlRule(ControlledRule):
    """Accept as many as possible while the mean loss of the accepted part is at most a target.

    The guarantee is about the population, not about the rows at hand: with probability
    `confidence` over the calibration rows, E[loss | accepted] <= `target`. It needs no
    assumption about the risk, which may be as wrong as it likes (then less is accepted); it
    needs calibration rows that are independent draws from the population to come, and that
    neither predictor, risk nor rule has seen. `Deferral` sets them aside or takes them. Where no
    threshold can be shown to keep it, the rule says so (`feasible_`, and a warning) and
    defers everything.

    Parameters
    ----------
    target : float
        The greatest mean loss, in units of the loss.
    criterion : {"selective", "generalized"}, default="selective"
        "selective": the mean loss of the accepted rows. "generalized": the mean over all rows of
        loss × accepted, where deferred rows count as 0. That is a weaker statement: an accepted
        row may be as bad as before, as long as few are accepted. Losses must not be negative.
    subgroups : list of str or int, dict, or None, default=None
        Columns of the rows, by name or position, or a dict of what to call them to columns: the
        guarantee is then for every value of every column, for all of these groups at once. Groups
        may overlap. Rows of a value that was not seen are deferred, and so are groups that are
        too small or too bad to show anything.
    simultaneous : bool, default=True
        With `subgroups`: whether all groups keep the target with probability `confidence`, or each
        by itself, which accepts more. The latter needs a single column: rows of overlapping groups
        are accepted by the thresholds of several groups, so that no group can be tested without
        the others, and the test of all at once is at the full level already.
    confidence : float, default=0.9
        The probability, at least, with which the guarantee holds.
    cap : float or None, default=None
        What is controlled is the mean of min(loss, cap). It is needed where the loss declares no
        greatest value, as the squared error does not; the tighter it is, the more is accepted.
    max_weight : float or None, default=None
        The greatest weight that any row can have, needed with `sample_weight`. It is then
        about the population that the weights lead to; they must be known. Weights that were
        estimated give no guarantee.
    n_thresholds : int, default=100
        How many thresholds to try between the one with the greatest predicted power and the last
        for which there is hope.
    calibration_size : float or None, default=None
        The share of the rows to keep for the tests, where they are not given as ``calibration=``.
        None is 0.3 where the other rows fit predictor and risk as well, and 0.7 where they only
        serve to choose thresholds. They are drawn at random, not in strata: the tests are exact
        for independent rows.
    guarantee : bool, default=True
        If False, no row need be kept: the losses that the risk was fitted on, out-of-fold ones
        where it was cross-fitted, are tested as if they were new. They are not, and nothing is
        guaranteed: `guarantee_` is "no guarantee". Set it too for weights that are estimates and
        for rows that depend on each other.
    random_state : int, RandomState instance or None, default=None
        Seeds which rows are kept, and in which order the tests take them.

    Attributes
    ----------
    threshold_ : float
        Rows with a risk above it are deferred; -inf if none can be accepted.
    feasible_ : bool
        Whether anything can be accepted.
    guarantee_ : str
        What is guaranteed, or "no guarantee".
    groups_ : list of Group
        With `subgroups`: the groups, as (column, value).
    group_names_ : list of str
        What they are called.
    group_thresholds_ : ndarray of shape (n_groups,)
        A row is accepted if its risk is at most the least of the thresholds of its groups;
        `threshold_` is the greatest of all. -inf where a group is deferred as a whole.
    group_guarantees_ : dict of str to str, or None
        With `subgroups`: what is guaranteed about each group, by its name.
    test_ : {"binomial", "betting"}
        The exact binomial test for losses of two values, betting for all others.
    thresholds_ : ndarray of shape (n_tried,)
        The thresholds in the order in which they are tested.
    p_values_ : ndarray of shape (n_tried,)
        Of the hypotheses that the mean loss is above the target; NaN for those that were not
        reached. With `subgroups` both have a column for each group.
    n_calibration_ : int
        The number of rows tested on.

    See Also
    --------
    RateControlRule : At most a given share deferred, and a bound on the risk.

    Notes
    -----
    Given which rows a threshold accepts, their losses are independent with the mean that is in
    question. Losses of two values are tested by the exact binomial distribution, others by
    betting. The thresholds are tested in an order that other rows have fixed, upwards from the
    one with the greatest predicted power, each at the full level, until one fails: the guarantee
    is broken only if the first of them that is too large passes its test. Deferring everything
    keeps it.

    *Generalized.* E[loss × accepted] grows with the threshold, so that thresholds are tested from
    the strictest, and one that passes speaks for all before it. All rows take part in each test,
    deferred ones with a loss of 0: the share that may lose is n · target of all rows, not of the
    accepted ones, and fewer labels show it.

    *Subgroups.* Other rows fix one path of rules, each with a threshold for every group, such that
    the groups have the same predicted power at each step. Groups of several columns overlap: a
    step then passes if the p-value of every group is at most 1 − confidence (an
    intersection-union test). The first step at which any group is above the target passes only
    if that group's own p-value does, so that all groups keep it with probability `confidence`,
    however many they are and however they overlap; but the first group to fail stops all. Groups
    of a single column are disjoint, and each goes down the path by itself, at a level of
    (1 − confidence) / G that groups which pass all of their steps hand to the others. That
    accepts more: with G groups at the target at once, all of them have to pass the same step in
    an intersection-union test, which happens far less often than it may. A group without an
    accepted row keeps the target.

    Examples
    --------
    >>> import numpy as np
    >>> from condrisk.deferral import RiskControlRule
    >>> rng = np.random.default_rng(0)
    >>> risk = rng.uniform(size=20_000)
    >>> loss = (rng.uniform(size=20_000) < risk).astype(float)  # the risk is right
    >>> rule = RiskControlRule(0.1, cap=1.0, random_state=0).fit(risk, loss)
    >>> bool(0.17 < rule.threshold_ < 0.2)  # accepting up to 0.2 has a mean loss of 0.1
    True
    >>> rule.guarantee_
    'mean min(loss, 1) of accepted rows <= 0.1 with probability >= 0.9'
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **ControlledRule._parameter_constraints,
        "target": [Interval(Real, None, None, closed="neither")],
        "criterion": [StrOptions({"selective", "generalized"})],
        "subgroups": ["array-like", dict, None],
        "simultaneous": ["boolean"],
        "n_thresholds": [Interval(Integral, 1, None, closed="left")],
    }

    def __init__(
        self,
        target: float,
        *,
        criterion: Literal["selective", "generalized"] = "selective",
        subgroups: Any = None,
        simultaneous: bool = True,
        confidence: float = 0.9,
        cap: float | None = None,
        max_weight: float | None = None,
        n_thresholds: int = 100,
        calibration_size: float | None = None,
        guarantee: bool = True,
        random_state: Any = None,
    ) -> None:
        self.target = target
        self.criterion = criterion
        self.subgroups = subgroups
        self.simultaneous = simultaneous
        self.confidence = confidence
        self.cap = cap
        self.max_weight = max_weight
        self.n_thresholds = n_thresholds
        self.calibration_size = calibration_size
        self.guarantee = guarantee
        self.random_state = random_state

    def _with_groups(
        self, pairs: Pairs, X: Any, held: Pairs | None, X_held: Any
    ) -> tuple[Pairs, Pairs | None]:
        self.groups_: list[Group] = []
        if self.subgroups is None:
            return pairs, held
        if len(self.subgroups) > 1 and not self.simultaneous:
            raise ValueError(
                "simultaneous=False needs a single column in subgroups: what is accepted of a "
                "group depends on the thresholds of those that it overlaps with, so that none can "
                "be tested by itself."
            )
        if X is None or (held is not None and X_held is None):
            raise ValueError(
                "subgroups: the rows themselves must be given, as X= and, with calibration=, as "
                "X_calibration=."
            )
        what = "subgroups"
        named = isinstance(self.subgroups, dict)
        columns = list(self.subgroups.values() if named else self.subgroups)
        self.groups_ = groups_of_values(X, columns, most=_MOST_GROUPS, what=what)
        called = {own: name for name, own in self.subgroups.items()} if named else {}
        self.group_names_ = [
            replace(group, column=called.get(group.column, group.column)).name
            for group in self.groups_
        ]
        pairs = pairs._replace(flags=masks(self.groups_, X, what=what))
        if held is not None:
            held = held._replace(flags=masks(self.groups_, X_held, what=what))
        return pairs, held

    def _learn(self, design: Pairs, held: Pairs, most: float) -> None:
        if self.criterion == "generalized" and min(design.loss.min(), held.loss.min()) < 0:
            raise ValueError(
                'loss must not be negative with criterion="generalized": a deferred row counts as '
                "0, which must be the least that a row can lose."
            )
        order = np.argsort(design.risk, kind="stable")
        design = design.at(order)
        low = two_values(design, most)
        if self.criterion == "generalized" and low:
            low = None  # deferred rows add a third value
        self.test_ = "betting" if low is None else "binomial"
        if self.groups_:
            self._learn_groups(design, held, low, most)
            return
        scores = z_scores(design, self.target, self.n_calibration_, self._all_count)
        self.thresholds_ = to_try(design.risk, scores, self.n_calibration_, self.n_thresholds)
        if self.target >= most:
            self.p_values_ = np.zeros(len(self.thresholds_))  # no mean can be above it
        elif low is None:
            self.p_values_ = self._bet(design, held, most)
        else:
            self.p_values_ = self._count(held, low, most)
        n_passed = int(np.sum(self.p_values_ <= 1 - self.confidence))
        self._settle(float(self.thresholds_[n_passed - 1]) if n_passed else -np.inf)

    @property
    def _all_count(self) -> bool:
        """Whether deferred rows take part in the mean, with a loss of 0."""
        return self.criterion == "generalized"

    def _count(self, held: Pairs, low: float, most: float) -> Floats:
        """Return the p-values for losses that are `low`, or else taken as `most`."""
        share = (self.target - low) / (most - low) if most > low else 0.0
        accepted = np.searchsorted(np.sort(held.risk), self.thresholds_, side="right")
        costly = np.sort(held.risk[held.loss > low])
        high = np.searchsorted(costly, self.thresholds_, side="right")
        n_rows = np.full_like(accepted, len(held.risk)) if self._all_count else accepted
        p_values = binomial_p_values(high, n_rows, share)
        return until_failure(p_values, 1 - self.confidence)

    def _bet(self, design: Pairs, held: Pairs, most: float) -> Floats:
        """Return the p-values by betting, some thresholds at a time until one fails."""
        delta = 1 - self.confidence
        n_below = np.searchsorted(design.risk, self.thresholds_, side="right")
        guess = mean_squares(design, self.target, self._all_count)[np.maximum(n_below, 1) - 1]
        p_values = np.full(len(self.thresholds_), np.nan)
        for start in range(0, len(p_values), _TOGETHER):
            part = slice(start, start + _TOGETHER)
            accepted = held.risk <= self.thresholds_[part][:, None]
            p_values[part] = self._betting_p_values(held, accepted, None, guess[part], most, delta)
            if (p_values[part] > delta).any():
                break
        return until_failure(p_values, delta)

    def _betting_p_values(
        self,
        held: Pairs,
        accepted: NDArray[np.bool_],
        members: NDArray[np.bool_] | None,
        guess: Floats,
        most: float,
        level: float,
    ) -> Floats:
        """Return p-values of accepting these rows, one line for each test, among `members`."""
        gains = held.gains(self.target)
        worst = (most - self.target) * (1.0 if self.max_weight is None else self.max_weight)
        if not self._all_count:
            taking_part = accepted
            table = np.where(accepted, gains, 0.0)
        else:
            of_deferred = held._replace(loss=np.zeros_like(held.loss)).gains(self.target)
            taking_part = np.ones_like(accepted) if members is None else members
            table = np.where(accepted, gains, np.where(taking_part, of_deferred, 0.0))
        some = taking_part.any(axis=0)
        n_rows = taking_part.sum(axis=1)
        if not some.any():
            return np.ones(len(accepted))
        found = betting_p_values(
            table[:, some],
            worst=worst,
            n_rows=n_rows,
            spread=guess,
            level=level,
        )
        return np.where(n_rows > 0, found, 1.0)

    # -- groups -----------------------------------------------------------------------------

    def _learn_groups(self, design: Pairs, held: Pairs, low: float | None, most: float) -> None:
        """Test one path of rules, each with a threshold for every group."""
        apart = len(self.subgroups) == 1  # then no row is in two groups
        delta, n_groups = 1 - self.confidence, len(self.groups_)
        divided = delta / n_groups if apart and self.simultaneous else delta
        paths = self._paths(design, divided, apart=apart)
        self.thresholds_ = paths.thresholds
        self.p_values_ = np.full(paths.thresholds.shape, np.nan)
        tested = np.isfinite(paths.thresholds[-1]) | (paths.thresholds[-1] == np.inf)
        share = max(int(tested.sum()), 1) if self.simultaneous and apart else 1
        alive = tested.copy()  # no group gets a higher level than delta
        for step in range(len(paths.thresholds)):
            self.p_values_[step] = self._group_p_values(held, paths, step, low, most, delta / share)
            alive &= self.p_values_[step] <= delta
            if not (alive.any() if apart else alive[tested].all()):
                break
        if apart:
            levels = np.where(tested, delta / share, 0.0)
            last = passed_apart(self.p_values_, levels, tested & self.simultaneous)
        else:
            last = passed_together(self.p_values_, delta)
        chosen = paths.thresholds[np.maximum(last, 0), np.arange(n_groups)]
        self.group_thresholds_ = np.where(last >= 0, chosen, -np.inf)
        self._settle(float(self.group_thresholds_.max()))

    def _paths(self, design: Pairs, level: float, *, apart: bool) -> Paths:
        assert design.flags is not None
        scores, thresholds = [], []
        share = self.n_calibration_ / len(design.risk)
        for flags in design.flags:
            own = design.at(np.flatnonzero(flags))
            n_tested = share * len(own.risk)
            scores.append(z_scores(own, self.target, n_tested, self._all_count))
            if apart:
                thresholds.append(to_try(own.risk, scores[-1], n_tested, self.n_thresholds))
        if apart:
            return paths_apart(design, scores, thresholds, level)
        return path_of_groups(
            design,
            scores,
            n_steps=self.n_thresholds,
            level=level,
            target=self.target,
            all_count=self._all_count,
        )

    def _group_p_values(
        self,
        held: Pairs,
        paths: Paths,
        step: int,
        low: float | None,
        most: float,
        level: float,
    ) -> Floats:
        """Return the p-value of each group at a step; 0 for groups without an accepted row."""
        assert held.flags is not None
        limits = row_thresholds(paths.thresholds[step], held.flags)
        accepted = held.flags & (held.risk <= limits)
        if self.target >= most:
            return np.zeros(len(accepted))
        if low is None:
            p_values = self._betting_p_values(
                held,
                accepted,
                held.flags,
                paths.squares(step, self.target, self._all_count),
                most,
                level,
            )
        else:
            share = (self.target - low) / (most - low) if most > low else 0.0
            n_rows = (held.flags if self._all_count else accepted).sum(axis=1)
            high = (accepted & (held.loss > low)).sum(axis=1)
            p_values = binomial_p_values(high, n_rows, share)
        return np.where(np.isneginf(paths.thresholds[step]), 0.0, p_values)

    def defer(
        self, risk: ArrayLike, *, X: Any = None, cost: ArrayLike | None = None
    ) -> NDArray[np.bool_]:
        """Decide which rows to defer.

        Parameters
        ----------
        risk : array-like of shape (n_samples,)
            Estimated risks.
        X : array-like of shape (n_samples, n_features), optional
            The rows themselves, with `subgroups`.
        cost : float or array-like of shape (n_samples,), optional
            Ignored: the guarantee decides, whatever the cost.

        Returns
        -------
        ndarray of bool, shape (n_samples,)
            True where the expert is asked.
        """
        deferred = super().defer(risk, X=X, cost=cost)
        if not self.groups_:
            return deferred
        if X is None:
            raise ValueError("X must be given: the rule has a threshold for each of its subgroups.")
        flags = masks(self.groups_, X, what="subgroups")
        columns = [group.column for group in self.groups_]
        known = np.ones(len(deferred), dtype=bool)
        for column in set(columns):
            known &= flags[[k for k, own in enumerate(columns) if own == column]].any(axis=0)
        limits = row_thresholds(self.group_thresholds_, flags)
        return ~known | (np.asarray(risk, dtype=np.float64) > limits)

    def _settle(self, threshold: float) -> None:
        """Keep the threshold, and say what it guarantees or that there is none."""
        self.threshold_ = threshold
        self.feasible_ = threshold > -np.inf
        self.guarantee_ = self._statement() if self.guarantee else NO_GUARANTEE
        if not self.feasible_:
            warnings.warn(
                f"no threshold could be shown to keep the mean loss of the accepted part at or "
                f"below target={self.target:g} with confidence {self.confidence:g} from "
                f"{self.n_calibration_} calibration rows: everything is deferred. More such rows, "
                f"a greater target, a lower confidence or a better risk may help.",
                UserWarning,
                stacklevel=2,
            )

    @property
    def group_guarantees_(self) -> dict[str, str] | None:
        """What is guaranteed about each group, by its name; None without `subgroups`."""
        check_is_fitted(self, "threshold_")
        if not self.groups_:
            return None
        kept = f"mean {self._what()} <= {self.target:g}" if self.guarantee else NO_GUARANTEE
        limits = dict(zip(self.group_names_, self.group_thresholds_.tolist(), strict=True))
        return {k: ALL_DEFERRED if np.isneginf(own) else kept for k, own in limits.items()}

    def _what(self) -> str:
        name = self._loss_name()
        return f"{name} × accepted over all rows" if self._all_count else f"{name} of accepted rows"

    def _statement(self) -> str:
        where = ""
        if self.groups_:
            columns = ", ".join(map(str, self.subgroups))
            many = f"each of the {len(self.groups_)} groups by {columns}"
            where = f" in {many}, all at once," if self.simultaneous else f" in {many}, by itself,"
        what = f"mean {self._what()} <= {self.target:g}"
        return f"{what}{where} with probability >= {self.confidence:g}"
