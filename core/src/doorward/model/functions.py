"""Functions of servers, and what a source compiles."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

Schema = Mapping[str, Any]
"""A JSON Schema 2020-12. `{"$ref": "#/$defs/NAME"}` means the definition NAME of the function's server."""


ASKS_A_MODEL = "llm"
"""The tag of functions that ask a language model: what `sampling` of a run is about."""


@dataclass(frozen=True, slots=True)
class Function:
    """One callable operation of a server.

    `name` is a Python identifier, unique in its server; `id` is what the upstream calls it. `parameters` is a JSON
    Schema of type object whose properties are the keyword arguments. `returns` is the schema of the result, `None` if
    it is unknown. `route` (`"GET /repos/{owner}"`) is for patterns and search. `names` maps parameters that have
    another name here to their names in the upstream; a call may use either. `sends_null`: None for an optional
    parameter reaches the source even if the schema does not allow null; else it is left out. `headers` are the names of
    the headers that an answer is documented to have. `aliases` are further names for programs and patterns. `open`: the
    upstream may take undeclared arguments, if the operator allows them (`extra`). `data` is whatever the source needs
    to perform the call: plain JSON, never a secret. `guessed_read`: by convention it only reads, though nothing says
    so; policy and plans go by that, while its calls are repeated as those of a write are. `guessed_destructive`:
    likewise it destroys something.
    """

    server: str
    name: str
    id: str = ""
    summary: str = ""
    description: str = ""
    parameters: Schema = field(default_factory=lambda: {"type": "object", "properties": {}})
    returns: Schema | None = None
    read_only: bool = False
    destructive: bool = False
    idempotent: bool = False
    deprecated: bool = False
    tags: tuple[str, ...] = ()
    route: str = ""
    names: Mapping[str, str] = field(default_factory=dict)
    sends_null: bool = False
    headers: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
    open: bool = False
    data: Mapping[str, Any] = field(default_factory=dict)
    guessed_read: bool = False
    guessed_destructive: bool = False

    @property
    def qualified(self) -> str:
        """`server.name`: the one name in catalog, policy and audit."""
        return f"{self.server}.{self.name}"


@dataclass(frozen=True, slots=True)
class Skipped:
    """An operation that did not become a function: where it stands and why."""

    where: str
    why: str


@dataclass(frozen=True, slots=True)
class Suggestion:
    """What a server seems to want as `auth`.

    `auth` are the tables, with `${…}` in place of credentials. The source chooses the names of these variables, never
    the document; in texts of the document `$${` stands for `${`. `says` describes the suggestion: "an API key in the
    header X-Key". `serves` counts the functions for which it is enough, of those that need credentials. `elsewhere` are
    URLs to which a secret would go although they have another origin than the API: such a suggestion is never used
    unless the operator agrees.
    """

    auth: Sequence[Mapping[str, Any]]
    says: str
    serves: int = 0
    elsewhere: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Compiled:
    """The result of compiling a server. `definitions` are the schemas that `$ref`s name, by NAME. `needing_auth` counts
    the functions that need credentials; `auth` are suggestions that would open them, the best first."""

    functions: Sequence[Function]
    definitions: Mapping[str, Schema] = field(default_factory=dict)
    skipped: Sequence[Skipped] = ()
    warnings: Sequence[str] = ()
    description: str = ""
    needing_auth: int = 0
    auth: Sequence[Suggestion] = ()
