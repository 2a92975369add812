"""Estimated against realised loss by chunk, as `condrisk monitor` says it, beside DLE and CBPE.

    pip install nannyml==0.13.1 condrisk[app]   # in an environment of its own: no dependency
    python -m benchmarks.monitoring             # writes results/monitoring.json
    python -m benchmarks.monitoring drift       # writes results/monitoring_drift.json

What is judged is what the commands run: `condrisk fit TABLE --target y --task … --cost 1` and
otherwise defaults, and `condrisk monitor MODEL NEW --rows 200` on rows without labels; here as the
functions that the commands call. Written down before the first run:

Sets (12). Squared error of numbers, beside NannyML's Direct Loss Estimation (DLE): the eight
embedded sets and scikit-learn's diabetes. Share of wrong answers, beside NannyML's Confidence-Based
Performance Estimation (CBPE): whether the quality of a wine is above 5, breast cancer, digits.

Splits (10, seeds 200 to 209). 70 % of the rows are the table that `fit` gets, of which it keeps
20 % back; 30 % are the pool that new rows come from. NannyML gets the predictor of that model, and
as its reference the rows kept back: those that the predictor has not seen, as its documentation
asks.

Shifts. A chunk has 200 rows of the pool, or a third of a pool of fewer than 600, drawn without
replacement with weights exp(a·s), s the first principal score of the standardised features of the
table, a = −2, −1, −0.5, 0, 0.5, 1, 2, three chunks each. Labels given x do not change: this is
covariate shift. A first version drew with replacement. At |a| = 2 a chunk then had 75 different
rows on average, each with its label up to dozens of times, and its realised mean varied far more
than that of 200 new rows, which is what a band is for. That was seen, and changed, on other tasks.

Rivals. DLE with LightGBM tuned on the reference: of six settings, among them its default, the one
of the least squared error of the losses in four-fold cross-validation. CBPE, which calibrates the
predictor's probabilities on the reference, has nothing to tune. And the mean loss of the reference,
which knows of no shift.

Judged by |estimated − realised|, the mean over chunks, of each split and set. Pooled: the mean over
sets of the mean over splits of log(ours/NannyML's), with a 95 % interval by Student's t over sets.
By set: the t-test over splits with Nadeau and Bengio's correction and Holm's for 12 sets.

Real drift, with predictions that come from elsewhere (`fit --predictions`), from NannyML's wheel:
employment in Massachusetts (`employment_MA`: reference of 2015, then 41 chunks of 5,000) and
California housing (its modified version, chunks of 600). The predictor's probability is a column
of the table. CBPE gets the same reference.

Settings were chosen on other tasks: another column of each embedded set as the target, and whether
that is above its median, for the seeds 100 to 111.
"""

from __future__ import annotations

import json
import os
import sys
import time
import warnings
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits
from sklearn.decomposition import PCA
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from condrisk._files import write_whole
from condrisk.app.models import TableModel, fit_table
from condrisk.app.monitor import Monitoring, monitor
from condrisk.app.tables import check_rows
from condrisk.datasets import UCI_NAMES, load_uci
from condrisk.paper._records import describe_machine, installed_versions

RECORD = Path(__file__).resolve().parents[1] / "results" / "monitoring.json"
DRIFT_RECORD = RECORD.with_name("monitoring_drift.json")
Floats = NDArray[np.float64]

CONFIG: dict[str, Any] = {
    "first_seed": 200,
    "seeds": 10,
    "shares": [0.7, 0.3],
    "strengths": [-2.0, -1.0, -0.5, 0.0, 0.5, 1.0, 2.0],
    "chunks_per_strength": 3,
    "chunk_rows": 200,
    "replace": False,
}
LIGHTGBM: tuple[dict[str, Any], ...] = (
    {},
    {"num_leaves": 7, "n_estimators": 50},
    {"num_leaves": 7, "n_estimators": 100},
    {"num_leaves": 4, "n_estimators": 30},
    {"num_leaves": 15, "min_child_samples": 10, "n_estimators": 200, "learning_rate": 0.05},
    {"num_leaves": 4, "min_child_samples": 40, "n_estimators": 100, "learning_rate": 0.05},
)


