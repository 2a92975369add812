"""The page of docs/support, from results/support.json."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from condrisk.paper._page import Part, markdown_table, verdict

RECORD = Path(__file__).resolve().parents[1] / "results" / "support.json"
SAME_LAW = "the same law"
OURS = ("DistanceSupport", "ForestSupport")
ESTIMATED = ("mean loss", "deferral loss", "rate of BudgetRule(0.2)")
LEARNT = ("error of a plane", "error of a forest")


def pages() -> dict[str, str]:
    """Return the text of the page by its name."""
    record = json.loads(RECORD.read_text(encoding="utf-8"))
    parts = [
        "# Where the risk knows nothing, labels that come back, and other populations",
        "",
        support_text(record),
        data_text(record),
        feedback_text(record),
        curves_text(record),
        shift_text(record),
        machine_text(record),
        "",
    ]
    return {"README.md": "\n".join(parts)}


def draw(folder: Path) -> None:
    """Draw nothing: the tables say it."""


def judged(claim: str, parts: list[Part]) -> str:
    """Return the verdict on a claim, in how many cases it is so, and where not."""
    true = sum(part.true for part in parts)
    text = f"- {claim}: **{verdict(parts)}**, in {true} of {len(parts)} cases."
    if true < len(parts):
        text += " Not so: " + "; ".join(part.text for part in parts if not part.true) + "."
    return text


def support_text(record: dict[str, Any]) -> str:
    """Return which rows are deferred for lack of support."""
    set_ = record["config"]["support"]
    keys = dict.fromkeys((r["place"], r["features"]) for r in record["support"])
    names = list(dict.fromkeys(r["support"] for r in record["support"]))
    share = {
        (name, *key): np.mean(
            [
                r["deferred"]
                for r in record["support"]
                if (r["support"], r["place"], r["features"]) == (name, *key)
            ]
        )
        for name in names
        for key in keys
    }
    order = sorted(keys, key=lambda key: [k[0] for k in keys].index(key[0]))
    rows = [
        [place, str(d), *(f"{share[name, place, d]:.1%}" for name in names)] for place, d in order
    ]
    most, least = set_["most_deferred_of_the_same_law"], set_["least_deferred_elsewhere"]
    verdicts = []
    for name in OURS:
        claims = [
            Part(
                f"{place}, {d} features ({share[name, place, d]:.0%})",
                bool(share[name, place, d] <= most)
                if place == SAME_LAW
                else bool(share[name, place, d] >= least),
            )
            for place, d in order
        ]
        verdicts.append(judged(f"`{name}`", claims))
    others = [key for key in order if key[0] != SAME_LAW]
    best = {
        name: sum(share[name, *key] > share[other, *key] for key in others)
        for name, other in (OURS, OURS[::-1])
    }
    return "\n".join(
        [
            "## Support",
            "",
            f"`SupportRule` defers rows with too little calibration data behind the estimate, "
            f"whatever the estimate says. Calibration: {set_['rows']} rows, standard normal but "
            f"for what is named, risk exp(x₁); the minimum is found for a rate of "
            f"{set_['rate']:.0%}. Out of range: one feature at {set_['far']:g}. Share of rows "
            f"deferred, mean of {set_['seeds']} seeds:",
            "",
            markdown_table(["rows", "features", *names], rows),
            "",
            f"Set before the run: at most {most:.0%} of rows of the same law, at least "
            f"{least:.0%} of all others.",
            "",
            *verdicts,
            "",
            "Of the rows that are not of the same law, the one that defers more is "
            + ", ".join(f"`{name}` in {best[name]} of {len(others)}" for name in OURS)
            + " cases (ties in neither). `IsolationForest` of scikit-learn goes through the same "
            "rule and is shown for comparison.",
            "",
        ]
    )


def data_text(record: dict[str, Any]) -> str:
    """Return what happens above the quantile of a feature."""
    set_ = record["config"]["support"]
    lines = record["support_on_data"]
    names = list(dict.fromkeys(r["support"] for r in lines))
    rows = []
    for name in dict.fromkeys(r["set"] for r in lines):
        mine = {r["support"]: r for r in lines if r["set"] == name}
        first = mine[names[0]]
        rows.append(
            [
                name,
                first["feature"],
                f"{first['loss_to_risk_inside']:.2f}",
                f"{first['loss_to_risk_outside']:.2f}",
                *(
                    f"{mine[k]['deferred_inside']:.1%} / {mine[k]['deferred_outside']:.0%}"
                    for k in names
                ),
            ]
        )
    wrong = sum(float(row[3]) > float(row[2]) for row in rows)
    caught = {
        k: sum(r["deferred_outside"] > 0.5 for r in lines if r["support"] == k) for k in names
    }
    head = ["set", "feature", "loss / risk inside", "outside"]
    return "\n".join(
        [
            f"On the embedded data, rows above the {set_['quantile']:.0%} quantile of the feature "
            f"with the most values are kept from a forest and from the default estimate of its "
            f"risk. Mean loss over mean estimated risk, on held-out rows below and on the rows "
            f"above, and the share deferred for lack of support (below / above):",
            "",
            markdown_table([*head, *names], rows, n_text=2),
            "",
            f"The estimate is further below the loss outside than inside on {wrong} of "
            f"{len(rows)} sets. More than half of the rows above are deferred on "
            + ", ".join(f"{caught[k]} ({k})" for k in names)
            + ": a row just above a quantile is still close to rows below it, and one feature is "
            "one of several.",
            "",
        ]
    )


def feedback_text(record: dict[str, Any]) -> str:
    """Return what is learnt from answers that exist for deferred rows alone."""
    set_, truth = record["config"]["feedback"], record["feedback_truth"]
    rows, biased, right = [], [], []
    for rate in set_["rates"]:
        mine = [r for r in record["feedback"] if r["rate"] == rate]
        for name, true in truth.items():
            cells = []
            for view in ("without", "with", "all"):
                values = np.array([r[view][name] for r in mine])
                bias, error = values.mean() - true, values.std(ddof=1) / np.sqrt(len(values))
                cells.append(f"{values.mean():.3f} ± {values.std(ddof=1):.3f}")
                relative, what = abs(bias) / true, f"{name} at rate {rate:g} ({bias / true:+.1%})"
                if view == "without":
                    biased.append(Part(what, bool(relative > set_["least_bias_without"])))
                if view == "with":
                    near = relative <= set_["most_bias_with"]
                    right.append(
                        Part(what, bool(near or abs(bias) <= set_["most_errors_with"] * error))
                    )
            rows.append([f"{rate:.0%}", name, f"{true:.3f}", *cells])
    sizes = [
        f"{rate:.0%}: {np.mean([r['effective']['asked'] for r in mine]):.0%} of the rows deferred "
        f"about, worth {np.mean([r['effective']['share'] for r in mine]):.0%}"
        for rate in set_["rates"]
        for mine in [[r for r in record["feedback"] if r["rate"] == rate]]
    ]
    without = f"Without weights the mean is off by more than {set_['least_bias_without']:.0%}"
    weighted = (
        f"With weights it is off by at most {set_['most_bias_with']:.0%} or "
        f"{set_['most_errors_with']:g} standard errors"
    )
    head = ["rate", "quantity", "truth", "without weights", "with weights", "all rows known"]
    return "\n".join(
        [
            "## Labels that come back",
            "",
            f"Experts answer for deferred rows alone. `ExploringRule` adds a random share of the "
            f"accepted ones, and `feedback_weights` weighs each answer by the inverse of its "
            f"chance. {set_['rows']:,} rows of risk exp(x₁) come in, a line through "
            f"{set_['early_rows']} earlier losses decides at a cost of {set_['price']:g}. The "
            f"last quantity has a cost that grows with a feature which sets the noise and which "
            f"g does not have. Mean ± standard deviation over {set_['repetitions']} repetitions:",
            "",
            markdown_table(head, rows, n_text=2),
            "",
            judged(without, biased),
            judged(weighted, right),
            "",
            "What exploring buys, in rows of equal weight: " + "; ".join(sizes) + ".",
            "",
        ]
    )


def curves_text(record: dict[str, Any]) -> str:
    """Return what weights do to a regressor that can follow g everywhere."""
    mean = {
        view: np.mean([r[view] for r in record["curves"]]) for view in ("without", "with", "all")
    }
    rate = record["config"]["feedback"]["rates"][1]
    gain = np.array([r["with"] - r["without"] for r in record["curves"]])
    error = gain.std(ddof=1) / np.sqrt(len(gain))
    word = "help" if gain.mean() > 2 * error else "cost" if gain.mean() < -2 * error else "do"
    told = f"here weights {word} {'nothing that could be told from chance' if word == 'do' else ''}"
    return (
        f"Where whether a row is deferred depends on x alone, and the regressor can follow g "
        f"everywhere, each x has the right mean loss even without weights: they then matter only "
        f"through how it smooths. Share of the variance of the true risk that `LossRegressor` "
        f"explains over all rows, at a rate of {rate:.0%}, mean of {len(record['curves'])} "
        f"repetitions: {mean['without']:.2f} without weights, {mean['with']:.2f} with them, "
        f"{mean['all']:.2f} with all rows known; {told.strip()} ({gain.mean():+.3f} ± "
        f"{error:.3f}). For anything that is a mean over rows "
        f"(metrics, budgets, calibration) they are needed all the same.\n"
    )


def _rmse(lines: list[dict[str, Any]], view: str, name: str) -> float:
    """Return the relative root mean squared error of an estimate."""
    return float(np.sqrt(np.mean([(r[view][name] / r["truth"][name] - 1) ** 2 for r in lines])))


Lines = dict[str, list[dict[str, Any]]]


def _shift_sizes(worlds: Lines, taken: Lines, refused: dict[str, int]) -> str:
    """Return how many rows the weights leave, and what they look like."""
    rows = [
        [
            name,
            f"{np.mean([r['known']['effective'] for r in lines]):.1%}",
            *(
                [
                    f"{np.mean([r['estimated'][key] for r in taken[name]]):{form}}"
                    for key, form in (("effective", ".1%"), ("coverage", ".2f"), ("auc", ".2f"))
                ]
                if name in taken
                else ["–"] * 3
            ),
            f"{refused[name]} of {len(lines)}",
        ]
        for name, lines in worlds.items()
    ]
    head = [
        "target population",
        "effective, known ratio",
        "effective, estimated",
        "coverage",
        "AUC",
        "refused",
    ]
    return markdown_table(head, rows)


def _shift_errors(taken: Lines) -> str:
    """Return how far off estimates and learnt risks are, with each kind of weights."""
    views = ("without", "estimated", "known")
    rows = [
        [name, quantity, *(f"{_rmse(lines, view, quantity):.1%}" for view in views), "–"]
        for name, lines in taken.items()
        for quantity in ESTIMATED
    ] + [
        [
            name,
            quantity,
            *(
                f"{np.mean([r[view][quantity] for r in lines]):.3g}"
                for view in (*views, "target rows")
            ),
        ]
        for name, lines in taken.items()
        for quantity in LEARNT
    ]
    head = ["target population", "quantity", "without", "`ShiftWeights`", "known ratio"]
    return markdown_table([*head, "target rows"], rows, n_text=2)


def shift_text(record: dict[str, Any]) -> str:
    """Return what weights for another population are worth."""
    set_ = record["config"]["shift"]
    worlds = {
        name: [r for r in record["shift"] if r["world"] == name]
        for name in dict.fromkeys(r["world"] for r in record["shift"])
    }
    refused = {name: sum("refused" in r for r in lines) for name, lines in worlds.items()}
    taken = {
        name: [r for r in lines if "refused" not in r]
        for name, lines in worlds.items()
        if refused[name] < len(lines)
    }
    message = next((r["refused"] for r in record["shift"] if "refused" in r), None)
    said = f"What a refusal says: “{message}”" if message else "Nothing was refused."
    return "\n".join(
        [
            "## Shift",
            "",
            f"{set_['rows']:,} calibration rows, as many unlabelled rows of a target population, "
            f"and as many labelled test rows like the calibration ones, on which the target "
            f"population is judged by weights. The ratio of the densities is known. Mean of "
            f"{set_['seeds']} seeds; effective sample size as a share of the rows:",
            "",
            _shift_sizes(worlds, taken, refused),
            "",
            said,
            "",
            "Relative error (root of the mean square over seeds) of what is estimated for the "
            "target population; below, the mean squared error there of a risk learnt with the "
            "weights, and of one learnt on as many labelled target rows:",
            "",
            _shift_errors(taken),
            "",
            *shift_verdicts(taken, refused, worlds),
            "",
            "For what is learnt, weights trade bias for variance: g(x) is the same in both "
            "populations, so that a regressor which can follow it needs none where both have rows. "
            "Weights that are estimated carry no guarantee.",
            "",
        ]
    )


def shift_verdicts(
    taken: dict[str, list[Any]], refused: dict[str, int], worlds: dict[str, list[Any]]
) -> list[str]:
    """Return whether weights help where there is a shift, and do no harm where there is none."""
    still, *moved = taken
    better = {
        kind: [
            Part(f"{quantity}, {name}", bool(after < before))
            for name in moved
            for quantity in quantities
            for before, after in [_both(taken[name], quantity)]
        ]
        for kind, quantities in (("estimates", ESTIMATED), ("learnt risks", LEARNT))
    }
    harmless = [
        Part(f"{quantity} ({after / before - 1:+.0%})", bool(after <= 1.1 * before))
        for quantity in (*ESTIMATED, *LEARNT)
        for before, after in [_both(taken[still], quantity)]
    ]
    hopeless = [
        f"- {name}: refused in {refused[name]} of {len(worlds[name])} seeds."
        for name in worlds
        if refused[name]
    ]
    return [
        *(
            judged(f"Where there is a shift, weights better the {kind}", parts)
            for kind, parts in better.items()
        ),
        judged("Where there is none, they add at most 10 % to the error", harmless),
        *hopeless,
    ]


def _both(lines: list[Any], quantity: str) -> tuple[float, float]:
    """Return the error without weights and with estimated ones."""
    if quantity in ESTIMATED:
        return _rmse(lines, "without", quantity), _rmse(lines, "estimated", quantity)
    before, after = (np.mean([r[v][quantity] for r in lines]) for v in ("without", "estimated"))
    return float(before), float(after)


def machine_text(record: dict[str, Any]) -> str:
    """Return on what the record was made, and how."""
    versions = ", ".join(f"{name} {version}" for name, version in record["versions"].items())
    seconds = sum(record["seconds"].values())
    return (
        f"`python -m benchmarks.beyond_support`, {seconds:.0f} s on {record['machine']} ("
        f"{versions}); record `results/support.json`. Settings and limits were fixed before the "
        f"first full run, but `ForestSupport` and `ShiftWeights` had been designed on draws of the "
        f"same kind, and the sizes were cut once for time; after it only the rows of solar that "
        f"count as outside were mended, since there were none. Every figure and verdict "
        f"here is computed from the record."
    )
