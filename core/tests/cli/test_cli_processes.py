"""The command line as users and clients start it: a process of its own, with plugins found by their metadata."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import tomllib
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from ..conftest import CONFIG

pytestmark = pytest.mark.slow

TOKEN = "s3cret-t0ken-of-the-weather"
METADATA = "Metadata-Version: 2.1\nName: doorward-fake\nVersion: 1.0\n"
ENTRY_POINTS = """
[doorward.source]
fake = tests.conftest:Weather
[doorward.executor]
inprocess = tests.conftest:InProcess
[doorward.auth]
poison = poison:Auth
[doorward.command]
poisoned = poison:command
"""

Start = Callable[..., subprocess.Popen[str]]


@pytest.fixture
def start(tmp_path: Path) -> Start:
    """Starts `doorward` in a folder with a configuration. A module `poison` is installed, whose import leaves a
    trace."""
    site = tmp_path / "site" / "doorward_fake-1.0.dist-info"
    site.mkdir(parents=True)
    (site / "METADATA").write_text(METADATA)
    (site / "entry_points.txt").write_text(ENTRY_POINTS)
    (site.parent / "poison.py").write_text(f"open({str(tmp_path / 'imported')!r}, 'w').close()")
    (tmp_path / "doorward.toml").write_text(CONFIG)
    kept = {k: v for k, v in os.environ.items() if not k.startswith("DOORWARD_") and k != "PYTHONDONTWRITEBYTECODE"}
    paths = {
        "PYTHONPATH": os.pathsep.join([str(site.parent), str(Path(__file__).parents[2])]),
        "PYTHONPYCACHEPREFIX": str(tmp_path.parent / "pyc"),
    }
    environ = {**kept, **paths, "DOORWARD_STATE_DIR": str(tmp_path / "state")}

    def start(*words: str, python: tuple[str, ...] = (), **more: str) -> subprocess.Popen[str]:
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        command = [sys.executable, *python, "-m", "doorward.cli", *words]
        return subprocess.Popen(command, cwd=tmp_path, env={**environ, **more}, text=True, **pipes)  # type: ignore[call-overload,no-any-return]

    return start


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


def ended(process: subprocess.Popen[str], stdin: str | None = None) -> tuple[int, str, str]:
    try:
        out, err = process.communicate(stdin, timeout=100)
    finally:
        process.kill()
    return process.returncode, out, err


def test_help_imports_nothing(start: Start) -> None:
    """`doorward --help` imports neither a command, click, pydantic, nor a plugin, though it lists what plugins
    bring."""
    code, out, err = ended(start("--help", python=("-X", "importtime")))
    assert (code, "poisoned" in out) == (0, True)
    imported = set(re.findall(r"\| +([\w.]+)$", err, re.MULTILINE))
    assert "doorward.config.index" in imported
    heavy = {
        "click",
        "pydantic",
        "rich",
        "structlog",
        "mcp",
        "asyncio",
        "poison",
        "doorward.gateway",
        "doorward.config.config",
        "doorward.cli.common",
    }
    assert not imported & heavy


def test_plugins_imports_none(start: Start, tmp_path: Path) -> None:
    """`doorward plugins` knows of every plugin, and imports none, nor pydantic to read the configuration."""
    code, out, err = ended(start("plugins", python=("-X", "importtime")))
    assert code == 0
    assert "source\tfake\tdoorward-fake\t1.0\tactive\n" in out
    assert "auth\tpoison\tdoorward-fake\t1.0\tinstalled\n" in out
    assert not {"pydantic", "rich", "structlog", "mcp"} & set(re.findall(r"\| +([\w.]+)$", err, re.MULTILINE))
    assert not (tmp_path / "imported").exists()


@pytest.mark.parametrize("told", ["close", "SIGTERM", "SIGINT"])
def test_serve_stdio(start: Start, tmp_path: Path, told: str) -> None:
    """`serve` compiles, serves over stdio by default, and ends well when the client goes or it is told to.
    CONTRACT: CLI-01, CLI-02, SRC-13."""
    process = start("serve")
    with served(process) as client:
        assert client.execute("(await weather.get_forecast('Oslo'))['city']")["value"] == "Oslo"
        if told == "close":
            process.stdin.close()  # type: ignore[union-attr]
        else:
            process.send_signal(getattr(signal, told))
        assert process.wait(100) == 0
        assert (process.stdout.read(), process.stderr.read()) == ("", "")  # type: ignore[union-attr]
    assert not (tmp_path / "imported").exists()


def test_serve_told_before_it_serves(start: Start) -> None:
    """A signal that comes at any moment of the start ends it, with 0 once it listens to signals, and never with a
    traceback."""
    process = start("serve", "--transport", "http", "--port", "0")
    first = process.stderr.readline()  # type: ignore[union-attr]
    process.send_signal(signal.SIGTERM)
    process.send_signal(signal.SIGINT)
    code, _, err = ended(process)
    assert (first.startswith("Serving MCP at"), code, err) == (True, 0, "")


@pytest.mark.parametrize("told", ["SIGTERM", "SIGINT"])
def test_serve_http(start: Start, told: str) -> None:
    """`serve --transport http` says where it serves, on loopback, and ends well. CONTRACT: CLI-02."""
    process = start("serve", "--transport", "http", "--port", "0")
    try:
        url = process.stderr.readline().split()[-1]  # type: ignore[union-attr]
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+/mcp", url)
        params = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}).encode()
        headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
        with urllib.request.urlopen(urllib.request.Request(url, body, headers), timeout=100) as answer:
            assert b'"doorward"' in answer.read()
        taken = url.split(":")[2].split("/")[0]
        code, out, err = ended(start("serve", "--transport", "http", "--port", taken))
        assert (code, out, "cannot listen" in err, "Traceback" in err) == (2, "", True, False)
        process.send_signal(getattr(signal, told))
        code, out, err = ended(process)
        assert (code, out, err) == (0, "", "")
    finally:
        process.kill()


def test_serve_http_for_others_is_refused(start: Start) -> None:
    """Without client authentication only this machine is served."""
    code, _, err = ended(start("serve", "--transport", "http", "--host", "0.0.0.0", "--port", "0"))
    assert (code, "credentials" in err, "hint: " in err) == (2, True, True)


def test_serve_warns_and_serves_the_rest(start: Start, tmp_path: Path) -> None:
    """A broken server is a warning on standard error, in JSON lines without a secret; the others serve. CONTRACT:
    OBS-01, OBS-03."""
    more = '[servers.bad]\nsource = "nope"\n[servers.worse]\nsorce = "x"\n'
    (tmp_path / "doorward.toml").write_text(CONFIG + 'token = "${WEATHER}"\n' + more)
    (tmp_path / ".env").write_text(f"WEATHER={TOKEN}")
    process = start("serve", DOORWARD_LOG_LEVEL="debug")
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
        ('surfce = "x"', "did you mean 'surface'"),
        ("a = [", "doorward.toml"),
        (None, "doorward init"),
    ],
)
def test_serve_that_cannot_start(start: Start, tmp_path: Path, config: str | None, says: str) -> None:
    """A configuration or a guard that cannot be used stops the start with one message, on standard error, exit code
    2."""
    (tmp_path / "doorward.toml").unlink()
    if config is not None:
        (tmp_path / "doorward.toml").write_text(config)
    code, out, err = ended(start("serve"))
    assert (code, out) == (2, "")
    assert says in err
    assert "Traceback" not in err


def test_serve_imports_only_what_is_used(start: Start) -> None:
    """Serving imports no rich, no tomlkit and no plugin that nothing names."""
    assert ended(start("compile"))[0] == 0
    code, _, err = ended(start("serve", python=("-X", "importtime")), "")
    imported = set(re.findall(r"^import time:.*\| +([\w.]+)$", err, re.MULTILINE))
    assert (code, "mcp" in imported) == (0, True)
    assert imported & {"tomlkit", "poison", "rich.console"} == set()


def test_environment_names_the_configuration(start: Start, tmp_path: Path) -> None:
    """`DOORWARD_CONFIG` is the configuration where no --config is given. CONTRACT: CLI-11."""
    (tmp_path / "doorward.toml").rename(tmp_path / "other.toml")
    code, out, _ = ended(start("list", DOORWARD_CONFIG="other.toml"))
    assert (code, out.startswith("weather\t8\t")) == (0, True)


def test_reader_that_goes_away(start: Start) -> None:
    """A pipe that nobody reads any more is no error message."""
    process = start("list", "weather")
    process.stdout.close()  # type: ignore[union-attr]
    err = process.stderr.read()  # type: ignore[union-attr]
    assert (process.wait(100), err) == (1, "")


def test_real_api(start: Start, tmp_path: Path) -> None:
    """With the plugins that are meant for it: add an OpenAPI document, find its function, fail to reach it, run a
    program.
    CONTRACT: CLI-01."""
    for plugin in ("doorward_openapi", "doorward_sandbox_monty"):
        pytest.importorskip(plugin, reason=f"{plugin} is not installed")
    (tmp_path / "doorward.toml").unlink()
    operation = {"operationId": "getForecast", "summary": "The forecast", "responses": {"200": {"description": "ok"}}}
    spec = {
        "openapi": "3.1.0",
        "info": {"title": "Weather", "version": "1"},
        "paths": {"/forecast": {"get": operation}},
    }
    (tmp_path / "weather.json").write_text(json.dumps(spec))
    code, out, err = ended(start("add", "openapi", "weather", "weather.json", "--base-url", "http://127.0.0.1:9"))
    assert (code, "weather: 1 function, " in out, err) == (0, True, "")
    assert (
        json.loads(ended(start("search", "forecast", "--json"))[1])["functions"][0]["function"]
        == "weather.get_forecast"
    )
    code, out, err = ended(start("call", "weather.get_forecast"))
    assert (code, out, "127.0.0.1:9" in err) == (1, "", True)
    code, out, _ = ended(start("run", "-", "--json"), "result = 6 * 7")
    assert (code, json.loads(out)["value"]) == (0, 42)


def test_tokens_that_are_made_and_revoked_at_once(start: Start, tmp_path: Path) -> None:
    """None is lost, and none that was revoked is back."""
    file = tmp_path / "doorward.toml"
    tokens = "".join(f'[[principals.bob.tokens]]\nid = "bob{n}"\nhash = "sha256:{n:064}"\n' for n in range(3))
    file.write_text(file.read_text() + tokens)
    running = [start("token", "new", f"person{n}") for n in range(3)] + [
        start("token", "revoke", f"bob{n}") for n in range(3)
    ]
    assert [ended(process)[0] for process in running] == [0] * 6
    left = tomllib.loads(file.read_text())["principals"]
    assert {name: len(table.get("tokens", ())) for name, table in left.items() if table} == {
        "person0": 1,
        "person1": 1,
        "person2": 1,
    }
