"""What the sections of the page of claims share: runs."""

from __future__ import annotations

from typing import NamedTuple

from condrisk.paper.rwr._study import Record, Study


class Run(NamedTuple):
    """Records under a name."""

    label: str
    study: Study
    figure: Record | None
