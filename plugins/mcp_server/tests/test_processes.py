"""`serve` and `token` as clients and users start them: processes of their own, with plugins found by their metadata."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import tomllib
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from doorward_testing import StartDoorward, ended
from doorward_testing.samples import CONFIG

pytestmark = pytest.mark.slow

TOKEN = "s3cret-t0ken-of-the-weather"


class Client:
    """Speaks MCP to a process, line by line."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        self.asked = 0

    def ask(self, method: str, **params: Any) -> Any:
        self.asked += 1
        self._send({"id": self.asked, "method": method, "params": params})
        answer = json.loads(self.process.stdout.readline())  # type: ignore[union-attr]
        assert answer["id"] == self.asked
        return answer["result"]

    def _send(self, message: dict[str, Any]) -> None:
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")  # type: ignore[union-attr]
        self.process.stdin.flush()  # type: ignore[union-attr]

    def execute(self, code: str) -> Any:
        return self.ask("tools/call", name="execute_code", arguments={"code": code})["structuredContent"]


@contextmanager
def served(process: subprocess.Popen[str]) -> Iterator[Client]:
    try:
        client = Client(process)
        client.ask(
            "initialize", protocolVersion="2025-06-18", capabilities={}, clientInfo={"name": "test", "version": "1"}
        )
        client._send({"method": "notifications/initialized"})
        yield client
    finally:
        process.kill()
        process.wait()


@pytest.mark.parametrize("told", ["SIGTERM", "SIGINT"])
def test_serve_stdio(start_doorward: StartDoorward, tmp_path: Path, told: str) -> None:
    """`serve` compiles, serves over stdio by default, and ends well when it is told to; when the client goes, as the
    other tests have it, too.
    CONTRACT: CLI-01, CLI-02, SRC-13."""
    process = start_doorward("serve")
    with served(process) as client:
        assert client.execute("(await weather.get_forecast('Oslo'))['city']")["value"] == "Oslo"
        process.send_signal(getattr(signal, told))
        assert process.wait(100) == 0
        assert (process.stdout.read(), process.stderr.read()) == ("", "")  # type: ignore[union-attr]
    assert not (tmp_path / "imported").exists()


def test_serve_told_before_it_serves(start_doorward: StartDoorward) -> None:
    """A signal that comes at any moment of the start ends it, with 0 once it listens to signals, and never with a
    traceback."""
    process = start_doorward("serve", "--transport", "http", "--port", "0")
    first = process.stderr.readline()  # type: ignore[union-attr]
    process.send_signal(signal.SIGTERM)
    process.send_signal(signal.SIGINT)
    code, _, err = ended(process)
    assert (first.startswith("Serving MCP at"), code, err) == (True, 0, "")


def test_serve_http(start_doorward: StartDoorward) -> None:
    """`serve --transport http` says where it serves, on loopback, and ends well; a second one at its address does not
    start. CONTRACT: CLI-02."""
    process = start_doorward("serve", "--transport", "http", "--port", "0")
    try:
        url = process.stderr.readline().split()[-1]  # type: ignore[union-attr]
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+/mcp", url)
        params = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}).encode()
        headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
        with urllib.request.urlopen(urllib.request.Request(url, body, headers), timeout=100) as answer:
            assert b'"doorward"' in answer.read()
        taken = url.split(":")[2].split("/")[0]
        code, out, err = ended(start_doorward("serve", "--transport", "http", "--port", taken))
        assert (code, out, "cannot listen" in err, "Traceback" in err) == (2, "", True, False)
        process.send_signal(signal.SIGINT)
        code, out, err = ended(process)
        assert (code, out, err) == (0, "", "")
    finally:
        process.kill()


def test_serve_http_for_others_is_refused(start_doorward: StartDoorward) -> None:
    """Without client authentication only this machine is served."""
    code, _, err = ended(start_doorward("serve", "--transport", "http", "--host", "0.0.0.0", "--port", "0"))
    assert (code, "credentials" in err, "hint: " in err) == (2, True, True)


