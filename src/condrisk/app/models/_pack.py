"""From a model to the bytes of a model file."""

from __future__ import annotations

import io
import json
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile

from condrisk._state import without_training_rows
from condrisk.app._errors import ModelFileError
from condrisk.app.models._archive import MANIFEST, SCHEMA, Archive
from condrisk.app.models._audit import audit, nodes_of


def pack(model: Any, manifest: dict[str, Any]) -> bytes:
    """Return an archive of a manifest and of what skops makes of a model."""
    from skops import io as skops_io
    from skops.io.exceptions import (
        UnsupportedTypeException,
    )

    try:
        with without_training_rows():
            dumped = skops_io.dumps(model)
    except UnsupportedTypeException as error:
        raise ModelFileError(f"the model cannot be kept in a file: {error}") from None
    buffer = io.BytesIO()
    with (
        ZipFile(io.BytesIO(dumped)) as source,
        ZipFile(buffer, "w", ZIP_DEFLATED, compresslevel=1) as file,
    ):
        file.writestr(MANIFEST, json.dumps(manifest, allow_nan=False, indent=1))
        for name in source.namelist():
            data = source.read(name)
            file.writestr(name, _without_ids(data) if name == SCHEMA else data)
    return buffer.getvalue()


def _without_ids(schema: bytes) -> bytes:
    """Drop the numbers by which a part of a model may stand for another: they hide things."""
    found = json.loads(schema)
    for node in nodes_of(found):
        node.pop("__id__", None)
    return json.dumps(found, separators=(",", ":")).encode()


def check_savable(model: Any) -> None:
    """Raise `ModelFileError` if a model, fitted or not, could not be kept in a file."""
    audit(Archive(io.BytesIO(pack(model, {})), "the model"))
