"""What a model file would make, checked attribute by attribute before any of it is made.

For every class that is known, the attributes that its objects may have are listed with their
kinds; anything else in a file is refused. What only the caller's trust admits may have any
attributes, and what is known inside of it is checked all the same.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from condrisk.persistence import _kinds as k
from condrisk.persistence._archive import Archive
from condrisk.persistence._kinds import BadModelError, Kind, Node, Scope, class_of
from condrisk.persistence._structure import ACTIVE, children_of
from condrisk.persistence._trust import Trust


class Part:
    """The attributes of one object in a file, for what relates them."""

    def __init__(self, attributes: dict[str, Node], scope: Scope) -> None:
        self.attributes = attributes
        self.scope = scope

    @property
    def sizes(self) -> dict[str, int]:
        """The sizes that the attributes have in common."""
        return self.scope.sizes

    def value(self, name: str) -> Any:
        """Return a single value, None where there is none."""
        node = self.attributes.get(name)
        return None if node is None else k.scalar(node, self.scope)

    def is_none(self, name: str) -> bool:
        """Tell whether an attribute is None, or not there."""
        node = self.attributes.get(name)
        return node is None or (node["__loader__"] == "JsonNode" and self.value(name) is None)

    def array(self, name: str) -> NDArray[Any]:
        """Return an array."""
        return self.array_of(self.attributes[name])

    def array_of(self, node: Node) -> NDArray[Any]:
        """Return the array of a part, which is an array."""
        return self.scope.file.array(node["file"])

    def items(self, name: str) -> list[Node]:
        """Return what is in a list or tuple."""
        return list(self.attributes[name]["content"])

    def inside(self, node: Node) -> Part:
        """Return the attributes of an object in this one, which has been checked."""
        return Part(state_of(node), Scope(self.scope.file))


@dataclass(frozen=True, eq=False)
class Known:
    """What is known of a class.

    Attributes
    ----------
    attributes : mapping of str to Kind
        What its objects may have, besides parameters and what every estimator has.
    relations : callable or None
        Raises `BadModelError` where attributes contradict each other.
    needed : tuple of str
        What none of its objects may be without.
    """

    attributes: Mapping[str, Kind]
    relations: Callable[[Part], None] | None = None
    needed: tuple[str, ...] = ()


def require(fits: bool, what: str) -> None:
    """Raise `BadModelError` unless something fits."""
    if not fits:
        raise BadModelError(f"has {what}")


_OF_ESTIMATORS = {
    "_sklearn_version": k.text,
    "n_features_in_": k.whole(1, k.MOST_FEATURES, size="features"),
    "feature_names_in_": k.words("features"),
    "_sklearn_output_config": k.mapping(k.choice("default", "pandas", "polars")),
    "_metadata_request": k.trusted,
}


class Checker:
    """Checks the parts of a file.

    Parameters
    ----------
    archive : Archive
        The file.
    trust : Trust
        What the caller trusts.
    known : mapping of str to Known
        The classes that are known, by their full names.
    """

    def __init__(self, archive: Archive, trust: Trust, known: Mapping[str, Known]) -> None:
        self.archive = archive
        self.trust = trust
        self.known = known
        self.marked: set[int] = set()

    def check(self, parts: list[Node]) -> None:
        """Check all parts of a file, the first of which holds the others.

        Nothing that does something when it is made may stand where nobody looks at it.
        """
        self.mark(parts[0])
        self.sizes_of(parts[0])
        unseen = [p for p in parts if p["__loader__"] in ACTIVE and id(p) not in self.marked]
        require(not unseen, f"a {unseen[0]['__class__'][:80]} where none belongs" if unseen else "")

    def mark(self, node: Node) -> None:
        """Remember that a part fits where it is."""
        self.marked.add(id(node))

    def header(self, member: str) -> tuple[tuple[int, ...], np.dtype[Any]]:
        """Return the shape and the dtype that an array claims."""
        return self.archive.array_header(member)

    def array(self, member: str) -> NDArray[Any]:
        """Return an array."""
        return self.archive.array(member)

    def is_trusted(self, node: Node) -> bool:
        """Tell whether the caller's trust alone admits a part, and what is inside fits."""
        if class_of(node) in self.known or not self.trust.admits(
            node["__loader__"], class_of(node)
        ):
            return False
        self.check_open(node)
        return True

    def sizes_of(self, node: Node) -> dict[str, int]:
        """Check an object and what is inside of it; return its sizes."""
        name, scope = class_of(node), Scope(self)
        if name not in self.known:
            self.check_open(node)
            return scope.sizes
        known, attributes, kind = self.known[name], state_of(node), node["__class__"]
        kinds = _attributes_of(name, known)
        for attribute, value in attributes.items():
            if attribute not in kinds:
                raise BadModelError(f"has a {kind} with {attribute[:80]!r}, which is not its own")
            expected = kinds[attribute]
            if not expected.admits(value, scope):
                raise BadModelError(f"has a {kind} whose {attribute} is not {expected.words[:200]}")
        missing = [attribute for attribute in known.needed if attribute not in attributes]
        require(not missing, f"a {kind} without {', '.join(missing)}")
        if known.relations is not None:
            known.relations(Part(attributes, scope))
        return scope.sizes

    def check_open(self, node: Node) -> None:
        """Check what is known inside of a part that may have any attributes."""
        for child in children_of(node):
            loader = child["__loader__"]
            self.mark(child)
            if loader == "ObjectNode":
                self.sizes_of(child)
            elif loader == "RandomGeneratorNode":
                require(k.generator.admits(child, Scope(self)), "a generator that is not numpy's")
            elif loader == "TreeNode":
                raise BadModelError("has a tree where none belongs")
            elif loader in ("FunctionNode", "PartialNode", "LossNode"):
                fits = self.trust.admits(loader, class_of(child))
                require(fits, f"a {child['__class__']} where none belongs")
            else:
                self.check_open(child)


