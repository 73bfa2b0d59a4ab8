"""`[servers.NAME.undo.FUNCTION]`: the call that undoes a call of a function."""

from __future__ import annotations

import re
from typing import Annotated, Any, Self

from doorward import Settings
from pydantic import Field, field_validator, model_validator

_PATH = re.compile(r"(args|answer|before)((?:\.[^.?]+)*)(\?)?")
_TEXT = re.compile(r"'(.*)'", re.DOTALL)


class InverseSettings(Settings):
    """How calls of one function are undone.

    Its arguments are plain paths, and no CEL: CEL changes values on their way (large numbers, the order of keys), and
    an id must come back exactly as it was answered.
    """

    call: str = Field(description="The function of the same server that undoes it")
    arguments: dict[str, Any] = Field(
        {},
        description='Its arguments: paths as "answer.id", "args.name" or "before.name"; "…?" is left out where '
        "there is none; \"'text'\" and values of other types are meant as they stand",
    )
    before: str = Field(
        "", description="A function that only reads, called before with those arguments that it takes, too"
    )

    @field_validator("arguments")
    @classmethod
    def _readable(cls, arguments: dict[str, Any]) -> dict[str, Any]:
        for name, value in arguments.items():
            if isinstance(value, str) and not (_PATH.fullmatch(value) or _TEXT.fullmatch(value)):
                raise ValueError(
                    f'{name}: {value[:100]!r} is no path: write "answer.id", "args.NAME", "before.NAME", or a text in '
                    "quotes of its own, \"'so'\""
                )
        return arguments

    @model_validator(mode="after")
    def _has_before(self) -> Self:
        if not self.before and (
            needing := [name for name in self.arguments if (self.path(name) or [""])[0] == "before"]
        ):
            raise ValueError(f'{needing[0]}: nothing is read before: name the function that reads it, before = "…_get"')
        return self

    def path(self, name: str) -> list[str] | None:
        """Where the value of an argument is found: `["answer", "id"]`; `None` if it is meant as it stands."""
        value = self.arguments[name]
        found = _PATH.fullmatch(value) if isinstance(value, str) else None
        return [found[1], *filter(None, found[2].split("."))] if found else None

    def may_lack(self, name: str) -> bool:
        """Whether an argument is left out where its path leads to nothing."""
        return str(self.arguments[name]).endswith("?")

    def text(self, name: str) -> Any:
        """The value of an argument that is meant as it stands."""
        value = self.arguments[name]
        found = _TEXT.fullmatch(value) if isinstance(value, str) else None
        return found[1] if found else value


Key = Annotated[
    dict[str, InverseSettings],
    Field(description="By which calls `doorward runs undo` undoes calls of functions: a table for each by its name"),
]
"""The type of a server's `undo`."""
