"""What a model file would make, looked through before any of it is made."""

from __future__ import annotations

import json
from typing import NoReturn

from condrisk._files import ModelFileError
from condrisk.persistence._allowed import ALLOWED, KNOWN
from condrisk.persistence._archive import MOST_BYTES, SCHEMA, Archive
from condrisk.persistence._closed import Checker
from condrisk.persistence._kinds import BadModelError, Node, class_of
from condrisk.persistence._skops import import_skops
from condrisk.persistence._structure import NODE_BYTES, parts_of
from condrisk.persistence._trust import Trust, needed_for

# What a file may take in memory: so much, and so many times its own size. Trees shrink to a tenth
# when they are packed, and what skops makes of many small ones is 200 times as large; zeros shrink
# to a thousandth.
FREE_BYTES, TIMES_PACKED = 64 << 20, 200
# A value of JSON takes so much at most, besides its letters, of up to four bytes each.
_VALUE_BYTES, _LETTER_BYTES = 120, 4
# skops reads a member and makes an array of it; bytes become a list of numbers in between.
_COPIES = {"NdArrayNode": 2, "BytesNode": 2, "BytearrayNode": 10}


def audit(archive: Archive, trust: Trust) -> tuple[list[str], set[str]]:
    """Return the types in a file, and what of the caller's trust they need; nothing of it has run.

    Anything that is neither on the list nor trusted is refused, and so are attributes that objects
    of ours and of scikit-learn do not have, and what would take more memory than models do.
    """
    try:
        schema = _read_schema(archive)
        parts = list(parts_of(schema))
        found = _check_types(archive, parts, trust)
        _check_memory(archive, parts)
        for node in parts:
            _check_part(archive, node)
        Checker(archive, trust, KNOWN).check(parts)
    except BadModelError as error:
        archive.refuse(f"{error}")
    except ModelFileError:
        raise
    except (KeyError, TypeError, IndexError, ValueError, AttributeError, RecursionError):
        archive.refuse("is damaged: a part of it is not complete")
    return sorted({name for _, name in found}), _used(found)


def _read_schema(archive: Archive) -> Node:
    """Return what skops would make, if its own protocol and not too much memory is needed."""
    import_skops()
    from skops.io._protocol import PROTOCOL

    most = _most_memory(archive)
    text = archive.read(SCHEMA, most=most // _LETTER_BYTES)
    values = sum(text.count(sign) for sign in (b",", b"[", b"{", b":"))
    if _LETTER_BYTES * len(text) + _VALUE_BYTES * values > most:
        archive.refuse(f"has a {SCHEMA} that would take more memory than models do")
    schema = archive.json(SCHEMA, most=len(text))
    protocol = schema.get("protocol") if isinstance(schema, dict) else None
    if type(protocol) is not int or protocol != PROTOCOL:
        archive.refuse("is of another version of skops, or damaged")
    return dict(schema)


def _most_memory(archive: Archive) -> int:
    return min(MOST_BYTES, FREE_BYTES + TIMES_PACKED * archive.packed_bytes)


def _check_memory(archive: Archive, parts: list[Node]) -> None:
    """Refuse what would take more memory than models do: shared arrays are made again each time."""
    total = NODE_BYTES * len(parts)
    for node in parts:
        copies = _COPIES.get(node["__loader__"])
        if copies and "file" in node:
            total += copies * archive.size(node["file"])
    if total > _most_memory(archive):
        archive.refuse(
            f"would take {total / 2**30:,.1f} GiB of memory, more than models of its size do"
        )


def _used(names: set[tuple[str, str]]) -> set[str]:
    known = (pair for pair in names if pair[1] not in ALLOWED.get(pair[0], ()))
    return {str(needed_for(*pair)) for pair in known}


def _check_types(archive: Archive, parts: list[Node], trust: Trust) -> set[tuple[str, str]]:
    """Return loaders and full names of all parts; what is neither listed nor trusted is refused."""
    names = {(node["__loader__"], class_of(node)) for node in parts}
    unknown = sorted(
        (loader, name)
        for loader, name in names
        if name not in ALLOWED.get(loader, ()) and not trust.admits(loader, name)
    )
    if unknown:
        _refuse(archive, unknown, trust)
    return names


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


# -- parts by themselves, whoever trusts them ---------------------------------------------------


def _check_array(archive: Archive, node: Node) -> None:
    if node["type"] == "numpy":
        archive.array_header(node["file"])


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


_CHECKS = {"JsonNode": _check_json, "NdArrayNode": _check_array, "ObjectNode": _check_object}


def _check_part(archive: Archive, node: Node) -> None:
    check = _CHECKS.get(node["__loader__"])
    if check is not None:
        check(archive, node)
