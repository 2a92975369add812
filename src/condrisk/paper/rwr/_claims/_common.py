"""What the sections of the page of claims share: runs."""

from __future__ import annotations

from typing import NamedTuple

from condrisk.paper._results import Record
from condrisk.paper.rwr._results import Results


class Run(NamedTuple):
    """Records under a name."""

    label: str
    results: Results
    figure: Record | None
