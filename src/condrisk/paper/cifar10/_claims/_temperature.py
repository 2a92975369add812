"""What temperature scaling does to the risk, and why it looks worse than it is."""

from __future__ import annotations

from typing import NamedTuple

from condrisk.paper._page import Part, markdown_table, section, verdict
from condrisk.paper._summary import Summary, mean_and_se
from condrisk.paper.cifar10._cells import bias_cell
from condrisk.paper.cifar10._claims._common import (
    ERRORS,
    LOSSES,
    OPEN,
    Quantity,
    count_sentence,
    difference,
    mean,
    p_text,
)
from condrisk.paper.cifar10._paper import COSTS, ERROR_TABLE, paper_value
from condrisk.paper.cifar10._results import (
    HYBRID,
    PROBABILITIES,
    Paired,
    Results,
    paired,
    paired_values,
)

_PAPERS = "p EffNet"
_MEASURE, _BOTH, _PROPER, _NEITHER = "L¹ alone", "L¹ and L²", "L² alone", "neither"


def scaling_hurts(results: Results) -> str:
    body = []
    for predictor in results.predictors:
        there = results.methods(predictor)
        methods = [m for m in PROBABILITIES if m in there and scaled(m) in there]
        if not methods:
            continue
        header = [f"predictor {predictor}", *(label for label, _, _ in (*ERRORS, *LOSSES))]
        header[3:3] = ["bias, % of the mean loss"]
        rows = [row for method in methods for row in _rows(results, predictor, method)]
        body.append(markdown_table(header, rows))
        for label, quantities in (("L¹", ERRORS[:1]), ("L²", ERRORS[1:]), ("L2D loss", LOSSES)):
            tests = [t for m in methods for t in _tests(results, predictor, m, quantities)]
            body.append(count_sentence(f"By {label}, predictor {predictor},", tests))
        body += _sixfold(results, predictor)
        body.append(_explanation(results, predictor, methods))
    return section(
        "Temperature scaling makes it worse, sixfold",
        "“Interestingly, applying Platt scaling worsens calibration performance. This is probably "
        "due to the fact that Platt scaling is a group calibration technique rather than an "
        "individual calibration technique, leading to distorted probability distributions” (with "
        "Tables 1 and 2). What the paper calls Platt scaling is one temperature; Platt's own "
        "sigmoids are compared with it in `docs/cifar10/losses.md`. For each plug-in "
        "risk: as it is, with a temperature chosen on held-out images, and the "
        "difference, raw minus scaled; below zero, scaling is worse.",
        *body,
    )


def scaled(method: str) -> str:
    """Return the name of the same risk with a temperature."""
    return f"{method}, scaled"


def _rows(results: Results, predictor: str, method: str) -> list[list[str]]:
    rows = []
    for name in (method, scaled(method)):
        figures = [
            mean(results.summary(q, predictor, name, cost)) for _, q, cost in (*ERRORS, *LOSSES)
        ]
        figures[2:2] = [bias_cell(results, predictor, name).text or "–"]
        rows.append([name, *figures])
    pair = (results, predictor, method, scaled(method))
    tests = [difference(paired(*pair, q, cost), 4) for _, q, cost in (*ERRORS, *LOSSES)]
    tests[2:2] = [_bias_change(results, predictor, method)]
    return [*rows, ["raw minus scaled", *tests]]


def _bias_change(results: Results, predictor: str, method: str) -> str:
    raw, after = (results.relative_bias(predictor, m) for m in (method, scaled(method)))
    return "–" if raw is None or after is None else f"{100 * (raw.mean - after.mean):+.1f}"


def _tests(
    results: Results, predictor: str, method: str, quantities: tuple[Quantity, ...]
) -> list[Paired]:
    found = [paired(results, predictor, method, scaled(method), q, c) for _, q, c in quantities]
    return [test for test in found if test is not None]


# -- sixfold -------------------------------------------------------------------------------------


def growth(results: Results, predictor: str, method: str, quantity: str) -> Summary | None:
    """Return by which factor scaling makes a quantity grow, in the mean over seeds."""
    raw = results.values(quantity, predictor, method)
    after = results.values(quantity, predictor, scaled(method))
    seeds = sorted(raw.keys() & after.keys())
    if not seeds:
        return None
    return Summary(*mean_and_se([after[seed] / raw[seed] for seed in seeds]), len(seeds))


def _printed_growth(predictor: str, quantity: str) -> tuple[float, float] | None:
    """Return the paper's factor, and the least that rounding leaves possible."""
    table = ERROR_TABLE[predictor]
    raw = paper_value(table, quantity, predictor, _PAPERS)
    after = paper_value(table, quantity, predictor, scaled(_PAPERS))
    if raw is None or after is None:
        return None
    low = (after.mean - after.half_unit) / (raw.mean + raw.half_unit)
    return after.mean / raw.mean, low


