"""Faults of databases, locks and files while eight clients of both eras work: nobody waits for what they do not need,
every run that was answered is in the audit log, and what can be made anew is made anew."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest

from .forked import project
from .product import PATIENCE, Agent, Api, Project, connected

__all__ = ["project"]

pytestmark = pytest.mark.anyio

CLIENTS = 8
ROUNDS = 3
"""Runs that each client must get answers to while a fault lasts."""

PLAIN = "1 + 1  # {}"
CALLS = "import shelf\nshelf.get_item(id=1)['id']  # {}"

HOLD = """
import sqlite3, sys
db = sqlite3.connect(sys.argv[1], isolation_level=None, timeout=30)
db.execute("BEGIN EXCLUSIVE")
print("held", flush=True)
sys.stdin.read()
"""


class Worker:
    """A client that runs one program after the other: one without functions, then one with."""

    def __init__(self, agent: Agent, name: str) -> None:
        self.agent, self.name = agent, name
        self.plain, self.called = 0, 0
        self.answered: list[str] = []
        self.failed: list[str] = []

    async def work(self) -> None:
        number = 0
        while True:
            number += 1
            for template in (PLAIN, CALLS):
                code = template.format(f"{self.name} {number}")
                outcome = await self.agent.run(code)
                assert isinstance(outcome, dict), outcome  # no error of the protocol
                self.answered.append(hashlib.sha256(code.encode()).hexdigest())
                if template is PLAIN:
                    assert outcome.get("value") == 2, outcome
                    self.plain += 1
                elif outcome["ok"]:
                    assert outcome["value"] == 1
                    self.called += 1
                else:
                    self.failed.append(outcome["error"]["message"])


@contextlib.contextmanager
def held(file: Path) -> Iterator[None]:
    """Another process holds a database."""
    holder = subprocess.Popen([sys.executable, "-c", HOLD, str(file)], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        assert holder.stdout
        assert holder.stdout.readline() == b"held\n"
        yield
    finally:
        holder.communicate(b"")


def broken(file: Path) -> None:
    with contextlib.closing(sqlite3.connect(file, timeout=30)) as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    with file.open("r+b") as opened:
        opened.seek(4096)
        opened.write(os.urandom(file.stat().st_size - 4096))


def sound(file: Path) -> bool:
    try:
        with contextlib.closing(sqlite3.connect(f"file:{file}?mode=rw", uri=True)) as db:
            return bool(db.execute("PRAGMA integrity_check").fetchone() == ("ok",))
    except sqlite3.DatabaseError:
        return False


async def all_go_on(workers: list[Worker], *, calls: bool = True) -> None:
    """Wait until every client has got answers to some more runs."""
    plain, called = [w.plain + ROUNDS for w in workers], [w.called + ROUNDS for w in workers]
    with anyio.fail_after(3 * PATIENCE):
        while any(w.plain < p or (calls and w.called < c) for w, p, c in zip(workers, plain, called, strict=True)):
            await anyio.sleep(0.02)


async def whole(file: Path) -> None:
    """Wait until a database is there again."""
    with anyio.fail_after(3 * PATIENCE):
        while not file.exists() or file.stat().st_size < 2 * 4096:
            await anyio.sleep(0.02)


async def test_faults_hold_nobody(project: Project) -> None:
    """Databases that are locked, broken, emptied or removed, one after the other, while all work."""
    catalog, cache = project.state / "catalog.db", project.state / "store.db"
    with project.http() as (url, serving):
        async with contextlib.AsyncExitStack() as stack:
            eras = ["auto", "legacy"] * (CLIENTS // 2)
            agents = [await stack.enter_async_context(connected(url, era)) for era in eras]
            workers = [Worker(agent, f"{era}{n}") for n, (agent, era) in enumerate(zip(agents, eras, strict=True))]
            async with anyio.create_task_group() as group:
                for worker in workers:
                    group.start_soon(worker.work)
                await all_go_on(workers)
                for file in (catalog, cache):
                    with held(file):  # for as long as it takes them: who waits for it never goes on
                        await all_go_on(workers)
                assert not [message for worker in workers for message in worker.failed], "a lock fails no call"

                catalog.unlink()
                await all_go_on(workers)
                cleaned = await anyio.to_thread.run_sync(lambda: project.run("clean"))
                assert cleaned.returncode == 0
                await all_go_on(workers)
                await whole(catalog)
                assert not [message for worker in workers for message in worker.failed], (
                    "the old one serves until the new one is there"
                )

                for fault in (
                    lambda: catalog.write_bytes(b""),
                    lambda: broken(catalog),
                    lambda: broken(cache),
                    lambda: cache.unlink(missing_ok=True),  # who found it broken may just have put it aside
                ):
                    fault()
                    await all_go_on(workers, calls=False)
                    await all_go_on(workers)
                    await whole(catalog)  # what a gateway has read is called without it
                for worker in workers:
                    assert all("catalog" in message for message in worker.failed), worker.failed
                group.cancel_scope.cancel()
        async with connected(url) as agent:
            assert (await agent.run("1 + 1"))["cache_id"], "programs are kept again"
            with anyio.fail_after(
                3 * PATIENCE
            ):  # what is broken is found out by who reads it, and told to them; then it is mended
                while isinstance(listed := await agent.call("list_servers"), str):
                    assert "the catalog is broken" in listed
                    await anyio.sleep(0.1)
            assert listed["servers"][0]["functions"] > 0
        with anyio.fail_after(3 * PATIENCE):
            while not all(map(sound, (catalog, cache))):
                await anyio.sleep(0.2)
        assert serving.poll() is None
    audited = {line["code_sha256"] for line in project.audit() if line["event"] == "run_finished"}
    assert not {code for worker in workers for code in worker.answered} - audited
    assert not [line for line in project.said().splitlines() if "Traceback" in line and "sqlite3" in line]


async def test_a_full_disk_holds_nobody(project: Project, small_disk: Any) -> None:
    """While the disk of the state folder is full, runs are answered; afterwards every one of them is in the audit
    log."""
    project.change(first=f'state = "{small_disk.folder}/state"\n', old='state = "state"\n')
    project.state = small_disk.folder / "state"
    project.stderr = small_disk.folder / "stderr"  # the log cannot be written either
    with project.http() as (url, _):
        async with contextlib.AsyncExitStack() as stack:
            agents = [await stack.enter_async_context(connected(url, era)) for era in ("auto", "legacy")]
            workers = [Worker(agent, str(n)) for n, agent in enumerate(agents)]
            async with anyio.create_task_group() as group:
                for worker in workers:
                    group.start_soon(worker.work)
                await all_go_on(workers)
                with small_disk.full():
                    await all_go_on(workers)
                await all_go_on(workers)
                group.cancel_scope.cancel()
    lines = project.audit()  # each of them is whole
    assert not any("lost" in line for line in lines)
    assert not {code for worker in workers for code in worker.answered} - {line.get("code_sha256") for line in lines}


DURABLE = "import shelf\nresult = shelf.create_item(itemName='stored')['itemName']\n#" + "x" * 50_000
"""Its journal has no room in what is left of a page."""


async def test_nothing_is_sent_that_cannot_be_stored(project: Project, api: Api, small_disk: Any) -> None:
    """With `durable = "always"` and a full disk, the agent is told that nothing was sent, and what to do; once there is
    room, the same program runs."""
    project.change(first=f'state = "{small_disk.folder}/state"\n', old='state = "state"\n')
    project.env |= {"DOORWARD_RUNS__DURABLE": "always"}
    async with project.stdio() as agent:
        assert (await agent.run(DURABLE))["value"] == "stored"
        with small_disk.full():
            for _ in range(20):  # what was not yet done at the start may free some room
                before = len(api.seen())
                if not (refused := await agent.run(DURABLE))["ok"]:
                    break
                small_disk.fill()
        error = refused["error"]
        assert (error["type"], error["kind"]) == ("StateError", "config")
        assert "shelf.create_item was not called, because nothing can be stored before: " in error["message"]
        assert error["hint"].startswith("No call of this run was made. Tell the operator: can the store be written")
        assert len(api.seen()) == before
        assert (await agent.run(DURABLE))["value"] == "stored"


async def test_nothing_happens_that_is_not_recorded(project: Project, small_disk: Any) -> None:
    """With `fail = "closed"`, while the disk of the audit log is full, a program is refused and told why; afterwards it
    runs, and the log is whole."""
    log = small_disk.folder / "audit.jsonl"
    project.change(last=f'\n[hooks.audit_jsonl]\npath = "{log}"\nfail = "closed"\n')
    async with project.stdio() as agent:
        assert (await agent.call("execute_code", code="result = 1"))["value"] == 1
        with small_disk.full():
            for _ in range(20):  # the last page of the file still has room
                if not (refused := await agent.call("execute_code", code="result = 2"))["ok"]:
                    break
        assert refused["error"]["type"] == "GuardRefused"
        assert "the audit log cannot be written" in refused["error"]["message"]
        assert "Tell the operator" in refused["error"]["hint"]
        assert (await agent.call("execute_code", code="result = 3"))["value"] == 3
    verified = project.run("audit", "verify", "--json")
    assert verified.returncode == 0, verified.stdout
    shown = json.loads(project.run("audit", "show", "--json").stdout)["lines"]
    ended = [(line["ok"], line["error"]) for line in shown if line["event"] == "run_finished"]
    assert ended[-2:] == [(False, "guard:GuardRefused"), (True, "")]


def test_what_cannot_be_stored_is_blamed_on_the_disk(project: Project, small_disk: Any) -> None:
    """`compile --force` on a full disk names the disk, and what to do; not the source."""
    project.change(first=f'state = "{small_disk.folder}/state"\n', old='state = "state"\n')
    assert project.run("compile").returncode == 0
    with small_disk.full():
        failed = project.run("compile", "--force")
    assert failed.returncode == 1
    assert "the disk is full" in failed.stdout
    assert "source" not in failed.stdout
    assert project.run("compile", "--force").returncode == 0


@pytest.mark.parametrize("command", ["compile", "list"])
def test_a_broken_catalog_is_no_defect(project: Project, command: str) -> None:
    """A catalog that is broken in the middle is made anew by `compile`; another command says what to do, if it does not
    do it."""
    assert project.run("compile").returncode == 0
    broken(project.state / "catalog.db")
    done = project.run(command)
    assert "defect" not in done.stderr
    assert done.returncode == 0 or "doorward compile" in done.stderr, done.stderr
    assert project.run("compile").returncode == 0
    assert project.run("list").returncode == 0
