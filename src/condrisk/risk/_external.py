"""Predictors of which nothing is known but what they predict: boosters, services, own objects."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import get_tags

from condrisk._delegate import is_frozen
from condrisk.risk._responses import Responses


def has_tags(estimator: Any) -> bool:
    """Tell whether scikit-learn can ask an estimator, or a frozen one, for its tags."""
    return hasattr(_inside(estimator), "__sklearn_tags__")


def kind_of(estimator: Any) -> str | None:
    """Return what an estimator says by its tags that it is, such as "classifier"."""
    # A FrozenEstimator would copy all the tags of what is inside to answer the same.
    return get_tags(_inside(estimator)).estimator_type if has_tags(estimator) else None


def _inside(estimator: Any) -> Any:
    return estimator.estimator if is_frozen(estimator) else estimator


def first_response(responses: Responses, predictor: Any) -> NDArray[Any]:
    """Return the predictions of a frozen object; say so where it does not take the rows."""
    try:
        return np.asarray(responses.get("predict"))
    except (TypeError, AttributeError) as error:
        raise ValueError(
            f"predictor: {type(predictor.estimator).__name__}.predict does not take the rows of X "
            f"({error}). Freeze an object whose predict does, or give predictor="
            f'"precomputed" and its responses as prediction=.'
        ) from error
