"""A graph of ONNX in the making."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from condrisk._extras import require
from condrisk.app.export._errors import ExportError

OPSET, ML_OPSET, IR_VERSION = 18, 5, 10

# How far numbers may differ from Python's, relative to max(1, |number|). Sums over trees are taken
# in another order, and exponentials by another library.
TOLERANCE = 1e-9
# Where a part computes in float32, or takes the root of a difference that may be rounding alone.
ROUGH_TOLERANCE = 2e-6


class Graph:
    """Nodes and constants, under names that do not clash. Numbers are float64 between parts.

    Attributes
    ----------
    tolerance : float
        How far the numbers may differ from those of Python; parts that round say so.
    """

    def __init__(self) -> None:
        require("ONNX", "onnx", extra="onnx")
        import onnx

        self.onnx = onnx
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        self.tolerance = TOLERANCE
        self._count = 0

    def name(self, stem: str) -> str:
        """Return a name that is not in use."""
        self._count += 1
        return f"{stem}_{self._count}"

    def constant(self, values: Any, dtype: Any = np.float64) -> str:
        """Add a constant and return its name."""
        name = self.name("constant")
        array = np.asarray(values, dtype=dtype)
        self.constants.append(self.onnx.numpy_helper.from_array(array, name))
        return name

    def texts(self, values: Any) -> str:
        """Add a list of texts as a constant and return its name."""
        name = self.name("texts")
        self.constants.append(self.text_tensor(name, values))
        return name

    def text_tensor(self, name: str, values: Any) -> Any:
        """Return texts as ONNX keeps them."""
        words: Any = [str(value).encode() for value in values]
        return self.onnx.helper.make_tensor(name, self.onnx.TensorProto.STRING, [len(words)], words)

    def add(self, kind: str, *inputs: str, domain: str = "", **attributes: Any) -> str:
        """Add a node with one output and return the output's name."""
        return self.add_several(kind, inputs, 1, domain=domain, **attributes)[0]

    def add_several(
        self,
        kind: str,
        inputs: tuple[str, ...],
        n_outputs: int,
        domain: str = "",
        **attributes: Any,
    ) -> list[str]:
        """Add a node and return the names of its outputs."""
        outputs = [self.name(kind.lower()) for _ in range(n_outputs)]
        self.nodes.append(
            self.onnx.helper.make_node(
                kind, inputs, outputs, name=self.name(kind), domain=domain, **attributes
            )
        )
        return outputs

    def columns(self, X: str, where: NDArray[np.intp] | list[int]) -> str:
        """Return some columns of a matrix."""
        return self.add("Gather", X, self.constant(where, np.int64), axis=1)

    def join(self, parts: list[str]) -> str:
        """Return matrices side by side."""
        return parts[0] if len(parts) == 1 else self.add("Concat", *parts, axis=1)

    def row_sums(self, X: str) -> str:
        """Return the sum of each row as a column."""
        return self.add("ReduceSum", X, self.constant([1], np.int64), keepdims=1)

    def clip(self, X: str, low: float, high: float) -> str:
        """Return numbers kept between two others."""
        X = self.add("Max", X, self.constant(low)) if low > -np.inf else X
        return self.add("Min", X, self.constant(high)) if high < np.inf else X

    def scaled(self, X: str, scale: float) -> str:
        """Return numbers multiplied by another."""
        return self.add("Mul", X, self.constant(scale))

    def total(self, parts: list[str]) -> str:
        """Return the sum of several matrices."""
        return parts[0] if len(parts) == 1 else self.add("Sum", *parts)

    def as_double(self, X: str) -> str:
        """Return numbers or truth values as float64."""
        return self.add("Cast", X, to=self.onnx.TensorProto.DOUBLE)

    def as_float(self, X: str) -> str:
        """Return numbers as float32."""
        return self.add("Cast", X, to=self.onnx.TensorProto.FLOAT)

    def rounded(self, X: str) -> str:
        """Return float64 numbers rounded to those that float32 has."""
        return self.as_double(self.as_float(X))

    def positions(self, codes: str, n: int) -> str:
        """Return a column for each position, one where the code is that position."""
        place = self.constant(np.arange(n).reshape(1, -1), np.int64)
        flat = self.add("Reshape", codes, self.constant([-1, 1], np.int64))
        return self.as_double(self.add("Equal", flat, place))

    def call(self, name: str, output: str) -> None:
        """Give an output of the graph its name."""
        self.nodes.append(self.onnx.helper.make_node("Identity", [output], [name]))


class Rows(NamedTuple):
    """A matrix of float64 in the graph, and what the codes in it stand for.

    Attributes
    ----------
    name : str
        Its name in the graph.
    categories : tuple of (tuple of str or None)
        For each column that the model got as text or as a categorical column: the texts behind
        the codes, in the order of the codes. None for columns of numbers.
    """

    name: str
    categories: tuple[tuple[str, ...] | None, ...]

    def select(self, graph: Graph, where: Any) -> Rows:
        """Return some of the columns."""
        where = np.asarray(where, dtype=np.intp)
        kept = tuple(self.categories[k] for k in where)
        return Rows(graph.columns(self.name, where), kept)

    def numbers(self, user: Any) -> str:
        """Return the name of a matrix without categories, or say who cannot use those."""
        if any(texts is not None for texts in self.categories):
            raise ExportError(
                f"a column of categories reaches {type(user).__name__} as it is, which ONNX "
                f"cannot take; put an encoder such as OneHotEncoder(handle_unknown='ignore') "
                f"before it."
            )
        return self.name


def category_text(value: Any) -> str:
    """Return a category as text, as schemas have it."""
    if isinstance(value, bool | np.bool_):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


def numeric(name: str, n: int) -> Rows:
    """Return a matrix of numbers."""
    return Rows(name, (None,) * n)
