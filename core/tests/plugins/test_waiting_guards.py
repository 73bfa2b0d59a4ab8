"""Guards of programs that are `async def`: awaited within the time of the run, and isolated like any other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import anyio
import pytest
import structlog
from doorward import Finding, Program, ServerError, hookimpl
from doorward.plugins import hookspecs

from ..conftest import CONFIG

pytestmark = pytest.mark.anyio


class Waits:
    """A guard that asks something, and answers what it is made with."""

    def __init__(self, answer: Any = (), *, before: Callable[[], Any] = anyio.lowlevel.checkpoint) -> None:
        self.asked: list[Program] = []
        self._answer, self._before = answer, before

    @hookimpl
    async def guard_program(self, program: Program) -> Sequence[Finding]:
        self.asked.append(program)
        await self._before()
        if isinstance(self._answer, Exception):
            raise self._answer
        return self._answer  # type: ignore[no-any-return]


class Refuses:
    @hookimpl
    def guard_program(self, program: Program) -> Sequence[Finding]:
        return [Finding("first", 1), Finding("second", 2, "Mend both."), Finding("third", refuse=False)]


def configured(host: Any, config: str = CONFIG, **things: Any) -> Any:
    for name, thing in things.items():
        host.install("plugin", name, thing)
    return host.gateway(config.replace("plugins = []", f"plugins = {[*things]}"))


async def test_it_refuses_and_advises(doorward_host: Any) -> None:
    """What it finds counts like what any guard finds."""
    guard = Waits([Finding("hm", 1, refuse=False)])
    async with configured(doorward_host, guard=guard) as gate:
        outcome = await gate.execute("1 + 1")
        assert (outcome.value, outcome.notes) == (2, ("line 1: hm.",))
    async with configured(doorward_host, strict=Waits([Finding("no", 1, "Stop it.")])) as gate:
        error = (await gate.execute("1 + 1")).error
    assert (error.kind, error.message, error.line) == ("guard", "no", 1)
    assert error.hint == "Stop it. (plugin 'strict' of test-plugin 1.0)"


async def test_it_is_not_asked_about_a_program_that_is_refused_anyway(doorward_host: Any) -> None:
    """Whatever the order of the plugins; and the author reads all that is refused, not the first of it."""
    guard = Waits([Finding("no")])
    async with configured(doorward_host, guard=guard, refuses=Refuses()) as gate:
        outcome = await gate.execute("1 + 1")
    assert outcome.error.message == "first"
    assert outcome.notes == ("line 2: second. Mend both.", "third.")
    assert guard.asked == []


@pytest.mark.parametrize(
    ("guard", "message"),
    [
        (Waits(KeyError("s3cret")), "'guard' of test-plugin 1.0 failed in guard_program: KeyError"),
        (Waits("no"), "'guard' of test-plugin 1.0 failed in guard_program: it answered str, not"),
        (Waits(ServerError("it is closed")), "it is closed"),
    ],
)
async def test_one_that_fails_refuses(doorward_host: Any, guard: Any, message: str) -> None:
    """Fail closed, by the name of the guard, and without a secret; an error of Doorward's own is told as it is."""
    async with configured(doorward_host, guard=guard) as gate:
        outcome = await gate.execute("1 + 1")
    assert not outcome.ok
    assert message in outcome.error.message
    assert "s3cret" not in str(outcome)


@pytest.mark.slow
async def test_one_that_hangs_ends_with_the_run(doorward_host: Any) -> None:
    """The time of the run is its time, too; meanwhile others run."""
    guard = Waits(before=anyio.sleep_forever)
    async with configured(doorward_host, guard=guard) as gate:
        error = (await gate.execute("1 + 1", timeout=0.05)).error
        assert (error.kind, error.type) == ("limit", "TimeoutError")
        with anyio.move_on_after(0.05) as scope:  # its client goes
            await gate.execute("1 + 1")
        assert scope.cancelled_caught
        guard._before = anyio.lowlevel.checkpoint
        assert (await gate.execute("1 + 1")).ok


@pytest.mark.slow
async def test_programs_wait_side_by_side(doorward_host: Any) -> None:
    """A guard that waits for one program is asked about the next."""
    both = anyio.Event()
    guard = Waits()

    async def meet() -> None:
        if len(guard.asked) == 2:
            both.set()
        await both.wait()

    guard._before = meet
    async with configured(doorward_host, guard=guard) as gate, anyio.create_task_group() as tasks:
        tasks.start_soon(gate.execute, "1")
        tasks.start_soon(gate.execute, "2")
    assert sorted(program.code for program in guard.asked) == ["1", "2"]


async def test_a_wrapper_passes_it_on(doorward_host: Any) -> None:
    """A wrapper gets the answers of others, and what still waits, and returns both."""

    class Wraps:
        @hookimpl(wrapper=True)
        def guard_program(self, program: Program) -> Any:
            return [*(yield), [Finding("mine", refuse=False)]]

    async with configured(doorward_host, wraps=Wraps(), guard=Waits([Finding("late", refuse=False)])) as gate:
        outcome = await gate.execute("1 + 1")
    assert outcome.notes == ("mine.", "late.")


async def test_a_program_says_that_it_continues_a_session(doorward_host: Any) -> None:
    """All but the first of a session, whose names a guard cannot know; those that were refused count, too."""
    guard = Waits()
    async with configured(doorward_host, guard=guard) as gate:
        await gate.execute("a = 1")
        session = (await gate.execute("b = 1", session_id="new")).session_id
        assert (await gate.execute("b", session_id=session)).value == 1
        await gate.execute("b = 2", session_id="new")
    assert [(program.code, program.continues) for program in guard.asked] == [
        ("a = 1", False), ("b = 1", False), ("b", True), ("b = 2", False),
    ]  # fmt: skip


async def test_what_follows_a_compile_has_an_end(doorward_host: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A plugin that never answers holds no compile up: the others' warnings are there, and the log names it. A dry run
    asks nobody, as there is nothing to keep up to date."""
    monkeypatch.setattr(hookspecs, "WAIT_SECONDS", 0.05)
    asked: list[str] = []

    class Hangs:
        @hookimpl
        async def compile_ended(self, server: str) -> Sequence[str]:
            asked.append(server)
            await anyio.sleep_forever()
            raise AssertionError

    class Says:
        @hookimpl
        async def compile_ended(self, server: str) -> Sequence[str]:
            return ["the guide is old"]

    class Now:
        @hookimpl
        def compile_ended(self, server: str) -> Sequence[str]:
            return ["and short"]

    async with configured(doorward_host, hangs=Hangs(), says=Says(), now=Now()) as gate:
        await gate.ready()
        del asked[:]
        await gate.compile(dry_run=True, force=True)
        assert asked == []
        with structlog.testing.capture_logs() as logs:
            report = (await gate.compile())["weather"]
    assert report.warnings == ["the guide is old", "and short"]
    assert asked == ["weather"]
    (line,) = [line for line in logs if line["event"] == "plugin_failed"]
    assert (line["plugin"], line["hook"], line["why"]) == ("hangs", "compile_ended", "TimeoutError")
