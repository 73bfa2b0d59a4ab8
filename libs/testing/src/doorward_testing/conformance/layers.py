"""Conformance tests of layers: inherit `LayerConformance`, and say which plugin it is, and what it lets pass."""

from __future__ import annotations

import asyncio
import contextlib
import copy
import inspect
import threading
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, NoReturn

import pytest
from doorward import (
    ApiError,
    Artefact,
    Call,
    DoorwardError,
    Failure,
    LimitExceeded,
    Outcome,
    Program,
    Reply,
    RunState,
    UnknownName,
    Wait,
)

from doorward_testing.conformance.base import fail, only, origin, require
from doorward_testing.conformance.hooks import NAME, HookConformance, ask, odd_calls, odd_outcomes

Layered = str | Program | Call
"""What a layer stands around: a run of a program (or of its code), or a call."""


class Suspended(BaseException):
    """A `SampleRun` was suspended: it waits for `wait`."""

    def __init__(self, wait: Wait) -> None:
        super().__init__(wait.what)
        self.wait = wait


@dataclass
class SampleRun:
    """A run for a layer: a `doorward.Run` whose notes can be read. It can be suspended only if it `suspends`."""

    program: Program
    goes_on: bool = False
    suspends: bool = False
    session: str = ""
    ask: Any = None
    state: RunState = field(default_factory=RunState)
    notes: list[str] = field(default_factory=list)
    consumed: set[str] = field(default_factory=set)

    def is_out(self, call: Call) -> bool:
        return True

    async def read_beside(self, call: Call, function: str, arguments: Mapping[str, Any]) -> Any:
        raise UnknownName(f"there is no function {function!r}")

    def note(self, text: str, *, about: str = "") -> None:
        self.notes.append(text)

    def can_wait(self, until: float = 0.0) -> bool:
        return self.suspends

    async def wait(self, wait: Wait) -> NoReturn:
        """Raises: Suspended in the place of being cancelled; LimitExceeded if the run cannot be suspended."""
        if not self.suspends:
            raise LimitExceeded(f"{wait.what}; this run cannot wait for it")
        raise Suspended(wait)

    def save_text(self, text: str) -> Artefact:
        return Artefact(f"doorward://results/{len(text)}", "text/plain", len(text))

    def consume(self, id: str) -> bool:
        new = id not in self.consumed
        self.consumed.add(id)
        return new


def run_of(program: str | Program = "", /, *, goes_on: bool = False, suspends: bool = False) -> SampleRun:
    """A run of a program, or of its code, to try a layer with."""
    made = Program(program, principal="alice", run="run") if isinstance(program, str) else program
    return SampleRun(made, goes_on, suspends)


