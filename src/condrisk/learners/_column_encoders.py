"""How one column of a table becomes numbers, by what it holds."""

from __future__ import annotations

import math
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
# Where texts are most of what is known of a row: components of words and pairs of words, and of
# pieces of words, counted in more bins since there are more of these; each of these, by folds.
RICH_COMPONENTS, PIECE_BINS, N_FOLDS = 64, 2**15, 5
# Components are found on at most so many rows.
MOST_ROWS = 50_000


class ColumnEncoder(Protocol):
    """What a column becomes: `suffixes` name its numbers, after the name of the column.

    `blocks` has a number for each of them: components that belong together share one, and a scale.
    """

    suffixes: list[str]

    @property
    def blocks(self) -> list[int]:
        """Which numbers belong together."""

    def transform(self, column: Column) -> Floats:
        """Return the numbers, of shape (n_rows, n_numbers)."""


def encoder_of(column: Column, *, rich_text: bool = False) -> ColumnEncoder:
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
    if _is_text(counts):
        return RichText(column.values) if rich_text else Words(column.values)
    return Labels(counts)


def _is_text(counts: Counter[str]) -> bool:
    """Tell whether values are many and of several words each."""
    known = [value for value in counts if value != GAP]
    if len(known) <= MOST_COLUMNS:
        return False
    return sum(len(value.split()) for value in known) >= FEWEST_WORDS * len(known)


class _Single:
    """Numbers that each have a meaning, and a scale, of their own."""

    suffixes: list[str]

    @property
    def blocks(self) -> list[int]:
        """Which numbers belong together: none."""
        return list(range(len(self.suffixes)))


class _Together:
    """Components of one thing: each counts as far as it varies."""

    suffixes: list[str]

    @property
    def blocks(self) -> list[int]:
        """Which numbers belong together: all."""
        return [0] * len(self.suffixes)


class Numbers(_Single):
    """Numbers as they are."""

    def __init__(self) -> None:
        self.suffixes = [""]

    def transform(self, column: Column) -> Floats:
        """Return the numbers."""
        return column.as_kind("number")[:, None]


class Empty(_Single):
    """Nothing is known of a column without values, whatever it holds later."""

    def __init__(self) -> None:
        self.suffixes = [""]

    def transform(self, column: Column) -> Floats:
        """Return a gap for each row."""
        return np.full((len(column.values), 1), np.nan)


class Ordered(_Single):
    """The place of each level in the order that its type declares; NaN for any other."""

    def __init__(self, levels: tuple[str, ...]) -> None:
        self.levels, self.suffixes = list(levels), [""]

    def transform(self, column: Column) -> Floats:
        """Return the places."""
        places = {level: float(k) for k, level in enumerate(self.levels)}
        found = [places.get(value, np.nan) for value in column.as_kind("label")]
        return np.array(found, dtype=np.float64)[:, None]


class Labels(_Single):
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


class Words(_Together):
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


class RichText:
    """Components of words and pairs of words, components of pieces of words, and the shape.

    Pieces of words (three to five letters) find what words of the same stem have in common, and
    marks of other kinds of text: code, formulas, other languages. The shape says how long a text
    is and what it is made of.
    """

    def __init__(self, texts: NDArray[Any]) -> None:
        words, pieces = Components("word"), Components("piece")
        self.parts = [words, pieces]
        self._training = [part.fit_transform(texts) for part in self.parts]
        sizes = [len(words.components), len(pieces.components)]
        first = [f"_word{k}" for k in range(sizes[0])]
        self.suffixes = [
            *first,
            *(f"_piece{k}" for k in range(sizes[1])),
            *map("_{}".format, SHAPE),
        ]
        self.blocks = [*([0] * sizes[0]), *([1] * sizes[1]), *range(2, 2 + len(SHAPE))]

    def transform(self, column: Column) -> Floats:
        """Return components and shape."""
        texts = column.as_kind("label")
        return np.column_stack([*(part.transform(texts) for part in self.parts), _shape(texts)])

    def training(self, column: Column) -> Floats:
        """Return the same of the rows of fit, once: components by what has not seen the row."""
        texts = column.as_kind("label")
        return np.column_stack([*self.__dict__.pop("_training"), _shape(texts)])


