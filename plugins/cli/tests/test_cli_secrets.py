"""Credentials and the command line: `add` moves literal ones to `.env`, `doctor` finds those that are in the wrong
place."""

from __future__ import annotations

import os
import tomllib
from typing import Any

import pytest
from doorward import Secret, Settings, Template
from doorward.config.config import load
from dotenv import dotenv_values
from pydantic import Field

from .conftest import Cli, Weather

GITHUB = "ghp_" + "0123456789abcdefghijABCDEFGHIJ012345"
LITERAL = "hunter22-and-more"


class UpstreamSettings(Settings):
    command: list[str] = Field([], json_schema_extra={"format": "command"})
    url: str | None = None
    env: dict[str, Template] = Field({})
    headers: dict[str, Template] = Field({})
    pin: Secret | None = None


class Upstream(Weather):
    Settings = UpstreamSettings  # type: ignore[assignment]

    async def fingerprint(self) -> str:
        return "it"


class KeyedSettings(Settings):
    value: Secret
    name: str = "X-Key"


class Keyed:
    """An auth with a credential in `value`."""

    Settings = KeyedSettings

    def __init__(self, context: Any) -> None:
        self.context = context

    def create_auth(self) -> Any:
        raise NotImplementedError


@pytest.fixture
def upstream(cli: Cli, doorward_host: Any, monkeypatch: pytest.MonkeyPatch) -> Cli:
    doorward_host.install("source", "up", Upstream)
    doorward_host.install("auth", "keyed", Keyed)
    monkeypatch.delenv("UP_VALUE_SECRET", raising=False)
    return cli


def table(host: Any, name: str = "one") -> dict[str, Any]:
    read: dict[str, Any] = tomllib.loads((host.folder / "doorward.toml").read_text())["servers"][name]
    return read


ADDED: list[tuple[list[str], dict[str, Any], dict[str, str]]] = [
    (
        ["--env", f"GITHUB_PAT={LITERAL}", "--env", "LEVEL=debug"],
        {"env": {"GITHUB_PAT": "${ONE_GITHUB_PAT_SECRET}", "LEVEL": "debug"}},
        {"ONE_GITHUB_PAT_SECRET": LITERAL},
    ),
    (["--env", f"ANY={GITHUB}"], {"env": {"ANY": "${ONE_ANY_TOKEN}"}}, {"ONE_ANY_TOKEN": GITHUB}),
    (
        ["--headers", f"Authorization=Bearer {LITERAL}"],
        {"headers": {"Authorization": "Bearer ${ONE_AUTHORIZATION}"}},
        {"ONE_AUTHORIZATION": LITERAL},
    ),
    (
        ["--headers", f'{{"X-Api-Key": "{LITERAL}", "Accept": "a/b"}}'],
        {"headers": {"X-Api-Key": "${ONE_X_API_KEY}", "Accept": "a/b"}},
        {"ONE_X_API_KEY": LITERAL},
    ),
    (
        ["--auth", f'{{ type = "keyed", value = "{LITERAL}" }}'],
        {"auth": {"type": "keyed", "value": "${ONE_VALUE_SECRET}"}},
        {"ONE_VALUE_SECRET": LITERAL},
    ),
    (
        ["--auth", f'{{ type = "keyed", value = "Bearer {LITERAL}" }}'],
        {"auth": {"type": "keyed", "value": "Bearer ${ONE_VALUE_SECRET}"}},
        {"ONE_VALUE_SECRET": LITERAL},
    ),
    (["--auth", '{ type = "keyed", value = "${UP}" }'], {"auth": {"type": "keyed", "value": "${UP}"}}, {}),
    (["--pin", "4711"], {"pin": "${ONE_PIN_SECRET}"}, {"ONE_PIN_SECRET": "4711"}),
    (
        ["--url", f"https://h/mcp?api_key={LITERAL}&v=1"],
        {"url": "https://h/mcp?api_key=${ONE_API_KEY}&v=1"},
        {"ONE_API_KEY": LITERAL},
    ),
    (
        ["--url", "https://h/" + "0a1b2c3d" * 5 + "/openapi.json"],
        {"url": "https://h/" + "0a1b2c3d" * 5 + "/openapi.json"},
        {},
    ),
    (
        ["--", "npx", "server", "--token", LITERAL, "--port", "80"],
        {"command": ["npx", "server", "--token", "${ONE_TOKEN}", "--port", "80"]},
        {"ONE_TOKEN": LITERAL},
    ),
]


