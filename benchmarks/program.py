"""Programs that call a loopback API, against the same calls by httpx2 directly."""

from __future__ import annotations

import asyncio
import contextlib
import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
from common import HERE, PYTHON, Project, connected, interleaved, median, ms, ratio, table
from loopback_api import document

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


async def run(folder: Path) -> None:
    print("## Programs that call a loopback API over OpenAPI")
    rows = []
    with api(folder / "api") as (url, spec):
        server = f'[servers.loop]\nsource = "openapi"\nspec = "{spec}"\nbase_url = "{url}"\n'
        async with (
            connected(Project(folder / "program", server).serve) as client,
            httpx2.AsyncClient(base_url=url) as direct,
        ):

            async def through(code: str) -> None:
                answer = await client.call_tool("execute_code", {"code": code})
                assert not answer.is_error, answer

            async def get(path: str, n: int) -> Any:
                return (await direct.get(path, params={"n": n})).raise_for_status().json()

            async def directly(count: int) -> None:
                for n in range(count):
                    await get("/item", n)

            for count, rounds in COUNTS.items():
                code = ONE_BY_ONE.format(count=count)
                sides = {"doorward": lambda c=code: through(c), "httpx2": lambda n=count: directly(n)}
                took = await interleaved(sides, rounds, warm=2)
                ours, theirs = took["doorward"], took["httpx2"]
                each = f"{median(ours) / count * 1000:.2f}", f"{median(theirs) / count * 1000:.2f}"
                rows.append([f"{count}, one by one", ms(ours), ms(theirs), *each, f"**{ratio(ours, theirs)}**"])
            sides = {
                "doorward": lambda: through(AT_ONCE),
                "httpx2": lambda: asyncio.gather(*(get("/slow", n) for n in range(50))),
            }
            took = await interleaved(sides, 10, warm=2)
            rows.append(
                [
                    "50 × 100 ms at once",
                    ms(took["doorward"]),
                    ms(took["httpx2"]),
                    "",
                    "",
                    f"**{ratio(*took.values())}**",
                ]
            )
    table(["calls", "doorward, ms", "httpx2, ms", "ms per call", "httpx2 per call", "ratio"], rows)
