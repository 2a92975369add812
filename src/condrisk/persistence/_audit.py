"""What a model file would make, looked through before any of it is made."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, NoReturn

import numpy as np

from condrisk._files import ModelFileError
from condrisk.persistence._allowed import ALLOWED, CHECK_ARRAY
from condrisk.persistence._archive import MOST_SCHEMA_BYTES, SCHEMA, Archive
from condrisk.persistence._skops import import_skops
from condrisk.persistence._trust import Trust, needed_for

# What a number of features, classes or levels can be.
_MOST = 1_000_000
_PARTIAL_OPTIONS = {"dtype", "ensure_all_finite"}

Node = dict[str, Any]


def audit(archive: Archive, trust: Trust) -> tuple[list[str], set[str]]:
    """Return the types in a file, and what of the caller's trust they need; nothing of it has run.

    Anything that is neither on the list nor trusted is refused.
    """
    import_skops()
    from skops.io._protocol import PROTOCOL

    schema = archive.json(SCHEMA, most=MOST_SCHEMA_BYTES)
    if not isinstance(schema, dict) or schema.get("protocol") != PROTOCOL:
        archive.refuse("is of another version of skops, or damaged")
    nodes = list(nodes_of(schema))
    found = _check_types(archive, nodes, trust)
    for node in nodes:
        if "__id__" in node:  # skops would put another part in its place
            archive.refuse("is not as condrisk writes it: a part of it stands for another")
        check = _CHECKS.get(node["__loader__"])
        if check is None:
            continue
        try:
            check(archive, node)
        except ModelFileError:
            raise
        except (KeyError, TypeError, IndexError, ValueError, AttributeError, RecursionError):
            archive.refuse(f"is damaged: a {node['__class__']} in it is not complete")
    return sorted({name for _, name in found}), _used(found)


def _used(names: set[tuple[str, str]]) -> set[str]:
    known = (pair for pair in names if pair[1] not in ALLOWED.get(pair[0], ()))
    return {str(needed_for(*pair)) for pair in known}


def nodes_of(schema: Any) -> Iterator[Node]:
    """Yield every part of the file that would be made into an object."""
    waiting = [schema]
    while waiting:
        part = waiting.pop()
        if isinstance(part, dict):
            if "__loader__" in part:
                yield part
            waiting.extend(part.values())
        elif isinstance(part, list):
            waiting.extend(part)


def names_of(schema: Any) -> set[tuple[str, str]]:
    """Return the loader and the full name of every part of a file."""
    return {
        (node["__loader__"], f"{node['__module__']}.{node['__class__']}")
        for node in nodes_of(schema)
    }


def _check_types(archive: Archive, nodes: list[Node], trust: Trust) -> set[tuple[str, str]]:
    """Return loaders and full names of all parts; what is neither listed nor trusted is refused."""
    if not all(isinstance(node.get(key), str) for node in nodes for key in _TYPE):
        archive.refuse("is damaged: a part of it has no type")
    names = {(node["__loader__"], f"{node['__module__']}.{node['__class__']}") for node in nodes}
    unknown = sorted(
        (loader, name)
        for loader, name in names
        if name not in ALLOWED.get(loader, ()) and not trust.admits(loader, name)
    )
    if unknown:
        _refuse(archive, unknown, trust)
    return names


_TYPE = ("__loader__", "__module__", "__class__")


def _refuse(archive: Archive, unknown: list[tuple[str, str]], trust: Trust) -> NoReturn:
    needed = {name: needed_for(loader, name) for loader, name in unknown}
    for name, need in needed.items():
        if need is None:
            archive.refuse(f"holds {name[:120]!r}, which no model file may hold")
        if need in trust.names:
            archive.refuse(f"holds {name[:120]!r}, which is not what it is trusted for")
    wanted = sorted({str(need)[:120] for need in needed.values()})
    # A class of the package itself says more than the containers that its state is made of.
    shown = next((k for k in needed if k.partition(".")[0] in wanted), unknown[0][1])
    archive.refuse(
        f"holds {shown[:120]!r}, which is not on the list of what a model file may hold; "
        f"if you trust whoever made the file and that code, load it with trusted={wanted[:8]} "
        f"({' '.join(f'--trust {name}' for name in wanted[:8])} on the command line)"
    )


# -- parts that native code would take as they are ----------------------------------------------


def _check_tree(archive: Archive, node: Node) -> None:
    """Refuse a tree whose sizes contradict each other: its memory is laid out by them."""
    n_features, n_classes, n_outputs = node["__reduce__"]["args"]["content"]
    state = node["content"]["content"]
    classes = archive.array(n_classes["file"])
    nodes = archive.array_shape(state["nodes"]["file"])
    values = archive.array_shape(state["values"]["file"])
    count = _whole(state["node_count"])
    fits = (
        _whole(n_outputs) == 1
        and classes.shape == (1,)
        and classes.dtype == np.intp
        and 1 <= classes[0] <= _MOST
        and 1 <= _whole(n_features) <= _MOST
        and 0 <= _whole(state["max_depth"]) <= count
        and nodes == (count,)
        and values == (count, 1, classes[0])
        and count >= 1
    )
    if not fits:
        archive.refuse("is damaged: a tree in it contradicts itself")


def _whole(node: Node) -> int:
    value = json.loads(node["content"])
    if not isinstance(value, int) or isinstance(value, bool):
        raise ValueError("not a whole number")
    return value


def _check_partial(archive: Archive, node: Node) -> None:
    """Accept what boosting with categories has, and no other function with arguments."""
    inside = node["content"]
    function = f"{inside['func']['__module__']}.{inside['func']['__class__']}"
    fits = (
        function == CHECK_ARRAY
        and not inside["args"]["content"]
        and set(inside["kwds"]["content"]) <= _PARTIAL_OPTIONS
        and inside["namespace"]["content"] in ("null", {})
    )
    if not fits:
        archive.refuse("holds a function with arguments")


def _check_generator(archive: Archive, node: Node) -> None:
    """Accept no other random numbers than numpy's default ones: their state is checked."""
    name = json.loads(node["content"]["bit_generator"]["content"]["bit_generator"]["content"])
    if name != "PCG64":
        archive.refuse("holds a generator of random numbers that models do not have")


def _check_array(archive: Archive, node: Node) -> None:
    if node["type"] == "numpy":
        archive.array_shape(node["file"])
    elif node["type"] != "json":
        archive.refuse("is damaged: it has an array of an unknown kind")


def _check_json(archive: Archive, node: Node) -> None:
    if not isinstance(node["content"], str):
        archive.refuse("is damaged: a value in it is not text")
    json.loads(node["content"])


def _check_object(archive: Archive, node: Node) -> None:
    """Refuse a part of a LightGBM booster, which LightGBM itself would take for the whole."""
    if node["__class__"] != "Booster" or not node["__module__"].startswith("lightgbm."):
        return
    text = json.loads(node["content"]["content"]["_handle"]["content"])
    if not all(f"\n{mark}\n" in text for mark in ("end of trees", "end of parameters")):
        archive.refuse("is damaged: a booster of lightgbm in it is not complete")


_CHECKS = {
    "JsonNode": _check_json,
    "NdArrayNode": _check_array,
    "ObjectNode": _check_object,
    "PartialNode": _check_partial,
    "RandomGeneratorNode": _check_generator,
    "TreeNode": _check_tree,
}
