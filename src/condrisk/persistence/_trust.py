"""What a caller trusts: packages by a fixed list of their classes, classes and functions by name.

Trust comes from the caller alone. A name admits a class, or a function if ``function:`` stands
before it, and is looked up before anything in a file is made: what is not of that kind is refused.
"""

from __future__ import annotations

from collections.abc import Iterable
from importlib import import_module
from typing import Any

from condrisk.persistence._skops import import_skops

FUNCTION = "function:"
# By which of skops' loaders a class that is trusted by its name may be made.
CLASS_LOADERS = ("ConstructorFromReduceNode", "ObjectNode", "TupleNode", "TypeNode")


def _sklearn() -> dict[str, tuple[str, ...]]:
    """Return every estimator of scikit-learn, with what they are made of."""
    import_skops()
    from sklearn._loss._loss import CyLossFunction
    from skops.io._trusted_types import SKLEARN_ESTIMATOR_TYPE_NAMES, SKLEARN_INTERNAL_TYPE_NAMES

    parts = (
        "sklearn._loss.loss.HalfTweedieLoss",
        "sklearn._loss.loss.HalfTweedieLossIdentity",
        "sklearn.gaussian_process._gpc._BinaryGaussianProcessClassifierLaplace",
        *(f"sklearn.gaussian_process.kernels.{name}" for name in _KERNELS),
        *(f"sklearn.metrics._dist_metrics.{name}Distance64" for name in _DISTANCES),
        *(f"sklearn.model_selection._split.{name}" for name in _SPLITTERS),
        "sklearn.metrics._scorer._PassthroughScorer",
        "sklearn.neighbors._ball_tree.BallTree",
        "sklearn.neighbors._kd_tree.KDTree",
        "sklearn.neural_network._stochastic_optimizers.AdamOptimizer",
        "sklearn.neural_network._stochastic_optimizers.SGDOptimizer",
        "sklearn.utils._bunch.Bunch",
    )
    losses = ("CyExponentialLoss", "CyHalfTweedieLoss", "CyHalfTweedieLossIdentity", "CyHuberLoss")
    return {
        "ObjectNode": (*SKLEARN_ESTIMATOR_TYPE_NAMES, *SKLEARN_INTERNAL_TYPE_NAMES, *parts),
        "LossNode": tuple(f"{CyLossFunction.__module__}.{name}" for name in losses),
        "MaskedArrayNode": ("numpy.ma.MaskedArray",),
        "RandomStateNode": ("numpy.random.mtrand.RandomState",),
        "SparseMatrixNode": tuple(f"scipy.sparse._{k}.{k}_{m}" for k in _SPARSE for m in _KINDS),
    }


_KERNELS = ("ConstantKernel", "Matern", "Product", "RBF", "RationalQuadratic", "Sum", "WhiteKernel")
_DISTANCES = ("Chebyshev", "Euclidean", "Manhattan", "Minkowski")
_SPLITTERS = ("GroupKFold", "KFold", "ShuffleSplit", "StratifiedKFold", "TimeSeriesSplit")
_SPARSE, _KINDS = ("csr", "csc"), ("matrix", "array")

_BOOSTING: dict[str, dict[str, tuple[str, ...]]] = {
    "catboost": {
        "BytesNode": ("builtins.bytes",),
        "ObjectNode": tuple(
            f"catboost.core.{name}" for name in ("CatBoostClassifier", "CatBoostRegressor")
        ),
    },
    "lightgbm": {
        "DefaultDictNode": ("collections.defaultdict",),
        "DictNode": ("collections.OrderedDict",),
        "ObjectNode": (
            "lightgbm.basic.Booster",
            "lightgbm.sklearn.LGBMClassifier",
            "lightgbm.sklearn.LGBMRegressor",
        ),
        "TypeNode": ("collections.OrderedDict",),
    },
    "xgboost": {
        "BytearrayNode": ("builtins.bytearray",),
        "ObjectNode": (
            "xgboost.core.Booster",
            "xgboost.sklearn.XGBClassifier",
            "xgboost.sklearn.XGBRegressor",
            "xgboost.sklearn.XGBRFClassifier",
            "xgboost.sklearn.XGBRFRegressor",
        ),
    },
}
PACKAGES = (*_BOOSTING, "sklearn")


def package_list(package: str) -> dict[str, tuple[str, ...]]:
    """Return what trust in a package admits: names by the loader of skops that makes them."""
    return _sklearn() if package == "sklearn" else _BOOSTING[package]


class Trust:
    """What a caller trusts.

    Parameters
    ----------
    trusted : iterable of str
        Names of packages, full names of classes, and of functions with ``function:`` before them.
    """

    def __init__(self, trusted: Iterable[str] = ()) -> None:
        if isinstance(trusted, str):
            raise TypeError(
                f"trusted must be a sequence of names, such as [{trusted!r}]; got one text."
            )
        self.names = tuple(dict.fromkeys(trusted))
        self._classes: set[str] = set()
        self._functions: set[str] = set()
        self._listed: dict[str, set[str]] = {}
        for name in self.names:
            self._add(name)

    def _add(self, name: Any) -> None:
        if isinstance(name, str) and name in PACKAGES:
            for loader, names in package_list(name).items():
                self._listed.setdefault(loader, set()).update(names)
        elif isinstance(name, str) and name.startswith(FUNCTION) and "." in name:
            self._functions.add(name.removeprefix(FUNCTION))
        elif isinstance(name, str) and "." in name.strip("."):
            self._classes.add(name)
        else:
            raise ValueError(
                f"trusted must name packages ({', '.join(PACKAGES)}), classes in full such as "
                f"'my_package.MyRisk', or functions such as 'function:my_package.my_loss'; "
                f"got {name!r}."
            )

    def admits(self, loader: str, name: str) -> bool:
        """Tell whether a name may be made by a loader; what it stands for is looked at."""
        if name in self._listed.get(loader, ()):
            return loader != "ObjectNode" or is_class(name)
        if loader == "FunctionNode":
            return name in self._functions and is_function(name)
        return loader in CLASS_LOADERS and name in self._classes and is_class(name)


def needed_for(loader: str, name: str) -> str | None:
    """Return what a caller has to trust for a loader to make a name; None if nothing helps."""
    for package in PACKAGES:
        if name in package_list(package).get(loader, ()):
            return package
    if loader == "FunctionNode":
        return FUNCTION + name
    return name if loader in CLASS_LOADERS else None


def find(name: str) -> Any:
    """Return what a full name stands for, None if nothing; its module is imported."""
    module, _, attribute = name.rpartition(".")
    try:
        return getattr(import_module(module), attribute, None)
    except Exception:  # whatever a module of somebody's raises when it is imported
        return None


def is_class(name: str) -> bool:
    """Tell whether a full name is that of a class, defined under that name."""
    found = find(name)
    return isinstance(found, type) and f"{found.__module__}.{found.__qualname__}" == name


def is_function(name: str) -> bool:
    """Tell whether a full name is that of a function, defined under that name."""
    found = find(name)
    own = f"{getattr(found, '__module__', None)}.{getattr(found, '__qualname__', None)}"
    return callable(found) and not isinstance(found, type) and own == name


def version_of(name: str) -> str | None:
    """Return the version of the package that a name of trust is from, if it says one.

    The package itself is asked: one module may come from distributions of several names.
    """
    found = getattr(
        import_module(name.removeprefix(FUNCTION).partition(".")[0]), "__version__", None
    )
    return None if found is None else str(found)
