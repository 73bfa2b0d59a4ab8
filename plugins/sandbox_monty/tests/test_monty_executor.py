"""The Monty executor, alone: against the protocol, and what is its own."""

from __future__ import annotations

import asyncio
import contextlib
import io
import os
import signal
import time
from types import SimpleNamespace
from typing import Any

import anyio
import pytest
from doorward import ExecutorError, Program, Unsupported
from doorward.runs.run_context import RunContext
from doorward_jail import Watchdog
from doorward_sandbox_monty import MontyExecutor, MontySettings
from doorward_sandbox_monty.calls import Calls
from doorward_testing import Door, ExecutorConformance, check_driver, check_light_import

pytestmark = pytest.mark.slow

FILES = [
    "open('/etc/passwd')", "from pathlib import Path\nPath('a').exists()", "import os\nos.listdir('.')",
    "import doorward\ndoorward.path('x')", "from doorward import path",
]  # fmt: skip
LACKING = [
    "bytes([0, 1])", "bytes(range(256))", "bytes(n for n in [1])", "bytearray(b'ab')", "memoryview(b'a')", "globals()", "callable(1)",
    "issubclass(int, int)", "int.from_bytes(b'a', 'big')", "(1).to_bytes(2, 'big')",
]  # fmt: skip

READS_WORDS = """
import argparse
import sys
parser = argparse.ArgumentParser(description="Reads", formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("place")
parser.add_argument("more", nargs="*")
group = parser.add_argument_group("others")
group.add_argument("--name", "--nom", dest="called", default="none")
group.add_argument("-n", "--number", type=int, default="7")
group.add_argument("--size", type=float)
group.add_argument("--kind", choices=["red", "green"])
group.add_argument("--tags", nargs="+")
group.add_argument("--add", action="append", type=int)
group.add_argument("-v", "--verbose", action="count", default=0)
group.add_argument("--no-color", action="store_true")
parser.set_defaults(extra=1)
args = parser.parse_args([word for word in sys.argv[1:] if not word.endswith(".py")])
result = [args.place, args.more, args.called, args.number, args.size, args.kind, args.tags, args.add]
result += [args.verbose, args.no_color, args.extra]
"""


