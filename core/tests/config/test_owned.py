"""Tables of the configuration, and keys of servers, that belong to plugins: read only where a configuration has them,
and refused where they cannot be."""

from __future__ import annotations

import sys
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import pytest
from doorward import ConfigError, PluginError, Settings, hookimpl
from doorward.config import config
from doorward.configuration import Entry, Index
from doorward_testing import Host
from pydantic import Field, field_validator

from ..conftest import CONFIG

pytestmark = pytest.mark.anyio

MODULE = """
from pathlib import Path
Path(__file__).with_suffix(".imported").touch()
from doorward import PluginContext, Settings, hookimpl

class Table(Settings):
    calls: int = 1

class Quota:
    def __init__(self, context):
        self.context = context
    @hookimpl
    def guard_call(self, call):
        if self.context.tables.get("quota"):
            return f"{self.context.tables['quota'].calls} {self.context.server_key(call.function.server, 'weight')}"

Weight = int
"""
QUOTA = "[quota]\ncalls = 7\n"
WEIGHT = CONFIG.replace("[servers.weather]", "[servers.weather]\nweight = 2")


@pytest.fixture
def mark(doorward_host: Host, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What the import of a plugin leaves that owns the table `quota` and the key `weight`; it is installed."""
    folder = tmp_path / "site"
    folder.mkdir()
    (folder / "acme_quota.py").write_text(MODULE)
    monkeypatch.syspath_prepend(folder)
    monkeypatch.delitem(sys.modules, "acme_quota", raising=False)
    for kind, name, value in (
        ("plugin", "quota", "Quota"),
        ("table", "quota", "Table"),
        ("server_key", "weight", "Weight"),
    ):
        point = EntryPoint(name, f"acme_quota:{value}", "doorward.test")
        doorward_host.entries.append(Entry(kind, name, point, "acme-quota", "2.1"))
    return folder / "acme_quota.imported"


class Table(Settings):
    calls: int = Field(1, description="Calls")


class Owner:
    """A plugin that owns what is given below."""

    def __init__(self, context: Any) -> None:
        self.context = context

    @hookimpl
    def run_started(self, program: Any) -> None: ...


def own(host: Host, kind: str, name: str, thing: Any, *, plugin: str = "quota", by: str = "acme-quota") -> None:
    """Install a table or a key, with the plugin that owns it."""
    if plugin:
        host.install("plugin", plugin, Owner, distribution=by, version="2.1")
    host.install(kind, name, thing, distribution=by, version="2.1")


def plugin_of(gate: Any) -> Any:
    return gate.plugins.manager.get_plugin("quota")


async def start(host: Host, text: str, **options: Any) -> dict[str, str]:
    """Open a gateway and close it. Returns: what is wrong with its servers."""
    async with host.gateway(text, **options) as gate:
        await gate.ready()
        return {name: str(error) for name, error in gate.servers.broken.items()}


# When they are loaded


async def test_nothing_is_imported_without_them(doorward_host: Host, mark: Path) -> None:
    """Being installed is not being in use."""
    assert await start(doorward_host, CONFIG) == {}
    assert not mark.exists()


@pytest.mark.parametrize(
    ("text", "environ", "says"),
    [
        (CONFIG + QUOTA, {}, "7 None"),
        (CONFIG, {"DOORWARD_QUOTA": '{"calls": 8}'}, "8 None"),
        (CONFIG, {"DOORWARD_QUOTA__CALLS": "9"}, "9 None"),
        (WEIGHT + QUOTA, {}, "7 2"),
        (CONFIG + QUOTA, {"DOORWARD_SERVERS__WEATHER__WEIGHT": "3"}, "7 3"),
    ],
)
async def test_having_one_uses_its_plugin(
    doorward_host: Host, mark: Path, text: str, environ: dict[str, str], says: str
) -> None:
    """Whether the file or the environment has it, and whatever `plugins` names."""
    async with doorward_host.gateway(text, environ=environ) as gate:
        with pytest.raises(Exception, match=rf"{says} \(plugin 'quota' of acme-quota 2\.1\)"):
            await gate.call("weather.get_forecast", {"city": "Oslo"})
    assert mark.exists()


async def test_a_key_alone_uses_it(doorward_host: Host, mark: Path) -> None:
    """It finds no table then."""
    async with doorward_host.gateway(WEIGHT) as gate:
        assert plugin_of(gate).context.tables == {}
        assert plugin_of(gate).context.server_key("weather", "weight") == 2
    assert mark.exists()


async def test_it_is_loaded_once(doorward_host: Host) -> None:
    """Where it stands in `plugins`, if that names it."""
    own(doorward_host, "table", "quota", Table)
    doorward_host.install("plugin", "last", Owner)
    text = CONFIG.replace("plugins = []", 'plugins = ["quota", "last"]') + QUOTA
    async with doorward_host.gateway(text) as gate:
        names = [name for name, _ in gate.plugins.manager.list_name_plugin()]
        assert [name for name in names if name in ("quota", "last")] == ["last", "quota"]  # pluggy calls the last first


# What is wrong with them


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[quota]\ncalls = 'x'", r"doorward.toml: quota.calls: Input should be a valid integer.* \(Of acme-quota\)"),
        ("[quota]\ncals = 1", r"doorward.toml: unknown key 'quota.cals'; did you mean 'calls'\? \(Of acme-quota\)"),
        ("[[quota]]\ncalls = 1", r"doorward.toml: quota: Input should be .*\(Of acme-quota\)"),
        ("[qota]\ncalls = 1", "doorward.toml: unknown key 'qota'; did you mean 'quota'"),
    ],
)
async def test_a_table_of_a_wrong_type(doorward_host: Host, text: str, message: str) -> None:
    """The message has the place, the key, and whose it is."""
    own(doorward_host, "table", "quota", Table)
    with pytest.raises(ConfigError, match=message):
        await start(doorward_host, CONFIG + text)


async def test_a_key_of_a_wrong_type(doorward_host: Host) -> None:
    """It breaks its server alone; the others serve."""
    own(doorward_host, "server_key", "weight", int)
    text = f'{CONFIG}weight = "x"\n[servers.other]\nsource = "fake"\n'
    async with doorward_host.gateway(text) as gate:
        broken = gate.servers.broken["weather"]
        assert "doorward.toml [servers.weather]: weight: Input should be a valid integer" in str(broken)
        assert broken.hint == "This key is of acme-quota 2.1."
        assert await gate.call("other.get_forecast", {"city": "Oslo"})


class Failing(Settings):
    calls: int = 1

    @field_validator("calls")
    @classmethod
    def _fails(cls, value: int) -> int:
        raise RuntimeError("s3cret")


@pytest.mark.parametrize(
    ("thing", "why"),
    [
        (ImportError("no such"), "gives no type: ImportError: no such"),
        (SystemExit(3), "gives no type: SystemExit"),
        (object(), "gives no type: "),
        (type("Odd", (), {}), "gives no type: PydanticSchemaGenerationError"),
        (Failing, "failed: RuntimeError"),
    ],
    ids=["import", "exit", "object", "class", "validator"],
)
async def test_an_owner_that_fails(doorward_host: Host, thing: Any, why: str) -> None:
    """A table stops the start, a key breaks its server; both with the owner's name, and without what it says."""
    own(doorward_host, "table", "quota", thing)
    own(doorward_host, "server_key", "weight", thing, plugin="")
    with pytest.raises(ConfigError, match=f"table 'quota' of acme-quota 2.1 {why}") as told:
        await start(doorward_host, CONFIG + QUOTA)
    assert "s3cret" not in str(told.value)
    text = f"{CONFIG}weight = {{ calls = 2 }}"
    assert f"server_key 'weight' of acme-quota 2.1 {why}" in (await start(doorward_host, text))["weather"]


async def test_two_owners_of_one(doorward_host: Host) -> None:
    """Neither is taken: the start, or the server, says who they are."""
    for by, plugin in (("acme-quota", "quota"), ("other-quota", "other")):
        own(doorward_host, "table", "quota", Table, by=by, plugin=plugin)
        own(doorward_host, "server_key", "weight", int, by=by, plugin="")
    both = "is given by acme-quota 2.1 and by other-quota 2.1"
    with pytest.raises(ConfigError, match=f"'quota' {both}"):
        await start(doorward_host, CONFIG + QUOTA)
    assert both in (await start(doorward_host, WEIGHT))["weather"]
    assert await start(doorward_host, CONFIG) == {}


async def test_a_name_of_ours_is_never_a_plugins(doorward_host: Host) -> None:
    """A plugin cannot take over a table or key of core."""
    own(doorward_host, "table", "limits", dict)
    own(doorward_host, "server_key", "read_only", list, plugin="")
    with pytest.raises(ConfigError, match=r"limits\.timeout"):
        await start(doorward_host, f"{CONFIG}[limits]\ntimeout = 'x'")
    assert "read_only" in (await start(doorward_host, f"{CONFIG}read_only = 'x'"))["weather"]


@pytest.mark.parametrize(("plugins", "count"), [((), 0), (("one", "two"), 2)])
async def test_an_owner_without_its_plugin(doorward_host: Host, plugins: tuple[str, ...], count: int) -> None:
    """Nobody would do what the table says: nothing starts."""
    for name in plugins:
        doorward_host.install("plugin", name, Owner, distribution="acme-quota", version="2.1")
    own(doorward_host, "table", "quota", Table, plugin="")
    message = f"table 'quota' of acme-quota 2.1 belongs to {count} plugins of acme-quota 2.1"
    with pytest.raises(ConfigError, match=message):
        await start(doorward_host, CONFIG + QUOTA)
    if plugins:
        doorward_host.install("plugin", "quota", Owner, distribution="acme-quota", version="2.1")
        assert await start(doorward_host, CONFIG + QUOTA) == {}


async def test_commands_own_a_table(doorward_host: Host) -> None:
    """They read it where the configuration has it; there is no plugin to be used."""
    own(doorward_host, "table", "quota", Table, plugin="")
    doorward_host.install("command", "quota", Owner, distribution="acme-quota", version="2.1")
    async with doorward_host.gateway(CONFIG + QUOTA) as gate:
        found: Any = gate.config
        assert (found.quota, gate.loaded.owners) == (Table(calls=7), ())
        assert plugin_of(gate) is None


async def test_an_owner_that_cannot_be_made(doorward_host: Host) -> None:
    """What the table says would not happen."""
    doorward_host.install("plugin", "quota", RuntimeError("no"), distribution="acme-quota", version="2.1")
    own(doorward_host, "table", "quota", Table, plugin="")
    with pytest.raises(PluginError, match=r"plugin 'quota' of acme-quota 2\.1 does not import"):
        await start(doorward_host, CONFIG + QUOTA)


async def test_one_that_is_not_installed(doorward_host: Host) -> None:
    """The message says what to install where that is known, and guesses no names."""
    for text, environ in (("[[budgets]]\ncalls = 1\n", {}), ("", {"DOORWARD_BUDGETS": '[{"calls": 1}]'})):
        with pytest.raises(ConfigError, match="budgets") as told:
            await start(doorward_host, CONFIG + text, environ=environ)
        assert "`pip install doorward-budgets` brings it" in f"{told.value} {told.value.hint}"
    broken = await start(doorward_host, CONFIG.replace("[servers.weather]", "[servers.weather]\nprice = 1"))
    assert "unknown key 'price': `pip install doorward-budgets` brings it" in broken["weather"]
    with pytest.raises(ConfigError, match="unknown key 'quota'") as told:
        await start(doorward_host, CONFIG + QUOTA)
    assert "pip install" not in f"{told.value} {told.value.hint}"


# What may not be used


def test_nothing_is_imported_that_its_pins_refuse(doorward_host: Host, mark: Path) -> None:
    """The message says who refuses it."""
    refused = Index(doorward_host.entries, lambda entry: False, why=lambda entry: "acme 1.2, which does not name it")
    why = "'quota' of acme-quota 2.1 is not allowed by acme 1.2, which does not name it"
    path = doorward_host.write(CONFIG + QUOTA)
    with pytest.raises(ConfigError, match=why):
        config.load(path, index=refused)
    loaded = config.load(doorward_host.write(WEIGHT), index=refused)
    assert "'weight' of acme-quota 2.1 is not allowed" in str(loaded.broken["weather"])
    assert not mark.exists()


def test_nothing_is_imported_whose_files_have_changed(doorward_host: Host, mark: Path) -> None:
    """The check of pinned files comes first."""

    def check() -> None:
        raise ConfigError("a file was changed")

    with pytest.raises(ConfigError, match="a file was changed"):
        config.load(doorward_host.write(CONFIG + QUOTA), index=Index(doorward_host.entries, check=check))
    assert not mark.exists()


# What else knows them


async def test_a_key_may_change_while_a_gateway_is_open(doorward_host: Host, mark: Path) -> None:
    """What the plugin is told changes with it. A key whose plugin was not loaded at the start is refused: nobody would
    do what it says."""
    async with doorward_host.gateway(WEIGHT) as gate:
        context = plugin_of(gate).context
        for text, wanted in ((WEIGHT.replace("= 2", "= 3"), 3), (CONFIG, None), (WEIGHT, 2)):
            await changed(doorward_host, gate, text)
            assert context.server_key("weather", "weight") == wanted
        await changed(doorward_host, gate, WEIGHT.replace("= 2", '= "x"'))
        assert context.server_key("weather", "weight") == 2
    async with doorward_host.gateway(CONFIG) as gate:
        await changed(doorward_host, gate, WEIGHT)
        assert gate.servers.key_of("weather", "weight") is None


async def test_a_table_is_read_at_the_start_only(
    doorward_host: Host, mark: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """A changed one is told of, and what it said still holds."""
    async with doorward_host.gateway(CONFIG + QUOTA) as gate:
        await changed(doorward_host, gate, CONFIG + QUOTA.replace("7", "8"))
        assert plugin_of(gate).context.tables["quota"].calls == 7
    assert "quota: read at the start only" in capfd.readouterr().err


async def changed(host: Host, gate: Any, text: str) -> None:
    """Have a gateway look at its file, which has changed."""
    from doorward.servers.background_refresh import Reconfiguration

    if not hasattr(gate, "changes"):
        gate.changes = Reconfiguration(gate.loaded, gate.servers, gate.principals)
    host.write(text)
    gate.changes._stamp = ()
    await gate.changes.look()
