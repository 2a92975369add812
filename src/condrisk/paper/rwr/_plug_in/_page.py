"""The page that asks whether calibration-based beats regression-based in regression."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import numpy as np

from condrisk.paper._page import number
from condrisk.paper._results import Record
from condrisk.paper._summary import LEVEL
from condrisk.paper.rwr._paper import MODELS
from condrisk.paper.rwr._plug_in._contrast import LEAKS, MEASURES, contrast
from condrisk.paper.rwr._plug_in._names import (
    FOREST,
    FOREST_ON_MORE,
    FOREST_PLUG_IN,
    HYBRID,
    PLUG_IN,
)
from condrisk.paper.rwr._plug_in._page_tables import (
    WORDS,
    Line,
    contrast_table,
    ratios_table,
    references_table,
    set_table,
)
from condrisk.paper.rwr._results import Results

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
| {FOREST_PLUG_IN} | (f − m)² + v: the same forest learns m from y, and v from the squared \
residuals of m on held-out rows |
| {PLUG_IN} | `PlugInRisk(FrozenEstimator(f))`: the same with a stack as m, and the default \
learner of v |
| {HYBRID} | `HybridRisk(FrozenEstimator(f))`: PlugIn, corrected by realised losses |

m and v do not depend on f, so they are fitted once in each fold and serve all four predictors. On
{APART} the folds, the split and the held-out rows of m keep patients together."""
_READING = f"""Ratios of means over the ten folds, as geometric means over sets (and costs); below 1
the first of the two is better. Means and answers leave out {LEAKS}, whose folds have rows of every
patient on both sides; counts do not. *Significantly*: one-sided t-tests over folds with Nadeau and
Bengio's correction, Holm's over all cells of a line, at {LEVEL:.0%}. The absolute error is the
paper's measure, but its least value is at the conditional median of the loss; the squared error is
least at g."""
_WHY = """**Why.** (f − m)² + v counts the error of m twice: in the gap, and in v, which is learnt
from residuals of m. Where f is about as good as m, the gap is as much the error of m as that of f.
A regression of the losses does not need the mean at all. Only where m is much better than f is that
error small beside the gap."""
_CONFOUNDED = f"""“{PLUG_IN}” differs from “{FOREST}” in two things, the form and the learner, so
this contrast does not answer the question of this page. It says what the defaults of this package
are worth beside the paper's calibrator. What the better learner would do on the losses is not in
these records."""
_REFERENCES = """Deferral losses of all sets, predictors and costs, as means over folds: in how many
cells an estimate is below always deferring and below never deferring, and the mean distance from
the oracle in units of the cost."""
_APART = """## Patients apart

On parkinsons-by-patient no patient is on both sides of anything. There m knows as little of a new
patient as f does."""
_LITERATURE = """## Beside the literature

- Zaoui, Denis and Hebiri, *Regression with reject option and application to kNN* (NeurIPS 2020),
  reject where an estimate of the variance is large. That is the plug-in rule for f = m: the gap
  (f − m)² is zero, and only v is left. A given f that is not m has a gap as well.
- Fan and Yao, *Efficient estimation of conditional variance functions in stochastic regression*
  (Biometrika 85, 1998), show that v can be learnt from squared residuals as well as if the mean
  were known, to first order. The plug-in risk needs more: |m − μ| is multiplied by |f − μ|.
- Lahlou et al., *DEUP: Direct Epistemic Uncertainty Prediction* (TMLR 2023), regress losses on x
  and on features of the model, and subtract an estimate of the noise. “RF on x, f, m” is such a
  regression, with what the plug-in risk knows among its inputs.

[The simulation](../theory/simulations.md#regressors-plug-in-or-regress-the-losses) has the same
contrast where g is known: with one learner on both sides the plug-in risk wins where f is rough in
x and m is good, and loses where f follows μ or the learner suits μ badly."""


def plug_in_page(records: Iterable[Record]) -> str:
    """Return the page, as Markdown, from the records of ``run_rwr(plug_in=True)``.

    Examples
    --------
    >>> from condrisk.paper.rwr._plug_in._page import plug_in_page
    >>> costs = {cost: {"loss": 0.4, "oracle": 0.3} for cost in ("0.2", "0.5", "1", "2")}
    >>> record = {"set": "energy", "risk_l1": 2.0, "risk_l2": 9.0, "predictor_loss": 3.0}
    >>> record["seconds"] = {"predictor": 0.1, "risk": 0.2, "predict": 0.1}
    >>> records = [
    ...     {**record, "costs": costs, "fold": fold, "method": f"RF+{name}"}
    ...     for fold in range(2)
    ...     for name in ("RF", "RF plug-in", "RF on x, f, m", "PlugIn", "Hybrid")
    ... ]
    >>> print(plug_in_page(records).splitlines()[2][:38])
    **There is no difference beyond chance
    """
    results = Results(records)
    same, other = (_lines(results, pairs) for pairs in (SAME_LEARNER, OTHER_LEARNER))
    parts = [_TITLE, _verdict(same, other), _COMPARED]
    parts += ["## The same learner on both sides", _READING, contrast_table(same)]
    parts += [ratios_table(same[0]), _significant(same[0]), _significant(same[2]), _WHY]
    parts += ["## With a better learner", contrast_table(other), _significant(other[0])]
    parts += [_CONFOUNDED, "## Beside rules that need no risk", _REFERENCES]
    parts += [references_table(results), *_apart(results), _takes(results), _LITERATURE]
    return "\n\n".join(parts) + "\n"


