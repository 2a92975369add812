"""The same study without two flaws of the data."""

from __future__ import annotations

from collections.abc import Sequence

from condrisk.paper._page import Part, markdown_table, number, section, verdict_sentence
from condrisk.paper._render import escape_markdown
from condrisk.paper.rwr._claims._benchmarks import RIVALS, tally
from condrisk.paper.rwr._claims._common import Run
from condrisk.paper.rwr._claims._trivial import RF_PAIRS
from condrisk.paper.rwr._paper import COSTS
from condrisk.paper.rwr._results import Results

# The set of the paper, and the same without its flaw.
VARIANTS = {"parkinsons": "parkinsons-by-patient", "wine": "wine-quality"}


def without_flaws(runs: Sequence[Run]) -> str:
    body = []
    for run in runs:
        for name, variant in VARIANTS.items():
            if variant in run.results.sets:
                body += [f"{name} and {variant}, {run.label}:", _variant_table(run.results, name)]
    if not body:
        return ""
    for run in runs:
        for name in ("parkinsons", VARIANTS["parkinsons"]):
            body += _forest_verdict(run, name)
        for name in ("wine", VARIANTS["wine"]):
            body += _pair_verdict(run, name)
    return section(
        "The same study without two flaws of the data",
        "“[F]or the Parkinsons dataset, the RF+RF method substantially outperforms the other "
        "methods, which can be explained by the superior performance of the regressor” (with "
        "Table 5). But rows of one patient are both in training and in test, and in the paper's "
        "data the patient number is a feature; parkinsons-by-patient has other patients to test "
        "on, and no such feature. “Predicts wine quality” (appendix, of wine): in the data of the "
        "tables the target is alcohol; wine-quality has the quality as its target. Never "
        "deferring costs the predictor's loss.",
        *body,
    )


def _variant_table(results: Results, name: str) -> str:
    header = ["set", "method", "predictor loss", "absolute error of the risk", "R² of the risk"]
    header += [f"c={cost}" for cost in COSTS]
    rows = []
    for set_name in (name, VARIANTS[name]):
        for method in (*RF_PAIRS, *RIVALS, *results.new_methods):
            if not results.records(set_name, method):
                continue
            figures = [
                results.mean(what, set_name, method) for what in ("predictor_loss", "risk_l1")
            ]
            figures.append(results.r2(set_name, method))
            figures += [results.mean("loss", set_name, method, cost) for cost in COSTS]
            rows.append([set_name, escape_markdown(method), *(number(f, 2) for f in figures)])
        if set_name in results.sets:
            always = [number(float(cost), 2) for cost in COSTS]
            rows.append([set_name, "always defer", "", "", "", *always])
    return markdown_table(header, rows, n_text=2)


def _forest_verdict(run: Run, name: str) -> list[str]:
    parts = []
    for rival in ("MLP+RF", "NN+kNNRej", "SelNet"):
        found = tally(run.results, "RF+RF", rival, [name])
        if found.settings:
            text = (
                f"RF+RF is significantly better than {rival} at every cost ({found.better} of "
                f"{found.settings})"
            )
            parts.append(Part(text, found.better == found.settings))
    return [verdict_sentence(f"the {run.label} of {name}", parts)] if parts else []


def _pair_verdict(run: Run, name: str) -> list[str]:
    parts = []
    for rival in ("NN+kNNRej", "SelNet"):
        found = tally(run.results, "MLP+RF", rival, [name])
        if found.settings:
            text = f"{rival} at every cost ({found.matches} of {found.settings})"
            parts.append(Part(text, found.matches == found.settings))
    where, claim = f"the {run.label} of {name}", "that MLP+RF matches or surpasses the benchmarks"
    return [verdict_sentence(where, parts, claim)] if parts else []
