"""The frames of a journal: what happened in a run, in order, and sealed where there is a key."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from doorward import StateError
from pydantic_core import PydanticSerializationError, from_json, to_json

if TYPE_CHECKING:
    from doorward_durable_runs.sealing import Box

NOT_KNOWN = "What it had sent is not known: look what is there before you run its program again."
"""A hint about a run that cannot be read."""

Frame = tuple[bytes, Any]
"""The kind of a frame, which is one letter, and what it says: a dictionary, or its JSON."""


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
