"""What an agent gets done with the first program that it writes, with nothing but the tools' texts: `first_programs.py`,
sent by a real client, on ten documents of the folder that DOORWARD_SPECS names, against an API that knows their routes
and schemas."""

from __future__ import annotations

import json
import os
import re
import threading
from collections.abc import Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, parse_qsl, unquote

import pytest
from doorward import Function, Gateway

from .first_programs import TASKS, Task
from .forked import Forked

SPECS = Path(os.environ.get("DOORWARD_SPECS", ""))
DOCUMENTS = {
    "github": "github.json.zst",
    "stripe": "stripe-2023-09-12.yaml.zst",
    "docker": "docker-engine-v1.41.yaml.zst",
    "gitea": "gitea-guru.json.zst",
    "powerdns": "powerdns-auth.yaml",
    "qdrant": "qdrant.json.zst",
    "asana": "asana.yaml.zst",
    "discourse": "discourse.json.zst",
    "twilio": "twilio_api_v2010.json.zst",
    "harbor": "harbor-swagger.yaml.zst",
}
AUTHS = {
    "discourse": 'auth = [{ type = "api_key", name = "Api-Key", value = "a-key-of-tests" },'
    ' { type = "api_key", name = "Api-Username", value = "somebody" }]',
}
RIGHT = 35
"""So many of the 36 first programs are right. One encodes a name twice, as its document asks of whoever writes URLs."""

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.slow,
    pytest.mark.skipif(
        not all((SPECS / name).is_file() for name in DOCUMENTS.values()),
        reason="the documents are absent: DOORWARD_SPECS names the folder that has them",
    ),
]


