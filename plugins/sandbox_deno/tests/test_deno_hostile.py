"""Hostile programs: each is ended by the limit that it goes beyond, or harms itself alone."""

from __future__ import annotations

import asyncio
import contextlib
import json
from typing import Any

import pytest
from doorward import LimitExceeded, Limits, SandboxDied
from doorward_jail.probes.trial import Asked
from doorward_jail.probes.trials import TRIALS
from doorward_sandbox_deno.binary import deno
from doorward_sandbox_deno.script_parameters import bound
from doorward_sandbox_deno.speech import DenoSpeech
from doorward_testing import Door

from .conftest import Run

pytestmark = [pytest.mark.slow, pytest.mark.anyio]

MEMORY = {
    "arrays": "let x = [0, 1.5]; while (true) x = x.concat(x)",
    "objects": "const a = []; while (true) a.push({ a: new Array(10000).fill({}) })",
    "buffers": "const a = []; while (true) a.push(new Uint8Array(4 << 20).fill(7))",
    "one buffer": "new Uint8Array(2 ** 32).fill(1)",
    "shared memory": "const a = []; while (true) a.push(new Uint8Array(new SharedArrayBuffer(4 << 20)).fill(7))",
    "blobs": "const a = []; const p = new Uint8Array(4 << 20).fill(1); while (true) a.push(new Blob([p]))",
    "promises": "let p = Promise.resolve(); for (;;) { const held = new Array(1000).fill(1); p = p.then(() => held) }",
    "threads": "const w = await (0, eval)(`import('node:worker_threads')`); for (;;) new w.Worker('Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)', { eval: true })",
}

OTHERS = {
    "web assembly": "const a = []; while (true) { const m = new WebAssembly.Memory({ initial: 1000 }); new Uint8Array(m.buffer).fill(1); a.push(m) }",
    "messages": "const c = new MessageChannel(); const p = new Uint8Array(4 << 20).fill(1); while (true) c.port1.postMessage(p)",
    "a recursion": "const f = () => f() + 1; f()",
    "prototypes": "Object.prototype.toJSON = () => 'x'; Object.prototype.then = () => {}; JSON.stringify = () => '{}'; Uint8Array.prototype.set = () => {}; throw 1",
    "prototypes of the language": "for (const of of [Array, String, Promise, Map, Error]) for (const name of Object.getOwnPropertyNames(of.prototype)) try { delete of.prototype[name] } catch {}; throw 1",
    "an error that lies": "throw new Proxy(new Error(), { get() { throw 1 }, getPrototypeOf() { throw 2 } })",
    "stacks": "Error.prepareStackTrace = () => { throw 1 }; throw new Error('x')",
    "workers": "new Worker('data:text/javascript,for(;;);', { type: 'module' })",
    "the inspector": "const i = await (0, eval)(`import('node:inspector')`); new i.Session().connect()",
    "its own process": "Deno.kill(Deno.pid, 'SIGKILL'); for (;;);",
    "the runner": "__doorward__.import = 1; globalThis.__doorward__ = 1; delete globalThis.__doorward__; await __doorward__.bound.x.y",
}  # fmt: skip

HANGING = {
    "a loop": "for (;;);",
    "a promise": "await new Promise(() => {})",
    "a blocked thread": "Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)",
    "an answer that lies": "({ get a() { for (;;); } })",
    "microtasks": "for (;;) await null",
    "its end": "Promise.prototype.finally = 1; Array.prototype[Symbol.iterator] = () => { for (;;); }; [1]; await new Promise(() => {})",
}


@pytest.mark.parametrize("what", MEMORY)
async def test_memory(run: Run, cgroup: str, what: str) -> None:
    """Memory of every kind is bounded, and the limit is named, with control groups and without."""
    with pytest.raises(LimitExceeded, match="the program needed more memory than its limit of 128 MiB"):
        await run(MEMORY[what], language="javascript")


@pytest.mark.parametrize(
    ("code", "last", "is_memory"),
    [(-6, b"", True), (-6, b"printed", False), (-5, b"# Fatal JavaScript out of memory: x", True), (-9, b"", False)],
)
def test_how_an_engine_without_memory_dies(code: int, last: bytes, is_memory: bool) -> None:
    """Once in forty times on a busy machine it has no memory left to say so."""
    assert DenoSpeech().died_of_memory(code, last) is is_memory


