"""Programs that are kept and run again, in whatever cache; and caches that fail, block or do not end."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import anyio
import pytest
import structlog
from doorward import Compiled, Function, Program, Settings, hookimpl
from doorward.plugins import block_watch, failures
from doorward.sandboxing import KEPT_PROGRAMS, CachedProgram
from doorward_testing.samples import CONFIG as WITHOUT
from doorward_testing.samples import MemoryCache, Weather
from doorward_testing.scripted import Scripted

pytestmark = pytest.mark.anyio

CONFIG = WITHOUT.replace('"none"', '"memory"')
CALL = "result = await weather.get_forecast(city='Oslo')"


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def keeping(doorward_host: Any) -> Any:
    doorward_host.install_real("kept_programs")
    doorward_host.install("cache", "memory", MemoryCache)
    return doorward_host


def keeps(gate: Any) -> Any:
    """What keeps the programs of a gateway."""
    return gate.services[KEPT_PROGRAMS]


async def until(true: Callable[[], Any]) -> None:
    with anyio.fail_after(100):
        while not true():
            await anyio.sleep(0.02)


async def test_run_again_with_other_parameters(keeping: Any) -> None:
    """run_cached_code takes new values as data, by name and type, and keeps one id; the description given with the
    first run belongs to all of them. CONTRACT: CAC-01, CAC-02, EXE-22."""
    async with keeping.gateway(CONFIG) as gate:
        gate.plugins.manager.register(described := Described())
        first = await gate.execute(
            'city: str = "Oslo"\nresult = await weather.get_forecast(city=city)', description="forecast by city"
        )
        assert json.dumps({"city": "Oslo"}) in first.next
        again = await gate.run_cached(first.cache_id, {"city": "C:\\new\n\"'"})
        assert again.value["city"] == "C:\\new\n\"'"
        assert described.told == ["forecast by city"] * 2
        assert (
            again.next == f"run_cached_code({json.dumps(first.cache_id)}, {json.dumps({'city': again.value['city']})})"
        )
        for params, said in [
            ({"citty": "x"}, "did you mean 'city'"),
            ({"city": 3}, "is of type string, got integer"),
            ({"city = 1; import os": 1}, "no parameter"),
        ]:
            refused = await gate.run_cached(first.cache_id, params)
            assert said in refused.error.message
        assert (await gate.run_cached("guess")).error.type == "UnknownName"
        assert (await gate.run_cached(first.cache_id, principal="mallory")).error.type == "UnknownName"


async def test_what_is_run_again_names_all_its_parameters(keeping: Any) -> None:
    """Large ones by name and type, and none that the program only gathers."""
    async with keeping.gateway(CONFIG) as gate:
        code = f"ids = {list(range(100))}\nn = 1\nseen = []\nseen.append(n)\n[ids[0], n]"
        first = await gate.execute(code)
        assert first.next == f'run_cached_code("{first.cache_id}", {{"n": 1}})  # and ids: array'
        again = await gate.run_cached(first.cache_id, {"ids": [7], "n": 2})
        assert (again.value, again.next) == ([7, 2], f'run_cached_code("{first.cache_id}", {{"ids": [7], "n": 2}})')
        assert "seen" in (await gate.run_cached(first.cache_id, {"seen": []})).error.message


async def test_kept_program_is_bound_to_its_functions(keeping: Any) -> None:
    """A kept program is refused once a function that it uses is gone or changed. CONTRACT: CAC-02."""
    async with keeping.gateway(CONFIG) as gate:
        kept = await gate.execute(CALL)
        gate.catalog.drop(["weather"])
        refused = await gate.run_cached(kept.cache_id)
        assert "weather.get_forecast: not there" in refused.error.message


async def test_a_kept_program_is_no_larger_than_may_be_sent(keeping: Any) -> None:
    """Whoever wrote it: reading one of megabytes would keep everybody waiting."""
    async with keeping.gateway(CONFIG) as gate:
        kept = await gate.execute("result = 1")
        made = keeps(gate)._cache
        made.kept[kept.cache_id] = replace(made.kept[kept.cache_id], code="result = 1" + " " * gate.limits.code_bytes)
        assert (await gate.run_cached(kept.cache_id)).error.type == "UnknownName"


async def test_a_changed_definition_is_a_change(keeping: Any) -> None:
    """A kept program is refused when only a schema that its function refers to has changed. CONTRACT: CAC-02."""
    issue: dict[str, Any] = {"type": "object"}

    class Referring(Weather):
        async def fingerprint(self) -> str:
            return json.dumps(issue)

        async def compile(self) -> Compiled:
            get = Function(
                self.name,
                "get_forecast",
                "g",
                parameters={"type": "object", "properties": {"city": {"$ref": "#/$defs/I"}}},
            )
            return Compiled([get], {"I": dict(issue)})

    keeping.install("source", "referring", Referring)
    async with keeping.gateway(CONFIG.replace('"fake"', '"referring"')) as gate:
        kept = await gate.execute("await weather.get_forecast(city={})")
        assert (await gate.run_cached(kept.cache_id)).ok
        issue["type"] = "string"
        await gate.compile()
        assert "changed" in (await gate.run_cached(kept.cache_id)).error.message


async def test_running_again_changes_nothing_that_is_kept(keeping: Any) -> None:
    """A program that is run with other parameters keeps its own. CONTRACT: CAC-02."""
    async with keeping.gateway(CONFIG) as gate:
        kept = await gate.execute('city = "Oslo"\nresult = city')
        assert (await gate.run_cached(kept.cache_id, {"city": "Rome"})).cache_id == kept.cache_id
        assert (await gate.run_cached(kept.cache_id)).value == "Oslo"


async def test_a_program_that_a_plugin_fails_to_judge_is_not_kept(keeping: Any) -> None:
    """The run succeeded all the same, and says that it is not kept."""

    class Bad:
        @hookimpl
        def keep_program(self, program: Program) -> bool:
            raise KeyError

    keeping.install("plugin", "bad", Bad())
    async with keeping.gateway(CONFIG.replace("[]", '["bad"]')) as gate:
        outcome = await gate.execute("1")
    assert outcome.ok
    assert outcome.cache_id == ""
    assert "could not be kept" in outcome.notes[0]


async def test_a_kept_program_stays_in_its_language(keeping: Any) -> None:
    """`run_cached_code` runs it there, with other parameters; the same text in another language is another program;
    functions that it called are remembered."""
    keeping.install("executor", "scripted", Scripted)
    async with keeping.gateway(CONFIG.replace('"inprocess"', '["inprocess", "scripted"]')) as gate:
        code = 'const days = 3\nconst found = await weather.get_forecast({"city": "Oslo"})\ndays'
        kept = await gate.execute(code, language="typescript")
        assert kept.next == f'run_cached_code("{kept.cache_id}", {{"days": 3}})'
        assert (await gate.run_cached(kept.cache_id, {"days": 5})).value == 5
        wrong = (await gate.run_cached(kept.cache_id, {"days": "x"})).error
        assert wrong is not None
        assert "parameter 'days' is of type integer, got string" in wrong.message
        stored = keeps(gate)._cache.kept[kept.cache_id]
        assert (stored.language, [*stored.uses]) == ("typescript", ["weather.get_forecast"])
        ids = {(await gate.execute("1", language=language)).cache_id for language in ("python", "ts", "js")}
        assert len(ids) == 3


class Described:
    """What each run is described as."""

    def __init__(self) -> None:
        self.told: list[str] = []

    @hookimpl
    def run_started(self, program: Any) -> None:
        self.told.append(program.description)


class Stuck:
    """A cache that does not come to an end."""

    Settings = Settings
    asked = 0

    def __init__(self, context: Any) -> None:
        self.free = anyio.Event()
        type(self).here = self

    here: Any = None

    async def put(self, program: CachedProgram) -> str:
        type(self).asked += 1
        await self.free.wait()
        return program.cache_id

    async def get(self, cache_id: str, principal: str) -> CachedProgram | None:
        raise RuntimeError("a defect")

    async def close(self) -> None:
        pass


@pytest.mark.slow
async def test_keeping_holds_no_answer(keeping: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """An answer does not wait for a cache that does not answer, and says that the program was not kept; the next ones
    do not even ask."""
    monkeypatch.setattr("doorward_cache_sqlite.kept_programs.KEEP_WAIT_SECONDS", 0.05)
    keeping.install("cache", "stuck", Stuck)
    Stuck.asked = 0
    async with keeping.gateway(CONFIG.replace('"memory"', '"stuck"')) as gate:
        for _ in range(5):
            with anyio.fail_after(60):
                outcome = await gate.execute("1 + 1")
            assert (outcome.value, outcome.cache_id) == (2, "")
            assert "busy" in outcome.notes[-1]
        assert Stuck.asked == 1
        Stuck.here.free.set()
        await until(lambda: not keeps(gate)._pending)
        assert (await gate.execute("1 + 1")).cache_id
        error = (await gate.run_cached("x")).error
        assert error.kind == "config"


@pytest.mark.slow
async def test_a_cache_that_is_quick_is_not_waited_for(keeping: Any) -> None:
    """Once it has kept a program under the id that it was given, later answers have their ids before it is done; whoever
    runs such a program waits until it is there."""
    keeping.install("cache", "stuck", Stuck)
    async with keeping.gateway(CONFIG.replace('"memory"', '"stuck"')) as gate:
        first = anyio.Event()

        async def begin() -> None:
            assert (await gate.execute("1 + 1")).cache_id
            first.set()

        async with anyio.create_task_group() as group:
            group.start_soon(begin)
            await until(lambda: bool(keeps(gate)._pending))
            Stuck.here.free.set()
            await first.wait()
        Stuck.here.free = anyio.Event()
        with anyio.fail_after(60):
            later = await gate.execute("2 + 2")
        assert later.cache_id
        assert later.cache_id in keeps(gate)._pending
        assert (await gate.execute("2 + 2")).cache_id == later.cache_id
        Stuck.here.free.set()
        await until(lambda: not keeps(gate)._pending)


@pytest.mark.slow
async def test_machines_that_share_a_store_wait_for_it(keeping: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """There an id is only given for what is kept: the next request may come to another machine, or this one die."""
    keeping.install("cache", "stuck", Stuck)
    async with keeping.gateway(CONFIG.replace('"memory"', '"stuck"')) as gate:
        monkeypatch.setattr(type(gate.store), "distributed", True, raising=False)
        keeps(gate)._quick = True
        answered: list[str] = []

        async def run(code: str) -> None:
            answered.append((await gate.execute(code)).cache_id)

        async with anyio.create_task_group() as group:
            for code in ("1 + 1", "2 + 2"):
                group.start_soon(run, code)
            await until(lambda: len(keeps(gate)._pending) == 2)
            assert answered == []
            Stuck.here.free.set()
        assert all(answered)


class Mute(Exception):
    """Fails when it is asked what it is."""

    def __str__(self) -> str:
        raise RuntimeError("not even this")

    __repr__ = __str__


async def served(keeping: Any, kind: type, code: str = CALL) -> tuple[list[Any], list[Any]]:
    """The outcomes of a program and of a kept one, and what the log has of the cache."""
    keeping.install("cache", "mine", kind, distribution="acme", version="2.1")
    with structlog.testing.capture_logs() as logs:
        async with keeping.gateway(CONFIG.replace('"memory"', '"mine"')) as gate:
            outcome = await gate.execute(code)
            heard = [outcome, await gate.run_cached(outcome.cache_id or "x")]
    return heard, [line for line in logs if "acme 2.1" in repr(line)]


def answering(odd: Any, *, late: bool) -> Callable[..., Any]:
    """A method that raises this, or answers it."""

    def now(*_: Any) -> Any:
        if isinstance(odd, type):
            raise odd
        return odd

    async def awaited(*_: Any) -> Any:
        return now()

    return awaited if late else now


ODD = [SystemExit, GeneratorExit, asyncio.CancelledError, StopIteration, RecursionError, Mute]


@pytest.mark.slow
@pytest.mark.parametrize("odd", ODD)
@pytest.mark.parametrize("method", ["__init__", "put", "get", "close"])
async def test_a_cache_ends_nothing_but_itself(keeping: Any, method: str, odd: type[BaseException]) -> None:
    """Whatever its methods raise, programs run; who runs one again is told, or the log has it."""
    kind = type("Odd", (MemoryCache,), {method: answering(odd, late=method != "__init__")})
    (outcome, again), logs = await served(keeping, kind)
    assert outcome.value["high"] == 20.5
    what = "its constructor" if method == "__init__" else method
    assert f"of acme 2.1 failed in {what}" in f"{again.error}" or any(
        what in (line.get("method"), *str(line.get("error")).split()) or f"failed in {what}" in repr(line)
        for line in logs
    )
    assert (outcome.cache_id == "") is (method in ("__init__", "put"))


@pytest.mark.parametrize(("method", "wanted"), [("put", "str"), ("get", "CachedProgram")])
async def test_an_answer_of_another_type_is_named(keeping: Any, method: str, wanted: str) -> None:
    """With what it should be."""
    (outcome, again), logs = await served(keeping, type("Odd", (MemoryCache,), {method: answering({}, late=True)}))
    assert outcome.value["high"] == 20.5
    assert f"failed in {method}: it answered dict, not {wanted}" in f"{again.error}{logs}"


async def test_an_object_of_another_class_is_refused(keeping: Any) -> None:
    """A class may make anything."""
    kind = type("Odd", (MemoryCache,), {"__new__": lambda cls, context: 5})
    (outcome, again), _ = await served(keeping, kind)
    assert outcome.value["high"] == 20.5
    assert "cache 'mine' of acme 2.1 failed in its constructor: it answered int" in again.error.message


@pytest.mark.slow
async def test_one_that_hangs_when_it_is_closed_keeps_nobody(keeping: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A gateway ends all the same, and the log says who did not."""
    monkeypatch.setattr(failures, "CLOSE_SECONDS", 0.05)

    async def hangs(self: Any) -> None:
        await asyncio.Event().wait()

    with anyio.fail_after(60):
        _, logs = await served(keeping, type("Odd", (MemoryCache,), {"close": hangs}))
    assert [line["why"] for line in logs] == ["TimeoutError"]


