"""The eight UCI regression sets, embedded, with ten folds each."""

import gzip
import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._paper_folds import Fold, read_paper_files

UCI_NAMES = ("airfoil", "concrete", "energy", "forest", "housing", "parkinsons", "solar", "wine")

_N_FOLDS = 10
_FOLD_SEED = 2026


@dataclass(frozen=True, eq=False, repr=False)
class UCIDataset:
    """What `load_uci` returns.

    Attributes
    ----------
    name : str
        Name of the set.
    data : ndarray of shape (n_rows, n_features)
        The features.
    target : ndarray of shape (n_rows,)
        The target.
    feature_names : list of str
        Names of the columns of `data`.
    target_name : str
        Name of the target.
    units : dict of str to str
        Units of features and target, where there is one and it is known.
    folds : list of ten (train, test) pairs of index arrays
        The test parts partition the rows. Goes into any ``cv=`` of scikit-learn.
    groups : ndarray of int of shape (n_rows,) or None
        parkinsons: the patient, from 1 to 42.
    descr : str
        What the columns mean, where the data come from, and under which licence.

    Examples
    --------
    >>> from condrisk.datasets import load_uci
    >>> load_uci("energy")
    <UCIDataset energy: 768 rows, 8 features, target heating_load>
    """

    name: str
    data: NDArray[np.float64]
    target: NDArray[np.float64]
    feature_names: list[str]
    target_name: str
    units: dict[str, str]
    folds: list[Fold]
    groups: NDArray[np.int64] | None
    descr: str

    def __repr__(self) -> str:
        rows, features = self.data.shape
        return (
            f"<UCIDataset {self.name}: {rows} rows, {features} features, target {self.target_name}>"
        )


def load_uci(
    name: str,
    *,
    target: str | None = None,
    folds: str = "embedded",
    data_home: str | os.PathLike[str] | None = None,
) -> UCIDataset:
    """Load one of the eight UCI regression sets, with ten 90/10 folds.

    ========== ===== ======== ====================
    name        rows features target
    ========== ===== ======== ====================
    airfoil     1503        5 sound_pressure_level
    concrete    1030        8 compressive_strength
    energy       768        8 heating_load
    forest       517       12 log1p_area
    housing      506       13 medv
    parkinsons  5875       19 total_updrs
    solar       1066       10 c_class_flares
    wine        1599       11 alcohol
    ========== ===== ======== ====================

    Parameters
    ----------
    name : str
        Name of the set, one of `UCI_NAMES`.
    target : str, default=None
        Another column as the target; the usual target then joins the features. For wine,
        ``target="quality"`` is what the UCI repository itself proposes.
    folds : {"embedded", "paper"}, default="embedded"
        "embedded" gives the values as they were published and folds shuffled from a fixed seed, the
        same on every machine. "paper" gives data and folds from the files of `uci_datasets
        <https://github.com/treforevans/uci_datasets>`_, on which published tables rest: the same
        rows, most sets in another order, each column mean-centred and rounded to five significant
        digits, and the patient number among the features of parkinsons (so 20 of them).
    data_home : path, default=None
        Folder with ``uci/<name>/data.csv.gz`` and ``uci/<name>/test_mask.csv.gz``, read with
        ``folds="paper"`` only. None takes the environment variable ``CONDRISK_DATA_HOME`` or else a
        folder in the user's cache. Files that are not there are downloaded with pooch
        (``pip install "condrisk[download]"``), and all are checked against their checksums.

    Returns
    -------
    UCIDataset
        With ``data``, ``target``, ``feature_names``, ``target_name``, ``units``, ``folds``,
        ``groups`` and ``descr``.

    Notes
    -----
    parkinsons has about 140 rows of each of 42 patients, and plain folds, these as well as the
    paper's, put rows of one patient on both sides. Age, sex and test time tell patients apart, so a
    model can look the patient up: a random forest has a mean squared error of 2.7 on the embedded
    folds and of 190 on patients it has not seen, where the variance of the target is 114. For an
    honest figure split by ``groups``, with scikit-learn's ``GroupKFold`` for instance.

    78 % of the test rows of solar and 26 % of those of wine have an exact copy in training.

    Examples
    --------
    >>> from condrisk.datasets import load_uci
    >>> wine = load_uci("wine")
    >>> wine.data.shape, wine.target_name, wine.units["alcohol"]
    ((1599, 11), 'alcohol', '% vol')
    >>> train, test = wine.folds[0]
    >>> len(train), len(test)
    (1439, 160)
    >>> load_uci("wine", target="quality").feature_names[-1]
    'alcohol'
    """
    _check_choice("name", name, UCI_NAMES)
    _check_choice("folds", folds, ("embedded", "paper"))
    entry = _catalogue()[name]
    names = [column[0] for column in entry["columns"]]
    if folds == "paper":
        table, splits = read_paper_files(name, data_home)
    else:
        table = _read_embedded(name)
        splits = _shuffled_folds(len(table))
    groups = None
    if entry["groups"]:
        groups = np.unique(table[:, 0], return_inverse=True)[1] + 1
        if folds == "paper":
            names.insert(0, entry["groups"])  # a feature there, and in the tables that rest on it
        else:
            table = table[:, 1:]
    target = names[-1] if target is None else target
    _check_choice("target", target, names)
    chosen = names.index(target)
    return UCIDataset(
        name=name,
        data=np.delete(table, chosen, axis=1),
        target=table[:, chosen].copy(),
        feature_names=names[:chosen] + names[chosen + 1 :],
        target_name=target,
        units={column: unit for column, unit, _ in entry["columns"] if unit},
        folds=splits,
        groups=groups,
        descr=_describe(entry, centred=folds == "paper"),
    )