@pytest.mark.parametrize("what", OTHERS)
async def test_others(run: Run, cgroup: str, what: str) -> None:
    """A program that breaks its surroundings fails, or its sandbox dies; the next one runs."""
    with contextlib.suppress(LimitExceeded, SandboxDied):
        assert (await run(OTHERS[what], language="javascript")).error is not None
    assert (await run("1 + 1")).value == 2


@pytest.mark.parametrize("what", HANGING)
async def test_hanging(run: Run, what: str, until: Any) -> None:
    """A program that does not end is ended when it is cancelled."""
    door = Door()
    running = asyncio.ensure_future(run(f"console.log('begun');\n{HANGING[what]}", door=door, language="javascript"))
    await until(lambda: door.printed)
    await asyncio.sleep(0.1)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert (await run("1 + 1")).value == 2


@pytest.mark.parametrize(
    "frames",
    [
        '"garbage"',
        "new Uint8Array([255, 255, 255, 255])",
        "new Uint8Array(70000)",
        "new Uint8Array([0, 0, 0, 2, 123, 125])",
    ],
)
async def test_garbage_in_the_channel(run: Run, frames: str) -> None:
    """Whatever a program writes into the channel past the runner, the host ends it."""
    code = (
        f"const fs = await (0, eval)(`import('node:fs')`);\nfs.writeSync(1, {frames});\nawait new Promise(() => {{}})"
    )
    with pytest.raises(SandboxDied, match="the sandbox was ended"):
        await asyncio.wait_for(run(code, language="javascript"), 20)


async def test_floods(run: Run) -> None:
    """Output and questions without end are broken off."""
    with pytest.raises(LimitExceeded, match="printed more than"):
        await run("for (;;) console.log('x'.repeat(10000))", door=_Mute(), limits={"output_bytes": 10_000})
    for call in ("add(1)", "await add(1)"):
        with pytest.raises(LimitExceeded, match="turned to its host more than"):
            await run(f'import {{ add }} from "calc";\nfor (;;) {call}', limits={"calls": 10})


class _Mute(Door):
    def print(self, text: str) -> bool:
        return False


async def test_no_permission_is_left(run: Run) -> None:
    """None is granted, not even that with which the runner was started, and none is granted when asked for."""
    code = (
        'const names = ["read", "write", "net", "env", "run", "ffi", "sys", "import"] as const;\n'
        "names.flatMap((name) => [Deno.permissions.querySync({ name }).state, Deno.permissions.requestSync({ name }).state])\n"
        '  .concat(Deno.permissions.querySync({ name: "sys", kind: "inspector" as any }).state).filter((s) => s !== "denied")'
    )
    ended = await run(code)
    assert ended.error is None
    assert set(ended.value) <= {"prompt"}


@pytest.mark.parametrize("name", [name for name in TRIALS if name not in ("memory", "deadline")])
async def test_probes_are_real(name: str, tmp_path: Any) -> None:
    """Control: with all permissions and without a jail, each probe finds what it looks for."""
    asked = Asked("doorward-control", Limits(processes=4), scratch=16 * 2**20, language="javascript")
    path = (await deno(None)).path
    with TRIALS[name](asked) as trial:
        code, values = bound(trial.code, trial.params)
        before = "".join(f"const {key} = {json.dumps(value)};\n" for key, value in values.items())
        file = tmp_path / "probe.mjs"
        file.write_text(f"{before}{code}\nconsole.log(`\\n${{JSON.stringify(result)}}`);\nDeno.exit();")
        process = await asyncio.create_subprocess_exec(
            str(path), "run", "--quiet", "-A", str(file), cwd=tmp_path, close_fds=False, stdout=asyncio.subprocess.PIPE,
            env={"DOORWARD_PROBE": "doorward-control", "PATH": "/usr/bin:/bin", "HOME": str(tmp_path)},
        )  # fmt: skip
        said, _ = await process.communicate()
        value = json.loads(said.splitlines()[-1])
        assert await asyncio.to_thread(trial.judge, value, None) != ""
