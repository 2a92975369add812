"""What an attribute in a model file may be: kinds of values, with their range, dtype and shape.

A kind looks at a part of the file, not at an object: nothing is made to find out whether it fits.
Sizes have names. All attributes of one object that name the same size must have the same; so
``floats("outputs", "features")`` beside ``whole(1, size="features")`` says that a matrix has as
many columns as the object says.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

Node = dict[str, Any]
Size = str | int | None

# Longer texts, and more labels or outputs than this, no model has.
MOST_TEXT, MOST_LABELS, MOST_OUTPUTS, MOST_FEATURES = 10_000, 10_000, 1_000, 1_000_000
# A label of an array of text has as many letters as the longest, in every row that is answered.
MOST_LETTERS = 1_000
MOST_JOBS = 256
_LARGEST = 2**63 - 1
_FLOATS, _INTS = ("<f8", "<f4"), ("<i8", "<i4", "<u4")
_SCALARS = ("f8", "f4", "i8", "i4", "i2", "i1", "u8", "u4", "u2", "u1", "b1")


class BadModelError(ValueError):
    """A part of a model would not work, or do harm."""


class File(Protocol):
    """The file that a part is in."""

    def header(self, member: str) -> tuple[tuple[int, ...], np.dtype[Any]]:
        """Return the shape and the dtype that an array claims; it is as long as that."""

    def array(self, member: str) -> NDArray[Any]:
        """Return an array."""

    def sizes_of(self, node: Node) -> dict[str, int]:
        """Check an object, and return its sizes."""

    def is_trusted(self, node: Node) -> bool:
        """Tell whether the caller's trust alone admits a part; what is inside of it is checked."""

    def mark(self, node: Node) -> None:
        """Remember that a part fits where it is."""


class Scope:
    """The sizes of one object."""

    def __init__(self, file: File) -> None:
        self.file = file
        self.sizes: dict[str, int] = {}

    def same(self, size: Size, value: int) -> bool:
        """Tell whether a size is this value; one that is not known yet is from now on."""
        if isinstance(size, str):
            return self.sizes.setdefault(size, value) == value
        return size is None or size == value


@dataclass(frozen=True, eq=False)
class Kind:
    """What an attribute may be.

    Attributes
    ----------
    words : str
        What it is called in messages.
    loaders : tuple of str
        What of skops may make it.
    fits : callable
        ``fits(node, scope)`` tells whether a part of the file is of this kind.
    options : tuple of Kind
        Where it is one of several.
    """

    words: str
    loaders: tuple[str, ...]
    fits: Callable[[Node, Scope], bool]
    options: tuple[Kind, ...] = ()

    def __or__(self, other: Kind) -> Kind:
        options = (*(self.options or (self,)), *(other.options or (other,)))
        return Kind(
            f"{self.words} or {other.words}",
            self.loaders + other.loaders,
            lambda node, scope: any(
                node["__loader__"] in kind.loaders and kind.fits(node, scope) for kind in options
            ),
            options,
        )

    def admits(self, node: Node, scope: Scope) -> bool:
        """Tell whether a part of any loader is of this kind."""
        if node["__loader__"] not in self.loaders or not self.fits(node, scope):
            return False
        scope.file.mark(node)
        return True


def class_of(node: Node) -> str:
    """Return the full name of what a part would be made by."""
    return f"{node['__module__']}.{node['__class__']}"


# -- single values ---------------------------------------------------------------------------------


def scalar(node: Node, scope: Scope) -> Any:
    """Return a number, a text, a truth value or None, of Python or numpy; a list for all else."""
    if node["__loader__"] == "JsonNode":
        return json.loads(node["content"])
    if not is_scalar(node, scope):
        return []
    return scope.file.array(node["file"]).item()


def is_scalar(node: Node, scope: Scope) -> bool:
    """Tell whether a part is a number of numpy's, and no array under the name of one."""
    if node["__loader__"] != "NdArrayNode" or node["type"] != "numpy":
        return False
    shape, dtype = scope.file.header(node["file"])
    name = node["__class__"]
    return name != "ndarray" and shape == () and _name_of(dtype) == name.rstrip("_")


