"""Model files: skops around plain data, checked before and after loading; never code."""

from __future__ import annotations

import io
import os
import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Literal, overload

import numpy as np
from sklearn.exceptions import InconsistentVersionWarning
from threadpoolctl import threadpool_limits

from condrisk._delegate import risk_part
from condrisk._files import ModelFileError, first_line, open_model_file, write_whole
from condrisk.persistence._archive import Archive
from condrisk.persistence._audit import audit
from condrisk.persistence._describe import classes_of, describe_model, outputs_of
from condrisk.persistence._kinds import BadModelError
from condrisk.persistence._manifest import check_versions, manifest_of
from condrisk.persistence._pack import needs_of, pack_file, pack_model
from condrisk.persistence._probe import predictions, typical_columns
from condrisk.persistence._routers import assess_any, is_router
from condrisk.persistence._schema import Schema
from condrisk.persistence._skops import import_skops
from condrisk.persistence._trust import Trust, version_of
from condrisk.persistence._validate import validate

Path_ = str | os.PathLike[str]


def save_model(
    model: Any,
    path: Path_,
    schema: Any = None,
    *,
    target: Any = None,
    reference: Any = None,
    cost_column: str | None = None,
) -> None:
    """Write a fitted model to a file that is not code, whole or not at all.

    Parameters
    ----------
    model : Deferral, risk estimator or ModelRouter
        Fitted; of condrisk, or any class that keeps the contract of a risk estimator. Predictors
        may be of scikit-learn, LightGBM, XGBoost, CatBoost, or a class of torch modules in
        `condrisk.torch`.
    path : path
        Where to, by custom with the ending ``.skops``; a file that is there is replaced.
    schema : pandas.DataFrame, polars.DataFrame, array-like or Schema
        The rows that the model was fitted on. Names, kinds, ranges and categories of their columns
        are kept, no row is. New rows will reach the model in the same container and types.
    target : str or mapping of str to str, optional
        The name of the column that the model predicts: where reports and monitoring find true
        values. For a router: for each model the column with its losses.
    reference : tuple (X, y), (X, y, prediction) or (X, y, prediction, cost), optional
        Rows that neither predictor nor risk was fitted on; for a router (X, losses), with the
        losses of all models. Deferral rate and losses on them are kept with the model, which
        reports and monitoring compare with; without them these need rows of their own. Kept of
        each of them, at most 10,000, are risk and loss; of their columns how many lie in which of
        up to ten bins. Prediction may be None; cost is one cost of deferring for each row.
    cost_column : str, optional
        The name of the column that holds the cost of deferring each row, where each has its own.

    Raises
    ------
    ModelFileError
        Where the model holds something that could not be loaded again, such as a lambda, or does
        not come back as it was.

    See Also
    --------
    load_model : Reads it back.
    condrisk.app.models.fit_table : Fits a model to a table.

    Notes
    -----
    The file is a zip archive: a manifest, which `read_manifest` shows, and what skops makes of the
    model. It holds no training rows of condrisk's own estimators, but what models learn from rows:
    thresholds, means, names of categories; a Gaussian process in `AutoRisk` keeps its rows, and so
    does what is fitted by neighbours. What whoever loads the file has to trust stands in the
    manifest under ``trusted``, with the versions that the model was saved with.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import mkdtemp
    >>> from sklearn.linear_model import LinearRegression
    >>> from condrisk import Deferral, RegressionRisk
    >>> from condrisk.datasets import make_heteroscedastic
    >>> from condrisk.persistence import load_model, save_model
    >>> world = make_heteroscedastic(500, random_state=0)
    >>> risk = RegressionRisk(LinearRegression(), random_state=0)
    >>> model = Deferral(risk, cost=1.0).fit(world.X, world.y)
    >>> path = Path(mkdtemp()) / "model.skops"
    >>> save_model(model, path, schema=world.X)
    >>> bool((load_model(path).decide(world.X).risk == model.decide(world.X).risk).all())
    True
    """
    path = Path(path)
    if schema is None and reference is not None:
        schema = reference[0]
    manifest = describe_model(
        model, schema, target=target, reference=reference, cost_column=cost_column
    )
    members = pack_model(model)
    needs = needs_of(members)
    manifest["trusted"] = {name: version_of(name) for name in needs}
    data = pack_file(members, manifest)
    _check_round_trip(model, manifest, data, needs)
    try:
        write_whole(path, data)
    except OSError as error:
        raise ModelFileError(f"{path} cannot be written: {error.strerror}.") from None


