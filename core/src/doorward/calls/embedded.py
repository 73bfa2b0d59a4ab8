"""Files that would reach an agent as unreadable text: base64 in a value, and printed bytes or base64."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable
from typing import Any

from doorward.calls.artefacts import kind_of
from doorward.model.calls import File

_BASE64_START = r"(?:data:[\w/+.;=-]{1,100};base64,)?(?:iVBORw0KGgo|/9j/|R0lGOD|UklGR|JVBERi0|UEsDB|H4sI)"
"""The first characters of PNG, JPEG, GIF, WebP, PDF, ZIP and gzip in base64."""

_BASE64_FILE = re.compile(rf"{_BASE64_START}[A-Za-z0-9+/]{{1000,}}={{0,2}}", re.ASCII)
_BASE64_IN_JSON = re.compile(rf'"{_BASE64_START}'.encode())
_UNREADABLE = re.compile(
    r"""(?<![\w+/=-])(?:[\w+/=-]{2000,}|b'(?:[^'\\]|\\.){2000,}'|b"(?:[^"\\]|\\.){2000,}")""", re.ASCII
)
"""Matched only at the start of such a run: trying at each character would take time quadratic in its length."""

_SHOWN_CHARS = 100


def with_files(value: Any, dumped: bytes, held: Callable[[File], Any]) -> Any:
    """A plain value in which `held` has replaced each file that is there as base64. `dumped` is its JSON."""
    return _with_files(value, held) if _BASE64_IN_JSON.search(dumped) else value


def _with_files(value: Any, held: Callable[[File], Any]) -> Any:
    match value:
        case dict():
            return {key: _with_files(part, held) for key, part in value.items()}
        case list():
            return [_with_files(part, held) for part in value]
        case str() if _BASE64_FILE.fullmatch(value):
            try:
                content = base64.b64decode(value.rpartition(",")[2], validate=True)
            except binascii.Error:
                return value
            return held(File(content)) if kind_of(content) != "application/octet-stream" else value
    return value


def shortened(printed: str) -> str:
    """Printed text in which long runs of bytes and base64 are cut."""
    return _UNREADABLE.sub(
        lambda found: f"{found[0][:_SHOWN_CHARS]}… ({len(found[0]) - _SHOWN_CHARS} more characters)", printed
    )
