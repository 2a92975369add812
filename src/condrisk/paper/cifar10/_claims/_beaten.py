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
# A predictor whose loss is this close to the paper's is as good as the paper's.
SAME_LOSS, LIKE = 0.05, "yes"


def beaten(results: Results) -> str:
    rows = _accuracy_rows(results)
    for predictor in results.predictors:
        table = ERROR_TABLE[predictor]
        rows += _best_rows(results, predictor, "L¹", "risk_l1", None, table)
        for cost in COSTS:
            rows += _best_rows(results, predictor, f"L2D, c={cost}", "loss", cost, "table6")
    if not rows:
        return ""
    header = ["", "ours", "by", "the paper's", "by", "Δ/SE", "like with like?", "better?"]
    better = [row for row in rows if row[-1] == "yes"]
    alike = sum(row[-2] == LIKE for row in better)
    return section(
        "The paper's best figures, beaten?",
        f"Ours is better in {len(better)} of {len(rows)}; of these, {alike or 'none'} "
        f"compare{'s' * (alike < 2)} like with like.",
        markdown_table(header, rows),
        "Accuracies on test images, beside “[t]he training accuracies of the three predictors” "
        "(appendix); the least error and losses of our methods, chosen after the fact, beside the "
        "least of the paper's in Tables 1, 2 and 6. Errors and losses of learning to defer are "
        "lower for a predictor with a lower loss, whatever estimates the risk. Δ/SE: ours minus "
        "the paper's, less what rounding explains, in standard errors of ours.",
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
        like = "no: test beside training images"
        rows.append([name, ours, "test images", paper, "training images", in_se, like, beaten_])
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
    like = like_with_like(results, predictor)
    cells = [spread(found).text, ours, f"{best[1].mean:.2f}", best[0], in_se, like, beaten_]
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


def loss_share(results: Results, predictor: str) -> float | None:
    """Return the mean loss of our predictor over that of the paper's."""
    loss = results.predictor_loss(predictor, table=ERROR_TABLE[predictor])
    return None if loss is None or loss.paper is None else loss.mean / loss.paper.mean


def like_with_like(results: Results, predictor: str) -> str:
    """Say whether the predictor is as good as the paper's, without which no figure compares."""
    share = loss_share(results, predictor)
    if share is None:
        return "–"
    alike = abs(share - 1) <= SAME_LOSS
    return LIKE if alike else f"no: predictor with {share:.0%} of the paper's loss"


def recalibration(results: Results) -> str:
    rows: list[list[str]] = []
    for predictor in results.predictors:
        if HYBRID not in results.methods(predictor):
            continue
        for quantity in (ERRORS[1], *LOSSES):
            row = _hybrid_row(results, predictor, quantity)
            rows += [row] if row else []
        rows += _bias_rows(results, predictor)
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
        f"{SMALL_BIAS:.0%} of the mean loss, in the mean over seeds and in each seed.",
        markdown_table(header, rows),
        f"That **{verdict(parts)}**: it is so in {sum(part.true for part in parts)} of "
        f"{len(parts)} cases{f'. It is not in: {missed}' if missed else ''}.",
    )


def _bias_rows(results: Results, predictor: str) -> list[list[str]]:
    """Return the bias in the mean over seeds, and its range over the seeds."""
    bias = results.relative_bias(predictor, HYBRID)
    if bias is None:
        return []
    limit = f"{SMALL_BIAS:.0%} either way"
    text = f"{bias_cell(results, predictor, HYBRID).text} %"
    small = _yes(abs(bias.mean) < SMALL_BIAS)
    rows = [[f"bias, predictor {predictor}", text, limit, "", "", small]]
    shares = seed_biases(results, predictor, HYBRID)
    if len(shares) > 1:
        within = sum(abs(share) < SMALL_BIAS for share in shares)
        text = f"{100 * min(shares):+.1f} to {100 * max(shares):+.1f} %"
        count = f"{within} of {len(shares)} seeds within"
        name = f"bias in each seed, predictor {predictor}"
        rows.append([name, text, limit, "", count, _yes(within == len(shares))])
    return rows


def seed_biases(results: Results, predictor: str, method: str) -> list[float]:
    """Return the bias over the mean loss in each seed."""
    bias = results.values("risk_bias", predictor, method)
    loss = results.values("predictor_loss", predictor, method)
    return [bias[seed] / loss[seed] for seed in sorted(bias.keys() & loss.keys())]


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
