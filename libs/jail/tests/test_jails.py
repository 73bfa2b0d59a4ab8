"""Jails, their sandboxes and pools, over real namespaces."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import os
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, ClassVar

import pytest
from doorward import (
    Busy,
    ExecutorError,
    File,
    LimitExceeded,
    Limits,
    PluginContext,
    Program,
    ProgramResult,
    SandboxDied,
)
from doorward_jail.connections.local import LocalConnection
from doorward_jail.probes.trials_of_limits import _named
from doorward_testing import Door, FullPythonConformance, SharedExecutor

from . import unshared

pytestmark = [pytest.mark.slow, unshared.needs_namespaces]


@contextlib.asynccontextmanager
async def executor(**settings: Any) -> AsyncIterator[Any]:
    made = unshared_executor(**settings)
    try:
        yield made
    finally:
        await made.close()


def unshared_executor(**settings: Any) -> Any:
    return unshared.UnsharedExecutor(PluginContext("unshared", unshared.UnsharedSettings(**settings), Path("/nowhere")))


async def run(
    made: Any, code: str, door: Door | None = None, *, limits: Limits | None = None, **program: Any
) -> ProgramResult:
    asked = Program(code, deadline=time.monotonic() + 30, limits=limits or Limits(), **program)
    sandbox = await made.open(asked)
    try:
        return await sandbox.run(asked, door or Door())
    finally:
        await sandbox.close()


async def value(made: Any, code: str, door: Door | None = None, **program: Any) -> Any:
    ended = await run(made, code, door, **program)
    assert ended.error is None, ended.error
    return ended.value


PASSED: dict[str, Any] = {}
"""File descriptors passed to the sandbox, namespaces of its own."""

RELAYED = {"passes_fds": False, "room": 1}
"""Everything over the jail's own channel."""

ONE_EACH = RELAYED | {"fresh": False}
"""A jail for each run, where it cannot make namespaces."""

each_mode = pytest.mark.parametrize("mode", [PASSED, RELAYED, ONE_EACH], ids=["passed", "relayed", "one-each"])


class TestPassed(SharedExecutor, FullPythonConformance):
    settings: ClassVar[dict[str, Any]] = PASSED

    def started(self, host: Any, request: pytest.FixtureRequest) -> Any:
        return unshared_executor(**self.settings)


class TestRelayed(TestPassed):
    settings = RELAYED


@pytest.mark.anyio
@each_mode
async def test_nothing_is_left_for_the_next_run(mode: Any) -> None:
    """Files, modules, variables, the environment: all are as at the start."""
    leave = (
        "import os, sys, builtins\nfor f in ('x', '/tmp/x', 'out/x'): open(f, 'w').write('1')\nos.environ['x'] = '1'\n"
    )
    leave += "sys.modules['json'] = None\nbuiltins.x = 1\nos.umask(0)"
    look = "import os, json, builtins\n[os.listdir('.'), os.listdir('/tmp'), 'x' in os.environ, hasattr(builtins, 'x'), os.umask(0)]"
    async with executor(pool=1, **mode) as made:
        for _ in range(3):
            await value(made, leave)
            assert sorted((found := await value(made, look))[0]) == ["in", "out"]
            assert found[1:] == [[], False, False, 0o022]


@pytest.mark.anyio
@each_mode
async def test_what_a_program_cannot_do(mode: Any) -> None:
    """It has no network, no capability, no other user, and sees no process but its own."""
    code = """
import os, socket
found = []
for family in (socket.AF_INET, socket.AF_INET6, socket.AF_NETLINK, 40):
    try: socket.socket(family, socket.SOCK_DGRAM); found.append(family)
    except OSError: pass
for attempt in (lambda: os.setuid(0), lambda: os.chroot('/tmp')):
    try: attempt(); found.append(attempt)
    except OSError: pass
[found, [p for p in os.listdir('/proc') if p.isdigit()][:5]]
"""
    async with executor(**mode) as made:
        found, processes = await value(made, code)
        assert found == []
        assert mode.get("fresh") is False or processes in (["2"], ["1", "2"])


@pytest.mark.anyio
@each_mode
async def test_a_run_that_is_cancelled_is_gone(mode: Any, until: Any) -> None:
    """With children that have left its session and mask every signal."""
    name = "dw-is-gone"
    code = f"""
import ctypes, os, signal, time, calc
ctypes.CDLL(None).prctl(15, {name.encode()}, 0, 0, 0)
for number in range(1, 65):
    try: signal.signal(number, signal.SIG_IGN)
    except (OSError, ValueError): pass
if os.fork() == 0:
    os.setsid()
    while True: pass
calc.add(1)
while True:
    try: time.sleep(1)
    except BaseException: pass
"""
    async with executor(pool=0, **mode) as made:
        door = Door()
        running = asyncio.ensure_future(run(made, code, door))
        await until(lambda: door.made)
        assert len(_named(name)) == 2
        running.cancel()
        await asyncio.wait([running])
        assert running.cancelled()
        await until(lambda: not _named(name))
        assert await value(made, "1 + 1") == 2


