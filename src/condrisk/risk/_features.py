"""The inputs of g: the rows themselves, or the rows with the predictor's response beside them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse


def beside(X: Any, response: NDArray[Any], classes: NDArray[Any] | None) -> Any:
    """Return `X` with a column for each number of the response, in the container it came in."""
    columns = response if response.ndim == 2 else response[:, None]
    if getattr(X, "ndim", 2) > 2:
        raise ValueError(
            f'features="x+response" needs rows of features; X has {X.ndim} dimensions.'
        )
    if sparse.issparse(X):
        return sparse.hstack([X, sparse.csr_array(columns)], format="csr")
    if not all(isinstance(name, str) for name in getattr(X, "columns", [0])):
        # Neither does scikit-learn keep names that are not all text.
        rows = np.asarray(X)
        # Numbers beside text would become text.
        return np.column_stack([rows.astype(object) if rows.dtype.kind in "US" else rows, columns])
    named = dict(zip(_names(X, columns, classes), columns.T, strict=True))
    if hasattr(X, "with_columns"):  # polars
        return X.with_columns(**named)
    return X.assign(**named)


def _names(X: Any, columns: NDArray[Any], classes: NDArray[Any] | None) -> list[str]:
    labels = range(columns.shape[1]) if classes is None else classes
    one = classes is None and len(labels) == 1
    names = ["response"] if one else [f"response_{label}" for label in labels]
    taken = sorted(set(names) & {str(name) for name in X.columns})
    if taken:
        raise ValueError(
            f'X has columns named {taken}, which features="x+response" needs for the '
            f'predictor\'s response: rename them, or set features="x".'
        )
    return names
