"""The paper's tables from records: ours, the paper's, and the difference in standard errors."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

import numpy as np

from condrisk.paper._results import Record
from condrisk.paper._table import Cell, Group, Row, Table
from condrisk.paper.rwr._cells import caption, cells, headers, two_decimals
from condrisk.paper.rwr._paper import COSTS, MODELS, PAIRS
from condrisk.paper.rwr._plug_in._names import OUR_CALIBRATORS, OUR_PAIRS
from condrisk.paper.rwr._predictor_tables import EXTRA_VIEWS, TABLE_3_VIEW, by_predictor
from condrisk.paper.rwr._results import DEFAULT, Results

# The scale of the paper's Table 4: least, middle, largest.
LOW, MIDDLE, HIGH = (0x5A, 0x8A, 0xC6), (0xFC, 0xFC, 0xFF), (0xF8, 0x69, 0x6B)
SELECTED = (
    "MLP+RF",
    "RF+RF",
    *(f"{model}+{calibrator}" for model in ("MLP", "RF") for calibrator in OUR_CALIBRATORS),
    "NN+kNNRej",
    "SelNet",
    "NN+kernel",
    DEFAULT,
)
_REFERENCES = (
    "always: everything is deferred; never: every prediction is accepted; oracle: knows each loss "
    "beforehand, no rule can beat it."
)


def all_tables(records: Iterable[Record]) -> list[Table]:
    """Return every table that the records have something for.

    Examples
    --------
    >>> from condrisk.paper.rwr._tables import all_tables
    >>> costs = {"0.5": {"loss": 0.463, "rate": 0.77, "oracle": 0.3}}
    >>> record = {"set": "energy", "fold": 0, "method": "MLP+RF", "risk_l1": 2.2, "costs": costs}
    >>> [table.name for table in all_tables([record])]
    ['table3', 'table4', 'table5', 'table7', 'human-rate']
    """
    records = list(records)
    first = [builder(records) for builder in (table3, table4, table5, table7)]
    return [table for table in first + extras(records) if table.groups]


def table3(records: Iterable[Record]) -> Table:
    """Return the loss of each predictor and the absolute error of each calibrator on it."""
    return by_predictor(Results(records), TABLE_3_VIEW)


def table4(records: Iterable[Record]) -> Table:
    """Return absolute error and deferral losses of the pairs on energy, shaded as in the paper."""
    results = Results(records)
    name, *costs = _cost_header()
    groups = []
    for label, methods in _method_groups(results, "energy"):
        rows = [_table4_row(results, method) for method in methods]
        rows = _shaded(rows) if label in MODELS else rows
        references = _reference_rows(results, "energy", methods)
        rows += [(row[0], Cell(), Cell(), Cell(), *row[1:]) for row in references]
        groups.append(Group(label, tuple(rows)))
    return Table(
        "table4",
        "Table 4: absolute error of the calibrator and deferral loss on energy",
        caption(
            results,
            "error: absolute error of the calibrator. Blue is low and red is high, within each "
            f"column and predictor; ours and the paper's each by themselves. {_REFERENCES}",
        ),
        (name, *headers("error"), *costs),
        tuple(groups),
    )


def table5(records: Iterable[Record]) -> Table:
    """Return the deferral losses of the paper's selection, the benchmarks and new methods."""
    results = Results(records)
    methods = (*SELECTED, *results.new_methods)
    return _deferral_table(
        results,
        lambda name: [(name, [m for m in methods if results.records(name, m)])],
        name="table5",
        title="Table 5: deferral loss of the selected methods and the benchmarks",
    )


def table7(records: Iterable[Record]) -> Table:
    """Return the deferral losses of all methods, a block for each set and predictor."""
    results = Results(records)
    return _deferral_table(
        results,
        lambda name: [(f"{name}, {label}", m) for label, m in _method_groups(results, name)],
        name="table7",
        title="Table 7: deferral loss of all methods",
    )


def extras(records: Iterable[Record]) -> list[Table]:
    """Return what the paper does not print: proper error, ranking, bias, and how many defer."""
    results = Results(records)
    tables = [by_predictor(results, view) for view in EXTRA_VIEWS]
    groups = []
    for set_name in results.paper_sets:
        there = [method for method in results.methods if results.records(set_name, method)]
        rows = [_method_row(results, "rate", set_name, method) for method in there]
        groups.append(Group(set_name, tuple(rows)))
    rates = Table(
        "human-rate",
        "Share of the test rows that is deferred",
        caption(results, "The paper's are from its authors' result files."),
        _cost_header(),
        tuple(groups),
    )
    return [*tables, rates]


