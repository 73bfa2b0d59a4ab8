"""What observers are told: names, sizes, times and digests, never contents."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened. `time` is in seconds since the epoch."""

    time: float


@dataclass(frozen=True, slots=True)
class RunStarted(Event):
    """A program has passed the guards. `code_sha256` is the digest of its code; `params` are the names of its
    parameters."""

    run: str
    principal: str
    code_sha256: str
    code_bytes: int
    params: tuple[str, ...] = ()
    language: str = "python"


@dataclass(frozen=True, slots=True)
class RunFinished(Event):
    """A program has ended, or was refused; `run` is empty if it did not begin. `error_kind` and `error` (the name of
    the exception) are empty if it succeeded. `calls` counts its calls, `value_bytes` is the size of its value as
    JSON."""

    run: str
    principal: str
    code_sha256: str
    code_bytes: int
    ok: bool
    ms: float
    error_kind: str = ""
    error: str = ""
    executor: str = ""
    calls: int = 0
    value_bytes: int = 0
    printed_bytes: int = 0


@dataclass(frozen=True, slots=True)
class CallFinished(Event):
    """A call has ended, or was refused. `function` is `server.function`; `error` is the name of the error, empty if it
    succeeded; sizes are those of its arguments and its result; `details` are names, digests and counts that the source
    of the server tells (its README says which). `decision` is what policy said before it was made, `rule` what decided
    so."""

    run: str
    principal: str
    function: str
    ok: bool
    ms: float
    bytes_in: int = 0
    bytes_out: int = 0
    error: str = ""
    details: Mapping[str, str | float] = field(default_factory=dict)
    decision: str = "allow"
    rule: str = ""


@dataclass(frozen=True, slots=True)
class AuthChosen(Event):
    """A server uses this type of auth. Told before its first request."""

    server: str
    auth: str


@dataclass(frozen=True, slots=True)
class EventsDropped(Event):
    """So many events were not delivered before those of this batch: there were too many, or the observer failed."""

    count: int
