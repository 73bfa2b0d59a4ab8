"""The commands, run in this process with core's own fake source and executor."""

from __future__ import annotations

import io
import json
import logging
import os
import stat
import sys
import tomllib
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import anyio
import click
import doorward
import jsonschema_rs
import pytest
import structlog
import tomli_w
from doorward import (
    Compiled,
    ConfigError,
    Function,
    Gateway,
    PluginContext,
    ServerError,
    Settings,
    Skipped,
    Suggestion,
    Template,
    hookimpl,
)
from doorward.config.installed_plugins import Index
from doorward_cli import command_line, installed_commands
from doorward_cli.command_line import GROUPS
from doorward_cli.installed_commands import own_commands, well_known
from doorward_testing.scripted import Scripted
from pydantic import Field

from .conftest import CONFIG, Cli, CommandEnded, InProcess, Weather

TOKEN = "s3cret-t0ken-of-the-weather"


# Finding one's way


def test_help_lists_every_command(cli: Cli, doorward_host: Any) -> None:
    """`--help` lists the commands of core, and those of plugins, which it does not import."""
    doorward_host.install("command", "dance", ImportError("not to be imported"))
    out = cli("--help").out
    assert all(f"  {word}" in out for word in [*own_commands(), "dance"])
    assert "test-plugin 1.0" in out
    assert out.splitlines()[2] == (doorward.__doc__ or "").splitlines()[0]
    titles = [line for line in out.splitlines() if line.endswith(":") and not line.startswith(" ")]
    assert titles == ["Configure:", "Use functions and programs:", "Operate:", "Extend:", "Of other distributions:"]
    assert out.index("Of other distributions:") < out.index("  dance")
    assert out == cli().out
    assert cli("--version").out.startswith("doorward ")


def test_nobody_replaces_a_command(project: Cli, doorward_host: Any) -> None:
    """Another distribution that gives a command of the same name is not asked, and not imported."""
    doorward_host.install("command", "list", ImportError("not to be imported"))
    assert project("list").out.startswith("weather\t")
    assert project("--help").out.count("  list ") == 1


def test_every_command_has_its_group() -> None:
    """No command of ours is listed among those of others."""
    rows = {name: row for name, row in well_known().items() if "." not in name}
    assert {name: row.get("group") for name, row in rows.items() if row.get("group") not in {*GROUPS} - {""}} == {}


@pytest.mark.parametrize("word", own_commands())
def test_every_command_explains_itself(cli: Cli, word: str) -> None:
    """Each command has help, and takes --config, --env-file, --json and --quiet. CONTRACT: CLI-03."""
    below = {
        "add": ("fake",),
        "token": ("new",),
        "policy": ("test",),
        "store": ("forget",),
        "export": ("stubs",),
        "schedule": ("add",),
    }
    ended = cli(word, *below.get(word, ()), "--help")
    assert ended.code == 0
    assert all(option in ended.out for option in ("--config", "--env-file", "--json", "--quiet"))


@pytest.mark.parametrize(
    ("words", "advice"),
    [
        (["lst"], "Did you mean list?"),
        (["serv"], "Did you mean serve or search?"),
        (["demo"], "pip install doorward-demo"),
        (["zzzz"], "doorward --help"),
        (["--config", "x", "list"], "Options follow the command"),
    ],
)
def test_unknown_commands_get_advice(cli: Cli, words: list[str], advice: str) -> None:
    """A command that does not exist ends with 2, and says what may have been meant."""
    ended = cli(*words)
    assert (ended.code, ended.out) == (2, "")
    assert advice in ended.err


def test_commands_of_plugins_run(cli: Cli, doorward_host: Any) -> None:
    """A click command of the group `doorward.command` is one of ours."""
    import click

    doorward_host.install("command", "dance", click.Command("dance", callback=lambda: click.echo("la la")))
    assert cli("dance").out == "la la\n"


def test_commands_stand_below_groups_of_others(cli: Cli, doorward_host: Any) -> None:
    """An entry point `shows.dance` is `doorward shows dance`, and takes the place of none that the group has. One that
    cannot be loaded says so when it is called, and fails no other. Nothing is imported for another."""
    import click

    def stumble() -> None:
        raise KeyError("s3cret")

    dance = click.Command("dance", callback=lambda: click.echo("la la"), help="Dance along.")
    own = click.Command("test", callback=lambda: click.echo("own"), help="Try it.")
    doorward_host.install("command", "shows", click.Group("shows", {"test": own}))
    doorward_host.install("command", "shows.dance", dance)
    doorward_host.install("command", "policy.dance", dance)
    doorward_host.install("command", "shows.stumble", click.Command("stumble", callback=stumble))
    doorward_host.install("command", "shows.test", ImportError("not to be imported"))
    doorward_host.install("command", "shows.broken", ImportError("it is broken"))
    doorward_host.install("command", "list.below", dance)
    for group in ("shows", "policy"):
        assert cli(group, "dance").out == "la la\n"
    assert cli("shows", "test").out == "own\n"
    shown = cli("shows", "--help").out
    listed = [line.split()[0] for line in shown.partition("Commands:\n")[2].splitlines()]
    assert listed == ["broken", "dance", "stumble", "test"]
    assert "Dance along." in shown
    assert "(cannot be loaded)" in shown
    broken = cli("shows", "broken", "--dry-run")
    assert (broken.code, "it is broken" in broken.err) == (2, True)
    defect = cli("shows", "stumble").err
    assert "This is a defect of the command 'shows.stumble' of test-plugin 1.0" in defect
    assert cli("shows", "sing").code == 2
    assert cli("shows.dance").err.startswith("error: there is no command 'shows.dance'\n")
    assert cli("list", "below", "--config", "none.toml").code == 2
    assert "dance" not in cli("--help").out


