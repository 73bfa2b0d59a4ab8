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

from .forked import Forked
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

KEPT = {"asyncio.events.TimerHandle"}
"""Types of which many may be left: asyncio clears its timers when most are over."""


@dataclass(frozen=True)
class Kind:
    """A kind of program: `answer` is its value, or the error that it ends with by itself. In its code `{n}` stands for
    its number; it makes so many `writes`, each with a name of its own."""

    name: str
    code: str
    answer: Any
    timeout: float = 20
    writes: int = 0

    def names(self, number: int) -> set[str]:
        """What a program of this kind and number creates."""
        return {f"{number}-{n}" for n in range(self.writes)}


ITEM = {"id": 3, "itemName": "item 3", "price": 4.5}
WRITES = "for i in range(4):\n    shelf.create_item(itemName=f'{n}-{i}')\n    shelf.slow(ms=30)\ni"
KINDS = [
    Kind("plain", "sum(range(100))", 4950),
    Kind("call", "import shelf\nshelf.get_item(id=3)", ITEM),
    Kind("write", "import shelf\nshelf.create_item(itemName='{n}-0')['id']", 1, writes=1),
    Kind("writes", f"import shelf\n{WRITES}", 3, writes=4),
    Kind("gather", "import asyncio, shelf\nfound = await asyncio.gather(*[shelf.get_item(id=n) for n in range(5)])\n"
                   "[each['id'] for each in found]", [0, 1, 2, 3, 4]),
    Kind("slow", "import shelf\nfor n in range(4):\n    shelf.slow(ms=50)\nn", 3),
    Kind("prints", "for n in range(2000):\n    print('line', n)\n1", 1),
    Kind("large", "import shelf\nlen(shelf.big(count=500))", 500),
    Kind("larger", "import shelf\nshelf.create_item(itemName='{n}-0')\nfound = len(shelf.big(count=3000))\n"
                   "for i in range(1, 5):\n    shelf.create_item(itemName=f'{n}-{i}')\n    shelf.slow(ms=30)\nfound", 3000, writes=5),
    Kind("fails", "1 / 0", "ZeroDivisionError"),
    Kind("endless", "while True:\n    pass", "TimeoutError", 0.3),
    Kind("full", "import sqlite3, statistics, shelf\nclass Shelf:\n    def __len__(self):\n        return 7\n"
                 "open('note', 'w').write('x' * 100_000)\n[statistics.mean([1, 3]), len(Shelf()), shelf.get_item(id=3)['id']]",
         [2, 7, 3]),
    Kind("full writes", f"import sqlite3, shelf\n{WRITES}", 3, writes=4),
]  # fmt: skip
WEIGHTS = [8, 8, 3, 3, 4, 4, 2, 1, 2, 2, 1, 3, 3]
"""How often each kind comes."""

MAX_BYTES = "100KB"
"""The most that is stored of a run: less than the answer of `larger`."""

GONE = Kind("gone", "import shelf\nfor n in range(20):\n    shelf.slow(ms=50)\nn", 19)
"""What runs when a client goes away in the middle."""

ENDED = {"GuardRefused", "RefusedForNow", "SandboxDied", "StateError"}
"""Errors that are none of a program or an API."""

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

    programs: dict[str, tuple[Kind, int]] = field(default_factory=dict)
    """The kinds and numbers of programs that their clients gave up, or were answered, by their hashes."""

    resumed: Counter[str] = field(default_factory=Counter)
    """How runs ended that the operator resumed."""

    resumed_programs: set[str] = field(default_factory=set)
    """What the operator resumed: their end comes after the answer that a client got, and may be another."""

    errors: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    """Answers that no fault explains."""

    unaudited: set[str] = field(default_factory=set)
    """Programs that were answered while the disk was full, by a gateway that was killed then: with `fail = "open"` their
    lines of the audit log were in its memory."""

    half: list[str] = field(default_factory=list)
    """Answers of durable runs that had written, ended by a fault, and that cannot be resumed."""

    hidden: list[str] = field(default_factory=list)
    """Writes that were sent, of which `doorward runs show` does not say so."""


@dataclass(frozen=True)
class Open:
    """A run that a client is to resume; `epoch`: of its beginning."""

    client: int
    program: str
    kind: Kind
    run: str
    epoch: int


class Soaked(Forked):
    """A project whose gateway is started as users start it, since its memory is measured."""

    def command(self, *words: str) -> list[str]:
        return Project.command(self, *words) if words[0] == "serve" else super().command(*words)


