"""Typical mistakes of authors and operators: each gives one clear message, which names the distribution.

Doorward is started with the mistake, as `doorward call` does, and one call or run is made."""

from __future__ import annotations

import functools
import types
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import pydantic
import pytest
from doorward import Call, DoorwardError, PluginContext, ProgramResult, Settings, Source, hookimpl
from doorward.config.installed_plugins import Index
from doorward.plugins.manager import Plugins

from ..conftest import CONFIG, InProcess, MemoryCache, Weather
from .conftest import Key, Keyed

pytestmark = [pytest.mark.anyio, pytest.mark.slow]


class Mistake(NamedTuple):
    """A plugin with a mistake, and what Doorward says about it. `{}` stands for its kind, name and distribution."""

    about: str
    kind: str
    thing: Any
    says: str
    config: str = ""
    group: str = ""

    def __str__(self) -> str:
        return f"{self.kind}: {self.about}"


def of(base: type, **members: Any) -> type:
    return type(f"My{base.__name__}", (base,), members)


class Hours:
    """A guard that works."""

    class Settings(Settings):
        start: int = 8

    def __init__(self, context: PluginContext) -> None: ...

    @hookimpl
    def guard_call(self, call: Call) -> str | None:
        return None


def fails(*_: Any, **__: Any) -> Any:
    raise KeyError("s3cret")


async def fails_late(*_: Any, **__: Any) -> Any:
    raise KeyError("s3cret")


def answers(value: Any) -> Callable[..., Any]:
    async def answer(*_: Any, **__: Any) -> Any:
        return value

    return answer


def hook(function: Callable[..., Any], **marks: Any) -> Any:
    """A module with one hook."""
    module = types.ModuleType("acme_hooks")
    setattr(module, function.__name__, hookimpl(**marks)(function) if marks else hookimpl(function))
    return module


def plain() -> Any:
    module = types.ModuleType("acme_hooks")

    def guard_call(call: Any) -> None: ...

    guard_call.__module__ = "acme_hooks"
    module.guard_call = guard_call  # type: ignore[attr-defined]
    return module


def guard_call(call: Any) -> Any: ...


async def late() -> None: ...


async def get_without_principal(self: Any, cache_id: str) -> None: ...


async def open_without_session(self: Any, program: Any) -> None: ...


def running(run: Any, close: Any = answers(None)) -> type:
    """An executor with such a sandbox."""
    return of(InProcess, open=answers(of(object, run=run, close=close)()))


def returning(name: str, value: Any, *takes: str) -> Any:
    """A module with one hook of this name that answers this value."""
    scope: dict[str, Any] = {"value": value}
    exec(f"def {name}({', '.join(takes)}): return value() if callable(value) else value", scope)
    return hook(scope[name])


def yielding(call: Any) -> Iterator[str]:
    yield "no"


yielding.__name__ = "guard_call"


async def async_guard(call: Any) -> None: ...


async_guard.__name__ = "guard_call"


async def async_gen(call: Any) -> Any:
    yield "no"


async_gen.__name__ = "guard_call"


def misspelt(call: Any) -> None: ...


misspelt.__name__ = "guard_cal"


def too_much(call: Any, user: Any) -> None: ...


too_much.__name__ = "guard_call"


def forgets(program: Any) -> Any:
    yield


def wraps_a_call(call: Any) -> Any:
    yield
    return False


def wraps_a_compile(functions: Any) -> Any:
    yield
    return ["no"]


wraps_a_call.__name__, wraps_a_compile.__name__ = "guard_call", "source_compiled"
forgets.__name__ = "guard_program"

