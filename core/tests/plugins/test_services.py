"""Capabilities: which are in use, what they give to one another, and hooks of their own."""

from __future__ import annotations

from typing import Any

import pytest
from doorward import ConfigError, Gateway, PluginError, Service, Services, hookimpl, hookspec
from doorward_testing import Host

from ..conftest import CONFIG

pytestmark = pytest.mark.anyio

CLOCK = Service[Any]("a clock", "acme-clock")


class ClockHooks:
    """A capability's own hooks."""

    observers = ("struck",)

    @hookspec
    def struck(self, hour: int) -> None:
        """Learn that an hour has begun."""


class Clock:
    hookspecs: Any = (ClockHooks,)

    def __init__(self, context: Any) -> None:
        self.opened = False

    @hookimpl
    def gateway_made(self, gateway: Gateway) -> None:
        self.gateway = gateway
        gateway.services.give(CLOCK, self)

    async def open(self) -> None:
        self.opened = True

    def strike(self, hour: int) -> None:
        self.gateway.plugins.hook.struck(hour=hour)


class Listener:
    heard: list[int] = []  # noqa: RUF012

    def __init__(self, context: Any) -> None: ...

    @hookimpl
    def struck(self, hour: int) -> None:
        self.heard.append(hour)
        raise RuntimeError("secret")


def configured(capabilities: str, plugins: str = "[]") -> str:
    return CONFIG.replace("plugins = []", f"plugins = {plugins}\ncapabilities = {capabilities}")


async def test_a_capability_is_in_use_because_it_is_named(host: Host) -> None:
    """And not because it is installed."""
    host.install("plugin", "clock", Clock)
    async with host.gateway(configured('["clock"]')) as gate:
        assert gate.services[CLOCK].gateway is gate
        assert gate.services[CLOCK].opened
    async with host.gateway(configured("[]")) as gate:
        assert gate.services.get(CLOCK) is None
        with pytest.raises(PluginError, match="a clock is not in use here") as refused:
            gate.services[CLOCK]
        assert "pip install acme-clock" in (refused.value.hint or "")


async def test_a_capability_that_somebody_names_must_be_installed(host: Host) -> None:
    with pytest.raises(PluginError, match="no plugin named 'clock'"):
        async with host.gateway(configured('["clock"]')):
            pass


async def test_a_default_that_is_not_installed_is_left_out(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its settings are not: somebody means it."""
    core = {"plugins": [], "capabilities": ["clock"]}
    monkeypatch.setattr("doorward.config.layers._core", lambda: core)
    async with host.gateway(CONFIG) as gate:
        assert gate.services.get(CLOCK) is None
    with pytest.raises(ConfigError, match="clock"):
        async with host.gateway(CONFIG + "[hooks.clock]\nhours = 1\n"):
            pass
    host.install("plugin", "clock", Clock)
    async with host.gateway(CONFIG) as gate:
        assert gate.services[CLOCK].opened


async def test_hooks_of_a_capability(host: Host) -> None:
    """Other plugins implement them, wherever they are named; as observers they change nothing by failing."""
    host.install("plugin", "clock", Clock)
    host.install("plugin", "listener", Listener)
    async with host.gateway(configured('["clock"]', '["listener"]')) as gate:
        gate.services[CLOCK].strike(12)
    assert Listener.heard == [12]
    with pytest.raises(PluginError, match="there is no hook struck"):
        async with host.gateway(configured("[]", '["listener"]')):
            pass


async def test_a_hook_of_a_capability_that_need_not_be_there(host: Host) -> None:
    class Patient(Listener):
        @hookimpl(optionalhook=True)
        def struck(self, hour: int) -> None: ...

    host.install("plugin", "patient", Patient)
    async with host.gateway(configured("[]", '["patient"]')) as gate:
        assert gate.services.get(CLOCK) is None


async def test_a_hook_is_declared_by_one(host: Host) -> None:
    class Others:
        @hookspec
        def struck(self, minute: int) -> None:
            """Another."""

    class Sundial(Clock):
        hookspecs = (Others,)

        @hookimpl
        def gateway_made(self, gateway: Gateway) -> None: ...

    host.install("plugin", "clock", Clock)
    host.install("plugin", "sundial", Sundial)
    with pytest.raises(PluginError, match="'struck' is declared twice"):
        async with host.gateway(configured('["clock", "sundial"]')):
            pass


async def test_a_service_is_given_by_one(host: Host) -> None:
    host.install("plugin", "clock", Clock)
    host.install("plugin", "watch", type("Watch", (Clock,), {"__module__": "acme.watch", "hookspecs": ()}))
    with pytest.raises(PluginError, match="a clock is given twice: by tests and by acme") as refused:
        async with host.gateway(configured('["clock", "watch"]')):
            pass
    assert refused.value.hint == "Use one of the two."


def test_a_service_that_any_may_give_names_no_distribution() -> None:
    with pytest.raises(PluginError) as refused:
        Services()[Service[str]("a name")]
    assert "pip install" not in (refused.value.hint or "")
