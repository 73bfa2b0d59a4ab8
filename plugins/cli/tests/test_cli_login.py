"""`doorward login`, with an auth of a plugin that asks for a person; and what that plugin fetched is scrubbed."""

from __future__ import annotations

import io
import sys
from pathlib import Path
from typing import Any, ClassVar

import pytest
from doorward import PluginContext, ServerError, Settings
from doorward.administration import LoginPrompt
from doorward.secrets.scrubber import MAX_FETCHED_VALUES
from doorward.secrets.store import Secrets

from .conftest import CONFIG, Cli

TOKEN = "t0ken-from-the-provider"


class Keyed:
    """An auth with a login: the person says a word, which is the token."""

    Settings = Settings
    kept: ClassVar[dict[str, str]] = {}

    def __init__(self, context: PluginContext) -> None:
        self.context = context

    def create_auth(self) -> Any:
        return None

    async def login(self, person: LoginPrompt) -> str:
        person.tell("Be quick.")
        await person.open("https://login.example.com/?a=1&b=2")
        word = await person.ask("The word?")
        self.context.redact(TOKEN)
        if word == "":
            raise ServerError(f"the provider says no to {TOKEN}", hint="Say another word.")
        self.kept[self.context.name] = f"{word} {self.context.url} {self.context.source}"
        return f"logged in with {TOKEN}"

    async def logout(self) -> str:
        return "logged out" if self.kept.pop(self.context.name, "") else "nobody was logged in"

    async def check(self) -> str:
        if self.context.name not in self.kept:
            raise ServerError("nobody is logged in", hint="Log in.")
        return "logged in"


class Plain:
    """An auth without a login."""

    Settings = Settings

    def __init__(self, context: PluginContext) -> None:
        pass

    def create_auth(self) -> Any:
        return None


@pytest.fixture
def project(cli: Cli, doorward_host: Any, monkeypatch: pytest.MonkeyPatch) -> Cli:
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER"):
        monkeypatch.delenv(name, raising=False)
    Keyed.kept.clear()
    doorward_host.install("auth", "keyed", Keyed)
    doorward_host.install("auth", "plain", Plain)
    doorward_host.write(
        f"""{CONFIG}auth = {{ type = "keyed" }}
[servers.my-open]
source = "fake"
[servers.fixed]
source = "fake"
auth = {{ type = "plain" }}
[servers.absent]
source = "fake"
auth = {{ type = "none-such" }}
"""
    )
    return cli


@pytest.mark.skipif(sys.platform in ("darwin", "win32"), reason="a browser would open there")
def test_log_in_without_a_display(project: Cli) -> None:
    """The address is printed for the person; the answer of the command goes to standard output, without what was
    fetched."""
    ran = project("login", "weather")
    assert (ran.code, ran.out) == (0, "weather: logged in with [secret]\nweather: 8 functions\n")
    assert ran.err == "Be quick.\nVisit:\nhttps://login.example.com/?a=1&b=2\n"
    assert Keyed.kept == {"weather": "None  fake"}
    assert project("login", "weather", "--json").json == {
        "server": "weather",
        "message": "logged in with [secret]",
        "functions": 8,
    }
    assert project("login", "weather", "--remove").out == "weather: logged out\n"
    assert project("login", "weather", "--remove").out == "weather: nobody was logged in\n"


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="a script is the browser")
@pytest.mark.parametrize("works", [True, False])
def test_a_browser_is_opened(project: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, works: bool) -> None:
    """The one that BROWSER names, for example; and the address is told all the same."""
    import webbrowser

    monkeypatch.setattr(webbrowser, "_tryorder", None)  # it reads the environment once
    script = tmp_path / "browser"
    script.write_text(f'#!/bin/sh\necho "$1" > {tmp_path}/visited\nexit {0 if works else 1}\n')
    script.chmod(0o755)
    monkeypatch.setenv("BROWSER", f"{script} %s")
    ran = project("login", "weather")
    assert (tmp_path / "visited").read_text() == "https://login.example.com/?a=1&b=2\n"
    assert ("Go on in the browser" in ran.err) == works
    assert "https://login.example.com/?a=1&b=2" in ran.err
    (tmp_path / "visited").unlink()
    project("login", "weather", "--no-browser")
    assert not (tmp_path / "visited").exists()


