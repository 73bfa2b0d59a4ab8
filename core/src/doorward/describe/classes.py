"""The classes of a text that agents read, while it is made."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from itertools import chain, count

from doorward.data.wording import commented
from doorward.model.types import Schema

_USED_NAMES = (
    *("Any", "Literal", "Mapping", "None", "Required", "Sequence", "TypedDict"),
    *("bool", "bytes", "dict", "float", "int", "list", "str"),
)
"""Names that stand in annotations for something else."""


@dataclass(frozen=True, slots=True)
class Class:
    """A class that is still to be written, with the room that is kept for it."""

    name: str
    ref: str
    schema: Schema
    level: int
    reserved: int


@dataclass(slots=True)
class Classes:
    """The classes of a text, and the characters that are left: `room` for their text, `name_room` for the names of
    classes that are `cut`, which are not in the text, or not whole."""

    room: int
    name_room: int
    by_ref: dict[str, str] = field(default_factory=dict)
    made: dict[str, Class] = field(default_factory=dict)
    taken: set[str] = field(default_factory=lambda: set(_USED_NAMES))
    cut: dict[str, None] = field(default_factory=dict)
    _waiting: deque[Class] = field(default_factory=deque)

    def add(self, title: str, ref: str, schema: Schema, level: int, fields: int) -> str | None:
        """The name of a new class, which waits to be written; `None` if there is no room for it. The first class takes
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
        """The class that is to be written next."""
        return self._waiting.popleft() if self._waiting else None

    def cut_by_name(self, name: str) -> bool:
        """Note a class that has no place in the text, if there is room for its name."""
        if (length := len(name) + 3) > self.name_room:
            return False
        self.name_room -= length
        self.cut[name] = None
        return True

    def copy(self) -> Classes:
        """The same at this moment, to go back to if what follows turns out to be too long."""
        return Classes(
            self.room,
            self.name_room,
            by_ref=self.by_ref.copy(),
            made=self.made.copy(),
            taken=self.taken.copy(),
            cut=self.cut.copy(),
            _waiting=self._waiting.copy(),
        )


@dataclass(frozen=True, slots=True)
class Above:
    """What a text shows above the types of a result: `classes` as they are sent, by reference, the `types` of the
    fields of each, and those of parameters (`fields`). Of those that are `cut` the keys are told."""

    classes: Mapping[str, str]
    types: Mapping[str, Mapping[str, str]]
    fields: Mapping[str, str]
    cut: Collection[str] = ()


@dataclass(frozen=True, slots=True)
class Field:
    """A field of a class: its line of code, its type, what is said of it, and what its type cannot say."""

    code: str
    type: str
    about: str
    note: str

    @property
    def bare(self) -> str:
        return commented(self.code, "", self.note)

    @property
    def line(self) -> str:
        return commented(self.code, self.about, self.note)
