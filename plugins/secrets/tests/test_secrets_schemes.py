"""`${cmd:…}` with real processes, and `${keyring:…}` with a backend of the keyring library that is chosen as people
choose theirs."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import keyring
import keyring.backend
import keyring.errors
import pytest
from doorward import ConfigError, Gateway, MissingSecret, PluginContext, Template
from doorward.config.config import load, validate
from doorward.config.installed_plugins import Index
from doorward.config.layers import find_index
from doorward.secrets.store import Secrets
from doorward_secrets import Command, Keyring, cached_values
from doorward_testing import check_light_import

pytestmark = pytest.mark.slow

CANARY = "c4n4ry-of-the-vault"
PYTHON = shlex.quote(sys.executable)


def plugin(kind: Any, **settings: Any) -> Any:
    valid = validate(kind.Settings, settings, secrets=Secrets(environ={}), place="test")
    return kind(PluginContext("test", valid, Path("unused")))


def script(folder: Path, text: str) -> str:
    """A command line for a Python program."""
    file = folder / "a program.py"
    file.write_text(text)
    return f"{PYTHON} {shlex.quote(str(file))}"


# Commands


@pytest.mark.parametrize(
    ("command", "value"),
    [
        (f"{PYTHON} -c 'print(\"{CANARY}\")'", CANARY),
        (f"{PYTHON} -c 'print(\"  {CANARY}\\r\\n\\n\")'", CANARY),
        (
            f'{PYTHON} -c "import sys; print(sys.argv[1])" "op://vault/the item/password"',
            "op://vault/the item/password",
        ),
        (f"{PYTHON} -c 'print(\"-----BEGIN\\nx\\n-----END\")'", "-----BEGIN\nx\n-----END"),
        (
            f"{PYTHON} -c 'import sys; print(sys.argv[1:])' $HOME ; echo `id` | cat",
            "['$HOME', ';', 'echo', '`id`', '|', 'cat']",
        ),
    ],
)
def test_what_a_command_prints(command: str, value: str) -> None:
    """All of it, without white space at its ends. No shell looks at the words."""
    assert plugin(Command).resolve_secret("cmd", command) == value
    assert plugin(Command).resolve_secret("vault", command) is None


def test_a_command_has_the_environment_and_nobody_to_ask(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those that fetch secrets find their own sessions in the environment; a prompt ends at once."""
    monkeypatch.setenv("VAULT_ADDR", "https://vault.example")
    command = f"{PYTHON} -c 'import os, sys; print(os.environ[\"VAULT_ADDR\"], repr(sys.stdin.read()))'"
    assert plugin(Command).resolve_secret("cmd", command) == "https://vault.example ''"


@pytest.mark.parametrize(
    ("command", "error", "why"),
    [
        (
            f'{PYTHON} -c \'import sys; print("{CANARY}"); print("{CANARY}", file=sys.stderr); sys.exit(7)\'',
            ConfigError,
            "exit code 7",
        ),
        (f"/nowhere/op read {CANARY}", ConfigError, "'/nowhere/op'.*cannot be started: No such file"),
        (f"op 'read {CANARY}", ConfigError, "no command line: No closing quotation"),
        (" ", ConfigError, "names no program"),
        (f"{PYTHON} -c 'pass' {CANARY}", MissingSecret, "prints nothing"),
        (f"{PYTHON} -c 'import sys; sys.stdout.buffer.write(bytes([255]))' {CANARY}", ConfigError, "no text in UTF-8"),
        (f"{PYTHON} -c 'while True: print(\"x\" * 10000)' {CANARY}", ConfigError, "more than 64 KiB"),
        (f"{PYTHON} -c 'import os; os.kill(os.getpid(), 9)'", ConfigError, "exit code -9"),
    ],
)
def test_a_command_that_fails(command: str, error: type[ConfigError], why: str) -> None:
    """What went wrong is told, with the first word only: neither its other words, nor what it printed."""
    with pytest.raises(error, match=why) as caught:
        plugin(Command).resolve_secret("cmd", command)
    assert caught.type is error
    assert caught.value.hint
    assert CANARY not in f"{caught.value} {caught.value.hint}"
    assert caught.value.__cause__ is None


def gone(pid: int) -> bool:
    while True:
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except FileNotFoundError:
            return True
        if state == "Z":
            return True
        time.sleep(0.02)


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="reads /proc")
@pytest.mark.parametrize("closes", [False, True])
def test_a_command_that_does_not_end(tmp_path: Path, closes: bool) -> None:
    """It is ended in time, and so is what it has started, whether or not it still holds its output."""
    command = tmp_path / "command"
    closing = "exec >&-" if closes else ""
    command.write_text(
        f"#!/bin/sh\nsleep 600 &\necho $$ $! > '{tmp_path}/pids'\n{closing}\nsleep 600\n"
    )  # a shell starts soon
    command.chmod(0o700)
    with pytest.raises(ConfigError, match="did not end within 2 s"):
        plugin(Command, timeout=2).resolve_secret("cmd", str(command))
    assert all(gone(int(pid)) for pid in (tmp_path / "pids").read_text().split())


