"""The learners of condrisk as nodes of ONNX: mixtures of models, Gaussian processes among them."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import solve_triangular

from condrisk.app.export._errors import ExportError, refuse_encoder
from condrisk.app.export._graph import ROUGH_TOLERANCE, Graph, Rows, numeric
from condrisk.app.export._models import add_classifier, add_regressor
from condrisk.app.export._registry import CLASSIFIERS, REGRESSORS, Registry
from condrisk.app.export._transformers import add_transformer
from condrisk.app.export._trees import Ensemble, decision_tree
from condrisk.learners import LossRegressor, StackedClassifier, StackedRegressor

# Below this a probability is taken as zero where several models are pooled.
POOL_FLOOR = 1e-6
# Yeo-Johnson scores further out than this are as good as infinite to a Gaussian process.
FAR_OUT = 5.0

MEMBERS = Registry("the model", "the members of condrisk's own stacks can.")


def is_stack(model: Any) -> bool:
    """Tell whether a model gives all of its responses at once."""
    return type(model) in (StackedRegressor, StackedClassifier)


def stack_responses(graph: Graph, model: Any, X: Rows) -> dict[str, str]:
    """Add a stack; return all its responses, "uncertainty" among them."""
    refuse_encoder(model)
    name = X.numbers(model)
    found = [
        MEMBERS.find(member)(graph, member, numeric(name, len(X.categories)))
        for member in model._members.values()
    ]
    if type(model) is StackedClassifier:
        return _pooled(graph, model, [response for response, _ in found])
    return _averaged(graph, model, name, found)


def _averaged(graph: Graph, model: Any, X: str, found: list[Any]) -> dict[str, str]:
    """Return the convex mixture of regressors, and how far they are from it."""
    shares = np.array([model.shares_[name] for name in (*model._members, "mean")])
    table = graph.join([*(response for response, _ in found), constant(graph, X, model._mean)])
    prediction = graph.add("MatMul", table, graph.constant(shares.reshape(-1, 1)))
    apart = graph.add("Sub", table, prediction)
    squared = graph.add("Mul", apart, apart)
    spread = graph.add("Sqrt", graph.add("MatMul", squared, graph.constant(shares.reshape(-1, 1))))
    deviations = [deviation for _, deviation in found if deviation is not None]
    return {"predict": prediction, "uncertainty": graph.join([spread, *deviations])}


def _pooled(graph: Graph, model: Any, members: list[str]) -> dict[str, str]:
    """Return the pool of classifiers, and how far each is from it, as total variation."""
    proba = add_pool(graph, model._pool, members)
    apart = [
        graph.scaled(graph.row_sums(graph.add("Abs", graph.add("Sub", own, proba))), 0.5)
        for own in members
    ]
    return {"predict_proba": proba, "uncertainty": graph.join(apart)}


def add_pool(graph: Graph, pool: Any, members: list[str]) -> str:
    """Return softmax(Σⱼ wⱼ log pⱼ + b) of several matrices of probabilities."""
    parts = [
        graph.scaled(graph.add("Log", graph.clip(proba, POOL_FLOOR, np.inf)), float(weight))
        for proba, weight in zip(members, pool.weights, strict=True)
    ]
    shifted = graph.add("Add", graph.total(parts), graph.constant(np.reshape(pool.shifts, (1, -1))))
    return graph.add("Softmax", shifted, axis=1)


def constant(graph: Graph, X: str, value: float) -> str:
    """Return a column that holds one number, with a row for each of another matrix."""
    zero = graph.scaled(graph.as_double(graph.add("IsNaN", graph.columns(X, [0]))), 0.0)
    return graph.add("Add", zero, graph.constant(float(value)))


@REGRESSORS.register(StackedRegressor)
def _stacked_regressor(graph: Graph, model: Any, X: Rows) -> str:
    return stack_responses(graph, model, X)["predict"]


@CLASSIFIERS.register(StackedClassifier)
def _stacked_classifier(graph: Graph, model: Any, X: Rows) -> str:
    return stack_responses(graph, model, X)["predict_proba"]


# -- members of stacks ----------------------------------------------------------------------------


def _filled(graph: Graph, member: Any, X: Rows) -> Rows:
    """Put the median of a feature where a value is missing."""
    medians = graph.constant(member._fill._medians.reshape(1, -1))
    filled = graph.add("Where", graph.add("IsNaN", X.name), medians, X.name)
    return Rows(filled, X.categories)


@MEMBERS.register("condrisk.learners._stack_members.Averaged")
def _add_averaged(graph: Graph, member: Any, X: Rows) -> tuple[str, str | None]:
    X = _filled(graph, member, X)
    parts = [add_regressor(graph, model, X) for model in member._models]
    return graph.scaled(graph.total(parts), 1 / len(parts)), None


@MEMBERS.register("condrisk.learners._stack_members.AveragedClasses")
def _add_averaged_classes(graph: Graph, member: Any, X: Rows) -> tuple[str, str | None]:
    X = _filled(graph, member, X)
    if any(len(model.classes_) < member._n_classes for model in member._models):
        raise ExportError("a stack in which a fold lacks a class cannot be converted to ONNX.")
    parts = [add_classifier(graph, model, X) for model in member._models]
    return graph.scaled(graph.total(parts), 1 / len(parts)), None


@MEMBERS.register("condrisk.learners._stack_members.Process")
def _add_process(graph: Graph, member: Any, X: Rows) -> tuple[str, str | None]:
    """Add a Gaussian process on the rows and their Yeo-Johnson scores."""
    # Distances are roots of differences: of rows that are alike, what is left is rounding.
    graph.tolerance = ROUGH_TOLERANCE
    X = _filled(graph, member, X)
    scores = add_transformer(graph, member._scores, X)
    scores_name = graph.clip(scores.name, -FAR_OUT, FAR_OUT)
    process = member._process
    rows = graph.join([X.name, scores_name])
    rows = graph.add("Sub", rows, graph.constant(process._middle.reshape(1, -1)))
    rows = graph.add("Div", rows, graph.constant(process._spread.reshape(1, -1)))
    found = [_half(graph, process, part, rows) for part in process._parts]
    mean = graph.scaled(graph.total([mean for mean, _ in found]), 0.5)
    variance = graph.scaled(graph.total([variance for _, variance in found]), 0.5)
    return mean, graph.add("Sqrt", variance)


def _half(graph: Graph, process: Any, part: Any, rows: str) -> tuple[str, str]:
    """Return mean and variance of one of the two processes.

    All scales are in the constants: a number beside a product of matrices is taken into it by
    onnxruntime, which then keeps it as float32.
    """
    signal, known = part.kernel.signal, process._reference
    correlation = _correlation(graph, part.kernel, rows, process._rows)
    weights = (part.scale * signal * part.weights).reshape(-1, 1)
    mean = graph.add("MatMul", correlation, graph.constant(weights))
    mean = graph.add("Add", mean, graph.constant(part.mean))
    if len(known) < len(process._rows):
        correlation = graph.columns(correlation, known)
    inverse = solve_triangular(part.reference_root, np.eye(len(known)), lower=True)
    explained = graph.add("MatMul", correlation, graph.constant(signal * inverse.T))
    total = graph.row_sums(graph.add("Mul", explained, explained))
    left = graph.clip(graph.add("Sub", graph.constant(signal), total), 0.0, np.inf)
    left = graph.add("Add", left, graph.constant(part.kernel.noise))
    return mean, graph.scaled(left, part.scale**2)


def _correlation(graph: Graph, kernel: Any, new: str, known: Any) -> str:
    """Return the correlation of new rows with known ones, by Matérn's kernel."""
    new = graph.add("Div", new, graph.constant(kernel.scales.reshape(1, -1)))
    known = known / kernel.scales
    own = graph.row_sums(graph.add("Mul", new, new))
    theirs = graph.constant((known**2).sum(axis=1).reshape(1, -1))
    product = graph.add("MatMul", new, graph.constant(-2.0 * known.T))
    squared = graph.add("Add", graph.add("Add", own, theirs), product)
    far = graph.add("Sqrt", graph.clip(squared, 0.0, np.inf))
    if kernel.smoothness == 0.5:
        return graph.add("Exp", graph.add("Neg", far))
    far = graph.scaled(far, float(np.sqrt(3.0)))
    decay = graph.add("Exp", graph.add("Neg", far))
    return graph.add("Mul", graph.add("Add", far, graph.constant(1.0)), decay)


