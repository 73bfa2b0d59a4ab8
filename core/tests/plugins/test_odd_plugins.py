"""Plugins that raise what ends tasks and processes, or cannot even say what is wrong: each fails alone, and is named."""

from __future__ import annotations

import asyncio
import inspect
import itertools
import types
from collections.abc import Callable
from typing import Any

import anyio
import pydantic
import pytest
import structlog
from doorward import DoorwardError, Finding, PluginContext, ProgramResult, ServerError, Settings, hookimpl
from doorward.plugins import failures
from doorward.plugins.hook_answers import DECLARED

from ..conftest import CONFIG, InProcess, MemoryCache, Weather
from .conftest import Key, Keyed

pytestmark = pytest.mark.anyio

CALL = "await weather.get_forecast(city='Oslo')"
HIGH = {"city": "Oslo", "high": 20.5}
ANSWER = "'high': 20.5"
"""What only the answer of the call says: milliseconds may also be 20.5."""


class Mute(Exception):
    """Fails when it is asked what it is."""

    def __str__(self) -> str:
        raise RuntimeError("not even this")

    __repr__ = __str__


ODD = [SystemExit, GeneratorExit, asyncio.CancelledError, StopIteration, RecursionError, Mute]


def odd_ones(cases: list[Any]) -> list[Any]:
    """Each of these with two that are odd, in turn: what contains them is the same for all."""
    odd = itertools.cycle(ODD)
    return [(*case, next(odd)) for case in cases for _ in range(2)]


class Opens:
    def __init__(self, context: PluginContext) -> None: ...

    @hookimpl
    def run_finished(self) -> None: ...


def raising(odd: type[BaseException], *, late: bool) -> Callable[..., Any]:
    def now(*_: Any, **__: Any) -> Any:
        raise odd

    async def awaited(*_: Any, **__: Any) -> Any:
        raise odd

    return awaited if late else now


def hook(name: str, odd: type[BaseException]) -> Any:
    """A module with one hook."""
    scope = {"fails": raising(odd, late=False)}
    exec(f"def {name}({', '.join([*inspect.signature(DECLARED[name]).parameters][1:])}): fails()", scope)
    module = types.ModuleType("acme_hooks")
    setattr(module, name, hookimpl(scope[name]))
    return module


async def served(host: Any, kind: str, thing: Any) -> tuple[str, list[Any]]:
    """What a gateway says of a plugin while it serves two calls and a cached program, and what its log has."""
    host.install("source", "keyed", Keyed)
    host.install("auth", "key", Key)
    host.install("cache", "memory", MemoryCache)
    host.entries = [e for e in host.entries if (e.kind, e.name) != (kind, "mine")]
    host.install(kind, "mine", thing, distribution="acme", version="2.1")
    config = CONFIG.replace('"none"', '"memory"').replace('"fake"', '"keyed"\nauth = { type = "key" }')
    was = {"source": '"keyed"', "auth": '"key"', "executor": '"inprocess"', "cache": '"memory"', "plugin": "[]"}
    config = config.replace(was[kind], '["mine"]' if kind == "plugin" else '"mine"')
    heard: list[Any] = []
    with structlog.testing.capture_logs() as logs:
        try:
            async with host.gateway(config) as gate:
                gate.executors.describe()
                outcome = await gate.execute(CALL)
                heard.append(outcome)
                if outcome.cache_id:
                    heard.append(await gate.run_cached(outcome.cache_id))
                heard += [str(error) for error in gate.servers.broken.values()]
                assert (await gate.execute("1")).value == 1 or kind in ("executor", "plugin")
        except DoorwardError as error:
            heard.append(f"{error}")
    return repr(heard), logs


