"""The page of the study: what pays, what does not, and why."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from condrisk.paper._records import Record
from condrisk.paper._summary import LEVEL, holm
from condrisk.paper.active._gap_page import gap_section
from condrisk.paper.active._phrases import (
    body,
    capitalised,
    in_brackets,
    names_of,
    uci,
    with_verdict,
)
from condrisk.paper.active._protocol_page import (
    first_run_section,
    protocol_section,
    use_section,
)
from condrisk.paper.active._results import (
    Comparison,
    across_sets,
    all_comparisons,
    error_factor,
    left_at_the_end,
    sets_of,
)
from condrisk.paper.active._settings import MAIN_METHOD, METHODS
from condrisk.paper.active._tables import main_table, ratios_table
from condrisk.paper.active._worlds_page import images_section, noise_section

NEEDED, OF = 6, 8
# Where random labels leave more than this share of the first error, there is little to gain.
HARDLY_HELPS = 0.9


def active_page(records: Iterable[Record], *, first: Iterable[Record] = ()) -> str:
    """Return the page: what was run, what came out, where it does not pay and why.

    Parameters
    ----------
    records : iterable of dict
        What the study found; sections for which there are no records are left out.
    first : iterable of dict, default=()
        What a first run found, with one draw of first labels a seed.

    Returns
    -------
    str
        Markdown. It refers to the figures ``curves.png`` and ``areas.png`` beside it.

    Examples
    --------
    >>> from condrisk.paper.active._page import active_page
    >>> active_page([]).splitlines()[0]
    '# Labels that pay: which rows to label next'
    """
    records = list(records)
    found = all_comparisons(records)
    sections = [
        "# Labels that pay: which rows to label next",
        _in_short(records, found),
        use_section(),
        protocol_section(records),
        first_run_section(list(first)),
        _curves(records),
        _limitations(records, found),
        noise_section(records, found),
        gap_section(records, found),
        images_section(records, found),
        _how_to_rerun(),
    ]
    return "\n\n".join(section for section in sections if section) + "\n"


def _in_short(records: list[Record], found: dict[str, dict[str, Comparison]]) -> str:
    main = uci(found[MAIN_METHOD])
    if not main:
        return ""
    better = with_verdict(main, "better")
    lower = [c for c in main if c.ratio < 1]
    goal = "reached" if len(better) >= NEEDED else "not reached"
    mean = float(np.exp(np.mean([np.log(c.ratio) for c in main])))
    lines = [
        f"**{METHODS[MAIN_METHOD].capitalize()}** (`GainSampler`), the choice that was to be "
        f"better than random: the area under its learning curve is smaller on {len(lower)} of "
        f"{len(main)} UCI sets, significantly after Holm's correction on {len(better)} "
        f"({names_of(better)}), and significantly larger on "
        f"{len(with_verdict(main, 'worse'))}. The aim of {NEEDED} of {OF} is **{goal}**. Mean "
        f"ratio of areas: {mean:.3f}.",
        _power(found[MAIN_METHOD]),
        *(_line(method, found[method]) for method in found if method != MAIN_METHOD),
    ]
    return "\n".join(["## In short", "", *(f"- {line}" for line in lines)])


def _power(found: dict[str, Comparison]) -> str:
    """Say what the correction for overlapping pools does, and what the sets say together."""
    main = uci(found)
    plain = dict(zip([c.set for c in main], holm([c.p_plain for c in main]), strict=True))
    better = [c for c in main if plain[c.set] < LEVEL and c.ratio < 1]
    text = (
        f"The correction for pools that overlap multiplies a standard error by "
        f"{error_factor(main[0].n_seeds):.2f}. Without it, still after Holm's, {len(better)} of "
        f"{len(main)} would be better{in_brackets(better)}."
    )
    ratio, low, high, p = across_sets(found)
    if np.isfinite(p):
        text += (
            f" With the sets themselves as a sample, a comparison that was not planned, the ratio "
            f"is {ratio:.3f} (95 % interval {low:.3f} to {high:.3f}, p = {p:.4f})."
        )
    return text


def _line(method: str, found: dict[str, Comparison]) -> str:
    sets = uci(found)
    ratio, low, high, p = across_sets(found)
    better, worse = with_verdict(sets, "better"), with_verdict(sets, "worse")
    interval = f" ({low:.3f} to {high:.3f} over the sets)" if np.isfinite(p) else ""
    return (
        f"{capitalised(METHODS[method])}: a smaller area than random choice on "
        f"{sum(c.ratio < 1 for c in sets)} of {len(sets)}, significantly on {len(better)}"
        f"{in_brackets(better)}, significantly larger on {len(worse)}{in_brackets(worse)}; "
        f"mean ratio {ratio:.3f}{interval}."
    )


def _curves(records: list[Record]) -> str:
    if not sets_of(records):
        return ""
    return "\n\n".join(
        [
            "## Learning curves",
            "![Learning curves](curves.png)",
            "Means over folds or seeds, with pointwise intervals; ways to choose that have fewer "
            "draws of first labels do not begin at the same point.",
            body(ratios_table(records)),
            "![Areas](areas.png)",
            body(main_table(records)),
        ]
    )


def _limitations(records: list[Record], found: dict[str, dict[str, Comparison]]) -> str:
    main = uci(found[MAIN_METHOD])
    if not main:
        return ""
    flat = [c for c in main if left_at_the_end(records, c.set) > HARDLY_HELPS]
    rest = [c for c in main if c not in flat]
    paid, open_ = with_verdict(rest, "better"), with_verdict(rest, "not proven")
    lines = [
        f"*Where labels do not help, choosing them does not either.* On {names_of(flat)} random "
        f"choice leaves more than {HARDLY_HELPS:.0%} of the error that it began with: what is left "
        f"is noise, or out of reach of the predictor. The reduction of risk is better on "
        f"{len(with_verdict(flat, 'better'))} of these {len(flat)} sets, and on {len(paid)} of "
        f"the other {len(rest)} ({names_of(paid)})."
        + (f" Labels help, and no difference is proven: {names_of(open_)}." if open_ else ""),
        _risk_line(found),
        _excess_line(found),
    ]
    return "\n".join(
        ["## Where it does not pay, and why", "", *(f"- {line}" for line in lines if line)]
    )


def _risk_line(found: dict[str, dict[str, Comparison]]) -> str:
    by_risk, drawn = uci(found["risk-k-center"]), uci(found["risk-proportional"])
    return (
        f"*The size of the risk is not what a label is worth.* The riskiest rows, spread by "
        f"k-centre, have a larger area than random choice on {sum(c.ratio > 1 for c in by_risk)} "
        f"of {len(by_risk)} sets (significantly on {len(with_verdict(by_risk, 'worse'))}), and a "
        f"significantly smaller one on {len(with_verdict(by_risk, 'better'))}; drawn in "
        f"proportion to the risk, a larger one on {sum(c.ratio > 1 for c in drawn)} and a "
        f"significantly smaller one on {len(with_verdict(drawn, 'better'))}. Likely reasons: risky "
        f"rows are often odd, so that their labels say little about the rows that the error is "
        f"measured on; a risk regressed from a few dozen losses is itself uncertain; and part of "
        f"it is noise."
    )


def _excess_line(found: dict[str, dict[str, Comparison]]) -> str:
    plain, excess, share = (
        {c.set: c.ratio for c in uci(found[m])} for m in ("gain", "gain-excess", "gain-share")
    )
    lost = [sum(other[name] > plain[name] for name in plain) for other in (excess, share)]
    missed = [name for name in plain if plain[name] > 1]
    text = (
        f"*Knowing the noise of each row helps only if it is known.* With the noise from the "
        f"estimated risk the reduction of risk has a larger area than with one noise for all rows "
        f"on {lost[0]} of {len(plain)} UCI sets (excess) and on {lost[1]} (share)."
    )
    if missed:
        ratios = ", ".join(f"{name} {plain[name]:.3f} and {share[name]:.3f}" for name in missed)
        text += (
            f" Where one noise for all rows is worse than random on average, scaled to the "
            f"estimated risk it has: {ratios}."
        )
    return text


def _how_to_rerun() -> str:
    return (
        "## Again\n\n`condrisk reproduce active --embeddings FILE.npy` writes records, tables, "
        "figures and this page; without the file, all but CIFAR-10."
    )
