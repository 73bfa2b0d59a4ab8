"""The frames of a journal's file: each whole or not at all, in order, and sealed where there is a key."""

from __future__ import annotations

import json
import os
import struct
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from doorward import StateError
from pydantic_core import PydanticSerializationError, from_json, to_json

if TYPE_CHECKING:
    from doorward_durable_runs.sealing import Box

MAGIC = b"doorward run 1\n"
"""The beginning of each file: no other file is ever touched."""

NOT_KNOWN = "What it had sent is not known: look what is there before you run its program again."
"""A hint about a run that cannot be read."""

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
        whole = _is_head(content[at:start])
        payload = content[start : start + length]
        if whole and len(payload) < length:
            return
        at = start + length
        if not whole or zlib.crc32(payload) != crc:
            raise StateError("a stored run cannot be read: it is damaged", hint=NOT_KNOWN)
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
    at, size = len(MAGIC), _HEAD.size + _SUM.size
    start = os.pread(number, size, at)
    length = _HEAD.unpack_from(start)[1] if _is_head(start) else 0
    content = os.pread(number, min(length, os.fstat(number).st_size), at + size)
    found = [frame for frame, _ in read(MAGIC + start + content, box, only=b"H")]
    if not found or found[0] is None:
        raise LookupError("it has no head")
    return found[0][1]


def kinds(number: int) -> Iterator[bytes]:
    """The kinds of all whole frames of an open file, whose content is not read."""
    at, end = len(MAGIC), os.fstat(number).st_size
    while _is_head(start := os.pread(number, _HEAD.size + _SUM.size, at)):
        kind, length, _ = _HEAD.unpack_from(start)
        at += len(start) + length
        if at > end:
            return
        yield kind


def _is_head(start: bytes) -> bool:
    """Whether a frame begins like this: whole, and as it was written."""
    return len(start) == _HEAD.size + _SUM.size and _SUM.pack(zlib.crc32(start[: _HEAD.size])) == start[_HEAD.size :]


def _about(kind: bytes, place: int) -> bytes:
    """The place of a frame is part of what is sealed: none can be moved."""
    return b"%b %d" % (kind, place)


@contextmanager
def understood() -> Iterator[None]:
    """Frames are read that somebody changed, or another version wrote. Raises: StateError if they make no sense."""
    try:
        yield
    except (LookupError, TypeError, ValueError, AttributeError, RecursionError):
        raise StateError("a stored run cannot be read: it is damaged, or of another version", hint=NOT_KNOWN) from None


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
