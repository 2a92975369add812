"""What some estimators refuse, in words that say what to do."""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils.validation import has_fit_parameter

from condrisk._delegate import is_frozen


def refuse_module(predictor: Any) -> None:
    """Refuse a bare module of torch, which can neither be fitted nor asked to predict."""
    inner = predictor.estimator if is_frozen(predictor) else predictor
    is_module = hasattr(inner, "forward") and hasattr(inner, "state_dict")
    if isinstance(inner, type) or not is_module or hasattr(inner, "predict"):
        return
    name = type(inner).__name__
    raise ValueError(
        f"predictor: {name} is a module of torch, without fit and predict. To train it, give "
        f"TorchClassifier(module) or TorchRegressor(module) of condrisk.torch. If it is trained, "
        f'give FrozenEstimator of an object whose predict asks it, or "precomputed" and its '
        f"outputs as prediction=."
    )


def check_clones(parts: dict[str, Any]) -> None:
    """Refuse a part that scikit-learn cannot clone: it has to be fitted several times.

    CatBoost copies the lists that its constructor is given, which scikit-learn takes for a change.
    """
    for name, part in parts.items():
        try:
            clone(part)
        except RuntimeError as error:
            _say_how_to_clone(name, part, error)


def _say_how_to_clone(name: str, part: Any, error: RuntimeError) -> NoReturn:
    parameter = str(error).rsplit(maxsplit=1)[-1]  # the message ends in its name
    values = [v for key, v in part.get_params().items() if key.split("__")[-1] == parameter]
    ways = [f"give {parameter} as a tuple"] if any(isinstance(v, list) for v in values) else []
    if name == "predictor" and has_fit_parameter(part, parameter):
        ways.append(f"leave it to fit, as in fit(X, y, {parameter}=…)")
    ways.append(f"fit the {name} on other rows and give FrozenEstimator({name})")
    raise ValueError(
        f"{name}: scikit-learn cannot clone {type(part).__name__} with {parameter}, and it has to "
        f"be fitted several times. Do one of these: {'; '.join(ways)}."
    ) from error


def say_which_labels(error: ValueError, y: NDArray[Any]) -> None:
    """Raise a clearer error where XGBoost refuses labels other than 0, 1, 2 and so on."""
    if "Invalid classes inferred from unique values of `y`" not in str(error):
        return
    classes = np.unique(y)
    if classes.dtype.kind in "biuf" and np.array_equal(classes, np.arange(len(classes))):
        return  # a fold lacks a class
    raise ValueError(
        f"predictor: XGBoost takes the labels 0, 1, 2, … only, and y has {classes.tolist()[:5]}: "
        f"give LabelEncoder().fit_transform(y) in place of y; its classes_ are the labels."
    ) from error
