"""From a model to the bytes of a model file."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile

from condrisk._files import ModelFileError, first_line
from condrisk._state import without_training_rows
from condrisk.persistence._allowed import ALLOWED
from condrisk.persistence._archive import MANIFEST, SCHEMA
from condrisk.persistence._kinds import Node, class_of
from condrisk.persistence._skops import import_skops
from condrisk.persistence._trust import FUNCTION, is_class, is_function, needed_for


def pack_model(model: Any) -> dict[str, bytes]:
    """Return the members of the archive that skops makes of a model, without training rows."""
    skops_io = import_skops()
    try:
        with without_training_rows():
            dumped = skops_io.dumps(model)
    except ModelFileError:
        raise
    except Exception as error:  # whatever the state of somebody's class raises
        raise ModelFileError(f"the model cannot be kept in a file: {first_line(error)}.") from None
    with ZipFile(io.BytesIO(dumped)) as source:
        members = {name: source.read(name) for name in source.namelist()}
    return members | {SCHEMA: _without_ids(members[SCHEMA])}


def pack_file(members: dict[str, bytes], manifest: dict[str, Any]) -> bytes:
    """Return an archive of a manifest and a packed model."""
    buffer = io.BytesIO()
    with ZipFile(buffer, "w", ZIP_DEFLATED, compresslevel=1) as file:
        file.writestr(MANIFEST, json.dumps(manifest, allow_nan=False, indent=1))
        for name, data in members.items():
            file.writestr(name, data)
    return buffer.getvalue()


def needs_of(members: dict[str, bytes]) -> list[str]:
    """Return what somebody who loads a packed model has to trust; what cannot be is refused."""
    needed = set()
    parts = _nodes_of(json.loads(members[SCHEMA]))
    for loader, name in sorted({(node["__loader__"], class_of(node)) for node in parts}):
        if name in ALLOWED.get(loader, ()):
            continue
        trust = needed_for(loader, name)
        if trust is None:
            raise ModelFileError(f"the model cannot be kept in a file: it holds {name!r}.")
        _check_importable(trust, name)
        needed.add(trust)
    return sorted(needed)


def _check_importable(trust: str, name: str) -> None:
    """Refuse what could not be found again: lambdas, and what a script or a function defines."""
    function = trust.startswith(FUNCTION)
    if (is_function if function else is_class)(name) and not name.startswith("__main__."):
        return
    if trust in (name, FUNCTION + name):
        kind = "function" if function else "class"
        raise ModelFileError(
            f"the model cannot be kept in a file: its {kind} {name!r} cannot be imported by that "
            f"name; define it at the top level of a module that can be imported where the file is "
            f"loaded, with def and not as a lambda."
        )


def _without_ids(schema: bytes) -> bytes:
    """Drop the numbers by which a part of a model may stand for another: they hide things."""
    found = json.loads(schema)
    for node in _nodes_of(found):
        node.pop("__id__", None)
    return json.dumps(found, separators=(",", ":")).encode()


def _nodes_of(schema: Any) -> Iterator[Node]:
    """Yield every part of what skops has written."""
    waiting = [schema]
    while waiting:
        part = waiting.pop()
        if isinstance(part, dict):
            if "__loader__" in part:
                yield part
            waiting.extend(part.values())
        elif isinstance(part, list):
            waiting.extend(part)