@pytest.mark.slow
@pytest.mark.parametrize(("words", "written", "kept"), ADDED)
def test_add_moves_credentials(
    upstream: Cli, doorward_host: Any, words: list[str], written: dict[str, Any], kept: dict[str, str]
) -> None:
    """What looks like a credential stands in `.env` afterwards, which is for its owner only; people are told its name.
    CONTRACT: AUT-15."""
    ended = upstream("add", "up", "one", *words)
    assert table(doorward_host) == {"source": "up", **written}
    file = doorward_host.folder / ".env"
    assert (dotenv_values(file) if file.exists() else {}) == kept
    assert all(name in ended.err for name in kept)
    assert not any(value in f"{ended.out}{ended.err}" for value in kept.values())
    if kept and os.name == "posix":
        assert file.stat().st_mode & 0o077 == 0
    again = upstream("add", "up", "one", "--force", *words)  # the same value has its name already
    assert "Moved" not in again.err
    assert table(doorward_host) == {"source": "up", **written}


@pytest.mark.parametrize(
    ("auth", "says"),
    [
        (f'{{ type = "keyd", value = "{LITERAL}" }}', "Did you mean 'keyed'?"),
        (f'{{ type = "keyed", valu = "{LITERAL}" }}', "did you mean 'value'?"),
        (f'{{ value = "{LITERAL}" }}', "has no type"),
        (LITERAL, "auth: Input should be a table, for example"),
    ],
)
def test_add_leaves_no_credentials_in_a_wrong_auth(upstream: Cli, doorward_host: Any, auth: str, says: str) -> None:
    """Which keys hold credentials, the type of the auth says: one that is misspelt is refused before anything is
    written."""
    ended = upstream("add", "up", "one", "--auth", auth)
    assert (ended.code, says in ended.err, LITERAL in ended.err) == (2, True, False)
    assert not (doorward_host.folder / "doorward.toml").exists()
    assert upstream("add", "up", "one", "--auth", '{ type = "keyed", value = "${LATER}" }').code == 0


def found(told: Any) -> dict[str, str]:
    """What `doctor` found of credentials, with its advice; all of it is a warning."""
    checks = told.json["checks"]
    about = {c["check"]: c["advice"] for c in checks if c["advice"] and c["ok"]}
    return {check: advice for check, advice in about.items() if not check.startswith(("no cache", "executor"))}


WRONG = f"""\
executor = "inprocess"
plugins = []
vault_key = "short"
[principals.alice.secrets]
token = "{LITERAL}"
other = "${{ANY}}"
[servers.literal]
source = "up"
auth = {{ type = "keyed", value = "{LITERAL}" }}
env = {{ GITHUB_PAT = "{LITERAL}", LEVEL = "debug" }}
headers = {{ Authorization = "Bearer {LITERAL}" }}
[servers.words]
source = "up"
command = ["npx", "--token", "{LITERAL}"]
[servers.open]
source = "up"
url = "http://api.example/mcp"
auth = {{ type = "keyed", value = "${{SHARED}}" }}
[servers.other]
source = "up"
url = "https://other.example/mcp"
auth = {{ type = "keyed", value = "${{SHARED}}" }}
[servers.short]
source = "up"
url = "http://127.0.0.1:1/mcp"
auth = {{ type = "keyed", value = "${{SHORT}}" }}
"""


