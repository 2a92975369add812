"""What a conditional distribution says about the loss beyond its mean."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from condrisk._expected_loss import exceedance, loss_quantiles
from condrisk._validation import check_quantiles, check_vector
from condrisk.risk._base import BaseRisk
from condrisk.risk._responses import Responses

Floats = NDArray[np.float64]
# Some rows, their possible losses, and the weights of these: for all rows, or for each.
LossPoints = tuple[Any, Floats, Floats]


class RiskParts(NamedTuple):
    """The parts of an estimated risk; they add up to it.

    Attributes
    ----------
    floor : ndarray of shape (n_samples,)
        The least expected loss of any prediction under the fitted distribution: noise, and what
        the distribution does not know.
    gap : ndarray of shape (n_samples,)
        What the best prediction under that distribution would save, if it is right.
    correction : ndarray of shape (n_samples,)
        What realised losses add to or take from both; zero for a plug-in risk.
    """

    floor: Floats
    gap: Floats
    correction: Floats


class LossLawMixin(BaseRisk):
    """Parts of the risk, exceedance probabilities and quantiles of the loss."""

    @abstractmethod
    def _plug_in_and_floor(self, X: Any, responses: Responses) -> tuple[Floats, Floats]:
        """Return the expected loss of each row, and the least of any prediction."""

    @abstractmethod
    def _loss_points(self, X: Any, responses: Responses) -> Iterator[LossPoints]:
        """Yield possible losses of some rows with their weights, until all rows are through."""

    def decompose_risk(self, X: Any, *, prediction: ArrayLike | None = None) -> RiskParts:
        """Split the risk of each row into floor, gap and correction.

        Floor and gap are what the fitted distribution of the target says. They are not called
        aleatoric and epistemic: a floor may be high because the distribution was learnt from few
        rows, and a gap because it is wrong.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.
        prediction : array-like, optional
            Only with ``predictor="precomputed"``: the external predictor's responses.

        Returns
        -------
        RiskParts
            A named tuple (floor, gap, correction), each of shape (n_samples,), of sum
            ``predict_risk(X)``.
        """
        responses = self._responses_to(X, prediction)
        plug_in, floor = self._plug_in_and_floor(X, responses)
        return RiskParts(floor, plug_in - floor, self._risk(X, responses) - plug_in)

    def predict_exceedance(
        self, X: Any, threshold: ArrayLike, *, prediction: ArrayLike | None = None
    ) -> Floats:
        """Estimate P(loss > threshold | x) at each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.
        threshold : float or array-like of shape (n_samples,)
            The loss to exceed, strictly: one for all rows, or one for each.
        prediction : array-like, optional
            Only with ``predictor="precomputed"``: the external predictor's responses.

        Returns
        -------
        ndarray of shape (n_samples,)
            Probabilities, by the fitted distribution of the target. A correction of the mean, as
            `HybridRisk` and `AutoRisk` have, is not in them: where the loss is 0 or 1, the chance
            that it exceeds 0.5 is floor plus gap of `decompose_risk`, and `predict_risk`, which is
            the better estimate of it, differs by the correction.
        """
        self._check_one_output()
        responses = self._responses_to(X, prediction)
        limits = _thresholds(threshold, len(responses.get(self.loss_.response)))
        found = np.empty(len(limits))
        for rows, losses, weights in self._loss_points(X, responses):
            found[rows] = exceedance(losses, weights, limits[rows])
        return found

    def predict_loss_quantiles(
        self, X: Any, quantiles: ArrayLike, *, prediction: ArrayLike | None = None
    ) -> Floats:
        """Estimate quantiles of the loss at each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.
        quantiles : array-like of shape (n_quantiles,)
            Levels between 0 and 1.
        prediction : array-like, optional
            Only with ``predictor="precomputed"``: the external predictor's responses.

        Returns
        -------
        ndarray of shape (n_samples, n_quantiles)
            The least t with P(loss ≤ t | x) at least the level, by the fitted distribution of the
            target. A correction of the mean, as `HybridRisk` and `AutoRisk` have, is not in them.
        """
        self._check_one_output()
        levels = check_quantiles(quantiles)
        responses = self._responses_to(X, prediction)
        found = np.empty((len(responses.get(self.loss_.response)), len(levels)))
        for rows, losses, weights in self._loss_points(X, responses):
            found[rows] = loss_quantiles(losses, weights, levels)
        return found

    def _check_one_output(self) -> None:
        if self._has_several():
            raise ValueError(
                "y had several columns, and what is known of each of them does not tell how they "
                "vary together: only the mean of the loss is known, by predict_risk."
            )


def _thresholds(threshold: ArrayLike, n_rows: int) -> Floats:
    limits = check_vector(np.atleast_1d(threshold), "threshold")
    if np.ndim(threshold) == 0:
        return np.full(n_rows, limits[0])
    if len(limits) != n_rows:
        raise ValueError(
            f"threshold must be one number, or one for each of the {n_rows} rows; got {len(limits)}"
        )
    return limits
