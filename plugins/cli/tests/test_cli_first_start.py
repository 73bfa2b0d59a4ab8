"""`doorward init --from-environment`: what a first start writes, and what it never does."""

from __future__ import annotations

import os
import stat
import tomllib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, ClassVar

import pytest
from doorward import Settings
from doorward.model.errors import ConfigError
from doorward.secrets.store import Secret
from doorward_cli.first_configuration import first_start
from doorward_cli.shared import Project

from .conftest import Cli, Weather

TOKENS = '[{"id":"8a11ab1c","hash":"sha256:dfecf8dfe816e688c0ba4c385be3deee272e32101b311a7704be4e643aaef30b"}]'
SAID = {
    "STATE_DIR": "kept",
    "LIMITS__TIMEOUT": "60",
    "LIMITS__MEMORY": "256MiB",
    "GROUPS__OPS": '["alice"]',
    "SERVERS__NEWS__SOURCE": "fake",
    "SERVERS__NEWS__READ_ONLY": "true",
    "SERVERS__NEWS__AUTH": '{"type": "keyed", "word": "${NEWS_WORD}"}',
    "PRINCIPALS__ALICE__TOKENS": TOKENS,
}
CANARY = "c4nary-0f-the-environment"


class KeyedSettings(Settings):
    word: Secret


class Keyed:
    """An auth with a secret whose key does not tell that it is one."""

    Settings: ClassVar[Any] = KeyedSettings

    def __init__(self, context: Any) -> None: ...

    def create_auth(self) -> Any:
        return None


@pytest.fixture
def started(cli: Cli, doorward_host: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """`doorward init --from-environment` with these variables."""
    doorward_host.install("auth", "keyed", Keyed)
    doorward_host.install("source", "fake", Weather)

    def started(said: dict[str, str]) -> Any:
        for name, value in said.items():
            monkeypatch.setenv(f"DOORWARD_{name}", value)
        return cli("init", "--from-environment", "--json")

    return started


def test_what_the_environment_says_is_written(started: Any, cli: Cli, doorward_host: Any, monkeypatch: Any) -> None:
    """Numbers as numbers, references as they are; without the variables the next start finds the same. CONTRACT: DEP-03."""
    assert started(SAID).json["written"][:2] == ["doorward.toml", ".env"]  # and a .gitignore, in a folder of git
    written = tomllib.loads((doorward_host.folder / "doorward.toml").read_text())
    assert written["limits"] == {"timeout": 60, "memory": "256MiB"}
    assert written["state"] == "kept"
    assert written["servers"]["news"]["auth"] == {"type": "keyed", "word": "${NEWS_WORD}"}
    assert stat.S_IMODE((doorward_host.folder / ".env").stat().st_mode) == 0o600
    for name in SAID:
        monkeypatch.delenv(f"DOORWARD_{name}")
    loaded = Project(doorward_host.folder / "doorward.toml", None, False).load()
    assert (loaded.config.limits.timeout, loaded.config.groups) == (60, {"ops": ["alice"]})
    assert loaded.servers["news"].settings.read_only is True
    assert [token.id for token in loaded.config.principals["alice"].tokens] == ["8a11ab1c"]


def test_a_second_start_keeps_what_was_edited(started: Any, doorward_host: Any) -> None:
    """The file is not read, let alone written, however the environment is now."""
    started(SAID)
    file = doorward_host.folder / "doorward.toml"
    file.write_text("# mine\nlimits = 'broken'\n")
    ended = started({"LIMITS__TIMEOUT": "90", "NONSENSE": "1"})
    assert (ended.code, ended.json) == (0, {"written": []})
    assert file.read_text() == "# mine\nlimits = 'broken'\n"


def test_force_is_no_first_start(started: Any, cli: Cli) -> None:
    """The two options exclude each other."""
    ended = cli("init", "--from-environment", "--force")
    assert ended.code == 2
    assert "never overwrites" in ended.err


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("SERVERS__NEWS__AUTH__WORD", CANARY),
        ("SERVERS__NEWS__AUTH", f'{{"type": "keyed", "word": "{CANARY}"}}'),
        ("SERVERS__NEWS__AUTH", f'[{{"type": "keyed", "word": "{CANARY}\\u0021"}}]'),
        ("SERVERS__NEWS__HEADERS", f'{{"X-Api-Key": "{CANARY}"}}'),
        ("SERVERS__NEWS__TOKEN", CANARY),
        ("SERVERS__NEWS__SPEC", f"https://me:{CANARY}@api.example.com/api.json"),
        ("SERVERS__NEWS__COMMAND", f'["server", "--api-key", "{CANARY}"]'),
        ("HOOKS__REPORT__PASSWORD", CANARY),
        ("PRINCIPALS__ALICE__SECRETS", f'{{"NEWS": "{CANARY}"}}'),
        ("PRINCIPALS__ALICE__SECRETS__NEWS", CANARY),
    ],
)
def test_no_credential_is_written(started: Any, doorward_host: Any, name: str, value: str) -> None:
    """A variable that holds one stays in the environment alone, wherever it is in it."""
    typed = {} if name.endswith("AUTH") else {"SERVERS__NEWS__AUTH__TYPE": "keyed"}
    assert started({"SERVERS__NEWS__SOURCE": "fake", **typed, name: value}).json["written"]
    written = "".join(file.read_text() for file in doorward_host.folder.iterdir() if file.is_file())
    assert CANARY not in written


@pytest.mark.parametrize(
    ("name", "value"), [("NONSENSE", "1"), ("LIMITS__TIMEOUT", "soon"), ("PLUGINS", "["), ("SERVERS__X__Y", "[null]")]
)
def test_a_wrong_variable_leaves_no_file(started: Any, doorward_host: Any, name: str, value: str) -> None:
    """It is refused, and the next start is a first one again."""
    ended = started({name: value})
    assert ended.code == 2
    assert "Traceback" not in ended.err
    assert list(doorward_host.folder.glob("*.toml")) == []


def test_of_several_starts_one_writes(started: Any, doorward_host: Any) -> None:
    """Those that come meanwhile find the whole file."""
    file = doorward_host.folder / "below" / "doorward.toml"
    with ThreadPoolExecutor(8) as threads:
        written = list(threads.map(lambda _: first_start(Project(file, None, False)), range(8)))
    assert sorted(map(bool, written)) == [False] * 7 + [True]
    assert tomllib.loads(file.read_text())


def test_a_link_is_a_configuration(started: Any, doorward_host: Any) -> None:
    """A link that leads nowhere is not written through."""
    outside = Path(doorward_host.folder) / "outside.toml"
    (doorward_host.folder / "doorward.toml").symlink_to(outside)
    assert started({}).json == {"written": []}
    assert not outside.exists()


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_cannot_be_written(started: Any, doorward_host: Any) -> None:
    """It is said so."""
    doorward_host.folder.chmod(0o500)
    with pytest.raises(ConfigError, match="cannot be written"):
        first_start(Project(doorward_host.folder / "doorward.toml", None, False))
    doorward_host.folder.chmod(0o700)