def state_of(node: Node) -> dict[str, Node]:
    """Return the attributes of an object, by their names."""
    state = node.get("content")
    if state is None or (state["__loader__"] == "JsonNode" and state["content"] == "null"):
        return {}
    keys = state.get("key_types", {}).get("content", [])
    if class_of(state) != "builtins.dict" or any(class_of(t) != "builtins.str" for t in keys):
        raise BadModelError(f"has a {node['__class__']} whose attributes have no names")
    return dict(state["content"])


@cache
def _attributes_of(name: str, known: Known) -> dict[str, Kind]:
    module, _, kind = name.rpartition(".")
    found = getattr(import_module(module), kind)
    is_estimator = hasattr(found, "get_params")
    base = {**_OF_ESTIMATORS, **_parameters(found)} if is_estimator else {}
    return {**base, **known.attributes}


def _parameters(found: Any) -> dict[str, Kind]:
    """Return the kinds of an estimator's parameters, by the ranges that it gives them itself."""
    ranges = getattr(found, "_parameter_constraints", {})
    names = [name for name in inspect.signature(found.__init__).parameters if name != "self"]
    kinds = {name: _within(ranges.get(name, "no_validation")) for name in names}
    own = {"n_jobs": k.n_jobs, "random_state": k.seed}
    return kinds | {name: own[name] for name in own if name in kinds}


def _within(ranges: Any) -> Kind:
    """Return the kind of a parameter; single values must be within one of the ranges."""
    from sklearn.utils._param_validation import make_constraint

    if ranges == "no_validation" or "no_validation" in ranges:
        return k.setting
    checks = [make_constraint(one) for one in ranges]

    def fits(node: Node, scope: Scope) -> bool:
        if not k.setting.admits(node, scope):
            return False
        value = k.scalar(node, scope)
        return isinstance(value, list) or any(check.is_satisfied_by(value) for check in checks)

    return Kind(f"{checks[0]}", k.setting.loaders, fits)
