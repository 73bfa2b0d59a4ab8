"""The writes of an agent's run are undone on the command line, at an API that counts them."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import pytest

from .forked import Forked
from .product import Answering, Project, needs_proc, web

pytestmark = [pytest.mark.anyio, needs_proc]

CODE = """
import shelf
made = [shelf.add_thing(name=name)["id"] for name in ["one", "two", "three"]]
shelf.put_thing(id=made[0], name="eins")
shelf.put_thing(id=made[0], name="uno")
shelf.delete_thing(id=made[1])
made
"""
UNDO = """
[servers.shelf.undo.add_thing]
call = "delete_thing"
arguments = { id = "answer.id" }
[servers.shelf.undo.put_thing]
before = "get_thing"
call = "put_thing"
arguments = { id = "args.id", name = "before.name" }
[servers.shelf.undo.delete_thing]
before = "get_thing"
call = "restore_thing"
arguments = { id = "args.id", name = "before.name" }
"""


class Things(Answering):
    """An API of things, which counts what it did. It kills its caller after the request that it was told."""

    things: ClassVar[dict[str, str]] = {}
    done: ClassVar[Counter[str]] = Counter()
    victim = ""
    lock = threading.Lock()

    def _answered(self) -> None:
        size = int(self.headers.get("Content-Length", 0))
        body = json.loads(self.rfile.read(size)) if size else {}
        id = self.path.rpartition("/")[2]
        with self.lock:
            status, answer = self._done(id, body.get("name", ""))
            what = f"{self.command} {id} {body.get('name', '')}".strip()
            if status == 200:
                self.done[what] += 1
        if self.victim == what:
            Things.victim = ""
            self.close_connection = True
            os.kill(Forked.pid(int(self.headers["X-Caller"])), signal.SIGKILL)
            return
        self.answer(answer, status)

    def _done(self, id: str, name: str) -> tuple[int, Any]:
        if self.command == "POST":
            id = id if id.isdecimal() else str(len(self.things) + 1)
        elif id not in self.things:
            return 404, {"message": "there is no such thing"}
        if self.command == "DELETE":
            del self.things[id]
        elif name:
            self.things[id] = name
        return 200, {"id": id, "name": self.things.get(id)}

    do_GET = do_POST = do_PUT = do_DELETE = _answered


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def world(tmp_path: Path) -> Iterator[Project]:
    """A project with the API, whose functions have inverses."""
    body = {"required": True, "content": {"application/json": {"schema": {
        "type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"],
    }}}}  # fmt: skip
    done: dict[str, Any] = {"responses": {"200": {"description": "ok", "content": {"application/json": {}}}}}
    id = {"parameters": [{"name": "id", "in": "path", "required": True, "schema": {"type": "string"}}], **done}
    paths = {
        "/things": {"post": {"operationId": "add_thing", "requestBody": body, **done}},
        "/things/{id}": {
            "get": {"operationId": "get_thing", **id},
            "put": {"operationId": "put_thing", "requestBody": body, **id},
            "post": {"operationId": "restore_thing", "requestBody": body, **id},
            "delete": {"operationId": "delete_thing", **id},
        },
    }
    Things.things, Things.done, Things.victim = {}, Counter(), ""
    with web(Things) as url:
        (tmp_path / "shelf.json").write_text(
            json.dumps(
                {"openapi": "3.1.0", "info": {"title": "Shelf", "version": "1"}, "servers": [{"url": url}]}
                | {"paths": paths}
            )
        )
        yield Forked(
            tmp_path,
            f"""
runs.durable = "always"
[servers.shelf]
source = "openapi"
spec = "shelf.json"
base_url = "{url}"
headers = {{ X-Caller = "${{CALLER}}" }}
retries = 0
{UNDO}""",
            {"CALLER": "0"},
        )


def undone(world: Project, *words: str) -> subprocess.CompletedProcess[str]:
    """`doorward runs undo RUN`, by a process whose id the API knows."""
    command = world.command("runs", "undo", stored(world), *words)
    return subprocess.run(
        ["sh", "-c", 'CALLER=$$ exec "$0" "$@"', *command], env=world.environment(), cwd=world.folder,
        capture_output=True, text=True, timeout=100, check=False,
    )  # fmt: skip


def stored(world: Project) -> str:
    (run,) = re.findall(r'"run": "([0-9a-f]+)"', world.run("runs", "list", "--json").stdout)
    return str(run)


async def ran(world: Project) -> None:
    async with world.stdio() as agent:
        assert await agent.value(CODE) == ["1", "2", "3"]
        tools = {tool.name for tool in (await agent.client.list_tools()).tools}
        assert not any("undo" in tool for tool in tools)
    assert Things.things == {"1": "uno", "3": "three"}


async def test_a_run_is_undone(world: Project) -> None:
    """Each write by its inverse, once; the calls stand in the audit log; a second undo sends nothing."""
    await ran(world)
    Things.done.clear()
    shown = undone(world, "--dry-run")
    assert "shelf.restore_thing" in shown.stdout
    assert not Things.done
    told = undone(world, "--yes", "--json")
    assert told.returncode == 0, told.stderr
    assert json.loads(told.stdout)["left"] == []
    writes = {what: count for what, count in Things.done.items() if not what.startswith("GET")}
    assert [*writes] == ["POST 2 two", "PUT 1 eins", "PUT 1 one", "DELETE 3", "DELETE 2", "DELETE 1"]
    assert {*writes.values()} == {1}
    assert Things.things == {}
    audited = [line["function"] for line in world.audit() if line.get("function")]
    assert audited[-6:] == ["shelf.restore_thing", *["shelf.put_thing"] * 2, *["shelf.delete_thing"] * 3]
    Things.done.clear()
    assert undone(world, "--yes").returncode == 0
    assert not Things.done


@pytest.mark.parametrize("victim", ["POST 2 two", "PUT 1 one", "DELETE 3"])
async def test_an_undo_that_is_killed_goes_on(world: Project, victim: str) -> None:
    """By kill -9, when the API has done what was asked. What may not be repeated is not: a person looks first."""
    await ran(world)
    Things.victim = victim
    killed = undone(world, "--yes")
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    again = undone(world, "--yes", "--json")
    told = json.loads(again.stdout)
    if victim.startswith("POST"):
        assert (again.returncode, told["done"]) == (1, [])
        assert "whether shelf.restore_thing was called is unknown" in told["failed"]["error"]["message"]
        again = undone(world, "--yes", "--done", str(told["failed"]["call"]), "--json")
    assert (again.returncode, json.loads(again.stdout)["left"]) == (0, [])
    assert Things.things == {}
    assert Things.done["POST 2 two"] == 1
