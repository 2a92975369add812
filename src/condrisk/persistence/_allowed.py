"""What a model file may hold, by the loader of skops that would make it.

The classes are those whose attributes are known; what else there is are containers, numbers and
types. skops itself trusts every estimator of scikit-learn, and this list is shorter.
"""

from __future__ import annotations

from sklearn._loss._loss import CyLossFunction

from condrisk.persistence import (
    _known_condrisk,
    _known_encoders,
    _known_routing,
    _known_sklearn,
    _known_trees,
)
from condrisk.persistence._closed import Known
from condrisk.persistence._known_sklearn import CHECK_ARRAY, NATIVE_LOSSES

KNOWN: dict[str, Known] = {
    **_known_condrisk.KNOWN,
    **_known_routing.KNOWN,
    **_known_sklearn.KNOWN,
    **_known_encoders.KNOWN,
    **_known_trees.KNOWN,
}

_SCALARS = (
    *("bool", "bool_", "float32", "float64"),
    *("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
)
ALLOWED: dict[str, frozenset[str]] = {
    "DTypeNode": frozenset({"numpy.dtype"}),
    "DictNode": frozenset({"builtins.dict"}),
    # The first is part of boosting with categories. The others made members of a mixture, and are
    # not called again; where either may stand is known.
    "FunctionNode": frozenset(
        {
            CHECK_ARRAY,
            "condrisk.learners._members.fit_boosting",
            "condrisk.learners._members.fit_log_linear",
        }
    ),
    "JsonNode": frozenset({"builtins.str"}),
    "ListNode": frozenset({"builtins.list"}),
    # Their module calls itself "_loss" before scikit-learn 1.9.
    "LossNode": frozenset(f"{CyLossFunction.__module__}.{name}" for name in NATIVE_LOSSES),
    "NdArrayNode": frozenset({"numpy.ndarray", *(f"numpy.{name}" for name in _SCALARS)}),
    "ObjectNode": frozenset(KNOWN),
    "PartialNode": frozenset({"functools.partial"}),
    "RandomGeneratorNode": frozenset({"numpy.random._generator.Generator"}),
    "SliceNode": frozenset({"builtins.slice"}),
    "TreeNode": frozenset({_known_trees.TREE}),
    "TupleNode": frozenset(
        {
            "builtins.tuple",
            "condrisk.learners._gaussian_process.Kernel",
            "condrisk._mixing.Pool",
        }
    ),
    "TypeNode": frozenset(
        {
            "builtins.bool",
            "builtins.float",
            "builtins.int",
            "builtins.str",
            "numpy.bool",
            "numpy.float32",
            "numpy.float64",
            "numpy.int32",
            "numpy.int64",
            "numpy.str_",
            "sklearn.ensemble._forest.ExtraTreesRegressor",
            "sklearn.ensemble._forest.RandomForestRegressor",
        }
    ),
}
