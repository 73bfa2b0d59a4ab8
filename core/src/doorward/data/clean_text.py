"""Makes untrusted text safe to read: removes characters that are invisible or that change the direction of text."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from doorward.data.json_writing import in_one_piece
from doorward.model.functions import Compiled, Function, Skipped, Suggestion

_ESCAPE = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b\n]*(?:\x07|\x1b\\)?|[@-_])")
"""Commands to a terminal (ECMA-48)."""

_UNSEEN = (
    # controls, surrogates, no characters, private use
    "\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ue000-\uf8ff\ufdd0-\ufdef\ufff0-\ufffb\ufffe\uffff\U000e0000-\U0010ffff"
    # format
    "\xad\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U00013430-\U0001345f"
    "\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\ufe00-\ufe0f\uffa0\u2800"  # letters and marks without a shape
)
_HIDDEN = re.compile(f"[{_UNSEEN}]")
_ODD = re.compile(f"[{_UNSEEN}\t\r\u2028\u2029]")
_ESCAPED = re.compile(rb"\\(?:u00|[bfrt])|\x7f")
"""How such a character may look in ASCII JSON."""

_ASCII = bytes(range(128))
_BREAKS = re.compile("\r\n|[\u2028\u2029]")
_BLANKS = re.compile("[\t\r]")
_TEXT_KEYWORDS = ("description", "title", "$comment")
"""Keywords of a schema whose value is a text (if it is a string)."""

_SCHEMAS_BY_NAME_KEYWORDS = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas")
"""Keywords that hold schemas by name. The names may look like keywords."""

_TEXT_FIELDS = ("name", "id", "summary", "description", "route")
_TEXT_LIST_FIELDS = ("tags", "headers", "aliases")
"""The fields of a function that hold one text, and those that hold several."""

_MAX_VALUES_CHARACTERS = 500
"""Characters of escaped values that are added to a description."""

_VALUE_KEYWORDS = ("enum", "const", "default", "example", "examples", "dependentRequired")
"""Keywords that hold values, which must be sent unchanged."""


def clean_text(text: str) -> str:
    """A text without terminal commands, control characters, direction marks, tags, variation selectors and other
    invisible characters. Line breaks stay; tabs and carriage returns become spaces."""
    if not _is_odd_text(text):
        return text
    return _HIDDEN.sub("", _BLANKS.sub(" ", _BREAKS.sub("\n", _ESCAPE.sub("", text))))


def visible(text: str) -> str:
    """A value for our own messages: invisible characters and direction marks are written as escapes."""
    return _ODD.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def clean_schema(schema: Any) -> Any:
    """A schema with clean texts. Names and values stay, because they are sent to the upstream."""
    match schema:
        case Mapping():
            return {key: _clean_part(key, value) for key, value in schema.items()}
        case list() | tuple():
            return [clean_schema(part) for part in schema]
    return schema


def _clean_part(key: str, value: Any) -> Any:
    if key in _TEXT_KEYWORDS and isinstance(value, str):
        return clean_text(value)
    if key in _SCHEMAS_BY_NAME_KEYWORDS and isinstance(value, Mapping):
        return {name: clean_schema(part) for name, part in value.items()}
    return value if key in _VALUE_KEYWORDS else clean_schema(value)


def shown_schema(schema: Any) -> Any:
    """A schema that a client may show. Values with invisible characters or direction marks are moved to the
    description, escaped; they may still be sent. Members with such names are left out."""
    match schema:
        case Mapping():
            plain = {key: value for key, value in schema.items() if not _ODD.search(str(key))}
            odd = {key: value for key, value in plain.items() if _is_value(key, value) and _is_odd(value)}
            shown = {key: _shown_part(key, value) for key, value in plain.items() if key not in odd}
            if any(_is_odd(name) for name in schema.get("properties", ())):
                shown.pop("additionalProperties", None)
            if odd:
                said = json.dumps(odd)[1:-1].replace("\x7f", r"\u007f")
                shown["description"] = clean_text(
                    f"{schema.get('description', '')} ({said[:_MAX_VALUES_CHARACTERS]})"
                ).strip()
            return shown
        case list() | tuple():
            return [shown_schema(part) for part in schema]
        case str():
            return clean_text(schema)
    return schema


def _is_value(key: str, value: Any) -> bool:
    """Whether a keyword holds values rather than schemas."""
    inner = value if isinstance(value, (list, tuple)) else (value,)
    return key in _VALUE_KEYWORDS or (
        key not in ("required", *_TEXT_KEYWORDS) and not any(isinstance(part, (Mapping, list, tuple)) for part in inner)
    )


def _shown_part(key: str, value: Any) -> Any:
    if key in _SCHEMAS_BY_NAME_KEYWORDS and isinstance(value, Mapping):
        return {name: shown_schema(part) for name, part in value.items() if not _is_odd(name)}
    if key == "required" and isinstance(value, (list, tuple)):
        return [name for name in value if not _is_odd(name)]
    return value if key in _VALUE_KEYWORDS else shown_schema(value)


def clean_compile(compiled: Compiled) -> Compiled:
    """The result of a compile with clean texts, whichever source it comes from. For threads."""
    seen = _Seen()
    return replace(
        compiled,
        functions=[_clean_function(function, seen) for function in compiled.functions],
        definitions={name: _clean(schema, seen) for name, schema in compiled.definitions.items()},
        skipped=[Skipped(clean_text(each.where), clean_text(each.why)) for each in compiled.skipped],
        warnings=[clean_text(warning) for warning in compiled.warnings],
        description=clean_text(compiled.description),
        auth=[_clean_suggestion(suggestion) for suggestion in compiled.auth],
    )


def _clean_suggestion(suggestion: Suggestion) -> Suggestion:
    return replace(
        suggestion, says=clean_text(suggestion.says), elsewhere=[clean_text(url) for url in suggestion.elsewhere]
    )


class _Seen:
    """Which schemas have anything to clean. Functions share the schemas of their parameters: each is looked at once."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[Any, bool]] = {}

    def is_odd(self, schema: Any) -> bool:
        if schema is None:
            return False
        if type(schema) is not dict or type(properties := schema.get("properties")) is not dict:
            return _is_odd(schema)
        return any(map(self._is_odd_part, properties.values())) or _is_odd({**schema, "properties": None})

    def _is_odd_part(self, part: Any) -> bool:
        known = self._known.get(id(part))
        if known is None:
            known = self._known[id(part)] = part, _is_odd(part)  # keeping the part prevents its id from being reused
        return known[1]


