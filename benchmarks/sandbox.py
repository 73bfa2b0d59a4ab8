"""Executors beside FastMCP's code mode and a bare `python -c`: starting, warm, with pandas, in a session,
many calls, many clients."""

from __future__ import annotations

import asyncio
import contextlib
import importlib.util
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

import httpx2
import peer
from common import BARE, HERE, PYTHON, Project, connected, interleaved, median, ms, ratio, table
from doorward import ExecutorError, Gateway, Program
from doorward.config.config import load
from doorward.sandboxing import Aliases
from program import api

PANDAS = "import pandas as pd\nint(pd.Series([1, 1]).sum())"
PAUSE = 0.05
"""Seconds between runs where they do not follow one another at once, as with an agent, which thinks in between."""
ROUNDS = 60


class Side:
    """One configured executor, with pandas if possible."""

    def __init__(self, name: str, executor: str, settings: dict[str, Any], *, pandas: bool) -> None:
        self.name, self.executor, self.settings, self.pandas = name, executor, settings, pandas

    def words(self, python: str, script: str) -> str:
        """A program in the executor's language."""
        return script if self.executor == "deno" else python

    def project(self, folder: Path, servers: str = "") -> Project:
        import tomli_w

        head = {
            "state": "state", "executor": [self.executor], "cache": "sqlite", "plugins": ["ast", "audit_jsonl"],
            "limits": {"rate": 1_000_000, "calls": 10_000}, "executors": {self.executor: self.settings},
        }  # fmt: skip
        return Project(folder, servers, tomli_w.dumps(head))


async def run(folder: Path) -> None:
    with contextlib.ExitStack() as stack:
        deno = Side("deno", "deno", {"most": 32}, pandas=False)
        sides = [Side("monty", "monty", {}, pandas=False), *_nsjail(folder), deno, *_docker(stack)]
        await _starting(folder, sides)
        await _warm(folder, sides)
        await _frames(folder, sides)
        await _calls(folder, sides)
        await _clients(folder, sides)
        await _memory(folder, sides)


def _nsjail(folder: Path) -> Iterator[Side]:
    """With the standard library, and with pandas loaded ahead."""
    with_pandas = Side(
        "nsjail, pandas", "nsjail", {"packages": ["pandas"], "preload": ["pandas"], "most": 32}, pandas=True
    )
    project = with_pandas.project(folder / "build")
    built = subprocess.run(
        [*project.serve[:3], "sandbox", "build", "nsjail", "--config", str(project.config)],
        capture_output=True,
        text=True,
    )
    if built.returncode:
        print(f"\nLeft out: nsjail ({(built.stderr or built.stdout).strip()[-300:]})\n")
        return
    yield Side("nsjail", "nsjail", {"most": 32}, pandas=False)
    site = next((folder / "build/state").rglob("site-packages"))
    yield Side(
        "nsjail, pandas", "nsjail", {"venv": str(_venv_of(site)), "preload": ["pandas"], "most": 32}, pandas=True
    )


def _venv_of(site: Path) -> Path:
    return next(parent for parent in site.parents if (parent / "pyvenv.cfg").exists())


def _docker(stack: contextlib.ExitStack) -> Iterator[Side]:
    """The engine of the plugin's tests."""
    try:
        module = _load(HERE.parent / "plugins/sandbox_docker/tests/engine.py")
        engine = module.shared()
        image = engine.build(module.SCIENCE)
    except BaseException as error:  # pytest's own kind of skipping among them
        print(f"\nLeft out: docker ({error})\n")
        return
    yield Side("docker", "docker", {**engine.settings(), "most": 32}, pandas=False)
    yield Side("docker, pandas", "docker", {**engine.settings(image), "preload": ["pandas"], "most": 32}, pandas=True)


