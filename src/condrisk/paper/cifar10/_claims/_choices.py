"""Whether regression works at all, and whether the choice of the losses matters."""

from __future__ import annotations

from itertools import combinations

from condrisk.paper._page import FAILS, HOLDS, markdown_table, section, spearman
from condrisk.paper.cifar10._claims._common import (
    ERRORS,
    LOSSES,
    OPEN,
    Quantity,
    corrected,
    count_sentence,
    difference,
)
from condrisk.paper.cifar10._results import (
    LEVEL,
    REGRESSIONS,
    TRIVIAL,
    Paired,
    Results,
    least,
    paired,
)

_NO_RISK = ("always", "never")


def regression_works(results: Results) -> str:
    """Return whether regression is better than no estimate of the risk at all."""
    body = []
    for predictor in results.predictors:
        methods = [m for m in REGRESSIONS if m in results.methods(predictor)]
        quantities = [q for q in (ERRORS[1], *LOSSES) if _rival(results, predictor, q)]
        if not methods or not quantities:
            continue
        header = [f"predictor {predictor}"] + [
            f"{quantity[0]} minus {_rival(results, predictor, quantity)}" for quantity in quantities
        ]
        found = {m: [_against(results, predictor, m, q) for q in quantities] for m in methods}
        body.append(markdown_table(header, [[m, *map(difference, t)] for m, t in found.items()]))
        errors = [tests[0] for tests in found.values() if tests[0] is not None]
        losses = [t for tests in found.values() for t in tests[1:] if t is not None]
        for label, tests in (("L²", errors), ("L2D loss", losses)):
            if tests:
                body.append(count_sentence(f"By {label}, predictor {predictor},", tests))
    return section(
        "The regression-based method is also effective",
        "“Our findings show that the regression-based method is also effective for conditional "
        "risk estimation” (introduction). Each regression minus what needs no estimate: in L² the "
        "mean loss of the held-out images as the risk of all, in L2D loss always or never "
        "deferring, whichever is better at the cost.",
        *body,
    )


def _rival(results: Results, predictor: str, what: Quantity) -> str | None:
    _, quantity, cost = what
    candidates = _NO_RISK if quantity == "loss" else TRIVIAL[:1]
    return least(results, predictor, candidates, quantity, cost)


def _against(results: Results, predictor: str, method: str, what: Quantity) -> Paired | None:
    rival = _rival(results, predictor, what)
    return None if rival is None else paired(results, predictor, method, rival, *what[1:])


def measure_matters(results: Results) -> str:
    """Return whether L¹ and L² rank the methods differently."""
    rows, verdicts = [], []
    for predictor in results.predictors:
        methods = [m for m in results.methods(predictor) if m not in TRIVIAL]
        pairs = list(combinations(methods, 2))
        tests = [
            paired(results, predictor, a, b, quantity)
            for _, quantity, _ in ERRORS
            for a, b in pairs
        ]
        known = [test for test in tests if test is not None]
        if len(known) < len(tests) or not known:
            continue
        if all(test.p is None for test in known):
            verdicts.append(OPEN)
            continue
        known = corrected(known)
        both = list(zip(known[: len(pairs)], known[len(pairs) :], strict=True))
        told = [(a, b) for a, b in both if max(a.p or 0.0, b.p or 0.0) < LEVEL]
        turned = sum(a.is_less != b.is_less for a, b in told)
        verdicts.append(HOLDS if turned else FAILS)
        best = [least(results, predictor, methods, quantity) for _, quantity, _ in ERRORS]
        order = spearman(*([results.mean(q, predictor, m) for m in methods] for _, q, _ in ERRORS))
        cells = [*map(str, best), "–" if order is None else f"{order:.2f}"]
        rows.append([predictor, *cells, f"{turned} of {len(told)}", str(len(pairs))])
    if not verdicts:
        return ""
    header = ["predictor", "best by L¹", "best by L²", "rank correlation", "order turned", "pairs"]
    return section(
        "The choice of ℓ and of L affects the estimation",
        "“[T]he choice of loss functions ℓ and L also affects the estimation process” "
        "(experiments). Of L, in which errors are measured: of the pairs of methods that both L¹ "
        "and L² tell apart, those that they put into opposite order.",
        *([markdown_table(header, rows)] if rows else []),
        *(
            f"For L, predictor {predictor}, the claim **{found}**."
            for predictor, found in zip(results.predictors, verdicts, strict=False)
        ),
        "Of ℓ these records say nothing: all are of the log loss. `docs/cifar10/losses.md` has "
        "three losses.",
    )
