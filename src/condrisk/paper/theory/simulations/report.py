"""What the study of the theory leaves beside its records: tables, figures and two pages."""

from __future__ import annotations

from condrisk.paper._report import Report
from condrisk.paper.theory.simulations._figures import draw_excess, draw_planning, draw_separable
from condrisk.paper.theory.simulations._model_figures import (
    draw_coverage,
    draw_median,
    draw_plug_in,
    draw_rejection,
)
from condrisk.paper.theory.simulations._page import practitioner_page
from condrisk.paper.theory.simulations._same_learner_figure import draw_same_learner
from condrisk.paper.theory.simulations._simulations_page import simulations_page
from condrisk.paper.theory.simulations._tables import all_tables

REPORT = Report(
    name="theory",
    pages={"README.md": practitioner_page, "simulations.md": simulations_page},
    figures={
        "excess": draw_excess,
        "plug-in": draw_plug_in,
        "separable": draw_separable,
        "rejection": draw_rejection,
        "median": draw_median,
        "coverage": draw_coverage,
        "planning": draw_planning,
        "same-learner": draw_same_learner,
    },
    tables=all_tables,
    tables_folder="tables",
    closing="What it means in practice: {folder}/README.md; every simulation: "
    "{folder}/simulations.md; tables as .md, .tex and .png in {folder}/tables.",
)
