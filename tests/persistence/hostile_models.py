"""Broken and hostile model files: what each is, and why it is refused.

`CASES` is data: the tests run it, and the documentation shows it. Each case starts from a sound
file of the kind that it names, and changes it.
"""

from __future__ import annotations

import io
import json
import pickle
import struct
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from zipfile import ZIP_DEFLATED, ZIP_LZMA, ZipFile

import numpy as np

Members = dict[str, bytes]
Node = dict[str, Any]

TREE = "sklearn.tree._tree.Tree"
TEXT_KEY = {"__class__": "str", "__module__": "builtins", "__loader__": "TypeNode"}


@dataclass(frozen=True)
class ModelCase:
    """A model file that must not be loaded.

    `change` gets a sound file, fitted by the predictor of that name, and returns another;
    `refused` is a pattern of the sentence that refuses it.
    """

    name: str
    what: str
    change: Callable[[bytes], bytes]
    refused: str
    predictor: str = "linear"
    outcome: str = "Refused before anything in it is made."


LATER = "Refused after loading, before any of it is used."


# -- taking files apart ----------------------------------------------------------------------------


def unpack(data: bytes) -> Members:
    """Return the members of an archive."""
    with ZipFile(io.BytesIO(data)) as file:
        return {name: file.read(name) for name in file.namelist()}


def pack(members: Members, compression: int = ZIP_DEFLATED) -> bytes:
    """Return an archive with these members."""
    buffer = io.BytesIO()
    with ZipFile(buffer, "w", compression) as file:
        for name, content in members.items():
            file.writestr(name, content)
    return buffer.getvalue()


def with_member(name: str, content: bytes) -> Callable[[bytes], bytes]:
    """Return what adds a member, or replaces it."""
    return lambda data: pack(unpack(data) | {name: content})


def with_manifest(**changes: Any) -> Callable[[bytes], bytes]:
    """Return what changes the manifest."""

    def change(data: bytes) -> bytes:
        members = unpack(data)
        manifest = json.loads(members["manifest.json"]) | changes
        return pack(members | {"manifest.json": json.dumps(manifest).encode()})

    return change


def nodes(part: Any) -> list[Node]:
    """Return all parts of a schema that stand for objects."""
    found = [part] if isinstance(part, dict) and "__loader__" in part else []
    inside = part.values() if isinstance(part, dict) else part if isinstance(part, list) else []
    return found + [node for piece in inside for node in nodes(piece)]


def with_schema(edit: Callable[[Node], Any]) -> Callable[[bytes], bytes]:
    """Return what edits the schema of skops in place."""

    def change(data: bytes) -> bytes:
        members = unpack(data)
        schema = json.loads(members["schema.json"])
        edit(schema)
        return pack(members | {"schema.json": json.dumps(schema).encode()})

    return change


def attributes(schema: Node, kind: str, having: str) -> Node:
    """Return the attributes of the first object of a type that has a certain one."""
    for node in nodes(schema):
        if node["__class__"] == kind and having in node.get("content", {}).get("content", {}):
            return node["content"]["content"]
    raise LookupError(f"no {kind} with {having}")


def with_attribute(kind: str, name: str, value: Node) -> Callable[[bytes], bytes]:
    """Return what sets an attribute of the first fitted object of a type."""

    def edit(schema: Node) -> None:
        node = next(n for n in nodes(schema) if n["__class__"] == kind and "content" in n)
        state = node["content"]
        if name not in state["content"]:
            state["key_types"]["content"].append(TEXT_KEY)
        state["content"][name] = value

    return with_schema(edit)


def plain(value: Any) -> Node:
    """Return what skops makes of plain data."""
    return {
        "__class__": "str",
        "__module__": "builtins",
        "__loader__": "JsonNode",
        "content": json.dumps(value),
        "is_json": True,
    }