def counting(folder: Path) -> tuple[str, Path]:
    """A command that counts how often it is run."""
    runs = folder / "runs"
    return script(
        folder, f"open({str(runs)!r}, 'a').write('x')\nprint('value-' + str(len(open({str(runs)!r}).read())))"
    ), runs


def test_a_value_is_kept_for_a_while(tmp_path: Path) -> None:
    """The command is run again when `ttl` is over, and not before."""
    command, runs = counting(tmp_path)
    long, short = plugin(Command), plugin(Command, ttl=0)
    assert [long.resolve_secret("cmd", command) for _ in range(3)] == ["value-1"] * 3
    assert [short.resolve_secret("cmd", command) for _ in range(2)] == ["value-2", "value-3"]
    assert runs.read_text() == "xxx"


def test_who_asks_at_the_same_time_shares_one_run(tmp_path: Path) -> None:
    """Twenty threads, one process."""
    command, runs = counting(tmp_path)
    asked = plugin(Command)
    with ThreadPoolExecutor(20) as pool:
        assert set(pool.map(lambda _: asked.resolve_secret("cmd", command), range(20))) == {"value-1"}
    assert runs.read_text() == "x"


def test_what_failed_is_not_tried_at_once_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An account is not asked a thousand times with what it refuses; after a while it is asked again."""
    runs = tmp_path / "runs"
    command = script(tmp_path, f"open({str(runs)!r}, 'a').write('x')\nraise SystemExit(3)")
    asked = plugin(Command)
    for _ in range(3):
        with pytest.raises(ConfigError, match="exit code 3"):
            asked.resolve_secret("cmd", command)
    assert runs.read_text() == "x"
    monkeypatch.setattr(cached_values, "RETRY_SECONDS", 0.0)
    other = plugin(Command)
    for _ in range(2):
        with pytest.raises(ConfigError, match="exit code 3"):
            other.resolve_secret("cmd", command)
    assert runs.read_text() == "xxx"


# The keyring


class Store(keyring.backend.KeyringBackend):
    """A keyring in a file, as `keyrings.alt` has one, that can be told to fail."""

    priority = 0.1  # type: ignore[assignment]
    entries: dict[tuple[str, str], str] = {}  # noqa: RUF012
    trouble: Exception | None = None
    opened = threading.Event()
    asked = 0

    def get_password(self, service: str, username: str) -> str | None:
        type(self).asked += 1
        if self.trouble is not None:
            raise self.trouble
        self.opened.wait(30)
        return self.entries.get((service, username))

    def set_password(self, service: str, username: str, password: str) -> None:
        self.entries[service, username] = password

    def delete_password(self, service: str, username: str) -> None:
        del self.entries[service, username]


@pytest.fixture
def store() -> Iterator[type[Store]]:
    before = keyring.get_keyring()
    keyring.set_keyring(Store())
    Store.entries, Store.trouble, Store.asked = {}, None, 0
    Store.opened.set()
    yield Store
    Store.opened.set()
    keyring.set_keyring(before)


def test_a_value_of_the_keyring(store: type[Store]) -> None:
    """The user stands behind the last slash; a value is asked for again when `ttl` is over."""
    keyring.set_password("https://api.example/v1", "me@example", CANARY)
    asked = plugin(Keyring, ttl=0)
    assert asked.resolve_secret("keyring", "https://api.example/v1/me@example") == CANARY
    assert asked.resolve_secret("cmd", "https://api.example/v1/me@example") is None
    keyring.set_password("https://api.example/v1", "me@example", "rotated-value")
    assert asked.resolve_secret("keyring", "https://api.example/v1/me@example") == "rotated-value"
    kept = plugin(Keyring)
    before = store.asked
    assert {kept.resolve_secret("keyring", "https://api.example/v1/me@example") for _ in range(5)} == {"rotated-value"}
    assert store.asked == before + 1


@pytest.mark.parametrize("name", ["service", "/user", "service/"])
def test_a_reference_without_service_or_user(store: type[Store], name: str) -> None:
    """It is told how to write it, and nobody is asked."""
    with pytest.raises(ConfigError, match="names no service and user"):
        plugin(Keyring).resolve_secret("keyring", name)
    assert store.asked == 0


def test_the_keyring_has_no_such_value(store: type[Store]) -> None:
    """The command that puts it there is told."""
    with pytest.raises(MissingSecret, match="nothing for 'my user' of 'a/b'") as caught:
        plugin(Keyring).resolve_secret("keyring", "a/b/my user")
    assert caught.value.hint == "keyring set a/b 'my user'"


@pytest.mark.parametrize(
    "trouble", [keyring.errors.KeyringLocked(CANARY), keyring.errors.NoKeyringError(CANARY), RuntimeError(CANARY)]
)
def test_a_keyring_that_cannot_be_used(store: type[Store], trouble: Exception) -> None:
    """What is wrong is told by its kind; its text is not, for it may hold anything."""
    store.trouble = trouble
    with pytest.raises(ConfigError, match=f"cannot be used: {type(trouble).__name__}") as caught:
        plugin(Keyring).resolve_secret("keyring", "a/b")
    assert "diagnose" in (caught.value.hint or "")
    assert CANARY not in f"{caught.value} {caught.value.hint}"


def test_a_keyring_that_waits_for_a_person(store: type[Store], monkeypatch: pytest.MonkeyPatch) -> None:
    """It keeps nobody waiting for ever, and is not asked a second time meanwhile; once it is unlocked, all is well."""
    monkeypatch.setattr(cached_values, "RETRY_SECONDS", 0.0)
    store.opened.clear()
    store.entries["a", "b"] = CANARY
    asked = plugin(Keyring, timeout=0.1)
    for _ in range(3):
        with pytest.raises(ConfigError, match=r"did not answer within 0\.1 s"):
            asked.resolve_secret("keyring", "a/b")
    assert store.asked == 1
    store.opened.set()
    while True:
        try:
            assert asked.resolve_secret("keyring", "a/b") == CANARY
            break
        except ConfigError:
            continue


def test_a_hung_keyring_does_not_keep_the_process(tmp_path: Path) -> None:
    """In a process of its own, with the backend that PYTHON_KEYRING_BACKEND names: it ends although the keyring never
    answers."""
    (tmp_path / "hung.py").write_text(
        "import time, keyring.backend\nclass Hung(keyring.backend.KeyringBackend):\n    priority = 1\n"
        "    def get_password(self, service, username): time.sleep(60)\n    def set_password(self, *a): pass\n"
    )
    code = f"""
