"""What fills, spreads and scales columns, as nodes of ONNX."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    PowerTransformer,
    RobustScaler,
    StandardScaler,
)

from condrisk.app.export._errors import ExportError
from condrisk.app.export._graph import Graph, Rows, category_text, numeric
from condrisk.app.export._registry import TRANSFORMERS


def add_transformer(graph: Graph, step: Any, X: Rows) -> Rows:
    """Add what fills, spreads or scales columns; return the new ones."""
    if step is None or (isinstance(step, str) and step == "passthrough"):
        return X
    return TRANSFORMERS.find(step)(graph, step, X)


@TRANSFORMERS.register(Pipeline)
def _pipeline(graph: Graph, step: Any, X: Rows) -> Rows:
    for _, part in step.steps:
        X = add_transformer(graph, part, X)
    return X


@TRANSFORMERS.register(FunctionTransformer)
def _function(graph: Graph, step: Any, X: Rows) -> Rows:
    if step.func is not None:
        raise ExportError("a FunctionTransformer calls a Python function, which ONNX cannot.")
    return X


# -- numbers --------------------------------------------------------------------------------------


@TRANSFORMERS.register(SimpleImputer)
def _impute(graph: Graph, step: Any, X: Rows) -> Rows:
    if not (isinstance(step.missing_values, float) and np.isnan(step.missing_values)):
        raise ExportError("an imputer of values other than NaN cannot be converted to ONNX.")
    filling = [
        _fill_code(value, texts)
        for value, texts in zip(step.statistics_, X.categories, strict=True)
    ]
    if np.isnan(filling).any():
        raise ExportError("an imputer that drops columns cannot be converted to ONNX.")
    gap = graph.add("IsNaN", X.name)
    filled = graph.add("Where", gap, graph.constant(np.reshape(filling, (1, -1))), X.name)
    if not step.add_indicator or not len(step.indicator_.features_):
        return Rows(filled, X.categories)
    shown = graph.as_double(graph.columns(gap, step.indicator_.features_))
    more = (None,) * len(step.indicator_.features_)
    return Rows(graph.join([filled, shown]), X.categories + more)


def _fill_code(value: Any, texts: tuple[str, ...] | None) -> float:
    """Return what a gap is filled with: a number, or the code of a text."""
    if texts is None:
        return float(value)
    if category_text(value) not in texts:
        raise ExportError(
            f"an imputer fills in {value!r}, which is not among the categories of its column."
        )
    return float(texts.index(category_text(value)))


@TRANSFORMERS.register(StandardScaler)
def _scale(graph: Graph, step: Any, X: Rows) -> Rows:
    name = X.numbers(step)
    if step.with_mean:
        name = graph.add("Sub", name, graph.constant(step.mean_.reshape(1, -1)))
    if step.with_std:
        name = graph.add("Div", name, graph.constant(step.scale_.reshape(1, -1)))
    return Rows(name, X.categories)


@TRANSFORMERS.register(RobustScaler)
def _scale_robustly(graph: Graph, step: Any, X: Rows) -> Rows:
    name = X.numbers(step)
    if step.with_centering:
        name = graph.add("Sub", name, graph.constant(step.center_.reshape(1, -1)))
    if step.with_scaling:
        name = graph.add("Div", name, graph.constant(step.scale_.reshape(1, -1)))
    return Rows(name, X.categories)


@TRANSFORMERS.register(MinMaxScaler)
def _scale_to_range(graph: Graph, step: Any, X: Rows) -> Rows:
    name = graph.add("Mul", X.numbers(step), graph.constant(step.scale_.reshape(1, -1)))
    name = graph.add("Add", name, graph.constant(step.min_.reshape(1, -1)))
    if step.clip:
        name = graph.clip(name, *map(float, step.feature_range))
    return Rows(name, X.categories)


@TRANSFORMERS.register(PowerTransformer)
def _power(graph: Graph, step: Any, X: Rows) -> Rows:
    if step.method != "yeo-johnson":
        raise ExportError(
            f"PowerTransformer(method={step.method!r}) cannot be converted to ONNX; "
            f"'yeo-johnson' can."
        )
    name = X.numbers(step)
    parts = [
        _yeo_johnson(graph, graph.columns(name, [k]), float(power))
        for k, power in enumerate(step.lambdas_)
    ]
    scores = Rows(graph.join(parts), X.categories)
    return _scale(graph, step._scaler, scores) if step.standardize else scores


def _yeo_johnson(graph: Graph, x: str, power: float) -> str:
    """Return Yeo-Johnson scores; each side is computed where it holds, and gaps stay gaps."""
    zero, one = graph.constant(0.0), graph.constant(1.0)
    above = graph.add("Log", graph.add("Add", graph.add("Max", x, zero), one))
    below = graph.add("Log", graph.add("Sub", one, graph.add("Min", x, zero)))
    eps = np.finfo(np.float64).eps
    if abs(power) >= eps:
        above = _box_cox(graph, above, power)
    if abs(power - 2) > eps:
        below = _box_cox(graph, below, 2 - power)
    minus = graph.add("Neg", below)
    scores = graph.add("Where", graph.add("Less", x, zero), minus, above)
    return graph.add("Where", graph.add("IsNaN", x), x, scores)


def _box_cox(graph: Graph, logs: str, power: float) -> str:
    """Return (exp(power · log) − 1) / power."""
    raised = graph.add("Exp", graph.scaled(logs, power))
    return graph.add("Div", graph.add("Sub", raised, graph.constant(1.0)), graph.constant(power))


# -- categories -----------------------------------------------------------------------------------


def _equals(graph: Graph, column: str, known: Any, texts: tuple[str, ...] | None) -> str:
    """Return a truth value for each known category: whether the code stands for it."""
    gaps = np.array([value is None or value != value for value in known])
    if texts is None:
        codes = np.array([np.nan if gap else float(v) for v, gap in zip(known, gaps, strict=True)])
    else:  # of a category that is not in the column's list nothing is ever equal
        place = {text: k for k, text in enumerate(texts)}
        found = [place.get(category_text(value), -1) for value in known]
        codes = np.where(gaps, np.nan, np.array(found, dtype=np.float64))
    same = graph.add("Equal", column, graph.constant(codes.reshape(1, -1)))
    if not gaps.any():
        return same
    gap = graph.add("And", graph.add("IsNaN", column), graph.constant(gaps.reshape(1, -1), bool))
    return graph.add("Or", same, gap)


@TRANSFORMERS.register(OneHotEncoder)
def _one_hot(graph: Graph, step: Any, X: Rows) -> Rows:
    if step.handle_unknown != "ignore" or step.drop is not None or step._infrequent_enabled:
        raise ExportError(
            "OneHotEncoder can be converted to ONNX only with handle_unknown='ignore', without "
            "drop and infrequent categories: Python raises an error at an unknown category, and "
            "a graph cannot."
        )
    parts = [
        graph.as_double(_equals(graph, graph.columns(X.name, [k]), known, X.categories[k]))
        for k, known in enumerate(step.categories_)
    ]
    return numeric(graph.join(parts), sum(len(known) for known in step.categories_))


@TRANSFORMERS.register(OrdinalEncoder)
def _ordinal(graph: Graph, step: Any, X: Rows) -> Rows:
    if step.handle_unknown != "use_encoded_value" or step._infrequent_enabled:
        raise ExportError(
            "OrdinalEncoder can be converted to ONNX only with handle_unknown='use_encoded_value': "
            "Python raises an error at an unknown category, and a graph cannot."
        )
    parts = []
    for k, known in enumerate(step.categories_):
        column = graph.columns(X.name, [k])
        same = _equals(graph, column, known, X.categories[k])
        values = np.arange(len(known), dtype=np.float64)
        gaps = np.array([value is None or value != value for value in known])
        values[gaps] = 0.0  # NaN times zero is NaN: it is put in below
        shown = graph.as_double(same)
        code = graph.row_sums(graph.add("Mul", shown, graph.constant(values.reshape(1, -1))))
        seen = graph.add("Greater", graph.row_sums(shown), graph.constant(0.0))
        code = graph.add("Where", seen, code, graph.constant(float(step.unknown_value)))
        if gaps.any():
            missing = graph.constant(float(step.encoded_missing_value))
            code = graph.add("Where", graph.add("IsNaN", column), missing, code)
        parts.append(code)
    return numeric(graph.join(parts), len(parts))


@TRANSFORMERS.register(ColumnTransformer)
def _column_transformer(graph: Graph, step: Any, X: Rows) -> Rows:
    parts = []
    for _, part, where in step.transformers_:
        if isinstance(part, str) and part == "drop":
            continue
        columns = _positions(step, where)
        if len(columns):
            parts.append(add_transformer(graph, part, X.select(graph, columns)))
    categories = tuple(texts for part in parts for texts in part.categories)
    return Rows(graph.join([part.name for part in parts]), categories)


def _positions(step: Any, where: Any) -> Any:
    """Return columns as positions, however they were named."""
    if isinstance(where, str | int):
        where = [where]
    if not isinstance(where, slice) and any(isinstance(key, str) for key in where):
        names = list(step.feature_names_in_)
        return np.array([names.index(key) for key in where])
    if isinstance(where, slice) and isinstance(where.start or where.stop, str):
        raise ExportError("a slice of columns by name cannot be converted to ONNX; list the names.")
    return np.arange(step.n_features_in_)[where]
