"""What the records say: ratios, worst cases, exceptions and paired tests.

Errors are pooled over the splits of a set before ratios are taken, and ratios are averaged over
sets (and predictors, and prices) by the geometric mean. The squared error of an estimate of g is
relative to that of the training mean of the loss, its deferral loss to that of "forest".
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.given_model._protocol import TEST_SHARE
from benchmarks.given_model._record import Record
from condrisk.paper._summary import Outcome, paired_tests

Floats = NDArray[np.float64]

CONSTANT, BASELINE = "mean", "forest"
STACK = "stack"
# Above these a set and predictor, and a single split, are listed.
POOLED_LIMIT, SPLIT_LIMIT, ONE_ROW = 1.02, 1.5, 0.5


class Study:
    """A record of regression, cut to one loss.

    Parameters
    ----------
    record : Record
        The record.
    loss : str
        The loss.
    protocol : str
        Which rows are judged: "cross-fitted" or "paper".
    """

    def __init__(self, record: Record, loss: str, protocol: str) -> None:
        self.record = record
        self.protocol = protocol
        self.sets = record.sets
        self.predictors = record.axes["predictors"]
        self.methods = record.axes["methods"]
        self._loss = record.axes["losses"].index(loss)

    def by_split(self, figure: str) -> Floats:
        """Return a figure by set, split, predictor and method."""
        return self.record.figure(figure)[:, :, :, self._loss]

    def of_losses(self, figure: str) -> Floats:
        """Return a figure of the losses by set, split and predictor."""
        return self.record.figure(figure, of_losses=True)[:, :, :, self._loss, 0]

    def method(self, name: str) -> int:
        """Return the place of a method."""
        return self.methods.index(name)

    def pooled(self, figure: str, method: str, against: str = CONSTANT) -> Floats:
        """Return the ratio of a method's figure to another's, pooled over splits.

        Returns
        -------
        ndarray of shape (n_sets, n_predictors)
            The ratios.
        """
        means = self.by_split(figure).mean(axis=1)
        return means[:, :, self.method(method)] / means[:, :, self.method(against)]

    def to_test_mean(self, method: str) -> Floats:
        """Return squared error relative to the mean of the test losses, the best constant."""
        means = self.by_split("squared").mean(axis=1)[:, :, self.method(method)]
        return means / self.of_losses("variance of losses").mean(axis=1)

    def bias(self, method: str) -> Floats:
        """Return the mean of g over the mean loss, both over all test rows of a set."""
        means = self.by_split("mean").mean(axis=1)[:, :, self.method(method)]
        return means / self.of_losses("mean of losses").mean(axis=1)

    def deferral(self, method: str) -> Floats:
        """Return deferral loss relative to "forest", by set, predictor and price."""
        names = [name for name in self.record.figures if name.startswith("deferral")]
        return np.stack([self.pooled(name, method, BASELINE) for name in names], axis=-1)

    def given(self) -> list[int]:
        """Return the places of the predictors that are not the stack itself."""
        return [k for k, name in enumerate(self.predictors) if name != STACK]


def geometric(values: Floats) -> float:
    """Return the geometric mean.

    Examples
    --------
    >>> import numpy as np
    >>> from benchmarks.given_model.summary import geometric
    >>> geometric(np.array([0.5, 2.0]))
    1.0
    """
    return float(np.exp(np.mean(np.log(values))))


class Line(NamedTuple):
    """One method in figures; the average over predictors leaves the stack out."""

    method: str
    by_predictor: dict[str, float]
    all: float
    worst: float
    worst_case: str
    deferral: float
    qlike: float
    aurc: float
    absolute: float
    test_mean: float
    bias: float
    off: float


def line(study: Study, method: str) -> Line:
    """Return the figures of a method."""
    ratios, given = study.pooled("squared", method), study.given()
    bias = study.bias(method)[:, given]
    at = np.unravel_index(int(ratios.argmax()), ratios.shape)
    return Line(
        method,
        {name: geometric(ratios[:, k]) for k, name in enumerate(study.predictors)},
        geometric(ratios[:, given]),
        float(ratios.max()),
        f"{study.sets[at[0]]}, {study.predictors[at[1]]}",
        geometric(study.deferral(method)[:, given]),
        geometric(study.pooled("QLIKE", method)[:, given]),
        geometric(study.pooled("AURC", method)[:, given]),
        geometric(study.pooled("absolute", method)[:, given]),
        geometric(study.to_test_mean(method)[:, given]),
        geometric(bias),
        float(np.abs(bias - 1).mean()),
    )


class Outlier(NamedTuple):
    """A split whose squared error is above the limit, and the share of its worst row in it."""

    set: str
    split: int
    predictor: str
    ratio: float
    share: float

    @property
    def excused(self) -> bool:
        """Whether one row carries more than half of the squared error."""
        return self.share > ONE_ROW


def above_pooled(study: Study, method: str) -> list[tuple[str, str, float]]:
    """Return each set and predictor whose pooled ratio is above the limit."""
    ratios = study.pooled("squared", method)
    return [
        (study.sets[i], study.predictors[j], float(ratios[i, j]))
        for i, j in np.argwhere(ratios > POOLED_LIMIT)
    ]


def above_in_a_split(study: Study, method: str) -> list[Outlier]:
    """Return each split whose ratio is above the limit."""
    errors = study.by_split("squared")
    ratios = errors[..., study.method(method)] / errors[..., study.method(CONSTANT)]
    shares = study.by_split("worst row")[..., study.method(method)]
    return [
        Outlier(
            study.sets[i],
            study.record.splits[k],
            study.predictors[j],
            float(ratios[i, k, j]),
            float(shares[i, k, j]),
        )
        for i, k, j in np.argwhere(ratios > SPLIT_LIMIT)
    ]


# -- paired tests ----------------------------------------------------------------------------------


def compare(
    study: Study,
    ours: str,
    others: list[str],
    *,
    figures: Sequence[str] = ("squared",),
    predictors: list[str] | None = None,
    before: Study | None = None,
) -> Outcome[str]:
    """Compare a method with others on every set and predictor.

    Parameters
    ----------
    study : Study
        Where the figures are.
    ours : str
        The method.
    others : list of str
        What it is compared with.
    figures : sequence of str, default=("squared",)
        The figures of a split; each is a comparison of its own.
    predictors : list of str, default=None
        Which predictors; None is all.
    before : Study, default=None
        Where the others are looked up, if not in the same study: the same splits, other code.
    """
    other_study = before or study
    cells = {}
    for figure in figures:
        own, there = study.by_split(figure), other_study.by_split(figure)
        for name, i, j in _cells(study, predictors):
            for other in others:
                cells[f"{name} against {other} ({figure})"] = (
                    own[i, :, j, study.method(ours)],
                    there[i, :, j, other_study.method(other)],
                )
    return paired_tests(cells, test_share=TEST_SHARE[study.protocol])


def _cells(study: Study, predictors: list[str] | None) -> Iterator[tuple[str, int, int]]:
    for i, set_name in enumerate(study.sets):
        for j, predictor in enumerate(study.predictors):
            if predictors is None or predictor in predictors:
                yield f"{set_name}, {predictor}", i, j


def standard_error(study: Study, method: str) -> float:
    """Return that of the average ratio over sets and predictors, by leaving out each split."""
    errors = study.by_split("squared")[:, :, study.given()]
    n_splits = errors.shape[1]
    left_out = []
    for k in range(n_splits):
        means = np.delete(errors, k, axis=1).mean(axis=1)
        ours, constant = (means[..., study.method(name)] for name in (method, CONSTANT))
        left_out.append(geometric(ours / constant))
    return float(np.std(left_out) * math.sqrt(n_splits - 1))