def test_doctor_finds_credentials_in_the_wrong_place(upstream: Cli, doorward_host: Any) -> None:
    """In the file, in a `.env` that others may read, too short to be scrubbed, sent in the clear or to different hosts;
    their values are told nowhere. CONTRACT: AUT-12, AUT-15."""
    doorward_host.write(WRONG)
    env = doorward_host.folder / ".env"
    env.write_text("SHARED=shared-both\nSHORT=abc\nANY=some-thing\n")
    env.chmod(0o644)
    told = upstream("doctor", "--json")
    warned = found(told)
    assert {check: advice for check, advice in warned.items() if "stands in" in check} == dict.fromkeys(
        [
            "server literal: a credential stands in the configuration file (value, GITHUB_PAT, Authorization)",
            "server words: a credential stands in the configuration file (token)",
            "principal alice: the secret token stands in the configuration file",
            "vault_key: it stands in the configuration file",
        ],
        "Move it to .env, and write ${NAME} in its place.",
    )
    assert "https" in warned["server open: its credentials go over plain http"]
    assert "servers open, other: one credential for different hosts" in warned
    assert (
        "server short: a credential has fewer than 6 characters, so it is not scrubbed from what the API answers"
        in warned
    )
    assert "server open: a credential can be guessed, so it is not looked for in what programs make" in warned
    assert "vault_key: it has fewer than 16 characters" in warned
    if os.name == "posix":
        assert warned[".env can be read by other users"] == "chmod 600 .env"
    assert not any(value in told.out for value in (LITERAL, "shared-both", 'abc"'))


@pytest.mark.slow
def test_doctor_is_content(upstream: Cli, doorward_host: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """References, files and variables, over https or on this machine, are no matter; nor is what a scheme lacks told
    twice."""
    monkeypatch.setenv("DOORWARD_VAULT_KEY", "k" * 32)
    (doorward_host.folder / ".env").touch(mode=0o600)
    (doorward_host.folder / "token").write_text("a-token-in-a-file")
    server = '[servers.%s]\nsource = "up"\nurl = "%s"\nauth = { type = "keyed", value = "%s" }\n'
    doorward_host.write(
        'executor = "inprocess"\nplugins = []\n'
        + server % ("one", "https://a.example/x", "${file:token}")
        + server % ("two", "http://localhost:1", "Bearer ${PATH}")
    )
    told = upstream("doctor", "--json")
    assert found(told).keys() == {"store memory"}  # no engine is installed in this test's index
    assert told.json["ok"], told.out
    (doorward_host.folder / "token").unlink()
    wrong = [c for c in upstream("doctor", "--json").json["checks"] if not c["ok"]]
    assert [c["check"] for c in wrong] == ["server one: ${file:token} cannot be read: No such file or directory"]
    assert str(doorward_host.folder / "token") in wrong[0]["advice"]


def test_the_key_of_the_vault_from_anywhere(doorward_host: Any) -> None:
    """`DOORWARD_VAULT_KEY` wins over the file; either may be a reference, which is resolved when the key is needed."""
    file = doorward_host.write('vault_key = "${file:key}"')
    (doorward_host.folder / "key").write_text("from-a-file-of-its-own\n")

    def key(**environ: str) -> str:
        loaded = load(file, environ=environ)
        assert loaded.config.vault_key is not None
        return loaded.config.vault_key.reveal()

    assert key() == "from-a-file-of-its-own"
    assert key(DOORWARD_VAULT_KEY="from-the-environment") == "from-the-environment"
    assert key(DOORWARD_VAULT_KEY="${OTHER}", OTHER="from-another-one") == "from-another-one"


def test_doctor_goes_on_where_a_url_is_none(upstream: Cli, doorward_host: Any) -> None:
    """What is no URL is the source's to refuse: all else is still told."""
    doorward_host.write(
        WRONG + '[servers.odd]\nsource = "up"\nurl = "http://[x"\nauth = { type = "keyed", value = "${SHARED}" }\n'
    )
    (doorward_host.folder / ".env").write_text("SHARED=shared-both\nSHORT=abc\nANY=some-thing\n")
    warned = found(upstream("doctor", "--json"))
    assert "servers open, other: one credential for different hosts" in warned
