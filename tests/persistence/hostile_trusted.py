"""Files that abuse what a caller trusts: what each is, what was trusted, and why it is refused.

`TRUSTED_CASES` is data, as `hostile_models.CASES` is: each starts from a sound file.
"""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from hostile_models import (
    Node,
    dictionary,
    node,
    nodes,
    pack,
    plain,
    put,
    unpack,
    with_attribute,
    with_manifest,
    with_schema,
    with_states,
)


@dataclass(frozen=True)
class TrustedCase:
    """A file that must not be loaded, though its caller trusts `trusted`."""

    name: str
    what: str
    change: Callable[[bytes], bytes]
    trusted: tuple[str, ...]
    refused: str
    model: str = "lightgbm"


LIGHTGBM, XGBOOST, CATBOOST = ("lightgbm",), ("xgboost",), ("catboost",)
WITH_ARGUMENTS = node(
    "functools",
    "partial",
    "PartialNode",
    content={
        "func": node("strangers", "late", "FunctionNode"),
        "args": node("builtins", "tuple", "TupleNode", content=[]),
        "kwds": dictionary(y_true=plain(0)),
        "namespace": plain(None),
    },
)
STRANGER, LATE = ("strangers.StrangerRisk",), ("function:strangers.late",)
NET = ("stranger_nets.Net",)
NOT_LISTED = "which is not on the list"
OTHER_KIND = "which is not what it is trusted for"


def first(kind: str) -> Callable[[Node], Node]:
    """Return what finds the first part of a class that has attributes."""
    return lambda schema: next(
        n for n in nodes(schema) if n["__class__"] == kind and "content" in n
    )


def replaced(kind: str, **changes: Any) -> Callable[[bytes], bytes]:
    """Return what changes module, class or loader of all parts of a class."""

    def edit(schema: Node) -> None:
        for part in nodes(schema):
            if part["__class__"] == kind:
                part.update(changes)

    return with_schema(edit)


def with_state(kind: str, state: Node) -> Callable[[bytes], bytes]:
    """Return what gives the first object of a class another state."""

    def edit(schema: Node) -> None:
        first(kind)(schema)["content"] = state

    return with_schema(edit)


