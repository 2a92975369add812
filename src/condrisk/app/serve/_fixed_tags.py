"""A fitted model that does not work out the same tags at every call.

scikit-learn asks an estimator for its tags whenever it checks something, and a pipeline asks all
of its steps again: for a few rows, more than half of the time of a decision. The tags of a fitted
model do not change while it is served.
"""

from __future__ import annotations

import copy
from typing import Any, TypeVar

from sklearn.utils import get_tags

Model = TypeVar("Model")


def with_fixed_tags(model: Model) -> Model:
    """Return a model that decides alike, and answers for its tags at once.

    Parameters
    ----------
    model : estimator
        Fitted. It is left as it is.

    Returns
    -------
    estimator
        A copy of the estimators in it; arrays, trees and all else are shared.
    """
    return _fixed(model, {})


def _fixed(value: Any, done: dict[int, Any]) -> Any:
    """Return a copy of an estimator, or of a container with estimators; else the value itself."""
    if id(value) in done:
        return done[id(value)]
    done[id(value)] = value  # for containers that hold themselves
    if type(value) in (list, tuple):
        parts = [_fixed(part, done) for part in value]
        if any(new is not old for new, old in zip(parts, value, strict=True)):
            done[id(value)] = type(value)(parts)
    elif type(value) is dict:
        found = {key: _fixed(part, done) for key, part in value.items()}
        if any(found[key] is not part for key, part in value.items()):
            done[id(value)] = found
    elif hasattr(value, "__sklearn_tags__") and not isinstance(value, type):
        done[id(value)] = _fixed_estimator(value, done)
    return done[id(value)]


def _fixed_estimator(estimator: Any, done: dict[int, Any]) -> Any:
    try:
        tags = get_tags(estimator)  # of the original: those of its parts are not fixed
    except Exception:  # whoever asks for them will be told
        return estimator
    done[id(estimator)] = made = copy.copy(estimator)
    for name, part in vars(estimator).items():
        made.__dict__[name] = _fixed(part, done)
    made.__dict__["__sklearn_tags__"] = lambda: tags
    return made