class TestMonty(ExecutorConformance):
    """Monty keeps what the protocol promises."""

    def executor(self, host: Any) -> MontyExecutor:
        return MontyExecutor(host.context(MontySettings))

    @pytest.mark.anyio
    @pytest.mark.parametrize(
        "code", ["def f():\n    yield 1", "import numpy", "class A(Exception): pass", "del x", *FILES, *LACKING]
    )
    async def test_says_what_it_cannot_run(self, host: Any, code: str) -> None:
        """What Monty cannot run at all is `Unsupported`, so that another executor may try."""
        with pytest.raises(Unsupported):
            await self.run(host, code)

    @pytest.mark.anyio
    @pytest.mark.parametrize(
        ("code", "type", "message", "line"),
        [
            ("raise SystemExit(1)", "SystemExit", "1", 1),
            ("x = 3\nexit(x)", "SystemExit", "3", 2),
            ("import sys\nif True:\n    sys.exit(\n        'bye')", "SystemExit", "bye", 3),
            ("x = 5\nraise ValueError(\n    x)", "ValueError", "5", 2),
            ("raise RuntimeError('a', {'b': 1})", "RuntimeError", "('a', {'b': 1})", 1),
            ("def exit(n):\n    return n / 0\nexit(1)", "ZeroDivisionError", "division by zero", 2),
        ],
    )
    async def test_errors_of_any_arguments_have_their_line(
        self, host: Any, code: str, type: str, message: str, line: int
    ) -> None:
        """Monty's exceptions take one text: others are made one, and what ends a program is no error of Monty's."""
        ended, _ = await self.run(host, code)
        assert (ended.error.type, ended.error.message, ended.error.line) == (type, message, line)

    @pytest.mark.anyio
    @pytest.mark.parametrize(
        ("code", "value"),
        [
            ("next(x for x in [1, 2, 3] if x > 1)", 2),
            ("next((x for x in [1, 2, 3]\n  if x > 3),\n None)", None),
            ("try:\n    next(x for x in [])\nexcept StopIteration:\n    result = 'none'", "none"),
            (
                "rows = (x * x for x in range(4))\nresult = [next(rows), next(rows), sum(rows), list(rows)]",
                [0, 1, 13, []],
            ),
            ("rows = (str(x) for x in range(3))\nfirst = next(rows)\nresult = first + ','.join(rows)", "01,2"),
            ("rows = (x for x in range(3))\nnext(rows)\nresult = [x for x in rows] + [y for y in rows]", [1, 2]),
        ],
    )
    async def test_the_next_of_a_generator_expression(self, host: Any, code: str, value: Any) -> None:
        """`next` takes generator expressions, as they stand or by a name: in Monty they are lists."""
        ended, _ = await self.run(host, code)
        assert ended.error is None, ended.error
        assert ended.value == value

    @pytest.mark.anyio
    @pytest.mark.parametrize(
        "words",
        [
            "", "a", "a b c", "--name x a", "--name=x a -v -v", "a -n 3 --size 1.5", "-n x a", "a --kind red",
            "a --kind blue", "a --tags x y z", "--tags a", "a --add 1 --add 2", "a --no-color", "a --nam x", "a --wrong",
            "-- -v", "a -5", "-h",
        ],
    )  # fmt: skip
    async def test_argparse(self, host: Any, words: str) -> None:
        """It reads the words of a program as CPython's does, and ends as that does."""
        wanted: dict[str, Any] = {}
        with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stderr(io.StringIO()) as told:
            patch.setattr("sys.argv", ["program.py", *words.split(), "b.py"])
            with contextlib.suppress(SystemExit), contextlib.redirect_stdout(io.StringIO()):
                exec(READS_WORDS, wanted)
        ended, door = await self.run(host, READS_WORDS, argv=(*words.split(), "b.py"))
        assert ended.value == wanted.get("result"), (ended, door.printed)
        assert ("usage: " in door.printed) is ("result" not in wanted)
        if said := told.getvalue():
            assert (ended.error.type, len(ended.error.frames)) == ("SystemExit", 1)
            assert said.splitlines()[-1][:45] == door.printed.splitlines()[-1][:45]

    @pytest.mark.anyio
    @pytest.mark.parametrize("code", ["import sys\nsys.argv[1:]", "from sys import argv as words\nwords[1:]"])
    async def test_words(self, host: Any, code: str) -> None:
        """They are in `sys.argv`, of this run alone."""
        assert await self.value_of(host, code, argv=("--url", "a")) == ["--url", "a"]
        assert await self.value_of(host, code) == []

    @pytest.mark.anyio
    async def test_more_of_argparse(self, host: Any) -> None:
        """What is not there is left to other executors."""
        with pytest.raises(Unsupported, match="argparse"):
            await self.run(host, "import argparse\np = argparse.ArgumentParser()\np.add_subparsers()")

    @pytest.mark.anyio
    async def test_moves_on_only_before_a_call(self, host: Any) -> None:
        """A program that has made a call and then meets what Monty lacks fails: it must not run twice. One whose text
        wants files is refused before."""
        programs_with_files = [
            "open('x')",
            "with open('out/x', 'w') as file: file.write('x')",
            "def f(): return doorward.path(1)",
            "f = open; f('x')",
            "try: open('x')\nexcept Exception: pass",
            "pathlib.Path('x').read_text()",
            "from doorward import path",
            "import os; os.makedirs('out', exist_ok=True)",
        ]
        programs_without = [
            "def open(x): return x\nopen(3)",
            "open = len\nopen([1, 2, 3])",
            "len([doorward.path.__doc__, 'open(x)', 1])",
            "f = lambda: open('x')\n3",
            "class A:\n    path = 3\na = A()\na.path",
        ]
        ended, door = await self.run(host, "import calc\ncalc.add(1)\nimport numpy")
        assert ended.error.type == "ModuleNotFoundError"
        assert door.made == 1
        ended, _ = await self.run(host, "import calc\ncalc.add(1)\nexec('open(1)'.replace('1', repr('x')))")
        assert ended.error.type == "PermissionError"
        for lacks in LACKING:
            ended, door = await self.run(host, f"import calc\ncalc.add(1)\n{lacks}")
            assert ended.error.hint
            assert door.made == 1
        for wrong in ("input()", "bytearay", "bytes(1.5)", "bytes('a')", "(1).to_byte()"):
            ended, _ = await self.run(host, wrong)
            assert ended.error.hint is None
        numbers = 'numbers = range(256)\nbytes.fromhex("".join(f"{number:02x}" for number in numbers)) + bytes.fromhex(f"{255:08x}")'
        assert (await self.run(host, numbers))[0].value == bytes([*range(256), 0, 0, 0, 255])
        for wants in programs_with_files:
            door = Door()
            with pytest.raises(Unsupported, match="monty has no files") as told:
                await self.run(host, f"import calc, doorward, pathlib\ncalc.add(1)\n{wants}", door=door)
            assert (told.value.line, door.made, "doorward.read(handle)" in (told.value.hint or "")) == (3, 0, True), (
                wants
            )
        for own in programs_without:
            ended, _ = await self.run(host, f"import calc, doorward\ncalc.add(1)\n{own}")
            assert (ended.error, ended.value) == (None, 3), own
        assert (await self.run(host, "raise PermissionError('mine')"))[0].error.type == "PermissionError"

    @pytest.mark.anyio
    @pytest.mark.parametrize(
        "code",
        [
            "while True: pass",
            "10 ** 10 ** 8",
            "import time\ntime.sleep(1000)",
            "import asyncio\nawait asyncio.sleep(1000)",
        ],
    )
    async def test_cancel_leaves_nothing(self, host: Any, code: str) -> None:
        """A cancelled run is gone, with its worker, whatever it does."""
        from doorward.model.programs import Program

        executor = self.executor(host)
        program = Program(code, deadline=time.monotonic() + 30)
        sandbox = await executor.open(program)
        pid = sandbox._worker.pid
        with anyio.move_on_after(0.2) as left:
            await sandbox.run(program, Door())
        assert left.cancelled_caught
        await sandbox.close()
        await executor.close()
        assert not os.path.exists(f"/proc/{pid}")

    @pytest.mark.anyio
    async def test_the_end_of_the_loop_in_a_call(self, host: Any) -> None:
        """All tasks are cancelled when `serve` ends: a program that waits for a call then ends as cancelled, and not
        with a defect."""
        from doorward.model.programs import Program

        waiting = anyio.Event()

        class Waiting(Door):
            async def call(self, function: str, args: Any, kwargs: Any) -> Any:
                waiting.set()
                await anyio.sleep_forever()

        executor = self.executor(host)
        program = Program("import calc\ncalc.add(1)", deadline=time.monotonic() + 30)
        sandbox = await executor.open(program)
        before = asyncio.all_tasks()
        running = asyncio.ensure_future(sandbox.run(program, Waiting()))
        await waiting.wait()
        tasks = asyncio.all_tasks() - before
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
        assert all(task.cancelled() for task in tasks)
        assert running in tasks
        await sandbox.close()
        await executor.close()

    @pytest.mark.anyio
    async def test_a_worker_ahead_that_died_is_replaced(self, host: Any) -> None:
        """A worker that is killed while it waits for its program costs nobody a run; another limit is another
        worker."""
        from doorward.model.programs import Limits, Program

        executor, pids = self.executor(host), []
        for timeout in (30, 30, 30, 5):
            program = Program("1 + 1", limits=Limits(timeout=timeout), deadline=time.monotonic() + 30)
            sandbox = await executor.open(program)
            if pids and sandbox._worker.ahead:
                os.kill(sandbox._worker.pid, signal.SIGKILL)
            assert (await sandbox.run(program, Door())).value == 2
            pids.append(sandbox._worker.pid)
            await sandbox.close()
            while executor._workers._behind:
                await anyio.sleep(0.001)
        assert len(set(pids)) > 1
        await executor.close()

    @pytest.mark.anyio
    async def test_what_guards_a_worker_is_told_once(self, host: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        """A worker that many programs use is guarded from its first to its death, not anew for each of them."""
        told: list[str] = []
        monkeypatch.setattr(Watchdog, "_tell", lambda self, line: told.append(line))
        executor, pids = self.executor(host), set()
        for _ in range(10):
            program = Program("1 + 1", deadline=time.monotonic() + 30)
            sandbox = await executor.open(program)
            assert (await sandbox.run(program, Door())).value == 2
            pids.add(sandbox._worker.pid)
            await sandbox.close()
        while executor._workers._behind:
            await anyio.sleep(0.001)
        if hasattr(os, "pidfd_open"):
            assert set(told) >= {f"+ {pid}\n" for pid in pids}
            assert len(told) == len(set(told)) < 10
            one = min(pids)
            os.kill(one, signal.SIGKILL)
            with anyio.fail_after(60):
                while f"- {one}\n" not in told:
                    await anyio.sleep(0.001)
        await executor.close()

    @pytest.mark.anyio
    async def test_nothing_is_left_for_the_next_run(self, host: Any) -> None:
        """The next program in the same worker sees no variable, function or module of the one before."""
        from doorward.model.programs import Program

        executor = self.executor(host)
        for code in ("x = 1\nimport calc\ndef f(): pass", "x", "f", "calc"):
            program = Program(code, deadline=time.monotonic() + 30)
            sandbox = await executor.open(program)
            ended = await sandbox.run(program, Door())
            assert (ended.error is None) == code.startswith("x = 1")
            await sandbox.close()
        await executor.close()

    @pytest.mark.anyio
    async def test_parallel_calls_overlap(self, host: Any) -> None:
        """Awaited calls run at the same time, plain ones one after the other."""
        from doorward.model.programs import Program

        class Slow(Door):
            at_once = most = expected = 0

            async def call(self, function: str, args: Any, kwargs: Any) -> Any:
                self.at_once += 1
                self.most = max(self.most, self.at_once)
                await anyio.sleep(0.02)
                with anyio.move_on_after(60):  # on a busy machine the others take their time
                    while self.most < self.expected:
                        await anyio.sleep(0.005)
                self.at_once -= 1
                return 1

        executor = self.executor(host)
        for code, most in [
            ("import asyncio, calc\nlen(await asyncio.gather(*[calc.add(i) for i in range(10)]))", 10),
            ("import calc\nlen([calc.add(i) for i in range(10)])", 1),
        ]:
            door, program = Slow(), Program(code, deadline=time.monotonic() + 30)
            door.expected = most
            sandbox = await executor.open(program)
            assert (await sandbox.run(program, door)).value == 10
            assert door.most == most
            await sandbox.close()
        await executor.close()

    @pytest.mark.anyio
    async def test_type_check(self, host: Any) -> None:
        """With `type_check` a program with a wrong type is refused before it makes a call."""
        from doorward.model.programs import Program

        executor = MontyExecutor(host.context(MontySettings, {"type_check": True}))
        door, program = Door(), Program("import calc\nx: int = 'text'\ncalc.add(1)", deadline=time.monotonic() + 30)
        sandbox = await executor.open(program)
        ended = await sandbox.run(program, door)
        assert "not assignable" in ended.error.message
        assert door.made == 0
        await sandbox.close()
        await executor.close()

    @pytest.mark.anyio
    async def test_session_keeps_variables(self, host: Any) -> None:
        """In a session the variables, functions and imports of a run are there for the next."""
        from doorward.model.programs import Program

        executor = self.executor(host)
        first = Program("import calc\nx = 40\ndef f(y): return calc.add(x, y)", deadline=time.monotonic() + 30)
        sandbox = await executor.open(first, session=True)
        await sandbox.run(first, Door())
        assert (await sandbox.run(Program("f(2)", deadline=first.deadline), Door())).value == 42
        await sandbox.close()
        await executor.close()

    @pytest.mark.anyio
    @pytest.mark.parametrize("type_check", [False, True])
    async def test_a_session_of_programs_of_others(self, host: Any, type_check: bool) -> None:
        """Aliases of servers that an earlier program has imported, its own names, and its functions that await."""
        from doorward.model.programs import Program

        executor = MontyExecutor(host.context(MontySettings, {"type_check": type_check}))
        sandbox = await executor.open(Program(""), session=True)
        programs = {
            "import calc\ncalc.add(1)": 1,
            "from calc.functions import add\nadd(2)": 2,
            "mcp_calc.add(3)": 3,
            "calc + 1" if type_check else "1 +": None,
            "async def f(n):\n    return await calc.add(n)\ndef g(n):\n    return calc.add(n)": None,
            "[await f(4), g(5)]": [4, 5],
            "def call_mcp_tool(name): return len(name)": None,
            "call_mcp_tool('abcdef')": 6,
            "import doorward\ndoorward.server('calc-1').add(7)": 7,
            "from mcp.servers.calc import *\nawait add(8)": 8,
        }
        for code, value in programs.items():
            ended = await sandbox.run(Program(code, deadline=time.monotonic() + 30), Door())
            assert ended.value == value, (code, ended.error)
            assert (ended.error is None) == ("+" not in code), (code, ended.error)
        await sandbox.close()
        await executor.close()

    @pytest.mark.anyio
    async def test_an_error_of_a_tool_has_nothing_but_its_text(self, host: Any) -> None:
        """What else is read of it is missing, by the name that programs know it by."""
        ended, _ = await self.run(host, "import calc\ntry:\n    calc.complain()\nexcept Exception as e:\n    e.status")
        assert (ended.error.type, ended.error.message) == (
            "AttributeError",
            "'ToolError' object has no attribute 'status'",
        )


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


LATER = "len([1 for _ in range(100_000)])"
"""A few milliseconds: Monty holds for one what is printed."""

LIMITS = '[limits]\nmemory = "64MiB"\n'


@pytest.mark.slow
@pytest.mark.anyio
@pytest.mark.parametrize(
    ("session", "code", "said"),
    [
        ("", "while True: pass", "the run took more than 1.5 s"),
        ("", "10 ** 10 ** 7 % 10 ** 10 ** 6", "the run took more than 1.5 s"),
        ("", "import time\ntime.sleep(60)", "the run took more than 1.5 s"),
        ("new", "import time\ntime.sleep(60)", "the run took more than 1.5 s"),
        ("", "x = [0] * 10\nwhile True: x = x + x", "the program needed more memory than its limit of 64 MiB"),
        ("new", "x = [0] * 10\nwhile True: x = x + x", "the program needed more memory than its limit of 64 MiB"),
        ("", "x = 'x' * 10 ** 9", "the program needed more memory than its limit of 64 MiB"),
    ],
)
async def test_a_run_that_met_a_limit_says_which(host: Any, session: str, code: str, said: str) -> None:
    """The outcome says the limit, and what was printed until then; of a session also that it is gone. CONTRACT: SBX-07,
    SBX-10."""
    host.install_real("monty")
    async with host.gateway(f'executor = "monty"\ncache = "none"\nplugins = []\n{LIMITS}') as gate:
        outcome = await gate.execute(
            f"print('before'); {LATER}\n{code}", session_id=session, timeout=1.5 if "took" in said else 60
        )
        assert (outcome.error.kind, outcome.error.message) == ("limit", said)
        assert outcome.printed == "before\n"
        lines = {number for number, text in enumerate(code.splitlines(), 2) if "while" in text or "sleep" in text}
        assert "took" not in said or {outcome.error.line} == (lines or {None})
        assert outcome.session_id == ""
        assert ("The session and its variables are gone." in outcome.error.hint) == bool(session)
        assert (await gate.execute("1 + 1", session_id=session)).value == 2


@pytest.mark.anyio
@pytest.mark.parametrize(
    "code", ["while True: pass", "import time\ntime.sleep(60)", "await doorward.servers()\nimport time\ntime.sleep(60)"]
)
async def test_a_worker_that_dies_in_a_session(
    host: Any, code: str, monkeypatch: pytest.MonkeyPatch, until: Any
) -> None:
    """Killed while a program runs, or between two runs: the client is told that the session is gone; what was printed
    is kept."""
    host.install_real("monty", "program_helpers")
    printed, heard = [], RunContext.print
    monkeypatch.setattr(RunContext, "print", lambda door, text: (printed.append(text), heard(door, text))[1])
    async with host.gateway('executor = "monty"\ncache = "none"\nplugins = []') as gate:
        session = (await gate.execute("x = 1", session_id="new")).session_id
        worker = gate._sessions._open[session]._sandbox._sandbox._worker
        running = asyncio.ensure_future(gate.execute(f"import doorward\nprint('before')\n{code}", session_id=session))
        await until(lambda: printed)
        os.kill(worker.pid, signal.SIGKILL)
        outcome = await running
        assert (outcome.error.type, outcome.printed, outcome.session_id) == ("SandboxDied", "before\n", "")
        assert "the session and its variables are gone" in outcome.error.message
        other = (await gate.execute("x = 1", session_id="new")).session_id
        os.kill(gate._sessions._open[other]._sandbox._sandbox._worker.pid, signal.SIGKILL)
        await asyncio.sleep(0.1)
        lost = await gate.execute("x", session_id=other)
        assert "the session and its variables are gone" in lost.error.message
        closing = await gate.execute("import doorward\ndoorward.close_session()\n5", session_id="new")
        assert (closing.value, closing.session_id) == (5, "")


@pytest.mark.anyio
async def test_a_file_as_a_parameter_is_its_uri(host: Any) -> None:
    """Programs in Monty have no files: they pass the URI on."""
    host.install_real("monty")
    async with host.gateway('executor = "monty"\ncache = "none"\nplugins = []') as gate:
        kept = await gate.artefacts.keep(gate.artefacts.made(b"1,2", "text/csv", "a.csv"), "local")
        outcome = await gate.execute(
            "data = ''\nresult = [data, more]", params={"data": {"artefact": kept.uri}, "more": {"artefact": kept.uri}}
        )
        assert outcome.value == [kept.uri] * 2


def test_is_installed_and_light() -> None:
    """The driver is found under its name, and importing it costs no interpreter."""
    assert check_driver("executor", "monty") is MontyExecutor
    check_light_import("doorward_sandbox_monty")


@pytest.mark.slow
def test_a_process_that_ran_a_program_ends_well() -> None:
    """A process that ends right after a failed run, on a busy machine, is not aborted by Monty's threads."""
    import subprocess
    import sys

    code = (
        "import asyncio, time\nfrom pathlib import Path\nfrom doorward_testing import Host\n"
        "from doorward_testing import Door\n"
        "from doorward import Program\nfrom doorward_sandbox_monty import MontyExecutor, MontySettings\n"
        "async def main():\n"
        "    executor = MontyExecutor(Host(Path('.')).context(MontySettings))\n"
        "    program = Program('1/0', deadline=time.monotonic() + 30)\n"
        "    sandbox = await executor.open(program)\n"
        "    await sandbox.run(program, Door())\n"
        "    await sandbox.close()\n"
        "    await executor.close()\n"
        "asyncio.run(main())\n"
    )
    running = [subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.PIPE) for _ in range(3)]
    assert [(process.communicate()[1], process.returncode) for process in running] == [(b"", 0)] * 3


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("worker", "mode", "reason"),
    [
        (None, 0, "No such file"),
        ("#!/bin/sh\nexit 0\n", 0o600, "Permission denied"),
        ("#!/bin/sh\necho no memory for a worker >&2\nexit 3\n", 0o700, "exit"),
    ],
)
async def test_a_worker_that_does_not_start(
    host: Any, monkeypatch: pytest.MonkeyPatch, worker: str | None, mode: int, reason: str
) -> None:
    """The error says why, on one line, and what to do."""
    if worker is not None:
        (host.folder / "monty").write_text(worker)
        (host.folder / "monty").chmod(mode)
    monkeypatch.setenv("MONTY_BIN", str(host.folder / "monty"))
    executor = MontyExecutor(host.context(MontySettings))
    with pytest.raises(ExecutorError, match="Monty does not start") as caught:
        await executor.open(Program("1", deadline=time.monotonic() + 30))
    await executor.close()
    assert reason in caught.value.message
    assert "\n" not in caught.value.message
    assert caught.value.hint


@pytest.mark.anyio
async def test_a_question_that_comes_after_the_death_of_its_worker() -> None:
    """Nothing is done for it, and nobody waits."""
    calls = Calls()
    calls.drop()
    step = SimpleNamespace(args=(3600,), call_id=1, position=SimpleNamespace(start=0, end=1, filename="f"))
    assert "exc_type" in await calls.sleep(step)
    calls._awaited = {"f": {(0, 1)}}
    assert await calls.sleep(step) == {"future": ...}
    assert "exc_type" in (await calls.settled([1]))[1]