class Soak:
    """A served project whose clients run programs until it is `over`. `engine`: that of containers, or none; `log`: that
    of the API."""

    def __init__(self, project: Project, tokens: list[str], engine: Any, log: Path) -> None:
        self.project, self.tokens, self.engine, self._log = project, tokens, engine, log
        self.over = False
        self.book = Book()
        self.seen: set[Process] = set()
        self.memory: list[tuple[int, int, int]] = []
        self.failed = Counter[str]()
        """Why clients had to connect again."""
        self.epoch = self.faults = self.killed = self.docked = 0
        self.chance = random.Random(20)
        self._number = self._busy = 0
        self._waiting: list[Open] = []
        self._resuming: set[str] = set()
        self._paused = False
        self._generation = ExitStack()
        self._port = str(reserve_port())
        inside = project.folder / "inside"
        inside.mkdir()
        (inside / "sitecustomize.py").write_text(INSIDE)
        temporary = project.folder / "tmp"
        temporary.mkdir()
        project.env |= {"PYTHONPATH": str(inside), "TMPDIR": str(temporary), "DOORWARD_HTTP__GRACE": "2",
                        "DOORWARD_RUNS__MAX_BYTES": MAX_BYTES}  # fmt: skip
        self.gateways: list[Process] = []

    # The gateway

    def start(self, *, durable: str, fail: str, full: str) -> None:
        """`full` is the executor of the programs that Monty cannot run; without an engine, nsjail is."""
        self.closed, self.durable = fail == "closed", durable == "always"
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

    def written(self) -> Counter[str]:
        """How often the API has created what, after its own log."""
        return Counter(json.loads(line) for line in self._log.read_text().splitlines())

    def resume_died(self) -> None:
        """Have the operator resume what died with its gateway, or was left, but for what a client left that went away
        or is to resume itself. What is unknown they look up."""
        listed = json.loads(self.project.run("runs", "list", "--json").stdout)["runs"]
        theirs = self._resuming | {each.run for each in self._waiting}
        for each in listed:
            if (
                each["state"] in ("died", "interrupted")
                and each["run"] not in theirs
                and each["description"] != GONE.name
            ):
                self._resume(each["run"], next(kind for kind in KINDS if kind.name == each["description"]))

    def clients_left(self) -> None:
        """No client resumes anything any more."""
        self._waiting.clear()

    def _resume(self, run: str, kind: Kind) -> None:
        more: list[str] = []
        for _ in range(2 + kind.writes):
            shown = json.loads(self.project.run("runs", "show", run, "--json").stdout)
            unknown = self._looked(run, shown)
            if unknown:
                made = unknown["made"].partition('"itemName": "')[2].partition('"')[0] in self.written()
                more = ["--call", str(unknown["call"]), "--unknown", "fail" if made else "repeat"]
            outcome = json.loads(self.project.run("runs", "resume", run, *more, "--json").stdout or "{}")
            if "waiting" not in outcome:
                break
        error = (outcome.get("error") or {}).get("type")
        self.book.resumed[f"{error or 'ok'}"] += 1
        self.book.resumed_programs.add(_hash(shown["code"]))
        if outcome.get("ok") and outcome["value"] != kind.answer:
            self.book.wrong.append(f"{kind.name}, resumed: {json.dumps(outcome)[:600]}")
        if outcome.get("ok") and (lost := kind.names(_number(shown["code"])) - self.written().keys()):
            self.book.wrong.append(f"{kind.name}, resumed, has lost {lost}")
        if "waiting" in outcome or (not outcome.get("ok") and error != "OutcomeUnknown" and "cannot" not in shown):
            self.book.wrong.append(f"{kind.name} cannot be resumed: {json.dumps(outcome)[:600]}; {shown}")

    def _looked(self, run: str, shown: dict[str, Any]) -> dict[str, Any]:
        """The call of a run whose outcome is unknown, if there is one. What it has sent stands in what is shown."""
        calls: list[dict[str, Any]] = shown["calls"]
        sent = "".join(call["made"] for call in calls if call["ended"] != "not made")
        number = _number(shown["code"])
        mine = {name for name in self.written() if name.startswith(f"{number}-")}
        self.book.hidden += [f"{name} of {run}: {calls}" for name in mine if f'"itemName": "{name}"' not in sent]
        return next((call for call in calls if call["ended"].startswith("unknown")), {})

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
                self.failed.update(repr(error)[:200] for error in leaves(failed))
                await anyio.sleep(0.1)
            finally:
                self._busy -= 1

    async def _work(self, agent: Agent, number: int) -> None:
        while not (self.over or self._paused):
            mine = next((each for each in self._waiting if each.client == number), None)
            if mine is not None and (not self.faults or self.chance.random() < 0.2):
                self._waiting.remove(mine)
                self._resuming.add(mine.run)
                try:
                    await self._ask(agent, number, mine.kind, mine.program, mine.epoch, "resume_run", run=mine.run)
                finally:
                    self._resuming.remove(mine.run)
                continue
            self._number += 1
            goes = self._number % GONE_EVERY == 0
            kind = GONE if goes else self.chance.choices(KINDS, WEIGHTS)[0]
            code = f"{kind.code}  # {{n}}".replace("{n}", str(self._number))
            self.book.programs[_hash(code)] = kind, self._number
            with anyio.move_on_after(0.15 if goes else 60) as scope:
                await self._ask(agent, number, kind, code, self.epoch, "execute_code", code=code, timeout=kind.timeout,
                                description=kind.name)  # fmt: skip
            if scope.cancelled_caught:
                self.book.lost[_hash(code)] = "gone" if goes else "no answer in 60 s"
                return

    async def _ask(
        self, agent: Agent, number: int, kind: Kind, program: str, epoch: int, tool: str, **arguments: Any
    ) -> None:
        calm = not self.faults
        try:
            outcome = await agent.call(tool, **arguments)
        except BaseException as broken:  # also a cancellation, by a connection that broke
            self.book.lost[_hash(program)] = repr(broken)
            if isinstance(broken, Exception) and calm and epoch == self.epoch and not self.faults:
                self.book.wrong.append(f"{kind.name}: {broken!r}")
            raise
        assert isinstance(outcome, dict), outcome
        if run := resumable(outcome):
            self._waiting.append(Open(number, program, kind, run, epoch))
            await anyio.sleep(0.1)
            return
        later = str((outcome.get("error") or {}).get("hint")).startswith(("Ask again", "Try again"))
        if tool == "resume_run" and later:  # it still runs, or its store is locked
            self._waiting.append(Open(number, program, kind, arguments["run"], epoch))
            await anyio.sleep(0.3)
            return
        if not outcome["ok"] and outcome["error"]["type"] == "Busy":  # it has not run, and is told to try again
            self.book.refused.add(_hash(program))
            await anyio.sleep(0.3)
            return
        self.book.answered[_hash(program)] = outcome
        self.docked += kind.name.startswith("full") and self.full == "docker"
        answer = outcome["value"] if outcome["ok"] else outcome["error"]["type"]
        if answer == kind.answer:
            return
        error = outcome.get("error", {})
        ended = self.durable and kind.name != "larger" and error.get("type") in ENDED  # that cannot always be resumed
        if ended and kind.names(_number(program)) & self.written().keys():
            self.book.half.append(f"{kind.name}: {json.dumps(error)}")
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
        """What the gateway holds, counted: its descriptors also by what they lead to, of its objects those of the types
        that are made for a client or a run."""
        file = self.project.folder / "inside.json"
        file.unlink(missing_ok=True)
        self.serving.send_signal(signal.SIGUSR1)
        until(file.exists)
        inside = json.loads(file.read_text())
        pid = self.serving.pid
        opened = [each.partition(":[")[0] for each in _descriptors(pid)]
        counted = {"descriptors": len(opened), **Counter(opened), "threads": len(os.listdir(f"/proc/{pid}/task")),
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

    def runs_in(self, executor: str) -> bool:
        """Whether one more program runs there; before it does, that removes what gateways left that were killed."""
        file = self.project.folder / "one.py"
        file.write_text("1")
        self.project.env["DOORWARD_EXECUTOR"] = json.dumps([executor])
        return self.project.run("run", str(file)).returncode == 0


def resumable(outcome: dict[str, Any]) -> str:
    """The run that an agent is told to resume, if any."""
    if waiting := outcome.get("waiting"):
        return str(waiting["run"])
    said = json.dumps([outcome.get("notes"), outcome.get("error")])
    found = re.search(r'resume_run\(\\"([0-9a-f]{16})\\"\)', said)
    return found[1] if found else ""


def _descriptors(pid: int) -> Iterator[str]:
    """What each descriptor of a process leads to: a kind, or the name of a file."""
    for each in os.scandir(f"/proc/{pid}/fd"):
        with contextlib.suppress(FileNotFoundError):  # closed meanwhile
            yield os.path.basename(os.readlink(each.path))


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


def leaves(failed: BaseExceptionGroup[Any]) -> Iterator[BaseException]:
    for each in failed.exceptions:
        yield from leaves(each) if isinstance(each, BaseExceptionGroup) else (each,)


def _owner(group: str) -> int:
    """The process that has made a control group, if it is one of ours."""
    return int(group.split("-")[1]) if re.match(r"doorward-\d+-", group) else 0


def _number(code: str) -> int:
    """The number of a program."""
    return int(code.rpartition("# ")[2])


def _hash(code: str) -> str:
    return hashlib.sha256(code.encode()).hexdigest()
