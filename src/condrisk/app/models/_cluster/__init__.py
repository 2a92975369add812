"""Fitting on a cluster: Parquet that no process holds as a whole."""

from condrisk.app.models._cluster._fit import fit_parquet

__all__ = ["fit_parquet"]
