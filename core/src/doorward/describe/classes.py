"""The classes of a text that agents read, while it is made."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from doorward.data.wording import commented
from doorward.model.types import Schema


@dataclass(frozen=True, slots=True)
class Class:
    """A class that is still to be written, with the room that is kept for it."""

    name: str
    ref: str
    schema: Schema
    level: int
    reserved: int


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
