"""Quotation marks that are never closed, which would make one cell of all rows after them."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from condrisk.app._errors import TableError
from condrisk.app.tables._csv import BLOCK_BYTES

_READ_BYTES = 1 << 20


def check_quotes(path: Path, name: str, separator: str, encoding: str) -> None:
    """Refuse a table of text with a quotation mark that opens a cell and does not close it.

    It is closed by the first mark that is not doubled. If lines lie between the two, and something
    else than a separator or the end of the line follows, then that mark was to open another cell.

    Parameters
    ----------
    path : Path
        The file.
    name : str
        What it is called in messages.
    separator : str
        What stands between cells.
    encoding : str
        How its text is written.
    """
    before = b"\n"  # with the mark at its end that opens a cell, where that goes on
    ends = {b"\n": 0, b"\r": 0}

    def count(text: bytes, *span: int) -> None:
        for end in ends:
            ends[end] += text.count(end, *span)

    for block, at_end in _blocks(path, encoding):
        if b'"' not in block and len(before) == 1:
            count(block)
            before = block[-1:] or before
            continue
        text = before + block
        stop = _sound(separator, at_end).match(text, 1).end()  # type: ignore[union-attr]
        count(text, 1, stop)
        # A row as long as a block could not be read anyway.
        if (at_end and stop < len(text)) or len(text) - stop > BLOCK_BYTES:
            raise _unclosed(name, 1 + (ends[b"\n"] or ends[b"\r"]))
        before = text[stop - 1 :]


def _unclosed(name: str, line: int) -> TableError:
    return TableError(
        f"{name} could not be read: line {line:,} has a quotation mark that opens a cell and is "
        f"not closed. Close it, or double it and put the cell in quotation marks."
    )


@cache
def _sound(separator: str, at_end: bool) -> re.Pattern[bytes]:
    """Return what matches all of a text up to a mark that opens a cell which goes on behind it.

    The text begins at the second byte, so that the mark before is seen.
    """
    ends = rb"[%s\r\n]" % re.escape(separator.encode())
    opens = rb'(?<=%s)"' % ends
    closes = b'"(?!")' if at_end else b'"(?=[^"])'
    of_one_line = opens + rb'[^"\r\n]*+(?:""[^"\r\n]*+)*+' + closes
    end = rb"(?=%s|\Z)" % ends if at_end else rb"(?=%s)" % ends
    of_several = opens + rb'[^"]*+(?:""[^"]*+)*+' + b'"' + end
    within = rb'(?<!%s)"' % ends
    return re.compile(rb'(?:[^"]++|%s|%s|%s)*+' % (of_one_line, of_several, within))


def _blocks(path: Path, encoding: str) -> Iterator[tuple[bytes, bool]]:
    """Yield a file in pieces in which marks and ends of lines are single bytes."""
    wide = encoding.startswith(("utf-16", "utf-32"))
    decoder = codecs.getincrementaldecoder(encoding)(errors="replace") if wide else None
    with open(path, "rb") as file:
        mark = file.read(len(codecs.BOM_UTF8))
        if mark != codecs.BOM_UTF8:
            file.seek(0)
        block = file.read(_READ_BYTES)
        while True:
            following = file.read(_READ_BYTES)
            if decoder is None:
                yield block, not following
            else:
                text = decoder.decode(block, final=not following)
                yield text.removeprefix("\ufeff").encode(), not following
            if not following:
                return
            block = following
