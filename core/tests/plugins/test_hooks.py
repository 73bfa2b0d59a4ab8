"""Hooks are called in one way: each implementation fails for itself, by its name, and wrappers wrap."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import structlog
from doorward import ConfigError, Finding, PluginError, Refused, ServerError, hookimpl
from doorward.config.installed_plugins import Index
from doorward.plugins.manager import Plugins
from doorward.serving import RawTool

from ..conftest import CONFIG

pytestmark = pytest.mark.anyio


def raising(hook: str, error: Exception) -> Any:
    def fails(self: Any) -> Any:
        raise error

    fails.__name__ = hook
    return type("Raising", (), {hook: hookimpl(fails)})()


def loaded(host: Any, **things: Any) -> Plugins:
    for name, thing in things.items():
        host.install("plugin", name, thing)
    plugins = Plugins(Index(host.entries))
    plugins.load_hooks([*things], lambda name, thing: thing)
    return plugins


def configured(host: Any, config: str = CONFIG, **things: Any) -> Any:
    for name, thing in things.items():
        host.install("plugin", name, thing)
    return host.gateway(config.replace("plugins = []", f"plugins = {[*things]}"))


@pytest.mark.parametrize(
    ("hook", "given", "good"),
    [
        ("auth_chosen", {"server": "s", "auth": "jwt"}, None),
        ("run_started", {"program": 1}, None),
        ("run_finished", {"program": 1, "outcome": 2}, None),
        ("call_finished", {"call": 1, "record": 2}, None),
        ("source_compiled", {"server": "s", "functions": [], "definitions": {}}, None),
        ("guard_program", {"program": 1}, [Finding("no")]),
        ("mcp_tools", {}, [RawTool("a tool", print)]),
        ("mcp_server", {"server": 1, "changed": 2}, None),
        ("doctor_checks", {}, [("x", True, "")]),
    ],
)
def test_one_that_fails_keeps_nobody_from_being_told(host: Any, hook: str, given: dict[str, Any], good: Any) -> None:
    """Whatever the hook, those before and behind it are called, and the log says which plugin failed where."""
    seen: list[str] = []

    def make(name: str) -> Any:
        def notes(self: Any) -> Any:
            seen.append(name)
            return good

        notes.__name__ = hook
        return type("Notes", (), {hook: hookimpl(notes)})()

    plugins = loaded(host, one=make("one"), bad=raising(hook, KeyError("a defect")), two=make("two"))
    with structlog.testing.capture_logs() as logs:
        answers = getattr(plugins.hook, hook)(**given)
    assert seen == ["one", "two"]
    assert [(line["plugin"], line["hook"]) for line in logs] == [("bad", hook)]
    assert good is None or answers.count(good) == 2


class Wraps:
    """Around everything, in pluggy's new style."""

    def __init__(self) -> None:
        self.seen: list[Any] = []

    def _around(self, hook: str) -> Iterator[Any]:
        self.seen.append(f"before {hook}")
        answer = yield
        self.seen.append((hook, answer))
        return answer

    @hookimpl(wrapper=True)
    def call_finished(self, call: Any) -> Any:
        return (yield from self._around(f"call_finished of {call.function.name}"))

    @hookimpl(wrapper=True)
    def guard_call(self, call: Any) -> Any:
        return (yield from self._around("guard_call"))

    @hookimpl(wrapper=True)
    def mcp_tools(self) -> Any:
        return [*(yield from self._around("mcp_tools")), [RawTool("added", print)]]


class Old:
    """One in the old style, which takes refusals back."""

    @hookimpl(hookwrapper=True)
    def guard_call(self, call: Any) -> Any:
        outcome = yield
        if call.arguments.get("city") == "Rome":
            outcome.force_result(None)


class Strict:
    @hookimpl
    def guard_call(self, call: Any) -> Any:
        return "not there" if call.arguments["city"] != "Oslo" else None


async def test_wrappers_wrap_observers_and_guards(doorward_host: Any) -> None:
    """A wrapper of either style is called around the others, sees their answer, and may give another."""
    wraps = Wraps()
    async with configured(doorward_host, wraps=wraps, strict=Strict(), old=Old()) as gate:
        assert (await gate.execute("await weather.get_forecast(city='Oslo')")).ok
        refused = (await gate.execute("await weather.get_forecast(city='Bonn')")).error
        assert "not there" in refused.message
        assert (await gate.execute("await weather.get_forecast(city='Rome')")).ok
    told = [entry for entry in wraps.seen if entry[0] == "guard_call"]
    assert told == [("guard_call", None), ("guard_call", "not there"), ("guard_call", None)]
    assert wraps.seen.count("before call_finished of get_forecast") == 3


def test_wrappers_wrap_additions(host: Any) -> None:
    """What plugins add passes wrappers, too, which are asked once."""

    class Adds:
        @hookimpl
        def mcp_tools(self) -> Any:
            yield RawTool("mine", print)  # lazily

    wraps = Wraps()
    plugins = loaded(host, wraps=wraps, one=Adds(), two=Adds(), bad=raising("mcp_tools", KeyError()))
    tools = plugins.each("mcp_tools", lambda found: [raw.tool for raw in found])
    assert tools == [["mine"], ["mine"], ["added"]]
    assert wraps.seen == ["before mcp_tools", ("mcp_tools", [[RawTool("mine", print)], [RawTool("mine", print)]])]


