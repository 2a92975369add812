"""The page: does calibration-based beat regression-based in regression?"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from condrisk.paper._page import markdown_table, number
from condrisk.paper._results import Record
from condrisk.paper.rwr._paper import COSTS, MODELS
from condrisk.paper.rwr._plug_in._contrast import LEAKS, LEVEL, MEASURES, Contrast, contrast
from condrisk.paper.rwr._plug_in._names import (
    FOREST,
    FOREST_ON_MORE,
    FOREST_PLUG_IN,
    HYBRID,
    PLUG_IN,
)
from condrisk.paper.rwr._results import Results

_WORDS = {
    "risk_l2": "squared error of g",
    "risk_l1": "absolute error of g",
    "loss": "deferral loss",
}
# (ours, against): with one learner on both sides, and with another one.
SAME_LEARNER = (
    (FOREST_PLUG_IN, FOREST),
    (FOREST_PLUG_IN, FOREST_ON_MORE),
    (FOREST_ON_MORE, FOREST),
)
OTHER_LEARNER = (
    (PLUG_IN, FOREST),
    (HYBRID, FOREST),
    (PLUG_IN, FOREST_PLUG_IN),
    (HYBRID, PLUG_IN),
)
APART = "parkinsons-by-patient"

_TITLE = "# Does calibration-based beat regression-based in regression?"
_COMPARED = f"""## What is compared

The paper's message for classifiers is that probabilities put into the loss beat a regression of
the losses. Its equation 4, g(x) = ∫ ℓ(f(x), y) p(y | x) dy, says the same of regressors, but its
study has only regressions of the losses. Here are both, on the paper's folds: f is fitted on 50 %
of the rows, g on 40 %, and 10 % are tested on. None of the rows below but “{FOREST}” is in the
paper.

| estimate of g | what it is |
| :-- | :-- |
| {FOREST} | the paper's calibrator: a forest learns the losses from x |
| {FOREST_ON_MORE} | the same forest learns the losses from x, f(x), m(x) and (f(x) − m(x))² |
| {FOREST_PLUG_IN} | (f − m)² + v: the same forest learns m from y, and v from squared residuals of m on \
held-out rows |
| {PLUG_IN} | `PlugInRisk(FrozenEstimator(f))`: the same with a stack as m, and the default learner \
of v |
| {HYBRID} | `HybridRisk(FrozenEstimator(f))`: PlugIn, corrected by realised losses |

m and v do not depend on f, so they are fitted once in each fold and serve all four predictors. On
{APART} the folds, the split and the held-out rows of m keep patients together."""
_READING = f"""Ratios of means over the ten folds, as geometric means over sets (and costs); below 1
the first of the two is better. Means leave out {LEAKS}, whose folds have rows of every patient on
both sides; counts do not. *Significantly*: one-sided t-tests over folds with Nadeau and Bengio's
correction, Holm's over all cells of a line, at {LEVEL:.0%}. The absolute error is the paper's
measure, but its least value is at the conditional median of the loss; the squared error is least
at g."""
_LITERATURE = """## Beside the literature

- Zaoui, Denis and Hebiri, *Regression with reject option and application to kNN* (NeurIPS 2020),
  reject where an estimate of the variance is large. That is the plug-in rule for f = m: the gap
  (f − m)² is zero, and only v is left. For a given f that is not m, the gap is most of the risk.
- Fan and Yao, *Efficient estimation of conditional variance functions in stochastic regression*
  (Biometrika 85, 1998), show that v can be learnt from squared residuals as well as if the mean
  were known, to first order. The plug-in risk needs more: |m − μ| is multiplied by |f − μ|.
- Lahlou et al., *DEUP: Direct Epistemic Uncertainty Prediction* (TMLR 2023), regress losses on x
  and on features of the model, and subtract an estimate of the noise. “RF on x, f, m” is such a
  regression, with what the plug-in risk knows among its inputs.

[The simulation](../theory/simulations.md#regressors-plug-in-or-regress-the-losses) has the same
contrast where g is known: with one learner on both sides the plug-in risk wins where f is rough in
x and m is good, and loses where f follows μ or the learner suits μ badly."""


class _Line(NamedTuple):
    """One contrast in one measure."""

    ours: str
    against: str
    measure: str
    found: Contrast


def plug_in_page(records: Iterable[Record]) -> str:
    """Return the page, as Markdown, from the records of ``run_rwr(plug_in=True)``.

    Examples
    --------
    >>> from condrisk.paper.rwr._plug_in._page import plug_in_page
    >>> cost = {"loss": 0.4, "rate": 0.7, "oracle": 0.3}
    >>> record = {"set": "energy", "risk_l1": 2.0, "risk_l2": 9.0, "predictor_loss": 3.0}
    >>> record |= {"loss_variance": 10.0, "costs": {c: cost for c in ("0.2", "0.5", "1", "2")}}
    >>> records = [
    ...     {**record, "fold": fold, "method": f"RF+{name}"}
    ...     for fold in range(2)
    ...     for name in ("RF", "RF plug-in", "RF on x, f, m", "PlugIn", "Hybrid")
    ... ]
    >>> print(plug_in_page(records).splitlines()[2])
    **Neither is better, with the same learner on both sides.** A forest that learns the mean and the
    """
    results = Results(records)
    same, other = (
        [
            _Line(ours, against, measure, contrast(results, ours, against, measure))
            for ours, against in pairs
            for measure in MEASURES
        ]
        for pairs in (SAME_LEARNER, OTHER_LEARNER)
    )
    parts = [_TITLE, verdict(same, other), _COMPARED]
    parts += ["## The same learner on both sides", _READING, contrast_table(same)]
    parts += [ratios_text(same[0]), significant_text(same[0])]
    parts += ["## With a better learner", contrast_table(other), better_text(other)]
    parts += [apart_text(results), _LITERATURE]
    return "\n\n".join(part for part in parts if part) + "\n"
