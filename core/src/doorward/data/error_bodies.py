"""What the body of an error says, whatever its shape: the words that its author meant for a reader, else the body
itself.

No text is cut here: that is done when credentials have been removed, for one that is cut in two would not be found.
"""

from __future__ import annotations

import contextlib
import json
import re
from html import unescape
from itertools import islice
from typing import Any

from doorward.data.clean_text import clean_text
from doorward.data.json_reading import read_json
from doorward.data.quoting import quoted

_WORDS = re.compile(
    r"message|msg|detail|reason|error|exception|(?<!de)fault|violation|invalid|fail|explanation|extensions",
    re.IGNORECASE,
)
_ALSO = re.compile(r"title|descri|issue|problem", re.IGNORECASE)
"""Words in the names of members that hold a text for a reader. The latter are names of fields, too."""
_OTHER = re.compile(
    r"(code|ids?|ur[il]|href|link|types?|status|class|count|time|stamp|number|stack|trace|version|documentation)$",
    re.IGNORECASE,
)
"""How names end of members that hold none, whatever they begin with."""
_FIRST = (re.compile("title", re.IGNORECASE), re.compile("message|msg", re.IGNORECASE))
"""What is told before the rest."""
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
"""Characters of a text that is read as JSON or markup; more is shown as it is."""

_PIECE = re.compile(r"<!--|-->|<[^<>]*>|[^<>-]+|[<>-]")
"""No repetition that can fail late: the time is that of the length."""
_TAG = re.compile(r"</?(?:[\w.-]*:)?([\w.-]+)")
_CDATA = re.compile(r"<!\[CDATA\[|\]\]>")
_UNREAD = ("script", "style", "svg")


def error_text(body: Any) -> str:
    """What the body of an error says, on one line, as it may stand within a message; "" if there is nothing in it."""
    if (
        isinstance(body, str) and len(body) > _MAX_TEXT_CHARACTERS
    ):  # and perhaps cut: what gets shorter could show half a credential
        text = clean_text(body)
        return quoted(text) if len(text) > _MAX_TEXT_CHARACTERS // 2 else ""
    if said := _said(body, 0):
        return quoted(said)
    with contextlib.suppress(RecursionError):
        return _line(json.dumps(body, ensure_ascii=False)) if body and not isinstance(body, str) else ""
    return ""


def _said(value: Any, depth: int, *, within: bool = False) -> str:
    """`within`: that all of it is about the error, whatever it is called."""
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
    if not texts and (within or all(isinstance(value, list) for value in members.values())):  # the members are fields
        return "; ".join(
            f"{_line(name)}: {said}" for name, value in members.items() if (said := _said(value, depth, within=within))
        )
    texts += [name for name in members if _ALSO.search(name) and not _OTHER.search(name)]
    parts: list[str] = []
    for name in sorted(texts, key=_rank):
        said = _said(members[name], depth, within=name != "extensions")
        if said and not any(said in part for part in parts):
            parts.append(said)
    if not parts:  # it may be wrapped
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
    """What an error is about, if it says so."""
    source = members.get("source")
    for name in _PLACES:
        value = members.get(name) or (source.get(name) if isinstance(source, dict) else None)
        if isinstance(value, list) and value and all(isinstance(part, (str, int)) for part in value):
            return _line(".".join(map(str, value)))
        if isinstance(value, str) and name != "path" and (place := _line(value)):  # the path of a request, mostly
            return place
    return ""


def _of_text(text: str, depth: int) -> str:
    start = text.lstrip()[:1]
    if start in ("{", "[") and len(text) <= _MAX_TEXT_CHARACTERS:
        with contextlib.suppress(ValueError):
            return _said(read_json(text), depth + 1) or _line(text)
    return (_of_markup(text) if start == "<" and len(text) <= _MAX_TEXT_CHARACTERS else "") or _line(text)


def _of_markup(text: str) -> str:
    """The text of HTML, its title first; of XML that of the elements that are named for it, or else all."""
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
    if len(texts) == 1:  # nothing but a "<"
        return ""
    said = [(tag, line) for tag, pieces in texts if (line := _line(unescape("".join(pieces))))]
    named = dict.fromkeys(line for tag, line in said if _WORDS.search(tag) and not _OTHER.search(tag))
    title = next((line for tag, line in said if tag == "title"), "")
    return ": ".join(named or filter(None, [title, " ".join(dict.fromkeys(line for _, line in said if line != title))]))


def _line(text: str) -> str:
    return " ".join(clean_text(text).split())
