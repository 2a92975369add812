"""Sections of the page of docs/given_model: classes, the distribution itself, the mean of g."""

from __future__ import annotations

import json

import numpy as np
from benchmarks.fit_risk import RECORD as FIT_RISK
from benchmarks.given_model._record import Record
from benchmarks.given_model.summary import Study, compare, geometric
from benchmarks.refit_bias import SLOW, summary

from condrisk.paper._page import markdown_table

CALIBRATED, FIVE = "calibrated", "calibrated, five models"
RIVALS = "constant"


def classes_text(record: Record) -> str:
    """Return AURC and deferral loss beside 1 − max p."""
    study = classes_study(record)
    names = deferral_figures(record)
    ours = [name for name in study.methods if name not in (CALIBRATED, FIVE)]
    rows = [
        [CALIBRATED, f"{_mean(study, 'AURC', CALIBRATED):.4f}", "1", "1", "–", "–"],
        [FIVE, f"{_mean(study, 'AURC', FIVE):.4f}", "–", "–", "–", "–"],
    ]
    for method in ours:
        aurc, deferral = (
            compare(study, method, [CALIBRATED], figures=figures) for figures in (["AURC"], names)
        )
        rows.append(
            [
                method,
                f"{_mean(study, 'AURC', method):.4f}",
                f"{geometric(ratios(study, ['AURC'], method)):.2f}",
                f"{geometric(ratios(study, names, method)):.2f}",
                *(f"{len(t.worse)} / {len(t.better)} of {t.n}" for t in (aurc, deferral)),
            ]
        )
    header = ["chance of being wrong", "AURC", "ratio of AURC", "of deferral loss"]
    header += ["AURC significantly worse / better", "deferral loss"]
    text = (
        f"{len(study.sets)} sets, {len(study.predictors)} predictors, {len(record.splits)} splits. "
        f"Ratios are to 1 − max p of the same predictor with a temperature from the same folds, "
        f"pooled over splits, then the geometric mean over sets, predictors and prices "
        f"({', '.join(name.removeprefix('deferral ') for name in names)}). The mean of five "
        f"calibrated predictors has losses of its own, so that no ratio is given."
    )
    by_set = markdown_table(
        ["AURC, " + " / ".join([CALIBRATED, *ours]), *study.predictors], _by_set(study, ours)
    )
    return "\n\n".join(["## Classes", text, markdown_table(header, rows), by_set])


def classes_study(record: Record) -> Study:
    """Return the record of classes as a study of its one loss."""
    return Study(record, record.axes["losses"][0], "cross-fitted")


def deferral_figures(record: Record) -> list[str]:
    """Return the names of deferral losses, one for each price."""
    return [name for name in record.figures if name.startswith("deferral")]


def _mean(study: Study, figure: str, method: str) -> float:
    return float(study.by_split(figure)[..., study.method(method)].mean())


def ratios(study: Study, figures: list[str], method: str) -> np.ndarray:
    """Return pooled figures over those of 1 − max p; where both are 0, 1."""
    found = []
    for figure in figures:
        means = study.by_split(figure).mean(axis=1)
        ours, theirs = means[..., study.method(method)], means[..., study.method(CALIBRATED)]
        found.append(np.maximum(ours, 1e-6) / np.maximum(theirs, 1e-6))
    return np.stack(found)


def _by_set(study: Study, ours: list[str]) -> list[list[str]]:
    means = study.by_split("AURC").mean(axis=1)
    places = [study.method(name) for name in (CALIBRATED, *ours)]
    return [
        [
            name,
            *(" / ".join(f"{means[i, j, k]:.4f}" for k in places) for j in range(means.shape[1])),
        ]
        for i, name in enumerate(study.sets)
    ]


def distribution_text(record: Record) -> str:
    """Return CRPS and coverage by set and method."""
    study = Study(record, "CRPS", "cross-fitted")
    methods = study.methods
    crps = study.by_split("CRPS").mean(axis=1)[:, 0]
    shares = [name for name in record.figures if name.startswith("coverage")]
    rows = [[name, *(f"{value:.3f}" for value in crps[i])] for i, name in enumerate(study.sets)]
    ratio = crps / crps[:, [methods.index(RIVALS)]]
    rows.append(["relative to constant", *(f"{geometric(column):.3f}" for column in ratio.T)])
    for name in shares:
        covered = study.by_split(name).mean(axis=(0, 1))[0]
        asked = float(name.removeprefix("coverage "))
        rows.append([f"coverage of {asked:.0%}", *(f"{value:.1%}" for value in covered)])
    text = (
        f"CRPS by quantiles, mean over {len(record.splits)} splits; y has variance one; parkinsons "
        f"by patient. Coverage is the mean over all sets. quantile-forest and NGBoost as they come."
    )
    table = markdown_table(["CRPS", *methods], rows)
    return "\n\n".join(["## The distribution itself", text, table])


