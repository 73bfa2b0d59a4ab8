"""Errors that pass between a sandbox and its host: those of calls on their way in, and of programs on their way out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from doorward import ApiError, DoorwardError, Failure, InvalidArguments, ToolError
from doorward.sandboxing import Frame

_MAX_TYPE_CHARACTERS = 1000
_MAX_MESSAGE_CHARACTERS = 8000


def told(error: DoorwardError) -> dict[str, Any]:
    """A failed call, as it is told to the program."""
    if not isinstance(error, ApiError):
        kinds = [kind.__name__ for kind in (InvalidArguments, ToolError) if isinstance(error, kind)]
        return {"type": kinds[0] if kinds else "DoorwardError", "message": error.message}
    return {
        "type": "ApiError",
        "message": error.message,
        "status": error.status,
        "body": error.body,
        "retry_after": error.retry_after,
    }


def failure(error: Mapping[str, Any]) -> Failure:
    """The failure that a sandbox reports. Parts of wrong types are left out, and long ones are cut."""
    frames = error.get("frames")
    shown = tuple(
        Frame(line, text_in(frame["function"], 100))
        for frame in (frames if isinstance(frames, list) else [])[-20:]
        if isinstance(frame, dict) and (line := _line(frame.get("line"))) and "function" in frame
    )
    return Failure(
        "program",
        text_in(error.get("type"), _MAX_TYPE_CHARACTERS) or "Error",
        text_in(error.get("message"), _MAX_MESSAGE_CHARACTERS),
        _line(error.get("line")),
        shown,
    )


def _line(value: Any) -> int | None:
    """The number of a line, if the value can be one."""
    return value if type(value) is int and 0 < value < 2**31 else None


def text_in(value: Any, most: int) -> str:
    """At most so many characters of a text, of its end if that is negative. Other values give an empty text: to convert
    them could take long."""
    return (value[:most] if most > 0 else value[most:]) if isinstance(value, str) else ""
