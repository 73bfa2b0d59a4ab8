"""Words of others within ours: what an upstream says must not be taken for what Doorward says."""

from __future__ import annotations

import json
import re
from http import HTTPStatus

from doorward.model.errors import DoorwardError

_OURS = re.compile(
    r"\W*(error|hint|note|printed|calls|again|session|artefact|in line "
    r"\d+|\w+Error|\w+Exceeded|\w*Refused)\b.*:|\[cut:",
    re.IGNORECASE,
)
"""How lines of our answers begin."""
_BREAKS = {ord(character): f"\\u{ord(character):04x}" for character in "\x85\u2028\u2029"}
"""Line breaks that JSON leaves as they are."""


def quoted(text: str) -> str:
    """What somebody else said, as it stands within a message: in quotation marks, on one line. A JSON string, for in
    those the scrubber knows every secret."""
    return json.dumps(text, ensure_ascii=False).translate(_BREAKS)


def status(code: int) -> str:
    """A status of HTTP with the words of RFC 9110: those of an answer are its server's."""
    try:
        return f"{code} {HTTPStatus(code).phrase}"
    except ValueError:
        return str(code)


def indented(text: str) -> str:
    """A text of ours, whose further lines stand apart from lines that begin something else."""
    return "\n  ".join(text.splitlines())


def apart(text: str) -> str:
    """A text of a program or an upstream as a part of our answer: as it is, if none of its lines could be taken for one
    of ours."""
    lines = text.splitlines()
    return "\n".join(f"> {line}" for line in lines) if any(map(_OURS.match, lines)) else text


def told(error: DoorwardError) -> str:
    """An error as text: what is wrong, then what to do."""
    return f"{type(error).__name__}: {indented(str(error))}" + (f"\nhint: {indented(error.hint)}" if error.hint else "")


def in_a_line(error: DoorwardError) -> str:
    """An error as a sentence or two: what is wrong, then what to do."""
    said = str(error)
    return f"{said}{'' if said.endswith(('.', '?', '!')) else '.'} {error.hint}" if error.hint else said
