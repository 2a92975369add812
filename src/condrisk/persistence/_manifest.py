"""The manifest of a model file: plain data that can be read without opening the model."""

from __future__ import annotations

import os
import platform
from collections.abc import Callable
from importlib.metadata import version
from typing import Any

import condrisk
from condrisk._files import open_model_file
from condrisk.persistence._archive import MANIFEST, MOST_MANIFEST_BYTES, Archive
from condrisk.persistence._schema import Schema
from condrisk.persistence._trust import version_of

# Raised whenever older versions of condrisk could no longer read what newer ones write.
FORMAT = 2
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
        Plain data: format, versions, what has to be trusted, task, target, loss, cost, rule,
        predictor, schema, figures. It is what the author of the file wrote.

    Raises
    ------
    ModelFileError
        Where it is not a model file, or one of another format.
    """
    with open_model_file(path) as file:
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
        Schema.from_dict(manifest["schema"])
    except (ValueError, TypeError, AttributeError):
        archive.refuse("is damaged: its manifest does not describe columns")
    return manifest


def check_versions(archive: Archive, manifest: dict[str, Any]) -> None:
    """Refuse a model that another scikit-learn has fitted, or another version of what it trusts.

    Their insides may be different; patch releases are taken to be alike.
    """
    theirs = {"scikit-learn": manifest["versions"].get("scikit-learn")}
    ours: dict[str, str | None] = {"scikit-learn": version("scikit-learn")}
    for name, number in manifest["trusted"].items():
        package = name.removeprefix("function:").partition(".")[0]
        theirs[package], ours[package] = number, version_of(name)
    for package, number in theirs.items():
        here = ours[package]
        if number is not None and _minor(str(number)) != _minor(str(here)):
            found = "is not installed" if here is None else f"{here} is installed"
            archive.refuse(
                f"was written with {package[:40]} {str(number)[:20]}, and {found}: fit the model "
                f"again, or install that version"
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
    return isinstance(value, str | int | float)


def _figure(value: Any) -> bool:
    return isinstance(value, dict) and all(_number(value.get(k)) for k in ("value", "low", "high"))


def _evaluation(value: Any) -> bool:
    optional = ("deferral_rate", "deferral_loss", "always", "accepted_loss")
    return (
        isinstance(value, dict)
        and _figure(value.get("never"))
        and isinstance(value.get("rows"), int)
        and all(value.get(key) is None or _figure(value[key]) for key in optional)
    )


def _trusted(value: Any) -> bool:
    return isinstance(value, dict) and all(map(_optional(_text), value.values()))


def _profile(value: Any) -> bool:
    return isinstance(value, list) and all(
        isinstance(group, list) and len(group) == 6 and all(map(_number, group)) for group in value
    )


_KEYS: dict[str, Callable[[Any], bool]] = {
    "condrisk": _text,
    "versions": lambda value: isinstance(value, dict),
    "trusted": _trusted,
    "created": _text,
    "task": lambda value: value in ("regression", "classification"),
    "target": _optional(_text),
    "loss": _text,
    "cost": _optional(_number),
    "rule": _optional(_text),
    "predictor": _text,
    "schema": lambda value: isinstance(value, dict),
    "classes": _optional(lambda value: isinstance(value, list) and all(map(_label, value))),
    "evaluation": _optional(_evaluation),
    "profile": _optional(_profile),
}