def _sixfold(results: Results, predictor: str) -> list[str]:
    parts, texts = [], []
    for label, quantity, _ in ERRORS:
        ours, printed = growth(results, predictor, _PAPERS, quantity), None
        if ours is not None:
            printed = _printed_growth(predictor, quantity)
        if ours is not None and printed is not None:
            texts.append(f"{label} × {mean(ours)} (the paper's × {printed[0]:.1f})")
            parts.append(Part(label, ours.mean >= printed[1]))
    if not parts:
        return []
    return [
        f"That it is as much as in the paper **{verdict(parts)}** for {_PAPERS}, predictor "
        f"{predictor}: {', '.join(texts)}."
    ]


# -- why -----------------------------------------------------------------------------------------


class Effect(NamedTuple):
    """What scaling does to the errors and the mean of one risk; each is raw minus scaled."""

    l1: Paired
    l2: Paired
    bias: Paired

    @property
    def kind(self) -> str:
        """Which errors scaling makes worse, by more than chance."""
        if self.l1.p is None:
            return OPEN
        if self.l1.is_less:
            return _BOTH if self.l2.is_less else _MEASURE
        return _PROPER if self.l2.is_less else _NEITHER


def effect(results: Results, predictor: str, method: str) -> Effect | None:
    """Return what scaling does to a risk, or None if the records do not tell."""
    found = [
        paired_values(
            results.values(quantity, predictor, method),
            results.values(quantity, predictor, scaled(method)),
        )
        for quantity in ("risk_l1", "risk_l2", "risk_bias")
    ]
    l1, l2, bias = found
    return None if l1 is None or l2 is None or bias is None else Effect(l1, l2, bias)


def _explanation(results: Results, predictor: str, methods: list[str]) -> str:
    effects = {m: e for m in methods if (e := effect(results, predictor, m)) is not None}
    if not effects:
        return ""
    header = ["predictor " + predictor, "L¹", "L²", "mean risk, of the mean loss", "L2D loss"]
    rows = [[m, *_changes(results, predictor, m, e), e.kind] for m, e in effects.items()]
    table = markdown_table([*header, "worse in"], rows)
    if all(e.kind == OPEN for e in effects.values()):
        return table
    words = [*_about_the_mean(results, predictor, effects), *_about_the_errors(effects)]
    return f"{table}\n\n{' '.join([*words, *_with_the_right_mean(results, predictor)])}"


def _about_the_mean(results: Results, predictor: str, effects: dict[str, Effect]) -> list[str]:
    """Say where the mean of the risk goes."""
    raised = sum(e.bias.is_less for e in effects.values())
    away = 0
    for method in effects:
        raw, after = (results.relative_bias(predictor, m) for m in (method, scaled(method)))
        away += raw is not None and after is not None and abs(after.mean) > abs(raw.mean)
    words = [
        f"Scaling raises the mean of the risk in {raised} of {len(effects)} cases, and takes it "
        f"further from the mean loss in {away}."
    ]
    if raised:
        words.append(
            "A temperature above 1 does raise it: it moves probability to classes that the "
            "predictor thinks all but impossible, whose −log f is large."
        )
    return words


def _about_the_errors(effects: dict[str, Effect]) -> list[str]:
    """Say whether the risk itself is worse, or only by the measure of the paper."""
    words = []
    names = ", ".join(m for m, e in effects.items() if e.kind == _MEASURE)
    if names:
        words.append(
            f"For {names} the absolute error rises and the squared error does not, beyond chance. "
            "The absolute error against the realised loss is least for its conditional median, "
            "which lies below the mean where most losses are small and a few are large: it "
            "punishes a higher risk, whether or not that is nearer to the mean. The squared error "
            "is least for the conditional mean, which is the risk."
        )
    names = ", ".join(m for m, e in effects.items() if e.kind in (_BOTH, _PROPER))
    if names:
        words.append(f"For {names} the squared error rises: there the risk itself is worse.")
    return words


def _with_the_right_mean(results: Results, predictor: str) -> list[str]:
    """Say whether the two errors also disagree where the mean of the risk is corrected."""
    l1, l2 = (paired(results, predictor, HYBRID, _PAPERS, quantity) for _, quantity, _ in ERRORS)
    if l1 is None or l2 is None or not (l1.is_more and l2.mean < 0):
        return []
    return [
        f"It is not the mean alone: {HYBRID}, which scales probabilities too but then corrects the "
        f"mean of the risk by realised losses, minus {_PAPERS} is {difference(l1, 4)} in L¹ and "
        f"{difference(l2, 4)} in L²."
    ]


def _changes(results: Results, predictor: str, method: str, found: Effect) -> list[str]:
    """Return the changes from raw to scaled, in per cent."""
    cells = []
    for (_, quantity, _), test in zip(ERRORS, found[:2], strict=True):
        raw = results.mean(quantity, predictor, method)
        assert raw is not None
        cells.append(f"{-100 * test.mean / raw:+.1f} %{p_text(test, ', ')}")
    loss = results.mean("predictor_loss", predictor, method)
    assert loss is not None
    cells.append(f"{-100 * found.bias.mean / loss:+.1f} %{p_text(found.bias, ', ')}")
    shares = []
    for cost in COSTS:
        raw, after = (results.mean("loss", predictor, m, cost) for m in (method, scaled(method)))
        shares += [] if raw is None or after is None else [100 * (after / raw - 1)]
    cells.append(f"{min(shares):+.1f} % to {max(shares):+.1f} %" if shares else "–")
    return cells