def shade(values: Sequence[float | None]) -> list[str | None]:
    """Return a colour for each value: blue for the least, pale for the median, red for the largest.

    Examples
    --------
    >>> from condrisk.paper.rwr._tables import shade
    >>> shade([7.87, 4.28, 2.41, 7.65])
    ['F8696B', 'AFC6E4', '5A8AC6', 'F87A7C']
    """
    known = [value for value in values if value is not None]
    if not known:
        return [None] * len(values)
    low, middle, high = min(known), float(np.median(known)), max(known)

    def mix(value: float) -> str:
        end, span = (LOW, middle - low) if value < middle else (HIGH, high - middle)
        share = abs(value - middle) / span if span > 0 else 0.0
        return "".join(
            f"{round(m + share * (e - m)):02X}" for m, e in zip(MIDDLE, end, strict=True)
        )

    return [None if value is None else mix(value) for value in values]


# -- rows of methods, columns of costs -----------------------------------------------------------


def _deferral_table(
    results: Results,
    blocks: Callable[[str], list[tuple[str, list[str]]]],
    *,
    name: str,
    title: str,
) -> Table:
    groups = []
    for set_name in results.paper_sets:
        found = [(label, methods) for label, methods in blocks(set_name) if methods]
        shown = [method for _, methods in found for method in methods]
        best = [_least(results, set_name, shown, cost) for cost in COSTS]
        for label, methods in found:
            rows = [_method_row(results, "loss", set_name, method, best) for method in methods]
            rows += _reference_rows(results, set_name, methods)
            groups.append(Group(label, tuple(rows)))
    text = f"{_REFERENCES} Of the methods, the least loss at two decimals is bold."
    return Table(name, title, caption(results, text), _cost_header(), tuple(groups))


def _cost_header() -> Row:
    costs = [cell for cost in COSTS for cell in headers(f"c={cost}")]
    return (Cell("Method", align="left"), *costs)


def _method_groups(results: Results, set_name: str) -> list[tuple[str, list[str]]]:
    """Return the methods that a set has: the pairs of each predictor, then all others."""
    there = [method for method in results.methods if results.records(set_name, method)]
    pairs = (*PAIRS, *OUR_PAIRS)
    groups = [
        (model, [m for m in there if m in pairs and predictor(m) == model]) for model in MODELS
    ]
    groups.append(("other methods", [method for method in there if method not in pairs]))
    return [(label, methods) for label, methods in groups if methods]


def predictor(method: str) -> str:
    """Return the predictor of a method: what stands before the plus, or else the method itself.

    Examples
    --------
    >>> from condrisk.paper.rwr._tables import predictor
    >>> predictor("MLP+RF"), predictor("SelNet")
    ('MLP', 'SelNet')
    """
    return method.partition("+")[0]


def _method_row(
    results: Results,
    quantity: str,
    set_name: str,
    method: str,
    best: Sequence[str | None] = (None,) * len(COSTS),
) -> Row:
    row = [Cell(method, align="left")]
    for cost, least in zip(COSTS, best, strict=True):
        row += cells(results.summary(quantity, set_name, method, cost), two_decimals, least)
    return tuple(row)


def _reference_rows(results: Results, set_name: str, methods: Sequence[str]) -> list[Row]:
    """Return what a method has to beat, and what it cannot."""
    rows: list[Row] = []
    always = [Cell("always", align="left")]
    for cost in COSTS:
        always += [Cell(two_decimals(float(cost))), Cell(), Cell()]
    rows.append(tuple(always))
    owners = {predictor(method): method for method in reversed(methods)}
    for name in dict.fromkeys(predictor(method) for method in methods):
        loss = results.summary("predictor_loss", set_name, owners[name])
        never = [Cell(f"never: {name}", align="left")]
        rows.append((*never, *(cells(loss, two_decimals) * len(COSTS))))
        oracle = [Cell(f"oracle: {name}", align="left")]
        for cost in COSTS:
            oracle += cells(results.summary("oracle", set_name, owners[name], cost), two_decimals)
        rows.append(tuple(oracle))
    return rows


def _least(results: Results, set_name: str, methods: Iterable[str], cost: str) -> str | None:
    means = [results.mean("loss", set_name, method, cost) for method in methods]
    known = [mean for mean in means if mean is not None]
    return two_decimals(min(known)) if known else None


def _table4_row(results: Results, method: str) -> Row:
    error = cells(results.summary("risk_l1", "energy", method), two_decimals)
    loss = _method_row(results, "loss", "energy", method)
    return (loss[0], *error, *loss[1:])


def _shaded(rows: Sequence[Row]) -> list[Row]:
    """Return the rows with ours and the paper's shaded, column by column.

    The paper shades what it prints, rounded, and so does this.
    """
    columns = [list(column) for column in zip(*rows, strict=True)]
    for k, column in enumerate(columns):
        if k % 3:  # the columns go: name, then ours, paper's, difference, again and again
            colours = shade([float(cell.text) if cell.text else None for cell in column])
            columns[k] = [
                replace(cell, background=colour)
                for cell, colour in zip(column, colours, strict=True)
            ]
    return [tuple(row) for row in zip(*columns, strict=True)]