def test_what_stands_below_and_is_not_installed(cli: Cli, doorward_host: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The distribution that brings it is named."""
    known = {**installed_commands.well_known(), "policy.sing": {"from": "doorward-songs", "does": "Sing"}}
    monkeypatch.setattr(command_line, "well_known", lambda: known)
    ended = cli("policy", "sing")
    assert ended.err == "error: the command 'policy sing' is not installed\nhint: pip install doorward-songs\n"
    assert "sing" not in cli("policy", "--help").out


@pytest.mark.parametrize("word", ["list", "compile", "doctor", "clean"])
def test_first_run_says_how_to_begin(cli: Cli, word: str) -> None:
    """Without a configuration the message names the file and the command that makes it. CONTRACT: CLI-06."""
    ended = cli(word)
    assert ended.code == (1 if word == "doctor" else 2)
    assert "doorward.toml" in ended.out + ended.err
    assert "doorward init" in ended.out + ended.err
    assert "Traceback" not in ended.err


def test_errors_as_json(project: Cli) -> None:
    """With --json an error is JSON on standard output, and nothing else is."""
    assert cli_error(project("call", "weather.nope", "--json")) == ("UnknownName", "program", 1)
    assert cli_error(project("list", "--config", "no.toml", "--json")) == ("ConfigError", "config", 2)
    assert cli_error(project("search", "--json")) == ("MissingParameter", "config", 2)


def cli_error(ended: CommandEnded) -> tuple[str, str, int]:
    assert ended.err == ""
    return ended.json["error"]["type"], ended.json["error"]["kind"], ended.code


def test_defects_tell_no_secret(project: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    """An error that nobody foresaw is one line; its traceback is for DOORWARD_DEBUG=1; neither holds a secret.
    CONTRACT: OBS-01."""
    from doorward.gateway import Gateway

    async def defect(gate: Gateway) -> None:
        gate.secrets.remember(TOKEN)
        raise KeyError(TOKEN)

    monkeypatch.setattr(Gateway, "list_servers", defect)
    ended = project("list")
    assert ended.code == 1
    assert "error: KeyError: '[secret]'" in ended.err
    assert "Traceback" not in ended.err
    monkeypatch.setenv("DOORWARD_DEBUG", "1")
    ended = project("list")
    assert "Traceback" in ended.err
    assert TOKEN not in ended.err + ended.out


# init, add


def test_a_folder_that_is_a_file(cli: Cli, doorward_host: Any) -> None:
    """It is said so, and is no defect."""
    (doorward_host.folder / "file").write_text("")
    ended = cli("init", "--config", "file/below/doorward.toml", "--json")
    assert ended.code == 2
    assert "cannot be written" in ended.json["error"]["message"]


def test_init_writes_what_can_be_used(cli: Cli, doorward_host: Any) -> None:
    """`init` writes a configuration that loads, a private .env, and keeps that out of git; it overwrites nothing.
    CONTRACT: CLI-06."""
    (doorward_host.folder / ".gitignore").write_text("dist")
    assert cli("init").code == 0
    env = doorward_host.folder / ".env"
    assert stat.S_IMODE(env.stat().st_mode) == 0o600
    assert (doorward_host.folder / ".gitignore").read_text() == "dist\n.env\n"
    assert cli("list").code == 0
    assert "installed too: inprocess" in (doorward_host.folder / "doorward.toml").read_text()

    env.write_text("A=1")
    ended = cli("init")
    assert (ended.code, "--force" in ended.err) == (2, True)
    assert cli("init", "--force", "--json").json == {"written": ["doorward.toml", "doorward.schema.json"]}
    assert env.read_text() == "A=1"


def test_init_keeps_what_it_overwrites(cli: Cli, doorward_host: Any) -> None:
    """In copies beside the file, each under its own name, for its owner alone."""
    doorward_host.write("# the first\n")
    said = cli("init", "--force").out
    assert cli("init", "--force").code == 0
    copies = sorted(doorward_host.folder.glob("doorward.toml.*"), key=lambda file: len(file.name))
    assert any("# the first" in file.read_text() for file in copies)
    assert len(copies) == 2
    assert any(file.name in said for file in copies)
    assert {stat.S_IMODE(file.stat().st_mode) for file in copies} == {0o600}


class SpecSettings(Settings):
    spec: str
    fixes: list[str] = Field([], json_schema_extra={"format": "path"})
    base_url: str | None = None
    headers: dict[str, str] | None = None
    timeout: float = 30


class Spec(Weather):
    Settings = SpecSettings  # type: ignore[assignment]

    async def fingerprint(self) -> str:
        return str(self.settings)


@pytest.mark.slow
def test_add_keeps_the_file(cli: Cli, doorward_host: Any) -> None:
    """`add` makes the file or appends to it, keeps comments, writes paths relative to it, and compiles."""
    doorward_host.install("source", "spec", Spec)
    file, spec = doorward_host.folder / "conf" / "doorward.toml", doorward_host.folder / "api.yaml"
    spec.write_text("openapi: 3.1.0")
    config = ("--config", "conf/doorward.toml")
    ended = cli("add", "spec", "one", "api.yaml", "--base-url", "12", "--headers", '{"A": "b"}', "--read-only", *config)
    assert "one: 4 functions" in ended.out
    assert file.read_text().endswith(
        '[servers.one]\nsource = "spec"\nread_only = true\nspec = "../api.yaml"\nbase_url = "12"\nheaders = {A = "b"}\n'
    )
    file.write_text(f"# mine\n{file.read_text()}\n[limits] # mine too\ntimeout = 9\n")
    assert cli("add", "spec", "two", "https://x/y", *config, "--json").json["servers"]["two"]["functions"] == 8
    ended = cli("add", "spec", "one", "https://x/z", *config)
    assert (ended.code, "--force" in ended.err) == (2, True)
    assert cli("add", "spec", "one", "https://x/z", "--force", *config).code == 0
    text = file.read_text()
    assert text.startswith("# mine\n")
    assert "[limits] # mine too" in text
    assert text.endswith('[servers.one]\nsource = "spec"\nspec = "https://x/z"\n')
    assert [s["name"] for s in cli("list", *config, "--json").json["servers"]] == ["two", "one"]


class Plain:
    """An auth without keys."""

    Settings = Settings

    def __init__(self, context: Any) -> None: ...

    def create_auth(self) -> Any: ...


def test_add_takes_every_key_of_a_server(cli: Cli, doorward_host: Any) -> None:
    """Core's keys beside the source's; a list is given word by word, and files are found from where one stands."""
    doorward_host.install("source", "spec", Spec)
    doorward_host.install("auth", "fake", Plain)
    doorward_host.install_real("skills")
    for name in ("guide.md", "fix.yaml"):
        (doorward_host.folder / name).write_text("")
    given = [
        "--fixes",
        "fix.yaml",
        "--fixes",
        "https://x/fix",
        "--include",
        "get_*",
        "--include",
        "tag:x",
        "--exclude",
        "a",
        "--expose",
        "get_a",
        "--skills",
        "guide.md",
    ]
    ended = cli(
        "add", "spec", "one", "https://x/y", *given, "--auth", '{"type": "fake"}', "--config", "conf/doorward.toml"
    )
    assert ended.code == 0, ended
    assert (
        (doorward_host.folder / "conf" / "doorward.toml")
        .read_text()
        .endswith(
            '[servers.one]\nsource = "spec"\nauth = {type = "fake"}\ninclude = ["get_*", "tag:x"]\nexclude = '
            '["a"]\nexpose = ["get_a"]\n'
            'skills = "../guide.md"\nspec = "https://x/y"\nfixes = ["../fix.yaml", "https://x/fix"]\n'
        )
    )


class RenamedSettings(Settings):
    schema_: str | None = Field(None, alias="schema", json_schema_extra={"format": "path"})


class Renamed(Weather):
    """A source with a key that its field cannot be named by."""

    Settings = RenamedSettings  # type: ignore[assignment]

    async def fingerprint(self) -> str:
        return str(self.settings)


def test_add_takes_a_key_by_its_name_in_the_file(cli: Cli, doorward_host: Any) -> None:
    """Not by the name of its field, which may be another one because pydantic has an attribute of that name."""
    doorward_host.install("source", "renamed", Renamed)
    (doorward_host.folder / "a.graphql").write_text("")
    ended = cli("add", "renamed", "one", "--schema", "a.graphql", "--config", "conf/doorward.toml")
    assert ended.code == 0, ended
    assert (doorward_host.folder / "conf" / "doorward.toml").read_text().endswith('schema = "../a.graphql"\n')


@pytest.mark.parametrize("table", ['{"A": "${B}"}', '{ A = "${B}" }', "{A='${B}'}"])
def test_add_takes_tables_as_json_and_as_toml(cli: Cli, doorward_host: Any, table: str) -> None:
    """As the file would have it, and as other tools print it; a secret's name is written, never its value."""
    doorward_host.install("source", "spec", Spec)
    (doorward_host.folder / ".env").write_text("B=hidden")
    assert cli("add", "spec", "one", "https://x/y", "--headers", table).code == 0
    assert (
        (doorward_host.folder / "doorward.toml").read_text().endswith('spec = "https://x/y"\nheaders = {A = "${B}"}\n')
    )


class CommandSettings(Settings):
    command: list[str] = Field([], json_schema_extra={"format": "command"})
    url: str | None = None
    env: dict[str, Template] = Field({})


class Started(Weather):
    Settings = CommandSettings  # type: ignore[assignment]

    async def fingerprint(self) -> str:
        return "it"


@pytest.mark.slow
def test_add_takes_a_command_line(cli: Cli, doorward_host: Any) -> None:
    """Behind `--` stands the command, whatever its options are; a table of texts is given entry by entry."""
    doorward_host.install("source", "started", Started)
    (doorward_host.folder / ".env").write_text("TOKEN=hidden")
    assert (
        cli("add", "started", "one", "--env", "A=${TOKEN}", "--env", "B=x=y", "--", "npx", "-y", "--url", "server").code
        == 0
    )
    assert (doorward_host.folder / "doorward.toml").read_text().endswith(
        'command = ["npx", "-y", "--url", "server"]\nenv = {A = "${TOKEN}", B = "x=y"}\n'
    )  # fmt: skip
    assert cli("add", "started", "two", "--url", "https://x/y").code == 0
    assert (
        (doorward_host.folder / "doorward.toml")
        .read_text()
        .endswith('[servers.two]\nsource = "started"\nurl = "https://x/y"\n')
    )
    assert "Its command stands behind `--`." in " ".join(cli("add", "started", "--help").out.split())


def test_add_says_how_a_table_is_written(cli: Cli, doorward_host: Any) -> None:
    """Text where a table belongs is answered with an example."""
    doorward_host.install("source", "spec", Spec)
    ended = cli("add", "spec", "one", "https://x/y", "--headers", "A: b")
    assert (ended.code, 'headers: Input should be a table, for example { name = "value" }' in ended.err) == (2, True)


@pytest.mark.parametrize(
    "words",
    [
        ["nope", "x", "y"],
        ["spec", "a.b", "y"],
        ["spec", "json", "y"],
        ["spec", "x"],
        ["spec", "x", "y", "--timeout", "soon"],
    ],
)
def test_add_leaves_nothing_that_cannot_work(project: Cli, doorward_host: Any, words: list[str]) -> None:
    """A server that the configuration would refuse is refused, and the file stays as it was."""
    doorward_host.install("source", "spec", Spec)
    before = (doorward_host.folder / "doorward.toml").read_text()
    assert project("add", *words).code == 2
    assert (doorward_host.folder / "doorward.toml").read_text() == before
    assert project("add", *words, "--config", "new.toml").code == 2
    assert not (doorward_host.folder / "new.toml").exists()


# compile, clean

BROKEN = f'{CONFIG}[servers.other]\nsource = "nope"\n[servers.third]\nsource = "fake"\nversion = "x"\n'


class Broken(Started):
    """A source that is not there, or wants credentials."""

    async def compile(self) -> Compiled:
        settings: Any = self.settings
        for trouble in filter(None, (value.trouble() for value in settings.env.values())):
            raise trouble
        refused = ServerError("who are you?")
        refused.auth = [Suggestion([{"type": "fake"}], "a key")] if settings.url else ()
        raise refused


def test_a_failed_add_leaves_nothing(project: Cli, doorward_host: Any) -> None:
    """Neither a server, nor its secrets, nor a file that was not there; and what was there before comes back. A server
    that only wants credentials stays."""
    doorward_host.install("source", "broken", Broken)
    doorward_host.install("auth", "fake", Plain)
    file, env = doorward_host.folder / "doorward.toml", doorward_host.folder / ".env"
    before = file.read_text()
    secret = "--token=ghp_0123456789abcdefghijklmnopqrstuvwxyz"
    ended = project("add", "broken", "one", "--", "run", secret)
    assert (ended.code, file.read_text(), env.exists()) == (1, before, False)
    assert "starting run --token=${ONE_TOKEN}\n" in ended.err
    assert "one was not added: doorward.toml is as it was" in ended.err
    assert project("add", "broken", "one", "--config", "new.toml").code == 1
    assert not (doorward_host.folder / "new.toml").exists()
    assert project("add", "broken", "weather", "--", "run", secret).code == 2  # there is one of that name
    assert project("add", "broken", "weather", "--force", "--", "run", secret).code == 1
    assert (file.read_text(), env.exists()) == (before, False)
    assert project("add", "broken", "two", "--url", "https://x/y").code == 1
    assert file.read_text().endswith('url = "https://x/y"\nauth = {type = "fake"}\n')
    assert project("add", "broken", "three", "--env", "A=${NOT_SET}").code == 1
    assert project("add", "broken", "four", "--auth", '{type = "fake"}').code == 1
    assert "[servers.three]" in file.read_text()
    assert "[servers.four]" in file.read_text()


def test_a_variable_of_a_source_is_named(project: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    """What an environment variable says wrong of a server is said of the variable."""
    monkeypatch.setenv("DOORWARD_SERVERS__WEATHER__VERSION", "new")
    assert (
        "broken weather: the environment: DOORWARD_SERVERS__WEATHER__VERSION: version: Input" in project("compile").out
    )


def test_a_client_s_entry_is_printed_once(project: Cli, doorward_host: Any) -> None:
    """By what compiles first, and not by each `compile` and `add` after it."""
    assert "mcpServers" in project("compile").out
    doorward_host.install("source", "spec", Spec)
    for words in (["compile", "--force"], ["add", "spec", "one", "https://x/y"]):
        assert "mcpServers" not in project(*words).out


def test_compile_tells(project: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    """One line a server, what was skipped and why, the summary line, and what to paste into a client.
    CONTRACT: CLI-01, CLI-04, SRC-14."""
    monkeypatch.setenv("PATH", "")
    out = project("compile").out
    assert out.startswith("weather: 8 functions, 1 skipped, ")
    assert "  skipped GET /odd: it is odd\n" in out
    assert "Compiled: weather (8 functions)" in out
    snippet = json.loads(out[out.index("{") :])["mcpServers"]["doorward"]
    assert Path(snippet["command"]).name == "doorward"
    assert snippet["args"] == ["serve", "--config", str(Path("doorward.toml").resolve())]
    assert "weather: 8 functions, 1 skipped, unchanged" in project("compile").out
    assert "unchanged" not in project("compile", "--force").out


@pytest.mark.slow
def test_compile_as_json(project: Cli, doorward_host: Any) -> None:
    """The shape that other tools rely on; one broken server costs exit code 1 and no other server. CONTRACT: SRC-14."""
    told = project("compile", "--json").json["servers"]["weather"]
    assert (told.pop("ms") >= 0, told) == (
        True,
        {"functions": 8, "skipped": [{"where": "GET /odd", "why": "it is odd"}], "warnings": []},
    )
    doorward_host.write(BROKEN)
    ended = project("compile", "--json")
    assert ended.code == 1
    servers = ended.json["servers"]
    assert servers["weather"]["functions"] == 8
    assert "no source named 'nope'" in servers["other"]["error"]
    assert "pip install" in servers["other"]["hint"]
    assert "version" in servers["third"]["error"]
    assert "broken other: " in project("compile").out
    assert project("compile", "weather").code == 0
    assert project("compile", "nope").code == 2


@pytest.mark.slow
def test_compile_probes_when_it_is_told_to(project: Cli, doorward_host: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """`--probe` calls what only reads and needs no arguments, and says what was learnt and what failed. CONTRACT:
    SRC-23."""
    doorward_host.install_real("doorward-store-sqlite")
    called = []

    async def call(self: Any, call: Any) -> Any:
        called.append(call.function.name)
        if call.function.name == "raw":
            raise ServerError("it is down")
        return [{"id": 1, "name": "s3cret"}]

    monkeypatch.setattr(Weather, "call", call)
    project("compile")
    assert called == []
    told = project("compile", "--probe", "--json").json
    assert sorted(called) == ["big", "raw", "sleep"]
    assert told["probed"]["weather.big"] == {"result": "list[dict[str, Any]]"}
    assert told["probed"]["weather.raw"] == {"failed": "it is down"}
    assert told["servers"]["weather"]["functions"] == 8
    shown = project("show", "weather.big").out
    assert "# The result: observed once, last today, not promised." in shown
    assert "name: str" in shown
    assert "s3cret" not in shown
    again = project("compile", "--probe").out
    assert "probed weather.raw: failed it is down" in again
    assert called.count("big") == 1
    assert project("compile", "--probe", "--dry-run").code == 2


def test_compile_lists_ten_skipped(project: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first ten of what was skipped, the rest with --verbose."""
    from doorward import Compiled, Skipped

    async def compile(self: Any) -> Compiled:
        return Compiled([], skipped=[Skipped(f"GET /{n}", "odd") for n in range(12)], warnings=["take care"] * 13)

    monkeypatch.setattr(Weather, "compile", compile)
    out = project("compile").out
    assert (out.count("  skipped"), "… and 2 more" in out) == (10, True)
    assert (out.count("warning: take care"), "… and 3 more warnings" in out) == (10, True)
    assert project("compile", "--verbose").out.count("  skipped") == 12


def test_dry_run_writes_nothing(project: Cli, doorward_host: Any) -> None:
    """`compile --dry-run` finds what is broken, and leaves the folder as it was. CONTRACT: SRC-15."""
    doorward_host.write(BROKEN.replace('state = "state"', ""))
    before = sorted(doorward_host.folder.rglob("*"))
    ended = project("compile", "--dry-run")
    assert ended.code == 1
    assert "Would compile: weather (8 functions)" in ended.out
    assert "broken third" in ended.out
    assert sorted(doorward_host.folder.rglob("*")) == before


def test_compile_says_what_is_behind(project: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    """A document that cannot be had leaves the last compile in use; `compile` says so, and ends with 1."""
    assert project("compile").code == 0

    async def unreachable(self: Any) -> str:
        raise ServerError("cannot be reached", hint="Is it up?")

    monkeypatch.setattr(Weather, "fingerprint", unreachable)
    ended = project("compile", "--json")
    assert ended.code == 1
    assert ended.json["servers"]["weather"] | {"ms": 0, "skipped": []} == {
        "functions": 8, "skipped": [], "warnings": [], "ms": 0, "error": "cannot be reached", "hint": "Is it up?",
    }  # fmt: skip
    assert "not compiled anew weather: cannot be reached. Is it up?" in project("compile").out
    assert project("list", "weather").code == 0


@pytest.mark.slow
def test_a_document_that_turns_bad_leaves_the_last_compile_in_use(
    project: Cli, doorward_host: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Half a file, or an HTML page where the document was: a server goes on, unless its own configuration has changed
    as well."""
    assert project("compile").code == 0

    async def unreadable(self: Any) -> str:
        raise ConfigError("is neither JSON nor YAML", place="weather.json")

    monkeypatch.setattr(Weather, "fingerprint", unreadable)
    assert "not compiled anew weather: weather.json: is neither JSON nor YAML" in project("compile").out
    assert project("search", "forecast").out
    file = doorward_host.folder / "doorward.toml"
    file.write_text(file.read_text().replace("[servers.weather]", "[servers.weather]\nread_only = true"))
    assert "broken weather: weather.json: is neither JSON nor YAML" in project("compile").out


def test_clean(project: Cli, doorward_host: Any) -> None:
    """`clean` removes what was compiled; `clean --compile`, or `clean compile`, makes it anew. CONTRACT: CLI-01,
    SRC-16."""
    catalog = doorward_host.folder / "state" / "catalog.db"
    project("compile")
    assert catalog.exists()
    assert project("clean").out == f"removed {catalog}\n"
    assert not catalog.exists()
    assert project("clean").out == "nothing to remove\n"
    before = Weather.compiles
    assert "Compiled: weather (8 functions)" in project("clean", "--compile").out
    assert (catalog.exists(), Weather.compiles) == (True, before + 1)
    assert "Compiled: weather (8 functions)" in project("clean", "compile").out
    assert (catalog.exists(), Weather.compiles) == (True, before + 2)
    assert project("clean", "weather").code == 2


def test_clean_all(project: Cli, doorward_host: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """`clean --all` removes the state folder once somebody has said yes, and no folder of others."""
    state = doorward_host.folder / "state"
    project("compile")
    monkeypatch.setattr("sys.stdin", io.StringIO("n\n"))
    asked = project("clean", "--all")
    assert (asked.code, "catalog.db" in asked.err, state.exists()) == (130, True, True)
    assert project("clean", "--all", "--compile").code == 2
    assert f"removed {state}: " in project("clean", "--all", "--yes").out
    assert not state.exists()
    assert project("clean", "--all").out == "nothing to remove\n"
    (doorward_host.folder / "link").symlink_to(doorward_host.folder)
    for shared in (doorward_host.folder, doorward_host.folder / "link", doorward_host.folder.parent):
        monkeypatch.setenv("DOORWARD_STATE_DIR", str(shared))
        refused = project("clean", "--all", "--yes")
        assert (refused.code, "not of Doorward alone" in refused.err) == (2, True), refused


# list, search, show, call


@pytest.mark.slow
def test_list(project: Cli, doorward_host: Any) -> None:
    """Servers with their functions or what is wrong; the functions of one. What was never compiled is compiled
    first."""
    doorward_host.write(BROKEN)
    out = project("list").out
    assert "weather\t8\tWeather of the world\n" in out
    assert "other\t0\tbroken: no source named 'nope'" in out
    listed = project("list", "weather", "--json").json["functions"]
    assert (len(listed), listed[0]["function"]) == (8, "weather.get_forecast")
    assert project("list", "nope").code == 1
    assert "warning: server other is broken: " in project("search", "city").err


@pytest.mark.slow
def test_a_command_about_one_server_leaves_the_others_alone(project: Cli, doorward_host: Any) -> None:
    """A server that is broken is neither asked again nor told by what does not concern it; the others are asked side by
    side."""
    asked: list[str] = []

    class Slow(Weather):
        async def fingerprint(self) -> str:
            asked.append(self.name)
            while len(asked) < 8:  # each waits for all others
                await anyio.sleep(0.01)
            raise ServerError("does not answer")

    doorward_host.install("source", "slow", Slow)
    project("compile")
    doorward_host.write(CONFIG + "".join(f'[servers.slow-{n}]\nsource = "slow"\n' for n in range(8)))
    for words in (["call", "weather.get_forecast", "city=Oslo"], ["show", "weather.get_forecast"], ["list", "weather"]):
        ended = project(*words)
        assert (ended.code, ended.err, asked) == (0, "", [])
    assert project("search", "city").err.count("is broken") == 8
    ended = project("call", "slow-1.get_forecast", "city=Oslo")
    assert "the server 'slow_1' is broken: does not answer" in ended.err
    assert asked.count("slow_1") == 2


@pytest.mark.slow
def test_search_and_show(project: Cli) -> None:
    """Words find functions; the card of one, also by its original id, and what is not there costs exit code 1."""
    found = project("search", "forecast", "city", "--json", "--limit", "1").json
    assert [f["function"] for f in found["functions"]] == ["weather.get_forecast"]
    assert "weather.add_station\tAdd a station\n" in project("search", "station").out
    both = project("search", "station", "--also", "forecast of a city", "--explain").out.splitlines()
    assert both[0] == "weather.add_station\tAdd a station (for 1, 2)"
    assert "weather.get_forecast\tThe forecast for a city (gives {high}; for 2)" in both
    nothing = project("search", "station", "--read-only")
    assert (nothing.out, "no function fits" in nothing.err) == ("", True)
    ended = project("show", "weather.getForecast", "weather.nope")
    assert ended.code == 1
    assert ended.out.startswith("from weather import get_forecast\n")
    assert "weather.nope" in ended.err
    assert len(project("show", "weather.big", "weather.raw", "--json").json["functions"]) == 2


@pytest.mark.parametrize(
    ("words", "city"),
    [
        (["city=Oslo", "days=2"], "Oslo"),
        (["city=12"], "12"),
        (["city=true", "days=3"], "true"),
        (["city=@name.txt"], "Bergen"),
        (["--arguments", '{"city": "Rome", "days": 1}'], "Rome"),
        (["--arguments", '{"city": "Rome"}', "city=Nice"], "Nice"),
    ],
)
def test_call(project: Cli, doorward_host: Any, words: list[str], city: str) -> None:
    """Values are JSON where they fit the parameter, else text; `@` reads a file."""
    (doorward_host.folder / "name.txt").write_text("Bergen")
    assert project("call", "weather.get_forecast", *words).json == {"city": city, "high": 20.5}


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (["weather.get_forecast", "city=Oslo", "days=two"], 1, "expected int, got str"),
        (["weather.get_forecast", "cty=Oslo"], 1, "did you mean 'city'"),
        (["weather.fail"], 1, "404"),
        (["weather.get_forecast", "Oslo"], 2, "name=value"),
        (["weather.get_forecast", "city=@nope.txt"], 2, "nope.txt"),
        (["weather.get_forecast", "--arguments", "[]"], 2, "JSON object"),
        (["weather.get_forecast", "--arguments", "{"], 2, "no JSON"),
        (["weather.add_station", "city=Oslo"], 3, "policy"),
    ],
)
def test_call_that_fails(project: Cli, doorward_host: Any, words: list[str], code: int, says: str) -> None:
    """A call goes the road of every call: its errors come with advice, and policy holds."""
    doorward_host.write(f'{CONFIG}[policy]\ndeny = ["*.add_*"]')
    ended = project("call", *words)
    assert (ended.code, ended.out) == (code, "")
    assert says in ended.err


class Post(Weather):
    """Answers with what it was given."""

    async def compile(self) -> Compiled:
        properties = {"file": {"type": "string", "format": "binary"}, "text": {"type": "string"}}
        return Compiled([Function(self.name, "send", "send", parameters={"type": "object", "properties": properties})])

    async def call(self, call: Any) -> Any:
        return call.arguments


class Shop(Post):
    """Takes values of all kinds."""

    async def compile(self) -> Compiled:
        order = {"type": "object", "required": ["sku"], "properties": {"sku": {"type": "string"}}}
        properties = {
            "order": {"anyOf": [order, {"type": "null"}]},
            "orders": {"type": "array", "items": order},
            "count": {"type": "integer", "maximum": 100},
            "code": {"type": "string", "maxLength": 3},
            "level": {"enum": [1, 2]},
        }
        return Compiled([Function(self.name, "send", "send", parameters={"type": "object", "properties": properties})])


@pytest.mark.parametrize(
    ("word", "says"),
    [
        ('order={"sku": 5}', "argument order.sku: expected str, got int 5"),
        ('order={"nested": {}}', "argument order: needs 'sku'"),
        ("orders=[{}]", "argument orders[0]: needs 'sku'"),
        ("order=[1]", "argument order: expected dict | None, got a list of 1"),
        ("count=500", "argument count: 500 is greater than the maximum of 100"),
        ("code=1234", 'argument code: "1234" is longer than 3 characters'),
        ("level=3", "argument level: expected one of 1, 2, got int 3"),
        ("count=many", "argument count: expected int, got str 'many'"),
    ],
)
def test_a_call_with_json_that_does_not_fit(cli: Cli, doorward_host: Any, word: str, says: str) -> None:
    """It is told what is wrong inside the value, and not that it is text."""
    doorward_host.install("source", "shop", Shop)
    doorward_host.write('[servers.shop]\nsource = "shop"\n')
    ended = cli("call", "shop.send", word)
    assert (ended.code, says in ended.err) == (1, True), ended.err


def test_call_with_a_file(cli: Cli, doorward_host: Any) -> None:
    """`@FILE` is any file, with its name, where the function takes one; elsewhere its text."""
    doorward_host.install("source", "post", Post)
    doorward_host.write('[servers.post]\nsource = "post"\n')
    (doorward_host.folder / "a.png").write_bytes(b"\x89PNG")
    (doorward_host.folder / "a.txt").write_text("words")
    sent = cli("call", "post.send", "file=@a.png", "text=@a.txt").json
    assert sent == {"file": {"base64": "iVBORw==", "name": "a.png"}, "text": "words"}
    ended = cli("call", "post.send", "file=@b.png")
    assert (ended.code, "b.png cannot be read: No such file" in ended.err) == (2, True)
    assert cli("call", "post.send", "text=@a.png").code == 2


@pytest.mark.slow
def test_call_for_bytes(project: Cli, doorward_host: Any) -> None:
    """`--output` writes the bytes of a result, or its JSON, to a file."""
    assert project("call", "weather.raw", "--output", "raw.bin").out == ""
    assert (doorward_host.folder / "raw.bin").read_bytes() == b"\x00\x01"
    project("call", "weather.big", "--output", "big.json")
    assert len(json.loads((doorward_host.folder / "big.json").read_text())) == 2000
    assert "--output" in project("call", "weather.raw").err


def test_call_saves_the_files_within_a_result(project: Cli, doorward_host: Any) -> None:
    """Tools of MCP servers answer with a text and an image: `--artefacts` saves the image, and without it that is
    said."""
    assert "--artefacts FOLDER saves them" in project("call", "weather.raw", "listed=true").err
    ended = project("call", "weather.raw", "listed=true", "--artefacts", "maps")
    assert json.loads(ended.out)[1]["artefact"] in ended.err
    assert [file.read_bytes() for file in (doorward_host.folder / "maps").iterdir()] == [b"\x00\x01"]
    assert project("call", "weather.raw", "--artefacts", "/proc/here").code == 2


@pytest.mark.parametrize("said", ["doorward://results/none", "app.tar"])
def test_call_prints_data_that_looks_like_a_handle(
    project: Cli, doorward_host: Any, monkeypatch: pytest.MonkeyPatch, said: str
) -> None:
    """An upstream may have a field of that name: it is no file, and `--output` writes the JSON."""

    async def answer(_: Any, call: Any) -> Any:
        return {"artefact": said, "bytes": 3}

    monkeypatch.setattr(Weather, "call", answer)
    ended = project("call", "weather.big", "--output", "out.json")
    assert (ended.code, json.loads((doorward_host.folder / "out.json").read_text())["artefact"]) == (0, said)
    ended = project("call", "weather.big")
    assert (json.loads(ended.out), ended.err) == ({"artefact": said, "bytes": 3}, "")


def test_env_file(project: Cli, doorward_host: Any) -> None:
    """Values come from --env-file, or from .env beside the configuration, and are scrubbed. CONTRACT: CLI-03."""
    doorward_host.write(f'{CONFIG}token = "${{WEATHER}}"')
    ended = project("call", "weather.echo_token")
    assert (ended.code, "WEATHER" in ended.err) == (2, True)
    (doorward_host.folder / "prod.env").write_text(f"WEATHER={TOKEN}")
    told = project("call", "weather.echo_token", "--env-file", "prod.env").out
    assert json.loads(told)["plain"] == "[secret]"
    assert TOKEN not in told
    ended = project("list", "--env-file", "nope.env")
    assert (ended.code, "nope.env" in ended.err) == (2, True)


READS_ENV_FILE = [
        "add fake new", "remove weather", "compile", "clean", "list", "search x", "show weather.raw",
        "call weather.raw", "login weather", "policy test weather.raw", "run p.py",
        "store forget budgets", "export stubs out", "refresh",
        "doctor", "upgrade",
]  # fmt: skip


@pytest.mark.parametrize("words", READS_ENV_FILE)
def test_every_command_reads_its_env_file(project: Cli, doorward_host: Any, words: str) -> None:
    """A value of the configuration comes from the file that `--env-file` names, and from no other; that it is not there
    is an error. The five other commands need no value, or check none. CONTRACT: CLI-03."""
    read = {each.partition(" ")[0] for each in READS_ENV_FILE}
    assert own_commands().keys() - read == {"init", "schema", "completion", "plugins", "schedule"}
    (doorward_host.folder / "p.py").write_text("1")
    (doorward_host.folder / "bad.env").write_text("DOORWARD_LIMITS__TIMEOUT=soon\n")
    (doorward_host.folder / ".env").write_text("DOORWARD_SURFACE=wrong\n")
    ended = project(*words.split(), "--env-file", "bad.env")
    assert "DOORWARD_LIMITS__TIMEOUT: limits.timeout" in ended.out + ended.err
    assert "DOORWARD_SURFACE" not in ended.out + ended.err
    ended = project(*words.split(), "--env-file", "nope.env")
    assert (ended.code > 0, "nope.env" in ended.out + ended.err) == (True, True)


# run


def test_run(project: Cli, doorward_host: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A program from a file or standard input, with other values for its parameters; `--json` has the shape of every
    result. CONTRACT: CLI-01, CAC-06, DIS-19."""
    (doorward_host.folder / "p.py").write_text('city = "Oslo"\nn = 1\nprint("hi")\nresult = [city, n]')
    told = project("run", "p.py", "--param", "city=12", "--param", "n=3", "--json").json
    assert (told["ok"], told["value"], told["printed"], told["executor"]) == (True, ["12", 3], "hi\n", "inprocess")
    assert project("run", "p.py").out.startswith('["Oslo", 1]\nprinted:\nhi\n')
    monkeypatch.setattr(sys, "stdin", __import__("io").StringIO("await weather.get_forecast('Rome')"))
    told = project("run", "-", "--json").json
    assert (told["value"]["city"], told["calls"][0]["function"]) == ("Rome", "weather.get_forecast")


@pytest.mark.parametrize(
    ("code", "options", "ends", "says"),
    [
        ("1 / 0", [], 1, "ZeroDivisionError: division by zero\nin line 1"),
        ("await weather.sleep()", ["--timeout", "0.2"], 3, "0.2 s"),
        ("1", ["--timeout", "9999"], 1, "at most 300 s"),
        ("1", ["--param", "x"], 2, "name=value"),
        ("1" * 100_000, [], 3, "100000 bytes"),
    ],
)
def test_run_exit_codes(project: Cli, doorward_host: Any, code: str, options: list[str], ends: int, says: str) -> None:
    """1: the program failed; 2: it cannot be run like this; 3: policy, a guard or a limit stopped it."""
    (doorward_host.folder / "p.py").write_text(code)
    ended = project("run", "p.py", *options)
    assert ended.code == ends
    assert says in ended.out + ended.err


def test_run_in_other_languages(project: Cli, doorward_host: Any) -> None:
    """The name of the file says the language, or an option; parameters are those of its language. CONTRACT: EXE-02."""
    doorward_host.install("executor", "scripted", Scripted)
    doorward_host.write(CONFIG.replace('"inprocess"', '["inprocess", "scripted"]'))
    (doorward_host.folder / "p.ts").write_text('const id: string = "7"\nconst n = 1\nid')
    told = project("run", "p.ts", "--param", "id=12", "--param", "n=3", "--json").json
    assert (told["executor"], told["value"]) == ("scripted", "12")
    (doorward_host.folder / "p.txt").write_text("const n = 1\nn")
    assert project("run", "p.txt", "--language", "js", "--param", "n=2", "--json").json["value"] == 2
    none = project("run", "p.ts", "--language", "ruby")
    assert none.code == 1
    assert "no executor here runs 'ruby'" in none.out


def test_show_in_other_languages(project: Cli, doorward_host: Any) -> None:
    """A function as a program in TypeScript calls it, where an executor runs that."""
    assert "no executor here runs 'typescript'" in project("show", "weather.get_forecast", "--language", "ts").err
    doorward_host.install("executor", "scripted", Scripted)
    doorward_host.write(CONFIG.replace('"inprocess"', '["inprocess", "scripted"]'))
    assert "def get_forecast(" in project("show", "weather.get_forecast").out
    assert "declare function get_forecast(" in project("show", "weather.get_forecast", "--language", "ts").out


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--parm", "x=1"], "No such option: --parm"),
        (["b.py"], "Unexpected argument: b.py"),
        (["--", "--plan"], "--plan"),
    ],
)
def test_run_has_no_words_for_others(project: Cli, doorward_host: Any, words: list[str], says: str) -> None:
    """Words go only to a program that reads them: a misspelt option of ours is none of its own."""
    (doorward_host.folder / "p.py").write_text("x = 1\nx")
    (doorward_host.folder / "p.js").write_text("argv")
    for file in ("p.py", "p.js"):
        ended = project("run", file, *words)
        assert (ended.code, says in ended.err) == (2, True)


def test_run_narrowed(project: Cli, doorward_host: Any) -> None:
    """`--function` narrows what a program may call."""
    (doorward_host.folder / "p.py").write_text("result = len(await weather.big())")
    assert project("run", "p.py", "--function", "weather.big", "--json").json["value"] == 2000
    assert project("run", "p.py", "--function", "weather.get_*").code == 3


def test_run_saves_artefacts(project: Cli, doorward_host: Any) -> None:
    """`--artefacts` saves what a program leaves; without it, a note says that nothing is kept."""
    (doorward_host.folder / "p.py").write_text("result = await weather.raw(map=True)")
    assert "1 artefact is not saved; --artefacts FOLDER saves them" in project("run", "p.py").out
    told = project("run", "p.py", "--artefacts", "saved/here", "--json").json
    saved = doorward_host.folder / "saved" / "here" / "map-.png"
    assert saved.read_bytes() == b"\x00\x01"
    assert told["artefacts"][0]["name"] == "map-.png"
    assert told["notes"][-1] == f"{told['artefacts'][0]['uri']} is {Path('saved/here/map-.png')}"
    (doorward_host.folder / "file").touch()
    assert project("run", "p.py", "--artefacts", "/proc/here").code == 2
    assert project("run", "p.py", "--artefacts", "file").code == 2


@pytest.mark.slow
def test_run_prints_whole_values(project: Cli, doorward_host: Any) -> None:
    """Nobody can fetch the rest of a value later, so all of it is printed, unless `[limits] inline` is set."""
    (doorward_host.folder / "p.py").write_text("result = await weather.big()")
    assert len(project("run", "p.py", "--json").json["value"]) == 2000
    doorward_host.write(CONFIG.replace("[servers", "limits.inline = 2000\n[servers"))
    assert project("run", "p.py", "--json").json["truncated"]["shape"].startswith("list[2000]")


# plugins, schema, doctor


def test_plugins(project: Cli, doorward_host: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is installed, whether the configuration names it, and what the distribution refuses; none is imported."""
    doorward_host.entries.clear()
    for kind, name in [
        ("source", "fake"),
        ("executor", "inprocess"),
        ("auth", "jwt"),
        ("auth", "basic"),
        ("plugin", "bad"),
    ]:
        doorward_host.install(kind, name, ImportError("not to be imported"))
    doorward_host.write(f'{CONFIG}auth = {{ type = "jwt" }}')
    index = Index(doorward_host.entries, allowed=lambda entry: entry.name != "bad")
    monkeypatch.setattr("doorward.config.layers.find_index", lambda: index)
    rows = project("plugins", "--json").json["plugins"]
    assert rows[0].keys() == {"kind", "name", "distribution", "version", "status"}
    assert {(r["kind"], r["name"]): r["status"] for r in rows} == {
        ("source", "fake"): "active", ("executor", "inprocess"): "active", ("auth", "jwt"): "active",
        ("auth", "basic"): "installed", ("plugin", "bad"): "refused",
    }  # fmt: skip
    assert "auth\tbasic\ttest-plugin\t1.0\tinstalled\n" in project("plugins").out
    assert "active" not in project("plugins", "--config", "nope.toml").out


class Key:
    Settings = SpecSettings

    def __init__(self, context: PluginContext) -> None: ...

    def create_auth(self) -> None: ...


def test_schema(cli: Cli, doorward_host: Any) -> None:
    """The JSON Schema accepts what can be used and refuses unknown keys, those of plugins included."""
    doorward_host.install("source", "spec", Spec)
    doorward_host.install("auth", "key", Key)
    doorward_host.install("plugin", "broken", ImportError("no"))
    ended = cli("schema")
    assert "left out: plugin 'broken'" in ended.err
    validator = jsonschema_rs.Draft202012Validator(ended.json)
    good = {
        "executor": "inprocess",
        "limits": {"memory": "512MiB"},
        "servers": {
            "a": {"source": "spec", "spec": "x", "read_only": True, "auth": {"type": "key", "spec": "${K}"}},
            "b": {"source": "fake", "token": "${T}"},
            "c": {
                "source": "spec",
                "spec": "x",
                "include": "get_*",
                "auth": [{"type": "key", "spec": "${K}"}],
                "fixes": "one.yaml",
            },
        },
        "policy": {"deny": "*.delete_*"},
        "groups": {"ops": "alice"},
        "executors": {"inprocess": {}, "later": {"any": 1}},
    }
    assert validator.is_valid(good)
    doorward_host.write(tomli_w.dumps({**good, "executors": {}}))
    assert "✗ configuration" not in cli("doctor").out
    for bad in (
        {"cahe": "x"}, {"servers": {"a": {"source": "nope"}}}, {"servers": {"a": {"source": "spec"}}},
        {"servers": {"a": {"source": "spec", "spec": "x", "base": "y"}}}, {"executors": {"inprocess": {"any": 1}}},
        {"servers": {"a": {"source": "spec", "spec": "x", "auth": {"type": "key"}}}},
    ):  # fmt: skip
        assert not validator.is_valid(bad), bad


def test_every_key_is_described(cli: Cli, doorward_host: Any) -> None:
    """The JSON Schema has a sentence for each key of core's own."""
    document = cli("schema").json
    tables = [
        document,
        *(part for name, part in document["$defs"].items() if name not in ("Settings", "WeatherSettings")),
    ]
    bare = [
        key
        for table in tables
        for key, part in table.get("properties", {}).items()
        if "description" not in (document["$defs"][part["$ref"].rpartition("/")[2]] if "$ref" in part else part)
    ]
    assert bare == []


def test_init_writes_the_schema_for_editors(cli: Cli, doorward_host: Any) -> None:
    """The first line of the configuration names it, and it fits what stands there."""
    assert "doorward.schema.json" in cli("init").out
    text = (doorward_host.folder / "doorward.toml").read_text()
    assert text.startswith("#:schema doorward.schema.json\n")
    schema = json.loads((doorward_host.folder / "doorward.schema.json").read_text())
    jsonschema_rs.Draft202012Validator(schema).validate(tomllib.loads(text))


class Checked:
    def __init__(self, context: PluginContext) -> None:
        pass

    @hookimpl
    def doctor_checks(self) -> list[tuple[str, bool, str]]:
        return [("the moon", False, "Wait.")]


def test_doctor_when_all_is_well(project: Cli) -> None:
    """Every part is checked, executors by running a program."""
    ended = project("doctor")
    assert ended.code == 0
    for what in (
        "Python 3.",
        "doorward 0.",
        "configuration doorward.toml",
        "state folder",
        "weather: 8 functions",
        "executor inprocess runs",
    ):
        assert f"✓ {what}" in ended.out.replace("✓ server ", "✓ ")
    assert "! no cache" in ended.out


def test_doctor_says_why_a_server_has_nothing(project: Cli, doorward_host: Any) -> None:
    """A server without functions is no mistake, but never without the reason that its source gave."""

    class Empty(Weather):
        async def compile(self) -> Compiled:
            return Compiled([], warnings=["this entry would start Doorward itself"])

    doorward_host.install("source", "empty", Empty)
    doorward_host.write(CONFIG + '[servers.self]\nsource = "empty"\n')
    assert "! server self: 0 functions\n    this entry would start Doorward itself" in project("doctor").out


class Elsewhere(Weather):
    async def check(self, functions: list[Function]) -> list[tuple[str, bool, str]]:
        return [(f"{len(functions)} functions are elsewhere", False, "Look there."), ("the sea", True, "")]


class Useless(Weather):
    async def compile(self) -> Compiled:
        return Compiled([], skipped=[Skipped("GET /a", "it is 7, not an object"), Skipped("GET /b", "no")])


def test_what_no_call_can_reach_is_wrong(project: Cli, doorward_host: Any) -> None:
    """What a source finds wrong with where its calls go is told by `add` and by `doctor`, and so is a server of whose
    operations none became a function."""
    doorward_host.install("source", "elsewhere", Elsewhere)
    doorward_host.install("source", "useless", Useless)
    added = project("add", "elsewhere", "far")
    assert "wrong: 8 functions are elsewhere\n  Look there.\n" in added.out
    assert "the sea" not in added.out
    assert project("add", "elsewhere", "far", "--force", "--json").json["checks"]["far"][0][1] is False
    doorward_host.write(CONFIG + '[servers.far]\nsource = "elsewhere"\n[servers.none]\nsource = "useless"\n')
    ended = project("doctor")
    assert ended.code == 1
    assert "✗ server far: 8 functions are elsewhere\n    Look there.\n✓ server far: the sea\n" in ended.out
    doorward_host.write(CONFIG + 'include = ["nope"]\n')
    assert "✗ server weather: no function is left of 8\n    `include` of [servers.weather] lea" in project("doctor").out
    assert "✗ server none: none of 2 operations became a function\n    GET /a: it is 7, not an object" in ended.out


class Checking(click.Command):
    async def checks(self, gateway: Gateway) -> AsyncIterator[tuple[str, bool, str]]:
        yield f"stars over {', '.join(gateway.executors.names)}", True, ""
        raise ConfigError("it is day", place="[sky]", hint="Wait.")


class Failing(click.Command):
    async def checks(self, gateway: Gateway) -> AsyncIterator[tuple[str, bool, str]]:
        yield "the sun", True, "Do not look."
        raise KeyError("s3cret")


def test_commands_of_plugins_check(project: Cli, doorward_host: Any) -> None:
    """A command with `checks` has lines of its own in `doctor`. One that fails, or is broken, is told, and keeps no
    other from it."""
    doorward_host.install("command", "broken", ImportError("no module"))
    doorward_host.install("command", "failing", Failing("failing"))
    doorward_host.install("command", "plain", click.Command("plain"))
    doorward_host.install("command", "stars", Checking("stars"))
    doorward_host.install("executor", "sick", type("Sick", (InProcess,), {"open": None}))
    doorward_host.write(CONFIG.replace('"inprocess"', '["inprocess", "sick"]'))
    out = project("doctor").out
    assert (
        "✗ command broken: command 'broken' of test-plugin 1.0 does not import: ImportError: no module\n    Reinstall"
        in out
    )
    assert "! the sun\n    Do not look.\n✗ command failing of test-plugin 1.0 cannot check anything more\n" in out
    assert "✓ stars over inprocess\n✗ command stars: [sky]: it is day\n    Wait.\n" in out
    assert "s3cret" not in out
    assert "plain" not in out


def test_doctor_says_what_it_does_not_probe(project: Cli, doorward_host: Any) -> None:
    """That an executor runs programs does not show that it isolates; who wants to know installs what probes it."""
    advice = "! executors: nothing has probed whether they isolate\n    `pip install doorward-jail` brings the probes."
    assert advice in project("doctor").out
    doorward_host.install("command", "sandbox", click.Command("sandbox"))
    assert advice not in project("doctor").out


def test_a_name_that_is_taken_gets_another(project: Cli) -> None:
    assert "time-mcp, for example" in project("add", "fake", "time").err


@pytest.mark.slow
def test_doctor_when_not(project: Cli, doorward_host: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each thing that is wrong comes with what to do, and one that stops the start with its reason. CONTRACT: OBS-04."""
    doorward_host.install("plugin", "moon", Checked)
    doorward_host.install("executor", "sick", type("Sick", (InProcess,), {"open": None}))
    fake = 'source = "fake"\ntoken = '
    servers = f'[servers.four]\n{fake}"${{NOT_SET}}"\n[servers.five]\n{fake}"plain text"'
    drivers = BROKEN.replace("plugins = []", 'plugins = ["moon"]').replace('"inprocess"', '["inprocess", "sick"]')
    doorward_host.write(drivers + servers)
    (doorward_host.folder / "state").mkdir(mode=0o755)
    ended = project("doctor", "--json")
    assert (ended.code, ended.json["ok"]) == (1, False)
    checks = {c["check"]: c for c in ended.json["checks"]}
    assert len(checks) == len(ended.json["checks"])  # nothing is told twice
    wrong = {name: c["advice"] for name, c in checks.items() if not c["ok"]}
    assert wrong["the moon"] == "Wait."
    assert "chmod 700" in wrong[f"state folder {doorward_host.folder / 'state'} is open to other users"]
    assert wrong["server four: ${NOT_SET} has no value"] == "Set it in .env or the environment."
    assert any(w.startswith("server other: no source named 'nope'") for w in wrong)
    assert any(w.startswith("executor sick: ") for w in wrong)
    literal = checks["server five: a credential stands in the configuration file (token)"]
    assert (literal["ok"], "${NAME}" in literal["advice"]) == (True, True)

    (doorward_host.folder / "file").touch()
    doorward_host.write('state = "file/state"')
    monkeypatch.delenv("DOORWARD_STATE_DIR")
    ended = project("doctor")
    assert (ended.code, "cannot be made the state folder" in ended.out) == (1, True)
    doorward_host.write('plugins = ["nope"]')
    ended = project("doctor")
    assert (ended.code, "✗ configuration" in ended.out, "nope" in ended.out) == (1, True, True)


# Output and logging


def test_nothing_steers_the_terminal(project: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    """Escape sequences that a document holds are not handed to the terminal."""
    from doorward import Compiled

    async def compile(self: Any) -> Compiled:
        return Compiled([], description="\x1b]0;owned\x07 \x9b31m hello", warnings=["\x1b[31mred"])

    monkeypatch.setattr(Weather, "compile", compile)
    for words in (["compile"], ["list"]):
        out = project(*words).out
        assert not any(c in out for c in "\x1b\x07\x9b")
    assert "hello" in project("list").out


def test_tables_on_a_terminal(project: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    """A terminal gets a table with headings; its text is text, never markup."""
    from doorward_cli import shared

    class Terminal(__import__("io").StringIO):  # type: ignore[misc]
        def isatty(self) -> bool:
            return True

    monkeypatch.setattr(sys, "stdout", Terminal())
    shared.table(["name", "about"], [["a" * 60, "[bold]b[/bold] \x1b[31m " + "c " * 100]])
    written = sys.stdout.getvalue()  # type: ignore[attr-defined]
    assert "name" in written
    assert "a" * 60 in written
    assert "[bold]b[/bold]" in written
    assert "\x1b" not in written
    lines = written.splitlines()
    assert {len(line) - len(line.lstrip()) for line in lines[3:]} == {62}  # what is wrapped stands below its column
    assert len(lines) > 4
    shared.table(["one"], [[""], ["x"]])
    shared.table(["none", "at all"], [])


def test_an_error_names_the_line_of_the_pages(project: Cli, doorward_host: Any) -> None:
    """A person and a program are told where the documentation has it. CONTRACT: CLI-12."""
    words, address = ("list", "--config", "nope.toml"), "troubleshooting/configuration.md#there-is-no-such-file"
    assert project(*words).err.endswith(f"\ndocs: {address}\n")
    assert project(*words, "--json").json["error"]["docs"] == address
    assert "docs: " not in project("call", "weather.rain").err  # its hint is another one each time
    doorward_host.write(CONFIG + "[limits]\ncalls = 2\n")
    program = doorward_host.folder / "many.py"
    program.write_text("for day in range(1, 4):\n    await weather.get_forecast(city='Oslo', days=day)\n")
    ran = project("run", str(program))
    assert "docs: troubleshooting/programs.md#" in ran.err, ran


def test_quiet_leaves_out_what_only_helps(project: Cli) -> None:
    """Neither notes nor progress, in any command; answers, warnings, errors and exit codes are the same. CONTRACT: CLI-03."""
    words = ("search", "city", "--limit", "1")
    loud, quiet = project(*words), project(*words, "--quiet")
    assert (loud.out, loud.code) == (quiet.out, quiet.code)
    assert "--limit shows more" in loud.err
    assert quiet.err == ""
    failed = project("show", "weather.nothing", "--quiet")
    assert failed.err.startswith("error:")
    assert failed.code == project("show", "weather.nothing").code != 0


def test_progress_after_a_second(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """What takes over a second is told on a terminal's standard error; what is quick, or no terminal, shows nothing."""
    from doorward_cli.progress import show_progress

    with show_progress(2) as tell:
        tell("one")
    shown: list[Any] = []
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    with show_progress(2) as tell:
        tell("one")
    assert capsys.readouterr().err == ""

    class Now:
        def __init__(self, seconds: float, show: Callable[[], None]) -> None:
            assert seconds == 1.0
            self.start, self.cancel = show, lambda: shown.append(True)

    monkeypatch.setattr("threading.Timer", Now)
    with show_progress(2) as tell:
        tell("weather")
    err = capsys.readouterr().err
    assert "1 of 2: weather" in err
    assert err.endswith("\r\x1b[K")  # nothing of it stays
    assert shown
    monkeypatch.setenv("TERM", "dumb")
    with show_progress(2) as tell:
        tell("weather")
    assert capsys.readouterr().err == ""


def test_hints_speak_the_command_line(project: Cli, doorward_host: Any) -> None:
    """Where agents are told of tools, people are told of commands; a document's words stay."""
    from doorward_cli.shared import in_commands

    assert in_commands('see get_functions(["doorward"]), list_servers (or doorward.servers()) or search_functions') == (
        "see `doorward show doorward`, `doorward list` or `doorward search`"
    )
    assert in_commands('commit_plan("ab12"), if it is run with mode="plan"') == (
        "`doorward runs commit ab12`, if it is run with --plan"
    )
    (doorward_host.folder / "p.py").write_text("import doorward\ndoorward.nothing_like_it()")
    out = project("run", "p.py").out
    assert "see `doorward show doorward`" in out
    assert "get_functions" not in out
    (doorward_host.folder / "p.py").write_text("1")
    assert "run_cached_code" not in project("run", "p.py").out
    assert (
        "`doorward search`" in project("call", "weather.zzzzzz").err
        or "weather has" in project("call", "weather.zzzzzz").err
    )


@pytest.mark.parametrize(("environ", "coloured"), [({}, True), ({"NO_COLOR": "1"}, False), ({"TERM": "dumb"}, False)])
def test_colours(monkeypatch: pytest.MonkeyPatch, environ: dict[str, str], coloured: bool) -> None:
    """A terminal gets them, unless the environment says that it shall not, or cannot."""
    from doorward_cli import shared

    class Terminal(__import__("io").StringIO):  # type: ignore[misc]
        def isatty(self) -> bool:
            return True

    for name, value in {"TERM": "xterm", "NO_COLOR": "", **environ}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(sys, "stdout", Terminal())
    red = click.style("red", fg="red")
    shared.run(lambda: click.Command("c", callback=lambda: click.echo(red)), [], "doorward c")
    shared.say(red, clean=False)
    written = sys.stdout.getvalue()  # type: ignore[attr-defined]
    assert written.count("\x1b[31m") == (2 if coloured else 0)


def test_logs(capsys: pytest.CaptureFixture[str], cli: Cli) -> None:
    """Logs go to standard error at the configured level, as JSON lines, scrubbed whatever they hold; libraries' logs
    too.
    CONTRACT: OBS-01."""
    from doorward.secrets.store import Secrets
    from doorward_cli import logs

    class Odd:
        def __repr__(self) -> str:
            return f"<Odd {TOKEN}>"

    secrets = Secrets(environ={})
    secrets.remember(TOKEN)
    logs.configure(secrets, "warning")
    log = structlog.get_logger()
    log.info("not this")
    try:
        raise ValueError(TOKEN)
    except ValueError:
        log.exception("failed", odd=Odd(), plain=TOKEN, nested={"a": [TOKEN]})
    logging.getLogger("lib").error("said %s", TOKEN)
    logging.getLogger("lib").info("not this")
    captured = capsys.readouterr()
    assert captured.out == ""
    first, second = [json.loads(line) for line in captured.err.splitlines()]
    assert (first["event"], first["level"], first["plain"]) == ("failed", "error", "[secret]")
    assert (second["event"], second["logger"]) == ("said [secret]", "lib")
    assert TOKEN not in captured.err


@pytest.mark.parametrize(
    ("variable", "level"), [({}, "error"), ({"DOORWARD_LOG_LEVEL": "info"}, "info"), ({"DOORWARD_DEBUG": "1"}, "debug")]
)
def test_log_level(project: Cli, monkeypatch: pytest.MonkeyPatch, variable: dict[str, str], level: str) -> None:
    """The level is a setting, and DOORWARD_DEBUG=1 logs everything; commands are silent on what they answer anyhow.
    CONTRACT: OBS-01."""
    from doorward.config import config
    from doorward_cli import logs

    for name, value in variable.items():
        monkeypatch.setenv(name, value)
    assert logs.level(config.load("doorward.toml", environ=os.environ)) == level


def test_what_to_do_next_is_a_command(capsys: pytest.CaptureFixture[str]) -> None:
    """Not a tool of agents, where a run waits or has made a plan."""
    from dataclasses import dataclass
    from types import SimpleNamespace

    from doorward import Outcome
    from doorward.model.programs import Waiting
    from doorward_cli.shared import WAITS, tell

    @dataclass
    class Plan:
        next: str

        def as_lines(self) -> list[str]:
            return [f"then: {self.next}"]

    project: Any = SimpleNamespace(json=False)
    waiting = Waiting("approval", "ab12", ("t.make waits",), 'resume_run("ab12")')
    assert tell(project, Outcome(False, waiting=waiting)) == WAITS
    told = capsys.readouterr()
    assert told.err == "Then: doorward runs resume ab12\n"
    assert "t.make waits" in told.out
    parts: Any = {"plan": Plan('commit_plan("cd34")')}
    assert tell(project, Outcome(True, parts=parts)) == 0
    assert "then: `doorward runs commit cd34`" in capsys.readouterr().out
    assert "resume_run" not in told.out
