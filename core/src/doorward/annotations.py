"""JSON Schema → Python annotations and TypedDicts: text for an agent to read, never code for the host to run.

A schema is hostile input. Whatever stands in it, the text is valid Python of bounded size: every class takes up
room, and where that or the reader's fuel ends stands `Any` or `dict[str, Any]`.
"""

from __future__ import annotations

import json
import re
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any

from doorward.names import class_name, is_plain
from doorward.schemas import NESTING, Reader, kinds, listed, strings, table, variants
from doorward.types import Schema

_KEY = 100
_VALUES = 20
_SCALARS = {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "null": "None"}
_SELF_EVIDENT = {"uri", "url", "int32", "int64", "float", "double", "password", "string"}
_WORDS = {"Any", "Literal", "Mapping", "None", "Required", "Sequence", "TypedDict", "bool", "bytes", "dict", "float", "int", "list", "str"}


def clean(text: Any, limit: int) -> str:
    """One printable line of at most `limit` characters, cut after a sentence or else a word."""
    if not isinstance(text, str):
        return ""
    line = " ".join("".join(c if c.isprintable() else " " for c in text[: 4 * limit]).split())
    if len(line) <= limit:
        return line
    sentence = line.rfind(". ", limit // 3, limit)
    return line[: sentence + 1] if sentence > 0 else f"{line[: limit - 1].rsplit(' ', 1)[0]}…"[:limit]


def commented(code: str, about: str, note: str) -> str:
    """A line of code with what is to be said of it."""
    comment = f"{about} ({note})" if about and note else about or note
    return f"{code}  # {comment}" if comment else code


def literal(value: Any, limit: int = 60, nesting: int = 4) -> str | None:
    """A JSON value as Python writes it; `None` if that would be longer than `limit`."""
    text: str | None = None
    match value:
        case None | bool():
            text = str(value)
        case str() if len(value) <= limit:
            quoted = json.dumps(value, ensure_ascii=False)
            text = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in quoted)
        case int() if value.bit_length() <= 64:
            text = str(value)
        case float() if value - value == 0:
            text = repr(value)
        case list() if nesting and len(value) <= limit:
            items = [literal(v, limit, nesting - 1) for v in value]
            text = None if None in items else f"[{', '.join(filter(None, items))}]"
        case dict() if nesting and len(value) <= limit:
            pairs = [(literal(k, limit), literal(v, limit, nesting - 1)) for k, v in value.items()]
            text = None if any(None in pair for pair in pairs) else "{" + ", ".join(f"{k}: {v}" for k, v in pairs) + "}"
    return text if text is not None and len(text) <= limit else None


