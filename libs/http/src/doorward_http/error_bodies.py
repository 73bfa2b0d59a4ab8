"""The message in the body of an error, whatever its shape: the words that are meant for a reader, else the whole body.

No text is cut here. That is done after credentials have been removed, because half a credential would not be found.
"""

from __future__ import annotations

import contextlib
import json
import re
from html import unescape
from itertools import islice
from typing import Any

from doorward.values import clean_text, quoted
from doorward_json import read_json

_WORDS = re.compile(
    r"message|msg|detail|reason|error|exception|(?<!de)fault|violation|invalid|fail|explanation|extensions",
    re.IGNORECASE,
)
_ALSO = re.compile(r"title|descri|issue|problem", re.IGNORECASE)
"""Words in the names of members that hold a text for a reader. Those of `_ALSO` may also be names of fields."""
_OTHER = re.compile(
    r"(code|ids?|ur[il]|href|link|types?|status|class|count|time|stamp|number|stack|trace|version|documentation)$",
    re.IGNORECASE,
)
"""Ends of the names of members that hold no such text, however the names begin."""
_FIRST = (re.compile("title", re.IGNORECASE), re.compile("message|msg", re.IGNORECASE))
"""Members that come first in the message."""
_PLACES = (
    "loc",
    "pointer",
    "instancePath",
    "field",
    "path",
    "param",
    "parameter",
    "property",
    "location",
    "target",
    "name",
)
"""Members that say what an error is about (FastAPI, RFC 9457, JSON:API, GraphQL, Google, OData …)."""

_MAX_DEPTH = 8
_MAX_PARTS = 3
_MAX_LIST_ITEMS = 5
_MAX_MEMBERS = 200
_MAX_TEXT_CHARACTERS = 100_000
"""A longer text is not read as JSON or markup, but shown unchanged."""

_PIECE = re.compile(r"<!--|-->|<[^<>]*>|[^<>-]+|[<>-]")
"""Each repetition matches without backtracking, so the time is linear."""
_TAG = re.compile(r"</?(?:[\w.-]*:)?([\w.-]+)")
_CDATA = re.compile(r"<!\[CDATA\[|\]\]>")
_UNREAD = ("script", "style", "svg")


def error_text(body: Any) -> str:
    """The message of an error's body, on one line, to be put into a message of ours; "" if there is none."""
    if isinstance(body, str) and len(body) > _MAX_TEXT_CHARACTERS:
        # The body may have been cut already. A text that becomes shorter here could show half a credential.
        text = clean_text(body)
        return quoted(text) if len(text) > _MAX_TEXT_CHARACTERS // 2 else ""
    if said := _said(body, 0):
        return quoted(said)
    with contextlib.suppress(RecursionError):
        return _line(json.dumps(body, ensure_ascii=False)) if body and not isinstance(body, str) else ""
    return ""


def _said(value: Any, depth: int, *, within: bool = False) -> str:
    """`within`: all members are about the error, whatever their names."""
    if depth > _MAX_DEPTH:
        return ""
    match value:
        case str():
            return _of_text(value, depth)
        case list():
            said = list(filter(None, (_said(one, depth + 1, within=within) for one in value[:_MAX_LIST_ITEMS])))
            more = [f"and {len(value) - _MAX_LIST_ITEMS} more"] if said and len(value) > _MAX_LIST_ITEMS else []
            return "; ".join(said + more)
        case dict():
            return _of_object(dict(islice(value.items(), _MAX_MEMBERS)), depth + 1, within=within)
    return ""


def _of_object(members: dict[str, Any], depth: int, *, within: bool) -> str:
    texts = [name for name in members if _WORDS.search(name) and not _OTHER.search(name)]
    if not texts and (
        within or all(isinstance(value, list) for value in members.values())
    ):  # the members are named after fields
        return "; ".join(
            f"{_line(name)}: {said}" for name, value in members.items() if (said := _said(value, depth, within=within))
        )
    texts += [name for name in members if _ALSO.search(name) and not _OTHER.search(name)]
    parts: list[str] = []
    for name in sorted(texts, key=_rank):
        said = _said(members[name], depth, within=name != "extensions")
        if said and not any(said in part for part in parts):
            parts.append(said)
    if not parts:  # the error may be wrapped in another object
        inner = (
            _said(value, depth)
            for name, value in members.items()
            if isinstance(value, (dict, list)) and name not in texts
        )
        return next(filter(None, inner), "")
    place = _place(members)
    if place and place not in parts[0]:
        parts[0] = f"{place}: {parts[0]}"
    parts = parts[:_MAX_PARTS]
    return ": ".join([*(part.rstrip(".:") for part in parts[:-1]), parts[-1]])


def _rank(name: str) -> int:
    return next((rank for rank, first in enumerate(_FIRST) if first.search(name)), len(_FIRST))


def _place(members: dict[str, Any]) -> str:
    """The place that an error is about, if it says so."""
    source = members.get("source")
    for name in _PLACES:
        value = members.get(name) or (source.get(name) if isinstance(source, dict) else None)
        if isinstance(value, list) and value and all(isinstance(part, (str, int)) for part in value):
            return _line(".".join(map(str, value)))
        if (
            isinstance(value, str) and name != "path" and (place := _line(value))
        ):  # `path` is mostly the path of the request
            return place
    return ""


def _of_text(text: str, depth: int) -> str:
    start = text.lstrip()[:1]
    if start in ("{", "[") and len(text) <= _MAX_TEXT_CHARACTERS:
        with contextlib.suppress(ValueError):
            return _said(read_json(text), depth + 1) or _line(text)
    return (_of_markup(text) if start == "<" and len(text) <= _MAX_TEXT_CHARACTERS else "") or _line(text)


def _of_markup(text: str) -> str:
    """The text of HTML, title first; of XML, the text of elements whose names promise a message, else all text."""
    texts: list[tuple[str, list[str]]] = [("", [])]
    until = ""
    for piece in _PIECE.findall(_CDATA.sub("", text)):
        tag = _TAG.match(piece)
        if until:
            until = "" if piece == until or (tag and tag[0].lower() == until) else until
        elif piece == "<!--":
            until = "-->"
        elif tag:
            texts.append(("" if piece[1] == "/" else tag[1].lower(), []))
            until = f"</{tag[1]}".lower() if texts[-1][0] in _UNREAD and not piece.endswith("/>") else ""
        elif not piece.startswith(("<!", "<?")):
            texts[-1][1].append(piece)
    if len(texts) == 1:  # there is no tag
        return ""
    said = [(tag, line) for tag, pieces in texts if (line := _line(unescape("".join(pieces))))]
    named = dict.fromkeys(line for tag, line in said if _WORDS.search(tag) and not _OTHER.search(tag))
    title = next((line for tag, line in said if tag == "title"), "")
    return ": ".join(named or filter(None, [title, " ".join(dict.fromkeys(line for _, line in said if line != title))]))


def _line(text: str) -> str:
    return " ".join(clean_text(text).split())
