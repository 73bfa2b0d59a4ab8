"""Calls on their way to a source, and what comes back."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from doorward.model.clock import Clock
from doorward.model.decisions import ALLOWED, Decision
from doorward.model.functions import Function
from doorward.model.principals import LOCAL, Principal
from doorward.model.usage import Usage

if TYPE_CHECKING:
    from doorward.model.interaction import Client


class RequestTrace(Protocol):
    """One HTTP request that is followed."""

    headers: Mapping[str, str]
    """What it carries: `traceparent` and `tracestate` of the W3C, or nothing."""

    def end(self, status: int | None, error: str) -> None:
        """Learn that it was answered with this status, or failed with an error of this name."""


@runtime_checkable
class CallTrace(Protocol):
    """What a plugin answers to the hook `trace_call`."""

    context: Mapping[str, str]
    """The W3C context of the call, for sources whose messages have a place for it: `_meta` of MCP."""

    def request(self, method: str, url: str) -> RequestTrace:
        """Follow a request of the call that is about to be sent. The URL may hold secrets."""


TextRule = Callable[[Any, str, bool], bool]
"""Says of an answer whether a program gets the text in place of the value: by the value, the only text beside it or
that it was read from, and whether the function declares its result."""


def if_repeated(value: Any, text: str, declared: bool) -> bool:
    """The rule of our own style: the text, where an object that nothing declares only repeats it."""
    return not declared and isinstance(value, Mapping) and len(value) == 1 and text in value.values()


@dataclass(frozen=True, slots=True)
class Call:
    """One call from a sandbox (or from the command line) on its way to a source. `deadline` is a time on the run's
    `clock`, which stands still while the client is asked something; `client` is the MCP client that asked for the run,
    if one did. `allows` says whether the run may also call another function of the server, by its original id and
    route; `forbids` why it may not send a method and whole path (`GET /v1/users`): for a source that finds out what the
    call really is. `refuses_further` says why a further request of the call (a redirect, a link, a page, a poll) may
    not be made: by its method and whole path, and the original ids and routes of the functions that it may be a request
    for, none if it is for no function. `link` is the `Reply.link` of the page before; no program can set it. `usage` is
    what the run has used of this server, and `details` what observers are told of this call besides: names, digests and
    counts, never contents. A source adds to both. `trace` is the W3C context of a call that is followed (`traceparent`,
    `tracestate`): HTTP requests get their own, a source of another kind hands this one on. `place` is which call of the
    run it is; a run that is resumed makes it at the same place. `earlier` calls of the run have begun before. `size` is
    that of its arguments as JSON, in bytes.
    `decision` is what is left to be done of what was decided: a person may have to be asked. `given`: see `as_given`.
    `wants_text`: a program that was written for another system may want the texts of answers."""

    function: Function
    arguments: Mapping[str, Any]
    run: str = ""
    principal: str = LOCAL
    deadline: float = float("inf")
    client: Client | None = None
    clock: Clock = field(default_factory=Clock, repr=False, compare=False)
    allows: Callable[[str, str], bool] = field(default=lambda id, route: True, repr=False, compare=False)
    link: str = field(default="", repr=False)
    forbids: Callable[[str], str] = field(default=lambda route: "", repr=False, compare=False)
    refuses_further: Callable[[str, Sequence[tuple[str, str]]], str] = field(
        default=lambda request, functions: "", repr=False, compare=False
    )
    usage: Usage = field(default_factory=Usage, repr=False, compare=False)
    details: dict[str, str | float] = field(default_factory=dict, repr=False, compare=False)
    trace: dict[str, str] = field(default_factory=dict, repr=False, compare=False)
    place: int = field(default=0, repr=False, compare=False)
    size: int = field(default=0, repr=False, compare=False)
    decision: Decision = field(default=ALLOWED, repr=False, compare=False)
    given: Mapping[str, Any] | None = field(default=None, repr=False, compare=False)
    wants_text: TextRule = field(default=if_repeated, repr=False, compare=False)
    earlier: int = field(default=0, repr=False, compare=False)
    _sealed: Call | None = field(default=None, init=False, repr=False, compare=False)

    @property
    def caller(self) -> Principal:
        """Its principal, with groups and attributes."""
        return Principal.of(self.principal)

    @property
    def as_given(self) -> Mapping[str, Any]:
        """Its arguments with handles in the place of files, as the program gave them."""
        return self.arguments if self.given is None else self.given

    @property
    def key(self) -> str:
        """What a server may know this call by. It is the same whenever the call is made: by a retry, or by a run that
        was resumed."""
        return f"doorward-{self.run}-{self.place}"

    @property
    def time_left(self) -> float:
        """Seconds until the run must be over; never below zero."""
        return max(0.0, self.deadline - self.clock.now())


@dataclass(frozen=True, slots=True)
class Reply:
    """What a source returns from a call if it knows more than the value.

    `type` is the media type and `name` the file name of bytes. `next` are the arguments by which the same function gets
    the next page, `None` if there is no such page or the source does not know one; `link` is given back with them, as
    `Call.link`, for what arguments cannot say. `left` says why a next page exists but cannot be fetched: the end of a
    sentence. `items` are the keys that lead to the list in a page, where the source knows them for sure.

    `status` is the HTTP status, `headers` are those of the answer. Programs get them by `doorward.reply`, without
    credentials, their names in small letters. `size` are the bytes of the value as JSON, once it was checked: a source
    need not say it.
    """

    value: Any
    type: str = ""
    name: str = ""
    next: Mapping[str, Any] | None = None
    link: str = field(default="", repr=False)
    left: str = field(default="", compare=False)
    items: Sequence[str] = field(default=(), compare=False)
    status: int | None = field(default=None, compare=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False, compare=False)
    size: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class File:
    """Bytes with what is known about them: an artefact that a program passed by its handle, or a part of an answer.

    `type` is their media type and `name` the file name, where they are known.
    """

    content: bytes = field(repr=False)
    type: str = ""
    name: str = ""


@dataclass(frozen=True, slots=True)
class CallRecord:
    """How a call went: its size and duration, never its content. `details` are what its source says of it, see
    `Call`; `decision` is what policy said before it was made."""

    ok: bool
    ms: float
    bytes_in: int = 0
    bytes_out: int = 0
    error: str = ""
    details: Mapping[str, str | float] = field(default_factory=dict)
    decision: Decision = ALLOWED
