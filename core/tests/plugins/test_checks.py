"""What is checked of plugins when they are loaded, and what is not held against them."""

from __future__ import annotations

import functools
from collections.abc import Awaitable
from typing import Any

import pytest
import structlog
from doorward import Call, ConfigError, PluginContext, PluginError, Settings, hookimpl
from doorward.administration import Plugins
from doorward.config.installed_plugins import GROUPS, near_group
from doorward.configuration import Index, installed
from doorward.plugins import hookspecs
from doorward.plugins.hook_answers import DECLARED, answers_many, fitting
from doorward.plugins.hookspecs import SPECS
from doorward.serving import RawTool

from ..conftest import CONFIG, Weather

pytestmark = pytest.mark.anyio


# Drivers that work


def traced(function: Any) -> Any:
    @functools.wraps(function)
    def call(*given: Any) -> Any:
        return function(*given)

    return call


def hidden(function: Any) -> Any:
    def call(*given: Any) -> Any:
        return function(*given)

    return call


class Callable_:
    def __get__(self, instance: Any, owner: Any) -> Any:
        return functools.partial(self, instance)

    def __call__(self, instance: Any, call: Call) -> Awaitable[Any]:
        return Weather.call(instance, call)


def says(self: Any, call: Call) -> Awaitable[Any]:
    return Weather.call(self, call)


async def more(self: Any, call: Call, retries: int = 3, **options: Any) -> Any:
    return await Weather.call(self, call)


@pytest.mark.parametrize("call", [traced(Weather.call), hidden(Weather.call), Callable_(), says, more])
async def test_a_method_may_be_made_in_other_ways(doorward_host: Any, call: Any) -> None:
    """A decorator, an object that is called, a function that says what it gives, and further arguments are no faults."""
    doorward_host.install("source", "mine", type("Mine", (Weather,), {"call": call}))
    async with doorward_host.gateway(CONFIG.replace('"fake"', '"mine"')) as gate:
        outcome = await gate.execute("await weather.get_forecast(city='Oslo')")
    assert outcome.value == {"city": "Oslo", "high": 20.5}


class Bound:
    """Hooks in each form in which pluggy takes them."""

    seen: list[str]

    @hookimpl
    @staticmethod
    def run_started(program: Any) -> None:
        Bound.seen.append("static")

    @hookimpl
    @classmethod
    def run_finished(cls, program: Any, outcome: Any = None) -> None:
        cls.seen.append("class")

    @hookimpl(specname="guard_program")
    @traced
    def looks(this, program: Any) -> Any:
        this.seen.append("other name")
        yield from ()

    def _guard_call(self) -> None: ...

    async def open(self) -> None: ...


async def test_a_hook_may_be_made_in_other_ways(doorward_host: Any) -> None:
    """Static methods, class methods, other names, decorators and lazy answers are no faults."""
    Bound.seen = []
    doorward_host.install("plugin", "mine", Bound())
    async with doorward_host.gateway(CONFIG.replace("[]", '["mine"]')) as gate:
        assert (await gate.execute("1")).ok
    assert Bound.seen == ["other name", "static", "class"]


@pytest.mark.parametrize(
    "entry", [e for e in installed() if e.kind != "command"], ids=lambda entry: f"{entry.kind}-{entry.name}"
)
def test_what_is_installed_has_no_fault(entry: Any) -> None:
    """All plugins of this repository pass; those of `doorward-cli` ask the commands."""
    if entry.kind != "distribution":
        Plugins(Index([entry])).driver(entry.kind, entry.name)


# Hooks


@pytest.mark.parametrize("hook", DECLARED)
def test_each_hook_declares_what_it_answers(hook: str) -> None:
    """The type can be resolved, allows None, and refuses what no hook answers."""
    assert hook in [name for spec in SPECS for name in vars(spec)]
    assert fitting(hook, None) is None
    declared = DECLARED[hook].__annotations__["return"]
    assert declared in ("None", "Any") or declared.endswith("| None"), hook
    assert answers_many(hook) == declared.startswith("Sequence")
    if hook not in hookspecs.OBSERVERS and "Any" not in declared:
        with pytest.raises(Exception, match=r"it answered object, not "):
            fitting(hook, object())


