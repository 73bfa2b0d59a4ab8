"""The frames of a journal's file: each whole or not at all, in order, and sealed where there is a key."""

from __future__ import annotations

import json
import os
import struct
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from pydantic_core import PydanticSerializationError, from_json, to_json

from doorward.model.errors import StateError

if TYPE_CHECKING:
    from doorward.secrets.sealing import Box

MAGIC = b"doorward run 1\n"
"""The beginning of each file: no other file is ever touched."""

SUMMARIES = b"HWROLI"
"""Kinds of frames that say what became of a run; a list of runs reads no others."""

_HEAD, _SUM = struct.Struct(">cII"), struct.Struct(">I")
"""The kind of a frame, its length and its checksum; and that of these: a wrong length looks like an end."""


Frame = tuple[bytes, Any]
"""The kind of a frame, which is one letter, and what it says: a dictionary, or its JSON."""


def written(kind: bytes, said: Any, place: int, box: Box) -> bytes:
    """A frame as bytes. Raises: StateError if a value in it cannot be written."""
    payload = box.sealed(said if isinstance(said, bytes) else as_json(said), _about(kind, place))
    head = _HEAD.pack(kind, len(payload), zlib.crc32(payload))
    return head + _SUM.pack(zlib.crc32(head)) + payload


def read(content: bytes, box: Box, only: bytes = b"") -> Iterator[tuple[Frame | None, int]]:
    """The frames of a file, and where each ends; `None` for those of a kind that is not wanted. A last frame that was
    not written to its end is left out.

    Raises: StateError if a frame is damaged: what follows it may say that a call went out.
    """
    at, place = len(MAGIC), 0
    while (start := at + _HEAD.size + _SUM.size) <= len(content):
        kind, length, crc = _HEAD.unpack_from(content, at)
        whole = _SUM.pack(zlib.crc32(content[at : at + _HEAD.size])) == content[start - _SUM.size : start]
        payload = content[start : start + length]
        if whole and len(payload) < length:
            return
        at = start + length
        if not whole or zlib.crc32(payload) != crc:
            raise StateError("a stored run cannot be read: it is damaged", hint="Run the program anew.")
        wanted = not only or kind in only
        try:
            yield ((kind, _value(box.opened(payload, _about(kind, place)))) if wanted else None), at
        except ValueError:
            raise StateError(
                "a stored run cannot be read: it is encrypted", hint="Set vault_key to the key that it was."
            ) from None
        place += 1


def are_in(number: int) -> bool:
    """Whether an open file is a journal of ours."""
    return os.pread(number, len(MAGIC), 0) == MAGIC


def head(number: int, box: Box) -> Any:
    """What the first frame of an open file says, without a look at the others. Raises: StateError; LookupError if there
    is none."""
    at = len(MAGIC)
    start = os.pread(number, _HEAD.size, at)
    length = min(_HEAD.unpack(start)[1], _MOST) if len(start) == _HEAD.size else 0
    found = [frame for frame, _ in read(MAGIC + start + os.pread(number, length, at + _HEAD.size), box, only=b"H")]
    if not found or found[0] is None:
        raise LookupError("it has no head")
    return found[0][1]


def kinds(number: int) -> Iterator[bytes]:
    """The kinds of all whole frames of an open file, whose content is not read."""
    at, size = len(MAGIC), os.fstat(number).st_size
    while len(start := os.pread(number, _HEAD.size, at)) == _HEAD.size:
        kind, length, _ = _HEAD.unpack(start)
        at += _HEAD.size + length
        if at > size:
            return
        yield kind


def _about(kind: bytes, place: int) -> bytes:
    """The place of a frame is part of what is sealed: none can be moved."""
    return b"%b %d" % (kind, place)


@contextmanager
def understood() -> Iterator[None]:
    """Frames are read that somebody changed, or another version wrote. Raises: StateError if they make no sense."""
    try:
        yield
    except (LookupError, TypeError, ValueError, AttributeError, RecursionError):
        raise StateError(
            "a stored run cannot be read: it is damaged, or of another version", hint="Run the program anew."
        ) from None


def as_json(value: Any) -> bytes:
    """A value as JSON that is read as it was, numbers that are none and broken text included. Raises: StateError."""
    try:
        return to_json(value, inf_nan_mode="constants")
    except (PydanticSerializationError, ValueError):  # pydantic refuses half of a surrogate pair
        try:
            return json.dumps(value).encode()
        except (TypeError, ValueError) as error:
            raise StateError(f"a value of this run cannot be stored: {error}") from None


def _value(payload: bytes) -> Any:
    try:
        return from_json(payload)
    except ValueError:
        return json.loads(payload)
