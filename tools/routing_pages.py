"""The page of docs/routing, from results/routing.json."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from condrisk.paper._page import markdown_table

RECORD = Path(__file__).resolve().parents[1] / "results" / "routing.json"
NAMES = {
    "router": "**`ModelRouter`**",
    "ridge": "ridge on TF-IDF, 64 components",
    "ridge, log counts": "the same, log counts of words",
    "neighbours": "50 nearest neighbours",
    "subject": "the subject's mean (it stands in no prompt)",
}


def pages() -> dict[str, str]:
    """Return the text of the page."""
    record = json.loads(RECORD.read_text(encoding="utf-8"))
    return {"README.md": page(record)}


def draw(folder: Path) -> None:
    """Draw nothing: the page has tables only."""


def page(record: dict[str, Any]) -> str:
    """Return the page."""
    return "\n".join(
        [
            "# Routing between models",
            "",
            "`condrisk.routing.ModelRouter` learns the expected loss of several models at each "
            "row, and asks the cheapest that is good enough "
            "([how to use it](../how-to/routing.md)). Measured by `python -m benchmarks.routing`, "
            "whose docstring says how, and what was looked at before; this page is written from "
            "its record.",
            "",
            *_mmlu(record),
            *(_transfer(record) if record["transfer"] else []),
            *(_world(record) if record["world"] else []),
            *_time(record),
        ]
    )


def _mmlu(record: dict[str, Any]) -> list[str]:
    found, limits = record["mmlu"], record["limits"]
    n = len(found["draws"])
    rows = [
        (NAMES[name], _interval(found["apgr"][name]), _gain(found, name))
        for name in ("router", "ridge", "ridge, log counts", "neighbours", "subject")
    ]
    gain, unseen = found["gain"]["ridge"], found["gain_unseen"]
    reached = gain["mean"] >= limits["gain"] and gain["low"] > 0
    prompts = found["gain_over_prompts"]
    small, large = (f"{error:.1%}" for error in found["model_loss"])
    short = "" if n >= 20 else " Twenty were planned, and these were run in the time there was."
    lines = [
        "## Two language models on MMLU",
        "",
        f"14,042 prompts that Mixtral 8x7B answers wrongly in {small} and GPT-4 in {large} of all "
        f"cases. {n} draws of 1,500 labelled prompts, all others to test on; what is learnt of the "
        "text is learnt on the 1,500. APGR is the share of the gap between the models that routing "
        f"closes, averaged over all shares of calls to GPT-4: 0.5 is random.{short}",
        "",
        markdown_table(["", "APGR", "the router is better by"], rows),
        "",
        "In brackets 95 % intervals over draws. The aim, a gain over ridge of at least "
        f"{limits['gain']} with an interval above 0, is {'reached' if reached else 'missed'}: "
        f"{_interval(gain)}. Resampling the prompts instead of the draws gives "
        f"[{prompts['low']:.4f}, {prompts['high']:.4f}]. Choices were made by looking at the test "
        f"prompts of draws 0 to 7, which flatters the router; {_others(unseen, n)}",
        "",
        "Besides words the router reads pieces of words and the shape of a prompt, such as its "
        "length and its share of digits and symbols. What there is to gain is limited: knowing "
        "each subject's mean difference in hindsight, from the test prompts themselves, gives an "
        f"APGR of {found['subject_in_hindsight']:.3f}.",
        "",
        f"Half of the gap is closed with {_interval(found['cpt']['50'], 2)} of the calls to GPT-4, "
        f"80 % of it with {_interval(found['cpt']['80'], 2)} (CPT).",
        "",
        "### Is the probability right?",
        "",
    ]
    errors = found["calibration_error"]
    fine = all(error["mean"] <= limits["calibration"] for error in errors)
    rule = found["guarantee"]
    nothing = [d["seed"] for d in found["draws"] if d["guarantee"]["error"] is None]
    return [
        *lines,
        f"Calibration error of P(wrong | prompt), in ten bins: {_interval(errors[0], 3)} for "
        f"the small model and {_interval(errors[1], 3)} for the large one, means over draws. "
        f"The aim, at most {limits['calibration']} for both, is "
        f"{'reached' if fine else 'missed'}. Noise alone gives about 0.010 in bins of 1,250 "
        "prompts.",
        "",
        "### A guarantee",
        "",
        f"`RiskControlRule({rule['target']}, confidence={rule['confidence']}, cap=1)`, tested on "
        "500 further labelled prompts, leaves prompts with the small model as long as its error on "
        f"these is shown to be at most {rule['target']}: {_percent(rule['kept'])} of the prompts "
        f"on average, with an error of {_percent(rule['error'])}{_where(nothing)}. The limit was "
        f"exceeded in {rule['broken']} of {n} draws; 5 % would be {0.05 * n:.1g}."
        f"{_kept_nothing(nothing, n)}",
        "",
    ]


def _transfer(record: dict[str, Any]) -> list[str]:
    found = record["transfer"]
    rows = [
        (NAMES[name], _interval(found["apgr"][name]))
        for name in ("router", "ridge", "ridge, log counts")
    ]
    errors = " and ".join(_interval(error, 3) for error in found["calibration_error"])
    return [
        "## Subjects never seen",
        "",
        f"{len(found['draws'])} draws of five subjects, left out of the 1,500 prompts to learn "
        "from and judged on alone.",
        "",
        markdown_table(["", "APGR"], rows),
        "",
        f"Paired, the router is better than ridge by {_interval(found['gain'])}. Its calibration "
        f"error is {errors}: the level of a new kind of prompt cannot be known from others.",
        "",
    ]


def _world(record: dict[str, Any]) -> list[str]:
    rows = []
    for size in (1_000, 4_000):
        for answered in (1.0, 0.7):
            own = [r for r in record["world"] if (r["rows"], r["answered"]) == (size, answered)]
            excess = [
                np.mean([r["excess"][price] for r in own]) for price in ("0.02", "0.1", "0.5")
            ]
            explained = np.mean([r["explained"] for r in own])
            cells = [f"{value:.1%}" for value in excess]
            rows.append((f"{size:,}", f"{answered:.0%}", *cells, f"{explained:.2f}"))
    return [
        "## A world of known risk",
        "",
        "`make_routing`: three models with a strength of their own each. How much more loss and "
        "price × cost learnt risks lead to than the true ones, on fresh rows, means of three "
        "seeds; and the share of the variance of the true risks that is explained.",
        "",
        markdown_table(
            ["rows", "answered", "price 0.02", "price 0.1", "price 0.5", "explained"], rows
        ),
        "",
    ]


def _time(record: dict[str, Any]) -> list[str]:
    found, limit = record["time"], record["limits"]["seconds"]
    return [
        "## Time",
        "",
        f"{found['models']} models on {found['rows']:,} × {found['columns']}: "
        f"{found['cpu_seconds']:.1f} s of processor time, {found['seconds']:.1f} s on the clock of "
        f"a machine of two cores that had much else to do. The aim, under {limit:.0f} s, is "
        f"{'reached' if found['seconds'] < limit else 'reached in processor time only'}.",
        "",
    ]


def _others(unseen: dict[str, float] | None, n: int) -> str:
    """Say what the gain is on draws that nothing was chosen by."""
    if unseen is None:
        return "too few other draws were run to say what the gain is there."
    return (
        f"on the {unseen['draws']} other draws of the {n}, which share most of their test prompts "
        f"with those, the gain is {_interval(unseen)}."
    )


def _where(nothing: list[int]) -> str:
    return " where any were left" if nothing else ""


def _kept_nothing(nothing: list[int], n: int) -> str:
    """Say in which draws nothing could be shown, so that all prompts went to the large model."""
    if not nothing:
        return ""
    seeds = ", ".join(map(str, sorted(nothing)))
    return (
        f" In {len(nothing)} of the {n} draws (seeds {seeds}) nothing could be shown, and no "
        f"prompt was left with the small model; the average counts them as 0 %."
    )


def _gain(found: dict[str, Any], name: str) -> str:
    return "" if name == "router" else _interval(found["gain"][name])


def _interval(found: dict[str, float], digits: int = 4) -> str:
    mean, low, high = (f"{found[key]:.{digits}f}" for key in ("mean", "low", "high"))
    return f"{mean} [{low}, {high}]"


def _percent(found: dict[str, float]) -> str:
    return f"{found['mean']:.1%}"
