"""The tables of the study, from its records."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from condrisk.paper._records import Record
from condrisk.paper._table import Group, Row, Table, filled, row
from condrisk.paper.theory.simulations._interval_tables import coverage_table, held_out_table
from condrisk.paper.theory.simulations._results import (
    BOUNDS,
    SLOPE_FROM,
    bound_slope,
    excess_slope,
    select,
    short,
    values,
    with_commas,
)
from condrisk.paper.theory.simulations._same_learner_tables import errors_table, ratios_table

SHOWN_NUMBERS = (100, 1000, 10_000, 1_000_000)
# Differences below this share are rounding: some bounds are equalities.
ROUNDING = 1e-9


def all_tables(records: Iterable[Record]) -> list[Table]:
    """Return every table that the records have something for.

    Examples
    --------
    >>> from condrisk.paper.theory.simulations._tables import all_tables
    >>> all_tables([])
    []
    """
    records = list(records)
    builders: tuple[Callable[[list[Record]], Table], ...] = (
        violations_table,
        slopes_table,
        certain_table,
        false_table,
        separable_table,
        median_table,
        coverage_table,
        planning_table,
        held_out_table,
        ratios_table,
        errors_table,
    )
    tables = [builder(records) for builder in builders]
    return [table for table in tables if table.rows]


def violations_table(records: list[Record]) -> Table:
    """Return how often each valid bound was exceeded."""
    groups = []
    for method, words in BOUNDS.items():
        found = [r for r in select(records, "excess", method=method) if r["n"] in SHOWN_NUMBERS]
        groups.append(Group(words, tuple(_violations_row(record) for record in found)))
    return Table(
        "violations",
        "Valid bounds: how often they were exceeded",
        "excess: mean over the repetitions, and 95 % quantile. Bounds hold with probability "
        "1 − δ; p: exact binomial test that they are exceeded more often than δ allows. * says no "
        "more than is known without data.",
        row("rows", "excess\nmean", "excess\n95 %", *_delta_heads("0.05"), *_delta_heads("0.2")),
        filled(groups),
    )


def _delta_heads(delta: str) -> tuple[str, ...]:
    return f"bound\nδ = {delta}", "exceeded", "p"


def _violations_row(record: Record) -> Row:
    cells = [with_commas(record["n"]), short(record["mean"]), short(record["high"])]
    for found in record["bounds"].values():
        cells += [
            short(found["bound"]) + ("*" if found["vacuous"] else ""),
            f"{found['violations']} of {record['repetitions']}",
            f"{found['p']:.2f}",
        ]
    return row(*cells)


def slopes_table(records: list[Record]) -> Table:
    """Return how fast excesses and bounds fall with the number of rows."""
    rows = []
    for method, words in BOUNDS.items():
        excess, bound = excess_slope(records, method), bound_slope(records, method)
        if bound is not None:
            rows.append(row(words, "0" if excess is None else str(excess), f"{bound.value:.2f}"))
    return Table(
        "slopes",
        "How fast they fall: slopes on logarithmic axes",
        f"Least squares of log excess on log n from {SLOPE_FROM:,} rows on, with 95 % interval; 0: "
        "there was no excess.",
        row("", "slope of the mean excess", "slope of\nthe bound"),
        filled([Group("excess of what is minimised", tuple(rows))]),
    )


def certain_table(records: list[Record]) -> Table:
    """Return the bounds that hold for any model, over all models of the study."""
    groups = []
    models = select(records, "plug-in")
    for world in values(models, "world"):
        found = [r for r in models if r["world"] == world]
        printed = [(r["error"], 2 * r["bounds"]["lipschitz"]) for r in found]
        half = [(r["error"], r["bounds"]["lipschitz"]) for r in found]
        kl = [(r["error"], r["bounds"]["kl"]) for r in found if "kl" in r["bounds"]]
        rows = (
            _points_row("(M/2) E‖p_θ − p‖₁", half),
            _points_row("M √(KL/2)", kl),
            _points_row("M E‖p_θ − p‖₁, as printed", printed),
        )
        groups.append(Group(f"plug-in risk: {world}", rows))
    regressors = select(records, "same-learner")
    by_learner = tuple(
        _points_row(learner, _moment_points(regressors, learner))
        for learner in values(regressors, "learner")
    )
    words = "plug-in risk of regressors, |v̂ − σ²| + |m̂ − μ| (2 |f − μ| + |m̂ − μ|)"
    groups.append(Group(words, by_learner))
    pairs = select(records, "rejection")
    names = {"fitted": "pairs of fitted models", "disturbed": "the truth, disturbed"}
    by_kind = tuple(
        _points_row(words, [(r["excess"], r["bound"]) for r in pairs if r["pairs"] == name])
        for name, words in names.items()
        if select(pairs, "rejection", pairs=name)
    )
    groups.append(Group("excess loss with rejection, E(f − f*)² + E|ĝ − g|", by_kind))
    return Table(
        "certain",
        "Bounds that hold for every model",
        "quantity / bound: 1 is the bound. Models whose bound is infinite are left out.",
        row("", "models", "exceeded", "quantity / bound\nmedian", "largest"),
        filled(groups),
    )


def _moment_points(records: list[Record], learner: str) -> list[tuple[float, float]]:
    """Return E|ĝ − g| of the plug-in risk and its bound, in every repetition."""
    found = [r for r in records if r["learner"] == learner]
    return [pair for r in found for pair in zip(r["absolute"], r["bound"], strict=True)]


def _points_row(words: str, points: Sequence[tuple[float, float]]) -> Row:
    shares = sorted(a / b for a, b in points if b > 1e-12)
    exceeded = sum(a > b + ROUNDING for a, b in points)
    middle = shares[len(shares) // 2] if shares else float("nan")
    largest = shares[-1] if shares else float("nan")
    return row(words, str(len(points)), str(exceeded), f"{middle:.2f}", f"{largest:.2f}")


def false_table(records: list[Record]) -> Table:
    """Return each printed claim that is false: its bound, what happens, and the repaired one."""
    rows = tuple(
        row(
            record["method"].replace("_", " "),
            with_commas(record["n"]),
            {"<=": "≤ ", ">=": "≥ "}[record["relation"]] + short(record["printed_bound"]),
            short(record["observed"]),
            f"{record['violations']} of {record['n_repetitions']}",
            {"<=": "≤ ", ">=": "≥ "}[record["relation"]] + short(record["repaired_bound"]),
            short(record["repaired_observed"]),
            f"{record['repaired_violations']} of {record['n_repetitions']}",
        )
        for record in select(records, "false")
    )
    return Table(
        "false",
        "Printed and false: what happens in small worlds",
        "Means over the repetitions; a bound may fail in 5 % of them. What is claimed, in which "
        "world it fails and what repairs it stands on the page.",
        row(
            "claim",
            "rows",
            "printed",
            "what\nhappens",
            "violated",
            "repaired",
            "what\nhappens",
            "violated",
        ),
        filled([Group("counterexamples", rows)]),
    )


def separable_table(records: list[Record]) -> Table:
    """Return the errors of three estimates where classes have no noise."""
    groups = []
    names = ("calibration-based", "regression on x", "regression on x and f(x)")
    cantor = select(records, "separable", world="cantor")
    for m in values(cantor, "lipschitz"):
        rows = _by_number([r for r in cantor if r["lipschitz"] == m], names)
        limit = next(r["limit"] for r in cantor if r["lipschitz"] == m)
        label = f"fat Cantor set, {m:g}-Lipschitz regressors (never below {limit:.3f})"
        groups.append(Group(label, rows))
    sectors = select(records, "separable", world="sectors")
    groups.append(Group("sectors of a plane, forests", _by_number(sectors, names)))
    return Table(
        "separable",
        "Classes without noise: error E|ĝ − g| of the estimated risk",
        "Means over repetitions.",
        row("rows", *names),
        filled(groups),
    )


def _by_number(records: list[Record], names: Sequence[str]) -> tuple[Row, ...]:
    rows = []
    for n in values(records, "n"):
        found = {r["method"]: short(r["error"]) for r in records if r["n"] == n}
        rows.append(row(with_commas(n), *(found.get(name, "") for name in names)))
    return tuple(rows)


def median_table(records: list[Record]) -> Table:
    """Return the errors of risks that were fitted by absolute and by squared error."""
    groups = []
    for law in values(select(records, "median"), "law"):
        found = select(records, "median", law=law)
        rows = []
        for n in values(found, "n"):
            by_method = {r["method"]: r for r in found if r["n"] == n}
            cells = []
            for method in ("L1", "L2"):
                cells += [f"{by_method[method]['error']:.4f}", f"{by_method[method]['bias']:+.4f}"]
            rows.append(row(with_commas(n), *cells))
        groups.append(Group(law, tuple(rows)))
    return Table(
        "median",
        "Fitted by absolute error, the risk becomes a median",
        "E|ĝ − g| and E(ĝ − g) of the best function of 20 cells.",
        row("rows", "absolute error:\nE|ĝ − g|", "bias", "squared error:\nE|ĝ − g|", "bias"),
        filled(groups),
    )


def planning_table(records: list[Record]) -> Table:
    """Return what the bounds say for a thousand rows and for a million."""
    found = [r for r in select(records, "planning") if "functions" in r]
    titles = {
        "squared_error": "squared error of a regression of the loss, E(ĝ − g)² above the best",
        "plug_in, K = 2": "error of a plug-in risk, E|ĝ − g|, two classes",
        "plug_in, K = 10": "error of a plug-in risk, E|ĝ − g|, ten classes",
    }
    groups = []
    for method, title in titles.items():
        rows = [
            row(
                record["functions"],
                _value(record, "1000"),
                _value(record, "1000000"),
                "more" if record["rows_needed"] is None else with_commas(record["rows_needed"]),
            )
            for record in found
            if record["method"] == method
        ]
        groups.append(Group(title, tuple(rows)))
    return Table(
        "planning",
        "What the bounds say, for losses in [0, 1] and 95 % confidence",
        "vacuous: no less than the most that the error can be. Last column: rows for which the "
        "bound is 0.05. Features have mean square one; for the plug-in risk the probability of "
        "each label is one of these functions.",
        row("class of functions", "1,000 rows", "1,000,000 rows", "rows for 0.05"),
        filled(groups),
    )


def _value(record: Record, n: str) -> str:
    return f"{record['values'][n]:.2g}" + (" (vacuous)" if record["vacuous"][n] else "")
