"""The records of the study, found by predictor and method, and paired over seeds."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import ClassVar, NamedTuple

import numpy as np
from scipy import stats

from condrisk.paper._results import BaseResults, Cost, in_order
from condrisk.paper._summary import RELATIVE_ZERO, PaperValue, Summary, mean_and_se
from condrisk.paper.cifar10._paper import PAPER_NETWORKS, PREDICTORS, paper_value

PROBABILITIES = tuple(f"p {name}" for name in (*PAPER_NETWORKS, "ResNet-9"))
SCALED = tuple(f"{method}, scaled" for method in PROBABILITIES)
PLUG_INS = tuple(method for pair in zip(PROBABILITIES, SCALED, strict=True) for method in pair)
FROM_SCRATCH = tuple(f"g {name}" for name in PAPER_NETWORKS)
REPRESENTATIONS = ("g of own representation", "g of EffNet representation")
REGRESSIONS = (*FROM_SCRATCH, *REPRESENTATIONS)
HYBRID = "Hybrid"
TRIVIAL = ("constant", "own entropy")
KNOWN_METHODS = (*PLUG_INS, *REGRESSIONS, HYBRID, *TRIVIAL)
# Rules that need no estimate of the risk; what they cost follows from the records of any method.
REFERENCES = ("always", "never", "oracle")
# A difference counts as one if chance alone would give it less often than this.
LEVEL = 0.05
# The share of all images that a seed tests on; the rest it learns from.
TEST_SHARE = 0.1


class Paired(NamedTuple):
    """How a method differs from another on the same seeds.

    Attributes
    ----------
    mean : float
        Mean of the first minus the second.
    se : float or None
        Its standard error. None: there is only one seed.
    n : int
        Number of seeds that both have.
    p : float or None
        Of the two-sided paired t-test, with Nadeau and Bengio's correction for shared images.
    less, more : int
        In how many seeds the first is below, and above, the second.
    """

    mean: float
    se: float | None
    n: int
    p: float | None
    less: int
    more: int

    @property
    def is_less(self) -> bool:
        """Whether the first is below the second by more than chance."""
        return self.p is not None and self.p < LEVEL and self.mean < 0

    def by_two_se(self, sign: int = 1) -> bool:
        """Whether the first (sign 1) or the second (-1) is the lower by two standard errors."""
        return self.se is not None and -sign * self.mean > 2 * self.se

    @property
    def is_more(self) -> bool:
        """Whether the first is above the second by more than chance."""
        return self.p is not None and self.p < LEVEL and self.mean > 0


class Results(BaseResults):
    """Records, found by predictor and method.

    Parameters
    ----------
    records : iterable of dict
        One for each set ("networks" or a predictor), seed (in the field "fold") and method.

    Attributes
    ----------
    predictors : tuple of str
        The predictors there are, in the order of the paper.
    seeds : tuple of int
        The seeds there are.

    Examples
    --------
    >>> from condrisk.paper.cifar10._results import Results
    >>> costs = {"0.5": {"loss": 0.23, "rate": 0.3, "oracle": 0.15}}
    >>> record = {"set": "CNN", "fold": 0, "method": "p EffNet", "costs": costs}
    >>> results = Results([record])
    >>> results.summary("loss", "CNN", "p EffNet", 0.5).mean
    0.23
    >>> results.summary("loss", "CNN", "oracle", 0.5).mean
    0.15
    """

    derived: ClassVar = {"seconds": lambda record: record.get("seconds", {}).get("fit")}

    @cached_property
    def predictors(self) -> tuple[str, ...]:
        there = {name for name, _ in self._records}
        return tuple(name for name in PREDICTORS if name in there)

    @cached_property
    def seeds(self) -> tuple[int, ...]:
        return tuple(sorted({seed for found in self._records.values() for seed in found}))

    def methods(self, set_name: str) -> tuple[str, ...]:
        """Return the methods of a set: those that are known in their order, then the others."""
        there = [method for name, method in self._records if name == set_name]
        return in_order(there, KNOWN_METHODS)

    def values(
        self, quantity: str, set_name: str, method: str, cost: Cost = None
    ) -> dict[int, float]:
        """Return a quantity of each seed that has it."""
        if method in REFERENCES:
            return self._reference_values(quantity, set_name, method, cost)
        return super().values(quantity, set_name, method, cost)

    def _reference_values(
        self, quantity: str, set_name: str, method: str, cost: Cost
    ) -> dict[int, float]:
        if quantity != "loss" or cost is None:
            return {}
        values: dict[int, float] = {}
        for owner in self.methods(set_name):
            if method == "oracle":
                values |= self.values("oracle", set_name, owner, cost)
            else:
                values |= self.values("predictor_loss", set_name, owner)
        return dict.fromkeys(values, float(cost)) if method == "always" else values

    def published(
        self, quantity: str, set_name: str, method: str, cost: Cost, table: str | None
    ) -> PaperValue | None:
        """Return what a table of the paper has, if one is named."""
        return paper_value(table, quantity, set_name, method, cost) if table else None

    def predictor_loss(self, set_name: str, *, table: str | None = None) -> Summary | None:
        """Return the predictor's own loss, which is the same for every method."""
        values: dict[int, float] = {}
        for method in self.methods(set_name):
            values |= self.values("predictor_loss", set_name, method)
        if not values:
            return None
        paper = paper_value(table, "predictor_loss", set_name, "") if table else None
        in_order = [values[seed] for seed in sorted(values)]
        return Summary(*mean_and_se(in_order), len(values), paper)

    def relative_bias(self, set_name: str, method: str) -> Summary | None:
        """Return mean bias over mean loss of the predictor.

        The standard error is that of a ratio of means: to first order, of the seeds' biases less
        the ratio times their losses.
        """
        bias = self.values("risk_bias", set_name, method)
        loss = self.values("predictor_loss", set_name, method)
        seeds = sorted(bias.keys() & loss.keys())
        if not seeds:
            return None
        b = np.array([bias[seed] for seed in seeds])
        z = np.array([loss[seed] for seed in seeds])
        ratio = float(b.mean() / z.mean())
        se = None
        if len(seeds) > 1:
            se = float((b - ratio * z).std(ddof=1) / math.sqrt(len(seeds)) / z.mean())
        return Summary(ratio, se, len(seeds))