@overload
def load_model(
    path: Path_, trusted: Iterable[str] = ..., *, with_manifest: Literal[False] = ...
) -> Any: ...
@overload
def load_model(
    path: Path_, trusted: Iterable[str] = ..., *, with_manifest: Literal[True]
) -> tuple[Any, dict[str, Any]]: ...
def load_model(path: Path_, trusted: Iterable[str] = (), *, with_manifest: bool = False) -> Any:
    """Load a model from a file, if nothing in it could do harm.

    Parameters
    ----------
    path : path
        A model file.
    trusted : iterable of str
        What may be in the file besides condrisk's own classes and the part of scikit-learn that is
        checked: a package ("lightgbm", "xgboost", "catboost", "sklearn"), which admits a fixed list
        of its classes; the full name of a class, "my_package.MyRisk"; of a function,
        "function:my_package.my_loss". `read_manifest` shows what a file says that it needs.
    with_manifest : bool, default=False
        Whether to return the manifest too.

    Returns
    -------
    model : Deferral or risk estimator
        As it was saved, but for training rows.
    manifest : dict
        Only if `with_manifest`.

    Raises
    ------
    ModelFileError
        Where the file is damaged, of another version, or holds anything that is neither on a short
        list of types nor trusted; then nothing of it has run.

    Notes
    -----
    A file that needs no trust runs no code of its author's. With trust in a package, the file is
    as safe as that package's own loader, which gets bytes from the file. A trusted class gets
    whatever state the file gives it, and a trusted function may be called with anything.
    """
    with open_model_file(path) as file:
        data = file.read()  # what is looked through is then what is loaded
    model, manifest = load_bytes(data, str(path), Trust(trusted))
    return (model, manifest) if with_manifest else model


def load_bytes(data: bytes, name: str, trust: Trust) -> tuple[Any, dict[str, Any]]:
    """Return the model and the manifest in the bytes of a file; `name` is for messages."""
    archive = Archive(io.BytesIO(data), name)
    manifest = manifest_of(archive)
    types, used = audit(archive, trust)
    check_versions(archive, manifest, used)
    model = _construct(archive, data, types)
    try:
        validate(model)
        _check_agreement(model, manifest)
        _risk_of_example(model, manifest)
    except BadModelError as error:
        archive.refuse(f"{error}")
    except Exception as error:
        archive.refuse(f"is damaged: {first_line(error)}")
    return model, manifest


def _construct(archive: Archive, data: bytes, types: list[str]) -> Any:
    skops_io = import_skops()
    try:
        with warnings.catch_warnings():
            # Patch releases of scikit-learn may differ; others were refused.
            warnings.simplefilter("ignore", InconsistentVersionWarning)
            return skops_io.loads(data, trusted=types)
    except Exception as error:
        archive.refuse(f"is damaged: {first_line(error)}")


def _check_agreement(model: Any, manifest: dict[str, Any]) -> None:
    schema = Schema.from_dict(manifest["schema"])
    if is_router(model) or manifest["task"] == "routing":
        _check_router(model, manifest, schema)
        return
    classes = classes_of(model)
    loss = getattr(risk_part(getattr(model, "risk_", model)), "loss_", None)
    agrees = (
        (hasattr(model, "decide") or hasattr(model, "predict_risk"))
        and getattr(model, "n_features_in_", len(schema.columns)) == len(schema.columns)
        and getattr(loss, "name", manifest["loss"]) == manifest["loss"]
        and getattr(model, "cost", None) == manifest["cost"]
        and outputs_of(model) == manifest["outputs"]
        and classes == manifest["classes"]
        and (classes is not None) == (manifest["task"] == "classification")
    )
    if not agrees:
        raise BadModelError("holds another model than its manifest says")


def _check_router(model: Any, manifest: dict[str, Any], schema: Schema) -> None:
    costs = (manifest.get("routing") or {}).get("costs")
    agrees = (
        is_router(model)
        and manifest["task"] == "routing"
        and model.n_features_in_ == len(schema.columns)
        and dict(zip(model.models_, model.costs_.tolist(), strict=True)) == costs
    )
    if not agrees:
        raise BadModelError("holds another router than its manifest says")


def _risk_of_example(model: Any, manifest: dict[str, Any]) -> float:
    """Return the risk of the typical row: a model that cannot estimate that is of no use."""
    schema = Schema.from_dict(manifest["schema"])
    row = typical_columns(schema)
    given = {} if schema.prediction is None else {"prediction": predictions(model, schema, row)}
    with threadpool_limits(1), warnings.catch_warnings():  # for one row, threads only wait
        warnings.simplefilter("ignore")
        found = assess_any(model, schema.rows(row), **given)
    risk = np.asarray(found.risk, dtype=np.float64)
    if risk.shape != (1,) or not np.isfinite(risk).all():
        raise BadModelError("holds a model that cannot estimate the risk of its own typical row")
    return float(risk[0])


def _check_round_trip(model: Any, manifest: dict[str, Any], data: bytes, needs: list[str]) -> None:
    """Refuse a model that does not come back as it was: somebody will rely on the file."""
    back, _ = load_bytes(data, "the model", Trust(needs))
    before, after = _risk_of_example(model, manifest), _risk_of_example(back, manifest)
    if not np.isclose(before, after, rtol=1e-9, atol=1e-12):
        raise ModelFileError(
            f"the model cannot be kept in a file: its risk of a typical row is {before:g}, and "
            f"{after:g} once loaded; its class keeps something outside of its attributes."
        )
