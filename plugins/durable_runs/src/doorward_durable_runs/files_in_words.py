"""What is told in place of the bytes in the arguments of a planned call."""

from __future__ import annotations

import base64
import binascii
import hashlib
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from doorward import File, Function
from doorward.recording import takes_bytes
from doorward.texts import in_one_line

MAX_TOLD = 100
"""Files of one call that are told in words."""


def in_words(function: Function, arguments: Mapping[str, Any]) -> dict[str, str]:
    """What is to be told in place of the bytes in the opened arguments of a call, by the JSON Pointers to them."""
    found: dict[str, str] = {}
    properties = function.parameters.get("properties", {})

    def look(value: Any, place: str, bytes_there: bool) -> None:
        if len(found) == MAX_TOLD:
            return
        match value:
            case File():
                found[place] = _in_words(value)
            case bytes():
                found[place] = _in_words(File(value))
            case {"base64": str() as encoded, **about} if bytes_there and about.keys() <= {"name", "type"}:
                with suppress(binascii.Error, ValueError):
                    content = base64.b64decode("".join(encoded.split()), validate=True)
                    found[place] = _in_words(File(content, str(about.get("type", "")), str(about.get("name", ""))))
            case dict():
                for key, part in value.items():
                    look(part, f"{place}/{_pointed(key)}", False)
            case list():
                for number, part in enumerate(value):
                    look(part, f"{place}/{number}", bytes_there)

    for name, value in arguments.items():
        look(value, f"/{_pointed(name)}", takes_bytes(properties.get(name)))
    return found


def _in_words(file: File) -> str:
    about = "".join(
        f", {what} {in_one_line(text)}" for what, text in (("type", file.type), ("name", file.name)) if text
    )
    return f"{len(file.content)} bytes, sha256 {hashlib.sha256(file.content).hexdigest()}{about}"


def _pointed(key: Any) -> str:
    """A key as a part of a JSON Pointer."""
    return str(key).replace("~", "~0").replace("/", "~1")