@pytest.mark.anyio
@each_mode
@pytest.mark.parametrize(
    ("code", "line"),
    [
        ("for _ in range(3):\n    pass\ndef turn():\n    while True:\n        x = 1\nturn()", (4, 5)),
        ("import time\nif 1:\n    time.sleep(30)\ntime.sleep(0)", (3,)),
        ("import asyncio\nawait asyncio.sleep(0)\nawait asyncio.sleep(30)", (3,)),
    ],
    ids=["loops", "sleeps", "awaits"],
)
async def test_a_program_that_is_late_tells_its_line(mode: Any, until: Any, code: str, line: tuple[int, ...]) -> None:
    """Before its time is over, so that the error can name it: also where no text could show it."""
    async with executor(pool=0, **mode) as made:
        door = Door()
        sandbox = await made.open(Program(code))
        asked = Program(code, deadline=time.monotonic() + 3)
        running = asyncio.ensure_future(sandbox.run(asked, door))
        await until(lambda: door.line)
        assert door.line in line
        running.cancel()
        await asyncio.wait([running])
        await sandbox.close()


ABUSES = [
    "os.write(fd, b'garbage' * 100)",
    "os.write(fd, (2**31).to_bytes(4, 'big'))",
    "os.write(fd, (2).to_bytes(4, 'big') + b'[]'); time.sleep(9)",
    "os.write(fd, (9).to_bytes(4, 'big') + b'{\"done\":1}'[:9]); time.sleep(9)",
    "os.close(fd); os.kill(os.getpid(), 9); os._exit(3)",
    'os.write(fd, (20).to_bytes(4, \'big\') + b\'{"call":1,"id":"x"}  \'); time.sleep(9)',
    "os.write(fd, frame('{\"done\": []}')); time.sleep(9)",
    "os.write(fd, frame('{\"done\": ' + '[' * 100000)); time.sleep(9)",
]


@pytest.mark.anyio
@pytest.mark.parametrize("passes_fds", [True, False])
async def test_a_channel_that_is_abused_ends_its_own_run_only(passes_fds: bool) -> None:
    """What runs beside it in the same jail, meanwhile and afterwards, is served."""
    begin = "import os, time\nfd = 3\nframe = lambda text: len(text).to_bytes(4, 'big') + text.encode()\n"
    async with executor(passes_fds=passes_fds) as made:
        beside = asyncio.ensure_future(value(made, "import calc, time\ntime.sleep(1.5)\ncalc.add(1, 2)"))
        for abuse, ended in zip(
            ABUSES, await asyncio.gather(*(run(made, begin + a) for a in ABUSES), return_exceptions=True), strict=True
        ):
            assert isinstance(ended, SandboxDied), (abuse, ended)
        assert await beside == 3
        assert await value(made, "1 + 1") == 2


@pytest.mark.anyio
async def test_a_forged_end_is_only_the_programs_own() -> None:
    """The first end counts; what comes after it is not listened to."""
    code = "import os\ntext = b'{\"done\": {\"value\": 1}}'\nos.write(3, len(text).to_bytes(4, 'big') + text)\n2"
    async with executor() as made:
        assert await value(made, code) == 1
        assert await value(made, "3") == 3


@pytest.mark.anyio
async def test_files_in_and_out() -> None:
    """A parameter that names an artefact is a file in ./in; what is in ./out is kept; so is what `doorward.path`
    fetches."""
    door = Door()
    door.files["doorward://results/abc"] = File(b"a,b\n1,2", "text/csv", "../my report.csv")
    code = """
import os, doorward
table = ""
os.makedirs("out/deep")
open("out/deep/b.txt", "w").write(open(table).read().upper())
os.symlink("/etc/passwd", "out/link")
os.mkfifo("out/fifo")
result = [table, doorward.path({"artefact": "doorward://results/abc"})]
"""
    async with executor() as made:
        assert await value(made, code, door, params={"table": "doorward://results/abc"}) == ["in/my_report.csv"] * 2
        assert door.kept == [("deep-b.txt", "text/plain", b"A,B\n1,2")]
        ended = await run(made, "import doorward\ndoorward.path('doorward://results/none')", door)
        assert "no result" in ended.error.message


