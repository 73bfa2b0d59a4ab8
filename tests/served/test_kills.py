"""Killing the client, `serve`, the sandbox's worker or the API at any moment leaves no process and no broken file
behind."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from .api import document
from .forked import Forked
from .forked import project as forked
from .product import PATIENCE, Api, Process, Project, Wire, alive, connected, descendants, needs_proc, process, until

__all__ = ["forked"]

pytestmark = [pytest.mark.slow, needs_proc, pytest.mark.anyio]

BUSY = "import shelf\nshelf.mark(name='NAME')\nwhile True:\n    pass"
WAITING = "import shelf\nshelf.mark(name='NAME')\nshelf.slow(ms=30000)"
RUNNING = pytest.mark.parametrize("code", [BUSY, WAITING], ids=["computing", "waiting"])

CLIENT = """\
import asyncio, sys
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

async def main():
    server = StdioServerParameters(command=sys.argv[2], args=sys.argv[3:])
    async with Client(stdio_client(server)) as client:
        await client.call_tool("execute_code", {"code": sys.argv[1], "timeout": 300})

asyncio.run(main())
"""


def gone(processes: list[Process], patience: float = PATIENCE) -> bool:
    """Whether all of them end in time."""
    return until(lambda: not any(alive(one) for one in processes), patience)


def workers(pid: int) -> list[Process]:
    """The processes of the sandbox below `serve`."""
    found = until(lambda: descendants(pid))
    assert found
    return found


def intact(project: Project) -> bool:
    """Whether every database is whole, and the audit log has no torn line but the last."""
    for file in project.state.glob("*.db"):
        with sqlite3.connect(file) as db:
            assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        db.close()
    audit = project.state / "doorward.audit.jsonl"
    return not audit.exists() or all(json.loads(line) for line in audit.read_text().splitlines()[:-1])


@RUNNING
def test_a_killed_client_takes_everything_along(api: Api, project: Project, code: str) -> None:
    """kill -9 of the client: `serve` and its workers end within seconds, whatever they are doing. CONTRACT: EXE-19,
    SBX-24."""
    name = f"{project.folder.name}"
    command = [sys.executable, "-c", CLIENT, code.replace("NAME", name), *project.command("serve")]
    with project.stderr.open("ab") as errors:
        client = subprocess.Popen(command, env=project.environment(), cwd=project.folder, stderr=errors)
    try:
        assert api.marked(name), project.said()
        left = descendants(client.pid)
        assert len(left) >= 2
    finally:
        client.kill()
        client.wait()
    assert gone(left)
    assert intact(project)


@pytest.mark.parametrize(
    ("told", "code"), [(signal.SIGTERM, BUSY), (signal.SIGINT, WAITING)], ids=["SIGTERM", "SIGINT"]
)
def test_serve_ends_well_when_told(api: Api, project: Project, told: int, code: str) -> None:
    """SIGTERM and SIGINT in the middle of a program: exit code 0, no traceback, nothing remains. CONTRACT: EXE-19."""
    project.env["DOORWARD_HTTP__GRACE"] = "0.3"
    with Wire(project) as wire:
        wire.connect().start(code.replace("NAME", project.folder.name))
        assert api.marked(project.folder.name)
        left = workers(wire.process.pid)
        assert wire.kill(told) == 0
    assert gone(left)
    assert "Traceback" not in project.said()
    assert intact(project)


@pytest.mark.parametrize("told", [signal.SIGTERM, signal.SIGINT])
async def test_serve_ends_well_when_told_over_http(api: Api, forked: Project, told: int) -> None:
    """The same with `--transport http`, a client connected. CONTRACT: CLI-02."""
    with forked.http() as (url, serving):
        async with connected(url) as agent:
            await agent.value("1")
            left = workers(Forked.pid(serving.pid))
            serving.send_signal(told)
            assert until(lambda: serving.poll() is not None)
    assert serving.returncode == 0
    assert gone(left)
    assert "Traceback" not in forked.said()


def test_a_client_that_closes_its_end_ends_serve(forked: Project) -> None:
    """End of input is the end: exit code 0, nothing remains."""
    with Wire(forked) as wire:
        assert wire.connect().run("1")["ok"]
        left = workers(Forked.pid(wire.process.pid))
        assert wire.process.stdin is not None
        wire.process.stdin.close()
        assert wire.process.wait(PATIENCE) == 0
    assert gone(left)


def test_blank_lines_of_a_client_are_passed_over(forked: Project) -> None:
    """None is answered with an error, and not even a log of everything speaks of them; the requests between them are
    answered. CONTRACT: SEC-14."""
    forked.env["DOORWARD_LOG_LEVEL"] = "debug"
    with Wire(forked) as wire:
        wire.connect()
        assert wire.process.stdin is not None
        for blank in (b"\n", b"\r\n", b"  \t\n"):
            wire.process.stdin.write(blank)
        number = wire.send("ping")
        assert json.loads(wire._lines.get(timeout=PATIENCE)) == {"jsonrpc": "2.0", "id": number, "result": {}}
    assert "Initializing server" in forked.said()
    assert "Invalid JSON" not in forked.said()


def test_serve_without_an_input_ends(project: Project) -> None:
    """The null device as input, as a service manager gives it, is the end of input: exit code 0, and no traceback."""
    with project.stderr.open("ab") as errors:
        command, environment = project.command("serve"), project.environment()
        ended = subprocess.run(
            command,
            env=environment,
            cwd=project.folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=errors,
            timeout=PATIENCE,
        )
    assert (ended.returncode, ended.stdout) == (0, b"")
    assert "Traceback" not in project.said()


@RUNNING
def test_workers_of_a_killed_serve_end_by_themselves(api: Api, project: Project, forked: Project, code: str) -> None:
    """kill -9 of `serve` in the middle of a program: no worker outlives it for long, and a new one starts at once.
    CONTRACT: SBX-24."""
    with Wire(project) as wire:
        wire.connect().start(code.replace("NAME", project.folder.name), timeout=300)  # the end of which is too late
        assert api.marked(project.folder.name)
        left = workers(wire.process.pid)
        wire.kill()
        assert gone(left)
    assert intact(project)
    with Wire(forked) as wire:
        assert wire.connect().run("1 + 1")["value"] == 2


@RUNNING
def test_a_killed_worker_is_told_and_replaced(api: Api, forked: Project, code: str) -> None:
    """kill -9 of the worker: the run fails with an error that says so, the session is gone, the next run works."""
    with Wire(forked) as wire:
        running = wire.connect().start(code.replace("NAME", forked.folder.name), timeout=60)
        assert api.marked(forked.folder.name)
        for worker, _ in workers(Forked.pid(wire.process.pid)):
            os.kill(worker, signal.SIGKILL)
        error = wire.answer(running)["structuredContent"]["error"]
        assert (error["kind"], error["type"]) == ("executor", "SandboxDied")
        assert "died" in error["message"]
        assert wire.run("1 + 1")["value"] == 2
        session = wire.run("kept = 5", session_id="new")["session_id"]
        for worker, _ in workers(Forked.pid(wire.process.pid)):
            os.kill(worker, signal.SIGKILL)
        lost = wire.run("kept", session_id=session)
        assert not lost["ok"]
        assert "session" in lost["error"]["message"]
        assert wire.run("2 + 2")["value"] == 4


def test_a_killed_api_is_told_and_used_again(tmp_path: Path) -> None:
    """The API is killed in the middle of a call: a clear error of kind server or program; once it is back, the same
    program works."""
    with Api() as api:
        project = Forked(tmp_path, f'[servers.shelf]\nsource = "openapi"\nspec = "{api.url}/openapi.json"\n')
        with Wire(project) as wire:
            running = wire.connect().start(WAITING.replace("NAME", "here"))
            assert api.marked("here")
            api.kill()
            broken = wire.answer(running)["structuredContent"]["error"]
            assert broken["line"] == 3
            assert (
                api.url in broken["message"]
            )  # "the exchange with … failed", or "… cannot be reached" if it was just about to call
            down = wire.run("import shelf\nshelf.get_item(id=1)")["error"]
            assert f"{api.url} cannot be reached" in down["message"]
            assert "Traceback" not in json.dumps([broken, down])
            api.start()
            assert wire.run("import shelf\nshelf.get_item(id=1)")["value"]["id"] == 1


def test_api_trouble_is_told_clearly(forked: Project) -> None:
    """Errors, answers broken off in the middle and redirects to elsewhere are errors that a program can catch."""
    forked.change(last="retries = 0\n")
    with Wire(forked) as wire:
        wire.connect()
        for call, said in [
            ("status(code=500)", "answered 500"),
            ("status(code=429)", "answered 429"),
            ("drop()", "failed"),
            ("away()", "a loopback address"),
            ("away(code=308)", "a loopback address"),
        ]:
            error = wire.run(f"import shelf\nshelf.{call}")["error"]
            assert said in error["message"], call
            assert error["line"] == 2
            caught = wire.run(
                f"import shelf\ntry:\n    shelf.{call}\nexcept Exception as error:\n    result = str(error)"
            )
            assert said in caught["value"]


def large(folder: Path, operations: int) -> str:
    """A document that takes a while to compile."""
    made = document("http://127.0.0.1:9")
    template = json.dumps(made["paths"]["/items"]["get"])
    made["paths"] = {
        f"/items{n}": {"get": json.loads(template) | {"operationId": f"listItems{n}"}} for n in range(operations)
    }
    (folder / "large.json").write_text(json.dumps(made))
    return "large.json"


@pytest.mark.parametrize("words", ["serve", "compile"])
def test_a_compile_that_is_killed_breaks_nothing(tmp_path: Path, words: str) -> None:
    """kill -9 during a compile, at several moments: the catalog is whole, and the next start compiles. CONTRACT:
    SRC-13."""
    project = Forked(tmp_path, f'[servers.large]\nsource = "openapi"\nspec = "{large(tmp_path, 1500)}"\n')
    catalog = project.state / "catalog.db"
    log = catalog.with_name("catalog.db-wal")
    moments: list[Any] = [catalog.exists, log.exists, lambda: catalog.exists() and catalog.stat().st_size > 200_000]
    for moment in moments:
        with Wire(project, project.command(words)) as wire:
            until(lambda wire=wire, moment=moment: moment() or wire.process.poll() is not None, 5)
            with suppress(ProcessLookupError):  # it was quicker
                compiling = Forked.pid(wire.process.pid)
                left = [process(compiling), *descendants(compiling)]
                os.kill(compiling, signal.SIGKILL)
            assert wire.process.wait(PATIENCE) in (0, -signal.SIGKILL)
            assert gone(left)
        assert intact(project)
    with Wire(project) as wire:
        assert wire.connect().call("list_servers")["servers"][0]["functions"] == 1500


def test_a_broken_catalog_or_cache_is_made_anew(forked: Project) -> None:
    """Files full of rubbish stop nothing: the catalog is compiled again, the cache begins anew."""
    forked.state.mkdir()
    for name in ("catalog.db", "store.db"):
        (forked.state / name).write_bytes(b"rubbish" * 1000)
    with Wire(forked) as wire:
        kept = wire.connect().run("import shelf\nresult = shelf.get_item(id=1)['id']")
        assert kept["value"] == 1
        assert wire.call("run_cached_code", cache_id=kept["cache_id"])["value"] == 1
    assert intact(forked)
