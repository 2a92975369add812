"""The manifest of a model file: plain data that can be read without opening the model."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Callable
from importlib.metadata import version
from typing import Any

import condrisk
from condrisk._files import open_model_file
from condrisk.persistence._archive import MANIFEST, MOST_MANIFEST_BYTES, Archive
from condrisk.persistence._kinds import MOST_LABELS, MOST_OUTPUTS
from condrisk.persistence._routing_manifest import fits_manifest
from condrisk.persistence._schema import Schema
from condrisk.persistence._trust import version_of

# Raised whenever older versions of condrisk could no longer read what newer ones write.
FORMAT = 3
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
    if not _optional(_held_out)(manifest.setdefault("held_out", None)):
        archive.refuse("is damaged: its manifest does not describe held-out rows as it should")
    if manifest["task"] == "routing" and not fits_manifest(manifest.get("routing")):
        archive.refuse("is damaged: its manifest has no routing, or not as it should be")
    try:
        Schema.from_dict(manifest["schema"])
    except (ValueError, TypeError, AttributeError):
        archive.refuse("is damaged: its manifest does not describe columns")
    return manifest


def check_versions(archive: Archive, manifest: dict[str, Any], used: set[str]) -> None:
    """Refuse a model of another scikit-learn, or of another version of what it needs trust in.

    Their insides may be different; patch releases are taken to be alike. `used` is what the file
    needs trust in, whatever its manifest says.
    """
    theirs = {"scikit-learn": manifest["versions"].get("scikit-learn")}
    ours: dict[str, str | None] = {"scikit-learn": version("scikit-learn")}
    for name in sorted(used):
        package = name.removeprefix("function:").partition(".")[0]
        theirs[package], ours[package] = manifest["trusted"].get(name), version_of(name)
    for package, number in theirs.items():
        here = ours[package]
        if _minor(str(number)) != _minor(str(here)):
            found = "is not installed" if here is None else f"{here} is installed"
            archive.refuse(
                f"was written with {package[:40]} {str(number)[:20]}, and {found}: fit the model "
                f"again, or install that version"
            )


def _minor(text: str) -> list[str]:
    return text.split(".")[:2]


# Longer texts, and more of anything, than models have.
_MOST_TEXT, _MOST_VERSIONS, _MOST_TRUSTED, _MOST_GROUPS = 10_000, 100, 1_000, 200


def _name(value: Any) -> bool:
    """Tell whether something may be the name of a column, in which any letters may stand."""
    return isinstance(value, str) and len(value) <= _MOST_TEXT


def _text(value: Any) -> bool:
    """Tell whether something is text that a terminal shows, and obeys nothing in."""
    return _name(value) and value.isprintable()


def _number(value: Any) -> bool:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return is_number and abs(value) <= sys.float_info.max


def _count(value: Any) -> bool:
    return type(value) is int and 1 <= value < 2**63


def _versions(value: Any) -> bool:
    return (
        isinstance(value, dict)
        and len(value) <= _MOST_VERSIONS
        and all(_text(name) and _text(number) for name, number in value.items())
    )


def _optional(kind: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: value is None or kind(value)


def _label(value: Any) -> bool:
    return _name(value) or isinstance(value, int | float)


def _labels(value: Any) -> bool:
    return isinstance(value, list) and len(value) <= MOST_LABELS and all(map(_label, value))


def _figure(value: Any) -> bool:
    return isinstance(value, dict) and all(_number(value.get(k)) for k in ("value", "low", "high"))


def _evaluation(value: Any) -> bool:
    optional = ("deferral_rate", "deferral_loss", "always", "accepted_loss")
    return (
        isinstance(value, dict)
        and _figure(value.get("never"))
        and _count(value.get("rows"))
        and all(_text(value.get(key, "")) for key in ("interval",))
        and all(value.get(key) is None or _figure(value[key]) for key in optional)
        and _optional(_savings)(value.get("savings"))
        and _optional(_calibration)(value.get("calibration"))
    )


def _savings(value: Any) -> bool:
    figures = ("always", "never", "below_always", "below_never", "below_rival")
    return (
        isinstance(value, dict)
        and all(_figure(value.get(key)) for key in figures)
        and _number(value.get("deferral_rate"))
        and _text(value.get("choice"))
        and _text(value.get("rival"))
    )


def _calibration(value: Any) -> bool:
    numbers = ("mean_loss", "mean_risk", "error", "noise", "p_value", "n_rows")
    return (
        isinstance(value, dict)
        and all(_number(value.get(key)) for key in numbers)
        and _figure(value.get("difference"))
        and _optional(_figure)(value.get("excess"))
        and all(isinstance(value.get(key), bool) for key in ("level_is_off", "shape_is_off"))
    )


def _trusted(value: Any) -> bool:
    return (
        isinstance(value, dict)
        and len(value) <= _MOST_TRUSTED
        and all(_text(name) and _optional(_text)(number) for name, number in value.items())
    )


def _profile(value: Any) -> bool:
    return (
        isinstance(value, list)
        and len(value) <= _MOST_GROUPS
        and all(isinstance(g, list) and len(g) == 6 and all(map(_number, g)) for g in value)
    )


def _held_out(value: Any) -> bool:
    return (
        isinstance(value, dict)
        and all(_numbers(value.get(key)) for key in ("risk", "loss"))
        and len(value["risk"]) == len(value["loss"]) > 0
        and _optional(_profile)(value.get("fit_profile"))
        and isinstance(value.get("same_predictor"), bool)
        and isinstance(value.get("columns"), list)
        and all(map(_binned_column, value["columns"]))
    )


def _numbers(value: Any) -> bool:
    return isinstance(value, list) and all(map(_number, value))


def _binned_column(value: Any) -> bool:
    return (
        isinstance(value, dict)
        and _text(value.get("name"))
        and isinstance(value.get("is_category"), bool)
        and all(_numbers(value.get(key)) for key in ("edges", "count", "effect"))
        and len(value["count"]) == len(value["effect"]) == len(value["edges"]) + 2
    )


_KEYS: dict[str, Callable[[Any], bool]] = {
    "condrisk": _text,
    "versions": _versions,
    "trusted": _trusted,
    "created": _text,
    "task": lambda value: value in ("regression", "classification", "routing"),
    "target": _optional(_name),
    "outputs": lambda value: _count(value) and value <= MOST_OUTPUTS,
    "loss": _text,
    "cost": _optional(_number),
    "cost_column": _optional(_name),
    "rule": _optional(_text),
    "predictor": _text,
    "schema": lambda value: isinstance(value, dict),
    "classes": _optional(_labels),
    "evaluation": _optional(_evaluation),
    "profile": _optional(_profile),
}
