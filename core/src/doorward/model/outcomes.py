"""What an agent is told of a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypedDict

from doorward.model.programs import Failure

ARTEFACT_URI = "doorward://results/"
"""The beginning of the URI of each artefact."""


@dataclass(frozen=True, slots=True)
class Artefact:
    """A large value or bytes kept on the host. `uri` is `doorward://results/…`, `type` the media type, `bytes` the
    size, `name` the file name, if there is one."""

    uri: str
    type: str
    bytes: int
    name: str = ""


class CallCount(TypedDict):
    """The calls of one function that ended alike: how many, and the milliseconds that they took together."""

    function: str
    ok: bool
    count: int
    ms: float


class Truncated(TypedDict):
    """What a value was before it was cut, where the whole value is, and how a program reads it."""

    shape: str
    bytes: int
    rest: str
    read: str


@dataclass(frozen=True, slots=True)
class Waiting:
    """Why a run is suspended. `for_` is a word for it (see `Wait`), `run` its id, `what` says what is awaited, a line
    each, and `next` what the agent does then. `until`, in seconds since the epoch, is when it is worth resuming, if
    that is known."""

    for_: str
    run: str
    what: tuple[str, ...] = ()
    next: str = ""
    until: int = 0


class OutcomePart(Protocol):
    """What a plugin adds to the outcome of a run, under a key of its JSON."""

    def as_json(self) -> Any:
        """It as plain JSON, without what is empty."""
        ...

    def as_lines(self) -> Sequence[str]:
        """It as lines of text, for a reader who gets no JSON."""
        ...

    def sealed(self) -> OutcomePart:
        """The same, with nothing in it that can be changed."""
        ...


@dataclass(frozen=True, slots=True)
class Outcome:
    """The answer of `execute_code`, `run_cached_code`, `doorward run --json` and `Gateway.execute`. `usage` is what the
    run has used of servers that count it, by server and name: `{"llm": {"rounds": 3, "tokens": 812}}`. A run that is
    `waiting` is not `ok`, has no error and can be resumed. `parts` are what plugins add, by their keys in JSON."""

    ok: bool
    value: Any = None
    printed: str = ""
    cache_id: str = ""
    next: str = ""
    session_id: str = ""
    calls: tuple[CallCount, ...] = ()
    usage: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    artefacts: tuple[Artefact, ...] = ()
    truncated: Truncated | None = None
    error: Failure | None = None
    waiting: Waiting | None = None
    parts: Mapping[str, OutcomePart] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    executor: str = ""
    ms: float = 0.0