class _Value(str):
    """A member of a union that is a value: it goes into the union's one `Literal`."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class _Class:
    name: str
    schema: Schema
    level: int
    reserved: int


class Types:
    """The annotations of one text, and the TypedDicts that they name.

    `depth` is how many classes may stand inside one another, `room` how many characters all of them may take;
    objects beyond are `dict[str, Any]`, with their keys in a note. `sending` tells parameters (which fields are
    required, none that is readOnly) from results; `comments` is the width of the fields' descriptions. `loose`
    is for type checkers: a plain mapping may stand for a class, and lists may hold subtypes.
    """

    def __init__(
        self, reader: Reader, *, depth: int = 2, room: int = 0, sending: bool = False, comments: int = 0, loose: bool = False
    ) -> None:
        self._reader = reader
        self._depth = depth
        self._room = room
        self._sending = sending
        self._hidden = "readOnly" if sending else "writeOnly"
        self._comments = comments
        self._loose = loose
        self._list, self._dict = ("Sequence", "Mapping") if loose else ("list", "dict")
        self._open: set[str] = set()
        self._classes: dict[str, str] = {}
        self._taken = set(_WORDS)
        self._queue: deque[_Class] = deque()
        self._level = 0
        self._notes: dict[str, str] = {}
        self.made: dict[str, Schema] = {}
        """The schema of each class, by its name."""

        self.cut: dict[str, None] = {}
        """Classes that are not here, or not whole: what a reader may want to ask for."""

    def annotate(self, schema: Any, hint: str) -> tuple[str, str]:
        """The annotation of a schema, and what it cannot say: formats, long enums, keys. `hint` names a class."""
        self._notes = {}
        text = self._join(self._members(schema, hint, NESTING))
        return text, clean("; ".join(self._notes.values()), 120)

    def _members(self, schema: Any, hint: str, nesting: int) -> list[str]:
        """What an annotation's union is made of. A reference that is being read already adds nothing."""
        if nesting < 0 or not self._reader.burn():
            return ["Any"]
        name, resolved = self._reader.resolve(schema)
        if name in self._open:
            return []
        self._open |= {name} - {""}
        members = self._alternatives(resolved, name, hint, nesting)
        self._open -= {name}
        return [*dict.fromkeys(members), *(["None"] if resolved.get("nullable") is True else [])]

    def _alternatives(self, schema: Schema, name: str, hint: str, nesting: int) -> list[str]:
        if "const" in schema:
            return [_value(schema["const"])]
        if isinstance(schema.get("enum"), (list, tuple)):
            return [_value(v) for v in listed(schema["enum"], 1000)]
        if not self._loose and (meant := listed(schema.get("x-values"), 1000)):  # by a discriminator; nothing is held against it
            return [_value(v) for v in meant]
        if (offered := variants(schema)) and not table(schema.get("properties")):
            return [m for v in offered for m in self._members(v, hint, nesting - 1)]
        return [self._one(kind, schema, name, hint, nesting) for kind in kinds(schema)] or ["Any"]

    def _one(self, kind: str, schema: Schema, name: str, hint: str, nesting: int) -> str:
        if kind == "object":
            return self._object(schema, name, hint, nesting)
        if kind == "array":
            parts = [*listed(schema.get("prefixItems"), 20), *([schema["items"]] if table(schema.get("items")) else [])]
            hint = hint if self._sending or self._level else f"{hint}Item"
            return f"{self._list}[{self._join([m for part in parts for m in self._members(part, hint, nesting - 1)])}]"
        form = schema.get("format")
        if kind == "string" and form == "binary":
            if not self._sending:
                return "bytes"
            self._notes[form] = 'a file: bytes, text, handle, {"content", "name", "type"}'
            return f"bytes | str | {self._dict}[str, Any]"
        if kind == "string" and isinstance(form, str) and form not in _SELF_EVIDENT and re.fullmatch(r"[\w-]{1,24}", form):
            self._notes[form] = form
        return _SCALARS.get(kind, "Any")

    def _object(self, schema: Schema, name: str, hint: str, nesting: int) -> str:
        properties = self._reader.properties(schema, hidden=self._hidden)
        if not properties:
            extra = table(schema.get("additionalProperties"))
            value = self._join(self._members(extra, hint, nesting - 1)) if extra else "Any"
            return f"{self._dict}[str, {value}]"
        itself = nesting == NESTING and not self._level and not self._sending
        title = hint if itself else name or hint  # A result itself is named after its function.
        known = self._classes.get(name) or self._new_class(schema, name, title, len(properties))
        if known is None:
            self.cut[class_name(title)] = None
            self._notes.setdefault("keys", f"keys of {class_name(title)}: {_enumerated(properties, 80)}")
            return f"{self._dict}[str, Any]"
        return f"{known} | {self._dict}[str, Any]" if self._loose else known

    def _new_class(self, schema: Schema, name: str, title: str, fields: int) -> str | None:
        """Queue a class, if there is room for it; the first one has always what there is."""
        reserved = 160 + 30 * fields if self._classes else min(160 + 30 * fields, self._room)
        if self._level >= self._depth or reserved > self._room:
            return None
        title = unique = class_name(title)
        number = 1
        while unique in self._taken:
            number += 1
            unique = f"{title}{number}"
        self._taken.add(unique)
        self._classes[name or f" {unique}"] = unique
        self._room -= reserved
        self._queue.append(_Class(unique, schema, self._level, reserved))
        self.made[unique] = schema
        return unique

    def _join(self, members: Iterable[str]) -> str:
        """Members as one annotation: values in one Literal, None last, whatever is too much as its plain type."""
        unique = list(dict.fromkeys(members))
        values = [m for m in unique if isinstance(m, _Value)]
        others = [m for m in unique if not isinstance(m, _Value) and m != "None"]
        if {"True", "False"} <= set(values):
            others.append("bool")
            values = [v for v in values if _type_of(v) != "bool"]
        types = dict.fromkeys(map(_type_of, values))
        text = f"Literal[{', '.join(values)}]"
        if len(values) > _VALUES or len(text) > 240 or types.keys() & set(others):
            self._notes["values"] = _examples(values)
            others = [*dict.fromkeys([*types, *others])]
        elif values:
            others.insert(0, text)
        none = [m for m in unique if m == "None"]
        if "Any" in others or not [*others, *none] or len(others) > 8:
            return "Any"
        union = " | ".join([*others, *none])
        return union if len(union) <= 400 else "Any"

    def classes(self) -> str:
        """The TypedDicts that the annotations named so far, and those that these name in turn."""
        texts = []
        while self._queue:
            made = self._queue.popleft()
            self._level = made.level + 1
            texts.append(self._class(made))
        self._level = 0
        return "\n\n".join(texts)

    def _class(self, made: _Class) -> str:
        required = strings(made.schema.get("required")) if self._sending else set()
        found = {k: v for k, v in self._reader.properties(made.schema, hidden=self._hidden).items() if len(k) <= _KEY}
        plain = all(is_plain(k) and not k.startswith("__") and k not in self._taken for k in found)
        lines = {}
        for key in sorted(found, key=lambda key: key not in required):
            text, note = self.annotate(found[key], f"{made.name[:40]}{class_name(key)}")
            about = clean(self._reader.resolve(found[key])[1].get("description"), self._comments) if self._comments else ""
            text = f"Required[{text}]" if key in required else text
            lines[key] = commented(f"    {key}: {text}" if plain else f"    {literal(key, 10 * _KEY)}: {text},", about, note)
        start, end = f"class {made.name}(TypedDict, total=False):", ""
        if not plain:
            start, end = f'{made.name} = TypedDict("{made.name}", {{', "}, total=False)"
        body = list(_cut(lines, made.reserved + self._room - len(start) - len(end) - 10))
        if body and body[-1].startswith("    # …"):
            self.cut[made.name] = None
        if plain and all(line.startswith("    #") for line in body):
            body.append("    ...")
        text = "\n".join(filter(None, [start, *body, end]))
        self._room += made.reserved - len(text) - 2
        return text