def _load(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location("docker_engine", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["docker_engine"] = module
    spec.loader.exec_module(module)
    return module


async def _execute(client: Any, code: str, **more: Any) -> Any:
    answer = await client.call_tool("execute_code", {"code": code, **more})
    assert answer.structured_content["ok"], answer.structured_content
    return answer.structured_content


async def _starting(folder: Path, sides: list[Side]) -> None:
    """The first run of a gateway that is ready, compared with starting a Python for one program."""
    rows = []
    for side in sides:
        took = []
        for number in range(3):
            async with connected(side.project(folder / f"first-{side.name}-{number}").serve) as client:
                started = time.perf_counter()
                await _execute(client, PANDAS if side.pandas else "1 + 1")
                took.append(time.perf_counter() - started)
        rows.append([side.name, ms(took)])
    for name, code in {
        "python -c, 1 + 1": "print(1 + 1)",
        "python -c, import json, asyncio": "import json, asyncio; print(1 + 1)",
    }.items():
        took = []
        for _ in range(20):
            started = time.perf_counter()
            subprocess.run([PYTHON, "-I", "-c", code], check=True, capture_output=True)
            took.append(time.perf_counter() - started)
        rows.append([name, ms(took)])
    print("## First run, ms (median / p95)")
    table(["executor", "first `execute_code`"], rows)


async def _warm(folder: Path, sides: list[Side]) -> None:
    """One program each, with a pause between them and without, beside an empty tool of the bare SDK
    and FastMCP's code mode."""
    rows = []
    async with contextlib.AsyncExitStack() as stack:
        bare = await stack.enter_async_context(connected(BARE["sdk"]))
        asks: dict[str, Callable[[], Awaitable[Any]]] = {"floor": partial(bare.call_tool, "empty", {"code": "1+1"})}
        if (theirs := await _fastmcp(folder, stack)) is not None:
            asks["fastmcp, code mode"] = partial(theirs.call_tool, "execute", {"code": "return 1+1"})
        for side in sides:
            client = await stack.enter_async_context(connected(side.project(folder / f"warm-{side.name}").serve))
            session = (await _execute(client, "x = 1", session_id="new"))["session_id"]
            asks[side.name] = partial(_execute, client, PANDAS if side.pandas else "1+1")
            if side.pandas:
                asks[f"{side.name} loaded, 1+1"] = partial(_execute, client, "1+1")
            asks[f"{side.name}: session"] = partial(_execute, client, "x + 1", session_id=session)
        paused: dict[str, list[float]] = {name: [] for name in asks}
        for number in range(-5, ROUNDS):
            for name, ask in asks.items():
                await asyncio.sleep(PAUSE)
                started = time.perf_counter()
                await ask()
                if number >= 0:
                    paused[name].append(time.perf_counter() - started)
        for name, ask in asks.items():
            started = time.perf_counter()
            for _ in range(ROUNDS):
                await ask()
            each = (time.perf_counter() - started) / ROUNDS
            over = (median(paused[name]) - median(paused["floor"])) * 1000
            rows.append([name, ms(paused[name]), f"**{over:+.2f}**", f"{each * 1000:.2f}"])
    print(
        f"## A warm run over stdio, ms: after a pause of {PAUSE * 1000:.0f} ms (median / p95), over the floor, back "
        f"to back (mean)"
    )
    table(["executor", "warm run", "over an empty tool of the bare SDK", "back to back"], rows)


async def _fastmcp(folder: Path, stack: contextlib.AsyncExitStack) -> Any:
    try:
        python, _ = peer._install()
    except (subprocess.SubprocessError, OSError) as error:
        print(f"\nLeft out: fastmcp[code-mode] could not be installed ({error}).\n")
        return None
    url, spec = stack.enter_context(api(folder / "sandbox-api"))
    return await stack.enter_async_context(connected([str(python), str(HERE / "fastmcp_server.py"), str(spec), url]))


class _Stub:
    """A door that answers at once, so that only the sandbox's own part of a call remains."""

    def members(self, server: str) -> list[str] | None:
        return ["item"] if server == "loop" else None

    def stub(self, server: str, names: Any) -> str:
        return "from typing import Any\ndef item(*args: Any, **kwargs: Any) -> Any: ...\n"

    async def call(self, function: str, args: Any, kwargs: Any) -> Any:
        return kwargs

    def aliases(self, code: str, *, everything: bool = False) -> Aliases:
        return Aliases()

    def print(self, text: str) -> bool:
        return True

    def times(self) -> list[float]:
        return []

    def seen(self, times: list[float]) -> None:
        pass


async def _frames(folder: Path, sides: list[Side]) -> None:
    rows = []
    for side in sides:
        script = 'import { item } from "loop";\nfor (let n = 0; n < 1000; n++) await item({ n });'
        code = side.words("import loop\nfor n in range(1000):\n    loop.item(n=n)\n", script)
        async with Gateway.open(load(side.project(folder / f"frames-{side.name}").config), compile=False) as gate:
            executor = gate.executors.get(side.executor)
            took = []
            for _ in range(7):
                language = side.words("python", "typescript")
                program = Program(code, deadline=time.monotonic() + 60, language=language)
                sandbox = await executor.open(program)
                started = time.perf_counter()
                ended = await sandbox.run(program, _Stub())  # type: ignore[arg-type]
                took.append((time.perf_counter() - started) / 1000)
                assert ended.error is None, ended.error
                await sandbox.close()
        rows.append([side.name, f"{median(took) * 1000:.3f}"])
    print("## One call out of a sandbox to a host that answers at once, ms (1,000 one by one, median of 7)")
    table(["executor", "ms per call"], rows)


async def _calls(folder: Path, sides: list[Side]) -> None:
    """The executors and bare httpx2, in turns in one go."""
    python = "import loop\nfor n in range(1000):\n    got = loop.item(n=n)\nresult = got"
    script = 'import { item } from "loop";\nfor (let n = 0; n < 1000; n++) result = await item({ n });'
    async with contextlib.AsyncExitStack() as stack:
        url, spec = stack.enter_context(api(folder / "calls-api"))
        direct = await stack.enter_async_context(httpx2.AsyncClient(base_url=url))

        async def bare() -> None:
            for n in range(1000):
                (await direct.get("/item", params={"n": n})).raise_for_status().json()

        asks: dict[str, Callable[[], Awaitable[Any]]] = {"httpx2": bare}
        server = f'[servers.loop]\nsource = "openapi"\nspec = "{spec}"\nbase_url = "{url}"\n'
        for side in sides:
            client = await stack.enter_async_context(
                connected(side.project(folder / f"calls-{side.name}", server).serve)
            )
            asks[side.name] = partial(_execute, client, side.words(python, script), timeout=120)
        took = await interleaved(asks, 3, warm=1)
    rows = [[name, ms(times), f"**{ratio(times, took['httpx2'])}**"] for name, times in took.items()]
    print("## 1,000 calls of a loopback API in one program, ms (median / p95 of 3)")
    table(["executor", "1,000 calls", "ratio to bare httpx2"], rows)


async def _clients(folder: Path, sides: list[Side], clients: int = 32, runs: int = 10) -> None:
    """Many agents at once, each doing one run after another; in one process, since the clients
    are not what is measured."""
    rows = []
    for side in sides:
        async with _gate(side, folder / f"clients-{side.name}") as gate:
            took: list[float] = []

            async def agent(gate: Gateway = gate, took: list[float] = took) -> None:
                for _ in range(runs):
                    started = time.perf_counter()
                    outcome = await gate.execute("1 + 1")
                    assert outcome.ok, outcome.error
                    took.append(time.perf_counter() - started)

            started = time.perf_counter()
            await asyncio.gather(*(agent() for _ in range(clients)))
            all_of_them = time.perf_counter() - started
            left = [_of_jails()]
            await asyncio.sleep(3)
            left.append(_of_jails())
        row = [side.name, ms(took), f"{clients * runs / all_of_them:.0f}"]
        rows.append([*row, *(f"{count}, {size / 2**20:.0f} MiB" for count, size in left)])
    print(f"## {clients} agents at once, {runs} runs each")
    after = ["processes of jails then", "after 3 s"]
    table(["executor", "a run, ms (median / p95)", "runs per second", *after], rows)


@contextlib.asynccontextmanager
async def _gate(side: Side, folder: Path) -> AsyncIterator[Gateway]:
    async with Gateway.open(load(side.project(folder).config), compile=False) as gate:
        with contextlib.suppress(ExecutorError):
            await gate.execute("1 + 1")
        await asyncio.sleep(1)
        yield gate


async def _memory(folder: Path, sides: list[Side]) -> None:
    """Proportional set size of all processes of jails, by the number of waiting sandboxes."""
    rows = []
    for side in sides:
        if side.executor == "monty":
            continue
        sizes = {}
        for ready in (1, 5):
            before = set(_pids())
            changed = Side(side.name, side.executor, {**side.settings, "pool": ready}, pandas=side.pandas)
            async with _gate(changed, folder / f"memory-{side.name}-{ready}") as gate:
                await gate.execute("1 + 1")
                await asyncio.sleep(3)
                sizes[ready] = sum(_pss(pid) for pid in set(_pids()) - before if _is_ours(pid)) / 2**20
        rows.append([side.name, f"{sizes[1]:.1f}", f"{(sizes[5] - sizes[1]) / 4:.1f}"])
    print("## Memory of idle sandboxes, MiB (proportional set size)")
    table(["executor", "a jail with one sandbox ready", "each further one"], rows)


def _of_jails() -> tuple[int, int]:
    """The processes of jails, and their proportional set size."""
    ours = [pid for pid in _pids() if _is_ours(pid)]
    return len(ours), sum(map(_pss, ours))


def _pids() -> list[int]:
    return [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit()]


def _is_ours(pid: int) -> bool:
    with contextlib.suppress(OSError):
        line = Path(f"/proc/{pid}/cmdline").read_bytes()
        return b"doorward_jail.inside" in line or b"/packages/inside/main.js" in line
    return False


def _pss(pid: int) -> int:
    with contextlib.suppress(OSError, StopIteration):
        line = next(
            line for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines() if line.startswith("Pss:")
        )
        return int(line.split()[1]) * 1024
    return 0