class Api(ThreadingHTTPServer):
    """Answers the requests of one task at a time, if the document of their server has such a route. A link to a next
    page leads here, as an API's leads to that API."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.routes: list[tuple[re.Pattern[str], dict[str, Any]]] = []
        """Each with the schema of its answers."""
        self.task = Task("", "", None)
        self.sent: list[tuple[str, Any]] = []
        self.unknown: list[str] = []

    def answer(self, method: str, target: str, kind: str, body: bytes) -> tuple[int, str, bytes]:
        path, _, query = target.partition("?")
        asked = "&".join(f"{name}={value}" for name, value in sorted(parse_qsl(query, keep_blank_values=True)))
        written = f"{method} {path}{'?' * bool(asked)}{asked}"
        fitting = [(route, schema) for route, schema in self.routes if route.fullmatch(f"{method} {path}")]
        schema = max(fitting, key=lambda one: len(one[0].pattern.replace(".+", "")))[1] if fitting else None
        if schema is None or written not in self.task.answers:
            self.unknown.append(written)
            return 404, "application/json", json.dumps({"message": f"there is no {written}"}).encode()
        if method != "GET":
            given = parse_qs(body.decode()) if "urlencoded" in kind else json.loads(body or b"{}")
            self.sent.append((written, given))
        value = self.task.answers[written]
        if isinstance(value, dict) and isinstance(value.get("next_page"), dict):
            value = {
                **value,
                "next_page": {
                    **value["next_page"],
                    "uri": f"http://127.0.0.1:{self.server_port}{value['next_page']['path']}",
                },
            }
        if value is None:
            return 204 if method in ("DELETE", "PATCH") else 201, "", b""
        if isinstance(value, bytes):
            return 200, "application/octet-stream", value
        if isinstance(value, str):
            return 200, "text/plain", value.encode()
        return 200, "application/json", json.dumps(filled(schema, value, schema)).encode()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Api

    def _answered(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        target = (
            self.path
            if "%25" in self.path
            else unquote(self.path.partition("?")[0]) + self.path[len(self.path.partition("?")[0]) :]
        )
        status, kind, content = self.server.answer(self.command, target, self.headers.get("Content-Type") or "", body)
        self.send_response(status)
        if kind:
            self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = _answered

    def log_message(self, *args: Any) -> None:
        pass


def filled(schema: Any, value: Any, root: Mapping[str, Any], depth: int = 0) -> Any:
    """A value with the other members that its schema requires or has, as far as these are simple."""
    schema = resolved(schema, root)
    if isinstance(value, list):
        return [filled(schema.get("items") or {}, item, root, depth) for item in value]
    if not isinstance(value, dict):
        return value
    members = {name: made_up(part, root, depth + 1) for name, part in members_of(schema, root).items()}
    return {name: part for name, part in members.items() if part is not None and name not in value} | {
        name: filled(members_of(schema, root).get(name, {}), part, root, depth + 1) for name, part in value.items()
    }


def members_of(schema: Any, root: Mapping[str, Any]) -> dict[str, Any]:
    schema = resolved(schema, root)
    found = dict(schema.get("properties") or {})
    for part in schema.get("allOf") or ():
        found |= members_of(part, root)
    for part in (schema.get("anyOf") or schema.get("oneOf") or ())[:1]:
        found |= members_of(part, root)
    return found


def resolved(schema: Any, root: Mapping[str, Any]) -> Mapping[str, Any]:
    while isinstance(schema, dict) and "$ref" in schema:
        found: Any = root
        for step in schema["$ref"].removeprefix("#/").split("/"):
            found = found[unquote(step).replace("~1", "/").replace("~0", "~")]
        schema = found
    return schema if isinstance(schema, dict) else {}


def made_up(schema: Any, root: Mapping[str, Any], depth: int) -> Any:
    schema = resolved(schema, root)
    kind = schema.get("type")
    kind = kind[0] if isinstance(kind, list) else kind
    if schema.get("enum"):
        return schema["enum"][0]
    if kind == "object" and depth < 3:
        return filled(schema, {}, root, depth)
    return {"string": "text", "integer": 1, "number": 1.5, "boolean": False, "array": []}.get(str(kind))


@pytest.fixture(scope="module")
def api() -> Iterator[Api]:
    with Api() as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def route(server: str, function: Function) -> re.Pattern[str]:
    method, _, path = function.route.partition(" ")
    parts = re.split(r"(\{[^}]*\})", path)
    return re.compile(
        f"{method} /{server}" + "".join(".+" if part.startswith("{") else re.escape(part) for part in parts)
    )


def holds(given: Any, wanted: Any) -> bool:
    """Whether a body has what it must have."""
    if isinstance(wanted, dict):
        return isinstance(given, dict) and all(
            name in given and holds(given[name], part) for name, part in wanted.items()
        )
    return bool(given == wanted)


async def test_first_programs_are_right(api: Api, tmp_path: Path) -> None:
    servers = [
        f'[servers.{name}]\nsource = "openapi"\nspec = "{SPECS.resolve() / file}"\n'
        f'base_url = "http://127.0.0.1:{api.server_port}/{name}"\n{AUTHS.get(name, "")}\n'
        for name, file in DOCUMENTS.items()
    ]
    project = Forked(tmp_path, "[limits]\nrate = 10000\n" + "\n".join(servers))
    project.change('"monty"', '["monty", "nsjail"]')
    wrong = {}
    async with Gateway.open(project.file) as gate:  # the same state
        await gate.compile()
        for name in DOCUMENTS:
            for found in gate.catalog.functions(name):
                schema = found.returns or {}
                api.routes.append((route(name, found), {**schema, "$defs": gate.catalog.reached(name, schema)}))
    async with project.stdio() as agent:
        for task in TASKS:
            api.task, api.sent, api.unknown = task, [], []
            outcome = await agent.run(task.program)
            assert outcome["ok"] or outcome["error"]["hint"], "a dead end"
            sent = len(api.sent) == len(task.sent) and all(
                path == asked and holds(body, part)
                for (path, body), (asked, part) in zip(api.sent, task.sent, strict=True)
            )
            if not outcome["ok"] or outcome.get("value") != task.result or not sent or api.unknown:
                wrong[task.asked] = (agent.text, api.sent, api.unknown)
    assert len(TASKS) - len(wrong) >= RIGHT, wrong
