"""Plug-in risks of a regressor, corrected by its realised losses."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.utils import check_array, check_random_state
from sklearn.utils.validation import _check_method_params

from condrisk._crossfit import CrossFitted, Job, cross_fit, rows_of, seeded
from condrisk._expected_loss import LARGEST_GAP
from condrisk._outliers import without_outliers
from condrisk.risk._base import groups_of, settled
from condrisk.risk._correction import Correction
from condrisk.risk._distribution_risk import DistributionRisk, Plugged
from condrisk.risk._held_out import Pairs
from condrisk.risk._predictor import Routed
from condrisk.risk._responses import Responses

Floats = NDArray[np.float64]


class NumberHybrid(DistributionRisk):
    """Base of a risk that corrects the plug-in risk of a regressor by its realised losses."""

    regressor: Any
    features: str
    correction_: Correction | None
    regressor_: Any

    def _fit_to_numbers(
        self,
        X: Any,
        y: NDArray[Any],
        prediction: ArrayLike | None,
        sample_weight: NDArray[Any] | None,
        routed: Routed,
    ) -> None:
        encoded = self._learn_encoding(X, needed=self._needs_numbers())
        fitted = self._cross_fitted(X, y, prediction, routed, {self.loss_.response})
        response = fitted.responses[0][self.loss_.response]
        loss = self._losses(y[fitted.rows], response)
        groups = groups_of(routed, fitted.rows)
        params = routed.get("distribution", {})
        law_rows = self._rows_of_law(X, encoded)
        found = self._fit_distribution(law_rows, y, response, fitted, params, groups)
        weight = None if sample_weight is None else sample_weight[fitted.rows]
        pairs = Pairs(fitted.rows, loss, self._folds_of(fitted, groups), weight, groups)
        self.regressor_ = self.correction_ = None
        if self.regressor is None:
            kept = pairs.drawn(settled(self.random_state))
            some, rows = pairs.at(kept), rows_of(encoded, pairs.rows[kept])
            learnt = self._without_outliers(some)
            risks = self._corrected(rows, response[kept], found.at(kept), learnt)
            self._held_out = some.with_risks(risks)
        else:
            rows = rows_of(encoded, fitted.rows)
            self._regress_errors(X, rows, response, found, pairs, fitted, routed)

    def _needs_numbers(self) -> bool:
        """Tell whether a learner of ours takes the row, or numbers stand beside it."""
        of_row = self.regressor is None or self.features == "plug-in+x"
        return of_row or self.distribution is None

    def _without_outliers(self, pairs: Pairs) -> Pairs:
        """Return pairs whose losses are those to learn from."""
        losses, least = pairs.losses, self.loss_.minimum
        losses = without_outliers(losses, pairs.weights, least=least, rows=pairs.rows)
        return pairs._replace(losses=losses)

    def _corrected(self, X: Any, response: Floats, found: Plugged, pairs: Pairs) -> Floats:
        """Fit the default correction; return the held-out risks that it gives."""
        seed = int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))
        self.correction_ = Correction(seed, self.n_jobs).fit(
            telling_inputs(X, response, found),
            share_of_gap(response, found),
            found.risk,
            pairs.losses,
            pairs.weights,
            pairs.folds,
        )
        held_out = self._clipped(found.risk + self.correction_.held_out)
        del self.correction_.held_out
        return held_out

    def _regress_errors(
        self,
        X: Any,
        rows: Any,
        response: Floats,
        found: Plugged,
        pairs: Pairs,
        fitted: CrossFitted,
        routed: Routed,
    ) -> None:
        """Regress loss minus plug-in risk by the regressor given."""
        params = _check_method_params(X, routed["regressor"], indices=fitted.rows)
        inputs, error = self._inputs_of_errors(rows, response, found), pairs.losses - found.risk
        regressor = seeded(self.regressor, self.random_state)
        self.regressor_ = clone(regressor).fit(inputs, error, **params)
        if not pairs.folds:
            return
        jobs = [Job(regressor, params, ("predict",))]
        crossed = cross_fit(jobs, inputs, error, pairs.folds, classes=None, n_jobs=self.n_jobs)
        self._held_out = pairs.with_risks(
            self._clipped(found.risk + crossed.responses[0]["predict"])
        )

    def _number_risk(self, X: Any, responses: Responses) -> Floats:
        response, encoded = responses.get(self.loss_.response), self._encoded(X)
        found = self._plugged(self._rows_of_law(X, encoded), response)
        if self.regressor_ is not None:
            inputs = self._inputs_of_errors(encoded, response, found)
            return self._clipped(found.risk + np.ravel(self.regressor_.predict(inputs)))
        return self._clipped(found.risk + self._correction_at(encoded, response, found))

    def _correction_at(self, X: Any, response: Floats, found: Plugged) -> Floats:
        assert self.correction_ is not None
        if not self.correction_.shares.any():
            return np.zeros(len(response))
        inputs = telling_inputs(X, response, found)
        return self.correction_.predict(inputs, share_of_gap(response, found), found.risk)

    def _inputs_of_errors(self, X: Any, response: Floats, found: Plugged) -> Floats:
        inputs = telling_inputs(None, response, found)
        return inputs if self.features == "plug-in" else np.column_stack([as_numbers(X), inputs])


def telling_inputs(X: Any, response: Floats, found: Plugged) -> Floats:
    """Return the row, the prediction, the distribution's mean and variance, and how far it is."""
    columns = [] if X is None else [as_numbers(X)]
    gap = np.abs(response - found.mean)
    return np.column_stack(
        [*columns, found.mean, found.uncertainty, response, gap, found.std**2, found.risk]
    )


def share_of_gap(response: Floats, found: Plugged) -> Floats:
    """Return (f − m)² / ((f − m)² + v), zero where both are; of several outputs by their sums."""
    gap = np.minimum(np.abs(response - found.mean), LARGEST_GAP) ** 2
    total = gap + found.std**2
    if gap.ndim == 2:
        gap, total = gap.sum(axis=1), total.sum(axis=1)
    return np.divide(gap, total, out=np.zeros_like(total), where=total > 0)


def as_numbers(X: Any) -> Floats:
    """Return rows as an array of numbers, where missing ones are NaN."""
    return check_array(X, dtype=np.float64, ensure_all_finite="allow-nan", input_name="X")
