"""What the tables call the estimates of the risk that are ours, beside the paper's."""

from __future__ import annotations

from condrisk.paper.rwr._paper import MODELS

PLUG_IN, HYBRID, FOREST_PLUG_IN, FOREST_ON_MORE = "PlugIn", "Hybrid", "RF plug-in", "RF on x, f, m"
OUR_CALIBRATORS = (PLUG_IN, HYBRID, FOREST_PLUG_IN, FOREST_ON_MORE)
OUR_PAIRS = tuple(f"{model}+{calibrator}" for model in MODELS for calibrator in OUR_CALIBRATORS)
# The paper's calibrator that has the same learner on the losses: what ours is compared with.
FOREST = "RF"
PLUG_IN_METHODS = (*(f"{model}+{FOREST}" for model in MODELS), *OUR_PAIRS)
