"""The page for practitioners: what the bounds are worth, and what to use instead."""

from __future__ import annotations

import math
from collections.abc import Iterable

from condrisk.paper._records import Record
from condrisk.paper._render import to_markdown
from condrisk.paper._table import Table
from condrisk.paper.theory.simulations._coverage import WORLDS
from condrisk.paper.theory.simulations._interval_tables import held_out_table
from condrisk.paper.theory.simulations._results import excess_slope, select, values, with_commas
from condrisk.paper.theory.simulations._same_learner_page import ROUGH, SIMPLE, of_kind, wins
from condrisk.paper.theory.simulations._tables import planning_table

EXAMPLE = """\
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression

from condrisk import RegressionRisk
from condrisk.datasets import make_gaussian_mixture
from condrisk.inference import risk_error_interval

world = make_gaussian_mixture(3000, random_state=0)
train, fit, held = (slice(0, 1000), slice(1000, 2000), slice(2000, 3000))
X, y = world.X, world.y

model = LogisticRegression().fit(X[train], y[train])
risk = RegressionRisk(FrozenEstimator(model)).fit(X[fit], y[fit])

mean_loss = (model.predict(X[fit]) != y[fit]).mean()  # not of the held-out rows
loss = (model.predict(X[held]) != y[held]).astype(float)
found = risk_error_interval(
    risk.predict_risk(X[held]), loss, reference={"mean loss": mean_loss}, upper=1.0
)
print(found.differences["mean loss"])  # below zero: better than the mean loss
print(found.lower, found.upper)  # E(ĝ − g)² lies between
"""


def practitioner_page(records: Iterable[Record]) -> str:
    """Return one page of text: what the bounds say, when they are vacuous, what to use instead.

    Parameters
    ----------
    records : iterable of dict
        What the study found; sections for which there are no records are left out.

    Returns
    -------
    str
        Markdown. It refers to the figures ``planning.png`` and ``coverage.png`` beside it.

    Examples
    --------
    >>> from condrisk.paper.theory.simulations._page import practitioner_page
    >>> practitioner_page([]).splitlines()[0]
    '# What the theory says about an estimated risk'
    """
    records = list(records)
    sections = [
        _introduction(),
        _in_short(records),
        _bounds(records),
        _held_out_rows(records),
        _further_reading(),
    ]
    return "\n\n".join(section for section in sections if section) + "\n"


def _introduction() -> str:
    return "\n\n".join(
        [
            "# What the theory says about an estimated risk",
            "A predictor f has a loss z on every row, and its *conditional risk* g(x) is the mean "
            "loss at the input x. An estimate ĝ of it is learnt from n rows, either by regressing "
            "the losses on x, or by putting estimated class probabilities into the loss (the "
            "*plug-in* risk). The paper bounds how far ĝ is from g. This page says what these "
            "bounds are worth for a decision, and what to use instead. Losses lie between 0 and 1 "
            "here, and bounds and intervals are at 95 % confidence.",
        ]
    )


def _in_short(records: list[Record]) -> str:
    lines = [
        _line_of_thousand(records),
        _line_of_million(records),
        _line_of_looseness(records),
        _line_of_false(records),
        _line_of_intervals(records),
        _line_of_regressors(records),
    ]
    there = [f"- {line}" for line in lines if line]
    return "\n".join(["## In short", "", *there]) if there else ""


def _planned(records: list[Record], functions: str, method: str) -> Record | None:
    found = select(records, "planning", functions=functions, method=method)
    return found[0] if found else None


_LINEAR, _NETWORK = "linear, 20 features, weights of norm 1", "network, output norm 10"


def _line_of_thousand(records: list[Record]) -> str:
    squared = _planned(records, _LINEAR, "squared_error")
    ten = _planned(records, _LINEAR, "plug_in, K = 10")
    if squared is None or ten is None:
        return ""
    return (
        f"**With 1,000 rows the bounds say next to nothing.** For linear functions of 20 features "
        f"they promise a squared error of at most {squared['values']['1000']:.2f} above the best "
        f"of the class. Whoever answers ½ everywhere has 0.25 at most, without a single row. For "
        f"ten classes the plug-in bound is {ten['values']['1000']:.1f}, and no error can exceed 1."
    )


def _line_of_million(records: list[Record]) -> str:
    squared = _planned(records, _LINEAR, "squared_error")
    network = _planned(records, _NETWORK, "squared_error")
    two, ten = (_planned(records, _LINEAR, f"plug_in, K = {k}") for k in (2, 10))
    if squared is None or network is None or two is None or ten is None:
        return ""
    value = squared["values"]["1000000"]
    return (
        f"**With 1,000,000 rows they are of use for small classes of functions.** The linear "
        f"functions now have {value:.2f} (a typical error of {math.sqrt(value):.2f}), and their "
        f"plug-in bound is {two['values']['1000000']:.2f} for two classes, "
        f"{ten['values']['1000000']:.2f} for ten. A small network is still at "
        f"{network['values']['1000000']:.2f}."
    )


