"""What held-out rows say of a model, in sentences with numbers: one wording for all commands."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from condrisk.app._numbers import Amounts, count, number, percent

# Realised losses this far from the risk, as a share of it, are a reason to fit again.
REFIT_FROM = 0.1
CONFIDENCE = "95\u00a0% interval"


class Sentence(NamedTuple):
    """A sentence, and whether it is good news ("good"), a warning ("caution") or neither ("")."""

    kind: str
    text: str


def verdict(
    evaluation: Mapping[str, Any] | None, amounts: Amounts, *, given: bool = False
) -> list[Sentence]:
    """Return what the figures of held-out rows say in words.

    Parameters
    ----------
    evaluation : mapping or None
        With ``savings`` and ``calibration``, plain data as
        `condrisk.assessment.DeferralSavings.to_dict` and `CalibrationTest.to_dict` give it.
    amounts : Amounts
        How amounts are written.
    given : bool, default=False
        Whether somebody has chosen the rows, who may have fitted the model on them.

    Returns
    -------
    list of Sentence
        Whether deferring pays, where there is a cost; whether the risk is right.
    """
    if evaluation is None:
        return []
    found = []
    if evaluation.get("savings") is not None:
        found.append(deferral_sentence(evaluation["savings"], amounts))
    if evaluation.get("calibration") is not None:
        found.append(calibration_sentence(evaluation["calibration"], amounts, given=given))
    return found


def deferral_sentence(savings: Mapping[str, Any], amounts: Amounts) -> Sentence:
    """Say whether deferring by risk pays."""
    always = savings["always"]
    at = f"At a cost of {amounts.cost(always['value'])}"
    if always["low"] < always["high"]:
        at = f"At costs of {amounts.cost(always['value'])} on average"
    choice, best = savings["choice"], savings["below_rival"]
    rate, size = percent(savings["deferral_rate"]), amounts.text(abs(best["value"]))
    limits = f"{CONFIDENCE} {amounts.interval(best)}"
    names = {"everything": "deferring everything", "nothing": "the model alone"}
    other = names.get(savings["rival"], "the model alone")
    if choice == "by risk":
        return Sentence(
            "good",
            f"{at}, deferring by risk pays: with {rate} of the rows deferred it saves {size} a row "
            f"against {other}, the cheaper alternative ({limits}).",
        )
    if savings["deferral_rate"] in (0.0, 1.0):
        return _one_way(savings, at, amounts)
    if choice.startswith("as good"):
        more = "less" if best["value"] >= 0 else "more"
        limits = f"{CONFIDENCE} {amounts.interval(_towards(best))}"
        beaten = savings["below_never" if savings["rival"] == "everything" else "below_always"]
        if beaten["low"] > 0:
            second = names["nothing" if savings["rival"] == "everything" else "everything"]
            return Sentence(
                "",
                f"{at}, deferring {rate} of the rows by risk saves {amounts.text(beaten['value'])} "
                f"a row against {second} ({CONFIDENCE} {amounts.interval(beaten)}). Against "
                f"{other} these rows do not settle it: it costs {size} a row {more}, and the "
                f"{limits} includes zero.",
            )
        return Sentence(
            "",
            f"{at}, {other} is as good: deferring {rate} of the rows by risk costs {size} a row "
            f"{more}, and the {limits} includes zero.",
        )
    worse = f"{amounts.text(-best['high'])} to {amounts.text(-best['low'])}"
    return Sentence(
        "caution",
        f"{at}, {other} is cheaper: by {size} a row than deferring {rate} of the rows by risk "
        f"({CONFIDENCE} {worse}).",
    )


def _one_way(savings: Mapping[str, Any], at: str, amounts: Amounts) -> Sentence:
    """Say what it means that every row is deferred, or none."""
    everything = savings["deferral_rate"] == 1.0
    saved = savings["below_never" if everything else "below_always"]
    first = (
        f"{at}, deferring everything is cheaper: the risk of every row is above the cost. "
        if everything
        else f"{at}, no row is worth deferring: no risk is above the cost. "
    )
    name = "the model alone" if everything else "deferring everything"
    size, limits = amounts.text(abs(saved["value"])), amounts.interval(_towards(saved))
    more = "more" if saved["value"] >= 0 else "less"
    doubt = "" if saved["low"] > 0 else ", so the rows do not settle it"
    rest = f"{name[0].upper()}{name[1:]} costs {size} a row {more} ({CONFIDENCE} {limits}){doubt}."
    return Sentence("" if saved["low"] > 0 else "caution", first + rest)


def _towards(found: Mapping[str, float]) -> dict[str, float]:
    """Return the limits of a size that is told without its sign: more or less, by so much."""
    if found["value"] >= 0:
        return {"low": found["low"], "high": found["high"]}
    return {"low": -found["high"], "high": -found["low"]}


def calibration_sentence(
    found: Mapping[str, Any], amounts: Amounts, *, given: bool = False
) -> Sentence:
    """Say whether realised losses are what the risk says."""
    if found["level_is_off"]:
        return _level(found, amounts, given)
    error, noise = amounts.text(found["error"]), amounts.text(found["noise"])
    if found["shape_is_off"]:
        return Sentence(
            "caution",
            f"The risk is right on average, but not at every level: its calibration error is "
            f"{error}, where noise alone would give at most {noise} (95\u00a0%). See the "
            f"calibration plot; more rows or another predictor may help.",
        )
    return Sentence(
        "good",
        f"The risk agrees with the realised losses: {amounts.text(found['mean_loss'])} on average, "
        f"{amounts.text(found['mean_risk'])} estimated (difference {_signed(found, amounts)}, "
        f"{CONFIDENCE}). Calibration error {error}; noise alone gives up to {noise}.",
    )


def _signed(found: Mapping[str, Any], amounts: Amounts) -> str:
    return amounts.interval(found["difference"])


def _level(found: Mapping[str, Any], amounts: Amounts, given: bool) -> Sentence:
    """Say by how much losses are above or below the risk."""
    excess = found["excess"]
    above = "above" if found["difference"]["value"] > 0 else "below"
    if excess is None:
        size = amounts.text(abs(found["difference"]["value"]))
        limits, far = _signed(found, amounts), True
    else:
        size = f"{number(100 * _two(abs(excess['value'])))}\u00a0%"
        ends = sorted(abs(excess[end]) for end in ("low", "high"))
        limits = " to ".join(f"{number(100 * _two(end))}\u00a0%" for end in ends)
        far = abs(excess["value"]) >= REFIT_FROM
    means = (
        f"{amounts.text(found['mean_loss'])} against {amounts.text(found['mean_risk'])} on "
        f"{count(found['n_rows'])} rows"
    )
    end = ": refit the model" if far else ", a small difference"
    if far and given and above == "below":  # so are those of rows that a model has learnt
        end += "; or, if it was fitted on some of these rows, use others"
    return Sentence(
        "caution" if far else "",
        f"Realised losses are {size} {above} the estimated risk ({CONFIDENCE} {limits}; "
        f"{means}){end}.",
    )


def _two(value: float) -> float:
    """Round to two digits: an interval does not deserve more."""
    return float(f"{value:.2g}")