ON = "[hooks.mine]\n"
MISTAKES = [
    # Entry points
    Mistake("wrong group", "plugin", Hours, "no plugin named 'mine'; installed: idle, kept_programs, simple_rules. acme 2.1 gives that name "
            "in the entry-point group 'doorward.hooks', not in 'doorward.plugins'", group="doorward.hooks"),
    Mistake("group of another kind", "plugin", Hours, "acme 2.1 gives that name in the entry-point group "
            "'doorward.source', not in 'doorward.plugins'", group="source"),
    Mistake("import fails", "source", ImportError("No module named 'nosuchlib'"),
            "{} does not import: ImportError: No module named 'nosuchlib'"),
    Mistake("exception at import", "plugin", ZeroDivisionError("division by zero"),
            "{} does not import: ZeroDivisionError: division by zero"),
    Mistake("wrong PLUGIN_API", "source", of(Weather, PLUGIN_API=2), "{} is for plugin API 2, this is 1"),
    Mistake("a function, no class", "source", fails, "{} is the function fails and no class"),
    Mistake("a module, no class", "source", pytest, "{} is the module pytest and no class"),
    Mistake("an instance, no class", "cache", MemoryCache(None), "{} is an object of type MemoryCache and no class"),
    # Drivers
    Mistake("missing method", "source", of(Weather, close=None), "{} lacks close"),
    Mistake("no Settings", "cache", of(MemoryCache, Settings=None),
            "{} lacks Settings: write `Settings = doorward.Settings` if it has none"),
    Mistake("Settings of pydantic", "source", of(Weather, Settings=type("S", (pydantic.BaseModel,), {})),
            "{} has the class S as Settings, which is no doorward.Settings"),
    Mistake("sync call", "source", of(Weather, call=lambda self, call: {}),
            "{} has no async call: write `async def call`"),
    Mistake("async create_auth", "auth", of(Key, create_auth=fails_late), "{} has an async create_auth"),
    Mistake("sync close of an auth", "auth", of(Key, close=lambda self: None), "{} has no async close"),
    Mistake("yield in call", "source", of(Weather, call=async_gen), "{} has a yield in call"),
    Mistake("missing argument", "cache", of(MemoryCache, get=get_without_principal),
            "{} cannot be called as get(cache_id, principal): too many positional arguments"),
    Mistake("no session in open", "executor", of(InProcess, open=open_without_session),
            "{} cannot be called as open(program, session): got an unexpected keyword argument 'session'"),
    Mistake("only the protocol's own call", "source", type("Mine", (Source,), {"Settings": Settings}),
            "{} lacks fingerprint, compile, call, close"),
    Mistake("constructor without context", "executor", of(InProcess, __init__=lambda self: None),
            "{} is made with one argument, its context: too many positional arguments"),
    Mistake("constructor fails", "source", of(Weather, __init__=fails),
            "{} failed in its constructor: KeyError"),
    Mistake("fingerprint fails", "source", of(Weather, fingerprint=fails_late), "{} failed in fingerprint: KeyError"),
    Mistake("fingerprint of a number", "source", of(Weather, fingerprint=answers(1)),
            "{} failed in fingerprint: it answered int, not str"),
    Mistake("compile fails", "source", of(Weather, compile=fails_late), "{} failed in compile: KeyError"),
    Mistake("compile of a list", "source", of(Weather, compile=answers([])),
            "{} failed in compile: it answered list[], not Compiled"),
    Mistake("call fails", "source", of(Weather, call=fails_late),
            "weather.get_forecast failed in {}: KeyError"),
    Mistake("constructor fails", "auth", of(Key, __init__=fails), "{} failed in its constructor: KeyError"),
    Mistake("create_auth fails", "auth", of(Key, create_auth=fails), "{} failed in create_auth: KeyError"),
    Mistake("create_auth of nothing", "auth", of(Key, create_auth=lambda self: None),
            "{} failed in create_auth: it answered NoneType, not Auth"),
    Mistake("constructor fails", "executor", of(InProcess, __init__=fails), "{} failed in its constructor: KeyError"),
    Mistake("open fails", "executor", of(InProcess, open=fails_late), "{} failed in open: KeyError"),
    Mistake("open of no sandbox", "executor", of(InProcess, open=answers(1)),
            "{} failed in open: it answered int, which lacks run, close"),
    Mistake("run fails", "executor", running(fails_late), "{} failed in run: KeyError"),
    Mistake("run fails, and the answer names it", "executor", running(fails_late), "executor='mine'"),
    Mistake("run of a dictionary", "executor", running(answers({})),
            "{} failed in run: it answered dict, not ProgramResult"),
    Mistake("sync run", "executor", running(lambda self, program, door: None),
            "{} failed in open: it answered Myobject, which has no async run: write `async def run`"),
    Mistake("close of a sandbox fails", "executor", running(answers(ProgramResult(1)), fails_late),
            "{} failed in close: KeyError"),
    Mistake("capabilities fail", "executor", of(InProcess, capabilities=fails), "{} failed in capabilities: KeyError"),
    Mistake("constructor fails", "cache", of(MemoryCache, __init__=fails), "{} failed in its constructor: KeyError"),
    Mistake("no click command", "command", fails, "{} is the function fails and no click command"),
    # Hooks
    Mistake("no hookimpl", "plugin", plain(), "{} does not fit its hooks: guard_call is not marked with @doorward.hookimpl"),
    Mistake("no hook at all", "plugin", of(Hours, guard_call=None),
            "{} does not fit its hooks: an object of type MyHours has no function marked with @doorward.hookimpl"),
    Mistake("entry point to a function", "plugin", guard_call,
            "{} does not fit its hooks: the function guard_call has no function marked with @doorward.hookimpl"),
    Mistake("a partial", "plugin", of(Hours, guard_call=hookimpl(functools.partial(guard_call))),
            "guard_call is an object of type partial and no function"),
    Mistake("async hook", "plugin", hook(async_guard), "{} does not fit its hooks: guard_call is async"),
    Mistake("async generator", "plugin", hook(async_gen), "{} does not fit its hooks: guard_call is async"),
    Mistake("hook with a yield", "plugin", hook(yielding), "{} does not fit its hooks: guard_call has a yield"),
    Mistake("misspelt hook", "plugin", hook(misspelt),
            "{} does not fit its hooks: there is no hook guard_cal; did you mean 'guard_call'?"),
    Mistake("unknown argument", "plugin", hook(too_much),
            "{} does not fit its hooks: guard_call has no argument user; it has call"),
    Mistake("constructor fails", "plugin", of(Hours, __init__=fails), "{} failed in its constructor: KeyError"),
    Mistake("Settings of pydantic", "plugin", of(Hours, Settings=int),
            "{} has the class int as Settings, which is no doorward.Settings"),
    Mistake("typo in settings", "plugin", Hours,
            "[hooks.mine]: unknown key 'strat'; did you mean 'start'? (line 9) These are settings of {}", ON + "strat = 1"),
    Mistake("settings of a module", "plugin", hook(guard_call),
            "[hooks.mine]: {} is no class, and takes no settings", ON + "start = 1"),
    Mistake("settings of a class without", "plugin", of(Hours, Settings=Settings),
            "[hooks.mine]: unknown key 'start'; known: none", ON + "start = 1"),
    Mistake("misspelt table", "plugin", Hours,
            "doorward.toml [hooks.mime]: no plugin 'mime' is named in `plugins`; did you mean 'mine'?", "[hooks.mime]"),
    Mistake("settings of one that is not in use", "plugin", Hours, "doorward.toml [hooks.idle]: the plugin 'idle' is "
            "installed and not in use Add it: plugins = [..., \"idle\"]", "[hooks.idle]"),
    Mistake("misspelt table of a cache", "cache", MemoryCache,
            "doorward.toml [caches.memry]: no cache 'memry' is installed or named in `cache`; did you mean 'memory'?",
            "[caches.memry]"),
    Mistake("guard_call answers False", "plugin", returning("guard_call", False, "call"),
            "{} failed in guard_call: it answered bool, not str | None"),
    Mistake("guard_call answers True", "plugin", returning("guard_call", True, "call"),
            "{} failed in guard_call: it answered bool, not str | None"),
    Mistake("guard_call answers no reason", "plugin", returning("guard_call", "", "call"),
            "GuardRefused"),
    Mistake("guard_call answers a coroutine", "plugin", returning("guard_call", late, "call"),
            "{} failed in guard_call: it answered coroutine, not str | None"),
    Mistake("guard_call fails", "plugin", returning("guard_call", fails, "call"),
            "{} failed in guard_call: KeyError"),
    Mistake("guard_result answers True", "plugin", returning("guard_result", True),
            "{} failed in guard_result: it answered bool, not str | None"),
    Mistake("guard_program answers a text", "plugin", returning("guard_program", "no"),
            "{} failed in guard_program: it answered str, not Sequence[Finding] | None"),
    Mistake("guard_program answers texts", "plugin", returning("guard_program", ["no"]),
            "{} failed in guard_program: it answered list[str], not Sequence[Finding] | None"),
    Mistake("guard_call's wrapper answers False", "plugin", hook(wraps_a_call, wrapper=True),
            "{} failed in guard_call: it answered bool, not str | None"),
    Mistake("source_compiled's wrapper answers other things", "plugin", hook(wraps_a_compile, wrapper=True),
            "{} failed in source_compiled: it answered str, not None"),
    Mistake("twice in plugins", "plugin", Hours, "{} does not fit its hooks: Plugin name already registered",
            group="twice"),
    Mistake("guard_program's wrapper forgets the answers", "plugin", hook(forgets, wrapper=True),
            "{} failed in guard_program: it answered NoneType, not the list of all answers"),
    Mistake("source_compiled answers a list", "plugin", returning("source_compiled", [], "functions"),
            "{} failed in source_compiled: it answered list[], not None"),
    Mistake("resolve_secret answers bytes", "plugin", returning("resolve_secret", b"x", "name"),
            "{} failed in resolve_secret: it answered bytes, not str | None", 'token = "${mine:x}"'),
    Mistake("run_finished answers a coroutine", "plugin", returning("run_finished", late),
            "observer_failed"),
]  # fmt: skip


