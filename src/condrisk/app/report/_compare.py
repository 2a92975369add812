"""Two models on the same rows: figures in pairs, in words, and as one page."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

import condrisk
from condrisk._validation import Vector
from condrisk.app._numbers import Amounts, count, loss_name, unit_of
from condrisk.app._verdict import CONFIDENCE, Sentence
from condrisk.app.report._page import page_policy, scripts, styles
from condrisk.app.report._parts import template
from condrisk.app.report._words import isolated, plain
from condrisk.assessment import PairedFigure, RiskComparison, compare_risks
from condrisk.metrics import risk_coverage_curve

if TYPE_CHECKING:
    from condrisk.app.models import TableModel

# The curves of a page have so many points at most.
MOST_POINTS = 400
# So many ranges of costs are named in words.
MOST_RUNS = 3
FIGURES = {
    "mean_loss": "mean loss of all predictions",
    "aurc": "area under the risk-coverage curve",
    "calibration_error": "calibration error of the risk",
}


@dataclass(frozen=True)
class Comparison:
    """Two models on the same rows, ready to be shown.

    Attributes
    ----------
    names : tuple of two str
        What the models are called.
    target : str
        What both predict.
    cost : float or None
        The cost at which they are compared in words; None where neither model has one.
    at_cost : RiskComparison or None
        The comparison at that cost.
    overall : RiskComparison
        The comparison at all costs.
    curves : tuple of two (coverage, mean loss)
        The risk-coverage curves.
    amounts : Amounts
        How amounts of the loss are written.
    notes : tuple of str
        What a reader has to know about the rows.
    """

    names: tuple[str, str]
    target: str
    cost: float | None
    at_cost: RiskComparison | None
    overall: RiskComparison
    curves: tuple[tuple[Vector, Vector], tuple[Vector, Vector]]
    amounts: Amounts
    notes: tuple[str, ...]

    def sentences(self) -> list[Sentence]:
        """Return what the comparison says."""
        found = [] if self.at_cost is None else [self._at_cost()]
        found.append(self._costs())
        words = {
            "mean_loss": ("predicts better", "mean loss"),
            "aurc": ("ranks rows better by risk", "area under the risk-coverage curve"),
            "calibration_error": ("has the better calibrated risk", "calibration error"),
        }
        for name, (verb, what) in words.items():
            found.append(self._figure(getattr(self.overall, name), verb, what))
        return found

    def _at_cost(self) -> Sentence:
        assert self.at_cost is not None
        assert self.cost is not None
        one, amounts = self.at_cost, self.amounts
        figure = PairedFigure(
            float(one.first[0]),
            float(one.second[0]),
            type(one.aurc.difference)(
                float(one.difference[0]), float(one.lower[0]), float(one.upper[0])
            ),
        )
        at = f"At a cost of {amounts.cost(self.cost)}"
        return self._figure(figure, "is cheaper", "mean cost a row", start=f"{at}, ")

    def _figure(self, figure: PairedFigure, verb: str, what: str, start: str = "") -> Sentence:
        amounts, better = self.amounts, figure.better
        both = f"{what} {amounts.text(figure.first)} against {amounts.text(figure.second)}"
        apart = figure.difference
        limits = f"{amounts.text(apart.lower)} to {amounts.text(apart.upper)}"
        if better is None:
            text = (
                f"{start}neither model {verb} by more than chance: {both} (difference "
                f"{amounts.text(apart.estimate)}, {CONFIDENCE} {limits})."
            )
            return Sentence("", text[0].upper() + text[1:])
        text = (
            f"{start}{self.names[better]} {verb}: {both} (difference "
            f"{amounts.text(apart.estimate)}, {CONFIDENCE} {limits})."
        )
        return Sentence("good", text)

    def _costs(self) -> Sentence:
        """Say at which costs either is cheaper."""
        found, parts = self.overall, []
        for name, cheaper in ((self.names[0], found.upper < 0), (self.names[1], found.lower > 0)):
            runs = _runs(cheaper)
            if runs:
                more = f" and {len(runs) - MOST_RUNS} more" if len(runs) > MOST_RUNS else ""
                where = ", ".join(self._range(*run) for run in runs[:MOST_RUNS])
                parts.append(f"{name} is cheaper {where}{more}")
        if not parts:
            text = "Over all costs of deferring, neither is cheaper by more than chance"
            return Sentence("", f"{text} (95\u00a0% band).")
        text = f"Over all costs of deferring, {'; '.join(parts)}"
        return Sentence("good", f"{text} (95\u00a0% band for all costs at once).")

    def _range(self, first: int, last: int) -> str:
        low, high = (self.amounts.text(float(self.overall.cost[k])) for k in (first, last))
        return f"at {low}" if first == last else f"from {low} to {high}"

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data for JSON."""
        return {
            "models": list(self.names),
            "target": self.target,
            "loss": self.amounts.loss,
            "rows": self.overall.n_rows,
            "cost": self.cost,
            "at_cost": None if self.at_cost is None else self.at_cost.to_dict(),
            "overall": self.overall.to_dict(),
            "verdict": [sentence.text.replace("\u00a0", " ") for sentence in self.sentences()],
            "notes": list(self.notes),
        }


