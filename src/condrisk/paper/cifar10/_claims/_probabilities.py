"""Whether better probabilities give a better risk, and a better risk better deferral."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from condrisk.paper._page import markdown_table, section, spearman
from condrisk.paper._summary import Summary, mean_and_se
from condrisk.paper.cifar10._claims._common import (
    ERRORS,
    LOSSES,
    PrintedCell,
    compare_all,
    count_sentence,
    difference,
    mean,
    printed_sentence,
)
from condrisk.paper.cifar10._paper import COSTS, NETWORKS, PAPER_NETWORKS, PREDICTORS
from condrisk.paper.cifar10._results import PROBABILITIES, Results, paired, paired_values

_ALL = (*ERRORS, *LOSSES)
_FEWEST = 3  # fewer methods have no rank correlation worth the name
_FEATURE = "g of EffNet representation"


def better_probabilities(results: Results) -> str:
    order = _by_log_loss(results, PAPER_NETWORKS)
    body = []
    for predictor in results.predictors:
        steps = [
            (f"p {better}", f"p {worse}")
            for worse, better in pairwise(order)
            if compare_all(results, predictor, [f"p {better}"], [f"p {worse}"], _ALL)
        ]
        if not steps:
            continue
        labels = [label for label, _, _ in _ALL]
        header = [f"predictor {predictor}", "log loss of p", *labels]
        body.append(markdown_table(header, _figure_rows(results, predictor)))
        rows = [
            [
                f"{better} minus {worse}",
                *(difference(paired(results, predictor, better, worse, q, c)) for _, q, c in _ALL),
            ]
            for better, worse in steps
        ]
        body.append(markdown_table(["step", *labels], rows))
        for name, quantities in (("errors", ERRORS), ("losses of learning to defer", LOSSES)):
            tests = [
                t for a, b in steps for t in compare_all(results, predictor, [a], [b], quantities)
            ]
            body.append(count_sentence(f"For the {name}, predictor {predictor},", tests))
    if body:
        body.append(printed_sentence(_printed_steps()))
    return section(
        "Better probabilities give a better risk",
        "“[B]etter probability estimation – moving from the lower-performing CNN […] to ResNet […] "
        "and, ultimately, to EfficientNet […] – directly translates into lower calibration errors. "
        "This holds for all considered classifiers […] and for both loss functions” (with Tables 1 "
        "and 2); "
        "“using better calibration models leads to a reduction in L2D loss” (with Table 6). The "
        f"steps are in the order of the networks' own log loss: {', '.join(order)}.",
        *body,
    )


def _by_log_loss(results: Results, names: Sequence[str]) -> list[str]:
    """Return the networks from worst to best; where there is no log loss, as they come."""
    losses = {name: results.mean("log_loss", NETWORKS, f"probability {name}") for name in names}
    if not all(losses.values()):
        return list(names)
    return sorted(names, key=lambda name: losses[name] or 0.0, reverse=True)


def _figure_rows(results: Results, predictor: str) -> list[list[str]]:
    there = [m for m in PROBABILITIES if m in results.methods(predictor)]
    names = _by_log_loss(results, [method.removeprefix("p ") for method in there])
    return [
        [
            f"p {name}",
            mean(results.summary("log_loss", NETWORKS, f"probability {name}")),
            *(mean(results.summary(q, predictor, f"p {name}", cost)) for _, q, cost in _ALL),
        ]
        for name in names
    ]


def _printed_steps() -> list[PrintedCell]:
    steps = [(f"p {better}", f"p {worse}") for worse, better in pairwise(PAPER_NETWORKS)]
    errors = [("table1", "CNN", "p EffNet", "p CNN"), ("table2", "ResNet", "p EffNet", "p ResNet")]
    cells = [(*error, quantity) for error in errors for quantity in ERRORS]
    return cells + [
        ("table6", predictor, *step, quantity)
        for predictor in PREDICTORS
        for step in steps
        for quantity in _ALL
    ]


def deferral_follows_error(results: Results) -> str:
    body = []
    for predictor in results.predictors:
        methods = [m for m in results.methods(predictor) if results.mean("risk_l2", predictor, m)]
        if len(methods) < _FEWEST:
            continue
        found = {
            label: {
                cost: correlations(results, predictor, methods, quantity, cost) for cost in COSTS
            }
            for label, quantity, _ in ERRORS
        }
        if not any(values for by_cost in found.values() for values in by_cost.values()):
            continue
        header = [f"predictor {predictor}, {len(methods)} methods", *(f"c={c}" for c in COSTS)]
        rows = [[f"with {label}", *map(_average, v.values())] for label, v in found.items()]
        by_l1, by_l2 = found.values()
        gains = [paired_values(by_l2[cost], by_l1[cost]) for cost in COSTS]
        rows.append(["with L² minus with L¹", *map(difference, gains)])
        body.append(markdown_table(header, rows))
        for label, by_cost in found.items():
            tests = [paired_values(dict.fromkeys(v, 0.0), v) for v in by_cost.values()]
            known = [test for test in tests if test is not None]
            if known:
                body.append(count_sentence(f"By {label}, predictor {predictor},", known))
    body += _feature(results)
    return section(
        "The loss of learning to defer follows the error of the risk",
        "“[F]or both CNN and ResNet predictors, using better calibration models leads to a "
        "reduction in L2D loss. Lastly, the representation-based regression approach performs "
        "poorly in terms of both calibrator absolute error and L2D loss” (with Table 6). "
        "Spearman's rank correlation of error and loss over all methods, in each seed; tested "
        "against none.",
        *body,
    )


def correlations(
    results: Results, predictor: str, methods: Sequence[str], quantity: str, cost: str
) -> dict[int, float]:
    """Return, for each seed, the rank correlation of an error with the loss over methods."""
    errors = [results.values(quantity, predictor, method) for method in methods]
    losses = [results.values("loss", predictor, method, cost) for method in methods]
    found = {
        seed: spearman([e.get(seed) for e in errors], [z.get(seed) for z in losses])
        for seed in results.seeds
    }
    return {seed: value for seed, value in found.items() if value is not None}


def _average(values: dict[int, float]) -> str:
    if not values:
        return "–"
    return mean(Summary(*mean_and_se(list(values.values())), len(values)))


def _feature(results: Results) -> list[str]:
    body = []
    for predictor in results.predictors:
        others = [f"p {name}" for name in PAPER_NETWORKS]
        tests = compare_all(results, predictor, others, [_FEATURE], (ERRORS[0], *LOSSES))
        if tests:
            claim = f"that {_FEATURE} is worse than the paper's plug-in risks"
            body.append(count_sentence(f"Predictor {predictor}:", tests, claim))
    return body
