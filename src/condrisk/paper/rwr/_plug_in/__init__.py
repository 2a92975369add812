"""Plug-in risks of the paper's regressors, beside the regressions of their losses."""
