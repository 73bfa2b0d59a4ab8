"""Programs that call a loopback API, against the same calls by httpx2 and by aiohttp directly."""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import httpx2
from common import HERE, PYTHON, Project, connected, interleaved, median, ms, ratio, table
from loopback_api import document

Get = Callable[[str, int], Awaitable[Any]]

PEER = Path(os.environ.get("BENCH_AIOHTTP", Path(tempfile.gettempdir()) / "doorward-bench-aiohttp"))
"""Where aiohttp is installed, if it is not there."""
COUNTS = {1: 60, 10: 40, 100: 20, 1000: 5}
"""Calls in a program, and how often it is run."""
ONE_BY_ONE = "from loop import item\nfor n in range({count}):\n    got = item(n=n)\ngot['id']"
AT_ONCE = "import asyncio\nfrom loop import slow\nlen(await asyncio.gather(*[slow(n=n) for n in range(50)]))"


@contextlib.contextmanager
def api(folder: Path) -> Iterator[tuple[str, Path]]:
    """Start the API in a process of its own. Yields: its address, and its document in a file."""
    process = subprocess.Popen(
        [PYTHON, str(HERE / "loopback_api.py")], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdin
    assert process.stdout
    try:
        url = process.stdout.readline().strip()
        folder.mkdir(parents=True, exist_ok=True)
        spec = folder / "openapi.json"
        spec.write_text(json.dumps(document(url)))
        yield url, spec
    finally:
        process.stdin.close()
        process.wait(10)
        process.stdout.close()


@contextlib.asynccontextmanager
async def _aiohttp(url: str) -> AsyncIterator[Get | None]:
    """What GETs by aiohttp; `None` if it cannot be installed."""
    try:
        if not PEER.is_dir():
            subprocess.run([PYTHON, "-m", "pip", "install", "-q", "--target", PEER, "aiohttp"], check=True)
        sys.path.append(str(PEER))  # last, so that nothing of ours is another version
        aiohttp = importlib.import_module("aiohttp")
    except (subprocess.SubprocessError, OSError, ImportError) as error:
        print(f"\naiohttp is left out: {error}\n")
        yield None
        return
    async with aiohttp.ClientSession(url) as session:

        async def get(path: str, n: int) -> Any:
            async with session.get(path, params={"n": n}, raise_for_status=True) as answer:
                return await answer.json()

        yield get


async def run(folder: Path) -> None:
    print("## Programs that call a loopback API over OpenAPI")
    rows = []
    with api(folder / "api") as (url, spec):
        server = f'[servers.loop]\nsource = "openapi"\nspec = "{spec}"\nbase_url = "{url}"\n'
        async with (
            connected(Project(folder / "program", server).serve) as client,
            httpx2.AsyncClient(base_url=url) as direct,
            _aiohttp(url) as by_aiohttp,
        ):

            async def through(code: str) -> None:
                answer = await client.call_tool("execute_code", {"code": code})
                assert not answer.is_error, answer

            async def get(path: str, n: int) -> Any:
                return (await direct.get(path, params={"n": n})).raise_for_status().json()

            async def directly(get: Get, count: int) -> None:
                for n in range(count):
                    await get("/item", n)

            peers: dict[str, Get] = {"httpx2": get} | ({"aiohttp": by_aiohttp} if by_aiohttp else {})

            for count, rounds in COUNTS.items():
                code = ONE_BY_ONE.format(count=count)
                sides: dict[str, Any] = {"doorward": lambda c=code: through(c)}
                sides |= {name: lambda n=count, g=by: directly(g, n) for name, by in peers.items()}
                rows.append(_row(f"{count}, one by one", await interleaved(sides, rounds, warm=2), count))
            sides = {"doorward": lambda: through(AT_ONCE)}
            sides |= {
                name: lambda g=by: asyncio.gather(*(g("/slow", n) for n in range(50))) for name, by in peers.items()
            }
            rows.append(_row("50 × 100 ms at once", await interleaved(sides, 10, warm=2), 50))
    table(["calls", "doorward, ms", "httpx2, ms", "aiohttp, ms", "ms a call, of each", "÷ httpx2", "÷ aiohttp"], rows)


def _row(name: str, took: dict[str, list[float]], count: int) -> list[str]:
    ours, httpx, peer = took["doorward"], took["httpx2"], took.get("aiohttp")
    each = " / ".join(f"{median(side) / count * 1000:.2f}" for side in took.values())
    shown = [ms(ours), ms(httpx), ms(peer) if peer else "–", each, f"**{ratio(ours, httpx)}**"]
    return [name, *shown, f"**{ratio(ours, peer)}**" if peer else "–"]