def _cut(lines: Mapping[str, str], room: int) -> Iterator[str]:
    """As many lines as there is room for, links last; the other keys by name."""
    if sum(map(len, lines.values())) + len(lines) <= room:
        yield from lines.values()
        return
    room -= 240
    keys = deque(sorted(lines, key=lambda key: key.endswith(("_url", "_uri", "Url"))))
    while keys and (room := room - len(lines[keys[0]]) - 1) >= 0:
        yield lines[keys.popleft()]
    yield f"    # … {len(keys)} more fields: {_enumerated(keys, 200)}"


def _value(value: Any) -> str:
    """A value of an enum as a member of a union."""
    match value:
        case None:
            return "None"
        case bool() | int() | str():
            text = literal(value)
            return _Value(text) if text is not None else type(value).__name__
        case float():
            return "float"
        case list():
            return "list[Any]"
    return "dict[str, Any]" if isinstance(value, Mapping) else "Any"


def _type_of(value: _Value) -> str:
    return "str" if value.startswith('"') else "bool" if value in ("True", "False") else "int"


def _examples(values: list[_Value]) -> str:
    shown = list(values[:1])
    for value in values[1:]:
        if sum(map(len, shown)) + len(value) > 60:
            break
        shown.append(value)
    rest = len(values) - len(shown)
    return f"{', '.join(shown)}, ... {rest} more" if rest else ", ".join(shown)


def _enumerated(keys: Iterable[str], limit: int) -> str:
    return clean(", ".join(k[:_KEY] for k in islice(keys, 50)), limit)
