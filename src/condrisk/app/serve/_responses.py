"""Decisions as JSON or as an Arrow IPC stream."""

from __future__ import annotations

import io
from typing import Any

import polars as pl

from condrisk.app.serve._arrow_rows import ARROW
from condrisk.app.serve._decider import Decided
from condrisk.app.serve._json import JSON, encode
from condrisk.app.serve._refusal import RefusedError


def body_type(content_type: bytes) -> str:
    """Return which of the two kinds a body is, by its content type.

    Parameters
    ----------
    content_type : bytes
        The header.

    Returns
    -------
    str
        `JSON` or `ARROW`.

    Raises
    ------
    RefusedError
        With status 415 if it is neither.
    """
    if content_type == b"application/json":
        return JSON
    kind = content_type.decode("latin-1").partition(";")[0].strip().lower()
    if kind in (JSON, ARROW):
        return kind
    shown = kind[:60] or "none"
    raise RefusedError(415, f"The content type must be {JSON} or {ARROW}; got {shown}.")


def response_type(accept: bytes, sent: str) -> str:
    """Return which of the two kinds the answer shall be.

    Parameters
    ----------
    accept : bytes
        The Accept header; empty if there is none.
    sent : str
        The kind of the body, which is the kind of the answer where the header allows it as much
        as the other.

    Returns
    -------
    str
        `JSON` or `ARROW`.

    Raises
    ------
    RefusedError
        With status 406 if the header allows neither.
    """
    if not accept or accept == b"*/*":
        return sent
    weights = _weights(accept.decode("latin-1").lower())
    best = max((JSON, ARROW), key=lambda kind: (_weight(weights, kind), kind == sent))
    if _weight(weights, best) <= 0:
        raise RefusedError(406, f"The answer can be {JSON} or {ARROW}; Accept allows neither.")
    return best


def _weights(accept: str) -> dict[str, float]:
    """Return how much each kind in an Accept header is wanted."""
    weights = {}
    for part in accept.split(","):
        kind, *options = [text.strip() for text in part.split(";")]
        given = next((text[2:] for text in options if text.startswith("q=")), "1")
        try:
            weights[kind] = float(given)
        except ValueError:
            weights[kind] = 1.0
    return weights


def _weight(weights: dict[str, float], kind: str) -> float:
    for name in (kind, "application/*", "*/*"):  # the most exact counts
        if name in weights:
            return weights[name]
    return 0.0


def encode_response(decided: Decided | None, kind: str) -> bytes:
    """Return the body that carries decisions.

    Parameters
    ----------
    decided : Decided or None
        The decisions; None for no rows at all.
    kind : str
        `JSON` or `ARROW`.

    Returns
    -------
    bytes
        The body.
    """
    columns: dict[str, list[Any]] = {"prediction": [], "risk": [], "defer": [], "outside": []}
    if decided is not None:
        columns = {
            "prediction": decided.prediction.tolist(),
            "risk": decided.risk.tolist(),
            "defer": decided.deferred.tolist(),
            "outside": decided.outside,
            **decided.extras,
        }
    if kind == JSON:
        return _as_json(columns)
    types: Any = {"risk": pl.Float64, "defer": pl.Boolean, "outside": pl.List(pl.String)}
    frame = pl.DataFrame(columns, schema_overrides=types)
    stream = io.BytesIO()
    frame.write_ipc_stream(stream)
    return stream.getvalue()


def _as_json(columns: dict[str, list[Any]]) -> bytes:
    names = list(columns)
    rows = [dict(zip(names, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    return encode({"rows": rows})