def paired(
    results: Results,
    predictor: str,
    method_a: str,
    method_b: str,
    quantity: str,
    cost: Cost = None,
) -> Paired | None:
    """Return how one method differs from another over the seeds that both have, or None.

    Examples
    --------
    >>> from condrisk.paper.cifar10._results import Results, paired
    >>> records = [
    ...     {"set": "CNN", "fold": k, "method": m, "risk_l2": 0.2 + k + (m == "g CNN") * (1 + k)}
    ...     for k in range(3)
    ...     for m in ("p CNN", "g CNN")
    ... ]
    >>> paired(Results(records), "CNN", "p CNN", "g CNN", "risk_l2")
    Paired(mean=-2.0, se=0.577, n=3, p=0.0955, less=3, more=0)
    """
    return paired_values(
        results.values(quantity, predictor, method_a, cost),
        results.values(quantity, predictor, method_b, cost),
    )


def paired_values(a: Mapping[int, float], b: Mapping[int, float]) -> Paired | None:
    """Return how the values of `a` differ from those of `b` over the keys that both have."""
    seeds = sorted(a.keys() & b.keys())
    if not seeds:
        return None
    differences = np.array([a[seed] - b[seed] for seed in seeds])
    # What float64 has rounded is no difference.
    size = np.array([max(abs(a[seed]), abs(b[seed])) for seed in seeds])
    differences[np.abs(differences) <= RELATIVE_ZERO * size] = 0.0
    mean, se = mean_and_se(differences.tolist())
    return Paired(
        mean,
        se,
        len(seeds),
        _p_value(mean, se, len(seeds)),
        int((differences < 0).sum()),
        int((differences > 0).sum()),
    )


def _p_value(mean: float, se: float | None, n: int) -> float | None:
    if se is None:
        return None
    if se == 0.0:
        return 0.0 if mean else 1.0
    corrected = se * math.sqrt(1 + n * TEST_SHARE / (1 - TEST_SHARE))
    return float(2 * stats.t.sf(abs(mean) / corrected, n - 1))


def least(
    results: Results,
    predictor: str,
    methods: Sequence[str],
    quantity: str,
    cost: Cost = None,
) -> str | None:
    """Return the method with the least mean, or None if no method has the quantity."""
    means = {method: results.mean(quantity, predictor, method, cost) for method in methods}
    known = {method: mean for method, mean in means.items() if mean is not None}
    return min(known, key=lambda method: known[method], default=None)
