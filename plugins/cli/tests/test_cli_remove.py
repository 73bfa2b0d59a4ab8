"""`doorward remove`: the entry of a server, what was compiled of it, and its logins; the rest of the file stays as it
is."""

from __future__ import annotations

import hashlib
import tomllib
from pathlib import Path
from typing import Any, ClassVar

import pytest
from doorward import PluginContext, Settings
from doorward.model.errors import ConfigError
from doorward_cli.servers import without
from pydantic import Field

from .conftest import CONFIG, Cli

AFTER = '\n# about news\n[servers.news]\nsource = "fake"\n# the end\n'
BEFORE = '# The configuration.\nexecutor = "inprocess"\ncache = "none"   # nothing is kept\n\n'
ENTRY = '[servers.weather]\nsource = "fake"\ntoken = "${WEATHER_TOKEN}"\nauth = [{ type = "keyed", word = "${WORD}" }]\n# auth = "x"\n'


def kept_at(state: Path, name: str, principal: str) -> Path:
    """Where auths keep a login."""
    return state / "credentials" / f"{name}-{hashlib.sha256(principal.encode()).hexdigest()[:32]}.json"


class KeyedSettings(Settings):
    word: str = Field("", json_schema_extra={"format": "password"})


class Keyed:
    """An auth that keeps a login in the vault."""

    Settings = KeyedSettings
    out: ClassVar[list[tuple[str, str]]] = []

    def __init__(self, context: PluginContext) -> None:
        self.context = context

    def create_auth(self) -> Any:
        return None

    async def logout(self) -> str:
        self.out.append((self.context.name, self.context.principal))
        kept = kept_at(self.context.state, self.context.name, self.context.principal)
        kept.unlink(missing_ok=True)
        return "logged out"


@pytest.fixture
def project(cli: Cli, doorward_host: Any) -> Cli:
    """The command line beside a configuration with two servers, of one of which there is a login."""
    Keyed.out.clear()
    doorward_host.install("auth", "keyed", Keyed)
    doorward_host.write(f'state = "state"\n{BEFORE}{ENTRY}{AFTER}')
    (doorward_host.folder / ".env").write_text("WEATHER_TOKEN=a-token-0f-weather\nWORD=w0rd-w0rd\nOTHER=1\n")
    cli("compile")
    return cli


def log_in(host: Any, name: str, principal: str = "local") -> Path:
    kept = kept_at(host.folder / "state", name, principal)
    kept.parent.mkdir(exist_ok=True)
    kept.write_text("secret")
    return kept


def test_the_entry_goes_and_all_else_stays(project: Cli, doorward_host: Any) -> None:
    """The file without the entry, byte for byte, comments of its neighbours included; the catalog without its
    functions."""
    (doorward_host.folder / "state" / "servers" / "weather").mkdir(parents=True)
    ended = project("remove", "weather")
    assert ended.code == 0, ended
    assert (doorward_host.folder / "doorward.toml").read_text() == f'state = "state"\n{BEFORE}{AFTER[1:]}'
    assert "removed [servers.weather]" in ended.out
    assert "forgot 8 functions" in ended.out
    assert "WEATHER_TOKEN" in ended.out
    assert "WORD" in ended.out
    assert "OTHER" not in ended.out
    assert "a-token" not in ended.out + ended.err
    assert [server["name"] for server in project("list", "--json").json["servers"]] == ["news"]
    assert not (doorward_host.folder / "state" / "servers" / "weather").exists()
    assert (doorward_host.folder / ".env").read_text().count("=") == 3


