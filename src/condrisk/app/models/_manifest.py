"""The manifest of a model file: plain data that can be read without opening the model."""

from __future__ import annotations

import os
import platform
from collections.abc import Callable
from importlib.metadata import version
from typing import Any

import condrisk
from condrisk.app._paths import open_model
from condrisk.app.models._archive import MANIFEST, MOST_MANIFEST_BYTES, Archive
from condrisk.app.tables import Schema, TableError

# Raised whenever older versions of condrisk could no longer read what newer ones write.
FORMAT = 1
_PACKAGES = ("numpy", "scikit-learn", "skops")


def installed_versions() -> dict[str, Any]:
    """Return the versions that a model file is written with."""
    versions = {"python": platform.python_version()}
    versions |= {name: version(name) for name in _PACKAGES}
    return {"condrisk": condrisk.__version__, "versions": versions}


def read_manifest(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Read what a model file says about itself, without opening the model.

    Parameters
    ----------
    path : path
        A model file.

    Returns
    -------
    dict
        Plain data: format, versions, task, target, loss, cost, rule, predictor, columns, figures.

    Raises
    ------
    ModelFileError
        Where it is not a model file, or one of another format.
    """
    with open_model(path) as file:
        return manifest_of(Archive(file, str(path)))


def manifest_of(archive: Archive) -> dict[str, Any]:
    """Return the manifest of an archive if it is one that this version can read."""
    manifest = archive.json(MANIFEST, most=MOST_MANIFEST_BYTES)
    if not isinstance(manifest, dict) or not isinstance(manifest.get("format"), int):
        archive.refuse("is damaged: its manifest says nothing of a format")
    if manifest["format"] != FORMAT:
        archive.refuse(
            f"is a model file of format {manifest['format']}, and this version of condrisk reads "
            f"format {FORMAT}: fit the model again, or use the version that wrote it"
        )
    for key, fits in _KEYS.items():
        if key not in manifest or not fits(manifest[key]):
            archive.refuse(f"is damaged: its manifest has no {key}, or not as it should be")
    try:
        schema = Schema.from_dict(manifest["schema"])
    except (TableError, TypeError, AttributeError):
        archive.refuse("is damaged: its manifest does not describe columns")
    if manifest["prediction_column"] not in (None, *schema.names):
        archive.refuse("is damaged: the column of predictions is not among its columns")
    return manifest


def check_versions(archive: Archive, manifest: dict[str, Any]) -> None:
    """Refuse a model that another scikit-learn has fitted: its insides may be different."""
    theirs, ours = str(manifest["versions"].get("scikit-learn")), version("scikit-learn")
    if _minor(theirs) != _minor(ours):
        archive.refuse(
            f"was fitted with scikit-learn {theirs[:20]}, and {ours} is installed: fit it again, "
            f"or install that version"
        )


def _minor(text: str) -> list[str]:
    return text.split(".")[:2]


def _text(value: Any) -> bool:
    return isinstance(value, str)


def _number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _optional(kind: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: value is None or kind(value)


def _label(value: Any) -> bool:
    return isinstance(value, str | int)


def _figure(value: Any) -> bool:
    return isinstance(value, dict) and all(_number(value.get(k)) for k in ("value", "low", "high"))


def _evaluation(value: Any) -> bool:
    optional = ("deferral_loss", "always", "accepted_loss")
    return (
        isinstance(value, dict)
        and all(_figure(value.get(key)) for key in ("deferral_rate", "never"))
        and all(value.get(key) is None or _figure(value[key]) for key in optional)
    )


def _profile(value: Any) -> bool:
    return isinstance(value, list) and all(
        isinstance(group, list) and len(group) == 6 and all(map(_number, group)) for group in value
    )


_KEYS: dict[str, Callable[[Any], bool]] = {
    "condrisk": _text,
    "versions": lambda value: isinstance(value, dict),
    "created": _text,
    "task": lambda value: value in ("regression", "classification"),
    "target": _optional(_text),
    "loss": _text,
    "cost": _optional(_number),
    "rule": _text,
    "predictor": _text,
    "prediction_column": _optional(_text),
    "schema": lambda value: isinstance(value, list) and len(value) > 0,
    "rows": lambda value: isinstance(value, int),
    "classes": _optional(lambda value: isinstance(value, list) and all(map(_label, value))),
    "evaluation": _evaluation,
    "profile": _profile,
    "example": lambda value: isinstance(value, dict),
}
