"""How one column of a table becomes numbers, by what it holds."""

from __future__ import annotations

from collections import Counter
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from sklearn.preprocessing import normalize

from condrisk.learners._columns import GAP, Column

Floats = NDArray[np.float64]

# So many values of a category have a column of their own, and so many a rank.
MOST_COLUMNS, MOST_RANKS = 20, 1000
# Text has so many words on average; labels have fewer.
FEWEST_WORDS = 3
# Components of a column of text, and of sparse rows.
TEXT_COMPONENTS, SPARSE_COMPONENTS = 20, 50
# Words are counted in so many bins: a model file then holds none of the words.
N_BINS = 2**14
# Components are found on at most so many rows.
MOST_ROWS = 50_000


class ColumnEncoder(Protocol):
    """What a column becomes: `suffixes` name its numbers, after the name of the column."""

    suffixes: list[str]

    def transform(self, column: Column) -> Floats:
        """Return the numbers, of shape (n_rows, n_numbers)."""


def encoder_of(column: Column) -> ColumnEncoder:
    """Return the encoder of a column of training rows."""
    if column.kind == "date":
        return Dates(column.values)
    if column.kind == "empty":
        return Empty()
    if column.kind == "number":
        return Numbers()
    if column.order:
        return Ordered(column.order)
    counts = Counter(column.values.tolist())
    return Words(column.values) if _is_text(counts) else Labels(counts)


def _is_text(counts: Counter[str]) -> bool:
    """Tell whether values are many and of several words each."""
    known = [value for value in counts if value != GAP]
    if len(known) <= MOST_COLUMNS:
        return False
    return sum(len(value.split()) for value in known) >= FEWEST_WORDS * len(known)


class Numbers:
    """Numbers as they are."""

    def __init__(self) -> None:
        self.suffixes = [""]

    def transform(self, column: Column) -> Floats:
        """Return the numbers."""
        return column.as_kind("number")[:, None]


class Empty:
    """Nothing is known of a column without values, whatever it holds later."""

    def __init__(self) -> None:
        self.suffixes = [""]

    def transform(self, column: Column) -> Floats:
        """Return a gap for each row."""
        return np.full((len(column.values), 1), np.nan)


class Ordered:
    """The place of each level in the order that its type declares; NaN for any other."""

    def __init__(self, levels: tuple[str, ...]) -> None:
        self.levels, self.suffixes = list(levels), [""]

    def transform(self, column: Column) -> Floats:
        """Return the places."""
        places = {level: float(k) for k, level in enumerate(self.levels)}
        found = [places.get(value, np.nan) for value in column.as_kind("label")]
        return np.array(found, dtype=np.float64)[:, None]


class Labels:
    """A column for each of the most frequent values, and where there are more, the rank of each."""

    def __init__(self, counts: Counter[str]) -> None:
        levels = sorted(counts, key=lambda level: (-counts[level], level))
        self.ranked = len(levels) > MOST_COLUMNS
        if self.ranked:
            # One that is seen once teaches nothing, and may be the name of a person.
            levels = [level for level in levels[:MOST_RANKS] if counts[level] > 1]
        self.levels = levels
        names = [f"_{level or 'missing'}" for level in levels[:MOST_COLUMNS]]
        self.suffixes = [*names, "_rank"] if self.ranked else names

    def transform(self, column: Column) -> Floats:
        """Return which level a row has."""
        rank = {level: k for k, level in enumerate(self.levels)}
        values, last = column.as_kind("label"), len(self.levels)
        found = np.fromiter((rank.get(v, last) for v in values), dtype=np.intp, count=len(values))
        single = found[:, None] == np.arange(min(last, MOST_COLUMNS))
        return np.column_stack([single, found] if self.ranked else [single]).astype(np.float64)


class Words:
    """The leading components of the TF-IDF of a column of text."""

    def __init__(self, texts: NDArray[Any]) -> None:
        from sklearn.feature_extraction.text import TfidfTransformer

        counts = _count_words(_some_rows(texts))
        self.idf = TfidfTransformer().fit(counts).idf_
        self.components = _leading(self._weighed(counts), TEXT_COMPONENTS)
        self.suffixes = [f"_text{k}" for k in range(len(self.components))]

    def _weighed(self, counts: Any) -> Any:
        return normalize(counts.multiply(self.idf).tocsr())

    def transform(self, column: Column) -> Floats:
        """Return the components."""
        return self._weighed(_count_words(column.as_kind("label"))) @ self.components.T


class Dates:
    """Days since 1970, the month, the weekday, and the hour where there is one."""

    def __init__(self, moments: NDArray[Any]) -> None:
        known = moments[~np.isnat(moments)]
        self.has_hours = bool((known != known.astype("datetime64[D]")).any())
        self.suffixes = ["_days", "_month", "_weekday", *(["_hour"] if self.has_hours else [])]

    def transform(self, column: Column) -> Floats:
        """Return the numbers; NaN where the date is missing."""
        moments = column.as_kind("date")

        def count(unit: str) -> NDArray[np.int64]:
            return moments.astype(f"datetime64[{unit}]").astype(np.int64)

        parts = [
            (moments - np.datetime64(0, "us")) / np.timedelta64(1, "D"),
            count("M") % 12 + 1,
            (count("D") + 3) % 7,  # from Monday
            *([count("h") % 24] if self.has_hours else []),
        ]
        return np.where(np.isnat(moments)[:, None], np.nan, np.column_stack(parts))


class SparseRows:
    """The leading components of sparse rows; few columns as they are."""

    def __init__(self, rows: Any) -> None:
        self.components, self.suffixes = None, []
        if rows.shape[1] > SPARSE_COMPONENTS:
            self.components = _leading(_some_rows(rows), SPARSE_COMPONENTS)
            self.suffixes = [f"component{k}" for k in range(len(self.components))]

    def transform(self, rows: Any) -> Floats:
        """Return the components of sparse or dense rows."""
        if self.components is not None:
            return np.asarray(rows @ self.components.T)
        return rows.toarray() if hasattr(rows, "toarray") else rows


def _some_rows(rows: Any) -> Any:
    n_rows = rows.shape[0]
    if n_rows <= MOST_ROWS:
        return rows
    return rows[np.sort(np.random.default_rng(0).permutation(n_rows)[:MOST_ROWS])]


def _count_words(texts: NDArray[Any]) -> Any:
    from sklearn.feature_extraction.text import HashingVectorizer

    counter = HashingVectorizer(
        n_features=N_BINS, alternate_sign=False, norm=None, token_pattern=r"(?u)\b\w+\b"
    )
    return counter.transform(texts)


def _leading(rows: Any, n_components: int) -> Floats:
    """Return the right singular vectors of the largest singular values."""
    from sklearn.decomposition import TruncatedSVD

    with np.errstate(invalid="ignore"):  # the share of the variance, where there is none
        return TruncatedSVD(n_components, random_state=0).fit(rows).components_
