"""What was probably meant by a loss that is none of ours."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

# Well-known names of losses: what to write here.
_ALIASES = {
    "mae": '"absolute_error"',
    "l1": '"absolute_error"',
    "absolute": '"absolute_error"',
    "mean_absolute_error": '"absolute_error"',
    "mse": '"squared_error"',
    "rmse": '"squared_error"',
    "l2": '"squared_error"',
    "squared": '"squared_error"',
    "mean_squared_error": '"squared_error"',
    "pinball": "condrisk.losses.pinball(0.9), with your quantile",
    "quantile": "condrisk.losses.pinball(0.9), with your quantile",
    "huber": "condrisk.losses.huber(1.0), with your delta",
    "0_1": '"zero_one"',
    "0/1": '"zero_one"',
    "01": '"zero_one"',
    "accuracy": '"zero_one"',
    "error_rate": '"zero_one"',
    "cross_entropy": '"log_loss"',
    "crossentropy": '"log_loss"',
    "logloss": '"log_loss"',
    "nll": '"log_loss"',
    "deviance": '"log_loss"',
    "hamming_loss": '"hamming"',
}
# scikit-learn's metrics whose per-example loss is here.
_OF_METRICS = {
    "mean_squared_error": '"squared_error"',
    "root_mean_squared_error": '"squared_error"',
    "mean_absolute_error": '"absolute_error"',
    "mean_pinball_loss": "condrisk.losses.pinball(0.9), with your quantile",
    "accuracy_score": '"zero_one"',
    "zero_one_loss": '"zero_one"',
    "hamming_loss": '"hamming"',
    "log_loss": '"log_loss"',
    "brier_score_loss": '"brier"',
}


def suggestion(name: str, known: Iterable[str]) -> str:
    """Return the end of a message: the loss nearest to an unknown name, or nothing.

    Examples
    --------
    >>> from condrisk.losses._suggest import suggestion
    >>> suggestion("MAE", ["absolute_error"])
    ' Did you mean "absolute_error"?'
    """
    plain = name.strip().lower().replace("-", "_").replace(" ", "_")
    near = difflib.get_close_matches(plain, [*known, *_ALIASES], n=1)
    if not near:
        return ""
    own = f'"{near[0]}"'
    return f" Did you mean {_ALIASES.get(near[0], own)}?"


def refuse_metric(fn: Callable[..., Any]) -> None:
    """Refuse a metric of scikit-learn: it averages, and a loss has a value per example."""
    while isinstance(fn, partial):
        fn = fn.func
    # A function says where it is from, and so does the class of a scorer.
    module = getattr(fn, "__module__", None) or ""
    if not module.startswith("sklearn.metrics") or module.startswith("sklearn.metrics.pairwise"):
        return
    name = getattr(fn, "__name__", type(fn).__name__)
    instead = _OF_METRICS.get(name)
    use = f"Use {instead}." if instead else "Write a function that returns one value per example."
    raise ValueError(
        f"loss: {name} of scikit-learn is a metric and returns one number for all examples, but a "
        f"loss has one value per example. {use}"
    )
