"""Generated programs that read the time and draw random numbers run again as they did, in another process, on every
executor that is here without an engine."""

from __future__ import annotations

import asyncio
import contextlib
import random
import time
from pathlib import Path
from typing import Any

import pytest
from doorward import PluginContext, Program, ProgramResult
from doorward_sandbox_deno import DenoExecutor, DenoSettings
from doorward_sandbox_monty import MontyExecutor, MontySettings
from doorward_sandbox_nsjail import NsjailExecutor, NsjailSettings
from doorward_testing import Door

PROGRAMS = 12

PYTHON_READS = [
    "time.time()", "time.time_ns()", "time.monotonic()", "time.perf_counter()", "str(datetime.now())", "random.random()",
    "str(datetime.now(timezone.utc))", "random.choice('abcdef')", "random.randint(1, 10**6)", "random.Random().random()",
    "random.sample(range(99), 3)", "time.strftime('%H:%M:%S')", "int(time.time() * 1000) % 7", "sorted(s)[0]",
    "list({'a', 'bc', 'def', str(n)})[0]", "hash(('x', n)) % 100",
]  # fmt: skip
CPYTHON_READS = ["str(uuid.uuid4())", "os.urandom(3).hex()", "secrets.token_hex(4)", "str(datetime.today())"]
SCRIPT_READS = [
    "Date.now()", "new Date().toISOString()", "performance.now()", "Math.random()", "crypto.randomUUID()",
    "Math.floor(Math.random() * 6)", "Date.now() % 7", "crypto.getRandomValues(new Uint8Array(3)).join()", "new Set(s).size",
    "Temporal.Now.instant().toString()",
]  # fmt: skip

EXECUTORS: dict[str, Any] = {
    "monty": (MontyExecutor, MontySettings, "python", PYTHON_READS),
    "nsjail": (NsjailExecutor, NsjailSettings, "python", PYTHON_READS + CPYTHON_READS),
    "deno": (DenoExecutor, DenoSettings, "javascript", SCRIPT_READS),
}


def in_python(draw: random.Random, reads: list[str]) -> str:
    """A program of loops, branches, gathered calls and failures."""
    libraries = "import asyncio, calc, random, time" + (", os, secrets, uuid" if CPYTHON_READS[0] in reads else "")
    lines = [libraries, "from datetime import datetime, timezone", "n, s = 0, {'k'}"]
    for _ in range(draw.randint(2, 7)):
        read, other = draw.choice(reads), draw.choice(reads)
        block = draw.choice([
            [f"print({read})"],
            [f"n = calc.echo(n + 1)\ns.add(str({read}))"],
            [f"for i in range({draw.randint(1, 5)}):", f"    calc.echo([i, {read}])", f"    print(i, {other})"],
            [f"if len(str({read})) % 2:", f"    calc.echo(str({other}))", "else:", f"    calc.add(len(str({other})))"],
            [f"async def f(i):\n    await calc.echo([i, {read}])\n    return {other}",
             f"print(await asyncio.gather(*[f(i) for i in range({draw.randint(2, 4)})]))"],
            ["try:", f"    calc.fail(status=400 + len(str({read})) % 50)", "except Exception as e:", "    print(e)"],
            ["while random.random() < 0.7:", f"    n = n + 1\n    calc.echo([n, {read}])"],
            ["until = time.time() + 0.003", "while time.time() < until:", "    n = n + 1\n    time.sleep(0.001)", "calc.echo(n)"],
        ])  # fmt: skip
        lines += block
    return "\n".join([*lines, "[n, sorted(s)]"])


def in_javascript(draw: random.Random, reads: list[str]) -> str:
    """The same in JavaScript."""
    lines = ['import * as calc from "calc";', "let n = 0; const s = ['k'];"]
    for _ in range(draw.randint(2, 7)):
        read, other = draw.choice(reads), draw.choice(reads)
        lines.append(
            draw.choice(
                [
                    f"console.log({read});",
                    f"n = await calc.echo(n + 1); s.push(String({read}));",
                    f"for (let i = 0; i < {draw.randint(1, 5)}; i++) {{ await calc.echo([i, {read}]); console.log(i, {other}); }}",
                    f"if (String({read}).length % 2) await calc.echo({other}); else await calc.add(String({other}).length);",
                    f"console.log(await Promise.all([1, 2, 3].map(async (i) => {{ await calc.echo([i, {read}]); return {other}; }})));",
                    f"try {{ await calc.fail({{ status: 400 + String({read}).length % 50 }}); }} catch (e) {{ console.log(e.message); }}",
                    f"while (Math.random() < 0.7) {{ n++; await calc.echo([n, {read}]); }}",
                    "for (const until = Date.now() + 3; Date.now() < until;) { n++; await new Promise((d) => setTimeout(d, 1)); }",
                ]
            )
        )
    return "\n".join([*lines, "[n, s]"])


@contextlib.asynccontextmanager
async def running(which: str, folder: Path) -> Any:
    kind, settings, language, _ = EXECUTORS[which]
    executor = kind(PluginContext(which, settings(), folder))

    async def run(code: str, seed: bytes, given: list[float]) -> tuple[ProgramResult, Door]:
        program = Program(code, language=language, seed=seed, deadline=time.monotonic() + 60)
        door = Door(given)
        door.language = language
        sandbox = await executor.open(program)
        try:
            return await sandbox.run(program, door), door
        finally:
            await sandbox.close()

    try:
        yield run
    finally:
        await executor.close()


def generated(which: str, number: int) -> str:
    *_, language, reads = EXECUTORS[which]
    draw = random.Random(f"{which} {number}")
    return in_python(draw, reads) if language == "python" else in_javascript(draw, reads)


@pytest.mark.slow
@pytest.mark.parametrize("which", EXECUTORS)
def test_generated_programs_run_again(which: str, tmp_path: Path) -> None:
    """With its seed and all times: the same value, text and calls. With the times until one of its calls, as after an end
    in the middle: the same calls up to that one."""

    async def tried() -> None:
        async with running(which, tmp_path) as run, running(which, tmp_path) as anew:
            for number in range(PROGRAMS):
                code, seed = generated(which, number), random.Random(number).randbytes(32)
                first, door = await run(code, seed, [])
                assert first.error is None, (code, first.error)
                again, same = await anew(code, seed, door.read)
                assert (again.value, same.printed, same.asked, same.read) == (
                    first.value, door.printed, door.asked, []
                ), code  # fmt: skip
                if door.asked:
                    at = random.Random(number).randrange(len(door.asked))
                    _, cut = await anew(code, seed, door.read[: door.told[at]])
                    assert cut.asked[: at + 1] == door.asked[: at + 1], code

    asyncio.run(tried())