def _lines(results: Results, pairs: Sequence[tuple[str, str]]) -> list[Line]:
    return [
        Line(ours, against, measure, contrast(results, ours, against, measure))
        for ours, against in pairs
        for measure in MEASURES
    ]


def _find(lines: Sequence[Line], ours: str, against: str, measure: str) -> Line:
    [line] = [line for line in lines if line[:3] == (ours, against, measure)]
    return line


# -- sentences -----------------------------------------------------------------------------------


def _verdict(same: Sequence[Line], other: Sequence[Line]) -> str:
    """Return the answer, which rests on the contrast with one learner."""
    main = _find(same, FOREST_PLUG_IN, FOREST, "risk_l2")
    learner = _find(other, PLUG_IN, FOREST_PLUG_IN, "risk_l2")
    larger = abs(_distance(learner)) > abs(_distance(main))
    answers = {
        f"{_answer(main)}, with the same learner on both sides": [(FOREST_PLUG_IN, FOREST)],
        _informed_answer(_find(same, FOREST_ON_MORE, FOREST, "risk_l2")): [
            (FOREST_ON_MORE, FOREST)
        ],
        f"A better learner changes a plug-in risk {'more' if larger else 'less'} than the form "
        f"does": [(PLUG_IN, FOREST_PLUG_IN)],
        "Our defaults beside the paper's forest": [(PLUG_IN, FOREST), (HYBRID, FOREST)],
    }
    lines = [*same, *other]
    texts = [
        f"**{answer}.** {' '.join(_says(lines, *pair) for pair in pairs)}"
        for answer, pairs in answers.items()
    ]
    return "\n\n".join([f"{texts[0]} {_leak(main)}", *texts[1:]])


def _tested(line: Line, left_out: str | None = LEAKS) -> tuple[int, int]:
    """Count the cells that are significantly lower, and higher, without one set."""
    lower, higher = (
        sum(cell.set != left_out for cell in cells)
        for cells in (line.found.lower, line.found.higher)
    )
    return lower, higher


def _answer(line: Line, left_out: str | None = LEAKS) -> str:
    lower, higher = _tested(line, left_out)
    if lower and higher:
        return "It depends on the set and the predictor"
    if lower or higher:
        return "Yes, it does" if lower else "No, it does not"
    return "There is no difference beyond chance"


def _informed_answer(line: Line) -> str:
    lower, higher = _tested(line)
    what = "help" if lower > higher else "harm" if lower < higher else "hardly change"
    return f"f, m and (f − m)² as inputs {what} the regression of the losses"


def _distance(line: Line) -> float:
    """Return the logarithm of the mean ratio: negative where the first of the two is better."""
    ratio = line.found.ratio()
    return 0.0 if ratio is None else math.log(ratio)


def _says(lines: Sequence[Line], ours: str, against: str) -> str:
    """Return squared error and deferral loss of one estimate beside another, as two sentences."""
    error, deferral = (_find(lines, ours, against, m).found for m in ("risk_l2", "loss"))
    ratios = {model: error.ratio(model) for model in MODELS}
    by_predictor = ", ".join(f"{k} {ratio:.2f}" for k, ratio in ratios.items() if ratio is not None)
    return (
        f"“{ours}” has {number(error.ratio(), 2)} times the squared error of “{against}” "
        f"({by_predictor}), significantly less in {len(error.lower)} of {len(error.cells)} cells "
        f"and more in {len(error.higher)}. Its deferral loss is {number(deferral.ratio(), 2)} "
        f"times, significantly less in {len(deferral.lower)} of {len(deferral.cells)} cells and "
        f"more in {len(deferral.higher)}."
    )


def _leak(line: Line) -> str:
    """Say what happens on the set whose folds leak, where m is nearly exact."""
    cells = ", ".join(f"{c.predictor} {c.ratio:.2f}" for c in line.found.cells if c.set == LEAKS)
    return (
        f"Only counts include {LEAKS}, whose folds have rows of every patient on both sides: there "
        f"m is nearly exact, and the ratios are {cells}. That answers leave it out was decided "
        f"once the record was there; with it, the first would read “{_answer(line, None)}”."
        if cells
        else ""
    )


def _significant(line: Line) -> str:
    """Name the cells of a contrast that are significant."""
    parts = []
    for word, cells in (("lower", line.found.lower), ("higher", line.found.higher)):
        names = "; ".join(f"{cell} ({cell.ratio:.2f})" for cell in cells)
        parts.append(f"Significantly {word}: {names or 'nowhere'}.")
    return f"“{line.ours}” against “{line.against}”, {WORDS[line.measure]}. {' '.join(parts)}"


def _apart(results: Results) -> list[str]:
    """Return the section on patients that were not trained on, if there are records of it."""
    return [_APART, set_table(results, APART)] if APART in results.sets else []


def _takes(results: Results) -> str:
    """Return what the default distribution takes, in forests."""
    ratios = []
    for name in results.sets:
        # The first of a fold fits the distribution for all.
        first = results.records(name, f"{MODELS[0]}+{PLUG_IN}")
        forest = results.records(name, f"{MODELS[0]}+{FOREST_ON_MORE}")
        ratios += [
            a["seconds"]["risk"] / b["seconds"]["risk"] for a, b in zip(first, forest, strict=True)
        ]
    times = f"{np.median(ratios):.0f} × the time of one forest on the losses" if ratios else "–"
    return (
        f"## What it takes\n\nThe default distribution takes {times} in the median over folds, "
        f"and then serves every predictor. Again: `condrisk reproduce rwr --folds paper "
        f"--plug-in`. The records of “{FOREST}” were taken over from `results/rwr/paper-fast`, the "
        f"same models on the same rows; a run from nothing makes them anew."
    )