@pytest.mark.anyio
async def test_files_of_the_same_name() -> None:
    """Each parameter has its own."""
    door = Door()
    door.files = {f"doorward://results/{n}": File(n.encode(), "text/csv", "report.csv") for n in ("one", "two")}
    code = "a = ''\nb = ''\n[a, open(a).read(), b, open(b).read()]"
    async with executor() as made:
        found = await value(made, code, door, params={"a": "doorward://results/one", "b": "doorward://results/two"})
        assert found == ["in/report.csv", "one", "in/2-report.csv", "two"]


@pytest.mark.anyio
@each_mode
async def test_output_is_text_however_it_is_cut(mode: Any) -> None:
    """A character whose bytes come in two reads is that character."""
    async with executor(**mode) as made:
        door = Door()
        await value(
            made,
            "import os, time\nfor byte in 'aä€😀'.encode() * 50:\n    os.write(1, bytes([byte]))\n    "
            "time.sleep(0.0005)",
            door,
        )
        assert door.printed == "aä€😀" * 50


@pytest.mark.anyio
@each_mode
async def test_other_limits_are_another_jail(mode: Any) -> None:
    """Also while sandboxes with the limits of before are kept ahead, or are in use."""
    code = "import resource\nresource.getrlimit(resource.RLIMIT_AS)[0]"
    small, large = Limits(memory_bytes=64 * 2**20), Limits(memory_bytes=128 * 2**20)
    async with executor(pool=2, **mode) as made:
        beside = asyncio.ensure_future(run(made, "import time\ntime.sleep(1)", limits=small))
        found = [(await run(made, code, limits=limits)).value for limits in (small, large, large, small, large)]
        await beside
        assert [round((each - found[0]) / 2**25) for each in found] == [0, 2, 2, 0, 2]


@pytest.mark.anyio
async def test_values_that_json_does_not_know() -> None:
    code = """
import datetime, decimal, pathlib, enum, dataclasses
@dataclasses.dataclass
class Point: x: int; y: int
class Kind(enum.Enum): A = 1
class Odd:
    def __repr__(self): return "odd"
pathlib.Path("mine").write_text("of an argument it would be the file")
{"bytes": b"ab", "file": pathlib.Path("mine"), "set": {2, 1}, "date": datetime.date(2026, 1, 2), "path": pathlib.Path("a"), "kind": Kind.A,
 "point": Point(1, 2), "odd": Odd(), (1, 2): "key", "big": 2**70, "nan": float("nan"), "half": "\\ud800"}
"""
    async with executor() as made:
        found = await value(made, code)
        assert found["bytes"] == b"ab"
        assert found["file"] == "mine"
        assert found["big"] == 2**70
        assert (found["set"], found["date"], found["path"], found["kind"]) == ([1, 2], "2026-01-02", "a", 1)
        assert (found["point"], found["odd"], found["(1, 2)"]) == ({"x": 1, "y": 2}, "odd", "key")
        assert await value(made, "x = []\nx.append(x)\nx") is not None
        assert "integer of" in await value(made, "7 ** 70000")


@pytest.mark.anyio
async def test_limits_say_their_names() -> None:
    limits = Limits(output_bytes=1000, result_bytes=10_000, memory_bytes=64 * 2**20)
    async with executor(scratch=2**20, inodes=100) as made:
        for code, said in [
            ("'x' * 20_000", "the value has"),
            ("import os\nwhile True: os.write(1, b'x' * 60_000)", "printed more"),
            ("x = b'x' * 500_000_000", "memory"),
        ]:
            with pytest.raises(LimitExceeded, match=said):
                await run(made, code, limits=limits)
        for code, said in [
            ("for i in range(9): open(f'f{i}', 'w').write('x' * 300_000)", "No space left"),
            ("open('f', 'w').write('x' * 3_000_000)", "File too large|No space"),
            ("for i in range(1000): open(f'f{i}', 'w').close()", "No space left"),
            (
                "import threading\nfor i in range(1000): threading.Thread(target=threading.Event().wait).start()",
                "new thread",
            ),
        ]:
            ended = await run(made, code, limits=limits)
            assert ended.error is not None
            assert any(word in ended.error.message for word in said.split("|")), ended.error


