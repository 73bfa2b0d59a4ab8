"""The value that a call gives to a program. One rule, and no guessing:

1. `isError` raises `ToolError`, which quotes the text. 2. `structuredContent` if it is given; without its wrapper where
the tool's output schema is an object with one property that only wraps the value (`functions.WRAPPERS`); where there is
no output schema and it only repeats the text, it is that text. 3. Else each content block is a value: a text that is a
JSON object or array is that, another text is itself; images, audio and blobs are files; an embedded text is its text,
read alike; a link is an object with its URI. One block is its value, several are a list, none is `None`.

A program that was written for another system may get the text of an answer as it is (`Call.wants_text`).
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from doorward import File, LimitExceeded, ToolError
from doorward.values import if_repeated, quoted
from doorward_http import error_text
from doorward_json import read_json

from doorward_mcp_upstream.tools.text import line, prose
from doorward_mcp_upstream.tools.values import MAX_VALUES, too_many

MAX_BLOCKS = 10_000
_PIECE_CHARACTERS = 2**16
_MAX_ERROR_CHARACTERS = 2**16
"""Characters of a tool's error that are kept. Far more than is shown: the core removes credentials, then cuts."""


def of_tool(
    result: Mapping[str, Any],
    *,
    wrapped: str = "",
    declared: bool = False,
    wants_text: Callable[[Any, str, bool], bool] = if_repeated,
) -> Any:
    """The value of a result of `tools/call`, as on the wire. `declared`: the tool has an output schema, by which the
    property `wrapped` only wraps the value; `wants_text` is the rule of the call.

    Raises: ToolError; LimitExceeded for JSON of too many values.
    """
    if result.get("isError") is True:
        said = quoted(texts) if (texts := _texts(result)) else error_text(result.get("structuredContent"))
        raise ToolError(f"the tool says: {said}" if said else "it failed")
    value = _value(result, wrapped)
    match result.get("content"):
        case [{"type": "text", "text": str(text)}] if value != text and wants_text(value, text, declared):
            return text
    return value


def _value(result: Mapping[str, Any], wrapped: str) -> Any:
    structured, blocks = result.get("structuredContent"), _list(result.get("content"))
    if structured is None:
        if len(blocks) > MAX_BLOCKS:
            raise LimitExceeded(
                f"the answer has {len(blocks)} blocks, more than {MAX_BLOCKS}", hint="Ask for less: pages, filters."
            )
        return _one([of_block(block) for block in blocks])
    if wrapped and isinstance(structured, Mapping) and list(structured) == [wrapped]:
        return structured[wrapped]
    return structured


def of_resource(result: Mapping[str, Any]) -> Any:
    """The value of a result of `resources/read`: one content, a list of several, or `None`."""
    return _one([_content(content) for content in _list(result.get("contents"))])


def of_prompt(result: Mapping[str, Any]) -> dict[str, Any]:
    """The value of a result of `prompts/get`: `{"description", "messages": [{"role", "content"}]}`. Texts in it are
    prompts, and never parsed."""
    messages = [message for message in _list(result.get("messages")) if isinstance(message, Mapping)]
    return {
        "description": line(result.get("description"), 2000),
        "messages": [{"role": line(m.get("role"), 50), "content": _said(m.get("content"))} for m in messages],
    }


def of_block(block: Any) -> Any:
    """The value of one content block. A block of an unknown type is itself."""
    match block:
        case {"type": "text", "text": str(text)}:
            return _parsed(text)
        case {"type": "image" | "audio", "data": str(data)}:
            return _file(data, block.get("mimeType"))
        case {"type": "resource", "resource": Mapping() as resource}:
            return _content(resource)
        case {"type": "resource_link", "uri": str()}:
            return {key: value for key, value in block.items() if key not in ("type", "_meta", "annotations", "icons")}
    return block


def _content(content: Any) -> Any:
    """The value of a resource: its text, or its bytes, named by the last part of its URI."""
    match content:
        case {"text": str(text)}:
            return _parsed(text)
        case {"blob": str(data)}:
            uri = content.get("uri")
            return _file(
                data, content.get("mimeType"), uri.partition("?")[0].rpartition("/")[2] if isinstance(uri, str) else ""
            )
    return content


def _said(content: Any) -> Any:
    if isinstance(content, list):  # some servers sent lists before 2025-03-26
        return [_said(part) for part in content]
    match content:
        case {"type": "text", "text": str(text)}:
            return text
        case {"type": "resource", "resource": {"text": str(text)}}:
            return text
    return of_block(content)


def _parsed(text: str) -> Any:
    """The JSON object or array in a text; else the text itself. Numbers and `true` stay texts."""
    if text.lstrip()[:1] not in ("{", "["):
        return text
    if too_many(text):
        raise LimitExceeded(
            f"a text of the answer is JSON of more than {MAX_VALUES:,} values", hint="Ask for less: pages, filters."
        )
    try:
        return read_json(text, constant=_no_constant)
    except ValueError:
        return text


def _no_constant(name: str) -> Any:
    raise ValueError(name)  # NaN and the like are no JSON


def _file(data: str, type: Any, name: str = "") -> File | str:
    """The bytes of base64 text as a file; other text is itself."""
    try:
        content = b"".join(_bytes(data))
    except (binascii.Error, ValueError):
        return data
    return File(content, line(type, 100), name)


def _bytes(data: str) -> Iterator[bytes]:
    """The bytes of base64 text, piece by piece. Raises: ValueError, binascii.Error."""
    rest = ""
    for start in range(0, len(data), _PIECE_CHARACTERS):
        part = rest + "".join(data[start : start + _PIECE_CHARACTERS].split())
        last = start + _PIECE_CHARACTERS >= len(data)
        whole = len(part) if last else len(part) // 4 * 4
        rest = part[whole:]
        if not last and "=" in part[:whole]:
            raise ValueError
        yield base64.b64decode(part[:whole], validate=True)


def weight(result: Mapping[str, Any]) -> int:
    """About how many characters must be processed to get the value of a result."""
    blocks = [*_list(result.get("content")), *_list(result.get("contents"))][: MAX_BLOCKS + 1]
    parts = [
        part
        for block in blocks
        if isinstance(block, Mapping)
        for part in (block, block.get("resource"))
        if isinstance(part, Mapping)
    ]
    return sum(
        len(text) for part in parts for key in ("text", "data", "blob") if isinstance(text := part.get(key), str)
    )


def _texts(result: Mapping[str, Any]) -> str:
    texts = [
        block["text"]
        for block in _list(result.get("content"))
        if isinstance(block, Mapping) and isinstance(block.get("text"), str)
    ]
    return prose("\n".join(texts), _MAX_ERROR_CHARACTERS)


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _one(values: list[Any]) -> Any:
    return values[0] if len(values) == 1 else values or None
