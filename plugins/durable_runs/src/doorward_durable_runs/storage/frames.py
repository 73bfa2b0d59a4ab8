"""The frames of a journal as entries of a log of the store: its kind, and what it says, sealed where there is a key."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from doorward import StateError
from doorward_durable_runs.files.frames import NOT_KNOWN, as_json
from pydantic_core import from_json

if TYPE_CHECKING:
    from doorward_durable_runs.files.frames import Frame
    from doorward_durable_runs.sealing import Box


def packed(kind: bytes, said: Any, place: int, box: Box) -> bytes:
    """A frame as it is stored. Raises: StateError if a value in it cannot be written."""
    return kind + box.sealed(said if isinstance(said, bytes) else as_json(said), _about(kind, place))


def unpacked(entry: bytes, place: int, box: Box) -> Frame:
    """A stored frame. Raises: StateError if it was sealed with another key, changed or moved."""
    kind = entry[:1]
    return kind, opened(entry[1:], kind, place, box)


def opened(payload: bytes, kind: bytes, place: int, box: Box) -> Any:
    """What a frame says. Raises: StateError."""
    payload = box.opened(payload, _about(kind, place))
    try:
        return _value(payload)
    except ValueError:
        hint = f"Set vault_key to the key that it was. {NOT_KNOWN}"
        raise StateError("a stored run cannot be read: it is encrypted, or damaged", hint=hint) from None


def _about(kind: bytes, place: int) -> bytes:
    """The place of a frame is part of what is sealed: none can be moved."""
    return b"%b %d" % (kind, place)


def _value(payload: bytes) -> Any:
    try:
        return from_json(payload)
    except ValueError:
        return json.loads(payload)