def _clean_function(function: Function, seen: _Seen) -> Function:
    texts = "".join([getattr(function, field) for field in _TEXT_FIELDS])
    texts += "".join([text for field in _TEXT_LIST_FIELDS for text in getattr(function, field)])
    parameters, returns = _clean(function.parameters, seen), _clean(function.returns, seen)
    if parameters is function.parameters and returns is function.returns and not _is_odd_text(texts):
        return function
    clean: dict[str, Any] = {field: clean_text(getattr(function, field)) for field in _TEXT_FIELDS}
    clean |= {field: tuple(map(clean_text, getattr(function, field))) for field in _TEXT_LIST_FIELDS}
    return replace(function, parameters=parameters, returns=returns, **clean)


def _clean(schema: Any, seen: _Seen) -> Any:
    """A clean schema; the same object if there is nothing to clean. One that is nested too deeply becomes the schema
    that allows any value."""
    try:
        return clean_schema(schema) if seen.is_odd(schema) else schema
    except RecursionError:
        return {}


def _is_odd(schema: Any) -> bool:
    """Whether a schema has anything to clean. Fast for most schemas, because they are ASCII."""
    try:
        text = in_one_piece(schema)
    except ValueError:
        return True
    if (b"\\" in text or b"\x7f" in text) and _ESCAPED.search(text):
        return True
    # Of a long text only what is not ASCII is looked at.
    return not text.isascii() and _ODD.search(text.translate(None, _ASCII).decode()) is not None


def _is_odd_text(text: str) -> bool:
    """Whether a text has anything to clean. Nearly all texts are ASCII without controls but line breaks."""
    return not (text.isascii() and text.replace("\n", "").isprintable()) and _ODD.search(text) is not None
