"""Real systems that an agent works with: applications with documents, started here, and MCP servers, in one
configuration of Doorward.

Directus is there if DOORWARD_DIRECTUS names a folder in which `npm install directus@12.4.0 sqlite3@6` was run (700 MB,
with a compiler): `.ci/peers` does not install it.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import sqlite3
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import tomli_w
from doorward_testing import reserve_port

from .mcp_servers import SERVERS
from .peer import CACHE, answers, document, program, running

KEY = {"X-API-Key": "key of the test"}
DIRECTUS = os.environ.get("DOORWARD_DIRECTUS", "")
_TOKEN = "token-of-the-administrator-7f3a"
_MCP = {
    "files": "filesystem",
    "sqlite": "sqlite",
    "excel": "excel",
    "git": "git",
    "word": "word",
    "calculator": "calculator",
}
"""MCP servers by the names that they have here: one has that of a common word."""


class Application:
    """A running application: its address, and what it says when asked without Doorward."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.url = f"http://127.0.0.1:{port}"

    def ask(self, method: str, path: str, body: Any = None, **headers: str) -> tuple[int, bytes]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        try:
            content = None if body is None else json.dumps(body)
            connection.request(method, path, content, {"Content-Type": "application/json", **headers})
            answer = connection.getresponse()
            return answer.status, answer.read()
        finally:
            connection.close()

    def json(self, path: str, body: Any = None, **headers: str) -> Any:
        return json.loads(self.ask("GET" if body is None else "POST", path, body, **headers)[1])


@contextlib.contextmanager
def powerdns(folder: Path) -> Iterator[Application]:
    """PowerDNS without zones."""
    server = program("pdns_server")
    database = sqlite3.connect(folder / "pdns.db")
    database.executescript(Path("/usr/share/pdns-backend-sqlite3/schema/schema.sqlite3.sql").read_text())
    database.close()
    app = Application(reserve_port())
    options = {
        "launch": "gsqlite3",
        "gsqlite3-database": folder / "pdns.db",
        "socket-dir": folder,
        "config-dir": folder,
    }
    options |= {"daemon": "no", "guardian": "no", "local-address": "127.0.0.1", "local-port": reserve_port()}
    options |= {
        "webserver": "yes",
        "webserver-address": "127.0.0.1",
        "webserver-port": app.port,
        "webserver-allow-from": "127.0.0.1",
    }
    options |= {"api": "yes", "api-key": KEY["X-API-Key"]}
    with running([server, *(f"--{name}={value}" for name, value in options.items())], folder, answers(app.url)):
        yield app


@contextlib.contextmanager
def prefect(folder: Path) -> Iterator[Application]:
    """Prefect with one deployment, `nightly` of the flow `harbour`."""
    command, app = program("prefect", CACHE / "prefect/bin"), Application(reserve_port())
    environ = {
        "HOME": str(folder),
        "PREFECT_HOME": str(folder),
        "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
        "DO_NOT_TRACK": "1",
    }
    words = [command, "server", "start", "--host", "127.0.0.1", "--port", str(app.port), "--no-services", "--no-ui"]
    with running(words, folder, answers(f"{app.url}/api/health"), **environ):
        flow = app.json("/api/flows/", {"name": "harbour"})
        app.json("/api/deployments/", {"name": "nightly", "flow_id": flow["id"]})
        yield app


@contextlib.contextmanager
def directus(folder: Path) -> Iterator[Application]:
    """Directus with an empty collection, `berths`: its document has functions for the collections that there are."""
    cli, app = Path(DIRECTUS) / "node_modules/directus/cli.js", Application(reserve_port())
    node = program("node", CACHE / "node/bin")
    environ = {
        "DB_CLIENT": "sqlite3",
        "DB_FILENAME": str(folder / "data.db"),
        "SECRET": "a secret of the test",
        "HOST": "127.0.0.1",
    }
    environ |= {
        "PORT": str(app.port),
        "PUBLIC_URL": app.url,
        "ADMIN_EMAIL": "ada@example.org",
        "ADMIN_PASSWORD": "harbour-of-ada",
    }
    environ |= {
        "ADMIN_TOKEN": _TOKEN,
        "STORAGE_LOCAL_ROOT": str(folder / "uploads"),
        "TELEMETRY": "false",
        "SERVE_APP": "false",
    }
    subprocess.run(
        [node, str(cli), "bootstrap"],
        cwd=folder,
        env={**os.environ, **environ},
        check=True,
        capture_output=True,
        timeout=300,
    )
    with running([node, str(cli), "start"], folder, answers(f"{app.url}/server/ping"), **environ):
        key = {"field": "id", "type": "integer", "schema": {"is_primary_key": True, "has_auto_increment": True}}
        name = {"field": "name", "type": "string", "schema": {"is_nullable": False}}
        fields = [key, name, {"field": "depth", "type": "float", "schema": {}}]
        app.json(
            "/collections", {"collection": "berths", "schema": {}, "fields": fields}, Authorization=f"Bearer {_TOKEN}"
        )
        _described(app, folder)
        yield app