def _name_of(dtype: np.dtype[Any]) -> str:
    return dtype.name if dtype.str[1:] in _SCALARS and dtype.isnative else ""


_SINGLE = ("JsonNode", "NdArrayNode")


def _single(words: str, fits: Callable[[Any], bool]) -> Kind:
    return Kind(words, _SINGLE, lambda node, scope: fits(scalar(node, scope)))


nothing = _single("None", lambda value: value is None)
flag = _single("true or false", lambda value: isinstance(value, bool))
text = _single("text", lambda value: isinstance(value, str) and len(value) <= MOST_TEXT)


def choice(*known: str) -> Kind:
    """Accept one of a few words."""
    return _single(f"one of {known}", lambda value: isinstance(value, str) and value in known)


def whole(low: int = 0, high: int = _LARGEST, size: Size = None) -> Kind:
    """Accept a whole number within limits, which may be a size."""

    def fits(node: Node, scope: Scope) -> bool:
        value = scalar(node, scope)
        good = isinstance(value, int) and not isinstance(value, bool) and low <= value <= high
        return good and scope.same(size, value)

    named = f", {size}" if isinstance(size, str) else ""
    return Kind(f"a whole number from {low} to {high}{named}", _SINGLE, fits)


def real(low: float = -math.inf, high: float = math.inf) -> Kind:
    """Accept a number within limits, and not NaN."""
    return _single(
        f"a number from {low} to {high}",
        lambda value: (
            isinstance(value, int | float) and not isinstance(value, bool) and low <= value <= high
        ),
    )


any_real = _single(
    "a number", lambda value: isinstance(value, int | float) and not isinstance(value, bool)
)
n_jobs = nothing | whole(-MOST_JOBS, MOST_JOBS)


# -- arrays ----------------------------------------------------------------------------------------


def array(
    dtypes: tuple[Any, ...],
    *shape: Size,
    fits: Callable[[NDArray[Any]], bool] | None = None,
    name: str = "values",
) -> Kind:
    """Accept an array of one of these dtypes and of this shape, and with such values."""

    def admits(node: Node, scope: Scope) -> bool:
        if node["type"] != "numpy" or node["__class__"] != "ndarray":
            return False
        found, dtype = scope.file.header(node["file"])
        good = (dtype.str if dtype.names is None else dtype) in dtypes and len(found) == len(shape)
        good = good and all(map(scope.same, shape, found))
        return good and (fits is None or fits(scope.file.array(node["file"])))

    sizes = " x ".join("any" if size is None else str(size) for size in shape) or "one"
    return Kind(f"an array of {name}, {sizes}", ("NdArrayNode",), admits)


def floats(*shape: Size, finite: bool = False, low: float | None = None) -> Kind:
    """Accept an array of floats."""
    checks: list[Callable[[NDArray[Any]], bool]] = []
    if finite:
        checks.append(lambda values: bool(np.isfinite(values).all()))
    if low is not None:
        checks.append(lambda values: bool((values >= low).all()))
    fits = (lambda values: all(check(values) for check in checks)) if checks else None
    return array(_FLOATS, *shape, fits=fits, name=f"{'finite ' * finite}floats")


def ints(*shape: Size, low: int | None = None, high: int | None = None) -> Kind:
    """Accept an array of whole numbers within limits."""

    def fits(values: NDArray[Any]) -> bool:
        return not values.size or (
            (low is None or int(values.min()) >= low)
            and (high is None or int(values.max()) <= high)
        )

    limited = low is not None or high is not None
    return array(_INTS, *shape, fits=fits if limited else None, name="whole numbers")


def _fits_numbers(node: Node, scope: Scope) -> bool:
    if node["type"] != "numpy":
        return False
    dtype = scope.file.header(node["file"])[1]
    return dtype.kind in "biuf" and dtype.isnative


any_numbers = Kind("an array of numbers", ("NdArrayNode",), _fits_numbers)


def bools(*shape: Size) -> Kind:
    """Accept an array of truth values."""
    return array(("|b1",), *shape, name="truth values")


