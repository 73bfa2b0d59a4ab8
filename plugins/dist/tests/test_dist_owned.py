"""A distribution that locks or gives tables that belong to plugins."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from typing import Any

import pytest
from doorward import ConfigError, Settings, hookimpl
from doorward.configuration import Index
from doorward_dist.locked import Locks
from doorward_dist.manifest import Manifest, validated
from doorward_testing import Host
from doorward_testing.samples import CONFIG
from pydantic import Field

pytestmark = pytest.mark.anyio


class Table(Settings):
    calls: int = Field(1, description="Calls")


class Quota:
    """Refuses all calls, with what its table says."""

    def __init__(self, context: Any) -> None:
        self.context = context

    @hookimpl
    def guard_call(self, call: Any) -> str:
        return f"{self.context.tables['quota'].calls} {self.context.server_key(call.function.server, 'weight')}"


@pytest.fixture
def quota(doorward_host: Host) -> Host:
    """A host with the table `quota`, and the plugin that owns it."""
    doorward_host.install("plugin", "quota", Quota, distribution="acme-quota", version="2.1")
    doorward_host.install("table", "quota", Table, distribution="acme-quota", version="2.1")
    return doorward_host


def manifest(text: str, index: Index) -> Manifest:
    return validated(Manifest, tomllib.loads(text), "distro.toml of acme 1.2", index)


def test_a_distribution_may_lock_one(quota: Host) -> None:
    """The same value, however it is written, is no change; any other is refused. Its keys are known."""
    index = Index(quota.entries)
    read = manifest("[locked.quota]\ncalls = 7\n", index)
    locks = Locks(read, "acme 1.2", index)
    base = {"quota": {"calls": 7}}
    locks.check({"quota": {"calls": "7"}}, base, "")
    with pytest.raises(ConfigError, match=r"quota\.calls = 8 may not be changed: acme 1\.2 locks it to 7"):
        locks.check({"quota": {"calls": 8}}, base, "")
    locks = Locks(manifest("lock = ['quota']\n", index), "acme 1.2", index)
    with pytest.raises(ConfigError, match=r"quota.calls = 8 may not be set: acme 1.2 locks \[quota\]"):
        locks.check({"quota": {"calls": 8}}, {}, "")
    for text, message in (
        ("lock = ['quota.cals']", "unknown key 'cals'; did you mean 'calls'"),
        ("lock = ['qota']", "unknown key 'qota'; did you mean 'quota'|unknown key 'qota'"),
        ("[locked.quota]\ncalls = 'x'", "quota.calls: Input should be a valid integer"),
        ("[defaults.quota]\ncals = 1", "unknown key 'quota.cals'"),
    ):
        with pytest.raises(ConfigError, match=message):
            manifest(text, index)


async def test_a_distribution_may_give_one(
    quota: Host, distro: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What only its defaults have is in use, too."""
    monkeypatch.setattr("doorward.config.layers.find_index", lambda: Index(quota.entries))
    monkeypatch.setattr("doorward_dist.distribution.Active.index", lambda self: Index(quota.entries))
    distro("[defaults.quota]\ncalls = 5\n")
    async with quota.gateway(CONFIG) as gate:
        with pytest.raises(Exception, match="5 None"):
            await gate.call("weather.get_forecast", {"city": "Oslo"})


def test_nothing_is_imported_that_its_pins_refuse(quota: Host) -> None:
    """The message says who refuses it."""
    quota.entries = [e for e in quota.entries if e.kind != "table"]
    quota.install("table", "quota", AssertionError("imported"), distribution="acme-quota", version="2.1")
    refused = Index(quota.entries, lambda entry: False, why=lambda entry: "acme 1.2, which does not name it")
    why = "'quota' of acme-quota 2.1 is not allowed by acme 1.2, which does not name it"
    for text in ("[locked.quota]\ncalls = 7\n", "lock = ['quota']"):
        with pytest.raises(ConfigError, match=why):
            manifest(text, refused)
