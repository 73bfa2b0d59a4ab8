"""Calls on their way to a source: what is decided of them and by whom, who can be asked meanwhile, what comes back."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from math import isfinite
from typing import Any, Literal, NamedTuple, Protocol, runtime_checkable

from doorward.model.clock import Clock
from doorward.model.functions import Function
from doorward.model.principals import LOCAL, Principal

Then = Literal["allow", "confirm", "deny"]
"""What happens with a call: it is made, a person is asked first, or it is refused."""

Effect = Literal["read", "write", "destructive"]
"""What calls of a function do to the world."""


@dataclass(frozen=True, slots=True)
class Decision:
    """What policy says of a call. `rule` names the rule that decided, as a person finds it (`[[policy.rules]] 3`, the
    name of a plugin); it is empty if none did. `reason` is what the operator wrote there."""

    then: Then = "allow"
    rule: str = ""
    reason: str = ""


ALLOWED = Decision()
"""Nothing speaks against the call."""

_ORDER = ("allow", "confirm", "deny")


def stricter(one: Decision, other: Decision) -> Decision:
    """The stricter of two decisions; if they are alike, the one that names a rule."""
    if one.then == other.then:
        return one if one.rule else other
    return max(one, other, key=lambda decision: _ORDER.index(decision.then))


def denial(decision: Decision) -> str:
    """Why a call is refused, behind the name of its function."""
    why = f": {decision.reason}" if decision.reason else ""
    return f"is not allowed by the operator's policy: {decision.rule}{why}"


def effect(function: Function) -> Effect:
    """What calls of a function do, as its document or its annotations say, or else conventions."""
    if function.read_only or function.guessed_read:
        return "read"
    return "destructive" if function.destructive or function.guessed_destructive else "write"


def may_repeat(function: Function) -> bool:
    """Whether a call may be made twice: it only reads, or making it again changes nothing more (RFC 9110 section 9.2.2,
    `idempotentHint` of MCP)."""
    return function.read_only or function.idempotent


MAX_AMOUNTS = 20
"""Different amounts that one server can add to a run."""


class Usage:
    """The amounts that the calls of one run to one server have added up to, each with a name such as `tokens`.

    It is the server's own account of the run: a source that has a quota reads it before it does something, adds what
    that may take, and afterwards the difference to what it took. Nothing comes between two lines without `await`.
    """

    __slots__ = ("_amounts", "_counted")

    def __init__(self) -> None:
        self._amounts: dict[str, float] = {}
        self._counted: dict[str, float] = {}

    def of(self, name: str) -> float:
        """The amount with this name so far."""
        return self._amounts.get(name, 0)

    def add(self, name: str, amount: float) -> None:
        """Add to an amount; less than nothing takes back. Raises: ValueError if it is no number that has an end."""
        if not isfinite(amount):
            raise ValueError(f"{name}: {amount} is no amount")
        if name in self._amounts or len(self._amounts) < MAX_AMOUNTS:
            self._amounts[name] = self._amounts.get(name, 0) + amount

    def newly(self, name: str) -> float:
        """What was added to the amount with this name since this was asked last, for whoever keeps accounts. Nobody is
        paid for using something: a run takes nothing back that it did not add."""
        amount = max(self.of(name), 0)
        more = amount - self._counted.get(name, 0)
        if more:
            self._counted[name] = amount
        return more

    def amounts(self) -> Mapping[str, float]:
        """All amounts that are not zero; fractions have ten digits after the point."""
        if not self._amounts:  # asked after each call, of servers that count nothing
            return {}
        return {name: round(amount, 10) for name, amount in self._amounts.items() if round(amount, 10)}


class LoginPrompt(Protocol):
    """The person at the terminal who logs in."""

    def tell(self, text: str) -> None:
        """Show a line: what happens now, or what to do."""
        ...

    async def open(self, url: str) -> None:
        """Open a page in the browser if there is one; else show its address."""
        ...

    async def ask(self, question: str) -> str | None:
        """The line that the person types or pastes; `None` if the person is not asked because the answer comes by
        another way."""
        ...


class Client(Protocol):
    """The MCP client that asked for a run, as far as a source may turn to it while a call lasts."""

    async def progress(self, done: float, total: float | None = None, message: str = "") -> None:
        """Report how far a call is, in any unit. Does nothing if the client did not ask for progress."""
        ...

    async def ask(self, method: str, params: Mapping[str, Any]) -> Mapping[str, Any]:
        """Pass a request of an upstream (`elicitation/create` or `sampling/createMessage`) to the client, or to the
        person who uses it. Parameters and answer are plain JSON as in MCP. The run's clock stands still meanwhile.

        Raises: ServerError if the client cannot answer such a request, or is gone; LimitExceeded if it took too long.
        """
        ...


@runtime_checkable
class LearnsRun(Protocol):
    """A client that wants the id of its run as soon as the run can be resumed: its answer may be lost."""

    async def run_stored(self, run: str) -> None:
        """The run is stored under this id, before its first call goes out."""
        ...


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


ACCOUNT = "_account"
"""The argument of a call that names the account which it uses, of a server that has several. Its place among the
arguments has it shown, approved, decided, recorded and counted with them; a source does not get it."""


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
    def account(self) -> str:
        """The account that it uses; empty at a server without several."""
        return str(self.arguments.get(ACCOUNT, ""))

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


ANYTHING = (ALLOWED, Decision("deny"))
"""What may be decided of calls, where nothing is known without their arguments."""


class Scope(NamedTuple):
    """What it depends on which functions a principal may call: principals whose `key` is the same may call the same.
    `principal` is the one that was asked for, where it also depends on upstreams, which may be different for each."""

    key: Hashable
    principal: str = ""


class Decider:
    """Decides of calls. Derive from it: what is left out says nothing. Whatever a method raises denies the call, with
    the name of the plugin; of what the principal is, beside its name, `call.caller` knows."""

    def decide(self, call: Call) -> Decision | Awaitable[Decision | None] | None:
        """What is decided of a call, with its arguments; `None`: nothing. May be `async def`, to ask a service: it has
        the time that the call has, and 30 seconds at most. Asked once more after the call has waited for a person."""
        return None

    def possible(self, function: Function, principal: Principal) -> Sequence[Decision]:
        """All that may be decided of calls of a function, whatever their arguments. If each is `deny`, the principal
        does not see the function, and the last one says why; if any is not `allow`, calls are decided one by one, and
        nothing else becomes such a call on its way. Of what it depends on, `scope` tells."""
        return ANYTHING

    def scope(self, principal: Principal) -> Scope | None:
        """What `possible` depends on for a principal; `None` if it hides no function of theirs. It is asked often, and
        `possible` of all functions when the answer is a new one."""
        return None

    def decide_route(self, function: Function, principal: Principal, route: str) -> Decision | None:
        """What is decided of a request that a source makes for a call of a function, by its method and whole path
        (`GET /v1/users`), where that says more than the function does."""
        return None
