"""Rows scored by the million: in batches, on all cores or a cluster, resumed where stopped."""

from condrisk.app.scoring._dask import score_dask
from condrisk.app.scoring._file import score_file
from condrisk.app.scoring._routes import RouteSummary, route_file
from condrisk.app.scoring._summary import ScoreSummary

__all__ = ["RouteSummary", "ScoreSummary", "route_file", "score_dask", "score_file"]
