"""Accuracies, and whether the paper's best figures are beaten."""

from __future__ import annotations

from condrisk.paper._page import Part, markdown_table, section, verdict
from condrisk.paper._summary import PaperValue, Summary
from condrisk.paper.cifar10._cells import bias_cell, spread
from condrisk.paper.cifar10._cells import decimals as with_decimals
from condrisk.paper.cifar10._claims._common import ERRORS, LOSSES, Quantity, difference
from condrisk.paper.cifar10._paper import (
    COSTS,
    ERROR_TABLE,
    NETWORKS,
    paper_methods,
    paper_value,
)
from condrisk.paper.cifar10._results import HYBRID, PLUG_INS, TRIVIAL, Results, least, paired

# A bias below this share of the mean loss is small.
SMALL_BIAS = 0.03


def beaten(results: Results) -> str:
    rows = _accuracy_rows(results)
    for predictor in results.predictors:
        table = ERROR_TABLE[predictor]
        rows += _best_rows(results, predictor, "L¹", "risk_l1", None, table)
        for cost in COSTS:
            rows += _best_rows(results, predictor, f"L2D, c={cost}", "loss", cost, "table6")
    if not rows:
        return ""
    header = ["", "ours", "by", "the paper's", "by", "Δ/SE", "beaten?"]
    count = sum(row[-1] == "yes" for row in rows)
    return section(
        "The paper's best figures, beaten?",
        "Our accuracies on test images, beside “[t]he training accuracies of the three predictors” "
        "(appendix); the least error and losses of our methods, chosen after the fact, beside the "
        "least of the paper's in Tables 1, 2 and 6. Δ/SE: ours minus the paper's, less what "
        "rounding explains, in standard errors of ours.",
        markdown_table(header, rows),
        f"{count} of {len(rows)} are beaten.",
        *_predictor_losses(results),
    )


def _accuracy_rows(results: Results) -> list[list[str]]:
    rows = []
    for method in paper_methods(NETWORKS, "accuracy", NETWORKS):
        found = results.summary("accuracy", NETWORKS, method, table=NETWORKS)
        if found is None or found.paper is None:
            continue
        ours = spread(found, number=with_decimals(2), factor=100).text
        paper = f"{100 * found.paper.mean:.2f}"
        beaten_ = _yes(found.mean > found.paper.mean)
        name = f"accuracy %, {method}"
        in_se = found.in_se_text(whole_from=100) or "–"
        rows.append([name, ours, "test images", paper, "training images", in_se, beaten_])
    return rows


def _best_rows(
    results: Results, predictor: str, label: str, quantity: str, cost: str | None, table: str
) -> list[list[str]]:
    candidates = [method for method in results.methods(predictor) if method not in TRIVIAL]
    ours = least(results, predictor, candidates, quantity, cost)
    best = paper_best(table, quantity, predictor, cost)
    if ours is None or best is None:
        return []
    found = results.summary(quantity, predictor, ours, cost)
    assert found is not None
    compared = Summary(found.mean, found.se, found.n_folds, best[1])
    beaten_ = _yes(found.mean < best[1].mean)
    in_se = compared.in_se_text(whole_from=100) or "–"
    cells = [spread(found).text, ours, f"{best[1].mean:.2f}", best[0], in_se, beaten_]
    return [[f"{label}, predictor {predictor}", *cells]]


def paper_best(
    table: str, quantity: str, predictor: str, cost: str | None
) -> tuple[str, PaperValue] | None:
    """Return the paper's best method and its figure.

    Examples
    --------
    >>> from condrisk.paper.cifar10._claims._beaten import paper_best
    >>> paper_best("table6", "loss", "ResNet", "2")
    ('p ResNet', PaperValue(mean=0.57, std=None, half_unit=0.005))
    """
    found = [
        (method, value)
        for method in paper_methods(table, quantity, predictor)
        if (value := paper_value(table, quantity, predictor, method, cost)) is not None
    ]
    return min(found, key=lambda pair: pair[1].mean, default=None)


def _predictor_losses(results: Results) -> list[str]:
    """Return the losses of the predictors, on which all of it depends."""
    texts = []
    for predictor in results.predictors:
        loss = results.predictor_loss(predictor, table=ERROR_TABLE[predictor])
        if loss is not None and loss.paper is not None:
            paper = f"{loss.paper.mean:.2f}"
            texts.append(f"{predictor} {spread(loss).text} (the paper's {paper})")
    if not texts:
        return []
    return [
        "Not all of it is due to the estimates of the risk: errors and losses of learning to defer "
        f"are lower for a predictor with a lower loss. Mean losses: {', '.join(texts)}."
    ]


def recalibration(results: Results) -> str:
    rows: list[list[str]] = []
    for predictor in results.predictors:
        if HYBRID not in results.methods(predictor):
            continue
        for quantity in (ERRORS[1], *LOSSES):
            row = _hybrid_row(results, predictor, quantity)
            rows += [row] if row else []
        bias = results.relative_bias(predictor, HYBRID)
        if bias is not None:
            small = abs(bias.mean) < SMALL_BIAS
            text = f"{bias_cell(results, predictor, HYBRID).text} %"
            name = f"bias, predictor {predictor}"
            rows.append([name, text, f"{SMALL_BIAS:.0%} either way", "", "", _yes(small)])
    if not rows:
        return ""
    parts = [Part(row[0], row[-1] == "yes") for row in rows]
    missed = "; ".join(part.text for part in parts if not part.true)
    header = ["", HYBRID, "at most", "of", "difference", "so?"]
    return section(
        "Recalibrating the risk, which the paper does not try",
        f"{HYBRID} pools the probabilities of all networks, and corrects the plug-in risk of the "
        "pool by realised losses, both on held-out images. It should be at most the best plug-in "
        "risk, scaled or not, that could be chosen after the fact, and its bias below "
        f"{SMALL_BIAS:.0%} of the mean loss.",
        markdown_table(header, rows),
        f"That **{verdict(parts)}**: it is so in {sum(part.true for part in parts)} of "
        f"{len(parts)} cases{f'. It is not in: {missed}' if missed else ''}.",
    )


def _hybrid_row(results: Results, predictor: str, what: Quantity) -> list[str]:
    label, quantity, cost = what
    rival = least(results, predictor, PLUG_INS, quantity, cost)
    ours = results.summary(quantity, predictor, HYBRID, cost)
    if rival is None or ours is None:
        return []
    test = paired(results, predictor, HYBRID, rival, quantity, cost)
    if test is None:
        return []
    other = spread(results.summary(quantity, predictor, rival, cost)).text
    name = f"{label}, predictor {predictor}"
    return [name, spread(ours).text, other, rival, difference(test, 4), _yes(test.mean <= 0)]


def _yes(beaten_: bool) -> str:
    return "yes" if beaten_ else "no"
