"""The classes of a text that agents read, while it is made."""

from __future__ import annotations

import keyword
import re
from collections import deque
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from itertools import chain, count

from doorward import Schema

_NAME_CHARACTERS = 400
"""Characters of the name of a definition that are read."""


def class_name(text: str) -> str:
    """`nullable-simple-user` → `NullableSimpleUser`; of a dotted name, the last part."""
    parts = re.findall(r"[A-Za-z0-9]+", text[:_NAME_CHARACTERS].rstrip(".").rpartition(".")[2])
    name = "".join(part[0].upper() + part[1:] for part in parts)[:60]
    return name if name[:1].isalpha() and not keyword.iskeyword(name) else f"Model{name}"


@dataclass(frozen=True, slots=True)
class Class:
    """A class of the text: its name, its reference or "", its schema, how deeply it is nested, the room `reserved`."""

    name: str
    ref: str
    schema: Schema
    level: int
    reserved: int


@dataclass(slots=True)
class Classes:
    """The classes of a text, and how many characters are left: `room` for their text, `name_room` for the names of the
    classes that are `cut`, that is left out or shortened. `taken` are names that no class can have."""

    room: int
    name_room: int
    taken: set[str]
    by_ref: dict[str, str] = field(default_factory=dict)
    made: dict[str, Class] = field(default_factory=dict)
    cut: dict[str, None] = field(default_factory=dict)
    _waiting: deque[Class] = field(default_factory=deque)

    def add(self, title: str, ref: str, schema: Schema, level: int, fields: int) -> str | None:
        """Queue a class to be written, and return its name; `None` if there is no room for it. The first class takes
        whatever room there is."""
        reserved = 160 + 30 * fields if self.by_ref else min(160 + 30 * fields, self.room)
        if reserved > self.room:
            return None
        numbered = (f"{title}{number}" for number in count(2))
        name = next(name for name in chain([title], numbered) if name not in self.taken)
        self.taken.add(name)
        self.by_ref[ref or f" {name}"] = name
        self.room -= reserved
        self.made[name] = made = Class(name, ref, schema, level, reserved)
        self._waiting.append(made)
        return name

    def next(self) -> Class | None:
        """The class to write next, `None` if all are written."""
        return self._waiting.popleft() if self._waiting else None

    def cut_by_name(self, name: str) -> bool:
        """Note a class that is left out, if there is room for its name."""
        if (length := len(name) + 3) > self.name_room:
            return False
        self.name_room -= length
        self.cut[name] = None
        return True

    def copy(self) -> Classes:
        """A copy to go back to if what is added from now on turns out too long."""
        return Classes(
            self.room,
            self.name_room,
            self.taken.copy(),
            by_ref=self.by_ref.copy(),
            made=self.made.copy(),
            cut=self.cut.copy(),
            _waiting=self._waiting.copy(),
        )


@dataclass(frozen=True, slots=True)
class Above:
    """What a text shows above the types of a result: the names of the `classes` that are sent, by reference; the
    `types` of the fields of each; the types of the parameters (`fields`). Of `cut` classes the keys are shown."""

    classes: Mapping[str, str]
    types: Mapping[str, Mapping[str, str]]
    fields: Mapping[str, str]
    cut: Collection[str] = ()


@dataclass(frozen=True, slots=True)
class Field:
    """A field of a class: its line of code, with its description and without; its type, with a note on what this cannot
    express; and whether it has a description."""

    line: str
    bare: str
    type: str
    about: str