import sys; sys.path.insert(0, {str(Path(__file__).parent)!r})
from pathlib import Path
from doorward import ConfigError, PluginContext
from doorward_secrets import Keyring, KeyringSettings
try:
    Keyring(PluginContext("k", KeyringSettings(timeout=1), Path("."))).resolve_secret("keyring", "a/b")
except ConfigError as error:
    print(error)
"""
    environ = os.environ | {"PYTHON_KEYRING_BACKEND": "hung.Hung", "PYTHONPATH": str(tmp_path)}
    ended = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=100, env=environ, check=False
    )
    assert ended.stdout.strip() == "the keyring did not answer within 1 s", ended


# Both, in a gateway


def test_is_light() -> None:
    """Naming the plugins imports no keyring."""
    check_light_import("doorward_secrets")


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def reference(gate: Gateway, raw: str) -> Template:
    return Template(raw, gate.secrets)


@pytest.mark.anyio
async def test_a_scheme_answers_where_it_is_enabled(tmp_path: Path, store: type[Store]) -> None:
    """CONTRACT: AUT-09. `plugins = ["keyring", "cmd"]` enables both, `[hooks.cmd]` sets them; what they answer is
    scrubbed."""
    store.entries["svc", "me"] = CANARY
    file = tmp_path / "doorward.toml"
    command = json.dumps(f"{PYTHON} -c 'print(\"printed-value\")'")[1:-1]
    file.write_text(
        f'plugins = ["keyring", "cmd"]\nstate = "state"\nvault_key = "${{cmd:{command}}}"\n[hooks.cmd]\nttl = 5\n'
    )
    async with Gateway.open(load(file, environ={}), compile=False) as gate:
        assert await reference(gate, "Bearer ${keyring:svc/me}").get() == f"Bearer {CANARY}"
        assert gate.config.vault_key is not None
        assert await gate.config.vault_key.get() == gate.config.vault_key.reveal() == "printed-value"
        assert gate.secrets.scrub(f"{CANARY} printed-value") == "[secret] [secret]"


@pytest.mark.anyio
@pytest.mark.parametrize("scheme", ["keyring", "cmd"])
async def test_a_scheme_that_is_not_enabled(tmp_path: Path, scheme: str) -> None:
    """It runs nothing, and the error says how to enable it, or how to install what brings it. CONTRACT: AUT-15."""
    file = tmp_path / "doorward.toml"
    file.write_text('plugins = []\nstate = "state"\n')
    installed = find_index()
    without = Index([entry for entry in installed.entries if entry.name != scheme])
    advice = []
    for index in (installed, without):
        async with Gateway.open(load(file, environ={}), compile=False, index=index) as gate:
            with pytest.raises(MissingSecret, match=f"knows .*{scheme}:") as caught:
                await reference(gate, f"${{{scheme}:touch {tmp_path}/ran}}").get()
            advice.append(caught.value.hint or "")
    enable = f'plugins = [..., "{scheme}"]'
    assert enable in advice[0]
    assert f"`pip install doorward[{scheme}]` brings it." in advice[1]
    assert enable in advice[1]
    assert not (tmp_path / "ran").exists()
