"""One way to check what every metric, rule and estimator is given."""

from collections.abc import Callable
from numbers import Real
from typing import Any, TypeAlias, TypeVar, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

Vector: TypeAlias = NDArray[np.float64]
F = TypeVar("F", bound=Callable[..., Any])

# A risk beyond this is as good as infinite; below it, means over many rows are still numbers.
LARGEST_RISK = 1e300


def validated(*, nested: bool) -> Callable[[F], F]:
    """Return scikit-learn's check of constructor parameters, which keeps the type of a `fit`.

    Parameters
    ----------
    nested : bool
        Whether estimators that are fitted inside check their parameters too: those of a user do,
        those that were made here need not.
    """
    from sklearn.base import _fit_context  # metrics need no scikit-learn

    return cast("Callable[[F], F]", _fit_context(prefer_skip_nested_validation=not nested))


def refuse_gradients(**given: Any) -> None:
    """Refuse tensors of torch that require grad: numpy cannot take them."""
    for name, values in given.items():
        if getattr(values, "requires_grad", False) is True:
            raise ValueError(
                f"{name} is a tensor that requires grad, and no gradient goes through here: "
                f"give {name}.detach()."
            )


def check_vector(values: ArrayLike, name: str) -> Vector:
    """Return `values` as a one-dimensional float64 array without NaN or infinity."""
    array = _as_real(values, name)
    if array.ndim != 1:
        raise ValueError(
            f"{name} must be one-dimensional, with one value per row, "
            f"got an array of shape {array.shape}"
        )
    if array.size == 0:
        raise ValueError(f"{name} is empty: at least one row is needed")
    _check_finite(array, name)
    return array


def check_vectors(**columns: ArrayLike) -> list[Vector]:
    """Return each of the named arguments as a vector, all of one length."""
    vectors = {name: check_vector(values, name) for name, values in columns.items()}
    first, *others = vectors
    for name in others:
        _check_length(vectors[name], name, like=vectors[first], like_name=first)
    return list(vectors.values())


def check_weight(sample_weight: ArrayLike | None, like: Vector, like_name: str) -> Vector | None:
    """Return the weights of the rows of `like`, or None where all count the same."""
    if sample_weight is None:
        return None
    weight = check_vector(sample_weight, "sample_weight")
    _check_length(weight, "sample_weight", like=like, like_name=like_name)
    if weight.min() < 0:
        raise ValueError(f"sample_weight must not be negative, got {weight.min()}")
    with np.errstate(over="ignore"):
        total = weight.sum()
    if not 0 < total < np.inf:
        raise ValueError(f"sample_weight must have a positive, finite sum, got a sum of {total}")
    return weight


def check_row_weights(sample_weight: ArrayLike | None, X: Any) -> Vector:
    """Return the weights of the rows of `X` for a learner, ones where none are given."""
    from sklearn.utils.validation import _check_sample_weight  # metrics need no scikit-learn

    nothing = "sample_weight is zero for all rows: at least one must count."
    try:
        weight = _check_sample_weight(sample_weight, X, ensure_non_negative=True)
    except ValueError as error:
        if "at least one non-zero" in str(error):
            raise ValueError(nothing) from error
        raise
    if len(weight) and not weight.any():  # older releases of scikit-learn say nothing
        raise ValueError(nothing)
    return weight


def check_target_is_numeric(y: Any) -> None:
    """Refuse targets that are text, in words that name them."""
    values = np.asarray(y)
    if values.dtype.kind not in "OUST":
        return
    text = [value for value in values.flat if isinstance(value, str | bytes)]
    if text:
        raise ValueError(f"y must be numbers for a regressor, got the text {str(text[0])!r}.")


def check_cost(cost: ArrayLike, like: Vector, like_name: str) -> Vector:
    """Return the cost, an array without dimensions, or the cost of each row of `like`."""
    values = _as_real(cost, "cost")
    if values.ndim > 0:
        values = check_vector(values, "cost")
        _check_length(values, "cost", like=like, like_name=like_name)
    _check_finite(values, "cost")
    return _check_not_negative(values, "cost")


def check_costs(costs: ArrayLike) -> Vector:
    """Return the costs at which a curve is wanted."""
    return _check_not_negative(check_vector(costs, "costs"), "costs")


def check_confidence(value: float, name: str = "confidence") -> None:
    """Refuse what is not a probability strictly between 0 and 1."""
    if not isinstance(value, Real) or isinstance(value, bool):
        raise TypeError(f"{name} must be a number, got {value!r}")
    if not 0 < value < 1:
        raise ValueError(f"{name} must lie strictly between 0 and 1, got {value!r}")


def check_quantiles(quantiles: ArrayLike) -> Vector:
    """Return levels between 0 and 1, as a vector."""
    levels = np.atleast_1d(_as_real(quantiles, "quantiles"))
    if not levels.size:
        raise ValueError("quantiles is empty: at least one level between 0 and 1 is needed.")
    levels = check_vector(levels, "quantiles")
    if levels.min() < 0 or levels.max() > 1:
        raise ValueError(f"quantiles must lie between 0 and 1, got {levels.tolist()}")
    return levels


def _as_real(values: ArrayLike, name: str) -> Vector:
    refuse_gradients(**{name: values})
    try:
        array = np.asarray(values)
    except ValueError as error:  # lists of different lengths
        raise ValueError(f"{name} must be one-dimensional: {error}") from error
    if array.dtype.kind == "O":
        # A numeric string would be converted without a word.
        wrong = [value for value in array.flat if not isinstance(value, Real)]
        if wrong:
            raise TypeError(f"{name} must be made of real numbers, got {wrong[0]!r}")
    elif array.dtype.kind not in "biuf":
        raise TypeError(f"{name} must be made of real numbers, got dtype {array.dtype}")
    return array.astype(np.float64, copy=False)


def _check_finite(array: Vector, name: str) -> None:
    finite = np.isfinite(array)
    if not finite.all():
        raise ValueError(
            f"{name} must be finite, got {array.size - np.count_nonzero(finite)} value(s) "
            f"that are NaN or infinite, the first at row {np.argmin(finite)}"
        )


def _check_length(array: Vector, name: str, *, like: Vector, like_name: str) -> None:
    if len(array) != len(like):
        raise ValueError(
            f"{name} and {like_name} must have the same length, "
            f"got {len(array)} and {len(like)} rows"
        )


def _check_not_negative(cost: Vector, name: str) -> Vector:
    if cost.min() < 0:
        raise ValueError(f"{name} is a price and must not be negative, got {cost.min()}")
    return cost
