"""The risk of a given regressor in `AutoRisk`: plug-in, corrected, mixed with regressions."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import _safe_indexing, check_random_state

from condrisk._budget import TRIAL_ROWS, Clock, timed
from condrisk._crossfit import CrossFitted, rows_of
from condrisk.learners import DistributionRegressor, LossRegressor
from condrisk.risk._base import settled
from condrisk.risk._committee import RiskCommittee
from condrisk.risk._held_out import Pairs, drawn
from condrisk.risk._hybrid_numbers import NumberHybrid, as_numbers, telling_inputs
from condrisk.risk._mixture import RiskMixture
from condrisk.risk._responses import Responses

Floats = NDArray[np.float64]

# Regressions of losses beside a distribution, which they can only mend, learn from at most so many
# rows.
MOST_REGRESSED = 100_000
# Of the time that is left, the share for the distribution.
DISTRIBUTION_SHARE = 0.6
# The time to learn a variance grows with the rows to this power, or less.
GROWTH = 0.6


class NumberMixture(NumberHybrid):
    """Base of a risk that mixes the corrected plug-in risk of a regressor with regressions."""

    predictor_: Any
    distribution_: DistributionRegressor | None
    mixture_: RiskMixture | None
    seconds_: dict[str, float]

    def _settle(self, committee: RiskCommittee | RiskMixture, pairs: Pairs, learnt: Floats) -> None:
        raise NotImplementedError

    def _distribution(self) -> DistributionRegressor:
        return super()._distribution().set_params(time_budget=self.__dict__.get("_budget"))

    def _fit_mixture(
        self,
        X: Any,
        y: NDArray[Any],
        fitted: CrossFitted,
        pairs: Pairs,
        params: dict[str, Any],
        clock: Clock,
    ) -> None:
        """Fit the candidates for the risk of a regressor, on encoded rows, and mix them."""
        start = time.perf_counter()
        rows, response = rows_of(X, pairs.rows), fitted.responses[0]["predict"]
        given = {name: value for name, value in params.items() if value is not None}
        n_outputs = 1 if y.ndim == 1 else y.shape[1]
        share = clock.share(DISTRIBUTION_SHARE)
        self._budget = None if share is None else share / n_outputs
        found = self._fit_distribution(X, y, response, fitted, given, pairs.groups)
        del self._budget
        self.seconds_["plug-in"] = time.perf_counter() - start
        groups = pairs.groups
        if groups is None and fitted.n_splits > 1:
            groups = fitted.split  # losses of one fold are those of one fitted predictor
        if len(response) > MOST_REGRESSED:
            some = drawn(len(response), MOST_REGRESSED, settled(self.random_state))
            rows, response, found = rows_of(rows, some), response[some], found.at(some)
            pairs = pairs.at(some)
            groups = None if groups is None else _safe_indexing(groups, some)
        seed = int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))
        assert self.distribution_ is not None
        learnt = self._without_outliers(pairs)
        self.mixture_ = RiskMixture(seed, self.n_jobs).regress(
            {
                "regression": lambda: as_numbers(rows),
                "regression on distribution": lambda: telling_inputs(rows, response, found),
            },
            learnt.losses,
            pairs.weights,
            groups,
            clock=clock,
            expected=self._seconds_of_variance_learnt(),
        )
        start = time.perf_counter()
        kept = self.mixture_.rows
        few, law = learnt.at(kept), found.at(kept)
        hybrid = self._corrected(rows_of(rows, kept), response[kept], law, few)
        self.seconds_["hybrid"] = time.perf_counter() - start
        known = {"plug-in": self._clipped(law.risk), "hybrid": hybrid}
        self.mixture_.mix(known, few.losses, few.weights)
        self.seconds_ |= self.mixture_.seconds
        self._settle(self.mixture_, pairs, learnt.losses)

    def _seconds_of_variance_learnt(self) -> float:
        """Return how long it took to learn the variance, of several outputs that of one."""
        model: Any = self.distribution_
        model = model[-1] if isinstance(model, list) else model
        return float(model.seconds_["variance"])

    def _mixed_risk(self, X: Any, responses: Responses) -> Floats:
        assert self.mixture_ is not None
        response, rows = responses.get("predict"), self._encoded(X)
        found = self._plugged(rows, response)
        plug_in = self._clipped(found.risk)
        hybrid = self._clipped(found.risk + self._correction_at(rows, response, found))
        inputs = {
            "regression": lambda: as_numbers(rows),
            "regression on distribution": lambda: telling_inputs(rows, response, found),
        }
        known = {"plug-in": plug_in, "hybrid": hybrid}
        return self._clipped(self.mixture_.predict(inputs, known))

    def _fit_around(
        self, X: Any, encoded: Any, y: NDArray[Any], weight: Any, groups: Any, clock: Clock
    ) -> None:
        """Learn the distribution around a stack that was built here: what parts are made of."""
        start = time.perf_counter()
        self.seconds_["distribution"] = 0.0
        if not clock.allows(_seconds_of_variance(encoded, y, clock)):
            return
        model = DistributionRegressor(n_jobs=self.n_jobs, random_state=self.random_state)
        self.distribution_ = model.fit_around(self.predictor_, X, y, weight, groups=groups)
        self.seconds_["distribution"] = time.perf_counter() - start

    def _check_has_distribution(self) -> None:
        if self.distribution_ is None:
            raise ValueError(
                "there is no distribution of the target here to say more of the loss than its "
                "mean: fit was given losses, its time_budget had run out, or the loss of several "
                "outputs is no mean over them."
            )


def _seconds_of_variance(X: Any, y: NDArray[Any], clock: Clock) -> float:
    """Estimate how long it takes to learn a variance, on few rows, if there is a limit at all."""
    if not clock.limited or not clock.left():
        return 0.0
    few = slice(None, TRIAL_ROWS)
    took = timed(lambda: LossRegressor(random_state=0).fit(as_numbers(X)[few], y[few]))
    return took * max(len(y) / TRIAL_ROWS, 1.0) ** GROWTH