def _line_of_looseness(records: list[Record]) -> str:
    found = select(records, "excess", method="squared_error", n=1000)
    slope = excess_slope(records, "squared_error")
    if not found or slope is None:
        return ""
    bound, mean = found[0]["bounds"]["0.05"]["bound"], found[0]["mean"]
    return (
        f"**What happens is far better than what is promised.** In a world of 32 cells and 1,000 "
        f"rows the bound is {bound:.2f} and the error {mean:.4f}, {bound / mean:.0f} times less. "
        f"The error falls like n^{slope.value:.2f}, the bound like n^-0.50. So a bound is no "
        f"forecast: with it, you would collect far too many rows."
    )


def _line_of_false(records: list[Record]) -> str:
    found = select(records, "false")
    failed = [r for r in found if r["p_printed"] < 0.001]
    if not found:
        return ""
    return (
        f"**Not everything that is printed is true.** {len(failed)} statements, or steps of "
        f"proofs, fail in small worlds, each with a repair that holds "
        f"([simulations.md](simulations.md)). The one to remember: minimising the *absolute* "
        f"error against losses finds the conditional median, not the risk. Fit, and compare, by "
        f"squared error."
    )


def _line_of_intervals(records: list[Record]) -> str:
    found = select(records, "coverage", method="betting")
    if not found:
        return ""
    least = min(r["covered"] / r["repetitions"] for r in found)
    normal = select(records, "coverage", method="normal", n=200)
    worst = min(r["covered"] / r["repetitions"] for r in normal)
    return (
        f"**Held-out rows answer the question that you have.** `risk_error_interval` needs no "
        f"class of functions and no complexity. At 95 % it covered in {least:.1%} of the samples "
        f"or more in every world, also where the normal approximation covered in {worst:.1%}."
    )


def _line_of_regressors(records: list[Record]) -> str:
    found = select(records, "same-learner")
    if not found:
        return ""
    rough, forest = of_kind(found, "splines", ROUGH), of_kind(found, "forest", (*SIMPLE, *ROUGH))
    return (
        f"**For a regressor the plug-in risk (f − m)² + v is as good as m.** With one learner on "
        f"both sides it beats a regression of the losses where m is good and the errors of f are "
        f"rough in x: with splines, {wins(rough)}. With forests, which are wrong for a linear "
        f"mean, it is {wins(forest)}, and where f is the mean itself it is never better "
        f"([simulations.md](simulations.md))."
    )


def _bounds(records: list[Record]) -> str:
    table = planning_table(records)
    if not table.rows:
        return ""
    a = math.sqrt(math.log(20) / 2)
    return "\n\n".join(
        [
            "## What the bounds say for 1,000 and for 1,000,000 rows",
            _body(table),
            "![What the bounds promise](planning.png)",
            "**When are they vacuous?** A bound that exceeds 1 says nothing. A bound on a squared "
            "error above ¼, or on an absolute one above ½, says less than a constant ½ gives for "
            "free. With a complexity of C/√n (for linear functions of standardised features, C is "
            f"the norm of the weights times the root of their number), regression gets below ¼ "
            f"from n = (16 C + {8 * a:.1f})² on, and the plug-in risk of K classes below ½ from "
            f"n = (4K (C + {a:.2f}))² on, where C is the sum over the classes. For other losses "
            "the bound on a squared error grows with M², that on an absolute one with M, M being "
            "the largest loss there can be: −ln of the clip for the log loss, 13.8 for "
            "a clip at 10⁻⁶.",
            "**What are they good for?** They show what the error depends on: the size of the "
            "class of functions and the range of the loss. And they warn of many classes: the "
            "plug-in bound grows with their number, and falls with the fourth root of n only. "
            "`condrisk.inference.sample_size` inverts them.",
        ]
    )


def _held_out_rows(records: list[Record]) -> str:
    table, covered = held_out_table(records), select(records, "coverage")
    parts = [
        "## What to use instead",
        "Keep some rows away from both models, and ask them:",
        f"```python\n{EXAMPLE}```",
        "The error of ĝ against g itself cannot be known from losses alone: a loss that comes up "
        "by chance in half of the cases, and one that is certain on half of the inputs, look the "
        "same. What can be known is E(ĝ − z)², which has the noise of the losses in it, and by "
        "how much ĝ is better or worse than a reference, where the noise cancels. So the limits of "
        "E(ĝ − g)² stay apart with any number of rows, and those of the difference do not.",
    ]
    if table.rows:
        worlds = "\n".join(f"- {name}: {WORLDS[name].text}." for name in _worlds(records))
        parts += [f"Three worlds in which the truth is known:\n\n{worlds}", _body(table)]
    if covered:
        repetitions = with_commas(covered[0]["repetitions"])
        parts += [
            f"Are the intervals right? In {repetitions} samples of each world those by betting, "
            f"the default, cover at least as often as they promise, and are narrower than those "
            f"by Bernstein's inequality. The normal approximation is narrower still, and at 200 "
            f"rows it does not keep its promise where losses are rare or skewed:",
            "![Coverage and width of intervals](coverage.png)",
        ]
    return "\n\n".join(parts)


def _worlds(records: list[Record]) -> list[str]:
    found = values(select(records, "planning"), "world")
    return [name for name in WORLDS if name in found]


def _body(table: Table) -> str:
    """Return a table without its title, which the text around it makes superfluous."""
    return to_markdown(table).removeprefix(f"### {table.title}\n\n").rstrip()


def _further_reading() -> str:
    return (
        "Every simulation, with the counterexamples: [simulations.md](simulations.md). All of it "
        "is written from records by `condrisk reproduce theory`."
    )