async def said(host: Any, mistake: Mistake) -> str:
    """What Doorward says of a mistake to an operator, whether it starts, and to an agent."""
    host.entries = [e for e in host.entries if (e.kind, e.name) != (mistake.kind, "mine")]
    host.install("source", "keyed", Keyed)
    host.install("cache", "memory", MemoryCache)
    host.install("plugin", "idle", Hours)
    host.install(
        mistake.kind if mistake.group == "twice" else mistake.group or mistake.kind,
        "mine",
        mistake.thing,
        distribution="acme",
        version="2.1",
    )
    config = CONFIG.replace('"none"', '"memory"')
    match mistake.kind:
        case "source":
            config = config.replace('"fake"', '"mine"')
        case "auth":
            config = config.replace('"fake"', '"keyed"\nauth = { type = "mine" }')
        case "executor":
            config = config.replace('"inprocess"', '"mine"')
        case "cache":
            config = config.replace('"memory"', '"mine"')
        case "plugin":
            config = config.replace("[]", '["mine", "mine"]' if mistake.group == "twice" else '["mine"]')
        case "command":
            try:
                Plugins(Index(host.entries)).driver("command", "mine")
            except DoorwardError as error:
                return str(error)
    heard: list[Any] = []
    try:
        async with host.gateway(f"{config}{mistake.config}\n") as gate:
            outcome = await gate.execute("await weather.get_forecast(city='Oslo')")
            heard += [outcome, *outcome.notes, await gate.list_servers(), await gate.run_cached("x")]
    except DoorwardError as error:
        heard.append(f"{error} {error.hint}")
    return "\n".join(map(str, heard)).replace('\\"', '"')


@pytest.mark.parametrize("mistake", MISTAKES, ids=str)
async def test_a_mistake_has_a_message(
    doorward_host: Any, mistake: Mistake, capfd: pytest.CaptureFixture[str], recwarn: pytest.WarningsRecorder
) -> None:
    """It names kind, name, distribution, version and method; what a plugin's own exception says is in the log alone."""
    told = await said(doorward_host, mistake)
    err = capfd.readouterr().err
    wanted = mistake.says.replace("{}", f"{mistake.kind} 'mine' of acme 2.1")
    assert wanted in told.replace("\\'", "'") + err.replace("\\'", "'"), f"{told}\n{err}"
    assert "s3cret" not in told
    assert not [str(warning.message) for warning in recwarn if "never awaited" in str(warning.message)]
