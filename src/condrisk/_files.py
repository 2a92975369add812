"""Files that are written whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path
from secrets import token_hex


def write_whole(path: Path, content: str | bytes) -> None:
    """Write a file whole or not at all, also if the machine stops in between."""
    data = content.encode() if isinstance(content, str) else content
    draft = path.with_name(f".{path.name}.{token_hex(4)}.tmp")
    try:
        with open(draft, "xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(draft, path)
    finally:
        draft.unlink(missing_ok=True)