def objects(kind: Kind, size: Size = None, most: int = MOST_FEATURES) -> Kind:
    """Accept an array of objects, all of one kind, in one dimension."""

    def fits(node: Node, scope: Scope) -> bool:
        if node["type"] != "json" or node["__class__"] != "ndarray":
            return False
        items = node["content"]
        return (
            len(node["shape"]["content"]) == 1
            and len(items) <= most
            and scope.same(size, len(items))
            and all(kind.admits(item, scope) for item in items)
        )

    return Kind(f"an array of {kind.words}", ("NdArrayNode",), fits)


def words(size: Size = None) -> Kind:
    """Accept an array of text."""
    return objects(text, size) | _plain_labels("U", size, MOST_FEATURES, unique=False)


def labels(size: Size = None, *, unique: bool = True) -> Kind:
    """Accept an array of labels: text, numbers or truth values."""
    return _plain_labels("biuUf", size, MOST_LABELS, unique=unique) | objects(
        text | any_real | flag | nothing, size, MOST_LABELS
    )


def _plain_labels(kinds: str, size: Size, most: int, *, unique: bool) -> Kind:
    def fits(node: Node, scope: Scope) -> bool:
        if node["type"] != "numpy" or node["__class__"] != "ndarray":
            return False
        shape, dtype = scope.file.header(node["file"])
        letters = dtype.itemsize // 4 if dtype.kind == "U" else 1
        good = (
            dtype.kind in kinds
            and dtype.isnative
            and len(shape) == 1
            and shape[0] <= most
            and letters <= MOST_LETTERS
            and scope.same(size, shape[0])
        )
        return good and (not unique or _all_differ(scope.file.array(node["file"])))

    return Kind("an array of labels, none of them twice", ("NdArrayNode",), fits)


def _all_differ(values: NDArray[Any]) -> bool:
    return len(np.unique(values)) == len(values)


# -- containers ------------------------------------------------------------------------------------


def items(kind: Kind, size: Size = None, most: int | None = None) -> Kind:
    """Accept a list, all of one kind."""

    def fits(node: Node, scope: Scope) -> bool:
        inside = node["content"]
        good = (most is None or len(inside) <= most) and scope.same(size, len(inside))
        return good and all(kind.admits(item, scope) for item in inside)

    return Kind(f"a list of {kind.words}", ("ListNode",), fits)


def tuple_of(*kinds: Kind, name: str = "builtins.tuple") -> Kind:
    """Accept a tuple with one of each kind."""

    def fits(node: Node, scope: Scope) -> bool:
        inside = node["content"]
        return (
            class_of(node) == name
            and len(inside) == len(kinds)
            and all(kind.admits(item, scope) for kind, item in zip(kinds, inside, strict=True))
        )

    return Kind(f"{name} of {len(kinds)}", ("TupleNode",), fits)


def tuples(kind: Kind, most: int = MOST_FEATURES) -> Kind:
    """Accept a tuple, all of one kind."""

    def fits(node: Node, scope: Scope) -> bool:
        inside = node["content"]
        good = class_of(node) == "builtins.tuple" and len(inside) <= most
        return good and all(kind.admits(item, scope) for item in inside)

    return Kind(f"a tuple of {kind.words}", ("TupleNode",), fits)


def mapping(kind: Kind, *, keys: tuple[str, ...] = ("str",), most: int = MOST_FEATURES) -> Kind:
    """Accept a dictionary with values of one kind, and keys of a type."""

    def fits(node: Node, scope: Scope) -> bool:
        types = {key["__class__"] for key in node["key_types"]["content"]}
        good = types <= set(keys) and len(node["content"]) <= most
        return good and all(kind.admits(item, scope) for item in node["content"].values())

    return Kind(f"a dictionary of {kind.words}", ("DictNode",), fits)


def record(**kinds: Kind) -> Kind:
    """Accept a dictionary with these keys, none of them missing."""

    def fits(node: Node, scope: Scope) -> bool:
        inside = node["content"]
        return (
            set(inside) == set(kinds)
            and {key["__class__"] for key in node["key_types"]["content"]} == {"str"}
            and all(kind.admits(inside[name], scope) for name, kind in kinds.items())
        )

    return Kind(f"a dictionary with {', '.join(kinds)}", ("DictNode",), fits)


_span = (int, type(None))
slices = Kind(
    "a slice",
    ("SliceNode",),
    lambda node, scope: all(
        isinstance(end, _span) and (end is None or abs(end) <= MOST_FEATURES)
        for end in node["content"].values()
    ),
)


