"""Which part gets which metadata, with scikit-learn's routing and without it."""

from __future__ import annotations

import warnings
from typing import Any

from sklearn import get_config
from sklearn.model_selection import GroupKFold
from sklearn.pipeline import Pipeline
from sklearn.utils.metadata_routing import (
    MetadataRouter,
    MethodMapping,
    process_routing,
)
from sklearn.utils.validation import has_fit_parameter


def routing_enabled() -> bool:
    """Tell whether scikit-learn's metadata routing is switched on."""
    return bool(get_config().get("enable_metadata_routing", False))


def weight_params(estimator: Any, sample_weight: Any, *, part: str) -> dict[str, Any]:
    """Return the fit parameters that carry weights into `estimator`; warn where none do.

    A Pipeline passes them to each of its steps that takes weights, so that a weight of two means
    the same as a row written twice for the scaler too.
    """
    if sample_weight is None:
        return {}
    if has_fit_parameter(estimator, "sample_weight"):
        return {"sample_weight": sample_weight}
    if isinstance(estimator, Pipeline) and has_fit_parameter(estimator[-1], "sample_weight"):
        return {
            f"{name}__sample_weight": sample_weight
            for name, step in estimator.steps
            if hasattr(step, "fit") and has_fit_parameter(step, "sample_weight")
        }
    warnings.warn(
        f"sample_weight is not used by the {part}: {type(estimator).__name__}.fit does not take "
        f"it, so the {part} treats all rows alike.",
        UserWarning,
        stacklevel=4,
    )
    return {}


def _group_params(estimator: Any, groups: Any) -> dict[str, Any]:
    """Return the fit parameters that carry groups into `estimator`, or the end of a Pipeline."""
    if has_fit_parameter(estimator, "groups"):
        return {"groups": groups}
    if isinstance(estimator, Pipeline) and has_fit_parameter(estimator[-1], "groups"):
        return {f"{estimator.steps[-1][0]}__groups": groups}
    return {}


def route_fit(
    owner: Any, parts: dict[str, Any], sample_weight: Any, params: dict[str, Any]
) -> dict[str, dict[str, Any]]:
    """Return the fit parameters of each part, and those of the splitter under "splitter".

    Without routing, weights go to every part, `groups` to the splitter and to parts that hold out
    rows by themselves, and all else to the predictor, as scikit-learn's calibration does it.
    """
    if routing_enabled():
        weights = {} if sample_weight is None else {"sample_weight": sample_weight}
        routed = process_routing(owner, "fit", **weights, **params)
        wanted = {name: dict(routed[name].fit) for name in parts}
        return wanted | {"splitter": dict(routed["splitter"].split)}
    params = dict(params)
    groups = params.pop("groups", None)
    wanted = {name: weight_params(part, sample_weight, part=name) for name, part in parts.items()}
    if groups is not None:
        for name, part in parts.items():
            wanted[name] |= _group_params(part, groups)
    if params and "predictor" not in parts:
        raise TypeError(f"fit got {sorted(params)}, which would be for a predictor to be fitted.")
    if params:
        wanted["predictor"].update(params)
    return wanted | {"splitter": {"groups": groups}}


def add_part(router: MetadataRouter, **part: Any) -> MetadataRouter:
    """Add a part whose fit is called in fit."""
    return router.add(**part, method_mapping=MethodMapping().add(caller="fit", callee="fit"))


def add_splitter(router: MetadataRouter, cv: Any) -> MetadataRouter:
    """Add the splitter; folds made from a number take `groups` where they are given."""
    splitter = cv if hasattr(cv, "split") else GroupKFold()
    mapping = MethodMapping().add(caller="fit", callee="split")
    return router.add(splitter=splitter, method_mapping=mapping)
