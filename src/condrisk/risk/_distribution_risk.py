"""A conditional distribution of Y beside a regressor, and what it says about the loss."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone, is_classifier
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _check_method_params, _num_samples

from condrisk._adapters import conditionals_of, has_distribution
from condrisk._crossfit import CrossFitted, Split, fit_on, rows_of, seeded
from condrisk._delegate import is_frozen
from condrisk._distributions import Conditional
from condrisk._expected_loss import expected_loss, least_expected_loss, losses_at
from condrisk._routing import routing_enabled
from condrisk.learners import DistributionRegressor
from condrisk.losses import AveragedLoss, Loss, Task
from condrisk.risk._base import BaseRisk
from condrisk.risk._loss_law import LossPoints

Floats = NDArray[np.float64]


class Plugged(NamedTuple):
    """The expected loss of each row under its distribution, and what that is made of.

    Attributes
    ----------
    risk : ndarray of shape (n_rows,)
        The expected loss.
    mean, std : ndarray of shape (n_rows,) or (n_rows, n_outputs)
        Of the target.
    uncertainty : ndarray of shape (n_rows, n_columns)
        How far the models behind the mean disagree, where that is known.
    """

    risk: Floats
    mean: Floats
    std: Floats
    uncertainty: Floats

    def at(self, rows: NDArray[np.intp]) -> Plugged:
        """Return some of the rows."""
        return Plugged(*(column[rows] for column in self))


class DistributionRisk(BaseRisk):
    """Base of a risk that uses a conditional distribution of a number."""

    distribution: Any
    probability: Any
    distribution_: Any

    # -- parts --------------------------------------------------------------------------------

    def _task_by_parts(self) -> Task | None:
        """Return the task; that of an external predictor is told by loss, parts or target."""
        task = super()._task()
        if task is None and self.distribution is not None:
            return "regression"
        if task is None and self.probability is not None:
            return "classification"
        return task

    def _refuse(self, **given: Any) -> None:
        """Refuse parts that are for the other task."""
        for name, value in given.items():
            if value is not None:
                kind, other = ("regressors", "distribution")
                if name == "distribution":
                    kind, other = ("classifiers", "probability")
                raise ValueError(f"{name} must not be given for {kind}: there is {other}.")

    # -- fitting ------------------------------------------------------------------------------

    def _distribution(self) -> Any:
        """Return the model of the distribution, not yet fitted unless frozen."""
        if self.distribution is not None:
            return self.distribution
        default = DistributionRegressor(n_jobs=self.n_jobs)
        if routing_enabled():
            default.set_fit_request(sample_weight=True, groups=True)
        return default

    def _check_outputs(self) -> None:
        """Raise where the loss of several outputs is no mean over them."""
        if self._has_several() and not isinstance(self.loss_, AveragedLoss):
            raise ValueError(
                f"loss {self.loss_.name!r} of several outputs depends on all of them at once, and "
                f"{type(self).__name__} knows each by itself: use RegressionRisk or AutoRisk, or a "
                f"loss that is a mean over outputs, as condrisk.losses.averaged makes."
            )

    def _check_distribution(self) -> None:
        model = self._distribution()
        if self._has_several() and is_frozen(model):
            raise ValueError(
                "distribution must not be frozen where y has several columns: one is fitted for "
                "each of them."
            )
        if not has_distribution(model):
            kind = "classifier" if is_classifier(model) else "model"
            raise ValueError(
                f"distribution must answer a distribution: DistributionRegressor, a quantile "
                f"forest (predict with quantiles=), NGBoost (pred_dist), a regressor of skpro, or "
                f"one whose predict has return_std=; got the {kind} {type(model).__name__}."
            )

    def _rows_of_law(self, X: Any, encoded: Any) -> Any:
        """Return the rows for the distribution: one that was given gets them as they are."""
        return encoded if self.distribution is None else X

    def _fit_distribution(
        self,
        X: Any,
        y: Floats,
        response: Floats,
        fitted: CrossFitted,
        params: dict[str, Any],
        groups: Any,
    ) -> Plugged:
        """Fit the distribution; return what it says of held-out rows without having seen them.

        Of several outputs one for each: the loss is a mean over these.
        """
        if y.ndim == 1:
            return self._fit_one(X, y, response, fitted, params, groups)
        models, parts = [], []
        for own, answer in zip(y.T, response.T, strict=True):
            parts.append(self._fit_one(X, own, answer, fitted, params, groups))
            models.append(self.distribution_)
        self.distribution_ = models
        return self._merged(parts)

    def _fit_one(
        self,
        X: Any,
        y: Floats,
        response: Floats,
        fitted: CrossFitted,
        params: dict[str, Any],
        groups: Any,
    ) -> Plugged:
        """Fit the distribution of one output."""
        model = seeded(self._distribution(), self.random_state)
        if is_frozen(model):
            self.distribution_ = model
            return self._plugged(rows_of(X, fitted.rows), response)
        once = len(np.unique(fitted.rows)) == len(fitted.rows)
        rows = np.arange(_num_samples(X)) if self.refit else np.unique(fitted.rows)
        own = _check_method_params(X, params, indices=rows)
        if isinstance(model, DistributionRegressor) and once and len(rows) == len(fitted.rows):
            if self.distribution is None:
                model.set_params(cv=self._distribution_folds(fitted))
            self.distribution_ = model.fit(rows_of(X, rows), y[rows], **own)
            law = model.held_out_conditional()
            risk = expected_loss(self._loss_of_one(), response, law)
            return Plugged(risk, law.mean, law.std, model.held_out_.uncertainty)
        self.distribution_ = clone(model).fit(rows_of(X, rows), y[rows], **own)
        folds = self._folds_of(fitted, groups)
        return self._cross_fit_distribution(model, X, y, response, fitted, folds, params)

    def _loss_of_one(self) -> Loss:
        """Return the loss of one output."""
        return self.loss_.loss if isinstance(self.loss_, AveragedLoss) else self.loss_

    def _distribution_folds(self, fitted: CrossFitted) -> int | list[Split]:
        """Return the predictor's own folds; a number stands for the same folds."""
        if isinstance(self.cv, int) or fitted.n_splits == 1:
            return self.cv if isinstance(self.cv, int) else 5
        return fitted.folds()

    def _cross_fit_distribution(
        self,
        model: Any,
        X: Any,
        y: Floats,
        response: Floats,
        fitted: CrossFitted,
        folds: list[Split],
        params: dict[str, Any],
    ) -> Plugged:
        found, places = [], []
        for others, own in folds:
            train = np.unique(fitted.rows[others])
            part = fit_on(model, X, y, train, params)
            rows = _safe_indexing(X, fitted.rows[own])
            found.append(self._plugged_by(part, rows, response[own]))
            places.append(own)
        order = np.argsort(np.concatenate(places))
        columns = (np.concatenate(column)[order] for column in zip(*found, strict=True))
        return Plugged(*columns)

    # -- answers ------------------------------------------------------------------------------

    def _plugged(self, X: Any, response: Floats) -> Plugged:
        """Return what the distribution says of rows with these responses."""
        if not isinstance(self.distribution_, list):
            return self._plugged_by(self.distribution_, X, response)
        columns = zip(self.distribution_, response.T, strict=True)
        return self._merged([self._plugged_by(own, X, answer) for own, answer in columns])

    def _merged(self, parts: list[Plugged]) -> Plugged:
        """Return what is known of several outputs, given what is known of each."""
        assert isinstance(self.loss_, AveragedLoss)
        risks, means, stds, uncertainties = zip(*parts, strict=True)
        return Plugged(
            self.loss_.mean(risks),
            np.column_stack(means),
            np.column_stack(stds),
            np.hstack(uncertainties),
        )

    def _rows_at_law(self, X: Any) -> Any:
        return self._rows_of_law(X, self._encoded(X))

    def _expected_and_least(self, X: Any, response: Floats) -> tuple[Floats, Floats]:
        """Return the expected loss of each row, and the least of any prediction."""
        rows = self._rows_at_law(X)
        if not isinstance(self.distribution_, list):
            return self._bounds_by(self.distribution_, rows, response)
        columns = zip(self.distribution_, response.T, strict=True)
        parts = [self._bounds_by(own, rows, answer) for own, answer in columns]
        assert isinstance(self.loss_, AveragedLoss)
        expected, least = zip(*parts, strict=True)
        return self.loss_.mean(expected), self.loss_.mean(least)

    def _bounds_by(self, model: Any, X: Any, response: Floats) -> tuple[Floats, Floats]:
        loss = self._loss_of_one()
        expected, least = np.empty(len(response)), np.empty(len(response))
        for rows, law, _ in _laws(model, X):
            expected[rows] = expected_loss(loss, response[rows], law)
            least[rows] = least_expected_loss(loss, response[rows], law)
        return expected, least

    def _losses_of_points(self, X: Any, response: Floats) -> Iterator[LossPoints]:
        """Yield the losses at the points of the distribution, some rows at a time."""
        for rows, law, _ in _laws(self.distribution_, self._rows_at_law(X)):
            places = np.arange(len(response))[rows]
            for block in law.blocks():
                own = response[places[block]]
                yield places[block], losses_at(self.loss_, own, law.points(block)), law.weights

    def _plugged_by(self, model: Any, X: Any, response: Floats) -> Plugged:
        parts = []
        for rows, law, uncertainty in _laws(model, X):
            risk = expected_loss(self._loss_of_one(), response[rows], law)
            parts.append(Plugged(risk, law.mean, law.std, uncertainty))
        return Plugged(*(np.concatenate(column) for column in zip(*parts, strict=True)))


def _laws(model: Any, X: Any) -> Iterator[tuple[Any, Conditional, Floats]]:
    """Yield rows, their distributions and how uncertain the means are, block by block."""
    if isinstance(model, DistributionRegressor):
        law, uncertainty = model.predict_parts(X)
        yield slice(None), law, uncertainty
        return
    for rows, law in conditionals_of(model, X):
        yield rows, law, np.empty((len(rows), 0))
