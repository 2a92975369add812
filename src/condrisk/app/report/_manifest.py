"""A report of what a model file says of itself."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from condrisk.app._numbers import Amounts, count, loss_name, unit_of
from condrisk.app._verdict import verdict
from condrisk.app.report import _steps
from condrisk.app.report._report import Report, first_price


def report_from_manifest(manifest: Mapping[str, Any]) -> Report:
    """Make a report from what a model file says of itself, without any rows.

    Parameters
    ----------
    manifest : mapping
        As `condrisk.app.models.read_manifest` gives it.

    Returns
    -------
    Report
        With everything that moves with the price, but neither segments nor single rows.

    Examples
    --------
    >>> from condrisk.app.report import report_from_manifest
    >>> groups = [[50, 0.1, 0.0, 0.2, 0.1, 0.1], [50, 0.6, 0.3, 0.9, 0.5, 0.5]]
    >>> report = report_from_manifest({"target": "y", "loss": "zero_one", "profile": groups})
    >>> report.at(0.2).rate, report.at(0.2).loss
    (0.5, 0.15)
    """
    groups = _groups(manifest)
    n, _, lowest, highest, _, _ = np.asarray(groups, dtype=float).T
    scale = _steps.scale_of(lowest, highest, n)
    steps = _steps.steps_of_groups(groups)
    total = float(n.sum())
    cost = manifest.get("cost")
    target = manifest.get("target")
    amounts = Amounts(str(manifest.get("loss", "loss")), unit_of(target))
    mean_loss = float(steps.loss.sum() / total)
    return Report(
        title=title_of(manifest),
        loss_name=str(manifest.get("loss", "loss")),
        n_rows=int(total),
        lowest=float(lowest.min()),
        highest=float(highest.max()),
        steps=steps,
        by_loss=None,
        bins=_steps.bins_of_groups(groups),
        bars=_steps.bars_of_groups(groups, scale),
        scale=scale,
        price=float(cost) if cost is not None else first_price(mean_loss),
        facts=tuple(facts_of(manifest)),
        amounts=amounts,
        verdict=tuple(verdict(manifest.get("evaluation"), amounts)),
        notes=(
            f"Drawn from what the model file keeps of {count(total)} held-out rows: sums over "
            f"{count(len(groups))} groups of similar risk. At a cost inside a group the whole "
            f"group is deferred. For segments, features and single rows, give the report a "
            f"table of rows whose target is known: condrisk report MODEL TABLE.",
        ),
    )


def _groups(manifest: Mapping[str, Any]) -> list[list[float]]:
    profile = manifest.get("profile")
    groups = profile.get("groups") if isinstance(profile, Mapping) else profile
    if not groups:
        raise ValueError(
            "manifest has no profile of held-out rows, so there is nothing to draw; give the "
            "report a table of rows whose target is known."
        )
    try:
        table = np.asarray([[float(value) for value in group] for group in groups])
    except (TypeError, ValueError):
        table = np.empty(0)
    if table.ndim != 2 or table.shape[1] != 6 or not np.isfinite(table).all():
        raise ValueError("manifest's profile must have six finite numbers for each group.")
    if (table[:, 0] <= 0).any() or (np.diff(table[:, 3]) < 0).any():
        raise ValueError("manifest's profile must have groups of rows in order of risk.")
    return table.tolist()


def title_of(manifest: Mapping[str, Any]) -> str:
    """Return the title of the report of a model."""
    target = manifest.get("target")
    return f"Risk of predicting {target}" if target else "Risk report"


def facts_of(manifest: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return what a model file says of itself, as label and text."""
    facts = []
    for key, label in (("task", "Task"), ("loss", "Loss"), ("predictor", "Predictor")):
        if manifest.get(key):
            facts.append(
                (label, loss_name(str(manifest[key])) if key == "loss" else str(manifest[key]))
            )
    if manifest.get("rule"):
        facts.append(("Rule", str(manifest["rule"])))
    n_rows = (manifest.get("schema") or {}).get("n_rows")
    if n_rows:
        day = str(manifest.get("created") or "")[:10]
        facts.append(("Fitted on", f"{count(float(n_rows))} rows{day and ', ' + day}"))
    return facts