def is_named(heard: str, logs: list[Any], what: str) -> bool:
    """Whether somebody was told whose plugin failed, and in what."""
    told = [
        f"{line.get('distribution')} {line.get('plugin')} {line.get('hook') or line.get('method')}" for line in logs
    ]
    return f"of acme 2.1 failed in {what}" in heard or any("acme 2.1" in line and what in line for line in told)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "odd"),
    odd_ones([
        ("source_compiled",), ("auth_chosen",), ("guard_program",), ("guard_call",), ("change_result",), ("guard_result",),
        ("run_started",), ("run_finished",), ("call_finished",),
    ]),
)  # fmt: skip
async def test_a_hook_ends_nothing_but_itself(doorward_host: Any, name: str, odd: type[BaseException]) -> None:
    """Nothing passes that it should have judged, and what only listens changes nothing."""
    heard, logs = await served(doorward_host, "plugin", hook(name, odd))
    assert is_named(heard, logs, name)
    assert (ANSWER in heard) == (name in ("auth_chosen", "run_started", "run_finished", "call_finished"))
    assert "inside Doorward" not in heard


METHODS = [
    ("source", Keyed, ("__init__", "fingerprint", "compile", "call", "close")),
    ("auth", Key, ("__init__", "create_auth", "close")),
    ("executor", InProcess, ("__init__", "capabilities", "open", "close")),
    ("plugin", Opens, ("__init__", "open", "flush", "close")),
]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "base", "name", "odd"), odd_ones([(kind, base, name) for kind, base, names in METHODS for name in names])
)
async def test_a_driver_ends_nothing_but_itself(
    doorward_host: Any, kind: str, base: type, name: str, odd: type[BaseException]
) -> None:
    """Whatever its methods raise, whoever waits is told, and everything else is closed."""
    late = inspect.iscoroutinefunction(getattr(base, name, None)) or name in ("close", "open", "flush")
    heard, logs = await served(doorward_host, kind, type("Odd", (base,), {name: raising(odd, late=late)}))
    assert is_named(heard, logs, "its constructor" if name == "__init__" else name)