def cut_text(data: bytes) -> bytes:
    """Return a file whose LightGBM booster is the first half of its text."""

    def edit(schema: Node) -> None:
        state = first("Booster")(schema)["content"]["content"]
        text = json.loads(state["_handle"]["content"])
        state["_handle"] = plain(text[: len(text) // 2])

    return with_schema(edit)(data)


def cut_bytes(share: float) -> Callable[[bytes], bytes]:
    """Return what keeps the first part of every member of bytes."""

    def change(data: bytes) -> bytes:
        members = unpack(data)
        return pack(
            {
                name: content[: int(share * len(content))] if name.endswith(".bin") else content
                for name, content in members.items()
            }
        )

    return change


def hidden_versions(data: bytes) -> bytes:
    """Return a file whose manifest does not say that it needs trust, nor in which version."""
    return with_manifest(trusted={})(data)


def other_weights(data: bytes) -> bytes:
    """Return a file whose network has a bias too many."""
    members = unpack(data)
    schema = json.loads(members["schema.json"])
    state = next(
        n["content"]
        for n in nodes(schema)
        if n["__loader__"] == "DictNode" and "last.bias" in n["content"]
    )
    where = state["last.bias"]["file"]
    buffer = io.BytesIO()
    np.save(buffer, np.load(io.BytesIO(members[where])).repeat(3))
    return pack(members | {where: buffer.getvalue()})


RIDGE = node("sklearn.linear_model._ridge", "Ridge", "ObjectNode")

TRUSTED_CASES: tuple[TrustedCase, ...] = (
    TrustedCase(
        "trust written into the file",
        "A manifest that says what is to be trusted.",
        with_manifest(trusted={"lightgbm": None, "os.system": None}),
        (),
        NOT_LISTED,
    ),
    TrustedCase(
        "another version of a trusted package",
        "A booster that LightGBM 2.3 has written.",
        with_manifest(trusted={"lightgbm": "2.3.1"}),
        LIGHTGBM,
        r"was written with lightgbm 2\.3\.1, and .* is installed",
    ),
    TrustedCase(
        "a version that is kept quiet",
        "A manifest that does not say which LightGBM the booster is of.",
        hidden_versions,
        LIGHTGBM,
        "was written with lightgbm None",
    ),
    TrustedCase(
        "another class of a trusted package",
        "A class of LightGBM's that is not on its list.",
        put(node("lightgbm.basic", "Dataset", "ObjectNode")),
        LIGHTGBM,
        f"holds 'lightgbm.basic.Dataset', {NOT_LISTED}",
    ),
    TrustedCase(
        "function of a trusted package",
        "A function of LightGBM's, which trust in the package does not admit.",
        put(node("lightgbm.engine", "train", "FunctionNode")),
        LIGHTGBM,
        rf"holds 'lightgbm\.engine\.train', {NOT_LISTED}.*function:lightgbm\.engine\.train",
    ),
    TrustedCase(
        "function in place of a class",
        "os.system as an object to be constructed, where the caller was talked into its name.",
        put(node("os", "system", "ConstructorFromReduceNode", content=plain(["touch executed"]))),
        (*LIGHTGBM, "os.system"),
        OTHER_KIND,
    ),
    TrustedCase(
        "function in place of a type",
        "A function where a class was trusted.",
        put(node("strangers", "touch", "TypeNode")),
        (*LIGHTGBM, "strangers.touch"),
        OTHER_KIND,
    ),
    TrustedCase(
        "function under the name of a class",
        "A function that is loaded as one, trusted by its bare name only.",
        put(node("strangers", "touch", "FunctionNode")),
        (*LIGHTGBM, "strangers.touch"),
        NOT_LISTED,
    ),
    TrustedCase(
        "class in place of a function",
        "A class that is loaded as a function, to be called later.",
        put(node("strangers", "StrangerRisk", "FunctionNode")),
        (*LIGHTGBM, "function:strangers.StrangerRisk"),
        OTHER_KIND,
    ),
    TrustedCase(
        "another function of the module",
        "A loss replaced by a function beside it.",
        replaced("late", __class__="touch"),
        LATE,
        f"holds 'strangers.touch', {NOT_LISTED}",
        model="loss",
    ),
    TrustedCase(
        "function with arguments",
        "A trusted function, with arguments that the file gives it.",
        with_states(
            "CustomLoss",
            "fn",
            fn=WITH_ARGUMENTS,
        ),
        LATE,
        "whose fn is not what is trusted",
        model="loss",
    ),
    TrustedCase(
        "method of a trusted class",
        "A bound method, which would be called.",
        put(
            node(
                "strangers",
                "StrangerRisk",
                "MethodNode",
                content={"func": "fit", "obj": plain(None)},
            )
        ),
        STRANGER,
        "which no model file may hold",
        model="stranger",
    ),
    TrustedCase(
        "class under another name",
        "A name in a trusted module for a class that is defined elsewhere.",
        put(node("strangers", "LinearRegression", "ObjectNode")),
        (*STRANGER, "strangers.LinearRegression"),
        OTHER_KIND,
        model="stranger",
    ),
    TrustedCase(
        "module that does not exist",
        "A class of a module that cannot be imported.",
        put(node("no_such_module", "Risk", "ObjectNode")),
        (*STRANGER, "no_such_module.Risk"),
        OTHER_KIND,
        model="stranger",
    ),
    TrustedCase(
        "state that is none",
        "A trusted class whose state is a list of numbers.",
        with_state("StrangerRisk", plain([1, 2, 3])),
        STRANGER,
        "is damaged|holds a",
        model="stranger",
    ),
    TrustedCase(
        "function with arguments in a trusted class",
        "A trusted function with arguments, as an attribute of a class that may have any.",
        with_attribute(
            "StrangerRisk",
            "loss",
            WITH_ARGUMENTS,
        ),
        (*STRANGER, *LATE),
        "a partial where none belongs",
        model="stranger",
    ),
    TrustedCase(
        "hidden method of a trusted class",
        "An attribute that takes the place of a method.",
        with_attribute("StrangerRisk", "predict_risk", plain("hello")),
        STRANGER,
        "whose predict_risk is not its own",
        model="stranger",
    ),
    TrustedCase(
        "state of another module",
        "A LightGBM classifier whose booster is a ridge regression.",
        with_attribute("LGBMClassifier", "_Booster", RIDGE),
        LIGHTGBM,
        "has a LGBMClassifier without its trees",
    ),
    TrustedCase(
        "booster of another package",
        "An XGBoost regressor whose booster is of LightGBM.",
        with_attribute("XGBRegressor", "_Booster", node("lightgbm.basic", "Booster", "ObjectNode")),
        (*XGBOOST, *LIGHTGBM),
        "is damaged|was written with lightgbm None|without its trees",
        model="xgboost",
    ),
    TrustedCase(
        "half a LightGBM booster",
        "The first half of the text of a booster.",
        cut_text,
        LIGHTGBM,
        "is damaged",
    ),
    TrustedCase(
        "half an XGBoost booster",
        "The first half of the bytes of a booster.",
        cut_bytes(0.5),
        XGBOOST,
        "is damaged",
        model="xgboost",
    ),
    TrustedCase(
        "no XGBoost booster",
        "A booster of no bytes.",
        cut_bytes(0.0),
        XGBOOST,
        "is damaged",
        model="xgboost",
    ),
    TrustedCase(
        "half a CatBoost model",
        "The first half of the bytes of a model.",
        cut_bytes(0.5),
        CATBOOST,
        "is damaged",
        model="catboost",
    ),
    TrustedCase(
        "another class than the network's",
        "A network that would be made by starting a process.",
        replaced("Net", __module__="subprocess", __class__="Popen"),
        NET,
        f"holds 'subprocess.Popen', {NOT_LISTED}",
        model="torch",
    ),
    TrustedCase(
        "network that is none",
        "A trusted class that is no module of torch, in place of the network's.",
        replaced("Net", __module__="strangers", __class__="StrangerRisk"),
        (*NET, *STRANGER),
        "is damaged",
        model="torch",
    ),
    TrustedCase(
        "weights of another network",
        "Weights that do not fit the network.",
        other_weights,
        NET,
        "is damaged",
        model="torch",
    ),
)
