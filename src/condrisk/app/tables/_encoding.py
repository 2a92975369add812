"""In which encoding a text file is: judged by all of its bytes, once."""

from __future__ import annotations

import codecs
import re
from pathlib import Path
from typing import NamedTuple

# How much is looked at at a time.
HEAD_BYTES = 1 << 20
_BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
# Where a cell with a decimal comma could begin: it is quoted if commas are between the cells.
_QUOTED_COMMA = re.compile(rb'"[^",\n]*[0-9]?,[0-9]')
_ANY_COMMA = re.compile(rb"[0-9]?,[0-9]")
_OVERLAP = 64
# Bytes that mean nothing in Windows-1252.
_NOT_WINDOWS = re.compile(rb"[\x81\x8d\x8f\x90\x9d]")


class Survey(NamedTuple):
    """What the bytes of a file tell.

    Attributes
    ----------
    encoding : str
        UTF-8, else Windows-1252, else Latin-1.
    mixed : bool
        Whether some lines are UTF-8 and others are not.
    commas : bool
        Whether any cell can be a number with a comma.
    """

    encoding: str
    mixed: bool
    commas: bool


def marked_encoding(head: bytes) -> str:
    """Return the encoding that the beginning of a file tells; UTF-8 if it tells none."""
    for mark, name in _BOMS:
        if head.startswith(mark):
            return name
    for at, name in ((1, "utf-16-le"), (0, "utf-16-be")):
        high, low = head[at:200:2], head[1 - at : 200 : 2]
        if 2 * high.count(0) > len(high) and not low.count(0):
            return name
    return "utf-8"


def survey(path: Path, separator: str) -> Survey:
    """Look at all bytes of a file that has no mark at its beginning, or that of UTF-8."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    pattern, mark = (_QUOTED_COMMA, b'"') if separator == "," else (_ANY_COMMA, b",")
    valid, commas, windows, before = True, False, True, b""
    with open(path, "rb") as file:
        while block := file.read(HEAD_BYTES):
            if valid:
                valid = _decodes(decoder, block)
            if windows:
                windows = _NOT_WINDOWS.search(block) is None
            if not commas and mark in block:
                commas = pattern.search(before + block) is not None
            before = block[-_OVERLAP:]
    if valid and _decodes(decoder, b"", final=True):
        return Survey("utf-8", False, commas)
    if _has_utf8_lines(path):
        return Survey("utf-8", True, commas)
    return Survey("cp1252" if windows else "latin-1", False, commas)


def _decodes(decoder: codecs.IncrementalDecoder, block: bytes, *, final: bool = False) -> bool:
    try:
        decoder.decode(block, final)
    except UnicodeDecodeError:
        return False
    return True


def _has_utf8_lines(path: Path) -> bool:
    """Tell whether any line of a file that is not UTF-8 can only be UTF-8."""
    with open(path, "rb") as file:
        while lines := file.readlines(HEAD_BYTES):
            for line in lines:
                if not line.isascii() and _is_utf8(line):
                    return True
    return False


def _is_utf8(line: bytes) -> bool:
    return _decodes(codecs.getincrementaldecoder("utf-8")(), line, final=True)