# -- objects, types and functions ------------------------------------------------------------------

# The loaders by which a caller's trust may admit something in the place of an object.
_TRUSTED = ("FunctionNode", "TypeNode", "ConstructorFromReduceNode", "RandomStateNode")


def part(*names: str, **sizes: str) -> Kind:
    """Accept an object of one of these classes, or of any; its sizes are those named here.

    ``part(features="columns")``: what it calls features is what is called columns here.
    """

    def fits(node: Node, scope: Scope) -> bool:
        if names and class_of(node) not in names:
            return False
        found = scope.file.sizes_of(node)
        return all(scope.same(ours, found[own]) for own, ours in sizes.items() if own in found)

    words = " or ".join(name.rpartition(".")[2] for name in names) if names else "an object"
    return Kind(words, ("ObjectNode",), fits)


# What only the caller's trust admits, in place of an object of ours.
trusted = Kind(
    "what is trusted",
    ("ObjectNode", *_TRUSTED),
    lambda node, scope: scope.file.is_trusted(node),
)
model = part() | trusted


def types(*names: str) -> Kind:
    """Accept one of these types, itself."""
    return Kind(
        f"one of the types {names}", ("TypeNode",), lambda node, scope: class_of(node) in names
    )


def function(name: str) -> Kind:
    """Accept a function of ours, which is never called with anything from the file."""
    return Kind(
        f"the function {name}", ("FunctionNode",), lambda node, scope: class_of(node) == name
    )


number_types = types(
    *(f"numpy.{name}" for name in ("bool", "float32", "float64", "int32", "int64", "str_")),
    *(f"builtins.{name}" for name in ("bool", "float", "int", "str")),
)


def _fits_dtype(node: Node, scope: Scope) -> bool:
    inside = node["content"]
    if inside["__loader__"] != "NdArrayNode":
        return False
    if inside["type"] != "numpy":
        return not inside["content"]  # of objects, none of which is there
    shape, dtype = scope.file.header(inside["file"])
    return shape == (0,) and dtype.kind in "biufUM" and dtype.itemsize <= 4 * MOST_LETTERS


dtypes = Kind("a dtype", ("DTypeNode",), _fits_dtype)
_state = record(
    bit_generator=choice("PCG64"),
    state=record(state=whole(0, 2**128 - 1), inc=whole(0, 2**128 - 1)),
    has_uint32=whole(0, 1),
    uinteger=whole(0, 2**32 - 1),
)
# numpy mixes a seed as long as it is: these are no longer than those that it makes itself.
_entropy = whole(0, 2**512 - 1) | items(whole(0, 2**512 - 1), most=16) | ints(None, low=0)
_seeds = record(
    entropy=_entropy | nothing,
    spawn_key=tuples(whole(0, 2**64 - 1), most=16),
    pool_size=whole(4, 8),
    n_children_spawned=whole(0, 2**32),
)
generator = Kind(
    "a generator of random numbers",
    ("RandomGeneratorNode",),
    lambda node, scope: (
        _state.admits(node["content"]["bit_generator"], scope)
        and _seeds.admits(node["content"]["seed_seq"], scope)
    ),
)
seed = nothing | whole(0, 2**64 - 1) | generator | trusted


def _fits_setting(node: Node, scope: Scope) -> bool:
    return _SETTING.admits(node, scope)


_inside = Kind(
    "",
    (*_SINGLE, "ListNode", "TupleNode", "DictNode", "ObjectNode", "SliceNode", *_TRUSTED),
    _fits_setting,
)
# A parameter, which estimators keep as it was given; in predicting it decides about no memory.
_SETTING = (
    Kind("", ("JsonNode",), lambda node, scope: not isinstance(scalar(node, scope), list | dict))
    | Kind("", ("NdArrayNode",), is_scalar)
    | any_numbers
    | labels(unique=False)
    | items(_inside)
    | tuples(_inside)
    | mapping(_inside, keys=("str", "int", "float", "bool", "int64", "str_"))
    | number_types
    | slices
    | generator
    | dtypes
    | model
)
setting = Kind("a parameter", _SETTING.loaders, _fits_setting)