@pytest.mark.anyio
@each_mode
async def test_a_jail_that_dies_is_replaced(mode: Any, until: Any) -> None:
    """A run in it fails; the next one is served."""
    async with executor(pool=2, **mode) as made:
        assert await value(made, "1") == 1
        door = Door()
        running = asyncio.ensure_future(run(made, "import calc, time\ncalc.add(1)\ntime.sleep(20)", door))
        await until(lambda: door.made)
        for jail in list(made._pool._jails._all):
            await jail._isolated.kill()
        with pytest.raises(SandboxDied):
            await running
        assert await value(made, "2") == 2


@pytest.mark.anyio
async def test_who_waits_is_served_in_turn_and_not_for_ever() -> None:
    async with executor(pool=0, most=1, wait=60) as made:
        order: list[int] = []

        async def one(number: int) -> None:
            await value(made, "import time\ntime.sleep(0.1)")
            order.append(number)

        await asyncio.gather(*(one(n) for n in range(5)))
        assert order == [0, 1, 2, 3, 4]
    async with executor(pool=0, most=1, wait=0.3) as made:
        first = asyncio.ensure_future(run(made, "import time\ntime.sleep(1)"))
        await asyncio.sleep(0)
        with pytest.raises(Busy, match="busy"):
            await run(made, "1")
        await first


@pytest.mark.anyio
async def test_what_is_ready_ends_when_nobody_comes(until: Any) -> None:
    async with executor(pool=2, idle=0.3) as made:
        await value(made, "1")
        pool = made._pool
        await until(lambda: not pool._jails._all)
        assert len(pool._ready) == 0
        assert await value(made, "2") == 2


@pytest.mark.anyio
async def test_a_python_that_does_not_start_says_why() -> None:
    async with executor() as made:
        start = made.start

        async def wrong(command: Any, limits: Any) -> Any:
            return await start(["-c", "raise SystemExit('there is no such thing')"], limits)

        made.start = wrong
        with pytest.raises(ExecutorError) as error:
            await run(made, "1")
        assert "no such thing" in (error.value.hint or "")


@pytest.mark.anyio
@each_mode
async def test_nothing_stays_open(mode: Any, until: Any) -> None:
    """After many runs, and the idle time, there are as many file descriptors as after one."""
    async with executor(pool=1, idle=0.5, **mode) as made:
        assert await value(made, "0") == 0  # the first one opens what this process keeps
        before = len(os.listdir("/proc/self/fd"))
        for number in range(10):
            assert await value(made, f"{number}") == number
        gc.collect()
        await until(lambda: len(os.listdir("/proc/self/fd")) <= before)


@pytest.mark.anyio
@each_mode
async def test_a_thread_that_reads_an_answer_leaves_the_loop_alone(mode: Any) -> None:
    """The loop is told that something has come which a thread has read by then: it must not wait for more."""
    code = """
import asyncio, calc, time
async def main():
    slow = asyncio.create_task(calc.echo("slow"))
    longest = 0
    for n in range(300):
        started = time.monotonic()
        await asyncio.to_thread(calc.add, n)
        longest = max(longest, time.monotonic() - started)
    slow.cancel()
    return longest
result = asyncio.run(main())
"""

    class Slow(Door):
        async def call(self, function: str, args: Any, kwargs: Any) -> Any:
            if function == "calc.echo":
                await asyncio.sleep(20)
            return await super().call(function, args, kwargs)

    async with executor(**mode) as made:
        assert await value(made, code, Slow()) < 10


@pytest.mark.anyio
async def test_a_file_that_was_given_is_handed_on_as_it_is() -> None:
    """To a function it is the file, not the text of its path; so are a `pathlib.Path` of a file of the program's own,
    and the file that it has opened."""
    door = Door()
    door.files["doorward://results/abc"] = File(b"a,b", "text/csv", "r.csv")
    code = """
import calc, doorward, pathlib
report = ""
pathlib.Path("mine.txt").write_text("mine")
fetched = doorward.path("doorward://results/abc")
paths = [calc.echo(pathlib.Path(name)) for name in ("mine.txt", "none")]
opened = [calc.echo(open("mine.txt")), calc.echo([open("mine.txt", "rb")])[0]]
result = [calc.echo(report), calc.echo([fetched]), *paths, *opened, open(report).read()]
"""
    handle = {"artefact": "doorward://results/abc"}
    async with executor() as made:
        found = await value(made, code, door, params={"report": "doorward://results/abc"})
        mine = {"base64": "bWluZQ==", "name": "mine.txt"}
        assert found == [handle, [handle], mine, "none", mine, mine, "a,b"]
        ended = await run(made, "import doorward\ndoorward.path('a,b\\n1,2')", door)
        assert "takes the handle of a file" in ended.error.message