class Components:
    """The leading components of the TF-IDF of words and pairs of words, or of pieces of words.

    A text that components were found on lies nearer to them than a new one does, and a model that
    learns from such rows expects too much of new ones. So components are found on the texts
    outside of each of five folds too. A text of a fold is projected on those that have not seen it
    and then on the components of all; a new text on the average of these projections.
    """

    def __init__(self, unit: str) -> None:
        self.unit = unit

    def fit_transform(self, texts: NDArray[Any]) -> Floats:
        """Find the components, and return those of each text by what has not seen it."""
        from sklearn.feature_extraction.text import TfidfTransformer

        some = _some_rows(texts)
        counts = self._counts(some)
        self.idf = TfidfTransformer().fit(counts).idf_.astype(np.float32)
        rows = self._weighed(counts)
        whole = _leading(rows, RICH_COMPONENTS, n_iter=2)
        fold = np.random.default_rng(0).permutation(len(some)) % N_FOLDS
        found, total = np.empty((len(some), len(whole))), np.zeros(whole.shape)
        for k in range(N_FOLDS):
            others = _leading(rows[fold != k], RICH_COMPONENTS, n_iter=2)
            projection = (whole @ others.T) @ others
            found[fold == k] = rows[fold == k] @ projection.T
            total += projection / N_FOLDS
        self.components = total.astype(np.float32)
        return found if len(some) == len(texts) else self.transform(texts)

    def transform(self, texts: NDArray[Any]) -> Floats:
        """Return the components of new texts."""
        return np.asarray(self._weighed(self._counts(texts)) @ self.components.T, dtype=np.float64)

    def _counts(self, texts: NDArray[Any]) -> Any:
        from sklearn.feature_extraction.text import HashingVectorizer

        words: dict[str, Any] = {"ngram_range": (1, 2), "n_features": N_BINS}
        pieces: dict[str, Any] = {
            "ngram_range": (3, 5),
            "n_features": PIECE_BINS,
            "analyzer": "char_wb",
        }
        counter = HashingVectorizer(
            alternate_sign=False, norm=None, **(words if self.unit == "word" else pieces)
        )
        return counter.transform(texts)

    def _weighed(self, counts: Any) -> Any:
        counts = counts.copy()
        counts.data = 1 + np.log(counts.data)
        return normalize(counts.multiply(self.idf).tocsr())


SHAPE = (
    "length",
    "words",
    "lines",
    "word_length",
    "different_words",
    "digits",
    "capitals",
    "signs",
    "symbols",
    "questions",
    "numbers",
)


def _shape(texts: NDArray[Any]) -> Floats:
    """Return how long each text is and what it is made of; see `SHAPE`."""
    return np.array([_shape_of(str(text)) for text in texts]).reshape(len(texts), len(SHAPE))


def _shape_of(text: str) -> tuple[float, ...]:
    n, words = max(len(text), 1), text.split()
    letters = sum(map(str.isalpha, text))
    digits = sum(map(str.isdigit, text))
    spaces = sum(map(str.isspace, text))
    lengths = [len(word) for word in words] or [0]
    return (
        math.log1p(len(text)),
        math.log1p(len(words)),
        math.log1p(text.count("\n")),
        sum(lengths) / len(lengths),
        len(set(words)) / max(len(words), 1),
        digits / n,
        sum(map(str.isupper, text)) / n,
        (n - letters - digits - spaces) / n,
        sum(map(text.count, "=+^*/<>()[]{}$\\_")) / n,
        math.log1p(text.count("?")),
        math.log1p(digits),
    )


class Dates(_Single):
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


class SparseRows(_Together):
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


def _leading(rows: Any, n_components: int, *, n_iter: int = 5) -> Floats:
    """Return the right singular vectors of the largest singular values."""
    from sklearn.decomposition import TruncatedSVD

    with np.errstate(invalid="ignore"):  # the share of the variance, where there is none
        return TruncatedSVD(n_components, n_iter=n_iter, random_state=0).fit(rows).components_
