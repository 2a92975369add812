"""The parts of a file, as skops would make them: no more in them, and nothing beside them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from condrisk.persistence._kinds import BadModelError, Node

# Parts that do something when they are made: each has to be known where it stands.
ACTIVE = frozenset(
    {
        *("ConstructorFromReduceNode", "DefaultDictNode", "FunctionNode", "LossNode", "ObjectNode"),
        *("MaskedArrayNode", "PartialNode", "RandomGeneratorNode", "RandomStateNode", "TreeNode"),
    }
)
# What skops makes of one part in memory, and what is nested deeper than any model.
NODE_BYTES, MOST_DEPTH = 3_000, 100
_HEAD = {"__class__", "__module__", "__loader__"}
_OF_FILE = {"protocol", "_skops_version"}


def _of_list(node: Node) -> list[Any]:
    return list(node["content"])


def _of_dict(node: Node) -> list[Any]:
    keys, inside = node["key_types"], node["content"]
    if keys["__loader__"] != "ListNode" or len(keys["content"]) != len(inside):
        raise BadModelError("has a dictionary with other keys than its types say")
    if any(key["__loader__"] != "TypeNode" for key in keys["content"]):
        raise BadModelError("has a dictionary whose keys are of no type")
    return [keys, *inside.values()]


def _of_array(node: Node) -> list[Any]:
    if node["type"] == "numpy":
        return []
    shape = node["shape"]
    ends = shape["content"] if shape["__loader__"] == "TupleNode" else [{}]
    if any(end.get("__loader__") != "JsonNode" for end in ends):
        raise BadModelError("has an array without a shape")
    return [node["shape"], *node["content"]]


def _of_reduced(node: Node) -> list[Any]:
    if set(node["__reduce__"]) != {"args"}:
        raise BadModelError("has a part that is made in another way than skops makes it")
    return [node["__reduce__"]["args"], node["content"]]


def _of_content(node: Node) -> list[Any]:
    return [node["content"]]


def _of_named(*names: str) -> Callable[[Node], list[Any]]:
    def children(node: Node) -> list[Any]:
        if set(node["content"]) != set(names):
            raise BadModelError(f"has a {node['__class__']} that is not complete")
        return [node["content"][name] for name in names]

    return children


def _of_none(node: Node) -> list[Any]:
    return []


# By loader: what a part has besides its type, and which other parts are made for it.
_SHAPES: dict[str, tuple[set[str], Callable[[Node], list[Any]]]] = {
    "BytearrayNode": ({"file"}, _of_none),
    "BytesNode": ({"file"}, _of_none),
    "ConstructorFromReduceNode": ({"content"}, _of_content),
    "DTypeNode": ({"content"}, _of_content),
    "DefaultDictNode": ({"content"}, _of_named("main", "default_factory")),
    "DictNode": ({"content", "key_types"}, _of_dict),
    "FunctionNode": (set(), _of_none),
    "JsonNode": ({"content", "is_json"}, _of_none),
    "ListNode": ({"content"}, _of_list),
    "LossNode": ({"content", "__reduce__"}, _of_reduced),
    "MaskedArrayNode": ({"content"}, _of_named("data", "mask")),
    "NdArrayNode": ({"type", "file"}, _of_array),
    "ObjectNode": ({"content"}, _of_content),
    "PartialNode": ({"content"}, _of_named("func", "args", "kwds", "namespace")),
    "RandomGeneratorNode": ({"content"}, _of_named("bit_generator", "seed_seq")),
    "RandomStateNode": ({"content"}, _of_content),
    "SliceNode": ({"content"}, _of_none),
    "TreeNode": ({"content", "__reduce__"}, _of_reduced),
    "TupleNode": ({"content"}, _of_list),
    "TypeNode": (set(), _of_none),
}


def children_of(node: Node) -> list[Node]:
    """Return the parts that skops makes for a part; refuse one that has anything else."""
    loader = node["__loader__"]
    if loader not in _SHAPES:
        raise BadModelError(f"holds {_name(node)!r}, which no model file may hold")
    expected, children = _SHAPES[loader]
    if loader == "NdArrayNode" and node.get("type") == "json":
        expected = {"type", "content", "shape"}
    found = node.keys() - _HEAD
    if loader == "ObjectNode" and not found:
        return []  # an object without a state
    if "__id__" in found:  # skops would put another part in its place
        raise BadModelError("is not as condrisk writes it: a part of it stands for another")
    if found != expected:
        raise BadModelError(f"has a {str(node['__class__'])[:80]} that skops does not write so")
    return children(node)


def parts_of(schema: Any) -> Iterator[Node]:
    """Yield every part that skops would make of a file, each once."""
    root = {name: value for name, value in schema.items() if name not in _OF_FILE}
    waiting: list[tuple[Any, int]] = [(root, 0)]
    while waiting:
        node, depth = waiting.pop()
        if not isinstance(node, dict) or not all(isinstance(node.get(k), str) for k in _HEAD):
            raise BadModelError("is damaged: a part of it has no type")
        if depth > MOST_DEPTH:
            raise BadModelError("is damaged: its parts are nested too deeply")
        yield node
        waiting.extend((child, depth + 1) for child in children_of(node))


def _name(node: Node) -> str:
    return f"{node['__module__']}.{node['__class__']}"[:120]