def node(module: str, name: str, loader: str, **more: Any) -> Node:
    """Return a part of a schema."""
    return {"__class__": name, "__module__": module, "__loader__": loader, **more}


def with_array(kind: str, name: str, edit: Callable[[Any], Any]) -> Callable[[bytes], bytes]:
    """Return what edits an array that is an attribute of a certain type of object."""

    def change(data: bytes) -> bytes:
        members = unpack(data)
        where = attributes(json.loads(members["schema.json"]), kind, name)[name]["file"]
        array = np.load(io.BytesIO(members[where]))
        edited = edit(array)
        buffer = io.BytesIO()
        np.save(buffer, array if edited is None else edited)
        return pack(members | {where: buffer.getvalue()})

    return change


def in_field(field: str, value: Any, row: int = 0) -> Callable[[Any], None]:
    """Return what sets a field of a node of a tree."""

    def edit(array: Any) -> None:
        array[field][row] = value

    return edit


def by_category(array: Any) -> None:
    """Make the root of a tree split by a set of categories that is not there."""
    array["is_categorical"][0] = 1
    array["bitset_idx"][0] = 9999


def with_tree_argument(position: int, value: int) -> Callable[[bytes], bytes]:
    """Return what sets one of the numbers that a tree's memory is laid out by."""

    def edit(schema: Node) -> None:
        tree = next(n for n in nodes(schema) if n["__loader__"] == "TreeNode")
        tree["__reduce__"]["args"]["content"][position] = plain(value)

    return with_schema(edit)


def with_tree_state(name: str, value: int) -> Callable[[bytes], bytes]:
    """Return what sets a number in the state of a tree."""

    def edit(schema: Node) -> None:
        tree = next(n for n in nodes(schema) if n["__loader__"] == "TreeNode")
        tree["content"]["content"][name] = plain(value)

    return with_schema(edit)


# -- hostile things --------------------------------------------------------------------------------


class _Code:
    def __reduce__(self) -> tuple[Any, ...]:
        return (Path.touch, (Path("executed"),))


def without_first_array(data: bytes) -> bytes:
    """Return a file without one of its arrays."""
    members = unpack(data)
    members.pop(first_array(data))
    return pack(members)


def object_array() -> bytes:
    """Return an array whose elements are pickled, and would run code."""
    buffer = io.BytesIO()
    np.save(buffer, np.array([_Code()], dtype=object), allow_pickle=True)
    return buffer.getvalue()


def first_array(data: bytes) -> str:
    """Return the name of an array in a file."""
    return next(name for name in unpack(data) if name.endswith(".npy"))