def test_serve_warns_and_serves_the_rest(start_doorward: StartDoorward, tmp_path: Path) -> None:
    """A broken server is a warning on standard error, in JSON lines without a secret; the others serve. CONTRACT:
    OBS-01, OBS-03, OBS-04."""
    more = '[servers.bad]\nsource = "nope"\n[servers.worse]\nsorce = "x"\n'
    (tmp_path / "doorward.toml").write_text(CONFIG + 'token = "${WEATHER}"\n' + more)
    (tmp_path / ".env").write_text(f"WEATHER={TOKEN}")
    process = start_doorward("serve", DOORWARD_LOG_LEVEL="debug")
    with served(process) as client:
        assert TOKEN not in json.dumps(client.execute("await weather.echo_token()"))
        client.execute("await weather.crash()")
        process.stdin.close()  # type: ignore[union-attr]
        assert process.wait(100) == 0
        err = process.stderr.read()  # type: ignore[union-attr]
    events = [json.loads(line) for line in err.splitlines()]
    assert {e["server"] for e in events if e["event"] == "server_broken"} == {"bad", "worse"}
    assert TOKEN not in err


@pytest.mark.parametrize(
    ("config", "says"),
    [
        ('plugins = ["nope"]', "no plugin named 'nope'"),
        ("a = [", "doorward.toml"),
    ],
)
def test_serve_that_cannot_start(start_doorward: StartDoorward, tmp_path: Path, config: str, says: str) -> None:
    """A configuration or a guard that cannot be used stops the start with one message, on standard error, exit code
    2."""
    (tmp_path / "doorward.toml").write_text(config)
    code, out, err = ended(start_doorward("serve"))
    assert (code, out) == (2, "")
    assert says in err
    assert "Traceback" not in err


def test_serve_imports_only_what_is_used(start_doorward: StartDoorward, tmp_path: Path) -> None:
    """Serving imports no rich, no tomlkit and no plugin that nothing names; until something is searched or logged no
    numpy and no structlog; and the same modules however many packages with plugins are installed."""

    def imported() -> set[str]:
        code, _, err = ended(start_doorward("serve", python=("-v",)), "")
        found = set(re.findall(r"^import '([\w.]+)'", err, re.MULTILINE))
        assert (code, "mcp" in found) == (0, True)
        return found

    assert ended(start_doorward("compile"))[0] == 0
    few = imported()
    assert few & {"tomlkit", "poison", "rich.console", "numpy", "structlog", "jsonschema_rs"} == set()
    assert sum(name.startswith("doorward") for name in few) < 323
    for number in range(50):
        about = tmp_path / "site" / f"more_{number}-1.0.dist-info"
        about.mkdir()
        (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: more-{number}\nVersion: 1.0\n")
        kinds = ("source", "auth", "executor", "plugins", "command")
        points = (f"[doorward.{kind}]\nmore{number}{kind} = more_{number}:Plugin\n" for kind in kinds)
        (about / "entry_points.txt").write_text("\n".join(points))
    assert imported() == few


def test_tokens_that_are_made_and_revoked_at_once(start_doorward: StartDoorward, tmp_path: Path) -> None:
    """None is lost, and none that was revoked is back."""
    file = tmp_path / "doorward.toml"
    tokens = "".join(f'[[principals.bob.tokens]]\nid = "bob{n}"\nhash = "sha256:{n:064}"\n' for n in range(2))
    file.write_text(file.read_text() + tokens)
    running = [start_doorward("token", "new", f"person{n}") for n in range(2)] + [
        start_doorward("token", "revoke", f"bob{n}") for n in range(2)
    ]
    assert [ended(process)[0] for process in running] == [0] * 4
    left = tomllib.loads(file.read_text())["principals"]
    assert {name: len(table.get("tokens", ())) for name, table in left.items() if table} == {
        "person0": 1,
        "person1": 1,
    }
