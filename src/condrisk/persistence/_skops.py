"""skops, imported without what it has no use for."""

from __future__ import annotations

import sys
from typing import Any

from condrisk._extras import require

_IMPORTS_TORCH = "sklearn.externals.array_api_compat.torch"


def import_skops() -> Any:
    """Return ``skops.io``.

    When it is imported it walks through all packages inside of scikit-learn, and one of these
    imports torch if that is installed: two seconds for every command that loads a model. A package
    that cannot be imported is passed over.
    """
    require("A model file", "skops", extra="persistence")
    hide = not {"torch", "skops.io", _IMPORTS_TORCH} & sys.modules.keys()
    if hide:
        sys.modules[_IMPORTS_TORCH] = None  # type: ignore[assignment]
    try:
        from skops import io
    finally:
        if hide:
            del sys.modules[_IMPORTS_TORCH]
    return io