def sets() -> dict[str, tuple[Floats, NDArray[Any]]]:
    """Return features and targets by name; targets that are text are classes."""
    found: dict[str, tuple[Floats, NDArray[Any]]] = {}
    for name in UCI_NAMES:
        data = load_uci(name)
        found[name] = (data.data, data.target.astype(float))
    diabetes, wine = load_diabetes(), load_uci("wine", target="quality")
    cancer, digits = load_breast_cancer(), load_digits()
    found["diabetes"] = (diabetes.data, diabetes.target)
    found["wine quality > 5"] = (wine.data, np.where(wine.target > 5, "good", "poor"))
    found["breast cancer"] = (cancer.data, cancer.target_names[cancer.target])
    found["digits"] = (digits.data, np.array([f"d{k}" for k in digits.target]))
    return found


def shifted_chunks(X: Floats, table: Any, pool: Any, seed: int) -> NDArray[np.intp]:
    """Return the rows of each chunk, all different, strength by strength."""
    score = make_pipeline(StandardScaler(), PCA(1, random_state=0)).fit(X[table])
    s = score.transform(X[pool])[:, 0] / score.transform(X[table])[:, 0].std()
    rng = np.random.default_rng([seed, 1])
    size = min(CONFIG["chunk_rows"], len(pool) // 3)
    chunks = []
    for strength in CONFIG["strengths"]:
        weight = np.exp(strength * s - np.max(strength * s))
        for _ in range(CONFIG["chunks_per_strength"]):
            chunks.append(rng.choice(pool, size, replace=False, p=weight / weight.sum()))
    return np.array(chunks)


def run(name: str, X: Floats, y: NDArray[Any], seed: int) -> dict[str, Any]:
    """Return what everybody says of the chunks of a split."""
    frame = pl.DataFrame({f"x{j}": X[:, j] for j in range(X.shape[1])} | {"y": y})
    order = np.random.default_rng([seed, 0]).permutation(len(y))
    table, pool = np.split(order, [round(CONFIG["shares"][0] * len(y))])
    chunks = shifted_chunks(X, table, pool, seed)
    rows = chunks.ravel()
    started = time.perf_counter()
    task = "regression" if y.dtype.kind == "f" else "classification"
    model = fit_table(frame[table], target="y", task=task, cost=1.0)
    found = monitor(model, frame[rows].drop("y"), rows=chunks.shape[1])
    middle = time.perf_counter()
    given = known_rows(model, frame[rows].drop("y"))
    reference = reference_rows(model)
    size = chunks.shape[1]
    rival, theirs = nannyml_says(model, reference, given, size, tuned=True)
    seconds = {"condrisk": middle - started, rival: time.perf_counter() - middle}
    good = check_rows(model.schema, frame[rows]).good
    realised = model.loss_values(good, frame["y"][rows]).reshape(chunks.shape).mean(axis=1)
    strengths = np.repeat(CONFIG["strengths"], CONFIG["chunks_per_strength"]).tolist()
    found_record = record(name, found, realised, rival, theirs, seconds)
    return found_record | {"seed": seed, "strength": strengths, "reference_rows": len(reference)}


def record(
    name: str,
    found: Monitoring,
    realised: Floats,
    rival: str,
    theirs: Floats,
    seconds: dict[str, float],
) -> dict[str, Any]:
    """Return a line of the record."""
    expected = [chunk.expected for chunk in found.chunks]
    return {
        "set": name,
        "loss": found.loss,
        "realised": realised.tolist(),
        "low": [one.low for one in expected],
        "high": [one.high for one in expected],
        "estimated": {
            "condrisk": [one.mean for one in expected],
            rival: theirs.tolist(),
            "mean of the reference": [found.reference["mean_loss"]] * len(expected),
        },
        "mean_risk": [one.risk for one in expected],
        "seconds": seconds,
    }


# -- NannyML --------------------------------------------------------------------------------------


def known_rows(model: TableModel, frame: pl.DataFrame) -> Any:
    """Return rows as NannyML takes them: features, predictions, and probabilities of classes."""
    good = check_rows(model.schema, frame).good
    found = good.to_pandas()
    found["y_pred"] = model.decide(good).prediction
    if model.classes is not None:
        for k, column in enumerate(model.class_probabilities(good).T):
            found[f"p{k}"] = column
    return found


def reference_rows(model: TableModel) -> Any:
    """Return the rows that `fit` kept back, with their targets."""
    X, y = model.reference[:2]
    frame = pl.DataFrame({column.name: X[:, k] for k, column in enumerate(model.schema.columns)})
    found = known_rows(model, frame)
    found["y_true"] = y
    return found


def nannyml_says(
    model: TableModel, reference: Any, rows: Any, size: int, *, tuned: bool
) -> tuple[str, Floats]:
    """Return the name of NannyML's method and its estimate of each chunk."""
    import nannyml

    known = {"y_pred": "y_pred", "y_true": "y_true", "chunk_size": size}
    features = list(model.schema.names)
    if model.classes is None:
        settings = tuned_lightgbm(reference, [*features, "y_pred"]) if tuned else {}
        method, metric, name = (
            nannyml.DLE(
                feature_column_names=features,
                metrics=["mse"],
                hyperparameters={"n_jobs": 1, "verbose": -1, **settings},
                **known,
            ),
            "mse",
            "DLE",
        )
    else:
        several = len(model.classes) > 2
        if several:
            columns: Any = {label: f"p{k}" for k, label in enumerate(model.classes)}
        else:  # of two classes NannyML takes numbers only
            columns = "p1"
            for table in (reference, rows):
                for column in {"y_pred", "y_true"} & set(table.columns):
                    table[column] = (table[column] == model.classes[1]).astype(int)
        kind = "classification_multiclass" if several else "classification_binary"
        method, metric, name = (
            nannyml.CBPE(problem_type=kind, y_pred_proba=columns, metrics=["accuracy"], **known),
            "accuracy",
            "CBPE",
        )
    found = method.fit(reference).estimate(rows).filter(period="analysis").to_df()
    values = found[(metric, "value")].to_numpy(float)
    return name, values if model.classes is None else 1 - values


def tuned_lightgbm(reference: Any, features: list[str]) -> dict[str, Any]:
    """Return the setting that estimates the losses of the reference best, out of fold."""
    from lightgbm import LGBMRegressor

    losses = (reference["y_true"] - reference["y_pred"]) ** 2
    scores = [
        cross_val_score(
            LGBMRegressor(n_jobs=1, verbose=-1, **settings),
            reference[features],
            losses,
            cv=4,
            scoring="neg_mean_squared_error",
        ).mean()
        for settings in LIGHTGBM
    ]
    return LIGHTGBM[int(np.argmax(scores))]


# -- real drift -----------------------------------------------------------------------------------


def drift_sets() -> dict[str, tuple[Any, Any, str, str, int]]:
    """Return reference and new rows, names of target and probability, and the size of a chunk."""
    from nannyml import datasets

    old, new, target = datasets.load_us_census_ma_employment_data()
    new = new.merge(target, on="id").drop(columns=["id", "year"])
    old = old.drop(columns=["id", "year"])
    old, new = (part.rename(columns={"prediction": "y_pred"}) for part in (old, new))
    found = {"employment_MA": (old, new, "employed", "predicted_probability", 5000)}
    old, new, target = datasets.load_modified_california_housing_dataset()
    new = new.merge(target, on="id")
    old, new = (
        part.drop(
            columns=[c for c in part.columns if c in ("id", "timestamp", "period", "partition")]
        )
        for part in (old, new)
    )
    found["California housing"] = (old, new, "clf_target", "y_pred_proba", 600)
    return found


def run_drift(name: str, old: Any, new: Any, target: str, proba: str, size: int) -> dict[str, Any]:
    """Return what both say of chunks of rows in the order of time."""
    import nannyml

    words = {0: "no", 1: "yes"}
    tables = []
    for part in (old, new):
        text = part.copy()
        for column in text.columns:
            if str(text[column].dtype) == "category":
                text[column] = "c" + text[column].astype(str)
        for column in (target, "y_pred"):
            text[column] = text[column].astype(int).map(words).astype(str)
        tables.append(pl.from_pandas(text))
    started = time.perf_counter()
    model = fit_table(tables[0], target=target, predictions="y_pred", cost=1.0)
    found = monitor(model, tables[1].drop(target), rows=size)
    middle = time.perf_counter()
    cbpe = nannyml.CBPE(
        problem_type="classification_binary",
        y_pred="y_pred",
        y_pred_proba=proba,
        y_true=target,
        metrics=["accuracy"],
        chunk_size=size,
    ).fit(old)
    values = cbpe.estimate(new.drop(columns=target)).filter(period="analysis").to_df()
    theirs = 1 - values[("accuracy", "value")].to_numpy(float)
    seconds = {"condrisk": middle - started, "CBPE": time.perf_counter() - middle}
    wrong = (new[target] != new["y_pred"]).to_numpy(float)
    ends = np.arange(0, len(wrong), size)
    realised = np.add.reduceat(wrong, ends) / np.diff(np.append(ends, len(wrong)))
    n = min(len(realised), len(theirs), len(found.chunks))
    line = record(name, found, realised, "CBPE", theirs, seconds)
    for part in (line["realised"], line["low"], line["high"], *line["estimated"].values()):
        del part[n:]
    # The realised mean of a chunk is itself a draw: what no estimate can be nearer than.
    noise = np.sqrt(realised * (1 - realised) / size)[:n]
    return line | {"noise_floor": float(np.mean(np.sqrt(2 / np.pi) * noise))}


def main() -> None:
    """Run the splits that are not in the record yet, and write it after each."""
    content = json.loads(RECORD.read_text(encoding="utf-8")) if RECORD.exists() else {}
    if content.get("config") != CONFIG:
        content = {"config": CONFIG, "records": []}
    content |= about()
    done = {(line["set"], line["seed"]) for line in content["records"]}
    for seed in range(CONFIG["first_seed"], CONFIG["first_seed"] + CONFIG["seeds"]):
        for name, (X, y) in sets().items():
            if (name, seed) not in done:
                content["records"].append(run(name, X, y, seed))
        write_whole(RECORD, json.dumps(content) + "\n")
        print(f"{time.strftime('%H:%M:%S')} seed {seed}", file=sys.stderr, flush=True)


def drift() -> None:
    """Run the sets with real drift."""
    content: dict[str, Any] = about() | {"records": []}
    for name, parts in sorted(drift_sets().items()):
        content["records"].append(run_drift(name, *parts))
        write_whole(DRIFT_RECORD, json.dumps(content) + "\n")
        print(f"{time.strftime('%H:%M:%S')} {name}", file=sys.stderr, flush=True)


def about() -> dict[str, Any]:
    """Return versions and machine."""
    versions = installed_versions() | {n: version(n) for n in ("nannyml", "lightgbm")}
    return {"versions": versions, "machine": describe_machine()}


if __name__ == "__main__":
    os.environ["NML_DISABLE_USAGE_LOGGING"] = "1"
    warnings.simplefilter("ignore")  # of NannyML and LightGBM, about chunks and feature names
    drift() if sys.argv[1:] == ["drift"] else main()
