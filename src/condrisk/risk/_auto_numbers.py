"""The risk of a given regressor in `AutoRisk`: plug-in, corrected, mixed with regressions."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from condrisk._crossfit import CrossFitted, rows_of
from condrisk.learners import DistributionRegressor
from condrisk.risk._committee import RiskCommittee
from condrisk.risk._held_out import Pairs
from condrisk.risk._hybrid_numbers import NumberHybrid, as_numbers, telling_inputs
from condrisk.risk._mixture import RiskMixture
from condrisk.risk._responses import Responses

Floats = NDArray[np.float64]


class NumberMixture(NumberHybrid):
    """Base of a risk that mixes the corrected plug-in risk of a regressor with regressions."""

    predictor_: Any
    distribution_: DistributionRegressor | None
    mixture_: RiskMixture | None
    seconds_: dict[str, float]
    _until: float

    def _settle(self, committee: RiskCommittee | RiskMixture, pairs: Pairs) -> None:
        raise NotImplementedError

    def _distribution(self) -> DistributionRegressor:
        left = self._until - time.perf_counter()
        return (
            super()
            ._distribution()
            .set_params(time_budget=max(left, 0.0) if left < np.inf else None)
        )

    def _fit_mixture(
        self,
        X: Any,
        y: NDArray[Any],
        fitted: CrossFitted,
        pairs: Pairs,
        params: dict[str, Any],
    ) -> None:
        """Fit the candidates for the risk of a regressor, on encoded rows, and mix them."""
        start = time.perf_counter()
        rows, response = rows_of(X, pairs.rows), fitted.responses[0]["predict"]
        given = {name: value for name, value in params.items() if value is not None}
        found = self._fit_distribution(X, y, response, fitted, given, pairs.groups)
        self.seconds_["plug-in"] = time.perf_counter() - start
        hybrid = self._corrected(rows, response, found, pairs)
        self.seconds_["hybrid"] = time.perf_counter() - start - self.seconds_["plug-in"]
        groups = pairs.groups
        if groups is None and fitted.n_splits > 1:
            groups = fitted.split  # losses of one fold are those of one fitted predictor
        seed = int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))
        self.mixture_ = RiskMixture(seed, self.n_jobs).fit(
            {
                "regression": as_numbers(rows),
                "regression on distribution": telling_inputs(rows, response, found),
            },
            {"plug-in": self._clipped(found.risk), "hybrid": hybrid},
            pairs.losses,
            pairs.weights,
            groups,
            until=self._until,
        )
        self.seconds_ |= self.mixture_.seconds
        self._settle(self.mixture_, pairs)

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

    def _fit_around(self, X: Any, y: NDArray[Any], weight: Any, groups: Any) -> None:
        """Learn the distribution around a stack that was built here: what parts are made of."""
        start = time.perf_counter()
        model = DistributionRegressor(n_jobs=self.n_jobs, random_state=self.random_state)
        self.distribution_ = model.fit_around(self.predictor_, X, y, weight, groups=groups)
        self.seconds_["distribution"] = time.perf_counter() - start

    def _check_has_distribution(self) -> None:
        if self.distribution_ is None:
            raise ValueError(
                "there is no distribution of the target here to say more of the loss than its "
                "mean: fit was given losses, or its time_budget had run out."
            )
