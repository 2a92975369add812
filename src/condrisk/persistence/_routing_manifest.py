"""What the manifest of a router must look like, to be read without loading anything."""

from __future__ import annotations

from typing import Any


def fits_manifest(value: Any) -> bool:
    """Tell whether what a manifest says of a router is of the form that `describe_router` gives."""
    if not isinstance(value, dict) or not isinstance(value.get("costs"), dict):
        return False
    costs, columns = value["costs"], value.get("loss_columns")
    return (
        len(costs) > 1
        and all(isinstance(name, str) for name in costs)
        and all(_number(cost) for cost in costs.values())
        and (columns is None or (isinstance(columns, dict) and set(columns) == set(costs)))
        and all(isinstance(name, str) for name in (columns or {}).values())
        and (value.get("first") is None or value["first"] in costs)
        and (value.get("kept_by_rule") is None or value["kept_by_rule"] in costs)
        and (value.get("figures") is None or _figures(value["figures"], len(costs)))
    )


def _number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _figure(value: Any) -> bool:
    return isinstance(value, dict) and all(
        value.get(end, "") is None or _number(value.get(end)) for end in ("value", "low", "high")
    )


def _figures(value: Any, n_models: int) -> bool:
    curve = value.get("curve") if isinstance(value, dict) else None
    if not isinstance(curve, dict) or type(value.get("rows")) is not int:
        return False
    lists: list[Any] = [curve.get(name) for name in ("cost", "loss", "oracle")]
    models: list[Any] = [curve.get(name) for name in ("model_cost", "model_loss")]
    several: list[Any] = [value.get(name) for name in ("cpt", "loss_at", "cost_at")]
    return (
        _figure(value.get("apgr"))
        and _number(value.get("confidence"))
        and all(isinstance(part, list) for part in (*lists, *models, *several))
        and all(all(map(_number, part)) for part in (*lists, *models))
        and len({len(part) for part in lists}) == 1
        and len(lists[0]) > 1
        and all(len(part) == n_models for part in models)
        and all(_figure(each) and _number(each.get("at")) for part in several for each in part)
    )
