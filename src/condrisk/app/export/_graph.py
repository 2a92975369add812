"""A graph of ONNX in the making."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from condrisk._extras import require

OPSET, ML_OPSET, IR_VERSION = 18, 5, 10


class Graph:
    """Nodes and constants, under names that do not clash. All numbers are float64."""

    def __init__(self) -> None:
        require("ONNX", "onnx", extra="onnx")
        import onnx

        self.onnx = onnx
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
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

    def add(self, kind: str, *inputs: str, domain: str = "", **attributes: Any) -> str:
        """Add a node with one output and return the output's name."""
        (output,) = self.add_several(kind, inputs, 1, domain=domain, **attributes)
        return output

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

    def call(self, name: str, output: str) -> None:
        """Give an output of the graph its name."""
        self.nodes.append(self.onnx.helper.make_node("Identity", [output], [name]))
