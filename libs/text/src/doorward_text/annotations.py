"""JSON Schema → annotations and classes of a dialect: text for an agent to read, never code for the host to run.

A schema is hostile input. Whatever it holds, the text is valid code of bounded size: every class takes up room, and
where the room or the reader's fuel ends, the annotation is `Any` or `dict[str, Any]`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any

from doorward import Schema
from doorward.texts import MAX_KEY_CHARACTERS, MAX_NESTING, Reader, clean, kinds, listed, strings, table, variants
from doorward.values import is_plain

from doorward_text.classes import Above, Class, Classes, Field, class_name
from doorward_text.dialect import PYTHON, Dialect
from doorward_text.limits import in_words
from doorward_text.unions import union, value_of
from doorward_text.wording import as_above, commented, enumerated, more_fields, size

_SELF_EVIDENT_FORMATS = {"uri", "url", "int32", "int64", "float", "double", "password", "string"}
_LINK_SUFFIXES = ("_url", "_uri", "Url")
_MIN_TYPED_FIELDS = 3
"""Required fields whose types are always shown, room or not."""

_VALUES_PER_FUEL = 10
"""Values of an enum that together cost as much fuel as one schema."""

_MIN_REPEATED_FIELDS = 3
"""Fields already shown above: from this many on, one line refers to all of them."""


class Types:
    """The annotations of one text, and the classes that they name.

    `depth` is how deeply classes may be nested, `room` how many characters all of them may take together; objects
    beyond that are `dict[str, Any]`, with their keys in a note. `sending` marks parameters, which have required fields
    and no readOnly ones; otherwise these are results. `comments` is the width of the fields' descriptions. Types that
    are shown `above` are not repeated. `names` is how many characters the names of `cut` classes may take.
    """

    def __init__(
        self,
        reader: Reader,
        *,
        depth: int = 2,
        room: int = 0,
        sending: bool = False,
        comments: int = 0,
        dialect: Dialect = PYTHON,
        above: Above | None = None,
        names: int = 10**9,
    ) -> None:
        self._reader = reader
        self._depth = depth
        self.sending = sending
        self._hidden = "readOnly" if sending else "writeOnly"
        self._comments = comments
        self.dialect = dialect
        self._above = above or Above({}, {}, {})
        self._classes = Classes(room, names, {*dialect.taken})
        self._brief = False
        self._open: set[str] = set()
        self._level = 0
        self._notes: dict[str, str] = {}
        self.types: dict[str, dict[str, str]] = {}
        """The types of the fields of each class that is in the text in full."""

        self.is_shortened = False
        """Whether the description of a field is shortened or left out."""

        self.is_crowded = False
        """Whether descriptions were left out for want of room: with shorter ones, more of them would fit."""

    @property
    def references(self) -> Mapping[str, str]:
        """The names of the classes in the text, by the reference that leads to them."""
        return self._classes.by_ref

    @property
    def made(self) -> Mapping[str, Class]:
        """The classes in the text, by their names."""
        return self._classes.made

    @property
    def cut(self) -> Collection[str]:
        """The names of classes that are left out or shortened, which a reader may ask for in full."""
        return self._classes.cut

    def annotate(self, schema: Any, hint: str) -> tuple[str, str]:
        """The annotation of a schema, and a note on what it cannot express: formats, long enums, keys. `hint` names a
        class that has no name of its own."""
        self._notes = {}
        text = self._join(self._members(schema, hint, MAX_NESTING))
        return text, clean("; ".join(self._notes.values()), 120)

    def _members(self, schema: Any, hint: str, nesting: int) -> list[str]:
        """The members of an annotation's union. A reference that is already being read adds nothing."""
        if nesting < 0 or not self._reader.burn():
            return [self.dialect.any]
        name, resolved = self._reader.resolve(schema)
        if name in self._open:
            return []
        self._open |= {name} - {""}
        members = self._alternatives(resolved, name, hint, nesting)
        self._open -= {name}
        return [*dict.fromkeys(members), *([self.dialect.null] if resolved.get("nullable") is True else [])]

    def _alternatives(self, schema: Schema, name: str, hint: str, nesting: int) -> list[str]:
        if "const" in schema:
            return [value_of(schema["const"], self.dialect)]
        if isinstance(schema.get("enum"), (list, tuple)):
            return self._values(schema["enum"])
        # The values of a discriminator are shown to readers; a type checker does not check them.
        if not self.dialect.loose and (meant := listed(schema.get("x-values"), 1000)):
            return self._values(meant)
        if (offered := variants(schema)) and not table(schema.get("properties")):
            return [m for v in offered for m in self._members(v, hint, nesting - 1)]
        return [self._one(kind, schema, name, hint, nesting) for kind in kinds(schema)] or [self.dialect.any]

    def _values(self, values: Sequence[Any]) -> list[str]:
        """The values of an enum, as far as the fuel lasts."""
        return [
            value_of(v, self.dialect)
            for place, v in enumerate(listed(values, 1000))
            if (place + 1) % _VALUES_PER_FUEL or self._reader.burn()
        ]

    def _one(self, kind: str, schema: Schema, name: str, hint: str, nesting: int) -> str:
        if kind == "object":
            return self._object(schema, name, hint, nesting)
        if self.sending and (limits := in_words(schema, kind)):
            self._notes[limits] = limits
        if kind == "array":
            parts = [*listed(schema.get("prefixItems"), 20), *([schema["items"]] if table(schema.get("items")) else [])]
            hint = hint if self.sending or self._level else f"{hint}Item"
            return self.dialect.array(self._join([m for part in parts for m in self._members(part, hint, nesting - 1)]))
        form = schema.get("format")
        if kind == "string" and form == "binary":
            if self.sending:
                self._notes[form] = self.dialect.a_file
            return self.dialect.bytes(sending=self.sending)
        if (
            kind == "string"
            and isinstance(form, str)
            and form not in _SELF_EVIDENT_FORMATS
            and re.fullmatch(r"[\w-]{1,24}", form)
        ):
            self._notes[form] = form
        return self.dialect.types.get(kind, self.dialect.any)

    def _object(self, schema: Schema, name: str, hint: str, nesting: int) -> str:
        properties = self._reader.properties(schema, hidden=self._hidden)
        if not properties:
            extra = table(schema.get("additionalProperties"))
            value = self._join(self._members(extra, hint, nesting - 1)) if extra else self.dialect.any
            return self.dialect.record(value)
        itself = nesting == MAX_NESTING and not self._level and not self.sending
        title = hint if itself else name or hint  # the result itself is named after its function
        known = (
            self._classes.by_ref.get(name)
            or self._shown(name, schema)
            or self._new_class(schema, name, title, len(properties))
        )
        if known is None:
            self._leave_out(class_name(title), schema, properties)
            return self.dialect.record(self.dialect.any)
        return f"{known} | {self.dialect.record(self.dialect.any)}" if self.dialect.loose else known

    def _shown(self, ref: str, schema: Schema) -> str | None:
        """The name of a class that is shown above, if it is received in the form in which it is sent."""
        known = self._above.classes.get(ref)
        return known if known and not self._one_way(schema) else None

    def _one_way(self, schema: Schema, nesting: int = 3) -> bool:
        """Whether parts of a resolved schema are readOnly or writeOnly."""
        reader = self._reader
        fields = reader.properties(schema, hidden="")
        if any(table(field).get(key) is True for field in fields.values() for key in ("readOnly", "writeOnly")):
            return True
        inner = [*fields.values(), schema.get("items"), schema.get("additionalProperties"), *variants(schema)]
        return nesting > 0 and any(
            reader.burn() and self._one_way(reader.resolve(part)[1], nesting - 1) for part in inner if table(part)
        )

    def _leave_out(self, name: str, schema: Schema, properties: Iterable[str]) -> None:
        """Note a class for which there is no room: its name, and the first time its keys."""
        required = strings(schema.get("required")) if self.sending else set()
        keys = enumerated(sorted(properties, key=lambda key: key not in required), 80)
        told, before = name, self._notes.get("keys")
        if name not in self.cut and name not in self._above.cut:
            if self._brief or not self._classes.cut_by_name(name):  # asking for the enclosing class shows this one
                told = f"keys: {keys}"
            else:
                told = name if before else f"keys of {name}: {keys}"
        self._notes["keys"] = f"{before} or {told.removeprefix('keys: ')}" if before else told

    def _new_class(self, schema: Schema, name: str, title: str, fields: int) -> str | None:
        """Add a class to the text, and return its name; `None` if it is too deep or there is no room."""
        if self._brief or self._level >= self._depth:
            return None
        if name in self._above.classes and not self.dialect.may_repeat:
            title = f"{title}Received"
        return self._classes.add(class_name(title), name, schema, self._level, fields)

    def _join(self, members: Iterable[str]) -> str:
        text, values = union(members, self.dialect)
        if values:
            self._notes["values"] = values
        return text

    def classes(self) -> str:
        """The text of the classes that the annotations have named so far, and of those that they name in turn."""
        texts = []
        while made := self._classes.next():
            self._level = made.level + 1
            texts.append(self._class(made))
        self._level = 0
        return "\n\n".join(texts)

    def _class(self, made: Class) -> str:
        """The text of a class. Descriptions are left out if they do not fit, then fields."""
        required = strings(made.schema.get("required")) if self.sending else set()
        found = {
            k: v
            for k, v in self._reader.properties(made.schema, hidden=self._hidden).items()
            if len(k) <= MAX_KEY_CHARACTERS
        }
        plain = all(is_plain(k) and not k.startswith("__") and k not in self._classes.taken for k in found)
        words = self.dialect
        start, end = words.class_frame(made.name, plain=plain)
        sent = self._above.classes.get(made.ref)
        start = words.comment(start, f"{'' if sent == made.name else f'{sent} '}as received" if sent else "", "")

        def field(key: str) -> Field:
            text, note = self.annotate(found[key], f"{made.name[:40]}{class_name(key)}")
            said = self._reader.resolve(found[key])[1].get("description")
            about = clean(said, self._comments)
            self.is_shortened |= about.endswith("…") or (bool(said) and not about)
            code = words.field(key, text, required=key in required, sending=self.sending, plain=plain)
            bare = words.comment(code, "", note)
            return Field(words.comment(code, about, note), bare, commented(text, "", note), about)

        before = self._classes.copy()
        fields = {key: field(key) for key in sorted(found, key=lambda key: key not in required)}
        above = self._above.types.get(sent, {}) if sent else self._above.fields
        again = [key for key, each in fields.items() if above.get(key) == each.type]
        told = (
            [as_above(again, above, "as sent" if sent else "as the parameters", words.mark)]
            if len(again) >= _MIN_REPEATED_FIELDS
            else []
        )
        keys = [key for key in fields if not (told and key in again)]
        around = len(start) + len(end) + 10 + size(told)
        room = made.reserved + self._classes.room - around
        lines = [fields[key].line for key in keys]
        if size(lines) > room:
            lines = self._first_described([fields[key] for key in keys], room)
        if size(lines) > room:
            self._classes = before
            room = made.reserved + self._classes.room - around
            ordered = sorted(keys, key=lambda key: key not in required and key.endswith(_LINK_SUFFIXES))
            lines = self._as_many(ordered, lambda key: field(key).bare, room, min(len(required), _MIN_TYPED_FIELDS))
            self._classes.cut[made.name] = None
        else:
            self.types[made.name] = {key: each.type for key, each in fields.items()}
        body = [*lines, *told]
        if plain and all(line.startswith(f"    {words.mark}") for line in body):
            body += words.no_fields
        text = "\n".join(filter(None, [start, *body, end]))
        self._classes.room += made.reserved - len(text) - 2
        return text

    def _first_described(self, fields: Sequence[Field], room: int) -> list[str]:
        """The lines of fields, with as many descriptions, from the first one on, as there is room for."""
        lines = [each.bare for each in fields]
        left = room - size(lines)
        for place, each in enumerate(fields):
            left -= len(each.line) - len(each.bare)
            if left < 0:
                lacks = any(each.about for each in fields[place:])
                self.is_shortened, self.is_crowded = self.is_shortened or lacks, self.is_crowded or lacks
                break
            lines[place] = each.line
        return lines

    def _as_many(self, keys: Sequence[str], line: Callable[[str], str], room: int, least: int) -> list[str]:
        """The lines of as many fields as there is room for, without classes; then the names of the other fields."""
        self._brief, lines = True, list[str]()
        for number, key in enumerate(keys):
            before, rest = self._classes.copy(), keys[number + 1 :]
            lines.append(line(key))
            if number >= least and size([*lines, *([more_fields(rest, self.dialect.mark)] if rest else [])]) > room:
                self._classes = before
                lines[-1] = more_fields(keys[number:], self.dialect.mark)
                break
        self._brief = False
        return lines