def claims_ten_gigabytes(data: bytes) -> bytes:
    """Return a file with an array whose head claims 10 GB, with eight bytes behind it."""
    buffer = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        buffer, {"descr": "<f8", "fortran_order": False, "shape": (10 * 2**30 // 8,)}
    )
    return with_member(first_array(data), buffer.getvalue() + b"\x00" * 8)(data)


def declares(size: int, name: str) -> Callable[[bytes], bytes]:
    """Return what makes the directory of an archive declare another size of a member."""

    def change(data: bytes) -> bytes:
        start = data.rindex(name.encode())  # in the directory, at the end
        at = start - 46 + 24  # where an entry has the size after unpacking
        return data[:at] + struct.pack("<I", size) + data[at + 4 :]

    return change


def bomb(data: bytes) -> bytes:
    """Return a file whose schema unpacks to 300 MiB of spaces."""
    return with_member("schema.json", b" " * (300 << 20))(data)


def all_declare_a_lot(data: bytes) -> bytes:
    """Return a file of many members that each declare 4 GiB."""
    many = {f"{k}.npy": b"" for k in range(4)}
    packed = pack(unpack(data) | many)
    for name in many:
        packed = declares(0xFFFFFFF0, name)(packed)
    return packed


def twice(data: bytes) -> bytes:
    """Return a file with two schemas."""
    packed = pack(unpack(data) | {"schema.jsoX": b"{}"})
    return packed.replace(b"schema.jsoX", b"schema.json")


def flipped(data: bytes) -> bytes:
    """Return a file with one bit changed inside of an array."""
    stored = pack(unpack(data), 0)
    at = stored.index(b"\x93NUMPY") + 140
    return stored[:at] + bytes([stored[at] ^ 1]) + stored[at + 1 :]


def put(value: Node) -> Callable[[bytes], bytes]:
    """Return what puts a part into a file, as the price of the model."""
    return with_attribute("Deferral", "cost", value)


def stands_for_another(schema: Node) -> None:
    """Give two parts of a schema one number, so that skops takes the first for both."""
    for part in nodes(schema)[:2]:
        part["__id__"] = 1


def drop_columns(schema: Node) -> None:
    """Make the preparation of boosting with categories drop its columns of numbers."""
    state = attributes(schema, "ColumnTransformer", "transformers_")
    for step in state["transformers_"]["content"]:
        if step["content"][0]["content"] == '"numerical"':
            step["content"][1] = plain("drop")


def old_protocol(schema: Node) -> None:
    """Claim an old protocol, whose parts are looked through less strictly."""
    schema["protocol"] = 0


def columns(*given: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of a manifest."""
    return {"columns": list(given), "container": "codes", "prediction": None, "n_rows": 3}


# -- files that edit attributes of known types ---------------------------------------------------

ONE_HOT, BOOSTING = "OneHotEncoder", "HistGradientBoostingRegressor"


def text_type() -> Node:
    """Return the type of text, as the keys of dictionaries have it."""
    return node("builtins", "str", "TypeNode")


def dictionary(**values: Node) -> Node:
    """Return what skops makes of a dictionary."""
    keys = node("builtins", "list", "ListNode", content=[text_type() for _ in values])
    return node("builtins", "dict", "DictNode", content=values, key_types=keys)


def listed(*values: Node) -> Node:
    """Return what skops makes of a list."""
    return node("builtins", "list", "ListNode", content=list(values))


def object_array_of(*values: Node) -> Node:
    """Return what skops makes of an array of objects."""
    shape = node("builtins", "tuple", "TupleNode", content=[plain(len(values))])
    inside = list(values)
    return node("numpy", "ndarray", "NdArrayNode", type="json", shape=shape, content=inside)


def with_arrays(edit: Callable[[Node, Callable[[Any], Node]], Any]) -> Callable[[bytes], bytes]:
    """Return what edits the schema, and adds arrays for it."""

    def change(data: bytes) -> bytes:
        members = unpack(data)
        schema = json.loads(members["schema.json"])

        def added(array: Any) -> Node:
            buffer = io.BytesIO()
            np.save(buffer, array)
            name = f"{10**20 + len(members)}.npy"
            members[name] = buffer.getvalue()
            return node("numpy", "ndarray", "NdArrayNode", type="numpy", file=name)

        edit(schema, added)
        return pack(members | {"schema.json": json.dumps(schema).encode()})

    return change


def rare_categories(schema: Node, added: Callable[[Any], Node]) -> None:
    """Group categories of a one-hot encoder, one of them at place 1,000,000,000."""
    state = attributes(schema, ONE_HOT, "categories_")
    names = ("_infrequent_indices", "_default_to_infrequent_mappings")
    arrays = np.array([2]), np.array([0, 10**9, 1])
    for name, array in zip(names, arrays, strict=True):
        with_state(schema, ONE_HOT, "categories_", name, listed(added(array)))
    state["_infrequent_enabled"] = plain(True)


def with_state(schema: Node, kind: str, having: str, name: str, value: Node) -> None:
    """Set an attribute of the first object of a type that has a certain other one."""
    for found in nodes(schema):
        state = found.get("content", {})
        if found["__class__"] == kind and having in state.get("content", {}):
            if name not in state["content"]:
                state["key_types"]["content"].append(text_type())
            state["content"][name] = value
            return
    raise LookupError(f"no {kind} with {having}")


def with_states(kind: str, having: str, **values: Node) -> Callable[[bytes], bytes]:
    """Return what sets attributes of the first object of a type that has a certain other one."""

    def edit(schema: Node) -> None:
        for name, value in values.items():
            with_state(schema, kind, having, name, value)

    return with_schema(edit)


def unsorted_categories(schema: Node, added: Callable[[Any], Node]) -> None:
    """Turn the order of categories around, which are looked up by halving."""
    state = attributes(schema, ONE_HOT, "categories_")
    state["categories_"] = listed(added(np.array([2.0, 1.0, 0.0])))


def a_million_columns(schema: Node, added: Callable[[Any], Node]) -> None:
    """Take the first column a million times."""
    state = attributes(schema, "ColumnTransformer", "transformers_")
    state["transformers_"]["content"][0]["content"][2] = added(np.zeros(1_000_000, dtype=np.int64))


def part_in_a_dtype(schema: Node) -> None:
    """Hide a function where nobody uses it, but skops makes it."""
    state = attributes(schema, "SimpleImputer", "_fit_dtype")
    hidden = node("condrisk.learners._members", "fit_boosting", "FunctionNode")
    state["_fit_dtype"]["content"] = object_array_of(hidden)


def part_in_a_shape(schema: Node) -> None:
    """Hide a function in the shape of an array of objects."""
    state = attributes(schema, ONE_HOT, "categories_")
    array = object_array_of(plain("a"))
    hidden = node("condrisk.learners._members", "fit_boosting", "FunctionNode")
    array["shape"]["content"][0] = hidden
    state["categories_"] = listed(array)


def identity_before_boosting(schema: Node) -> None:
    """Let boosting take rows of any width, and look at another column than they have."""
    state = attributes(schema, BOOSTING, "_preprocessor")
    function = next(n for n in nodes(schema) if n["__class__"] == "FunctionTransformer")
    function["content"]["content"]["func"] = plain(None)
    state["_preprocessor"] = function


def function_of_ours(schema: Node) -> None:
    """Have a function of condrisk's called with the rows."""
    state = attributes(schema, "FunctionTransformer", "func")
    state["func"] = node("condrisk.learners._members", "fit_boosting", "FunctionNode")


def large_pool(schema: Node) -> None:
    """Ask for a seed sequence that mixes 200,000 words with each other."""
    for found in nodes(schema):
        if found["__loader__"] == "RandomGeneratorNode":
            found["content"]["seed_seq"]["content"]["pool_size"] = plain(200_000)


def tree_without_state(schema: Node) -> None:
    """Leave out what a tree has besides its sizes: its arrays point to nowhere."""
    tree = next(n for n in nodes(schema) if n["__loader__"] == "TreeNode")
    tree["content"] = dictionary()


def tree_without_key_types(schema: Node) -> None:
    """Leave out the types of keys, by which alone skops takes what is in a dictionary."""
    tree = next(n for n in nodes(schema) if n["__loader__"] == "TreeNode")
    tree["content"]["key_types"]["content"] = []


def many_times(schema: Node, added: Callable[[Any], Node]) -> None:
    """Name one array of 16 MB eight times: once it would be within the limit."""
    array = added(np.zeros(2 << 20))
    state = attributes(schema, "Ridge", "coef_")
    state["coef_"] = listed(*[array] * 8)


def padded(data: bytes) -> bytes:
    """Return a file whose schema holds 5,000,000 empty lists, in a few kilobytes."""
    members = unpack(data)
    schema = members["schema.json"].rstrip()
    more = b',"padding":[' + b"[]," * 5_000_000 + b"[]]}"
    return pack(members | {"schema.json": schema[:-1] + more})


def invented_categories(data: bytes) -> bytes:
    """Return a file whose manifest names 400,000 categories that the model does not have."""
    members = unpack(data)
    manifest = json.loads(members["manifest.json"])
    column = next(c for c in manifest["schema"]["columns"] if c["kind"] == "category")
    column["categories"] += [f"no {k}" for k in range(400_000)]
    return pack(members | {"manifest.json": json.dumps(manifest).encode()})


DEEP = b"[" * 200_000 + b"]" * 200_000
CALL = node("operator", "methodcaller", "OperatorFuncNode", attrs=plain(["touch"]))
SVM = node("sklearn.svm._classes", "SVR", "ObjectNode")

CASES: tuple[ModelCase, ...] = (
    ModelCase(
        "empty", "A file of no bytes.", lambda data: b"", "is not a model file, or only a part"
    ),
    ModelCase(
        "truncated",
        "The first half of a model file, as a broken copy leaves it.",
        lambda data: data[: len(data) // 2],
        "is not a model file, or only a part",
    ),
    ModelCase(
        "text", "A CSV file.", lambda data: b"x,y\n1,2\n", "is not a model file, or only a part"
    ),
    ModelCase(
        "pickle",
        "A pickle that would run code.",
        lambda data: pickle.dumps(_Code()),
        "is a pickle, which is code: it is never opened",
    ),
    ModelCase(
        "one bit changed",
        "A sound file, but for one bit in the middle of an array.",
        flipped,
        "is damaged",
        outcome="Refused: the checksum does not match.",
    ),
    ModelCase(
        "zip bomb",
        "A member of 300 kB that unpacks to 300 MB.",
        bomb,
        r"claims a schema\.json of 300 MiB",
        outcome="Refused by what it declares; nothing is unpacked.",
    ),
    ModelCase(
        "zip bomb of many members",
        "Members that together declare 16 GB.",
        all_declare_a_lot,
        "claims to hold 16 GiB",
        outcome="Refused by what it declares; nothing is unpacked.",
    ),
    ModelCase(
        "more than declared",
        "A member that unpacks to more than it declares.",
        declares(10, "schema.json"),
        r"is damaged: schema\.json cannot be unpacked",
        outcome="Refused: no more is unpacked than is declared, and the checksum does not match.",
    ),
    ModelCase(
        "10 GB array",
        "An array of eight bytes whose head claims ten gigabytes.",
        claims_ten_gigabytes,
        "is not as long as it claims to be",
        outcome="Refused before memory is asked for.",
    ),
    ModelCase(
        "path traversal",
        "A member called ../../evil.npy.",
        with_member("../../evil.npy", b"1"),
        r"has a member that no model has, '\.\./\.\./evil\.npy'",
        outcome="Refused; no member is ever written to disk under any name.",
    ),
    ModelCase(
        "absolute path",
        "A member called /etc/cron.d/evil.",
        with_member("/etc/cron.d/evil", b"1"),
        "has a member that no model has",
        outcome="Refused; no member is ever written to disk under any name.",
    ),
    ModelCase(
        "script inside",
        "A member called evil.py.",
        with_member("evil.py", b"print()"),
        "has a member that no model has",
    ),
    ModelCase(
        "two of a name",
        "Two members called schema.json, one to look through and one to load.",
        twice,
        "two members of the same name",
    ),
    ModelCase(
        "another compression",
        "Members compressed by LZMA, which can be made to ask for much memory.",
        lambda data: pack(unpack(data), ZIP_LZMA),
        "compressed in another way",
    ),
    ModelCase(
        "no manifest",
        "A file of plain skops.",
        lambda data: pack({k: v for k, v in unpack(data).items() if k != "manifest.json"}),
        r"has no manifest\.json",
    ),
    ModelCase(
        "manifest that is no JSON",
        "A manifest cut in the middle.",
        with_member("manifest.json", b'{"format": 1, "task"'),
        r"manifest\.json is not JSON",
    ),
    ModelCase(
        "manifest nested deeply",
        "A manifest of 200,000 brackets, to overflow the stack.",
        with_member("manifest.json", DEEP),
        "nested too deeply",
    ),
    ModelCase(
        "manifest of 9 MB",
        "A manifest of nine megabytes of spaces.",
        with_member("manifest.json", b" " * (9 << 20)),
        r"claims a manifest\.json of 9 MiB",
    ),
    ModelCase(
        "manifest with a gap",
        "A manifest whose figures are text.",
        with_manifest(evaluation="good"),
        "its manifest has no evaluation",
    ),
    ModelCase(
        "format of the future",
        "A file that a later version has written.",
        with_manifest(format=99),
        "is a model file of format 99, and this version of condrisk reads format 3",
        outcome="Refused, with both numbers.",
    ),
    ModelCase(
        "another scikit-learn",
        "A model fitted with scikit-learn 0.24.",
        with_manifest(versions={"scikit-learn": "0.24.2"}),
        "was written with scikit-learn 0.24.2, and .* is installed",
        outcome="Refused, with both versions.",
    ),
    ModelCase(
        "wrong schema",
        "A manifest with one column less than the model.",
        with_manifest(schema=columns({"name": "x", "kind": "number", "categories": []})),
        "holds another model than its manifest says",
        outcome=LATER,
    ),
    ModelCase(
        "schema that is none",
        "A manifest whose columns are of unknown kinds.",
        with_manifest(schema=columns({"name": "x", "kind": "spell", "categories": []})),
        "does not describe columns",
    ),
    ModelCase(
        "another task",
        "A manifest that calls a model of numbers one of classes.",
        with_manifest(task="classification", classes=["a", "b"]),
        "holds another model than its manifest says",
        outcome=LATER,
    ),
    ModelCase(
        "function outside the list",
        "A file that names os.system.",
        put(node("os", "system", "FunctionNode")),
        r"holds 'os\.system', which is not on the list",
    ),
    ModelCase(
        "type outside the list",
        "A file with a type that could start processes.",
        put(node("subprocess", "Popen", "TypeNode")),
        r"holds 'subprocess\.Popen', which is not on the list",
    ),
    ModelCase(
        "call of a method",
        "A file that would call a method of what it makes.",
        put(CALL),
        "methodcaller', which no model file may hold",
    ),
    ModelCase(
        "native code that trusts its input",
        "A support vector machine, which skops itself would trust.",
        put(SVM),
        r"SVR', which is not on the list",
    ),
    ModelCase(
        "pickle inside",
        "An array of objects, which numpy would unpickle.",
        lambda data: with_member(first_array(data), object_array())(data),
        "an array of objects, which would be a pickle",
    ),
    ModelCase(
        "schema nested deeply",
        "A schema of 200,000 brackets.",
        with_member("schema.json", DEEP),
        "nested too deeply",
    ),
    ModelCase(
        "old protocol",
        "A file that claims an older protocol of skops, to be looked through less strictly.",
        with_schema(old_protocol),
        "is of another version of skops",
    ),
    ModelCase(
        "one part for another",
        "A part that was looked through, with the number of another that takes its place.",
        with_schema(stands_for_another),
        "a part of it stands for another",
    ),
    ModelCase(
        "array that is not there",
        "A schema that names an array which the file does not have.",
        without_first_array,
        "it has no member",
    ),
    ModelCase(
        "tree with a child that does not exist",
        "A forest in which a node leads to node 1,000,000,000: plain skops loads it, and the "
        "process crashes when it predicts.",
        with_array("Tree", "nodes", in_field("left_child", 10**9)),
        "a tree with a child that does not exist",
        predictor="forest",
    ),
    ModelCase(
        "tree that leads back",
        "A forest in which the root is its own child: it would never end.",
        with_array("Tree", "nodes", in_field("right_child", 0)),
        "a tree that leads back to itself|branch that is torn off",
        predictor="forest",
    ),
    ModelCase(
        "tree with half a leaf",
        "A forest with a node that has one child.",
        with_array("Tree", "nodes", in_field("left_child", -1)),
        "a tree with half a leaf",
        predictor="forest",
    ),
    ModelCase(
        "tree of other columns",
        "A forest that looks at column 50,000 of three.",
        with_array("Tree", "nodes", in_field("feature", 50_000)),
        "a tree with a column that does not exist",
        predictor="forest",
    ),
    ModelCase(
        "tree with more nodes than it has",
        "A tree that says it has a million nodes.",
        with_tree_state("node_count", 1_000_000),
        "a tree that contradicts itself",
        predictor="forest",
    ),
    ModelCase(
        "tree of many outputs",
        "A tree that says it has a million outputs: memory would be read that is not its own.",
        with_tree_argument(2, 1_000_000),
        "a tree that contradicts itself",
        predictor="forest",
    ),
    ModelCase(
        "tree deeper than it says",
        "A tree that says its depth is 0.",
        with_tree_state("max_depth", 0),
        "deeper than it claims",
        predictor="forest",
    ),
    ModelCase(
        "tree with a leaf that is no number",
        "A forest that answers NaN.",
        with_array("Tree", "values", lambda values: np.full_like(values, np.nan)),
        "a tree whose leaves are no numbers",
        predictor="forest",
    ),
    ModelCase(
        "boosting with a child that does not exist",
        "Boosting in which a node leads to node 4,000,000,000.",
        with_array("TreePredictor", "nodes", in_field("left", 4_000_000_000)),
        "a tree with a child that does not exist",
        predictor="boosting",
    ),
    ModelCase(
        "boosting that leads back",
        "Boosting in which the root is its own child.",
        with_array("TreePredictor", "nodes", in_field("right", 0)),
        "a tree that leads back to itself|branch that is torn off",
        predictor="boosting",
    ),
    ModelCase(
        "boosting of other columns",
        "Boosting that looks at column -7.",
        with_array("TreePredictor", "nodes", in_field("feature_idx", -7)),
        "a tree with a column that does not exist",
        predictor="boosting",
    ),
    ModelCase(
        "boosting with categories that it has not",
        "Boosting that looks up a set of categories beyond the last.",
        with_array("TreePredictor", "nodes", by_category),
        "a tree with a set of categories that does not exist",
        predictor="boosting",
    ),
    ModelCase(
        "boosting that drops columns",
        "Boosting whose preparation gives it fewer columns than its trees look at.",
        with_schema(drop_columns),
        "changes the number of columns",
        predictor="boosting",
    ),
    ModelCase(
        "coefficients for other columns",
        "A linear model with 100 coefficients for three columns.",
        with_array("Ridge", "coef_", lambda array: np.ones(100)),
        "whose coef_ is not an array of finite floats",
    ),
    ModelCase(
        "coefficients that are no numbers",
        "A linear model with infinite coefficients.",
        with_array("Ridge", "coef_", lambda array: np.full_like(array, np.inf)),
        "whose coef_ is not an array of finite floats",
    ),
    ModelCase(
        "a million threads",
        "A forest that would start a million threads.",
        with_attribute("RandomForestRegressor", "n_jobs", plain(1_000_000)),
        "whose n_jobs is not None or a whole number from -256",
        predictor="forest",
    ),
    ModelCase(
        "hidden method",
        "An attribute that takes the place of a method.",
        with_attribute("RegressionRisk", "predict_risk", plain("hello")),
        "'predict_risk', which is not its own",
    ),
    ModelCase(
        "another price",
        "A manifest that shows another price than the model has.",
        with_manifest(cost=0.0),
        "holds another model than its manifest says",
        outcome=LATER,
    ),
    ModelCase(
        "tree without its state",
        "A forest with a tree of which only the sizes are left.",
        with_schema(tree_without_state),
        "a tree that contradicts itself",
        predictor="forest",
    ),
    ModelCase(
        "keys without types",
        "A tree whose state is there, and is left out by skops: it has no types for its keys.",
        with_schema(tree_without_key_types),
        "a dictionary with other keys than its types say",
        predictor="forest",
    ),
    ModelCase(
        "rare category that does not exist",
        "A one-hot encoder that takes a category for number 1,000,000,000.",
        with_arrays(rare_categories),
        "an encoder with groups of other categories",
    ),
    ModelCase(
        "dropped category that does not exist",
        "A one-hot encoder that leaves out category -1,000,000,000.",
        with_states(
            ONE_HOT, "categories_", _drop_idx_after_grouping=object_array_of(plain(-(10**9)))
        ),
        "whose _drop_idx_after_grouping is not",
    ),
    ModelCase(
        "columns of an encoder",
        "A one-hot encoder that says it makes a billion columns, and less than none.",
        with_states(
            ONE_HOT, "categories_", _n_features_outs=listed(plain(10**9), plain(-(10**9) + 3))
        ),
        "whose _n_features_outs is not",
    ),
    ModelCase(
        "too many columns of an encoder",
        "A one-hot encoder that says it makes one column more than it has categories.",
        with_states(ONE_HOT, "categories_", _n_features_outs=listed(plain(4))),
        "an encoder of other columns than its categories",
    ),
    ModelCase(
        "categories out of order",
        "A one-hot encoder whose numbers are not in order: looking one up leads past the last.",
        with_arrays(unsorted_categories),
        "an encoder whose categories are not in order",
    ),
    ModelCase(
        "boosting behind a function",
        "Boosting whose rows come from a function that leaves them as they are, however narrow.",
        with_schema(identity_before_boosting),
        "whose _preprocessor is not",
        predictor="boosting",
    ),
    ModelCase(
        "function of condrisk",
        "A function of condrisk's that would be called with the rows.",
        with_schema(function_of_ours),
        "whose func is not",
        predictor="boosting",
    ),
    ModelCase(
        "a seed that takes minutes",
        "A seed sequence with a pool of 200,000 words, each of which is mixed with each.",
        with_schema(large_pool),
        "is not None or a generator of random numbers",
        predictor="boosting",
    ),
    ModelCase(
        "array many times",
        "An array of 16 MB of zeros that is named eight times.",
        with_arrays(many_times),
        "would take .* of memory, more than models of its size do",
        outcome="Refused by what it declares; nothing is unpacked.",
    ),
    ModelCase(
        "schema of empty lists",
        "A schema of 5,000,000 empty lists, which take thirty times as much memory.",
        padded,
        r"has a schema\.json that would take more memory than models do",
        outcome="Refused before it is parsed.",
    ),
    ModelCase(
        "a billion outputs",
        "A forest that says it has a billion outputs, and would ask for 8 GB for each row.",
        with_attribute("RandomForestRegressor", "n_outputs_", plain(10**9)),
        "whose n_outputs_ is not a whole number",
        predictor="forest",
    ),
    ModelCase(
        "invented categories",
        "A manifest with 400,000 categories that the model does not have.",
        invented_categories,
        "does not describe columns",
    ),
    ModelCase(
        "a column a million times",
        "A step that takes the first column of each row a million times.",
        with_arrays(a_million_columns),
        "a step that takes more columns than there are",
    ),
    ModelCase(
        "part in a dtype",
        "A part that nobody uses, in a dtype that skops takes from an array around it.",
        with_schema(part_in_a_dtype),
        "whose _fit_dtype is not a dtype",
    ),
    ModelCase(
        "part in a shape",
        "A part that nobody uses, as the length of an array.",
        with_schema(part_in_a_shape),
        "an array without a shape",
    ),
)
