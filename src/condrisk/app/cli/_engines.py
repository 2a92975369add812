"""Options of commands whose work a Dask cluster can do."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any

import typer

from condrisk.app.cli._terminal import needs

_PANEL = "On a cluster"


class Engine(StrEnum):
    """Who does the work."""

    local = "local"
    dask = "dask"


Scheduler = Annotated[
    str | None,
    typer.Option(
        help="With --engine dask: where the scheduler is, as in tcp://10.0.0.1:8786. "
        "Default: a cluster on this machine, started for the purpose.",
        metavar="ADDRESS",
        rich_help_panel=_PANEL,
    ),
]
Workers = Annotated[
    int | None,
    typer.Option(
        min=1,
        help="With --engine dask: workers of such a cluster. Default: one for each core.",
        rich_help_panel=_PANEL,
    ),
]
Wait = Annotated[
    float | None,
    typer.Option(
        help="With --engine dask: how many seconds the cluster may be without any worker. "
        "Default: 10.",
        metavar="SECONDS",
        rich_help_panel=_PANEL,
    ),
]


def cluster_options(
    engine: Engine, scheduler: str | None, workers: int | None, wait: float | None
) -> dict[str, Any]:
    """Return what is said of a cluster; refuse it where none is wanted."""
    given = {"scheduler": scheduler, "workers": workers, "wait": wait}
    if engine is Engine.local:
        needs("--engine dask", **given)
    return {name: value for name, value in given.items() if value is not None}
