"""Tables as numbers: one encoder for every learner of ours."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import check_X_y
from sklearn.utils.validation import (
    _check_feature_names_in,
    _num_samples,
    assert_all_finite,
    check_is_fitted,
    validate_data,
)

from condrisk._forests import LARGEST, is_within_float32, within_float32
from condrisk._validation import check_target_is_numeric
from condrisk.learners._column_encoders import RichText, SparseRows, encoder_of
from condrisk.learners._columns import is_numeric, read_columns

Floats = NDArray[np.float64]
_NUMBERS: dict[str, Any] = {"dtype": np.float64, "ensure_all_finite": "allow-nan"}


class TableEncoder(TransformerMixin, BaseEstimator):
    """Make numbers of the columns of a table, each by its type.

    The learners of this package encode their rows by it, so that they take frames as they are. It
    reads pandas and polars frames, arrays of numpy with any types, lists of texts and sparse rows.

    =============================  =============================================================
    column                         becomes
    =============================  =============================================================
    numbers, booleans, durations   themselves (durations in seconds); NaN where missing
    categories, text               a column of 0 and 1 for each of the 20 most frequent values
    … with more than 20 values     besides these, the rank of the value by frequency
    … with an order                the place in the order
    text of many words             TF-IDF of its words, and the 20 leading components of that
    dates                          days since 1970, month, weekday, and the hour where there is one
    sparse rows                    their 50 leading components; themselves, up to 50 columns
    =============================  =============================================================

    A rank is one column however many values there are, and trees, which most learners here are
    made of, can still tell the values apart by it. Values that are seen once, and those after the
    thousandth, share the last rank with what is seen only after `fit`. A missing category is a
    value of its own, and so is an empty text. "Text of many words" has more than 20 values, of
    three words or more on average.

    Numbers alone pass unchanged, and without a copy if they are an array of float64 already.

    Parameters
    ----------
    rich_text : bool, default=False
        Whether text of many words becomes more: 64 components of words and pairs of words, 64 of
        pieces of words, and its length and what it is made of. For rows of which texts are most of
        what is known.

    Attributes
    ----------
    is_identity_ : bool
        Whether the rows are numbers already.
    n_features_out_ : int
        The number of columns of numbers.
    n_features_in_ : int
        The number of columns.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, where `X` has such.

    Notes
    -----
    The encoding does not look at a target, so that it is the same for training rows and for those
    held out. `X` in `transform` must have the columns of `fit` in their order. A column that was
    text in `fit` may hold numbers then, or nothing; one that held numbers or dates must do so.

    Examples
    --------
    >>> import pandas as pd
    >>> from condrisk.learners import TableEncoder
    >>> frame = pd.DataFrame({"size": [1, None, 3], "colour": ["red", "blue", "red"]})
    >>> encoder = TableEncoder().fit(frame)
    >>> encoder.get_feature_names_out().tolist()
    ['size', 'colour_red', 'colour_blue']
    >>> encoder.transform(pd.DataFrame({"size": [2], "colour": ["green"]}))
    array([[2., 0., 0.]])
    """

    def __init__(self, *, rich_text: bool = False) -> None:
        self.rich_text = rich_text

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn how each column becomes numbers.

        Parameters
        ----------
        X : frame, array-like or sparse matrix of shape (n_samples, n_features)
            Rows.
        y : None
            Ignored.

        Returns
        -------
        self : object
            The fitted encoder.

        Raises
        ------
        TypeError
            If a column holds something else than numbers, text, dates or durations.
        """
        self._encoders: list[Any] = []
        self.is_identity_ = is_numeric(X)
        if self.is_identity_:
            validate_data(self, X, **_NUMBERS)
        elif sparse.issparse(X):
            self._encoders = [SparseRows(validate_data(self, X, accept_sparse="csr", dtype=float))]
        else:
            validate_data(self, X, skip_check_array=True)
            if not _num_samples(X):
                raise ValueError("Found array with 0 sample(s) while a minimum of 1 is required.")
            self._encoders = [
                encoder_of(column, rich_text=self.rich_text) for column in read_columns(X)
            ]
        self.n_features_out_ = len(self.get_feature_names_out())
        return self

    def transform(self, X: Any) -> Floats:
        """Return the rows as numbers.

        Parameters
        ----------
        X : frame, array-like or sparse matrix of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples, n_features_out)
            Numbers, NaN where one is missing.
        """
        check_is_fitted(self, "is_identity_")
        if self.is_identity_:
            return validate_data(self, X, reset=False, **_NUMBERS)
        if isinstance(self._encoders[0], SparseRows):
            rows = validate_data(self, X, reset=False, accept_sparse="csr", dtype=np.float64)
            found = self._encoders[0].transform(rows)
        else:
            validate_data(self, X, skip_check_array=True, reset=False)
            parts = zip(self._encoders, read_columns(X), strict=True)
            found = np.column_stack([encoder.transform(column) for encoder, column in parts])
            assert_all_finite(found, allow_nan=True, input_name="X")
        # Trees that read these rows do not check their width, and a file may hold anything.
        if found.shape[1] != self.n_features_out_:
            raise ValueError(f"X gave {found.shape[1]} columns, not {self.n_features_out_}.")
        return found

    def fit_transform(self, X: Any, y: Any = None) -> Floats:
        """Learn the encoding, and return these rows as numbers.

        With `rich_text` that is not what `transform` gives for them: components of a text come from
        other texts, since those of new ones will.

        Parameters
        ----------
        X : frame, array-like or sparse matrix of shape (n_samples, n_features)
            Rows.
        y : None
            Ignored.

        Returns
        -------
        ndarray of shape (n_samples, n_features_out)
            Numbers, NaN where one is missing.
        """
        self.fit(X)
        if not any(isinstance(encoder, RichText) for encoder in self._encoders):
            return self.transform(X)
        parts = zip(self._encoders, read_columns(X), strict=True)
        return np.column_stack(
            [
                encoder.training(column)
                if isinstance(encoder, RichText)
                else encoder.transform(column)
                for encoder, column in parts
            ]
        )

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Return the names of the columns of numbers.

        Parameters
        ----------
        input_features : array-like of str, optional
            Names of the columns of an array; those of a frame are known.

        Returns
        -------
        ndarray of str
            Such as "colour_red" for the value "red" of the column "colour".
        """
        check_is_fitted(self, "is_identity_")
        if not hasattr(self, "n_features_in_"):  # a list of texts
            given = np.array(["x0"], dtype=object)
        else:
            given = _check_feature_names_in(self, input_features)
        if self.is_identity_:
            return given
        if isinstance(self._encoders[0], SparseRows):
            return np.array(self._encoders[0].suffixes or given, dtype=object)
        pairs = zip(given, self._encoders, strict=True)
        names = [f"{name}{suffix}" for name, encoder in pairs for suffix in encoder.suffixes]
        return np.array(names, dtype=object)

    def sources(self) -> NDArray[np.intp]:
        """Return the column of the table, by its place, that each column of numbers is made of.

        Raises
        ------
        AttributeError
            Where the rows are sparse and encoded by components, which all columns have a part in.
        """
        check_is_fitted(self, "is_identity_")
        if self.is_identity_:
            return np.arange(self.n_features_out_)
        if not isinstance(self._encoders[0], SparseRows):
            sizes = [len(encoder.suffixes) for encoder in self._encoders]
            return np.repeat(np.arange(len(sizes)), sizes)
        if self._encoders[0].components is not None:
            raise AttributeError(
                "sparse rows are encoded by components here, to which all columns contribute: "
                "nothing is known of a single one."
            )
        return np.arange(self.n_features_out_)

    def blocks(self) -> NDArray[np.intp]:
        """Return a number for each column of numbers: those that share one share a scale.

        Components of one text, or of sparse rows, belong together: each counts as far as it varies.
        Any other column of numbers is alone.
        """
        check_is_fitted(self, "is_identity_")
        if self.is_identity_ or not any(encoder.suffixes for encoder in self._encoders):
            return np.arange(self.n_features_out_)
        found: list[int] = []
        for encoder in self._encoders:
            first = max(found, default=-1) + 1
            found += [first + block for block in encoder.blocks]
        return np.array(found, dtype=np.intp)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = tags.input_tags.sparse = tags.input_tags.categorical = True
        return tags


def training_rows(learner: Any, X: Any, y: Any, **checks: Any) -> tuple[Floats, Any]:
    """Return validated rows as numbers, and targets; the learner keeps what encodes its rows.

    Rows that are numbers already take the way that they have in any learner of scikit-learn, and
    `encoder_` is None then.
    """
    learner.encoder_ = None
    if checks.get("y_numeric"):
        check_target_is_numeric(y)
    if is_numeric(X):
        rows, y = validate_data(learner, X, y, **checks, **_NUMBERS)
        _check_range(rows)
        return rows, y
    validate_data(learner, X, skip_check_array=True)
    learner.encoder_ = TableEncoder().fit(X)
    encoded = learner.encoder_.transform(X)
    rows, y = check_X_y(encoded, y, estimator=learner, **checks, **_NUMBERS)
    _check_range(rows, learner.encoder_)
    return rows, y


def new_rows(learner: Any, X: Any) -> Floats:
    """Return further rows as numbers, as the learner was fitted on, moved into its range."""
    if learner.encoder_ is None:
        return within_float32(validate_data(learner, X, reset=False, **_NUMBERS))
    validate_data(learner, X, skip_check_array=True, reset=False)
    return within_float32(learner.encoder_.transform(X))


def _check_range(rows: Floats, encoder: TableEncoder | None = None) -> None:
    """Refuse training rows with numbers that trees cannot take."""
    if not is_within_float32(rows):
        row, column = np.argwhere(np.abs(rows) > LARGEST)[0]
        name = column if encoder is None else repr(encoder.get_feature_names_out()[column])
        raise ValueError(
            f"X has {rows[row, column]:.3g} in row {row}, column {name} (counted from 0): the "
            f"trees fitted here take numbers up to {LARGEST:.2g}, those of float32."
        )
