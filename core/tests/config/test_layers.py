"""What manages the configuration of an environment: its layers around those of the user, and how nothing goes round it."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from doorward.config.config import Loaded, load, reloaded
from doorward.config.installed_plugins import Entry, Index, installed
from doorward.config.layers import Managed, find_index, find_managed, managed_title
from doorward.model.errors import ConfigError, DoorwardError
from doorward.model.integrity import Key
from doorward.model.names import Named
from doorward_testing import Host

from ..conftest import CONFIG

pytestmark = pytest.mark.anyio

Loader = Callable[..., Loaded]


class Corp:
    """A manager that gives what it is made with, and lets no user name a host."""

    title = "Corp (corp 1.0)"

    def __init__(self, host: Host, **given: Any) -> None:
        self.host, self.given = host, given
        self.checked: list[tuple[Mapping[str, Any], Mapping[str, Any]]] = []

    def __call__(self, entries: list[Entry]) -> Corp:
        return self

    def index(self) -> Index:
        return Index(self.host.entries, lambda entry: entry.name != "stranger", why=lambda entry: "corp 1.0")

    def managed(self) -> Managed:
        return Managed("corp 1.0", self.title, self.check, **self.given)

    def check(self, layer: Mapping[str, Any], base: Mapping[str, Any], hint: str) -> None:
        self.checked.append((layer, base))
        if "memory" in layer.get("limits", {}):
            raise ConfigError("limits.memory is locked", hint=hint)


@pytest.fixture
def manage(doorward_host: Host, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Corp]:
    """Installs a manager, and nothing else."""
    host = Host(doorward_host.folder)
    monkeypatch.setattr("doorward.config.layers.installed", lambda: host.entries)

    def install(thing: Any = None, distribution: str = "corp", **given: Any) -> Corp:
        made = Corp(doorward_host, **given)
        host.install("configuration", "corp", thing or made, distribution=distribution)
        return made

    return install


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder on the path with a module that nobody should import."""
    folder = tmp_path / "site"
    folder.mkdir()
    (folder / "imposter.py").write_text("raise SystemExit('imported')")
    monkeypatch.syspath_prepend(folder)
    return folder


def describe(folder: Path, name: str, points: str, called: str = "") -> None:
    """Install a distribution that has these entry points, in a dist-info folder that may be called otherwise."""
    info = folder / f"{called or name.replace('-', '_')}-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(points)
    importlib.invalidate_caches()


IMPOSTER = "[doorward.configuration]\ndist = imposter:manager\n"


def test_its_layers_stand_around_those_of_the_user(loaded: Loader, manage: Callable[..., Corp]) -> None:
    """Below: what applies where nobody says otherwise. Above: what is stronger than the file, variables and options."""
    below = {"surface": "minimal", "cache": "none", "servers": {"wiki": {"source": "fake"}}}
    manage(below=below, above={"limits": {"timeout": 9}}, required=["corp"])
    found = loaded(
        'cache = "redis"\nplugins = ["ast", "corp"]\n[limits]\ntimeout = 60\n', DOORWARD_LIMITS__TIMEOUT="61"
    )
    config = found.config
    assert (config.surface, config.cache, config.limits.timeout) == ("minimal", "redis", 9)
    assert (config.plugins, found.required) == (["corp", "ast"], {"corp"})
    assert found.managed is not None
    assert found.managed.servers == [*config.servers] == ["wiki"]
    assert managed_title() == "Corp (corp 1.0)"


def test_each_layer_of_the_user_is_checked(loaded: Loader, manage: Callable[..., Corp]) -> None:
    """The file, the environment and options, each with where to remove it, and again when the file is read again. What
    it is held against has nothing of the user."""
    corp = manage(below={"surface": "minimal"}, above={"cache": "none"}, required=["corp"])
    found = loaded('cache = "redis"\n', DOORWARD_LOG_LEVEL="info")
    assert [layer for layer, _ in corp.checked] == [{"cache": "redis"}, {"log_level": "info"}, {}]
    for _, base in corp.checked:
        assert (base["surface"], base["cache"], base["plugins"][0], base.get("log_level")) == (
            "minimal",
            "none",
            "corp",
            None,
        )
    for text, environ, where in (
        ('[limits]\nmemory = "1MiB"\n', {}, "configuration file"),
        ("", {"DOORWARD_LIMITS__MEMORY": "1MiB"}, "environment"),
    ):
        with pytest.raises(ConfigError, match=r"limits\.memory is locked") as refused:
            loaded(text, **environ)
        assert where in (refused.value.hint or "")
    with pytest.raises(ConfigError, match=r"limits\.memory is locked"):
        load(found.path, environ={}, options={"limits": {"memory": "1MiB"}})
    rows = len(corp.checked)
    found.path.write_text('[limits]\nmemory = "9GiB"\n')
    with pytest.raises(ConfigError, match=r"limits\.memory is locked"):
        reloaded(found)
    assert len(corp.checked) == rows + 1


