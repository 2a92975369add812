"""Fits that are done once, however many methods ask for them.

All methods of a split cross-fit the same predictor on the same folds, and all plug-in risks fit the
same distribution. `fitted_once` keeps what such a fit has found, under a key of the class, its
parameters and everything given to `fit`, and hands it to whoever fits the same again. Nothing but
time depends on it: ``python -m benchmarks.given_model --check-cache`` compares the figures of a
split with and without it.
"""

from __future__ import annotations

import functools
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest.mock import patch

import joblib


@contextmanager
def fitted_once(*wanted: Any, most: int = 12) -> Iterator[None]:
    """Fit no model twice that is alike one of these: a class, or a model with its parameters.

    Parameters
    ----------
    *wanted : estimator or class
        A class stands for any parameters.
    most : int, default=12
        How many fits are kept; the one that was asked for longest ago goes first.
    """
    kept: OrderedDict[str, dict[str, Any]] = OrderedDict()
    with ExitStack() as stack:
        for model in wanted:
            kind: Any = model if isinstance(model, type) else type(model)
            params = None if isinstance(model, type) else _params(model)
            stack.enter_context(patch.object(kind, "fit", _once(kind.fit, params, kept, most)))
        yield


def _params(model: Any) -> str:
    return str(joblib.hash(model.get_params()))


def _once(
    plain: Callable[..., Any], wanted: str | None, kept: OrderedDict[str, Any], most: int
) -> Callable[..., Any]:
    """Return a `fit` that looks up what has been fitted before."""

    @functools.wraps(plain)
    def fit(self: Any, *args: Any, **kwargs: Any) -> Any:
        params = self.get_params(deep=False)
        seed = params.get("random_state", 0)
        # Without a seed, or with a generator that goes on, two fits are not the same.
        if not isinstance(seed, int) or (wanted is not None and _params(self) != wanted):
            return plain(self, *args, **kwargs)
        key = str(joblib.hash((type(self).__qualname__, params, args, kwargs)))
        if key not in kept:
            plain(self, *args, **kwargs)
            kept[key] = {k: v for k, v in vars(self).items() if k not in params}
            if len(kept) > most:
                kept.popitem(last=False)
        kept.move_to_end(key)
        vars(self).update(kept[key])
        return self

    return fit