def _runs(flags: NDArray[np.bool_]) -> list[tuple[int, int]]:
    """Return the first and the last position of each run of true values."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], flags, [False]]).astype(int)))
    return [(int(a), int(b) - 1) for a, b in zip(edges[::2], edges[1::2], strict=True)]


def compare_models(
    first: Any,
    second: Any,
    X: Any,
    y: Any = None,
    *,
    names: tuple[str, str] | None = None,
    cost: float | None = None,
    unit: str | None = None,
    trusted: Iterable[str] = (),
    progress: Callable[[str], Any] = lambda what: None,
) -> Comparison:
    """Compare two models on rows with known targets that neither was fitted on.

    Parameters
    ----------
    first, second : path, TableModel, Deferral or risk estimator
        Model files or fitted models, of the same target and the same loss.
    X : polars.DataFrame, pandas.DataFrame or array-like of shape (n_rows, n_columns)
        Rows; those that either model cannot take are left out.
    y : array-like of shape (n_rows,), optional
        Their targets. None: `X` has a column with the name of the target.
    names : tuple of two str, optional
        What to call the models; the names of their files, or "first" and "second".
    cost : float or None, default=None
        The cost at which they are compared in words; None is that of the models.
    unit : str or None, default=None
        The unit of the target; None: as the name of the target says, if it does.
    trusted : iterable of str
        For model files, as `condrisk.persistence.load_model` takes it.
    progress : callable, optional
        Gets a sentence about each step.

    Returns
    -------
    Comparison
        For `render_comparison`.

    Examples
    --------
    >>> import numpy as np
    >>> import polars as pl
    >>> from condrisk.app.models import fit_table
    >>> from condrisk.app.report import compare_models
    >>> rng = np.random.default_rng(0)
    >>> x = rng.uniform(-1, 1, 800)
    >>> y = x**2 + np.where(x > 0, 0.5, 0.1) * rng.normal(size=800)
    >>> frame = pl.DataFrame({"x": x, "y": y})
    >>> choices = {"target": "y", "cost": 0.05, "holdout": 0}
    >>> models = [fit_table(frame[:400], predictor=p, **choices) for p in ("linear", "boosting")]
    >>> found = compare_models(*models, frame[400:], names=("line", "trees"))
    >>> found.overall.mean_loss.better
    1
    """
    from condrisk.app.models import open_model

    given = (first, second)
    models = [open_model(model, trusted=trusted) for model in given]
    called = names or _names(given)
    _check_alike(models, called)
    frame = models[0].table(X, y)
    rows, notes = _common_rows(models, frame)
    losses, risks = [], []
    for model, name in zip(models, called, strict=True):
        progress(f"estimating the risks of {name}")
        good = _good(model, frame, rows)
        risks.append(model.predict_risk(good))
        losses.append(model.loss_values(good, frame[str(model.target)][rows]))
    progress("drawing rows again to compare")
    own = next((model.cost for model in models if model.cost is not None), None)
    at = own if cost is None else cost
    pairs = (losses[0], losses[1]), (risks[0], risks[1])
    return Comparison(
        called,
        str(models[0].target),
        at,
        None if at is None else compare_risks(*pairs, costs=[at]),
        compare_risks(*pairs),
        (_curve(losses[0], risks[0]), _curve(losses[1], risks[1])),
        Amounts(models[0].manifest["loss"], unit_of(models[0].target) if unit is None else unit),
        tuple(notes),
    )


def _names(models: tuple[Any, Any]) -> tuple[str, str]:
    paths = [
        os.path.basename(os.fspath(m)) if isinstance(m, str | os.PathLike) else "" for m in models
    ]
    if all(paths) and paths[0] != paths[1]:
        return paths[0], paths[1]
    return "first", "second"


def _check_alike(models: list[TableModel], names: tuple[str, str]) -> None:
    from condrisk.app.tables import TableError

    for key, what in (("target", "target"), ("loss", "loss"), ("task", "task")):
        values = [model.manifest[key] for model in models]
        if values[0] != values[1]:
            raise TableError(
                f"models can be compared if they have the same {what}, but that of {names[0]} is "
                f"{values[0]!r}, and that of {names[1]} {values[1]!r}."
            )


def _common_rows(
    models: list[TableModel], frame: pl.DataFrame
) -> tuple[NDArray[np.intp], list[str]]:
    """Return the rows with a target that both models can take, and what to say of the others."""
    from condrisk.app.tables import TableError, check_rows

    target = models[0].target
    if target is None or target not in frame.columns:
        raise TableError(f"the table has no column {target!r}, the target.")
    column = frame[target]
    known = column.is_not_null()
    if column.dtype.is_float():
        known &= column.is_not_nan().fill_null(False)
    keep = known.to_numpy().copy()
    for model in models:
        usable = np.zeros(frame.height, dtype=bool)
        usable[check_rows(model.schema, frame).rows] = True
        keep &= usable
    rows = np.flatnonzero(keep)
    if len(rows) < 2:
        raise TableError("fewer than two rows have a target and can be used by both models.")
    left = frame.height - len(rows)
    said = f"{count(left)} of {count(frame.height)} rows have no target, or cannot be used by both."
    return rows, [said] if left else []


def _good(model: TableModel, frame: pl.DataFrame, rows: NDArray[np.intp]) -> pl.DataFrame:
    from condrisk.app.tables import check_rows

    return check_rows(model.schema, frame[rows]).good


def _curve(loss: Vector, risk: Vector) -> tuple[Vector, Vector]:
    curve = risk_coverage_curve(loss, risk)
    at = np.unique(np.linspace(0, len(curve.coverage) - 1, MOST_POINTS).astype(int))
    return curve.coverage[at], curve.selective_loss[at]


# -- the page -----------------------------------------------------------------------------------


def render_comparison(found: Comparison) -> str:
    """Make one HTML file of a comparison: it loads nothing, and its policy forbids it to.

    Parameters
    ----------
    found : Comparison
        What `compare_models` gave.

    Returns
    -------
    str
        The page.
    """
    style = styles()
    script = scripts("compare.js")
    title = f"{found.names[0]} and {found.names[1]}"
    return template(
        "compare.html",
        policy=page_policy(style, script, talks=False),
        version=condrisk.__version__,
        title=escape(plain(title)),
        heading=f"{isolated(found.names[0])} and {isolated(found.names[1])}",
        target=isolated(found.target),
        loss=isolated(loss_name(found.amounts.loss)),
        n_rows=count(found.overall.n_rows),
        sentences="".join(
            f'<li class="says-{kind or "plain"}">{escape(plain(text, limit=600))}</li>'
            for kind, text in found.sentences()
        ),
        first=isolated(found.names[0]),
        second=isolated(found.names[1]),
        figures=_figures(found),
        notes="".join(f"<p>{escape(plain(note, limit=600))}</p>" for note in found.notes),
        data=_data(found),
        style=style,
        script=script,
    )


def _figures(found: Comparison) -> str:
    def text(value: float) -> str:
        return escape(plain(found.amounts.text(value)))

    rows = []
    for key, name in FIGURES.items():
        figure: PairedFigure = getattr(found.overall, key)
        apart, better = figure.difference, figure.better
        said = "neither" if better is None else isolated(found.names[better])
        rows.append(
            f'<tr><th scope="row" class="text">{name}</th>'
            f'<td data-label="first">{text(figure.first)}</td>'
            f'<td data-label="second">{text(figure.second)}</td>'
            f'<td data-label="difference">{text(apart.estimate)}</td>'
            f'<td class="limits" data-label="limits">{text(apart.lower)} to '
            f"{text(apart.upper)}</td>"
            f'<td class="text" data-label="better">{said}</td></tr>'
        )
    return "".join(rows)


def _data(found: Comparison) -> str:
    overall, cost = found.overall, found.overall.cost
    positive = cost[cost > 0]
    data = {
        "amounts": {
            "percent": found.amounts.in_percent,
            "square": found.amounts.is_square,
            "unit": plain(found.amounts.unit),
        },
        "names": [plain(name) for name in found.names],
        "cost": cost.tolist(),
        "log": bool(positive.max() > 10 * np.quantile(positive, 0.05)),
        "first": overall.first.tolist(),
        "second": overall.second.tolist(),
        "difference": overall.difference.tolist(),
        "lower": overall.lower.tolist(),
        "upper": overall.upper.tolist(),
        "never": [overall.mean_loss.first, overall.mean_loss.second],
        "curves": [[part.tolist() for part in curve] for curve in found.curves],
    }
    text = json.dumps(data, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