def command_text() -> str:
    """Return what the command gives its predictors, beside two simpler estimates."""
    sets = json.loads(FIT_RISK.read_text(encoding="utf-8"))["sets"]
    estimates = ("fit", "losses", "calibrated")
    rows, within = [], 0
    for name, found in sets.items():
        means = {key: np.mean(found[key]["aurc"]) for key in estimates if key in found}
        within += means["fit"] <= min(means.values())
        errors = {key: np.mean(found[key]["squared_error"]) for key in means}
        rows.append([name, *(f"{means[k]:.4f}" if k in means else "–" for k in estimates)])
        rows[-1] += [f"{errors[k]:.2f}" if k in errors else "–" for k in estimates]
    header = ["set", *(f"AURC, {name}" for name in estimates)]
    header += [f"squared error, {name}" for name in estimates]
    n_splits = len(next(iter(sets.values()))["fit"]["aurc"])
    text = (
        f'"fit" is what the command fits around boosting, "losses" boosting of its losses, which '
        f'is what it did before, "calibrated" 1 − max p of calibrated boosting. Aim: the mean AURC '
        f"of fit is the least, on {within} of {len(sets)} sets it is. {n_splits} splits; squared "
        f"errors are relative to the mean loss. `python -m benchmarks.fit_risk`."
    )
    return "\n\n".join(["## What `condrisk fit` gives", text, markdown_table(header, rows)])


TASKS = {"regression": "numbers", "classification": "classes"}
# The aim that was written down: of 200 rows, in the mean over worlds and sets.
BIAS_AIM, BIAS_ROWS = 0.05, 200


def mean_text(sizes: list[int]) -> str:
    """Return how far the mean of g is from the mean loss on few rows, by task."""
    text = (
        "Predictors of the folds have seen fewer rows than the one that is kept, and lose more. "
        "`RegressionRisk` of numbers multiplies by `refit_factor_`, from a second cross-fitting on "
        'halves of the rows; "folds only" is without it; for labels there is no factor. Bias: the '
        "mean of g over all draws divided by the mean loss of new rows, minus one, over worlds and "
        "sets (after ± a standard error over these). Spread: the standard deviation of that ratio "
        'over draws. Squared error is relative to "folds only". "held-out losses" has their mean '
        "in place of g: what that is off by is the draws, and what the folds did not see. "
        "`python -m benchmarks.refit_bias`."
    )
    parts = ["## The mean of g on few rows", _bias_verdict(), text]
    parts += [_bias_table(n, task) for n in sizes for task in TASKS]
    return "\n\n".join(parts)


def _bias_verdict() -> str:
    sentences = []
    for task, what in TASKS.items():
        found = summary(BIAS_ROWS, task)
        values = [found[f"RegressionRisk, {kind}"]["bias"] for kind in ("forest", "boosting")]
        seen = [found[f"held-out losses, {kind}"]["bias"] for kind in ("forest", "boosting")]
        reached = "reached" if max(map(abs, values)) <= BIAS_AIM else "**missed**"
        sentences.append(
            f"{what} {values[0]:+.1%} (forest) and {values[1]:+.1%} (boosting): {reached}; the "
            f"held-out losses themselves {seen[0]:+.1%} and {seen[1]:+.1%}"
        )
    return (
        f"Aim: a bias of `RegressionRisk` of {BIAS_AIM:.0%} at most on {BIAS_ROWS} rows. Found: "
        + "; ".join(sentences)
        + "."
    )


def _bias_table(n: int, task: str) -> str:
    found, rows = summary(n, task), []
    for estimate in ("held-out losses", "folds only", "RegressionRisk", *SLOW):
        both = [found.get(f"{estimate}, {kind}") for kind in ("forest", "boosting")]
        parts = [part for part in both if part is not None]
        if not parts or (task == "classification" and estimate == "folds only"):
            continue
        cells = [
            cell
            for part in parts
            for cell in (
                f"{part['bias']:+.1%} ± {part['error of bias']:.1%}",
                f"{part['spread']:.2f}",
                f"{part['squared']:.2f}",
            )
        ]
        rows.append([estimate, f"{parts[0]['draws']:.0f}", *cells])
    sets = max(part["sets"] for part in found.values())
    header = [f"{n:,} rows, {TASKS[task]}, {sets:.0f} worlds and sets", "draws"]
    for kind in ("forest", "boosting"):
        header += [f"{kind}: bias", "spread", "squared error"]
    return markdown_table(header, rows)
