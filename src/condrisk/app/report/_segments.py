"""Groups of rows with a high risk, in words: found on one half of the rows, measured on the other.

A tree looks for them, so on the rows that it looked at they seem worse than they are. The figures
come from rows that it has not seen.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy import stats
from sklearn.tree import DecisionTreeRegressor

from condrisk._validation import Vector
from condrisk.app._numbers import are_years, exact, roundest
from condrisk.app.report._steps import floor_of, mean_limits
from condrisk.app.report._words import isolated

MIN_ROWS = 100
# The chance that any group is listed where none is above the others, and that any limit fails.
LEVEL = 0.05
MIN_LEAF = 20
MAX_DEPTH = 3
MAX_SEGMENTS = 5
# A split must explain this share of the variance of the risk, or it only lengthens the words.
MIN_GAIN = 0.01
# The share of the rows that may change sides for the sake of a rounder number.
SLACK = 0.005
# As many values of a category are looked at one by one.
MAX_CATEGORIES = 12


@dataclass(frozen=True)
class Condition:
    """One side of a split: a number above or up to a value, or a category that is or is not.

    `value` is a number for "≤" and ">", a text for "is" and "is not". Where the split sends rows
    without a value to this side, `or_missing` is true.
    """

    column: str
    relation: str
    value: float | str
    or_missing: bool = False

    def holds(self, frame: pl.DataFrame) -> NDArray[np.bool_]:
        """Tell for which rows it is true."""
        column = frame[self.column]
        missing = column.is_null().to_numpy()
        if isinstance(self.value, str):
            same = (column.cast(pl.String) == self.value).fill_null(False).to_numpy()
            # A category that is missing is none of the others.
            return same if self.relation == "is" else ~same
        values = as_numbers(column)
        missing |= np.isnan(values)
        with np.errstate(invalid="ignore"):
            true = values <= self.value if self.relation == "≤" else values > self.value
        return np.where(missing, self.or_missing, true)


@dataclass(frozen=True)
class Segment:
    """A group of rows and what is known of it from rows that it was not chosen on.

    `low` and `high` are limits of the mean loss, which hold for all segments at once with 95 %.
    """

    tests: tuple[Condition, ...]
    rows: int
    share: float
    mean_risk: float
    mean_loss: float
    low: float
    high: float
    times_average: float

    def holds(self, frame: pl.DataFrame) -> NDArray[np.bool_]:
        """Tell which rows of a table belong to it."""
        return _all_hold(self.tests, frame)

    def words(
        self, dates: frozenset[str] = frozenset(), years: frozenset[str] = frozenset()
    ) -> str:
        """Say in HTML which rows belong to it, such as ``age > 61 and city is Rome``."""
        return " and ".join(_phrases(self.tests, dates, years))


def as_numbers(column: pl.Series) -> Vector:
    """Return a column of numbers, truth values or dates as float64, NaN for what is missing."""
    if column.dtype.is_temporal():
        column = column.cast(pl.Date).to_physical()
    return column.cast(pl.Float64).fill_null(float("nan")).to_numpy()


def years_of(frame: pl.DataFrame) -> frozenset[str]:
    """Return the columns whose whole numbers are years."""
    found = set()
    for column in frame:
        if column.dtype.is_numeric():
            values = as_numbers(column)
            values = values[~np.isnan(values)]
            whole = values.size and not (values % 1).any()
            if whole and are_years(values.min(), values.max()):
                found.add(column.name)
    return frozenset(found)


def is_number(column: pl.Series) -> bool:
    """Tell whether the column is to be read as numbers, dates among them."""
    return column.dtype.is_numeric() or column.dtype in (pl.Date, pl.Datetime)


def is_text(column: pl.Series) -> bool:
    """Tell whether the column is to be read as categories."""
    return column.dtype in (pl.String, pl.Boolean) or isinstance(
        column.dtype, pl.Categorical | pl.Enum
    )


def find_segments(
    frame: pl.DataFrame, loss: Vector, risk: Vector, *, random_state: int = 0
) -> tuple[Segment, ...]:
    """Look for up to five groups of rows whose mean loss is above that of the others.

    A group is listed if its loss is larger by more than chance: a one-sided test on the rows that
    it was not chosen on, at a level of 5 % for all groups together (Holm).

    Parameters
    ----------
    frame : polars.DataFrame
        The columns to describe groups by.
    loss, risk : ndarray of shape (n_rows,)
        Realised loss and estimated risk of each row.
    random_state : int, default=0
        Which half of the rows is looked at, and which one measures.

    Returns
    -------
    tuple of Segment
        The worst first. None for fewer than 100 rows, or if no group is above the others.

    Examples
    --------
    >>> import numpy as np
    >>> import polars as pl
    >>> from condrisk.app.report._segments import find_segments
    >>> frame = pl.DataFrame({"age": range(20, 70), "city": ["Rome", "Oslo"] * 25})
    >>> frame = pl.concat([frame] * 20)
    >>> risk = np.where((frame["age"] > 61) & (frame["city"] == "Rome"), 3.0, 1.0)
    >>> worst = find_segments(frame, risk, risk)[0]
    >>> worst.words(), worst.mean_loss
    ('<bdi>age</bdi> &gt; 61 and <bdi>city</bdi> is <bdi>Rome</bdi>', 3.0)
    """
    n = frame.height
    usable = [c.name for c in frame if is_number(c) or is_text(c)]
    if n < MIN_ROWS or not usable or np.ptp(risk) == 0:
        return ()
    order = np.random.default_rng(random_state).permutation(n)
    seen, fresh = np.sort(order[: n // 2]), np.sort(order[n // 2 :])
    frame = frame.select(usable)
    chosen = _worst(_leaves(frame[seen], risk[seen]), frame[seen], risk[seen])
    fresh_frame, losses = frame[fresh], loss[fresh]
    inside = [_all_hold(tests, fresh_frame) for tests in chosen]
    p_values = [_p_value(losses[rows], losses[~rows]) for rows in inside]
    confidence = 1 - LEVEL / max(len(chosen), 1)
    found = [
        _measure(tests, rows, losses, risk[fresh], confidence)
        for tests, rows, listed in zip(chosen, inside, _holm(p_values), strict=True)
        if listed
    ]
    return tuple(sorted(found, key=lambda segment: -segment.mean_loss))


def _p_value(inside: Vector, others: Vector) -> float:
    """Return the p-value of the rows inside losing no more than the others."""
    if len(inside) < 2 or len(others) < 2 or inside.mean() <= others.mean():
        return 1.0
    if np.isin(inside, (0.0, 1.0)).all() and np.isin(others, (0.0, 1.0)).all():
        wrong, rows = [inside.sum(), others.sum()], [len(inside), len(others)]
        table = [[int(w), int(n - w)] for w, n in zip(wrong, rows, strict=True)]
        return float(stats.fisher_exact(table, alternative="greater").pvalue)
    if np.ptp(inside) == 0 and np.ptp(others) == 0:
        return 0.0
    found = stats.ttest_ind(inside, others, equal_var=False, alternative="greater")
    return float(found.pvalue)


def _holm(p_values: list[float]) -> list[bool]:
    """Return which hypotheses are rejected at the level for all of them together."""
    rejected = [False] * len(p_values)
    for place, k in enumerate(np.argsort(p_values, kind="stable").tolist()):
        if p_values[k] > LEVEL / (len(p_values) - place):
            break
        rejected[k] = True
    return rejected


def _worst(
    ways: list[tuple[Condition, ...]], frame: pl.DataFrame, risk: Vector
) -> list[tuple[Condition, ...]]:
    """Choose those with a risk above the mean, the worst first, on the rows looked at alone."""
    means = [float(risk[_all_hold(tests, frame)].mean()) for tests in ways]
    order = sorted(range(len(ways)), key=lambda k: -means[k])
    return [ways[k] for k in order if means[k] > risk.mean()][:MAX_SEGMENTS]


def _all_hold(tests: tuple[Condition, ...], frame: pl.DataFrame) -> NDArray[np.bool_]:
    return np.logical_and.reduce([test.holds(frame) for test in tests])


def _measure(
    tests: tuple[Condition, ...],
    inside: NDArray[np.bool_],
    loss: Vector,
    risk: Vector,
    confidence: float,
) -> Segment:
    n = int(inside.sum())
    mean = float(loss[inside].mean())
    sums = np.array([mean]), np.array([(loss[inside] ** 2).mean()]), np.array([float(n)])
    limits = mean_limits(*sums, floor=floor_of(loss), confidence=confidence)
    low, high = (float(limit[0]) for limit in limits)
    average = float(loss.mean())
    return Segment(
        tests=tests,
        rows=n,
        share=n / len(loss),
        mean_risk=float(risk[inside].mean()),
        mean_loss=mean,
        low=low,
        high=high,
        times_average=mean / average if average > 0 else float("nan"),
    )


# -- the tree -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Feature:
    """A column of the tree's matrix: a column of numbers, or one category of a text.

    `other` is the only other category, where there is just one and nothing is missing.
    """

    column: str
    category: str | None
    values: Vector
    other: str | None = None


def _features(frame: pl.DataFrame) -> list[_Feature]:
    features = []
    for column in frame:
        if is_text(column):
            features += _categories(column.name, column.cast(pl.String))
        else:
            features.append(_Feature(column.name, None, as_numbers(column)))
    # A tree takes float32; what does not fit says nothing that a split could use.
    limit = float(np.finfo(np.float32).max) / 4
    return [feature for feature in features if _within(feature.values, limit)]


def _categories(name: str, text: pl.Series) -> list[_Feature]:
    common = sorted(text.drop_nulls().value_counts(sort=True)[name][:MAX_CATEGORIES])
    if len(common) < 2:
        common = common if text.null_count() else []
    other = common[0] if len(common) == 2 and not text.null_count() else None
    return [
        _Feature(name, value, (text == value).fill_null(False).cast(pl.Float64).to_numpy(), other)
        for value in (common[1:] if other is not None else common)
    ]


def _within(values: Vector, limit: float) -> bool:
    known = values[~np.isnan(values)]
    return known.size > 0 and bool((np.abs(known) < limit).all())


def _leaves(frame: pl.DataFrame, risk: Vector) -> list[tuple[Condition, ...]]:
    """Return the way to each leaf of a shallow tree on the risk."""
    features = _features(frame)
    if not features:
        return []
    X = np.column_stack([feature.values for feature in features])
    leaf = max(MIN_LEAF, len(risk) // 50)
    tree = DecisionTreeRegressor(
        max_depth=MAX_DEPTH,
        min_samples_leaf=leaf,
        min_impurity_decrease=MIN_GAIN * float(np.var(risk)),
        random_state=0,
    )
    inner = tree.fit(X, risk).tree_
    ways: list[tuple[Condition, ...]] = []

    def walk(node: int, tests: tuple[Condition, ...]) -> None:
        if inner.children_left[node] < 0:
            if tests:
                ways.append(tests)
            return
        left, right = _split(features[inner.feature[node]], inner, node)
        walk(inner.children_left[node], (*tests, left))
        walk(inner.children_right[node], (*tests, right))

    walk(0, ())
    return ways


def _split(feature: _Feature, inner: Any, node: int) -> tuple[Condition, Condition]:
    if feature.category is not None:
        same = Condition(feature.column, "is", feature.category)
        if feature.other is not None:
            return Condition(feature.column, "is", feature.other), same
        return Condition(feature.column, "is not", feature.category), same
    known = np.sort(feature.values[~np.isnan(feature.values)])
    value = _readable(known, float(inner.threshold[node]))
    has_gaps = known.size < feature.values.size
    left = has_gaps and bool(inner.missing_go_to_left[node])
    return (
        Condition(feature.column, "≤", value, left),
        Condition(feature.column, ">", value, has_gaps and not left),
    )


def _readable(known: Vector, threshold: float) -> float:
    """Return a rounder number that splits the sorted values nearly as the threshold does.

    A few rows may change sides: the words are what is measured, not the tree.
    """
    at = int(np.searchsorted(known, threshold, side="right"))
    slack = int(SLACK * known.size)
    below, above = max(at - 1 - slack, 0), min(at + slack, known.size - 1)
    value = roundest(float(known[below]), float(known[above]))
    return float(np.floor(value)) if not (known % 1).any() else value


# -- words --------------------------------------------------------------------------------------


def _phrases(
    tests: tuple[Condition, ...], dates: frozenset[str], years: frozenset[str]
) -> list[str]:
    """Return one phrase for each column, however often the tree has asked for it."""
    by_column: dict[str, list[Condition]] = {}
    for test in tests:
        by_column.setdefault(test.column, []).append(test)
    return [
        _category_phrase(name, own)
        if isinstance(own[0].value, str)
        else _range(name, own, dates, years)
        for name, own in by_column.items()
    ]


def _category_phrase(name: str, tests: list[Condition]) -> str:
    same = [test.value for test in tests if test.relation == "is"]
    if same:
        return f"{isolated(name)} is {isolated(same[0])}"
    others = [isolated(test.value) for test in tests]
    return f"{isolated(name)} is not {' or '.join(others)}"


def _range(name: str, tests: list[Condition], dates: frozenset[str], years: frozenset[str]) -> str:
    def text(value: float) -> str:
        if name in dates:
            return str(np.datetime64(int(value), "D"))
        return f"{value:.0f}" if name in years else exact(value)

    lows = [float(test.value) for test in tests if test.relation == ">"]
    highs = [float(test.value) for test in tests if test.relation == "≤"]
    if lows and highs:
        phrase = f"{text(max(lows))} &lt; {isolated(name)} ≤ {text(min(highs))}"
    elif lows:
        phrase = f"{isolated(name)} &gt; {text(max(lows))}"
    else:
        phrase = f"{isolated(name)} ≤ {text(min(highs))}"
    return f"({phrase} or missing)" if all(test.or_missing for test in tests) else phrase