@pytest.mark.slow
async def test_one_that_blocks_is_named(keeping: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """While it blocks, with its distribution and its method."""
    named, told = threading.Event(), []

    class Log:
        def warning(self, event: str, **values: Any) -> None:
            told.append((values["distribution"], values["plugin"], values["method"]))
            named.set()

    monkeypatch.setattr(block_watch, "LOOK_SECONDS", 0.001)
    monkeypatch.setattr(block_watch, "BLOCKED_SECONDS", 0.2)
    monkeypatch.setattr(block_watch, "seldom", Log())

    class Blocks(MemoryCache):
        async def put(self, program: CachedProgram) -> str:
            named.wait(60)
            return await super().put(program)

    (outcome, _), _ = await served(keeping, Blocks)
    assert outcome.ok
    assert set(told) == {("acme 2.1", "mine", "put")}


async def test_a_hook_says_what_is_kept(keeping: Any) -> None:
    """An answer that is none is told, and the program is not kept."""

    class Bad:
        @hookimpl
        def keep_program(self, program: Program) -> Any:
            return "no"

    keeping.install("plugin", "bad", Bad(), distribution="acme", version="2.1")
    with structlog.testing.capture_logs() as logs:
        async with keeping.gateway(CONFIG.replace("[]", '["bad"]')) as gate:
            assert not (await gate.execute("1")).cache_id
    assert "acme 2.1 failed in keep_program: it answered str, not bool | None" in repr(logs)


async def test_without_it_nothing_is_kept(doorward_host: Any) -> None:
    """And who runs a program again is told what to install."""
    doorward_host.install("cache", "memory", MemoryCache)
    async with doorward_host.gateway(CONFIG) as gate:
        outcome = await gate.execute("1")
        assert (outcome.value, outcome.cache_id, outcome.notes, gate.keeps_programs) == (1, "", (), False)
        error = (await gate.run_cached("x")).error
    assert error.type == "Refused"
    assert "`pip install doorward-cache-sqlite` brings it." in error.hint
