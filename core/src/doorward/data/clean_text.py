"""Texts of strangers as people and models may read them: with nothing in them that cannot be seen, or that turns around
what can."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from doorward.data.json_writing import dump
from doorward.model.types import Compiled, Function, Skipped, Suggestion

_ESCAPE = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b\n]*(?:\x07|\x1b\\)?|[@-_])")
"""What a terminal takes for a command (ECMA-48)."""

_UNSEEN = (
    # none, or private
    "\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ue000-\uf8ff\ufdd0-\ufdef\ufff0-\ufffb\ufffe\uffff\U000e0000-\U0010ffff"
    # format
    "\xad\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U00013430-\U0001345f"
    "\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\ufe00-\ufe0f\uffa0\u2800"  # letters and marks without a shape
)
_HIDDEN = re.compile(f"[{_UNSEEN}]")
_ODD = re.compile(f"[{_UNSEEN}\t\r\u2028\u2029]")
_ESCAPED = re.compile(rb"\\(?:u00|[bfrt])|\x7f")
"""How JSON may write such a character in ASCII."""

_BREAKS = re.compile("\r\n|[\u2028\u2029]")
_BLANKS = re.compile("[\t\r]")
_TEXT_KEYWORDS = ("description", "title", "$comment")
"""Keywords of a schema that hold a text, where they do."""

_SCHEMAS_BY_NAME_KEYWORDS = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas")
"""Those that hold schemas by names, which may be such as the keywords'."""

_TEXT_FIELDS = ("name", "id", "summary", "description", "route")
_TEXT_LIST_FIELDS = ("tags", "headers", "aliases")
"""Fields of a function that hold a text, or texts."""

_MAX_VALUES_CHARACTERS = 500
"""Characters of values that are told in a description."""

_VALUE_KEYWORDS = ("enum", "const", "default", "example", "examples", "dependentRequired")
"""Those that hold values, which are to be sent as they are."""


def clean_text(text: str) -> str:
    """A text without commands to terminals, control characters, direction marks, tags, selectors, and whatever else has
    no shape; line breaks stay, tabs and returns become blanks."""
    if not _ODD.search(text):
        return text
    return _HIDDEN.sub("", _BLANKS.sub(" ", _BREAKS.sub("\n", _ESCAPE.sub("", text))))


def visible(text: str) -> str:
    """A value as it is shown in our own words: what cannot be seen, or turns the rest around, by its escape."""
    return _ODD.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def clean_schema(schema: Any) -> Any:
    """A schema whose texts are clean. Names and values stay: they are what is sent."""
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
    """A schema as a client may show it. Values that cannot be seen, or turn others around, stand in the description
    instead, escaped; they may be sent as ever. Members with such names are left out."""
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
    """Whether a keyword holds a value, or values, rather than schemas."""
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
    """What a source made of its server, all texts clean, whichever source it was."""
    return replace(
        compiled,
        functions=[_clean_function(function) for function in compiled.functions],
        definitions={name: _clean(schema) for name, schema in compiled.definitions.items()},
        skipped=[Skipped(clean_text(each.where), clean_text(each.why)) for each in compiled.skipped],
        warnings=[clean_text(warning) for warning in compiled.warnings],
        description=clean_text(compiled.description),
        auth=[_clean_suggestion(suggestion) for suggestion in compiled.auth],
    )


def _clean_suggestion(suggestion: Suggestion) -> Suggestion:
    return replace(
        suggestion, says=clean_text(suggestion.says), elsewhere=[clean_text(url) for url in suggestion.elsewhere]
    )


def _clean_function(function: Function) -> Function:
    texts = [getattr(function, field) for field in _TEXT_FIELDS] + [
        text for field in _TEXT_LIST_FIELDS for text in getattr(function, field)
    ]
    parameters, returns = _clean(function.parameters), _clean(function.returns)
    if parameters is function.parameters and returns is function.returns and not any(map(_ODD.search, texts)):
        return function
    clean: dict[str, Any] = {field: clean_text(getattr(function, field)) for field in _TEXT_FIELDS}
    clean |= {field: tuple(map(clean_text, getattr(function, field))) for field in _TEXT_LIST_FIELDS}
    return replace(function, parameters=parameters, returns=returns, **clean)


def _clean(schema: Any) -> Any:
    """The same schema if there is nothing to clean; any value may be had of one that is nested too deeply to be looked
    at."""
    try:
        return clean_schema(schema) if _is_odd(schema) else schema
    except RecursionError:
        return {}


def _is_odd(schema: Any) -> bool:
    """Whether there is anything to clean in a schema, found as fast as most need it: they are ASCII."""
    try:
        text = dump(schema)
    except ValueError:
        return True
    return _ESCAPED.search(text) is not None or (not text.isascii() and _ODD.search(text.decode()) is not None)
