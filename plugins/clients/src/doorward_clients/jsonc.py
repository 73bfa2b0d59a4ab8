"""JSON with comments and trailing commas. It is read, and changed in place, so that all else stays as it was.

The text is first made plain JSON of the same length. Then the standard library says where every value begins and ends.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any, NamedTuple

_COMMENT = r"//[^\n]*+|/\*(?:[^*]|\*(?!/))*+(?:\*/)?"
"""An unclosed comment reaches to the end, so that every text takes only one pass. The parser then reports the error."""
_TOKEN = re.compile(rf'"(?:\\.|[^"\\\n])*+"|{_COMMENT}|,(?=(?:[ \t\r\n]|{_COMMENT})*+[\]}}])')
_SPACE = re.compile(r"[ \t\r\n]*+")
_DECODER = json.JSONDecoder()


class _Member(NamedTuple):
    """A member of an object: its key, and the offsets of the key, of the value, and of the end."""

    key: str
    at: int
    value: int
    end: int


def loads(text: str) -> Any:
    """The value of a text; an empty object if it has nothing but comments.

    Raises: ValueError, with line and column.
    """
    bare = _bare(text)
    try:
        return json.loads(bare) if bare.strip() else {}
    except RecursionError:
        raise ValueError("nested too deeply") from None


def put(text: str, keys: Sequence[str], value: Any) -> str:
    """The text with this value under these keys. Missing objects on the way are added.

    Raises: ValueError if the text is no JSON, or if something on the way is no object.
    """
    bare = _checked(text)
    if not bare.strip():
        head = text.rstrip() + _newline(text) if text.strip() else ""
        return head + _dumps(text, _nested(keys, value), "") + _newline(text)
    at = _skip(bare, 0)
    member = None
    for depth, key in enumerate(keys):
        members, close = _members(bare, at)
        member = next((member for member in reversed(members) if member.key == key), None)
        if member is None:
            return _insert(text, at, members, close, key, _nested(keys[depth + 1 :], value))
        at = member.value
    assert member is not None
    return text[: member.value] + _dumps(text, value, _indent(text, member.at)) + text[member.end :]


def remove(text: str, keys: Sequence[str]) -> str:
    """The text without the value under these keys; the same text if there is none.

    Raises: ValueError, as `put` does.
    """
    bare = _checked(text)
    if not bare.strip():
        return text
    at = _skip(bare, 0)
    for depth, key in enumerate(keys):
        members, close = _members(bare, at)
        number = next((number for number, member in enumerate(members) if member.key == key), None)
        if number is None:
            return text
        if depth == len(keys) - 1:
            return remove(_without(text, bare, members, close, number), keys)  # and again: the key may be there twice
        at = members[number].value
    return text


def _checked(text: str) -> str:
    """The text as plain JSON. Raises: ValueError if it is none."""
    loads(text)
    return _bare(text)


def _bare(text: str) -> str:
    """Plain JSON of the same length, with blanks in place of comments, trailing commas and a byte-order mark."""
    bare = _TOKEN.sub(_blank, text)
    return f" {bare[1:]}" if bare.startswith("\ufeff") else bare


def _blank(found: re.Match[str]) -> str:
    token = found[0]
    unclosed = token.startswith("/*") and (len(token) < 4 or not token.endswith("*/"))
    return token if token[0] == '"' or unclosed else re.sub(r"[^\r\n]", " ", token)


def _skip(bare: str, at: int) -> int:
    found = _SPACE.match(bare, at)
    assert found is not None
    return found.end()


def _members(bare: str, at: int) -> tuple[list[_Member], int]:
    """The members of the object that begins here, and the offset of its closing brace. The text is valid JSON.

    Raises: ValueError if something else begins here.
    """
    if bare[at] != "{":
        raise ValueError("holds something else where an object should be")
    found = []
    at = _skip(bare, at + 1)
    while bare[at] != "}":
        key, end = _DECODER.raw_decode(bare, at)
        value = _skip(bare, _skip(bare, end) + 1)
        _, end = _DECODER.raw_decode(bare, value)
        found.append(_Member(key, at, value, end))
        at = _skip(bare, end)
        if bare[at] == ",":
            at = _skip(bare, at + 1)
    return found, at


def _insert(text: str, at: int, members: list[_Member], close: int, key: str, value: Any) -> str:
    """The text with one more member at the end of an object, written in the style of its neighbours."""
    if members and "\n" not in text[at : members[0].at]:  # all on one line
        end = members[-1].end
        return (
            f"{text[:end]}, {json.dumps(key, ensure_ascii=False)}: {json.dumps(value, ensure_ascii=False)}{text[end:]}"
        )
    line, outer = _newline(text), _indent(text, at)
    pad = _indent(text, members[0].at) if members else outer + _unit(text)
    member = f"{line}{pad}{json.dumps(key, ensure_ascii=False)}: {_dumps(text, value, pad)}"
    end = members[-1].end if members else at + 1
    tail = text[end:close]  # blanks, comments, perhaps a comma
    kept = tail.rstrip()
    ended = bool(members) and _last_comma(text, end, close) is not None
    before, after = ("", ",") if ended else ("," if members else "", "")
    return f"{text[:end]}{before}{kept}{member}{after}{(members and tail[len(kept) :]) or line + outer}{text[close:]}"


def _without(text: str, bare: str, members: list[_Member], close: int, number: int) -> str:
    """The text without one member and its comma, and without a line that it leaves empty. Comments stay."""
    start, end = members[number].at, members[number].end
    comma: int | None = _skip(bare, end)
    if comma == close:
        comma = _last_comma(text, end, close)
        if comma is None and number:
            comma = _skip(bare, members[number - 1].end)
    cuts = [(start, end), *([(comma, comma + 1)] if comma is not None else [])]
    for first, last in sorted(cuts, reverse=True):
        text = text[:first] + text[last:]
    start -= comma is not None and comma < start
    line, stop = text.rfind("\n", 0, start) + 1, text.find("\n", start) + 1
    return text[:line] + text[stop:] if line and stop and not text[line:stop].strip() else text


def _last_comma(text: str, end: int, close: int) -> int | None:
    """The offset of a comma between the last member and the end of an object."""
    return next((found.start() for found in _TOKEN.finditer(text, end, close + 1) if found[0] == ","), None)


def _nested(keys: Sequence[str], value: Any) -> Any:
    for key in reversed(keys):
        value = {key: value}
    return value


def _dumps(text: str, value: Any, pad: str) -> str:
    return json.dumps(value, indent=_unit(text), ensure_ascii=False).replace("\n", _newline(text) + pad)


def _indent(text: str, at: int) -> str:
    """The blanks at the beginning of the line of this offset."""
    line = text.rfind("\n", 0, at) + 1
    return re.match(r"[ \t]*", text[line:at])[0]  # type: ignore[index]


def _unit(text: str) -> str:
    """One level of indentation in this text."""
    found = re.search(r'\n([ \t]+)"', text)
    return found[1] if found else "  "


def _newline(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"