@pytest.mark.slow
async def test_who_is_cancelled_is_cancelled(doorward_host: Any) -> None:
    """A plugin's own cancellation is a failure of it; one of ours goes through it, even if it cancels, too."""
    with pytest.raises(failures.Unfit, match="CancelledError"), failures.contained():
        raise asyncio.CancelledError
    with anyio.move_on_after(0.01) as scope, failures.contained():
        await asyncio.sleep(100)
    assert scope.cancelled_caught
    with anyio.CancelScope() as outer:
        outer.cancel()
        with anyio.CancelScope(shield=True):
            with pytest.raises(failures.Unfit), failures.contained():
                raise asyncio.CancelledError
    with pytest.raises(KeyboardInterrupt), failures.contained():
        raise KeyboardInterrupt


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["source", "auth", "executor", "plugin"])
async def test_one_that_hangs_when_it_is_closed_keeps_nobody(
    doorward_host: Any, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A gateway ends all the same, and the log says who did not."""
    from doorward.plugins import lifetimes

    for module in (failures, lifetimes):
        monkeypatch.setattr(module, "CLOSE_SECONDS", 0.05)

    async def hangs(self: Any) -> None:
        await asyncio.sleep(1000)

    base = next(base for each, base, _ in METHODS if each == kind)
    with anyio.fail_after(60):
        heard, logs = await served(doorward_host, kind, type("Odd", (base,), {"close": hangs}))
    assert ANSWER in heard
    assert [line["why"] for line in logs if line.get("distribution") == "acme 2.1"] == ["TimeoutError"]


class Wrong:
    """Says nothing of itself."""

    def __getattr__(self, name: str) -> Any:
        raise RuntimeError(name)


class Shy(type):
    def __getattr__(cls, name: str) -> Any:
        raise RuntimeError(name)


class Strict(Settings):
    @pydantic.model_validator(mode="after")
    def _exit(self) -> Any:
        raise SystemExit


class Unreadable(dict[str, Any]):
    def items(self) -> Any:
        raise RuntimeError

    values = items


def of(base: type, **members: Any) -> type:
    return type(f"Odd{base.__name__}", (base,), members)


def returning(name: str, value: Any) -> Any:
    scope = {"value": value}
    names = ", ".join([*inspect.signature(DECLARED[name]).parameters][1:])
    exec(f"def {name}({names}): return value({names})", scope)
    module = types.ModuleType("acme_hooks")
    setattr(module, name, hookimpl(scope[name]))
    return module


def leaves_junk(server: str, functions: list[Any], definitions: dict[str, Any]) -> None:
    functions[:] = ["get_forecast"]


def spoils(call: Any, result: Any) -> None:
    result.message = 5


async def fails(self: Any, call: Any) -> Any:
    raise ServerError("no")


MADE_OF = "acme 2.1 failed in its constructor: it answered int, which lacks"


@pytest.mark.parametrize(
    ("kind", "thing", "says"),
    [
        ("plugin", Wrong(), "plugin 'mine' of acme 2.1 does not import: RuntimeError: PLUGIN_API"),
        ("plugin", Shy("Odd", (Opens,), {}), "plugin 'mine' of acme 2.1 does not import: RuntimeError: PLUGIN_API"),
        ("plugin", of(Opens, open=property(lambda self: {}["open"])), "acme 2.1 failed in open: KeyError"),
        ("plugin", of(Opens, Settings=Strict), "acme 2.1 failed in its Settings: SystemExit"),
        ("source", of(Keyed, Settings=Strict), "acme 2.1 failed in its Settings: SystemExit"),
        ("auth", of(Key, Settings=Strict), "acme 2.1 failed in its Settings: SystemExit"),
        ("executor", of(InProcess, Settings=Strict), "acme 2.1 failed in its Settings: SystemExit"),
        ("source", of(Keyed, __new__=lambda cls, server: 5), MADE_OF),
        ("auth", of(Key, __new__=lambda cls, context: 5), MADE_OF),
        ("executor", of(InProcess, __new__=lambda cls, context: 5), MADE_OF),
        ("executor", of(InProcess, slots="many"), "acme 2.1 failed in its slots: it answered str, not int"),
        ("executor", of(InProcess, slots=property(lambda self: {}["slots"])), "acme 2.1 failed in its slots: KeyError"),
        ("source", of(Keyed, upstreams=staticmethod(lambda settings, function: 5)), "acme 2.1 failed in upstreams: "),
        ("plugin", returning("guard_program", lambda program: [Finding(None)]),  # type: ignore[arg-type]
         "acme 2.1 failed in guard_program: it answered list[Finding], not Sequence[Finding] | None"),
        ("plugin", returning("change_result", lambda call, result: Unreadable(a=1)),
         "acme 2.1 failed in change_result: RuntimeError"),
        ("plugin", returning("source_compiled", leaves_junk), "acme 2.1 failed in source_compiled: it left str among the functions"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)  # fmt: skip
async def test_an_odd_plugin_is_named(doorward_host: Any, kind: str, thing: Any, says: str) -> None:
    """One message, with whose it is and in what; nothing passes."""
    heard, logs = await served(doorward_host, kind, thing)
    assert says in heard + repr(logs)
    assert ANSWER not in heard


async def test_an_error_that_a_plugin_spoils_in_place_is_withheld(doorward_host: Any) -> None:
    """The plugin is named, and not the source."""
    doorward_host.install("source", "fake", of(Weather, call=fails))
    doorward_host.install("plugin", "mine", returning("change_result", spoils), distribution="acme", version="2.1")
    doorward_host.entries = doorward_host.entries[::-1]
    found = {(each.kind, each.name): each for each in doorward_host.entries[::-1]}
    doorward_host.entries = [*found.values()]
    async with doorward_host.gateway(CONFIG.replace("[]", '["mine"]')) as gate:
        error = (await gate.execute(CALL)).error
    assert "'mine' of acme 2.1 failed in change_result: it answered an error whose message" in error.message


async def test_a_result_that_nobody_can_read_is_an_error(doorward_host: Any) -> None:
    """It is in the outcome, as every error is."""

    class Box:
        async def run(self, program: Any, door: Any) -> Any:
            return ProgramResult(Unreadable(a=1))

        async def close(self) -> None: ...

    async def opens(self: Any, program: Any, *, session: bool = False) -> Any:
        return Box()

    heard, _ = await served(doorward_host, "executor", of(InProcess, open=opens))
    assert "the executor failed inside Doorward" in heard
