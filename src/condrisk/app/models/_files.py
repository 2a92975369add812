"""Model files: skops around plain data, checked before and after loading; never code."""

from __future__ import annotations

import io
import os
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from sklearn.exceptions import InconsistentVersionWarning
from threadpoolctl import threadpool_limits

from condrisk._files import write_whole
from condrisk.app._errors import ModelFileError
from condrisk.app._paths import open_model
from condrisk.app.models._archive import Archive
from condrisk.app.models._audit import audit
from condrisk.app.models._manifest import check_versions, manifest_of
from condrisk.app.models._pack import pack
from condrisk.app.models._table_model import TableModel
from condrisk.app.models._validate import BadModelError, validate
from condrisk.deferral import Deferral


def save_model(model: TableModel, path: str | os.PathLike[str]) -> None:
    """Write a model to a file, whole or not at all.

    Parameters
    ----------
    model : TableModel
        What `fit_table` gave.
    path : path
        Where to, by custom with the ending ``.skops``; a file that is there is replaced.

    Raises
    ------
    ModelFileError
        Where the model holds something that could not be loaded again.

    Notes
    -----
    The file is a zip archive: a manifest, which `read_manifest` shows, and what skops makes of
    the model. It holds no row of the table, but what models learn from rows: thresholds, means,
    names of categories; and for ``predictor="auto"`` the rows of a Gaussian process.
    """
    path = Path(path)
    data = pack(model.model, model.manifest)
    audit(Archive(io.BytesIO(data), str(path)))
    try:
        write_whole(path, data)
    except OSError as error:
        raise ModelFileError(f"{path} cannot be written: {error.strerror}.") from None


def load_model(path: str | os.PathLike[str]) -> TableModel:
    """Load a model from a file, if nothing in it could do harm.

    Parameters
    ----------
    path : path
        A model file.

    Returns
    -------
    TableModel
        As it was saved.

    Raises
    ------
    ModelFileError
        Where the file is damaged, of another version, or holds anything that is not on a short
        list of types; then nothing of it has run.

    Examples
    --------
    >>> import numpy as np
    >>> import polars as pl
    >>> from pathlib import Path
    >>> from tempfile import mkdtemp
    >>> from condrisk.app.models import fit_table, load_model, save_model
    >>> rng = np.random.default_rng(0)
    >>> frame = pl.DataFrame({"x": rng.normal(size=100), "y": rng.normal(size=100)})
    >>> path = Path(mkdtemp()) / "model.skops"
    >>> save_model(fit_table(frame, target="y", cost=1.0, predictor="linear"), path)
    >>> load_model(path)
    TableModel(regression of 'y', ridge regression, and a log-linear model for the risk)
    """
    with open_model(path) as file:
        data = file.read()  # what is looked through is then what is loaded
    archive = Archive(io.BytesIO(data), str(path))
    manifest = manifest_of(archive)
    check_versions(archive, manifest)
    types = audit(archive)
    return _checked(archive, _construct(archive, data, types), manifest)


def _construct(archive: Archive, data: bytes, types: list[str]) -> Any:
    from skops import io as skops_io

    try:
        with warnings.catch_warnings():
            # Patch releases of scikit-learn may differ; others were refused.
            warnings.simplefilter("ignore", InconsistentVersionWarning)
            return skops_io.loads(data, trusted=types)
    except Exception as error:
        archive.refuse(f"is damaged: {_first_line(error)}")


def _checked(archive: Archive, model: Any, manifest: dict[str, Any]) -> TableModel:
    """Return the model if its parts are sound and fit what the manifest says of it."""
    try:
        validate(model)
        loaded = TableModel(model, manifest)
        _check_agreement(loaded)
        _check_example(loaded)
    except BadModelError as error:
        archive.refuse(f"{error}")
    except Exception as error:
        archive.refuse(f"is damaged: {_first_line(error)}")
    return loaded


def _check_agreement(loaded: TableModel) -> None:
    model, manifest = loaded.model, loaded.manifest
    classes = getattr(model, "classes_", None)
    agrees = (
        type(model) is Deferral
        and model.n_features_in_ == len(loaded.schema.columns)
        and model.risk_.loss_.name == manifest["loss"]
        and model.cost == manifest["cost"]
        and (None if classes is None else np.asarray(classes).tolist()) == manifest["classes"]
        and (classes is not None) == (manifest["task"] == "classification")
    )
    if not agrees:
        raise BadModelError("holds another model than its manifest says")


def _check_example(loaded: TableModel) -> None:
    """Decide about the example of the manifest: what cannot is not worth keeping."""
    checked = loaded.schema.check(pl.DataFrame([loaded.manifest["example"]]))
    cost = 0.0 if loaded.cost is None else loaded.cost
    with threadpool_limits(1):  # for one row, threads only wait for each other
        risk = loaded.decide(checked.good, cost=cost).risk
    if risk.shape != (1,) or not np.isfinite(risk).all():
        raise BadModelError("holds a model that cannot decide about its own example")


def _first_line(error: BaseException) -> str:
    text = str(error).strip() or type(error).__name__
    return text.splitlines()[0][:200].rstrip(".")
