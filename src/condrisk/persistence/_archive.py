"""The archive around a model: opened within limits, so that no file can ask for more."""

from __future__ import annotations

import io
import json
import math
import re
from typing import Any, BinaryIO, NoReturn
from zipfile import BadZipFile, ZipFile, ZipInfo

import numpy as np

from condrisk._files import ModelFileError

MANIFEST, SCHEMA = "manifest.json", "schema.json"
MOST_BYTES = 8 << 30
MOST_MEMBERS = 300_000
MOST_MANIFEST_BYTES = 8 << 20
_MEMBER = re.compile(
    rf"{re.escape(MANIFEST)}|{re.escape(SCHEMA)}|[0-9]{{1,24}}\.npy|[0-9a-f-]{{36}}\.bin"
)
_STORED, _DEFLATED, _ENCRYPTED = 0, 8, 0x1
# What the head of an array may take; numpy's own limit for what it parses is 10,000.
_HEAD = 12_000

Header = tuple[tuple[int, ...], np.dtype[Any]]


class Archive:
    """A model file, every member of which is within limits.

    Parameters
    ----------
    source : binary file
        The file, open, or its bytes in memory.
    name : str
        What it is called in messages.

    Attributes
    ----------
    packed_bytes : int
        The size of the file.
    """

    def __init__(self, source: BinaryIO, name: str) -> None:
        self.name = name
        self._headers: dict[str, Header] = {}
        self.packed_bytes = source.seek(0, 2)
        source.seek(0)
        if source.read(1) == b"\x80":
            self.refuse("is a pickle, which is code: it is never opened")
        try:
            self._zip = ZipFile(source)
        except (BadZipFile, ValueError, NotImplementedError, EOFError, OSError):
            self.refuse("is not a model file, or only a part of one")
        self._check_members()

    def refuse(self, why: str) -> NoReturn:
        """Raise, with one sentence."""
        # What the file says of itself may be made for the terminal that shows it.
        shown = "".join(mark if mark.isprintable() else "\ufffd" for mark in why)
        raise ModelFileError(f"{self.name} {shown}.")

    def _check_members(self) -> None:
        members = self._zip.infolist()
        if len(members) > MOST_MEMBERS:
            self.refuse(f"has {len(members):,} members, more than any model")
        names = [member.filename for member in members]
        if len(set(names)) < len(names):
            self.refuse("has two members of the same name")
        for member in members:
            if not _MEMBER.fullmatch(member.filename):
                self.refuse(f"has a member that no model has, {member.filename[:80]!r}")
            if member.compress_type not in (_STORED, _DEFLATED) or member.flag_bits & _ENCRYPTED:
                self.refuse("is compressed in another way than model files are, or encrypted")
        total = sum(member.file_size for member in members)
        if total > MOST_BYTES:
            self.refuse(f"claims to hold {total / 2**30:,.0f} GiB, more than any model")
        for needed in (MANIFEST, SCHEMA):
            if needed not in names:
                self.refuse(f"is not a model file of condrisk: it has no {needed}")

    def read(self, member: str, *, most: int = MOST_BYTES) -> bytes:
        """Return a member, which its checksum must match."""
        info = self._info(member)
        if info.file_size > most:
            self.refuse(f"claims a {member} of {info.file_size / 2**20:,.0f} MiB")
        try:
            return self._zip.read(info)
        except Exception:
            self.refuse(f"is damaged: {member} cannot be unpacked")

    def json(self, member: str, *, most: int) -> Any:
        """Return a member that is JSON."""
        data = self.read(member, most=most)
        try:
            return json.loads(data, parse_constant=_no_constant)
        except (ValueError, RecursionError):
            self.refuse(f"is damaged: {member} is not JSON, or nested too deeply")

    def array_header(self, member: str) -> Header:
        """Return shape and dtype of an array that is as long as it claims, and has no objects."""
        if member not in self._headers:
            self._headers[member] = self._read_header(member)
        return self._headers[member]

    def _read_header(self, member: str) -> Header:
        info = self._info(member)
        try:
            with self._zip.open(info) as file:
                head = io.BytesIO(file.read(_HEAD))
            version = np.lib.format.read_magic(head)
            readers = {
                (1, 0): np.lib.format.read_array_header_1_0,
                (2, 0): np.lib.format.read_array_header_2_0,
            }
            shape, _, dtype = readers[version](head)
        except Exception:
            self.refuse(f"is damaged: {member} is not an array")
        if dtype.hasobject:
            self.refuse(f"has an array of objects, which would be a pickle: {member}")
        count = math.prod(map(int, shape))
        if min(shape, default=0) < 0 or (not dtype.itemsize and count):
            self.refuse(f"is damaged: {member} has an impossible shape")
        if head.tell() + count * dtype.itemsize != info.file_size:
            self.refuse(f"is damaged: {member} is not as long as it claims to be")
        return shape, dtype

    def array(self, member: str) -> np.ndarray[Any, Any]:
        """Return an array whose head has been checked."""
        self.array_header(member)
        return np.load(io.BytesIO(self.read(member)), allow_pickle=False)

    def size(self, member: str) -> int:
        """Return how many bytes a member unpacks to."""
        return self._info(member).file_size

    def _info(self, member: str) -> ZipInfo:
        try:
            return self._zip.getinfo(member)
        except KeyError:
            self.refuse(f"is damaged: it has no member {member[:80]!r}")


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")
