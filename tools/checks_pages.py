"""The pages of docs/checks; the first from results/copies.json and results/risk_error.json."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from condrisk.paper._page import markdown_table
from tools.checks_frames import frames_page
from tools.checks_worlds import worlds_page

RESULTS = Path(__file__).resolve().parents[1] / "results"
MODELS = ("forest", "boosting", "linear")
LIMIT = 0.1  # of the time of a fit, set before the first run


def pages() -> dict[str, str]:
    """Return the texts of the pages by their names."""
    copies, error = (
        json.loads((RESULTS / name).read_text(encoding="utf-8"))
        for name in ("copies.json", "risk_error.json")
    )
    parts = [
        "# Copies of rows, and limits for the error of a risk",
        "",
        copies_text(copies),
        error_text(error),
        "",
    ]
    return {
        "README.md": "\n".join(parts),
        "worlds.md": worlds_page(),
        "frames.md": frames_page(),
    }


def draw(folder: Path) -> None:
    """Draw nothing: the tables say it."""


# -- copies ---------------------------------------------------------------------------------------


def copies_text(record: dict[str, Any]) -> str:
    """Return who is warned of copies, and what the check takes."""
    warned: dict[str, list[str]] = {}
    for r in record["sets"]:
        if r["warning"]:
            warned.setdefault(r["set"], []).append(r["predictor"])
    sets = " and ".join(f"{name} ({', '.join(models)})" for name, models in warned.items())
    n_sets = len({r["set"] for r in record["sets"] if not r["fresh"]})
    others = ", ".join(dict.fromkeys(r["set"] for r in record["sets"] if r["fresh"]))
    of_others = sum(bool(r["warning"]) for r in record["sets"] if r["fresh"])
    return "\n".join(
        [
            "## Copies of rows",
            "",
            "Where a row's copy is among the training rows when the row is held out, a flexible "
            "predictor has seen its noise, and held-out losses are too low. `fit` then warns, and "
            "says by how much. " + _copies_verdict(record),
            "",
            markdown_table(["world", *MODELS, "too low, forest"], _rates(record)),
            "",
            f"Warned, in percent of {record['rates'][0]['draws']} draws of {record['n']:,} rows "
            "with five columns, unless the world says otherwise, and signal of variance 2. "
            "Copies have the noise (variance 1, or a fifth of the labels wrong) of the row that "
            "they are copies of; replicates have new noise each time. A linear model "
            "learns little from single rows, so copies do it little harm. "
            "Last column: what the warnings say of the losses, in the mean. The thresholds of the "
            "check were set on other draws of these worlds, and with the UCI sets in view (that "
            "concrete is warned of was decided so); worlds with an asterisk were added afterwards, "
            "and nothing was changed since.",
            "",
            f"Of the {n_sets} UCI sets, {sets} are warned of. In wine, rows are equal, targets "
            "included; in concrete, mixtures hardly differ. Rows of one patient, as in parkinsons, "
            "are not found, as they differ in most columns: only who knows the patients can give "
            "`groups=`. In solar, equal rows have different targets: they are replicates. On three "
            f"sets that no threshold was set with ({others}), two predictors each, there are "
            f"{of_others} warnings.",
            "",
            markdown_table(
                ["rows", "copies", "predictor", "fit, s", "check, s", "share"], _times(record)
            ),
            "",
            "Seconds of the processor, one thread, of `RegressionRisk` with its default regressor "
            "of losses. With one that takes milliseconds the share is larger: the search for "
            "copies takes as long as it does.",
            "",
            "Method: `condrisk/risk/_copies.py` and `_clusters.py` say how copies are found, how "
            "they are told from replicates and how the predictor is tried out. Replicates with "
            "less than about 1/200 of the variance between neighbouring points as noise cannot be "
            "told from copies. Again with `python -m benchmarks.copies`.",
            "",
        ]
    )


def _copies_verdict(record: dict[str, Any]) -> str:
    flexible = [r for r in record["rates"] if r["predictor"] != "linear"]
    share = {
        kind: [r["warned"] / r["draws"] for r in flexible if r["kind"] == kind]
        for kind in ("copies", "no copies")
    }
    most = max(r["check_seconds"] / r["fit_seconds"] for r in record["time"])
    kept = "within" if most <= LIMIT else "above"
    return (
        f"With a forest or boosting it did in at least {min(share['copies']):.0%} of the draws of "
        f"each world with copies, and in at most {max(share['no copies']):.0%} of those of each "
        f"world without, replicates included. The check took "
        f"{most:.1%} of a fit at most, {kept} the limit of {LIMIT:.0%}."
    )


def _rates(record: dict[str, Any]) -> list[list[str]]:
    found = {(r["world"], r["predictor"]): r for r in record["rates"]}
    rows = []
    for world in dict.fromkeys(r["world"] for r in record["rates"]):
        cells = [found[world, model] for model in MODELS]
        low = cells[0]["too_low"]
        shares = [f"{r['warned'] / r['draws']:.0%}" for r in cells]
        name = f"{world} *" if cells[0]["fresh"] else world
        rows.append([name, *shares, "–" if low is None else f"{low:.0%}"])
    return rows


def _times(record: dict[str, Any]) -> list[list[str]]:
    return [
        [
            f"{r['n']:,}",
            "each row twice" if r["copies"] else "none",
            r["predictor"],
            f"{r['fit_seconds']:.1f}",
            f"{r['check_seconds']:.2f}",
            f"{r['check_seconds'] / r['fit_seconds']:.1%}",
        ]
        for r in record["time"]
    ]


# -- limits for the error -------------------------------------------------------------------------


def error_text(record: dict[str, Any]) -> str:
    """Return how often limits cover a difference of two estimates, and how wide they are."""
    draws = record["draws"]
    rows = [
        [
            r["world"],
            f"{r['n']:,}",
            r["over"],
            f"{r['covered_rows'] / draws:.1%}",
            f"{r['covered_population'] / draws:.1%}",
            f"{r['width']:.2g}",
            f"{r['width'] / r['normal_width']:,.1f}",
        ]
        for r in record["found"]
        if r["method"] == "betting"
    ]
    header = [
        "world",
        "rows",
        "limits over",
        "cover, these rows",
        "cover, population",
        "width",
        "of normal",
    ]
    worlds = "; ".join(f"{name}: {text}" for name, text in record["worlds"].items())
    return "\n".join(
        [
            "## Limits for the difference of two estimates",
            "",
            "`risk_error_interval` gives limits for E(ĝ − g)² − E(h − g)², from losses alone. "
            + _error_verdict(record),
            "",
            markdown_table(header, rows),
            "",
            f"At {record['confidence']:.0%}, over {draws:,} samples of each world. Of normal: the "
            "width divided by that of the normal approximation, which holds in the limit only. "
            "Bernstein's limits, in the record, are wider throughout. "
            f"Worlds: {worlds}.",
            "",
            "Method: the docstring says what is proved. Over rows, the inputs are taken as they "
            "are, and a difference lies in a range that is known row by row. Over the population, "
            "inputs that were not met could differ by the largest loss. "
            "Again with `python -m benchmarks.risk_error`.",
        ]
    )


def _error_verdict(record: dict[str, Any]) -> str:
    width = {(r["world"], r["n"], r["over"], r["method"]): r["width"] for r in record["found"]}
    rows = [r for r in record["found"] if r["over"] == "rows"]
    least = min(r["covered_rows"] for r in rows) / record["draws"]
    missed = dict.fromkeys(
        r["world"] for r in rows if r["covered_population"] < record["confidence"] * record["draws"]
    )
    gains = [
        width["close", n, "population", "betting"] / width["close", n, "rows", "betting"]
        for n in sorted({r["n"] for r in rows})
    ]
    return (
        f"Over rows they covered in {least:.1%} of the samples or more in every world, and are "
        f"{min(gains):.0f} to {max(gains):.0f} times narrower than over the population where the "
        f"estimates are 0.01 apart, in proportion more where they are closer. For the population "
        f"they fail where the estimates differ most on rare inputs ({', '.join(missed)})."
    )
