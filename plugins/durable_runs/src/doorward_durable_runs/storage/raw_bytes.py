"""Bytes among the arguments of stored calls: JSON has none, and what stands for them is read as it was."""

from __future__ import annotations

import base64
import binascii
from typing import Any

_KEY = "\0bytes"
"""The only key of an object that stands for bytes."""


def kept(value: Any) -> Any:
    """A value as it is stored."""
    match value:
        case bytes() | bytearray():
            return {_KEY: base64.b64encode(value).decode()}
        case dict():
            return {key: kept(part) for key, part in value.items()}
        case list() | tuple():
            return [kept(part) for part in value]
    return value


def given(value: Any) -> Any:
    """The value that was stored."""
    match value:
        case dict():
            if len(value) == 1 and isinstance(encoded := value.get(_KEY), str):
                try:
                    return base64.b64decode(encoded, validate=True)
                except binascii.Error:  # it was never stored by `kept`
                    return value
            return {key: given(part) for key, part in value.items()}
        case list():
            return [given(part) for part in value]
    return value
