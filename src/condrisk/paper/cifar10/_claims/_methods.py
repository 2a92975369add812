"""Which way to estimate the risk is better: by probabilities, by regression, and on what."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from condrisk.paper._page import markdown_table, section
from condrisk.paper.cifar10._claims._common import (
    ERRORS,
    PrintedCell,
    compare_all,
    count_sentence,
    difference,
    printed_sentence,
)
from condrisk.paper.cifar10._paper import ERROR_TABLE, PAPER_NETWORKS, paper_methods
from condrisk.paper.cifar10._results import (
    FROM_SCRATCH,
    PROBABILITIES,
    REGRESSIONS,
    REPRESENTATIONS,
    Paired,
    Results,
    least,
    paired,
    paired_values,
)

Names = Sequence[str]


def calibration_beats_regression(results: Results) -> str:
    body = []
    for predictor in results.predictors:
        body += _grids(results, predictor, PROBABILITIES, REGRESSIONS)
        for quantity in ERRORS:
            tests = compare_all(results, predictor, PROBABILITIES, REGRESSIONS, [quantity])
            if tests:
                body.append(count_sentence(f"By {quantity[0]}, predictor {predictor},", tests))
        alike = [(f"p {name}", f"g {name}") for name in PAPER_NETWORKS]
        tests = [t for p, g in alike for t in compare_all(results, predictor, [p], [g], ERRORS)]
        if tests:
            where = f"With the same network for both, predictor {predictor},"
            body.append(count_sentence(where, tests))
        body += _best_against_best(results, predictor)
    if body:
        body.append(printed_sentence(_printed(PROBABILITIES, REGRESSIONS)))
    return section(
        "Calibration-based beats regression-based",
        "“The regression-based method generally performs worse than the calibration-based method” "
        "(with Tables 1 and 2). Each risk by class probabilities, as they are, minus each by "
        "regression; a claim about what is general.",
        *body,
    )


def _best_against_best(results: Results, predictor: str) -> list[str]:
    sentences = []
    for label, quantity, _ in ERRORS:
        p, g = (
            least(results, predictor, group, quantity) for group in (PROBABILITIES, REGRESSIONS)
        )
        if p is not None and g is not None:
            test = paired(results, predictor, p, g, quantity)
            sentences.append(f"{p} minus {g} in {label}: {difference(test)}")
    if not sentences:
        return []
    return [f"The best against the best, predictor {predictor}: {'; '.join(sentences)}."]


def representations_help(results: Results) -> str:
    body = []
    for predictor in results.predictors:
        body += _grids(results, predictor, REPRESENTATIONS, FROM_SCRATCH)
        tests = compare_all(results, predictor, REPRESENTATIONS, FROM_SCRATCH, ERRORS)
        if tests:
            body.append(count_sentence(f"Predictor {predictor}:", tests))
        pairs = (("own", predictor), ("EffNet", "EffNet"))
        alike = [
            test
            for source, name in pairs
            for test in compare_all(
                results, predictor, [f"g of {source} representation"], [f"g {name}"], ERRORS
            )
        ]
        if alike:
            where = f"With the same network for both, predictor {predictor},"
            body.append(count_sentence(where, alike))
    if body:
        body.append(printed_sentence(_printed(REPRESENTATIONS, FROM_SCRATCH)))
    return section(
        "Representations beat regression from scratch",
        "“[U]sing representations from pre-trained classifiers improves performance over training "
        "from scratch” (with Tables 1 and 2). Each regression on a representation minus each from "
        "scratch.",
        *body,
    )


def strength_helps(results: Results) -> str:
    """Return whether a better predictor, or a larger network, makes regression better."""
    body = []
    if len(results.predictors) == 2:
        weak, strong = results.predictors
        tests: dict[str, list[Paired | None]] = {
            method: [
                paired_values(
                    results.values(quantity, strong, method), results.values(quantity, weak, method)
                )
                for _, quantity, _ in ERRORS
            ]
            for method in REGRESSIONS
        }
        rows = [[m, *map(difference, found)] for m, found in tests.items() if any(found)]
        counted = [test for found in tests.values() for test in found if test is not None]
        if counted:
            body += [
                f"Error for the {strong} minus error for the {weak}:",
                markdown_table(["method", *(label for label, _, _ in ERRORS)], rows),
                count_sentence("For the better predictor", counted),
            ]
    for predictor in results.predictors:
        steps = [
            test
            for worse, better in pairwise(FROM_SCRATCH)
            for test in compare_all(results, predictor, [better], [worse], ERRORS)
        ]
        if steps:
            where = f"For the larger network, step by step, predictor {predictor},"
            body.append(count_sentence(where, steps))
    return section(
        "Regression is better for a better predictor, and with a larger network",
        "“[I]ts performance in conditional risk estimation is affected by the performance of the "
        "predictor”, better for the ResNet than for the CNN; “[m]ore advanced architectures also "
        "lead to reduced loss in conditional risk estimation”. A lower loss alone lowers both "
        "errors, so that the first says little about the estimates.",
        *body,
    )


def best_of_all(results: Results) -> str:
    """Return whether the unscaled probabilities of EfficientNet are the best of the paper's."""
    best = "p EffNet"
    body = []
    for predictor in results.predictors:
        others = paper_methods(ERROR_TABLE[predictor], "risk_l1", predictor)
        tests = {q: compare_all(results, predictor, [best], others, [q]) for q in ERRORS}
        if not any(tests.values()):
            continue
        rows = [
            [other, *(difference(paired(results, predictor, best, other, q)) for _, q, _ in ERRORS)]
            for other in others
            if other != best
        ]
        header = [f"{best} minus, predictor {predictor}", *(label for label, _, _ in ERRORS)]
        body.append(markdown_table(header, rows))
        body += [
            count_sentence(f"By {label}, predictor {predictor},", found)
            for (label, _, _), found in tests.items()
            if found
        ]
    return section(
        "EfficientNet's probabilities without scaling are the best",
        "“Overall, EfficientNet probability calibration […] without Platt scaling achieves the "
        "best performance among all considered calibration approaches.” Against the other columns "
        "of Tables 1 and 2.",
        *body,
    )


def _grids(results: Results, predictor: str, lower: Names, higher: Names) -> list[str]:
    there = results.methods(predictor)
    rows_of, columns = [m for m in lower if m in there], [m for m in higher if m in there]
    if not rows_of or not columns:
        return []
    body = []
    for label, quantity, _ in ERRORS:
        rows = [
            [a, *(difference(paired(results, predictor, a, b, quantity)) for b in columns)]
            for a in rows_of
        ]
        header = [f"{label}, predictor {predictor}", *(f"minus {b}" for b in columns)]
        body.append(markdown_table(header, rows))
    return body


def _printed(lower: Names, higher: Names) -> list[PrintedCell]:
    return [
        (table, predictor, a, b, quantity)
        for predictor, table in ERROR_TABLE.items()
        for a in lower
        for b in higher
        for quantity in ERRORS
    ]
