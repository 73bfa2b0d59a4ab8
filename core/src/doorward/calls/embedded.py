"""Files that stand as text where an agent would have to read them: base64 in a value, bytes and base64 that were
printed."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable
from typing import Any

from doorward.calls.artefacts import kind_of
from doorward.model.types import File

_START = r"(?:data:[\w/+.;=-]{1,100};base64,)?(?:iVBORw0KGgo|/9j/|R0lGOD|UklGR|JVBERi0|UEsDB|H4sI)"
"""How the base64 of PNG, JPEG, GIF, WebP, PDF, ZIP and gzip begins."""
_FILE = re.compile(rf"{_START}[A-Za-z0-9+/]{{1000,}}={{0,2}}", re.ASCII)
_ANYWHERE = re.compile(rf'"{_START}'.encode())
_UNREADABLE = re.compile(
    r"""(?<![\w+/=-])(?:[\w+/=-]{2000,}|b'(?:[^'\\]|\\.){2000,}'|b"(?:[^"\\]|\\.){2000,}")""", re.ASCII
)
"""It is looked for where such a run begins, not at each of its characters: that would take time quadratic in its
length."""
_SHOWN = 100


def with_files(value: Any, dumped: bytes, held: Callable[[File], Any]) -> Any:
    """A plain value with what `held` makes of each file that stands in it as base64. `dumped` is its JSON."""
    return _with_files(value, held) if _ANYWHERE.search(dumped) else value


def _with_files(value: Any, held: Callable[[File], Any]) -> Any:
    match value:
        case dict():
            return {key: _with_files(part, held) for key, part in value.items()}
        case list():
            return [_with_files(part, held) for part in value]
        case str() if _FILE.fullmatch(value):
            try:
                content = base64.b64decode(value.rpartition(",")[2], validate=True)
            except binascii.Error:
                return value
            return held(File(content)) if kind_of(content) != "application/octet-stream" else value
    return value


def shortened(printed: str) -> str:
    """Printed text without what nobody can read in it, the bulk of bytes and base64."""
    return _UNREADABLE.sub(lambda found: f"{found[0][:_SHOWN]}… ({len(found[0]) - _SHOWN} more characters)", printed)
