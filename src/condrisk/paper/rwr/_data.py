"""The sets of the study, with their folds."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import GroupKFold

from condrisk.datasets import load_uci
from condrisk.paper.rwr._paper import SETS as PAPER_SETS

# The same data without a flaw: see `load_set`.
VARIANTS = ("wine-quality", "parkinsons-by-patient")
SETS = (*PAPER_SETS, *VARIANTS)
# Where plug-in risks are compared with regressions of the losses.
PLUG_IN_SETS = (*PAPER_SETS, "parkinsons-by-patient")


@dataclass(frozen=True)
class StudySet:
    """Rows, and ten folds of them; where there are groups, the folds keep them together."""

    name: str
    X: NDArray[np.float64]
    y: NDArray[np.float64]
    folds: list[tuple[NDArray[Any], NDArray[Any]]]
    groups: NDArray[np.int64] | None = None


def load_set(name: str, *, folds: str, data_home: str | os.PathLike[str] | None = None) -> StudySet:
    """Load one of the study's sets, every column less its mean over all rows, as in the paper.

    Networks whose target is not scaled would otherwise spend their epochs on finding its mean.

    Two of them mend a flaw of the paper's data. There the target of wine is alcohol, with the
    quality among the features; "wine-quality" has the usual target. There the folds of parkinsons
    have rows of every patient on both sides; "parkinsons-by-patient" has other patients to test
    on than to train on, and no patient number among the features.
    """
    source = name.removesuffix("-quality").removesuffix("-by-patient")
    target = "quality" if name == "wine-quality" else None
    uci = load_uci(source, target=target, folds=folds, data_home=data_home)
    X, y = uci.data, uci.target
    if folds == "embedded":  # the paper's files are centred already, and rounded after that
        X, y = X - X.mean(axis=0), y - y.mean()
    if name != "parkinsons-by-patient":
        return StudySet(name, X, y, uci.folds)
    by_patient = GroupKFold(len(uci.folds), shuffle=True, random_state=0)
    parts = list(by_patient.split(X, groups=uci.groups))
    return StudySet(name, X[:, 1:] if folds == "paper" else X, y, parts, uci.groups)