def test_logins_stay_unless_they_are_to_go(project: Cli, doorward_host: Any) -> None:
    """Without a terminal nobody is asked: what was kept stays, and is named; `--logins` logs out and forgets those of
    all principals."""
    mine, ann, news = (
        log_in(doorward_host, "weather"),
        log_in(doorward_host, "weather", "ann"),
        log_in(doorward_host, "news"),
    )
    text = (doorward_host.folder / "doorward.toml").read_text()
    ended = project("remove", "weather")
    assert "--logins" in ended.out
    assert mine.exists()
    assert Keyed.out == []
    (doorward_host.folder / "doorward.toml").write_text(text)
    ended = project("remove", "weather", "--logins", "--json")
    assert ended.code == 0
    assert ended.json["logins"][0] == "logged out"
    assert [mine.exists(), ann.exists(), news.exists()] == [False, False, True]
    assert ("weather", "local") in Keyed.out
    assert ended.json["left"]["variables"] == ["WEATHER_TOKEN", "WORD"]


def test_at_a_terminal_one_is_asked(project: Cli, doorward_host: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who says no keeps the login, who says yes does not."""
    text = (doorward_host.folder / "doorward.toml").read_text()
    monkeypatch.setattr("doorward_cli.remove.at_terminal", lambda: True)
    for answer in (False, True):
        (doorward_host.folder / "doorward.toml").write_text(text)
        mine = log_in(doorward_host, "weather")
        asked: list[str] = []

        def confirm(question: str, asked: list[str] = asked, answer: bool = answer, **options: Any) -> bool:
            asked.append(question)
            return answer

        monkeypatch.setattr("click.confirm", confirm)
        assert project("remove", "weather").code == 0
        assert ("login" in asked[0], mine.exists()) == (True, not answer)
        if not answer:
            assert project("remove", "news").code == 0
            assert len(asked) == 1, "there is no login"


def test_a_dry_run_removes_nothing(project: Cli, doorward_host: Any) -> None:
    """It says what would go."""
    login, file = log_in(doorward_host, "weather"), doorward_host.folder / "doorward.toml"
    before = file.read_bytes()
    ended = project("remove", "weather", "--logins", "--dry-run", "--json")
    assert (ended.json["functions"], ended.json["dry_run"]) == (8, True)
    assert file.read_bytes() == before
    assert login.exists()
    assert "would remove" in project("remove", "weather", "--dry-run").out
    assert len(project("list", "--json").json["servers"]) == 2


def test_one_that_is_not_there_has_near_names(project: Cli) -> None:
    """A name that nothing has is told with those that are near."""
    ended = project("remove", "wether", "--json")
    assert ended.code != 0
    assert ended.json["error"]["message"] == "there is no server 'wether'"
    assert "weather" in ended.json["error"]["hint"]


def test_one_of_the_environment_cannot_go(project: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    """It says which variables make it; of one of which the file has a part, what is left."""
    monkeypatch.setenv("DOORWARD_SERVERS__FAR__SOURCE", "fake")
    monkeypatch.setenv("DOORWARD_SERVERS__NEWS__READ_ONLY", "true")
    ended = project("remove", "far")
    assert ended.code == 2
    assert "DOORWARD_SERVERS__FAR__SOURCE" in ended.err
    ended = project("remove", "news")
    assert ended.code == 0
    assert "DOORWARD_SERVERS__NEWS__READ_ONLY" in ended.out


@pytest.mark.slow
def test_a_broken_server_can_go(project: Cli, doorward_host: Any) -> None:
    """What cannot be used, for a wrong key or a source that is not installed, is removed like any other."""
    file = doorward_host.folder / "doorward.toml"
    for table in ('source = "absent"\n', 'source = "fake"\nnonsense = 1\n', "read_only = true\n"):
        file.write_text(f"{CONFIG}\n[servers.bad]\n{table}")
        assert project("remove", "bad", "--logins").code == 0
        assert file.read_text() == CONFIG + "\n"


@pytest.mark.parametrize(
    ("text", "left"),
    [
        (
            '[servers.a]\nsource = "x"\n[servers.a.auth]\ntype = "y"\n\n# b\n[servers.b]\nsource = "x"\n',
            '# b\n[servers.b]\nsource = "x"\n',
        ),
        (
            "[servers.b]\nc = 1\n[servers.a]\nc = 1\n[limits]\nc = 1\n[servers.a.env]\nd = 1\n",
            "[servers.b]\nc = 1\n[limits]\nc = 1\n",
        ),
        ("[servers]\n# all\na = { c = 1 }\nb = { c = 1 }\n", "[servers]\n# all\nb = { c = 1 }\n"),
        ("servers.a.c = 1\nservers.b.c = 1\n", "servers.b.c = 1\n"),
        ('[servers."a"]\r\nc = 1\r\n\r\n# b\r\n[servers.b]\r\nc = 1\r\n', "# b\r\n[servers.b]\r\nc = 1\r\n"),
        ("\ufeff[servers.a]\nc = 1\n[servers.b]\nc = 1\n", "\ufeff[servers.b]\nc = 1\n"),
        ('[servers.a]\nt = """\n[servers.b]\n# no comment\n"""\n\n[servers.b]\nc = 1\n', "[servers.b]\nc = 1\n"),
        ("x = 1\n\n[servers.a]\nc = 1\n", "x = 1\n\n"),
        (
            "[[servers.a.auth]]\nt = 1\n[[servers.a.auth]]\nt = 2\n# here\n\n# b\n# and c\n\n[servers.b]\n",
            "# b\n# and c\n\n[servers.b]\n",
        ),
    ],
)
def test_however_it_is_written(text: str, left: str) -> None:
    """Tables, sub-tables elsewhere, inline tables, dotted keys, quoted names, other line ends and a byte order mark."""
    assert without(Path("doorward.toml"), text, "a") == left
    assert "a" not in tomllib.loads(left.lstrip("\ufeff")).get("servers", {})


