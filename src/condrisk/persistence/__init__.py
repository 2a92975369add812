"""Model files: any fitted model in a file that is not code, with the columns that it reads.

`save_model` writes a fitted `Deferral` or risk estimator together with the schema of its rows;
`load_model` reads it back, if everything in it is on a short list or trusted by the caller, by
name. It needs skops (``pip install "condrisk[persistence]"``).
"""

from typing import TYPE_CHECKING

from condrisk._files import ModelFileError
from condrisk._later import import_later

if TYPE_CHECKING:
    from condrisk.persistence._describe import describe_model
    from condrisk.persistence._files import load_model, save_model
    from condrisk.persistence._manifest import read_manifest
    from condrisk.persistence._schema import Column, Schema

# Loaded when first used: a command that only looks for its files has no use for scikit-learn.
_MODULES = {
    "_describe": ("describe_model",),
    "_files": ("load_model", "save_model"),
    "_manifest": ("read_manifest",),
    "_schema": ("Column", "Schema"),
}

__getattr__ = import_later(
    __name__,
    {name: f"{__name__}.{module}" for module, names in _MODULES.items() for name in names},
)

__all__ = [
    "Column",
    "ModelFileError",
    "Schema",
    "describe_model",
    "load_model",
    "read_manifest",
    "save_model",
]


def __dir__() -> list[str]:
    return __all__