def _check_choice(argument: str, value: object, valid: Sequence[str]) -> None:
    if value not in valid:
        raise ValueError(f"{argument} must be one of {', '.join(valid)}; got {value!r}")


def _catalogue() -> dict[str, dict[str, Any]]:
    path = files("condrisk.datasets") / "data" / "catalogue.json"
    return json.loads(path.read_text(encoding="utf-8"))


def _read_embedded(name: str) -> NDArray[np.float64]:
    path = files("condrisk.datasets") / "data" / f"{name}.csv.gz"
    with path.open("rb") as packed, gzip.open(packed, "rt", encoding="ascii") as text:
        return np.loadtxt(text, delimiter=",", skiprows=1)


def _shuffled_folds(n_rows: int) -> list[Fold]:
    # Sorting raw bits: numpy keeps the stream of a bit generator for ever, but not what
    # Generator.permutation makes of it.
    order = np.argsort(np.random.PCG64(_FOLD_SEED).random_raw(n_rows), kind="stable")
    fold_of_row = np.empty(n_rows, dtype=int)
    fold_of_row[order] = np.arange(n_rows) % _N_FOLDS
    return [
        (np.flatnonzero(fold_of_row != fold), np.flatnonzero(fold_of_row == fold))
        for fold in range(_N_FOLDS)
    ]


def _describe(entry: dict[str, Any], *, centred: bool) -> str:
    columns = [
        f"  {name}{f' [{unit}]' if unit else ''}: {meaning}"
        for name, unit, meaning in entry["columns"]
    ]
    lines = [
        f"{entry['title']}: {entry['about']}",
        "",
        f"{entry['rows']} rows. Columns, the usual target last:",
        *columns,
        "",
        f"Source: {entry['source']}.",
        f"Licence: {entry['licence']}.",
        f"Taken from the Python package {entry['package']}. {entry['notes']}",
    ]
    if centred:
        lines[-1] = "Data and folds of uci_datasets: every column is mean-centred"
        lines[-1] += f", and the {entry['groups']} is feature 0." if entry["groups"] else "."
    return "\n".join(lines)