# -- the regressor of losses ----------------------------------------------------------------------


@REGRESSORS.register(LossRegressor)
def _loss_regressor(graph: Graph, model: Any, X: Rows) -> str:
    refuse_encoder(model)
    name = X.numbers(model)
    if not model._members:
        return constant(graph, name, model._mean)
    top = (model._highest - model._lowest) / model._scale
    parts = [MEMBERS.find(member)(graph, member, X, top) for member in model._members]
    mixture = graph.add("Add", graph.total(parts), graph.constant(model.shares_["mean"]))
    value = graph.add("Add", graph.scaled(mixture, model._scale), graph.constant(model._base))
    return graph.clip(value, model._lowest, model._highest)


@MEMBERS.register("condrisk.learners._members.Forest")
def _add_forest(graph: Graph, member: Any, X: Rows, top: float) -> str:
    """Add extra-trees whose leaves have numbers of their own."""
    ensemble = Ensemble(1)
    for tree, values in zip(member.forest.estimators_, member.values, strict=True):
        ensemble.add_tree(decision_tree(tree.tree_, values), 0)
    total = ensemble.node(graph, graph.rounded(X.name))
    return graph.scaled(total, 1 / len(member.values))


@MEMBERS.register("condrisk.learners._members.Committee")
def _add_committee(graph: Graph, member: Any, X: Rows, top: float) -> str:
    parts = []
    for model in member.models:
        value = add_regressor(graph, model, X)
        value = graph.add("Where", graph.add("IsNaN", value), graph.constant(0.0), value)
        parts.append(graph.clip(value, 0.0, top))
    return graph.scaled(graph.total(parts), member.share / len(parts))
