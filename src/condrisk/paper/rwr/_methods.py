"""The methods of the study: the paper's sixteen pairs, the baselines, and what users register."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import GroupShuffleSplit, ShuffleSplit
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from condrisk.paper.rwr import LockstepMLPRegressor
from condrisk.paper.rwr._paper import PAIRS
from condrisk.paper.rwr._plug_in._names import OUR_PAIRS
from condrisk.risk import RegressionRisk

SEED = 42

MLP = Literal["fast", "sklearn"]
Factory = TypeVar("Factory", bound=Callable[[], Any])
_registered: dict[str, Callable[[], Any]] = {}


class PaperSplit(BaseEstimator):
    """The paper's one split of the training rows: 5/9 for the predictor, 4/9 for its risk.

    Given groups, whole groups are held out.

    Parameters
    ----------
    test_size : float, default=4/9
        Share of the rows, or groups, that are held out.
    random_state : int, default=42
        The seed.

    Examples
    --------
    >>> from condrisk.paper.rwr import PaperSplit
    >>> [(fit, held)] = PaperSplit().split(range(9))
    >>> len(fit), len(held)
    (5, 4)
    """

    def __init__(self, *, test_size: float = 4 / 9, random_state: int = SEED) -> None:
        self.test_size = test_size
        self.random_state = random_state

    def split(
        self, X: Any, y: Any = None, groups: Any = None
    ) -> Iterator[tuple[NDArray[np.intp], NDArray[np.intp]]]:
        """Yield the rows of the two parts, once."""
        kind = ShuffleSplit if groups is None else GroupShuffleSplit
        splitter = kind(1, test_size=self.test_size, random_state=self.random_state)
        yield from splitter.split(np.empty((len(X), 1)), groups=groups)

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """Return 1."""
        return 1


def register_method(name: str) -> Callable[[Factory], Factory]:
    """Put a method of your own into the study, and so into every table of it.

    The decorated function takes nothing and returns an estimator that has not been fitted: one
    with `predict_risk`, such as `RegressionRisk`, or one with `decide`, such as `Deferral`. It is
    fitted on the training rows of each fold. A predictor or regressor that other methods have too
    is fitted only once.

    Parameters
    ----------
    name : str
        What the tables call it.

    Returns
    -------
    callable
        The decorator, which leaves the function as it is.

    Examples
    --------
    >>> from sklearn.linear_model import LinearRegression
    >>> from condrisk import RegressionRisk
    >>> from condrisk.paper.rwr import register_method, unregister_method
    >>> @register_method("linear, cross-fitted")
    ... def linear():
    ...     return RegressionRisk(LinearRegression(), random_state=0)
    >>> unregister_method("linear, cross-fitted")
    """
    if not isinstance(name, str) or not name.strip():
        raise ValueError(f"name must be the name of the method, a string; got {name!r}.")
    if name in _registered or name in (*PAIRS, *OUR_PAIRS):
        raise ValueError(f"name {name!r} is taken: there is a method of that name already.")

    def register(factory: Factory) -> Factory:
        if not callable(factory):
            raise TypeError("register_method decorates a function that returns an estimator.")
        _registered[name] = factory
        return factory

    return register


def unregister_method(name: str) -> None:
    """Take a registered method out again.

    Parameters
    ----------
    name : str
        The name it was registered under.
    """
    if name not in _registered:
        raise ValueError(f"name {name!r} is not registered; {sorted(_registered)} are.")
    del _registered[name]


def pair_names() -> list[str]:
    """Return the names of the sixteen pairs, regressor first, in the order of the paper."""
    return list(PAIRS)


def make_model(name: str, *, mlp: MLP) -> Any:
    """Return one of the paper's four models, as the authors set it up."""
    if name == "RF":
        return RandomForestRegressor(random_state=SEED)
    if name == "LR":
        return make_pipeline(StandardScaler(), LinearRegression())
    kind = {"fast": LockstepMLPRegressor, "sklearn": MLPRegressor}[mlp]
    layers = {"MLP": (64,), "MLP2": (64, 64)}[name]
    net = kind(
        hidden_layer_sizes=layers,
        batch_size=256,
        learning_rate_init=5e-4,
        max_iter=800,
        random_state=SEED,
    )
    return make_pipeline(StandardScaler(), net)


def make_pair(name: str, *, mlp: MLP) -> RegressionRisk:
    """Return the risk estimator of a pair such as "MLP+RF"."""
    regressor, calibrator = name.split("+")
    return RegressionRisk(
        make_model(regressor, mlp=mlp),
        loss="squared_error",
        regressor=make_model(calibrator, mlp=mlp),
        clip=False,
        cv=PaperSplit(),
        refit=False,
    )


def make_methods(*, mlp: MLP) -> dict[str, Any]:
    """Return every method of the study, not fitted: pairs, then what is registered."""
    methods: dict[str, Any] = {name: make_pair(name, mlp=mlp) for name in pair_names()}
    for name, factory in _registered.items():
        methods[name] = factory()
        if not any(hasattr(methods[name], method) for method in ("predict_risk", "decide")):
            raise TypeError(
                f"method {name!r} must return an estimator with predict_risk or decide, "
                f"got {type(methods[name]).__name__}."
            )
    return methods