def _described(app: Application, folder: Path) -> None:
    """Its document, which is that of who asks, with what it leaves out: that a file is sent as a form, and a collection
    has a schema."""
    text = app.ask("GET", "/server/specs/oas", Authorization=f"Bearer {_TOKEN}")[1]
    paths = json.loads(text)["paths"]
    file = {
        "type": "object",
        "properties": {"title": {"type": "string"}, "file": {"type": "string", "format": "binary"}},
    }
    paths["/files"]["post"]["requestBody"] = {"content": {"multipart/form-data": {"schema": file}}}
    collection = paths["/collections"]["post"]["requestBody"]["content"]["application/json"]["schema"]
    collection["properties"]["schema"] = {
        "type": "object",
        "description": "The table; {} for one by the name of the collection",
    }
    (folder / "directus.json").write_text(json.dumps({**json.loads(text), "paths": paths}))


@contextlib.contextmanager
def systems(folder: Path) -> Iterator[Path]:
    """All of them, started, and a configuration in front of them: `doorward.toml` in the folder."""
    for name in ("dns", "prefect", "directus", "data", "repo"):
        (folder / name).mkdir()
    _prepare(folder)
    with contextlib.ExitStack() as started:
        dns, flows = started.enter_context(powerdns(folder / "dns")), started.enter_context(prefect(folder / "prefect"))
        servers: dict[str, Any] = {
            "prefect": {"source": "openapi", "spec": f"{flows.url}/openapi.json", "base_url": f"{flows.url}/api"},
            "dns": {"source": "openapi", "spec": str(document("powerdns-auth.yaml")), "base_url": f"{dns.url}/api/v1"},
        }
        servers["dns"]["auth"] = {"type": "api_key", "value": "${PDNS_KEY}", "name": "X-API-Key"}
        if DIRECTUS:
            content = started.enter_context(directus(folder / "directus"))
            servers["directus"] = {
                "source": "openapi",
                "spec": str(folder / "directus/directus.json"),
                "base_url": content.url,
            }
            servers["directus"]["auth"] = {"type": "bearer", "token": "${DIRECTUS_TOKEN}"}
        real = {server.name: server for server in SERVERS}
        servers |= {name: _placed(real[of].entry(folder, ""), folder) for name, of in _MCP.items()}
        (folder / ".env").write_text(f'PDNS_KEY="{KEY["X-API-Key"]}"\nDIRECTUS_TOKEN={_TOKEN}\n')
        configured = {
            "state": "state",
            "limits": {"rate": 100_000},
            "plugins": ["ast"],
            "executor": ["monty", "nsjail"],
            "servers": servers,
        }
        (folder / "doorward.toml").write_text(tomli_w.dumps(configured))
        yield folder


def _placed(entry: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    return {**entry, "command": [str(folder / "data") if word == str(folder) else word for word in entry["command"]]}


def _prepare(folder: Path) -> None:
    """A repository of five commits, and a database of forty ships."""
    names = ["-c", "user.name=Ada", "-c", "user.email=ada@example.org"]
    subprocess.run(["git", "init", "-q", "-b", "main", "repo"], cwd=folder, check=True)
    for n in range(5):
        (folder / f"repo/{n}.txt").write_text(f"{n}\n")
        subprocess.run(["git", "add", "."], cwd=folder / "repo", check=True)
        message = f"{'fix' if n % 2 else 'add'} berth {n}"
        subprocess.run(["git", *names, "commit", "-q", "-m", message], cwd=folder / "repo", check=True)
    with contextlib.closing(sqlite3.connect(folder / "a.db")) as database, database:
        database.execute("CREATE TABLE ships (name TEXT, berth INTEGER, tons REAL)")
        database.executemany("INSERT INTO ships VALUES (?, ?, ?)", [(f"ship{n}", n % 4, n * 10.5) for n in range(40)])