@pytest.mark.anyio
async def test_what_is_left_out_of_out_is_said() -> None:
    door = Door()
    async with executor() as made:
        await value(
            made, "import os\nfor n in range(103): open(f'out/{n:03}', 'w').close()\nos.symlink('/x', 'out/z')\n", door
        )
    assert len(door.kept) == 100
    assert "[3 files in out are more than 100 and not kept: write one archive]" in door.printed
    assert "[out/z is not kept: " in door.printed


@pytest.mark.anyio
async def test_a_module_that_cannot_be_loaded_ahead_is_said() -> None:
    async with executor(preload=["nowhere_to_be_found"]) as made:
        with pytest.raises(ExecutorError, match="`preload` cannot be loaded: nowhere_to_be_found: ModuleNotFoundError"):
            await run(made, "1")


LOCKED = """
import fcntl, os, sqlite3
db = sqlite3.connect("x.db")
db.execute("create table t (n)")
db.execute("begin immediate")
file = open("lock", "w")
fcntl.lockf(file, fcntl.LOCK_EX)
reads, writes = os.pipe()
if (pid := os.fork()) == 0:
    try:
        sqlite3.connect("x.db", timeout=0).execute("begin immediate")
        os.write(writes, b"a database that is locked")
    except sqlite3.OperationalError:
        pass
    try:
        fcntl.lockf(open("lock", "w"), fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.write(writes, b"a file that is locked")
    except OSError:
        os.write(writes, b"refused")
    os._exit(0)
os.waitpid(pid, 0)
os.read(reads, 100).decode()
"""


@pytest.mark.anyio
async def test_processes_of_a_program_lock_its_files() -> None:
    """POSIX locks, as of SQLite, hold between them; flock, which needs no right to write, is not there for any file."""
    async with executor() as made:
        assert await value(made, LOCKED) == "refused"
        flock = (
            "import fcntl, errno\ntry:\n    fcntl.flock(open('lock', 'w'), fcntl.LOCK_EX)\nexcept OSError as error:\n"
        )
        assert await value(made, f"{flock}    result = errno.errorcode[error.errno]") == "ENOSYS"


@pytest.mark.anyio
async def test_a_call_is_one_read_and_one_write(monkeypatch: pytest.MonkeyPatch) -> None:
    """At the host's end of the channel, as long as messages are small."""
    counted = {"_read": 0, "_send_now": 0}
    for name in counted:
        real = getattr(LocalConnection, name)

        def count(*words: Any, real: Any = real, name: str = name) -> Any:
            counted[name] += 1
            return real(*words)

        monkeypatch.setattr(LocalConnection, name, count)
    async with executor(pool=0) as made:
        await value(made, "import calc\nfor n in range(100): calc.add(n)")
    assert 100 < counted["_send_now"] <= 110
    assert counted["_read"] <= 120


@pytest.mark.anyio
async def test_answers_larger_than_the_channel_holds() -> None:
    """They arrive whole and in order, also if the program reads them late."""
    code = """
import asyncio, calc, time
async def main():
    asked = [asyncio.ensure_future(calc.echo(f"{n}" * 500_000)) for n in range(8)]
    await asyncio.sleep(0)
    time.sleep(0.2)
    return [(len(each), each[0]) for each in await asyncio.gather(*asked)]
result = asyncio.run(main())
"""
    async with executor() as made:
        assert await value(made, code) == [[500_000, str(n)] for n in range(8)]


@pytest.mark.anyio
async def test_what_has_too_many_parts_ends_no_session() -> None:
    """The arguments of a call are an error of the program, and a value is one of the run; neither is ever made, and the
    session goes on. A text is one part, however many commas are in it."""
    door, limits = Door(), Limits()
    async with executor() as made:
        asked = Program("kept = 5", deadline=time.monotonic() + 60, limits=limits)
        sandbox = await made.open(asked, session=True)

        async def ran(code: str) -> Any:
            ended = await sandbox.run(Program(code, deadline=time.monotonic() + 60, limits=limits), door)
            assert ended.error is None, ended.error
            return ended.value

        try:
            await ran("kept = 5")
            code = "import calc\ntry: calc.echo([0] * 200_000)\nexcept Exception as error: said = str(error)\nsaid"
            assert await ran(code) == "the arguments of a call have more than 100,000 parts"
            with pytest.raises(LimitExceeded, match="the value has more than 100,000 parts") as refused:
                await ran("[[0]] * 300_000")
            assert "one text" in str(refused.value.hint)
            assert await ran("'a,b' * 300_000") == "a,b" * 300_000
            assert await ran("kept") == 5
        finally:
            await sandbox.close()