class LayerConformance(HookConformance):
    """For layers around calls, around runs, or both. Say `plugin`; override `passed`; `refused`, if it refuses
    anything."""

    hooks = ("call_layers", "run_layers")
    seconds = 10.0
    """How long it may take for anything."""
    blocks = 2.0
    """How long the event loop may stand still: meanwhile nobody else is served."""
    replaces_errors: ClassVar[bool] = False
    """Whether it may answer in the place of an error."""

    def passed(self) -> Sequence[Layered]:
        """What it lets pass: calls, and programs that are run."""
        self.say('def passed(self): return [call_of("notes.find"), "1 + 1"]  # what it must let pass')

    def refused(self) -> Sequence[Layered]:
        """What it refuses, once all of `passed` has passed."""
        return ()

    @pytest.mark.anyio
    async def test_its_layers(self, host: Any) -> None:
        """Each has a name of its own, lists of names for its order, an `async def`, and says to what it applies."""
        async with self.opened(host) as plugin:
            found = {hook: self._layers(plugin, hook) for hook in self.hooks}
            require(any(found.values()), "it has no layer here: say in `settings` or `owned` what it has one for")
            for hook, layers in found.items():
                names = [layer.name for layer in layers]
                require(len({*names}) == len(names), f"{hook} answered two layers of one name: {names}")
                for layer in layers:
                    about = f"the layer {layer.name!r} of {hook}"
                    named = isinstance(layer.name, str) and layer.name
                    require(named, f"{about} has no name: others say by it whom they stand around")
                    for order in (layer.after, layer.before):
                        fine = not isinstance(order, str) and all(isinstance(name, str) for name in order)
                        require(fine, f'{about} has {order!r} for its order: write a list of names, ["budgets"]')
                    require(inspect.iscoroutinefunction(layer.around), f"{about}: its `around` is `async def`")
            for call in odd_calls():
                for layer in found["call_layers"]:
                    with only((), f"`applies` of {layer.name!r}", "Answer True or False: to fail refuses the call."):
                        applies = layer.applies(call.function)
                    require(isinstance(applies, bool), f"`applies` of {layer.name!r} answered {applies!r}, no bool")

    @pytest.mark.anyio
    async def test_it_lets_pass(self, host: Any) -> None:
        """What it should, unchanged, and made at most once."""
        async with self.opened(host) as plugin:
            require(self.passed(), "`passed` is empty: say at least one call, or one program, that it lets pass")
            for given in self.passed():
                await self._passes(plugin, given)

    @pytest.mark.anyio
    async def test_it_refuses(self, host: Any) -> None:
        """What it should, before it is made, with a reason that its reader understands."""
        if not self.refused():
            pytest.skip("it refuses nothing")
        async with self.opened(host) as plugin:
            for given in self.passed():
                await self._passes(plugin, given)
            for given in self.refused():
                inside = Inside(given)
                try:
                    await self._through(plugin, given, inside)
                except DoorwardError as error:
                    require(error.message.strip(), f"it refused {_shown(given)} without a reason")
                except Exception as error:
                    what = f"it refused {_shown(given)} with {type(error).__name__}: {error}"
                    fail(f"{what}. Raise doorward.Refused, or another DoorwardError.{origin(error)}")
                else:
                    fail(f"it let pass {_shown(given)}")
                require(not inside.made, f"it refused {_shown(given)} after it had been made")

    @pytest.mark.anyio
    async def test_errors_pass(self, host: Any) -> None:
        """An error of what it stands around is what the program gets."""
        for given in self.passed():
            async with self.opened(host) as plugin:
                inside = Inside(given, error=ApiError("404: no such thing", status=404))
                try:
                    answer = await self._through(plugin, given, inside)
                except Exception as error:
                    require(error is inside.error, f"it made {type(error).__name__} of an ApiError: let it pass")
                    continue
                swallowed = isinstance(given, Call) and inside.made and not self.replaces_errors
                require(
                    not swallowed, f"it answered {answer!r:.60} for an error: say replaces_errors = True, or raise it"
                )

    @pytest.mark.anyio
    async def test_cancellation_passes(self, host: Any) -> None:
        """Whoever leaves, leaves at once, and a call that is cut off is not answered."""
        for given in self.passed():
            async with self.opened(host) as plugin:
                inside = Inside(given, waits=True)
                work = asyncio.ensure_future(self._through(plugin, given, inside))
                begun = asyncio.ensure_future(inside.begun.wait())
                await asyncio.wait({work, begun}, timeout=self.seconds, return_when=asyncio.FIRST_COMPLETED)
                begun.cancel()
                if work.done():  # it answered itself
                    continue
                work.cancel()
                await asyncio.wait({work}, timeout=self.seconds)
                require(work.done(), f"it did not end when {_shown(given)} was cancelled")
                with contextlib.suppress(asyncio.CancelledError, Exception):
                    fail(f"it answered {work.result()!r:.60} when it was cancelled: let CancelledError pass")
                require(work.cancelled(), "it made another error of CancelledError: let it pass")

    @pytest.mark.anyio
    async def test_it_raises_nothing_odd(self, host: Any) -> None:
        """Whatever is called, and however a run ends: it lets that pass, or refuses it with a reason."""
        async with self.opened(host) as plugin:
            odd: list[tuple[Layered, Any]] = [(call, Reply(call.arguments.get("value"))) for call in odd_calls()]
            odd += [("1 + 1", outcome) for outcome in odd_outcomes()]
            for given, answer in odd:
                doing = f"the layer, around {_shown(given)},"
                with only(DoorwardError, doing, "Raise doorward.Refused, or another DoorwardError."):
                    found = await self._through(plugin, given, Inside(given, answer=answer))
                    kind = type(answer)
                    require(
                        isinstance(found, kind), f"it answered {found!r:.60} for {_shown(given)}, no {kind.__name__}"
                    )

    @pytest.mark.anyio
    async def test_it_does_not_block(self, host: Any) -> None:
        """It waits by `await`, and does what takes long in a thread."""
        async with self.opened(host) as plugin:
            worst, began = 0.0, time.monotonic()

            async def beat() -> None:
                nonlocal worst, began
                while True:
                    await asyncio.sleep(0.005)
                    now = time.monotonic()
                    worst, began = max(worst, now - began), now

            beating = asyncio.ensure_future(beat())
            for given in self.passed():
                await self._through(plugin, given, Inside(given))
                await asyncio.sleep(0.01)
            beating.cancel()
            require(worst < self.blocks, f"the event loop stood still for {worst:.1f} s: await, or use a thread")

    @pytest.mark.anyio
    async def test_nothing_is_left(self, host: Any) -> None:
        """Once it is closed, no task and no thread of it goes on."""
        tasks, threads = asyncio.all_tasks(), {*threading.enumerate()}
        async with self.opened(host) as plugin:
            for given in self.passed():
                await self._through(plugin, given, Inside(given))
        await asyncio.sleep(0.05)
        left = [task.get_name() for task in asyncio.all_tasks() - tasks]
        left += [each.name for each in {*threading.enumerate()} - threads if not each.name.startswith("AnyIO")]
        require(not left, f"these go on after `close`: {', '.join(left)}")

    @pytest.mark.anyio
    async def test_it_works_in_a_gateway(self, doorward_host: Any) -> None:
        """It is loaded and stands around a run and a call, which pass or are refused with a reason."""
        doorward_host.install("plugin", NAME, self.plugin)
        config: dict[str, Any] = {"executor": "inprocess", "cache": "none", "plugins": [NAME]}
        for name, (kind, value) in self.owned().items():
            doorward_host.entries = [e for e in doorward_host.entries if (e.kind, e.name) != ("table", name)]
            doorward_host.install("table", name, kind)
            config[name] = value
        config |= {"hooks": {NAME: self.settings(doorward_host)}} if self.settings(doorward_host) else {}
        async with doorward_host.gateway(config | {"servers": {"weather": {"source": "fake"}}}) as gate:
            call = gate.answer("weather.get_forecast", {"city": "Oslo"})
            for outcome in (await gate.execute("1 + 1"), await call):
                defect = outcome.error and outcome.error.type in ("PluginError", "TypeError")
                require(not defect, f"it failed in a gateway: {outcome.error}")

    async def _passes(self, plugin: Any, given: Layered) -> None:
        before, inside = copy.deepcopy(_parts(given)), Inside(given)
        with only((), f"the layer, around {_shown(given)},", "Say only in `passed` what it lets pass."):
            answer = await self._through(plugin, given, inside)
        kind = type(inside.answer)
        require(isinstance(answer, kind), f"it answered {answer!r:.60} for {_shown(given)}: return what `proceed` gave")
        require(inside.made < 2, f"it proceeded {inside.made} times with {_shown(given)}: a gateway refuses the second")
        require(before == _parts(given), f"it changed {_shown(given)}: what was decided is what goes out")

    def _layers(self, plugin: Any, hook: str) -> list[Any]:
        return list(ask(plugin, hook) or ()) if hook in self.implemented else []

    async def _through(self, plugin: Any, given: Layered, inside: Callable[[], Awaitable[Any]]) -> Any:
        """What comes of a call or a run with its layers around it, of which the first is the outermost."""
        if isinstance(given, Call):
            run, call = run_of(), given
            layers = [layer for layer in self._layers(plugin, "call_layers") if layer.applies(given.function)]
            around = [lambda proceed, one=layer: one.around(run, call, proceed) for layer in layers]
        else:
            run = run_of(given)
            around = [
                lambda proceed, one=layer: one.around(run, proceed) for layer in self._layers(plugin, "run_layers")
            ]

        async def through(rest: Sequence[Callable[[Any], Awaitable[Any]]]) -> Any:
            return await rest[0](lambda *, confirmed=False: through(rest[1:])) if rest else await inside()

        return await asyncio.wait_for(
            through(around), None if isinstance(inside, Inside) and inside.waits else self.seconds
        )


class Inside:
    """What a layer stands around: it counts how often it is made."""

    def __init__(
        self, given: Layered, *, answer: Any = None, error: Exception | None = None, waits: bool = False
    ) -> None:
        failed = Outcome(False, error=Failure("program", "ApiError", str(error))) if error else None
        usual = Reply(["milk"]) if isinstance(given, Call) else failed or Outcome(True, ["milk"])
        self.answer = usual if answer is None else answer
        self.error = error if isinstance(given, Call) else None
        self.waits, self.made, self.begun = waits, 0, asyncio.Event()

    async def __call__(self) -> Any:
        self.made += 1
        self.begun.set()
        if self.waits:
            await asyncio.Event().wait()
        if self.error is not None:
            raise self.error
        return self.answer


def _parts(given: Layered) -> Any:
    return dict(given.arguments) if isinstance(given, Call) else given


def _shown(given: Layered) -> str:
    if isinstance(given, Call):
        return f"the call {given.function.qualified}({dict(given.arguments)!r:.60})"
    return f"a run of {(given if isinstance(given, str) else given.code)[:60]!r}"
