"""The page of docs/given_model, from results/given_model_*.json."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from benchmarks.given_model._record import RESULTS, Record
from benchmarks.given_model._sets import FURTHER, UCI
from benchmarks.given_model.summary import (
    BASELINE,
    CONSTANT,
    ONE_ROW,
    POOLED_LIMIT,
    SPLIT_LIMIT,
    Study,
    above_in_a_split,
    above_pooled,
    compare,
    line,
    standard_error,
)
from benchmarks.refit_bias import RECORD as BIAS

from condrisk.paper._page import markdown_table
from condrisk.paper._summary import LEVEL, Outcome
from tools.given_model_more import (
    CALIBRATED,
    classes_study,
    classes_text,
    command_text,
    deferral_figures,
    distribution_text,
    mean_text,
    ratios,
)

OURS = "AutoRisk"
SQUARED = "squared_error"
TITLES = {
    "uci": "Seven UCI sets, cross-fitted",
    "paper": "The paper's folds, frozen predictors",
    "further": "Ten further sets, cross-fitted",
}
SETS = {"uci": UCI, "paper": UCI, "further": FURTHER}
DOCS = Path(__file__).resolve().parents[1] / "docs" / "given_model"
# Demands that were written down before the first run.
AT_MOST = {"linear": 0.35, "forest": 0.80, "boosting": 0.74}
WITHIN = 0.05
DEFERRAL = {"uci": 0.91, "paper": 0.95, "further": 0.91 + WITHIN}
MEAN_WITHIN = 0.07
SPLITS_WANTED = 20
WITH_SPLITS = {
    "uci": "the UCI sets",
    "paper": "the paper's folds",
    "further": "the further sets",
    "classes": "classes",
    "losses": "other losses",
    "stack": "the stack as f",
    "before": "the defaults before",
    "distribution": "the distribution itself",
}


class Demand(NamedTuple):
    """Of which rows what was asked for, what was found, and whether it is reached."""

    where: str
    text: str
    found: str
    reached: bool


def pages() -> dict[str, str]:
    """Return the text of the page by its name; nothing as long as there is no record."""
    studies = {part: _study(part) for part in TITLES if has(part)}
    if "uci" not in studies:
        return {}
    parts = ["# How good is g for a given model?", verdict_text(studies)]
    parts += [part_text(part, study) for part, study in studies.items()]
    if has("losses"):
        parts.append(losses_text())
    if has("classes"):
        parts.append(classes_text(Record.read("classes")))
    if has("distribution"):
        parts.append(distribution_text(Record.read("distribution")))
    if BIAS.exists():
        parts.append(mean_text(sorted(map(int, json.loads(BIAS.read_text(encoding="utf-8"))))))
    parts += [command_text(), outliers_text(studies), method_text(studies)]
    return {"README.md": "\n\n".join(parts) + "\n"}


def draw(folder: Path) -> None:
    """Draw nothing: the tables say it."""


def has(part: str) -> bool:
    """Tell whether there is a record of a part."""
    return (RESULTS / f"given_model_{part}.json").exists()


def summary() -> str:
    """Return how good g is beside ten lines of user code, for the README."""
    studies = {part: _study(part) for part in ("uci", "further")}
    names = {BASELINE: "a forest on held-out losses (ten lines of user code)"}
    rows = []
    for method in (BASELINE, "RegressionRisk", OURS):
        cells = []
        for study in studies.values():
            found = line(study, method)
            cells += [f"{found.all:.2f} ({found.worst:.2f})", f"{found.deferral:.2f}"]
        rows.append([names.get(method, f"`{method}(f)`"), *cells])
    header = ["estimate of g", "seven UCI sets", "deferral", "ten further sets", "deferral"]
    splits = len(studies["uci"].record.splits)
    return (
        "Squared error of g against realised losses on new rows, relative to the training mean of "
        "the loss\n(the worst set and predictor in brackets), and deferral loss, relative to the "
        f"first row;\nlinear, forest and boosted predictors, {splits} splits "
        "([more](docs/given_model/README.md)):\n\n" + markdown_table(header, rows)
    )


def _study(part: str, loss: str = SQUARED) -> Study:
    return Study(Record.read(part), loss, "paper" if part == "paper" else "cross-fitted")


# -- the verdict -----------------------------------------------------------------------------------


def verdict_text(studies: dict[str, Study]) -> str:
    """Return what was asked for, and what was found."""
    demands = [demand for part, study in studies.items() for demand in demands_of(part, study)]
    if has("classes"):
        demands += classes_demands(Record.read("classes"))
    reached = sum(demand.reached for demand in demands)
    missed = [f"{d.where}: {d.text} ({d.found})" for d in demands if not d.reached]
    rows = [[d.where, d.text, d.found, "yes" if d.reached else "**no**"] for d in demands]
    text = (
        f"`{OURS}(f)` reaches **{reached} of {len(demands)}** aims that were written down before "
        f"the runs. Squared error of g against the realised loss, relative to the training mean of "
        f"the loss, unless something else is said."
    )
    parts = [text, markdown_table(["rows", "aim", "found", "reached"], rows, n_text=4)]
    if missed:
        parts.append("**Missed:** " + "; ".join(missed) + ".")
    return "\n\n".join([*parts, shorter_text()])


def shorter_text() -> str:
    """Return which runs have fewer splits than were asked for."""
    n_splits = {
        what: len(Record.read(part).splits) for part, what in WITH_SPLITS.items() if has(part)
    }
    short = [f"{what} {n}" for what, n in n_splits.items() if n < SPLITS_WANTED]
    full = [what for what, n in n_splits.items() if n >= SPLITS_WANTED]
    if not short:
        return f"All runs have {SPLITS_WANTED} splits."
    return (
        f"{SPLITS_WANTED} splits were asked for. **Fewer have:** {', '.join(short)}. "
        f"{SPLITS_WANTED} or more: {', '.join(full)}."
    )


def demands_of(part: str, study: Study) -> Iterator[Demand]:
    """Yield the demands on one part."""
    name, found = TITLES[part], line(study, OURS)
    if part != "paper":
        more = WITHIN if part == "further" else 0.0
        limits = {predictor: limit + more for predictor, limit in AT_MOST.items()}
        yield Demand(
            name,
            f"at most {_by_predictor(limits)} ({', '.join(limits)})",
            _by_predictor(found.by_predictor),
            all(found.by_predictor[key] <= limit for key, limit in limits.items()),
        )
    for method in (OURS, "RegressionRisk"):
        high = above_pooled(study, method)
        yield Demand(
            name,
            f"`{method}` above {POOLED_LIMIT} on no set and predictor",
            "; ".join(f"{s}, {p}: {ratio:.2f}" for s, p, ratio in high) or "none",
            not high,
        )
        outliers = above_in_a_split(study, method)
        left = [outlier for outlier in outliers if not outlier.excused]
        yield Demand(
            name,
            f"`{method}` above {SPLIT_LIMIT} in no split, unless one row has more than "
            f"{ONE_ROW:g} of the squared error",
            f"{len(left)} of {len(outliers)} without such a row",
            not left,
        )
    yield Demand(
        name,
        f"deferral loss at most {DEFERRAL[part]:.2f} of that of a forest on losses",
        f"{found.deferral:.3f}",
        found.deferral <= DEFERRAL[part],
    )
    yield Demand(
        name,
        f"mean of g within {MEAN_WITHIN:.0%} of the mean loss on average",
        f"{found.off:.1%}",
        found.off <= MEAN_WITHIN,
    )
    yield from _tests_of(part, study)


def _tests_of(part: str, study: Study) -> Iterator[Demand]:
    name = TITLES[part]
    others = [m for m in study.methods if m not in (OURS, CONSTANT, BASELINE)]
    tests = compare(study, OURS, others)
    yield Demand(
        name,
        f"significantly worse than none of its candidates ({', '.join(others)})",
        _tests(tests),
        not tests.worse,
    )
    if part == "uci" and has("before") and has("stack"):
        defaults = ["RegressionRisk", "AutoRisk"]
        tests = compare(_study("stack"), OURS, defaults, before=_study("before"))
        yield Demand(
            name,
            "with the stack as f, significantly worse than neither of the defaults before",
            _tests(tests),
            not tests.worse,
        )


def classes_demands(record: Record) -> Iterator[Demand]:
    """Yield the demands on classes."""
    study = classes_study(record)
    for what, figures in (("AURC", ["AURC"]), ("deferral loss", deferral_figures(record))):
        tests = compare(study, OURS, [CALIBRATED], figures=figures)
        lower = ratios(study, figures, OURS) < 1
        yield Demand(
            "Classes",
            f"{what} significantly worse than that of 1 − max p nowhere, lower in most",
            f"{_tests(tests)}; lower in {lower.sum()} of {lower.size}",
            not tests.worse and lower.mean() > 0.5,
        )


def _by_predictor(values: dict[str, float]) -> str:
    return " / ".join(f"{values[key]:.2f}" for key in AT_MOST)


def _tests(tests: Outcome[str]) -> str:
    text = f"worse in {len(tests.worse)} of {tests.n}, better in {len(tests.better)}"
    return text + (f" (worse: {'; '.join(tests.worse)})" if tests.worse else "")


# -- tables ----------------------------------------------------------------------------------------


def part_text(part: str, study: Study) -> str:
    """Return the tables of one part."""
    header = [
        "estimate of g",
        *study.predictors,
        "three predictors",
        "worst",
        "test mean",
        "deferral",
        "QLIKE",
        "AURC",
        "L¹",
        "mean g / mean loss",
    ]
    rows = []
    for method in study.methods:
        found = line(study, method)
        error = standard_error(study, method)
        rows.append(
            [
                method,
                *(f"{found.by_predictor[name]:.2f}" for name in study.predictors),
                f"{found.all:.2f} ± {error:.2f}",
                f"{found.worst:.2f} ({found.worst_case})",
                *(f"{v:.2f}" for v in (found.test_mean, found.deferral, found.qlike)),
                *(f"{v:.2f}" for v in (found.aurc, found.absolute, found.bias)),
            ]
        )
    return "\n\n".join([f"## {TITLES[part]}", markdown_table(header, rows), tests_text(study)])


def tests_text(study: Study) -> str:
    """Return how often methods are significantly better or worse than two others."""
    ours = [m for m in study.methods if m not in (CONSTANT, BASELINE, "RegressionRisk")]
    rows = [
        [m, *(_tests(compare(study, m, [other])) for other in (BASELINE, "RegressionRisk"))]
        for m in ours
    ]
    header = ["squared error, set by set and predictor", "against forest", "against RegressionRisk"]
    return markdown_table(header, rows, n_text=3)


def losses_text() -> str:
    """Return the ratios under other losses."""
    record = Record.read("losses")
    losses = record.axes["losses"]
    studies = [_study("losses", loss) for loss in losses]
    rows = []
    for method in studies[0].methods:
        found = [line(study, method) for study in studies]
        rows.append([method, *(f"{f.all:.2f} / {f.worst:.2f} / {f.deferral:.2f}" for f in found)])
    title = f"## Other losses, {len(record.splits)} splits of the seven UCI sets"
    table = markdown_table(["squared error / worst / deferral", *losses], rows)
    versions = "Splits 10 to 19 were run after the others, by a newer version of the library."
    return "\n\n".join([title, table, versions])


def outliers_text(studies: dict[str, Study]) -> str:
    """Return the splits above the limit."""
    rows = []
    for part, study in studies.items():
        for method in study.methods:
            if method in (CONSTANT, BASELINE):
                continue
            for o in above_in_a_split(study, method):
                where = [TITLES[part], method, o.set, o.predictor, str(o.split)]
                rows.append([*where, f"{o.ratio:.2f}", f"{o.share:.0%}"])
    header = ["rows", "estimate", "set", "predictor", "split", "ratio", "share of the worst row"]
    title = f"## Splits above {SPLIT_LIMIT}"
    return "\n\n".join([title, markdown_table(header, rows, n_text=4) if rows else "None."])


def method_text(studies: dict[str, Study]) -> str:
    """Return how it was done."""
    content = studies["uci"].record.content
    hours = sum(
        unit["seconds"] for study in studies.values() for unit in study.record.content["units"]
    )
    n_splits = {part: len(study.record.splits) for part, study in studies.items()}
    n_rows = [int(np.sum(unit["rows"])) for unit in content["units"]]
    return f"""## How it was done

`python -m benchmarks.given_model`; its docstrings give sets, splits and scores, and were committed
before the first run on the further sets. y has variance one. Splits:
{", ".join(f"{TITLES[part]}: {n}" for part, n in n_splits.items())}; {min(n_rows):,} to
{max(n_rows):,} rows in the UCI sets. Predictors: `LinearRegression`, `RandomForestRegressor`,
`HistGradientBoostingRegressor`. "mean" is the training mean of held-out losses, "forest" a random
forest on them, from the row alone. Errors are pooled over the splits of a set,
then the ratio to "mean" is taken, then the geometric mean over sets. After ± is a standard error
from leaving out each split. "test mean": relative to the mean of the test losses, which nobody
knows. Deferral loss is relative to "forest", at prices that are the 0.5, 0.7, 0.85 and 0.95
quantiles of held-out training losses. QLIKE is the mean of z / g − log(z / g) − 1 with both at
least 1 % of the training mean, relative to "mean", as AURC and L¹ are. Tests are one-sided t-tests
over splits with Nadeau and Bengio's correction, Holm's over all sets and predictors of a
comparison, at {LEVEL:.0%}. {hours / 3600:.1f} hours of one core on
{content["machine"]}."""
