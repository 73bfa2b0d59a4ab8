"""What a soak is made of: a gateway that is restarted, clients that never stop, faults, and what is left of it all."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import random
import re
import signal
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio
from doorward_testing import reserve_port

from .product import PATIENCE, Agent, Process, Project, alive, descendants, process, until
from .test_http_auth import connected

INSIDE = """\
import asyncio, collections, gc, json, os, signal, sys

def told(number, frame):
    try:
        tasks = [task.get_coro().__qualname__ for task in asyncio.all_tasks()]
    except RuntimeError:
        return
    for each in gc.get_objects():  # asyncio keeps cancelled timers until they are due, and with them what was around them
        if isinstance(each, asyncio.TimerHandle) and each.cancelled():
            each._context = None
    gc.collect()
    types = [type(each) for each in gc.get_objects()]
    objects = collections.Counter(f"{each.__module__}.{each.__qualname__}" for each in types)
    with open("inside.new", "w") as file:
        json.dump({"tasks": tasks, "objects": objects}, file)
    os.replace("inside.new", "inside.json")

if "serve" in sys.orig_argv:
    signal.signal(signal.SIGUSR1, told)
"""
"""A `sitecustomize` by which the gateway tells its tasks, and how many objects it has of each type."""


MADE = ("doorward", "mcp.", "uvicorn.", "h11.", "starlette.", "asyncio.", "anyio.", "socket.")
"""The packages of types whose objects are counted."""

KEPT = {"doorward.calls.artefact_store.StoredArtefact", "asyncio.events.TimerHandle"}
"""Types of which many may be left: results are kept up to a bound, and asyncio clears its timers when most are over."""


@dataclass(frozen=True)
class Kind:
    """A kind of program: `answer` is its value, or the error that it ends with by itself."""

    name: str
    code: str
    answer: Any
    timeout: float = 20


ITEM = {"id": 3, "itemName": "item 3", "price": 4.5}
KINDS = [
    Kind("plain", "sum(range(100))", 4950),
    Kind("call", "import shelf\nshelf.get_item(id=3)", ITEM),
    Kind("write", "import shelf\nshelf.create_item(itemName='new')['id']", 1),
    Kind("gather", "import asyncio, shelf\nfound = await asyncio.gather(*[shelf.get_item(id=n) for n in range(5)])\n"
                   "[each['id'] for each in found]", [0, 1, 2, 3, 4]),
    Kind("slow", "import shelf\nfor n in range(4):\n    shelf.slow(ms=50)\nn", 3),
    Kind("prints", "for n in range(2000):\n    print('line', n)\n1", 1),
    Kind("large", "import shelf\nlen(shelf.big(count=500))", 500),
    Kind("fails", "1 / 0", "ZeroDivisionError"),
    Kind("endless", "while True:\n    pass", "TimeoutError", 0.3),
    Kind("full", "import sqlite3, statistics, shelf\nclass Shelf:\n    def __len__(self):\n        return 7\n"
                 "open('note', 'w').write('x' * 100_000)\n[statistics.mean([1, 3]), len(Shelf()), shelf.get_item(id=3)['id']]",
         [2, 7, 3]),
]  # fmt: skip
WEIGHTS = [8, 8, 3, 4, 4, 2, 1, 2, 1, 3]
"""How often each kind comes."""

GONE = Kind("gone", "import shelf\nfor n in range(20):\n    shelf.slow(ms=50)\nn", 19)
"""What runs when a client goes away in the middle."""

GONE_EVERY = 25
"""Every so many programs a client goes away."""


@dataclass
class Book:
    """What became of each execution, as its client saw it."""

    answered: dict[str, dict[str, Any]] = field(default_factory=dict)
    """The answers by the hashes of the programs."""

    lost: dict[str, str] = field(default_factory=dict)
    """Programs whose client got no answer, and why."""

    refused: set[str] = field(default_factory=set)
    """Programs that have not run, since the gateway was busy or about to end."""

    errors: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    """Answers that no fault explains."""


class Soak:
    """A served project whose clients run programs until it is `over`. `engine`: that of containers, or none."""

    def __init__(self, project: Project, tokens: list[str], engine: Any) -> None:
        self.project, self.tokens, self.engine = project, tokens, engine
        self.over = False
        self.book = Book()
        self.seen: set[Process] = set()
        self.memory: list[tuple[int, int, int]] = []
        self.failed = Counter[str]()
        """Why clients had to connect again."""
        self.epoch = self.faults = self.killed = self.docked = 0
        self.chance = random.Random(20)
        self._number = self._busy = 0
        self._waiting: list[tuple[int, str, Kind, str]] = []
        self._paused = False
        self._generation = ExitStack()
        self._port = str(reserve_port())
        inside = project.folder / "inside"
        inside.mkdir()
        (inside / "sitecustomize.py").write_text(INSIDE)
        temporary = project.folder / "tmp"
        temporary.mkdir()
        project.env |= {"PYTHONPATH": str(inside), "TMPDIR": str(temporary), "DOORWARD_HTTP__GRACE": "2"}
        self.gateways: list[Process] = []

    # The gateway

    def start(self, *, durable: str, fail: str, full: str) -> None:
        """`full` is the executor of the programs that Monty cannot run; without an engine, nsjail is."""
        self.closed = fail == "closed"
        self.full = full if self.engine else "nsjail"
        self.project.env |= {"DOORWARD_RUNS__DURABLE": durable, "DOORWARD_HOOKS__AUDIT_JSONL__FAIL": fail,
                             "DOORWARD_EXECUTOR": json.dumps(["monty", self.full])}  # fmt: skip
        self.url, self.serving = self._generation.enter_context(self.project.http("--port", self._port))
        self.gateways.append(process(self.serving.pid))

    def stop(self, number: int) -> int:
        """End the gateway; its exit code."""
        self.seen |= {*descendants(self.serving.pid)}
        self.serving.send_signal(number)
        until(lambda: self.serving.poll() is not None)
        code = self.serving.returncode
        self._generation.close()
        self._generation = ExitStack()
        return int(code)

    def resume_died(self) -> list[str]:
        """Have the operator resume what died with its gateway, but for what a client left. Returns: what could not
        be."""
        listed = json.loads(self.project.run("runs", "list", "--json").stdout)["runs"]
        left = []
        for run in listed:
            if run["state"] not in ("died", "interrupted") or run["description"] == GONE.name:
                continue
            for more in ([], ["--unknown", "repeat"]):
                resumed = self.project.run("runs", "resume", run["run"], *more, "--json")
                if "waiting" not in json.loads(resumed.stdout or "{}"):
                    break
            else:
                left.append(resumed.stdout)
        return left

    # The clients

    async def client(self, number: int) -> None:
        """A client, which connects again whenever that is needed."""
        era = ("auto", "legacy")[number % 2]
        while not self.over:
            if self._paused:
                await anyio.sleep(0.05)
                continue
            self._busy += 1
            try:
                async with connected(self.url, self.tokens[number % len(self.tokens)], era) as agent:
                    await self._work(agent, number)
            except* Exception as failed:  # the gateway is not there, or went while the client connected or left
                self.failed.update(repr(error)[:200] for error in _leaves(failed))
                await anyio.sleep(0.1)
            finally:
                self._busy -= 1

    async def _work(self, agent: Agent, number: int) -> None:
        while not (self.over or self._paused):
            mine = next((each for each in self._waiting if each[0] == number), None)
            if mine is not None:
                self._waiting.remove(mine)
                await self._ask(agent, number, mine[2], mine[1], "resume_run", run=mine[3])
                continue
            self._number += 1
            goes = self._number % GONE_EVERY == 0
            kind = GONE if goes else self.chance.choices(KINDS, WEIGHTS)[0]
            code = f"{kind.code}  # {self._number}"
            with anyio.move_on_after(0.15 if goes else 60) as scope:
                await self._ask(agent, number, kind, code, "execute_code", code=code, timeout=kind.timeout,
                                description=kind.name)  # fmt: skip
            if scope.cancelled_caught:
                self.book.lost[_hash(code)] = "gone" if goes else "no answer in 60 s"
                return

    async def _ask(self, agent: Agent, number: int, kind: Kind, program: str, tool: str, **arguments: Any) -> None:
        epoch, calm = self.epoch, not self.faults
        try:
            outcome = await agent.call(tool, **arguments)
        except BaseException as error:  # also a cancellation, by a connection that broke
            self.book.lost[_hash(program)] = repr(error)
            if isinstance(error, Exception) and calm and epoch == self.epoch and not self.faults:
                self.book.wrong.append(f"{kind.name}: {error!r}")
            raise
        assert isinstance(outcome, dict), outcome
        if waiting := outcome.get("waiting"):
            self._waiting.append((number, program, kind, waiting["run"]))
            return
        if not outcome["ok"] and outcome["error"]["type"] == "Busy":  # it has not run, and is told to try again
            self.book.refused.add(_hash(program))
            await anyio.sleep(0.3)
            return
        self.book.answered[_hash(program)] = outcome
        self.docked += kind.name == "full" and self.full == "docker"
        answer = outcome["value"] if outcome["ok"] else outcome["error"]["type"]
        if answer == kind.answer:
            return
        error = outcome.get("error", {})
        self.book.errors[f"{error.get('kind')}:{error.get('type')}"] += 1
        if calm and epoch == self.epoch and not self.faults:
            self.book.wrong.append(f"{kind.name}: {json.dumps(outcome)[:600]}")

    # Faults

    async def progress(self, answers: int) -> None:
        """Wait for so many more answers."""
        more = len(self.book.answered) + answers
        while len(self.book.answered) < more:
            before = len(self.book.answered)
            with anyio.move_on_after(PATIENCE):
                while len(self.book.answered) == before:
                    await anyio.sleep(0.02)
            assert len(self.book.answered) > before, (self.failed, self.project.said()[-3000:])
        self.sample()

    @contextlib.asynccontextmanager
    async def fault(self) -> AsyncIterator[None]:
        """A block in which answers may be errors; and those of programs that it touches."""
        self.faults += 1
        self.epoch += 1
        try:
            yield
        finally:
            self.epoch += 1
            self.faults -= 1

    async def kill_sandboxes(self, answers: int) -> None:
        """Kill processes of sandboxes, until there are so many answers."""
        more = len(self.book.answered) + answers
        while len(self.book.answered) < more:
            found = descendants(self.serving.pid)
            self.seen |= {*found}
            found += await anyio.to_thread.run_sync(self.contained)
            if found:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(self.chance.choice(found)[0], signal.SIGKILL)
                    self.killed += 1
            await anyio.sleep(0.3)

    def contained(self) -> list[Process]:
        """The first processes of the containers."""
        return [process(pid) for each in self.containers() if (pid := each["State"]["Pid"])]

    def containers(self) -> list[dict[str, Any]]:
        return self.engine.containers() if self.engine else []

    # What is left

    def sample(self) -> None:
        self.seen |= {*descendants(self.serving.pid)}
        self.memory.append((len(self.gateways), len(self.book.answered), memory(self.serving.pid)))

    @contextlib.asynccontextmanager
    async def quiet(self) -> AsyncIterator[None]:
        """A block in which no client is connected."""
        self._paused = True
        with anyio.fail_after(2 * PATIENCE):
            while self._busy:
                await anyio.sleep(0.02)
        yield
        self._paused = False

    def held(self) -> dict[str, int]:
        """What the gateway holds, counted: of its objects those of the types that are made for a client or a run."""
        file = self.project.folder / "inside.json"
        file.unlink(missing_ok=True)
        self.serving.send_signal(signal.SIGUSR1)
        until(file.exists)
        inside = json.loads(file.read_text())
        pid = self.serving.pid
        counted = {"descriptors": len(os.listdir(f"/proc/{pid}/fd")), "threads": len(os.listdir(f"/proc/{pid}/task")),
                   "tasks": len(inside["tasks"]), "processes": len(descendants(pid))}  # fmt: skip
        return counted | {
            name: n for name, n in inside["objects"].items() if name.startswith(MADE) and name not in KEPT
        }

    def leftovers(self) -> dict[str, list[str]]:
        """What the gateways have left after their end."""
        pids = {pid for pid, _ in self.gateways}
        groups = [at for at, *_ in os.walk("/sys/fs/cgroup") if _owner(os.path.basename(at)) in pids]
        return {
            "processes": [str(each) for each in self.seen if alive(each)],
            "control groups": groups,
            "containers": [state for each in self.containers() if (state := each["State"]["Status"]) != "created"],
            "temporary files": os.listdir(self.project.env["TMPDIR"]),
        }

    def swept(self) -> bool:
        """Whether the next program in a container removes those that `kill -9` kept from being started."""
        file = self.project.folder / "one.py"
        file.write_text("1")
        self.project.env["DOORWARD_EXECUTOR"] = '["docker"]'
        return self.project.run("run", str(file)).returncode == 0 and self.engine.empty()


def memory(pid: int) -> int:
    """The resident memory of a process, in KiB."""
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.partition("VmRSS:")[2].split()[0])


def audited(state: Path) -> Iterator[dict[str, Any]]:
    """The lines of the audit log, those of older files first."""
    log = state / "doorward.audit.jsonl"
    older = sorted(state.glob("doorward.audit.jsonl.[0-9]*"), key=lambda file: -int(file.suffix[1:]))
    for file in [*older, log]:
        for line in file.read_text().splitlines():
            with contextlib.suppress(ValueError):  # one that a kill tore: `audit verify` counts them
                yield json.loads(line)


def _leaves(failed: BaseExceptionGroup[Any]) -> Iterator[BaseException]:
    for each in failed.exceptions:
        yield from _leaves(each) if isinstance(each, BaseExceptionGroup) else (each,)


def _owner(group: str) -> int:
    """The process that has made a control group, if it is one of ours."""
    return int(group.split("-")[1]) if re.match(r"doorward-\d+-", group) else 0


def _hash(code: str) -> str:
    return hashlib.sha256(code.encode()).hexdigest()
