"""Errors on their way between a sandbox and its host: what a program is told of a call, and what is believed of its own
end."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from doorward import ApiError, DoorwardError, Failure, Frame, InvalidArguments, ToolError

_MAX_TYPE_CHARACTERS = 1000
_MAX_MESSAGE_CHARACTERS = 8000
"""Characters of the name of a type, and of a message."""


def told(error: DoorwardError) -> dict[str, Any]:
    """What a program is told of a call that failed."""
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
    """What a sandbox says of an error, as far as it is of the right types and sizes."""
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
    """A line's number that can be one."""
    return value if type(value) is int and 0 < value < 2**31 else None


def text_in(value: Any, most: int) -> str:
    """At most so much of a text that is one, of its end if that is negative: that of anything else could take long to
    make."""
    return (value[:most] if most > 0 else value[most:]) if isinstance(value, str) else ""
