"""The part of the page about the gap plus the disagreement of models."""

from __future__ import annotations

import math

from condrisk.paper._records import Record
from condrisk.paper.active._phrases import in_brackets, uci, with_verdict
from condrisk.paper.active._results import (
    Comparison,
    across_sets,
    all_comparisons,
    first_draws,
)
from condrisk.paper.active._settings import MAIN_METHOD, METHODS, TRAP
from condrisk.paper.active._worlds_page import share_of_noise

GAP, WHOLE = "gap", "risk-proportional"
# What it is compared with, from the same draws of first labels.
RIVALS = (WHOLE, MAIN_METHOD, "gain-share")

# Shares of labels that differ by less are alike.
ALIKE = 0.1


def gap_section(records: list[Record], found: dict[str, dict[str, Comparison]]) -> str:
    """Return whether it pays to choose by the gap plus the disagreement of models."""
    gap = found[GAP]
    if not uci(gap):
        return ""
    parts = [
        "## Does the gap pay?",
        "The whole risk of a row is a floor, which a better predictor would not get below, plus a "
        "gap, which it would close: (f − m)² for squared error. Where f and m are equally "
        "ignorant the gap is nothing, so the squared disagreement of m's models is added "
        '(`RiskSampler(…, by="gap")`). The floor is left out: a coin is all floor.',
        _verdict(gap),
        _beside(all_comparisons(first_draws(records))),
    ]
    if TRAP in gap:
        parts.append(_coins(records, gap[TRAP], found[WHOLE][TRAP]))
    return "\n\n".join(parts)


def _verdict(found: dict[str, Comparison]) -> str:
    gap = uci(found)
    better, worse = with_verdict(gap, "better"), with_verdict(gap, "worse")
    ratio, low, high, p = across_sets(found)
    pays = "It pays" if better and not worse else "It is not proven to pay"
    if not better and not worse and math.isfinite(p) and high < 1:
        pays = "It seems to pay on average, and is proven on no single set,"
    together = ""
    if math.isfinite(p):
        together = (
            f" With the sets as a sample the 95 % interval of that mean is {low:.3f} to "
            f"{high:.3f} (p = {p:.4f}; not planned, and one of {len(METHODS) - 1} such tests)."
        )
    return (
        f"**{pays}** against random choice: the area is smaller on "
        f"{sum(c.ratio < 1 for c in gap)} of {len(gap)} UCI sets, significantly on "
        f"{len(better)}{in_brackets(better)}, and significantly larger on "
        f"{len(worse)}{in_brackets(worse)}; mean ratio {ratio:.3f}.{together}"
    )


def _beside(found: dict[str, dict[str, Comparison]]) -> str:
    """Compare it with other ways to choose, all from the same draws of first labels."""
    names = [c.set for c in uci(found[GAP])]
    lines = []
    for method in RIVALS:
        smaller = sum(found[GAP][name].ratio < found[method][name].ratio for name in names)
        ratio, low, high, p = across_sets(found[GAP], found[method])
        interval = f" ({low:.3f} to {high:.3f})" if math.isfinite(p) else ""
        lines.append(
            f"*{METHODS[method]}* has {across_sets(found[method])[0]:.3f} times the area of random "
            f"choice, and the gap {ratio:.3f}{interval} times that, less on {smaller} of "
            f"{len(names)} sets"
        )
    return (
        f"From the same draws of first labels: {'; '.join(lines)}. The reductions of risk need no "
        f"second model, and no stack in every round."
    )


def _coins(records: list[Record], gap: Comparison, whole: Comparison) -> str:
    share, other = share_of_noise(records, GAP), share_of_noise(records, WHOLE)
    random = share_of_noise(records, "random")
    text = (
        f"In the world of coins it spends {share:.0%} of the labels on noise (at random "
        f"{random:.0%}, by the whole risk, drawn in proportion, {other:.0%}), and has "
        f"{gap.ratio:.2f} times the area of random choice ({gap.verdict}; by the whole risk "
        f"{whole.ratio:.2f}, {whole.verdict})."
    )
    if share < random - ALIKE:
        return text
    return (
        f"{text} It does not avoid coins. A likely reason: m, fitted to a few dozen labels, "
        f"follows coins as well, and so it is off f there, and its models disagree. In a test with "
        f"400 labels, where m averages the coins out, the gap leaves them alone."
    )
