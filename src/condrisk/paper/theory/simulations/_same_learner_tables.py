"""Tables of the plug-in risk of regressors beside regressions of the losses."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from scipy import stats

from condrisk.paper._records import Record
from condrisk.paper._table import Cell, Group, Row, Table, filled, row
from condrisk.paper.theory.simulations._results import select, short, values, with_commas

# The number of rows for which every estimate is shown.
SHOWN_ROWS = 800
ESTIMATES = ("losses on x", "losses on x, f, m", "plug-in", "corrected")


class Ratio(NamedTuple):
    """A geometric mean of error ratios over repetitions, with standard error and 95 % interval."""

    value: float
    se: float
    low: float
    high: float

    def __str__(self) -> str:
        decimals = 3 if self.value < 0.1 else 2 if self.value < 10 else 1
        return f"{self.value:.{decimals}f} ± {self.se:.{decimals}f}"


def error_ratio(record: Record, estimate: str, reference: str) -> Ratio:
    """Return E(ĝ − g)² of one estimate over that of another, on the same rows.

    Examples
    --------
    >>> from condrisk.paper.theory.simulations._same_learner_tables import error_ratio
    >>> record = {"plug-in": [1.0, 2.0, 4.0], "losses on x": [2.0, 4.0, 8.0]}
    >>> error_ratio(record, "plug-in", "losses on x")
    Ratio(value=0.5, se=0.0, low=0.5, high=0.5)
    """
    logs = np.log(record[estimate]) - np.log(record[reference])
    mean, se = float(logs.mean()), float(stats.sem(logs))
    half = float(stats.t.ppf(0.975, len(logs) - 1)) * se
    value = float(np.exp(mean))
    return Ratio(value, value * se, float(np.exp(mean - half)), float(np.exp(mean + half)))


def relative_error(record: Record, estimate: str) -> float:
    """Return the mean of E(ĝ − g)² over that of the constant, the mean loss."""
    return float(np.mean(record[estimate]) / np.mean(record["constant"]))


def noises(records: Iterable[Record]) -> list[tuple[str, float]]:
    """Return the kinds and levels of noise, in the order of the records."""
    return list(dict.fromkeys((r["noise"], r["level"]) for r in records))


def ratios_table(records: list[Record]) -> Table:
    """Return the error of the plug-in risk over that of a regression of the losses on x."""
    found = select(records, "same-learner")
    columns = noises(found)
    groups = []
    for learner in values(found, "learner"):
        here = [r for r in found if r["learner"] == learner]
        rows = tuple(
            _ratios_row(select(here, "same-learner", method=method, n=n), columns)
            for method in values(here, "method")
            for n in values(here, "n")
        )
        groups.append(Group(learner, rows))
    return Table(
        "same-learner",
        "Plug-in over regression of the losses on x: ratio of E(ĝ − g)², same learner",
        "Geometric mean over repetitions ± standard error; below 1 the plug-in risk is better. "
        "Bold: the 95 % interval is below 1. *: it contains 1. The number beside the noise is its "
        "standard deviation; the mean μ has standard deviation 1.",
        row("predictor", "rows", *(f"{noise}\n{level:g}" for noise, level in columns)),
        filled(groups),
    )


def _ratios_row(found: list[Record], columns: list[tuple[str, float]]) -> Row:
    by_noise = {(r["noise"], r["level"]): r for r in found}
    cells = row(found[0]["method"], with_commas(found[0]["n"]))
    for noise in columns:
        if noise not in by_noise:
            cells = (*cells, Cell())
            continue
        ratio = error_ratio(by_noise[noise], "plug-in", "losses on x")
        mark = "*" if ratio.low <= 1 <= ratio.high else ""
        cells = (*cells, Cell(f"{ratio}{mark}", bold=ratio.high < 1))
    return cells


def errors_table(records: list[Record]) -> Table:
    """Return the error of every estimate relative to the constant, for one number of rows."""
    numbers = values(select(records, "same-learner"), "n")
    shown = SHOWN_ROWS if SHOWN_ROWS in numbers else max(numbers, default=0)
    found = select(records, "same-learner", n=shown)
    groups = []
    for learner in values(found, "learner"):
        for noise, level in noises(found):
            here = select(found, "same-learner", learner=learner, noise=noise, level=level)
            label = f"{learner}, {noise} {level:g}"
            groups.append(Group(label, tuple(_errors_row(record) for record in here)))
    return Table(
        "same-learner-errors",
        f"E(ĝ − g)² relative to the mean loss, {with_commas(shown)} rows",
        "The first two columns: how far f and m are from μ, as root mean squares. E|ĝ − g| and "
        "its bound are those of the plug-in risk. Bold: the least error of the four, if below 1. "
        "With f = μ and homoscedastic noise g is a constant.",
        row("predictor", "f − μ", "m − μ", *ESTIMATES, "E|ĝ − g|", "bound"),
        filled(groups),
    )


def _errors_row(record: Record) -> Row:
    means = {name: float(np.mean(record[name])) for name in ("absolute", "bound")}
    distances = (
        float(np.sqrt(np.mean(np.square(record[name]))))
        for name in ("predictor_error", "mean_error")
    )
    errors = [relative_error(record, name) for name in ESTIMATES]
    best = min(*errors, 1.0)
    return (
        *row(record["method"], *(f"{distance:.2f}" for distance in distances)),
        *(Cell(short(error), bold=error == best) for error in errors),
        *(Cell(f"{mean:.2f}") for mean in means.values()),
    )
