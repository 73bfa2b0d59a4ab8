"""What stands around calls and runs: layers, which plugins give by the hooks `call_layers` and `run_layers`.

A layer is an async function that gets `proceed`, and awaits it at most once: what comes before that happens before the
call is made, what comes after it once there is an answer. It may proceed again only after a LoginRefused: then nothing
was made. One that returns without it answers in the place of all that
lies inside of it. Layers are put in order once, when a gateway opens.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, NoReturn, Protocol, TypeVar, cast

from doorward.model.calls import Call, Reply
from doorward.model.functions import Function
from doorward.model.programs import Artefact, Outcome, Program, Wait

T = TypeVar("T")


class StateKey(Generic[T]):
    """A key for what a plugin keeps of one run: nobody else has it. `new` makes the first value."""

    def __init__(self, name: str, new: Callable[[], T]) -> None:
        self.name, self.new = name, new

    def __repr__(self) -> str:
        return f"StateKey({self.name!r})"


class RunState:
    """What plugins keep of one run, by their keys; and who listens to it."""

    __slots__ = ("_values", "listeners")

    def __init__(self) -> None:
        self._values: dict[StateKey[Any], Any] = {}
        self.listeners: list[Callable[[Call, Reply], None]] = []

    def on_answer(self, listener: Callable[[Call, Reply], None]) -> None:
        """Have this called with each call of the run that succeeds, and its reply as the program gets it. It costs far
        less than a layer around calls; it must be quick, and change neither."""
        self.listeners.append(listener)

    def __getitem__(self, key: StateKey[T]) -> T:
        if key not in self._values:
            self._values[key] = key.new()
        return cast("T", self._values[key])

    def __setitem__(self, key: StateKey[T], value: T) -> None:
        self._values[key] = value


class Run(Protocol):
    """A run, as layers see it."""

    @property
    def program(self) -> Program:
        """Its program, without code if it is a single call: whose it is, its parameters and limits."""
        ...

    @property
    def goes_on(self) -> bool:
        """Whether it was begun before, and is resumed or played again: its layers have seen its beginning."""
        ...

    @property
    def state(self) -> RunState:
        """What plugins keep of it."""
        ...

    def is_out(self, call: Call) -> bool:
        """Whether a call that was on its way when the run was suspended may have been made; else it waits, and is made
        when the run goes on."""
        ...

    async def read_beside(self, call: Call, function: str, arguments: Mapping[str, Any]) -> Any:
        """The answer of a function that only reads, to know what is there before a call of this run goes out. It is
        checked and counted like all its calls, and gets those of the arguments that it takes. Raises: DoorwardError."""
        ...

    def note(self, text: str, *, about: str = "") -> None:
        """Add a note to the answer of the run; `about` says what it is about, so that it is noted once."""
        ...

    @property
    def session(self) -> str:
        """The id of its session; "" if it has none. Whoever knows it can run programs there: show it to nobody."""
        ...

    @property
    def ask(self) -> Callable[[str, Mapping[str, Any]], Awaitable[Mapping[str, Any]]] | None:
        """Asks the client of the run, or the person who uses it; `None` if it has no client. See `Client.ask`: what is
        asked is shown as plain text, and must hold no credential. A block of `call.clock.still()` stops the time of
        the run for other waits."""
        ...

    def can_wait(self, until: float = 0.0) -> bool:
        """Whether the run can be suspended now, and resumed later: whether `wait` suspends it. `until`, in seconds
        since the epoch: whether it can still be resumed then."""
        ...

    async def wait(self, wait: Wait) -> NoReturn:
        """Suspend the run, for a call of it that is not made now: once all its calls under way have ended or wait, its
        sandbox ends, and what was done is stored. Does not return: the call is made when the run is resumed, and goes
        through all layers again.

        Raises: LimitExceeded if the run cannot be suspended (see `can_wait`): that is the refusal of the call.
        """
        ...

    def save_text(self, text: str) -> Artefact:
        """Save a text for the principal of the run, who reads it by its URI: what an answer only refers to."""
        ...

    def consume(self, id: str) -> bool:
        """Use up what counts once, such as a person's approval of one call. Returns: whether this run has not done so
        before, be it before it was suspended."""
        ...


class Proceed(Protocol):
    """Makes a call, or lets the next layer stand around it."""

    async def __call__(self, *, confirmed: bool = False) -> Reply:
        """The reply. `confirmed`: a person has approved of the call, whose `decision` wants that; it is decided once
        more. Without anybody who says so, such a call is refused."""
        ...


@dataclass(frozen=True, slots=True)
class CallLayer:
    """What stands around calls that are bound, permitted and about to be made.

    `around(run, call, proceed)` returns the reply, or raises a DoorwardError that refuses the call; whatever else it
    raises refuses it, too, with the name of the plugin. It gets the call sealed: what was decided is what goes out.
    What `proceed` returns is checked, scrubbed and bounded, and so is what the layer returns in its place. `applies` is
    asked once for each function. The layers named in `after` stand outside of this one, those in `before` inside; a
    name that no layer has counts for nothing. `waits`: it may suspend a run (`Run.wait`), so that agents are told how a
    run is resumed.
    """

    name: str
    around: Callable[[Run, Call, Proceed], Awaitable[Reply]]
    applies: Callable[[Function], bool] = lambda function: True
    after: Sequence[str] = ()
    before: Sequence[str] = ()
    waits: bool = False


@dataclass(frozen=True, slots=True)
class RunLayer:
    """What stands around runs: those of programs, and of single calls that count as one.

    `around(run, proceed)` returns the outcome; a DoorwardError becomes one, and so does whatever else it raises, with
    the name of the plugin. `after` and `before` are as those of a `CallLayer`.
    """

    name: str
    around: Callable[[Run, Callable[[], Awaitable[Outcome]]], Awaitable[Outcome]]
    after: Sequence[str] = ()
    before: Sequence[str] = ()