@pytest.mark.parametrize(
    ("hook", "answer", "says"),
    [
        ("mcp_tools", ["a Tool"], "it answered list[str], not Sequence[RawTool] | None"),
        ("mcp_prompts", RawTool("x", print), "it answered RawTool, not Sequence[RawPrompt] | None"),
        ("mcp_resources", {"x": 1}, "it answered dict, not Sequence[RawResource] | None"),
        (
            "doctor_checks",
            [("x", True)],
            "it answered list[tuple[str, bool]], not Sequence[tuple[str, bool, str]] | None",
        ),
        ("doctor_checks", [("x", "no", "")], "list[tuple[str, str, str]]"),
        ("mcp_server", 1, "it answered int, not None"),
    ],
)
def test_an_addition_of_another_type_is_logged(host: Any, hook: str, answer: Any, says: str) -> None:
    """With its plugin, distribution and hook, what it is and what was expected."""

    def adds(self: Any) -> Any:
        return answer

    adds.__name__ = hook
    host.install("plugin", "mine", type("Adds", (), {hook: hookimpl(adds)})(), distribution="acme", version="2.1")
    plugins = Plugins(Index(host.entries))
    plugins.load_hooks(["mine"], lambda name, thing: thing)
    given = {"server": None, "changed": None} if hook == "mcp_server" else {}
    with structlog.testing.capture_logs() as logs:
        getattr(plugins.hook, hook)(**given)
    [line] = logs
    assert (line["event"], line["plugin"], line["distribution"], line["hook"]) == (
        "plugin_failed", "mine", "acme 2.1", hook,
    )  # fmt: skip
    assert says in line["why"]


class NoVerifier:
    def verify_token(self, token: str) -> None: ...


def test_a_verifier_must_be_one(host: Any) -> None:
    """An object whose method is not async is none."""

    class Gives:
        @hookimpl
        def token_verifier(self) -> Any:
            return NoVerifier()

    host.install("plugin", "mine", Gives(), distribution="acme", version="2.1")
    plugins = Plugins(Index(host.entries))
    plugins.load_hooks(["mine"], lambda name, thing: thing)
    with pytest.raises(PluginError, match=r"'mine' of acme 2\.1 failed in token_verifier: it answered NoVerifier"):
        plugins.hook.token_verifier()


# Tables and groups


class Guard:
    class Settings(Settings):
        start: int = 8

    def __init__(self, context: PluginContext) -> None: ...

    @hookimpl
    def guard_call(self, call: Call) -> None: ...


async def test_a_guard_with_settings_must_be_there(doorward_host: Any) -> None:
    """One that only a default names may be missing, unless the file or the environment has settings for it."""
    doorward_host.entries = [e for e in doorward_host.entries if e.kind != "plugin"]
    config = CONFIG.replace("plugins = []\n", "")
    async with doorward_host.gateway(config):
        pass
    for table, environ in (("[hooks.ast]\n", {}), ("", {"DOORWARD_HOOKS__AUDIT_JSONL__PATH": "x"})):
        with pytest.raises(PluginError, match=r"no plugin named '(ast|audit_jsonl)'"):
            async with doorward_host.gateway(config + table, environ=environ):
                pass


async def test_a_variable_for_no_table_is_named(doorward_host: Any) -> None:
    """The environment has tables as well."""
    doorward_host.install("plugin", "office_hours", Guard)
    config, variable = CONFIG.replace("[]", '["office_hours"]'), "DOORWARD_HOOKS__OFFICE_HOUR__START"
    with pytest.raises(ConfigError, match=rf"^{variable}: no plugin 'office_hour' .* mean 'office_hours'\?"):
        async with doorward_host.gateway(config, environ={variable: "9"}):
            pass
    async with doorward_host.gateway(config, environ={variable.replace("HOUR", "HOURS"): "9"}):
        pass


async def test_a_table_of_a_distribution_may_be_unused(doorward_host: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its user leaves a plugin out, and cannot remove its table."""
    from doorward.config.layers import Managed

    below = {"plugins": ["office_hours"], "hooks": {"office_hours": {"start": 7}}}
    managed = Managed("acme 1.2", "Acme", lambda layer, base, hint: None, below=below)
    monkeypatch.setattr("doorward.config.layers.find_managed", lambda: managed)
    async with doorward_host.gateway(CONFIG) as gate:
        assert gate.config.hooks == {"office_hours": {"start": 7}}


@pytest.mark.parametrize(
    ("group", "near"),
    [
        ("doorward.plugin", "doorward.plugins"),
        ("doorward.hooks", "doorward.plugins"),
        ("doorward.hook", "doorward.plugins"),
        ("doorward.sources", "doorward.source"),
        ("doorward.Source", "doorward.source"),
        ("doorward.auths", "doorward.auth"),
        ("doorward.executors", "doorward.executor"),
        ("doorward.sandbox", "doorward.executor"),
        ("doorward.distribution", "doorward.distro"),
        ("doorward.commands", "doorward.command"),
        ("doorward.zzz", ""),
    ],
)
def test_a_group_that_was_meant(group: str, near: str) -> None:
    """By its own word, the kind's, or one that people use for it."""
    assert near_group(group) == near
    assert near in ("", *GROUPS.values())


# doctor and the command line
