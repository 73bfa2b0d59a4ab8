"""Quotes text of others in our messages, so that nobody takes the words of an upstream for those of Doorward."""

from __future__ import annotations

import json
import re
from http import HTTPStatus
from typing import Any

from doorward.model.errors import DoorwardError

_OURS = re.compile(
    r"\W*(error|hint|note|printed|calls|again|session|artefact|in line \d+"
    r"|\w+Error|\w+Exceeded|\w*Refused)\b.*:|\[cut:",
    re.IGNORECASE,
)
"""Beginnings of the lines of our own answers."""
_BREAKS = {ord(character): f"\\u{ord(character):04x}" for character in "\x85\u2028\u2029"}
"""Line breaks that JSON leaves as they are."""


def quoted(text: str) -> str:
    """Text of somebody else for a message of ours: in quotation marks, on one line. It is a JSON string, because the
    scrubber finds every secret in JSON strings."""
    return in_one_line(text)


def in_one_line(value: Any, separators: tuple[str, str] | None = None) -> str:
    """A value as JSON in which no text breaks the line."""
    written = json.dumps(value, ensure_ascii=False, separators=separators)
    return written if written.isascii() else written.translate(_BREAKS)


def status(code: int) -> str:
    """An HTTP status with the words of RFC 9110, because the words in an answer are chosen by its server."""
    try:
        return f"{code} {HTTPStatus(code).phrase}"
    except ValueError:
        return str(code)


def indented(text: str) -> str:
    """A text of ours with its further lines indented, so that they do not look like a new entry."""
    return "\n  ".join(text.splitlines())


def apart(text: str) -> str:
    """A text of a program or an upstream as part of our answer: unchanged if none of its lines looks like one of ours,
    else each line is marked with `>`."""
    lines = text.splitlines()
    return "\n".join(f"> {line}" for line in lines) if any(map(_OURS.match, lines)) else text


def told(error: DoorwardError) -> str:
    """An error as text: what is wrong, then what to do."""
    return f"{type(error).__name__}: {indented(str(error))}" + (f"\nhint: {indented(error.hint)}" if error.hint else "")


def in_a_line(error: DoorwardError) -> str:
    """An error as a sentence or two: what is wrong, then what to do."""
    said = str(error)
    return f"{said}{'' if said.endswith(('.', '?', '!')) else '.'} {error.hint}" if error.hint else said
