"""The paper's tables of CIFAR-10 from records, and three that it does not have."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from condrisk.paper._results import Record
from condrisk.paper._table import Cell, Group, Row, Table
from condrisk.paper.cifar10._cells import (
    BIAS_HEADER,
    DIFFERENCE,
    bias_cell,
    caption,
    compared,
    compared_headers,
    decimals,
    least_text,
    paired_cell,
    spread,
)
from condrisk.paper.cifar10._paper import COSTS, ERROR_TABLE, NETWORKS
from condrisk.paper.cifar10._results import (
    HYBRID,
    KNOWN_METHODS,
    PLUG_INS,
    PROBABILITIES,
    REFERENCES,
    REGRESSIONS,
    TRIVIAL,
    Results,
    paired,
)

_EFFICIENTNET = "The paper's EfficientNet is B0, ours is Lite0."
_REFERENCES = (
    "always: everything is deferred; never: every prediction is accepted; oracle: knows each loss "
    "beforehand, no rule can beat it."
)
_METHODS = (
    "p: plugs in the class probabilities of a network, scaled: with a temperature; g: regresses "
    "the loss on the image, or on a network's last layer; Hybrid: pools the probabilities of all "
    "networks and corrects the risk by realised losses; constant: the mean loss; own entropy: "
    "plugs in the predictor's own probabilities."
)
_QUANTITIES: tuple[tuple[str, str, str | None], ...] = (
    ("L1", "risk_l1", None),
    ("L2", "risk_l2", None),
    ("AURC", "aurc", None),
    *((f"c={cost}", "loss", cost) for cost in COSTS),
)
_NETWORK_ROLES = {"predictor": "predictors", "probability": "networks for class probabilities"}


def all_tables(records: Iterable[Record]) -> list[Table]:
    """Return every table that the records have something for.

    Examples
    --------
    >>> from condrisk.paper.cifar10._tables import all_tables
    >>> costs = {"0.5": {"loss": 0.23, "rate": 0.3, "oracle": 0.15}}
    >>> record = {"set": "CNN", "fold": 0, "method": "p EffNet", "risk_l1": 0.1, "costs": costs}
    >>> [table.name for table in all_tables([record])]
    ['table1', 'table6', 'temperature']
    """
    results = Results(records)
    builders: tuple[Callable[[Results], Table], ...] = (
        table1,
        table2,
        table6,
        networks,
        temperature,
        hybrid,
    )
    tables = [builder(results) for builder in builders]
    return [table for table in tables if table.groups]


def table1(results: Results) -> Table:
    """Return the errors of the risk of the CNN."""
    return _errors(results, "CNN", "Table 1: errors of the estimated risk of the CNN")


def table2(results: Results) -> Table:
    """Return the errors of the risk of the ResNet-8."""
    return _errors(results, "ResNet", "Table 2: errors of the estimated risk of the ResNet")


def _errors(results: Results, predictor: str, title: str) -> Table:
    table = ERROR_TABLE[predictor]
    methods = results.methods(predictor)
    columns = ("risk_l1", "risk_l2")
    best = [least_text(results, predictor, methods, quantity) for quantity in columns]
    best_aurc = least_text(results, predictor, methods, "aurc")
    groups = []
    for label, members in _kinds(methods):
        rows = []
        for method in members:
            row = [Cell(method, align="left")]
            for quantity, least in zip(columns, best, strict=True):
                row += compared(results.summary(quantity, predictor, method, table=table), least)
            row.append(spread(results.summary("aurc", predictor, method), best_aurc))
            rows.append((*row, bias_cell(results, predictor, method)))
        groups.append(Group(label, tuple(rows)))
    loss = results.predictor_loss(predictor, table=table)
    losses = ""
    if loss is not None and loss.paper is not None:
        ours, paper = spread(loss).text, f"{loss.paper.mean:.2f}"
        losses = f"Mean loss of the predictor: {ours}, the paper's {paper}. "
    text = (
        f"{losses}L1, L2: mean absolute and squared error of the risk against the realised loss; "
        "only the squared one is least, in expectation, for the true risk. AURC: area under the "
        "risk-coverage curve. bias: of the mean risk, in per cent of the mean loss. The least is "
        f"bold. {_METHODS} {DIFFERENCE} {_EFFICIENTNET}"
    )
    header = (
        Cell("Method", align="left"),
        *compared_headers("L1"),
        *compared_headers("L2"),
        Cell("AURC\nours"),
        BIAS_HEADER,
    )
    return Table(table, title, caption(results, text), header, tuple(groups))


def _kinds(methods: Sequence[str]) -> list[tuple[str, list[str]]]:
    """Return the methods in groups of a kind."""
    kinds = {
        "calibration-based": [m for m in methods if m in PLUG_INS],
        "regression-based": [m for m in methods if m in REGRESSIONS],
    }
    kinds["recalibrated risk"] = [m for m in methods if m == HYBRID]
    kinds["other methods"] = [m for m in methods if m not in KNOWN_METHODS]
    kinds["to compare with"] = [m for m in methods if m in TRIVIAL]
    return [(label, members) for label, members in kinds.items() if members]


def table6(results: Results) -> Table:
    """Return absolute error and loss of learning to defer, for both predictors."""
    header = [Cell("Method", align="left"), *compared_headers("error")]
    for cost in COSTS:
        header += compared_headers(f"c={cost}")
    header += [Cell("AURC\nours"), BIAS_HEADER]
    groups = []
    for predictor in results.predictors:
        methods = results.methods(predictor)
        best = {key: least_text(results, predictor, methods, *key) for key in _table6_columns()}
        best_aurc = least_text(results, predictor, methods, "aurc")
        rows: list[Row] = []
        for method in (*methods, *REFERENCES):
            row = [Cell(method, align="left")]
            for key, least in best.items():
                found = results.summary(key[0], predictor, method, key[1], table="table6")
                row += compared(found, None if method in REFERENCES else least)
            row.append(spread(results.summary("aurc", predictor, method), best_aurc))
            row.append(bias_cell(results, predictor, method))
            rows.append(tuple(row))
        groups.append(Group(f"predictor {predictor}", tuple(rows)))
    text = (
        "error: mean absolute error of the risk against the realised loss. Then the loss of "
        "learning to defer at four costs. The least of each predictor's methods is bold. "
        f"{_METHODS} {_REFERENCES} {DIFFERENCE} {_EFFICIENTNET}"
    )
    title = "Table 6: absolute error of the risk and loss of learning to defer"
    return Table("table6", title, caption(results, text), tuple(header), tuple(groups))


def _table6_columns() -> list[tuple[str, str | None]]:
    return [("risk_l1", None), *(("loss", cost) for cost in COSTS)]


def networks(results: Results) -> Table:
    """Return how well the networks classify, and how long training them took."""
    groups = []
    for role, label in _NETWORK_ROLES.items():
        rows = []
        for method in results.methods(NETWORKS):
            if method.partition(" ")[0] == role:
                accuracy = results.summary("accuracy", NETWORKS, method, table=NETWORKS)
                row = [Cell(method.partition(" ")[2], align="left")]
                row += compared(accuracy, number=decimals(2), factor=100)
                row.append(spread(results.summary("log_loss", NETWORKS, method)))
                row.append(spread(results.summary("seconds", NETWORKS, method), number=decimals(1)))
                rows.append(tuple(row))
        groups += [Group(label, tuple(rows))] if rows else []
    header = (
        Cell("Network", align="left"),
        *compared_headers("accuracy %"),
        Cell("log loss\nours"),
        Cell("seconds\nours"),
    )
    text = (
        "Ours is the accuracy on test images; the paper gives training accuracies only, of its "
        "three networks as predictors. Seconds are those of training one network. "
        f"{DIFFERENCE} {_EFFICIENTNET}"
    )
    title = "Accuracy of the networks"
    return Table(NETWORKS, title, caption(results, text), header, tuple(groups))


def temperature(results: Results) -> Table:
    """Return every plug-in risk without and with temperature scaling, side by side."""
    header = [Cell("Method", align="left")]
    for label, _, _ in _QUANTITIES:
        header += [Cell(f"{label}\nraw"), Cell(f"{label}\nscaled")]
    header += [Cell("bias %\nraw"), Cell("bias %\nscaled")]
    groups = []
    for predictor in results.predictors:
        there = results.methods(predictor)
        rows = []
        for method in PROBABILITIES:
            pair = (method, f"{method}, scaled")
            if not set(pair) & set(there):
                continue
            row = [Cell(method, align="left")]
            for _, quantity, cost in _QUANTITIES:
                row += _two_cells(results, predictor, pair, quantity, cost)
            rows.append((*row, *(bias_cell(results, predictor, one) for one in pair)))
        groups += [Group(f"predictor {predictor}", tuple(rows))] if rows else []
    text = (
        "Plug-in risks with the probabilities as they are, and with a temperature chosen on "
        "held-out images. The lower of two is bold if it is by two standard errors of the "
        f"difference on the same seeds. {_EFFICIENTNET}"
    )
    title = "The effect of temperature scaling"
    return Table("temperature", title, caption(results, text), tuple(header), tuple(groups))


def _two_cells(
    results: Results, predictor: str, pair: tuple[str, str], quantity: str, cost: str | None
) -> list[Cell]:
    """Return both figures, the lower one bold if the seeds agree on it."""
    difference = paired(results, predictor, *pair, quantity, cost)
    cells = []
    for sign, method in zip((1, -1), pair, strict=True):
        summary = results.summary(quantity, predictor, method, cost)
        lower = difference is not None and difference.by_two_se(sign)
        cells.append(spread(summary, bold=lower))
    return cells


def hybrid(results: Results) -> Table:
    """Return by how much the recalibrated risk differs from every other method."""
    columns = [column for column in _QUANTITIES if column[0] not in ("L1", "AURC")]
    header = [Cell("Hybrid minus", align="left"), *(Cell(label) for label, _, _ in columns)]
    groups = []
    for predictor in results.predictors:
        methods = results.methods(predictor)
        if HYBRID not in methods:
            continue
        rows: list[Row] = []
        for method in (*methods, *REFERENCES):
            if method == HYBRID:
                continue
            found = [
                paired(results, predictor, HYBRID, method, quantity, cost)
                for _, quantity, cost in columns
            ]
            rows.append((Cell(method, align="left"), *map(paired_cell, found)))
        groups.append(Group(f"predictor {predictor}", tuple(rows)))
    text = (
        "Differences on the same seeds, in squared error and in the loss of learning to defer at "
        "four costs. Below zero Hybrid is better; bold where it is "
        f"by two standard errors. {_REFERENCES}"
    )
    title = "The recalibrated risk against every other method"
    return Table("hybrid", title, caption(results, text), tuple(header), tuple(groups))