async def test_its_policy_and_its_plugins(doorward_host: Host, manage: Callable[..., Corp]) -> None:
    """Its policy holds beside the user's, and refuses in its name; a plugin that it leaves out cannot be named."""
    manage(policy=SimpleNamespace(allow=["*"], deny=["weather.add_station"]))
    async with doorward_host.gateway(CONFIG) as gate:
        assert (await gate.execute("await weather.get_forecast(city='Oslo')")).ok
        with pytest.raises(DoorwardError, match=r"is not allowed by the policy of corp 1\.0: \[policy\] deny"):
            await gate.call("weather.add_station", {"city": "Oslo"})
    doorward_host.install("plugin", "stranger", object())
    assert "stranger" not in {entry.name for entry in find_index().entries}
    with pytest.raises(ConfigError, match="stranger"):
        async with doorward_host.gateway(CONFIG.replace("[]", '["stranger"]'), index=None):
            pass


class Vouching:
    """Vouches for all that this process compiles, until it is told not to."""

    def __init__(self) -> None:
        self.texts: dict[str, Mapping[Key, str]] = {}
        self.listed: dict[str, Sequence[Named]] = {}
        self.altered: Callable[[str], None] = print
        self.checked: list[Key] = []

    def __contains__(self, server: str) -> bool:
        return server in self.texts

    def names(self, server: str) -> Sequence[Named]:
        return self.listed.get(server, ())

    def store(self, server: str, texts: Mapping[Key, str], names: Sequence[Named], write: Callable[[], None]) -> None:
        self.texts[server], self.listed[server] = texts, names
        write()

    def check(self, server: str, key: Key, text: str) -> None:
        self.checked.append(key)
        assert self.texts[server][key] == text


async def test_what_is_stored_is_used_if_it_is_vouched_for(doorward_host: Host, manage: Callable[..., Corp]) -> None:
    """Each gateway gets one of its own, which sees every compile, and every function that is read."""
    made: list[Vouching] = []
    manage(integrity=lambda: made.append(Vouching()) or made[-1])
    for _ in range(2):
        async with doorward_host.gateway(CONFIG) as gate:
            assert (await gate.execute("await weather.get_forecast(city='Oslo')")).ok
        assert ("function", "get_forecast") in made[-1].checked
        assert "get_forecast" in [each.name for each in made[-1].listed["weather"]]
    assert len(made) == 2


def test_several_managers_are_refused(loaded: Loader, manage: Callable[..., Corp]) -> None:
    """None of them is imported."""
    manage()
    manage(AssertionError("imported"), "evil")
    for ask in (find_index, find_managed, managed_title, lambda: loaded("")):
        with pytest.raises(ConfigError, match=r"managed by several: corp 1\.0 in .*, evil 1\.0 in") as refused:
            ask()
        assert refused.value.hint == "Uninstall all but one."


def test_a_copy_of_a_manager_is_a_second_one(site: Path) -> None:
    """Under the same name, in a folder of another name or elsewhere on the path: it may lead to other code. A link to
    the same folder is no copy."""
    describe(site, "corp-manager", IMPOSTER)
    before = len([entry for entry in installed() if entry.kind == "configuration"])
    (site.parent / "lib64").symlink_to(site)
    with pytest.MonkeyPatch.context() as patched:
        patched.syspath_prepend(site.parent / "lib64")
        assert len([entry for entry in installed() if entry.kind == "configuration"]) == before
    describe(site, "corp-manager", IMPOSTER, called="zzz")
    with pytest.raises(ConfigError, match=r"managed by several: .*corp-manager 1\.0 in .*, corp-manager 1\.0 in "):
        find_index()
    assert "imposter" not in sys.modules


@pytest.mark.parametrize("broken", [RuntimeError("no"), SystemExit("no")])
def test_a_manager_that_does_not_import_stops_the_start(
    loaded: Loader, manage: Callable[..., Corp], broken: BaseException
) -> None:
    """Nothing goes on without it."""
    manage(broken)
    for ask in (find_index, find_managed, managed_title, lambda: loaded("")):
        with pytest.raises(
            ConfigError, match=r"^configuration 'corp' of corp 1\.0 does not import: \w+: no"
        ) as refused:
            ask()
        assert refused.value.hint == "Reinstall or upgrade corp."


@pytest.mark.parametrize("other", ["", "evil"])
def test_what_only_a_manager_understands_is_refused_without_it(
    doorward_host: Host, loaded: Loader, manage: Callable[..., Corp], monkeypatch: pytest.MonkeyPatch, other: str
) -> None:
    """A distribution whose locks nobody would keep, and a variable that expects one; another manager is none for it."""
    entries: list[Entry] = []
    monkeypatch.setattr("doorward.config.layers.installed", lambda: entries)
    host = Host(doorward_host.folder)
    if other:
        host.install("configuration", "evil", AssertionError("imported"), distribution=other)
    host.install("distribution", "acme", None, distribution="acme-distro", version="1.2")
    entries += host.entries
    for what in ("acme-distro 1.2", "DOORWARD_DISTRO"):
        for ask in (find_index, find_managed, managed_title, lambda: loaded("")):
            with pytest.raises(ConfigError, match=f"^{what} means nothing without doorward-dist") as refused:
                ask()
            assert refused.value.hint == "pip install doorward-dist"
        entries[:] = [entry for entry in entries if entry.kind != "distribution"]
        monkeypatch.setenv("DOORWARD_DISTRO", "acme")