def test_pasted(project: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    """`--paste` reads a line; Ctrl-C works as before afterwards."""
    monkeypatch.setattr(sys, "stdin", io.StringIO("  a word  \n"))
    assert project("login", "weather", "--paste").code == 0
    assert Keyed.kept == {"weather": "a word  fake"}
    monkeypatch.setattr(sys, "stdin", io.StringIO(""))
    ran = project("login", "weather", "--paste")
    assert ran.code == 1
    assert "error: the provider says no to [secret]\nhint: Say another word.\n" in ran.err
    assert TOKEN not in ran.out + ran.err


@pytest.mark.parametrize(
    ("server", "code", "says"),
    [
        ("wether", 1, "there is no server 'wether'\nhint: Did you mean weather?"),
        ("zzz", 1, "Servers: weather, my-open, fixed, absent."),
        ("my-open", 2, "[servers.my-open]: has no auth"),
        ("my_open", 2, "[servers.my-open]: has no auth"),
        ("fixed", 2, "[servers.fixed] auth: this type of auth has no login"),
        ("absent", 2, "none-such"),
    ],
)
def test_whom_nobody_can_log_in_to(project: Cli, server: str, code: int, says: str) -> None:
    """Each says what is wrong, in words and as JSON."""
    ran = project("login", server)
    assert ran.code == code
    assert says in ran.err
    told = project("login", server, "--json")
    assert told.code == code
    assert told.json["error"]["message"] in ran.err
    assert project("login", server, "--remove").code == code


@pytest.mark.slow
def test_doctor_tells(project: Cli) -> None:
    """Whether somebody is logged in is part of what `doctor` checks."""
    checks = {check["check"]: check for check in project("doctor", "--json").json["checks"]}
    assert checks["server weather: nobody is logged in"] == {
        "check": "server weather: nobody is logged in",
        "ok": False,
        "advice": "Log in.",
    }
    project("login", "weather")
    checks = {check["check"]: check for check in project("doctor", "--json").json["checks"]}
    assert checks["server weather: logged in"]["ok"]


# What is fetched again and again


def test_the_latest_fetched_values_are_scrubbed() -> None:
    """Those that went before are forgotten, for each costs time with every answer; what stands in the configuration
    never is."""
    secrets = Secrets(environ={})
    secrets.remember("a-password-for-ever")
    redact, other = secrets.redaction(), secrets.redaction()
    redact("a-password-for-ever")
    other("token-of-both")
    for number in range(3 * MAX_FETCHED_VALUES):
        redact("token-of-both" if number == 0 else f"token-{number:05}")
        redact("kept-by-using-it")
    newest, oldest = f"token-{3 * MAX_FETCHED_VALUES - 1:05}", "token-00001"
    assert secrets.scrub(f"{newest} {oldest}") == f"[secret] {oldest}"
    assert secrets.scrub("a-password-for-ever kept-by-using-it token-of-both") == "[secret] [secret] [secret]"
    before = len(secrets._known)
    for number in range(50):
        redact(f"further-{number:05}")
    assert len(secrets._known) <= before
    assert "further-00001" not in repr(vars(secrets))


@pytest.mark.parametrize(
    "word",
    [
        "string",
        "description",
        "Repository",
        "ENGLISH",
        "created_at",
        "Europe/Oslo",
        "dark-mode",
        "20261122",
        "99999999999",
    ],
)
def test_a_fetched_word_blanks_no_answers(word: str) -> None:
    """An API can hand out whatever it likes as a cookie or token: ordinary words stay in everyone's answers. What the
    operator calls a secret goes, word or not."""
    secrets = Secrets(environ={})
    secrets.redaction()(word)
    assert secrets.scrub(f"a {word} is here") == f"a {word} is here"
    secrets.remember(word, of="the password")
    assert secrets.scrub(f"a {word} is here") == "a [secret] is here"


@pytest.mark.parametrize(
    "token", ["xKqzWvbT", "deadbeef01", "authentication", "123456789012", "a1b2c3", "ab--cd", "string\n"]
)
def test_a_short_token_is_scrubbed(token: str) -> None:
    secrets = Secrets(environ={})
    secrets.redaction()(token)
    assert secrets.scrub(f"a {token} is here") == "a [secret] is here"


def test_a_server_that_is_broken_is_told(cli: Cli, doorward_host: Any) -> None:
    doorward_host.write(CONFIG.replace('source = "fake"', 'source = "fake"\nread_only = "perhaps"'))
    ran = cli("login", "weather")
    assert ran.code == 2
    assert "read_only" in ran.err
