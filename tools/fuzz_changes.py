"""One change of one model file: an attribute, a number, a dtype, a shape or a reference."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from typing import Any, NamedTuple
from zipfile import ZIP_DEFLATED, ZipFile

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

Node = dict[str, Any]

# What a number, a text or anything else is replaced by.
_VALUES: tuple[Any, ...] = (
    *(0, 1, -1, 2, 3, 255, 256, 10**6, 10**9, -(10**9), 2**31, 2**63 - 1, -(2**63), 2**64),
    *(0.5, -1.5, 1e308, float("nan"), float("inf"), float("-inf")),
    *(None, True, False, "", "x", "drop", "passthrough", "predict_proba", "pandas"),
)
_NUMBERS = (0, 1, -1, 2, 7, 255, 256, 10**6, 10**9, -(10**9), 2**31 - 1, 2**62)
_FLOATS = (0.0, -1.0, 1e308, -1e308, float("nan"), float("inf"), 1e-320, 300.0)
_MOST_ADDED = 2_000_000
_NAMES_OF_ATTRIBUTES = ("predict", "n_jobs", "__class__", "x", "_in_fit", "classes_", "n_outputs_")
_DTYPES = ("<f8", "<f4", ">f8", "<i8", "<i4", ">i8", "<u4", "|u1", "|b1", "<U1", "<c16", "<M8[s]")


class Sound:
    """A sound file, unpacked once.

    Parameters
    ----------
    data : bytes
        The file.
    """

    def __init__(self, data: bytes) -> None:
        with ZipFile(io.BytesIO(data)) as file:
            self.members = {name: file.read(name) for name in file.namelist()}
        self.arrays = {
            name: np.load(io.BytesIO(content))
            for name, content in self.members.items()
            if name.endswith(".npy")
        }

    def changed(self, seed: int, case: int) -> tuple[str, bytes]:
        """Return what is changed in a case, and the changed file."""
        rng = np.random.default_rng([seed, case])
        members = dict(self.members)
        schema = json.loads(members["schema.json"])
        while True:
            name = str(rng.choice(_NAMES, p=_SHARES))
            said = _CHANGES[name][0](rng, schema, _Members(members, self.arrays))
            if said is not None:
                break
        members["schema.json"] = json.dumps(schema).encode()
        buffer = io.BytesIO()
        with ZipFile(buffer, "w", ZIP_DEFLATED, compresslevel=1) as file:
            for member, content in members.items():
                file.writestr(member, content)
        return f"{name}: {said}", buffer.getvalue()


class _Members(NamedTuple):
    """The members of a file to be changed, and the arrays that were in them."""

    bytes: dict[str, bytes]
    arrays: dict[str, NDArray[Any]]


def _nodes(schema: Any, loader: str) -> list[Node]:
    found, waiting = [], [schema]
    while waiting:
        part = waiting.pop()
        if isinstance(part, dict):
            if part.get("__loader__") == loader:
                found.append(part)
            waiting.extend(part.values())
        elif isinstance(part, list):
            waiting.extend(part)
    return found


def _pick(rng: Generator, things: Any) -> Any:
    return things[int(rng.integers(len(things)))]


def _states(schema: Node) -> list[tuple[str, Node]]:
    """Return the attributes of all objects and trees, and their classes."""
    found = []
    for loader in ("ObjectNode", "TreeNode", "RandomGeneratorNode"):
        for node in _nodes(schema, loader):
            states = [node.get("content")]
            if loader == "RandomGeneratorNode":
                states = list(node["content"].values())
            found += [
                (node["__class__"], state)
                for state in states
                if state is not None and state["__loader__"] == "DictNode" and state["content"]
            ]
    return found


def _attribute(rng: Generator, schema: Node) -> tuple[str, Node, str] | None:
    states = _states(schema)
    if not states:
        return None
    # Every class is as likely as any other: of trees there are many.
    kind = _pick(rng, sorted({name for name, _ in states}))
    state = _pick(rng, [state for name, state in states if name == kind])
    return kind, state, str(_pick(rng, sorted(state["content"])))


def _json(value: Any) -> Node:
    return {
        "__class__": "str",
        "__module__": "builtins",
        "__loader__": "JsonNode",
        "content": json.dumps(value),
        "is_json": True,
    }


# -- attributes ------------------------------------------------------------------------------------


def _replace(rng: Generator, schema: Node, members: _Members) -> str | None:
    found = _attribute(rng, schema)
    if found is None:
        return None
    kind, state, name = found
    value = _pick(rng, _VALUES)
    state["content"][name] = _json(value)
    return f"{kind}.{name} = {value!r}"


def _leave_out(rng: Generator, schema: Node, members: _Members) -> str | None:
    found = _attribute(rng, schema)
    if found is None:
        return None
    kind, state, name = found
    place = list(state["content"]).index(name)
    del state["content"][name]
    if rng.random() < 0.8:
        del state["key_types"]["content"][place]
    return f"{kind} without {name}"


def _types_of_keys(rng: Generator, schema: Node, members: _Members) -> str | None:
    found = _attribute(rng, schema)
    if found is None:
        return None
    kind, state, _ = found
    keys = state["key_types"]["content"]
    if rng.random() < 0.5:
        del keys[int(rng.integers(len(keys)))]
    else:
        keys[int(rng.integers(len(keys)))] = {**keys[0], "__class__": "bool"}
    return f"keys of {kind}"


def _swap(rng: Generator, schema: Node, members: _Members) -> str | None:
    """Give an attribute the value of another one, of the same object or of any."""
    one, other = _attribute(rng, schema), _attribute(rng, schema)
    if one is None or other is None:
        return None
    kind, state, name = one
    source = state if rng.random() < 0.5 else other[1]
    given = str(_pick(rng, sorted(source["content"])))
    state["content"][name] = json.loads(json.dumps(source["content"][given]))
    return f"{kind}.{name} = another's {given}"


def _rename(rng: Generator, schema: Node, members: _Members) -> str | None:
    found = _attribute(rng, schema)
    if found is None:
        return None
    kind, state, name = found
    new = str(
        _pick(rng, ("predict", "n_jobs", "__class__", "x", "_in_fit", "classes_", "n_outputs_"))
    )
    state["content"] = {new if k == name else k: v for k, v in state["content"].items()}
    return f"{kind}.{name} called {new}"


# -- parts and references --------------------------------------------------------------------------


def _value(rng: Generator, schema: Node, members: _Members) -> str | None:
    node = _pick(rng, _nodes(schema, "JsonNode"))
    before, value = node["content"], _pick(rng, _VALUES)
    if rng.random() < 0.3 and before.lstrip("-").isdigit():
        value = int(before) + int(rng.choice([-1, 1]))
    node["content"] = json.dumps(value)
    return f"{before[:40]} -> {value!r}"


def _of_list(rng: Generator, schema: Node, members: _Members) -> str | None:
    lists = [n for loader in ("ListNode", "TupleNode") for n in _nodes(schema, loader)]
    lists = [node for node in lists if node["content"]]
    if not lists:
        return None
    inside = _pick(rng, lists)["content"]
    place = int(rng.integers(len(inside)))
    way = str(_pick(rng, ("left out", "twice", "many times", "turned", "none")))
    if way == "left out":
        del inside[place]
    elif way == "twice":
        inside.append(inside[place])
    elif way == "many times":
        inside.extend([inside[place]] * min(200, 1 + _MOST_ADDED // len(json.dumps(inside[place]))))
    elif way == "turned":
        inside.reverse()
    else:
        inside.clear()
    return f"an element {way}"


def _class(rng: Generator, schema: Node, members: _Members) -> str | None:
    """Take a part for another class, or put a copy of another part in its place."""
    objects = _nodes(schema, "ObjectNode")
    one, other = _pick(rng, objects), json.loads(json.dumps(_pick(rng, objects)))
    said = f"{one['__class__']} -> {other['__class__']}"
    keep = {k: one[k] for k in ("protocol", "_skops_version") if k in one}
    if rng.random() < 0.5:
        one["__class__"], one["__module__"] = other["__class__"], other["__module__"]
    else:
        one.clear()
        one.update(other)
    for name in ("protocol", "_skops_version"):
        one.pop(name, None)
    one.update(keep)
    return said


def _reference(rng: Generator, schema: Node, members: _Members) -> str | None:
    arrays = [node for node in _nodes(schema, "NdArrayNode") if "file" in node]
    if not arrays:
        return None
    node, other = _pick(rng, arrays), _pick(rng, arrays)
    node["file"] = other["file"] if rng.random() < 0.9 else "404.npy"
    if rng.random() < 0.3:
        node["__class__"] = other["__class__"]
    return f"array {other['__class__']}"


def _loader(rng: Generator, schema: Node, members: _Members) -> str | None:
    loaders = (
        "JsonNode",
        "ListNode",
        "TupleNode",
        "DictNode",
        "ObjectNode",
        "NdArrayNode",
        "TypeNode",
    )
    one, two = _pick(rng, loaders), _pick(rng, loaders)
    found = _nodes(schema, one)
    if not found or one == two:
        return None
    _pick(rng, found)["__loader__"] = two
    return f"{one} -> {two}"


# -- arrays ----------------------------------------------------------------------------------------


def _array(rng: Generator, schema: Node, members: _Members) -> tuple[str, NDArray[Any]] | None:
    files = sorted({n["file"] for n in _nodes(schema, "NdArrayNode") if "file" in n})
    if not files:
        return None
    # Records are where compiled code follows indices: they are half of the cases.
    records = [name for name in files if members.arrays[name].dtype.names is not None]
    name = _pick(rng, records if records and rng.random() < 0.5 else files)
    return name, members.arrays[name]


def _save(members: _Members, name: str, array: NDArray[Any]) -> None:
    buffer = io.BytesIO()
    np.save(buffer, array, allow_pickle=False)
    members.bytes[name] = buffer.getvalue()


def _number(rng: Generator, schema: Node, members: _Members) -> str | None:
    found = _array(rng, schema, members)
    if found is None or not found[1].size:
        return None
    name, array = found[0], found[1].copy()
    field = None if array.dtype.names is None else str(_pick(rng, array.dtype.names))
    part = array if field is None else array[field]
    if part.dtype.kind not in "biuf":
        return None
    value = _pick(rng, _FLOATS if part.dtype.kind == "f" else _NUMBERS)
    place = tuple(int(rng.integers(size)) for size in part.shape)
    with np.errstate(all="ignore"):
        replaced = np.array([value]).astype(part.dtype)[0]
    if rng.random() < 0.1:
        part[...] = replaced
    else:
        part[place] = replaced
    _save(members, name, array)
    return f"{field or array.dtype} = {replaced}"


def _dtype(rng: Generator, schema: Node, members: _Members) -> str | None:
    found = _array(rng, schema, members)
    if found is None or found[1].dtype.names is not None:
        return None
    name, array = found
    dtype = str(_pick(rng, _DTYPES))
    try:
        with np.errstate(all="ignore"):
            _save(members, name, array.astype(dtype))
    except (ValueError, TypeError):
        return None
    return f"{array.dtype} -> {dtype}"


def _shape(rng: Generator, schema: Node, members: _Members) -> str | None:
    found = _array(rng, schema, members)
    if found is None:
        return None
    name, array = found
    ways: dict[str, Callable[[], NDArray[Any]]] = {
        "one less": lambda: array[:-1] if array.ndim else array[None],
        "one more": lambda: np.concatenate([array, array[:1]]) if array.ndim else array[None],
        "none": lambda: array[:0] if array.ndim else array[None][:0],
        "turned": lambda: array.T if array.ndim > 1 else array[::-1] if array.ndim else array,
        "deeper": lambda: array[None],
        "flat": lambda: array.ravel(),
        "long": lambda: np.resize(array, (1_000_000,)),
        "a column less": lambda: array[..., :-1] if array.ndim > 1 else array.ravel()[:-1],
        "in columns": lambda: np.asfortranarray(array),
    }
    way = str(_pick(rng, sorted(ways)))
    changed = ways[way]()
    _save(members, name, changed)
    return f"{array.shape} {way}"


# -- the manifest ----------------------------------------------------------------------------------


def _manifest(rng: Generator, schema: Node, members: _Members) -> str | None:
    manifest = json.loads(members.bytes["manifest.json"])
    part, path = manifest, ""
    while True:
        keys = list(part) if isinstance(part, dict) else list(range(len(part)))
        key = _pick(rng, keys)
        path = f"{path}.{key}"
        if not isinstance(part[key], dict | list) or not part[key] or rng.random() < 0.1:
            break
        part = part[key]
    value = _pick(rng, _VALUES)
    part[key] = value
    members.bytes["manifest.json"] = json.dumps(manifest).encode()
    return f"{path} = {value!r}"


_Change = Callable[[Generator, Node, _Members], str | None]
_CHANGES: dict[str, tuple[_Change, float]] = {
    "attribute replaced": (_replace, 4),
    "attribute left out": (_leave_out, 2),
    "attribute of another": (_swap, 3),
    "attribute renamed": (_rename, 1),
    "types of keys": (_types_of_keys, 1),
    "value": (_value, 3),
    "element of a list": (_of_list, 2),
    "class": (_class, 1.5),
    "reference": (_reference, 2),
    "loader": (_loader, 0.5),
    "number in an array": (_number, 6),
    "dtype": (_dtype, 2),
    "shape": (_shape, 3),
    "manifest": (_manifest, 1),
}
_NAMES = list(_CHANGES)
_SHARES = np.array([share for _, share in _CHANGES.values()]) / sum(
    share for _, share in _CHANGES.values()
)
