"""Plug-in risks of the paper's regressors, beside the regressions of their losses."""

from condrisk.paper.rwr._plug_in._methods import make_plug_in_methods

__all__ = ["make_plug_in_methods"]
