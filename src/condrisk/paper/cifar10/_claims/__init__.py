"""What the paper claims about CIFAR-10, and whether the records bear it out.

Every figure and every verdict of the page is computed from records; none is typed in.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from condrisk.paper._page import HALF, MOST, markdown_table
from condrisk.paper._results import Record
from condrisk.paper.cifar10._claims._beaten import beaten, recalibration
from condrisk.paper.cifar10._claims._choices import measure_matters, regression_works
from condrisk.paper.cifar10._claims._common import REFUTED
from condrisk.paper.cifar10._claims._methods import (
    best_of_all,
    calibration_beats_regression,
    representations_help,
    strength_helps,
)
from condrisk.paper.cifar10._claims._probabilities import (
    better_probabilities,
    deferral_follows_error,
)
from condrisk.paper.cifar10._claims._temperature import scaling_hurts
from condrisk.paper.cifar10._paper import NETWORKS
from condrisk.paper.cifar10._results import LEVEL, Results

__all__ = ["claims_page"]

_SECTIONS: tuple[Callable[[Results], str], ...] = (
    calibration_beats_regression,
    regression_works,
    better_probabilities,
    representations_help,
    strength_helps,
    scaling_hurts,
    best_of_all,
    measure_matters,
    deferral_follows_error,
    beaten,
    recalibration,
)

_INTRODUCTION = f"""\
# The paper's claims about CIFAR-10, checked

This page is computed from records; so are its verdicts. Methods are compared on the same seeds, of
which each splits the images anew and trains all networks again. A difference is given as mean ±
standard error, with the numbers of seeds in which it is below and above zero, and p of the paired
t-test, two-sided, with Nadeau and Bengio's correction, since seeds share images; bold from
p < {LEVEL} on. A verdict counts comparisons that are significant after Holm's correction for their
number. A claim *holds* if {MOST:.0%} of its comparisons are for it, *in part* if more than
{HALF:.0%} are, and *{REFUTED}* if {MOST:.0%} are against it.

L¹ and L² are the mean absolute and squared error of the risk against the realised loss. Only
differences in L² are, in expectation, differences in error against the true risk. L2D is the loss
of learning to defer. The paper's EfficientNet is B0, ours is Lite0.
"""


def claims_page(records: Iterable[Record]) -> str:
    """Return the page of claims, as Markdown.

    Parameters
    ----------
    records : iterable of dict
        Records of the study; some may be missing.

    Returns
    -------
    str
        The page. What the records have nothing for is left out.

    Examples
    --------
    >>> from condrisk.paper.cifar10._claims import claims_page
    >>> costs = {"0.5": {"loss": 0.23, "rate": 0.3, "oracle": 0.15}}
    >>> record = {
    ...     "set": "CNN",
    ...     "fold": 0,
    ...     "method": "p EffNet",
    ...     "predictor_loss": 0.6,
    ...     "risk_l1": 0.1,
    ...     "costs": costs,
    ... }
    >>> print(claims_page([record]).splitlines()[0])
    # The paper's claims about CIFAR-10, checked
    """
    results = Results(records)
    if not results.seeds:
        raise ValueError("records must have at least one record; it is empty")
    sections = [_scope(results), *(section(results) for section in _SECTIONS)]
    return "\n".join([_INTRODUCTION, *(text for text in sections if text)])


def _scope(results: Results) -> str:
    rows = []
    for name in (NETWORKS, *results.predictors):
        methods = results.methods(name)
        quantity = "accuracy" if name == NETWORKS else "predictor_loss"
        seeds = [len(results.values(quantity, name, method)) for method in methods]
        if seeds:
            rows.append([name, str(len(methods)), str(max(seeds)), str(sum(seeds))])
    return markdown_table(["records", "methods", "seeds", "in all"], rows) + "\n"
