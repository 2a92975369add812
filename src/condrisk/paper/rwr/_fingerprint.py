"""Fingerprints of methods: which records are of this very method, and which models are alike."""

from __future__ import annotations

import inspect
import re
from functools import partial
from hashlib import sha256
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

_ADDRESS = re.compile(r" at 0x[0-9A-Fa-f]+")


def fingerprint(method: Any) -> str:
    """Return what tells a method from others that had its name: a hash of its description.

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> from condrisk.paper.rwr._fingerprint import fingerprint
    >>> fingerprint(Ridge()) == fingerprint(Ridge(alpha=1.0))
    True
    >>> fingerprint(Ridge()) == fingerprint(Ridge(alpha=2.0))
    False
    """
    return _digest(describe(method).encode())


def describe(value: Any) -> str:
    """Return an estimator as text: its class, and the parameters that are not at their defaults.

    A new parameter with a default leaves the text as it is, so that it makes no record stale. The
    opposite holds too: a default that is changed is not seen, and records have to be run again by
    hand. scikit-learn's ``print_changed_only`` has the same rule, but abbreviates long lists and
    arrays, and shows of a function only where it lies in memory; here they count in full.

    Examples
    --------
    >>> from sklearn.linear_model import Lasso
    >>> from sklearn.pipeline import make_pipeline
    >>> from condrisk.paper.rwr._fingerprint import describe
    >>> describe(make_pipeline(Lasso(alpha=1.0, tol=0.01)))
    "Pipeline(steps=[('lasso', Lasso(tol=0.01))])"
    """
    if hasattr(value, "get_params") and not isinstance(value, type):
        return f"{type(value).__name__}({_changed_parameters(value)})"
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, dict):
        items = (f"{describe(key)}: {describe(item)}" for key, item in value.items())
        return f"{{{', '.join(items)}}}"
    if isinstance(value, list | tuple):
        opening, closing = "[]" if isinstance(value, list) else "()"
        return f"{opening}{', '.join(map(describe, value))}{closing}"
    if isinstance(value, set | frozenset):
        return f"{{{', '.join(sorted(map(describe, value)))}}}"
    if hasattr(value, "__array__") and not isinstance(value, type):
        return _describe_array(value)
    if isinstance(value, partial):
        return f"partial{describe((value.func, value.args, value.keywords))}"
    if isinstance(value, MethodType):
        return describe((value.__func__, value.__self__))
    if isinstance(value, FunctionType):
        return f"{value.__qualname__}({_describe_function(value)})"
    return _describe_object(value)


def _changed_parameters(estimator: Any) -> str:
    accepted = inspect.signature(type(estimator)).parameters
    changed = []
    for name, value in estimator.get_params(deep=False).items():
        text = describe(value)
        if name not in accepted or text != describe(accepted[name].default):
            changed.append(f"{name}={text}")
    return ", ".join(changed)


def _describe_array(value: Any) -> str:
    """Return type, labels and a hash of all entries of an array or a frame."""
    labels = [list(getattr(value, name)) for name in ("index", "columns") if hasattr(value, name)]
    array = np.asarray(value)
    if array.dtype == object:  # its bytes are addresses
        content = describe(array.tolist())
    else:
        content = f"{array.dtype}, {array.shape}, {_digest(np.ascontiguousarray(array).tobytes())}"
    return f"{type(value).__name__}({describe(labels)}, {content})"


def _describe_function(function: FunctionType) -> str:
    """Return a hash of what a function does, with the values that it was made with."""
    cells = [cell.cell_contents for cell in function.__closure__ or ()]
    given = describe((function.__defaults__, function.__kwdefaults__, cells))
    return _digest(f"{_describe_code(function.__code__)}{given}".encode())


def _describe_code(code: CodeType) -> str:
    constants = (_describe_code(c) if isinstance(c, CodeType) else repr(c) for c in code.co_consts)
    return f"{code.co_code!r}{code.co_names}{list(constants)}"


def _describe_object(value: Any) -> str:
    """Return the attributes of an object, whatever it shows of itself, or else how it shows."""
    if getattr(value, "__dict__", None) and not isinstance(value, type | ModuleType):
        return f"{type(value).__name__}({describe(vars(value))})"
    return _ADDRESS.sub("", repr(value))


def _digest(content: bytes) -> str:
    return sha256(content).hexdigest()[:16]