@pytest.mark.slow
@pytest.mark.parametrize("hook", ["guard_program", "guard_call", "guard_result"])
@pytest.mark.parametrize("how", ["plain", "before", "after", "old", "no yield", "forced"])
async def test_a_guard_that_fails_refuses(doorward_host: Any, hook: str, how: str) -> None:
    """Fail closed: nothing passes a guard or a wrapper that fails in whatever way; the refusal says whose it is, and
    tells no secret."""

    def plain(self: Any) -> Any:
        raise KeyError("s3cret")

    def around(self: Any) -> Any:
        if how == "before":
            raise KeyError("s3cret")
        answer = None if how == "no yield" else (yield)
        if how == "forced":
            answer.force_exception(KeyError("s3cret"))
        elif how != "no yield":
            raise KeyError("s3cret")

    fails = plain if how == "plain" else around
    fails.__name__ = hook
    marks = {} if how == "plain" else {"hookwrapper": True} if how in ("old", "forced") else {"wrapper": True}
    bad = type("Bad", (), {hook: hookimpl(fails, **marks)})()
    async with configured(doorward_host, bad=bad) as gate:
        outcome = await gate.execute("await weather.get_forecast(city='Oslo')")
    assert not outcome.ok
    assert "'bad' of test-plugin 1.0 failed in " + hook in outcome.error.message
    assert "s3cret" not in str(outcome)


async def test_a_guard_may_refuse_by_an_error(doorward_host: Any) -> None:
    """An error of Doorward's own is what the program gets."""
    async with configured(
        doorward_host, guard=raising("guard_call", ServerError("closed today", hint="Come back."))
    ) as gate:
        error = (await gate.execute("await weather.get_forecast(city='Oslo')")).error
    assert "closed today" in error.message


@pytest.mark.parametrize(
    ("hook", "waits"),
    [
        *((hook, False) for hook in ("guard_program", "guard_call", "guard_result", "change_result")),
        ("guard_program", True),
    ],
)
async def test_a_refusal_that_is_raised_names_its_plugin_once(doorward_host: Any, hook: str, waits: bool) -> None:
    """As one that is answered does, each time that the same error is raised."""
    refused = Refused("not on Mondays", hint="Come back.")

    async def later(self: Any) -> Any:
        raise refused

    later.__name__ = hook
    guard = type("Later", (), {hook: hookimpl(later)})() if waits else raising(hook, refused)
    async with configured(doorward_host, guard=guard) as gate:
        for _ in range(2):
            error = (await gate.execute("await weather.get_forecast(city='Oslo')")).error
            assert error.message.count("not on Mondays (plugin 'guard' of test-plugin 1.0)") == 1
            assert error.message.count("test-plugin") == 1
            assert error.hint == "Come back."


@pytest.mark.parametrize("error", [KeyError("s3cret"), ConfigError("no table of names")])
async def test_a_compile_that_a_plugin_fails_names_it(doorward_host: Any, error: Exception) -> None:
    """What a plugin was to take away is not stored in full: the server is out of use, or goes on with what was compiled
    before."""
    bad = raising("source_compiled", error)
    async with configured(doorward_host, bad=bad) as gate:
        assert await gate.compiler.compile() == {}
        said = str(gate.servers.broken["weather"])
        assert (
            ("'bad' of test-plugin 1.0 failed in source_compiled: KeyError" in said)
            if isinstance(error, KeyError)
            else ("no table of names" in said)
        )
        assert "s3cret" not in said
        assert gate.catalog.names("weather") == ()
    async with doorward_host.gateway(CONFIG) as gate:
        await gate.compiler.compile()
    async with configured(doorward_host, again=bad) as gate:
        await gate.compiler.compile(force=True)
        assert "weather" in gate.servers.outdated
        assert "get_forecast" in gate.catalog.names("weather")


def test_a_secret_that_a_plugin_fails_to_get_names_it(host: Any) -> None:
    """Without what it said, which may hold the secret; its own words for what is wrong stay."""
    with pytest.raises(PluginError, match=r"'vault' of test-plugin 1\.0 failed in resolve_secret: KeyError") as raised:
        loaded(host, vault=raising("resolve_secret", KeyError("s3cret"))).resolve_secret("vault", "x")
    assert "s3cret" not in str(raised.value)
    with pytest.raises(ConfigError, match="no such entry"):
        loaded(host, safe=raising("resolve_secret", ConfigError("no such entry"))).resolve_secret("safe", "x")


def test_an_implementation_may_have_defaults(host: Any) -> None:
    """Arguments with defaults are given by their names."""
    seen: list[Any] = []

    class Defaults:
        @hookimpl
        def run_finished(self, program: Any, outcome: Any = None) -> None:
            seen.append((program, outcome))

    loaded(host, one=Defaults()).hook.run_finished(program=1, outcome=2)
    assert seen[0][0] == 1