def test_what_is_no_toml_is_left_alone() -> None:
    with pytest.raises(ConfigError, match=r"doorward\.toml"):
        without(Path("doorward.toml"), "[servers.a\n", "a")


@pytest.mark.slow
def test_a_login_that_was_left_can_go_later(project: Cli, doorward_host: Any) -> None:
    """Also of a server that is not in the file any more."""
    mine = log_in(doorward_host, "weather")
    assert project("remove", "weather", "--keep-logins").code == 0
    assert mine.exists()
    ended = project("remove", "weather", "--logins", "--json")
    assert (ended.code, ended.json["file"], mine.exists()) == (0, "", False)
    assert project("remove", "weather", "--logins").code == 1


def test_a_name_that_leads_elsewhere_removes_no_folder(project: Cli, doorward_host: Any) -> None:
    """What stands in the file may be anything."""
    there = doorward_host.folder / "state" / "victim"
    there.mkdir()
    with (doorward_host.folder / "doorward.toml").open("a") as file:
        file.write('\n[servers."../victim"]\nsource = "fake"\n')
    assert project("remove", "../victim").code == 0
    assert there.exists()


@pytest.mark.slow
def test_a_twin_keeps_what_was_compiled(project: Cli, doorward_host: Any) -> None:
    """Of two servers that programs import by one name, one is broken; removing it forgets nothing of the other."""
    with (doorward_host.folder / "doorward.toml").open("a") as file:
        file.write('\n[servers.a-b]\nsource = "fake"\n[servers.a_b]\nsource = "fake"\n')
    project("compile")
    assert project("remove", "a_b").code == 0
    assert project("list", "a-b", "--json").code == 0
    assert "a-b" in (doorward_host.folder / "doorward.toml").read_text()


@pytest.mark.slow
def test_a_server_that_is_replaced_takes_no_comment_of_others_with_it(project: Cli, doorward_host: Any) -> None:
    """`add --force` keeps what stands above the server behind it."""
    assert project("add", "fake", "weather", "--force").code == 0
    assert f"{BEFORE}{AFTER[1:]}" in (doorward_host.folder / "doorward.toml").read_text()
