"""What the command line says of plugins that do not work."""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import click
import pytest
from doorward import Call, ConfigError, PluginContext, Settings, hookimpl
from doorward.administration import Plugins
from doorward.configuration import Entry, Index, installed
from doorward.engines import MemoryStore
from doorward.plugins import hookspecs
from doorward_cli import doctor

from .conftest import CONFIG, Cli

pytestmark = pytest.mark.anyio


class Guard:
    class Settings(Settings):
        start: int = 8

    def __init__(self, context: PluginContext) -> None: ...

    @hookimpl
    def guard_call(self, call: Call) -> None: ...


@pytest.mark.parametrize("entry", [e for e in installed() if e.kind == "command"], ids=lambda entry: str(entry.name))
def test_what_is_installed_has_no_fault(entry: Entry) -> None:
    """All commands of this repository pass."""
    assert isinstance(Plugins(Index([entry])).driver("command", entry.name), click.Command)


@pytest.mark.slow
def test_a_plugin_in_no_group_is_shown(
    project: Cli, doorward_host: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """`plugins` and `doctor` tell of it; nothing refuses a stranger's that nobody names."""
    about = tmp_path / "site/acme-2.1.dist-info"
    about.mkdir(parents=True)
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: acme\nVersion: 2.1\n")
    (about / "entry_points.txt").write_text(
        "[doorward.hooks]\nhours = nosuch:Hours\n[doorward.zzz]\nx = nosuch\n[doorward_acme.things]\ny = nosuch\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    mine = Index([*doorward_host.entries, *(e for e in installed() if e.distribution == "acme")])
    monkeypatch.setattr("doorward.config.layers.find_index", lambda: mine)
    monkeypatch.setattr("doorward.gateway.find_index", lambda: mine)
    out = project("plugins").out
    assert "doorward.hooks\thours\tacme\t2.1\tunknown group: doorward.plugins was meant\n" in out
    assert "doorward.zzz\tx\tacme\t2.1\tunknown group\n" in out
    assert "y\tacme" not in out
    ended = project("doctor")
    assert ended.code == 0
    what = "! 'hours' of acme 2.1 is in the unknown entry-point group doorward.hooks\n    Its author meant"
    assert f"{what} doorward.plugins." in ended.out
    doorward_host.write(CONFIG.replace("[]", '["hours"]'))
    assert "acme 2.1 gives that name in the entry-point group 'doorward.hooks'" in project("list").err


class Bad:
    """Checks that do what they want."""

    what: Any

    @hookimpl
    def doctor_checks(self) -> Any:
        return self.what()


def leave() -> None:
    raise SystemExit(3)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("what", "says"),
    [
        (lambda: 1 / 0, "ZeroDivisionError"),
        (leave, "SystemExit"),
        (threading.Event().wait, "TimeoutError"),
        (lambda: iter(threading.Event().wait, None), "TimeoutError"),
        (lambda: [("x", True)], "it answered list[tuple[str, bool]], not Sequence[tuple[str, bool, str]] | None"),
    ],
)
def test_a_plugin_that_fails_in_doctor(
    project: Cli, doorward_host: Any, monkeypatch: pytest.MonkeyPatch, what: Any, says: str
) -> None:
    """It is told with its name, and the others have their lines, whether it raises, hangs or wants to end it all."""
    good = Bad()
    good.what = lambda: [("the moon", True, "")]
    bad = Bad()
    bad.what = what
    monkeypatch.setitem(hookspecs.SECONDS, "doctor_checks", 0.5)
    doorward_host.install("plugin", "bad", bad, distribution="acme", version="2.1")
    doorward_host.install("plugin", "good", good)
    doorward_host.write(CONFIG.replace("[]", '["bad", "good"]'))
    ended = project("doctor")
    assert ended.code == 1
    assert f"✗ plugin 'bad' of acme 2.1 failed in doctor_checks: {says}\n    The log says why." in ended.out
    assert "✓ the moon" in ended.out


class Slow(click.Command):
    async def checks(self, gateway: Any) -> AsyncIterator[tuple[str, bool, str]]:
        import anyio

        yield "the sun", True, ""
        await anyio.sleep_forever()


class NoChecks(click.Command):
    def checks(self, gateway: Any) -> Any:
        return [("x", True, "")]


def test_a_command_that_hangs_in_doctor(project: Cli, doorward_host: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its time is limited; what it said before stays, and so do the others."""
    monkeypatch.setattr(doctor, "MAX_CHECK_SECONDS", 0.2)
    doorward_host.install("command", "slow", Slow("slow"), distribution="acme", version="2.1")
    doorward_host.install("command", "sync", NoChecks("sync"), distribution="acme", version="2.1")
    out = project("doctor").out
    assert "✓ the sun\n✗ command slow of acme 2.1 cannot check anything more: nothing came for 0.2 s\n" in out
    assert "✗ command sync of acme 2.1 cannot check anything more\n" in out


class Failing(Guard):
    def __init__(self, context: PluginContext) -> None:
        raise KeyError("no such hour")


def test_the_operator_learns_what_it_says(project: Cli, doorward_host: Any) -> None:
    """The command line shows whose failure it is, and its text, without secrets."""
    doorward_host.install("plugin", "hours", Failing, distribution="acme", version="2.1")
    doorward_host.write(CONFIG.replace("[]", '["hours"]'))
    said = project("list").err
    assert "plugin 'hours' of acme 2.1 failed in its constructor: KeyError\n" in said
    assert "KeyError: 'no such hour'" in said
    assert "no such hour" in project("list", "--json").json["error"]["message"]
    assert "KeyError: 'no such hour'" in project("doctor").out


class Saying(Guard):
    def __init__(self, context: PluginContext) -> None:
        raise ConfigError("there are no hours", hint="Give some.")


def test_what_a_constructor_says_is_told_as_its_own(project: Cli, doorward_host: Any) -> None:
    """An error in the plugin's own words comes with whose they are."""
    doorward_host.install("plugin", "hours", Saying, distribution="acme", version="2.1")
    doorward_host.write(CONFIG.replace("[]", '["hours"]'))
    assert project("list").err == (
        "error: there are no hours\n  The plugin 'hours' of acme 2.1 says so.\nhint: Give some.\n"
    )


def test_a_command_that_fails_is_named(
    project: Cli, doorward_host: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A defect of a plugin's command is not taken for one of Doorward; one that is none says so."""

    @click.command()
    def stars() -> None:
        raise KeyError("a star")

    doorward_host.install("command", "stars", stars, distribution="acme", version="2.1")
    doorward_host.install("command", "moon", print, distribution="acme", version="2.1")
    (tmp_path / "acme_ends.py").write_text("raise SystemExit(3)")
    monkeypatch.syspath_prepend(str(tmp_path))
    ends = EntryPoint("ends", "acme_ends:main", "doorward.command")
    doorward_host.entries.append(Entry("command", "ends", ends, "acme", "2.1"))
    monkeypatch.setattr("doorward.config.layers.find_index", lambda: Index(doorward_host.entries))
    said = project("stars").err
    assert "error: KeyError: 'a star'\nhint: This is a defect of the command 'stars' of acme 2.1." in said
    assert (
        "command 'moon' of acme 2.1 is an object of type builtin_function_or_method and no click" in project("moon").err
    )
    assert "command 'ends' of acme 2.1 does not import: SystemExit: 3" in project("ends").err


def test_doctor_tells_of_logins_that_machines_do_not_share(project: Cli, doorward_host: Any) -> None:
    """A store of several machines keeps logins only where they are encrypted."""

    class Everywhere(MemoryStore):
        lasts = distributed = True

    doorward_host.install("store", "everywhere", Everywhere)
    for first, told in (("", True), ('vault_key = "a key of at least thirty-two characters"\n', False)):
        doorward_host.write(f'{first}store = "everywhere"\n')
        assert ("have logins and tokens each for itself" in project("doctor").out) is told
